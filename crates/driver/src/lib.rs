//! A session: from source to result, and the only place where the levels meet.
//!
//! ```text
//! source ──frontend──▶ tensor level ──lower──▶ tile level ──assemble──▶ machine level ──runtime──▶ result
//!                          │                       │                        │
//!                      reference               runtime                   runtime        (check levels: same bits)
//! ```
//!
//! A [`Program`] holds all three levels; [`Program::run`] executes the machine level, or every level when asked to
//! compare them. A program can be saved to a folder and loaded back; nothing but that folder is needed to run it.

mod artifact;
pub mod assemble;
mod checks;
mod compile;
pub mod exec;
mod kernels;
mod levels;
mod run;

pub use artifact::edits;
pub use checks::Checks;
pub use compile::{Failure, Options, Support, compile, support};
pub use kernels::unsupported_in_kernels;
pub use levels::{Difference, Expected, LevelReport};
pub use run::{Program, ProgramParam, ProgramParamKind, Report, RunOptions, params_of};
