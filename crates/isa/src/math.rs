//! Transcendentals as stated sequences of f64 operations (semantics rule 11).
//!
//! Each function is a fixed sequence of f64 sums, products, quotients, fused multiply-adds and bit operations: no library,
//! no table. Every tier runs the same sequence, so the bits agree. The relative error is below 2^-44, so that the one
//! rounding to f32 that follows is the correct one unless the true value is within 2^-20 ulp of a midpoint.
//!
//! **exp**: c = x clamped to [−160, 160]; n = rint(c·log2 e), by adding and subtracting 1.5·2^52 with fma;
//! r = fma(−n, LN2_LOW, fma(−n, LN2_HIGH, c)), |r| ≤ 0.347; p = Σ r^k / k! up to k = 11 by Horner with fma; the result is p
//! with n added to its exponent field.
//!
//! **log**: x = m·2^e with m in [√½, √2); s = (m − 1) ÷ (m + 1); z = s·s; p = Σ z^k / (2k + 1) up to k = 8 by Horner with fma;
//! the result is fma(e, LN2_HIGH, fma(e, LN2_LOW, (2·s)·p)).
//!
//! The arguments are f32 values widened, so f64 subnormals do not occur.

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 with its low bits cleared: a product with an exponent is exact.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_f800_0000);
/// ln 2 − LN2_HIGH, rounded.
const LN2_LOW: f64 = f64::from_bits(0x3e4b_e8e7_bcd5_e4f2);
/// 1.5·2^52: sums with it round to integers, which then are their low bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// √½, where the mantissa range of `log` begins.
const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;

/// 1/11!, 1/10!, …, 1/0!.
const EXP: [f64; 12] = [
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// 1/17, 1/15, …, 1/1.
const LOG: [f64; 9] = [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];

#[inline(always)]
fn horner<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut p = coefficients[0];
    for &c in &coefficients[1..] {
        p = p.mul_add(x, c);
    }
    p
}

/// e^x of an f32 value: infinite or 0 only after rounding to an element type, NaN for NaN.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    // Beyond the bounds every element type rounds to 0 or infinity.
    let c = if x < -160.0 { -160.0 } else { x };
    let c = if c > 160.0 { 160.0 } else { c };
    let shifted = c.mul_add(LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let r = (-n).mul_add(LN2_LOW, (-n).mul_add(LN2_HIGH, c));
    let p = horner(r, &EXP);
    let scaled = f64::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 52));
    if x.is_nan() { x } else { scaled }
}

/// ln x of an f32 value: −inf at ±0, NaN below.
#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    let above = x.to_bits().wrapping_sub(SQRT_HALF);
    let m = f64::from_bits((above & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    // e + 1023 as the low bits of 2^52.
    let biased = above.wrapping_add(1023 << 52) >> 52;
    let e = f64::from_bits(biased | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let p = horner(s * s, &LOG);
    let finite = e.mul_add(LN2_HIGH, e.mul_add(LN2_LOW, (2.0 * s) * p));
    let at_zero = if x == 0.0 { f64::NEG_INFINITY } else { finite };
    let at_infinity = if x == f64::INFINITY { f64::INFINITY } else { at_zero };
    if x < 0.0 || x.is_nan() { f64::NAN } else { at_infinity }
}
