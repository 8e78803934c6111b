//! Writes synchronisation into the function.

use std::collections::BTreeMap;

use diag::Span;
use ir::builder::attrs;
use ir::{Attr, Attrs, Block, Function, Op, OpData, Opcode as C};

use super::plan::Plan;
use super::steps::{ALL, NAMES};
use super::tokens::HOLDERS;
use super::tree::Tree;

/// An operation to be inserted.
pub(super) struct New {
    opcode: C,
    attrs: Attrs,
}

impl New {
    pub(super) fn barrier(pipe: Option<usize>) -> New {
        let name = pipe.map_or("PIPE_ALL", |p| NAMES[p]);
        New { opcode: C::Barrier, attrs: attrs([("pipe", Attr::Word(name.into()))]) }
    }

    pub(super) fn flag(opcode: C, from: usize, to: usize, id: usize) -> New {
        let word = |text: &str| Attr::Word(text.into());
        let event = ir::ops::EVENTS[id % ir::ops::EVENTS.len()];
        New { opcode, attrs: attrs([("from", word(NAMES[from])), ("to", word(NAMES[to])), ("event", word(event))]) }
    }

    pub(super) fn token(opcode: C, pipe: usize, id: usize) -> New {
        let holder = HOLDERS[pipe].unwrap_or_default();
        New { opcode, attrs: attrs([("source", Attr::Word(holder.into())), ("buffer", Attr::Int(id as i64))]) }
    }
}

/// What goes before and behind operations, in order.
#[derive(Default)]
pub(super) struct Edits {
    before: BTreeMap<Op, Vec<New>>,
    behind: BTreeMap<Op, Vec<New>>,
}

impl Edits {
    pub(super) fn before(&mut self, op: Op, new: New) {
        self.before.entry(op).or_default().push(new);
    }

    pub(super) fn behind(&mut self, op: Op, new: New) {
        self.behind.entry(op).or_default().push(new);
    }

    /// The contents of a plan.
    pub(super) fn plan(&mut self, func: &Function, tree: &Tree, plan: &Plan) {
        for region in &tree.regions {
            let end = func.blocks[region.block].ops.last().copied();
            for item in 0..=region.items.len() {
                let gap = &plan.gaps[region.first_gap + item];
                let last = item.checked_sub(1).map(|i| region.items[i].last);
                let next = region.items.get(item).map(|i| i.first).or(end);
                let flag = |opcode, k: &usize| {
                    let pair = &plan.pairs[*k];
                    New::flag(opcode, pair.from, pair.to, pair.id)
                };
                if let Some(last) = last {
                    gap.drains.iter().for_each(|k| self.behind(last, flag(C::WaitFlag, k)));
                    gap.sets.iter().for_each(|k| self.behind(last, flag(C::SetFlag, k)));
                }
                let Some(next) = next else { continue };
                gap.waits.iter().for_each(|k| self.before(next, flag(C::WaitFlag, k)));
                if gap.all {
                    self.before(next, New::barrier(None));
                } else {
                    let pipes = (0..ALL).filter(|p| gap.barriers >> p & 1 == 1);
                    pipes.for_each(|p| self.before(next, New::barrier(Some(p))));
                }
                gap.primes.iter().for_each(|k| self.before(next, flag(C::SetFlag, k)));
            }
        }
    }

    /// Rebuilds the blocks. What is inserted is said to stand where its neighbour does.
    pub(super) fn apply(mut self, func: &mut Function) {
        for block in func.blocks.keys().collect::<Vec<Block>>() {
            let old = std::mem::take(&mut func.blocks[block].ops);
            let mut ops = Vec::with_capacity(old.len());
            for op in old {
                let span = func.ops[op].span;
                for new in self.before.remove(&op).unwrap_or_default() {
                    ops.push(push(func, block, span, new));
                }
                ops.push(op);
                for new in self.behind.remove(&op).unwrap_or_default() {
                    ops.push(push(func, block, span, new));
                }
            }
            func.blocks[block].ops = ops;
        }
    }
}

fn push(func: &mut Function, block: Block, span: Option<Span>, new: New) -> Op {
    let groups = new.opcode.info().operands.len();
    func.ops.push(OpData {
        opcode: new.opcode,
        operands: Vec::new(),
        segments: vec![0; groups],
        dests: Vec::new(),
        results: Vec::new(),
        regions: Vec::new(),
        attrs: new.attrs,
        block,
        span,
        origin: None,
    })
}
