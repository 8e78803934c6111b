//! Single elements of a tile.

use dtype::{DType, Scalar};

use crate::{Fault, Tile};

fn place(arena: usize, tile: &Tile, r: u32, c: u32) -> Result<usize, Fault> {
    if r >= tile.rows || c >= tile.cols {
        return Err(Fault::shape("tile", format!("element ({r}, {c}) of a tile of {}x{}", tile.rows, tile.cols)));
    }
    tile.check_region("tile", arena, r + 1, c + 1)?;
    Ok(tile.byte_offset(r, c))
}

/// Element (r, c), valid or not.
pub fn get(mem: &[u8], tile: &Tile, r: u32, c: u32) -> Result<Scalar, Fault> {
    let at = place(mem.len(), tile, r, c)?;
    let mut bytes = [0; 8];
    let size = tile.dtype.size();
    bytes[..size].copy_from_slice(&mem[at..at + size]);
    Ok(Scalar::new(tile.dtype, u64::from_le_bytes(bytes)))
}

/// Stores `value`, which must have the tile's type (`Index` and `I64` are one), in element (r, c), valid or not.
pub fn set(mem: &mut [u8], tile: &Tile, r: u32, c: u32, value: Scalar) -> Result<(), Fault> {
    let plain = |d: DType| if d == DType::Index { DType::I64 } else { d };
    if plain(value.dtype) != plain(tile.dtype) {
        return Err(Fault::dtype("an element store", &[tile.dtype, value.dtype], "a scalar of the tile's type"));
    }
    let at = place(mem.len(), tile, r, c)?;
    let size = tile.dtype.size();
    mem[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    Ok(())
}
