//! The three storage formats of floats, as bit arithmetic without branches.
//!
//! Every function here is exact or rounds once, keeps subnormals (semantics rule 6), and yields the canonical NaN where
//! it rounds (rule 5). They are small, total and inlined, so that a loop over a row becomes vector code in whatever
//! instruction set its caller was compiled for.

/// The canonical NaN of f32 (semantics rule 5).
pub const F32_NAN: u32 = 0x7fc0_0000;
/// The canonical NaN of f16.
pub const F16_NAN: u16 = 0x7e00;
/// The canonical NaN of bf16.
pub const BF16_NAN: u16 = 0x7fc0;

/// `x`, or the canonical NaN.
///
/// Decided on the bits: the compiler may take `if x.is_nan() { NAN } else { x }` for `x`, since to it all NaNs are one.
#[inline(always)]
pub fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { F32_NAN } else { bits })
}

/// Widens f16 exactly. NaNs stay NaNs and keep their payload.
#[inline(always)]
pub fn f16_to_f32(h: u16) -> f32 {
    let magnitude = (h & 0x7fff) as u32;
    let sign = ((h & 0x8000) as u32) << 16;
    // The exponent field sits in place after the shift, 112 too small; the product also normalises subnormals.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled.to_bits() | special | sign)
}

/// Narrows to f16, ties to even; beyond 65504 plus half a unit is infinity.
#[inline(always)]
pub fn f32_to_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let a = bits & 0x7fff_ffff;
    // 0.5 has the unit 2^-24 of f16 subnormals: the addition rounds for us.
    let subnormal = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let normal = a.wrapping_add(0xc800_0fff).wrapping_add((a >> 13) & 1) >> 13;
    let finite = if a < 0x3880_0000 { subnormal } else { normal };
    let magnitude = if a >= 0x477f_f000 { 0x7c00 } else { finite };
    if a > 0x7f80_0000 { F16_NAN } else { (magnitude | sign) as u16 }
}

/// Widens bf16 exactly. NaNs keep their payload.
#[inline(always)]
pub fn bf16_to_f32(h: u16) -> f32 {
    f32::from_bits((h as u32) << 16)
}

/// Narrows to bf16, ties to even.
#[inline(always)]
pub fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff).wrapping_add((bits >> 16) & 1) >> 16;
    if bits & 0x7fff_ffff > 0x7f80_0000 { BF16_NAN } else { rounded as u16 }
}

/// Narrows to f32 with the lowest bit sticky (round to odd): a second rounding to a format of at most 22 significant
/// bits then gives what one rounding from `x` would.
#[inline(always)]
pub fn f64_to_f32_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = nearest as f64;
    let bits = nearest.to_bits();
    let toward_zero = if back.abs() > x.abs() { bits.wrapping_sub(1) } else { bits };
    let sticky = toward_zero | 1;
    // NaN compares unequal too, and a sticky NaN is still one.
    if back == x { nearest } else { f32::from_bits(sticky) }
}

/// Rounds once to f16, ties to even.
#[inline(always)]
pub fn f64_to_f16(x: f64) -> u16 {
    f32_to_f16(f64_to_f32_odd(x))
}

/// Rounds once to bf16, ties to even.
#[inline(always)]
pub fn f64_to_bf16(x: f64) -> u16 {
    f32_to_bf16(f64_to_f32_odd(x))
}

/// The larger operand; NaN if either is NaN, and −0 < +0. Associative and commutative, so the order of a maximum over
/// many elements does not matter.
#[inline(always)]
pub fn maximum(a: f32, b: f32) -> f32 {
    let larger = if a > b { a } else { b };
    // Equal operands differ at most in the sign of zero.
    let equal = f32::from_bits(a.to_bits() & b.to_bits());
    let ordered = if a == b { equal } else { larger };
    f32::from_bits(if a.is_nan() | b.is_nan() { F32_NAN } else { ordered.to_bits() })
}

/// The smaller operand; NaN if either is NaN, and −0 < +0.
#[inline(always)]
pub fn minimum(a: f32, b: f32) -> f32 {
    let smaller = if a < b { a } else { b };
    let equal = f32::from_bits(a.to_bits() | b.to_bits());
    let ordered = if a == b { equal } else { smaller };
    f32::from_bits(if a.is_nan() | b.is_nan() { F32_NAN } else { ordered.to_bits() })
}
