//! Where a root holds bytes that may still be read.
//!
//! Backward dataflow over the structured control flow: a root is live before an operation that reads it, and before one
//! after which it is live unless that operation overwrites it. Nothing is live before its allocation: what the bytes held
//! before is undefined. So a root that is made outside a loop, written first in part or in a branch, and read in the loop
//! is live in all of it, back edge included.
//!
//! Nothing is stored by operation. Each operation only adds roots (what it reads) and removes roots (what it overwrites),
//! so a loop's head is known after one pass over its body: what the body adds the first time it adds every time. The one
//! other pass visits the body with what is then known.

use ir::{Block, Entity, Function, Op, Opcode};

use crate::access::Access;
use crate::roots::Set;

/// Calls `see` for every operation, in the reverse of [`Function::walk`], with the roots that are live after it (and, where
/// it has regions, before it).
pub(crate) fn visit(func: &Function, accesses: &[Access], see: &mut dyn FnMut(Op, &Set)) {
    let analysis = Analysis { func, accesses };
    analysis.block(func.body, Set::default(), &mut Some(see));
}

type Visitor<'v> = Option<&'v mut dyn FnMut(Op, &Set)>;

struct Analysis<'a> {
    func: &'a Function,
    accesses: &'a [Access],
}

impl Analysis<'_> {
    /// What is live before a block after which `live` is.
    fn block(&self, block: Block, mut live: Set, see: &mut Visitor<'_>) -> Set {
        for &op in self.func.blocks[block].ops.iter().rev() {
            live = self.op(op, live, see);
        }
        live
    }

    fn op(&self, op: Op, mut after: Set, see: &mut Visitor<'_>) -> Set {
        let data = &self.func.ops[op];
        if data.regions.is_empty() {
            if let Some(see) = see {
                see(op, &after);
            }
            let access = &self.accesses[op.index()];
            for &root in access.overwrites.iter().chain(&access.begins) {
                after.remove(root);
            }
            for read in &access.reads {
                after.insert(read.root);
            }
            return after;
        }
        let before = match (data.opcode, &data.regions[..]) {
            (Opcode::For, &[body]) => {
                // The head is reached from before the loop and from the end of the body; it leads to both.
                let mut head = after.clone();
                head.add(&self.block(body, after.clone(), &mut None));
                if see.is_some() {
                    self.block(body, head.clone(), see);
                }
                head
            }
            (Opcode::While, &[head, body]) => {
                let mut decided = after.clone();
                let first = self.block(head, after.clone(), &mut None);
                decided.add(&self.block(body, first, &mut None));
                if see.is_some() {
                    let entry = self.block(head, decided.clone(), &mut None);
                    self.block(body, entry, see);
                }
                self.block(head, decided, see)
            }
            (Opcode::If, regions) => {
                let mut before = Set::default();
                for &region in regions.iter().rev() {
                    before.add(&self.block(region, after.clone(), see));
                }
                before
            }
            // One after the other, as sections of the two cores are: neither touches buffers of the other.
            (_, regions) => regions.iter().rev().fold(after.clone(), |live, &region| self.block(region, live, see)),
        };
        if let Some(see) = see {
            after.add(&before);
            see(op, &after);
        }
        before
    }
}
