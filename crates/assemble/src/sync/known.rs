//! What each pipe knows: the heart of the matter.
//!
//! For every pipe q and point of the program, `open[q]` is the set of steps of which some instance so far may not have
//! ended when what q does next starts. A step on q is safe if none of the steps that it must not overlap is in the set.
//!
//! * A step enters every set when it is issued.
//! * `set_flag(p, q)` runs on p when everything issued to p has ended: the flag carries what p does not know, without p's
//!   own steps. What is issued while the flag is up is added to it.
//! * `wait_flag(p, q)`: q does not know what it did not know before *and* the flag does not tell.
//! * A barrier of p takes p's own steps out of p's set; one of all pipes empties everything.
//! * Where paths meet, sets are united; a loop's are taken at its head, where zero turns and any number of them meet, so
//!   that nothing is known behind a loop for what only its body did.
//!
//! Because knowledge travels with flags, chains count: what p waited for is known to q as well. The sets only ever say
//! too much, never too little.

use super::bits::Bits;
use super::plan::Plan;
use super::steps::{ALL, Hazards};
use super::tree::{Kind, Tree};

/// A step that may overlap an earlier one, which it must not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Uncovered {
    pub(super) earlier: usize,
    pub(super) later: usize,
}

/// Rows of a table of bits, one bit a step: of each pipe, then of each flag that is up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    /// Words of a row.
    words: usize,
    /// The pairs of the flags that are up, ascending.
    flags: Vec<usize>,
    rows: Vec<u64>,
}

/// Rows of pipes; the last is for [`ALL`].
const PIPES: usize = ALL + 1;

impl Known {
    /// Everything before has ended.
    pub(super) fn everything(hazards: &Hazards) -> Known {
        let words = hazards.steps.len().div_ceil(64);
        Known { words, flags: Vec::new(), rows: vec![0; PIPES * words] }
    }

    /// The steps that may be open to a pipe.
    pub(super) fn open(&self, pipe: usize) -> &[u64] {
        &self.rows[pipe * self.words..(pipe + 1) * self.words]
    }

    fn open_mut(&mut self, pipe: usize) -> &mut [u64] {
        &mut self.rows[pipe * self.words..(pipe + 1) * self.words]
    }

    fn issue(&mut self, step: usize) {
        let (word, bit) = (step / 64, 1 << (step % 64));
        self.rows.iter_mut().skip(word).step_by(self.words).for_each(|row| *row |= bit);
    }

    fn join(&mut self, other: &Known) {
        debug_assert_eq!(self.flags, other.flags, "the same flags are up");
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| *a |= b);
    }

    fn raise(&mut self, pair: usize, carried: Bits) {
        let at = self.flags.partition_point(|&f| f < pair);
        self.flags.insert(at, pair);
        let row = (PIPES + at) * self.words;
        self.rows.splice(row..row, carried.words().iter().copied());
    }

    fn lower(&mut self, pair: usize, pipe: usize) {
        let Ok(at) = self.flags.binary_search(&pair) else { return };
        self.flags.remove(at);
        let (row, words) = ((PIPES + at) * self.words, self.words);
        for word in 0..words {
            self.rows[pipe * words + word] &= self.rows[row + word];
        }
        self.rows.drain(row..row + words);
    }

    /// As if a flag with these contents had been waited for.
    pub(super) fn learn(&mut self, pipe: usize, flag: &Bits) {
        self.open_mut(pipe).iter_mut().zip(flag.words()).for_each(|(a, b)| *a &= b);
    }

    pub(super) fn barrier(&mut self, pipe: Option<usize>, on: &[Bits]) {
        match pipe {
            Some(pipe) => self.open_mut(pipe).iter_mut().zip(on[pipe].words()).for_each(|(a, b)| *a &= !b),
            None => self.rows.fill(0),
        }
    }
}

/// Runs regions of a tree under a plan.
pub(super) struct Evaluator<'a> {
    pub(super) tree: &'a Tree,
    pub(super) hazards: &'a Hazards,
    /// The steps of each pipe.
    pub(super) on: Vec<Bits>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(tree: &'a Tree, hazards: &'a Hazards) -> Evaluator<'a> {
        let mut on = vec![Bits::new(hazards.steps.len()); PIPES];
        hazards.steps.iter().enumerate().for_each(|(i, step)| on[step.pipe].insert(i));
        Evaluator { tree, hazards, on }
    }

    /// What a flag of `pipe` carries if it is set now.
    pub(super) fn flag(&self, known: &Known, pipe: usize) -> Bits {
        let mut carried = Bits::from_words(known.open(pipe));
        carried.remove_all(&self.on[pipe]);
        carried
    }

    fn set(&self, plan: &Plan, pair: usize, known: &mut Known) {
        known.raise(pair, self.flag(known, plan.pairs[pair].from));
    }

    fn wait(&self, plan: &Plan, pair: usize, known: &mut Known) {
        known.lower(pair, plan.pairs[pair].to);
    }

    /// The part of a gap that stands right behind the item before it.
    pub(super) fn drains(&self, plan: &Plan, gap: usize, known: &mut Known) {
        plan.gaps[gap].drains.iter().for_each(|&k| self.wait(plan, k, known));
    }

    /// The rest of the gap.
    pub(super) fn rest_of_gap(&self, plan: &Plan, gap: usize, known: &mut Known) {
        let g = &plan.gaps[gap];
        g.sets.iter().for_each(|&k| self.set(plan, k, known));
        g.waits.iter().for_each(|&k| self.wait(plan, k, known));
        if g.all {
            known.barrier(None, &self.on);
        }
        (0..ALL).filter(|p| g.barriers >> p & 1 == 1).for_each(|p| known.barrier(Some(p), &self.on));
        self.primes(plan, gap, known);
    }

    pub(super) fn primes(&self, plan: &Plan, gap: usize, known: &mut Known) {
        plan.gaps[gap].primes.iter().for_each(|&k| self.set(plan, k, known));
    }

    pub(super) fn region(&self, plan: &Plan, region: usize, known: &mut Known, found: &mut Option<Vec<Uncovered>>) {
        let r = &self.tree.regions[region];
        for item in 0..=r.items.len() {
            self.drains(plan, r.first_gap + item, known);
            self.rest_of_gap(plan, r.first_gap + item, known);
            if item < r.items.len() {
                self.item(plan, region, item, known, found);
            }
        }
    }

    pub(super) fn item(
        &self,
        plan: &Plan,
        region: usize,
        item: usize,
        known: &mut Known,
        found: &mut Option<Vec<Uncovered>>,
    ) {
        match &self.tree.regions[region].items[item].kind {
            Kind::Step(step) => {
                if let Some(found) = found {
                    let open = known.open(self.hazards.steps[*step].pipe);
                    let open = self.hazards.with[*step].common(open);
                    found.extend(open.map(|earlier| Uncovered { earlier, later: *step }));
                }
                known.issue(*step);
            }
            Kind::Barrier(pipe) => known.barrier(*pipe, &self.on),
            Kind::Once(body) => self.region(plan, *body, known, found),
            Kind::Branch(arms) => {
                let entry = known.clone();
                for (i, &arm) in arms.iter().enumerate() {
                    if i == 0 {
                        self.region(plan, arm, known, found);
                    } else {
                        let mut end = entry.clone();
                        self.region(plan, arm, &mut end, found);
                        known.join(&end);
                    }
                }
            }
            Kind::Loop(body) => self.settle(known, found, |turn, found| self.region(plan, *body, turn, found)),
            Kind::While(head, body) => {
                self.settle(known, found, |turn, found| {
                    self.region(plan, *head, turn, found);
                    self.region(plan, *body, turn, found);
                });
                self.region(plan, *head, known, &mut None);
            }
        }
    }

    /// What is known at the head of a loop, whatever the number of turns so far, and what is uncovered in a turn then.
    pub(super) fn settle(
        &self,
        head: &mut Known,
        found: &mut Option<Vec<Uncovered>>,
        turn: impl Fn(&mut Known, &mut Option<Vec<Uncovered>>),
    ) {
        let before = found.as_ref().map(Vec::len);
        loop {
            let mut end = head.clone();
            turn(&mut end, found);
            end.join(head);
            if end == *head {
                return;
            }
            // Less was known than this turn had thought.
            if let (Some(found), Some(before)) = (found.as_mut(), before) {
                found.truncate(before);
            }
            *head = end;
        }
    }
}
