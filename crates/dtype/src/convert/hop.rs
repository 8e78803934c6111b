//! One native hop, on one element: the definition that every faster path must match.

use super::{Profile, RoundMode};
use crate::{DType, float};

/// A binary floating-point format with an implicit leading bit, infinities and subnormals.
struct Format {
    /// Significant bits, the implicit one included.
    precision: i32,
    /// The exponent of the smallest normal value.
    min_exponent: i32,
    /// The bits of +infinity.
    infinity: u64,
    nan: u64,
    sign: u64,
}

const F16: Format =
    Format { precision: 11, min_exponent: -14, infinity: 0x7c00, nan: float::F16_NAN as u64, sign: 1 << 15 };
const BF16: Format =
    Format { precision: 8, min_exponent: -126, infinity: 0x7f80, nan: float::BF16_NAN as u64, sign: 1 << 15 };
const F32: Format =
    Format { precision: 24, min_exponent: -126, infinity: 0x7f80_0000, nan: float::F32_NAN as u64, sign: 1 << 31 };

fn format(d: DType) -> &'static Format {
    match d {
        DType::F16 => &F16,
        DType::BF16 => &BF16,
        _ => &F32,
    }
}

/// What to do with the bits that do not fit, on magnitudes.
#[derive(Clone, Copy)]
enum Rounding {
    NearestEven,
    NearestAway,
    Down,
    Up,
    Zero,
    StickyOdd,
}

fn rounding(mode: RoundMode) -> Rounding {
    match mode {
        RoundMode::None | RoundMode::Rint => Rounding::NearestEven,
        RoundMode::Round => Rounding::NearestAway,
        RoundMode::Floor => Rounding::Down,
        RoundMode::Ceil => Rounding::Up,
        RoundMode::Trunc => Rounding::Zero,
        RoundMode::Odd => Rounding::StickyOdd,
    }
}

/// The float nearest to the integer ±`magnitude`, as bits.
pub(crate) fn nearest(negative: bool, magnitude: u64, to: DType) -> u64 {
    encode(negative, magnitude, 0, format(to), Rounding::NearestEven, false)
}

/// The bits of ±`magnitude`·2^`exponent` in `format`.
fn encode(negative: bool, magnitude: u64, exponent: i32, format: &Format, rounding: Rounding, saturate: bool) -> u64 {
    let sign = if negative { format.sign } else { 0 };
    if magnitude == 0 {
        return sign;
    }
    let leading = exponent + 63 - magnitude.leading_zeros() as i32;
    // The exponent of the result's lowest bit.
    let unit = leading.max(format.min_exponent) - (format.precision - 1);
    let dropped = unit - exponent;
    let kept =
        if dropped <= 0 { magnitude << -dropped } else { drop_bits(negative, magnitude, dropped as u32, rounding) };
    // A normal result carries its implicit bit into the exponent field; so does a rounding carry.
    let bits = (((unit - format.min_exponent + format.precision - 1) as u64) << (format.precision - 1)) + kept;
    let bits = if bits < format.infinity {
        bits
    } else if saturate {
        format.infinity - 1
    } else {
        format.infinity
    };
    sign | bits
}

/// `magnitude >> count`, rounded.
fn drop_bits(negative: bool, magnitude: u64, count: u32, rounding: Rounding) -> u64 {
    let (kept, rest, half) = if count < 64 {
        (magnitude >> count, magnitude & ((1 << count) - 1), 1 << (count - 1))
    } else {
        // Less than half of the unit, or beyond: only the comparison matters.
        (0, if count == 64 { magnitude } else { 1 }, 1 << 63)
    };
    let up = match rounding {
        _ if rest == 0 => false,
        Rounding::NearestEven => rest > half || (rest == half && kept & 1 == 1),
        Rounding::NearestAway => rest >= half,
        Rounding::Down => negative,
        Rounding::Up => !negative,
        Rounding::Zero => false,
        Rounding::StickyOdd => kept & 1 == 0,
    };
    kept + up as u64
}

/// `x` rounded to an integral value.
fn integral(x: f64, mode: RoundMode, profile: Profile) -> f64 {
    let away = |t: f64| t + 1f64.copysign(x);
    match mode {
        RoundMode::None | RoundMode::Trunc => x.trunc(),
        RoundMode::Rint => x.round_ties_even(),
        RoundMode::Round => x.round(),
        RoundMode::Floor => x.floor(),
        RoundMode::Ceil => x.ceil(),
        RoundMode::Odd => {
            let t = x.trunc();
            let fraction = (x - t).abs();
            let even = t % 2.0 == 0.0;
            match profile {
                Profile::CpuCompat if fraction > 0.5 || (fraction == 0.5 && even) => away(t),
                Profile::CpuCompat => t,
                _ if fraction != 0.0 && even => away(t),
                _ => t,
            }
        }
    }
}

/// The least and greatest value of an integer type, as far as `i64` shows them.
fn range(d: DType) -> (i64, i64) {
    match d {
        DType::I8 => (i8::MIN as i64, i8::MAX as i64),
        DType::I16 => (i16::MIN as i64, i16::MAX as i64),
        DType::I32 => (i32::MIN as i64, i32::MAX as i64),
        DType::U8 => (0, u8::MAX as i64),
        DType::U16 => (0, u16::MAX as i64),
        DType::U32 => (0, u32::MAX as i64),
        DType::U64 => (0, i64::MAX),
        DType::Bool => (0, 1),
        _ => (i64::MIN, i64::MAX),
    }
}

fn low_bits(v: u64, d: DType) -> u64 {
    if d.size() == 8 { v } else { v & ((1 << d.bits()) - 1) }
}

fn sign_extended(bits: u64, d: DType) -> i64 {
    crate::Scalar::new(d, bits).signed()
}

/// Casts one element, given and returned as zero-extended bits. Meant for one hop of a [`chain`](super::chain); a pair
/// that no machine has natively is computed by the same rules.
pub fn convert(bits: u64, from: DType, to: DType, mode: RoundMode, saturate: bool, profile: Profile) -> u64 {
    match (from.is_float(), to.is_float()) {
        (true, true) => float_to_float(bits, from, to, mode, saturate, profile),
        (true, false) => float_to_int(bits, from, to, mode, saturate, profile),
        (false, true) => {
            let v = sign_extended(bits, from);
            let negative = from.is_signed_int() && v < 0;
            let magnitude = if negative { v.unsigned_abs() } else { bits };
            encode(negative, magnitude, 0, format(to), Rounding::NearestEven, saturate)
        }
        (false, false) => {
            let v = sign_extended(bits, from);
            if !saturate {
                return low_bits(v as u64, to);
            }
            let (least, greatest) = range(to);
            let beyond = !from.is_signed_int() && v < 0; // a u64 above i64::MAX
            let clamped = if beyond { greatest } else { v.clamp(least, greatest) };
            low_bits(clamped as u64, to)
        }
    }
}

fn widen(bits: u64, from: DType) -> f32 {
    match from {
        DType::F16 => float::f16_to_f32(bits as u16),
        DType::BF16 => float::bf16_to_f32(bits as u16),
        _ => f32::from_bits(bits as u32),
    }
}

fn float_to_float(bits: u64, from: DType, to: DType, mode: RoundMode, saturate: bool, profile: Profile) -> u64 {
    let (x, f) = (widen(bits, from), format(to));
    if x.is_nan() {
        return f.nan;
    }
    if from == to {
        let identity = profile == Profile::CpuCompat && mode == RoundMode::None;
        let mode = if mode == RoundMode::None { RoundMode::Rint } else { mode };
        // An integral f16 or bf16 value is again one: nothing below the binary point is ever needed.
        let r = if identity { x } else { integral(x as f64, mode, profile) as f32 };
        return encode_f32(r, f, Rounding::NearestEven, false);
    }
    let rounding = if profile == Profile::CpuCompat { Rounding::NearestEven } else { rounding(mode) };
    let narrows = matches!((from, to), (DType::F32, _) | (DType::BF16, DType::F16));
    let saturate = saturate && narrows;
    encode_f32(x, f, rounding, saturate)
}

/// A value of f32, not NaN, rounded into `format`.
fn encode_f32(x: f32, format: &Format, rounding: Rounding, saturate: bool) -> u64 {
    let negative = x.is_sign_negative();
    if x.is_infinite() {
        let sign = if negative { format.sign } else { 0 };
        return sign | (format.infinity - saturate as u64);
    }
    let bits = x.to_bits();
    let (field, fraction) = ((bits >> 23) & 0xff, (bits & 0x7f_ffff) as u64);
    let magnitude = if field == 0 { fraction } else { fraction | 1 << 23 };
    encode(negative, magnitude, field.max(1) as i32 - 150, format, rounding, saturate)
}

fn float_to_int(bits: u64, from: DType, to: DType, mode: RoundMode, saturate: bool, profile: Profile) -> u64 {
    let x = widen(bits, from) as f64;
    let (least, greatest) = range(to);
    if profile == Profile::CpuCompat {
        let x = if saturate && !x.is_nan() { x.clamp(least as f64, greatest as f64) } else { x };
        let r = integral(x, mode, profile);
        let (limit, indefinite) =
            if to.size() == 8 { (2f64.powi(63), i64::MIN) } else { (2f64.powi(31), i32::MIN as i64) };
        let v = if r >= -limit && r < limit { r as i64 } else { indefinite };
        return low_bits(v as u64, to);
    }
    let r = integral(x, mode, profile);
    let v = if saturate {
        (r as i64).clamp(least, greatest)
    } else if to.size() == 8 {
        r as i64
    } else {
        r as i32 as i64
    };
    low_bits(v as u64, to)
}
