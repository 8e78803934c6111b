//! Global memory: bytes shared by tasks that run in parallel, and strided views of them.
//!
//! A [`Buffer`] is a cloneable handle to a range of bytes that somebody owns: an allocation of ours, or an array that the
//! caller lent ([`Buffer::borrowed`]). A [`View`] is a dense or strided array of elements inside one. Every access is
//! checked against the handle's length and returns [`MemoryError`]; nothing here panics on what a program does.
//!
//! **Order is not this crate's business.** Handles may be used from any thread at once. The runtime orders tasks whose
//! accesses conflict (semantics rule 18); where a program has a race, and only there, the bytes it sees are unspecified.
//! Aligned scalars are read and written whole, as relaxed atomics.

// Raw bytes shared between threads are what this crate is for; each block states why it is sound.
#![allow(unsafe_code)]

mod arg;
mod buffer;
mod dims;
mod scalar;
mod view;

use std::fmt;

pub use arg::{Arg, Returned};
pub use buffer::Buffer;
pub use dims::{Dims, MAX_RANK};
pub use view::View;

/// Why an access was refused. Nothing has been read or written then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemoryError {
    /// Bytes `offset .. offset + len` of a buffer of `size` bytes.
    OutOfBounds { offset: i128, len: u128, size: u64 },
    /// A write to a read-only buffer.
    ReadOnly,
    /// Two arrays that should agree do not, or a view cannot have the shape asked for.
    Shape(String),
    /// More dimensions than [`MAX_RANK`].
    Rank(usize),
    /// The operation is not defined on elements of this type.
    Unsupported(dtype::DType),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryError::OutOfBounds { offset, len, size } => {
                write!(f, "access to bytes {offset}..{} of a buffer of {size} bytes", offset + *len as i128)
            }
            MemoryError::ReadOnly => f.write_str("write to a read-only buffer"),
            MemoryError::Shape(what) => f.write_str(what),
            MemoryError::Rank(n) => write!(f, "{n} dimensions; at most {MAX_RANK} are supported"),
            MemoryError::Unsupported(d) => write!(f, "not defined on elements of type {d}"),
        }
    }
}

impl std::error::Error for MemoryError {}
