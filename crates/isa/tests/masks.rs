//! Comparisons into packed masks, and selections by them, against models that handle one bit at a time.

mod common;

use common::tiles::{ARENA, NUMBERS, arena, check, extent, near, tile};
use common::{Rng, integer, refused};
use dtype::{DType, Scalar, scalar};
use isa::{Order, Predicate, Tile, shadow};

fn holds(p: Predicate, a: Scalar, b: Scalar) -> bool {
    fn decide<T: PartialOrd>(p: Predicate, x: T, y: T) -> bool {
        match p {
            Predicate::Eq => x == y,
            Predicate::Ne => x != y,
            Predicate::Lt => x < y,
            Predicate::Le => x <= y,
            Predicate::Gt => x > y,
            Predicate::Ge => x >= y,
        }
    }
    if a.dtype.is_float() { decide(p, a.as_f64(), b.as_f64()) } else { decide(p, integer(a), integer(b)) }
}

/// A mask for `cols` elements a row: sometimes with bytes to spare, in any order.
fn mask(rng: &mut Rng, rows: u32, cols: u32) -> Tile {
    let dtype = if rng.below(2) == 0 { DType::U8 } else { DType::I8 };
    let bytes = cols.div_ceil(8) + rng.below(3) as u32;
    tile(rng, dtype, rows, bytes)
}

#[test]
fn comparisons() {
    let mut rng = Rng::new(1);
    for d in NUMBERS.into_iter().chain([DType::Bool]) {
        for p in Predicate::ALL {
            for k in 0..8 {
                let mut mem = arena(&mut rng, d);
                let (rows, cols) = if k == 0 { (2, 150) } else { extent(&mut rng) };
                let (a, b) = (tile(&mut rng, d, rows, cols), tile(&mut rng, d, rows, cols));
                // Some equal elements.
                for _ in 0..rows * cols / 3 {
                    let (r, c) = (rng.below(rows as u64) as u32, rng.below(cols as u64) as u32);
                    let v = isa::get(&mem, &a, r, c).unwrap();
                    isa::set(&mut mem, &b, r, c, v).unwrap();
                }
                // Often over a source: sources of random bytes are larger than masks.
                let mut dst = mask(&mut rng, rows, cols);
                if rng.below(2) == 0 && a.offset + dst.byte_len() <= ARENA {
                    dst.offset = a.offset;
                }
                let region = (rows, dst.valid_cols);
                let bits = |at: &dyn Fn(u32) -> bool, byte: u32| {
                    let set = (0..8).filter(|&k| byte * 8 + k < cols && at(byte * 8 + k));
                    Scalar::new(DType::U8, set.map(|k| 1u64 << k).sum())
                };
                let what = format!("{p:?} {d} {a:?} to {dst:?}");
                check(&what, &mem, &dst, region, &|m| isa::compare(m, p, &dst, &a, &b), &|at, r, byte| {
                    bits(&|c| holds(p, at(&a, r, c), at(&b, r, c)), byte)
                });
                let s = if k % 4 == 0 { Scalar::f32(f32::NAN) } else { Scalar::f32((rng.normal() * 4.0).trunc()) };
                let t = scalar::cast(s, d);
                check(&what, &mem, &dst, region, &|m| isa::compare_scalar(m, p, &dst, &a, s), &|at, r, byte| {
                    bits(&|c| holds(p, at(&a, r, c), t), byte)
                });
            }
        }
    }
}

#[test]
fn selections() {
    let mut rng = Rng::new(2);
    for d in DType::ALL {
        for k in 0..24 {
            let mem = arena(&mut rng, d);
            let (rows, cols) = if k == 0 { (3, 150) } else { extent(&mut rng) };
            let (a, b) = (tile(&mut rng, d, rows, cols), tile(&mut rng, d, rows, cols));
            let m = mask(&mut rng, rows, cols);
            let from = if rng.below(2) == 0 { a } else { b };
            let mut dst = near(&mut rng, &from, rows, cols);
            if rng.below(4) == 0 && m.offset.is_multiple_of(d.size()) && m.offset + dst.byte_len() <= ARENA {
                dst.offset = m.offset;
            }
            let bit = |at: &dyn Fn(&Tile, u32, u32) -> Scalar, r, c| at(&m, r, c / 8).bits >> (c % 8) & 1 == 1;
            let what = format!("select {d} {a:?} {b:?} to {dst:?}");
            check(&what, &mem, &dst, (rows, cols), &|x| isa::select(x, &dst, &m, &a, &b), &|at, r, c| {
                at(if bit(at, r, c) { &a } else { &b }, r, c)
            });
            let s = Scalar::f32(-3.0);
            check(&what, &mem, &dst, (rows, cols), &|x| isa::select_scalar(x, &dst, &m, &a, s), &|at, r, c| {
                if bit(at, r, c) { at(&a, r, c) } else { scalar::cast(s, d) }
            });
        }
    }
}

#[test]
fn refusals() {
    let mem = vec![0x5au8; ARENA];
    let a = Tile::row_major(0, DType::F32, 4, 20);
    let m = Tile::row_major(1024, DType::U8, 4, 32);
    refused(&mem, |x| isa::compare(x, Predicate::Eq, &m.with_valid(4, 2), &a, &a));
    refused(&mem, |x| isa::compare(x, Predicate::Eq, &Tile { rows: 3, valid_rows: 3, ..m }, &a, &a));
    refused(&mem, |x| isa::compare(x, Predicate::Eq, &m, &a, &Tile { dtype: DType::I32, ..a }));
    let wide = Tile::row_major(1024, DType::U16, 4, 32);
    let fault = refused(&mem, |x| isa::compare_scalar(x, Predicate::Eq, &wide, &a, Scalar::f32(0.0)));
    assert!(fault.contains("u8"), "{fault}");
    refused(&mem, |x| isa::select(x, &a, &wide, &a, &a));
    refused(&mem, |x| isa::select(x, &a, &Tile { cols: 2, valid_cols: 2, ..m }, &a, &a));
    refused(&mem, |x| isa::select_scalar(x, &a, &m, &Tile { dtype: DType::I32, ..a }, Scalar::f32(0.0)));
}

#[test]
fn definedness_of_masks_and_of_what_they_choose() {
    let a = Tile::row_major(0, DType::F32, 2, 20).with_valid(2, 19);
    let b = Tile { offset: 256, ..a };
    let m = Tile::new(512, DType::U8, 16, 32, Order::Nz, 512).with_valid(2, 4);
    let d = Tile { offset: 2048, ..a };
    let mut mem = vec![1u8; 4096];
    shadow::set(&mut mem, &a, 0, 9, false).unwrap();
    shadow::set(&mut mem, &b, 1, 18, false).unwrap();
    shadow::set(&mut mem, &a, 1, 19, false).unwrap();
    let rows = |mem: &[u8]| -> Vec<Vec<bool>> {
        (0..2).map(|r| (0..4).map(|c| shadow::is_defined(mem, &m, r, c).unwrap()).collect()).collect()
    };
    let mut both = mem.clone();
    shadow::compare(&mut both, Predicate::Lt, &m, &a, &b).unwrap();
    assert_eq!(rows(&both), [[true, false, true, true], [true, true, false, true]]);
    let mut one = mem.clone();
    shadow::compare_scalar(&mut one, Predicate::Lt, &m, &a, Scalar::f32(0.0)).unwrap();
    assert_eq!(rows(&one), [[true, false, true, true], [true; 4]]);
    // Element (0, 9) of a and (1, 18) of b are undefined, and so is the mask's byte for (0, 0 .. 8).
    let mut data = vec![0u8; 4096];
    isa::set(&mut data, &m, 0, 1, Scalar::new(DType::U8, 0b10)).unwrap();
    shadow::set(&mut mem, &m, 0, 0, false).unwrap();
    for (set, scalar) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut data = data.clone();
        if !set {
            isa::set(&mut data, &m, 0, 1, Scalar::new(DType::U8, 0)).unwrap();
        }
        let mut after = mem.clone();
        match scalar {
            true => shadow::select_scalar(&mut after, &data, &d, &m, &a, Scalar::f32(0.0)).unwrap(),
            false => shadow::select(&mut after, &data, &d, &m, &a, &b).unwrap(),
        }
        for r in 0..2 {
            for c in 0..19 {
                let by_mask = r == 0 && c < 8;
                let by_source = (set && (r, c) == (0, 9)) || (!scalar && (r, c) == (1, 18));
                let got = shadow::is_defined(&after, &d, r, c).unwrap();
                assert_eq!(got, !by_mask && !by_source, "({r}, {c}) set {set} scalar {scalar}");
            }
        }
        assert!(after[d.offset + 4 * 19..d.offset + 80].iter().all(|&x| x == 1), "outside the domain");
    }
}
