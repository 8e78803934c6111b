//! [`place`].

use diag::Diagnostic;
use ir::Program;

use crate::{Options, plan};

/// Gives every `alloc_tile` of every unplaced kernel its `addr` (an i64 literal, bytes from the start of its space) and
/// every `reserve_buffer` its `base`, and sets the property `placed`. Nothing else changes.
///
/// # Errors
/// Those of [`plan`](plan::plan).
pub fn place(program: &Program, options: &Options) -> Result<Program, Vec<Diagnostic>> {
    let plan = plan::plan(program, options)?;
    let mut placed = program.clone();
    plan::apply(&mut placed, &plan);
    Ok(placed)
}
