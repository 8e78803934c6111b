//! Row and column reductions, in a stated order.
//!
//! The order is a function of operation, element type, profile and the valid extent of the reduced axis only (semantics
//! rule 7); never of layout, padding or the other axis. Domain: the source's valid region; the result has one column
//! (`dst[i, 0]`) or one row (`dst[0, j]`).
//!
//! **Sums along a row of W elements**, L = 256 ÷ element size lanes, every addition rounded to the element type (f16 sums
//! stay f16):
//!
//! * `a2a3` (`isa.md` §2.5): if W ≤ L, the pair tree over the W elements. Else t = the first L elements, plus the second
//!   L if they are all there; then the tail of W mod L elements is added to the low lanes; then the third, fourth, … full L;
//!   then the pair tree over the L lanes.
//! * `a5` (`isa.md` §7, "tree per 256-B register"): each group of L elements, the last one possibly shorter, by the pair
//!   tree; the groups' sums are added from the first to the last.
//! * `cpu-compat`: left to right; f16 and bf16 in f32, rounded once at the end.
//!
//! The *pair tree* adds neighbours (0 and 1, 2 and 3, …) and repeats; an odd last element moves up as it is.
//!
//! **Sums down a column**: top to bottom, rounded to the element type at every step, in all profiles.
//!
//! **Max and min** have one result in any order: NaN propagates and −0 < +0. `cpu-compat`: the C++ chain from the first
//! element on, `acc < x ? x : acc`, so NaN shows only if it comes first.
//!
//! A row sum of no columns is 0 (`dsl.md` §0); other reductions of an empty axis do nothing.

use std::marker::PhantomData;

use dtype::Profile;

use crate::elementwise::{Add, Max, Min, Op2, StdMax, StdMin, same_types};
use crate::number::{BF16, F16, Float, Number, with_number};
use crate::plane::{self, Layout};
use crate::simd::Simd;
use crate::tier::{Kernel, dispatch};
use crate::{Fault, Tile};

/// How a row or a column becomes one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Reduce {
    Sum,
    Max,
    Min,
}

const TYPES: &str = "every type but i1";

/// `dst[i, 0] = reduce over j of src[i, j]`.
pub fn row_reduce(mem: &mut [u8], op: Reduce, dst: &Tile, src: &Tile, profile: Profile) -> Result<(), Fault> {
    let (rows, cols) = (src.valid_rows, src.valid_cols);
    same_types("a row reduction", &[dst, src])?;
    src.check_region("source", mem.len(), rows, cols)?;
    dst.check_region("destination", mem.len(), rows, 1)?;
    if rows == 0 {
        return Ok(());
    }
    if cols == 0 {
        let column = dst.with_valid(rows, 1);
        let zero = dtype::Scalar::new(dst.dtype, 0);
        return if op == Reduce::Sum { crate::fill(mem, &column, zero) } else { Ok(()) };
    }
    let source = plane::source(mem, src, (rows, cols), dst, (rows, 1), false);
    let d = Layout::tile(mem.as_mut_ptr(), dst);
    let n = cols as usize;
    // Rows that do not lie element after element are gathered first.
    let size = src.dtype.size();
    let mut gathered = Vec::new();
    let dense = src.order == crate::Order::RowMajor;
    if !dense {
        gathered.resize(n * size, 0u8);
    }
    for r in 0..rows as usize {
        let row = if dense {
            source.layout.at(r, 0).ptr
        } else {
            let line = Layout::strided(gathered.as_mut_ptr(), 0, size as isize);
            crate::copy::move_layouts((1, cols), line, source.layout.from_row(r), size);
            gathered.as_mut_ptr()
        };
        let out = d.at(r, 0).ptr;
        with_number!(src.dtype, T => {
            // SAFETY: `n` elements at `row` and one at `out`, both checked.
            unsafe { reduce_row::<T>(op, row.cast(), n, out.cast(), profile) }
        }, _ => return Err(Fault::dtype("a row reduction", &[src.dtype], TYPES)));
    }
    Ok(())
}

/// `dst[0, j] = reduce over i of src[i, j]`.
pub fn col_reduce(mem: &mut [u8], op: Reduce, dst: &Tile, src: &Tile, profile: Profile) -> Result<(), Fault> {
    let (rows, cols) = (src.valid_rows, src.valid_cols);
    same_types("a column reduction", &[dst, src])?;
    src.check_region("source", mem.len(), rows, cols)?;
    dst.check_region("destination", mem.len(), 1, cols)?;
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let source = plane::source(mem, src, (rows, cols), dst, (1, cols), false);
    let d = Layout::tile(mem.as_mut_ptr(), dst);
    let compat = profile == Profile::CpuCompat;
    let size = src.dtype.size();
    // The running row, apart from both tiles: the destination may be in any order.
    let mut running = vec![0u8; cols as usize * size];
    let acc = Layout::strided(running.as_mut_ptr(), 0, size as isize);
    crate::copy::move_layouts((1, cols), acc, source.layout, size);
    macro_rules! run {
        ($t:ty, $f:ident) => {
            for r in 1..rows as usize {
                plane::for_each(1, cols as usize, &[acc, source.layout.from_row(r)], |_, n, [a, s]| {
                    // SAFETY: `n` elements of the running row and of row `r`, which share nothing.
                    unsafe {
                        dispatch(Accumulate::<$t, $f> {
                            n,
                            acc: a.ptr.cast(),
                            src: s.ptr,
                            stride: s.cs,
                            marker: PhantomData,
                        })
                    }
                })
            }
        };
    }
    with_number!(src.dtype, T => match (op, compat) {
        (Reduce::Sum, _) => run!(T, Add),
        (Reduce::Max, false) => run!(T, Max),
        (Reduce::Min, false) => run!(T, Min),
        (Reduce::Max, true) => run!(T, StdMax),
        (Reduce::Min, true) => run!(T, StdMin),
    }, _ => return Err(Fault::dtype("a column reduction", &[src.dtype], TYPES)));
    if rows == 1 {
        // A lone NaN went through no operation.
        with_number!(src.dtype, T => for e in running.chunks_exact_mut(size) {
            let p = e.as_mut_ptr().cast::<T>();
            // SAFETY: `e` holds one element.
            unsafe { p.write_unaligned(p.read_unaligned().canonical()) }
        }, _ => {});
    }
    crate::copy::move_layouts((1, cols), d, acc, size);
    Ok(())
}

struct Accumulate<T, O> {
    n: usize,
    acc: *mut T,
    src: *mut u8,
    stride: isize,
    marker: PhantomData<O>,
}

impl<T: Number, O: Op2<T>> Kernel for Accumulate<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// `n` elements at both addresses, sharing nothing.
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const N: usize = 32;
        let mut c = 0;
        // SAFETY: below `n`.
        unsafe {
            if self.stride == size_of::<T>() as isize {
                let src = self.src.cast::<T>();
                while c + N <= self.n {
                    let mut x = self.acc.add(c).cast::<[T; N]>().read_unaligned();
                    let y = src.add(c).cast::<[T; N]>().read_unaligned();
                    for k in 0..N {
                        x[k] = O::f(x[k], y[k]);
                    }
                    self.acc.add(c).cast::<[T; N]>().write_unaligned(x);
                    c += N;
                }
            }
            while c < self.n {
                let p = self.acc.add(c);
                let y = self.src.offset(c as isize * self.stride).cast::<T>().read_unaligned();
                p.write_unaligned(O::f(p.read_unaligned(), y));
                c += 1;
            }
        }
    }
}

/// # Safety
///
/// `n` ≥ 1 elements at `row`, one at `out`.
unsafe fn reduce_row<T: Summand>(op: Reduce, row: *const T, n: usize, out: *mut T, profile: Profile) {
    macro_rules! fold {
        ($f:ident) => {
            // SAFETY: the caller's promise.
            unsafe { dispatch(FoldRow::<T, $f> { row, n, out, marker: PhantomData }) }
        };
    }
    match (op, profile) {
        // SAFETY: the caller's promise.
        (Reduce::Sum, _) => unsafe { dispatch(SumRow { row, n, out, profile }) },
        (Reduce::Max, Profile::CpuCompat) => fold!(StdMax),
        (Reduce::Min, Profile::CpuCompat) => fold!(StdMin),
        (Reduce::Max, _) => fold!(Max),
        (Reduce::Min, _) => fold!(Min),
    }
}

/// Max and min. The chain of `cpu-compat` is not associative; the others are, so lanes may run in parallel.
struct FoldRow<T, O> {
    row: *const T,
    n: usize,
    out: *mut T,
    marker: PhantomData<O>,
}

trait Associative {
    const YES: bool;
}
impl Associative for Max {
    const YES: bool = true;
}
impl Associative for Min {
    const YES: bool = true;
}
impl Associative for StdMax {
    const YES: bool = false;
}
impl Associative for StdMin {
    const YES: bool = false;
}

impl<T: Number, O: Op2<T> + Associative> Kernel for FoldRow<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`reduce_row`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const N: usize = 32;
        let mut c = 1;
        // SAFETY: below `n`.
        unsafe {
            let mut acc = self.row.read_unaligned();
            if O::YES && self.n >= N {
                let mut lanes = self.row.cast::<[T; N]>().read_unaligned();
                c = N;
                while c + N <= self.n {
                    let x = self.row.add(c).cast::<[T; N]>().read_unaligned();
                    for k in 0..N {
                        lanes[k] = O::f(lanes[k], x[k]);
                    }
                    c += N;
                }
                let mut width = N / 2;
                while width > 0 {
                    for k in 0..width {
                        lanes[k] = O::f(lanes[k], lanes[k + width]);
                    }
                    width /= 2;
                }
                acc = lanes[0];
            }
            while c < self.n {
                acc = O::f(acc, self.row.add(c).read_unaligned());
                c += 1;
            }
            self.out.write_unaligned(acc.canonical());
        }
    }
}

/// The accumulator of `cpu-compat`.
trait Summand: Number {
    /// Left to right in the model's accumulator, rounded at the end.
    ///
    /// # Safety
    ///
    /// `n` elements at `row`.
    unsafe fn sequential(row: *const Self, n: usize) -> Self;
}

macro_rules! in_own_type {
    ($($t:ty),*) => {$(
        impl Summand for $t {
            #[inline(always)]
            unsafe fn sequential(row: *const Self, n: usize) -> Self {
                // SAFETY: the caller's promise.
                unsafe {
                    let mut acc = row.read_unaligned();
                    for k in 1..n {
                        acc = Number::add(acc, row.add(k).read_unaligned());
                    }
                    Number::add(acc, Self::ZERO)
                }
            }
        }
    )*};
}

macro_rules! in_f32 {
    ($($t:ty),*) => {$(
        impl Summand for $t {
            #[inline(always)]
            unsafe fn sequential(row: *const Self, n: usize) -> Self {
                let mut acc = 0f32;
                for k in 0..n {
                    // SAFETY: the caller's promise.
                    acc += unsafe { row.add(k).read_unaligned() }.widen();
                }
                Self::narrow(acc)
            }
        }
    )*};
}

in_own_type!(i8, i16, i32, i64, u8, u16, u32, u64, f32);
in_f32!(F16, BF16);

struct SumRow<T> {
    row: *const T,
    n: usize,
    out: *mut T,
    profile: Profile,
}

/// Lanes of the narrowest type.
const MOST_LANES: usize = 256;

impl<T: Summand> Kernel for SumRow<T> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`reduce_row`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let SumRow { row, n, out, profile } = self;
        let lanes = MOST_LANES / size_of::<T>();
        let mut t = [T::ZERO; MOST_LANES];
        // SAFETY: elements below `n`.
        unsafe {
            let sum = match profile {
                Profile::CpuCompat => T::sequential(row, n),
                Profile::A5 => {
                    let mut total = T::ZERO;
                    let mut c = 0;
                    while c < n {
                        let width = lanes.min(n - c);
                        load(&mut t, row.add(c), width);
                        let group = pair_tree(&mut t, width);
                        total = if c == 0 { group } else { total.add(group) };
                        c += width;
                    }
                    total
                }
                Profile::A2a3 if n <= lanes => {
                    load(&mut t, row, n);
                    pair_tree(&mut t, n)
                }
                Profile::A2a3 => {
                    load(&mut t, row, lanes);
                    let full = n / lanes;
                    if full > 1 {
                        add(&mut t, row.add(lanes), lanes);
                    }
                    add(&mut t, row.add(full * lanes), n % lanes);
                    for block in 2..full {
                        add(&mut t, row.add(block * lanes), lanes);
                    }
                    pair_tree(&mut t, lanes)
                }
            };
            // A lone NaN went through no addition.
            out.write_unaligned(sum.canonical());
        }
    }
}

#[inline(always)]
unsafe fn load<T: Number>(t: &mut [T; MOST_LANES], row: *const T, n: usize) {
    for (k, lane) in t.iter_mut().enumerate().take(n) {
        // SAFETY: the caller's promise of `n` elements.
        *lane = unsafe { row.add(k).read_unaligned() };
    }
}

#[inline(always)]
unsafe fn add<T: Number>(t: &mut [T; MOST_LANES], row: *const T, n: usize) {
    for (k, lane) in t.iter_mut().enumerate().take(n) {
        // SAFETY: the caller's promise of `n` elements.
        *lane = lane.add(unsafe { row.add(k).read_unaligned() });
    }
}

/// The sum of the first `n` lanes by neighbours.
#[inline(always)]
fn pair_tree<T: Number>(t: &mut [T; MOST_LANES], n: usize) -> T {
    let mut n = n.clamp(1, MOST_LANES);
    while n > 1 {
        let half = n / 2;
        for k in 0..half {
            t[k] = t[2 * k].add(t[2 * k + 1]);
        }
        if n % 2 == 1 {
            t[half] = t[n - 1];
        }
        n = n.div_ceil(2);
    }
    t[0]
}
