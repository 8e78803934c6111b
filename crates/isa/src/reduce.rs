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
//! **Products along a row**, L = 32 ÷ element size lanes (`isa.md` §2.5, "block-wise"), every multiplication rounded to the
//! element type: lane l is the product of the elements l, l + L, l + 2L, … from left to right, and the lanes (of which a row
//! shorter than L has fewer) are multiplied from the first to the last. `cpu-compat`: as its sum.
//!
//! The *pair tree* adds neighbours (0 and 1, 2 and 3, …) and repeats; an odd last element moves up as it is.
//!
//! **Sums and products down a column**: top to bottom, rounded to the element type at every step, in all profiles.
//!
//! **Max and min** have one result in any order: NaN propagates and −0 < +0. `cpu-compat`: the C++ chain from the first
//! element on, `acc < x ? x : acc`, so NaN shows only if it comes first.
//!
//! A row sum of no columns is 0 (`dsl.md` §0), and so a row product of none is 1; other reductions of an empty axis do
//! nothing.
//!
//! **The place of the largest or smallest element**: the first one that is greater (less) than all before it, by IEEE
//! comparison: the first of equals, −0 equal to +0, and NaN only where it comes first. In all profiles; of an empty axis,
//! nothing.

mod arg;

use std::marker::PhantomData;

use dtype::{Profile, Scalar};

use crate::elementwise::{Add, Max, Min, Mul, Op2, StdMax, StdMin, same_types};
use crate::number::{BF16, F16, Float, Number, with_number};
use crate::plane::{self, Arena, Layout, Plane};
use crate::simd::Simd;
use crate::tier::{Kernel, dispatch};
use crate::{Fault, Tile};

pub(crate) use arg::check as check_arg;
pub use arg::{Arg, arg_reduce_cols, arg_reduce_rows};

/// How a row or a column becomes one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Reduce {
    Sum,
    Prod,
    Max,
    Min,
}

const TYPES: &str = "every type but i1";

impl Reduce {
    /// What a row of no elements gives, if anything.
    pub(crate) fn of_nothing(self) -> Option<i64> {
        match self {
            Reduce::Sum => Some(0),
            Reduce::Prod => Some(1),
            Reduce::Max | Reduce::Min => None,
        }
    }
}

/// `dst[i, 0] = reduce over j of src[i, j]`.
pub fn row_reduce(mem: &mut [u8], op: Reduce, dst: &Tile, src: &Tile, profile: Profile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let (rows, cols) = (src.valid_rows, src.valid_cols);
    same_types("a row reduction", &[dst, src])?;
    src.check_region("source", mem.len(), rows, cols)?;
    dst.check_region("destination", mem.len(), rows, 1)?;
    if rows == 0 {
        return Ok(());
    }
    if cols == 0 {
        if let Some(value) = op.of_nothing() {
            let mut bytes = Scalar::from_i64(dst.dtype, value).to_le_bytes();
            crate::copy::move_elements(mem, dst, (rows, 1), Layout::strided(bytes.as_mut_ptr(), 0, 0));
        }
        return Ok(());
    }
    let source = plane::source(mem, src, (rows, cols), dst, (rows, 1), false);
    let d = mem.layout(dst);
    // Rows that do not lie element after element are gathered first.
    let mut gathered = Vec::new();
    let dense = plane::in_rows(source.layout, (rows, cols), src.dtype.size(), &mut gathered);
    let mut done = Ok(());
    plane::for_each(rows as usize, 1, &[d, dense], |rows, _, [d, s]| {
        let n = cols as usize;
        with_number!(src.dtype, T => {
            // SAFETY: rows of `n` elements, and one result for each, all checked.
            unsafe { reduce_rows::<T>(op, Rows { rows, n, d, s }, profile) }
        }, _ => done = Err(Fault::dtype("a row reduction", &[src.dtype], TYPES)));
    });
    done
}

/// `dst[0, j] = reduce over i of src[i, j]`.
pub fn col_reduce(mem: &mut [u8], op: Reduce, dst: &Tile, src: &Tile, profile: Profile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let (rows, cols) = (src.valid_rows, src.valid_cols);
    same_types("a column reduction", &[dst, src])?;
    src.check_region("source", mem.len(), rows, cols)?;
    dst.check_region("destination", mem.len(), 1, cols)?;
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let source = plane::source(mem, src, (rows, cols), dst, (1, cols), false);
    let d = mem.layout(dst);
    let compat = profile == Profile::CpuCompat;
    let size = src.dtype.size();
    // The running row, apart from both tiles: the destination may be in any order.
    let mut running = vec![0u8; cols as usize * size];
    let acc = Layout::strided(running.as_mut_ptr(), 0, size as isize);
    crate::copy::move_layouts((1, cols), acc, source.layout, size);
    macro_rules! run {
        ($t:ty, $f:ident) => {
            plane::for_each_from((1, 0), rows as usize - 1, cols as usize, &[acc, source.layout], |rows, n, [a, s]| {
                // SAFETY: `n` elements of the running row and of `rows` rows of the source, which share nothing.
                unsafe { dispatch(Accumulate::<$t, $f> { rows, n, acc: a.ptr.cast(), s, marker: PhantomData }) }
            })
        };
    }
    with_number!(src.dtype, T => match (op, compat) {
        (Reduce::Sum, _) => run!(T, Add),
        (Reduce::Prod, _) => run!(T, Mul),
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
    rows: usize,
    n: usize,
    acc: *mut T,
    s: Plane,
    marker: PhantomData<O>,
}

impl<T: Number, O: Op2<T>> Kernel for Accumulate<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// `n` elements at `acc` and in each row, sharing nothing.
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const N: usize = 32;
        let mut c = 0;
        // SAFETY: below `n`.
        unsafe {
            if self.s.cs == size_of::<T>() as isize {
                while c + N <= self.n {
                    let at = self.acc.add(c).cast::<[T; N]>();
                    let mut x = at.read_unaligned();
                    for r in 0..self.rows {
                        let y = self.s.at(r, c).cast::<[T; N]>().read_unaligned();
                        for k in 0..N {
                            x[k] = O::f(x[k], y[k]);
                        }
                    }
                    at.write_unaligned(x);
                    c += N;
                }
            }
            while c < self.n {
                let p = self.acc.add(c);
                let mut x = p.read_unaligned();
                for r in 0..self.rows {
                    x = O::f(x, self.s.at(r, c).cast::<T>().read_unaligned());
                }
                p.write_unaligned(x);
                c += 1;
            }
        }
    }
}

/// Rows of `n` ≥ 1 elements that lie one after another, and where their results go.
#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    n: usize,
    d: Plane,
    s: Plane,
}

impl Rows {
    /// Calls `f` for every row and stores what it returns.
    ///
    /// # Safety
    ///
    /// The planes are valid.
    #[inline(always)]
    unsafe fn each<T: Number>(self, mut f: impl FnMut(*const T, usize) -> T) {
        for r in 0..self.rows {
            // SAFETY: row `r`.
            unsafe {
                let result = f(self.s.at(r, 0).cast(), self.n);
                // A row of one element went through no operation: its NaN is made canonical here.
                self.d.at(r, 0).cast::<T>().write_unaligned(result.canonical());
            }
        }
    }
}

/// # Safety
///
/// The planes of `rows` are valid and share nothing.
unsafe fn reduce_rows<T: Summand>(op: Reduce, rows: Rows, profile: Profile) {
    macro_rules! fold {
        ($f:ident) => {
            // SAFETY: the caller's promise.
            unsafe { dispatch(FoldRows::<T, $f> { rows, marker: PhantomData }) }
        };
    }
    match (op, profile) {
        // SAFETY: the caller's promise.
        (Reduce::Sum, _) => unsafe { dispatch(SumRows::<T> { rows, profile, marker: PhantomData }) },
        // SAFETY: the caller's promise.
        (Reduce::Prod, _) => unsafe { dispatch(ProductRows::<T> { rows, profile, marker: PhantomData }) },
        (Reduce::Max, Profile::CpuCompat) => fold!(StdMax),
        (Reduce::Min, Profile::CpuCompat) => fold!(StdMin),
        (Reduce::Max, _) => fold!(Max),
        (Reduce::Min, _) => fold!(Min),
    }
}

/// Max and min. The chain of `cpu-compat` is not associative; the others are, so lanes may run in parallel.
struct FoldRows<T, O> {
    rows: Rows,
    marker: PhantomData<(T, O)>,
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

impl<T: Number, O: Op2<T> + Associative> Kernel for FoldRows<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`reduce_rows`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const N: usize = 32;
        // SAFETY: elements below `n`.
        unsafe {
            self.rows.each::<T>(|row, n| {
                let mut acc = row.read_unaligned();
                let mut c = 1;
                if O::YES && n >= N {
                    let mut lanes = row.cast::<[T; N]>().read_unaligned();
                    c = N;
                    while c + N <= n {
                        let x = row.add(c).cast::<[T; N]>().read_unaligned();
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
                while c < n {
                    acc = O::f(acc, row.add(c).read_unaligned());
                    c += 1;
                }
                acc
            });
        }
    }
}

/// An element as a row sum sees it.
trait Summand: Number {
    /// Lanes of a 256-byte register.
    type Lanes: Copy + AsMut<[Self]> + AsRef<[Self]>;

    fn zeros() -> Self::Lanes;

    /// `cpu-compat`: left to right in the model's accumulator, rounded at the end.
    ///
    /// # Safety
    ///
    /// `n` elements at `row`.
    unsafe fn sequential(row: *const Self, n: usize) -> Self;

    /// As [`Summand::sequential`], a product.
    ///
    /// # Safety
    ///
    /// `n` ≥ 1 elements at `row`.
    unsafe fn sequential_product(row: *const Self, n: usize) -> Self;
}

macro_rules! in_own_type {
    ($($t:ty),*) => {$(
        impl Summand for $t {
            type Lanes = [Self; 256 / size_of::<$t>()];

            #[inline(always)]
            fn zeros() -> Self::Lanes {
                [Self::ZERO; 256 / size_of::<$t>()]
            }

            #[inline(always)]
            unsafe fn sequential(row: *const Self, n: usize) -> Self {
                let mut acc = Self::ZERO;
                for k in 0..n {
                    // SAFETY: the caller's promise.
                    acc = Number::add(acc, unsafe { row.add(k).read_unaligned() });
                }
                acc
            }

            #[inline(always)]
            unsafe fn sequential_product(row: *const Self, n: usize) -> Self {
                // SAFETY: the caller's promise.
                let mut acc = unsafe { row.read_unaligned() };
                for k in 1..n {
                    // SAFETY: the caller's promise.
                    acc = Number::mul(acc, unsafe { row.add(k).read_unaligned() });
                }
                acc
            }
        }
    )*};
}

macro_rules! in_f32 {
    ($($t:ty),*) => {$(
        impl Summand for $t {
            type Lanes = [Self; 128];

            #[inline(always)]
            fn zeros() -> Self::Lanes {
                [Self::ZERO; 128]
            }

            #[inline(always)]
            unsafe fn sequential(row: *const Self, n: usize) -> Self {
                let mut acc = 0f32;
                for k in 0..n {
                    // SAFETY: the caller's promise.
                    acc += unsafe { row.add(k).read_unaligned() }.widen();
                }
                Self::narrow(acc)
            }

            #[inline(always)]
            unsafe fn sequential_product(row: *const Self, n: usize) -> Self {
                let mut acc = 1f32;
                for k in 0..n {
                    // SAFETY: the caller's promise.
                    acc *= unsafe { row.add(k).read_unaligned() }.widen();
                }
                Self::narrow(acc)
            }
        }
    )*};
}

in_own_type!(i8, i16, i32, i64, u8, u16, u32, u64, f32);
in_f32!(F16, BF16);

struct SumRows<T> {
    rows: Rows,
    profile: Profile,
    marker: PhantomData<T>,
}

impl<T: Summand> Kernel for SumRows<T> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`reduce_rows`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // SAFETY: elements below `n`.
        unsafe {
            match self.profile {
                Profile::CpuCompat => self.rows.each::<T>(|row, n| T::sequential(row, n)),
                Profile::A5 => self.rows.each::<T>(|row, n| grouped(row, n)),
                Profile::A2a3 => self.rows.each::<T>(|row, n| in_lanes(row, n)),
            }
        }
    }
}

struct ProductRows<T> {
    rows: Rows,
    profile: Profile,
    marker: PhantomData<T>,
}

impl<T: Summand> Kernel for ProductRows<T> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`reduce_rows`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // SAFETY: elements below `n`.
        unsafe {
            if self.profile == Profile::CpuCompat {
                return self.rows.each::<T>(|row, n| T::sequential_product(row, n));
            }
            self.rows.each::<T>(|row, n| {
                let mut lanes = [T::ZERO; 32];
                let lanes = &mut lanes[..n.min(32 / size_of::<T>())];
                load(lanes, row);
                let mut c = lanes.len();
                while c < n {
                    for (k, lane) in lanes.iter_mut().take(n - c).enumerate() {
                        *lane = lane.mul(row.add(c + k).read_unaligned());
                    }
                    c += lanes.len();
                }
                let mut product = lanes[0];
                for &lane in &lanes[1..] {
                    product = product.mul(lane);
                }
                product
            })
        }
    }
}

/// The order of `a5`.
///
/// # Safety
///
/// `n` ≥ 1 elements at `row`.
#[inline(always)]
unsafe fn grouped<T: Summand>(row: *const T, n: usize) -> T {
    let mut t = T::zeros();
    let t = t.as_mut();
    let lanes = t.len();
    let mut total = T::ZERO;
    let mut c = 0;
    while c < n {
        // SAFETY: elements c .. c + width.
        let group = unsafe {
            if n - c >= lanes {
                load(t, row.add(c));
                pair_tree(t)
            } else {
                let t = &mut t[..n - c];
                load(t, row.add(c));
                pair_tree(t)
            }
        };
        total = if c == 0 { group } else { total.add(group) };
        c += lanes;
    }
    total
}

/// The order of `a2a3`.
///
/// # Safety
///
/// `n` ≥ 1 elements at `row`.
#[inline(always)]
unsafe fn in_lanes<T: Summand>(row: *const T, n: usize) -> T {
    let mut t = T::zeros();
    let t = t.as_mut();
    let lanes = t.len();
    // SAFETY: elements below `n`.
    unsafe {
        if n < lanes {
            let t = &mut t[..n];
            load(t, row);
            return pair_tree(t);
        }
        load(t, row);
        let full = n / lanes;
        if full > 1 {
            add(t, row.add(lanes));
        }
        add(&mut t[..n % lanes], row.add(full * lanes));
        for block in 2..full {
            add(t, row.add(block * lanes));
        }
    }
    pair_tree(t)
}

/// # Safety
///
/// As many elements at `row` as there are lanes.
#[inline(always)]
unsafe fn load<T: Number>(t: &mut [T], row: *const T) {
    for (k, lane) in t.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *lane = unsafe { row.add(k).read_unaligned() };
    }
}

/// # Safety
///
/// As for [`load`].
#[inline(always)]
unsafe fn add<T: Number>(t: &mut [T], row: *const T) {
    for (k, lane) in t.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *lane = lane.add(unsafe { row.add(k).read_unaligned() });
    }
}

/// The sum by neighbours.
#[inline(always)]
fn pair_tree<T: Number>(t: &mut [T]) -> T {
    let mut n = t.len();
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
    t.first().copied().unwrap_or(T::ZERO)
}
