//! i8 products by `vpdpbusd`, which adds four products of u8 by i8 to an i32, exact and wrapping.
//!
//! A word is four neighbours along k. The left operand becomes unsigned by adding 128, its sign bit flipped; the sum then
//! is 128·Σ B\[p, j\] too large, which the start values make up for. A k that is not a multiple of 4 is padded with zeros of
//! B, whose partners do not matter.

// Rows and columns of several arrays at once: indices say it best, and unroll.
#![allow(clippy::needless_range_loop)]

use std::arch::x86_64::*;

use super::avx512::{self, MR};
use super::blocks::{self, Output, Packed, Rhs, Step};
use super::inner::{NR, Panel, Target};
use super::pack::{Problem, padded};
use crate::plane;
use crate::simd::Avx512;

/// Words of four along k.
const QUAD: usize = 4;

/// # Safety
///
/// The layouts are valid over the problem's extents; `lhs` has m rows and `rhs` n columns, padded, of k ÷ 4 words (rounded
/// up) or more; `excess` has a word for each padded column; the output is valid. The host has the features below.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
pub(super) unsafe fn run(p: &Problem, (lhs, rhs): (&mut [u32], &mut [u32]), excess: &mut [u32], out: Output) {
    let steps = p.k.div_ceil(QUAD);
    let rhs = &mut rhs[..padded(p.n) * steps];
    // SAFETY: the caller's promise.
    unsafe {
        pack_rows(p, steps, lhs);
        pack_panels(p, steps, rhs);
        sum_columns(rhs, steps, excess);
        let packed =
            Packed { m: p.m, n: p.n, steps, lhs: lhs.as_ptr(), lhs_stride: steps, rhs: Rhs::packed(rhs, steps) };
        blocks::each::<Avx512>(&packed, &out, &Quads { excess: excess.as_ptr() });
    }
}

struct Quads {
    /// 128·Σ over each column of the right operand.
    excess: *const u32,
}

impl Step<Avx512> for Quads {
    #[inline(always)]
    unsafe fn block(&self, p: &Panel, t: &Target, column: usize) {
        // SAFETY: the caller's promise; a word for each padded column.
        unsafe {
            let excess = self.excess.add(column);
            if t.width > NR { block::<2>(p, t, excess) } else { block::<1>(p, t, excess) }
        }
    }
}

/// Row r, column c becomes byte c of row r, with its sign bit flipped.
///
/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn pack_rows(p: &Problem, steps: usize, out: &mut [u32]) {
    let out = &mut out[..p.m * steps];
    let base = out.as_mut_ptr().cast::<u8>();
    plane::for_each_at(p.m, p.k, p.lhs, |r0, c0, nr, nc, plane| {
        for r in 0..nr {
            // SAFETY: elements c0 .. c0 + nc of a row of the output, and of row `r` of the plane.
            unsafe {
                let to = base.add((r0 + r) * steps * QUAD + c0);
                if plane.cs == 1 {
                    let from = plane.at(r, 0);
                    for c in 0..nc {
                        *to.add(c) = *from.add(c) ^ 0x80;
                    }
                } else {
                    for c in 0..nc {
                        *to.add(c) = *plane.at(r, c) ^ 0x80;
                    }
                }
            }
        }
    });
}

/// Row p, column j becomes byte p mod 4 of panel j ÷ NR, step p ÷ 4, word j mod NR.
///
/// # Safety
///
/// As for [`run`].
#[inline(always)]
unsafe fn pack_panels(p: &Problem, steps: usize, out: &mut [u32]) {
    let whole = p.n / NR * NR;
    out[whole * steps..].fill(0);
    // Rows come four at a time except the last ones: boxes are 16 or more high.
    plane::for_each_at(p.k, p.n, p.rhs, |r0, c0, nr, nc, plane| {
        let mut c = 0;
        while c < nc {
            let j = c0 + c;
            let width = (NR - j % NR).min(nc - c);
            let panel = j / NR * steps * NR + j % NR;
            for r in (0..nr).step_by(QUAD) {
                let to = &mut out[panel + (r0 + r) / QUAD * NR..][..width];
                // SAFETY: elements c .. c + width of rows r .. r + 4, as far as there are rows.
                unsafe {
                    if plane.cs == 1 && width == NR && r + QUAD <= nr {
                        let row: [[u8; NR]; QUAD] =
                            std::array::from_fn(|q| plane.at(r + q, c).cast::<[u8; NR]>().read());
                        for x in 0..NR {
                            to[x] = u32::from_le_bytes([row[0][x], row[1][x], row[2][x], row[3][x]]);
                        }
                    } else {
                        let rows = QUAD.min(nr - r);
                        for (x, w) in to.iter_mut().enumerate() {
                            let mut quad = [0; QUAD];
                            for q in 0..rows {
                                quad[q] = *plane.at(r + q, c + x);
                            }
                            *w = u32::from_le_bytes(quad);
                        }
                    }
                }
            }
            c += width;
        }
    });
}

/// 128·Σ over each packed column.
#[inline(always)]
unsafe fn sum_columns(rhs: &[u32], steps: usize, excess: &mut [u32]) {
    // SAFETY: panels of `steps` · NR words, NR sums for each; VNNI is among the features of the caller.
    unsafe {
        for (panel, sums) in rhs.chunks_exact(steps * NR).zip(excess.chunks_exact_mut(NR)) {
            let mut sum = _mm512_setzero_si512();
            for step in 0..steps {
                let b = _mm512_loadu_si512(panel.as_ptr().add(step * NR).cast());
                sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), b);
            }
            _mm512_storeu_si512(sums.as_mut_ptr().cast(), sum);
        }
    }
}

/// # Safety
///
/// The panel and the target are valid, and `excess` has the words of the target's panels.
#[inline(always)]
unsafe fn block<const V: usize>(p: &Panel, t: &Target, excess: *const u32) {
    // SAFETY: the caller's promise.
    unsafe {
        let excess = avx512::load::<V>(excess, NR);
        let mut acc = avx512::start::<MR, V>(t, 0);
        for r in 0..MR {
            for j in 0..V {
                acc[r][j] = _mm512_sub_epi32(acc[r][j], excess[j]);
            }
        }
        let rows = avx512::rows::<i32, MR>(p, 0);
        let mut at = p.rhs;
        for step in 0..p.steps {
            let b = avx512::load::<V>(at, p.next);
            for r in 0..MR {
                let a = _mm512_set1_epi32(rows[r].add(step).read_unaligned());
                for j in 0..V {
                    acc[r][j] = _mm512_dpbusd_epi32(acc[r][j], a, b[j]);
                }
            }
            at = at.wrapping_add(p.pitch);
        }
        avx512::finish(t, 0, acc);
    }
}
