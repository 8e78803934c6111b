//! Instructions without a source tile: constants, ramps and triangles. (Random bits are in `random`.)

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

/// The lower triangle: `dst[i, j]` = 1 where j ≤ i + diagonal, else 0. The upper one: 0 where j < i + diagonal, else 1.
pub fn triangle(mem: &mut [u8], dst: &Tile, diagonal: i64, upper: bool) -> Result<(), Fault> {
    if dst.dtype == dtype::DType::Bool {
        return Err(Fault::dtype("a triangle", &[dst.dtype], "every type but i1"));
    }
    let (rows, cols) = (dst.valid_rows, dst.valid_cols);
    dst.check_region("destination", mem.len(), rows, cols)?;
    let size = dst.dtype.size();
    let one = Scalar::from_i64(dst.dtype, 1).to_le_bytes();
    // A row is a run of one value and then of the other.
    let (left, right) = if upper { (0, 1) } else { (1, 0) };
    let mem = Arena::new(mem);
    let whole = mem.layout(dst);
    let mut row = vec![0u8; cols as usize * size];
    for r in 0..rows {
        let first_right = (r as i64).saturating_add(diagonal).saturating_add(!upper as i64).clamp(0, cols as i64);
        for (c, element) in row.chunks_exact_mut(size).enumerate() {
            let value = if (c as i64) < first_right { left } else { right };
            element.copy_from_slice(if value == 1 { &one[..size] } else { &[0; 8][..size] });
        }
        let source = Layout::dense(&mut row, cols, size);
        crate::copy::move_layouts((1, cols), whole.rows_from(r as usize), source, size);
    }
    Ok(())
}
