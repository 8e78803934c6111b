//! Operands rearranged for the inner loops: panels that are read front to back.
//!
//! The left operand is cut into panels of [`MR`] rows, each stored column by column; the right one into panels of [`NR`]
//! columns, each stored row by row. Both are widened on the way (to f32, or to pairs of i16), and short panels are padded
//! with zeros whose products are never stored.

use crate::plane::{self, Layout, Plane};

/// Rows of an inner block.
pub(crate) const MR: usize = 6;
/// Columns of an inner block: two AVX2 vectors, one AVX-512 vector.
pub(crate) const NR: usize = 16;

pub(crate) struct Problem {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    pub(crate) lhs: Layout,
    pub(crate) rhs: Layout,
}

/// `n` rounded up to whole blocks.
pub(crate) const fn padded(n: usize, block: usize) -> usize {
    n.div_ceil(block) * block
}

/// Resizes without keeping contents; zeroes nothing that was already there.
pub(crate) fn ensure(v: &mut Vec<u32>, len: usize) {
    if v.len() < len {
        v.resize(len, 0);
    }
}

/// An element widened to 32 bits.
pub(crate) trait Widen: Copy {
    fn widen(self) -> u32;
}

/// Packs panels of `width` consecutive *lanes* (rows of the left operand, columns of the right one): element (lane l,
/// step p) goes to `out[(l / width)·steps·width + p·width + l % width]`.
///
/// # Safety
///
/// `src` is valid over `lanes × steps` elements of `T` when seen with lanes as rows if `lanes_are_rows`, as columns
/// otherwise. `out` has `padded(lanes, width)·steps` elements.
#[inline(always)]
pub(crate) unsafe fn panels<T: Widen>(
    src: Layout,
    lanes: usize,
    steps: usize,
    lanes_are_rows: bool,
    width: usize,
    out: &mut [u32],
) {
    let full = lanes / width * width;
    if full < lanes {
        out[full * steps..(full + width) * steps].fill(0);
    }
    let (rows, cols) = if lanes_are_rows { (lanes, steps) } else { (steps, lanes) };
    // Where each plane starts is recovered from the walk: planes come with their origin.
    plane::for_each_at(rows, cols, src, |r0, c0, nr, nc, p| {
        let Plane { ptr, rs, cs } = p;
        let (l0, p0, nl, np, ls, ps) =
            if lanes_are_rows { (r0, c0, nr, nc, rs, cs) } else { (c0, r0, nc, nr, cs, rs) };
        let mut l = 0;
        while l < nl {
            let lane = l0 + l;
            let room = (width - lane % width).min(nl - l);
            let panel = lane / width * steps * width + lane % width;
            for step in 0..np {
                let to = panel + (p0 + step) * width;
                for j in 0..room {
                    let at = (l + j) as isize * ls + step as isize * ps;
                    // SAFETY: inside the plane.
                    let v = unsafe { ptr.offset(at).cast::<T>().read_unaligned() };
                    out[to + j] = v.widen();
                }
            }
            l += room;
        }
    });
}
