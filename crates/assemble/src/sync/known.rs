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

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Known {
    /// By pipe; the last is for [`ALL`].
    open: Vec<Bits>,
    /// The flags that are up, by number of their pair.
    flags: Vec<(usize, Bits)>,
}

impl Known {
    /// Everything before has ended.
    pub(super) fn everything(hazards: &Hazards) -> Known {
        Known { open: vec![Bits::new(hazards.steps.len()); ALL + 1], flags: Vec::new() }
    }

    pub(super) fn open(&self, pipe: usize) -> &Bits {
        &self.open[pipe]
    }

    fn issue(&mut self, step: usize) {
        self.open.iter_mut().for_each(|set| set.insert(step));
        self.flags.iter_mut().for_each(|(_, set)| set.insert(step));
    }

    fn join(&mut self, other: &Known) {
        self.open.iter_mut().zip(&other.open).for_each(|(a, b)| a.union(b));
        debug_assert!(self.flags.iter().map(|f| f.0).eq(other.flags.iter().map(|f| f.0)), "the same flags are up");
        self.flags.iter_mut().zip(&other.flags).for_each(|((_, a), (_, b))| a.union(b));
    }

    /// As if a flag with these contents had been waited for.
    pub(super) fn learn(&mut self, pipe: usize, flag: &Bits) {
        self.open[pipe].intersect(flag);
    }

    pub(super) fn barrier(&mut self, pipe: Option<usize>, on: &[Bits]) {
        match pipe {
            Some(pipe) => self.open[pipe].remove_all(&on[pipe]),
            None => {
                self.open.iter_mut().for_each(Bits::clear);
                self.flags.iter_mut().for_each(|(_, set)| set.clear());
            }
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
        let mut on = vec![Bits::new(hazards.steps.len()); ALL + 1];
        hazards.steps.iter().enumerate().for_each(|(i, step)| on[step.pipe].insert(i));
        Evaluator { tree, hazards, on }
    }

    /// What a flag of `pipe` carries if it is set now.
    pub(super) fn flag(&self, known: &Known, pipe: usize) -> Bits {
        let mut carried = known.open[pipe].clone();
        carried.remove_all(&self.on[pipe]);
        carried
    }

    fn set(&self, plan: &Plan, pair: usize, known: &mut Known) {
        let carried = self.flag(known, plan.pairs[pair].from);
        let at = known.flags.partition_point(|f| f.0 < pair);
        known.flags.insert(at, (pair, carried));
    }

    fn wait(&self, plan: &Plan, pair: usize, known: &mut Known) {
        if let Ok(at) = known.flags.binary_search_by_key(&pair, |f| f.0) {
            let (_, carried) = known.flags.remove(at);
            known.learn(plan.pairs[pair].to, &carried);
        }
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
                    let open = known.open[self.hazards.steps[*step].pipe].common(&self.hazards.with[*step]);
                    found.extend(open.map(|earlier| Uncovered { earlier, later: *step }));
                }
                known.issue(*step);
            }
            Kind::Barrier(pipe) => known.barrier(*pipe, &self.on),
            Kind::Once(body) => self.region(plan, *body, known, found),
            Kind::Branch(arms) => {
                let entry = known.clone();
                for (i, &arm) in arms.iter().enumerate() {
                    let mut end = entry.clone();
                    self.region(plan, arm, &mut end, found);
                    if i == 0 {
                        *known = end;
                    } else {
                        known.join(&end);
                    }
                }
            }
            Kind::Loop(body) => {
                self.settle(known, |turn| self.region(plan, *body, turn, &mut None));
                if found.is_some() {
                    self.region(plan, *body, &mut known.clone(), found);
                }
            }
            Kind::While(head, body) => {
                self.settle(known, |turn| {
                    self.region(plan, *head, turn, &mut None);
                    self.region(plan, *body, turn, &mut None);
                });
                self.region(plan, *head, known, found);
                if found.is_some() {
                    self.region(plan, *body, &mut known.clone(), found);
                }
            }
        }
    }

    /// What is known at the head of a loop, whatever the number of turns so far.
    pub(super) fn settle(&self, head: &mut Known, turn: impl Fn(&mut Known)) {
        loop {
            let mut end = head.clone();
            turn(&mut end);
            end.join(head);
            if end == *head {
                return;
            }
            *head = end;
        }
    }
}
