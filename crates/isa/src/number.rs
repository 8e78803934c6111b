//! Element types as Rust types, and their arithmetic.

use dtype::float;

use crate::simd::{Half, LANES, Simd, WIDTH};

/// An element that instructions compute with. Its representation is the element's bytes.
pub(crate) trait Number: Copy + 'static {
    const ZERO: Self;
    /// Added to an element, it leaves its bits, NaNs aside: −0 for floats.
    const NEUTRAL: Self;
    /// Arithmetic on 16-bit floats goes through f32, eight at a time.
    const HALF: Half = Half::No;

    /// The product of two 16-bit floats, exact or already rounded to their type.
    #[inline(always)]
    fn wide_product(a: f32, b: f32) -> f32 {
        a * b
    }

    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// Floats: IEEE. Integers: truncating; by zero all ones (`isa.md` §7), and the least value by −1 wraps.
    fn div(self, o: Self) -> Self;
    /// Floats: NaN propagates, −0 < +0.
    fn larger(self, o: Self) -> Self;
    fn smaller(self, o: Self) -> Self;
    /// C++ `std::max(self, o)`: `self < o ? o : self`.
    fn std_max(self, o: Self) -> Self;
    fn std_min(self, o: Self) -> Self;
    /// IEEE: false on NaN, and −0 is not below +0.
    fn less(self, o: Self) -> bool;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    /// The element, or the canonical NaN.
    fn canonical(self) -> Self;

    /// As [`Number::add`], except that a NaN need not be canonical: for the sums within a sum.
    #[inline(always)]
    fn partial_sum(self, o: Self) -> Self {
        self.add(o)
    }

    /// [`WIDTH`] partial sums go on over `rows` rows of as many elements, `pitch` bytes apart, from the first to the last.
    ///
    /// # Safety
    ///
    /// The elements are there, and `acc` shares nothing with them; the features of `S`.
    #[inline(always)]
    unsafe fn sum_down<S: Simd>(acc: *mut Self, from: *const Self, pitch: isize, rows: usize) {
        for r in 0..rows {
            // SAFETY: the caller's promise.
            unsafe {
                let row = from.byte_offset(r as isize * pitch);
                for k in 0..WIDTH {
                    let sum = acc.add(k).read_unaligned().partial_sum(row.add(k).read_unaligned());
                    acc.add(k).write_unaligned(sum);
                }
            }
        }
    }

    /// The partial sums of neighbours, two elements of `from` for each one of `to`.
    ///
    /// # Safety
    ///
    /// The features of `S`.
    #[inline(always)]
    unsafe fn pair_sums<S: Simd>(to: &mut [Self], from: &[Self]) {
        for (pair, sum) in from.chunks_exact(2).zip(to) {
            *sum = pair[0].partial_sum(pair[1]);
        }
    }
}

/// An element as an integer that orders like it.
pub(crate) trait Ordered: Number {
    type Key: Copy + Ord;

    /// The extremes of themselves and the keys of rows as in [`Number::sum_down`].
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(always)]
    unsafe fn extremes_down<S: Simd>(
        least: &mut [Self::Key; WIDTH],
        greatest: &mut [Self::Key; WIDTH],
        from: *const Self,
        pitch: isize,
        rows: usize,
    ) {
        for r in 0..rows {
            // SAFETY: the caller's promise.
            unsafe {
                let row = from.byte_offset(r as isize * pitch);
                for k in 0..WIDTH {
                    let key = row.add(k).read_unaligned().key();
                    (least[k], greatest[k]) = (key.min(least[k]), key.max(greatest[k]));
                }
            }
        }
    }

    /// Increasing, and distinct for distinct bits: −0 below +0, NaNs beyond the infinities of their sign.
    fn key(self) -> Self::Key;
    /// The element of a maximum (or minimum) over elements whose keys lie between `least` and `greatest`, both of them
    /// keys of elements: that one of `greatest` (`least`), or the canonical NaN if there is a NaN.
    fn extreme(least: Self::Key, greatest: Self::Key, maximum: bool) -> Self;
}

/// The key of the bits of a float, and back: magnitudes count downward below zero.
macro_rules! ordered_float {
    (
        $t:ty, $int:ty, $bits:ident => $from_bits:expr, $x:ident => $to_bits:expr, $infinity:expr, $nan:expr
        $(, $steps:item)?
    ) => {
        impl Ordered for $t {
            type Key = $int;

            $($steps)?

            #[inline(always)]
            fn key(self) -> $int {
                let $x = self;
                let bits = $to_bits as $int;
                bits ^ ((bits >> (<$int>::BITS - 1)) & <$int>::MAX)
            }

            #[inline(always)]
            fn extreme(least: $int, greatest: $int, maximum: bool) -> Self {
                // The negative of a key's successor has the opposite sign and the same magnitude.
                let nan = greatest > $infinity || !least > $infinity;
                let key = if maximum { greatest } else { least };
                let bits = key ^ ((key >> (<$int>::BITS - 1)) & <$int>::MAX);
                let $bits = if nan { $nan } else { bits as _ };
                $from_bits
            }
        }
    };
}

ordered_float!(f32, i32, bits => f32::from_bits(bits), x => x.to_bits(), 0x7f80_0000, float::F32_NAN,
    #[inline(always)]
    unsafe fn extremes_down<S: Simd>(
        least: &mut [i32; WIDTH],
        greatest: &mut [i32; WIDTH],
        from: *const f32,
        pitch: isize,
        rows: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { S::extremes_down(least.as_mut_ptr(), greatest.as_mut_ptr(), from, pitch, rows) }
    }
);
ordered_float!(F16, i16, bits => F16(bits), x => x.0, 0x7c00, float::F16_NAN);
ordered_float!(BF16, i16, bits => BF16(bits), x => x.0, 0x7f80, float::BF16_NAN);

macro_rules! ordered_integer {
    ($($t:ty),*) => {$(
        impl Ordered for $t {
            type Key = $t;

            #[inline(always)]
            fn key(self) -> $t { self }
            #[inline(always)]
            fn extreme(least: $t, greatest: $t, maximum: bool) -> $t {
                if maximum { greatest } else { least }
            }
        }
    )*};
}

ordered_integer!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const ZERO: Self = 0;
            const NEUTRAL: Self = 0;

            #[inline(always)]
            fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)]
            fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)]
            fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)]
            fn div(self, o: Self) -> Self { if o == 0 { !0 } else { self.wrapping_div(o) } }
            #[inline(always)]
            fn larger(self, o: Self) -> Self { if self > o { self } else { o } }
            #[inline(always)]
            fn smaller(self, o: Self) -> Self { if self < o { self } else { o } }
            #[inline(always)]
            fn std_max(self, o: Self) -> Self { if self > o { self } else { o } }
            #[inline(always)]
            fn std_min(self, o: Self) -> Self { if self < o { self } else { o } }
            #[inline(always)]
            fn less(self, o: Self) -> bool { self < o }
            #[inline(always)]
            fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn abs(self) -> Self { if self < 0 { self.wrapping_neg() } else { self } }
            #[inline(always)]
            fn canonical(self) -> Self { self }
        }
    )*};
}

integer!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Number for f32 {
    const ZERO: Self = 0.0;
    const NEUTRAL: Self = -0.0;

    #[inline(always)]
    fn add(self, o: Self) -> Self {
        float::canonical(self + o)
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        float::canonical(self - o)
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        float::canonical(self * o)
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        float::canonical(self / o)
    }
    #[inline(always)]
    fn larger(self, o: Self) -> Self {
        float::maximum(self, o)
    }
    #[inline(always)]
    fn smaller(self, o: Self) -> Self {
        float::minimum(self, o)
    }
    #[inline(always)]
    fn std_max(self, o: Self) -> Self {
        float::canonical(if self < o { o } else { self })
    }
    #[inline(always)]
    fn std_min(self, o: Self) -> Self {
        float::canonical(if o < self { o } else { self })
    }
    #[inline(always)]
    fn less(self, o: Self) -> bool {
        self < o
    }
    #[inline(always)]
    fn neg(self) -> Self {
        float::canonical(-self)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        float::canonical(self.abs())
    }
    #[inline(always)]
    fn canonical(self) -> Self {
        float::canonical(self)
    }
    #[inline(always)]
    fn partial_sum(self, o: Self) -> Self {
        self + o
    }
    #[inline(always)]
    unsafe fn sum_down<S: Simd>(acc: *mut f32, from: *const f32, pitch: isize, rows: usize) {
        // SAFETY: the caller's promise.
        unsafe { S::sum_down(acc, from, pitch, rows) }
    }
    #[inline(always)]
    unsafe fn pair_sums<S: Simd>(to: &mut [f32], from: &[f32]) {
        let n = to.len().min(from.len() / 2);
        let whole = n / LANES * LANES;
        for k in (0..whole).step_by(LANES) {
            // SAFETY: below `n` in `to`, and below twice that in `from`.
            unsafe { S::pair_sums(to.as_mut_ptr().add(k), from.as_ptr().add(2 * k)) }
        }
        for k in whole..n {
            to[k] = from[2 * k] + from[2 * k + 1];
        }
    }
}

/// An element that computes in f32.
pub(crate) trait Float: Number {
    /// Exact; NaN stays NaN.
    fn widen(self) -> f32;
    /// One rounding, ties to even; NaN becomes canonical.
    fn narrow(x: f32) -> Self;
    /// One rounding from f64.
    fn narrow64(x: f64) -> Self;
}

impl Float for f32 {
    #[inline(always)]
    fn widen(self) -> f32 {
        self
    }
    #[inline(always)]
    fn narrow(x: f32) -> f32 {
        float::canonical(x)
    }
    #[inline(always)]
    fn narrow64(x: f64) -> f32 {
        float::canonical(x as f32)
    }
}

/// binary16.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(crate) struct F16(pub(crate) u16);

/// bfloat16.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub(crate) struct BF16(pub(crate) u16);

impl Float for F16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        float::f16_to_f32(self.0)
    }
    #[inline(always)]
    fn narrow(x: f32) -> F16 {
        F16(float::f32_to_f16(x))
    }
    #[inline(always)]
    fn narrow64(x: f64) -> F16 {
        F16(float::f64_to_f16(x))
    }
}

impl Float for BF16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        float::bf16_to_f32(self.0)
    }
    #[inline(always)]
    fn narrow(x: f32) -> BF16 {
        BF16(float::f32_to_bf16(x))
    }
    #[inline(always)]
    fn narrow64(x: f64) -> BF16 {
        BF16(float::f64_to_bf16(x))
    }
}

// An f32 operation on 16-bit floats, rounded again, is the operation rounded once: sums, differences and quotients of
// p-bit numbers survive a first rounding to 2p + 2 bits or more. Products are exact in f32 unless they underflow it,
// which those of f16 never do (2^-48 at least); those of bf16 that do are rounded apart.
macro_rules! half {
    ($t:ident, $half:expr, $infinity:literal, $nan:expr, $mul:expr) => {
        impl $t {
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.0 & 0x7fff > $infinity
            }

            /// Orders as the values do, with −0 below +0; NaNs aside.
            #[inline(always)]
            fn key(self) -> i16 {
                (self.0 ^ ((self.0 as i16 >> 15) as u16 & 0x7fff)) as i16
            }
        }

        impl Number for $t {
            const ZERO: Self = $t(0);
            const NEUTRAL: Self = $t(0x8000);
            const HALF: Half = $half;

            #[inline(always)]
            fn wide_product(a: f32, b: f32) -> f32 {
                $mul(a, b)
            }

            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self::narrow(self.widen() + o.widen())
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                Self::narrow(self.widen() - o.widen())
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                Self::narrow(Self::wide_product(self.widen(), o.widen()))
            }
            #[inline(always)]
            fn div(self, o: Self) -> Self {
                Self::narrow(self.widen() / o.widen())
            }
            #[inline(always)]
            fn larger(self, o: Self) -> Self {
                let larger = if self.key() > o.key() { self.0 } else { o.0 };
                $t(if self.is_nan() | o.is_nan() { $nan } else { larger })
            }
            #[inline(always)]
            fn smaller(self, o: Self) -> Self {
                let smaller = if self.key() < o.key() { self.0 } else { o.0 };
                $t(if self.is_nan() | o.is_nan() { $nan } else { smaller })
            }
            #[inline(always)]
            fn std_max(self, o: Self) -> Self {
                Self::narrow(self.widen().std_max(o.widen()))
            }
            #[inline(always)]
            fn std_min(self, o: Self) -> Self {
                Self::narrow(self.widen().std_min(o.widen()))
            }
            #[inline(always)]
            fn less(self, o: Self) -> bool {
                self.widen() < o.widen()
            }
            #[inline(always)]
            fn neg(self) -> Self {
                $t(if self.is_nan() { $nan } else { self.0 ^ 0x8000 })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t(if self.is_nan() { $nan } else { self.0 & 0x7fff })
            }
            #[inline(always)]
            fn canonical(self) -> Self {
                $t(if self.is_nan() { $nan } else { self.0 })
            }
        }
    };
}

half!(F16, Half::F16, 0x7c00, float::F16_NAN, |x: f32, y: f32| x * y);
half!(BF16, Half::BF16, 0x7f80, float::BF16_NAN, bf16_product);

/// The product of two bf16 values, either exact or already rounded to bf16.
#[inline(always)]
fn bf16_product(x: f32, y: f32) -> f32 {
    let p = x * y;
    // A subnormal product lost bits. Scaled by 2^64 it is exact; adding 1.5·2^-46 rounds it to a multiple of 2^-69, the
    // scaled unit of bf16 subnormals. (x is below 2^64 here, or y is 0.)
    let magic = f32::from_bits(0x28c0_0000);
    let scaled = (x * 18_446_744_073_709_551_616.0) * y;
    let rounded = ((scaled + magic) - magic) * f32::from_bits(0x1f80_0000);
    let subnormal = p.abs() < f32::MIN_POSITIVE && p != 0.0;
    if subnormal { f32::from_bits(rounded.to_bits() | (p.to_bits() & 0x8000_0000)) } else { p }
}

/// Binds `$t` to the Rust type of the elements of `$dtype` in `$body`; `$other` for `Bool`.
macro_rules! with_number {
    ($dtype:expr, $t:ident => $body:expr, _ => $other:expr) => {
        match $dtype {
            dtype::DType::I8 => {
                type $t = i8;
                $body
            }
            dtype::DType::I16 => {
                type $t = i16;
                $body
            }
            dtype::DType::I32 => {
                type $t = i32;
                $body
            }
            dtype::DType::I64 | dtype::DType::Index => {
                type $t = i64;
                $body
            }
            dtype::DType::U8 => {
                type $t = u8;
                $body
            }
            dtype::DType::U16 => {
                type $t = u16;
                $body
            }
            dtype::DType::U32 => {
                type $t = u32;
                $body
            }
            dtype::DType::U64 => {
                type $t = u64;
                $body
            }
            dtype::DType::F16 => {
                type $t = $crate::number::F16;
                $body
            }
            dtype::DType::BF16 => {
                type $t = $crate::number::BF16;
                $body
            }
            dtype::DType::F32 => {
                type $t = f32;
                $body
            }
            // Booleans, and what is only stored.
            _ => $other,
        }
    };
}

/// Binds `$t` to the unsigned integer of `$size` bytes in `$body`: for instructions that only move bits.
macro_rules! with_bits {
    ($size:expr, $t:ident => $body:expr) => {
        match $size {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = u64;
                $body
            }
        }
    };
}

pub(crate) use {with_bits, with_number};
