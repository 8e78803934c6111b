//! Casts of whole slices: the same results as element by element, with loops for the pairs that kernels use most.

use super::{Profile, RoundMode, convert};
use crate::{DType, float};

/// Casts every element of `src` (little-endian elements of type `from`) into `dst` (of type `to`); one hop.
///
/// Casts as many elements as both slices hold whole.
pub fn convert_slice(
    dst: &mut [u8],
    to: DType,
    src: &[u8],
    from: DType,
    mode: RoundMode,
    saturate: bool,
    profile: Profile,
) {
    use RoundMode::{None as Default, Rint, Trunc};
    let nearest = matches!(mode, Default | Rint) || profile == Profile::CpuCompat;
    match (from, to) {
        (DType::BF16, DType::F32) => {
            each(dst, src, |b| float::canonical(float::bf16_to_f32(u16::from_le_bytes(b))).to_le_bytes())
        }
        (DType::F16, DType::F32) => {
            each(dst, src, |b| float::canonical(float::f16_to_f32(u16::from_le_bytes(b))).to_le_bytes())
        }
        (DType::F32, DType::BF16) if nearest && !saturate => {
            each(dst, src, |b| float::f32_to_bf16(f32::from_le_bytes(b)).to_le_bytes())
        }
        (DType::F32, DType::F16) if nearest && !saturate => {
            each(dst, src, |b| float::f32_to_f16(f32::from_le_bytes(b)).to_le_bytes())
        }
        (DType::I32, DType::F32) => each(dst, src, |b| (i32::from_le_bytes(b) as f32).to_le_bytes()),
        (DType::F32, DType::I32) if profile != Profile::CpuCompat && matches!(mode, Default | Trunc) => {
            each(dst, src, |b| (f32::from_le_bytes(b) as i32).to_le_bytes())
        }
        (DType::F32, DType::I32) if profile != Profile::CpuCompat && mode == Rint => {
            each(dst, src, |b| (f32::from_le_bytes(b).round_ties_even() as i32).to_le_bytes())
        }
        (DType::I8, DType::F16) => each(dst, src, |[b]: [u8; 1]| float::f32_to_f16(b as i8 as f32).to_le_bytes()),
        (DType::U8, DType::F16) => each(dst, src, |[b]: [u8; 1]| float::f32_to_f16(b as f32).to_le_bytes()),
        _ => general(dst, to, src, from, |bits| convert(bits, from, to, mode, saturate, profile)),
    }
}

fn each<const A: usize, const B: usize>(dst: &mut [u8], src: &[u8], f: impl Fn([u8; A]) -> [u8; B]) {
    for (d, s) in dst.as_chunks_mut::<B>().0.iter_mut().zip(src.as_chunks::<A>().0) {
        *d = f(*s);
    }
}

fn general(dst: &mut [u8], to: DType, src: &[u8], from: DType, f: impl Fn(u64) -> u64) {
    for (d, s) in dst.chunks_exact_mut(to.size()).zip(src.chunks_exact(from.size())) {
        let mut bits = [0; 8];
        bits[..s.len()].copy_from_slice(s);
        let out = f(u64::from_le_bytes(bits)).to_le_bytes();
        d.copy_from_slice(&out[..d.len()]);
    }
}
