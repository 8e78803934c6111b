//! A block on a cluster: the frames of its cube and vector kernels, their FIFOs and scratchpads, on one thread. A cluster
//! has one cube core and one or two vector cores; the second one has a Vec of its own, behind the other scratchpads.
//!
//! The frames take turns, in this order: each runs until it ends, waits for a FIFO, or stands at `syncall`. When none can go on, the
//! block is parked at `syncall` (the launch decides when it resumes) or deadlocked, which is an error that names who waits
//! for whom.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use chip::{Chip, Core, Space};
use diag::{Diagnostic, Span};
use trace::{Log, Stream, ValueRecord};

use crate::code::{Code, SUBBLOCK_IDX};
use crate::exec::{Cluster, Machine, Stop, Trap};
use crate::fifo::Fifo;
use crate::frame::Frame;
use crate::measure::Measure;
use crate::pipes::{Order, Pipes, Scheduler};
use crate::space;

/// Which frames of a launch meet at a `syncall`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncKind {
    All,
    Cube,
    Vector,
}

/// How a turn of a group ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Done,
    /// Some frames stand at `syncall`, see [`Group::standing`]; the others have ended or wait for those.
    Parked,
    Interrupted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Ready,
    Done,
    Waiting { fifo: crate::code::FifoName, push: bool, core: usize },
    Standing(SyncKind),
}

/// What one core of a cluster runs.
#[derive(Clone, Copy, Debug)]
pub struct Lane<'a> {
    pub code: &'a Arc<Code>,
    /// Checked against its parameters.
    pub args: &'a [memory::Arg],
    /// Which vector core it is; 0 on the cube core.
    pub subblock: u32,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) code: Arc<Code>,
    pub(crate) frame: Frame,
    pub(crate) state: State,
    pub(crate) pipes: Pipes,
    /// What it did to global memory, if that is recorded.
    log: Log,
}

/// Scratchpads. They start on a cache line: a vector across two lines costs twice.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    /// With room to start later.
    raw: Vec<u8>,
    start: usize,
    len: usize,
}

impl Arena {
    const LINE: usize = 64;

    /// Makes it `len` bytes long at least. A longer one is zero.
    fn reserve(&mut self, len: usize) {
        if self.len < len {
            // Fresh zero pages, committed when touched.
            self.raw = vec![0; len + Arena::LINE - 1];
            self.len = len;
            self.start = self.raw.as_ptr().align_offset(Arena::LINE).min(Arena::LINE - 1);
        }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.raw[self.start..self.start + self.len]
    }
}

/// One block of a launch. Made once per worker, reset for each block that it runs.
#[derive(Debug)]
pub struct Group {
    pub(crate) lanes: Vec<Running>,
    spare: Vec<Running>,
    pub(crate) fifos: Vec<Fifo>,
    pub(crate) arena: Arena,
    /// Behind the scratchpads, [`Group::SCRATCH`] bytes of what instructions have looked at before they run.
    pub(crate) scratch: usize,
    scheduler: Option<Scheduler>,
    cluster: Cluster,
    task: u32,
    block: u32,
    blocks: u32,
    /// What observed kernels have reported.
    pub values: Vec<ValueRecord>,
    /// Up to which of the values each turn of a lane reported.
    turns: Vec<(usize, usize)>,
    stopped: Option<(usize, ir::Op)>,
    /// What measured kernels have done, by lane.
    pub measures: Vec<Measure>,
    /// Whether accesses to global memory are recorded.
    pub record: bool,
    /// In which order the instructions of a core run, from the next start on.
    pub order: Order,
}

impl Default for Group {
    fn default() -> Group {
        Group::new()
    }
}

impl Group {
    pub fn new() -> Group {
        Group {
            lanes: Vec::new(),
            spare: Vec::new(),
            fifos: Vec::new(),
            arena: Arena::default(),
            scratch: 0,
            scheduler: None,
            cluster: Cluster::default(),
            task: 0,
            block: 0,
            blocks: 1,
            values: Vec::new(),
            turns: Vec::new(),
            stopped: None,
            measures: Vec::new(),
            record: false,
            order: Order::Program,
        }
    }

    /// No tile with indices is larger.
    pub(crate) const SCRATCH: usize = 1 << 18;

    /// Makes this group block `block` of `blocks` of task `task`: one or two kernels (cube before vector) that share the
    /// arguments, which have been checked against their parameters. Scratchpads read as zero (semantics rule 4).
    pub fn start(
        &mut self,
        chip: &Chip,
        codes: &[Arc<Code>],
        args: &[memory::Arg],
        task: u32,
        (block, blocks): (u32, u32),
    ) {
        let lane = |code| Lane { code, args, subblock: 0 };
        match codes {
            [code] => self.start_lanes(chip, &[lane(code)], task, (block, blocks)),
            [cube, vector] => self.start_lanes(chip, &[lane(cube), lane(vector)], task, (block, blocks)),
            _ => self.start_lanes(chip, &codes.iter().map(lane).collect::<Vec<_>>(), task, (block, blocks)),
        }
    }

    /// As [`Group::start`], with what each core runs: the cube core first, then the vector cores in ascending order.
    pub fn start_lanes(&mut self, chip: &Chip, lanes: &[Lane<'_>], task: u32, (block, blocks): (u32, u32)) {
        (self.task, self.block, self.blocks) = (task, block, blocks);
        self.fifos.clear();
        self.values.clear();
        self.turns.clear();
        self.stopped = None;
        while self.lanes.len() > lanes.len() {
            self.spare.extend(self.lanes.pop());
        }
        let placed = lanes.iter().any(|lane| lane.code.placed);
        let vec = space::base(chip, Space::Vec);
        let vec = vec..vec + chip.capacity(Space::Vec).physical;
        // Where the second vector core's Vec lies behind the first one's.
        let second = space::total(chip) - vec.start;
        let mut total = if placed { space::total(chip) } else { 0 };
        let mut cluster = Cluster::default();
        if placed {
            cluster.slot_bases = [vec.start, space::base(chip, Space::Mat)];
        }
        for (i, lane) in lanes.iter().enumerate() {
            let vector = lane.code.core != Some(Core::Cube);
            let base = match (placed, lane.subblock) {
                (true, 0) => 0,
                (true, _) => {
                    total = total.max(vec.end + second);
                    second
                }
                (false, _) => {
                    let base = total;
                    total += lane.code.storage.next_multiple_of(64);
                    base
                }
            };
            if vector && lane.subblock > 0 {
                cluster.stride = base - if placed { 0 } else { cluster.slot_bases[0] };
            } else if !placed {
                cluster.slot_bases[usize::from(!vector)] = base;
            }
            cluster.vector_cores += usize::from(vector);
            if self.lanes.len() == i {
                let lane = self.spare.pop().unwrap_or_else(|| Running {
                    code: lane.code.clone(),
                    frame: Frame::default(),
                    state: State::Ready,
                    pipes: Pipes::default(),
                    log: Log::default(),
                });
                self.lanes.push(lane);
            }
            let running = &mut self.lanes[i];
            if !Arc::ptr_eq(&running.code, lane.code) {
                running.code = lane.code.clone();
            }
            running.state = State::Ready;
            running.log.clear();
            running.pipes.reset(chip.arch);
            running.frame.reset(lane.code, base, (block, blocks), lane.subblock);
            running.frame.bind(lane.code, lane.args);
        }
        self.cluster = cluster;
        self.scratch = total.next_multiple_of(64);
        self.scheduler = match self.order {
            Order::Program => None,
            Order::Pipes(policy) => {
                self.arena.reserve(self.scratch + Group::SCRATCH);
                Some(Scheduler::new(policy, lanes.len(), (task as u64) << 32 | block as u64))
            }
        };
        self.arena.reserve(total);
        let arena = self.arena.bytes();
        for lane in &self.lanes {
            for range in &lane.code.clear {
                // Only Vec is there twice.
                let apart = placed && !(vec.start <= range.start && range.end <= vec.end);
                let base = if apart { 0 } else { lane.frame.base };
                arena[base + range.start..base + range.end].fill(0);
            }
        }
    }

    /// What has been reported since this was asked for the last time, with the number of the lane.
    pub fn take_values(&mut self) -> Vec<(usize, ValueRecord)> {
        let mut out = Vec::with_capacity(self.values.len());
        let mut turns = self.turns.drain(..).peekable();
        for (n, record) in self.values.drain(..).enumerate() {
            while turns.next_if(|t| t.0 <= n).is_some() {}
            out.push((turns.peek().map_or(0, |t| t.1), record));
        }
        out
    }

    /// Lets go of the arguments' memory.
    pub fn forget(&mut self) {
        self.fifos.clear();
        self.lanes.iter_mut().for_each(|lane| lane.frame.pointers.clear());
    }

    pub fn block(&self) -> u32 {
        self.block
    }

    /// What each core has done to global memory, if that was recorded.
    pub fn streams(&mut self) -> impl Iterator<Item = Stream> {
        let (task, block) = (self.task, self.block);
        self.lanes.iter_mut().filter(|lane| !lane.log.events.is_empty()).map(move |lane| Stream {
            task,
            block,
            core: lane.code.core.unwrap_or(Core::Vector),
            lane: lane.frame.scalars.get(SUBBLOCK_IDX as usize).map_or(0, |&i| i as u32),
            kernel: lane.code.name.clone(),
            events: std::mem::take(&mut lane.log.events),
        })
    }

    /// Frames that stand at `syncall`: how many cube, how many vector ones, and of what kind.
    pub fn standing(&self) -> impl Iterator<Item = (Core, SyncKind)> {
        self.lanes.iter().filter_map(|lane| match lane.state {
            State::Standing(kind) => Some((lane.code.core.unwrap_or(Core::Vector), kind)),
            _ => None,
        })
    }

    /// Frames that stand at a `syncall` of `kind` go on.
    pub fn release(&mut self, kind: SyncKind) {
        for lane in &mut self.lanes {
            if lane.state == State::Standing(kind) {
                lane.state = State::Ready;
            }
        }
    }

    /// Runs as far as possible.
    pub fn run(&mut self, interrupt: Option<&AtomicBool>) -> Result<Outcome, Diagnostic> {
        match self.scheduler.take() {
            None => self.run_in_order(interrupt),
            Some(mut scheduler) => {
                let outcome = self.run_pipes(&mut scheduler, interrupt);
                self.scheduler = Some(scheduler);
                outcome
            }
        }
    }

    fn run_in_order(&mut self, interrupt: Option<&AtomicBool>) -> Result<Outcome, Diagnostic> {
        loop {
            let mut progress = false;
            for i in 0..self.lanes.len() {
                if let State::Waiting { fifo, push, core } = self.lanes[i].state {
                    let Some(f) = self.fifos.iter().find(|f| f.name == fifo) else { continue };
                    if if push { f.can_push(core) } else { f.can_pop(core) } {
                        self.lanes[i].state = State::Ready;
                    }
                }
                if self.lanes[i].state != State::Ready {
                    continue;
                }
                progress = true;
                let stop = self.with(i, interrupt, |frame, code, machine| frame.run(code, machine));
                let lane = &mut self.lanes[i];
                match stop {
                    Ok(Stop::Done | Stop::Host(_)) => lane.state = State::Done,
                    Ok(Stop::SyncAll(kind)) => lane.state = State::Standing(kind),
                    Ok(Stop::Wait { fifo, push }) => {
                        let core = lane.frame.scalars[SUBBLOCK_IDX as usize] as usize;
                        lane.state = State::Waiting { fifo, push, core };
                    }
                    Ok(Stop::Interrupted) => return Ok(Outcome::Interrupted),
                    Err(trap) => return Err(self.fault(i, &trap)),
                }
            }
            if self.lanes.iter().all(|l| l.state == State::Done) {
                return self.balanced();
            }
            if !progress {
                return match self.standing().next() {
                    Some(_) => Ok(Outcome::Parked),
                    None => Err(self.deadlock()),
                };
            }
        }
    }

    /// After an error: the lane and the operation that it came from, if it came from one.
    pub fn stopped(&self) -> Option<(usize, ir::Op)> {
        self.stopped
    }

    /// All have ended: with FIFOs as they must be.
    pub(crate) fn balanced(&self) -> Result<Outcome, Diagnostic> {
        match self.fifos.iter().find_map(|f| f.unbalanced()) {
            Some(why) => {
                Err(self.locate(Diagnostic::error("fifo-unbalanced", format!("at the end of a block, {why}")), None))
            }
            None => Ok(Outcome::Done),
        }
    }

    /// Runs something of a lane.
    pub(crate) fn with<R>(
        &mut self,
        i: usize,
        interrupt: Option<&AtomicBool>,
        run: impl FnOnce(&mut Frame, &Code, &mut Machine<'_>) -> R,
    ) -> R {
        let (before, rest) = self.lanes.split_at_mut(i);
        let (lane, after) = rest.split_at_mut(1);
        let lane = &mut lane[0];
        let peer = before.first().or(after.first()).map(|l| &*l.code);
        let mut machine = Machine {
            mem: self.arena.bytes(),
            fifos: &mut self.fifos,
            peer,
            cluster: self.cluster,
            interrupt,
            task: self.task,
            block: self.block,
            values: &mut self.values,
            log: self.record.then_some(&mut lane.log),
            recorder: None,
            measure: self.measures.get_mut(i),
        };
        let result = run(&mut lane.frame, &lane.code, &mut machine);
        if self.turns.last().map_or(0, |t| t.0) < self.values.len() {
            self.turns.push((self.values.len(), i));
        }
        result
    }

    pub(crate) fn span(&self, lane: usize, back: u32) -> Option<Span> {
        let lane = &self.lanes[lane];
        lane.code.span(lane.frame.pc.saturating_sub(back))
    }

    /// A lane does not go on: at the instruction before its `pc`.
    pub(crate) fn fault(&mut self, n: usize, trap: &Trap) -> Diagnostic {
        let lane = &self.lanes[n];
        let pc = lane.frame.pc.saturating_sub(1) as usize;
        self.stopped = lane.code.ops.get(pc).copied().flatten().map(|op| (n, op));
        let d = Diagnostic::error(trap.code, trap.message.clone()).at(self.span(n, 1), "here");
        self.locate(d, Some(n))
    }

    /// Names the block and core of an error; the task is the runtime's to add.
    pub(crate) fn locate(&self, mut d: Diagnostic, lane: Option<usize>) -> Diagnostic {
        let core = lane
            .map(|i| &self.lanes[i].code)
            .map_or(String::new(), |code| format!(", {} core, kernel `{}`", core_name(code), code.name));
        d.notes.push(format!("block {} of {}{core}", self.block, self.blocks));
        d
    }

    /// An internal error: the host panicked while this block ran.
    pub fn panicked(&self, what: &str) -> Diagnostic {
        let lane = self.lanes.iter().position(|l| l.state == State::Ready);
        let mut d = Diagnostic::error("internal", format!("the simulator failed: {what}"));
        if let Some(i) = lane {
            d = d.at(self.span(i, 1), "while it ran this");
        }
        self.locate(d, lane)
    }

    fn deadlock(&self) -> Diagnostic {
        let mut d = Diagnostic::error("fifo-deadlock", "the cores of a block wait for each other".to_string());
        for (i, lane) in self.lanes.iter().enumerate() {
            let State::Waiting { fifo, push, .. } = lane.state else { continue };
            let other = self.lanes.iter().find(|l| l.code.core != lane.code.core);
            let waits = match (push, other.map(|o| o.state)) {
                (_, None) => "for a core that this task does not use".to_string(),
                (false, Some(State::Done)) => "for a push, but the other kernel has ended".to_string(),
                (true, Some(State::Done)) => "for a free slot, but the other kernel has ended".to_string(),
                (false, _) => "for the other core to push".to_string(),
                (true, _) => "for the other core to free a slot".to_string(),
            };
            let way = self.fifos.iter().find(|f| f.name == fifo).map_or(String::new(), |f| f.way());
            let text = format!("the {} core waits {waits}, {way}", core_name(&lane.code));
            match d.primary {
                None => d = d.at(self.span(i, 0), text.clone()),
                Some(_) => d = d.also(self.span(i, 0), text.clone()),
            }
            d.notes.push(text);
        }
        self.locate(d, None)
    }
}

pub(crate) fn core_name(code: &Code) -> &'static str {
    match code.core {
        Some(Core::Cube) => "cube",
        Some(Core::Vector) => "vector",
        None => "host",
    }
}

#[cfg(test)]
mod tests {
    use super::Arena;

    #[test]
    fn scratchpads_start_on_a_cache_line_and_grow_as_zeros() {
        let mut arena = Arena::default();
        assert!(arena.bytes().is_empty());
        for len in [1, 100, 4096, 1 << 22] {
            arena.reserve(len);
            let bytes = arena.bytes();
            assert_eq!((bytes.len(), bytes.as_ptr().addr() % 64), (len, 0));
            assert!(bytes.iter().all(|&b| b == 0));
            bytes.fill(1);
            arena.reserve(len / 2);
            assert!(arena.bytes().len() == len && arena.bytes()[len / 2] == 1);
        }
    }
}
