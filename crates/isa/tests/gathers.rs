//! Gathers and scatters inside an arena, against models that move one element at a time.

mod common;

use common::tiles::{ARENA, arena, check, extent, near, tile};
use common::{Rng, refused, tiers};
use dtype::{DType, Scalar};
use isa::{Order, Pattern, Tile, shadow};

const INDICES: [DType; 4] = [DType::I16, DType::U16, DType::I32, DType::U32];

/// Sets the valid elements of `index` to numbers below `bound`; returns them by row and column.
fn fill_indices(rng: &mut Rng, mem: &mut [u8], index: &Tile, bound: u64) -> Vec<Vec<u64>> {
    let mut rows = Vec::new();
    for r in 0..index.valid_rows {
        let row: Vec<u64> = (0..index.valid_cols).map(|_| rng.below(bound)).collect();
        for (c, &v) in row.iter().enumerate() {
            isa::set(mem, index, r, c as u32, Scalar::new(index.dtype, v)).unwrap();
        }
        rows.push(row);
    }
    rows
}

/// Physical place of a flat index.
fn at_flat(t: &Tile, flat: u64) -> (u32, u32) {
    ((flat / t.cols as u64) as u32, (flat % t.cols as u64) as u32)
}

#[test]
fn gathers_by_flat_index() {
    let mut rng = Rng::new(1);
    for d in DType::ALL {
        for k in 0..16 {
            let mut mem = arena(&mut rng, d);
            let ((rows, cols), (src_rows, src_cols)) = (extent(&mut rng), extent(&mut rng));
            let src = tile(&mut rng, d, src_rows, src_cols);
            let index = tile(&mut rng, INDICES[k % 4], rows, cols);
            let indices = fill_indices(&mut rng, &mut mem, &index, src.rows as u64 * src.cols as u64);
            let mut dst = near(&mut rng, &src, rows, cols);
            if rng.below(3) == 0 && index.offset.is_multiple_of(d.size()) && index.offset + dst.byte_len() <= ARENA {
                dst.offset = index.offset;
            }
            let what = format!("gather {d} {src:?} {index:?} {dst:?}");
            check(&what, &mem, &dst, (rows, cols), &|m| isa::gather(m, &dst, &src, &index), &|at, r, c| {
                let (sr, sc) = at_flat(&src, indices[r as usize][c as usize]);
                at(&src, sr, sc)
            });
        }
    }
}

#[test]
fn an_index_out_of_range_names_itself() {
    let src = Tile::row_major(0, DType::F32, 4, 8).with_valid(2, 3);
    let dst = Tile::row_major(128, DType::F32, 4, 8);
    for (dtype, bad) in [(DType::I32, -1), (DType::I32, 32), (DType::I16, -7), (DType::U16, 65535), (DType::U32, -1)] {
        let index = Tile::row_major(256, dtype, 4, 8);
        let mut mem = vec![0u8; 512];
        isa::set(&mut mem, &index, 3, 5, Scalar::from_i64(dtype, bad)).unwrap();
        let named = Scalar::from_i64(dtype, bad).to_string();
        for fault in [
            refused(&mem, |m| isa::gather(m, &dst, &src, &index)),
            refused(&mem, |m| isa::scatter(m, &src, &dst, &index)),
        ] {
            assert!(fault.contains(&named) && fault.contains("(3, 5)") && fault.contains("32"), "{fault}");
        }
        // Not read if not valid.
        isa::gather(&mut mem, &dst.with_valid(3, 8), &src, &index).unwrap();
    }
    let mem = vec![0u8; 512];
    let index = Tile::row_major(256, DType::I32, 4, 8);
    for dtype in [DType::F32, DType::I64, DType::I8] {
        refused(&mem, |m| isa::gather(m, &dst, &src, &Tile { dtype, ..index.with_valid(4, 4) }));
    }
    refused(&mem, |m| isa::gather(m, &dst, &Tile { dtype: DType::F16, ..src }, &index));
    refused(&mem, |m| isa::gather(m, &dst, &src, &Tile { cols: 7, valid_cols: 7, ..index }));
    refused(&mem, |m| isa::scatter(m, &dst, &src.with_valid(4, 8), &Tile { cols: 7, valid_cols: 7, ..index }));
}

#[test]
fn scatters_zero_and_let_the_last_win() {
    let mut rng = Rng::new(2);
    for d in DType::ALL {
        for k in 0..16 {
            let mut mem = arena(&mut rng, d);
            let ((rows, cols), (dst_rows, dst_cols)) = (extent(&mut rng), extent(&mut rng));
            let src = tile(&mut rng, d, rows, cols);
            let mut dst = tile(&mut rng, d, dst_rows, dst_cols);
            if rng.below(2) == 0 && src.offset + dst.byte_len() <= ARENA {
                dst.offset = src.offset;
            }
            let index = tile(&mut rng, INDICES[k % 4], rows, cols);
            let indices = fill_indices(&mut rng, &mut mem, &index, dst.rows as u64 * dst.cols as u64);
            let before = mem.clone();
            let mut want = mem.clone();
            if rows > 0 && cols > 0 {
                for r in 0..dst.rows {
                    for c in 0..dst.cols {
                        isa::set(&mut want, &dst, r, c, Scalar::new(d, 0)).unwrap();
                    }
                }
                for r in 0..rows {
                    for c in 0..cols {
                        let (dr, dc) = at_flat(&dst, indices[r as usize][c as usize]);
                        isa::set(&mut want, &dst, dr, dc, isa::get(&before, &src, r, c).unwrap()).unwrap();
                    }
                }
            }
            tiers(|tier| {
                let mut got = before.clone();
                isa::scatter(&mut got, &dst, &src, &index).unwrap();
                assert!(got == want, "{tier:?} scatter {d} {src:?} {index:?} {dst:?}");
            });
        }
    }
}

#[test]
fn gathers_of_blocks() {
    let mut rng = Rng::new(3);
    for d in DType::ALL {
        let size = d.size() as u32;
        for _ in 0..10 {
            let mut mem = arena(&mut rng, d);
            let (rows, cols) = (rng.below(6) as u32, rng.below(70) as u32);
            let src = Tile::row_major(32 * rng.below(40) as usize, d, 8, 32 * (1 + rng.below(3) as u32) / size);
            let mut dst = Tile::row_major(16384, d, rows + 1, cols + 5).with_valid(rows, cols);
            if rng.below(2) == 0 {
                dst.offset = src.offset;
            }
            let blocks = (cols * size).div_ceil(32);
            let offsets = Tile::row_major(12288, DType::U32, 8, blocks + 1).with_valid(rows, blocks);
            let mut starts = fill_indices(&mut rng, &mut mem, &offsets, src.byte_len() as u64 / 32);
            for (r, row) in starts.iter_mut().enumerate() {
                for (c, start) in row.iter_mut().enumerate() {
                    *start *= 32;
                    isa::set(&mut mem, &offsets, r as u32, c as u32, Scalar::new(DType::U32, *start)).unwrap();
                }
            }
            let what = format!("blocks {d} {src:?} {dst:?}");
            check(&what, &mem, &dst, (rows, cols), &|m| isa::gather_blocks(m, &dst, &src, &offsets), &|at, r, c| {
                let byte = c * size;
                let start = starts[r as usize][byte as usize / 32] as usize + byte as usize % 32;
                let one = Tile::row_major(src.offset + start, d, 1, 1);
                at(&one, 0, 0)
            });
        }
    }
    let src = Tile::row_major(0, DType::F32, 4, 8);
    let dst = Tile::row_major(128, DType::F32, 1, 16);
    let offsets = Tile::row_major(256, DType::U32, 1, 2);
    for bad in [16, 128, u32::MAX] {
        let mut mem = vec![0u8; 512];
        isa::set(&mut mem, &offsets, 0, 1, Scalar::new(DType::U32, bad as u64)).unwrap();
        let fault = refused(&mem, |m| isa::gather_blocks(m, &dst, &src, &offsets));
        assert!(fault.contains(&bad.to_string()) && fault.contains("(0, 1)"), "{fault}");
    }
    refused(&[0; 512], |m| isa::gather_blocks(m, &dst, &src, &Tile { dtype: DType::I32, ..offsets }));
    refused(&[0; 512], |m| isa::gather_blocks(m, &dst, &src, &Tile { cols: 1, valid_cols: 1, ..offsets }));
}

/// Which lanes of a period each code takes, from the digits of the names (`isa.md` §2.7).
const DIGITS: [(i64, &str); 7] = [(1, "01"), (2, "10"), (3, "0001"), (4, "0010"), (5, "0100"), (6, "1000"), (7, "1")];

fn takes(digits: &str, c: u32) -> bool {
    let lane = c as usize % digits.len();
    digits.as_bytes()[digits.len() - 1 - lane] == b'1'
}

#[test]
fn patterns_pack_and_spread() {
    let mut rng = Rng::new(4);
    // One type of each size as another one: bits are moved.
    for (from, to) in
        [(DType::F32, DType::U32), (DType::F16, DType::I16), (DType::I8, DType::U8), (DType::I64, DType::I64)]
    {
        for (code, digits) in DIGITS {
            let pattern = Pattern::from_code(code).unwrap();
            for _ in 0..8 {
                let mem = arena(&mut rng, from);
                let (rows, some) = extent(&mut rng);
                let cols = some.next_multiple_of(digits.len() as u32);
                let kept: Vec<u32> = (0..cols).filter(|&c| takes(digits, c)).collect();
                let wide = tile(&mut rng, from, rows, cols);
                let narrow = Tile { dtype: to, ..near(&mut rng, &wide, rows, kept.len() as u32) };
                check(
                    &format!("gather {pattern:?} {from} {to} {wide:?} {narrow:?}"),
                    &mem,
                    &narrow,
                    (rows, kept.len() as u32),
                    &|m| isa::gather_mask(m, pattern, &narrow, &wide),
                    &|at, r, c| at(&wide, r, kept[c as usize]),
                );
                check(
                    &format!("scatter {pattern:?} {from} {to} {wide:?} {narrow:?}"),
                    &mem,
                    &wide,
                    (rows, cols),
                    &|m| isa::scatter_mask(m, pattern, &wide, &narrow),
                    &|at, r, c| match kept.iter().position(|&k| k == c) {
                        Some(k) => at(&narrow, r, k as u32),
                        None => Scalar::new(from, 0),
                    },
                );
            }
        }
    }
    assert!([0, 8, -1, i64::MIN].iter().all(|&code| Pattern::from_code(code).is_none()));
    let (src, dst) = (Tile::row_major(0, DType::F32, 2, 6), Tile::row_major(64, DType::F32, 2, 8));
    let fault = refused(&[0; 128], |m| isa::gather_mask(m, Pattern::P0010, &dst, &src));
    assert!(fault.contains('6') && fault.contains('4'), "{fault}");
    refused(&[0; 128], |m| isa::scatter_mask(m, Pattern::P0010, &src, &dst));
    refused(&[0; 128], |m| isa::gather_mask(m, Pattern::P0101, &Tile { dtype: DType::I16, ..dst }, &src));
    refused(&[0; 128], |m| isa::gather_mask(m, Pattern::P0101, &Tile { cols: 2, valid_cols: 2, ..dst }, &src));
    refused(&[0; 128], |m| isa::scatter_mask(m, Pattern::P0101, &dst, &Tile { cols: 2, valid_cols: 2, ..src }));
}

/// What is defined of a tile's valid region.
fn defined(mem: &[u8], t: &Tile) -> Vec<Vec<bool>> {
    let row = |r| (0..t.valid_cols).map(|c| shadow::is_defined(mem, t, r, c).unwrap()).collect();
    (0..t.valid_rows).map(row).collect()
}

#[test]
fn definedness_follows_indices_and_what_they_name() {
    let src = Tile::row_major(0, DType::F32, 2, 4);
    let index = Tile::row_major(64, DType::I32, 2, 3);
    let dst = Tile::new(128, DType::F32, 16, 8, Order::Nz, 512).with_valid(2, 3);
    let mut data = vec![0u8; 1024];
    for (k, v) in [7, 2, 2, 5, 0, 7].into_iter().enumerate() {
        isa::set(&mut data, &index, k as u32 / 3, k as u32 % 3, Scalar::new(DType::I32, v)).unwrap();
    }
    let mut mem = vec![1u8; 1024];
    shadow::set(&mut mem, &src, 0, 2, false).unwrap();
    shadow::set(&mut mem, &index, 1, 0, false).unwrap();
    let mut gathered = mem.clone();
    shadow::gather(&mut gathered, &data, &dst, &src, &index).unwrap();
    assert_eq!(defined(&gathered, &dst), [[true, false, false], [false, true, true]]);
    // Scatter: the tile of 2×3 to flat places 7, 2, 2, 5, 0, 7 of 2×4. Element (0, 1) loses to (0, 2); (1, 0) has an undefined index.
    let values = Tile::row_major(256, DType::F32, 2, 3);
    let target = Tile { offset: 512, ..src };
    let mut mem = vec![1u8; 1024];
    mem[512..544].fill(0);
    shadow::set(&mut mem, &values, 0, 1, false).unwrap();
    shadow::set(&mut mem, &values, 1, 2, false).unwrap();
    shadow::set(&mut mem, &index, 1, 0, false).unwrap();
    shadow::scatter(&mut mem, &data, &target, &values, &index).unwrap();
    assert_eq!(defined(&mem, &target), [[true, true, true, true], [true, false, true, false]]);
    // Blocks: eight elements share an offset.
    let wide = Tile::row_major(512, DType::F32, 1, 12);
    let offsets = Tile::row_major(64, DType::U32, 1, 2);
    let mut data = vec![0u8; 1024];
    isa::set(&mut data, &offsets, 0, 0, Scalar::new(DType::U32, 32)).unwrap();
    let source = Tile::row_major(256, DType::F32, 2, 8);
    let mut mem = vec![1u8; 1024];
    shadow::set(&mut mem, &source, 1, 3, false).unwrap();
    shadow::set(&mut mem, &offsets, 0, 1, false).unwrap();
    shadow::gather_blocks(&mut mem, &data, &wide, &source, &offsets).unwrap();
    assert!(defined(&mem, &wide)[0].iter().enumerate().all(|(c, &d)| d == (c < 8 && c != 3)));
    // Patterns.
    let (row, packed) = (Tile::row_major(0, DType::F16, 1, 8), Tile::row_major(64, DType::F16, 1, 8));
    let mut mem = vec![1u8; 128];
    shadow::set(&mut mem, &row, 0, 5, false).unwrap();
    shadow::gather_mask(&mut mem, Pattern::P0010, &packed.with_valid(1, 2), &row).unwrap();
    assert_eq!(defined(&mem, &packed.with_valid(1, 3)), [[true, false, true]]);
    shadow::scatter_mask(&mut mem, Pattern::P1000, &row, &packed).unwrap();
    assert_eq!(defined(&mem, &row), [[true, true, true, true, true, true, true, false]]);
}
