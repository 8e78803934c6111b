//! The few steps that compilers do not find by themselves, written out per tier.
//!
//! Everything else is plain Rust that the vectoriser handles. Each step here has one meaning, stated on the trait and
//! exact to the bit; [`Portable`] is the definition.

// Rows and columns of several arrays at once: indices say it best, and unroll.
#![allow(clippy::needless_range_loop)]

use dtype::float;

/// Columns of an inner block of a matrix product.
pub(crate) const NR: usize = 16;
/// The most rows of an inner block, over all tiers.
pub(crate) const MR_MAX: usize = 8;

/// The columns of a block of the 16-bit order.
pub(crate) const K_BLOCK: usize = 32;

/// A subnormal becomes a zero of its sign.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// Where the operands of an inner block are: rows of the left operand at fixed offsets, a panel of [`NR`] columns of the
/// right one. Both count 32-bit words.
#[derive(Clone, Copy)]
pub(crate) struct Panel {
    pub(crate) lhs: *const u32,
    /// Offset of each row; rows beyond the matrix repeat its last one.
    pub(crate) rows: [usize; MR_MAX],
    pub(crate) rhs: *const u32,
    /// Steps `from, from + stride, …` below `to`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) stride: usize,
}

pub(crate) type Block<T> = [[T; NR]; MR_MAX];

/// # Safety
///
/// The methods of an implementation may only be called where its features are present; pointers cover what they say.
pub(crate) trait Simd {
    /// Rows of an inner block: at most [`MR_MAX`].
    const MR: usize;

    /// `block[r][c] = fma(lhs[r, p], rhs[p, c], block[r][c])` over the panel's steps p in order, for r < MR; words are f32.
    #[inline(always)]
    unsafe fn fma(p: &Panel, block: &mut Block<f32>) {
        let mut step = p.from;
        while step < p.to {
            for r in 0..Self::MR {
                // SAFETY: the caller's promise.
                let x = f32::from_bits(unsafe { p.lhs.add(p.rows[r] + step).read_unaligned() });
                for c in 0..NR {
                    // SAFETY: the caller's promise.
                    let y = f32::from_bits(unsafe { p.rhs.add(step * NR + c).read_unaligned() });
                    block[r][c] = x.mul_add(y, block[r][c]);
                }
            }
            step += p.stride;
        }
    }

    /// The 16-bit order: for each 32 of the panel's steps, an even and an odd chain from zero, added to each other and then to
    /// `block`, for r < MR. With `FLUSH`, subnormal values of `block` become zeros of their sign, before and after each
    /// addition; sums of normal numbers that are subnormal are exact, so this is what flushing hardware does.
    #[inline(always)]
    unsafe fn fma_blocks<const FLUSH: bool>(p: &Panel, block: &mut Block<f32>) {
        let flushed = |x: f32| if FLUSH { flush(x) } else { x };
        for row in &mut block[..Self::MR] {
            *row = row.map(flushed);
        }
        let mut from = p.from;
        while from < p.to {
            let to = p.to.min(from + K_BLOCK);
            let mut even = [[0f32; NR]; MR_MAX];
            let mut odd = [[0f32; NR]; MR_MAX];
            // SAFETY: the caller's promise, for fewer steps.
            unsafe {
                Self::fma(&Panel { from, to, stride: 2, ..*p }, &mut even);
                Self::fma(&Panel { from: from + 1, to, stride: 2, ..*p }, &mut odd);
            }
            for r in 0..Self::MR {
                for c in 0..NR {
                    block[r][c] = flushed(block[r][c] + (even[r][c] + odd[r][c]));
                }
            }
            from = to;
        }
    }

    /// `block[r][c] += low(lhs)·low(rhs) + high(lhs)·high(rhs)` over the panel's steps, for r < MR; words are pairs of i16 that
    /// hold i8 values; wrapping.
    #[inline(always)]
    unsafe fn multiply_pairs(p: &Panel, block: &mut Block<i32>) {
        let halves = |w: u32| (w as i16 as i32, (w >> 16) as i16 as i32);
        let mut step = p.from;
        while step < p.to {
            for r in 0..Self::MR {
                // SAFETY: the caller's promise.
                let (a, b) = halves(unsafe { p.lhs.add(p.rows[r] + step).read_unaligned() });
                for c in 0..NR {
                    // SAFETY: the caller's promise.
                    let (x, y) = halves(unsafe { p.rhs.add(step * NR + c).read_unaligned() });
                    block[r][c] = block[r][c].wrapping_add(a * x + b * y);
                }
            }
            step += p.stride;
        }
    }

    /// Eight f16 at `p`, exactly; NaNs stay NaNs.
    #[inline(always)]
    unsafe fn widen_f16(p: *const u16) -> [f32; 8] {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[u16; 8]>().read_unaligned() }.map(float::f16_to_f32)
    }

    /// Eight values to f16 at `p`, ties to even, NaN canonical.
    #[inline(always)]
    unsafe fn narrow_f16(p: *mut u16, x: [f32; 8]) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[u16; 8]>().write_unaligned(x.map(float::f32_to_f16)) }
    }

    /// As [`Simd::widen_f16`], for bf16.
    #[inline(always)]
    unsafe fn widen_bf16(p: *const u16) -> [f32; 8] {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[u16; 8]>().read_unaligned() }.map(float::bf16_to_f32)
    }

    /// As [`Simd::narrow_f16`], for bf16.
    #[inline(always)]
    unsafe fn narrow_bf16(p: *mut u16, x: [f32; 8]) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[u16; 8]>().write_unaligned(x.map(float::f32_to_bf16)) }
    }
}

/// Which 16-bit float an element is, if any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    No,
    F16,
    BF16,
}

/// Eight elements at `p`, which are f16 or bf16 as `H` says, exactly; NaNs stay NaNs.
///
/// # Safety
///
/// Eight elements at `p`; the features of `S`.
#[inline(always)]
pub(crate) unsafe fn widen_half<S: Simd>(half: Half, p: *const u16) -> [f32; 8] {
    // SAFETY: the caller's promise.
    unsafe { if half == Half::F16 { S::widen_f16(p) } else { S::widen_bf16(p) } }
}

/// Eight values to f16 or bf16 at `p`, ties to even, NaN canonical.
///
/// # Safety
///
/// As for [`widen_half`].
#[inline(always)]
pub(crate) unsafe fn narrow_half<S: Simd>(half: Half, p: *mut u16, x: [f32; 8]) {
    // SAFETY: the caller's promise.
    unsafe { if half == Half::F16 { S::narrow_f16(p, x) } else { S::narrow_bf16(p, x) } }
}

pub(crate) struct Portable;

impl Simd for Portable {
    const MR: usize = 4;
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Block, K_BLOCK, NR, Panel, Simd};

    pub(crate) struct Avx2;
    pub(crate) struct Avx512;

    /// NaNs become the canonical one; decided on the bits, as in [`dtype::float::canonical`].
    #[inline(always)]
    unsafe fn canonical8(bits: __m256i) -> __m256i {
        // SAFETY: AVX2 is part of both tiers.
        unsafe {
            let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff_ffff));
            let nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f80_0000));
            _mm256_blendv_epi8(bits, _mm256_set1_epi32(dtype::float::F32_NAN as i32), nan)
        }
    }

    #[inline(always)]
    unsafe fn widen_f16c(p: *const u16) -> [f32; 8] {
        let mut out = [0f32; 8];
        // SAFETY: eight elements at `p`; F16C is part of both tiers.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(p.cast()))) };
        out
    }

    #[inline(always)]
    unsafe fn narrow_f16c(p: *mut u16, x: [f32; 8]) {
        // SAFETY: as above.
        unsafe {
            let bits = canonical8(_mm256_loadu_si256(x.as_ptr().cast()));
            let h = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_castsi256_ps(bits));
            _mm_storeu_si128(p.cast(), h);
        }
    }

    #[inline(always)]
    unsafe fn widen_bf16_avx2(p: *const u16) -> [f32; 8] {
        let mut out = [0f32; 8];
        // SAFETY: eight elements at `p`; AVX2 is part of both tiers.
        unsafe {
            let wide = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast())));
            _mm256_storeu_si256(out.as_mut_ptr().cast(), wide);
        }
        out
    }

    #[inline(always)]
    unsafe fn narrow_bf16_avx2(p: *mut u16, x: [f32; 8]) {
        // SAFETY: as above.
        unsafe {
            let bits = canonical8(_mm256_loadu_si256(x.as_ptr().cast()));
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
            let high = _mm256_srli_epi32::<16>(rounded);
            // Packing works on 128-bit halves: words 0 and 2 of the result are the eight elements.
            let packed = _mm256_permute4x64_epi64::<0b1000>(_mm256_packus_epi32(high, high));
            _mm_storeu_si128(p.cast(), _mm256_castsi256_si128(packed));
        }
    }

    /// [`super::flush`] of every lane, if `FLUSH`.
    #[inline(always)]
    unsafe fn flush8<const FLUSH: bool>(x: __m256) -> __m256 {
        if !FLUSH {
            return x;
        }
        // SAFETY: AVX2 is part of both tiers.
        unsafe {
            let field = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7f80_0000));
            let subnormal = _mm256_cmpeq_epi32(field, _mm256_setzero_si256());
            let magnitude = _mm256_set1_epi32(0x7fff_ffff);
            _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_and_si256(subnormal, magnitude)), x)
        }
    }

    /// As [`flush8`].
    #[inline(always)]
    unsafe fn flush16<const FLUSH: bool>(x: __m512) -> __m512 {
        if !FLUSH {
            return x;
        }
        // SAFETY: AVX-512 F and DQ are part of the tier.
        unsafe {
            let bits = _mm512_castps_si512(x);
            let normal = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x7f80_0000));
            let sign = _mm512_and_si512(bits, _mm512_set1_epi32(i32::MIN));
            _mm512_castsi512_ps(_mm512_mask_mov_epi32(sign, normal, bits))
        }
    }

    impl Simd for Avx2 {
        // Twelve accumulators, two columns of the right operand, one broadcast: 15 of 16 registers.
        const MR: usize = 6;

        #[inline(always)]
        unsafe fn fma(p: &Panel, block: &mut Block<f32>) {
            // SAFETY: the caller's promise about pointers and features.
            unsafe {
                let mut acc = [[_mm256_setzero_ps(); 2]; Self::MR];
                for r in 0..Self::MR {
                    acc[r] = [_mm256_loadu_ps(block[r].as_ptr()), _mm256_loadu_ps(block[r].as_ptr().add(8))];
                }
                let rows: [*const f32; Self::MR] = std::array::from_fn(|r| p.lhs.add(p.rows[r]).cast());
                let rhs = p.rhs.cast::<f32>();
                let mut step = p.from;
                while step < p.to {
                    let b = rhs.add(step * NR);
                    let (b0, b1) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
                    for r in 0..Self::MR {
                        let a = _mm256_broadcast_ss(&*rows[r].add(step));
                        acc[r][0] = _mm256_fmadd_ps(a, b0, acc[r][0]);
                        acc[r][1] = _mm256_fmadd_ps(a, b1, acc[r][1]);
                    }
                    step += p.stride;
                }
                for r in 0..Self::MR {
                    _mm256_storeu_ps(block[r].as_mut_ptr(), acc[r][0]);
                    _mm256_storeu_ps(block[r].as_mut_ptr().add(8), acc[r][1]);
                }
            }
        }

        #[inline(always)]
        unsafe fn fma_blocks<const FLUSH: bool>(p: &Panel, block: &mut Block<f32>) {
            // Three rows at a time: both chains of both column vectors are twelve accumulators.
            const ROWS: usize = 3;
            // SAFETY: the caller's promise about pointers and features.
            unsafe {
                let rhs = p.rhs.cast::<f32>();
                for first in (0..Self::MR).step_by(ROWS) {
                    let rows: [*const f32; ROWS] = std::array::from_fn(|r| p.lhs.add(p.rows[first + r]).cast());
                    let mut sum = [[_mm256_setzero_ps(); 2]; ROWS];
                    for r in 0..ROWS {
                        let row = block[first + r].as_ptr();
                        sum[r] = [flush8::<FLUSH>(_mm256_loadu_ps(row)), flush8::<FLUSH>(_mm256_loadu_ps(row.add(8)))];
                    }
                    let mut from = p.from;
                    while from < p.to {
                        let to = p.to.min(from + K_BLOCK);
                        let mut even = [[_mm256_setzero_ps(); 2]; ROWS];
                        let mut odd = [[_mm256_setzero_ps(); 2]; ROWS];
                        let mut step = from;
                        while step + 2 <= to {
                            let b = rhs.add(step * NR);
                            let (e0, e1) = (_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8)));
                            for r in 0..ROWS {
                                let a = _mm256_broadcast_ss(&*rows[r].add(step));
                                even[r][0] = _mm256_fmadd_ps(a, e0, even[r][0]);
                                even[r][1] = _mm256_fmadd_ps(a, e1, even[r][1]);
                            }
                            let (o0, o1) = (_mm256_loadu_ps(b.add(NR)), _mm256_loadu_ps(b.add(NR + 8)));
                            for r in 0..ROWS {
                                let a = _mm256_broadcast_ss(&*rows[r].add(step + 1));
                                odd[r][0] = _mm256_fmadd_ps(a, o0, odd[r][0]);
                                odd[r][1] = _mm256_fmadd_ps(a, o1, odd[r][1]);
                            }
                            step += 2;
                        }
                        if step < to {
                            let b = rhs.add(step * NR);
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
            }
        }

        #[inline(always)]
        unsafe fn multiply_pairs(p: &Panel, block: &mut Block<i32>) {
            // SAFETY: the caller's promise about pointers and features.
            unsafe {
                let mut acc = [[_mm256_setzero_si256(); 2]; Self::MR];
                for r in 0..Self::MR {
                    let row = block[r].as_ptr().cast::<__m256i>();
                    acc[r] = [_mm256_loadu_si256(row), _mm256_loadu_si256(row.add(1))];
                }
                let rows: [*const i32; Self::MR] = std::array::from_fn(|r| p.lhs.add(p.rows[r]).cast());
                let mut step = p.from;
                while step < p.to {
                    let b = p.rhs.add(step * NR).cast::<__m256i>();
                    let (b0, b1) = (_mm256_loadu_si256(b), _mm256_loadu_si256(b.add(1)));
                    for r in 0..Self::MR {
                        let a = _mm256_set1_epi32(rows[r].add(step).read_unaligned());
                        acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(a, b0));
                        acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(a, b1));
                    }
                    step += p.stride;
                }
                for r in 0..Self::MR {
                    let row = block[r].as_mut_ptr().cast::<__m256i>();
                    _mm256_storeu_si256(row, acc[r][0]);
                    _mm256_storeu_si256(row.add(1), acc[r][1]);
                }
            }
        }

        #[inline(always)]
        unsafe fn widen_f16(p: *const u16) -> [f32; 8] {
            // SAFETY: the caller's promise.
            unsafe { widen_f16c(p) }
        }

        #[inline(always)]
        unsafe fn narrow_f16(p: *mut u16, x: [f32; 8]) {
            // SAFETY: the caller's promise.
            unsafe { narrow_f16c(p, x) }
        }

        #[inline(always)]
        unsafe fn widen_bf16(p: *const u16) -> [f32; 8] {
            // SAFETY: the caller's promise.
            unsafe { widen_bf16_avx2(p) }
        }

        #[inline(always)]
        unsafe fn narrow_bf16(p: *mut u16, x: [f32; 8]) {
            // SAFETY: the caller's promise.
            unsafe { narrow_bf16_avx2(p, x) }
        }
    }

    impl Simd for Avx512 {
        // Eight accumulators hide the latency of two FMA units, and divide the usual 16 and 64 rows.
        const MR: usize = 8;

        #[inline(always)]
        unsafe fn fma(p: &Panel, block: &mut Block<f32>) {
            // SAFETY: the caller's promise about pointers and features.
            unsafe {
                let mut acc = [_mm512_setzero_ps(); Self::MR];
                for r in 0..Self::MR {
                    acc[r] = _mm512_loadu_ps(block[r].as_ptr());
                }
                let rows: [*const f32; Self::MR] = std::array::from_fn(|r| p.lhs.add(p.rows[r]).cast());
                let rhs = p.rhs.cast::<f32>();
                let mut step = p.from;
                while step < p.to {
                    let b = _mm512_loadu_ps(rhs.add(step * NR));
                    for r in 0..Self::MR {
                        acc[r] = _mm512_fmadd_ps(_mm512_set1_ps(rows[r].add(step).read_unaligned()), b, acc[r]);
                    }
                    step += p.stride;
                }
                for r in 0..Self::MR {
                    _mm512_storeu_ps(block[r].as_mut_ptr(), acc[r]);
                }
            }
        }

        #[inline(always)]
        unsafe fn fma_blocks<const FLUSH: bool>(p: &Panel, block: &mut Block<f32>) {
            // SAFETY: the caller's promise about pointers and features.
            unsafe {
                let rows: [*const f32; Self::MR] = std::array::from_fn(|r| p.lhs.add(p.rows[r]).cast());
                let rhs = p.rhs.cast::<f32>();
                let mut sum = [_mm512_setzero_ps(); Self::MR];
                for r in 0..Self::MR {
                    sum[r] = flush16::<FLUSH>(_mm512_loadu_ps(block[r].as_ptr()));
                }
                let mut from = p.from;
                while from < p.to {
                    let to = p.to.min(from + K_BLOCK);
                    let mut even = [_mm512_setzero_ps(); Self::MR];
                    let mut odd = [_mm512_setzero_ps(); Self::MR];
                    let mut step = from;
                    while step + 2 <= to {
                        let b = rhs.add(step * NR);
                        let (b0, b1) = (_mm512_loadu_ps(b), _mm512_loadu_ps(b.add(NR)));
                        for r in 0..Self::MR {
                            let a = rows[r].add(step);
                            even[r] = _mm512_fmadd_ps(_mm512_set1_ps(a.read_unaligned()), b0, even[r]);
                            odd[r] = _mm512_fmadd_ps(_mm512_set1_ps(a.add(1).read_unaligned()), b1, odd[r]);
                        }
                        step += 2;
                    }
                    if step < to {
                        let b = _mm512_loadu_ps(rhs.add(step * NR));
                        for r in 0..Self::MR {
                            even[r] = _mm512_fmadd_ps(_mm512_set1_ps(rows[r].add(step).read_unaligned()), b, even[r]);
                        }
                    }
                    for r in 0..Self::MR {
                        sum[r] = flush16::<FLUSH>(_mm512_add_ps(sum[r], _mm512_add_ps(even[r], odd[r])));
                    }
                    from = to;
                }
                for r in 0..Self::MR {
                    _mm512_storeu_ps(block[r].as_mut_ptr(), sum[r]);
                }
            }
        }

        #[inline(always)]
        unsafe fn multiply_pairs(p: &Panel, block: &mut Block<i32>) {
            // SAFETY: the caller's promise about pointers and features.
            unsafe {
                let mut acc = [_mm512_setzero_si512(); Self::MR];
                for r in 0..Self::MR {
                    acc[r] = _mm512_loadu_epi32(block[r].as_ptr());
                }
                let rows: [*const i32; Self::MR] = std::array::from_fn(|r| p.lhs.add(p.rows[r]).cast());
                let mut step = p.from;
                while step < p.to {
                    let b = _mm512_loadu_epi32(p.rhs.add(step * NR).cast());
                    for r in 0..Self::MR {
                        let a = _mm512_set1_epi32(rows[r].add(step).read_unaligned());
                        acc[r] = _mm512_add_epi32(acc[r], _mm512_madd_epi16(a, b));
                    }
                    step += p.stride;
                }
                for r in 0..Self::MR {
                    _mm512_storeu_epi32(block[r].as_mut_ptr(), acc[r]);
                }
            }
        }

        #[inline(always)]
        unsafe fn widen_f16(p: *const u16) -> [f32; 8] {
            // SAFETY: the caller's promise.
            unsafe { widen_f16c(p) }
        }

        #[inline(always)]
        unsafe fn narrow_f16(p: *mut u16, x: [f32; 8]) {
            // SAFETY: the caller's promise.
            unsafe { narrow_f16c(p, x) }
        }

        #[inline(always)]
        unsafe fn widen_bf16(p: *const u16) -> [f32; 8] {
            // SAFETY: the caller's promise.
            unsafe { widen_bf16_avx2(p) }
        }

        #[inline(always)]
        unsafe fn narrow_bf16(p: *mut u16, x: [f32; 8]) {
            // SAFETY: the caller's promise.
            unsafe { narrow_bf16_avx2(p, x) }
        }
    }
}
