//! Inner blocks for AVX-512: eight rows by one or two panels.
//!
//! Two panels make sixteen chains, enough to hide the latency of two FMA units, and let one broadcast serve two of them:
//! ten loads for sixteen FMAs. Edges cost nothing: rows beyond the matrix repeat its last one and are not stored, columns
//! beyond it are masked.

// Rows and columns of several arrays at once: indices say it best, and unroll.
#![allow(clippy::needless_range_loop)]

use std::arch::x86_64::*;

use super::inner::{Inner, K_BLOCK, NR, Panel, Start, Target};
use crate::simd::Avx512;

pub(super) const MR: usize = 8;

/// The lanes of panel `j` that the target has.
#[inline(always)]
fn mask(t: &Target, j: usize) -> __mmask16 {
    let width = t.width.saturating_sub(j * NR).min(NR);
    ((1u32 << width) - 1) as __mmask16
}

/// The start values of `ROWS` rows from `first` on, by `V` panels, as bits.
///
/// # Safety
///
/// The target is valid.
#[inline(always)]
pub(super) unsafe fn start<const ROWS: usize, const V: usize>(t: &Target, first: usize) -> [[__m512i; V]; ROWS] {
    // SAFETY: masked lanes and rows are not touched; the start row is padded to whole panels.
    unsafe {
        let mut out = [[_mm512_setzero_si512(); V]; ROWS];
        match t.start {
            Start::Zero => {}
            Start::Row(row) => {
                for j in 0..V {
                    let x = _mm512_loadu_si512(row.add(j * NR).cast());
                    for r in 0..ROWS {
                        out[r][j] = x;
                    }
                }
            }
            Start::Itself => {
                for r in 0..ROWS {
                    if first + r < t.height {
                        for j in 0..V {
                            let at = t.acc.add((first + r) * t.stride + j * NR);
                            out[r][j] = _mm512_maskz_loadu_epi32(mask(t, j), at.cast());
                        }
                    }
                }
            }
        }
        out
    }
}

/// Stores what [`start`] began.
///
/// # Safety
///
/// As for [`start`].
#[inline(always)]
pub(super) unsafe fn finish<const ROWS: usize, const V: usize>(t: &Target, first: usize, x: [[__m512i; V]; ROWS]) {
    // SAFETY: masked lanes and rows are not touched.
    unsafe {
        for r in 0..ROWS {
            if first + r < t.height {
                for j in 0..V {
                    let at = t.acc.add((first + r) * t.stride + j * NR);
                    _mm512_mask_storeu_epi32(at.cast(), mask(t, j), x[r][j]);
                }
            }
        }
    }
}

// Loops, not `map` and `from_fn`: a closure that the library calls is compiled without the features of this tier.

#[inline(always)]
unsafe fn floats<const ROWS: usize, const V: usize>(x: [[__m512i; V]; ROWS]) -> [[__m512; V]; ROWS] {
    // SAFETY: AVX-512 F is part of the tier.
    unsafe {
        let mut out = [[_mm512_setzero_ps(); V]; ROWS];
        for r in 0..ROWS {
            for j in 0..V {
                out[r][j] = _mm512_castsi512_ps(x[r][j]);
            }
        }
        out
    }
}

/// The bits, NaNs canonical.
#[inline(always)]
unsafe fn canonical<const ROWS: usize, const V: usize>(x: [[__m512; V]; ROWS]) -> [[__m512i; V]; ROWS] {
    // SAFETY: AVX-512 F is part of the tier.
    unsafe {
        let mut out = [[_mm512_setzero_si512(); V]; ROWS];
        let canonical = _mm512_set1_epi32(dtype::float::F32_NAN as i32);
        for r in 0..ROWS {
            for j in 0..V {
                let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x[r][j], x[r][j]);
                out[r][j] = _mm512_mask_mov_epi32(_mm512_castps_si512(x[r][j]), nan, canonical);
            }
        }
        out
    }
}

/// One step of `V` panels.
///
/// # Safety
///
/// The words are there.
#[inline(always)]
pub(super) unsafe fn load<const V: usize>(at: *const u32, next: usize) -> [__m512i; V] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut out = [_mm512_setzero_si512(); V];
        for j in 0..V {
            out[j] = _mm512_loadu_si512(at.add(j * next).cast());
        }
        out
    }
}

/// As [`load`], as floats.
///
/// # Safety
///
/// As for [`load`].
#[inline(always)]
unsafe fn load_floats<const V: usize>(at: *const u32, next: usize) -> [__m512; V] {
    // SAFETY: the caller's promise.
    unsafe {
        let bits = load::<V>(at, next);
        let mut out = [_mm512_setzero_ps(); V];
        for j in 0..V {
            out[j] = _mm512_castsi512_ps(bits[j]);
        }
        out
    }
}

/// [`crate::simd::flush`] of every lane, if `FLUSH`.
#[inline(always)]
unsafe fn flush16<const FLUSH: bool>(x: __m512) -> __m512 {
    if !FLUSH {
        return x;
    }
    // SAFETY: AVX-512 F is part of the tier.
    unsafe {
        let bits = _mm512_castps_si512(x);
        let normal = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x7f80_0000));
        let sign = _mm512_and_si512(bits, _mm512_set1_epi32(i32::MIN));
        _mm512_castsi512_ps(_mm512_mask_mov_epi32(sign, normal, bits))
    }
}

/// The addresses of `ROWS` rows of the left operand, from `first` on.
///
/// # Safety
///
/// The panel is valid.
#[inline(always)]
pub(super) unsafe fn rows<T, const ROWS: usize>(p: &Panel, first: usize) -> [*const T; ROWS] {
    let mut out = [std::ptr::null(); ROWS];
    for r in 0..ROWS {
        // SAFETY: the caller's promise.
        out[r] = unsafe { p.lhs.add(p.rows[first + r]).cast() };
    }
    out
}

/// # Safety
///
/// As for [`Inner`].
#[inline(always)]
unsafe fn straight<const V: usize>(p: &Panel, t: &Target) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut acc = floats(start::<MR, V>(t, 0));
        let rows = rows::<f32, MR>(p, 0);
        let mut at = p.rhs;
        for step in 0..p.steps {
            let b = load_floats::<V>(at, p.next);
            for r in 0..MR {
                let a = _mm512_set1_ps(rows[r].add(step).read_unaligned());
                for j in 0..V {
                    acc[r][j] = _mm512_fmadd_ps(a, b[j], acc[r][j]);
                }
            }
            at = at.wrapping_add(p.pitch);
        }
        finish(t, 0, canonical(acc));
    }
}

/// `ROWS` rows from `first` on in the 16-bit order.
///
/// # Safety
///
/// As for [`Inner`].
#[inline(always)]
unsafe fn blocks<const ROWS: usize, const V: usize, const FLUSH: bool>(p: &Panel, t: &Target, first: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = floats(start::<ROWS, V>(t, first));
        for r in 0..ROWS {
            for j in 0..V {
                sum[r][j] = flush16::<FLUSH>(sum[r][j]);
            }
        }
        let rows = rows::<f32, ROWS>(p, first);
        let mut at = p.rhs;
        let mut from = 0;
        while from < p.steps {
            let to = p.steps.min(from + K_BLOCK);
            let mut even = [[_mm512_setzero_ps(); V]; ROWS];
            let mut odd = [[_mm512_setzero_ps(); V]; ROWS];
            let mut step = from;
            while step < to {
                let b = load_floats::<V>(at, p.next);
                for r in 0..ROWS {
                    let a = _mm512_set1_ps(rows[r].add(step).read_unaligned());
                    for j in 0..V {
                        even[r][j] = _mm512_fmadd_ps(a, b[j], even[r][j]);
                    }
                }
                at = at.wrapping_add(p.pitch);
                step += 1;
                if step == to {
                    break;
                }
                let b = load_floats::<V>(at, p.next);
                for r in 0..ROWS {
                    let a = _mm512_set1_ps(rows[r].add(step).read_unaligned());
                    for j in 0..V {
                        odd[r][j] = _mm512_fmadd_ps(a, b[j], odd[r][j]);
                    }
                }
                at = at.wrapping_add(p.pitch);
                step += 1;
            }
            for r in 0..ROWS {
                for j in 0..V {
                    let both = _mm512_add_ps(even[r][j], odd[r][j]);
                    sum[r][j] = flush16::<FLUSH>(_mm512_add_ps(sum[r][j], both));
                }
            }
            from = to;
        }
        finish(t, first, canonical(sum));
    }
}

impl Inner for Avx512 {
    const MR: usize = MR;
    const PANELS: usize = 2;

    #[inline(always)]
    unsafe fn fma(p: &Panel, t: &Target) {
        // SAFETY: the caller's promise.
        unsafe { if t.width > NR { straight::<2>(p, t) } else { straight::<1>(p, t) } }
    }

    #[inline(always)]
    unsafe fn fma_blocks<const FLUSH: bool>(p: &Panel, t: &Target) {
        // Sums and both chains in registers: four rows of two panels at a time, or all rows of one.
        // SAFETY: the caller's promise.
        unsafe {
            if t.width <= NR {
                return blocks::<MR, 1, FLUSH>(p, t, 0);
            }
            blocks::<{ MR / 2 }, 2, FLUSH>(p, t, 0);
            if t.height > MR / 2 {
                blocks::<{ MR / 2 }, 2, FLUSH>(p, t, MR / 2);
            }
        }
    }

    #[inline(always)]
    unsafe fn multiply_pairs(p: &Panel, t: &Target) {
        // SAFETY: the caller's promise.
        unsafe { if t.width > NR { pairs::<2>(p, t) } else { pairs::<1>(p, t) } }
    }
}

/// # Safety
///
/// As for [`Inner`].
#[inline(always)]
unsafe fn pairs<const V: usize>(p: &Panel, t: &Target) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut acc = start::<MR, V>(t, 0);
        let rows = rows::<i32, MR>(p, 0);
        let mut at = p.rhs;
        for step in 0..p.steps {
            let b = load::<V>(at, p.next);
            for r in 0..MR {
                let a = _mm512_set1_epi32(rows[r].add(step).read_unaligned());
                for j in 0..V {
                    acc[r][j] = _mm512_add_epi32(acc[r][j], _mm512_madd_epi16(a, b[j]));
                }
            }
            at = at.wrapping_add(p.pitch);
        }
        finish(t, 0, acc);
    }
}
