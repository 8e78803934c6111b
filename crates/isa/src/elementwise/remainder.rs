//! The two remainders. What they are is stated on [`BinaryOp::Rem`](super::BinaryOp::Rem) and
//! [`BinaryOp::Fmod`](super::BinaryOp::Fmod).

use dtype::DType;

use super::{ARITHMETIC, Area, BinaryOp, Op2, Wide};
use crate::Fault;
use crate::number::{BF16, F16, Float, Number, with_number};

/// # Safety
///
/// As for [`Area::run`], for elements of `dtype`.
pub(super) unsafe fn binary(op: BinaryOp, dtype: DType, area: Area) -> Result<(), Fault> {
    // SAFETY: the caller's promise.
    unsafe {
        match (op, dtype) {
            (BinaryOp::Rem, DType::F32) => area.run::<f32, FloorMod>(),
            (BinaryOp::Rem, DType::F16) => area.run::<F16, FloorMod>(),
            (BinaryOp::Rem, DType::BF16) => area.run::<BF16, FloorMod>(),
            (BinaryOp::Rem, _) => with_number!(dtype, T => area.run_scalar::<T, FloorMod>(),
                _ => Err(Fault::dtype("a remainder", &[dtype], ARITHMETIC))),
            _ => with_number!(dtype, T => area.run_scalar::<T, TruncMod>(),
                _ => Err(Fault::dtype("a remainder", &[dtype], ARITHMETIC))),
        }
    }
}

struct FloorMod;
struct TruncMod;

#[inline(always)]
fn floor_mod(a: f32, b: f32) -> f32 {
    let q = (a / b).floor();
    let r = a - q * b;
    let opposite = (r < 0.0 && b > 0.0) || (r > 0.0 && b < 0.0);
    if opposite { r + b } else { r }
}

impl Wide for FloorMod {
    const YES: bool = true;

    #[inline(always)]
    fn wide<T: Number>(a: f32, b: f32) -> f32 {
        floor_mod(a, b)
    }
}

// The remainder of two 16-bit floats is a multiple of the smaller one's unit and no larger than either: it fits their type.
impl Wide for TruncMod {
    const YES: bool = true;

    #[inline(always)]
    fn wide<T: Number>(a: f32, b: f32) -> f32 {
        a % b
    }
}

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Op2<$t> for FloorMod {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t { Float::narrow(floor_mod(a.widen(), b.widen())) }
        }
        impl Op2<$t> for TruncMod {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t { Float::narrow(a.widen() % b.widen()) }
        }
    )*};
}

floats!(f32, F16, BF16);

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Op2<$t> for FloorMod {
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn f(a: $t, b: $t) -> $t {
                if b == 0 {
                    return !0;
                }
                let r = a.wrapping_rem(b);
                // Opposite signs, not larger together than either alone: the sum cannot wrap.
                if r != 0 && (r < 0) != (b < 0) { r.wrapping_add(b) } else { r }
            }
        }
        impl Op2<$t> for TruncMod {
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t { if b == 0 { !0 } else { a.wrapping_rem(b) } }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
