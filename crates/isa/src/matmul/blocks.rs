//! The walk over inner blocks of the accumulator, common to all element types.

// Rows and columns of several arrays at once: indices say it best, and unroll.
#![allow(clippy::needless_range_loop)]

use super::pack::padded;
use crate::simd::{Block, MR_MAX, NR, Panel};

/// The accumulator and what it starts from.
pub(super) struct Output {
    /// Row-major, `stride` words from row to row.
    pub(super) acc: *mut u32,
    pub(super) stride: usize,
    pub(super) start: Start,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Start {
    Zero,
    /// The accumulator's own contents.
    Itself,
    /// One row for all, padded to whole panels.
    Row(*const u32),
}

/// A product of packed operands.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    pub(super) m: usize,
    pub(super) n: usize,
    /// Words along k.
    pub(super) steps: usize,
    pub(super) lhs: *const u32,
    /// Words from row to row of the left operand.
    pub(super) lhs_stride: usize,
    pub(super) rhs: *const u32,
}

/// Calls `f(panel, block)` for every inner block of `mr` rows: the block holds the start values and comes back as the
/// result. The panel spans all steps.
///
/// # Safety
///
/// The operands are packed as [`super::pack`] says; the accumulator has m rows of n words.
#[inline(always)]
pub(super) unsafe fn each<T: Copy + Default>(
    p: &Packed,
    out: &Output,
    mr: usize,
    from_bits: impl Fn(u32) -> T,
    to_bits: impl Fn(T) -> u32,
    f: impl Fn(&Panel, &mut Block<T>),
) {
    for j in (0..padded(p.n)).step_by(NR) {
        let width = NR.min(p.n - j);
        for i in (0..p.m).step_by(mr) {
            let height = mr.min(p.m - i);
            let mut rows = [0; MR_MAX];
            for (r, row) in rows.iter_mut().enumerate().take(mr) {
                *row = (i + r).min(p.m - 1) * p.lhs_stride;
            }
            // SAFETY: panel j ÷ NR of the packed right operand; rows below m.
            let panel =
                unsafe { Panel { lhs: p.lhs, rows, rhs: p.rhs.add(j * p.steps), from: 0, to: p.steps, stride: 1 } };
            let mut block: Block<T> = [[T::default(); NR]; MR_MAX];
            // SAFETY: `height` rows of `width` words at (i, j); the start row is padded.
            unsafe {
                match out.start {
                    Start::Zero => {}
                    Start::Row(start) => {
                        let row = start.add(j).cast::<[u32; NR]>().read_unaligned();
                        for r in 0..height {
                            for c in 0..NR {
                                block[r][c] = from_bits(row[c]);
                            }
                        }
                    }
                    Start::Itself => {
                        for r in 0..height {
                            let row = out.acc.add((i + r) * out.stride + j);
                            if width == NR {
                                let row = row.cast::<[u32; NR]>().read_unaligned();
                                for c in 0..NR {
                                    block[r][c] = from_bits(row[c]);
                                }
                            } else {
                                for c in 0..width {
                                    block[r][c] = from_bits(row.add(c).read_unaligned());
                                }
                            }
                        }
                    }
                }
            }
            f(&panel, &mut block);
            // SAFETY: as above.
            unsafe {
                for r in 0..height {
                    let row = out.acc.add((i + r) * out.stride + j);
                    if width == NR {
                        let mut words = [0u32; NR];
                        for c in 0..NR {
                            words[c] = to_bits(block[r][c]);
                        }
                        row.cast::<[u32; NR]>().write_unaligned(words);
                    } else {
                        for c in 0..width {
                            row.add(c).write_unaligned(to_bits(block[r][c]));
                        }
                    }
                }
            }
        }
    }
}
