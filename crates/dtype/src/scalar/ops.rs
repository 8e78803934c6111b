//! Scalar arithmetic: one operation, one rounding, in the type of the operands.
//!
//! * Both operands have one type; `Index` and `I64` mix freely, and the result is `Index` if either operand is.
//! * Integers wrap. `Div` and `Rem` truncate; a zero divisor is [`ScalarError::DivisionByZero`].
//! * Floats round once to their own type (f16 and bf16 too), NaN results are canonical (semantics rule 5).
//! * `Min` and `Max` of floats: NaN from either side, −0 < +0 (`dsl.md` §0, last group).
//! * `Shl` drops high bits, `Shr` is arithmetic for signed types; a count of the width or more shifts everything out, a
//!   negative count is an error.
//! * `And`, `Or`, `Xor` are bitwise on integers and logical on `Bool`; nothing else is defined on `Bool`.

use super::{BinaryOp, CmpOp, Scalar, ScalarError};
use crate::{DType, float};

/// The common type of two operands.
fn common(a: DType, b: DType) -> Result<DType, ScalarError> {
    match (a, b) {
        _ if a == b => Ok(a),
        (DType::Index, DType::I64) | (DType::I64, DType::Index) => Ok(DType::Index),
        _ => Err(ScalarError::Mixed(a, b)),
    }
}

/// `a op b`.
pub fn binary(op: BinaryOp, a: Scalar, b: Scalar) -> Result<Scalar, ScalarError> {
    let dtype = common(a.dtype, b.dtype)?;
    if dtype.is_float() {
        float_binary(op, dtype, a, b)
    } else if dtype == DType::Bool {
        match op {
            BinaryOp::And => Ok(Scalar::bool(a.is_true() & b.is_true())),
            BinaryOp::Or => Ok(Scalar::bool(a.is_true() | b.is_true())),
            BinaryOp::Xor => Ok(Scalar::bool(a.is_true() ^ b.is_true())),
            _ => Err(ScalarError::NotDefined(dtype)),
        }
    } else {
        int_binary(op, dtype, a, b)
    }
}

fn float_binary(op: BinaryOp, dtype: DType, a: Scalar, b: Scalar) -> Result<Scalar, ScalarError> {
    if dtype == DType::F32 {
        let (x, y) = (f32::from_bits(a.bits as u32), f32::from_bits(b.bits as u32));
        let r = match op {
            BinaryOp::Add => x + y,
            BinaryOp::Sub => x - y,
            BinaryOp::Mul => x * y,
            BinaryOp::Div => x / y,
            BinaryOp::Rem => x % y,
            BinaryOp::Min => float::minimum(x, y),
            BinaryOp::Max => float::maximum(x, y),
            _ => return Err(ScalarError::NotDefined(dtype)),
        };
        return Ok(Scalar::f32(float::canonical(r)));
    }
    // Sums, products and remainders of two 16-bit floats are exact in f64 or, like quotients, far enough from every
    // midpoint of the narrow format that the second rounding changes nothing (53 ≥ 2·11 + 2).
    let (x, y) = (a.as_f64(), b.as_f64());
    let r = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Rem => x % y,
        BinaryOp::Min => float::minimum(x as f32, y as f32) as f64,
        BinaryOp::Max => float::maximum(x as f32, y as f32) as f64,
        _ => return Err(ScalarError::NotDefined(dtype)),
    };
    Ok(Scalar::from_f64(dtype, r))
}

fn int_binary(op: BinaryOp, dtype: DType, a: Scalar, b: Scalar) -> Result<Scalar, ScalarError> {
    let (x, y) = (a.bits, b.bits);
    // Sign- or zero-extended: what division, remainder, order and right shifts look at.
    let (sx, sy) = (a.signed(), b.signed());
    let signed = dtype.is_signed_int();
    let r = match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div | BinaryOp::Rem if y == 0 => return Err(ScalarError::DivisionByZero),
        BinaryOp::Div if signed => sx.wrapping_div(sy) as u64,
        BinaryOp::Div => x / y,
        BinaryOp::Rem if signed => sx.wrapping_rem(sy) as u64,
        BinaryOp::Rem => x % y,
        BinaryOp::Min => {
            if if signed { sx <= sy } else { x <= y } {
                x
            } else {
                y
            }
        }
        BinaryOp::Max => {
            if if signed { sx >= sy } else { x >= y } {
                x
            } else {
                y
            }
        }
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl | BinaryOp::Shr if signed && sy < 0 => return Err(ScalarError::NegativeShift),
        BinaryOp::Shl => {
            if y < dtype.bits() as u64 {
                x << y
            } else {
                0
            }
        }
        BinaryOp::Shr if signed => (sx >> y.min(63)) as u64,
        BinaryOp::Shr => {
            if y < 64 {
                x >> y
            } else {
                0
            }
        }
    };
    Ok(Scalar::new(dtype, r))
}

/// `a op b` as a `Bool`. Floats compare as IEEE says: everything but `Ne` is false on NaN.
pub fn compare(op: CmpOp, a: Scalar, b: Scalar) -> Result<Scalar, ScalarError> {
    let dtype = common(a.dtype, b.dtype)?;
    fn decide<T: PartialOrd>(op: CmpOp, x: T, y: T) -> bool {
        match op {
            CmpOp::Eq => x == y,
            CmpOp::Ne => x != y,
            CmpOp::Lt => x < y,
            CmpOp::Le => x <= y,
            CmpOp::Gt => x > y,
            CmpOp::Ge => x >= y,
        }
    }
    Ok(Scalar::bool(if dtype.is_float() {
        decide(op, a.as_f64(), b.as_f64())
    } else if dtype.is_signed_int() {
        decide(op, a.signed(), b.signed())
    } else {
        decide(op, a.bits, b.bits)
    }))
}

/// The C cast of a scalar (`dsl.md` §4.1 `cast`, row "Scalar").
///
/// * integer → integer keeps the low bits; widening follows the sign of the *source* type;
/// * float → integer truncates toward zero, saturates to the 64-bit range (signed, or unsigned for `U64`; NaN is 0) and
///   then keeps the low bits of the destination;
/// * anything → float rounds once, ties to even; NaN becomes canonical, overflow becomes infinity;
/// * anything → `Bool` is `!= 0` (NaN is true), `Bool` counts as 0 or 1.
pub fn cast(a: Scalar, to: DType) -> Scalar {
    match (a.dtype.is_float(), to) {
        (true, DType::Bool) => Scalar::bool(a.as_f64() != 0.0),
        (false, DType::Bool) => Scalar::bool(a.bits != 0),
        (true, DType::U64) if a.as_f64() > 0.0 => Scalar::new(to, a.as_f64() as u64),
        (true, _) => Scalar::from_f64(to, a.as_f64()),
        (false, _) if to.is_float() => {
            let negative = a.dtype.is_signed_int() && a.signed() < 0;
            let magnitude = if negative { a.signed().unsigned_abs() } else { a.bits };
            Scalar::new(to, crate::convert::nearest(negative, magnitude, to))
        }
        (false, _) => Scalar::new(to, a.signed() as u64),
    }
}

/// `-a`: wraps on integers, flips the sign of floats; not defined on `Bool`.
pub fn neg(a: Scalar) -> Result<Scalar, ScalarError> {
    match a.dtype {
        DType::Bool => Err(ScalarError::NotDefined(a.dtype)),
        d if d.is_float() => Ok(Scalar::from_f64(d, -a.as_f64())),
        d => Ok(Scalar::new(d, a.bits.wrapping_neg())),
    }
}

/// `not a`: logical on `Bool`, bitwise on integers; not defined on floats.
pub fn not(a: Scalar) -> Result<Scalar, ScalarError> {
    match a.dtype {
        DType::Bool => Ok(Scalar::bool(!a.is_true())),
        d if d.is_float() => Err(ScalarError::NotDefined(d)),
        d => Ok(Scalar::new(d, !a.bits)),
    }
}
