//! What each observer may take for ended, at one point of a program.
//!
//! An observer is a pipe, a raised flag (what the pipe that waits for it will know), or a token (what the next pipe that
//! gets it will know). To each belongs the set of *open* steps: issued, on some path to here, and not known to have ended.
//! Every rule of the machine makes such a set smaller:
//!
//! * `set_flag A → B`: the flag's set is that of A, without A's own steps;
//! * `wait_flag A → B`: the set of B is intersected with the flag's; if B is the scalar unit so is every pipe's, since
//!   nothing is issued before it goes on;
//! * a barrier of a pipe takes the pipe's own steps out of its set, one of all pipes empties every pipe's;
//! * `rls_buf` is a set, and the next `get_buf` of another pipe a wait.
//!
//! Where paths meet, sets are united: what is open on one path is open.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use ir::Op;

use super::conflict::{Set, insert};
use super::model::Flag;
use super::queue::Queue;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    pub pipes: [Set; 7],
    pub flags: BTreeMap<Flag, Raised>,
    pub tokens: BTreeMap<i64, Token>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Raised {
    pub by: Op,
    pub open: Set,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub holder: Option<(Queue, Op)>,
    /// Pipes that may have released it last.
    last: u8,
    open: Set,
}

/// Where two paths meet and differ in more than what they know.
#[derive(Clone, Copy, Debug)]
pub(super) enum Disagreement {
    /// Raised on the first path only, or on the second only.
    FirstOnly(Flag, Op),
    SecondOnly(Flag, Op),
    /// Held on one path, or by different pipes.
    Token(i64, Op),
}

fn intersect(set: &mut [u64], with: &[u64]) {
    set.iter_mut().zip(with).for_each(|(a, b)| *a &= b);
}

pub(super) fn remove(set: &mut [u64], what: &[u64]) {
    set.iter_mut().zip(what).for_each(|(a, b)| *a &= !b);
}

fn unite(set: &mut [u64], with: &[u64]) {
    set.iter_mut().zip(with).for_each(|(a, b)| *a |= b);
}

impl State {
    /// Nothing has been issued.
    pub(super) fn new(words: usize, tokens: &[i64]) -> State {
        let empty = vec![0; words];
        let token = Token { holder: None, last: 0, open: empty.clone() };
        State {
            pipes: std::array::from_fn(|_| empty.clone()),
            flags: BTreeMap::new(),
            tokens: tokens.iter().map(|&id| (id, token.clone())).collect(),
        }
    }

    pub(super) fn pipe(&mut self, queue: Queue) -> &mut Set {
        &mut self.pipes[queue as usize]
    }

    fn sets(&mut self) -> impl Iterator<Item = &mut Set> {
        let flags = self.flags.values_mut().map(|f| &mut f.open);
        self.pipes.iter_mut().chain(flags).chain(self.tokens.values_mut().map(|t| &mut t.open))
    }

    /// A step has been issued to a queue. Its own pipe takes it for ended where that pipe keeps its order.
    pub(super) fn start(&mut self, queue: Queue, bits: &[usize], in_order: bool) {
        let own = queue as usize;
        for (i, set) in self.sets().enumerate() {
            if i != own || !in_order {
                bits.iter().for_each(|&bit| insert(set, bit));
            }
        }
    }

    /// The flag as it was, if it was raised already.
    pub(super) fn set(&mut self, flag: Flag, by: Op, own: &[u64]) -> Option<Raised> {
        let mut open = self.pipe(flag.from).clone();
        remove(&mut open, own);
        self.flags.insert(flag, Raised { by, open })
    }

    /// False if the flag is not raised. `scalar`: the steps of the scalar unit.
    pub(super) fn wait(&mut self, flag: Flag, scalar: &[u64]) -> bool {
        let Some(raised) = self.flags.remove(&flag) else { return false };
        intersect(self.pipe(flag.to), &raised.open);
        if flag.to == Queue::S {
            self.issue(scalar);
        }
        true
    }

    /// What the scalar unit knows of pipes, all that is issued from here on know. Its own stores may be under way.
    fn issue(&mut self, own: &[u64]) {
        let [scalar, pipes @ ..] = &mut self.pipes;
        for pipe in pipes {
            pipe.iter_mut().zip(&*scalar).zip(own).for_each(|((p, s), own)| *p &= s | own);
        }
    }

    pub(super) fn drain(&mut self) {
        self.pipes.iter_mut().for_each(|p| p.fill(0));
    }

    pub(super) fn fence(&mut self, words: std::ops::Range<usize>) {
        self.pipes.iter_mut().for_each(|p| p[words.clone()].fill(0));
    }

    /// Whoever held the token.
    pub(super) fn get(&mut self, queue: Queue, id: i64, by: Op, own: &[u64]) -> Option<(Queue, Op)> {
        let token = self.tokens.get_mut(&id)?;
        let before = token.holder.replace((queue, by));
        let pipe = &mut self.pipes[queue as usize];
        // A pipe does not wait for itself.
        let keep = if token.last & queue.bit() != 0 { own } else { &[] };
        for (i, word) in pipe.iter_mut().enumerate() {
            *word &= token.open[i] | keep.get(i).copied().unwrap_or(0);
        }
        if queue == Queue::S {
            self.issue(own);
        }
        before
    }

    /// False if the pipe does not hold the token.
    pub(super) fn release(&mut self, queue: Queue, id: i64, own: &[u64]) -> bool {
        let Some(token) = self.tokens.get_mut(&id) else { return false };
        let held = token.holder.take().is_some_and(|(holder, _)| holder == queue);
        token.open.clone_from(&self.pipes[queue as usize]);
        remove(&mut token.open, own);
        token.last = queue.bit();
        held
    }

    /// A turn of a loop ends.
    pub(super) fn age(&mut self, age: impl Fn(&mut [u64])) {
        self.sets().for_each(|set| age(set));
    }

    /// Another path leads here. `keep_extra`: a flag that only the second path raised stays raised.
    pub(super) fn join(&mut self, other: &State, keep_extra: bool) -> Vec<Disagreement> {
        let mut out = Vec::new();
        for (mine, theirs) in self.pipes.iter_mut().zip(&other.pipes) {
            unite(mine, theirs);
        }
        for (&flag, mine) in &mut self.flags {
            match other.flags.get(&flag) {
                Some(theirs) => unite(&mut mine.open, &theirs.open),
                None => out.push(Disagreement::FirstOnly(flag, mine.by)),
            }
        }
        for (&flag, theirs) in &other.flags {
            let Entry::Vacant(free) = self.flags.entry(flag) else { continue };
            out.push(Disagreement::SecondOnly(flag, theirs.by));
            if keep_extra {
                free.insert(theirs.clone());
            }
        }
        for (&id, mine) in &mut self.tokens {
            let Some(theirs) = other.tokens.get(&id) else { continue };
            unite(&mut mine.open, &theirs.open);
            mine.last |= theirs.last;
            match (mine.holder, theirs.holder) {
                (Some((a, op)), b) if b.map(|(q, _)| q) != Some(a) => out.push(Disagreement::Token(id, op)),
                (None, Some((_, op))) => out.push(Disagreement::Token(id, op)),
                _ => {}
            }
        }
        out
    }
}
