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
//! Loops run across rows where the stated order leaves lanes independent: sums keep their NaNs as they come until the end
//! ([`Number::partial_sum`]); maxima and minima of floats are those of integer keys ([`Ordered`]).
//!
//! A row sum of no columns is 0 (`dsl.md` §0), and so a row product of none is 1; other reductions of an empty axis do
//! nothing.
//!
//! **The place of the largest or smallest element**: the first one that is greater (less) than all before it, by IEEE
//! comparison: the first of equals, −0 equal to +0, and NaN only where it comes first. In all profiles; of an empty axis,
//! nothing.

// Several arrays at once: indices say it best, and vectorise.
#![allow(clippy::needless_range_loop)]

mod arg;

use std::marker::PhantomData;

use dtype::{Profile, Scalar};

use crate::elementwise::{Mul, Op2, StdMax, StdMin, same_types, zip};
use crate::number::{BF16, F16, Float, Number, Ordered, with_number};
use crate::plane::{self, Arena, Layout, Plane};
use crate::simd::{Simd, WIDTH};
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
        ($rows:ident, $n:ident, $acc:ident, $s:ident => $kernel:expr) => {
            plane::for_each_from(
                (1, 0),
                rows as usize - 1,
                cols as usize,
                &[acc, source.layout],
                |$rows, $n, [a, $s]| {
                    let $acc = a.ptr.cast();
                    // SAFETY: `n` elements of the running row and of `rows` rows of the source, which share nothing.
                    unsafe { dispatch($kernel) }
                },
            )
        };
    }
    macro_rules! fold {
        ($t:ty, $f:ident) => {
            run!(rows, n, acc, s => FoldDown::<$t, $f> { rows, n, acc, s, marker: PhantomData })
        };
    }
    with_number!(src.dtype, T => match (op, compat) {
        (Reduce::Sum, _) => run!(rows, n, acc, s => SumDown::<T> { rows, n, acc, s }),
        (Reduce::Prod, _) => fold!(T, Mul),
        (Reduce::Max, false) => run!(rows, n, acc, s => ExtremeDown::<T, true> { rows, n, acc, s }),
        (Reduce::Min, false) => run!(rows, n, acc, s => ExtremeDown::<T, false> { rows, n, acc, s }),
        (Reduce::Max, true) => fold!(T, StdMax),
        (Reduce::Min, true) => fold!(T, StdMin),
    }, _ => return Err(Fault::dtype("a column reduction", &[src.dtype], TYPES)));
    // NaNs of partial sums, and a lone NaN that went through no operation.
    with_number!(src.dtype, T => {
        let p = running.as_mut_ptr().cast::<T>();
        // SAFETY: `cols` elements.
        unsafe { crate::elementwise::map(p, p, cols as usize, |x| x.canonical()) }
    }, _ => {});
    crate::copy::move_layouts((1, cols), d, acc, size);
    Ok(())
}

/// `acc[c]` + s[0, c] + s[1, c] + …, NaNs as they come.
struct SumDown<T> {
    rows: usize,
    n: usize,
    acc: *mut T,
    s: Plane,
}

impl<T: Number> Kernel for SumDown<T> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`FoldDown`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let mut c = 0;
        // SAFETY: elements below `n` of the running row and of each row of the source.
        unsafe {
            while self.s.cs == size_of::<T>() as isize && c + WIDTH <= self.n {
                T::sum_down::<S>(self.acc.add(c), self.s.at(0, c).cast(), self.s.rs, self.rows);
                c += WIDTH;
            }
            for c in c..self.n {
                let mut sum = self.acc.add(c).read_unaligned();
                for r in 0..self.rows {
                    sum = sum.partial_sum(self.s.at(r, c).cast::<T>().read_unaligned());
                }
                self.acc.add(c).write_unaligned(sum);
            }
        }
    }
}

/// `acc[c] = O::f(acc[c], s[r, c])` for every row r in order.
struct FoldDown<T, O> {
    rows: usize,
    n: usize,
    acc: *mut T,
    s: Plane,
    marker: PhantomData<O>,
}

impl<T: Number, O: Op2<T>> Kernel for FoldDown<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// `n` elements at `acc` and in each row, sharing nothing.
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        for r in 0..self.rows {
            // SAFETY: below `n`.
            unsafe {
                if self.s.cs == size_of::<T>() as isize {
                    zip(self.acc, self.acc, self.s.at(r, 0).cast(), self.n, O::f);
                } else {
                    for c in 0..self.n {
                        let x = self.s.at(r, c).cast::<T>().read_unaligned();
                        self.acc.add(c).write_unaligned(O::f(self.acc.add(c).read_unaligned(), x));
                    }
                }
            }
        }
    }
}

/// As [`FoldDown`], for the maximum or the minimum.
struct ExtremeDown<T, const MAXIMUM: bool> {
    rows: usize,
    n: usize,
    acc: *mut T,
    s: Plane,
}

impl<T: Ordered, const MAXIMUM: bool> Kernel for ExtremeDown<T, MAXIMUM> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`FoldDown`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let dense = self.s.cs == size_of::<T>() as isize;
        let mut c = 0;
        // SAFETY: elements below `n` of the running row and of each row of the source.
        unsafe {
            while dense && c + WIDTH <= self.n {
                let acc = self.acc.add(c);
                let mut least = [acc.read_unaligned().key(); WIDTH];
                for k in 0..WIDTH {
                    least[k] = acc.add(k).read_unaligned().key();
                }
                let mut greatest = least;
                T::extremes_down::<S>(&mut least, &mut greatest, self.s.at(0, c).cast(), self.s.rs, self.rows);
                for k in 0..WIDTH {
                    acc.add(k).write_unaligned(T::extreme(least[k], greatest[k], MAXIMUM));
                }
                c += WIDTH;
            }
            while c < self.n {
                let acc = self.acc.add(c);
                let first = acc.read_unaligned().key();
                let (mut least, mut greatest) = (first, first);
                for r in 0..self.rows {
                    let key = self.s.at(r, c).cast::<T>().read_unaligned().key();
                    (least, greatest) = (key.min(least), key.max(greatest));
                }
                acc.write_unaligned(T::extreme(least, greatest, MAXIMUM));
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
unsafe fn reduce_rows<T: Summand + Ordered>(op: Reduce, rows: Rows, profile: Profile) {
    macro_rules! run {
        ($kernel:expr) => {
            // SAFETY: the caller's promise.
            unsafe { dispatch($kernel) }
        };
    }
    match (op, profile) {
        (Reduce::Sum, _) => run!(SumRows::<T> { rows, profile, marker: PhantomData }),
        (Reduce::Prod, _) => run!(ProductRows::<T> { rows, profile, marker: PhantomData }),
        (Reduce::Max, Profile::CpuCompat) => run!(FoldRows::<T, StdMax> { rows, marker: PhantomData }),
        (Reduce::Min, Profile::CpuCompat) => run!(FoldRows::<T, StdMin> { rows, marker: PhantomData }),
        (Reduce::Max, _) => run!(ExtremeRows::<T, true> { rows, marker: PhantomData }),
        (Reduce::Min, _) => run!(ExtremeRows::<T, false> { rows, marker: PhantomData }),
    }
}

/// A chain from the first element on.
struct FoldRows<T, O> {
    rows: Rows,
    marker: PhantomData<(T, O)>,
}

impl<T: Number, O: Op2<T>> Kernel for FoldRows<T, O> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`reduce_rows`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // SAFETY: elements below `n`.
        unsafe {
            self.rows.each::<T>(|row, n| {
                let mut acc = row.read_unaligned();
                for k in 1..n {
                    acc = O::f(acc, row.add(k).read_unaligned());
                }
                acc
            });
        }
    }
}

/// The maximum or the minimum, in any order.
struct ExtremeRows<T, const MAXIMUM: bool> {
    rows: Rows,
    marker: PhantomData<T>,
}

impl<T: Ordered, const MAXIMUM: bool> Kernel for ExtremeRows<T, MAXIMUM> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`reduce_rows`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // SAFETY: elements below `n`.
        unsafe {
            self.rows.each::<T>(|row, n| {
                let first = row.read_unaligned().key();
                let (mut least, mut greatest) = (first, first);
                for k in 0..n {
                    let key = row.add(k).read_unaligned().key();
                    (least, greatest) = (least.min(key), greatest.max(key));
                }
                T::extreme(least, greatest, MAXIMUM)
            });
        }
    }
}

/// An element as a row sum of `cpu-compat` sees it.
trait Summand: Number {
    /// Left to right in the model's accumulator, rounded at the end.
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
            #[inline(always)]
            unsafe fn sequential(row: *const Self, n: usize) -> Self {
                let mut acc = Self::ZERO;
                for k in 0..n {
                    // SAFETY: the caller's promise.
                    acc = acc.partial_sum(unsafe { row.add(k).read_unaligned() });
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
                Profile::A5 => grouped::<T, S>(self.rows),
                Profile::A2a3 => in_lanes::<T, S>(self.rows),
            }
        }
    }
}

/// Bytes of a register of the device.
const REGISTER: usize = 256;
/// Elements of a [`Forest`].
const ROOM: usize = 1024;

/// Trees of lanes side by side, so that a level of all of them is one loop.
///
/// Lanes that a shorter tree lacks hold the neutral element: adding it is moving up as it is.
struct Forest<T> {
    lanes: [T; ROOM],
    /// Where a level goes.
    level: [T; ROOM / 2],
    /// Lanes of a tree: a power of two.
    width: usize,
    trees: usize,
}

impl<T: Number> Forest<T> {
    #[inline(always)]
    fn new(width: usize) -> Forest<T> {
        Forest { lanes: [T::NEUTRAL; ROOM], level: [T::NEUTRAL; ROOM / 2], width, trees: 0 }
    }

    /// The lanes of a new tree; there must be room.
    #[inline(always)]
    fn plant(&mut self) -> &mut [T] {
        let from = self.trees * self.width;
        self.trees += 1;
        &mut self.lanes[from..][..self.width]
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        (self.trees + 1) * self.width > ROOM
    }

    /// The sums by neighbours of all trees, in order; none are left.
    ///
    /// # Safety
    ///
    /// The features of `S`.
    #[inline(always)]
    unsafe fn sums<S: Simd>(&mut self) -> &[T] {
        let (mut n, mut width) = (self.trees * self.width, self.width);
        let mut in_level = false;
        while width > 1 {
            (n, width) = (n / 2, width / 2);
            let (from, to) =
                if in_level { (&self.level[..], &mut self.lanes[..]) } else { (&self.lanes[..], &mut self.level[..]) };
            // SAFETY: the caller's promise.
            unsafe { T::pair_sums::<S>(&mut to[..n], &from[..2 * n]) };
            in_level = !in_level;
        }
        self.trees = 0;
        if in_level { &self.level[..n] } else { &self.lanes[..n] }
    }
}

/// The order of `a2a3`.
///
/// # Safety
///
/// As for [`reduce_rows`].
#[inline(always)]
unsafe fn in_lanes<T: Number, S: Simd>(rows: Rows) {
    let n = rows.n;
    let lanes = REGISTER / size_of::<T>();
    let mut forest = Forest::<T>::new(lanes.min(n.next_power_of_two()));
    let mut first = 0;
    for r in 0..rows.rows {
        // SAFETY: row `r`: elements below `n`.
        unsafe {
            let row = rows.s.at(r, 0).cast::<T>();
            let t = forest.plant();
            let full = n / lanes;
            if n < lanes {
                load(t, row, n);
            } else if n.is_multiple_of(lanes) && lanes.is_multiple_of(WIDTH) {
                add_blocks::<T, S>(t, row, full);
            } else {
                load(t, row, lanes);
                if full > 1 {
                    add(t, row.add(lanes));
                }
                add(&mut t[..n % lanes], row.add(full * lanes));
                for block in 2..full {
                    add(t, row.add(block * lanes));
                }
            }
            if forest.is_full() || r + 1 == rows.rows {
                for (k, sum) in forest.sums::<S>().iter().enumerate() {
                    rows.d.at(first + k, 0).cast::<T>().write_unaligned(sum.canonical());
                }
                first = r + 1;
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
                load(lanes, row, lanes.len());
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
/// As for [`reduce_rows`].
#[inline(always)]
unsafe fn grouped<T: Number, S: Simd>(rows: Rows) {
    let n = rows.n;
    let lanes = REGISTER / size_of::<T>();
    let mut forest = Forest::<T>::new(lanes.min(n.next_power_of_two()));
    let groups = n.div_ceil(lanes);
    // The row and the group whose sum comes next, and the sum of the row so far.
    let (mut row, mut group, mut total) = (0, 0, T::ZERO);
    for r in 0..rows.rows {
        for g in 0..groups {
            // SAFETY: row `r`, elements below `n`; `row` is at most `r`.
            unsafe {
                let from = g * lanes;
                load(forest.plant(), rows.s.at(r, from).cast(), lanes.min(n - from));
                if forest.is_full() || (r + 1 == rows.rows && g + 1 == groups) {
                    for &sum in forest.sums::<S>() {
                        total = if group == 0 { sum } else { total.partial_sum(sum) };
                        group += 1;
                        if group == groups {
                            rows.d.at(row, 0).cast::<T>().write_unaligned(total.canonical());
                            (row, group) = (row + 1, 0);
                        }
                    }
                }
            }
        }
    }
}

/// The first `n` lanes from a row, the others neutral.
///
/// # Safety
///
/// `n` elements at `row`; no more than there are lanes.
#[inline(always)]
unsafe fn load<T: Number>(t: &mut [T], row: *const T, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(row.cast::<u8>(), t.as_mut_ptr().cast(), n * size_of::<T>()) };
    t[n..].fill(T::NEUTRAL);
}

/// # Safety
///
/// As many elements at `row` as there are lanes.
#[inline(always)]
unsafe fn add<T: Number>(t: &mut [T], row: *const T) {
    for (k, lane) in t.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        *lane = lane.partial_sum(unsafe { row.add(k).read_unaligned() });
    }
}

/// Lanes that are the sums of `blocks` ≥ 1 blocks of as many elements, from the first block on.
///
/// # Safety
///
/// As many blocks at `row`; the lanes are a multiple of [`WIDTH`].
#[inline(always)]
unsafe fn add_blocks<T: Number, S: Simd>(t: &mut [T], row: *const T, blocks: usize) {
    let lanes = t.len();
    // SAFETY: the caller's promise.
    unsafe {
        load(t, row, lanes);
        for c in (0..lanes).step_by(WIDTH) {
            T::sum_down::<S>(t.as_mut_ptr().add(c), row.add(lanes + c), size_of_val(t) as isize, blocks - 1);
        }
    }
}
