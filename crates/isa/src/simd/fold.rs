//! Reductions of f32 whose running values stay in registers.
//!
//! A plain loop over an array of running values keeps the array in memory: every row costs loads and stores besides its
//! arithmetic, and a load that is wider than the store before it waits for the cache. So these steps are written out.
//! The defaults are the definition.

/// Columns of a step.
pub(crate) const WIDTH: usize = 64;

/// # Safety
///
/// As for [`crate::simd::Simd`], over the elements that each method names.
pub(crate) trait Fold {
    /// `acc[k] += from[r][k]` for [`WIDTH`] lanes and `rows` rows at a distance of `pitch` bytes, from the first to the last;
    /// NaNs as they come.
    #[inline(always)]
    unsafe fn sum_down(acc: *mut f32, from: *const f32, pitch: isize, rows: usize) {
        for r in 0..rows {
            // SAFETY: the caller's promise.
            unsafe {
                let row = from.byte_offset(r as isize * pitch);
                for k in 0..WIDTH {
                    acc.add(k).write_unaligned(acc.add(k).read_unaligned() + row.add(k).read_unaligned());
                }
            }
        }
    }

    /// `least[k]` and `greatest[k]` of themselves and the keys of f32 (as [`crate::number::Ordered::key`]) in rows laid out
    /// as for [`Fold::sum_down`].
    #[inline(always)]
    unsafe fn extremes_down(least: *mut i32, greatest: *mut i32, from: *const f32, pitch: isize, rows: usize) {
        for r in 0..rows {
            // SAFETY: the caller's promise.
            unsafe {
                let row = from.byte_offset(r as isize * pitch).cast::<i32>();
                for k in 0..WIDTH {
                    let bits = row.add(k).read_unaligned();
                    let key = bits ^ ((bits >> 31) & i32::MAX);
                    least.add(k).write_unaligned(key.min(least.add(k).read_unaligned()));
                    greatest.add(k).write_unaligned(key.max(greatest.add(k).read_unaligned()));
                }
            }
        }
    }

    /// `to[k] = from[2k] + from[2k + 1]` for [`crate::simd::LANES`] sums; NaNs as they come.
    #[inline(always)]
    unsafe fn pair_sums(to: *mut f32, from: *const f32) {
        for k in 0..crate::simd::LANES {
            // SAFETY: the caller's promise.
            unsafe {
                to.add(k).write_unaligned(from.add(2 * k).read_unaligned() + from.add(2 * k + 1).read_unaligned());
            }
        }
    }
}

impl Fold for super::Portable {}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Fold, WIDTH};
    use crate::simd::{Avx2, Avx512};

    impl Fold for Avx2 {
        #[inline(always)]
        unsafe fn sum_down(acc: *mut f32, from: *const f32, pitch: isize, rows: usize) {
            const N: usize = WIDTH / 8;
            // SAFETY: the caller's promise; AVX2 is part of the tier.
            unsafe {
                let mut sums = [_mm256_setzero_ps(); N];
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm256_loadu_ps(acc.add(8 * k));
                }
                for r in 0..rows {
                    let row = from.byte_offset(r as isize * pitch);
                    for (k, sum) in sums.iter_mut().enumerate() {
                        *sum = _mm256_add_ps(*sum, _mm256_loadu_ps(row.add(8 * k)));
                    }
                }
                for (k, sum) in sums.iter().enumerate() {
                    _mm256_storeu_ps(acc.add(8 * k), *sum);
                }
            }
        }

        #[inline(always)]
        unsafe fn extremes_down(least: *mut i32, greatest: *mut i32, from: *const f32, pitch: isize, rows: usize) {
            // Half the width at a time: sixteen registers hold four pairs and what moves through.
            const N: usize = WIDTH / 16;
            // SAFETY: the caller's promise; AVX2 is part of the tier.
            unsafe {
                for at in [0, WIDTH / 2] {
                    let (low, high) = (least.add(at), greatest.add(at));
                    let mut extremes = [(_mm256_setzero_si256(), _mm256_setzero_si256()); N];
                    for (k, (min, max)) in extremes.iter_mut().enumerate() {
                        *min = _mm256_loadu_si256(low.add(8 * k).cast());
                        *max = _mm256_loadu_si256(high.add(8 * k).cast());
                    }
                    for r in 0..rows {
                        let row = from.byte_offset(r as isize * pitch).add(at);
                        for (k, (min, max)) in extremes.iter_mut().enumerate() {
                            let bits = _mm256_loadu_si256(row.add(8 * k).cast());
                            let below = _mm256_srli_epi32::<1>(_mm256_srai_epi32::<31>(bits));
                            let key = _mm256_xor_si256(bits, below);
                            (*min, *max) = (_mm256_min_epi32(*min, key), _mm256_max_epi32(*max, key));
                        }
                    }
                    for (k, (min, max)) in extremes.iter().enumerate() {
                        _mm256_storeu_si256(low.add(8 * k).cast(), *min);
                        _mm256_storeu_si256(high.add(8 * k).cast(), *max);
                    }
                }
            }
        }

        #[inline(always)]
        unsafe fn pair_sums(to: *mut f32, from: *const f32) {
            // SAFETY: the caller's promise; AVX2 is part of the tier.
            unsafe {
                for k in [0, 8] {
                    let (a, b) = (_mm256_loadu_ps(from.add(2 * k)), _mm256_loadu_ps(from.add(2 * k + 8)));
                    // Works on 128-bit halves: quarters 0, 2, 1, 3 of the result are in order.
                    let sums = _mm256_castps_pd(_mm256_hadd_ps(a, b));
                    _mm256_storeu_pd(to.add(k).cast(), _mm256_permute4x64_pd::<0b11_01_10_00>(sums));
                }
            }
        }
    }

    impl Fold for Avx512 {
        #[inline(always)]
        unsafe fn sum_down(acc: *mut f32, from: *const f32, pitch: isize, rows: usize) {
            const N: usize = WIDTH / 16;
            // SAFETY: the caller's promise; AVX-512 F and DQ are part of the tier.
            unsafe {
                let mut sums = [_mm512_setzero_ps(); N];
                for (k, sum) in sums.iter_mut().enumerate() {
                    *sum = _mm512_loadu_ps(acc.add(16 * k));
                }
                for r in 0..rows {
                    let row = from.byte_offset(r as isize * pitch);
                    for (k, sum) in sums.iter_mut().enumerate() {
                        *sum = _mm512_add_ps(*sum, _mm512_loadu_ps(row.add(16 * k)));
                    }
                }
                for (k, sum) in sums.iter().enumerate() {
                    _mm512_storeu_ps(acc.add(16 * k), *sum);
                }
            }
        }

        #[inline(always)]
        unsafe fn extremes_down(least: *mut i32, greatest: *mut i32, from: *const f32, pitch: isize, rows: usize) {
            const N: usize = WIDTH / 16;
            // SAFETY: the caller's promise; AVX-512 F and DQ are part of the tier.
            unsafe {
                let magnitude = _mm512_set1_epi32(i32::MAX);
                let mut extremes = [(_mm512_setzero_si512(), _mm512_setzero_si512()); N];
                for (k, (min, max)) in extremes.iter_mut().enumerate() {
                    *min = _mm512_loadu_si512(least.add(16 * k).cast());
                    *max = _mm512_loadu_si512(greatest.add(16 * k).cast());
                }
                for r in 0..rows {
                    let row = from.byte_offset(r as isize * pitch);
                    for (k, (min, max)) in extremes.iter_mut().enumerate() {
                        let bits = _mm512_loadu_si512(row.add(16 * k).cast());
                        let key = _mm512_mask_xor_epi32(bits, _mm512_movepi32_mask(bits), bits, magnitude);
                        (*min, *max) = (_mm512_min_epi32(*min, key), _mm512_max_epi32(*max, key));
                    }
                }
                for (k, (min, max)) in extremes.iter().enumerate() {
                    _mm512_storeu_si512(least.add(16 * k).cast(), *min);
                    _mm512_storeu_si512(greatest.add(16 * k).cast(), *max);
                }
            }
        }

        #[inline(always)]
        unsafe fn pair_sums(to: *mut f32, from: *const f32) {
            // SAFETY: the caller's promise; AVX-512 F and DQ are part of the tier.
            unsafe {
                let (a, b) = (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16)));
                let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                let odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
                let sums = _mm512_add_ps(_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b));
                _mm512_storeu_ps(to, sums);
            }
        }
    }
}
