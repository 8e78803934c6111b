//! i8 products: exact in i32, wrapping.
//!
//! A word is a pair of neighbours along k, widened to i16, the lower k in the low half; one step multiplies two of each and
//! adds both products, which cannot overflow before the wrapping addition to the accumulator. An odd k is padded with 0.

use super::blocks::{self, Output, Packed, Rhs, Step};
use super::inner::{Inner, NR, Panel, Target};
use super::pack::{Problem, padded};
use crate::plane;
use crate::simd::Simd;
use crate::tier::{Kernel, dispatch};

/// # Safety
///
/// The layouts are valid over the problem's extents; `lhs` has m rows of k ÷ 2 words (rounded up), `rhs` has n columns of
/// them, n padded; the output is valid.
pub(super) unsafe fn run(p: &Problem, (lhs, rhs): (&mut [u32], &mut [u32]), out: Output) {
    let steps = p.k.div_ceil(2);
    // SAFETY: the caller's promise.
    unsafe {
        dispatch(Pack { problem: p, steps, lhs, rhs });
        let rhs = Rhs::packed(rhs, steps);
        let packed = Packed { m: p.m, n: p.n, steps, lhs: lhs.as_ptr(), lhs_stride: steps, rhs };
        dispatch(Multiply { packed, out });
    }
}

fn pair(low: i8, high: i8) -> u32 {
    low as i16 as u16 as u32 | (high as i16 as u16 as u32) << 16
}

struct Pack<'a> {
    problem: &'a Problem,
    steps: usize,
    lhs: &'a mut [u32],
    rhs: &'a mut [u32],
}

impl Kernel for Pack<'_> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`run`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Problem { m, k, n, lhs, rhs } = *self.problem;
        let steps = self.steps;
        let out = self.lhs;
        plane::for_each_at(m, k, lhs, |r0, c0, nr, nc, p| {
            // Planes start at even columns: boxes are 16 or more wide.
            for r in 0..nr {
                let to = &mut out[(r0 + r) * steps + c0 / 2..][..nc.div_ceil(2)];
                // SAFETY: row `r` of the plane.
                unsafe {
                    if p.cs == 1 {
                        let from = p.at(r, 0).cast::<[i8; 2]>();
                        for (s, w) in to[..nc / 2].iter_mut().enumerate() {
                            let [a, b] = from.add(s).read_unaligned();
                            *w = pair(a, b);
                        }
                    } else {
                        for (s, w) in to[..nc / 2].iter_mut().enumerate() {
                            *w = pair(p.at(r, 2 * s).cast::<i8>().read(), p.at(r, 2 * s + 1).cast::<i8>().read());
                        }
                    }
                    if nc % 2 == 1 {
                        to[nc / 2] = pair(p.at(r, nc - 1).cast::<i8>().read(), 0);
                    }
                }
            }
        });
        let out = self.rhs;
        let whole = n / NR * NR;
        out[whole * steps..].fill(0);
        plane::for_each_at(k, n, rhs, |r0, c0, nr, nc, p| {
            let mut c = 0;
            while c < nc {
                let j = c0 + c;
                let width = (NR - j % NR).min(nc - c);
                let panel = j / NR * steps * NR + j % NR;
                for r in (0..nr).step_by(2) {
                    let to = &mut out[panel + (r0 + r) / 2 * NR..][..width];
                    let last = r + 1 == nr;
                    // SAFETY: elements c .. c + width of rows `r` and, if there is one, `r + 1`.
                    unsafe {
                        if p.cs == 1 && width == NR && !last {
                            let low = p.at(r, c).cast::<[i8; NR]>().read_unaligned();
                            let high = p.at(r + 1, c).cast::<[i8; NR]>().read_unaligned();
                            for x in 0..NR {
                                to[x] = pair(low[x], high[x]);
                            }
                        } else {
                            for (x, w) in to.iter_mut().enumerate() {
                                let high = if last { 0 } else { p.at(r + 1, c + x).cast::<i8>().read() };
                                *w = pair(p.at(r, c + x).cast::<i8>().read(), high);
                            }
                        }
                    }
                }
                c += width;
            }
        });
        debug_assert_eq!(out.len(), padded(n) * steps);
    }
}

struct Multiply {
    packed: Packed,
    out: Output,
}

impl Kernel for Multiply {
    type Output = ();

    /// # Safety
    ///
    /// As for [`blocks::each`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // SAFETY: the caller's promise; the panels that `each` makes cover all steps.
        unsafe {
            blocks::each::<S>(&self.packed, &self.out, &Pairs);
        }
    }
}

struct Pairs;

impl<I: Inner> Step<I> for Pairs {
    #[inline(always)]
    unsafe fn block(&self, p: &Panel, t: &Target, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { I::multiply_pairs(p, t) }
    }
}
