//! Transfers between an arena and global memory.
//!
//! A global view of any rank is a matrix: all extents but the last make the rows, in row-major order of their indices.

use dtype::DType;
use memory::View;

use crate::copy::move_layouts;
use crate::number::{BF16, F16, Float};
use crate::plane::{self, Arena, Layout, for_each_row_group, matrix_of};
use crate::{Fault, Tile};

fn fits(view: &View, rows: u32, cols: u32) -> Result<(), Fault> {
    let (r, c) = matrix_of(view)?;
    if rows as u64 > r || cols as u64 > c {
        return Err(Fault::shape(
            "global view",
            format!("the transfer moves {rows}x{cols}, the view is {:?} ({r}x{c})", view.shape),
        ));
    }
    Ok(())
}

pub(crate) fn same(view: DType, tile: DType) -> bool {
    let plain = |d: DType| if d == DType::Index { DType::I64 } else { d };
    plain(view) == plain(tile)
}

/// `dst[i, j] = src[i, j]` over the destination's valid region, from global memory into any order; no conversion.
pub fn load(mem: &mut [u8], dst: &Tile, src: &View) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let (rows, cols) = (dst.valid_rows, dst.valid_cols);
    if !same(src.dtype, dst.dtype) {
        return Err(Fault::dtype("a load", &[dst.dtype, src.dtype], "a tile and a view of one type"));
    }
    dst.check_region("destination", mem.len(), rows, cols)?;
    fits(src, rows, cols)?;
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let size = dst.dtype.size();
    let d = mem.layout(dst);
    for_each_row_group(src, rows as usize, |row, n, s| {
        move_layouts((n as u32, cols), d.rows_from(row), s, size);
    });
    Ok(())
}

/// `dst[i, j] = src[i, j]` over the source's valid region, into global memory.
///
/// Types must agree, unless `narrow` is set: the store path of the accumulator, which also takes f32 to f16 or bf16,
/// ties to even, overflow to infinity (`dsl.md` §5.2 item 7).
pub fn store(dst: &View, mem: &[u8], src: &Tile, narrow: bool) -> Result<(), Fault> {
    let (rows, cols) = (src.valid_rows, src.valid_cols);
    let narrows = narrow && src.dtype == DType::F32 && matches!(dst.dtype, DType::F16 | DType::BF16);
    if !narrows && !same(dst.dtype, src.dtype) {
        let supported = if narrow { "one type, or f32 to f16 and bf16" } else { "a tile and a view of one type" };
        return Err(Fault::dtype("a store", &[src.dtype, dst.dtype], supported));
    }
    src.check_region("source", mem.len(), rows, cols)?;
    fits(dst, rows, cols)?;
    if !dst.buffer.is_writable() {
        return Err(memory::MemoryError::ReadOnly.into());
    }
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    // Only read through; the borrow of `mem` outlives the transfer.
    let s = Layout::tile(mem.as_ptr().cast_mut(), src);
    for_each_row_group(dst, rows as usize, |row, n, d| {
        let s = s.rows_from(row);
        match (narrows, dst.dtype) {
            (true, DType::F16) => narrow_rows::<F16>(n, cols as usize, d, s),
            (true, _) => narrow_rows::<BF16>(n, cols as usize, d, s),
            _ => move_layouts((n as u32, cols), d, s, src.dtype.size()),
        }
    });
    Ok(())
}

fn narrow_rows<T: Float>(rows: usize, cols: usize, d: Layout, s: Layout) {
    plane::for_each(rows, cols, &[d, s], |rows, cols, planes| {
        let (rows, cols, [d, s]) = plane::straighten(rows, cols, planes, [size_of::<T>(), 4]);
        // SAFETY: the callers checked both regions; global memory and the arena share no bytes.
        unsafe { crate::convert::narrow_even::<T>(rows, cols, d, s) }
    });
}
