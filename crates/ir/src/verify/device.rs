//! What the assembler demands of an operation of a kernel (`spec/pto-assembly.md` §2): where it is looser than executors
//! ([`loose`]), and what it demands beyond types and shapes: element types by architecture ([`elements`]), the size of
//! scratch ([`scratch`]), where it stands ([`context`]), global memory between ranks
//! ([`ranks`]), FIFOs through the fix pipe ([`epilogue`]).

mod context;
mod elements;
mod epilogue;
mod loose;
mod ranks;
mod scratch;

use super::{Check, Cx, types};
use crate::function::OpData;
use crate::types::Dim;

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    match loose::check(cx, op) {
        Some(answer) => answer?,
        None => types::common(cx, op)?,
    }
    context::check(cx, op)?;
    elements::check(cx, op)?;
    scratch::check(cx, op)?;
    ranks::check(cx, op)?;
    epilogue::check(cx, op)
}

/// Two extents that are known to differ.
fn differ(a: Dim, b: Dim) -> bool {
    matches!((a, b), (Dim::Static(a), Dim::Static(b)) if a != b)
}
