//! Every instruction against a naive model, on random tiles: any order, ragged and empty valid regions, parts of larger
//! tiles, destinations that coincide with a source or partly overlap it. The whole arena is compared, so bytes
//! outside the destination's domain must survive; every tier the host has must give the same arena.

mod common;

use common::tiles::{ARENA, NUMBERS, arena, check, extent, near, tile};
use common::{Rng, tiers};
use dtype::scalar::{self, binary as scalar_binary};
use dtype::{DType, Profile, RoundMode, Scalar};
use isa::{BinaryOp, Order, Pad, Reduce, Tile, UnaryOp};

fn arithmetic(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    let b = Scalar { dtype: a.dtype, ..b };
    let less = |x: Scalar, y: Scalar| scalar::compare(dtype::scalar::CmpOp::Lt, x, y).unwrap().is_true();
    let canonical = |x: Scalar| if x.dtype.is_float() { Scalar::from_f64(x.dtype, x.as_f64()) } else { x };
    let op = match op {
        BinaryOp::Add => scalar::BinaryOp::Add,
        BinaryOp::Sub => scalar::BinaryOp::Sub,
        BinaryOp::Mul => scalar::BinaryOp::Mul,
        BinaryOp::Div => {
            return scalar_binary(scalar::BinaryOp::Div, a, b).unwrap_or(Scalar::new(a.dtype, u64::MAX));
        }
        BinaryOp::Max => scalar::BinaryOp::Max,
        BinaryOp::Min => scalar::BinaryOp::Min,
        BinaryOp::StdMax => return canonical(if less(a, b) { b } else { a }),
        BinaryOp::StdMin => return canonical(if less(b, a) { b } else { a }),
        _ => panic!("{op:?} is tested in bits.rs"),
    };
    scalar_binary(op, a, b).unwrap()
}

const BINARY: [BinaryOp; 8] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Max,
    BinaryOp::Min,
    BinaryOp::StdMax,
    BinaryOp::StdMin,
];

#[test]
fn tile_with_tile() {
    let mut rng = Rng::new(1);
    for d in NUMBERS {
        for op in BINARY {
            for _ in 0..12 {
                let mem = arena(&mut rng, d);
                let (rows, cols) = extent(&mut rng);
                let (a, b) = (tile(&mut rng, d, rows, cols), tile(&mut rng, d, rows, cols));
                let from = if rng.below(2) == 0 { a } else { b };
                let dst = near(&mut rng, &from, rows, cols);
                check(
                    &format!("{op:?} {d} {a:?} {b:?}"),
                    &mem,
                    &dst,
                    (rows, cols),
                    &|m| isa::binary(m, op, &dst, &a, &b),
                    &|at, r, c| arithmetic(op, at(&a, r, c), at(&b, r, c)),
                );
            }
        }
    }
}

#[test]
fn tile_with_scalar() {
    let mut rng = Rng::new(2);
    for d in NUMBERS {
        for op in BINARY {
            for reversed in [false, true] {
                let mem = arena(&mut rng, d);
                let (rows, cols) = extent(&mut rng);
                let a = tile(&mut rng, d, rows, cols);
                let dst = near(&mut rng, &a, rows, cols);
                let s = Scalar::f32(rng.normal() * 100.0);
                let t = scalar::cast(s, d);
                check(
                    &format!("{op:?} {d} scalar, reversed {reversed}"),
                    &mem,
                    &dst,
                    (rows, cols),
                    &|m| isa::binary_scalar(m, op, &dst, &a, s, reversed),
                    &|at, r, c| {
                        if reversed { arithmetic(op, t, at(&a, r, c)) } else { arithmetic(op, at(&a, r, c), t) }
                    },
                );
            }
        }
    }
}

#[test]
fn broadcasts() {
    let mut rng = Rng::new(3);
    for d in NUMBERS {
        for k in 0..40 {
            let op = BINARY[k % 8];
            let mem = arena(&mut rng, d);
            let (rows, cols) = extent(&mut rng);
            let a = tile(&mut rng, d, rows, cols);
            let dst = near(&mut rng, &a, rows, cols);
            let v = tile(&mut rng, d, rows, 1);
            check(
                &format!("row {op:?} {d} {v:?}"),
                &mem,
                &dst,
                (rows, cols),
                &|m| isa::row_expand(m, Some(op), &dst, Some(&a), &v),
                &|at, r, c| arithmetic(op, at(&a, r, c), at(&v, r, 0)),
            );
            check(
                &format!("row {d} {v:?}"),
                &mem,
                &dst,
                (rows, cols),
                &|m| isa::row_expand(m, None, &dst, None, &v),
                &|at, r, _| at(&v, r, 0),
            );
            let h = tile(&mut rng, d, 1, cols);
            check(
                &format!("column {op:?} {d} {h:?}"),
                &mem,
                &dst,
                (rows, cols),
                &|m| isa::col_expand(m, Some(op), &dst, Some(&a), &h),
                &|at, r, c| arithmetic(op, at(&a, r, c), at(&h, 0, c)),
            );
            check(
                &format!("column {d} {h:?}"),
                &mem,
                &dst,
                (rows, cols),
                &|m| isa::col_expand(m, None, &dst, None, &h),
                &|at, _, c| at(&h, 0, c),
            );
            // One block of 32 bytes per row.
            let block = 32 / d.size() as u32;
            let mut w = Tile::row_major(0, d, rows.max(1), block).with_valid(rows, block);
            w.offset = 64;
            let plain = Tile::row_major(8192, d, rows.max(1), cols.max(1)).with_valid(rows, cols);
            check(
                &format!("row blocks {op:?} {d}"),
                &mem,
                &plain,
                (rows, cols),
                &|m| isa::row_expand(m, Some(op), &plain, Some(&plain), &w),
                &|at, r, c| arithmetic(op, at(&plain, r, c), at(&w, r, c % block)),
            );
        }
    }
}

#[test]
fn functions_of_one_tile() {
    let mut rng = Rng::new(4);
    for d in NUMBERS {
        for op in [UnaryOp::Abs, UnaryOp::Neg, UnaryOp::Relu, UnaryOp::Sqrt, UnaryOp::Rsqrt, UnaryOp::Recip] {
            if !d.is_float() && !matches!(op, UnaryOp::Abs | UnaryOp::Neg | UnaryOp::Relu) {
                let t = Tile::row_major(0, d, 1, 1);
                assert!(isa::unary(&mut [0; 8], op, &t, &t).is_err());
                continue;
            }
            for _ in 0..12 {
                let mem = arena(&mut rng, d);
                let (rows, cols) = extent(&mut rng);
                let a = tile(&mut rng, d, rows, cols);
                let dst = near(&mut rng, &a, rows, cols);
                let float = |f: fn(f64) -> f64| move |x: Scalar| Scalar::from_f64(d, f(x.as_f64()));
                let model = move |x: Scalar| match op {
                    UnaryOp::Abs if d.is_float() => float(f64::abs)(x),
                    UnaryOp::Abs => Scalar::from_i64(
                        d,
                        if d.is_signed_int() { x.as_i64().unwrap().wrapping_abs() } else { x.bits as i64 },
                    ),
                    UnaryOp::Neg => scalar::neg(x).unwrap(),
                    UnaryOp::Relu => arithmetic(BinaryOp::Max, x, Scalar::new(d, 0)),
                    UnaryOp::Sqrt => float(f64::sqrt)(x),
                    UnaryOp::Rsqrt => float(|x| 1.0 / x.sqrt())(x),
                    _ => float(|x| 1.0 / x)(x),
                };
                check(
                    &format!("{op:?} {d}"),
                    &mem,
                    &dst,
                    (rows, cols),
                    &|m| isa::unary(m, op, &dst, &a),
                    &|at, r, c| model(at(&a, r, c)),
                );
            }
        }
    }
}

/// A sum along a row, by the words of the module's head.
fn row_sum(values: &[Scalar], profile: Profile) -> Scalar {
    let d = values[0].dtype;
    let add = |a: Scalar, b: Scalar| arithmetic(BinaryOp::Add, a, b);
    fn tree(v: Vec<Scalar>, add: &dyn Fn(Scalar, Scalar) -> Scalar) -> Scalar {
        if v.len() == 1 {
            return v[0];
        }
        tree(v.chunks(2).map(|p| if p.len() == 2 { add(p[0], p[1]) } else { p[0] }).collect(), add)
    }
    let lanes = 256 / d.size();
    let sum = match profile {
        Profile::CpuCompat if matches!(d, DType::F16 | DType::BF16) => {
            let s = values.iter().fold(0f32, |s, v| s + v.as_f64() as f32);
            return Scalar::from_f64(d, s as f64);
        }
        Profile::CpuCompat => values.iter().fold(Scalar::new(d, 0), |s, &v| add(s, v)),
        Profile::A5 => {
            let groups: Vec<Scalar> = values.chunks(lanes).map(|g| tree(g.to_vec(), &add)).collect();
            groups[1..].iter().fold(groups[0], |s, &g| add(s, g))
        }
        Profile::A2a3 if values.len() <= lanes => tree(values.to_vec(), &add),
        Profile::A2a3 => {
            let mut blocks: Vec<&[Scalar]> = values.chunks(lanes).collect();
            let mut t = blocks.remove(0).to_vec();
            // The second full block, then the tail, then the other full blocks.
            let tail = if values.len().is_multiple_of(lanes) { None } else { blocks.pop() };
            let second = if blocks.is_empty() { None } else { Some(blocks.remove(0)) };
            for block in second.into_iter().chain(tail).chain(blocks) {
                for (k, &v) in block.iter().enumerate() {
                    t[k] = add(t[k], v);
                }
            }
            tree(t, &add)
        }
    };
    if d.is_float() { Scalar::from_f64(d, sum.as_f64()) } else { sum }
}

/// A product along a row, by the words of the module's head.
fn row_product(values: &[Scalar], profile: Profile) -> Scalar {
    let d = values[0].dtype;
    let times = |a: Scalar, b: Scalar| arithmetic(BinaryOp::Mul, a, b);
    let product = if profile != Profile::CpuCompat {
        let lanes = (32 / d.size()).min(values.len());
        let lane = |l: usize| values.iter().skip(l).step_by(lanes).copied().reduce(times).unwrap();
        (0..lanes).map(lane).reduce(times).unwrap()
    } else if d.is_float() {
        let wide = values.iter().map(|v| v.as_f64() as f32).reduce(|a, b| a * b).unwrap();
        Scalar::from_f64(d, wide as f64)
    } else {
        values.iter().copied().reduce(times).unwrap()
    };
    if d.is_float() { Scalar::from_f64(d, product.as_f64()) } else { product }
}

#[test]
fn row_reductions() {
    let mut rng = Rng::new(5);
    for d in NUMBERS {
        for profile in Profile::ALL {
            for op in [Reduce::Sum, Reduce::Prod, Reduce::Max, Reduce::Min] {
                for k in 0..10 {
                    let mem = arena(&mut rng, d);
                    let lanes = 256 / d.size() as u64;
                    // Many rows and groups of lanes: more than are summed at a time.
                    let rows = if k == 3 { 19 } else { 1 + rng.below(3) as u32 };
                    let cols = match k {
                        0 => 1,
                        1 => lanes as u32,
                        2 => 2 * lanes as u32,
                        3 => lanes as u32 + rng.below(9) as u32,
                        4 => 3 * lanes as u32,
                        _ => 1 + rng.below(4 * lanes) as u32,
                    };
                    let mut src = tile(&mut rng, d, rows, cols);
                    if src.byte_len() > ARENA / 2 {
                        src = Tile::row_major(0, d, rows, cols);
                    }
                    let dst = near(&mut rng, &src, rows, 1);
                    let model = |at: &dyn Fn(&Tile, u32, u32) -> Scalar, r: u32, _: u32| {
                        let row: Vec<Scalar> = (0..cols).map(|c| at(&src, r, c)).collect();
                        let compat = profile == Profile::CpuCompat;
                        let f = match op {
                            Reduce::Sum => return row_sum(&row, profile),
                            Reduce::Prod => return row_product(&row, profile),
                            Reduce::Max if compat => BinaryOp::StdMax,
                            Reduce::Min if compat => BinaryOp::StdMin,
                            Reduce::Max => BinaryOp::Max,
                            Reduce::Min => BinaryOp::Min,
                        };
                        row.iter().fold(row[0], |s, &v| arithmetic(f, s, v))
                    };
                    check(
                        &format!("row {op:?} {d} {profile} {rows}x{cols}"),
                        &mem,
                        &dst,
                        (rows, 1),
                        &|m| isa::row_reduce(m, op, &dst, &src, profile),
                        &model,
                    );
                }
            }
        }
    }
}

#[test]
fn a_row_sum_of_nothing_is_zero_and_a_product_one() {
    let src = Tile::row_major(0, DType::F32, 2, 8).with_valid(2, 0);
    let dst = Tile::row_major(64, DType::F32, 2, 1);
    let mut mem = vec![0xff; 128];
    isa::row_reduce(&mut mem, Reduce::Max, &dst, &src, Profile::A5).unwrap();
    assert!(mem.iter().all(|&b| b == 0xff));
    isa::row_reduce(&mut mem, Reduce::Sum, &dst, &src, Profile::A5).unwrap();
    assert_eq!(&mem[64..72], [0; 8]);
    isa::row_reduce(&mut mem, Reduce::Prod, &dst, &src, Profile::A5).unwrap();
    assert_eq!(isa::get(&mem, &dst, 1, 0).unwrap(), Scalar::f32(1.0));
    isa::col_reduce(&mut mem, Reduce::Sum, &dst.with_valid(1, 1), &src.with_valid(0, 1), Profile::A5).unwrap();
    assert_eq!(&mem[..64], [0xff; 64]);
}

#[test]
fn column_reductions() {
    let mut rng = Rng::new(6);
    for d in NUMBERS {
        for profile in Profile::ALL {
            for op in [Reduce::Sum, Reduce::Prod, Reduce::Max, Reduce::Min] {
                for k in 0..5 {
                    let mem = arena(&mut rng, d);
                    let (rows, mut cols) = (1 + rng.below(20) as u32, 1 + rng.below(70) as u32);
                    let mut src = tile(&mut rng, d, rows, cols);
                    if k < 2 {
                        // Plain rows of as many columns as are reduced at a time, and a few more.
                        cols = if k == 0 { 128 } else { 64 + cols };
                        src = Tile::row_major(d.size(), d, rows, cols);
                    }
                    let dst = near(&mut rng, &src, 1, cols);
                    let compat = profile == Profile::CpuCompat;
                    let f = match op {
                        Reduce::Sum => BinaryOp::Add,
                        Reduce::Prod => BinaryOp::Mul,
                        Reduce::Max if compat => BinaryOp::StdMax,
                        Reduce::Min if compat => BinaryOp::StdMin,
                        Reduce::Max => BinaryOp::Max,
                        Reduce::Min => BinaryOp::Min,
                    };
                    check(
                        &format!("column {op:?} {d} {profile}"),
                        &mem,
                        &dst,
                        (1, cols),
                        &|m| isa::col_reduce(m, op, &dst, &src, profile),
                        &|at, _, c| {
                            let first = at(&src, 0, c);
                            let s = (1..rows).fold(first, |s, r| arithmetic(f, s, at(&src, r, c)));
                            if d.is_float() { Scalar::from_f64(d, s.as_f64()) } else { s }
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn conversions() {
    let mut rng = Rng::new(7);
    for from in NUMBERS {
        for to in NUMBERS {
            for profile in Profile::ALL {
                if !dtype::convert::native(from, to, profile) {
                    let (a, b) = (Tile::row_major(0, from, 1, 1), Tile::row_major(8, to, 1, 1));
                    assert!(isa::convert(&mut [0; 16], &b, &a, RoundMode::Rint, false, profile).is_err());
                    continue;
                }
                for mode in RoundMode::ALL {
                    for saturate in [false, true] {
                        let mem = arena(&mut rng, from);
                        let (rows, cols) = extent(&mut rng);
                        let src = tile(&mut rng, from, rows, cols);
                        let dst = if rng.below(2) == 0 {
                            // Over the source, with elements of another size.
                            Tile { offset: src.offset / 8 * 8, ..tile(&mut rng, to, rows, cols) }
                        } else {
                            tile(&mut rng, to, rows, cols)
                        };
                        let dst = if dst.offset + dst.byte_len() > ARENA { Tile { offset: 0, ..dst } } else { dst };
                        check(
                            &format!("{from} -> {to} {mode} {saturate} {profile}"),
                            &mem,
                            &dst,
                            (rows, cols),
                            &|m| isa::convert(m, &dst, &src, mode, saturate, profile),
                            &|at, r, c| {
                                let x = at(&src, r, c).bits;
                                Scalar::new(to, dtype::convert::convert(x, from, to, mode, saturate, profile))
                            },
                        );
                    }
                }
            }
        }
    }
}

/// All 65536 patterns of the 16-bit floats through the instruction.
#[test]
fn conversions_of_every_16_bit_float() {
    for from in [DType::F16, DType::BF16] {
        let src = Tile::row_major(0, from, 256, 256);
        let mut mem = vec![0; 131072 + 262144];
        for b in 0..65536usize {
            mem[2 * b..2 * b + 2].copy_from_slice(&(b as u16).to_le_bytes());
        }
        for to in NUMBERS {
            for profile in [Profile::A2a3, Profile::A5] {
                if !dtype::convert::native(from, to, profile) {
                    continue;
                }
                for mode in RoundMode::ALL {
                    let dst = Tile::row_major(131072, to, 256, 256);
                    tiers(|tier| {
                        let mut mem = mem.clone();
                        isa::convert(&mut mem, &dst, &src, mode, false, profile).unwrap();
                        for b in 0..65536u32 {
                            let want = dtype::convert::convert(b as u64, from, to, mode, false, profile);
                            let got = isa::get(&mem, &dst, b / 256, b % 256).unwrap().bits;
                            assert_eq!(got, want, "{tier:?} {b:#x} {from} -> {to} {mode} {profile}");
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn moves() {
    let mut rng = Rng::new(8);
    for d in DType::ALL {
        for _ in 0..60 {
            let mem = arena(&mut rng, d);
            let (rows, cols) = extent(&mut rng);
            let src = tile(&mut rng, d, rows, cols);
            let dst = near(&mut rng, &src, rows, cols);
            check(
                &format!("copy {d} {src:?}"),
                &mem,
                &dst,
                (rows, cols),
                &|m| isa::copy(m, &dst, &src),
                &|at, r, c| at(&src, r, c),
            );
            let other = arena(&mut rng, d);
            check(
                &format!("copy across {d} {src:?}"),
                &mem,
                &dst,
                (rows, cols),
                &|m| isa::copy_across(m, &dst, &other, &src),
                &|_, r, c| isa::get(&other, &src, r, c).unwrap(),
            );
            let turned = near(&mut rng, &src, cols, rows);
            check(
                &format!("transpose {d} {src:?}"),
                &mem,
                &turned,
                (cols, rows),
                &|m| isa::transpose(m, &turned, &src),
                &|at, r, c| at(&src, c, r),
            );
            let value = Scalar::f32(rng.normal() * 50.0);
            let cast = scalar::cast(value, d);
            check(&format!("fill {d}"), &mem, &dst, (rows, cols), &|m| isa::fill(m, &dst, value), &|_, _, _| cast);
            check(
                &format!("fill all {d}"),
                &mem,
                &dst,
                (dst.rows, dst.cols),
                &|m| isa::fill_all(m, &dst, value),
                &|_, _, _| cast,
            );
            for pad in [Pad::Zero, Pad::Max, Pad::Min] {
                let wide = near(&mut rng, &src, rows, cols);
                check(
                    &format!("pad {pad:?} {d}"),
                    &mem,
                    &wide,
                    (wide.rows, wide.cols),
                    &|m| isa::fill_pad(m, &wide, &src, pad),
                    &|at, r, c| if r < rows && c < cols { at(&src, r, c) } else { Scalar::new(d, pad.bits(d)) },
                );
            }
        }
    }
}

#[test]
fn ramps() {
    let mut rng = Rng::new(9);
    for d in NUMBERS {
        let t = Tile::row_major(0, d, 1, 1);
        if d.is_float() {
            assert!(isa::iota(&mut [0; 8], &t, Scalar::index(0), false).is_err());
            continue;
        }
        for descending in [false, true] {
            let mem = arena(&mut rng, d);
            let dst = tile(&mut rng, d, 1, 300 / d.size() as u32);
            let start = Scalar::index(rng.next() as i64);
            check(
                &format!("ramp {d}"),
                &mem,
                &dst,
                (1, dst.valid_cols),
                &|m| isa::iota(m, &dst, start, descending),
                &|_, _, c| {
                    let at = start.as_i64().unwrap().wrapping_add(if descending { -(c as i64) } else { c as i64 });
                    Scalar::new(d, at as u64)
                },
            );
        }
    }
}

#[test]
fn pads_are_the_extremes() {
    assert_eq!(Pad::Max.bits(DType::I8), 0x7f);
    assert_eq!(Pad::Min.bits(DType::I16), 0x8000);
    assert_eq!(Pad::Min.bits(DType::U16), 0);
    assert_eq!(Pad::Max.bits(DType::U32), 0xffff_ffff);
    assert_eq!(Pad::Max.bits(DType::I64), 0);
    assert_eq!(Pad::Min.bits(DType::F32), f32::NEG_INFINITY.to_bits() as u64);
    assert_eq!(Pad::Max.bits(DType::F16), 0x7c00);
}

#[test]
fn faults_change_nothing() {
    let mut mem = vec![7u8; 256];
    let t = Tile::row_major(0, DType::F32, 8, 8);
    let ok = t;
    let bad = [
        Tile { offset: 4, ..t },
        Tile { offset: 2, rows: 1, valid_rows: 1, ..t },
        Tile { valid_cols: 9, ..t },
        Tile { pitch: 7, ..t },
        Tile { pitch: u32::MAX, ..t },
        Tile { order: Order::Nz, fractal: 100, ..t },
        Tile { order: Order::Nz, fractal: 0, ..t },
        Tile { rows: u32::MAX, cols: u32::MAX, valid_rows: u32::MAX, valid_cols: u32::MAX, pitch: u32::MAX, ..t },
        Tile {
            order: Order::Zz,
            rows: u32::MAX,
            cols: u32::MAX,
            valid_rows: u32::MAX,
            valid_cols: u32::MAX,
            pitch: u32::MAX,
            fractal: 512,
            ..t
        },
        Tile { offset: usize::MAX - 3, ..t },
    ];
    for b in bad {
        assert!(isa::binary(&mut mem, BinaryOp::Add, &b, &ok, &ok).is_err(), "{b:?}");
        assert!(isa::copy(&mut mem, &b, &b).is_err(), "{b:?}");
        assert!(isa::fill_all(&mut mem, &b, Scalar::f32(0.0)).is_err(), "{b:?}");
    }
    let small = Tile::row_major(0, DType::F32, 4, 4);
    assert!(isa::copy(&mut mem, &ok, &small).is_err(), "a source smaller than the domain");
    assert!(isa::binary(&mut mem, BinaryOp::Add, &ok, &ok, &Tile { dtype: DType::I32, ..ok }).is_err());
    assert!(isa::get(&mem, &ok, 8, 0).is_err() && isa::set(&mut mem, &ok, 0, 0, Scalar::index(1)).is_err());
    assert!(mem.iter().all(|&b| b == 7));
}

/// Element offsets of the boxed orders, from `isa.md` §3.1, and that each order is a bijection.
#[test]
fn every_order_is_a_bijection() {
    for d in [DType::I8, DType::F16, DType::F32, DType::I64] {
        for fractal in [512, 1024] {
            for order in Order::ALL {
                let (ir, ic) = Tile::new(0, d, 1, 1, order, fractal).inner_box();
                let (rows, cols) = if order.is_boxed() { (2 * ir, 3 * ic) } else { (6, 15) };
                let t = Tile::new(0, d, rows, cols, order, fractal);
                let mut seen = vec![false; (rows * cols) as usize];
                for r in 0..rows {
                    for c in 0..cols {
                        let at = t.element_offset(r, c);
                        let (r, c, rows, cols, ir, ic) =
                            (r as usize, c as usize, rows as usize, cols as usize, ir as usize, ic as usize);
                        let want = match order {
                            Order::RowMajor => r * cols + c,
                            Order::ColMajor => c * rows + r,
                            Order::Nz => (c / ic) * rows * ic + (r / ir) * ir * ic + (r % ir) * ic + c % ic,
                            Order::Zn => (r / ir) * cols * ir + (c / ic) * ir * ic + (c % ic) * ir + r % ir,
                            Order::Zz => (r / ir) * cols * ir + (c / ic) * ir * ic + (r % ir) * ic + c % ic,
                            Order::Nn => (c / ic) * rows * ic + (r / ir) * ir * ic + (c % ic) * ir + r % ir,
                        };
                        assert_eq!(at, want, "{order:?} ({r}, {c})");
                        assert!(!std::mem::replace(&mut seen[at], true));
                    }
                }
                assert_eq!(t.byte_len(), (rows * cols) as usize * d.size());
            }
        }
    }
}
