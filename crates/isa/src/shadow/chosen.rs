//! Definedness of elements that data choose: selections, gathers, scatters, sorts.
//!
//! An element is defined if what chose it is, and what was chosen. `data` is the arena *before* the instruction.

use dtype::Scalar;
use memory::View;

use super::{bytes, element, fill_all, valid, write};
use crate::plane::{self, Arena, Layout};
use crate::sort::GROUP;
use crate::{Atomic, Fault, GatherMode, OutOfRange, Pattern, ScatterMode, Tile};

pub fn select(mem: &mut [u8], data: &[u8], dst: &Tile, mask: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    let region = crate::select::check(mem.len().min(data.len()), dst, mask, a)?;
    b.check_region("second source", mem.len(), region.0, region.1)?;
    write(mem, dst, region, |m, r, c| {
        element(m, mask, r, c / 8) && element(m, if chosen(data, mask, r, c) { a } else { b }, r, c)
    })
}

pub fn select_scalar(
    mem: &mut [u8],
    data: &[u8],
    dst: &Tile,
    mask: &Tile,
    a: &Tile,
    _scalar: Scalar,
) -> Result<(), Fault> {
    let region = crate::select::check(mem.len().min(data.len()), dst, mask, a)?;
    write(mem, dst, region, |m, r, c| element(m, mask, r, c / 8) && (!chosen(data, mask, r, c) || element(m, a, r, c)))
}

fn chosen(data: &[u8], mask: &Tile, r: u32, c: u32) -> bool {
    data[mask.byte_offset(r, c / 8)] >> (c % 8) & 1 != 0
}

pub fn gather(mem: &mut [u8], data: &[u8], dst: &Tile, src: &Tile, index: &Tile) -> Result<(), Fault> {
    let from = crate::gather::gathered(data, dst, src, index)?;
    let cols = dst.valid_cols as usize;
    let size = src.dtype.size();
    write(mem, dst, valid(dst), |m, r, c| {
        element(m, index, r, c) && bytes(m, from[r as usize * cols + c as usize], size)
    })
}

/// Every element needs the offset of its block and its own bytes there.
pub fn gather_blocks(mem: &mut [u8], data: &[u8], dst: &Tile, src: &Tile, offsets: &Tile) -> Result<(), Fault> {
    let from = crate::gather::gathered_blocks(data, dst, src, offsets)?;
    let blocks = crate::gather::block_columns(dst);
    let size = dst.dtype.size();
    write(mem, dst, valid(dst), |m, r, c| {
        let at = c as usize * size;
        let block = (at / 32) as u32;
        let start = from[(r * blocks + block) as usize].0;
        element(m, offsets, r, block) && bytes(m, start + at % 32, size)
    })
}

pub fn gather_mask(mem: &mut [u8], pattern: Pattern, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    let region = crate::gather::check_gather_mask(mem.len(), pattern, dst, src)?;
    write(mem, dst, region, |m, r, c| element(m, src, r, c * pattern.period() + pattern.lane()))
}

pub fn scatter_mask(mem: &mut [u8], pattern: Pattern, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    crate::gather::check_scatter_mask(mem.len(), pattern, dst, src)?;
    let (period, lane) = (pattern.period(), pattern.lane());
    write(mem, dst, valid(dst), |m, r, c| c % period != lane || element(m, src, r, c / period))
}

/// The zeros are defined. An element that an undefined index placed is undefined where it went.
pub fn scatter(mem: &mut [u8], data: &[u8], dst: &Tile, src: &Tile, index: &Tile) -> Result<(), Fault> {
    let to = crate::gather::scattered(data, dst, src, index)?;
    if to.is_empty() {
        return Ok(());
    }
    let mut defined = Vec::with_capacity(to.len());
    for r in 0..src.valid_rows {
        for c in 0..src.valid_cols {
            defined.push(element(mem, src, r, c) && element(mem, index, r, c));
        }
    }
    fill_all(mem, dst, Scalar::new(dst.dtype, 0))?;
    for (at, defined) in to.into_iter().zip(defined) {
        mem[at..at + dst.dtype.size()].fill(defined as u8);
    }
    Ok(())
}

/// An undefined value makes all that is sorted with it undefined; an undefined index travels.
pub fn sort32(mem: &mut [u8], data: &[u8], dst: &Tile, src: &Tile, idx: &Tile) -> Result<(), Fault> {
    let region = crate::sort::check_sort(mem.len().min(data.len()), dst, src, idx)?;
    let (cols, size) = (src.valid_cols, src.dtype.size());
    let values = plane::dense(Layout::of(data, src), valid(src), size);
    let places = crate::sort::sorted(&values, src.dtype, cols as usize);
    let (group, columns) = (GROUP as u32, 8 / size as u32);
    let in_row = cols.next_multiple_of(group);
    write(mem, dst, region, |m, r, c| {
        let record = c / columns;
        let first = record / group * group;
        let keys = (first..cols.min(first + group)).all(|c| element(m, src, r, c));
        let is_index = c % columns * size as u32 >= 4;
        let place = places[(r * in_row + record) as usize];
        keys && (!is_index || place.is_none_or(|c| element(m, idx, r, c as u32)))
    })
}

/// As [`sort32`]: an undefined value makes the whole result of its merge undefined.
pub fn merge_sort(mem: &mut [u8], data: &[u8], dst: &Tile, src: &Tile, block_len: u32) -> Result<(), Fault> {
    let run = crate::sort::check_merge_sort(mem.len().min(data.len()), dst, src, block_len)?;
    let (region, size) = (valid(src), src.dtype.size());
    let of = |arena: &[u8]| plane::dense(Layout::of(arena, src), region, size);
    let (values, defined) = (of(data), of(mem));
    let row = region.1 as usize * size;
    let mut merged = Vec::with_capacity(defined.len());
    for (values, defined) in crate::sort::groups(&values, row, run).zip(crate::sort::groups(&defined, row, run)) {
        let lists = |bytes| <[u8]>::chunks(bytes, run * 8).collect::<Vec<_>>();
        merged.extend(merge(&lists(values), &lists(defined), size, false).0);
    }
    crate::copy::move_elements(Arena::new(mem), dst, region, Layout::dense(&mut merged, region.1, size));
    Ok(())
}

/// As [`merge_sort`]. Where it ends early and a value is undefined, so is where it ends: all that it could write is undefined
/// then.
pub fn merge_lists(mem: &mut [u8], data: &[u8], dst: &Tile, lists: &[&Tile], exhausted: bool) -> Result<(), Fault> {
    crate::sort::check_lists(mem.len().min(data.len()), dst, lists)?;
    let (values, defined) = (crate::sort::list_bytes(data, lists), crate::sort::list_bytes(mem, lists));
    let (values, defined): (Vec<&[u8]>, Vec<&[u8]>) =
        (values.iter().map(Vec::as_slice).collect(), defined.iter().map(Vec::as_slice).collect());
    let size = dst.dtype.size();
    let (mut merged, keys) = merge(&values, &defined, size, exhausted);
    if !keys {
        merged = vec![0; values.iter().map(|l| l.len()).sum()];
    }
    let columns = (merged.len() / size) as u32;
    crate::copy::move_elements(Arena::new(mem), dst, (1, columns), Layout::dense(&mut merged, columns, size));
    Ok(())
}

/// The definedness of merged records, and whether that of all values is given.
fn merge(values: &[&[u8]], defined: &[&[u8]], size: usize, exhausted: bool) -> (Vec<u8>, bool) {
    let keys = defined.iter().all(|list| list.chunks(8).all(|record| bytes(record, 0, size)));
    let mut merged = Vec::new();
    for (list, k) in crate::sort::merge(values, size, exhausted).0 {
        if keys {
            merged.extend_from_slice(&defined[list][8 * k..8 * k + 8]);
        } else {
            merged.extend_from_slice(&[0; 8]);
        }
    }
    (merged, keys)
}

/// `view` is the shadow of the global view, as for [`load`](super::load). Zeros that stand for what is out of range are defined.
pub fn gather_view(
    mem: &mut [u8],
    data: &[u8],
    dst: &Tile,
    view: &View,
    index: &Tile,
    mode: GatherMode,
    out_of_range: OutOfRange,
) -> Result<(), Fault> {
    let from = crate::indexed::places(data, dst, view, index, mode, out_of_range, OutOfRange::Skip)?;
    let size = dst.dtype.size();
    let mut there = Vec::with_capacity(from.len());
    for at in from {
        let mut bytes = [1u8; 8];
        if let Some(at) = at {
            view.buffer.read(at, &mut bytes[..size])?;
        }
        there.push(bytes.iter().all(|&b| b != 0));
    }
    let cols = dst.valid_cols as usize;
    write(mem, dst, valid(dst), |m, r, c| {
        let (ir, ic) = crate::indexed::named_by(index, mode, r, c);
        element(m, index, ir, ic) && there[r as usize * cols + c as usize]
    })
}

/// `view` is the shadow of the global view, as for [`store`](super::store). An element that an undefined index placed is undefined where it
/// went, and one that was combined with an undefined one stays undefined.
// The operands of the instruction, and the data.
#[allow(clippy::too_many_arguments)]
pub fn scatter_view(
    mem: &[u8],
    data: &[u8],
    view: &View,
    src: &Tile,
    index: &Tile,
    mode: ScatterMode,
    out_of_range: OutOfRange,
    atomic: Option<Atomic>,
) -> Result<(), Fault> {
    // Of the shadow's own bytes nothing is combined: its alignment does not matter.
    let to = crate::indexed::scattered(data, view, src, index, mode, out_of_range, None)?;
    let size = src.dtype.size();
    for (k, at) in to.into_iter().enumerate() {
        let Some(at) = at else { continue };
        let (r, c) = ((k / src.valid_cols as usize) as u32, (k % src.valid_cols as usize) as u32);
        let (ir, ic) = crate::indexed::named_by(index, mode, r, c);
        let mut there = [1u8; 8];
        if atomic.is_some() {
            view.buffer.read(at, &mut there[..size])?;
        }
        let defined = element(mem, src, r, c) && element(mem, index, ir, ic) && there.iter().all(|&b| b != 0);
        view.buffer.fill(at, size, defined as u8)?;
    }
    Ok(())
}
