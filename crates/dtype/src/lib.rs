//! Number formats: what an element is, how scalars compute, how values convert.
//!
//! The bottom of the house: every executor, every constant fold and every cast goes through this crate, so that one
//! operation has one result, bit for bit, wherever it happens (`spec/semantics.md`, rules 5, 6, 10, 16).
//!
//! * [`DType`]: the element types of tensors, tiles and scalars.
//! * [`scalar`]: a typed scalar value and its arithmetic (`//` and `%` truncate, no contraction).
//! * [`float`]: the bits of f16, bf16 and f32.
//! * [`convert`]: element conversions, one function per (from, to, rounding mode, saturation, profile).

pub mod convert;
mod element;
pub mod float;
pub mod scalar;

pub use convert::{Profile, RoundMode};
pub use element::DType;
pub use scalar::Scalar;
