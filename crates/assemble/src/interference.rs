//! Which roots may not share bytes.
//!
//! At every write the written root is kept from all roots that are live after it, and from those that the same operation
//! reads for the last time, except that an operand which the op table allows to be the destination may be at exactly its
//! address. Two roots that are never in conflict at a write of either may overlap in any way.

use ir::{Entity, Function};

use crate::access::Access;
use crate::alias::{Aliases, Root};
use crate::liveness::Liveness;

/// What two roots may share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Relation {
    /// Any bytes.
    Free,
    /// The address, or no byte.
    SameOrApart,
    /// No byte.
    Apart,
}

/// The relation of every pair of roots of one space.
pub(crate) struct Interference {
    size: usize,
    relations: Vec<Relation>,
}

impl Interference {
    pub(crate) fn new(func: &Function, aliases: &Aliases, accesses: &[Access], live: &Liveness) -> Interference {
        let size = aliases.roots.len();
        let mut all = Interference { size, relations: vec![Relation::Free; size * size] };
        for op in func.walk() {
            let access = &accesses[op.index()];
            if access.writes.is_empty() && access.scratch.is_empty() {
                continue;
            }
            let roots = &aliases.roots;
            for &written in &access.writes {
                for other in live.after[op.index()].iter() {
                    all.raise(roots, written, other, Relation::Apart);
                }
                for read in &access.reads {
                    let relation = if read.in_place { Relation::SameOrApart } else { Relation::Apart };
                    all.raise(roots, written, read.root, relation);
                }
                for &other in &access.writes {
                    all.raise(roots, written, other, Relation::Apart);
                }
            }
            for &scratch in &access.scratch {
                let operands = access.reads.iter().map(|r| r.root);
                let others = access.writes.iter().chain(&access.scratch).copied();
                for other in live.after[op.index()].iter().chain(operands).chain(others) {
                    all.raise(roots, scratch, other, Relation::Apart);
                }
            }
        }
        all
    }

    pub(crate) fn relation(&self, a: usize, b: usize) -> Relation {
        self.relations[a * self.size + b]
    }

    fn raise(&mut self, roots: &[Root], a: usize, b: usize, relation: Relation) {
        if a == b || roots[a].space != roots[b].space {
            return;
        }
        for index in [a * self.size + b, b * self.size + a] {
            self.relations[index] = self.relations[index].max(relation);
        }
    }
}

#[cfg(test)]
impl Interference {
    /// `size` roots of which exactly these pairs are kept apart.
    pub(crate) fn of_pairs(size: usize, pairs: &[(usize, usize)]) -> Interference {
        let mut all = Interference { size, relations: vec![Relation::Free; size * size] };
        for &(a, b) in pairs {
            all.relations[a * size + b] = Relation::Apart;
            all.relations[b * size + a] = Relation::Apart;
        }
        all
    }
}
