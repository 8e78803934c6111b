//! When each root is in use, and how full each space is at each operation.

use chip::Space;
use ir::{Entity, Function, Op};

use crate::access::Access;
use crate::alias::Root;
use crate::pack::align_up;
use crate::plan::Live;
use crate::roots::Set;

/// The usage, while operations are looked at from the last to the first.
pub(crate) struct Gathering<'a> {
    roots: &'a [Root],
    /// Aligned bytes of each; a root that nothing writes holds nothing that needs room.
    sizes: Vec<u64>,
    /// The position in the walk of the operation that was looked at last.
    position: u32,
    in_use: Set,
    bytes: [u64; Space::ALL.len()],
    usage: Usage,
}

/// By space, in the order of [`Space::ALL`].
type Bytes = [u64; Space::ALL.len()];

pub(crate) struct Usage {
    /// Positions in [`Function::walk`] at which each root holds or gets bytes.
    pub(crate) live: Vec<Vec<Live>>,
    /// By operation, the bytes of the roots in use.
    bytes: Vec<Bytes>,
}

impl<'a> Gathering<'a> {
    pub(crate) fn new(
        func: &Function,
        roots: &'a [Root],
        accesses: &[Access],
        align: impl Fn(Space) -> u64,
    ) -> Gathering<'a> {
        let mut sizes = vec![0; roots.len()];
        for root in accesses.iter().flat_map(|a| a.writes.iter().chain(&a.scratch)).copied() {
            sizes[root] = align_up(roots[root].bytes, align(roots[root].space));
        }
        let none = [0; Space::ALL.len()];
        let usage = Usage { live: vec![Vec::new(); roots.len()], bytes: vec![none; func.ops.len()] };
        let position = func.walk().len() as u32;
        Gathering { roots, sizes, position, in_use: Set::default(), bytes: none, usage }
    }

    /// The next operation: what it does, and which roots are live after it (with regions: or before it).
    pub(crate) fn see(&mut self, op: Op, access: &Access, live: &Set) {
        self.position -= 1;
        let mut now = live.clone();
        let touched = access.reads.iter().map(|r| r.root).chain(access.writes.iter().chain(&access.scratch).copied());
        for root in touched {
            now.insert(root);
        }
        let position = self.position;
        for root in now.difference(&self.in_use) {
            let size = self.sizes[root];
            let total = &mut self.bytes[index(self.roots[root].space)];
            match self.usage.live[root].last_mut().filter(|range| range.first == OPEN) {
                // It is not in use here any more: it is from the operation after this on.
                Some(range) => {
                    range.first = position + 1;
                    *total = total.saturating_sub(size);
                }
                None => {
                    self.usage.live[root].push(Live { first: OPEN, last: position });
                    *total = total.saturating_add(size);
                }
            }
        }
        self.in_use = now;
        self.usage.bytes[op.index()] = self.bytes;
    }

    pub(crate) fn done(mut self) -> Usage {
        for ranges in &mut self.usage.live {
            if let Some(range) = ranges.last_mut().filter(|range| range.first == OPEN) {
                range.first = 0;
            }
            ranges.reverse();
        }
        self.usage
    }
}

/// The start of a range that is not known yet.
const OPEN: u32 = u32::MAX;

fn index(space: Space) -> usize {
    Space::ALL.iter().position(|&s| s == space).unwrap_or(0)
}

impl Usage {
    /// Aligned bytes of the roots of a space that are in use at an operation.
    pub(crate) fn bytes(&self, op: Op, space: Space) -> u64 {
        self.bytes[op.index()][index(space)]
    }

    /// The roots in use at a position of the walk.
    pub(crate) fn at(&self, position: usize) -> Vec<usize> {
        let here = |range: &Live| (range.first as usize..=range.last as usize).contains(&position);
        (0..self.live.len()).filter(|&root| self.live[root].iter().any(here)).collect()
    }
}
