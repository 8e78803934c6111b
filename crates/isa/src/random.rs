//! Random bits: Philox-4x32 in the device's column order (`isa.md` §2.4).
//!
//! The generator (Salmon et al., 2011) maps a key of two words and a counter of four to four words. A *loop* covers 256
//! columns with 64 lanes: lane l takes the counter plus l (128 bits, word 0 the lowest), and word r of its output goes to column
//! 256·loop + 4·l + r. After a loop that is not the last of its row the counter advances by 64; after a row's last loop by
//! ((valid columns − 1) mod 64) + 1, which counts columns, not lanes, so that rows may share blocks. So does the device.

use dtype::DType;

use crate::plane::{Arena, Layout};
use crate::{Fault, Tile};

const LANES: usize = 64;
const WORDS: usize = 4;

/// Fills the destination's valid region, of i32 or u32; `rounds` is 7 or 10.
pub fn random(mem: &mut [u8], dst: &Tile, key: [u32; 2], counter: [u32; 4], rounds: u32) -> Result<(), Fault> {
    if !matches!(dst.dtype, DType::I32 | DType::U32) {
        return Err(Fault::dtype("a random fill", &[dst.dtype], "i32, u32"));
    }
    if !matches!(rounds, 7 | 10) {
        return Err(Fault::Unsupported { what: format!("Philox of {rounds} rounds; supported: 7 and 10") });
    }
    dst.check_region("destination", mem.len(), dst.valid_rows, dst.valid_cols)?;
    if dst.valid_rows == 0 || dst.valid_cols == 0 {
        return Ok(());
    }
    let mut counter = counter.iter().rev().fold(0u128, |n, &word| n << 32 | word as u128);
    let cols = dst.valid_cols as usize;
    let mut row = Vec::with_capacity(cols.next_multiple_of(WORDS) * 4);
    let mem = Arena::new(mem);
    let whole = mem.layout(dst);
    for r in 0..dst.valid_rows as usize {
        row.clear();
        for first in (0..cols).step_by(LANES * WORDS) {
            let width = (cols - first).min(LANES * WORDS);
            for lane in 0..width.div_ceil(WORDS) {
                for word in philox(key, counter.wrapping_add(lane as u128), rounds) {
                    row.extend_from_slice(&word.to_le_bytes());
                }
            }
            let last = first + width == cols;
            counter = counter.wrapping_add(if last { (cols - 1) % LANES + 1 } else { LANES } as u128);
        }
        let words = Layout::dense(&mut row, dst.valid_cols, 4);
        crate::copy::move_layouts((1, dst.valid_cols), whole.rows_from(r), words, 4);
    }
    Ok(())
}

fn philox(mut key: [u32; 2], counter: u128, rounds: u32) -> [u32; 4] {
    let mut c: [u32; 4] = std::array::from_fn(|k| (counter >> (32 * k)) as u32);
    for _ in 0..rounds {
        let (a, b) = (c[0] as u64 * 0xd251_1f53, c[2] as u64 * 0xcd9e_8d57);
        c = [(b >> 32) as u32 ^ c[1] ^ key[0], b as u32, (a >> 32) as u32 ^ c[3] ^ key[1], a as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    c
}
