//! f32, bf16 and f16 products.
//!
//! The bf16 flush costs nothing in the common case. Every partial sum is a multiple of the smallest unit that a product
//! of two operands can have, 2^(ea + eb − 14) with ea, eb the least exponents among the non-zero operands; rounding keeps
//! that. If the unit is at least 2^-126, no partial sum can be subnormal, and the plain chains compute the flushed ones.
//! Otherwise a slow loop does, element by element.

use dtype::{DType, Profile, float};

use super::Scratch;
use super::pack::{self, MR, NR, Problem, Widen, ensure, padded};
use crate::plane::{self, Layout};
use crate::tier::{Kernel, dispatch};

#[derive(Clone, Copy)]
struct Bits32(u32);
#[derive(Clone, Copy)]
struct Half(u16);
#[derive(Clone, Copy)]
struct Brain(u16);
/// bf16 whose subnormals become zeros.
#[derive(Clone, Copy)]
struct BrainFlushed(u16);

impl Widen for Bits32 {
    #[inline(always)]
    fn widen(self) -> u32 {
        self.0
    }
}
impl Widen for Half {
    #[inline(always)]
    fn widen(self) -> u32 {
        float::f16_to_f32(self.0).to_bits()
    }
}
impl Widen for Brain {
    #[inline(always)]
    fn widen(self) -> u32 {
        (self.0 as u32) << 16
    }
}
impl Widen for BrainFlushed {
    #[inline(always)]
    fn widen(self) -> u32 {
        let bits = (self.0 as u32) << 16;
        if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
    }
}

/// The columns of a block of the 16-bit order.
const BLOCK: usize = 32;

#[derive(Clone, Copy, PartialEq)]
enum Chain {
    /// One chain from the start value.
    Straight,
    /// Blocks of 32, even and odd chains.
    Blocks { flush: bool },
    /// One chain from zero, then added to the start value.
    Compat { zero: bool },
}

/// # Safety
///
/// The layouts are valid over the problem's extents, `start` over m × n f32 elements.
pub(super) unsafe fn run(
    p: &Problem,
    scratch: &mut Scratch,
    start: Option<Layout>,
    dtype: DType,
    profile: Profile,
) {
    let chain = match (profile, dtype) {
        (Profile::CpuCompat, _) => Chain::Compat { zero: start.is_none() },
        (_, DType::F32) => Chain::Straight,
        (_, d) => Chain::Blocks { flush: d == DType::BF16 },
    };
    let (rows, cols) = (padded(p.m, MR), padded(p.n, NR));
    ensure(&mut scratch.lhs, rows * p.k);
    ensure(&mut scratch.rhs, cols * p.k);
    ensure(&mut scratch.acc, rows * cols);
    let (lhs, rhs) = (&mut scratch.lhs[..rows * p.k], &mut scratch.rhs[..cols * p.k]);
    let acc = &mut scratch.acc[..rows * cols];
    let flush = chain == Chain::Blocks { flush: true };
    // SAFETY: the caller's promise about the operands; the slices have the packed sizes.
    unsafe {
        match (dtype, flush) {
            (DType::F32, _) => dispatch(Pack::<Bits32>::new(p, lhs, rhs)),
            (DType::F16, _) => dispatch(Pack::<Half>::new(p, lhs, rhs)),
            (_, false) => dispatch(Pack::<Brain>::new(p, lhs, rhs)),
            (_, true) => dispatch(Pack::<BrainFlushed>::new(p, lhs, rhs)),
        }
    }
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
    if flush && !sums_stay_normal(lhs, rhs) {
        slow_flushed(p, lhs, rhs, acc, cols);
        return;
    }
    // SAFETY: the slices have the packed sizes.
    unsafe { dispatch(Multiply { m: p.m, k: p.k, cols, lhs, rhs, acc, chain }) }
}

struct Pack<'a, T> {
    problem: &'a Problem,
    lhs: &'a mut [u32],
    rhs: &'a mut [u32],
    marker: std::marker::PhantomData<T>,
}

impl<'a, T> Pack<'a, T> {
    fn new(problem: &'a Problem, lhs: &'a mut [u32], rhs: &'a mut [u32]) -> Pack<'a, T> {
        Pack { problem, lhs, rhs, marker: std::marker::PhantomData }
    }
}

impl<T: Widen> Kernel for Pack<'_, T> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`run`].
    #[inline(always)]
    unsafe fn run(self) {
        let p = self.problem;
        // SAFETY: the caller's promise.
        unsafe {
            pack::panels::<T>(p.lhs, p.m, p.k, true, MR, self.lhs);
            pack::panels::<T>(p.rhs, p.n, p.k, false, NR, self.rhs);
        }
    }
}

struct Multiply<'a> {
    m: usize,
    k: usize,
    /// Padded.
    cols: usize,
    lhs: &'a [u32],
    rhs: &'a [u32],
    acc: &'a mut [u32],
    chain: Chain,
}

type Block = [[f32; NR]; MR];

impl Kernel for Multiply<'_> {
    type Output = ();

    /// # Safety
    ///
    /// None; the slices bound everything.
    #[inline(always)]
    unsafe fn run(self) {
        let k = self.k;
        for (i, a) in self.lhs.chunks_exact(MR * k).enumerate() {
            for (j, b) in self.rhs.chunks_exact(NR * k).enumerate() {
                let at = i * MR * self.cols + j * NR;
                let mut c = [[0f32; NR]; MR];
                for r in 0..MR {
                    let row = &self.acc[at + r * self.cols..][..NR];
                    for x in 0..NR {
                        c[r][x] = f32::from_bits(row[x]);
                    }
                }
                let c = match self.chain {
                    Chain::Straight => straight::<1>(a, b, 0, k, c),
                    Chain::Blocks { flush } => blocks(a, b, k, c, flush),
                    Chain::Compat { zero } => {
                        let chain = straight::<1>(a, b, 0, k, [[0.0; NR]; MR]);
                        if zero { chain } else { sum(c, chain) }
                    }
                };
                let rows = MR.min(self.m - i * MR);
                for r in 0..rows {
                    let row = &mut self.acc[at + r * self.cols..][..NR];
                    for x in 0..NR {
                        row[x] = float::canonical(c[r][x]).to_bits();
                    }
                }
            }
        }
    }
}

/// Steps `from, from + STEP, …` below `to` of one chain.
#[inline(always)]
fn straight<const STEP: usize>(a: &[u32], b: &[u32], from: usize, to: usize, mut c: Block) -> Block {
    let mut p = from;
    while p < to {
        let av = &a[p * MR..][..MR];
        let bv = &b[p * NR..][..NR];
        for r in 0..MR {
            let x = f32::from_bits(av[r]);
            for y in 0..NR {
                c[r][y] = x.mul_add(f32::from_bits(bv[y]), c[r][y]);
            }
        }
        p += STEP;
    }
    c
}

#[inline(always)]
fn sum(mut x: Block, y: Block) -> Block {
    for r in 0..MR {
        for c in 0..NR {
            x[r][c] += y[r][c];
        }
    }
    x
}

/// Sums of normal numbers that are subnormal are exact: flushing afterwards is what flushing hardware does.
#[inline(always)]
fn flushed(mut x: Block) -> Block {
    for row in &mut x {
        for e in row {
            *e = flush(*e);
        }
    }
    x
}

#[inline(always)]
fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

#[inline(always)]
fn blocks(a: &[u32], b: &[u32], k: usize, mut c: Block, flush: bool) -> Block {
    if flush {
        c = flushed(c);
    }
    let mut p = 0;
    while p < k {
        let end = k.min(p + BLOCK);
        let even = straight::<2>(a, b, p, end, [[0.0; NR]; MR]);
        let odd = straight::<2>(a, b, p + 1, end, [[0.0; NR]; MR]);
        c = sum(c, sum(even, odd));
        if flush {
            c = flushed(c);
        }
        p = end;
    }
    c
}

/// Whether no partial sum of products can be subnormal; see the module's head.
fn sums_stay_normal(lhs: &[u32], rhs: &[u32]) -> bool {
    let least = |v: &[u32]| v.iter().fold(255, |e, &x| e.min(if x << 1 == 0 { 255 } else { (x >> 23) & 0xff }));
    // Exponent fields; products of 8-bit significands have their last bit 14 below the sum of the exponents.
    (least(lhs) as i32 - 127) + (least(rhs) as i32 - 127) - 14 >= -126
}

/// The flushed order element by element.
fn slow_flushed(p: &Problem, lhs: &[u32], rhs: &[u32], acc: &mut [u32], cols: usize) {
    let value = |v: u32| f32::from_bits(v);
    for i in 0..p.m {
        for j in 0..p.n {
            let a = |s: usize| value(lhs[i / MR * MR * p.k + s * MR + i % MR]);
            let b = |s: usize| value(rhs[j / NR * NR * p.k + s * NR + j % NR]);
            let at = i * cols + j;
            let mut c = flush(value(acc[at]));
            for block in (0..p.k).step_by(BLOCK) {
                let end = p.k.min(block + BLOCK);
                let chain = |first: usize| (first..end).step_by(2).fold(0f32, |s, q| fma_flushed(a(q), b(q), s));
                c = flush(c + flush(chain(block) + chain(block + 1)));
            }
            acc[at] = float::canonical(c).to_bits();
        }
    }
}

/// `a·b + c` rounded, zero of its sign if tiny *after rounding to 24 bits*: a sum just below 2^-126 that only the coarser
/// unit of subnormals rounds up to it is tiny.
fn fma_flushed(a: f32, b: f32, c: f32) -> f32 {
    let r = a.mul_add(b, c);
    if r.abs() != f32::MIN_POSITIVE {
        return flush(r);
    }
    // a·b is exact in f64, and two-sum recovers what the addition lost.
    let (x, y) = (a as f64 * b as f64, c as f64);
    let s = x + y;
    let v = s - x;
    let lost = (x - (s - v)) + (y - v);
    let limit = f32::MIN_POSITIVE as f64 - 2f64.powi(-151);
    let (s, lost) = if s < 0.0 { (-s, -lost) } else { (s, lost) };
    let tiny = s < limit || (s == limit && lost < 0.0);
    if tiny { 0f32.copysign(r) } else { r }
}
