//! i8 products: exact in i32, wrapping.
//!
//! Operands are packed as pairs of i16 along k, low half first; one step multiplies two of each and adds both products,
//! which cannot overflow before the wrapping addition to the accumulator.

use super::Scratch;
use super::pack::{MR, NR, Problem, ensure, padded};
use crate::plane::{self, Layout, Plane};
use crate::tier::{Kernel, dispatch};

/// # Safety
///
/// The layouts are valid over the problem's extents, `start` over m × n i32 elements.
pub(super) unsafe fn run(p: &Problem, scratch: &mut Scratch, start: Option<Layout>) {
    let (rows, cols, pairs) = (padded(p.m, MR), padded(p.n, NR), p.k.div_ceil(2));
    ensure(&mut scratch.lhs, rows * pairs);
    ensure(&mut scratch.rhs, cols * pairs);
    ensure(&mut scratch.acc, rows * cols);
    let (lhs, rhs) = (&mut scratch.lhs[..rows * pairs], &mut scratch.rhs[..cols * pairs]);
    let acc = &mut scratch.acc[..rows * cols];
    match start {
        None => acc.fill(0),
        Some(s) => {
            let staged = Layout::strided(acc.as_mut_ptr().cast(), cols as isize * 4, 4);
            // SAFETY: the caller's promise about the start value; the staged rows are longer than n.
            plane::for_each(p.m, p.n, &[staged, s], |rows, cols, [d, s]| unsafe {
                crate::copy::move_plane(rows, cols, d, s, 4)
            });
        }
    }
    // SAFETY: the caller's promise about the operands.
    unsafe {
        dispatch(Pack { problem: p, pairs, lhs, rhs });
        dispatch(Multiply { pairs, cols, lhs, rhs, acc });
    }
}

struct Pack<'a> {
    problem: &'a Problem,
    pairs: usize,
    lhs: &'a mut [u32],
    rhs: &'a mut [u32],
}

impl Kernel for Pack<'_> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`run`].
    #[inline(always)]
    unsafe fn run(self) {
        let p = self.problem;
        // SAFETY: the caller's promise.
        unsafe {
            pack(p.lhs, p.m, p.k, true, MR, self.pairs, self.lhs);
            pack(p.rhs, p.n, p.k, false, NR, self.pairs, self.rhs);
        }
    }
}

/// # Safety
///
/// As for [`super::pack::panels`], with elements of i8.
#[inline(always)]
unsafe fn pack(
    src: Layout,
    lanes: usize,
    steps: usize,
    lanes_are_rows: bool,
    width: usize,
    pairs: usize,
    out: &mut [u32],
) {
    out.fill(0);
    let (rows, cols) = if lanes_are_rows { (lanes, steps) } else { (steps, lanes) };
    plane::for_each_at(rows, cols, src, |r0, c0, nr, nc, p| {
        let Plane { ptr, rs, cs } = p;
        let (l0, p0, nl, np, ls, ps) =
            if lanes_are_rows { (r0, c0, nr, nc, rs, cs) } else { (c0, r0, nc, nr, cs, rs) };
        for l in 0..nl {
            let lane = l0 + l;
            let panel = lane / width * pairs * width + lane % width;
            for s in 0..np {
                let step = p0 + s;
                // SAFETY: inside the plane.
                let v = unsafe { ptr.offset(l as isize * ls + s as isize * ps).cast::<i8>().read() };
                out[panel + step / 2 * width] |= (v as i16 as u16 as u32) << (step % 2 * 16);
            }
        }
    });
}

struct Multiply<'a> {
    pairs: usize,
    /// Padded.
    cols: usize,
    lhs: &'a [u32],
    rhs: &'a [u32],
    acc: &'a mut [u32],
}

impl Kernel for Multiply<'_> {
    type Output = ();

    /// # Safety
    ///
    /// None; the slices bound everything.
    #[inline(always)]
    unsafe fn run(self) {
        let pairs = self.pairs;
        for (i, a) in self.lhs.chunks_exact(MR * pairs).enumerate() {
            for (j, b) in self.rhs.chunks_exact(NR * pairs).enumerate() {
                let at = i * MR * self.cols + j * NR;
                let mut c = [[0i32; NR]; MR];
                for r in 0..MR {
                    let row = &self.acc[at + r * self.cols..][..NR];
                    for x in 0..NR {
                        c[r][x] = row[x] as i32;
                    }
                }
                for p in 0..pairs {
                    let av = &a[p * MR..][..MR];
                    let bv = &b[p * NR..][..NR];
                    for r in 0..MR {
                        let (a0, a1) = (av[r] as i16 as i32, (av[r] >> 16) as i16 as i32);
                        for x in 0..NR {
                            let (b0, b1) = (bv[x] as i16 as i32, (bv[x] >> 16) as i16 as i32);
                            c[r][x] = c[r][x].wrapping_add(a0 * b0 + a1 * b1);
                        }
                    }
                }
                for r in 0..MR {
                    let row = &mut self.acc[at + r * self.cols..][..NR];
                    for x in 0..NR {
                        row[x] = c[r][x] as u32;
                    }
                }
            }
        }
    }
}
