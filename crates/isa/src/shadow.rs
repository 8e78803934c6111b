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

mod chosen;

use dtype::{DType, Profile, RoundMode, Scalar};
use memory::View;

use crate::{Arg, BinaryOp, Fault, Init, Pad, Predicate, Reduce, Tile, UnaryOp};

pub use chosen::{
    gather, gather_blocks, gather_mask, gather_view, merge_lists, merge_sort, scatter, scatter_mask, scatter_view,
    select, select_scalar, sort32,
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
