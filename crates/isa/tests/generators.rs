//! Triangles, and random bits against published values of the generator.

mod common;

use common::tiles::{ARENA, NUMBERS, arena, check, extent, tile};
use common::{Rng, refused};
use dtype::{DType, Scalar};
use isa::{Order, Tile};

#[test]
fn triangles() {
    let mut rng = Rng::new(1);
    for d in NUMBERS {
        for diagonal in [0, 1, -1, 3, -5, 100, -100, i64::MAX, i64::MIN] {
            for upper in [false, true] {
                let mem = arena(&mut rng, d);
                let (rows, cols) = extent(&mut rng);
                let dst = tile(&mut rng, d, rows, cols);
                let what = format!("triangle {d} {diagonal} {upper} {dst:?}");
                check(&what, &mem, &dst, (rows, cols), &|m| isa::triangle(m, &dst, diagonal, upper), &|_, r, c| {
                    let edge = r as i128 + diagonal as i128;
                    let one = if upper { c as i128 >= edge } else { c as i128 <= edge };
                    let bits = match (one, d) {
                        (false, _) => 0,
                        (_, DType::F32) => 0x3f80_0000,
                        (_, DType::F16) => 0x3c00,
                        (_, DType::BF16) => 0x3f80,
                        _ => 1,
                    };
                    Scalar::new(d, bits)
                });
            }
        }
    }
    refused(&[1; 64], |m| isa::triangle(m, &Tile::row_major(0, DType::Bool, 2, 2), 0, false));
    refused(&[1; 64], |m| isa::triangle(m, &Tile::row_major(0, DType::F32, 5, 4), 0, false));
}

fn words(mem: &[u8], t: &Tile, r: u32) -> Vec<u32> {
    (0..t.valid_cols).map(|c| isa::get(mem, t, r, c).unwrap().bits as u32).collect()
}

/// The test vectors that the authors of the generator publish.
#[test]
fn philox_is_philox() {
    let t = Tile::row_major(0, DType::U32, 1, 4);
    for (rounds, key, counter, want) in [
        (7, [0; 2], [0; 4], [0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48]),
        (10, [0; 2], [0; 4], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        (10, [u32::MAX; 2], [u32::MAX; 4], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            10,
            [0xa4093822, 0x299f31d0],
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ] {
        let mut mem = vec![0u8; 16];
        isa::random(&mut mem, &t, key, counter, rounds).unwrap();
        assert_eq!(words(&mem, &t, 0), want, "{rounds} rounds");
    }
}

/// One block of the generator, through the instruction that the vectors above check.
fn block(key: [u32; 2], counter: u128) -> Vec<u32> {
    let t = Tile::row_major(0, DType::U32, 1, 4);
    let mut mem = vec![0u8; 16];
    let counter = [counter as u32, (counter >> 32) as u32, (counter >> 64) as u32, (counter >> 96) as u32];
    isa::random(&mut mem, &t, key, counter, 10).unwrap();
    words(&mem, &t, 0)
}

#[test]
fn columns_and_counters_are_the_devices() {
    let mut rng = Rng::new(2);
    // The last counter wraps through all its words.
    for start in [5u128, (1 << 32) - 3, u128::MAX - 70] {
        for cols in [0, 1, 3, 4, 64, 65, 130, 256, 257, 600] {
            for order in [Order::RowMajor, Order::ColMajor, Order::Nz] {
                let (ir, ic) = Tile::new(0, DType::I32, 1, 1, order, 512).inner_box();
                let (rows, width) = (3u32.next_multiple_of(ir), (cols as u32).next_multiple_of(ic) + ic);
                let dst = Tile::new(64, DType::I32, rows, width, order, 512).with_valid(3, cols as u32);
                let mut mem = vec![0u8; 64 + dst.byte_len() + 64];
                rng.fill(&mut mem);
                let key = [rng.next() as u32, rng.next() as u32];
                // Row by row: loops of 64 blocks; the step after the last one counts columns.
                let mut want = Vec::new();
                let mut counter = start;
                for _ in 0..3 {
                    let mut row = Vec::new();
                    let loops = usize::div_ceil(cols, 256);
                    for k in 0..loops {
                        row.extend((0..64).flat_map(|lane| block(key, counter.wrapping_add(lane))));
                        let step = if k + 1 == loops { (cols - 1) % 64 + 1 } else { 64 };
                        counter = counter.wrapping_add(step as u128);
                    }
                    row.truncate(cols);
                    want.push(row);
                }
                let words = [start as u32, (start >> 32) as u32, (start >> 64) as u32, (start >> 96) as u32];
                let what = format!("random {cols} {order:?}");
                check(&what, &mem, &dst, (3, cols as u32), &|m| isa::random(m, &dst, key, words, 10), &|_, r, c| {
                    Scalar::new(DType::I32, want[r as usize][c as usize] as u64)
                });
            }
        }
    }
    let mem = vec![7u8; ARENA];
    let t = Tile::row_major(0, DType::U32, 2, 8);
    for rounds in [0, 8, 20] {
        let fault = refused(&mem, |m| isa::random(m, &t, [0; 2], [0; 4], rounds));
        assert!(fault.contains(&rounds.to_string()), "{fault}");
    }
    refused(&mem, |m| isa::random(m, &Tile { dtype: DType::F32, ..t }, [0; 2], [0; 4], 10));
    refused(&mem, |m| isa::random(m, &Tile { offset: ARENA, ..t }, [0; 2], [0; 4], 10));
}
