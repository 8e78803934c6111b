//! Where a root holds bytes that may still be read.
//!
//! Backward dataflow over the structured control flow, to a fixed point at loops: a root is live before an operation that
//! reads it, and before one after which it is live unless that operation overwrites it. Nothing is live before its
//! `alloc_tile`: what the bytes held before is undefined. So a root that is made outside a loop, written first in part or
//! in a branch, and read in the loop is live in all of it, back edge included.

use ir::{Block, Entity, Function, Op, Opcode};

use crate::access::Access;

/// A set of roots.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    pub(crate) fn insert(&mut self, i: usize) {
        let word = i / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (i % 64);
    }

    pub(crate) fn remove(&mut self, i: usize) {
        if let Some(word) = self.0.get_mut(i / 64) {
            *word &= !(1 << (i % 64));
        }
    }

    /// Adds another set; whether that changed anything.
    pub(crate) fn add(&mut self, other: &Set) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut changed = false;
        for (word, &more) in self.0.iter_mut().zip(&other.0) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(i, &word)| (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| i * 64 + b))
    }
}

/// The roots that are live before and after each operation without regions, by its index.
pub(crate) struct Liveness {
    pub(crate) before: Vec<Set>,
    pub(crate) after: Vec<Set>,
}

impl Liveness {
    pub(crate) fn new(func: &Function, accesses: &[Access]) -> Liveness {
        let empty = vec![Set::default(); func.ops.len()];
        let mut analysis = Analysis { func, accesses, result: Liveness { before: empty.clone(), after: empty } };
        analysis.block(func.body, Set::default());
        analysis.result
    }
}

struct Analysis<'a> {
    func: &'a Function,
    accesses: &'a [Access],
    result: Liveness,
}

impl Analysis<'_> {
    /// What is live before a block after which `live` is.
    fn block(&mut self, block: Block, mut live: Set) -> Set {
        for &op in self.func.blocks[block].ops.iter().rev() {
            self.result.after[op.index()] = live.clone();
            live = self.op(op, live);
            self.result.before[op.index()] = live.clone();
        }
        live
    }

    fn op(&mut self, op: Op, after: Set) -> Set {
        let data = &self.func.ops[op];
        match data.opcode {
            Opcode::For => {
                // The head is reached from before the loop and from the end of the body; it leads to both.
                let mut head = after;
                loop {
                    let body = self.block(data.regions[0], head.clone());
                    if !head.add(&body) {
                        return head;
                    }
                }
            }
            Opcode::While => {
                let mut decided = after;
                loop {
                    let head = self.block(data.regions[0], decided.clone());
                    let body = self.block(data.regions[1], head.clone());
                    if !decided.add(&body) {
                        return head;
                    }
                }
            }
            Opcode::If => {
                let mut before = Set::default();
                for &region in &data.regions {
                    before.add(&self.block(region, after.clone()));
                }
                before
            }
            _ => {
                let access = &self.accesses[op.index()];
                let mut before = after;
                for &root in access.overwrites.iter().chain(&access.begins) {
                    before.remove(root);
                }
                for read in &access.reads {
                    before.insert(read.root);
                }
                before
            }
        }
    }
}
