//! Native command lines: shells over `driver`. A command is a function of its arguments and streams, so that tests can
//! run it; what is in `bin` only connects it to the process.
//!
//! [`flags`] reads arguments as LLVM's tools do, [`output`] writes files that are whole or not there, [`ptoas`] is the
//! assembler.

pub mod flags;
pub mod output;
pub mod ptoas;
