//! The over-capacity error: what is live where a buffer is fullest.

use chip::Space;
use diag::{Diagnostic, Span};
use ir::{Entity, Function, Op, Program};

use crate::access::Access;
use crate::alias::{Aliases, Root};
use crate::interference::{Interference, Relation};
use crate::liveness::Liveness;
use crate::pack::align_up;

/// What the analyses found out about a function.
pub(crate) struct Facts<'a> {
    pub(crate) program: &'a Program,
    pub(crate) func: &'a Function,
    pub(crate) aliases: &'a Aliases,
    pub(crate) accesses: &'a [Access],
    pub(crate) liveness: &'a Liveness,
}

/// How many tiles get a line of the message each.
const LISTED: usize = 12;

/// `height` bytes are what the best packing needs.
pub(crate) fn over_capacity(
    facts: &Facts<'_>,
    interference: &Interference,
    space: Space,
    floor: u64,
    height: u64,
    capacity: u64,
) -> Diagnostic {
    let roots = &facts.aliases.roots;
    let peak = facts.func.walk().into_iter().map(|op| (op, needed(facts, interference, space, op)));
    let peak = peak.fold(None, |best: Option<(Op, u64)>, (op, bytes)| match best {
        Some((_, most)) if most >= bytes => best,
        _ => Some((op, bytes)),
    });
    let (op, bytes) = match peak {
        Some((op, bytes)) => (Some(op), floor.saturating_add(bytes)),
        None => (None, floor),
    };
    let name = &facts.func.name;
    let chip = facts.program.arch.name();
    let message = if bytes > capacity {
        format!("`{name}` needs {bytes} bytes of {space} at once; {chip} has {capacity}")
    } else {
        format!("`{name}` needs {height} bytes of {space} (best packing found; {bytes} at once); {chip} has {capacity}")
    };
    let span = op.and_then(|op| facts.func.ops[op].span);
    let mut error = Diagnostic::error("over-capacity", message).at(span, format!("{space} is fullest here"));
    let mut live: Vec<usize> = op.map_or(Vec::new(), |op| facts.in_use(op).iter().collect());
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
fn needed(facts: &Facts<'_>, interference: &Interference, space: Space, op: Op) -> u64 {
    let roots = &facts.aliases.roots;
    let size = |i: usize| align_up(roots[i].bytes, chip::alignment(space) as u64);
    let in_use: Vec<usize> = facts.in_use(op).iter().filter(|&i| roots[i].space == space).collect();
    let access = &facts.accesses[op.index()];
    let shared = access.writes.iter().flat_map(|&w| {
        access
            .reads
            .iter()
            .filter(move |r| r.root != w && roots[w].space == space && roots[r.root].space == space)
            .filter(move |r| interference.relation(w, r.root) == Relation::SameOrApart)
            .map(move |r| size(w).min(size(r.root)))
    });
    let total = in_use.iter().fold(0u64, |n, &i| n.saturating_add(size(i)));
    total - shared.max().unwrap_or(0).min(total)
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
