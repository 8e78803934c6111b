//! Instructions without a source tile: constants and ramps.

use dtype::Scalar;
use dtype::scalar::cast;

use crate::plane::{Arena, Layout};
use crate::{Fault, Tile};

/// Sets the valid region to `value`, cast to the tile's type.
pub fn fill(mem: &mut [u8], dst: &Tile, value: Scalar) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    fill_region(mem, dst, (dst.valid_rows, dst.valid_cols), value)
}

/// Sets the whole physical extent to `value`, cast to the tile's type.
pub fn fill_all(mem: &mut [u8], dst: &Tile, value: Scalar) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    fill_region(mem, dst, (dst.rows, dst.cols), value)
}

fn fill_region(mem: Arena, dst: &Tile, region: (u32, u32), value: Scalar) -> Result<(), Fault> {
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    let mut bytes = cast(value, dst.dtype).to_le_bytes();
    crate::copy::move_elements(mem, dst, region, Layout::strided(bytes.as_mut_ptr(), 0, 0));
    Ok(())
}

/// `dst[0, j] = start + j`, or `start − j` if `descending`, for integers; wraps. One valid row.
pub fn iota(mem: &mut [u8], dst: &Tile, start: Scalar, descending: bool) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    if !dst.dtype.is_int() {
        return Err(Fault::dtype("a ramp", &[dst.dtype], "integers"));
    }
    if dst.valid_rows > 1 {
        return Err(Fault::shape("destination", format!("a ramp has one row, not {}", dst.valid_rows)));
    }
    dst.check_region("destination", mem.len(), dst.valid_rows, dst.valid_cols)?;
    if dst.valid_rows == 0 {
        return Ok(());
    }
    let size = dst.dtype.size();
    let mut value = cast(start, dst.dtype).bits;
    let mut row = Vec::with_capacity(dst.valid_cols as usize * size);
    for _ in 0..dst.valid_cols {
        row.extend_from_slice(&value.to_le_bytes()[..size]);
        value = if descending { value.wrapping_sub(1) } else { value.wrapping_add(1) };
    }
    let ramp = Layout::strided(row.as_mut_ptr(), 0, size as isize);
    crate::copy::move_elements(mem, dst, (1, dst.valid_cols), ramp);
    Ok(())
}
