//! Why an instruction was refused.

use std::fmt;

use dtype::DType;
use memory::MemoryError;

/// An instruction that cannot be carried out. The arena and global memory are unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The region of `operand` ends at byte `end` of an arena of `arena` bytes.
    OutOfBounds { operand: &'static str, end: u128, arena: usize },
    /// The byte offset of `operand` is not a multiple of its element size.
    Misaligned { operand: &'static str, offset: usize, align: usize },
    /// Extents that do not fit each other, or a descriptor that contradicts itself.
    Shape { operand: &'static str, reason: String },
    /// The instruction does not exist for these element types.
    DType { op: &'static str, found: Vec<DType>, supported: &'static str },
    /// Element `at` of an index tile is not in `0..bound`.
    Index { index: i64, bound: u64, at: (u32, u32) },
    /// Something else that the instruction cannot do.
    Unsupported { what: String },
    /// Global memory refused.
    Memory(MemoryError),
}

impl Fault {
    pub(crate) fn shape(operand: &'static str, reason: String) -> Fault {
        Fault::Shape { operand, reason }
    }

    pub(crate) fn dtype(op: &'static str, found: &[DType], supported: &'static str) -> Fault {
        Fault::DType { op, found: found.to_vec(), supported }
    }
}

impl From<MemoryError> for Fault {
    fn from(e: MemoryError) -> Fault {
        Fault::Memory(e)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::OutOfBounds { operand, end, arena } => {
                write!(f, "{operand} ends at byte {end} of a buffer of {arena} bytes")
            }
            Fault::Misaligned { operand, offset, align } => {
                write!(f, "{operand} starts at byte {offset}, which is not a multiple of {align}")
            }
            Fault::Shape { operand, reason } => write!(f, "{operand}: {reason}"),
            Fault::DType { op, found, supported } => {
                write!(f, "{op} is not defined on ")?;
                for (k, d) in found.iter().enumerate() {
                    write!(f, "{}{d}", if k == 0 { "" } else { ", " })?;
                }
                write!(f, "; supported: {supported}")
            }
            Fault::Index { index, bound, at } => {
                write!(f, "index {index} at ({}, {}) is out of range: there are {bound} to choose from", at.0, at.1)
            }
            Fault::Unsupported { what } => f.write_str(what),
            Fault::Memory(e) => write!(f, "global memory: {e}"),
        }
    }
}

impl std::error::Error for Fault {}
