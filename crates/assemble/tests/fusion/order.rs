//! Whether a pass has changed the order of operations that conflict: pair by pair, block by block.

use assemble::bytes::Bytes;
use ir::{Block, Entity, Function, Op, Program};

/// The first two operations, in their old order, that changed places though they may not. Both programs have the same
/// operations, in other orders.
pub(crate) fn disorder(before: &Program, after: &Program) -> Option<(String, String)> {
    let pairs = before.functions.iter().zip(after.functions.iter());
    pairs.into_iter().find_map(|((_, f), (_, g))| {
        let bytes = Bytes::new(before.arch, f);
        blocks(f).into_iter().find_map(|block| changed(f, g, block, &bytes))
    })
}

fn blocks(f: &Function) -> Vec<Block> {
    let regions = f.walk().into_iter().flat_map(|op| f.ops[op].regions.clone());
    std::iter::once(f.body).chain(regions).collect()
}

fn changed(f: &Function, g: &Function, block: Block, bytes: &Bytes) -> Option<(String, String)> {
    let (old, new) = (&f.blocks[block].ops, &g.blocks[block].ops);
    let mut place = vec![None; f.ops.len()];
    for (i, op) in new.iter().enumerate() {
        place[op.index()] = Some(i);
    }
    assert!(old.len() == new.len() && old.iter().all(|op| place[op.index()].is_some()), "operations came or went");
    for (i, &first) in old.iter().enumerate() {
        for &second in &old[i + 1..] {
            if place[first.index()] > place[second.index()] && ordered(f, bytes, first, second) {
                return Some((show(f, first), show(f, second)));
            }
        }
    }
    None
}

/// Whether the order of two operations of one block matters.
fn ordered(f: &Function, bytes: &Bytes, first: Op, second: Op) -> bool {
    let made = &f.ops[first].results;
    let uses = |op: Op| f.ops[op].operands.iter().chain(&f.ops[op].dests).any(|v| made.contains(v));
    let control = |op: Op| !f.ops[op].regions.is_empty() || f.ops[op].opcode.is_terminator();
    control(first) || control(second) || uses(second) || bytes.conflict(first, second)
}

fn show(f: &Function, op: Op) -> String {
    let line = f.ops[op].span.map_or(0, |s| s.line);
    format!("`{}` of line {line}", f.ops[op].opcode.name())
}
