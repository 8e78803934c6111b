//! Tasks in flight, ready units of work, workers.
//!
//! A *unit* is one block of a task (a [`Group`]). One lock guards everything that changes; a unit's run is outside it. When
//! a task's last unit is done its successors lose an edge, and those without any are ready.
//!
//! **Errors.** The error reported is that of the first unit, by (task, block), that fails in program order: after a failure
//! only units before it still run, so that the report does not depend on the schedule.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use chip::{Chip, Core};
use control::Control;
use diag::Diagnostic;
use machine::{Code, Group, Outcome, SyncKind};
use memory::Arg;
use trace::{Stream, ValueRecord};

use crate::{Options, interrupted};

/// Tasks that may be between submission and completion.
pub(crate) const WINDOW: u32 = 4096;
/// Groups that a worker keeps for later blocks.
const SPARE_GROUPS: usize = BATCH;
/// Ready units per thread from which on the calling thread rather runs some than submits more: what waits grows cold.
const ENOUGH: usize = 128;
/// Units that a thread takes at once at most.
const BATCH: usize = 16;
/// Looks at the queue before a worker without work sleeps: some microseconds.
const SPINS: u32 = 2000;

/// What the blocks of a task run.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) task: u32,
    pub(crate) name: Arc<str>,
    /// One or two, cube before vector.
    pub(crate) codes: Arc<[Arc<Code>]>,
    pub(crate) args: Vec<Arg>,
    pub(crate) blocks: u32,
    /// Blocks run one after the other, in order: they add floats atomically (semantics rule 15).
    pub(crate) serial: bool,
}

#[derive(Debug)]
struct Unit {
    launch: Arc<Launch>,
    block: u32,
    /// A block that goes on after `syncall`.
    group: Option<Box<Group>>,
}

impl Unit {
    fn key(&self) -> (u32, u32) {
        (self.launch.task, self.block)
    }
}

#[derive(Debug)]
struct InFlight {
    launch: Arc<Launch>,
    /// Tasks that must end first.
    waits: u32,
    successors: Vec<u32>,
    /// Blocks that have ended.
    ended: u32,
    /// Blocks that stand at `syncall`.
    parked: Vec<Box<Group>>,
    /// Serial launches: units that wait for their turn.
    queue: VecDeque<Unit>,
}

#[derive(Debug)]
struct State {
    /// Those from `oldest` on; `None` for those that are done.
    tasks: VecDeque<Option<InFlight>>,
    /// The oldest task that is not done, or the next one if all are.
    oldest: u32,
    ready: VecDeque<Unit>,
    control: Option<Control>,
    /// The first unit of what each thread runs.
    running: Vec<Option<(u32, u32)>>,
    failed: Option<((u32, u32), Diagnostic)>,
    interrupted: bool,
    closing: bool,
    /// Workers that wait for `changed`, and whether the calling thread waits for `returned`.
    sleeping: usize,
    main_sleeps: bool,
    values: Vec<ValueRecord>,
    streams: Vec<Stream>,
}

/// Shared by the calling thread and the workers of one run.
#[derive(Debug)]
pub(crate) struct Scheduler {
    state: Mutex<State>,
    /// Wakes workers, and the calling thread.
    changed: Condvar,
    returned: Condvar,
    /// Slot `id mod WINDOW` holds one more than the last task of it that is done.
    done: Vec<AtomicU32>,
    /// Copies of what is under the lock: the oldest task not done, units ready.
    oldest: AtomicU32,
    ready: AtomicUsize,
    threads: usize,
    chip: &'static Chip,
    options: Options,
}

/// What a thread keeps between units.
pub(crate) struct Worker {
    pub(crate) index: usize,
    pub(crate) groups: Vec<Box<Group>>,
    batch: Vec<Finished>,
}

impl Worker {
    /// The calling thread.
    pub(crate) fn with(groups: Vec<Box<Group>>) -> Worker {
        Worker { index: 0, groups, batch: Vec::new() }
    }
}

/// A unit, and what became of it.
type Finished = (Unit, Option<(Box<Group>, Result<Outcome, Diagnostic>)>);

fn slot(task: u32) -> usize {
    (task % WINDOW) as usize
}

impl State {
    fn task(&mut self, task: u32) -> Option<&mut InFlight> {
        self.tasks.get_mut(task.checked_sub(self.oldest)? as usize)?.as_mut()
    }
}

impl Scheduler {
    pub(crate) fn new(chip: &'static Chip, options: &Options, threads: usize) -> Scheduler {
        Scheduler {
            state: Mutex::new(State {
                tasks: VecDeque::new(),
                oldest: 0,
                ready: VecDeque::new(),
                control: (options.seed != 0).then(|| Control::new(options.seed)),
                running: vec![None; threads],
                failed: None,
                interrupted: false,
                closing: false,
                sleeping: 0,
                main_sleeps: false,
                values: Vec::new(),
                streams: Vec::new(),
            }),
            changed: Condvar::new(),
            returned: Condvar::new(),
            done: (0..WINDOW).map(|_| AtomicU32::new(0)).collect(),
            oldest: AtomicU32::new(0),
            ready: AtomicUsize::new(0),
            threads,
            chip,
            options: options.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock; a poisoned one is as good as any.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_done(&self, task: u32) -> bool {
        self.done[slot(task)].load(Ordering::Acquire) > task
    }

    fn stop_requested(&self) -> bool {
        self.options.interrupt.as_ref().is_some_and(|i| i.load(Ordering::Relaxed))
    }

    /// Adds a task after `predecessors`. There must be room ([`Scheduler::wait_for_room`]).
    pub(crate) fn submit(&self, launch: Launch, predecessors: &[u32]) {
        let task = launch.task;
        let launch = Arc::new(launch);
        let mut fresh =
            InFlight { launch, waits: 0, successors: Vec::new(), ended: 0, parked: Vec::new(), queue: VecDeque::new() };
        let mut state = self.lock();
        for &p in predecessors {
            if let Some(before) = state.task(p) {
                before.successors.push(task);
                fresh.waits += 1;
            }
        }
        let waits = fresh.waits;
        state.tasks.push_back(Some(fresh));
        if waits == 0 {
            let fresh = self.make_ready(&mut state, task);
            self.ready.store(state.ready.len(), Ordering::Relaxed);
            self.wake(&state, fresh);
        }
    }

    /// Units that could run now.
    pub(crate) fn backlog(&self) -> usize {
        self.ready.load(Ordering::Relaxed)
    }

    pub(crate) fn has_room(&self, task: u32) -> bool {
        task - self.oldest.load(Ordering::Acquire) < WINDOW
    }

    /// Somebody for each of `fresh` new units.
    fn wake(&self, state: &State, fresh: usize) {
        match state.sleeping.min(fresh) {
            0 => {}
            1 => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
        if fresh > state.sleeping && state.main_sleeps {
            self.returned.notify_one();
        }
    }

    fn wake_all(&self) {
        self.changed.notify_all();
        self.returned.notify_all();
    }

    /// Queues the units of a task that waits for nothing; how many. One without work is done at once.
    fn make_ready(&self, state: &mut State, task: u32) -> usize {
        let mut fresh = 0;
        let mut idle = Vec::new();
        let mut next = Some(task);
        while let Some(task) = next.take().or_else(|| idle.pop()) {
            let Some(t) = state.task(task) else { continue };
            let launch = t.launch.clone();
            if launch.blocks == 0 {
                idle.extend(self.retire(state, task));
                continue;
            }
            if launch.blocks == 1 {
                state.ready.push_back(Unit { launch, block: 0, group: None });
                fresh += 1;
                continue;
            }
            let units = (0..launch.blocks).map(|block| Unit { launch: launch.clone(), block, group: None });
            if launch.serial {
                t.queue.extend(units);
                let first = t.queue.pop_front();
                state.ready.extend(first);
                fresh += 1;
            } else {
                state.ready.extend(units);
                fresh += launch.blocks as usize;
            }
        }
        fresh
    }

    /// A task is done; the successors that now wait for nothing.
    fn retire(&self, state: &mut State, task: u32) -> Vec<u32> {
        let at = task.wrapping_sub(state.oldest) as usize;
        let Some(t) = state.tasks.get_mut(at).and_then(Option::take) else { return Vec::new() };
        self.done[slot(task)].store(task + 1, Ordering::Release);
        let mut free = t.successors;
        free.retain(|&s| {
            let Some(next) = state.task(s) else { return false };
            next.waits -= 1;
            next.waits == 0
        });
        while let Some(None) = state.tasks.front() {
            state.tasks.pop_front();
            state.oldest += 1;
        }
        self.oldest.store(state.oldest, Ordering::Release);
        free
    }

    /// The next unit to run: the oldest, or one that the seed picks. After a failure only units before it count.
    fn pick(&self, state: &mut State) -> Option<Unit> {
        if state.interrupted || state.closing {
            return None;
        }
        if let Some((key, _)) = &state.failed {
            let key = *key;
            state.ready.retain(|u| u.key() < key);
        }
        match &mut state.control {
            None => state.ready.pop_front(),
            Some(control) if !state.ready.is_empty() => {
                let at = control.choose(state.ready.len());
                state.ready.swap_remove_back(at)
            }
            Some(_) => None,
        }
    }

    /// Runs some ready units, if there are any: one, or a few at a time where there are many.
    fn step<'s>(&'s self, worker: &mut Worker, mut state: MutexGuard<'s, State>) -> (MutexGuard<'s, State>, bool) {
        let n = (state.ready.len() / (4 * state.running.len())).clamp(1, BATCH);
        let mut batch = std::mem::take(&mut worker.batch);
        while batch.len() < n {
            match self.pick(&mut state) {
                Some(unit) => batch.push((unit, None)),
                None => break,
            }
        }
        if batch.is_empty() {
            worker.batch = batch;
            return (state, false);
        }
        state.running[worker.index] = batch.iter().map(|(unit, _)| unit.key()).min();
        self.ready.store(state.ready.len(), Ordering::Relaxed);
        drop(state);
        for (unit, result) in &mut batch {
            *result = Some(self.run(worker, unit));
        }
        let mut state = self.lock();
        state.running[worker.index] = None;
        for (unit, result) in batch.drain(..) {
            let Some((mut group, outcome)) = result else { continue };
            match outcome {
                Ok(Outcome::Done) => {
                    state.values.append(&mut group.values);
                    state.streams.extend(group.streams());
                    if worker.groups.len() < SPARE_GROUPS {
                        group.forget();
                        worker.groups.push(group);
                    }
                    self.ended(&mut state, &unit.launch);
                }
                Ok(Outcome::Parked) => self.park(&mut state, &unit.launch, group),
                Ok(Outcome::Interrupted) => {
                    state.interrupted = true;
                    self.wake_all();
                }
                Err(d) => self.fail(&mut state, &unit.launch, unit.key(), d),
            }
        }
        worker.batch = batch;
        self.ready.store(state.ready.len(), Ordering::Relaxed);
        if state.closing && state.main_sleeps {
            self.returned.notify_one();
        }
        (state, true)
    }

    /// A turn of one block.
    fn run(&self, worker: &mut Worker, unit: &mut Unit) -> (Box<Group>, Result<Outcome, Diagnostic>) {
        let launch = &unit.launch;
        let parked = unit.group.take();
        let fresh = parked.is_none();
        let mut group = parked.or_else(|| worker.groups.pop()).unwrap_or_default();
        let interrupt = self.options.interrupt.as_deref();
        let turn = catch_unwind(AssertUnwindSafe(|| {
            if fresh {
                group.record = self.options.accesses;
                group.start(self.chip, &launch.codes, &launch.args, launch.task, (unit.block, launch.blocks));
            }
            group.run(interrupt)
        }));
        let outcome = turn.unwrap_or_else(|panic| {
            let what = panic.downcast_ref::<&str>().map(|s| s.to_string());
            let what = what.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(group.panicked(what.as_deref().unwrap_or("a panic")))
        });
        (group, outcome)
    }

    fn fail(&self, state: &mut State, launch: &Launch, key: (u32, u32), mut d: Diagnostic) {
        d.notes.push(format!("task {} `{}`", launch.task, launch.name));
        if state.failed.as_ref().is_none_or(|(first, _)| key < *first) {
            state.failed = Some((key, d));
        }
        self.wake_all();
    }

    /// A block has ended.
    fn ended(&self, state: &mut State, launch: &Launch) {
        let task = launch.task;
        let Some(t) = state.task(task) else { return };
        t.ended += 1;
        if t.ended == launch.blocks {
            let mut fresh = 0;
            for next in self.retire(state, task) {
                fresh += self.make_ready(state, next);
            }
            self.wake(state, fresh);
            // The calling thread may wait for this task.
            if state.main_sleeps {
                self.returned.notify_one();
            }
        } else if let Some(unit) = t.queue.pop_front() {
            state.ready.push_back(unit);
            self.wake(state, 1);
        } else {
            self.meet(state, launch);
        }
    }

    /// A block stands at `syncall`.
    fn park(&self, state: &mut State, launch: &Launch, group: Box<Group>) {
        let Some(t) = state.task(launch.task) else { return };
        t.parked.push(group);
        if let Some(unit) = t.queue.pop_front() {
            state.ready.push_back(unit);
            self.wake(state, 1);
            return;
        }
        self.meet(state, launch);
    }

    /// If every block is here, those that stand at a `syncall` whose frames are all there go on.
    fn meet(&self, state: &mut State, launch: &Launch) {
        let Some(t) = state.task(launch.task) else { return };
        if t.parked.is_empty() || (t.parked.len() as u32 + t.ended) < launch.blocks {
            return;
        }
        let lanes = |core: Core| launch.codes.iter().filter(|c| c.core == Some(core)).count() as u32;
        let (cubes, vectors) = (lanes(Core::Cube) * launch.blocks, lanes(Core::Vector) * launch.blocks);
        let standing = |kind: SyncKind, core: Core| {
            t.parked.iter().flat_map(|g| g.standing()).filter(|&(c, k)| (c, k) == (core, kind)).count() as u32
        };
        let complete =
            [(SyncKind::Cube, (cubes, 0)), (SyncKind::Vector, (0, vectors)), (SyncKind::All, (cubes, vectors))]
                .into_iter()
                .find(|&(kind, needed)| {
                    needed != (0, 0) && (standing(kind, Core::Cube), standing(kind, Core::Vector)) == needed
                });
        let Some((kind, _)) = complete else {
            let mut at: Vec<u32> = t.parked.iter().map(|g| g.block()).collect();
            at.sort_unstable();
            let d = Diagnostic::error(
                "syncall-deadlock",
                format!(
                    "{} of {} blocks wait at `syncall` and no other can come: {} have ended",
                    at.len(),
                    launch.blocks,
                    t.ended
                ),
            )
            .note(format!("blocks that wait: {at:?}"));
            let key = (launch.task, at[0]);
            self.fail(state, launch, key, d);
            return;
        };
        let mut groups = std::mem::take(&mut t.parked);
        groups.sort_by_key(|g| Reverse(g.block()));
        let n = groups.len();
        let Some(task) = state.task(launch.task) else { return };
        let launch = task.launch.clone();
        let mut units = Vec::with_capacity(n);
        while let Some(mut group) = groups.pop() {
            group.release(kind);
            units.push(Unit { launch: launch.clone(), block: group.block(), group: Some(group) });
        }
        if launch.serial {
            task.queue.extend(units);
            let first = task.queue.pop_front();
            state.ready.extend(first);
        } else {
            state.ready.extend(units);
        }
        self.wake(state, n);
    }

    /// What a worker thread does for this run; it lends and gets back its groups.
    pub(crate) fn work(&self, index: usize, groups: Vec<Box<Group>>) -> Vec<Box<Group>> {
        let mut worker = Worker { index, groups, batch: Vec::new() };
        let mut state = self.lock();
        loop {
            let (next, ran) = self.step(&mut worker, state);
            state = next;
            if state.closing {
                return worker.groups;
            }
            if ran {
                continue;
            }
            drop(state);
            let mut spins = 0;
            while spins < SPINS && self.ready.load(Ordering::Relaxed) == 0 {
                std::hint::spin_loop();
                spins += 1;
            }
            state = self.lock();
            if state.ready.is_empty() && !state.closing {
                state.sleeping += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.sleeping -= 1;
            }
        }
    }

    /// Ends the run: when this returns, no thread is at a unit or will take one, and nothing here refers to the arguments'
    /// memory.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        self.changed.notify_all();
        while state.running.iter().any(Option::is_some) {
            state.main_sleeps = true;
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.main_sleeps = false;
        }
        let left = (std::mem::take(&mut state.tasks), std::mem::take(&mut state.ready));
        drop(state);
        drop(left);
    }

    /// Lends the calling thread to the pool until `ready` says so, a unit fails, or the run is interrupted (both of which
    /// return `false`).
    fn help(&self, worker: &mut Worker, ready: impl Fn(&State) -> bool) -> bool {
        let mut state = self.lock();
        loop {
            if self.stop_requested() {
                state.interrupted = true;
            }
            if state.failed.is_some() || state.interrupted {
                return false;
            }
            if ready(&state) {
                return true;
            }
            let (next, ran) = self.step(worker, state);
            state = next;
            if !ran && !ready(&state) && state.failed.is_none() && !state.interrupted {
                state = self.sleep(state);
            }
        }
    }

    /// With an interrupt to poll, only for a while.
    fn sleep<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        state.main_sleeps = true;
        let mut state = if self.options.interrupt.is_some() {
            let timeout = std::time::Duration::from_millis(50);
            self.returned.wait_timeout(state, timeout).unwrap_or_else(PoisonError::into_inner).0
        } else {
            self.returned.wait(state).unwrap_or_else(PoisonError::into_inner)
        };
        state.main_sleeps = false;
        state
    }

    /// Units enough for everybody.
    pub(crate) fn is_flooded(&self) -> bool {
        self.backlog() > ENOUGH * self.threads
    }

    /// Runs units on the calling thread until there are not too many.
    pub(crate) fn drain(&self, worker: &mut Worker) -> bool {
        self.help(worker, |state| state.ready.len() <= ENOUGH * self.threads / 2)
    }

    /// Until task `task` may be submitted.
    pub(crate) fn wait_for_room(&self, worker: &mut Worker, task: u32) -> bool {
        self.help(worker, |state| task - state.oldest < WINDOW)
    }

    /// Until these tasks are done.
    pub(crate) fn wait_for(&self, worker: &mut Worker, tasks: &[u32]) -> bool {
        self.help(worker, |_| tasks.iter().all(|&t| self.is_done(t)))
    }

    /// Until every task is done or the first failure is known; the values observed.
    pub(crate) fn finish(&self, worker: &mut Worker) -> Result<(Vec<ValueRecord>, Vec<Stream>), Diagnostic> {
        self.help(worker, |state| state.tasks.is_empty());
        let mut state = self.lock();
        loop {
            if self.stop_requested() {
                state.interrupted = true;
            }
            if state.interrupted {
                return Err(interrupted());
            }
            let Some(((task, block), _)) = &state.failed else {
                return Ok((std::mem::take(&mut state.values), std::mem::take(&mut state.streams)));
            };
            // Units before the failure still run, and may fail earlier.
            let key = (*task, *block);
            let before = |k: (u32, u32)| k < key;
            let pending = state.oldest < key.0
                || state.ready.iter().any(|u| before(u.key()))
                || state.running.iter().flatten().any(|&k| before(k));
            if !pending {
                return match state.failed.take() {
                    Some((_, d)) => Err(d),
                    None => Err(interrupted()),
                };
            }
            let (next, ran) = self.step(worker, state);
            state = next;
            if !ran {
                state = self.sleep(state);
            }
        }
    }
}
