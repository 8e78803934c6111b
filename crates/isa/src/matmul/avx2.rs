//! Inner blocks for AVX2: six rows by one panel. Twelve accumulators, two columns of the right operand, one broadcast: 15 of
//! 16 registers.

// Rows and columns of several arrays at once: indices say it best, and unroll.
#![allow(clippy::needless_range_loop)]

use std::arch::x86_64::*;

use super::inner::{Inner, K_BLOCK, NR, Panel, Target};
use crate::simd::Avx2;

const MR: usize = 6;

/// [`crate::simd::flush`] of every lane, if `FLUSH`.
#[inline(always)]
unsafe fn flush8<const FLUSH: bool>(x: __m256) -> __m256 {
    if !FLUSH {
        return x;
    }
    // SAFETY: AVX2 is part of the tier.
    unsafe {
        let field = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7f80_0000));
        let subnormal = _mm256_cmpeq_epi32(field, _mm256_setzero_si256());
        let magnitude = _mm256_set1_epi32(0x7fff_ffff);
        _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_and_si256(subnormal, magnitude)), x)
    }
}

impl Inner for Avx2 {
    const MR: usize = MR;

    #[inline(always)]
    unsafe fn fma(p: &Panel, t: &Target) {
        // SAFETY: the caller's promise about pointers and features.
        unsafe {
            let mut block = t.read_floats();
            let mut acc = [[_mm256_setzero_ps(); 2]; MR];
            for r in 0..MR {
                acc[r] = [_mm256_loadu_ps(block[r].as_ptr()), _mm256_loadu_ps(block[r].as_ptr().add(8))];
            }
            let rows: [*const f32; MR] = std::array::from_fn(|r| p.lhs.add(p.rows[r]).cast());
            let mut b = p.rhs.cast::<f32>();
            for step in 0..p.steps {
                let (b0, b1) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
                for r in 0..MR {
                    let a = _mm256_broadcast_ss(&*rows[r].add(step));
                    acc[r][0] = _mm256_fmadd_ps(a, b0, acc[r][0]);
                    acc[r][1] = _mm256_fmadd_ps(a, b1, acc[r][1]);
                }
                b = b.wrapping_add(p.pitch);
            }
            for r in 0..MR {
                _mm256_storeu_ps(block[r].as_mut_ptr(), acc[r][0]);
                _mm256_storeu_ps(block[r].as_mut_ptr().add(8), acc[r][1]);
            }
            t.write_floats(&block);
        }
    }

    #[inline(always)]
    unsafe fn fma_blocks<const FLUSH: bool>(p: &Panel, t: &Target) {
        // Three rows at a time: both chains of both column vectors are twelve accumulators.
        const ROWS: usize = 3;
        // SAFETY: the caller's promise about pointers and features.
        unsafe {
            let mut block = t.read_floats();
            let rhs = p.rhs.cast::<f32>();
            for first in (0..MR).step_by(ROWS) {
                let rows: [*const f32; ROWS] = std::array::from_fn(|r| p.lhs.add(p.rows[first + r]).cast());
                let mut sum = [[_mm256_setzero_ps(); 2]; ROWS];
                for r in 0..ROWS {
                    let row = block[first + r].as_ptr();
                    sum[r] = [flush8::<FLUSH>(_mm256_loadu_ps(row)), flush8::<FLUSH>(_mm256_loadu_ps(row.add(8)))];
                }
                let mut from = 0;
                while from < p.steps {
                    let to = p.steps.min(from + K_BLOCK);
                    let mut even = [[_mm256_setzero_ps(); 2]; ROWS];
                    let mut odd = [[_mm256_setzero_ps(); 2]; ROWS];
                    let mut step = from;
                    while step + 2 <= to {
                        let b = rhs.add(step * p.pitch);
                        let (e0, e1) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
                        for r in 0..ROWS {
                            let a = _mm256_broadcast_ss(&*rows[r].add(step));
                            even[r][0] = _mm256_fmadd_ps(a, e0, even[r][0]);
                            even[r][1] = _mm256_fmadd_ps(a, e1, even[r][1]);
                        }
                        let b = b.add(p.pitch);
                        let (o0, o1) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
                        for r in 0..ROWS {
                            let a = _mm256_broadcast_ss(&*rows[r].add(step + 1));
                            odd[r][0] = _mm256_fmadd_ps(a, o0, odd[r][0]);
                            odd[r][1] = _mm256_fmadd_ps(a, o1, odd[r][1]);
                        }
                        step += 2;
                    }
                    if step < to {
                        let b = rhs.add(step * p.pitch);
                        for r in 0..ROWS {
                            let a = _mm256_broadcast_ss(&*rows[r].add(step));
                            even[r][0] = _mm256_fmadd_ps(a, _mm256_loadu_ps(b), even[r][0]);
                            even[r][1] = _mm256_fmadd_ps(a, _mm256_loadu_ps(b.add(8)), even[r][1]);
                        }
                    }
                    for r in 0..ROWS {
                        for h in 0..2 {
                            let both = _mm256_add_ps(even[r][h], odd[r][h]);
                            sum[r][h] = flush8::<FLUSH>(_mm256_add_ps(sum[r][h], both));
                        }
                    }
                    from = to;
                }
                for r in 0..ROWS {
                    let row = block[first + r].as_mut_ptr();
                    _mm256_storeu_ps(row, sum[r][0]);
                    _mm256_storeu_ps(row.add(8), sum[r][1]);
                }
            }
            t.write_floats(&block);
        }
    }

    #[inline(always)]
    unsafe fn multiply_pairs(p: &Panel, t: &Target) {
        // SAFETY: the caller's promise about pointers and features.
        unsafe {
            let mut block = t.read();
            let mut acc = [[_mm256_setzero_si256(); 2]; MR];
            for r in 0..MR {
                let row = block[r].as_ptr().cast::<__m256i>();
                acc[r] = [_mm256_loadu_si256(row), _mm256_loadu_si256(row.add(1))];
            }
            let rows: [*const i32; MR] = std::array::from_fn(|r| p.lhs.add(p.rows[r]).cast());
            for step in 0..p.steps {
                let b = p.rhs.add(step * NR).cast::<__m256i>();
                let (b0, b1) = (_mm256_loadu_si256(b), _mm256_loadu_si256(b.add(1)));
                for r in 0..MR {
                    let a = _mm256_set1_epi32(rows[r].add(step).read_unaligned());
                    acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(a, b0));
                    acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(a, b1));
                }
            }
            for r in 0..MR {
                let row = block[r].as_mut_ptr().cast::<__m256i>();
                _mm256_storeu_si256(row, acc[r][0]);
                _mm256_storeu_si256(row.add(1), acc[r][1]);
            }
            t.write(&block);
        }
    }
}
