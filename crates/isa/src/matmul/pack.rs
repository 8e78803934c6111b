//! Operands rearranged for the inner loops.
//!
//! Both become 32-bit *words* along k: one f32 per step, or a pair of i16 per two steps. The left operand keeps its rows, of
//! `steps` words each (the inner loops broadcast from them); the right one is cut into panels of [`NR`] columns, each stored
//! step by step and padded with zeros whose products are never stored.

use super::inner::NR;
use crate::plane::{self, Layout};
use crate::simd::{LANES, Simd};

const _: () = assert!(NR == LANES, "a panel is widened in one step");

pub(crate) struct Problem {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    pub(crate) lhs: Layout,
    pub(crate) rhs: Layout,
}

/// `n` rounded up to whole panels.
pub(crate) const fn padded(n: usize) -> usize {
    n.div_ceil(NR) * NR
}

/// At least `len` words; their contents are whatever they were.
pub(crate) fn words(v: &mut Vec<u32>, len: usize) -> &mut [u32] {
    if v.len() < len {
        v.resize(len, 0);
    }
    &mut v[..len]
}

/// An element widened to a word.
pub(crate) trait Widen: Copy {
    fn widen(self) -> u32;

    /// [`NR`] elements.
    ///
    /// # Safety
    ///
    /// As for the methods of [`Simd`].
    unsafe fn panel<S: Simd>(to: *mut u32, from: *const Self);
}

/// Row r, column c of the operand goes to `out[r·cols + c]`.
///
/// # Safety
///
/// `src` is valid over `rows × cols` elements of `T`, `out` has `rows·cols` words; the features of
/// `S`.
#[inline(always)]
pub(crate) unsafe fn rows<S: Simd, T: Widen>(src: Layout, rows: usize, cols: usize, out: &mut [u32]) {
    plane::for_each_at(rows, cols, src, |r0, c0, nr, nc, p| {
        for r in 0..nr {
            let to = &mut out[(r0 + r) * cols + c0..][..nc];
            // SAFETY: row `r` of the plane.
            unsafe {
                if p.cs == size_of::<T>() as isize {
                    let from = p.at(r, 0).cast::<T>();
                    let whole = nc / NR * NR;
                    for c in (0..whole).step_by(NR) {
                        T::panel::<S>(to.as_mut_ptr().add(c), from.add(c));
                    }
                    for (c, w) in to.iter_mut().enumerate().skip(whole) {
                        *w = from.add(c).read_unaligned().widen();
                    }
                } else {
                    for (c, w) in to.iter_mut().enumerate() {
                        *w = p.at(r, c).cast::<T>().read_unaligned().widen();
                    }
                }
            }
        }
    });
}

/// Row p, column j of the operand goes to panel j ÷ NR, step p, word j mod NR.
///
/// # Safety
///
/// `src` is valid over `steps × cols` elements of `T`, `out` has `padded(cols)·steps` words;
/// the features of `S`.
#[inline(always)]
pub(crate) unsafe fn panels<S: Simd, T: Widen>(src: Layout, steps: usize, cols: usize, out: &mut [u32]) {
    let whole = cols / NR * NR;
    if whole < cols {
        out[whole * steps..].fill(0);
    }
    plane::for_each_at(steps, cols, src, |r0, c0, nr, nc, p| {
        let mut c = 0;
        while c < nc {
            let j = c0 + c;
            let width = (NR - j % NR).min(nc - c);
            let panel = j / NR * steps * NR + j % NR;
            for r in 0..nr {
                let to = &mut out[panel + (r0 + r) * NR..][..width];
                // SAFETY: elements c .. c + width of row `r` of the plane.
                unsafe {
                    if p.cs == size_of::<T>() as isize && width == NR {
                        T::panel::<S>(to.as_mut_ptr(), p.at(r, c).cast());
                    } else {
                        for (k, w) in to.iter_mut().enumerate() {
                            *w = p.at(r, c + k).cast::<T>().read_unaligned().widen();
                        }
                    }
                }
            }
            c += width;
        }
    });
}
