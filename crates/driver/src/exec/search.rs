//! Inputs for a kernel that comes without any.
//!
//! What a kernel needs is found by running it. An attempt is a guess at the scalars, at the range of integers in memory
//! (they may be lengths, positions, rows of tables) and at the block; with it the kernel runs until nothing new turns up:
//! arguments grow to where views reach, and chunks of memory that are looked at are filled. An attempt is as good as the
//! share of tile operations that it comes to. After a list of plain guesses the best one so far is changed here and there.

use std::collections::BTreeMap;

use control::Control;
use dtype::Scalar;

use super::contents::{Fill, Pattern};
use super::inputs::{Input, Inputs, Memory};
use super::kernel::{Kernel, ParamKind};
use super::session::{BUDGET, LIMIT, Outcome, Session};

/// Inputs, and what a run with them does.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub inputs: Inputs,
    pub outcome: Outcome,
    pub attempts: u32,
}

impl Prepared {
    /// It ran to its end, through nine of ten tile operations at least, and something came out.
    pub fn is_good(&self) -> bool {
        self.outcome.trap.is_none() && self.outcome.coverage.share() >= ENOUGH && self.outcome.changed()
    }
}

const ENOUGH: f64 = 0.9;
/// Attempts at more than enough, and at enough: as many as fit into that many budgets.
const PATIENCE: (u32, u32) = (8, 1500);
const SPENDING: u64 = 8;
/// What an attempt costs beside its runs.
const ATTEMPT: u64 = 1 << 18;
/// Runs of one attempt.
const ROUNDS: u32 = 24;
/// Budgets of an attempt: a short run is worth more than a long one.
const BUDGETS: [u64; 3] = [BUDGET >> 6, BUDGET >> 4, BUDGET];

const SCALARS: [i64; 10] = [1, 2, 0, 4, 8, 16, 3, 64, 128, 1024];
const RANGES: [(i64, i64); 10] =
    [(0, 4), (0, 2), (1, 9), (0, 16), (0, 1), (1, 2), (0, 128), (-1, 3), (0, 1024), (64, 129)];
const PATTERNS: [Pattern; 4] = [Pattern::Apart, Pattern::Runs, Pattern::Apart, Pattern::Rare];
const BLOCKS: [u32; 6] = [24, 8, 1, 2, 48, 4];

#[derive(Clone, Debug)]
struct Guess {
    scalars: Vec<i64>,
    ranges: Vec<(i64, i64)>,
    patterns: Vec<Pattern>,
    /// Index, how many run, number.
    block: (u32, u32, u32),
    seed: u64,
}

impl Guess {
    fn plain(kernel: &Kernel, n: usize, seed: u64) -> Guess {
        let params = kernel.params.len();
        Guess {
            scalars: vec![SCALARS[n % SCALARS.len()]; params],
            ranges: vec![RANGES[(n + n / SCALARS.len()) % RANGES.len()]; params],
            patterns: vec![PATTERNS[n / 3 % PATTERNS.len()]; params],
            block: (0, 1, BLOCKS[n / 2 % BLOCKS.len()]),
            seed,
        }
    }

    /// One to three things otherwise.
    fn changed(&self, kernel: &Kernel, control: &mut Control) -> Guess {
        let mut next = self.clone();
        for _ in 0..1 + control.choose(3) {
            // The block is one more place to change.
            let place = control.choose(kernel.params.len() + 1);
            match kernel.params.get(place).map(|p| p.kind) {
                None => {
                    let blocks = BLOCKS[control.choose(BLOCKS.len())];
                    let index = if control.choose(3) == 0 { control.choose(blocks as usize) as u32 } else { 0 };
                    // What blocks do may depend on which they are.
                    let run = [1, 1, 2, 4, 8][control.choose(5)].min(blocks - index);
                    next.block = (index, run, blocks);
                }
                Some(ParamKind::Scalar(_)) => next.scalars[place] = some_number(kernel, control),
                Some(ParamKind::Pointer(_)) => {
                    next.ranges[place] = some_range(kernel, control);
                    next.patterns[place] = PATTERNS[control.choose(PATTERNS.len())];
                }
            }
        }
        next
    }

    fn inputs(&self, kernel: &Kernel, fixed: &BTreeMap<usize, Input>) -> Inputs {
        let args = kernel.params.iter().enumerate().map(|(n, param)| match (fixed.get(&n), param.kind) {
            (Some(input), _) => input.clone(),
            (None, ParamKind::Scalar(d)) if d.is_float() => {
                Input::Scalar(Scalar::from_f64(d, 0.25 + 0.5 * (self.scalars[n] & 3) as f64))
            }
            (None, ParamKind::Scalar(d)) => Input::Scalar(Scalar::from_i64(d, self.scalars[n])),
            (None, ParamKind::Pointer(d)) => {
                let mut seed = Control::new(self.seed ^ (n as u64) << 32);
                let (low, high) = self.ranges[n];
                Input::Memory(Memory::new(d, 0, Fill { seed: seed.bits(), low, high, pattern: self.patterns[n] }))
            }
        });
        let mut inputs = Inputs::new(args.collect());
        (inputs.first_block, inputs.run_blocks, inputs.blocks) = self.block;
        inputs
    }
}

/// A plain number, or one that the kernel mentions, or next to it.
fn some_number(kernel: &Kernel, control: &mut Control) -> i64 {
    if control.choose(2) == 0 || kernel.constants.is_empty() {
        return SCALARS[control.choose(SCALARS.len())];
    }
    let n = kernel.constants[control.choose(kernel.constants.len())];
    let small = n.clamp(-1, 1 << 16);
    match control.choose(3) {
        0 => small + control.choose(3) as i64 - 1,
        1 => small.saturating_mul(1 + control.choose(4) as i64),
        _ => (small + kernel.constants[control.choose(kernel.constants.len())]).clamp(-1, 1 << 16),
    }
}

fn some_range(kernel: &Kernel, control: &mut Control) -> (i64, i64) {
    match control.choose(3) {
        0 => {
            let n = some_number(kernel, control);
            (n, n + 1)
        }
        1 => (0, some_number(kernel, control).max(1)),
        _ => RANGES[control.choose(RANGES.len())],
    }
}

/// What an attempt came to.
struct Attempt {
    inputs: Inputs,
    outcome: Outcome,
    /// Of the budgets of its runs.
    spent: u64,
}

impl Attempt {
    /// To the end before to a trap, then by operations.
    fn rank(&self) -> (bool, usize, bool) {
        (self.outcome.trap.is_none() && self.outcome.changed(), self.outcome.coverage.reached, self.outcome.changed())
    }
}

impl Kernel {
    /// Inputs with which the kernel runs through as much of its code as was found: the best of some attempts, whose outcome
    /// says how good it is.
    pub fn prepare(&self, seed: u64) -> Prepared {
        self.prepare_in(&mut Session::new(), seed)
    }

    /// As [`Kernel::prepare`], with the memory of a session.
    pub fn prepare_in(&self, session: &mut Session, seed: u64) -> Prepared {
        self.prepare_with(session, seed, &BTreeMap::new())
    }

    /// As [`Kernel::prepare_in`]; some arguments are given, by number of the parameter.
    pub fn prepare_with(&self, session: &mut Session, seed: u64, fixed: &BTreeMap<usize, Input>) -> Prepared {
        let mut control = Control::new(seed);
        let mut best: Option<(Guess, Attempt)> = None;
        let mut attempts = 0;
        for budget in BUDGETS {
            let mut out_of_budget = false;
            let mut spent = 0u64;
            for n in 0..PATIENCE.1 {
                let guess = match &best {
                    Some((guess, _)) if n >= 20 || (n >= 4 && n % 2 == 1) => guess.changed(self, &mut control),
                    _ => Guess::plain(self, n as usize, control.bits()),
                };
                let attempt = self.attempt(session, &guess, fixed, budget);
                attempts += 1;
                spent = spent.saturating_add(attempt.spent).saturating_add(ATTEMPT);
                out_of_budget |= attempt.outcome.trap.as_ref().is_some_and(|t| t.code == "budget");
                if best.as_ref().is_none_or(|(_, b)| attempt.rank() > b.rank()) {
                    best = Some((guess, attempt));
                }
                let Some((_, b)) = &best else { continue };
                let share = b.outcome.coverage.share();
                let good = b.rank().0 && share >= ENOUGH;
                if (good && (share == 1.0 || n >= PATIENCE.0)) || spent > SPENDING * budget {
                    break;
                }
            }
            let good = best.as_ref().is_some_and(|(_, b)| b.rank().0 && b.outcome.coverage.share() >= ENOUGH);
            if good || !out_of_budget {
                break;
            }
        }
        match best {
            Some((_, Attempt { inputs, outcome, .. })) => Prepared { inputs, outcome, attempts },
            // There is at least one attempt.
            None => {
                let inputs = Guess::plain(self, 0, seed).inputs(self, fixed);
                let outcome = session.run(self, &inputs);
                Prepared { inputs, outcome, attempts }
            }
        }
    }

    /// Runs until nothing is found out any more.
    fn attempt(&self, session: &mut Session, guess: &Guess, fixed: &BTreeMap<usize, Input>, budget: u64) -> Attempt {
        let mut inputs = guess.inputs(self, fixed);
        let mut outcome = session.run_within(self, &inputs, budget, LIMIT);
        let used = |session: &Session| session.measures().iter().map(|m| budget - m.budget).sum::<u64>();
        let mut spent = used(session);
        for _ in 0..ROUNDS {
            if !self.learn(session, &mut inputs) {
                break;
            }
            outcome = session.run_within(self, &inputs, budget, LIMIT);
            spent += used(session);
        }
        Attempt { inputs, outcome, spent }
    }

    /// Arguments as large as the last run wanted them, with contents where it looked; whether that is new.
    fn learn(&self, session: &Session, inputs: &mut Inputs) -> bool {
        let mut new = false;
        for (lane, m) in self.lanes.iter().zip(session.measures()) {
            for (param, used) in lane.pointers().zip(&m.pointers) {
                let Some(Input::Memory(memory)) = inputs.args.get_mut(param) else { continue };
                if memory.given {
                    continue;
                }
                let wanted = usize::try_from(used.extent.min(LIMIT)).unwrap_or(0);
                if wanted > memory.len {
                    // What grows again grows element by element.
                    memory.len = wanted.max(memory.len.saturating_mul(2));
                    new = true;
                }
                for chunk in used.read.iter().chain(used.written.iter()) {
                    new |= memory.make(chunk);
                }
            }
        }
        if new {
            inputs.changed();
        }
        new
    }

    /// What the run looks at of memory that is there but was not made up yet: for inputs of another kernel.
    pub fn complete(&self, session: &mut Session, inputs: &mut Inputs) {
        for _ in 0..ROUNDS {
            session.run(self, inputs);
            if !self.learn(session, inputs) {
                break;
            }
        }
    }
}
