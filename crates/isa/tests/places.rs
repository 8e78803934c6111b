//! Places of extreme elements, against a scan in f64 and 128-bit integers.

mod common;

use common::tiles::{ARENA, NUMBERS, arena, check, near, tile};
use common::{Rng, integer, refused};
use dtype::{DType, Scalar};
use isa::{Arg, Fault, Tile};

/// The first element that beats all before it; a NaN never beats, and nothing beats a first NaN.
fn place(arg: Arg, values: &[Scalar]) -> u64 {
    let beats = |x: Scalar, y: Scalar| {
        if x.dtype.is_float() {
            let (x, y) = (x.as_f64(), y.as_f64());
            if arg == Arg::Max { x > y } else { x < y }
        } else {
            let (x, y) = (integer(x), integer(y));
            if arg == Arg::Max { x > y } else { x < y }
        }
    };
    (1..values.len()).fold(0, |best, k| if beats(values[k], values[best]) { k } else { best }) as u64
}

type ArgReduce = fn(&mut [u8], Arg, &Tile, &Tile) -> Result<(), Fault>;

#[test]
fn places_in_rows_and_columns() {
    let mut rng = Rng::new(1);
    for d in NUMBERS {
        for arg in [Arg::Max, Arg::Min] {
            for by_row in [true, false] {
                for k in 0..10 {
                    let mem = arena(&mut rng, d);
                    let (rows, cols) = (1 + rng.below(20) as u32, 1 + rng.below(70) as u32);
                    let src = tile(&mut rng, d, rows, cols);
                    let region = if by_row { (rows, 1) } else { (1, cols) };
                    let result = if k % 2 == 0 { DType::I32 } else { DType::U32 };
                    let mut dst = tile(&mut rng, result, region.0, region.1);
                    if d.size() == 4 && rng.below(2) == 0 {
                        // Over the source.
                        dst = Tile { dtype: result, ..near(&mut rng, &src, region.0, region.1) };
                    }
                    let run: ArgReduce = if by_row { isa::arg_reduce_rows } else { isa::arg_reduce_cols };
                    check(
                        &format!("{arg:?} {d} {src:?}"),
                        &mem,
                        &dst,
                        region,
                        &|m| run(m, arg, &dst, &src),
                        &|at, r, c| {
                            let values: Vec<Scalar> = if by_row {
                                (0..cols).map(|c| at(&src, r, c)).collect()
                            } else {
                                (0..rows).map(|r| at(&src, r, c)).collect()
                            };
                            Scalar::new(result, place(arg, &values))
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn nan_zeros_and_ties() {
    let nan = f32::NAN;
    for (row, max, min) in [
        ([nan, nan, nan, nan], 0, 0),
        ([nan, 3.0, 5.0, 1.0], 0, 0),
        ([2.0, nan, 5.0, 1.0], 2, 3),
        ([0.0, -0.0, 0.0, -0.0], 0, 0),
        ([1.0, 7.0, 7.0, 1.0], 1, 0),
        ([f32::NEG_INFINITY, nan, f32::NEG_INFINITY, f32::INFINITY], 3, 0),
    ] {
        let src = Tile::row_major(0, DType::F32, 1, 4);
        let dst = Tile::row_major(16, DType::I32, 1, 1);
        let mut mem: Vec<u8> = row.iter().flat_map(|x| x.to_le_bytes()).collect();
        mem.resize(20, 0xee);
        for (arg, want) in [(Arg::Max, max), (Arg::Min, min)] {
            isa::arg_reduce_rows(&mut mem, arg, &dst, &src).unwrap();
            assert_eq!(isa::get(&mem, &dst, 0, 0).unwrap().bits, want, "{row:?}");
        }
    }
}

#[test]
fn empty_axes_and_refusals() {
    let mem = vec![0xabu8; ARENA];
    let src = Tile::row_major(0, DType::F32, 4, 8);
    let dst = Tile::row_major(1024, DType::I32, 4, 8);
    for (rows, cols) in [(0, 8), (4, 0)] {
        let mut after = mem.clone();
        isa::arg_reduce_rows(&mut after, Arg::Max, &dst, &src.with_valid(rows, cols)).unwrap();
        isa::arg_reduce_cols(&mut after, Arg::Max, &dst, &src.with_valid(rows, cols)).unwrap();
        assert!(after == mem);
    }
    refused(&mem, |m| isa::arg_reduce_rows(m, Arg::Max, &Tile { dtype: DType::F32, ..dst }, &src));
    refused(&mem, |m| isa::arg_reduce_cols(m, Arg::Max, &Tile { cols: 7, valid_cols: 7, ..dst }, &src));
    let flags = Tile::row_major(0, DType::Bool, 4, 8);
    refused(&mem, |m| isa::arg_reduce_rows(m, Arg::Max, &dst, &flags));
}
