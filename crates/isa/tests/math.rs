//! Functions of one element, against oracles that share nothing with the crates: every 16-bit input on every tier, and the
//! worst error over a sample of f32.
//!
//! The oracle computes in f64 by the host's library, whose error is below one unit in the last place of f64, and rounds
//! once: 16-bit formats by search in the list of all their values, f32 by the hardware. That decides the right result
//! unless the f64 value is within two such units of a midpoint between two results; how many inputs are left undecided
//! is counted, and must be none for 16-bit formats.
//!
//! `NUMERICS=10000000 cargo test --release -p isa --test math -- --nocapture` prints what `docs/numerics.md` states;
//! without the variable the samples are smaller.

// The figures are for whoever asks for them with `--nocapture`.
#![allow(clippy::print_stdout)]

mod common;

use std::f64::consts::PI;

use common::{Rng, tiers};
use dtype::{DType, Profile, RoundMode, Scalar};
use isa::{BinaryOp, Tile, UnaryOp, unary};

/// Points of a sample of f32.
fn samples() -> usize {
    match std::env::var("NUMERICS") {
        Ok(n) => n.parse().expect("NUMERICS is a number of points"),
        Err(_) => 500_000,
    }
}

fn reference(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Recip => 1.0 / x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Neg => -x,
        // The larger of x and +0, of which −0 is not.
        UnaryOp::Relu if x <= 0.0 => 0.0,
        UnaryOp::Relu => x,
        other => unreachable!("{other:?} is not one of floats"),
    }
}

/// Runs `op` on the given elements, on every tier, and returns the portable result after comparing the others with it.
fn run(op: UnaryOp, dtype: DType, bits: &[u32]) -> Vec<u32> {
    let tile = Tile::row_major(0, dtype, 1, bits.len() as u32);
    on_every_tier(tile.byte_len(), dtype, bits, &|mem| unary(mem, op, &tile, &tile).unwrap())
}

/// The first elements of a memory of `bytes` that starts with these, after `f`.
fn on_every_tier(bytes: usize, dtype: DType, bits: &[u32], f: &dyn Fn(&mut [u8])) -> Vec<u32> {
    let size = dtype.size();
    let mut before = vec![0u8; bytes];
    for (e, b) in before.chunks_exact_mut(size).zip(bits) {
        e.copy_from_slice(&b.to_le_bytes()[..size]);
    }
    let first: std::cell::RefCell<Option<Vec<u8>>> = std::cell::RefCell::new(None);
    tiers(|tier| {
        let mut mem = before.clone();
        f(&mut mem);
        mem.truncate(bits.len() * size);
        let mut first = first.borrow_mut();
        match &*first {
            None => *first = Some(mem),
            Some(f) => assert!(*f == mem, "{tier:?} gives other bits on {dtype}"),
        }
    });
    let mem = first.into_inner().unwrap();
    mem.chunks_exact(size).map(|e| e.iter().rev().fold(0, |w, &b| w << 8 | b as u32)).collect()
}

/// A 16-bit float format, as the list of its values.
struct Half {
    dtype: DType,
    /// All finite magnitudes in order, their indices being their bits, and the one that would come next: as infinity.
    magnitudes: Vec<f64>,
    nan: u32,
}

impl Half {
    fn new(dtype: DType) -> Half {
        let (exponent_bits, nan) = if dtype == DType::F16 { (5, 0x7e00) } else { (8, 0x7fc0) };
        let fraction_bits = 15 - exponent_bits;
        let bias = (1 << (exponent_bits - 1)) - 1;
        let magnitude = |bits: i32| {
            let (field, fraction) = (bits >> fraction_bits, (bits & ((1 << fraction_bits) - 1)) as f64);
            let unit = 2f64.powi(-fraction_bits);
            match field {
                0 => fraction * unit * 2f64.powi(1 - bias),
                _ => (1.0 + fraction * unit) * 2f64.powi(field - bias),
            }
        };
        let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
        Half { dtype, magnitudes: (0..=infinity).map(magnitude).collect(), nan }
    }

    fn value(&self, bits: u32) -> f64 {
        let infinity = self.magnitudes.len() - 1;
        let index = (bits & 0x7fff) as usize;
        let magnitude = match index {
            _ if index > infinity => f64::NAN,
            _ if index == infinity => f64::INFINITY,
            _ => self.magnitudes[index],
        };
        if bits & 0x8000 != 0 { -magnitude } else { magnitude }
    }

    /// The nearest value, ties to even; whether `y` is so near to a midpoint that its error might matter.
    fn round(&self, y: f64) -> (u32, bool) {
        if y.is_nan() {
            return (self.nan, false);
        }
        let sign = if y.is_sign_negative() { 0x8000 } else { 0 };
        let a = y.abs();
        let above = self.magnitudes.partition_point(|&v| v < a);
        if above == self.magnitudes.len() {
            return (sign | (above as u32 - 1), false);
        }
        if self.magnitudes[above] == a {
            return (sign | above as u32, false);
        }
        let (low, high) = (self.magnitudes[above - 1], self.magnitudes[above]);
        let middle = low + (high - low) / 2.0;
        let index = if a > middle || (a == middle && above % 2 == 0) { above } else { above - 1 };
        (sign | index as u32, (a - middle).abs() <= 2.0 * f64::EPSILON * a)
    }
}

const OPS: [UnaryOp; 5] = [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sqrt, UnaryOp::Rsqrt, UnaryOp::Recip];

#[test]
fn every_16_bit_float_is_rounded_correctly() {
    let all: Vec<u32> = (0..65536).collect();
    for half in [Half::new(DType::F16), Half::new(DType::BF16)] {
        for op in OPS.into_iter().chain([UnaryOp::Abs, UnaryOp::Neg, UnaryOp::Relu]) {
            let got = run(op, half.dtype, &all);
            for (&x, &got) in all.iter().zip(&got) {
                let (want, undecided) = half.round(reference(op, half.value(x)));
                assert!(!undecided, "{op:?} of {x:#06x}, {}: f64 does not decide", half.dtype);
                assert_eq!(got, want, "{op:?} of {x:#06x}, {}: {got:#06x}, expected {want:#06x}", half.dtype);
            }
            println!("{op:?} {}: all 65536 inputs correctly rounded, on every tier", half.dtype);
        }
    }
}

#[test]
fn every_integer_of_8_and_16_bits() {
    for (dtype, bits, signed) in
        [(DType::I8, 8, true), (DType::U8, 8, false), (DType::I16, 16, true), (DType::U16, 16, false)]
    {
        let all: Vec<u32> = (0..1 << bits).collect();
        let number = |x: u32| if signed && x >> (bits - 1) == 1 { x as i64 - (1 << bits) } else { x as i64 };
        for op in [UnaryOp::Abs, UnaryOp::Neg, UnaryOp::Relu, UnaryOp::Not] {
            for (&x, got) in all.iter().zip(run(op, dtype, &all)) {
                let n = number(x);
                let want = match op {
                    UnaryOp::Abs => n.abs(),
                    UnaryOp::Neg => -n,
                    UnaryOp::Relu => n.max(0),
                    _ => -1 - n,
                };
                assert_eq!(got as i64, want.rem_euclid(1 << bits), "{op:?} of {n}, {dtype}");
            }
        }
    }
}

/// The worst error of a set of results, in units in the last place of the result.
#[derive(Default)]
struct Worst {
    ulp: f64,
    at: f32,
    /// Results that are not the nearest f32, and those of which f64 cannot say.
    wrong: usize,
    undecided: usize,
    points: usize,
}

impl Worst {
    /// `got` for `f(x) = y`, up to `doubt` units in the last place of f64.
    fn take(&mut self, x: f32, got: f32, y: f64, doubt: f64) {
        self.points += 1;
        let nearest = y as f32;
        if nearest.is_nan() || nearest.is_infinite() || got.is_nan() || got.is_infinite() {
            let same = nearest.to_bits() == got.to_bits() || (nearest.is_nan() && got.to_bits() == 0x7fc0_0000);
            assert!(same, "f({x:e}) is {got:e}, expected {nearest:e}");
            return;
        }
        let exponent = |v: f32| ((v.to_bits() >> 23 & 0xff) as i32).max(1);
        let unit = 2f64.powi(exponent(nearest) - 150);
        let error = (got as f64 - y).abs() / unit;
        if error > self.ulp {
            (self.ulp, self.at) = (error, x);
        }
        let next = if y > nearest as f64 { nearest.next_up() } else { nearest.next_down() };
        let middle = (nearest as f64 + next as f64) / 2.0;
        if (y - middle).abs() <= doubt * f64::EPSILON * y.abs() {
            self.undecided += 1;
        } else if got.to_bits() != nearest.to_bits() {
            self.wrong += 1;
        }
    }

    fn print(&self, what: &str) {
        let Worst { ulp, at, wrong, undecided, points } = self;
        println!(
            "{what}: worst error {ulp:.8} ulp at {at:e}; {wrong} of {points} not the nearest, {undecided} undecided"
        );
    }
}

/// Any bits, arguments where the function is neither 0 nor infinite, and some near 1.
fn arguments(seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let n = samples();
    let mut bits: Vec<u32> = (0..n / 2).map(|_| rng.next() as u32).collect();
    bits.extend((0..n / 4).map(|_| (rng.normal() * 60.0).to_bits()));
    bits.extend((0..n - n / 2 - n / 4).map(|_| (1.0 + rng.normal() * 0.01).to_bits()));
    bits
}

/// The rounding of a value with the error that `isa::math` states, 2^-44: an excess of 2^-20 ulp over one half.
#[test]
fn f32_is_the_nearest_but_for_near_ties() {
    for op in OPS {
        let mut worst = Worst::default();
        for part in arguments(1).chunks(1 << 18) {
            for (&x, got) in part.iter().zip(run(op, DType::F32, part)) {
                let x = f32::from_bits(x);
                worst.take(x, f32::from_bits(got), reference(op, x as f64), 2.0);
            }
        }
        worst.print(&format!("{op:?} f32"));
        assert!(worst.ulp <= 0.5 + 2f64.powi(-20), "{op:?} of {:e} is off by {} ulp", worst.at, worst.ulp);
        assert!(worst.wrong * 1_000_000 <= worst.points * 2, "{op:?}: {} of {}", worst.wrong, worst.points);
    }
}

/// The recipe of `dsl.md` §4.2 as instructions: what `pl.sin` and `pl.cos` are made of.
fn wave(mem: &mut [u8], n: u32, cosine: bool) {
    let tile = |i: u32| Tile::row_major((i * n * 4) as usize, DType::F32, 1, n);
    let (x, k, t, u) = (tile(0), tile(1), tile(2), tile(3));
    let scalar = |mem: &mut [u8], op, d: &Tile, a: &Tile, s: f32| {
        isa::binary_scalar(mem, op, d, a, Scalar::f32(s), false).unwrap();
    };
    let integral = |mem: &mut [u8], d: &Tile, a: &Tile, mode| {
        isa::convert(mem, d, a, mode, false, Profile::A2a3).unwrap();
    };
    use BinaryOp::{Add, Mul, Sub};
    scalar(mem, Mul, &k, &x, std::f32::consts::FRAC_1_PI);
    if cosine {
        scalar(mem, Add, &k, &k, 0.5);
    }
    integral(mem, &k, &k, if cosine { RoundMode::Rint } else { RoundMode::Round });
    isa::copy(mem, &t, &x).unwrap();
    for (i, part) in [3.140625, 0.00096702576, 6.277114e-07, 1.2164492e-10, -1.0290623e-13].into_iter().enumerate() {
        scalar(mem, Mul, &u, &k, part);
        isa::binary(mem, Sub, &t, &t, &u).unwrap();
        if cosine && i == 1 {
            scalar(mem, Add, &t, &t, std::f32::consts::FRAC_PI_2);
        }
    }
    if cosine {
        scalar(mem, Add, &t, &t, -4.371139e-08);
    }
    // The sign: ⌊k/2⌋ · 4 − 2k + 1.
    let half = tile(4);
    scalar(mem, Mul, &half, &k, 0.5);
    integral(mem, &half, &half, RoundMode::Floor);
    scalar(mem, Mul, &half, &half, 4.0);
    scalar(mem, Mul, &k, &k, 2.0);
    isa::binary(mem, Sub, &half, &half, &k).unwrap();
    scalar(mem, Add, &half, &half, 1.0);
    isa::binary(mem, Mul, &u, &t, &t).unwrap();
    scalar(mem, Mul, &k, &u, 2.6049265e-06);
    for c in [-0.00019808944, 0.00833305, -0.16666658] {
        scalar(mem, Add, &k, &k, c);
        isa::binary(mem, Mul, &k, &k, &u).unwrap();
    }
    scalar(mem, Add, &k, &k, 1.0);
    isa::binary(mem, Mul, &k, &t, &k).unwrap();
    isa::binary(mem, Mul, &x, &half, &k).unwrap();
}

#[test]
fn sine_and_cosine_recipe() {
    for cosine in [false, true] {
        for bound in [PI, 100.0, 10_000.0] {
            let mut rng = Rng::new(3);
            let (mut worst, mut absolute) = (Worst::default(), 0f64);
            let mut left = samples();
            while left > 0 {
                let n = left.min(1 << 16);
                left -= n;
                let unit = |rng: &mut Rng| (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
                let bits: Vec<u32> =
                    (0..n).map(|_| (((unit(&mut rng) * 2.0 - 1.0) * bound) as f32).to_bits()).collect();
                let got = on_every_tier(5 * 4 * n, DType::F32, &bits, &|mem| wave(mem, n as u32, cosine));
                for (&x, got) in bits.iter().zip(got) {
                    let (x, got) = (f32::from_bits(x), f32::from_bits(got));
                    let y = if cosine { (x as f64).cos() } else { (x as f64).sin() };
                    worst.take(x, got, y, 2.0);
                    absolute = absolute.max((got as f64 - y).abs());
                }
            }
            let name = if cosine { "cos" } else { "sin" };
            worst.print(&format!("{name} f32, |x| < {bound:.6}, worst absolute error {absolute:.3e}"));
            assert!(absolute <= 2e-7, "{name} is off by {absolute:e} where |x| < {bound}");
            assert!(worst.ulp <= 8.0, "{name} of {:e} is off by {} ulp", worst.at, worst.ulp);
        }
    }
}

/// In place, beside the valid region, and with nothing valid.
#[test]
fn ragged_empty_and_in_place() {
    let mut rng = Rng::new(9);
    for dtype in [DType::F16, DType::BF16, DType::F32] {
        for op in OPS.into_iter().chain([UnaryOp::Abs, UnaryOp::Neg, UnaryOp::Relu]) {
            for (rows, cols) in [(3, 21), (5, 1), (1, 32), (0, 32), (5, 0)] {
                let whole = Tile::row_major(0, dtype, 5, 32);
                let source = whole.with_valid(rows, cols);
                let apart = Tile { offset: whole.byte_len(), ..source };
                let mut before = vec![0; 2 * whole.byte_len()];
                rng.fill(&mut before);
                tiers(|tier| {
                    let (mut here, mut there) = (before.clone(), before.clone());
                    unary(&mut here, op, &source, &source).unwrap();
                    unary(&mut there, op, &apart, &source).unwrap();
                    for r in 0..5 {
                        for c in 0..32 {
                            let bits = |mem: &[u8], t: &Tile| isa::get(mem, t, r, c).unwrap().bits;
                            let inside = r < rows && c < cols;
                            let far = Tile { offset: apart.offset, ..whole };
                            assert_eq!(bits(&there, &whole), bits(&before, &whole), "{tier:?} {op:?}: the source");
                            if inside {
                                assert_eq!(bits(&here, &whole), bits(&there, &far), "{tier:?} {op:?} at ({r}, {c})");
                            } else {
                                assert_eq!(bits(&here, &whole), bits(&before, &whole), "{tier:?} {op:?} in place");
                                assert_eq!(bits(&there, &far), bits(&before, &far), "{tier:?} {op:?} apart");
                            }
                        }
                    }
                });
            }
        }
    }
}

#[test]
fn special_values() {
    let f = |op, x: f32| f32::from_bits(run(op, DType::F32, &[x.to_bits()])[0]);
    assert_eq!(f(UnaryOp::Exp, f32::NEG_INFINITY), 0.0);
    assert_eq!(f(UnaryOp::Exp, f32::INFINITY), f32::INFINITY);
    assert_eq!(f(UnaryOp::Exp, 0.0), 1.0);
    assert_eq!(f(UnaryOp::Exp, 88.8), f32::INFINITY);
    assert_eq!(f(UnaryOp::Exp, -104.0), 0.0);
    assert_eq!(f(UnaryOp::Exp, -103.0), f32::from_bits(1));
    assert_eq!(f(UnaryOp::Log, 0.0), f32::NEG_INFINITY);
    assert_eq!(f(UnaryOp::Log, -0.0), f32::NEG_INFINITY);
    assert_eq!(f(UnaryOp::Log, 1.0).to_bits(), 0);
    assert_eq!(f(UnaryOp::Log, f32::INFINITY), f32::INFINITY);
    assert_eq!(f(UnaryOp::Sqrt, -0.0).to_bits(), 0x8000_0000);
    assert_eq!(f(UnaryOp::Rsqrt, 0.0), f32::INFINITY);
    assert_eq!(f(UnaryOp::Rsqrt, -0.0), f32::NEG_INFINITY);
    assert_eq!(f(UnaryOp::Rsqrt, f32::INFINITY), 0.0);
    assert_eq!(f(UnaryOp::Recip, -0.0), f32::NEG_INFINITY);
    for (op, x) in [(UnaryOp::Log, -1.0), (UnaryOp::Sqrt, -1.0), (UnaryOp::Rsqrt, -1.0), (UnaryOp::Exp, f32::NAN)] {
        assert_eq!(f(op, x).to_bits(), 0x7fc0_0000, "{op:?} of {x}");
    }
}
