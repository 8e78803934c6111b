//! Inner blocks of a product: a few rows by one or two panels of columns, all steps.
//!
//! [`Inner`] states what a block computes and is its portable definition; a tier overrides what it does faster, with the
//! same bits.

// Rows and columns of several arrays at once: indices say it best, and unroll.
#![allow(clippy::needless_range_loop)]

use dtype::float;

use crate::simd::flush;

/// Columns of a panel.
pub(crate) const NR: usize = 16;
/// The most rows of an inner block, over all tiers.
pub(crate) const MR_MAX: usize = 8;
/// The columns of a block of the 16-bit order.
pub(crate) const K_BLOCK: usize = 32;

/// The operands of an inner block. Everything counts 32-bit words.
#[derive(Clone, Copy)]
pub(crate) struct Panel {
    pub(crate) lhs: *const u32,
    /// Offset of each row; rows beyond the matrix repeat its last one.
    pub(crate) rows: [usize; MR_MAX],
    /// Step 0 of the first panel.
    pub(crate) rhs: *const u32,
    /// From a step of a panel to the next one.
    pub(crate) pitch: usize,
    /// From the first panel to the second.
    pub(crate) next: usize,
    pub(crate) steps: usize,
}

/// What a block starts from.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Start {
    Zero,
    /// The accumulator's own contents.
    Itself,
    /// One row for all, padded to whole panels.
    Row(*const u32),
}

/// The part of the accumulator that a block starts from and goes to.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) acc: *mut u32,
    /// Words from row to row.
    pub(crate) stride: usize,
    pub(crate) start: Start,
    /// Rows, at most the tier's.
    pub(crate) height: usize,
    /// Columns, at most those of the tier's panels.
    pub(crate) width: usize,
}

type Block = [[u32; NR]; MR_MAX];

impl Target {
    /// The columns of panel `j` of this block.
    fn panel(&self, j: usize) -> Target {
        let from = j * NR;
        let start = match self.start {
            Start::Row(row) => Start::Row(row.wrapping_add(from)),
            other => other,
        };
        Target { acc: self.acc.wrapping_add(from), start, width: NR.min(self.width - from), ..*self }
    }

    /// The start values of one panel.
    ///
    /// # Safety
    ///
    /// The target is valid and at most [`NR`] wide.
    #[inline(always)]
    pub(crate) unsafe fn read(&self) -> Block {
        let mut block = [[0; NR]; MR_MAX];
        // SAFETY: `height` rows of `width` words; the start row is padded.
        unsafe {
            match self.start {
                Start::Zero => {}
                Start::Row(row) => block = [row.cast::<[u32; NR]>().read_unaligned(); MR_MAX],
                Start::Itself => {
                    for r in 0..self.height {
                        let row = self.acc.add(r * self.stride);
                        if self.width == NR {
                            block[r] = row.cast::<[u32; NR]>().read_unaligned();
                        } else {
                            std::ptr::copy_nonoverlapping(row, block[r].as_mut_ptr(), self.width);
                        }
                    }
                }
            }
        }
        block
    }

    /// Stores the results of one panel.
    ///
    /// # Safety
    ///
    /// As for [`Target::read`].
    #[inline(always)]
    pub(crate) unsafe fn write(&self, block: &Block) {
        for r in 0..self.height {
            // SAFETY: `height` rows of `width` words.
            unsafe {
                let row = self.acc.add(r * self.stride);
                if self.width == NR {
                    row.cast::<[u32; NR]>().write_unaligned(block[r]);
                } else {
                    std::ptr::copy_nonoverlapping(block[r].as_ptr(), row, self.width);
                }
            }
        }
    }

    /// As [`Target::read`], as floats.
    ///
    /// # Safety
    ///
    /// As for [`Target::read`].
    #[inline(always)]
    pub(crate) unsafe fn read_floats(&self) -> [[f32; NR]; MR_MAX] {
        // SAFETY: the caller's promise.
        let bits = unsafe { self.read() };
        let mut block = [[0f32; NR]; MR_MAX];
        for r in 0..MR_MAX {
            for c in 0..NR {
                block[r][c] = f32::from_bits(bits[r][c]);
            }
        }
        block
    }

    /// As [`Target::write`], of floats, whose NaNs become canonical.
    ///
    /// # Safety
    ///
    /// As for [`Target::read`].
    #[inline(always)]
    pub(crate) unsafe fn write_floats(&self, block: &[[f32; NR]; MR_MAX]) {
        let mut bits = [[0; NR]; MR_MAX];
        for r in 0..MR_MAX {
            for c in 0..NR {
                bits[r][c] = float::canonical(block[r][c]).to_bits();
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.write(&bits) }
    }
}

/// # Safety
///
/// The methods may only be called where the features of the implementation are present, with a panel and a target that
/// cover what they say. Operands and target share no bytes.
pub(crate) trait Inner {
    /// Rows of an inner block: at most [`MR_MAX`].
    const MR: usize = 4;
    /// Panels of an inner block: 1 or 2.
    const PANELS: usize = 1;

    /// f32: `s = fma(lhs[r, p], rhs[p, c], s)` over the steps p in order, from the target's start.
    #[inline(always)]
    unsafe fn fma(p: &Panel, t: &Target) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut block = t.read_floats();
            chain::<0, 1>(p, Self::MR, 0, p.steps, &mut block);
            t.write_floats(&block);
        }
    }

    /// The 16-bit order, on words that are f32: for each 32 steps, an even and an odd chain from zero, added to each other
    /// and then to the sum. With `FLUSH`, subnormal values of the sum become zeros of their sign, before and after each
    /// addition; sums of normal numbers that are subnormal are exact, so this is what flushing hardware does.
    #[inline(always)]
    unsafe fn fma_blocks<const FLUSH: bool>(p: &Panel, t: &Target) {
        let flushed = |x: f32| if FLUSH { flush(x) } else { x };
        // SAFETY: the caller's promise.
        unsafe {
            let mut block = t.read_floats();
            for row in &mut block {
                for x in row {
                    *x = flushed(*x);
                }
            }
            for from in (0..p.steps).step_by(K_BLOCK) {
                let to = p.steps.min(from + K_BLOCK);
                let (mut even, mut odd) = ([[0f32; NR]; MR_MAX], [[0f32; NR]; MR_MAX]);
                chain::<0, 2>(p, Self::MR, from, to, &mut even);
                chain::<1, 2>(p, Self::MR, from, to, &mut odd);
                for r in 0..Self::MR {
                    for c in 0..NR {
                        block[r][c] = flushed(block[r][c] + (even[r][c] + odd[r][c]));
                    }
                }
            }
            t.write_floats(&block);
        }
    }

    /// `cpu-compat`: one chain from zero, then added to the start, if there is one.
    #[inline(always)]
    unsafe fn fma_apart(p: &Panel, t: &Target) {
        for j in 0..t.width.div_ceil(NR) {
            let t = t.panel(j);
            let p = Panel { rhs: p.rhs.wrapping_add(j * p.next), ..*p };
            // SAFETY: the caller's promise, for one panel.
            unsafe {
                let mut block = [[0f32; NR]; MR_MAX];
                chain::<0, 1>(&p, Self::MR, 0, p.steps, &mut block);
                if t.start != Start::Zero {
                    let start = t.read_floats();
                    for r in 0..Self::MR {
                        for c in 0..NR {
                            block[r][c] += start[r][c];
                        }
                    }
                }
                t.write_floats(&block);
            }
        }
    }

    /// `s += low(lhs)·low(rhs) + high(lhs)·high(rhs)` over the steps; words are pairs of i16 that hold i8 values; wrapping.
    #[inline(always)]
    unsafe fn multiply_pairs(p: &Panel, t: &Target) {
        let halves = |w: u32| (w as i16 as i32, (w >> 16) as i16 as i32);
        // SAFETY: the caller's promise.
        unsafe {
            let mut block = t.read();
            for step in 0..p.steps {
                for r in 0..Self::MR {
                    let (a, b) = halves(p.lhs.add(p.rows[r] + step).read_unaligned());
                    for c in 0..NR {
                        let (x, y) = halves(p.rhs.add(step * p.pitch + c).read_unaligned());
                        block[r][c] = block[r][c].wrapping_add((a * x + b * y) as u32);
                    }
                }
            }
            t.write(&block);
        }
    }
}

/// `block[r][c] = fma(lhs[r, p], rhs[p, c], block[r][c])` for p = from + FIRST, from + FIRST + STRIDE, … below `to`, r < mr.
///
/// # Safety
///
/// The panel covers its steps.
#[inline(always)]
unsafe fn chain<const FIRST: usize, const STRIDE: usize>(
    p: &Panel,
    mr: usize,
    from: usize,
    to: usize,
    block: &mut [[f32; NR]; MR_MAX],
) {
    let mut step = from + FIRST;
    while step < to {
        for r in 0..mr {
            // SAFETY: the caller's promise.
            let x = f32::from_bits(unsafe { p.lhs.add(p.rows[r] + step).read_unaligned() });
            for c in 0..NR {
                // SAFETY: the caller's promise.
                let y = f32::from_bits(unsafe { p.rhs.add(step * p.pitch + c).read_unaligned() });
                block[r][c] = x.mul_add(y, block[r][c]);
            }
        }
        step += STRIDE;
    }
}
