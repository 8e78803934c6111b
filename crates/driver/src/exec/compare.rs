//! Two programs on the same inputs, and the first operation that makes something else.
//!
//! Passes move operations, so the two are matched by what an operation is: its function, its name, where in the source it
//! comes from, what its result is called; and of equal ones by how often that was executed. Of the operations whose
//! digests differ the first one of the first program is the finding; what is executed only once more on one side is not,
//! unless nothing else differs.

use std::collections::BTreeMap;

use diag::{Diagnostic, Span};
use dtype::Profile;
use ir::{Function, OpData, Program};

use super::inputs::Inputs;
use super::kernel::Kernel;
use super::session::{Outcome, Session};
use crate::compile::Failure;

/// That two programs differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Arguments that are not the same after the runs, with the first byte that differs.
    pub args: Vec<(String, u64)>,
    /// The finding, with the first operation that made something else if one was found.
    pub finding: Diagnostic,
}

/// What an operation is, whatever its place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Identity {
    function: String,
    core: u32,
    opcode: &'static str,
    line: Option<(u32, u32)>,
    result: Option<String>,
}

/// One execution of it.
struct Event {
    identity: Identity,
    nth: u32,
    digest: u64,
    span: Option<Span>,
}

/// Runs both entries on `inputs`.
///
/// # Errors
/// Of either program: it does not decode.
pub fn compare(
    first: &Program,
    second: &Program,
    entry: &str,
    profile: Profile,
    inputs: &Inputs,
) -> Result<Option<Difference>, Failure> {
    let (a, b) = (Kernel::new(first, entry, profile)?, Kernel::new(second, entry, profile)?);
    let mut session = Session::new();
    let mut inputs = inputs.clone();
    b.complete(&mut session, &mut inputs);
    let (left, right) = (session.run(&a, &inputs), session.run(&b, &inputs));
    if left.same(&right) {
        return Ok(None);
    }
    let (a, b) = (Kernel::observed(first, entry, profile)?, Kernel::observed(second, entry, profile)?);
    let (left, right) = (session.run(&a, &inputs), session.run(&b, &inputs));
    let args = different(&a, &left, &right);
    let mut finding = Diagnostic::finding("execution-differs", message(entry, &args, &left, &right));
    finding = match first_event(&events(&a, &left), &events(&b, &right)) {
        Some((event, why)) => {
            let what = match &event.identity.result {
                Some(name) => format!("`{}` to `%{name}`", event.identity.opcode),
                None => format!("`{}`", event.identity.opcode),
            };
            let nth = event.nth + 1;
            finding
                .at(event.span, format!("execution {nth}: {why}"))
                .note(format!("first difference: {what} in `{}`, execution {nth}: {why}", event.identity.function))
        }
        None => finding.note("no operation that both have made something else"),
    };
    for (side, outcome) in [("first", &left), ("second", &right)] {
        if let Some(trap) = &outcome.trap {
            finding = finding.note(format!("the {side} stops: {}", trap.message));
        }
    }
    Ok(Some(Difference { args, finding }))
}

fn message(entry: &str, args: &[(String, u64)], left: &Outcome, right: &Outcome) -> String {
    match (args.first(), &left.trap, &right.trap) {
        (Some((name, byte)), ..) => format!("`{entry}` leaves other bits in `{name}` (first at byte {byte})"),
        (None, Some(_), None) => format!("only the first `{entry}` stops"),
        (None, None, Some(_)) => format!("only the second `{entry}` stops"),
        _ => format!("both `{entry}` stop, for different reasons"),
    }
}

/// Arguments whose contents differ, with the first byte.
fn different(kernel: &Kernel, left: &Outcome, right: &Outcome) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for (param, (l, r)) in kernel.params.iter().zip(left.outputs.iter().zip(&right.outputs)) {
        let chunk = l.keys().chain(r.keys()).copied().filter(|c| l.get(c) != r.get(c)).min();
        let Some(chunk) = chunk else { continue };
        let byte = match (l.get(&chunk), r.get(&chunk)) {
            (Some(x), Some(y)) => x.iter().zip(y.iter()).position(|(x, y)| x != y).unwrap_or(0),
            _ => 0,
        };
        found.push((param.name.clone(), chunk as u64 * machine::measure::CHUNK as u64 + byte as u64));
    }
    found
}

fn events(kernel: &Kernel, outcome: &Outcome) -> Vec<Event> {
    let mut counts: BTreeMap<Identity, u32> = BTreeMap::new();
    let mut out = Vec::new();
    for (lane, record) in &outcome.values {
        let Some((f, data, span)) = kernel.operation(*lane, record.point.op) else { continue };
        let identity = identity(f, data, kernel.subblock(*lane));
        let count = counts.entry(identity.clone()).or_insert(0);
        out.push(Event { identity, nth: *count, digest: record.digest, span });
        *count += 1;
    }
    out
}

fn identity(f: &Function, data: &OpData, core: u32) -> Identity {
    let result = data.dest().or(data.output()).and_then(|v| f.values[v].name.clone());
    Identity {
        function: f.name.clone(),
        core,
        opcode: data.opcode.name(),
        line: data.span.map(|s| (s.line, s.col)),
        result,
    }
}

/// The first event of `left` with another digest in `right`, or that `right` does not have.
fn first_event<'a>(left: &'a [Event], right: &[Event]) -> Option<(&'a Event, &'static str)> {
    let found: BTreeMap<(&Identity, u32), u64> = right.iter().map(|e| ((&e.identity, e.nth), e.digest)).collect();
    let other = left.iter().find(|e| found.get(&(&e.identity, e.nth)).is_some_and(|&d| d != e.digest));
    let missing = || left.iter().find(|e| !found.contains_key(&(&e.identity, e.nth)));
    other.map(|e| (e, "another value")).or_else(|| missing().map(|e| (e, "did not happen in the second")))
}
