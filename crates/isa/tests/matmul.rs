//! Matrix products against the order of the module's head, written here again element by element.

mod common;

use common::{Rng, arena_for, bits_of, tiers};
use dtype::{DType, Profile, float};
use isa::{Init, Order, Tile, matmul};

fn flush(x: f32) -> f32 {
    if x != 0.0 && x.abs() < f32::MIN_POSITIVE { 0f32.copysign(x) } else { x }
}

/// One element of the product, by the words of semantics rule 8.
fn expected(dtype: DType, profile: Profile, a: &[f32], b: &[f32], start: Option<f32>) -> f32 {
    let s = start.unwrap_or(0.0);
    if profile == Profile::CpuCompat {
        let chain = a.iter().zip(b).fold(0f32, |t, (&x, &y)| x.mul_add(y, t));
        return if start.is_none() { chain } else { s + chain };
    }
    match dtype {
        DType::F32 => a.iter().zip(b).fold(s, |t, (&x, &y)| x.mul_add(y, t)),
        _ => {
            let f = |x: f32| if dtype == DType::BF16 { flush(x) } else { x };
            let mut t = f(s);
            for (a, b) in a.chunks(32).zip(b.chunks(32)) {
                let mut sums = [0f32; 2];
                for (p, (&x, &y)) in a.iter().zip(b).enumerate() {
                    sums[p % 2] = f(f(x).mul_add(f(y), sums[p % 2]));
                }
                t = f(t + f(sums[0] + sums[1]));
            }
            t
        }
    }
}

fn encode(dtype: DType, x: f32) -> u64 {
    match dtype {
        DType::F16 => float::f32_to_f16(x) as u64,
        DType::BF16 => float::f32_to_bf16(x) as u64,
        _ => x.to_bits() as u64,
    }
}

fn decode(dtype: DType, bits: u64) -> f32 {
    match dtype {
        DType::F16 => float::f16_to_f32(bits as u16),
        DType::BF16 => float::bf16_to_f32(bits as u16),
        _ => f32::from_bits(bits as u32),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Start {
    Zero,
    Accumulate,
    /// Of elements of this type.
    Bias(DType),
}

const STARTS: [Start; 5] =
    [Start::Zero, Start::Accumulate, Start::Bias(DType::F32), Start::Bias(DType::F16), Start::Bias(DType::BF16)];

/// Runs one product and compares every bit, on every tier.
fn check(
    rng: &mut Rng,
    dtype: DType,
    profile: Profile,
    (m, k, n): (u32, u32, u32),
    start: Start,
    orders: (Order, Order),
    value: impl Fn(&mut Rng) -> f32,
) {
    let up = |x: u32| x.div_ceil(16) * 16;
    let lhs = Tile::new(0, dtype, up(m), up(k), orders.0, 512).with_valid(m, k);
    let rhs = Tile::new(lhs.byte_len(), dtype, up(k), up(n), orders.1, 512).with_valid(k, n);
    let acc = Tile::new(rhs.offset + rhs.byte_len(), DType::F32, up(m), up(n), Order::Nz, 1024).with_valid(m, n);
    let bias_type = if let Start::Bias(d) = start { d } else { DType::F32 };
    let bias = Tile::row_major(acc.offset + acc.byte_len(), bias_type, 1, n);
    let mut mem = arena_for(&[lhs, rhs, acc, bias]);
    for (t, rows, cols) in [(lhs, m, k), (rhs, k, n), (acc, m, n), (bias, 1, n)] {
        for r in 0..rows {
            for c in 0..cols {
                let s = dtype::Scalar::new(t.dtype, encode(t.dtype, value(rng)));
                isa::set(&mut mem, &t, r, c, s).unwrap();
            }
        }
    }
    let before = mem.clone();
    let at = |t: &Tile, r: u32, c: u32| decode(t.dtype, bits_of(&before, t, r, c));
    tiers(|tier| {
        let mut mem = before.clone();
        let init = match start {
            Start::Zero => Init::Zero,
            Start::Accumulate => Init::Accumulate,
            Start::Bias(_) => Init::Bias(bias),
        };
        matmul(&mut mem, &acc, &lhs, &rhs, init, profile).unwrap();
        for i in 0..m {
            for j in 0..n {
                let a: Vec<f32> = (0..k).map(|p| at(&lhs, i, p)).collect();
                let b: Vec<f32> = (0..k).map(|p| at(&rhs, p, j)).collect();
                let s = match start {
                    Start::Zero => None,
                    Start::Accumulate => Some(at(&acc, i, j)),
                    Start::Bias(_) => Some(at(&bias, 0, j)),
                };
                let want = expected(dtype, profile, &a, &b, s);
                let want = if want.is_nan() { 0x7fc0_0000 } else { want.to_bits() };
                let got = bits_of(&mem, &acc, i, j) as u32;
                assert_eq!(got, want, "{tier:?} {dtype} {profile} {m}x{k}x{n} at ({i}, {j})");
            }
        }
        // Everything but the accumulator's m x n is untouched.
        for r in 0..acc.rows {
            for c in 0..acc.cols {
                if r < m && c < n {
                    let b = acc.byte_offset(r, c);
                    mem[b..b + 4].copy_from_slice(&before[b..b + 4]);
                }
            }
        }
        assert!(mem == before, "{tier:?}: bytes outside the accumulator changed");
    });
}

#[test]
fn products_follow_the_stated_order() {
    let mut rng = Rng::new(1);
    let orders = [
        (Order::RowMajor, Order::RowMajor),
        (Order::Nz, Order::Zn),
        (Order::Zz, Order::Zn),
        (Order::ColMajor, Order::Nn),
    ];
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for (x, shape) in
            [(1, 1, 1), (5, 31, 3), (16, 32, 16), (17, 33, 18), (6, 64, 16), (13, 100, 33)].into_iter().enumerate()
        {
            for start in STARTS {
                for profile in Profile::ALL {
                    check(&mut rng, dtype, profile, shape, start, orders[x % orders.len()], |r| r.normal());
                }
            }
        }
    }
}

/// Plain operands in whole panels, which f32 reads where they are as long as they are small: several blocks of rows and
/// pairs of panels, the last one alone.
#[test]
fn wide_products_of_plain_operands() {
    let mut rng = Rng::new(5);
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for shape in [(9, 33, 48), (17, 70, 112)] {
            for start in [Start::Zero, Start::Accumulate, Start::Bias(DType::F32)] {
                check(&mut rng, dtype, Profile::A5, shape, start, (Order::RowMajor, Order::RowMajor), |r| r.normal());
            }
        }
    }
}

/// Operands of every magnitude, so that partial sums are subnormal and the flush decides.
#[test]
fn bf16_flushes_and_f16_does_not() {
    let mut rng = Rng::new(2);
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        for k in [1, 2, 31, 32, 33, 64] {
            let tiny = |r: &mut Rng| {
                let scale = if dtype == DType::F16 {
                    2f32.powi(-14 - r.below(12) as i32)
                } else {
                    2f32.powi(-58 - r.below(12) as i32)
                };
                match r.below(16) {
                    0 => f32::from_bits(r.next() as u32 & 0x807f_0000),
                    1 => 0f32.copysign(r.normal()),
                    _ => r.normal() * scale,
                }
            };
            check(
                &mut rng,
                dtype,
                Profile::A5,
                (7, k, 17),
                Start::Accumulate,
                (Order::RowMajor, Order::RowMajor),
                tiny,
            );
            check(&mut rng, dtype, Profile::A2a3, (7, k, 17), Start::Zero, (Order::RowMajor, Order::RowMajor), tiny);
        }
    }
}

#[test]
fn not_a_number_and_infinity() {
    let mut rng = Rng::new(3);
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        check(&mut rng, dtype, Profile::A5, (9, 35, 19), Start::Accumulate, (Order::RowMajor, Order::RowMajor), |r| {
            match r.below(40) {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => f32::NEG_INFINITY,
                _ => r.normal(),
            }
        });
    }
}

/// The order is visible: with ones except 2^30 at p = 2 and −2^30 at p = 4, the ones that meet 2^30 in a chain are lost.
#[test]
fn the_order_shows_at_31_32_33_and_64() {
    // Even chain of the first block: p = 0 is lost, p = 6, 8, … 30 survive. Odd chain: all survive. A second block adds
    // all of its own.
    let even = |k: u32| (3..k.min(32).div_ceil(2)).len() as u32;
    let odd = |k: u32| k.min(32) / 2;
    for k in [31, 32, 33, 64] {
        let want = even(k) + odd(k) + (k - k.min(32));
        // One straight chain loses p = 0, 1 and 3 and keeps 5 and everything after.
        let straight = k - 5;
        let lhs = Tile::row_major(0, DType::BF16, 1, k);
        let rhs = Tile::row_major(256, DType::BF16, k, 1);
        let acc = Tile::row_major(1024, DType::F32, 1, 1);
        let mut mem = vec![0; 2048];
        isa::fill(&mut mem, &rhs, dtype::Scalar::f32(1.0)).unwrap();
        isa::fill(&mut mem, &lhs, dtype::Scalar::f32(1.0)).unwrap();
        for (p, v) in [(2, 2f64.powi(30)), (4, -(2f64.powi(30)))] {
            isa::set(&mut mem, &lhs, 0, p, dtype::Scalar::from_f64(DType::BF16, v)).unwrap();
        }
        matmul(&mut mem, &acc, &lhs, &rhs, Init::Zero, Profile::A5).unwrap();
        assert_eq!(f32::from_bits(bits_of(&mem, &acc, 0, 0) as u32), want as f32, "K = {k}");
        matmul(&mut mem, &acc, &lhs, &rhs, Init::Zero, Profile::CpuCompat).unwrap();
        assert_eq!(f32::from_bits(bits_of(&mem, &acc, 0, 0) as u32), straight as f32, "K = {k}, straight");
    }
}

/// A product that lifts 2^-126 minus half of the subnormal unit back to 2^-126 only on the subnormal grid is tiny: hardware
/// that rounds to 24 bits first flushes it.
#[test]
fn tininess_is_judged_after_rounding() {
    // The even chain: 2^-126 by the first product, then a second one of -0.75 * 2^-150 or -0.4 * 2^-150.
    for (second, flushed) in [(0x3f40, true), (0x3ecd, false)] {
        let lhs = Tile::row_major(0, DType::BF16, 1, 3);
        let rhs = Tile::row_major(64, DType::BF16, 3, 1);
        let acc = Tile::row_major(128, DType::F32, 1, 1);
        let mut mem = vec![0; 132];
        let power = |e: i32| dtype::Scalar::from_f64(DType::BF16, 2f64.powi(e));
        for (p, a, b) in [(0, power(-63), power(-63)), (2, power(-100), power(-50))] {
            isa::set(&mut mem, &lhs, 0, p, a).unwrap();
            isa::set(&mut mem, &rhs, p, 0, b).unwrap();
        }
        let x = dtype::Scalar::new(DType::BF16, second).as_f64();
        isa::set(&mut mem, &lhs, 0, 2, dtype::Scalar::from_f64(DType::BF16, -x * 2f64.powi(-100))).unwrap();
        tiers(|tier| {
            let mut mem = mem.clone();
            matmul(&mut mem, &acc, &lhs, &rhs, Init::Zero, Profile::A5).unwrap();
            let want = if flushed { 0.0 } else { f32::MIN_POSITIVE };
            assert_eq!(f32::from_bits(bits_of(&mem, &acc, 0, 0) as u32), want, "{tier:?} {x}");
        });
    }
}

#[test]
fn int8_is_exact_and_wraps() {
    let mut rng = Rng::new(4);
    for (m, k, n) in [(1, 1, 1), (7, 31, 17), (16, 64, 32), (3, 129, 5), (20, 70, 50)] {
        for start in [Start::Zero, Start::Accumulate, Start::Bias(DType::I32)] {
            let up = |x: u32| x.div_ceil(32) * 32;
            let lhs = Tile::new(0, DType::I8, up(m), up(k), Order::Nz, 512).with_valid(m, k);
            let rhs = Tile::new(lhs.byte_len(), DType::I8, up(k), up(n), Order::Zn, 512).with_valid(k, n);
            let acc = Tile::row_major(rhs.offset + rhs.byte_len(), DType::I32, m, n);
            let bias = Tile::row_major(acc.offset + acc.byte_len(), DType::I32, 1, n);
            let mut mem = arena_for(&[lhs, rhs, acc, bias]);
            rng.fill(&mut mem);
            if start == Start::Accumulate {
                isa::fill(&mut mem, &acc, dtype::Scalar::from_i64(DType::I32, i32::MAX as i64 - 7)).unwrap();
            }
            let before = mem.clone();
            tiers(|tier| {
                let mut mem = before.clone();
                let init = match start {
                    Start::Zero => Init::Zero,
                    Start::Accumulate => Init::Accumulate,
                    Start::Bias(_) => Init::Bias(bias),
                };
                matmul(&mut mem, &acc, &lhs, &rhs, init, Profile::A2a3).unwrap();
                for i in 0..m {
                    for j in 0..n {
                        let s = match start {
                            Start::Zero => 0,
                            Start::Accumulate => i32::MAX as i64 - 7,
                            Start::Bias(_) => bits_of(&before, &bias, 0, j) as i32 as i64,
                        };
                        let sum: i64 = (0..k)
                            .map(|p| {
                                bits_of(&before, &lhs, i, p) as i8 as i64 * bits_of(&before, &rhs, p, j) as i8 as i64
                            })
                            .sum();
                        assert_eq!(bits_of(&mem, &acc, i, j) as i32, (s + sum) as i32, "{tier:?} at ({i}, {j})");
                    }
                }
            });
        }
    }
}

#[test]
fn empty_extents_do_nothing_and_wrong_types_are_refused() {
    let lhs = Tile::row_major(0, DType::F32, 4, 4);
    let acc = Tile::row_major(64, DType::F32, 4, 4);
    let mut mem = vec![0x5a; 128];
    for (l, r) in [((0, 4), (4, 4)), ((4, 0), (0, 4)), ((4, 4), (4, 0))] {
        let a = lhs.with_valid(l.0, l.1);
        let b = lhs.with_valid(r.0, r.1);
        matmul(&mut mem, &acc, &a, &b, Init::Zero, Profile::A5).unwrap();
        assert!(mem.iter().all(|&b| b == 0x5a));
    }
    let wrong = Tile::row_major(0, DType::I16, 4, 4);
    let e = matmul(&mut mem, &acc, &wrong, &lhs, Init::Zero, Profile::A5).unwrap_err();
    assert!(e.to_string().contains("i16"), "{e}");
    let integers = Init::Bias(Tile::row_major(0, DType::I32, 1, 4));
    let e = matmul(&mut mem, &acc, &lhs, &lhs, integers, Profile::A5).unwrap_err();
    assert!(e.to_string().contains("i32"), "{e}");
    let far = Tile::row_major(100, DType::F32, 4, 4);
    assert!(matmul(&mut mem, &far, &lhs, &lhs, Init::Zero, Profile::A5).is_err());
}
