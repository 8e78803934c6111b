//! Element types: names, widths and classes.

use std::fmt;
use std::str::FromStr;

/// The type of one element of a tensor or tile, or of a scalar.
///
/// `Index` is the 64-bit signed type of loop variables, dimensions and integer literals; it is interchangeable with
/// `I64` in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    Index,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
}

impl DType {
    pub const ALL: [DType; 13] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::Index,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
    ];

    /// Bytes of one element in memory.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::Index => 8,
        }
    }

    pub const fn bits(self) -> u32 {
        self.size() as u32 * 8
    }

    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32)
    }

    /// Integers, `Index` included and `Bool` not.
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, DType::Bool)
    }

    pub const fn is_signed_int(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::Index)
    }

    /// The spelling in IR text (`f32`, `bf16`, `i8`, `u32`, `index`, `i1`).
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "i1",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::Index => "index",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
        }
    }

    /// The spelling in the PyPTO language (`pl.FP32` is `FP32`).
    pub const fn language_name(self) -> &'static str {
        match self {
            DType::Bool => "BOOL",
            DType::I8 => "INT8",
            DType::I16 => "INT16",
            DType::I32 => "INT32",
            DType::I64 => "INT64",
            DType::Index => "INDEX",
            DType::U8 => "UINT8",
            DType::U16 => "UINT16",
            DType::U32 => "UINT32",
            DType::U64 => "UINT64",
            DType::F16 => "FP16",
            DType::BF16 => "BF16",
            DType::F32 => "FP32",
        }
    }

    pub fn from_language_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.language_name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = ();

    fn from_str(s: &str) -> Result<DType, ()> {
        DType::ALL.into_iter().find(|d| d.name() == s).ok_or(())
    }
}
