//! Gathers from and scatters to global memory (`isa.md` §2.1, MGATHER and MSCATTER).
//!
//! A global view of any rank is a *table*: all extents but the last make its rows. `Row`: an index names a row of it, and
//! a row of the tile moves; the index tile holds one index per row of the tile, in a row or in a column. `Elem`: an index
//! counts the table's elements in row-major order, and the index tile has the tile's valid region. Rows lie as the
//! view's strides say, on every machine. What is out of range is decided for all indices before anything is written.

use dtype::Scalar;
use dtype::scalar::BinaryOp;
use memory::{MAX_RANK, MemoryError, View};

use crate::plane::{self, Arena, Layout, matrix_of};
use crate::{Fault, Tile, index};

/// What an index names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum GatherMode {
    Row,
    Elem,
}

/// The same, for scatters.
pub type ScatterMode = GatherMode;

/// What becomes of an index that is negative, or not below what there is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum OutOfRange {
    /// The instruction is refused.
    Fault,
    /// The nearest index in range.
    Clamp,
    /// Modulo what there is; never negative.
    Wrap,
    /// Gathers only: zeros come.
    Zero,
    /// Scatters only: nothing is written.
    Skip,
}

/// How a scatter combines an element with the one that is there, as scalars do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atomic {
    Add,
    Max,
    Min,
}

impl Atomic {
    fn op(self) -> BinaryOp {
        match self {
            Atomic::Add => BinaryOp::Add,
            Atomic::Max => BinaryOp::Max,
            Atomic::Min => BinaryOp::Min,
        }
    }
}

/// `dst[i, j] = view[index[i], j]` or `dst[i, j] = view.flat[index[i, j]]`, over the destination's valid region.
pub fn gather_view(
    mem: &mut [u8],
    dst: &Tile,
    view: &View,
    index: &Tile,
    mode: GatherMode,
    out_of_range: OutOfRange,
) -> Result<(), Fault> {
    let from = places(mem, dst, view, index, mode, out_of_range, OutOfRange::Skip)?;
    let (region, size) = ((dst.valid_rows, dst.valid_cols), dst.dtype.size());
    let mut values = vec![0; from.len() * size];
    for_each_run(&from, size, |k, at, n| Ok(view.buffer.read(at, &mut values[k * size..][..n * size])?))?;
    crate::copy::move_elements(Arena::new(mem), dst, region, Layout::dense(&mut values, region.1, size));
    Ok(())
}

/// `view[index[i], j] = src[i, j]` or `view.flat[index[i, j]] = src[i, j]`, over the source's valid region in row-major order:
/// the last of equal indices wins. With `atomic`, the elements are combined with what is there, one after the other.
pub fn scatter_view(
    mem: &[u8],
    view: &View,
    src: &Tile,
    index: &Tile,
    mode: ScatterMode,
    out_of_range: OutOfRange,
    atomic: Option<Atomic>,
) -> Result<(), Fault> {
    let to = scattered(mem, view, src, index, mode, out_of_range, atomic)?;
    let size = src.dtype.size();
    let values = plane::dense(Layout::of(mem, src), (src.valid_rows, src.valid_cols), size);
    let Some(atomic) = atomic else {
        return for_each_run(&to, size, |k, at, n| Ok(view.buffer.write(at, &values[k * size..][..n * size])?));
    };
    for (value, at) in values.chunks_exact(size).zip(to) {
        let Some(at) = at else { continue };
        let mut bits = [0; 8];
        bits[..size].copy_from_slice(value);
        view.buffer.fetch(atomic.op(), at, Scalar::new(view.dtype, u64::from_le_bytes(bits)))?;
    }
    Ok(())
}

/// Byte offsets in the view's buffer of what [`scatter_view`] writes, in order, once nothing stands against writing it.
pub(crate) fn scattered(
    mem: &[u8],
    view: &View,
    src: &Tile,
    index: &Tile,
    mode: ScatterMode,
    out_of_range: OutOfRange,
    atomic: Option<Atomic>,
) -> Result<Vec<Option<usize>>, Fault> {
    let to = places(mem, src, view, index, mode, out_of_range, OutOfRange::Zero)?;
    if !view.buffer.is_writable() {
        return Err(MemoryError::ReadOnly.into());
    }
    if atomic.is_some() {
        if !view.dtype.is_float() && !view.dtype.is_int() {
            return Err(MemoryError::Unsupported(view.dtype).into());
        }
        if !view.buffer.as_ptr().addr().is_multiple_of(view.dtype.size()) {
            let what = format!("atomic access to elements of type {} in a misaligned array", view.dtype);
            return Err(Fault::Unsupported { what });
        }
    }
    Ok(to)
}

/// The byte offset in the view's buffer of each element of the tile's valid region; `None` where an index is out of range and
/// that is said to be nothing. `never` is the policy that the instruction does not have.
pub(crate) fn places(
    mem: &[u8],
    tile: &Tile,
    view: &View,
    index: &Tile,
    mode: GatherMode,
    out_of_range: OutOfRange,
    never: OutOfRange,
) -> Result<Vec<Option<usize>>, Fault> {
    if out_of_range == never {
        let other = if never == OutOfRange::Skip { "zero" } else { "skip" };
        let what = format!("{never:?} for an index out of range; supported: fault, clamp, wrap, {other}");
        return Err(Fault::Unsupported { what: what.to_lowercase() });
    }
    if !crate::transfer::same(view.dtype, tile.dtype) {
        let supported = "a tile and a view of one type";
        return Err(Fault::dtype("an indexed transfer", &[tile.dtype, view.dtype], supported));
    }
    let (rows, cols) = (tile.valid_rows, tile.valid_cols);
    tile.check_region("tile", mem.len(), rows, cols)?;
    let (table_rows, table_cols) = matrix_of(view)?;
    let (used, bound) = match mode {
        GatherMode::Elem => ((rows, cols), table_rows.saturating_mul(table_cols)),
        GatherMode::Row if in_column(index) => ((rows, 1), table_rows),
        GatherMode::Row => ((1, rows), table_rows),
    };
    if rows == 0 || cols == 0 {
        return Ok(Vec::new());
    }
    index::check(mem.len(), index, used)?;
    if mode == GatherMode::Row && cols as u64 > table_cols {
        let reason = format!("rows of {table_cols} for {cols} columns of the tile; the view is {:?}", view.shape);
        return Err(Fault::shape("global view", reason));
    }
    let mut places = Vec::with_capacity(rows as usize * cols as usize);
    let chosen = |r: u32, c: u32| {
        let at = named_by(index, mode, r, c);
        resolve(index::at(mem, index, at.0, at.1), bound, out_of_range, at)
    };
    for r in 0..rows {
        if mode == GatherMode::Elem {
            for c in 0..cols {
                places.push(chosen(r, c)?.map(|i| byte_offset(view, i / table_cols, i % table_cols)));
            }
            continue;
        }
        let first = chosen(r, 0)?.map(|i| byte_offset(view, i, 0));
        // A single column has no step to speak of.
        let step = if cols > 1 { view.strides.last().map_or(0, |&s| s as isize) } else { 0 };
        let step = step * view.dtype.size() as isize;
        places.extend((0..cols as isize).map(|c| first.map(|at| at.wrapping_add_signed(c * step))));
    }
    Ok(places)
}

/// Calls `f(first element, its place, elements)` for runs of elements whose places follow each other; those without a place are
/// left out.
fn for_each_run(
    places: &[Option<usize>],
    size: usize,
    mut f: impl FnMut(usize, usize, usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut k = 0;
    while let Some(place) = places.get(k) {
        let Some(start) = *place else {
            k += 1;
            continue;
        };
        let mut n = 1;
        while places.get(k + n) == Some(&Some(start + n * size)) {
            n += 1;
        }
        f(k, start, n)?;
        k += n;
    }
    Ok(())
}

fn in_column(index: &Tile) -> bool {
    index.valid_cols == 1 && index.valid_rows != 1
}

/// The element of the index tile for an element of the tile.
pub(crate) fn named_by(index: &Tile, mode: GatherMode, r: u32, c: u32) -> (u32, u32) {
    match mode {
        GatherMode::Elem => (r, c),
        GatherMode::Row if in_column(index) => (r, 0),
        GatherMode::Row => (0, r),
    }
}

fn resolve(index: i64, bound: u64, out_of_range: OutOfRange, at: (u32, u32)) -> Result<Option<u64>, Fault> {
    match (index::inside(index, bound, at), out_of_range) {
        (Ok(inside), _) => Ok(Some(inside)),
        (Err(_), OutOfRange::Zero | OutOfRange::Skip) => Ok(None),
        // Nothing is the nearest of nothing.
        (Err(fault), _) if bound == 0 => Err(fault),
        (Err(_), OutOfRange::Clamp) => Ok(Some(if index < 0 { 0 } else { bound - 1 })),
        (Err(_), OutOfRange::Wrap) => Ok(Some((index as i128).rem_euclid(bound as i128) as u64)),
        (Err(fault), OutOfRange::Fault) => Err(fault),
    }
}

/// The byte offset, in the buffer of a checked view, of an element of its table.
fn byte_offset(view: &View, row: u64, col: u64) -> usize {
    let mut rest = row;
    let mut place = [0u64; MAX_RANK];
    let leading = view.rank().saturating_sub(1);
    for k in (0..leading).rev() {
        place[k] = rest % view.shape[k];
        rest /= view.shape[k];
    }
    place[leading] = col;
    let steps = place.iter().zip(view.strides.iter());
    let element = steps.fold(view.offset as i64, |at, (&i, &stride)| at.wrapping_add((i as i64).wrapping_mul(stride)));
    element as usize * view.dtype.size()
}
