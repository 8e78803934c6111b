//! Operations on two tiles of which one may be smaller (`isa.md` §2.2, TPART…).

use super::{BinaryOp, binary_layouts, same_types};
use crate::plane::{self, Arena};
use crate::{Fault, Tile};

/// `dst[i, j] = a[i, j] op b[i, j]` where both sources are valid, and a copy of the one that is where only one is; bits are
/// kept then. One source must be valid over the whole domain, which is the destination's valid region.
pub fn part(mem: &mut [u8], op: BinaryOp, dst: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let region = (dst.valid_rows, dst.valid_cols);
    same_types("an operation on parts", &[dst, a, b])?;
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    let (a_region, b_region) = (part_of(a, region), part_of(b, region));
    a.check_region("first source", mem.len(), a_region.0, a_region.1)?;
    b.check_region("second source", mem.len(), b_region.0, b_region.1)?;
    check_cover(dst, a, b)?;
    let both = (a_region.0.min(b_region.0), a_region.1.min(b_region.1));
    let a_source = plane::source(mem, a, a_region, dst, region, true);
    let b_source = plane::source(mem, b, b_region, dst, region, true);
    binary_layouts(mem, op, &dst.with_valid(both.0, both.1), a_source.layout, b_source.layout)?;
    let rest = if a_region == region { a_source.layout } else { b_source.layout };
    let size = dst.dtype.size();
    let copy = |from: (u32, u32), rows: u32, cols: u32| {
        let from = (from.0 as usize, from.1 as usize);
        plane::for_each_from(from, rows as usize, cols as usize, &[mem.layout(dst), rest], |rows, cols, [d, s]| {
            // SAFETY: inside the domain, which was checked for both; the source may be read while `dst` is written.
            unsafe { crate::copy::move_plane(rows, cols, d, s, size) }
        });
    };
    copy((0, both.1), both.0, region.1 - both.1);
    copy((both.0, 0), region.0 - both.0, region.1);
    Ok(())
}

/// What of a tile's valid region lies in the domain.
fn part_of(tile: &Tile, domain: (u32, u32)) -> (u32, u32) {
    (tile.valid_rows.min(domain.0), tile.valid_cols.min(domain.1))
}

/// Whether one of the sources is valid over the destination's valid region.
pub(crate) fn check_cover(dst: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    let domain = (dst.valid_rows, dst.valid_cols);
    if part_of(a, domain) == domain || part_of(b, domain) == domain {
        return Ok(());
    }
    Err(Fault::shape(
        "sources",
        format!(
            "neither {}x{} nor {}x{} covers the destination's {}x{}",
            a.valid_rows, a.valid_cols, b.valid_rows, b.valid_cols, domain.0, domain.1
        ),
    ))
}
