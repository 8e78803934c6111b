//! Goes through a kernel with the state of its observers, and notes what is wrong.

use std::collections::BTreeMap;

use chip::Core;
use ir::{Block, Op, OpData, Opcode as C};

use super::conflict::Set;
use super::model::{Action, Flag, Model};
use super::queue::Queue;
use super::report::{Hazard, Report};
use super::state::{Disagreement, State, remove};
use crate::Finding;

pub(super) fn findings(model: &Model) -> Vec<Finding> {
    let func = model.func;
    let sections: Vec<Core> = func.walk().iter().filter_map(|&op| section(&func.ops[op])).collect();
    let cores = [Core::Cube, Core::Vector].into_iter().filter(|c| sections.contains(c));
    // A function without sections is for one core.
    let cores: Vec<Option<Core>> = if sections.is_empty() { vec![None] } else { cores.map(Some).collect() };
    let mut walk = Walk::new(model);
    for core in cores {
        walk.function(core);
    }
    walk.report.findings()
}

/// The core that a section runs on.
fn section(data: &OpData) -> Option<Core> {
    match (data.opcode, data.attrs.word("core")) {
        (C::Section, Some("cube")) => Some(Core::Cube),
        (C::Section, _) => Some(Core::Vector),
        _ => None,
    }
}

struct Walk<'w> {
    model: &'w Model<'w>,
    /// Sections of other cores do not happen.
    core: Option<Core>,
    report: Report<'w>,
    /// The steps of each queue.
    of_queue: [Set; 7],
    /// The steps that may write global memory.
    stores: Set,
    /// The steps in the body of each loop.
    bodies: BTreeMap<Op, Set>,
    /// The state at the head of each loop, as far as it is known. Going round an outer loop it only grows, so that an
    /// inner loop starts from where it was.
    heads: BTreeMap<Op, State>,
}

impl<'w> Walk<'w> {
    fn new(model: &'w Model<'w>) -> Walk<'w> {
        let (cells, steps) = (&model.cells, &model.steps);
        let stores = steps.iter().filter(|s| {
            s.uses.iter().any(|u| u.writes && matches!(cells.access(u.cell).memory, crate::access::Memory::Global(_)))
        });
        let mut stores = cells.set(stores);
        stores[cells.fenced(super::model::Fenced::Local)].fill(0);
        Walk {
            model,
            core: None,
            report: Report::new(model),
            of_queue: Queue::ALL.map(|q| cells.set(steps.iter().filter(|s| s.queue == q))),
            stores,
            bodies: BTreeMap::new(),
            heads: BTreeMap::new(),
        }
    }

    fn function(&mut self, core: Option<Core>) {
        self.core = core;
        self.heads.clear();
        let start = State::new(self.model.cells.len(), &self.model.tokens);
        let Some(end) = self.block(self.model.func.body, Some(start)) else { return };
        for (&flag, raised) in &end.flags {
            self.report.left_raised(flag, raised.by);
        }
        for (&id, token) in &end.tokens {
            if let Some((queue, by)) = token.holder {
                self.report.kept(id, queue, by);
            }
        }
    }

    /// The state behind a block; `None` where nothing follows.
    fn block(&mut self, block: Block, mut state: Option<State>) -> Option<State> {
        let func = self.model.func;
        for &op in &func.blocks[block].ops {
            let data = &func.ops[op];
            state = match data.opcode {
                C::If => self.branch(op, data, state?),
                C::For => self.counted(op, data, state?),
                C::While => self.conditional(op, data, state?),
                _ if !data.regions.is_empty() => {
                    if self.core.is_some() && section(data).is_some_and(|core| Some(core) != self.core) {
                        continue;
                    }
                    data.regions.iter().fold(state, |state, &r| self.block(r, state))
                }
                _ => self.operation(op, state?),
            };
        }
        state
    }

    fn branch(&mut self, op: Op, data: &OpData, state: State) -> Option<State> {
        let before: Vec<Flag> = state.flags.keys().copied().collect();
        let [then, otherwise] = data.regions[..] else { return Some(state) };
        let first = self.block(then, Some(state.clone()));
        let second = self.block(otherwise, Some(state));
        let (mut first, second) = match (first, second) {
            (Some(first), Some(second)) => (first, second),
            (first, second) => return first.or(second),
        };
        for d in first.join(&second, true) {
            match d {
                Disagreement::FirstOnly(flag, by) | Disagreement::SecondOnly(flag, by) => {
                    if before.contains(&flag) {
                        self.report.lowered_on_one_path(op, flag, by);
                    } else {
                        self.report.raised_on_one_path(op, flag, by);
                    }
                }
                Disagreement::Token(id, by) => self.report.held_on_one_path(op, id, by),
            }
        }
        Some(first)
    }

    /// The state at the head of a loop: from before it, or from the end of a turn. Whether that is news.
    fn turn(&mut self, op: Op, head: &mut State, end: Option<State>) -> bool {
        let Some(mut end) = end else { return false };
        let body = self.body(op);
        let cells = &self.model.cells;
        end.age(|set| cells.age(set, &body));
        let before = head.clone();
        for d in head.join(&end, false) {
            match d {
                Disagreement::FirstOnly(flag, by) => self.report.lowered_on_one_path(op, flag, by),
                Disagreement::SecondOnly(flag, by) => self.report.raised_on_one_path(op, flag, by),
                Disagreement::Token(id, by) => self.report.held_on_one_path(op, id, by),
            }
        }
        self.bodies.insert(op, body);
        *head != before
    }

    /// The steps of a loop.
    fn body(&mut self, op: Op) -> Set {
        if let Some(body) = self.bodies.remove(&op) {
            return body;
        }
        let mut inside = std::collections::BTreeSet::new();
        let mut pending: Vec<Block> = self.model.func.ops[op].regions.clone();
        while let Some(block) = pending.pop() {
            for &inner in &self.model.func.blocks[block].ops {
                inside.insert(inner);
                pending.extend(&self.model.func.ops[inner].regions);
            }
        }
        self.model.cells.set(self.model.steps.iter().filter(|s| inside.contains(&s.op)))
    }

    /// The known state of a loop's head, with what comes from before this time.
    fn head(&mut self, op: Op, mut entry: State) -> State {
        if let Some(known) = self.heads.get(&op) {
            // Raised flags and tokens are those of the entry; a difference has been reported from inside.
            entry.join(known, false);
        }
        entry
    }

    fn counted(&mut self, op: Op, data: &OpData, entry: State) -> Option<State> {
        let turns = turns(self.model, data);
        let body = data.regions[0];
        match turns {
            Some(0) => return Some(entry),
            Some(1) => return self.block(body, Some(entry)),
            _ => {}
        }
        let mut head = self.head(op, entry);
        loop {
            let end = self.block(body, Some(head.clone()));
            if self.turn(op, &mut head, end.clone()) {
                continue;
            }
            self.heads.insert(op, head.clone());
            // Left at the head, after any number of turns; or known to be left after a turn.
            return if turns.is_some() { end } else { Some(head) };
        }
    }

    fn conditional(&mut self, op: Op, data: &OpData, entry: State) -> Option<State> {
        let [condition, body] = data.regions[..] else { return Some(entry) };
        let mut head = self.head(op, entry);
        loop {
            let left = self.block(condition, Some(head.clone()));
            let end = self.block(body, left.clone());
            if !self.turn(op, &mut head, end) {
                self.heads.insert(op, head);
                return left;
            }
        }
    }

    fn operation(&mut self, op: Op, mut state: State) -> Option<State> {
        for &action in self.model.actions(op) {
            match action {
                Action::Start(step) => self.start(step, &mut state),
                Action::Set(flag) => {
                    if let Some(before) = state.set(flag, op, &self.of_queue[flag.from as usize]) {
                        self.report.raised_twice(op, flag, before.by);
                    }
                }
                Action::Wait(flag) => {
                    if !state.wait(flag, &self.of_queue[Queue::S as usize]) {
                        self.report.not_raised(op, flag);
                    }
                }
                Action::Barrier(queue) => remove(state.pipe(queue), &self.of_queue[queue as usize]),
                Action::Drain => state.drain(),
                Action::Fence(what) => state.fence(self.model.cells.fenced(what)),
                Action::Get(queue, id) => {
                    if let Some((holder, by)) = state.get(queue, id, op, &self.of_queue[queue as usize]) {
                        self.report.taken_twice(op, id, holder, by);
                    }
                }
                Action::Release(queue, id) => {
                    if !state.release(queue, id, &self.of_queue[queue as usize]) {
                        self.report.not_held(op, id, queue);
                    }
                }
                Action::Publish => self.publish(op, &state),
                Action::Stop => return None,
            }
        }
        Some(state)
    }

    fn start(&mut self, number: usize, state: &mut State) {
        let model = self.model;
        let step = &model.steps[number];
        for u in &step.uses {
            let conflicts = model.cells.conflicts(u.cell, u.writes);
            let open = state.pipe(step.queue);
            if open.iter().zip(conflicts).any(|(a, b)| a & b != 0) {
                let hit: Set = open.iter().zip(conflicts).map(|(a, b)| a & b).collect();
                self.hazards(number, u, &hit);
                // Reported once: from here on as if it had waited.
                remove(open, conflicts);
            }
        }
        if !step.blocking {
            let bits: Vec<usize> = model.cells.bits(step).collect();
            state.start(step.queue, &bits, step.queue.keeps_order(model.arch));
        }
    }

    /// Of the open steps in conflict with a use, the last of each pipe.
    fn hazards(&mut self, number: usize, u: &super::model::Use, hit: &[u64]) {
        let model = self.model;
        let step = &model.steps[number];
        let at = model.position(step.op);
        let mut last: BTreeMap<Queue, (bool, usize, usize)> = BTreeMap::new();
        for (i, other) in model.steps.iter().enumerate().filter(|(_, s)| model.cells.has(hit, s)) {
            // One before it in this turn rather than one behind it in an earlier turn.
            let key = (i < number, model.position(other.op), i);
            let known = last.entry(other.queue).or_insert(key);
            *known = key.max(*known);
        }
        for (_, (before, _, other)) in last {
            let earlier_turn = !before || model.position(model.steps[other].op) >= at;
            self.report.hazard(&Hazard { step, used: u, other: &model.steps[other], earlier_turn });
        }
    }

    fn publish(&mut self, op: Op, state: &State) {
        let open = &state.pipes[Queue::S as usize];
        let under_way: Set = open.iter().zip(&self.stores).map(|(a, b)| a & b).collect();
        if under_way.iter().all(|&w| w == 0) {
            return;
        }
        let last = self.model.steps.iter().rfind(|s| self.model.cells.has(&under_way, s));
        if let Some(last) = last {
            self.report.not_drained(op, last);
        }
    }
}

/// How often a loop is gone round, if that is known.
fn turns(model: &Model, data: &OpData) -> Option<u64> {
    let number = |name: &str| model.func.const_int(data.named(name)[0]).map(i128::from);
    let (lower, upper, step) = (number("lower")?, number("upper")?, number("step")?);
    let turns = match step {
        0 => return None,
        s if s > 0 => (upper - lower + s - 1).div_euclid(s),
        s => (lower - upper - s - 1).div_euclid(-s),
    };
    u64::try_from(turns.max(0)).ok()
}
