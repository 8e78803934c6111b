//! From where to where each buffer is needed: positions in program order, loops counted as a whole where they must be.

use ir::{Function, Op, Opcode, Value};

use super::edit::tile;

/// A buffer and the positions between which its bytes matter.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) alloc: Op,
    pub(super) tile: Value,
    /// The first access.
    pub(super) start: usize,
    /// The last access.
    pub(super) end: usize,
}

impl Range {
    /// Whether both are needed at some point. One that ends where the other starts is not: an operation may read the one
    /// and write the other.
    pub(super) fn overlaps(&self, other: &Range) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }
}

/// The ranges of all `alloc_tile` buffers, in program order.
pub(super) fn ranges(func: &Function) -> Vec<Range> {
    let walk = func.walk();
    // Positions of each loop: itself, and the last operation inside.
    let mut loops = Vec::new();
    for (at, &op) in walk.iter().enumerate() {
        if matches!(func.ops[op].opcode, Opcode::For | Opcode::While) {
            let inside = |o: Op| {
                let mut block = func.ops[o].block;
                while let Some(parent) = func.blocks[block].parent {
                    if parent == op {
                        return true;
                    }
                    block = func.ops[parent].block;
                }
                false
            };
            let end = (at + 1..walk.len()).rev().find(|&p| inside(walk[p])).unwrap_or(at);
            loops.push((at, end));
        }
    }
    let mut out = Vec::new();
    for (at, &op) in walk.iter().enumerate() {
        let data = &func.ops[op];
        let (Opcode::AllocTile, Some(root)) = (data.opcode, data.result()) else {
            continue;
        };
        // Other descriptors of the same bytes.
        let mut names = vec![root];
        let (mut start, mut end) = (usize::MAX, 0);
        for (p, &user) in walk.iter().enumerate().skip(at + 1) {
            let data = &func.ops[user];
            if !data.operands.iter().chain(&data.dests).any(|v| names.contains(v)) {
                continue;
            }
            let views = data.results.iter().filter(|&&v| tile(func, v).is_some());
            let before = names.len();
            names.extend(views);
            if names.len() == before {
                (start, end) = (start.min(p), end.max(p));
            }
        }
        if start == usize::MAX {
            continue;
        }
        // What a loop uses and somebody outside made must survive every iteration.
        for &(first, last) in &loops {
            if at < first && start <= last && end >= first {
                (start, end) = (start.min(first), end.max(last));
            }
        }
        out.push(Range { alloc: op, tile: root, start, end });
    }
    out
}
