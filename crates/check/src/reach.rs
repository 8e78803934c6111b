//! What every byte holds at every point of a function, as a graph of values.
//!
//! **The idea.** Two versions of a function do the same if corresponding operations find the same contents in what they
//! read. Contents are named by where they come from: *the byte at this distance from the start of what operation 12
//! wrote*. If every operation of one version finds contents of the same names as its partner in the other, then by
//! induction over the run it computes the same.
//!
//! An operation that writes *some* of its bytes (a run-time extent, an insert at a run-time offset) gives all of them a
//! new name, [`Def::Changed`], behind which stands the old one. So each byte has exactly one name on each path, and the
//! mutual order of such writes is part of what a later reader finds; of what nobody reads it does not matter. What is
//! seen outside (global memory, effects) is always read: there such an operation itself counts as a reader.
//!
//! **Paths.** Where branches of an `if` leave different contents, the byte holds a [`Def::Branch`] of both. What a loop may
//! change is a [`Def::Loop`] at the start of each turn: of what was there before the loop, and of what a turn leaves (the
//! back edge). No fixed point is iterated: what a body may change is known before it is walked, and comparing two loops'
//! values assumes that they are equal and shows that what enters and what comes back is ([`Comparison`]).
//!
//! **Cells.** The bytes of a memory are cut where any access begins or ends; a cell is never touched in part. Memories
//! that are not looked into are one cell. Cost: accesses times the cells that each covers, and for branches and loops the
//! cells that they change, each level once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use ir::{Block, Entity, Function, Op, OpData, Opcode as C, Value};

use crate::access::{Access, ByteBox, Footprint, FunctionAccesses, Kind, Memory};

/// What a byte holds: byte `address − base` of a definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Content {
    pub(crate) def: u32,
    base: i64,
}

/// Where contents come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Def {
    /// The function found it there.
    Initial,
    /// Nothing: storage that a tile without an address has just got.
    Undefined,
    /// An operation left its scratch there.
    Junk(Op),
    Written(Op),
    /// An operation changed some of it: what was there before stays behind.
    Changed(Op, Content),
    /// One or the other, by the branch of an `if`. Children are absolute.
    Branch(Op, Content, Content),
    /// At the start of a turn of a loop: what was there before it, or what a turn left.
    Loop(Op, Content, Content),
}

/// What an operation does to cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touch {
    Read,
    /// Overwrites all of them.
    Full,
    /// Overwrites some of them, maybe.
    Change,
    /// As that, of what others see.
    Partial,
    Scratch,
}

/// What a touch is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// An access, by its index among those of the operation.
    Access(usize),
    /// Place among the operations that order all accesses around them.
    Sync,
    /// Place among the operations whose effects are seen outside.
    Effect,
}

/// One touch of one operation.
#[derive(Clone, Copy, Debug)]
struct Step {
    touch: Touch,
    what: What,
    /// Into [`Reach::ranges`].
    first: u32,
    last: u32,
    /// Where positions in what it writes count from.
    base: i64,
}

/// A part of what an operation reads: neighbouring bytes with one content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    pub(crate) content: Content,
}

/// What an operation finds at one of its touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) what: What,
    /// It changes a part of what it finds.
    pub(crate) partial: bool,
    first: u32,
    last: u32,
}

/// Cells of one memory.
#[derive(Clone, Debug)]
struct Cells {
    /// Index of the first cell.
    first: u32,
    /// Boundaries, ascending; one more than cells.
    cuts: Vec<u64>,
}

/// The analysis of one version of a function.
pub(crate) struct Reach<'a> {
    func: &'a Function,
    accesses: &'a FunctionAccesses,
    pub(crate) defs: Vec<Def>,
    /// Per operation, by its index.
    found: Vec<Vec<Found>>,
    runs: Vec<Run>,
    memories: BTreeMap<Memory, Cells>,
    /// Per operation, by its index: position in program order, and one past the positions of its regions.
    pub(crate) extent: Vec<(u32, u32)>,
    steps: Vec<(u32, u32)>,
    all_steps: Vec<Step>,
    ranges: Vec<(u32, u32)>,
    /// First byte of each cell, and its length.
    starts: Vec<(u64, u64)>,
    state: Vec<Content>,
    log: Vec<(u32, Content)>,
    stamps: Vec<u32>,
    stamp: u32,
}

const INITIAL: Content = Content { def: 0, base: 0 };
const UNDEFINED: Content = Content { def: 1, base: 0 };
/// Rows up to which a strided box is looked into.
const MAX_ROWS: u64 = 4096;
/// The end of a memory that is touched as a whole.
const END: u64 = 1 << 40;
/// Cells of the two orders that are no memory.
const SYNC_CELL: u32 = 0;
const EFFECT_CELL: u32 = 1;

impl<'a> Reach<'a> {
    /// Operations of `skip`, by index, count as if they were not there.
    pub(crate) fn new(func: &'a Function, accesses: &'a FunctionAccesses, skip: &[bool]) -> Reach<'a> {
        let mut reach = Reach {
            func,
            accesses,
            defs: vec![Def::Initial, Def::Undefined],
            found: vec![Vec::new(); func.ops.len()],
            runs: Vec::new(),
            memories: BTreeMap::new(),
            extent: vec![(0, 0); func.ops.len()],
            steps: vec![(0, 0); func.ops.len()],
            all_steps: Vec::new(),
            ranges: Vec::new(),
            starts: vec![(0, 1), (0, 1)],
            state: Vec::new(),
            log: Vec::new(),
            stamps: Vec::new(),
            stamp: 0,
        };
        reach.number(func.body, &mut 0);
        reach.cut();
        reach.plan(skip);
        reach.state = vec![INITIAL; reach.starts.len()];
        for (memory, cells) in &reach.memories {
            if matches!(memory, Memory::Root(_) | Memory::Slots(_)) {
                let first = cells.first as usize;
                reach.state[first..first + cells.cuts.len() - 1].fill(UNDEFINED);
            }
        }
        reach.stamps = vec![0; reach.starts.len()];
        reach.block(func.body);
        reach
    }

    fn number(&mut self, block: Block, next: &mut u32) {
        let func = self.func;
        for &op in &func.blocks[block].ops {
            let start = *next;
            *next += 1;
            for &region in &func.ops[op].regions {
                self.number(region, next);
            }
            self.extent[op.index()] = (start, *next);
        }
    }

    /// Position in program order.
    pub(crate) fn position(&self, op: Op) -> u32 {
        self.extent[op.index()].0
    }

    /// What an operation finds, in the order of its accesses.
    pub(crate) fn found(&self, op: Op) -> &[Found] {
        &self.found[op.index()]
    }

    pub(crate) fn runs(&self, found: &Found) -> &[Run] {
        &self.runs[found.first as usize..found.last as usize]
    }

    pub(crate) fn access(&self, op: Op, what: What) -> Option<&'a Access> {
        let What::Access(i) = what else { return None };
        let at = self.position(op) as usize;
        self.accesses.ops.get(at).and_then(|o| o.accesses.get(i))
    }

    /// What global memory holds when the function ends, by memory.
    pub(crate) fn at_end(&self) -> Vec<(Memory, Content)> {
        let global = self.memories.iter().filter(|(m, _)| matches!(m, Memory::Global(_)));
        global.map(|(m, cells)| (*m, self.state[cells.first as usize])).collect()
    }

    /// The last operation with effects, as contents.
    pub(crate) fn effects_at_end(&self) -> Content {
        self.state[EFFECT_CELL as usize]
    }

    pub(crate) fn cells(&self) -> usize {
        self.starts.len()
    }

    /// Memory and bytes of a cell.
    pub(crate) fn place(&self, cell: u32) -> (Memory, Range<u64>) {
        let (start, bytes) = self.starts[cell as usize];
        let of = |cells: &Cells| (cells.first..cells.first + cells.cuts.len() as u32 - 1).contains(&cell);
        let memory = self.memories.iter().find(|(_, cells)| of(cells)).map_or(Memory::Locals, |(m, _)| *m);
        (memory, start..start + bytes)
    }

    fn touched(&self, op: Op, touch: Touch) -> impl Iterator<Item = (Option<Value>, u32)> {
        let (first, last) = self.steps[op.index()];
        let steps = self.all_steps[first as usize..last as usize].iter().filter(move |s| s.touch == touch);
        steps.flat_map(move |step| {
            let value = self.access(op, step.what).and_then(|a| a.value);
            let ranges = &self.ranges[step.first as usize..step.last as usize];
            ranges.iter().flat_map(move |&(from, to)| (from..to).map(move |cell| (value, cell)))
        })
    }

    /// The cells that an operation overwrites.
    pub(crate) fn overwritten(&self, op: Op) -> Vec<u32> {
        self.touched(op, Touch::Full).map(|(_, cell)| cell).collect()
    }

    /// The cells that it reads, each with the operand.
    pub(crate) fn read(&self, op: Op) -> Vec<(Option<Value>, u32)> {
        self.touched(op, Touch::Read).collect()
    }

    /// Cuts the memories into cells.
    fn cut(&mut self) {
        let mut cuts: BTreeMap<Memory, Vec<u64>> = BTreeMap::new();
        for access in self.accesses.ops.iter().flat_map(|o| &o.accesses) {
            let cuts = cuts.entry(access.memory).or_default();
            match looked_into(access) {
                Some(b) => {
                    for row in 0..b.rows {
                        let start = b.start + row * b.row_stride;
                        cuts.extend([start, start + b.row_bytes]);
                    }
                }
                None => cuts.extend([0, END]),
            }
        }
        for (memory, mut cuts) in cuts {
            cuts.sort_unstable();
            cuts.dedup();
            if cuts.len() < 2 {
                continue;
            }
            let first = self.starts.len() as u32;
            self.starts.extend(cuts.windows(2).map(|w| (w[0], w[1] - w[0])));
            self.memories.insert(memory, Cells { first, cuts });
        }
    }

    /// Turns accesses into touches of cells.
    fn plan(&mut self, skip: &[bool]) {
        let accesses = self.accesses;
        let skipped = |op: Op| skip.get(op.index()).copied().unwrap_or(false);
        let synced = accesses.ops.iter().any(|o| is_sync(&self.func.ops[o.op]) && !skipped(o.op));
        for o in accesses.ops.iter().filter(|o| !skipped(o.op)) {
            let data = &self.func.ops[o.op];
            let first = self.all_steps.len() as u32;
            // Destinations, to tell their bytes apart; places of one are one.
            let mut outputs: Vec<Option<Value>> = Vec::new();
            for (i, access) in o.accesses.iter().enumerate() {
                let (touch, must) = match access.kind {
                    Kind::Read => (Touch::Read, false),
                    Kind::Scratch => (Touch::Scratch, false),
                    Kind::Write if matches!(access.memory, Memory::Global(_)) => (Touch::Partial, false),
                    Kind::Write => (Touch::Change, access.must),
                };
                let boxed = looked_into(access);
                // A box with too many rows to look into became its range.
                let same = |b: ByteBox| matches!(access.bytes, Footprint::Box(a) if a.rows == b.rows);
                let exact = boxed.is_none_or(same);
                let touch = if must && exact { Touch::Full } else { touch };
                let from = self.ranges.len() as u32;
                self.cells_of(access, boxed);
                let output = outputs.iter().position(|&v| v == access.value).unwrap_or(outputs.len());
                if touch != Touch::Read && output == outputs.len() {
                    outputs.push(access.value);
                }
                let base = boxed.map_or(0, |b| b.start as i64) - ((output as i64) << 44);
                let last = self.ranges.len() as u32;
                self.all_steps.push(Step { touch, what: What::Access(i), first: from, last, base });
            }
            let token = |cell: u32, touch: Touch, what: What, reach: &mut Self| {
                let from = reach.ranges.len() as u32;
                reach.ranges.push((cell, cell + 1));
                reach.all_steps.push(Step { touch, what, first: from, last: from + 1, base: 0 });
            };
            if is_sync(data) {
                token(SYNC_CELL, Touch::Partial, What::Sync, self);
            } else if synced && !o.accesses.is_empty() {
                token(SYNC_CELL, Touch::Read, What::Sync, self);
            }
            if is_effect(data) {
                token(EFFECT_CELL, Touch::Partial, What::Effect, self);
            }
            self.steps[o.op.index()] = (first, self.all_steps.len() as u32);
        }
    }

    fn cells_of(&mut self, access: &Access, boxed: Option<ByteBox>) {
        if let Memory::Global(None) = access.memory {
            let global = self.memories.iter().filter(|(m, _)| matches!(m, Memory::Global(_)));
            self.ranges.extend(global.map(|(_, cells)| (cells.first, cells.first + cells.cuts.len() as u32 - 1)));
            return;
        }
        let Some(cells) = self.memories.get(&access.memory) else { return };
        let Some(b) = boxed else {
            self.ranges.push((cells.first, cells.first + cells.cuts.len() as u32 - 1));
            return;
        };
        for row in 0..b.rows {
            let start = b.start + row * b.row_stride;
            let from = cells.cuts.partition_point(|&c| c < start) as u32;
            let mut to = from;
            // Cells are few for most accesses, and then next to each other.
            while cells.cuts[to as usize] < start + b.row_bytes {
                to += 1;
            }
            if from < to {
                self.ranges.push((cells.first + from, cells.first + to));
            }
        }
    }

    fn block(&mut self, block: Block) {
        let func = self.func;
        for &op in &func.blocks[block].ops {
            let data = &func.ops[op];
            match data.opcode {
                C::If => self.branch(op, data),
                C::For | C::While => self.turns(op, data),
                _ if !data.regions.is_empty() => data.regions.iter().for_each(|&r| self.block(r)),
                _ => self.op(op, data),
            }
        }
    }

    fn op(&mut self, op: Op, data: &OpData) {
        let (first, last) = self.steps[op.index()];
        for i in first as usize..last as usize {
            let step = self.all_steps[i];
            if matches!(step.touch, Touch::Read | Touch::Partial) {
                let from = self.runs.len() as u32;
                self.record(step);
                let partial = step.touch == Touch::Partial;
                let last = self.runs.len() as u32;
                self.found[op.index()].push(Found { what: step.what, partial, first: from, last });
            }
        }
        for (touch, def) in [(Touch::Scratch, Def::Junk(op)), (Touch::Full, Def::Written(op))] {
            let mut id = None;
            for i in first as usize..last as usize {
                let step = self.all_steps[i];
                let writes = step.touch == touch || (touch == Touch::Full && step.touch == Touch::Partial);
                if !writes {
                    continue;
                }
                let def = *id.get_or_insert_with(|| {
                    self.defs.push(def);
                    self.defs.len() as u32 - 1
                });
                for r in step.first..step.last {
                    let (from, to) = self.ranges[r as usize];
                    for cell in from..to {
                        self.set(cell, Content { def, base: step.base });
                    }
                }
            }
        }
        for i in first as usize..last as usize {
            let step = self.all_steps[i];
            if step.touch == Touch::Change {
                self.change(op, step);
            }
        }
        if matches!(data.opcode, C::AllocTile | C::AllocTiles)
            && let Some(cells) = data.result().and_then(|v| self.memories.get(&Memory::Root(v)))
        {
            for cell in cells.first..cells.first + cells.cuts.len() as u32 - 1 {
                self.set(cell, UNDEFINED);
            }
        }
    }

    /// Gives cells a new name that the old one stands behind.
    fn change(&mut self, op: Op, step: Step) {
        let mut names: HashMap<Content, u32> = HashMap::new();
        for r in step.first..step.last {
            let (from, to) = self.ranges[r as usize];
            for cell in from..to {
                let old = self.state[cell as usize];
                let defs = &mut self.defs;
                let def = *names.entry(old).or_insert_with(|| {
                    defs.push(Def::Changed(op, old));
                    defs.len() as u32 - 1
                });
                self.set(cell, Content { def, base: step.base });
            }
        }
    }

    fn record(&mut self, step: Step) {
        let before = self.runs.len();
        for r in step.first..step.last {
            let (from, to) = self.ranges[r as usize];
            for cell in from..to {
                let (at, bytes) = self.starts[cell as usize];
                let content = self.state[cell as usize];
                if self.runs.len() > before
                    && let Some(run) = self.runs.last_mut()
                    && run.content == content
                    && run.at + run.bytes == at
                {
                    run.bytes += bytes;
                    continue;
                }
                self.runs.push(Run { at, bytes, content });
            }
        }
    }

    fn set(&mut self, cell: u32, content: Content) {
        let old = std::mem::replace(&mut self.state[cell as usize], content);
        if old != content {
            self.log.push((cell, old));
        }
    }

    /// The cells changed since `mark`, each with what it holds now; goes back to what they held then.
    fn take_back(&mut self, mark: usize) -> Vec<(u32, Content)> {
        self.stamp += 1;
        let mut changed = Vec::new();
        for i in mark..self.log.len() {
            let cell = self.log[i].0;
            if self.stamps[cell as usize] != self.stamp {
                self.stamps[cell as usize] = self.stamp;
                changed.push((cell, self.state[cell as usize]));
            }
        }
        while self.log.len() > mark {
            if let Some((cell, old)) = self.log.pop() {
                self.state[cell as usize] = old;
            }
        }
        changed
    }

    fn branch(&mut self, op: Op, data: &OpData) {
        let mark = self.log.len();
        let mut sides = Vec::new();
        for &region in &data.regions {
            self.block(region);
            sides.push(self.take_back(mark));
        }
        let other = sides.pop().unwrap_or_default();
        let then = sides.pop().unwrap_or_default();
        // Cells that only the second changes, or both; then those that only the first does.
        let then_of: HashMap<u32, Content> = then.iter().copied().collect();
        let mut merged: HashMap<(Content, Content), u32> = HashMap::new();
        let mut pairs = Vec::with_capacity(then.len() + other.len());
        for &(cell, b) in &other {
            pairs.push((cell, then_of.get(&cell).copied().unwrap_or(self.state[cell as usize]), b));
        }
        let other_of: HashSet<u32> = other.iter().map(|&(cell, _)| cell).collect();
        for &(cell, a) in then.iter().filter(|(cell, _)| !other_of.contains(cell)) {
            pairs.push((cell, a, self.state[cell as usize]));
        }
        for (cell, a, b) in pairs {
            let content = if a == b {
                a
            } else {
                let defs = &mut self.defs;
                let def = *merged.entry((a, b)).or_insert_with(|| {
                    defs.push(Def::Branch(op, a, b));
                    defs.len() as u32 - 1
                });
                Content { def, base: 0 }
            };
            self.set(cell, content);
        }
    }

    fn turns(&mut self, op: Op, data: &OpData) {
        // Tiles that live in one turn only begin each as new; others may come around.
        let around = data.results.iter().any(|&v| self.func.ty(v).as_tile().is_some());
        let changed = self.changed_in(op);
        let mut heads = Vec::with_capacity(changed.len());
        for &cell in &changed {
            let entry = self.state[cell as usize];
            self.defs.push(Def::Loop(op, entry, entry));
            let content = Content { def: self.defs.len() as u32 - 1, base: 0 };
            heads.push(content);
            self.set(cell, content);
        }
        let fresh: Vec<u32> = if around { Vec::new() } else { self.allocated_in(op) };
        for &cell in &fresh {
            self.set(cell, UNDEFINED);
        }
        // A `while` leaves from the end of its first region, a `for` from its start.
        let mut left = None;
        let regions = data.regions.len();
        for (i, &region) in data.regions.iter().enumerate() {
            if i + 1 == regions && regions > 1 {
                left = Some(changed.iter().map(|&c| self.state[c as usize]).collect::<Vec<_>>());
            }
            self.block(region);
        }
        for (&cell, head) in changed.iter().zip(&heads) {
            let back = self.state[cell as usize];
            if let Def::Loop(_, _, end) = &mut self.defs[head.def as usize] {
                *end = back;
            }
        }
        for (i, &cell) in changed.iter().enumerate() {
            let content = left.as_ref().map_or(heads[i], |l| l[i]);
            self.set(cell, content);
        }
        for cell in fresh {
            self.set(cell, UNDEFINED);
        }
    }

    /// The cells that operations in the regions of `op` write.
    fn changed_in(&mut self, op: Op) -> Vec<u32> {
        self.stamp += 1;
        let (start, end) = self.extent[op.index()];
        let mut out = Vec::new();
        for position in start + 1..end {
            let inner = self.accesses.ops[position as usize].op;
            let (first, last) = self.steps[inner.index()];
            for i in first as usize..last as usize {
                let step = self.all_steps[i];
                if step.touch == Touch::Read {
                    continue;
                }
                for r in step.first..step.last {
                    let (from, to) = self.ranges[r as usize];
                    for cell in from..to {
                        if self.stamps[cell as usize] != self.stamp {
                            self.stamps[cell as usize] = self.stamp;
                            out.push(cell);
                        }
                    }
                }
            }
        }
        out
    }

    /// The cells of the storage of tiles without addresses that are allocated in the regions.
    fn allocated_in(&self, op: Op) -> Vec<u32> {
        let (start, end) = self.extent[op.index()];
        let mut out = Vec::new();
        for position in start + 1..end {
            let inner = &self.func.ops[self.accesses.ops[position as usize].op];
            if matches!(inner.opcode, C::AllocTile | C::AllocTiles)
                && let Some(cells) = inner.result().and_then(|v| self.memories.get(&Memory::Root(v)))
            {
                out.extend(cells.first..cells.first + cells.cuts.len() as u32 - 1);
            }
        }
        out
    }
}

/// The box of an access that is compared by bytes; `None`: the memory as a whole.
fn looked_into(access: &Access) -> Option<ByteBox> {
    match (access.memory, access.bytes) {
        (Memory::Space(_) | Memory::Root(_) | Memory::Slots(_), Footprint::Box(b)) if b.end() < END => {
            Some(if b.rows > MAX_ROWS { ByteBox::range(b.start, b.end() - b.start) } else { b })
        }
        _ => None,
    }
}

/// Operations that order everything around them.
pub(crate) fn is_sync(data: &OpData) -> bool {
    matches!(
        data.opcode,
        C::Barrier
            | C::FenceBarrierAll
            | C::SetFlag
            | C::WaitFlag
            | C::SetFlagDyn
            | C::WaitFlagDyn
            | C::RecordEvent
            | C::WaitEvent
            | C::GetBuf
            | C::RlsBuf
            | C::SyncSet
            | C::SyncWait
            | C::SetCrossBlock
            | C::WaitCrossBlock
            | C::SetIntraBlock
            | C::WaitIntraBlock
            | C::TSync
            | C::SyncAll
            | C::SyncAllSoft
    )
}

/// Operations whose mutual order others see: other cores, other ranks, the user.
pub(crate) fn is_effect(data: &OpData) -> bool {
    use C::*;
    is_sync(data)
        || matches!(
            data.opcode,
            AicInitializePipe
                | AivInitializePipe
                | InitL2g2lPipe
                | InitL2lPipe
                | TPushToAiv
                | TPushToAic
                | TPush
                | TPushViewToAiv
                | TPushViewToAic
                | TPopFromAic
                | TPopFromAiv
                | TPop
                | TPopViewFromAic
                | TPopViewFromAiv
                | TFreeFromAic
                | TFreeFromAiv
                | TFree
                | TFreeViewFromAic
                | TFreeViewFromAiv
                | TAlloc
                | TAllocToAiv
                | TAllocToAic
                | Call
                | Trap
                | TPrint
                | CacheInvalid
                | SetFfts
                | SetQuantScalar
                | SetQuantVector
                | TPrefetchAsync
        )
        || data.opcode.name().starts_with("comm.")
}

/// Names for the operations of two versions: equal ones correspond.
pub(crate) trait Names {
    fn before(&self, op: Op) -> u32;
    fn after(&self, op: Op) -> u32;
}

/// Whether bytes of two versions hold the same.
pub(crate) struct Comparison<'a, N: Names> {
    before: &'a Reach<'a>,
    after: &'a Reach<'a>,
    names: &'a N,
    /// Pairs that are known to be equal, at this distance between the versions' addresses.
    known: HashSet<(u32, u32, i64)>,
}

impl<'a, N: Names> Comparison<'a, N> {
    pub(crate) fn new(before: &'a Reach<'a>, after: &'a Reach<'a>, names: &'a N) -> Comparison<'a, N> {
        Comparison { before, after, names, known: HashSet::new() }
    }

    /// Whether `b`, at address `at_b` before, is what `a` is at `at_a` after. Where it is not: contents that differ on
    /// some path.
    pub(crate) fn same(&mut self, b: Content, at_b: u64, a: Content, at_a: u64) -> Result<(), (Def, Def)> {
        let distance = (at_b as i64).wrapping_sub(at_a as i64);
        let mut assumed = Vec::new();
        let mut work = vec![(b, a)];
        while let Some((b, a)) = work.pop() {
            let (x, y) = (self.before.defs[b.def as usize], self.after.defs[a.def as usize]);
            let inner = |d: Def| matches!(d, Def::Changed(..) | Def::Branch(..) | Def::Loop(..));
            let leaf = !inner(x) && !inner(y);
            if !leaf {
                let key = (b.def, a.def, distance);
                if !self.known.insert(key) {
                    continue;
                }
                assumed.push(key);
            }
            let fine = match (x, y) {
                // What was undefined may be anything.
                (Def::Undefined | Def::Junk(_), _) => true,
                (Def::Initial, Def::Initial) => distance == 0,
                (Def::Written(p), Def::Written(q)) => {
                    self.names.before(p) == self.names.after(q) && distance == b.base.wrapping_sub(a.base)
                }
                (Def::Changed(p, old_b), Def::Changed(q, old_a)) if self.names.before(p) == self.names.after(q) => {
                    work.push((old_b, old_a));
                    distance == b.base.wrapping_sub(a.base)
                }
                (Def::Branch(p, b1, b2), Def::Branch(q, a1, a2)) if self.names.before(p) == self.names.after(q) => {
                    work.extend([(b2, a2), (b1, a1)]);
                    true
                }
                // In the same turn of the same loop.
                (Def::Loop(p, b1, b2), Def::Loop(q, a1, a2)) if self.names.before(p) == self.names.after(q) => {
                    work.extend([(b2, a2), (b1, a1)]);
                    true
                }
                (Def::Branch(_, b1, b2), _) => {
                    work.extend([(b2, a), (b1, a)]);
                    true
                }
                (_, Def::Branch(_, a1, a2)) => {
                    work.extend([(b, a2), (b, a1)]);
                    true
                }
                // Of another turn: only what no turn makes can be equal.
                (Def::Loop(p, b1, b2), _) => {
                    work.extend([(b2, a), (b1, a)]);
                    !self.made_in(self.after, y, self.names.before(p), false)
                }
                (_, Def::Loop(q, a1, a2)) => {
                    work.extend([(b, a2), (b, a1)]);
                    !self.made_in(self.before, x, self.names.after(q), true)
                }
                _ => false,
            };
            if !fine {
                for key in assumed {
                    self.known.remove(&key);
                }
                return Err((x, y));
            }
        }
        Ok(())
    }

    /// Whether a definition of one version is made by an operation within the loop of this name.
    fn made_in(&self, reach: &Reach, def: Def, name: u32, before: bool) -> bool {
        let (Def::Written(op) | Def::Junk(op) | Def::Changed(op, _) | Def::Branch(op, ..) | Def::Loop(op, ..)) = def
        else {
            return false;
        };
        let mut block = reach.func.ops[op].block;
        while let Some(parent) = reach.func.blocks[block].parent {
            let parent_name = if before { self.names.before(parent) } else { self.names.after(parent) };
            if parent_name == name {
                return true;
            }
            block = reach.func.ops[parent].block;
        }
        false
    }
}
