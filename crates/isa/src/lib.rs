//! What each tile instruction computes, on views of one byte arena.
//!
//! An arena is the raw memory of a core: `&mut [u8]`. A [`Tile`] says where in it a matrix lies: byte offset, element type,
//! physical and valid extent, order of the elements. Operands of one instruction may alias. Every function here checks all
//! of its operands against the arena first and returns a [`Fault`] without having changed a byte; no input panics.
//!
//! # Rules that hold for every instruction
//!
//! * **Domain** (`isa.md` §2.0): the valid region of the destination, except for reductions, transposes, comparisons,
//!   gathers by a pattern, scatters by an index, sorts and stores (that of the source) and matmul (m, k from the left operand,
//!   n from the right one). A domain without elements is a no-op.
//!   Sources are read over the domain, valid or not; their *physical* extent must cover it. Bytes outside the domain keep
//!   what they were (what is undefined about them is the business of [`shadow`]).
//! * **Aliasing**: the result is that of reading every source before writing the destination, however they overlap
//!   (semantics rule 12).
//! * **Floats**: one rounding per operation in the element type, NaN results canonical (rule 5), subnormals kept except
//!   in bf16 matmul (rule 6). Integers wrap.
//! * **Tiers** ([`tier`]): portable, AVX2 and AVX-512 instances of the same loops give the same bits.
//!
//! `Index` elements are treated as `I64`, `Bool` moves and compares as bytes but does not compute.

// Raw loops over checked byte ranges are what this crate is for; each block states why it is sound.
#![allow(unsafe_code)]

mod compare;
mod convert;
mod copy;
mod digest;
mod elementwise;
mod fault;
mod fill;
mod gather;
mod index;
mod indexed;
mod math;
mod matmul;
mod number;
mod plane;
mod random;
mod reduce;
mod scalar;
mod select;
pub mod shadow;
mod simd;
mod sort;
pub mod tier;
mod tile;
mod transfer;

pub use compare::{Predicate, compare, compare_scalar};
pub use convert::convert;
pub use copy::{Pad, copy, copy_across, fill_pad, transpose};
pub use digest::{digest, digest_scatter, digest_store, digest_view};
pub use elementwise::{BinaryOp, UnaryOp, binary, binary_scalar, col_expand, part, row_expand, unary};
pub use fault::Fault;
pub use fill::{fill, fill_all, iota, triangle};
pub use gather::{Pattern, gather, gather_blocks, gather_mask, scatter, scatter_mask};
pub use indexed::{Atomic, GatherMode, OutOfRange, ScatterMode, gather_view, scatter_view};
pub use matmul::{Init, matmul};
pub use random::random;
pub use reduce::{Arg, Reduce, arg_reduce_cols, arg_reduce_rows, col_reduce, row_reduce};
pub use scalar::{get, set};
pub use select::{select, select_scalar};
pub use sort::{merge_lists, merge_sort, sort32};
pub use tier::Tier;
pub use tile::{Order, Tile};
pub use transfer::{load, store};
