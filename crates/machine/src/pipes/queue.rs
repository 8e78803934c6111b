//! What one pipe has been given and has not done: instructions, and flags, barriers and tokens between them.
//!
//! The front part of a queue is *open*: nothing that is not there yet holds it up. Instructions of the open part may run;
//! of a pipe that keeps its order only the first. What ends the open part is a barrier that is not at the front, a wait for
//! a flag that is not raised, or a token that is not free.

use std::collections::VecDeque;

use isa::Tile;

use super::Pipe;
use crate::code::{FifoName, Reg};
use crate::frame::ViewReg;

/// Names a flag of a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Flag {
    pub from: Pipe,
    pub to: Pipe,
    pub event: i64,
}

impl Flag {
    /// The event of flags that an instruction of two pipes has of its own.
    pub(super) const HIDDEN: i64 = -1;
}

/// A register as it was when an instruction was issued.
#[derive(Clone, Debug)]
pub(super) enum Saved {
    Scalar(Reg, u64),
    Tile(Reg, Tile),
    View(Reg, ViewReg),
}

/// What an instruction does to a FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FifoUse {
    Push(FifoName),
    Pop(FifoName),
    Free(FifoName),
}

/// An instruction of a pipe: of one operation, which may have been decoded into several steps.
#[derive(Debug)]
pub(super) struct Entry {
    /// How many the core had issued before.
    pub number: u64,
    pub first: u32,
    pub last: u32,
    pub saved: Vec<Saved>,
    pub fifo: Option<FifoUse>,
    pub atomic: bool,
    /// Bytes of the index tile, for an instruction that has looked at them when it was issued, and its register.
    pub indices: Option<(Reg, Vec<u8>)>,
}

#[derive(Debug)]
pub(super) enum Item {
    Run(Entry),
    Set(Flag),
    Wait(Flag),
    Barrier,
    /// The `turn`-th taking of a token; `again` if the same pipe had it last, for which it does not wait.
    Get {
        token: u32,
        turn: u64,
        again: bool,
    },
    Release {
        token: u32,
        turn: u64,
    },
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    pub items: VecDeque<Item>,
    /// How many of them are open.
    pub open: usize,
    pub in_order: bool,
}

impl Queue {
    pub(super) fn clear(&mut self, in_order: bool) {
        self.items.clear();
        (self.open, self.in_order) = (0, in_order);
    }

    /// The entry at a place, if it may run as far as the queue is concerned.
    pub(super) fn entry(&self, at: usize) -> Option<&Entry> {
        match self.items.get(at) {
            Some(Item::Run(entry)) if at < self.open && (at == 0 || !self.in_order) => Some(entry),
            _ => None,
        }
    }

    /// How many places at the front could hold something to run.
    pub(super) fn places(&self) -> usize {
        if self.in_order { self.open.min(1) } else { self.open }
    }

    pub(super) fn take(&mut self, at: usize) -> Option<Entry> {
        match self.items.remove(at) {
            Some(Item::Run(entry)) => {
                self.open -= 1;
                Some(entry)
            }
            _ => None,
        }
    }

    /// Whether an earlier entry of the queue uses the same FIFO.
    pub(super) fn is_behind(&self, at: usize, fifo: FifoUse) -> bool {
        let name = |u: FifoUse| match u {
            FifoUse::Push(n) | FifoUse::Pop(n) | FifoUse::Free(n) => n,
        };
        let same = |item: &Item| matches!(item, Item::Run(e) if e.fifo.is_some_and(|f| name(f) == name(fifo)));
        self.items.iter().take(at).any(same)
    }
}
