//! The walk over inner blocks of the accumulator, common to all element types.

use super::inner::{Inner, MR_MAX, NR, Panel, Start, Target};
use super::pack::padded;

/// The accumulator and what it starts from.
#[derive(Clone, Copy)]
pub(super) struct Output {
    /// Row-major, `stride` words from row to row.
    pub(super) acc: *mut u32,
    pub(super) stride: usize,
    pub(super) start: Start,
}

/// A right operand in words: panels side by side.
#[derive(Clone, Copy)]
pub(super) struct Rhs {
    pub(super) words: *const u32,
    /// From step to step of a panel.
    pub(super) pitch: usize,
    /// From panel to panel.
    pub(super) next: usize,
}

impl Rhs {
    /// As [`super::pack::panels`] leaves it.
    pub(super) fn packed(words: &[u32], steps: usize) -> Rhs {
        Rhs { words: words.as_ptr(), pitch: NR, next: steps * NR }
    }

    /// A row-major matrix in whole panels, where it is.
    pub(super) fn in_place(words: *const u32, pitch: usize) -> Rhs {
        Rhs { words, pitch, next: NR }
    }
}

/// A product of operands in words.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    pub(super) m: usize,
    pub(super) n: usize,
    /// Words along k.
    pub(super) steps: usize,
    pub(super) lhs: *const u32,
    /// Words from row to row of the left operand.
    pub(super) lhs_stride: usize,
    pub(super) rhs: Rhs,
}

/// What happens to an inner block. Not a closure: `block` must be `#[inline(always)]`, so that it is compiled with the
/// features of the tier.
pub(super) trait Step<I: Inner> {
    /// # Safety
    ///
    /// As for the methods of [`Inner`]; `column` is the first one of the block.
    unsafe fn block(&self, p: &Panel, t: &Target, column: usize);
}

/// Takes `step` for every inner block of the tier `I`.
///
/// # Safety
///
/// The operands are words as [`super::pack`] makes them; the accumulator has m rows of n words. The host has
/// the features of `I`.
#[inline(always)]
pub(super) unsafe fn each<I: Inner>(p: &Packed, out: &Output, step: &impl Step<I>) {
    let panels = I::PANELS * NR;
    for j in (0..padded(p.n)).step_by(panels) {
        for i in (0..p.m).step_by(I::MR) {
            let mut rows = [0; MR_MAX];
            for (r, row) in rows.iter_mut().enumerate().take(I::MR) {
                *row = (i + r).min(p.m - 1) * p.lhs_stride;
            }
            let Rhs { words, pitch, next } = p.rhs;
            // SAFETY: panel j ÷ NR of the right operand, row i and column j of the accumulator, j of the start row.
            let (panel, target) = unsafe {
                let rhs = words.add(j / NR * next);
                let start = match out.start {
                    Start::Row(row) => Start::Row(row.add(j)),
                    other => other,
                };
                let acc = out.acc.add(i * out.stride + j);
                let (height, width) = (I::MR.min(p.m - i), panels.min(p.n - j));
                (
                    Panel { lhs: p.lhs, rows, rhs, pitch, next, steps: p.steps },
                    Target { acc, stride: out.stride, start, height, width },
                )
            };
            // SAFETY: as above; the features are the caller's promise.
            unsafe { step.block(&panel, &target, j) };
        }
    }
}
