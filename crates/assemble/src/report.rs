//! The over-capacity error: what is live where a buffer is fullest.

use chip::Space;
use diag::{Diagnostic, Span};
use ir::{Entity, Function, Op, Program};

use crate::access::Access;
use crate::alias::{Aliases, Root};
use crate::interference::{Interference, Relation};
use crate::pack::{Bounds, align_up};
use crate::usage::Usage;

/// What the analyses found out about a function.
pub(crate) struct Facts<'a> {
    pub(crate) program: &'a Program,
    pub(crate) func: &'a Function,
    pub(crate) aliases: &'a Aliases,
    pub(crate) accesses: &'a [Access],
    pub(crate) usage: &'a Usage,
    pub(crate) interference: &'a Interference,
}

/// How many tiles get a line of the message each.
const LISTED: usize = 12;

/// Where a space is fullest, as a position in the walk, and the aligned bytes of tiles there.
pub(crate) fn fullest(facts: &Facts<'_>, space: Space, align: u64) -> (Option<usize>, u64) {
    let mut best = (None, 0);
    for (position, op) in facts.func.walk().into_iter().enumerate() {
        // What is shared in place only makes it less.
        if facts.usage.bytes(op, space) > best.1 || best.0.is_none() {
            let bytes = needed(facts, space, align, op);
            if bytes > best.1 || best.0.is_none() {
                best = (Some(position), bytes);
            }
        }
    }
    best
}

/// `height` bytes are what the best packing needs, `least` what is in use at `peak`.
pub(crate) fn over_capacity(
    facts: &Facts<'_>,
    space: Space,
    bounds: Bounds,
    height: u64,
    peak: Option<usize>,
    least: u64,
) -> Diagnostic {
    let roots = &facts.aliases.roots;
    let (floor, capacity) = (bounds.floor, bounds.capacity);
    let op = peak.map(|position| facts.func.walk()[position]);
    let name = &facts.func.name;
    let chip = facts.program.arch.name();
    // The words before the colon are what other tools look for.
    let bits = |bytes: u64| u128::from(bytes) * 8;
    let summary = format!(
        "{} overflow, requires {} bits while {} bits available",
        space.name().to_uppercase(),
        bits(height),
        bits(capacity)
    );
    let message = if least > capacity {
        format!("{summary}: `{name}` needs {least} bytes of {space} at once; {chip} has {capacity}")
    } else {
        format!(
            "{summary}: `{name}` needs {height} bytes of {space} (best packing found; {least} at once); {chip} has {capacity}"
        )
    };
    let span = op.and_then(|op| facts.func.ops[op].span);
    let mut error = Diagnostic::error("over-capacity", message).at(span, format!("{space} is fullest here"));
    let mut live = peak.map_or(Vec::new(), |position| facts.usage.at(position));
    live.retain(|&i| roots[i].space == space);
    live.sort_by_key(|&i| std::cmp::Reverse(roots[i].bytes));
    for &i in live.iter().take(LISTED) {
        let span = made_at(facts, i);
        if span.is_some() && error.secondary.iter().all(|l| Some(l.span) != span) && span != facts_span(facts, op) {
            error = error.also(span, describe(facts, &roots[i]));
        }
        let place = span.map_or(String::new(), |s| format!(", {}", facts.program.sources.place(s)));
        error = error.note(format!("{} bytes: {}{place}", roots[i].bytes, describe(facts, &roots[i])));
    }
    if live.len() > LISTED {
        let rest: u64 = live[LISTED..].iter().map(|&i| roots[i].bytes).sum();
        error = error.note(format!("{rest} bytes: {} smaller tiles", live.len() - LISTED));
    }
    if floor > 0 {
        error = error.note(format!("{floor} bytes: slots for tiles from the other core"));
    }
    error.help("use smaller tiles, or values that are needed for a shorter time")
}

fn facts_span(facts: &Facts<'_>, op: Option<Op>) -> Option<Span> {
    op.and_then(|op| facts.func.ops[op].span)
}

/// Bytes of the roots in use at an operation; a destination that may replace an operand counts once.
fn needed(facts: &Facts<'_>, space: Space, align: u64, op: Op) -> u64 {
    let roots = &facts.aliases.roots;
    let size = |i: usize| align_up(roots[i].bytes, align);
    let access = &facts.accesses[op.index()];
    let shared = access.writes.iter().flat_map(|&w| {
        access
            .reads
            .iter()
            .filter(move |r| r.root != w && roots[w].space == space && roots[r.root].space == space)
            .filter(move |r| facts.interference.relation(w, r.root) != Relation::Apart)
            .map(move |r| size(w).min(size(r.root)))
    });
    facts.usage.bytes(op, space).saturating_sub(shared.max().unwrap_or(0))
}

/// The line that a tile belongs to: its own, or that of the first operation that writes it.
fn made_at(facts: &Facts<'_>, root: usize) -> Option<Span> {
    let own = facts.func.ops[facts.aliases.roots[root].op].span;
    own.or_else(|| {
        let mut ops = facts.func.walk().into_iter();
        let first = ops.find(|&op| facts.accesses[op.index()].writes.contains(&root))?;
        facts.func.ops[first].span
    })
}

fn describe(facts: &Facts<'_>, root: &Root) -> String {
    let shape: Vec<String> = root.ty.shape.iter().map(u64::to_string).collect();
    let shape = shape.join("×");
    match &facts.func.values[root.value].name {
        Some(name) => format!("`{name}`, {shape} {}", root.ty.dtype),
        None => format!("a tile of {shape} {}", root.ty.dtype),
    }
}
