//! The function as the planner sees it: regions of items, and the gaps between items, where synchronisation goes.

use std::ops::Range;

use ir::{Block, Function, Op, Opcode as C};

use super::steps::{NAMES, Step};

#[derive(Debug)]
pub(super) struct Region {
    pub(super) block: Block,
    pub(super) items: Vec<Item>,
    /// Number of the gap before the first item; the others follow, and one after the last item.
    pub(super) first_gap: usize,
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// The operations that it begins and ends with.
    pub(super) first: Op,
    pub(super) last: Op,
    /// The steps in it.
    pub(super) steps: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Step(usize),
    /// Written by the author: of a pipe, or of all.
    Barrier(Option<usize>),
    /// A counted loop: its body, any number of times.
    Loop(usize),
    /// `while`: first region, then second and first again, any number of times.
    While(usize, usize),
    /// One of the regions.
    Branch(Vec<usize>),
    /// The region, once.
    Once(usize),
}

/// A function without what needs no order.
#[derive(Debug)]
pub(super) struct Tree {
    /// Regions by number, inner ones before the ones around them; the last is the function's body.
    pub(super) regions: Vec<Region>,
    pub(super) gaps: usize,
}

impl Tree {
    pub(super) fn new(func: &Function, steps: &[Step]) -> Tree {
        let mut tree = Tree { regions: Vec::new(), gaps: 0 };
        let mut next = 0;
        let body = tree.region(func, func.body, steps, &mut next);
        tree.regions.push(body);
        tree
    }

    fn region(&mut self, func: &Function, block: Block, steps: &[Step], next: &mut usize) -> Region {
        let mut items = Vec::new();
        for &op in &func.blocks[block].ops {
            let data = &func.ops[op];
            let start = *next;
            let mut regions = Vec::new();
            for &inner in &data.regions {
                let region = self.region(func, inner, steps, next);
                self.regions.push(region);
                regions.push(self.regions.len() - 1);
            }
            let busy = !regions.is_empty() && (*next > start || regions.iter().any(|&r| self.has_barrier(r)));
            let kind = match (data.opcode, &regions[..]) {
                (C::For, &[body]) if busy => Kind::Loop(body),
                (C::While, &[head, body]) if busy => Kind::While(head, body),
                (C::If, _) if busy => Kind::Branch(regions),
                (_, &[region]) if busy => Kind::Once(region),
                (C::Barrier, _) => {
                    let name = data.attrs.word("pipe").unwrap_or("PIPE_ALL");
                    Kind::Barrier(NAMES.iter().position(|&n| n == name))
                }
                _ => match steps.get(*next) {
                    Some(step) if step.ops[0] == op => {
                        *next += 1;
                        let last = step.ops.last().copied().unwrap_or(op);
                        items.push(Item { kind: Kind::Step(start), first: op, last, steps: start..*next });
                        continue;
                    }
                    _ => continue,
                },
            };
            items.push(Item { kind, first: op, last: op, steps: start..*next });
        }
        let first_gap = self.gaps;
        self.gaps += items.len() + 1;
        Region { block, items, first_gap }
    }

    fn has_barrier(&self, region: usize) -> bool {
        !self.regions[region].items.is_empty()
    }
}

impl Region {
    /// The item that a step is in.
    pub(super) fn item_of(&self, step: usize) -> Option<usize> {
        let i = self.items.partition_point(|item| item.steps.end <= step);
        self.items.get(i).filter(|item| item.steps.contains(&step)).map(|_| i)
    }
}
