//! Elements that say where other elements are.

use dtype::DType;

use crate::{Fault, Order, Tile};

/// Checks an index tile over the region that is read.
pub(crate) fn check(arena: usize, index: &Tile, region: (u32, u32)) -> Result<(), Fault> {
    if !matches!(index.dtype, DType::I16 | DType::U16 | DType::I32 | DType::U32) {
        return Err(Fault::dtype("an index", &[index.dtype], "indices of type i16, u16, i32 or u32"));
    }
    index.check_region("index", arena, region.0, region.1)
}

/// Element (r, c) of an index tile, checked over a region that holds it.
#[inline]
pub(crate) fn at(mem: &[u8], index: &Tile, r: u32, c: u32) -> i64 {
    let at = index.byte_offset(r, c);
    match index.dtype {
        DType::I16 => i16::from_le_bytes([mem[at], mem[at + 1]]) as i64,
        DType::U16 => u16::from_le_bytes([mem[at], mem[at + 1]]) as i64,
        d => {
            let bits = u32::from_le_bytes([mem[at], mem[at + 1], mem[at + 2], mem[at + 3]]);
            if d == DType::I32 { bits as i32 as i64 } else { bits as i64 }
        }
    }
}

/// The index itself if it is below `bound`.
#[inline]
pub(crate) fn inside(index: i64, bound: u64, at: (u32, u32)) -> Result<u64, Fault> {
    match u64::try_from(index) {
        Ok(i) if i < bound => Ok(i),
        _ => Err(Fault::Index { index, bound, at }),
    }
}

/// Elements of a tile's physical extent.
pub(crate) fn flat_bound(tile: &Tile) -> u64 {
    tile.rows as u64 * tile.cols as u64
}

/// The byte offset of an element counted in row-major order over the physical extent, whatever the tile's order.
#[inline]
pub(crate) fn flat_offset(tile: &Tile, flat: u64) -> usize {
    let cols = tile.cols as u64;
    if tile.order == Order::RowMajor && tile.pitch == tile.cols {
        return tile.offset + flat as usize * tile.dtype.size();
    }
    tile.byte_offset((flat / cols) as u32, (flat % cols) as u32)
}
