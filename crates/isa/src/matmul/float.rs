//! f32, bf16 and f16 products.
//!
//! The bf16 flush costs nothing in the common case. Every partial sum is a multiple of the smallest unit that a product
//! of two operands can have, 2^(ea + eb − 14) with ea, eb the least exponents among the non-zero operands; rounding keeps
//! that. If the unit is at least 2^-126, no partial sum can be subnormal, and the plain chains compute the flushed ones.
//! Otherwise a slow loop does, element by element.

use dtype::{DType, Profile, float};

use super::blocks::{self, Output, Packed, Rhs, Step};
use super::inner::{Inner, K_BLOCK, NR, Panel, Start, Target};
use super::pack::{self, Problem, Widen};
use crate::simd::{Simd, flush};
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

    #[inline(always)]
    unsafe fn panel<S: Simd>(to: *mut u32, from: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[u32; NR]>().write_unaligned(from.cast::<[u32; NR]>().read_unaligned()) }
    }
}
impl Widen for Half {
    #[inline(always)]
    fn widen(self) -> u32 {
        float::f16_to_f32(self.0).to_bits()
    }

    #[inline(always)]
    unsafe fn panel<S: Simd>(to: *mut u32, from: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { S::widen_f16(to.cast(), from.cast()) }
    }
}
impl Widen for Brain {
    #[inline(always)]
    fn widen(self) -> u32 {
        (self.0 as u32) << 16
    }

    #[inline(always)]
    unsafe fn panel<S: Simd>(to: *mut u32, from: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { S::widen_bf16::<false>(to.cast(), from.cast()) }
    }
}
impl Widen for BrainFlushed {
    #[inline(always)]
    fn widen(self) -> u32 {
        let bits = (self.0 as u32) << 16;
        if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
    }

    #[inline(always)]
    unsafe fn panel<S: Simd>(to: *mut u32, from: *const Self) {
        // SAFETY: the caller's promise.
        unsafe { S::widen_bf16::<true>(to.cast(), from.cast()) }
    }
}

/// Operands that are read where they are: address, words from row to row.
#[derive(Clone, Copy, Default)]
pub(super) struct Direct {
    pub(super) lhs: Option<(*const u32, usize)>,
    pub(super) rhs: Option<(*const u32, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Chain {
    /// One chain from the start value.
    Straight,
    /// Blocks of 32, even and odd chains.
    Blocks { flush: bool },
    /// One chain from zero, then added to the start value.
    Compat,
}

/// # Safety
///
/// The layouts are valid over the problem's extents; `lhs` and `rhs` have room for the packed operands; the output is
/// valid. `direct` are operands in place, (address, words from row to row): f32, row-major, apart from the accumulator, the
/// right one in whole panels.
pub(super) unsafe fn run(
    p: &Problem,
    (lhs, rhs): (&mut [u32], &mut [u32]),
    direct: Direct,
    out: Output,
    dtype: DType,
    profile: Profile,
) {
    let chain = match (profile, dtype) {
        (Profile::CpuCompat, _) => Chain::Compat,
        (_, DType::F32) => Chain::Straight,
        (_, d) => Chain::Blocks { flush: d == DType::BF16 },
    };
    let flush = chain == Chain::Blocks { flush: true };
    let copy = [direct.lhs.is_none(), direct.rhs.is_none()];
    // SAFETY: the caller's promise about the operands; the slices have the packed sizes.
    unsafe {
        match (dtype, flush) {
            (DType::F32, _) => dispatch(Pack::<Bits32>::new(p, copy, lhs, rhs)),
            (DType::F16, _) => dispatch(Pack::<Half>::new(p, copy, lhs, rhs)),
            (_, false) => dispatch(Pack::<Brain>::new(p, copy, lhs, rhs)),
            (_, true) => dispatch(Pack::<BrainFlushed>::new(p, copy, lhs, rhs)),
        }
    }
    let normal = !flush || sums_stay_normal(&lhs[..p.m * p.k], &rhs[..pack::padded(p.n) * p.k]);
    let (lhs, lhs_stride) = direct.lhs.unwrap_or((lhs.as_ptr(), p.k));
    let rhs = direct.rhs.map_or(Rhs::packed(rhs, p.k), |(words, pitch)| Rhs::in_place(words, pitch));
    let packed = Packed { m: p.m, n: p.n, steps: p.k, lhs, lhs_stride, rhs };
    // SAFETY: the operands are packed, the output is the caller's promise.
    unsafe {
        if normal {
            dispatch(Multiply { packed, out, chain });
        } else {
            slow_flushed(&packed, &out);
        }
    }
}

struct Pack<'a, T> {
    problem: &'a Problem,
    /// Which operands to copy: left, right.
    copy: [bool; 2],
    lhs: &'a mut [u32],
    rhs: &'a mut [u32],
    marker: std::marker::PhantomData<T>,
}

impl<'a, T> Pack<'a, T> {
    fn new(problem: &'a Problem, copy: [bool; 2], lhs: &'a mut [u32], rhs: &'a mut [u32]) -> Pack<'a, T> {
        Pack { problem, copy, lhs, rhs, marker: std::marker::PhantomData }
    }
}

impl<T: Widen> Kernel for Pack<'_, T> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`run`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let p = self.problem;
        // SAFETY: the caller's promise.
        unsafe {
            if self.copy[0] {
                pack::rows::<S, T>(p.lhs, p.m, p.k, self.lhs);
            }
            if self.copy[1] {
                pack::panels::<S, T>(p.rhs, p.k, p.n, self.rhs);
            }
        }
    }
}

struct Multiply {
    packed: Packed,
    out: Output,
    chain: Chain,
}

impl Kernel for Multiply {
    type Output = ();

    /// # Safety
    ///
    /// As for [`blocks::each`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Multiply { packed, out, chain } = self;
        // SAFETY: the caller's promise; the panels that `each` makes cover all steps.
        unsafe {
            match chain {
                Chain::Straight => blocks::each::<S>(&packed, &out, &Straight),
                Chain::Blocks { flush: true } => blocks::each::<S>(&packed, &out, &Blocks::<true>),
                Chain::Blocks { flush: false } => blocks::each::<S>(&packed, &out, &Blocks::<false>),
                Chain::Compat => blocks::each::<S>(&packed, &out, &Compat),
            }
        }
    }
}

struct Straight;
struct Blocks<const FLUSH: bool>;
struct Compat;

impl<I: Inner> Step<I> for Straight {
    #[inline(always)]
    unsafe fn block(&self, p: &Panel, t: &Target, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { I::fma(p, t) }
    }
}

impl<I: Inner, const FLUSH: bool> Step<I> for Blocks<FLUSH> {
    #[inline(always)]
    unsafe fn block(&self, p: &Panel, t: &Target, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { I::fma_blocks::<FLUSH>(p, t) }
    }
}

impl<I: Inner> Step<I> for Compat {
    #[inline(always)]
    unsafe fn block(&self, p: &Panel, t: &Target, _: usize) {
        // SAFETY: the caller's promise.
        unsafe { I::fma_apart(p, t) }
    }
}

/// The exponent field of the least non-zero magnitude, shifted into place, minus 1; `u32::MAX` if all are zero.
struct LeastExponent<'a>(&'a [u32]);

impl Kernel for LeastExponent<'_> {
    type Output = u32;

    /// # Safety
    ///
    /// None.
    #[inline(always)]
    unsafe fn run<S: Simd>(self) -> u32 {
        // Zeros wrap to the greatest value.
        self.0.iter().fold(u32::MAX, |least, &w| least.min((w & 0x7f80_0000).wrapping_sub(1)))
    }
}

/// Whether no partial sum of products can be subnormal; see the module's head. The operands hold no subnormals.
fn sums_stay_normal(lhs: &[u32], rhs: &[u32]) -> bool {
    // SAFETY: the kernel reads its slice only.
    let least = |v| unsafe { dispatch(LeastExponent(v)) };
    let (a, b) = (least(lhs), least(rhs));
    if a == u32::MAX || b == u32::MAX {
        return true; // every product is a zero
    }
    let exponent = |least: u32| (least.wrapping_add(1) >> 23) as i32 - 127;
    // Products of 8-bit significands have their last bit 14 below the sum of the exponents.
    exponent(a) + exponent(b) - 14 >= -126
}

/// The flushed order element by element.
///
/// # Safety
///
/// As for [`blocks::each`].
unsafe fn slow_flushed(p: &Packed, out: &Output) {
    for i in 0..p.m {
        for j in 0..p.n {
            // SAFETY: inside the packed operands.
            let (a, b) = unsafe { (p.lhs.add(i * p.lhs_stride), p.rhs.words.add(j / NR * p.rhs.next + j % NR)) };
            // SAFETY: step `s` of both.
            let product = |sum: f32, s: usize| unsafe {
                fma_flushed(f32::from_bits(*a.add(s)), f32::from_bits(*b.add(s * p.rhs.pitch)), sum)
            };
            let at = out.acc.wrapping_add(i * out.stride + j);
            let start = match out.start {
                Start::Zero => 0,
                // SAFETY: element (i, j) of the accumulator.
                Start::Itself => unsafe { at.read_unaligned() },
                // SAFETY: element j of the start row.
                Start::Row(row) => unsafe { row.add(j).read_unaligned() },
            };
            let mut c = flush(f32::from_bits(start));
            for block in (0..p.steps).step_by(K_BLOCK) {
                let end = p.steps.min(block + K_BLOCK);
                let chain = |first: usize| (first..end).step_by(2).fold(0f32, product);
                c = flush(c + flush(chain(block) + chain(block + 1)));
            }
            // SAFETY: element (i, j) of the accumulator.
            unsafe { at.write_unaligned(float::canonical(c).to_bits()) };
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
