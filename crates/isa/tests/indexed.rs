//! Gathers from and scatters to strided global views, element by element.

mod common;

use common::tiles::{ARENA, arena, check, tile};
use common::{Rng, refused};
use dtype::{DType, Scalar, scalar};
use isa::{Atomic, GatherMode, OutOfRange, Tile, gather_view, scatter_view, shadow};
use memory::{Buffer, View};

/// A view of random bytes whose leading extents make its rows: dense, with gaps, or transposed.
fn view(rng: &mut Rng, dtype: DType) -> View {
    let rank = 1 + rng.below(3) as usize;
    let shape: Vec<u64> = (0..rank).map(|_| 1 + rng.below(6)).collect();
    let gap: Vec<u64> = shape.iter().map(|d| d + rng.below(2)).collect();
    let mut bytes = vec![0; gap.iter().product::<u64>() as usize * dtype.size()];
    rng.fill(&mut bytes);
    let whole = View::new(Buffer::from_bytes(&bytes), dtype, &gap).unwrap();
    let part = whole.slice(&vec![0; rank], &shape).unwrap();
    if rank > 1 && rng.below(2) == 0 { part.transpose(0, rank - 1).unwrap() } else { part }
}

/// The view's elements as rows, in order.
fn table(view: &View) -> Vec<Vec<u64>> {
    let cols = *view.shape.last().unwrap() as usize;
    let bytes = view.to_vec().unwrap();
    let bits = |e: &[u8]| e.iter().rev().fold(0u64, |n, &b| n << 8 | b as u64);
    let all: Vec<u64> = bytes.chunks_exact(view.dtype.size()).map(bits).collect();
    all.chunks(cols).map(<[u64]>::to_vec).collect()
}

/// What an index becomes, by the words of the policies.
fn resolved(index: i64, bound: i64, policy: OutOfRange) -> Option<i64> {
    match policy {
        _ if (0..bound).contains(&index) => Some(index),
        OutOfRange::Clamp => Some(index.max(0).min(bound - 1)),
        OutOfRange::Wrap => Some(((index % bound) + bound) % bound),
        _ => None,
    }
}

/// Indices in a tile, as numbers.
fn indices(rng: &mut Rng, mem: &mut [u8], index: &Tile, bound: i64, beyond: bool) -> Vec<Vec<i64>> {
    let mut rows = Vec::new();
    for r in 0..index.valid_rows {
        let mut row = Vec::new();
        for c in 0..index.valid_cols {
            let mut v = rng.below(bound as u64) as i64;
            if beyond && rng.below(3) == 0 {
                v += bound * (1 + rng.below(3) as i64);
            }
            if beyond && index.dtype.is_signed_int() && rng.below(3) == 0 {
                v -= 2 * bound;
            }
            isa::set(mem, index, r, c, Scalar::from_i64(index.dtype, v)).unwrap();
            row.push(v);
        }
        rows.push(row);
    }
    rows
}

/// A tile, its indices in another, and the index of each element of the tile.
struct Case {
    mem: Vec<u8>,
    tile: Tile,
    index: Tile,
    of: Vec<Vec<i64>>,
}

fn case(rng: &mut Rng, d: DType, gm: &View, mode: GatherMode, beyond: bool) -> Case {
    let rows_of = table(gm);
    let (height, width) = (rows_of.len() as i64, rows_of[0].len() as u64);
    let (rows, cols) = match mode {
        GatherMode::Row => (rng.below(9) as u32, rng.below(width + 1) as u32),
        GatherMode::Elem => (rng.below(9) as u32, rng.below(12) as u32),
    };
    let mut mem = arena(rng, d);
    let dtype = if rng.below(2) == 0 { DType::I32 } else { DType::U32 };
    let moved = tile(rng, d, rows, cols);
    let (index, bound) = match mode {
        GatherMode::Elem => (tile(rng, dtype, rows, cols), height * width as i64),
        GatherMode::Row if rng.below(2) == 0 => (tile(rng, dtype, rows, 1), height),
        GatherMode::Row => (tile(rng, dtype, 1, rows), height),
    };
    // Values and indices apart: a scatter reads both.
    let given = indices(rng, &mut mem, &index, bound, beyond);
    let of = (0..rows as usize)
        .map(|r| {
            (0..cols as usize)
                .map(|c| match mode {
                    GatherMode::Elem => given[r][c],
                    GatherMode::Row if index.valid_rows == rows && index.valid_cols == 1 => given[r][0],
                    GatherMode::Row => given[0][r],
                })
                .collect()
        })
        .collect();
    Case { mem, tile: moved, index, of }
}

#[test]
fn gathers_from_views() {
    let mut rng = Rng::new(1);
    for d in DType::ALL {
        for mode in [GatherMode::Row, GatherMode::Elem] {
            for policy in [OutOfRange::Fault, OutOfRange::Clamp, OutOfRange::Wrap, OutOfRange::Zero] {
                for k in 0..6 {
                    let gm = view(&mut rng, d);
                    let Case { mem, mut tile, index, of } = case(&mut rng, d, &gm, mode, policy != OutOfRange::Fault);
                    if k % 3 == 0 && index.offset.is_multiple_of(d.size()) && index.offset + tile.byte_len() <= ARENA {
                        // Over its own indices.
                        tile.offset = index.offset;
                    }
                    let rows = table(&gm);
                    let (height, width) = (rows.len() as i64, rows[0].len() as i64);
                    let region = (tile.valid_rows, tile.valid_cols);
                    check(
                        &format!("gather {d} {mode:?} {policy:?} {gm:?} {tile:?}"),
                        &mem,
                        &tile,
                        region,
                        &|m| gather_view(m, &tile, &gm, &index, mode, policy),
                        &|_, r, c| {
                            let i = of[r as usize][c as usize];
                            let bits = match mode {
                                GatherMode::Row => resolved(i, height, policy).map(|i| rows[i as usize][c as usize]),
                                GatherMode::Elem => resolved(i, height * width, policy)
                                    .map(|i| rows[(i / width) as usize][(i % width) as usize]),
                            };
                            Scalar::new(d, bits.unwrap_or(0))
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn scatters_to_views() {
    let mut rng = Rng::new(2);
    for d in DType::ALL {
        for mode in [GatherMode::Row, GatherMode::Elem] {
            for policy in [OutOfRange::Fault, OutOfRange::Clamp, OutOfRange::Wrap, OutOfRange::Skip] {
                for atomic in [None, Some(Atomic::Add), Some(Atomic::Max), Some(Atomic::Min)] {
                    if atomic.is_some() && d == DType::Bool {
                        continue;
                    }
                    let gm = view(&mut rng, d);
                    let Case { mem, tile, index, of } = case(&mut rng, d, &gm, mode, policy != OutOfRange::Fault);
                    let mut want = table(&gm);
                    let (height, width) = (want.len() as i64, want[0].len() as i64);
                    for r in 0..tile.valid_rows {
                        for c in 0..tile.valid_cols {
                            let i = of[r as usize][c as usize];
                            let place = match mode {
                                GatherMode::Row => resolved(i, height, policy).map(|i| (i, c as i64)),
                                GatherMode::Elem => resolved(i, height * width, policy).map(|i| (i / width, i % width)),
                            };
                            let Some((tr, tc)) = place else { continue };
                            let value = isa::get(&mem, &tile, r, c).unwrap();
                            let there = &mut want[tr as usize][tc as usize];
                            let op = match atomic {
                                None => {
                                    *there = value.bits;
                                    continue;
                                }
                                Some(Atomic::Add) => scalar::BinaryOp::Add,
                                Some(Atomic::Max) => scalar::BinaryOp::Max,
                                Some(Atomic::Min) => scalar::BinaryOp::Min,
                            };
                            *there = scalar::binary(op, Scalar::new(d, *there), value).unwrap().bits;
                        }
                    }
                    // What the view does not reach must stay.
                    let before = gm.buffer.to_vec();
                    scatter_view(&mem, &gm, &tile, &index, mode, policy, atomic).unwrap();
                    let what = format!("scatter {d} {mode:?} {policy:?} {atomic:?} {gm:?}");
                    assert_eq!(table(&gm), want, "{what}");
                    let after = gm.buffer.to_vec();
                    let mut reached = vec![false; before.len()];
                    gm.for_each_run(|at, n| reached[at..at + n].fill(true)).unwrap();
                    assert!((0..before.len()).all(|k| reached[k] || before[k] == after[k]), "{what}");
                }
            }
        }
    }
}

#[test]
fn refusals() {
    let gm = View::new(Buffer::from_bytes(&[7; 64]), DType::F32, &[4, 4]).unwrap();
    let t = Tile::row_major(0, DType::F32, 2, 4);
    let index = Tile::row_major(64, DType::I32, 1, 2);
    let mut mem = vec![1u8; 256];
    isa::set(&mut mem, &index, 0, 0, Scalar::from_i64(DType::I32, 3)).unwrap();
    isa::set(&mut mem, &index, 0, 1, Scalar::from_i64(DType::I32, -2)).unwrap();
    let row = GatherMode::Row;
    let fault = refused(&mem, |m| gather_view(m, &t, &gm, &index, row, OutOfRange::Fault));
    assert!(fault.contains("-2") && fault.contains("(0, 1)") && fault.contains('4'), "{fault}");
    // The first row would have been fine: nothing of it is written.
    refused(&mem, |m| scatter_view(m, &gm, &t, &index, row, OutOfRange::Fault, None));
    refused(&mem, |m| scatter_view(m, &gm, &t, &index, row, OutOfRange::Fault, Some(Atomic::Add)));
    let fault = refused(&mem, |m| gather_view(m, &t, &gm, &index, row, OutOfRange::Skip));
    assert!(fault.contains("skip") && fault.contains("zero"), "{fault}");
    let fault = refused(&mem, |m| scatter_view(m, &gm, &t, &index, row, OutOfRange::Zero, None));
    assert!(fault.contains("zero") && fault.contains("skip"), "{fault}");
    let wide = Tile::row_major(0, DType::F32, 2, 5);
    refused(&mem, |m| gather_view(m, &wide, &gm, &index, row, OutOfRange::Clamp));
    refused(&mem, |m| gather_view(m, &Tile { dtype: DType::I32, ..t }, &gm, &index, row, OutOfRange::Clamp));
    refused(&mem, |m| gather_view(m, &t, &gm, &Tile { dtype: DType::I64, ..index }, row, OutOfRange::Clamp));
    refused(&mem, |m| gather_view(m, &t, &gm, &Tile { cols: 1, valid_cols: 1, ..index }, row, OutOfRange::Clamp));
    refused(&mem, |m| gather_view(m, &t, &View { offset: 1, ..gm.clone() }, &index, row, OutOfRange::Clamp));
    let none = View::new(Buffer::zeroed(0), DType::F32, &[0, 4]).unwrap();
    refused(&mem, |m| gather_view(m, &t, &none, &index, row, OutOfRange::Clamp));
    refused(&mem, |m| gather_view(m, &t, &none, &index, row, OutOfRange::Wrap));
    let frozen = View { buffer: gm.buffer.read_only(), ..gm.clone() };
    refused(&mem, |m| scatter_view(m, &frozen, &t, &index, row, OutOfRange::Clamp, None));
    let askew = View { buffer: gm.buffer.sub(2, 62).unwrap(), shape: gm.shape, ..gm.slice(&[0, 0], &[3, 4]).unwrap() };
    let askew = View { shape: gm.slice(&[0, 0], &[3, 4]).unwrap().shape, ..askew };
    refused(&mem, |m| scatter_view(m, &askew, &t, &index, row, OutOfRange::Clamp, Some(Atomic::Add)));
    let flags = View { dtype: DType::Bool, ..gm.clone() };
    let f = Tile::row_major(0, DType::Bool, 2, 4);
    refused(&mem, |m| scatter_view(m, &flags, &f, &index, row, OutOfRange::Clamp, Some(Atomic::Add)));
    assert!(gm.buffer.to_vec() == [7; 64]);
    // A row that is not valid is not looked at.
    gather_view(&mut mem, &t.with_valid(1, 4), &gm, &index.with_valid(1, 1), row, OutOfRange::Fault).unwrap();
}

#[test]
fn definedness_follows_indices_and_the_table() {
    let gm = View::new(Buffer::from_bytes(&[1; 64]), DType::F32, &[4, 4]).unwrap();
    gm.buffer.write(4 * 6, &[0; 4]).unwrap();
    let t = Tile::row_major(0, DType::F32, 3, 4);
    let index = Tile::row_major(64, DType::I32, 1, 3);
    let mut data = vec![0u8; 256];
    for (c, v) in [1, 9, 2].into_iter().enumerate() {
        isa::set(&mut data, &index, 0, c as u32, Scalar::from_i64(DType::I32, v)).unwrap();
    }
    let mut mem = vec![1u8; 256];
    shadow::set(&mut mem, &index, 0, 2, false).unwrap();
    let defined =
        |mem: &[u8], r: u32| -> Vec<bool> { (0..4).map(|c| shadow::is_defined(mem, &t, r, c).unwrap()).collect() };
    let mut got = mem.clone();
    shadow::gather_view(&mut got, &data, &t, &gm, &index, GatherMode::Row, OutOfRange::Zero).unwrap();
    assert_eq!(defined(&got, 0), [true, true, false, true]);
    assert_eq!(defined(&got, 1), [true; 4]);
    assert_eq!(defined(&got, 2), [false; 4]);
    // Scattered: row 0 to row 1 with an undefined element, row 2 to row 2 by an undefined index.
    for atomic in [None, Some(Atomic::Add)] {
        let target = View { buffer: Buffer::from_bytes(&gm.buffer.to_vec()), ..gm.clone() };
        let mut mem = mem.clone();
        shadow::set(&mut mem, &t, 0, 0, false).unwrap();
        shadow::scatter_view(&mem, &data, &target, &t, &index, GatherMode::Row, OutOfRange::Skip, atomic).unwrap();
        let bytes = target.buffer.to_vec();
        let words: Vec<bool> = bytes.chunks(4).map(|e| e.iter().all(|&b| b != 0)).collect();
        let want = [
            true,
            true,
            true,
            true,
            false,
            true,
            atomic.is_none(),
            true,
            false,
            false,
            false,
            false,
            true,
            true,
            true,
            true,
        ];
        assert_eq!(words, want, "{atomic:?}");
    }
}
