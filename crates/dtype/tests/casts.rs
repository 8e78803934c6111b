//! Casts against code that shares nothing with the crate: values are decoded by their definition, rounding is a search in
//! the sorted list of all values of the destination, integers are rounded in exact fixed-point arithmetic.

// The figures are for whoever asks for them with `--nocapture`.
#![allow(clippy::print_stdout)]

use dtype::DType::{self, *};
use dtype::convert::{Profile, RoundMode, chain, convert, convert_slice, native};

/// The value of a 16-bit float by its definition. `None` for NaN.
fn value16(bits: u16, exponent_bits: u32) -> Option<f64> {
    let mantissa_bits = 15 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let field = ((bits & 0x7fff) >> mantissa_bits) as i32;
    let fraction = (bits & ((1 << mantissa_bits) - 1)) as f64;
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let unit = 2f64.powi(-(mantissa_bits as i32));
    if field == (1 << exponent_bits) - 1 {
        return (fraction == 0.0).then_some(sign * f64::INFINITY);
    }
    Some(
        sign * if field == 0 {
            fraction * unit * 2f64.powi(1 - bias)
        } else {
            (1.0 + fraction * unit) * 2f64.powi(field - bias)
        },
    )
}

fn value(bits: u64, d: DType) -> Option<f64> {
    match d {
        F16 => value16(bits as u16, 5),
        BF16 => value16(bits as u16, 8),
        _ => {
            let x = f32::from_bits(bits as u32);
            (!x.is_nan()).then_some(x as f64)
        }
    }
}

/// `x` (not NaN) as an integer by the mode; infinities stay far out of every range. Values are multiples of 2^-149: the
/// fraction is compared exactly.
fn to_integer(x: f64, mode: RoundMode, compat: bool) -> f64 {
    let (low, high) = (x.floor(), x.ceil());
    if low == high {
        return x;
    }
    let odd = |v: f64| (v / 2.0).floor() * 2.0 != v;
    let (below, above) = (x - low, high - x);
    match mode {
        RoundMode::None | RoundMode::Trunc => {
            if x < 0.0 {
                high
            } else {
                low
            }
        }
        RoundMode::Floor => low,
        RoundMode::Ceil => high,
        RoundMode::Odd if !compat => {
            if odd(low) {
                low
            } else {
                high
            }
        }
        _ if below < above => low,
        _ if above < below => high,
        RoundMode::Rint => {
            if odd(low) {
                high
            } else {
                low
            }
        }
        RoundMode::Round => {
            if x < 0.0 {
                low
            } else {
                high
            }
        }
        RoundMode::Odd => {
            if odd(low) {
                low
            } else {
                high
            }
        }
    }
}

fn integer_cast(x: Option<f64>, to: DType, mode: RoundMode, saturate: bool, profile: Profile) -> u64 {
    let compat = profile == Profile::CpuCompat;
    let mask = if to.size() == 8 { u64::MAX } else { (1 << to.bits()) - 1 };
    let (least, greatest) = match to {
        I8 => (-128.0, 127.0),
        U8 => (0.0, 255.0),
        I16 => (-32768.0, 32767.0),
        U16 => (0.0, 65535.0),
        I32 => (-2147483648.0, 2147483647.0),
        _ => (-(2f64.powi(63)), 2f64.powi(63)),
    };
    let whole = if to.size() == 8 { 2f64.powi(63) } else { 2f64.powi(31) };
    let Some(mut x) = x else {
        return if compat { ((-whole) as i64 as u64) & mask } else { 0 };
    };
    if compat && saturate {
        x = x.max(least).min(greatest);
    }
    let mut r = if x.is_infinite() { x } else { to_integer(x, mode, compat) };
    if compat {
        if r < -whole || r >= whole {
            r = -whole;
        }
    } else if saturate {
        r = r.max(least).min(greatest);
    } else {
        r = r.max(-whole).min(if to.size() == 8 { whole } else { whole - 1.0 });
    }
    let exact = if r >= 2f64.powi(63) { i64::MAX } else { r as i64 };
    exact as u64 & mask
}

const MODES: [RoundMode; 7] = RoundMode::ALL;

#[test]
fn every_f16_and_bf16_to_every_integer() {
    for from in [F16, BF16] {
        for to in [I8, U8, I16, I32, I64] {
            for profile in Profile::ALL {
                for mode in MODES {
                    for saturate in [false, true] {
                        for bits in 0..=u16::MAX as u64 {
                            let want = integer_cast(value(bits, from), to, mode, saturate, profile);
                            let got = convert(bits, from, to, mode, saturate, profile);
                            assert_eq!(got, want, "{bits:#06x} {from} -> {to}, {mode}, saturate {saturate}, {profile}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn figures_from_the_specification() {
    let off = |bits, from, to| convert(bits, from, to, RoundMode::None, false, Profile::A2a3);
    assert_eq!(off(0x7c00, F16, I16), 0xffff, "+inf to i16 is -1");
    assert_eq!(off(0xfc00, F16, I16), 0, "-inf to i16 is 0");
    assert_eq!(off(0x5cb0, F16, I8), 44, "300 to i8 is 44");
    assert_eq!(off(70000f32.to_bits() as u64, F32, F16), 0x7c00, "overflow is infinity");
    assert_eq!(off(65520, I32, F16), 0x7c00, "65520 to f16 is infinity");
    assert_eq!(off(65519, I32, F16), 0x7bff);
    let compat = |bits, from, to| convert(bits, from, to, RoundMode::None, false, Profile::CpuCompat);
    assert_eq!(compat(f32::INFINITY.to_bits() as u64, F32, I32), 0x8000_0000);
    assert_eq!(compat(0x7c00, F16, I8), 0);
    assert_eq!(compat(0x7e00, F16, U8), 0);
}

/// All finite magnitudes of a 16-bit format in order, as (value, bits), and then what comes after the largest.
fn magnitudes(d: DType) -> Vec<f64> {
    let infinity = if d == F16 { 0x7c00u16 } else { 0x7f80 };
    let exponent_bits = if d == F16 { 5 } else { 8 };
    let mut all: Vec<f64> = (0..infinity).filter_map(|b| value16(b, exponent_bits)).collect();
    let n = all.len();
    all.push(2.0 * all[n - 1] - all[n - 2]);
    all
}

/// Nearest neighbours in the sorted list; no exponent arithmetic.
fn float_cast(table: &[f64], x: f64, mode: RoundMode, profile: Profile, saturate: bool) -> u64 {
    let infinity = table.len() as u64 - 1;
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let a = x.abs();
    let above = table.partition_point(|&v| v < a);
    let index = if above == table.len() {
        above - 1
    } else if table[above] == a {
        above
    } else {
        let below = above - 1;
        let (down, up) = (a - table[below], table[above] - a);
        let mode = if profile == Profile::CpuCompat { RoundMode::Rint } else { mode };
        let take_above = match mode {
            RoundMode::Trunc => false,
            RoundMode::Floor => x < 0.0,
            RoundMode::Ceil => x > 0.0,
            RoundMode::Odd => below % 2 == 0,
            RoundMode::Round => up <= down,
            _ => up < down || (up == down && below % 2 == 1),
        };
        below + take_above as usize
    };
    let index = index as u64;
    sign | if saturate { index.min(infinity - 1) } else { index }
}

#[test]
fn f32_to_16_bit_floats_at_every_boundary() {
    for to in [F16, BF16] {
        let table = magnitudes(to);
        let mut seed = 7u64;
        let mut inputs: Vec<u32> = vec![0, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, 0x7f80_0000];
        for pair in table.windows(2) {
            for point in [pair[0], (pair[0] + pair[1]) / 2.0] {
                let bits = (point as f32).to_bits();
                inputs.extend([bits.saturating_sub(1), bits, bits.saturating_add(1).min(0x7f80_0000)]);
            }
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            inputs.push((seed >> 33) as u32 % 0x7f80_0000);
        }
        for profile in Profile::ALL {
            for mode in MODES {
                for saturate in [false, true] {
                    for &bits in &inputs {
                        for bits in [bits, bits | 0x8000_0000] {
                            let x = f32::from_bits(bits) as f64;
                            let want = float_cast(&table, x, mode, profile, saturate);
                            let got = convert(bits as u64, F32, to, mode, saturate, profile);
                            assert_eq!(got, want, "{x:e} -> {to}, {mode}, saturate {saturate}, {profile}");
                        }
                    }
                    let nan = convert(0xffc0_0001, F32, to, mode, saturate, profile);
                    assert_eq!(nan, if to == F16 { 0x7e00 } else { 0x7fc0 });
                }
            }
        }
    }
}

#[test]
fn bf16_to_f16_directly() {
    let table = magnitudes(F16);
    for mode in MODES {
        for bits in 0..=u16::MAX as u64 {
            let Some(x) = value(bits, BF16) else { continue };
            let want = float_cast(&table, x, mode, Profile::A5, false);
            assert_eq!(convert(bits, BF16, F16, mode, false, Profile::A5), want, "{x:e} {mode}");
        }
    }
}

#[test]
fn widening_is_exact() {
    for from in [F16, BF16] {
        for bits in 0..=u16::MAX as u64 {
            let got = convert(bits, from, F32, RoundMode::Round, false, Profile::A5) as u32;
            match value(bits, from) {
                Some(x) => assert_eq!((f32::from_bits(got) as f64).to_bits(), x.to_bits(), "{bits:#x} {from}"),
                None => assert_eq!(got, 0x7fc0_0000),
            }
        }
    }
}

/// A cast of a 16-bit float to 8 bits, whole: the chain of the profile, each hop an oracle of its own.
#[test]
fn chains_from_16_to_8_bits_are_their_hops() {
    let f16 = magnitudes(F16);
    let mut counts = Vec::new();
    for from in [F16, BF16] {
        for to in [I8, U8] {
            for profile in Profile::ALL {
                let Some(hops) = chain(from, to, profile) else {
                    counts.push(format!("{from} -> {to} on {profile}: refused"));
                    continue;
                };
                for mode in MODES {
                    for saturate in [false, true] {
                        for bits in 0..=u16::MAX as u64 {
                            let got = hops.iter().fold((bits, from), |(bits, from), &to| {
                                (convert(bits, from, to, mode, saturate, profile), to)
                            });
                            let mut x = value(bits, from);
                            for &hop in &hops[..hops.len() - 1] {
                                x = match (hop, x) {
                                    (F16, Some(v)) => value(float_cast(&f16, v, mode, profile, saturate), F16),
                                    (F32, v) => v,
                                    (_, None) => None,
                                    (other, _) => panic!("no oracle for a hop to {other}"),
                                };
                            }
                            let want = integer_cast(x, to, mode, saturate, profile);
                            assert_eq!(got.0, want, "{bits:#06x} {from} -> {to}, {mode}, {saturate}, {profile}");
                        }
                    }
                }
                counts.push(format!("{from} -> {to} on {profile}: {} modes, saturating or not", MODES.len()));
            }
        }
    }
    println!("every one of 65536 inputs:\n{}", counts.join("\n"));
}

#[test]
fn f32_rounds_to_integral_values() {
    let inputs = [0.0f32, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388607.5, 1e10, -1e-30, 3.7, -3.2];
    for mode in MODES {
        for x in inputs {
            let effective = if mode == RoundMode::None { RoundMode::Rint } else { mode };
            let want = to_integer(x as f64, effective, false) as f32;
            let got = f32::from_bits(convert(x.to_bits() as u64, F32, F32, mode, false, Profile::A5) as u32);
            assert_eq!(got, want, "{x} {mode}");
            assert_eq!(got.is_sign_negative(), x.is_sign_negative(), "the sign of {x} under {mode}");
        }
        let inf = f32::INFINITY.to_bits() as u64;
        assert_eq!(convert(inf, F32, F32, mode, true, Profile::A2a3), inf);
    }
    let x = 2.5f32.to_bits() as u64;
    assert_eq!(convert(x, F32, F32, RoundMode::None, false, Profile::CpuCompat), x, "a C++ cast changes nothing");
}

#[test]
fn integers_to_integers_exhaustively_from_16_bits() {
    for from in [I16, U16] {
        for to in [I8, U8, U16, I16, U32, I32, I64] {
            for bits in 0..=u16::MAX as u64 {
                let v = if from == I16 { bits as i16 as i128 } else { bits as i128 };
                let (low, high) = match to {
                    I8 => (-128, 127),
                    U8 => (0, 255),
                    U16 => (0, 65535),
                    I16 => (-32768, 32767),
                    U32 => (0, u32::MAX as i128),
                    I32 => (i32::MIN as i128, i32::MAX as i128),
                    _ => (i64::MIN as i128, i64::MAX as i128),
                };
                let modulus = 1i128 << to.bits();
                let off = v.rem_euclid(modulus) as u64;
                let on = v.clamp(low, high).rem_euclid(modulus) as u64;
                for profile in Profile::ALL {
                    for mode in MODES {
                        let [o, n] = [false, true].map(|saturate| convert(bits, from, to, mode, saturate, profile));
                        assert_eq!(o, off, "{v} -> {to}, {mode}, {profile}");
                        assert_eq!(n, on, "{v} -> {to}, {mode}, {profile}, saturating");
                    }
                }
            }
        }
    }
}

#[test]
fn integers_to_floats_round_once_to_even() {
    let f16 = magnitudes(F16);
    for v in i16::MIN..=i16::MAX {
        let got = convert(v as u16 as u64, I16, F16, RoundMode::Round, false, Profile::A2a3);
        let want = if v == 0 { 0 } else { float_cast(&f16, v as f64, RoundMode::Rint, Profile::A2a3, false) };
        assert_eq!(got, want, "{v}");
    }
    let mut seed = 11u64;
    for _ in 0..200_000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let v = (seed as i64) >> (seed >> 58);
        let got = f32::from_bits(convert(v as u64, I64, F32, RoundMode::Ceil, false, Profile::A5) as u32);
        assert_eq!(got, v as f32, "{v}");
        let v = v as i32;
        let got = f32::from_bits(convert(v as u32 as u64, I32, F32, RoundMode::Ceil, false, Profile::A5) as u32);
        assert_eq!(got, v as f32, "{v}");
    }
}

/// The slice form agrees with the element form on every native pair, also where it has a loop of its own.
#[test]
fn slices_agree_with_elements() {
    let mut seed = 5u64;
    for from in DType::ALL {
        for to in DType::ALL {
            for profile in Profile::ALL {
                if !native(from, to, profile) {
                    continue;
                }
                let n = if from.size() == 2 { 65536 } else { 4096 };
                let mut src = vec![0u8; n * from.size()];
                for (i, e) in src.chunks_exact_mut(from.size()).enumerate() {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    // Small values, huge ones, every 16-bit pattern, halves.
                    let bits = match (from, i % 4) {
                        _ if from.size() == 2 => i as u64,
                        (F32, 0) => (((seed >> 40) as f32 - 8388608.0) / 64.0).to_bits() as u64,
                        (F32, 1) => (((seed >> 48) as f32 - 32768.0) / 2.0).to_bits() as u64,
                        _ => seed >> 16,
                    };
                    e.copy_from_slice(&bits.to_le_bytes()[..from.size()]);
                }
                for mode in MODES {
                    for saturate in [false, true] {
                        let mut dst = vec![0u8; n * to.size()];
                        convert_slice(&mut dst, to, &src, from, mode, saturate, profile);
                        for (d, s) in dst.chunks_exact(to.size()).zip(src.chunks_exact(from.size())) {
                            let word = |b: &[u8]| b.iter().rev().fold(0u64, |w, &x| w << 8 | x as u64);
                            let want = convert(word(s), from, to, mode, saturate, profile);
                            assert_eq!(word(d), want, "{:#x} {from} -> {to} {mode} {saturate} {profile}", word(s));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn chains() {
    let cases: &[(DType, DType, Profile, Option<&[DType]>)] = &[
        (F32, I8, Profile::A2a3, Some(&[F16, I8])),
        (F32, U8, Profile::A5, Some(&[F16, U8])),
        (I32, I8, Profile::A2a3, Some(&[F16, I8])),
        (I32, I8, Profile::A5, Some(&[F32, F16, I8])),
        (I32, U8, Profile::A5, Some(&[U8])),
        (I32, F16, Profile::A5, Some(&[F32, F16])),
        (BF16, F16, Profile::A2a3, Some(&[F32, F16])),
        (BF16, F16, Profile::A5, Some(&[F16])),
        (F16, BF16, Profile::A5, Some(&[F32, BF16])),
        (BF16, I16, Profile::A2a3, Some(&[F32, I16])),
        (I32, BF16, Profile::A2a3, Some(&[F32, BF16])),
        (I64, F16, Profile::A2a3, Some(&[F32, F16])),
        (I64, I16, Profile::A2a3, Some(&[I32, I16])),
        // Refused upstream; exact until the last hop here.
        (I8, F32, Profile::A2a3, Some(&[F16, F32])),
        (I8, F32, Profile::A5, Some(&[I32, F32])),
        (I8, BF16, Profile::A2a3, Some(&[F16, F32, BF16])),
        (I8, BF16, Profile::A5, Some(&[I32, F32, BF16])),
        (I8, I32, Profile::A2a3, Some(&[F16, I32])),
        (I8, I32, Profile::A5, Some(&[I32])),
        (I16, I32, Profile::A2a3, Some(&[F32, I32])),
        (F16, I64, Profile::A2a3, Some(&[F32, I64])),
        (U8, F32, Profile::A2a3, Some(&[F16, F32])),
        (F32, Index, Profile::A5, Some(&[Index])),
        (F32, F32, Profile::A5, Some(&[F32])),
        // No chain at all.
        (F16, F16, Profile::A5, None),
        (I64, Index, Profile::A5, None),
        (U64, F32, Profile::A5, None),
        (F32, U64, Profile::A5, None),
        (Bool, F32, Profile::A5, None),
        (I32, U16, Profile::A2a3, None),
    ];
    for &(from, to, profile, want) in cases {
        assert_eq!(chain(from, to, profile).as_deref(), want, "{from} -> {to} on {profile}");
    }
    for from in DType::ALL {
        for to in DType::ALL {
            for profile in Profile::ALL {
                let Some(hops) = chain(from, to, profile) else { continue };
                assert_eq!(hops.last(), Some(&to));
                let mut at = from;
                for hop in hops {
                    assert!(native(at, hop, profile), "{from} -> {to} on {profile}: {at} -> {hop} is not native");
                    at = hop;
                }
            }
        }
    }
}

#[test]
fn names_parse_back() {
    for m in RoundMode::ALL {
        assert_eq!(m.to_string().parse(), Ok(m));
    }
    for p in Profile::ALL {
        assert_eq!(p.to_string().parse(), Ok(p));
    }
    assert_eq!("a5sim".parse(), Ok(Profile::A5));
    assert_eq!("a2a3sim".parse(), Ok(Profile::A2a3));
    assert!("a6".parse::<Profile>().is_err());
}
