//! Operations on the bits of integers. Signedness matters to right shifts only; everything else goes by width.

use dtype::DType;

use super::{Area, INTEGERS, Op1, Op2, Wide};
use crate::Fault;
use crate::number::with_bits;

/// # Safety
///
/// As for [`Area::run`], for elements of `dtype`.
pub(super) unsafe fn binary(op: super::BinaryOp, dtype: DType, area: Area) -> Result<(), Fault> {
    use super::BinaryOp::{And as A, Or as O, Shl as L, Shr as R, Xor as X};
    if !dtype.is_int() {
        return Err(Fault::dtype("an operation on bits", &[dtype], INTEGERS));
    }
    let size = dtype.size();
    // SAFETY: the caller's promise; the types have the element's size.
    unsafe {
        match op {
            A => with_bits!(size, T => area.run::<T, And>()),
            O => with_bits!(size, T => area.run::<T, Or>()),
            X => with_bits!(size, T => area.run::<T, Xor>()),
            L => with_bits!(size, T => area.run::<T, Shl>()),
            R if !dtype.is_signed_int() => with_bits!(size, T => area.run::<T, Shr>()),
            R => match size {
                1 => area.run::<i8, Shr>(),
                2 => area.run::<i16, Shr>(),
                4 => area.run::<i32, Shr>(),
                _ => area.run::<i64, Shr>(),
            },
            _ => Err(Fault::Unsupported { what: format!("{op:?} is not an operation on bits") }),
        }
    }
}

struct And;
struct Or;
struct Xor;
struct Shl;
struct Shr;
pub(super) struct BitNot;

impl Wide for And {}
impl Wide for Or {}
impl Wide for Xor {}
impl Wide for Shl {}
impl Wide for Shr {}

// A negative count is, as an unsigned number, one of the width or more.
macro_rules! bits {
    ($($t:ty, $signed:ty;)*) => {$(
        impl Op2<$t> for And {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t { a & b }
        }
        impl Op2<$t> for Or {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t { a | b }
        }
        impl Op2<$t> for Xor {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t { a ^ b }
        }
        impl Op2<$t> for Shl {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t {
                let inside = b < <$t>::BITS as $t;
                let moved = a.wrapping_shl(b as u32);
                if inside { moved } else { 0 }
            }
        }
        impl Op2<$t> for Shr {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t {
                let inside = b < <$t>::BITS as $t;
                let moved = a.wrapping_shr(b as u32);
                if inside { moved } else { 0 }
            }
        }
        impl Op2<$signed> for Shr {
            #[inline(always)]
            fn f(a: $signed, b: $signed) -> $signed {
                let most = <$t>::BITS as $t - 1;
                a.wrapping_shr((b as $t).min(most) as u32)
            }
        }
        impl Op1<$t> for BitNot {
            #[inline(always)]
            fn f(x: $t) -> $t { !x }
        }
    )*};
}

bits! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
}
