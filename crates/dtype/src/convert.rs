//! Element casts: one function per (from, to, mode, saturation, profile), used at every level (semantics rule 10).
//!
//! A cast is a [`chain`] of native hops, each done by [`convert`] with the same mode. One hop means:
//!
//! **Rounding.** [`RoundMode::None`] truncates float → int and is `Rint` otherwise. `Odd` is the sticky lowest bit: truncate,
//! and if that was inexact force the lowest bit of the result to 1. Float → narrower float honours the mode, also where
//! the result is subnormal; int → float is nearest-even whatever the mode; `f32 → f32` rounds to an integral value.
//! `CpuCompat`: float → float is nearest-even whatever the mode (but `f32 → f32` honours it, and is the identity for `None`),
//! `Odd` is nearest with ties to odd.
//!
//! **Range, saturation off** (the meaning of an absent attribute). Float → int: round, saturate to i32 (to i64 for a
//! 64-bit destination), NaN to 0, keep the low bits of the destination: +inf to i16 is −1, 300 to i8 is 44. Int → int:
//! the low bits; widening extends by the sign of the source. To a float: a result that, rounded without a limit on the
//! exponent, exceeds the largest finite value is infinity; that is so in every mode.
//!
//! **Range, saturation on.** Integers clamp to the destination after rounding, NaN to 0. Floats clamp to the largest
//! finite value, infinite sources included; NaN stays NaN.
//!
//! **`CpuCompat` range.** Float → int out of the range of i32 (or of i64 for a 64-bit destination), infinities and NaN are the
//! integer indefinite value 0x8000…, of which the low bits are kept. Saturation clamps *before* rounding.
//!
//! NaN results are canonical (rule 5). Sources: `isa.md` §2.9, `dsl.md` §0 and §5.2.

mod chain;
mod hop;
mod slice;

use std::fmt;
use std::str::FromStr;

pub use chain::{chain, native};
pub use hop::convert;
pub(crate) use hop::nearest;
pub use slice::convert_slice;

/// How a value that the destination cannot hold is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RoundMode {
    /// Left to the pair of types: truncation for float → int, nearest-even otherwise.
    None,
    /// Nearest, ties to even.
    Rint,
    /// Nearest, ties away from zero: the default of the language.
    Round,
    Floor,
    Ceil,
    Trunc,
    /// Truncated, lowest bit sticky.
    Odd,
}

impl RoundMode {
    /// In the order of the instruction's encoding (`isa.md` §2.9), which is also the language's numbering.
    pub const ALL: [RoundMode; 7] = [
        RoundMode::None,
        RoundMode::Rint,
        RoundMode::Round,
        RoundMode::Floor,
        RoundMode::Ceil,
        RoundMode::Trunc,
        RoundMode::Odd,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            RoundMode::None => "none",
            RoundMode::Rint => "rint",
            RoundMode::Round => "round",
            RoundMode::Floor => "floor",
            RoundMode::Ceil => "ceil",
            RoundMode::Trunc => "trunc",
            RoundMode::Odd => "odd",
        }
    }
}

impl fmt::Display for RoundMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RoundMode {
    type Err = ();

    fn from_str(s: &str) -> Result<RoundMode, ()> {
        RoundMode::ALL.into_iter().find(|m| m.name() == s).ok_or(())
    }
}

/// Whose numerics a run follows (semantics rule 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Profile {
    A2a3,
    A5,
    /// Upstream's CPU model, with the casts that A2/A3 has.
    CpuCompat,
}

impl Profile {
    pub const ALL: [Profile; 3] = [Profile::A2a3, Profile::A5, Profile::CpuCompat];

    pub const fn name(self) -> &'static str {
        match self {
            Profile::A2a3 => "a2a3",
            Profile::A5 => "a5",
            Profile::CpuCompat => "cpu-compat",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = ();

    /// `a2a3`, `a2a3sim`, `a5`, `a5sim` or `cpu-compat`.
    fn from_str(s: &str) -> Result<Profile, ()> {
        match s {
            "a2a3" | "a2a3sim" => Ok(Profile::A2a3),
            "a5" | "a5sim" => Ok(Profile::A5),
            "cpu-compat" => Ok(Profile::CpuCompat),
            _ => Err(()),
        }
    }
}
