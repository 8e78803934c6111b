//! Sorts and merges of records, against stable sorts of the standard library.

mod common;

use common::tiles::{ARENA, arena, check, near, tile};
use common::{Rng, refused, tiers};
use dtype::{DType, Scalar};
use isa::{Tile, shadow};

/// The total order of IEEE 754, descending, by the standard library (f16 widened: its payloads keep their order).
fn before(d: DType, a: u64, b: u64) -> std::cmp::Ordering {
    let wide = |bits: u64| match d {
        DType::F32 => f32::from_bits(bits as u32),
        _ => {
            let (sign, rest) = ((bits as u32 >> 15) << 31, bits as u32 & 0x7fff);
            if rest >= 0x7c00 {
                f32::from_bits(sign | 0x7f80_0000 | (rest & 0x3ff) << 13)
            } else {
                f32::from_bits(sign | ((Scalar::new(DType::F16, rest as u64).as_f64()) as f32).to_bits())
            }
        }
    };
    wide(b).total_cmp(&wide(a))
}

/// A record as (value bits, index).
type Record = (u64, u64);

/// The elements of the values' type that make up a record.
fn elements(d: DType, (value, index): Record) -> Vec<u64> {
    match d {
        DType::F32 => vec![value, index],
        _ => vec![value, 0, index & 0xffff, index >> 16],
    }
}

fn sorted(d: DType, mut group: Vec<Record>) -> Vec<Record> {
    group.sort_by(|a, b| before(d, a.0, b.0));
    group
}

/// Some equal values, zeros of both signs and NaNs.
fn values(rng: &mut Rng, d: DType) -> Vec<u8> {
    let mut mem = arena(rng, d);
    for e in mem.chunks_exact_mut(d.size()) {
        if rng.below(3) == 0 {
            let v = Scalar::from_i64(d, rng.below(5) as i64 - 2).bits;
            e.copy_from_slice(&v.to_le_bytes()[..d.size()]);
        }
    }
    mem
}

#[test]
fn groups_of_32() {
    let mut rng = Rng::new(1);
    for d in [DType::F32, DType::F16] {
        let columns = 8 / d.size() as u32;
        for cols in [0, 1, 31, 32, 33, 64, 100] {
            for rows in [0, 1, 3] {
                for k in 0..4 {
                    let mem = values(&mut rng, d);
                    let src = tile(&mut rng, d, rows, cols);
                    let idx = tile(&mut rng, if k % 2 == 0 { DType::U32 } else { DType::I32 }, rows, cols);
                    let width = cols.div_ceil(32) * 32 * columns;
                    let mut dst = tile(&mut rng, d, rows, width);
                    if k > 1 && src.offset + dst.byte_len() <= ARENA {
                        dst.offset = src.offset;
                    }
                    let what = format!("sort {d} {src:?} {dst:?}");
                    check(&what, &mem, &dst, (rows, width), &|m| isa::sort32(m, &dst, &src, &idx), &|at, r, c| {
                        let group = c / columns / 32;
                        let mut records: Vec<Record> = (group * 32..cols.min(group * 32 + 32))
                            .map(|c| (at(&src, r, c).bits, at(&idx, r, c).bits))
                            .collect();
                        // Of a short group, the rest is −NaN.
                        records.resize(32, (if d == DType::F32 { 0xffff_ffff } else { 0xffff }, 0));
                        let record = sorted(d, records)[(c / columns % 32) as usize];
                        Scalar::new(d, elements(d, record)[(c % columns) as usize])
                    });
                }
            }
        }
    }
}

/// The places of special values, in the order that the documentation states.
#[test]
fn nans_and_zeros() {
    let row = [
        0xffc0_0000u32,
        0x8000_0000,
        0x7fc0_0001,
        0,
        0xff80_0000,
        0x7f80_0000,
        0x7fc0_0000,
        0x3f80_0000,
        0,
        0xffff_ffff,
    ];
    let src = Tile::row_major(0, DType::F32, 1, row.len() as u32);
    let idx = Tile::row_major(64, DType::U32, 1, row.len() as u32);
    let dst = Tile::row_major(128, DType::F32, 1, 64);
    let mut mem: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
    mem.resize(512, 0);
    for k in 0..row.len() as u32 {
        isa::set(&mut mem, &idx, 0, k, Scalar::new(DType::U32, k as u64)).unwrap();
    }
    isa::sort32(&mut mem, &dst, &src, &idx).unwrap();
    let places: Vec<u64> = (0..row.len() as u32).map(|k| isa::get(&mem, &dst, 0, 2 * k + 1).unwrap().bits).collect();
    assert_eq!(places, [2, 6, 5, 7, 3, 8, 1, 4, 0, 9]);
}

/// Sorted runs of records in the valid columns of `src`, `run` of them each, with indices that tell where they came from.
fn fill_runs(rng: &mut Rng, mem: &mut [u8], src: &Tile, run: usize) -> Vec<Vec<Vec<Record>>> {
    let d = src.dtype;
    let columns = 8 / d.size() as u32;
    let mut rows = Vec::new();
    for r in 0..src.valid_rows {
        let mut left = (src.valid_cols / columns) as usize;
        let mut runs: Vec<Vec<Record>> = Vec::new();
        let mut place = 0;
        while left > 0 {
            let n = left.min(run);
            let group = (0..n)
                .map(|k| {
                    let value = match rng.below(6) {
                        0 => rng.next() & ((1 << d.bits()) - 1),
                        _ => Scalar::from_i64(d, rng.below(9) as i64 - 4).bits,
                    };
                    (value, place + k as u64 + 0x1_0000 * r as u64)
                })
                .collect();
            runs.push(sorted(d, group));
            place += n as u64;
            left -= n;
        }
        for (k, &record) in runs.iter().flatten().enumerate() {
            for (e, &bits) in elements(d, record).iter().enumerate() {
                isa::set(mem, src, r, k as u32 * columns + e as u32, Scalar::new(d, bits)).unwrap();
            }
        }
        rows.push(runs);
    }
    rows
}

#[test]
fn merges_of_four_runs() {
    let mut rng = Rng::new(2);
    for d in [DType::F32, DType::F16] {
        let columns = 8 / d.size() as u32;
        for (rows, records, run) in
            [(1, 128, 32), (2, 100, 8), (1, 7, 32), (3, 64, 1), (2, 0, 32), (0, 64, 32), (1, 200, 24)]
        {
            for _ in 0..3 {
                let mut mem = values(&mut rng, d);
                let src = tile(&mut rng, d, rows, records * columns);
                let runs = fill_runs(&mut rng, &mut mem, &src, run as usize);
                let dst = near(&mut rng, &src, rows, records * columns);
                let what = format!("merge {d} {src:?} {dst:?} runs of {run}");
                let region = (rows, records * columns);
                check(&what, &mem, &dst, region, &|m| isa::merge_sort(m, &dst, &src, run * columns), &|_, r, c| {
                    let merged: Vec<Record> =
                        runs[r as usize].chunks(4).flat_map(|four| sorted(d, four.concat())).collect();
                    let record = merged[(c / columns) as usize];
                    Scalar::new(d, elements(d, record)[(c % columns) as usize])
                });
            }
        }
        let t = Tile::row_major(0, d, 1, 64);
        let odd = Tile::row_major(0, d, 1, columns + 1);
        for bad in [0, 1, columns + 1] {
            refused(&[0; 512], |m| isa::merge_sort(m, &t, &t, bad));
        }
        refused(&[0; 512], |m| isa::merge_sort(m, &odd, &odd, columns));
        refused(&[0; 512], |m| isa::merge_sort(m, &t.with_valid(1, 1), &Tile { dtype: DType::I32, ..t }, columns));
    }
}

#[test]
fn merges_of_lists() {
    let mut rng = Rng::new(3);
    for d in [DType::F32, DType::F16] {
        let columns = 8 / d.size() as u32;
        for lengths in [vec![5, 9], vec![32, 32, 32, 32], vec![1, 0, 40], vec![20, 3, 17, 64], vec![0, 0]] {
            for exhausted in [false, true] {
                let mut mem = values(&mut rng, d);
                let mut at = 0;
                let mut tiles = Vec::new();
                let mut lists = Vec::new();
                for &n in &lengths {
                    let t = Tile::row_major(at, d, 1, n * columns + 4).with_valid(1, n * columns);
                    at += t.byte_len();
                    let mut rows = fill_runs(&mut rng, &mut mem, &t, 1000);
                    lists.push(rows.remove(0).concat());
                    tiles.push(t);
                }
                let total = lengths.iter().sum::<u32>();
                let mut dst = Tile::row_major(8192, d, 1, total * columns + 8);
                if rng.below(2) == 0 {
                    dst.offset = 0;
                }
                // Every record with its list, in order; then cut after the one that empties a list.
                let mut all: Vec<(usize, Record)> =
                    lists.iter().enumerate().flat_map(|(k, l)| l.iter().map(move |&r| (k, r))).collect();
                all.sort_by(|a, b| before(d, a.1.0, b.1.0));
                let mut taken = [0u32; 4];
                let mut want = Vec::new();
                for (list, record) in all {
                    if exhausted && lengths.iter().zip(taken).any(|(&n, t)| n == t) {
                        break;
                    }
                    taken[list] += 1;
                    want.push(record);
                }
                let mut expected = mem.clone();
                for (k, &record) in want.iter().enumerate() {
                    for (e, &bits) in elements(d, record).iter().enumerate() {
                        isa::set(&mut expected, &dst, 0, k as u32 * columns + e as u32, Scalar::new(d, bits)).unwrap();
                    }
                }
                let refs: Vec<&Tile> = tiles.iter().collect();
                tiers(|tier| {
                    let mut got = mem.clone();
                    let counts = isa::merge_lists(&mut got, &dst, &refs, exhausted).unwrap();
                    assert_eq!(counts, taken, "{tier:?} {d} {lengths:?} exhausted {exhausted}");
                    assert!(got == expected, "{tier:?} {d} {lengths:?} exhausted {exhausted}");
                });
            }
        }
    }
    let t = Tile::row_major(0, DType::F32, 1, 8);
    let dst = Tile::row_major(64, DType::F32, 1, 16);
    refused(&[0; 128], |m| isa::merge_lists(m, &dst, &[&t], false));
    refused(&[0; 128], |m| isa::merge_lists(m, &dst, &[&t; 5], false));
    refused(&[0; 128], |m| isa::merge_lists(m, &dst, &[&t; 3], false));
    refused(&[0; 128], |m| isa::merge_lists(m, &dst, &[&t, &t.with_valid(1, 7)], false));
    refused(&[0; 128], |m| isa::merge_lists(m, &dst, &[&t, &Tile::row_major(0, DType::F32, 2, 2)], false));
    refused(&[0; 128], |m| isa::sort32(m, &dst, &t, &t));
    refused(&[0; 512], |m| isa::sort32(m, &dst, &t, &Tile { dtype: DType::U32, ..t }));
}

#[test]
fn definedness_of_sorts() {
    let row = |mem: &[u8], t: &Tile| -> Vec<bool> {
        (0..t.valid_cols).map(|c| shadow::is_defined(mem, t, 0, c).unwrap()).collect()
    };
    // Two groups, ascending values: the index of element 3 ends in record 28 of the first.
    let src = Tile::row_major(0, DType::F32, 1, 64).with_valid(1, 40);
    let idx = Tile::row_major(256, DType::U32, 1, 64);
    let dst = Tile::row_major(512, DType::F32, 1, 128);
    let mut data = vec![0u8; 2048];
    for c in 0..40 {
        isa::set(&mut data, &src, 0, c, Scalar::f32(c as f32)).unwrap();
    }
    let mut mem = vec![1u8; 2048];
    mem[512..1024].fill(0);
    shadow::set(&mut mem, &idx, 0, 3, false).unwrap();
    shadow::set(&mut mem, &src, 0, 35, false).unwrap();
    shadow::set(&mut mem, &src, 0, 41, false).unwrap();
    shadow::sort32(&mut mem, &data, &dst, &src, &idx).unwrap();
    assert!(row(&mem, &dst).iter().enumerate().all(|(c, &d)| d == (c < 64 && c != 57)));
    // Merging: runs of two records; the first group is whole but for an index, the second has an undefined value.
    let src = Tile::row_major(0, DType::F32, 1, 20);
    let mut data = vec![0u8; 2048];
    for (k, v) in [8.0, 1.0, 7.0, 2.0, 6.0, 3.0, 5.0, 4.0, 2.0, 1.0].into_iter().enumerate() {
        isa::set(&mut data, &src, 0, 2 * k as u32, Scalar::f32(v)).unwrap();
    }
    let mut mem = vec![1u8; 2048];
    shadow::set(&mut mem, &src, 0, 7, false).unwrap();
    shadow::set(&mut mem, &src, 0, 18, false).unwrap();
    let mut merged = mem.clone();
    shadow::merge_sort(&mut merged, &data, &dst.with_valid(1, 20), &src, 4).unwrap();
    // The 2.0 of the second run comes seventh.
    assert!(row(&merged, &dst.with_valid(1, 20)).iter().enumerate().all(|(c, &d)| d == (c < 16 && c != 13)));
    // Lists that end early: 8 7 2, and the second is used up.
    let (a, b) = (src.part(0, 0, 1, 4).unwrap(), src.part(0, 4, 1, 4).unwrap());
    let mut ended = mem.clone();
    ended[512..1024].fill(0);
    shadow::merge_lists(&mut ended, &data, &dst, &[&a, &b], true).unwrap();
    assert_eq!(row(&ended, &dst)[..8], [true, true, true, true, true, false, false, false]);
    let early = [&src.part(0, 8, 1, 4).unwrap(), &src.part(0, 4, 1, 4).unwrap()];
    let mut ended = vec![1u8; 2048];
    ended[512..1024].fill(0);
    shadow::merge_lists(&mut ended, &data, &dst, &early, true).unwrap();
    // 7 6 3 and the first list, 6 3, is empty.
    assert_eq!(row(&ended, &dst)[..8], [true, true, true, true, true, true, false, false]);
    let mut undefined = vec![1u8; 2048];
    shadow::set(&mut undefined, &src, 0, 4, false).unwrap();
    shadow::merge_lists(&mut undefined, &data, &dst, &early, true).unwrap();
    assert_eq!(row(&undefined, &dst)[..9], [false, false, false, false, false, false, false, false, true]);
}
