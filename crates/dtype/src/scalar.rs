//! Typed scalars and their arithmetic, shared by every executor and every constant fold.
//!
//! Rules (`spec/semantics.md`, rule 16): `//` and `%` truncate toward zero, as does `/` on integers; integer overflow
//! wraps; floats round once per operation in their own type; no contraction; comparisons are IEEE. Division of an
//! integer by zero is an error, never a trap of the host.

mod ops;

use std::fmt;

pub use ops::{binary, cast, compare, neg, not};

use crate::{DType, float};

/// One element value: its type and its bits, zero-extended to 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scalar {
    pub dtype: DType,
    pub bits: u64,
}

/// Arithmetic on two scalars of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    /// Float division, or truncating integer division.
    Div,
    /// Remainder of the truncating division; the sign is the dividend's.
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Why a scalar operation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarError {
    DivisionByZero,
    /// The operation is not defined on this type (for instance a shift of a float).
    NotDefined(DType),
    /// The operands have two types.
    Mixed(DType, DType),
    /// A shift by a negative count.
    NegativeShift,
}

impl fmt::Display for ScalarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarError::DivisionByZero => f.write_str("integer division by zero"),
            ScalarError::NotDefined(d) => write!(f, "the operation is not defined on {d}"),
            ScalarError::Mixed(a, b) => write!(f, "the operands have two types, {a} and {b}"),
            ScalarError::NegativeShift => f.write_str("shift by a negative count"),
        }
    }
}

impl std::error::Error for ScalarError {}

impl Scalar {
    pub fn new(dtype: DType, bits: u64) -> Scalar {
        let bits = if dtype.size() == 8 { bits } else { bits & ((1u64 << dtype.bits()) - 1) };
        Scalar { dtype, bits }
    }

    pub fn index(v: i64) -> Scalar {
        Scalar { dtype: DType::Index, bits: v as u64 }
    }

    pub fn bool(v: bool) -> Scalar {
        Scalar { dtype: DType::Bool, bits: v as u64 }
    }

    pub fn f32(v: f32) -> Scalar {
        Scalar { dtype: DType::F32, bits: v.to_bits() as u64 }
    }

    /// An integer of type `dtype` (low bits of `v`), or the float nearest to `v`.
    pub fn from_i64(dtype: DType, v: i64) -> Scalar {
        let bits = if dtype.is_float() { crate::convert::nearest(v < 0, v.unsigned_abs(), dtype) } else { v as u64 };
        Scalar::new(dtype, bits)
    }

    /// The float of type `dtype` nearest to `v` (one rounding, ties to even; NaN is canonical). Integers truncate toward
    /// zero, saturate to the range of `i64`, and keep their low bits.
    pub fn from_f64(dtype: DType, v: f64) -> Scalar {
        match dtype {
            DType::F32 => Scalar::f32(float::canonical(v as f32)),
            DType::F16 => Scalar::new(dtype, float::f64_to_f16(v) as u64),
            DType::BF16 => Scalar::new(dtype, float::f64_to_bf16(v) as u64),
            _ => Scalar::new(dtype, v as i64 as u64),
        }
    }

    /// The value as a signed integer: sign-extended for signed types, zero-extended for unsigned ones and `Bool`.
    /// `None` for floats.
    pub fn as_i64(self) -> Option<i64> {
        (!self.dtype.is_float()).then(|| self.signed())
    }

    /// The bits extended to 64 by the sign of the type (by zeros for unsigned types, `Bool` and floats).
    pub(crate) fn signed(self) -> i64 {
        match self.dtype {
            DType::I8 => self.bits as i8 as i64,
            DType::I16 => self.bits as i16 as i64,
            DType::I32 => self.bits as i32 as i64,
            _ => self.bits as i64,
        }
    }

    /// The value as a double; exact for every type but 64-bit integers.
    pub fn as_f64(self) -> f64 {
        match self.dtype {
            DType::F32 => f32::from_bits(self.bits as u32) as f64,
            DType::F16 => float::f16_to_f32(self.bits as u16) as f64,
            DType::BF16 => float::bf16_to_f32(self.bits as u16) as f64,
            DType::U64 => self.bits as f64,
            _ => self.signed() as f64,
        }
    }

    pub fn is_true(self) -> bool {
        self.bits != 0
    }

    /// Little-endian bytes of the element; the first `dtype.size()` count.
    pub fn to_le_bytes(self) -> [u8; 8] {
        self.bits.to_le_bytes()
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}: {}", self.dtype)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            DType::Bool => write!(f, "{}", self.is_true()),
            DType::U64 => write!(f, "{}", self.bits),
            d if d.is_float() => write!(f, "{:?}", self.as_f64()),
            _ => write!(f, "{}", self.as_i64().unwrap_or(0)),
        }
    }
}
