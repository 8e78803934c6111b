//! Bit operations, remainders, leaky ReLU and operations on parts, against models on 128-bit integers and f64.

mod common;

use common::tiles::{NUMBERS, arena, check, extent, near, tile};
use common::{Rng, integer, refused};
use dtype::{DType, Scalar, scalar};
use isa::{BinaryOp, Tile, UnaryOp};

const OPS: [BinaryOp; 8] = [
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Rem,
    BinaryOp::Fmod,
    BinaryOp::LeakyRelu,
];

fn exists(op: BinaryOp, d: DType) -> bool {
    match op {
        BinaryOp::Rem | BinaryOp::Fmod => true,
        BinaryOp::LeakyRelu => d.is_float(),
        _ => d.is_int(),
    }
}

fn on_integers(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    let (x, y) = (integer(a), integer(b));
    let width = a.dtype.bits() as i128;
    let moved = (0..width).contains(&y);
    let r = match op {
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl => {
            if moved {
                x << y
            } else {
                0
            }
        }
        BinaryOp::Shr => {
            if moved {
                x >> y
            } else if x < 0 {
                -1
            } else {
                0
            }
        }
        _ if y == 0 => -1,
        BinaryOp::Rem => ((x % y) + y) % y,
        BinaryOp::Fmod => x % y,
        _ => unreachable!(),
    };
    Scalar::new(a.dtype, r as u64)
}

fn on_floats(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    let (x, y) = (a.as_f64(), b.as_f64());
    let r = match op {
        // An f32 remainder is exact in f64 too.
        BinaryOp::Fmod => x % y,
        BinaryOp::LeakyRelu => {
            if x > 0.0 {
                x
            } else {
                y * x
            }
        }
        _ => {
            let (x, y) = (x as f32, y as f32);
            let r = x - (x / y).floor() * y;
            (if r != 0.0 && y != 0.0 && r.is_sign_negative() != y.is_sign_negative() { r + y } else { r }) as f64
        }
    };
    Scalar::from_f64(a.dtype, r)
}

fn model(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    if a.dtype.is_float() { on_floats(op, a, b) } else { on_integers(op, a, b) }
}

/// Operands whose counts, quotients and signs are interesting.
fn operands(rng: &mut Rng, d: DType) -> Vec<u8> {
    let mut mem = arena(rng, d);
    let size = d.size();
    for e in mem.chunks_exact_mut(size) {
        if d.is_int() && rng.below(3) > 0 {
            let v = rng.below(70) as i64 - 4;
            e.copy_from_slice(&v.to_le_bytes()[..size]);
        }
    }
    mem
}

#[test]
fn tiles_scalars_and_broadcasts() {
    let mut rng = Rng::new(1);
    for d in NUMBERS {
        for op in OPS {
            if !exists(op, d) {
                let t = Tile::row_major(0, d, 1, 1);
                let fault = refused(&[5; 8], |m| isa::binary(m, op, &t, &t, &t));
                assert!(fault.contains(d.name()), "{fault}");
                continue;
            }
            for k in 0..8 {
                let mem = operands(&mut rng, d);
                let (rows, cols) = if k == 0 { (3, 130) } else { extent(&mut rng) };
                let (a, b) = (tile(&mut rng, d, rows, cols), tile(&mut rng, d, rows, cols));
                let from = if rng.below(2) == 0 { a } else { b };
                let dst = near(&mut rng, &from, rows, cols);
                check(
                    &format!("{op:?} {d} {a:?} {b:?}"),
                    &mem,
                    &dst,
                    (rows, cols),
                    &|m| isa::binary(m, op, &dst, &a, &b),
                    &|at, r, c| model(op, at(&a, r, c), at(&b, r, c)),
                );
                let s = Scalar::f32((rng.normal() * 20.0).trunc());
                let t = scalar::cast(s, d);
                for reversed in [false, true] {
                    check(
                        &format!("{op:?} {d} scalar {s} reversed {reversed}"),
                        &mem,
                        &dst,
                        (rows, cols),
                        &|m| isa::binary_scalar(m, op, &dst, &from, s, reversed),
                        &|at, r, c| {
                            let x = at(&from, r, c);
                            if reversed { model(op, t, x) } else { model(op, x, t) }
                        },
                    );
                }
                let v = tile(&mut rng, d, rows, 1);
                check(
                    &format!("row {op:?} {d}"),
                    &mem,
                    &dst,
                    (rows, cols),
                    &|m| isa::row_expand(m, Some(op), &dst, Some(&a), &v),
                    &|at, r, c| model(op, at(&a, r, c), at(&v, r, 0)),
                );
                let h = tile(&mut rng, d, 1, cols);
                check(
                    &format!("column {op:?} {d}"),
                    &mem,
                    &dst,
                    (rows, cols),
                    &|m| isa::col_expand(m, Some(op), &dst, Some(&a), &h),
                    &|at, r, c| model(op, at(&a, r, c), at(&h, 0, c)),
                );
            }
        }
    }
}

/// The cases that the text of `isa.md` names, by hand.
#[test]
fn remainders_by_hand() {
    let run = |op, d: DType, a: Scalar, b: Scalar| {
        let t = |k: usize| Tile::row_major(8 * k, d, 1, 1);
        let mut mem = vec![0; 24];
        isa::set(&mut mem, &t(1), 0, 0, a).unwrap();
        isa::set(&mut mem, &t(2), 0, 0, b).unwrap();
        isa::binary(&mut mem, op, &t(0), &t(1), &t(2)).unwrap();
        isa::get(&mem, &t(0), 0, 0).unwrap()
    };
    for (a, b, rem, fmod) in
        [(7, 3, 1, 1), (-7, 3, 2, -1), (7, -3, -2, 1), (-7, -3, -1, -1), (6, 3, 0, 0), (5, 0, -1, -1)]
    {
        for d in [DType::I8, DType::I32, DType::I64] {
            let s = |v| Scalar::from_i64(d, v);
            assert_eq!(run(BinaryOp::Rem, d, s(a), s(b)), s(rem), "{a} rem {b}");
            assert_eq!(run(BinaryOp::Fmod, d, s(a), s(b)), s(fmod), "{a} fmod {b}");
        }
        if b != 0 {
            for d in [DType::F16, DType::BF16, DType::F32] {
                let s = |v| Scalar::from_i64(d, v);
                assert_eq!(run(BinaryOp::Rem, d, s(a), s(b)).as_f64(), rem as f64);
                assert_eq!(run(BinaryOp::Fmod, d, s(a), s(b)).as_f64(), fmod as f64);
            }
        }
    }
    // The quotient is rounded: 1e8 / 3 has no exact floor in f32, so the remainder of the device is not that of fmod.
    let f = Scalar::f32;
    let r = run(BinaryOp::Rem, DType::F32, f(1e8), f(3.0));
    assert_eq!(r, f(1e8 - 33_333_332.0 * 3.0));
    assert_eq!(run(BinaryOp::Fmod, DType::F32, f(1e8), f(3.0)), f(1.0));
    assert_eq!(run(BinaryOp::Fmod, DType::F32, f(5.0), f(f32::INFINITY)), f(5.0));
    assert_eq!(run(BinaryOp::Rem, DType::F32, f(5.0), f(f32::INFINITY)).bits, 0x7fc0_0000);
    // i64::MIN has no quotient by −1.
    let least = Scalar::from_i64(DType::I64, i64::MIN);
    assert_eq!(run(BinaryOp::Rem, DType::I64, least, Scalar::from_i64(DType::I64, -1)).bits, 0);
}

#[test]
fn inversion_of_bits() {
    let mut rng = Rng::new(2);
    for d in NUMBERS {
        let mem = arena(&mut rng, d);
        if d.is_float() {
            let t = Tile::row_major(0, d, 1, 1);
            refused(&mem, |m| isa::unary(m, UnaryOp::Not, &t, &t));
            continue;
        }
        for _ in 0..8 {
            let (rows, cols) = extent(&mut rng);
            let a = tile(&mut rng, d, rows, cols);
            let dst = near(&mut rng, &a, rows, cols);
            check(
                &format!("not {d}"),
                &mem,
                &dst,
                (rows, cols),
                &|m| isa::unary(m, UnaryOp::Not, &dst, &a),
                &|at, r, c| Scalar::new(d, !at(&a, r, c).bits),
            );
        }
    }
}

#[test]
fn parts() {
    let mut rng = Rng::new(3);
    for d in NUMBERS {
        for op in [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min] {
            for k in 0..10 {
                let mem = arena(&mut rng, d);
                let (rows, cols) = extent(&mut rng);
                let part = (rng.below(rows as u64 + 1) as u32, rng.below(cols as u64 + 1) as u32);
                let (whole, small) = (tile(&mut rng, d, rows, cols), tile(&mut rng, d, part.0, part.1));
                let (a, b) = if k % 2 == 0 { (whole, small) } else { (small, whole) };
                let dst = near(&mut rng, &whole, rows, cols);
                let word = |x: Scalar, y: Scalar| {
                    let op = match op {
                        BinaryOp::Add => scalar::BinaryOp::Add,
                        BinaryOp::Mul => scalar::BinaryOp::Mul,
                        BinaryOp::Max => scalar::BinaryOp::Max,
                        _ => scalar::BinaryOp::Min,
                    };
                    scalar::binary(op, x, y).unwrap()
                };
                check(
                    &format!("part {op:?} {d} {a:?} {b:?} to {dst:?}"),
                    &mem,
                    &dst,
                    (rows, cols),
                    &|m| isa::part(m, op, &dst, &a, &b),
                    &|at, r, c| {
                        let inside = |t: &Tile| r < t.valid_rows && c < t.valid_cols;
                        match (inside(&a), inside(&b)) {
                            (true, true) => word(at(&a, r, c), at(&b, r, c)),
                            (true, false) => at(&a, r, c),
                            _ => at(&b, r, c),
                        }
                    },
                );
            }
        }
    }
    let t = Tile::row_major(0, DType::F32, 4, 4);
    let fault = refused(&[9; 64], |m| isa::part(m, BinaryOp::Add, &t, &t.with_valid(4, 3), &t.with_valid(3, 4)));
    assert!(fault.contains("covers"), "{fault}");
    refused(&[9; 64], |m| isa::part(m, BinaryOp::Shl, &t, &t, &t));
}
