//! The front end: PyPTO-syntax Python source to a tensor-level program.
//!
//! The only crate that knows Python syntax. Bodies are never executed: source is parsed, names are looked up in an
//! [`Environment`] (the live module globals and closures of each function), and every call of a helper is specialised
//! and spliced where it stands. What names resolved to is reported ([`Specialised::lookups`]), so that a cache can tell
//! whether a program is still the one its source means.
//!
//! A body is walked once, statement by statement, over *held* values (`value`): literals, things of the host and the
//! language, and values of the program being built. What is known at compile time decides at compile time: branches are
//! pruned, `pl.unroll` copies, arithmetic folds as Python does. The rest becomes operations (`cx` emits them, equal pure
//! ones once). Structure follows from liveness (`liveness`): what a loop carries (`loops`), a branch joins (`branch`),
//! a kernel scope lets escape (`scopes`).
//!
//! The language's names, parameters and most meanings are a table (`faces`); operations with more to say are in `ops`, by
//! family. Calls are bound in `args` (the language) and `call` (helpers). Extents are found symbolically (`affine`).
//!
//! Errors are collected: a failed statement is reported and what it would have bound is poisoned, so that one mistake is
//! one report. The front end does not panic on any source.

mod affine;
mod args;
mod branch;
mod call;
mod cleanup;
mod cx;
mod entry;
mod environment;
mod expr;
mod faces;
mod kinds;
mod lanes;
mod literals;
mod liveness;
mod loops;
mod names;
mod ops;
mod print;
mod scalars;
mod scopes;
mod source;
mod stmt;
mod subscript;
mod suggest;
mod survey;
mod transposes;
mod value;

pub use print::{Style, print};

pub use environment::{
    ArgSpec, DimSpec, Environment, FunctionId, FunctionKind, FunctionSource, Known, Lookup, ParamKind, ParamSpec,
};

pub use faces::signatures;
pub use survey::survey;

use chip::Arch;
use diag::{Diagnostic, Sources};

/// A program specialised for the element types, shapes and scalar values of one call.
#[derive(Clone, Debug)]
pub struct Specialised {
    /// Tensor level, verified.
    pub program: ir::Program,
    pub warnings: Vec<Diagnostic>,
    /// Every name that was looked up and what it was, in order of first use.
    pub lookups: Vec<Lookup>,
}

/// Why there is no program: errors (at least one) with the sources their spans point into.
#[derive(Clone, Debug)]
pub struct Rejected {
    pub errors: Vec<Diagnostic>,
    pub sources: Sources,
}

/// Specialises `entry` for a call with `args` (one per parameter) on `arch`.
pub fn specialise(
    environment: &dyn Environment,
    entry: FunctionId,
    args: &[ArgSpec],
    arch: Arch,
) -> Result<Specialised, Rejected> {
    entry::specialise(environment, entry, args, arch)
}

/// The functions that a function calls or launches by name, each once, in order of first mention.
pub fn callees(environment: &dyn Environment, function: FunctionId) -> Result<Vec<FunctionId>, Rejected> {
    entry::callees(environment, function)
}

/// Whether a text is Python; if not, where it stops to be.
pub fn check_syntax(path: &str, text: &str) -> Result<(), Rejected> {
    let mut files = source::Files::default();
    match files.parse_text(path, text, 1) {
        Ok(_) => Ok(()),
        Err(error) => Err(Rejected { errors: vec![*error], sources: files.sources }),
    }
}
