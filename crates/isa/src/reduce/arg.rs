//! The place of the largest or smallest element of a row or column.

use dtype::DType;

use super::TYPES;
use crate::number::{Number, with_number};
use crate::plane::{self, Arena, Layout};
use crate::{Fault, Tile};

/// Whose place [`arg_reduce_rows`] and [`arg_reduce_cols`] find.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Arg {
    Max,
    Min,
}

/// `dst[i, 0]` = the column of the largest or smallest element of row i, as i32 or u32.
pub fn arg_reduce_rows(mem: &mut [u8], arg: Arg, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    check(mem.len(), dst, src, (src.valid_rows, 1))?;
    let mem = Arena::new(mem);
    let region = (src.valid_rows, src.valid_cols);
    if region.0 == 0 || region.1 == 0 {
        return Ok(());
    }
    let mut copy = Vec::new();
    let rows = plane::in_rows(mem.layout(src), region, src.dtype.size(), &mut copy);
    let mut places = places(arg, src.dtype, region, rows)?;
    crate::copy::move_elements(mem, dst, (region.0, 1), Layout::strided(places.as_mut_ptr().cast(), 4, 0));
    Ok(())
}

/// `dst[0, j]` = the row of the largest or smallest element of column j, as i32 or u32.
pub fn arg_reduce_cols(mem: &mut [u8], arg: Arg, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    check(mem.len(), dst, src, (1, src.valid_cols))?;
    let mem = Arena::new(mem);
    let region = (src.valid_rows, src.valid_cols);
    if region.0 == 0 || region.1 == 0 {
        return Ok(());
    }
    // Columns become rows: a copy of the transpose.
    let size = src.dtype.size();
    let turned = (region.1, region.0);
    let mut bytes = vec![0u8; region.0 as usize * region.1 as usize * size];
    let columns = Layout::dense(&mut bytes, turned.1, size);
    let (rows, cols) = (turned.0 as usize, turned.1 as usize);
    plane::for_each_transposed(rows, cols, columns, mem.layout(src), |rows, cols, [d, s]| {
        // SAFETY: the source's region was checked, and the copy has as many elements.
        unsafe { crate::copy::move_plane(rows, cols, d, s, size) }
    });
    let mut places = places(arg, src.dtype, turned, columns)?;
    crate::copy::move_elements(mem, dst, (1, region.1), Layout::strided(places.as_mut_ptr().cast(), 0, 4));
    Ok(())
}

/// Checks the operands of either, and that a result of `result` elements fits.
pub(crate) fn check(arena: usize, dst: &Tile, src: &Tile, result: (u32, u32)) -> Result<(), Fault> {
    if !matches!(dst.dtype, DType::I32 | DType::U32) {
        return Err(Fault::dtype("the place of an extreme element", &[dst.dtype], "places of type i32 or u32"));
    }
    src.check_region("source", arena, src.valid_rows, src.valid_cols)?;
    dst.check_region("destination", arena, result.0, result.1)
}

/// For each row of a region without gaps between elements, the place of its extreme.
fn places(arg: Arg, dtype: DType, region: (u32, u32), rows: Layout) -> Result<Vec<u32>, Fault> {
    let mut places = Vec::with_capacity(region.0 as usize);
    for r in 0..region.0 as usize {
        let row = rows.at(r, 0).ptr;
        let place = with_number!(dtype, T => {
            // SAFETY: the callers checked or copied the region, whose rows lie element after element.
            let element = |c: usize| unsafe { row.cast::<T>().add(c).read_unaligned() };
            extreme(arg, region.1, element)
        }, _ => return Err(Fault::dtype("the place of an extreme element", &[dtype], TYPES)));
        places.push(place);
    }
    Ok(places)
}

fn extreme<T: Number>(arg: Arg, n: u32, element: impl Fn(usize) -> T) -> u32 {
    let (mut place, mut best) = (0, element(0));
    for c in 1..n {
        let x = element(c as usize);
        let wins = match arg {
            Arg::Max => best.less(x),
            Arg::Min => x.less(best),
        };
        if wins {
            (place, best) = (c, x);
        }
    }
    place
}
