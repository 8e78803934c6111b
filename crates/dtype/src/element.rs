//! Element types: names, widths and classes.

use std::fmt;
use std::str::FromStr;

/// The type of one element of a tensor or tile, or of a scalar.
///
/// `Index` is the 64-bit signed type of loop variables, dimensions and integer literals; it is interchangeable with
/// `I64` in memory.
///
/// The variants after `F32` are *stored* formats: they have names and sizes, so that programs with them can be read,
/// verified, placed and printed, and no arithmetic, so that executors refuse them ([`DType::is_computed`]). They are
/// neither integers nor floats to anything that computes. One element of a format that ends in `x2` is a pair.
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
    F64,
    /// Signed 8-bit integers that the text tells apart from signless ones (fix-pipe quantisation).
    SI8,
    F8E4M3,
    /// As `F8E4M3`, with infinities: named by MLIR, taken by no instruction.
    F8E4M3Inf,
    F8E5M2,
    /// Powers of two: the scales of the MX formats.
    F8E8M0,
    HiF8,
    HiF8x2,
    F4E1M2x2,
    F4E2M1x2,
    BF16x2,
}

impl DType {
    /// The types that executors compute with.
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

    /// The types that are only stored.
    pub const STORED: [DType; 11] = [
        DType::F64,
        DType::SI8,
        DType::F8E4M3,
        DType::F8E4M3Inf,
        DType::F8E5M2,
        DType::F8E8M0,
        DType::HiF8,
        DType::HiF8x2,
        DType::F4E1M2x2,
        DType::F4E2M1x2,
        DType::BF16x2,
    ];

    /// Whether executors have arithmetic for it; the others are only stored.
    pub const fn is_computed(self) -> bool {
        (self as u8) <= (DType::F32 as u8)
    }

    /// Floats of 8 bits.
    pub const fn is_f8(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F8E5M2)
    }

    /// Pairs of floats of 4 bits.
    pub const fn is_f4(self) -> bool {
        matches!(self, DType::F4E1M2x2 | DType::F4E2M1x2)
    }

    /// Bytes of one element in memory.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 | DType::SI8 => 1,
            DType::F8E4M3 | DType::F8E4M3Inf | DType::F8E5M2 | DType::F8E8M0 | DType::HiF8 => 1,
            DType::F4E1M2x2 | DType::F4E2M1x2 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 | DType::HiF8x2 => 2,
            DType::I32 | DType::U32 | DType::F32 | DType::BF16x2 => 4,
            DType::I64 | DType::U64 | DType::Index | DType::F64 => 8,
        }
    }

    pub const fn bits(self) -> u32 {
        self.size() as u32 * 8
    }

    /// Floats with arithmetic.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32)
    }

    /// Integers with arithmetic, `Index` included and `Bool` not.
    pub const fn is_int(self) -> bool {
        self.is_computed() && !self.is_float() && !matches!(self, DType::Bool)
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
            DType::F64 => "f64",
            DType::SI8 => "si8",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E4M3Inf => "f8e4m3inf",
            DType::F8E5M2 => "f8e5m2",
            DType::F8E8M0 => "f8e8m0",
            DType::HiF8 => "hif8",
            DType::HiF8x2 => "hif8x2",
            DType::F4E1M2x2 => "f4e1m2x2",
            DType::F4E2M1x2 => "f4e2m1x2",
            DType::BF16x2 => "bf16x2",
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
            // The language does not name them.
            stored => stored.name(),
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
        DType::ALL.into_iter().chain(DType::STORED).find(|d| d.name() == s).ok_or(())
    }
}
