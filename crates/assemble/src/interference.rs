//! Which roots may not share bytes.
//!
//! At every write the written root is kept from all roots that are live after it, and from those that the same operation
//! reads for the last time, except that an operand which the op table allows to be the destination may be at exactly its
//! address. Two roots that are never in conflict at a write of either may overlap in any way.
//!
//! A function may have thousands of tiles of which each meets a few: only pairs that are related are held.

use ir::Op;

use crate::access::Access;
use crate::alias::Root;
use crate::roots::Set;

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

/// The related pairs, while operations are looked at.
pub(crate) struct Gathering<'a> {
    roots: &'a [Root],
    /// By root, what it was kept from when it was written.
    apart: Vec<Set>,
    in_place: Vec<(usize, usize)>,
}

impl<'a> Gathering<'a> {
    pub(crate) fn new(roots: &'a [Root]) -> Gathering<'a> {
        Gathering { roots, apart: vec![Set::default(); roots.len()], in_place: Vec::new() }
    }

    /// An operation without regions, after which these roots are live.
    pub(crate) fn see(&mut self, _op: Op, access: &Access, live: &Set) {
        for &written in &access.writes {
            self.apart[written].add(live);
            for read in &access.reads {
                if read.in_place {
                    self.in_place.push((written, read.root));
                } else {
                    self.apart[written].insert(read.root);
                }
            }
            for &other in &access.writes {
                self.apart[written].insert(other);
            }
        }
        for &scratch in &access.scratch {
            self.apart[scratch].add(live);
            let operands = access.reads.iter().map(|r| r.root);
            for other in operands.chain(access.writes.iter().chain(&access.scratch).copied()) {
                self.apart[scratch].insert(other);
            }
        }
    }

    pub(crate) fn done(self) -> Interference {
        let roots = self.roots;
        let mut near: Vec<Vec<(usize, Relation)>> = vec![Vec::new(); roots.len()];
        let mut relate = |a: usize, b: usize, relation: Relation| {
            if a != b && roots[a].space == roots[b].space {
                near[a].push((b, relation));
                near[b].push((a, relation));
            }
        };
        for (a, others) in self.apart.iter().enumerate() {
            for b in others.iter() {
                relate(a, b, Relation::Apart);
            }
        }
        for (a, b) in self.in_place {
            relate(a, b, Relation::SameOrApart);
        }
        for list in &mut near {
            // The strongest of each pair.
            list.sort_unstable_by_key(|&(other, relation)| (other, std::cmp::Reverse(relation)));
            list.dedup_by_key(|&mut (other, _)| other);
        }
        Interference { near }
    }
}

/// The related pairs of roots, both of one space.
pub(crate) struct Interference {
    near: Vec<Vec<(usize, Relation)>>,
}

impl Interference {
    pub(crate) fn relation(&self, a: usize, b: usize) -> Relation {
        match self.near[a].binary_search_by_key(&b, |&(other, _)| other) {
            Ok(at) => self.near[a][at].1,
            Err(_) => Relation::Free,
        }
    }

    /// The roots that one is related to.
    pub(crate) fn near(&self, root: usize) -> &[(usize, Relation)] {
        &self.near[root]
    }
}

#[cfg(test)]
impl Interference {
    /// `size` roots of which exactly these pairs are kept apart.
    pub(crate) fn of_pairs(size: usize, pairs: &[(usize, usize)]) -> Interference {
        let mut near = vec![Vec::new(); size];
        for &(a, b) in pairs {
            near[a].push((b, Relation::Apart));
            near[b].push((a, Relation::Apart));
        }
        near.iter_mut().for_each(|list| list.sort_unstable());
        Interference { near }
    }
}
