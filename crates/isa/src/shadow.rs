//! Definedness of elements, propagated as memcheck does for bits (semantics rule 2).
//!
//! A shadow arena has one byte per byte of data, 1 for defined and 0 for undefined; all bytes of an element agree, and a
//! byte that does not is read as "the element is defined if every byte is". The functions have the signatures of the
//! instructions and work on the same tiles:
//!
//! * elementwise and conversions: defined if every operand's element is;
//! * reductions: if the whole reduced row or column is;
//! * matmul: element (i, j) if row i of the left operand, column j of the right one, and the start value are;
//! * masks: a byte if all elements of the domain that have a bit in it are;
//! * elements chosen by data (selections, gathers, scatters, sorts): if what chose them is, and what was chosen. These take
//!   `data`, the arena *before* the instruction, to see what it chooses;
//! * fills define, copies, loads and stores move (the view's buffer is then the shadow of global memory).
//!
//! Nothing outside the domain changes; [`poison_outside`] undefines what an instruction leaves undefined around it.

use dtype::{DType, Profile, RoundMode, Scalar};
use memory::View;

use crate::plane::{self, Arena, Layout};
use crate::sort::GROUP;
use crate::{
    Arg, Atomic, BinaryOp, Fault, GatherMode, Init, OutOfRange, Pad, Pattern, Predicate, Reduce, ScatterMode, Tile,
    UnaryOp,
};

/// Whether element (r, c) is defined.
pub fn is_defined(mem: &[u8], tile: &Tile, r: u32, c: u32) -> Result<bool, Fault> {
    tile.check_region("tile", mem.len(), r.saturating_add(1), c.saturating_add(1))?;
    Ok(element(mem, tile, r, c))
}

/// The first undefined element of the valid region, in row-major order.
pub fn first_undefined(mem: &[u8], tile: &Tile) -> Result<Option<(u32, u32)>, Fault> {
    tile.check_region("tile", mem.len(), tile.valid_rows, tile.valid_cols)?;
    for r in 0..tile.valid_rows {
        for c in 0..tile.valid_cols {
            if !element(mem, tile, r, c) {
                return Ok(Some((r, c)));
            }
        }
    }
    Ok(None)
}

/// Undefines the physical elements outside the valid region.
pub fn poison_outside(mem: &mut [u8], tile: &Tile) -> Result<(), Fault> {
    tile.check("tile", mem.len())?;
    for r in 0..tile.rows {
        let from = if r < tile.valid_rows { tile.valid_cols } else { 0 };
        for c in from..tile.cols {
            put(mem, tile, r, c, false);
        }
    }
    Ok(())
}

fn element(mem: &[u8], tile: &Tile, r: u32, c: u32) -> bool {
    bytes(mem, tile.byte_offset(r, c), tile.dtype.size())
}

fn bytes(mem: &[u8], at: usize, n: usize) -> bool {
    mem[at..at + n].iter().all(|&b| b != 0)
}

fn put(mem: &mut [u8], tile: &Tile, r: u32, c: u32, defined: bool) {
    let at = tile.byte_offset(r, c);
    mem[at..at + tile.dtype.size()].fill(defined as u8);
}

/// Sets every element of `region` of `dst` to `f(mem, r, c)`, all of them computed first.
fn write(mem: &mut [u8], dst: &Tile, region: (u32, u32), f: impl Fn(&[u8], u32, u32) -> bool) -> Result<(), Fault> {
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    let (rows, cols) = region;
    let mut values = Vec::with_capacity(rows as usize * cols as usize);
    for r in 0..rows {
        for c in 0..cols {
            values.push(f(mem, r, c));
        }
    }
    let mut values = values.into_iter();
    for r in 0..rows {
        for c in 0..cols {
            put(mem, dst, r, c, values.next().unwrap_or(false));
        }
    }
    Ok(())
}

fn valid(t: &Tile) -> (u32, u32) {
    (t.valid_rows, t.valid_cols)
}

pub fn binary(mem: &mut [u8], _op: BinaryOp, dst: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    let region = valid(dst);
    a.check_region("first source", mem.len(), region.0, region.1)?;
    b.check_region("second source", mem.len(), region.0, region.1)?;
    write(mem, dst, region, |m, r, c| element(m, a, r, c) & element(m, b, r, c))
}

/// Where one source alone is valid, its definedness alone counts.
pub fn part(mem: &mut [u8], _op: BinaryOp, dst: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    crate::elementwise::check_cover(dst, a, b)?;
    let region = valid(dst);
    for (t, name) in [(a, "first source"), (b, "second source")] {
        t.check_region(name, mem.len(), t.valid_rows.min(region.0), t.valid_cols.min(region.1))?;
    }
    let holds = |m: &[u8], t: &Tile, r, c| r >= t.valid_rows || c >= t.valid_cols || element(m, t, r, c);
    write(mem, dst, region, |m, r, c| holds(m, a, r, c) && holds(m, b, r, c))
}

pub fn binary_scalar(
    mem: &mut [u8],
    _op: BinaryOp,
    dst: &Tile,
    a: &Tile,
    _scalar: Scalar,
    _reversed: bool,
) -> Result<(), Fault> {
    copy(mem, dst, a)
}

pub fn unary(mem: &mut [u8], _op: UnaryOp, dst: &Tile, a: &Tile) -> Result<(), Fault> {
    copy(mem, dst, a)
}

pub fn convert(
    mem: &mut [u8],
    dst: &Tile,
    src: &Tile,
    _mode: RoundMode,
    _saturate: bool,
    _profile: Profile,
) -> Result<(), Fault> {
    copy(mem, dst, src)
}

pub fn copy(mem: &mut [u8], dst: &Tile, src: &Tile) -> Result<(), Fault> {
    let region = valid(dst);
    src.check_region("source", mem.len(), region.0, region.1)?;
    write(mem, dst, region, |m, r, c| element(m, src, r, c))
}

pub fn copy_across(to: &mut [u8], dst: &Tile, from: &[u8], src: &Tile) -> Result<(), Fault> {
    let region = valid(dst);
    src.check_region("source", from.len(), region.0, region.1)?;
    write(to, dst, region, |_, r, c| element(from, src, r, c))
}

pub fn transpose(mem: &mut [u8], dst: &Tile, src: &Tile) -> Result<(), Fault> {
    let (rows, cols) = valid(src);
    src.check_region("source", mem.len(), rows, cols)?;
    write(mem, dst, (cols, rows), |m, r, c| element(m, src, c, r))
}

pub fn fill_pad(mem: &mut [u8], dst: &Tile, src: &Tile, _pad: Pad) -> Result<(), Fault> {
    let (rows, cols) = valid(src);
    src.check_region("source", mem.len(), rows, cols)?;
    write(mem, dst, (dst.rows, dst.cols), |m, r, c| r >= rows || c >= cols || element(m, src, r, c))
}

pub fn fill(mem: &mut [u8], dst: &Tile, _value: Scalar) -> Result<(), Fault> {
    write(mem, dst, valid(dst), |_, _, _| true)
}

pub fn fill_all(mem: &mut [u8], dst: &Tile, _value: Scalar) -> Result<(), Fault> {
    write(mem, dst, (dst.rows, dst.cols), |_, _, _| true)
}

pub fn iota(mem: &mut [u8], dst: &Tile, _start: Scalar, _descending: bool) -> Result<(), Fault> {
    fill(mem, dst, Scalar::new(DType::I32, 0))
}

pub fn triangle(mem: &mut [u8], dst: &Tile, _diagonal: i64, _upper: bool) -> Result<(), Fault> {
    write(mem, dst, valid(dst), |_, _, _| true)
}

pub fn random(mem: &mut [u8], dst: &Tile, _key: [u32; 2], _counter: [u32; 4], _rounds: u32) -> Result<(), Fault> {
    write(mem, dst, valid(dst), |_, _, _| true)
}

pub fn set(mem: &mut [u8], tile: &Tile, r: u32, c: u32, defined: bool) -> Result<(), Fault> {
    tile.check_region("tile", mem.len(), r.saturating_add(1), c.saturating_add(1))?;
    put(mem, tile, r, c, defined);
    Ok(())
}

pub fn row_reduce(mem: &mut [u8], op: Reduce, dst: &Tile, src: &Tile, _profile: Profile) -> Result<(), Fault> {
    let (rows, cols) = valid(src);
    src.check_region("source", mem.len(), rows, cols)?;
    if cols == 0 && op.of_nothing().is_none() {
        return Ok(());
    }
    write(mem, dst, (rows, 1), |m, r, _| (0..cols).all(|c| element(m, src, r, c)))
}

pub fn col_reduce(mem: &mut [u8], _op: Reduce, dst: &Tile, src: &Tile, _profile: Profile) -> Result<(), Fault> {
    let (rows, cols) = valid(src);
    src.check_region("source", mem.len(), rows, cols)?;
    if rows == 0 {
        return Ok(());
    }
    write(mem, dst, (1, cols), |m, _, c| (0..rows).all(|r| element(m, src, r, c)))
}

pub fn arg_reduce_rows(mem: &mut [u8], _arg: Arg, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    crate::reduce::check_arg(mem.len(), dst, src, (src.valid_rows, 1))?;
    if src.valid_cols == 0 {
        return Ok(());
    }
    write(mem, dst, (src.valid_rows, 1), |m, r, _| (0..src.valid_cols).all(|c| element(m, src, r, c)))
}

pub fn arg_reduce_cols(mem: &mut [u8], _arg: Arg, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    crate::reduce::check_arg(mem.len(), dst, src, (1, src.valid_cols))?;
    if src.valid_rows == 0 {
        return Ok(());
    }
    write(mem, dst, (1, src.valid_cols), |m, _, c| (0..src.valid_rows).all(|r| element(m, src, r, c)))
}

pub fn compare(mem: &mut [u8], _predicate: Predicate, dst: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    crate::compare::check(mem.len(), dst, a)?;
    b.check_region("second source", mem.len(), a.valid_rows, a.valid_cols)?;
    write(mem, dst, (a.valid_rows, dst.valid_cols), |m, r, byte| {
        bits_of(byte, a.valid_cols).all(|c| element(m, a, r, c) && element(m, b, r, c))
    })
}

pub fn compare_scalar(
    mem: &mut [u8],
    _predicate: Predicate,
    dst: &Tile,
    a: &Tile,
    _scalar: Scalar,
) -> Result<(), Fault> {
    crate::compare::check(mem.len(), dst, a)?;
    write(mem, dst, (a.valid_rows, dst.valid_cols), |m, r, byte| {
        bits_of(byte, a.valid_cols).all(|c| element(m, a, r, c))
    })
}

/// The columns below `cols` that have a bit in a byte of a mask.
fn bits_of(byte: u32, cols: u32) -> std::ops::Range<u32> {
    byte.saturating_mul(8).min(cols)..byte.saturating_add(1).saturating_mul(8).min(cols)
}

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

pub fn row_expand(
    mem: &mut [u8],
    _op: Option<BinaryOp>,
    dst: &Tile,
    a: Option<&Tile>,
    vector: &Tile,
) -> Result<(), Fault> {
    let region = valid(dst);
    let block = if vector.valid_cols > 1 { vector.valid_cols } else { 1 };
    expand(mem, dst, a, vector, (region.0, if region.1 == 0 { 0 } else { block }), |r, c| (r, c % block))
}

pub fn col_expand(
    mem: &mut [u8],
    _op: Option<BinaryOp>,
    dst: &Tile,
    a: Option<&Tile>,
    vector: &Tile,
) -> Result<(), Fault> {
    let region = valid(dst);
    expand(mem, dst, a, vector, (if region.0 == 0 { 0 } else { 1 }, region.1), |_, c| (0, c))
}

fn expand(
    mem: &mut [u8],
    dst: &Tile,
    a: Option<&Tile>,
    vector: &Tile,
    used: (u32, u32),
    at: impl Fn(u32, u32) -> (u32, u32),
) -> Result<(), Fault> {
    let region = valid(dst);
    vector.check_region("vector", mem.len(), used.0, used.1)?;
    if let Some(a) = a {
        a.check_region("source", mem.len(), region.0, region.1)?;
    }
    write(mem, dst, region, |m, r, c| {
        let (vr, vc) = at(r, c);
        element(m, vector, vr, vc) && a.is_none_or(|a| element(m, a, r, c))
    })
}

pub fn matmul(mem: &mut [u8], acc: &Tile, lhs: &Tile, rhs: &Tile, init: Init, _profile: Profile) -> Result<(), Fault> {
    let (m, k, n) = (lhs.valid_rows, lhs.valid_cols, rhs.valid_cols);
    lhs.check_region("left operand", mem.len(), m, k)?;
    rhs.check_region("right operand", mem.len(), k, n)?;
    if m == 0 || k == 0 || n == 0 {
        return Ok(());
    }
    if let Init::Bias(b) = &init {
        b.check_region("bias", mem.len(), 1, n)?;
    }
    acc.check_region("accumulator", mem.len(), m, n)?;
    let rows: Vec<bool> = (0..m).map(|i| (0..k).all(|p| element(mem, lhs, i, p))).collect();
    let cols: Vec<bool> = (0..n).map(|j| (0..k).all(|p| element(mem, rhs, p, j))).collect();
    write(mem, acc, (m, n), |s, i, j| {
        rows[i as usize]
            && cols[j as usize]
            && match &init {
                Init::Zero => true,
                Init::Accumulate => element(s, acc, i, j),
                Init::Bias(b) => element(s, b, 0, j),
            }
    })
}

/// `src` is the shadow of the global view: the same view over a buffer with one byte per byte of data.
pub fn load(mem: &mut [u8], dst: &Tile, src: &View) -> Result<(), Fault> {
    crate::load(mem, dst, src)
}

/// `view` is the shadow of the global view, as for [`load`]. Zeros that stand for what is out of range are defined.
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

/// `view` is the shadow of the global view, as for [`store`]. An element that an undefined index placed is undefined where it
/// went, and one that was combined with an undefined one stays undefined.
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

/// `dst` is the shadow of the global view, of the data's type; narrowing stores take one byte per byte of the narrower
/// element.
pub fn store(dst: &View, mem: &[u8], src: &Tile, narrow: bool) -> Result<(), Fault> {
    if !(narrow && src.dtype != dst.dtype) {
        return crate::store(dst, mem, src, narrow);
    }
    let (rows, cols) = valid(src);
    src.check_region("source", mem.len(), rows, cols)?;
    // A staging tile of the narrow type, whose shadow then moves like any other.
    let staged = Tile::row_major(0, dst.dtype, rows, cols);
    let mut shadow = vec![0; staged.byte_len()];
    for r in 0..rows {
        for c in 0..cols {
            put(&mut shadow, &staged, r, c, element(mem, src, r, c));
        }
    }
    crate::store(dst, &shadow, &staged, false)
}
