//! The reference executor: runs a tensor-level program and so defines the right answer.
//!
//! Everything happens in program order: no tasks, no lowering, no spaces, no FIFOs. It shares nothing with the other
//! executors but `isa` (what one instruction computes) and `memory` (what bytes are), so that equal results at another
//! level say something about the passes between.
//!
//! * Control flow is flattened once per run into linear code ([`flatten`]); a block of a scope is a frame of slots. Blocks
//!   run in ascending order and are left only at `syncall` (semantics rule 22).
//! * Tiles are row-major values in one arena ([`arena`]); `tinsert` and `tsetval` change them in place (rule 14).
//! * With [`Options::definedness`], a shadow byte beside every byte says whether it was ever given a value (rule 2); a
//!   branch, an address or a host read that depends on one that was not is an error of kind `Finding`.
//!
//! Two arguments that overlap while one is written are the caller's business (rule 17).

mod arena;
mod code;
mod flatten;
mod global;
mod machine;
mod problem;
mod tiles;

use std::sync::atomic::AtomicBool;

use diag::Diagnostic;
use dtype::Profile;
use ir::{Op, Program};
use memory::{Arg, Returned};

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whose casts, reductions and pads.
    pub profile: Profile,
    /// Track which elements are defined.
    pub definedness: bool,
}

/// What a run did. What it wrote is in the arguments' memory.
#[derive(Debug)]
pub struct Outcome {
    pub returned: Vec<Returned>,
    /// Per argument: for a tensor that was written, if definedness is tracked, one byte per element in row-major order, 1
    /// where the element is defined. The caller's contents are (semantics rule 3). `None` for everything else.
    pub defined: Vec<Option<Vec<u8>>>,
    /// The same for [`Outcome::returned`]; `None` for a parameter and where definedness is not tracked.
    pub returned_defined: Vec<Option<Vec<u8>>>,
    /// How many tasks (scopes) ran.
    pub tasks: u32,
}

/// Where a value was complete: in which task and block, and which time this operation ran there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    pub task: u32,
    pub block: u32,
    pub op: Op,
    /// From 0.
    pub nth: u32,
}

/// Is told the digest of every tile that a scope makes or changes, and of every box of global memory it stores.
pub trait Observer {
    fn value(&mut self, point: Point, digest: u64);
}

/// Runs a tensor-level program. `args` are in the order of the entry's parameters.
///
/// An error is a wrong call, a run error of the program (at the user's line), something this level does not have, or, with
/// definedness, a decision that undefined data made. What was written until then stays written.
pub fn run(
    program: &Program,
    args: &[Arg],
    options: &Options,
    observer: Option<&mut dyn Observer>,
) -> Result<Outcome, Diagnostic> {
    run_until(program, args, options, observer, &AtomicBool::new(false))
}

/// As [`run`], but ends with an error (`interrupted`) soon after somebody sets `interrupt`: at the next iteration of a
/// loop, block of a scope or tile operation.
pub fn run_until(
    program: &Program,
    args: &[Arg],
    options: &Options,
    observer: Option<&mut dyn Observer>,
    interrupt: &AtomicBool,
) -> Result<Outcome, Diagnostic> {
    let Some(entry) = program.functions.get(program.entry) else {
        return Err(Diagnostic::error("malformed-ir", "a program without its entry"));
    };
    let code = flatten::flatten(entry, options.profile).map_err(|e| *e)?;
    // Shortens the trait object's lifetime, which an `Option` would keep.
    let watch = machine::Watch { observer: observer.map(|observer| observer as &mut dyn Observer), interrupt };
    let outcome = if options.definedness {
        machine::Machine::<true>::new(entry, args, options, watch).and_then(|m| m.execute(&code))
    } else {
        machine::Machine::<false>::new(entry, args, options, watch).and_then(|m| m.execute(&code))
    };
    outcome.map_err(|e| *e)
}
