//! Sets of steps as bits, and which steps conflict.
//!
//! Instructions that touch the same bytes share a *cell*. What a use of a cell conflicts with is one set of steps,
//! computed once, so that looking for hazards is an intersection.
//!
//! A step has a bit for what it does to local memory, and two for global memory: *new* for its instance of this turn of
//! the loops around, *old* for earlier turns. Addresses in global memory are known up to scalar values, which are equal
//! only within a turn; in local memory addresses are constants or count as unknown. The bits lie in three regions, each
//! of whole words: local, new, old.

use chip::Arch;

use super::model::{Fenced, Step};
use super::queue::Queue;
use crate::access::{Access, Footprint, Memory};

/// The number of a cell.
pub(super) type Cell = usize;
/// A set of steps.
pub(super) type Set = Vec<u64>;

#[derive(Default)]
pub(super) struct Cells {
    /// One access of each, and what conflicts with reading and writing it.
    all: Vec<(Access, Set, Set)>,
    by_place: std::collections::BTreeMap<(Memory, [u64; 5]), Cell>,
    local: usize,
    global: usize,
}

fn is_global(access: &Access) -> bool {
    matches!(access.memory, Memory::Global(_))
}

pub(super) fn contains(set: &[u64], bit: usize) -> bool {
    set[bit / 64] >> (bit % 64) & 1 == 1
}

pub(super) fn insert(set: &mut [u64], bit: usize) {
    set[bit / 64] |= 1 << (bit % 64);
}

impl Cells {
    pub(super) fn of(&mut self, access: &Access) -> Cell {
        let bytes = match access.bytes {
            Footprint::Unknown => [u64::MAX; 5],
            Footprint::Box(b) => [u64::from(b.symbol.0), b.start, b.row_stride, b.row_bytes, b.rows],
        };
        *self.by_place.entry((access.memory, bytes)).or_insert_with(|| {
            self.all.push((access.clone(), Set::new(), Set::new()));
            self.all.len() - 1
        })
    }

    /// Gives the steps their bits and computes the conflicts, once all are known.
    pub(super) fn number(&mut self, steps: &mut [Step], arch: Arch) {
        let (mut local, mut global) = (0, 0);
        for step in steps.iter_mut() {
            let next = |wanted: bool, count: &mut usize| {
                let any = step.uses.iter().any(|u| is_global(&self.all[u.cell].0) == wanted);
                any.then(|| {
                    *count += 1;
                    *count - 1
                })
            };
            (step.local, step.global) = (next(false, &mut local), next(true, &mut global));
        }
        (self.local, self.global) = (local.div_ceil(64), global.div_ceil(64));
        // Who reads or writes each cell, and who writes it, within its own region.
        let words = |access: &Access| if is_global(access) { self.global } else { self.local };
        let mut users: Vec<(Set, Set)> =
            self.all.iter().map(|(a, ..)| (vec![0; words(a)], vec![0; words(a)])).collect();
        for step in steps.iter() {
            for u in &step.uses {
                let bit = if is_global(&self.all[u.cell].0) { step.global } else { step.local };
                let Some(bit) = bit else { continue };
                insert(&mut users[u.cell].0, bit);
                if u.writes {
                    insert(&mut users[u.cell].1, bit);
                }
            }
        }
        // Cells of one pipe that keeps its order: such a pipe does not ask about itself.
        let mut pipes = vec![0; self.all.len()];
        for step in steps.iter() {
            step.uses.iter().for_each(|u| pipes[u.cell] |= step.queue.bit());
        }
        let ordered = Queue::ALL.into_iter().filter(|q| q.keeps_order(arch)).map(Queue::bit);
        let private: Vec<Option<u8>> = pipes.iter().map(|&p| ordered.clone().find(|&q| q == p)).collect();
        let len = self.len();
        for cell in 0..self.all.len() {
            let (mut reading, mut writing) = (vec![0; len], vec![0; len]);
            let a = &self.all[cell].0;
            for (i, ((b, ..), (all, writers))) in self.all.iter().zip(&users).enumerate() {
                let alone = private[cell].is_some() && private[cell] == private[i];
                if alone || !a.memory.may_be(b.memory) {
                    continue;
                }
                let mut add = |at: usize| {
                    for (i, (&any, &writes)) in all.iter().zip(writers).enumerate() {
                        reading[at + i] |= writes;
                        writing[at + i] |= any;
                    }
                };
                if !is_global(a) {
                    if a.overlaps_later(b) {
                        add(0);
                    }
                    continue;
                }
                if a.overlaps(b) {
                    add(self.local);
                }
                if a.overlaps_later(b) {
                    add(self.local + self.global);
                }
            }
            self.all[cell].1 = reading;
            self.all[cell].2 = writing;
        }
    }

    /// Words of a set.
    pub(super) fn len(&self) -> usize {
        self.local + 2 * self.global
    }

    pub(super) fn access(&self, cell: Cell) -> &Access {
        &self.all[cell].0
    }

    /// The steps that a use of a cell must not overlap with.
    pub(super) fn conflicts(&self, cell: Cell, writes: bool) -> &[u64] {
        let (_, reading, writing) = &self.all[cell];
        if writes { writing } else { reading }
    }

    /// The bits of a step that has just been issued.
    pub(super) fn bits(&self, step: &Step) -> impl Iterator<Item = usize> + use<> {
        let global = step.global.map(|g| self.local * 64 + g);
        step.local.into_iter().chain(global)
    }

    /// Whether a set has the step, of this turn or an earlier one.
    pub(super) fn has(&self, set: &[u64], step: &Step) -> bool {
        let old = step.global.map(|g| (self.local + self.global) * 64 + g);
        self.bits(step).chain(old).any(|bit| contains(set, bit))
    }

    /// All bits of some steps.
    pub(super) fn set<'a>(&self, steps: impl Iterator<Item = &'a Step>) -> Set {
        let mut set = vec![0; self.len()];
        for step in steps {
            let old = step.global.map(|g| (self.local + self.global) * 64 + g);
            self.bits(step).chain(old).for_each(|bit| insert(&mut set, bit));
        }
        set
    }

    /// The words of the accesses that a fence is about.
    pub(super) fn fenced(&self, what: Fenced) -> std::ops::Range<usize> {
        match what {
            Fenced::Local => 0..self.local,
            Fenced::Global => self.local..self.len(),
        }
    }

    /// A turn of a loop ends: what its steps did is of an earlier turn.
    pub(super) fn age(&self, set: &mut [u64], of: &[u64]) {
        for w in self.local..self.local + self.global {
            let moved = set[w] & of[w];
            set[w] &= !moved;
            set[w + self.global] |= moved;
        }
    }
}
