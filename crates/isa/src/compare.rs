//! Comparisons, whose results are packed masks.
//!
//! Bit c mod 8 of byte c ÷ 8 in row r of a mask belongs to element (r, c), lowest bit first (`isa.md` §2.6). A mask is a tile of
//! u8 or i8 with a pitch and a valid region of its own. Comparisons are IEEE: on NaN, `Ne` holds and nothing else.
//! Domain: the valid region of the first source. All valid columns of the mask are written in its rows; bits that belong
//! to no element of the domain become 0.

use std::marker::PhantomData;

use dtype::{DType, Scalar};

use crate::elementwise::same_types;
use crate::number::{BF16, F16, Float, Number, with_bits, with_number};
use crate::plane::{self, Arena, Layout, Plane};
use crate::simd::Simd;
use crate::tier::{Kernel, dispatch};
use crate::{Fault, Tile};

/// What a comparison asks, in the order of the instruction's encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Predicate {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Predicate {
    pub const ALL: [Predicate; 6] =
        [Predicate::Eq, Predicate::Ne, Predicate::Lt, Predicate::Le, Predicate::Gt, Predicate::Ge];
}

/// Bit (r, c) of `dst` = whether `a[r, c] predicate b[r, c]`.
pub fn compare(mem: &mut [u8], predicate: Predicate, dst: &Tile, a: &Tile, b: &Tile) -> Result<(), Fault> {
    same_types("a comparison", &[a, b])?;
    check(mem.len(), dst, a)?;
    let region = (a.valid_rows, a.valid_cols);
    b.check_region("second source", mem.len(), region.0, region.1)?;
    let size = a.dtype.size();
    let (mut a_copy, mut b_copy) = (Vec::new(), Vec::new());
    let mem = Arena::new(mem);
    let a_rows = plane::in_rows(mem.layout(a), region, size, &mut a_copy);
    let b_rows = plane::in_rows(mem.layout(b), region, size, &mut b_copy);
    run(mem, predicate, dst, a, a_rows, b_rows);
    Ok(())
}

/// Bit (r, c) of `dst` = whether `a[r, c] predicate scalar`; the scalar is cast to the source's type first.
pub fn compare_scalar(mem: &mut [u8], predicate: Predicate, dst: &Tile, a: &Tile, scalar: Scalar) -> Result<(), Fault> {
    check(mem.len(), dst, a)?;
    let mem = Arena::new(mem);
    let mut copy = Vec::new();
    let rows = plane::in_rows(mem.layout(a), (a.valid_rows, a.valid_cols), a.dtype.size(), &mut copy);
    let mut bytes = dtype::scalar::cast(scalar, a.dtype).to_le_bytes();
    run(mem, predicate, dst, a, rows, Layout::strided(bytes.as_mut_ptr(), 0, 0));
    Ok(())
}

/// Checks a mask and the source that it is for.
pub(crate) fn check(arena: usize, mask: &Tile, a: &Tile) -> Result<(), Fault> {
    a.check_region("first source", arena, a.valid_rows, a.valid_cols)?;
    check_mask(arena, mask, a.valid_rows, mask.valid_cols)?;
    if mask.valid_cols < a.valid_cols.div_ceil(8) {
        return Err(Fault::shape(
            "mask",
            format!("{} valid bytes in a row for {} elements", mask.valid_cols, a.valid_cols),
        ));
    }
    Ok(())
}

pub(crate) fn check_mask(arena: usize, mask: &Tile, rows: u32, bytes: u32) -> Result<(), Fault> {
    if !matches!(mask.dtype, DType::U8 | DType::I8) {
        return Err(Fault::dtype("a mask", &[mask.dtype], "masks of type u8 or i8"));
    }
    mask.check_region("mask", arena, rows, bytes)
}

/// The rows of `a` and `b` lie element after element; those of `b` may be one element over and over.
fn run(mem: Arena, predicate: Predicate, dst: &Tile, a: &Tile, a_rows: Layout, b_rows: Layout) {
    let region = (a.valid_rows, dst.valid_cols);
    // The mask, apart from the sources: nothing is written before all of them are read.
    let mut packed = vec![0u8; region.0 as usize * region.1 as usize];
    if !packed.is_empty() && a.valid_cols > 0 {
        let out = Plane { ptr: packed.as_mut_ptr(), rs: region.1 as isize, cs: 1 };
        let job = Job {
            rows: a.valid_rows as usize,
            cols: a.valid_cols as usize,
            out,
            a: a_rows.at(0, 0),
            b: b_rows.at(0, 0),
        };
        // SAFETY: the sources were checked over the domain, and the packed rows have a bit for each of its columns.
        unsafe { job.compare(predicate, a.dtype) }
    }
    crate::copy::move_elements(mem, dst, region, Layout::dense(&mut packed, region.1, 1));
}

#[derive(Clone, Copy)]
struct Job {
    rows: usize,
    cols: usize,
    out: Plane,
    a: Plane,
    b: Plane,
}

impl Job {
    fn swapped(self) -> Job {
        Job { a: self.b, b: self.a, ..self }
    }

    /// Every predicate is one of three tests, of the operands or of the exchanged ones, or the inverse of one.
    ///
    /// # Safety
    ///
    /// The planes hold `rows × cols` elements of `dtype` in dense rows, or one element, and as many bits.
    unsafe fn compare(self, predicate: Predicate, dtype: DType) {
        use Predicate::{Eq, Ge, Gt, Le, Lt, Ne};
        let invert = match predicate {
            Ne => true,
            // Without NaN, a ≤ b is not b < a.
            Le | Ge => !dtype.is_float(),
            _ => false,
        };
        macro_rules! test {
            ($t:ty, $test:ident, $job:expr) => {
                // SAFETY: the caller's promise.
                unsafe { dispatch(CompareKernel::<$t, $test> { job: $job, invert, marker: PhantomData }) }
            };
        }
        macro_rules! float {
            ($t:ty) => {
                match predicate {
                    Eq | Ne => test!($t, Equal, self),
                    Lt => test!($t, Less, self),
                    Gt => test!($t, Less, self.swapped()),
                    Le => test!($t, LessOrEqual, self),
                    Ge => test!($t, LessOrEqual, self.swapped()),
                }
            };
        }
        match dtype {
            DType::F32 => float!(f32),
            DType::F16 => float!(F16),
            DType::BF16 => float!(BF16),
            _ if matches!(predicate, Eq | Ne) => with_bits!(dtype.size(), T => test!(T, Equal, self)),
            _ => {
                let job = if matches!(predicate, Gt | Le) { self.swapped() } else { self };
                let dtype = if dtype == DType::Bool { DType::U8 } else { dtype };
                with_number!(dtype, T => test!(T, Less, job), _ => {})
            }
        }
    }
}

trait Test<T> {
    fn holds(a: T, b: T) -> bool;
}

struct Equal;
struct Less;
struct LessOrEqual;

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Test<$t> for Equal {
            #[inline(always)]
            fn holds(a: $t, b: $t) -> bool { a == b }
        }
    )*};
}

integers!(u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Test<$t> for Equal {
            #[inline(always)]
            fn holds(a: $t, b: $t) -> bool { a.widen() == b.widen() }
        }
        impl Test<$t> for LessOrEqual {
            #[inline(always)]
            fn holds(a: $t, b: $t) -> bool { a.widen() <= b.widen() }
        }
    )*};
}

floats!(f32, F16, BF16);

impl<T: Number> Test<T> for Less {
    #[inline(always)]
    fn holds(a: T, b: T) -> bool {
        a.less(b)
    }
}

struct CompareKernel<T, P> {
    job: Job,
    invert: bool,
    marker: PhantomData<(T, P)>,
}

impl<T: Number, P: Test<T>> Kernel for CompareKernel<T, P> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`Job::compare`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const N: usize = 64;
        let Job { rows, cols, out, a, b } = self.job;
        for r in 0..rows {
            let mut c = 0;
            while c < cols {
                let n = N.min(cols - c);
                let mut flags = [0u8; N];
                // SAFETY: elements below `cols`.
                unsafe {
                    let (mut x, mut y) = ([T::ZERO; N], [T::ZERO; N]);
                    for (side, values) in [(&a, &mut x), (&b, &mut y)] {
                        let from = side.at(r, c).cast::<T>();
                        if side.cs == 0 {
                            values.fill(from.read_unaligned());
                        } else {
                            std::ptr::copy_nonoverlapping(
                                from.cast::<u8>(),
                                values.as_mut_ptr().cast(),
                                n * size_of::<T>(),
                            );
                        }
                    }
                    for k in 0..N {
                        flags[k] = (P::holds(x[k], y[k]) != self.invert) as u8;
                    }
                }
                for (k, eight) in flags.as_chunks::<8>().0.iter().enumerate().take(n.div_ceil(8)) {
                    // Flag k, at bit 8k, lands at bit 56 + k; no two others meet there or carry into it.
                    let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                    let inside = n - 8 * k;
                    let bits = if inside < 8 { bits & ((1 << inside) - 1) } else { bits };
                    // SAFETY: the byte of elements below `cols`.
                    unsafe { out.at(r, c / 8 + k).write(bits as u8) };
                }
                c += N;
            }
        }
    }
}
