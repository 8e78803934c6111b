//! The few steps that compilers do not find by themselves, written out per tier.
//!
//! Everything else is plain Rust that the vectoriser handles. Each step here has one meaning, stated on the trait and
//! exact to the bit; [`Portable`] is the definition. Steps go from memory to memory: arrays as values would be taken apart
//! into scalars.

mod fold;

use dtype::float;

pub(crate) use fold::{Fold, WIDTH};

/// A subnormal becomes a zero of its sign.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// Elements of a step.
pub(crate) const LANES: usize = 16;

/// # Safety
///
/// The methods of an implementation may only be called where its features are present, with [`LANES`] elements at each
/// address, aligned or not, that share no bytes.
pub(crate) trait Simd: crate::matmul::Inner + Fold {
    /// f16 to f32, exactly; NaNs stay NaNs.
    #[inline(always)]
    unsafe fn widen_f16(to: *mut f32, from: *const u16) {
        for k in 0..LANES {
            // SAFETY: the caller's promise.
            unsafe { to.add(k).write_unaligned(float::f16_to_f32(from.add(k).read_unaligned())) };
        }
    }

    /// f32 to f16, ties to even, NaN canonical.
    #[inline(always)]
    unsafe fn narrow_f16(to: *mut u16, from: *const f32) {
        for k in 0..LANES {
            // SAFETY: the caller's promise.
            unsafe { to.add(k).write_unaligned(float::f32_to_f16(from.add(k).read_unaligned())) };
        }
    }

    /// As [`Simd::widen_f16`], for bf16; with `FLUSH`, subnormals become zeros of their sign.
    #[inline(always)]
    unsafe fn widen_bf16<const FLUSH: bool>(to: *mut f32, from: *const u16) {
        for k in 0..LANES {
            // SAFETY: the caller's promise.
            unsafe {
                let x = float::bf16_to_f32(from.add(k).read_unaligned());
                to.add(k).write_unaligned(if FLUSH { flush(x) } else { x });
            }
        }
    }

    /// As [`Simd::narrow_f16`], for bf16.
    #[inline(always)]
    unsafe fn narrow_bf16(to: *mut u16, from: *const f32) {
        for k in 0..LANES {
            // SAFETY: the caller's promise.
            unsafe { to.add(k).write_unaligned(float::f32_to_bf16(from.add(k).read_unaligned())) };
        }
    }
}

/// Which 16-bit float an element is, if any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    No,
    F16,
    BF16,
}

/// Room for the f32 values of 16-bit elements between two steps.
#[repr(align(64))]
pub(crate) struct Buffer(pub(crate) [f32; Buffer::LEN]);

impl Buffer {
    /// So many that plain loops over them stay loops, which the vectoriser takes, and so few that all stay in the cache.
    pub(crate) const LEN: usize = 256;

    pub(crate) fn new() -> Buffer {
        Buffer([0.0; Buffer::LEN])
    }

    /// How many of `left` elements go through at a time: whole steps.
    #[inline(always)]
    pub(crate) fn take(left: usize) -> usize {
        if left >= Buffer::LEN { Buffer::LEN } else { left / LANES * LANES }
    }
}

/// `n` elements, which are f16 or bf16 as `half` says, exactly; NaNs stay NaNs.
///
/// # Safety
///
/// As for [`Simd`]; `n` is a multiple of [`LANES`].
#[inline(always)]
pub(crate) unsafe fn widen_half<S: Simd>(half: Half, to: *mut f32, from: *const u16, n: usize) {
    for k in (0..n).step_by(LANES) {
        // SAFETY: the caller's promise.
        unsafe {
            let (to, from) = (to.add(k), from.add(k));
            if half == Half::F16 { S::widen_f16(to, from) } else { S::widen_bf16::<false>(to, from) }
        }
    }
}

/// `n` values to f16 or bf16, ties to even, NaN canonical.
///
/// # Safety
///
/// As for [`widen_half`].
#[inline(always)]
pub(crate) unsafe fn narrow_half<S: Simd>(half: Half, to: *mut u16, from: *const f32, n: usize) {
    for k in (0..n).step_by(LANES) {
        // SAFETY: the caller's promise.
        unsafe {
            let (to, from) = (to.add(k), from.add(k));
            if half == Half::F16 { S::narrow_f16(to, from) } else { S::narrow_bf16(to, from) }
        }
    }
}

pub(crate) struct Portable;

impl crate::matmul::Inner for Portable {}
impl Simd for Portable {}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Simd;

    pub(crate) struct Avx2;
    pub(crate) struct Avx512;

    /// The eight f32 at `p` as bits; NaNs become the canonical one, decided on the bits, as in [`dtype::float::canonical`].
    #[inline(always)]
    unsafe fn canonical8(p: *const f32) -> __m256i {
        // SAFETY: the caller's promise; AVX2 is part of the tier.
        unsafe {
            let bits = _mm256_loadu_si256(p.cast());
            let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff_ffff));
            let nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f80_0000));
            _mm256_blendv_epi8(bits, _mm256_set1_epi32(dtype::float::F32_NAN as i32), nan)
        }
    }

    /// As [`canonical8`], of sixteen.
    #[inline(always)]
    unsafe fn canonical16(p: *const f32) -> __m512i {
        // SAFETY: the caller's promise; AVX-512 F is part of the tier.
        unsafe {
            let x = _mm512_loadu_ps(p);
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
            let canonical = _mm512_set1_epi32(dtype::float::F32_NAN as i32);
            _mm512_mask_mov_epi32(_mm512_castps_si512(x), nan, canonical)
        }
    }

    impl Simd for Avx2 {
        #[inline(always)]
        unsafe fn widen_f16(to: *mut f32, from: *const u16) {
            // SAFETY: the caller's promise.
            unsafe {
                _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from.cast())));
                _mm256_storeu_ps(to.add(8), _mm256_cvtph_ps(_mm_loadu_si128(from.add(8).cast())));
            }
        }

        #[inline(always)]
        unsafe fn narrow_f16(to: *mut u16, from: *const f32) {
            // SAFETY: the caller's promise.
            unsafe {
                for k in [0, 8] {
                    let x = _mm256_castsi256_ps(canonical8(from.add(k)));
                    _mm_storeu_si128(to.add(k).cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x));
                }
            }
        }

        #[inline(always)]
        unsafe fn widen_bf16<const FLUSH: bool>(to: *mut f32, from: *const u16) {
            // SAFETY: the caller's promise.
            unsafe {
                for k in [0, 8] {
                    let mut x = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(from.add(k).cast())));
                    if FLUSH {
                        let field = _mm256_and_si256(x, _mm256_set1_epi32(0x7f80_0000));
                        let subnormal = _mm256_cmpeq_epi32(field, _mm256_setzero_si256());
                        x = _mm256_andnot_si256(_mm256_and_si256(subnormal, _mm256_set1_epi32(i32::MAX)), x);
                    }
                    _mm256_storeu_si256(to.add(k).cast(), x);
                }
            }
        }

        #[inline(always)]
        unsafe fn narrow_bf16(to: *mut u16, from: *const f32) {
            // SAFETY: the caller's promise.
            unsafe {
                let mut high = [_mm256_setzero_si256(); 2];
                for (k, high) in high.iter_mut().enumerate() {
                    let bits = canonical8(from.add(8 * k));
                    let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
                    let rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
                    *high = _mm256_srli_epi32::<16>(rounded);
                }
                // Packing works on 128-bit halves: quarters 0, 2, 1, 3 of the result are in order.
                let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(high[0], high[1]));
                _mm256_storeu_si256(to.cast(), packed);
            }
        }
    }

    impl Simd for Avx512 {
        #[inline(always)]
        unsafe fn widen_f16(to: *mut f32, from: *const u16) {
            // SAFETY: the caller's promise.
            unsafe { _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(from.cast()))) }
        }

        #[inline(always)]
        unsafe fn narrow_f16(to: *mut u16, from: *const f32) {
            // SAFETY: the caller's promise.
            unsafe {
                let x = _mm512_castsi512_ps(canonical16(from));
                _mm256_storeu_si256(to.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x));
            }
        }

        #[inline(always)]
        unsafe fn widen_bf16<const FLUSH: bool>(to: *mut f32, from: *const u16) {
            // SAFETY: the caller's promise.
            unsafe {
                let mut x = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast())));
                if FLUSH {
                    let normal = _mm512_test_epi32_mask(x, _mm512_set1_epi32(0x7f80_0000));
                    let zero = _mm512_and_si512(x, _mm512_set1_epi32(i32::MIN));
                    x = _mm512_mask_mov_epi32(zero, normal, x);
                }
                _mm512_storeu_si512(to.cast(), x);
            }
        }

        #[inline(always)]
        unsafe fn narrow_bf16(to: *mut u16, from: *const f32) {
            // SAFETY: the caller's promise.
            unsafe {
                let bits = canonical16(from);
                let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
                let rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
                _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(rounded)));
            }
        }
    }
}
