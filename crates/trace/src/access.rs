//! What a run did to global memory, and in which order: the record from which races and stale reads are judged.
//!
//! A [`Stream`] is what one core did for one block of a task, in its program order: accesses, and the points where it met
//! other cores. Everything else that orders accesses is between tasks: [`crate::Edge`]s, and what the orchestration
//! waited for.

use chip::Core;

use crate::{Edge, Region, Task};

/// Global memory that the run could reach: arguments in order, then what the program made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The parameter's name, or that of the value the program made.
    pub name: String,
    /// The parameter, if it is one.
    pub param: Option<u32>,
    /// Absolute address of its first byte, and its length.
    pub start: i64,
    pub bytes: i64,
    /// Bytes of an element, and the extents, for naming elements.
    pub size: i64,
    pub shape: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    Read,
    Write,
    /// An addition, maximum or minimum that commutes with others of its kind.
    Atomic,
}

/// How the bytes travel: which cache they go through.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Via {
    /// A block transfer between global memory and a scratchpad: past the scalar cache.
    Transfer,
    /// A scalar load or store of a core, through its scalar cache (semantics rule 20).
    Scalar,
}

/// Accesses of one operation: one, or several in a row that touch neighbouring bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub op: ir::Op,
    pub kind: AccessKind,
    pub via: Via,
    /// Absolute addresses.
    pub region: Region,
}

/// Which cores of a launch meet at a `syncall`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Meeting {
    All,
    Cube,
    Vector,
}

/// One FIFO of a cluster, by the id and direction of its set-up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fifo {
    pub id: i64,
    pub to_vector: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Access(Access),
    /// It stood at a `syncall` until all of the kind were there.
    Meet(Meeting),
    /// What is before a push is before the pop of the same number.
    Push(Fifo),
    Pop(Fifo),
    /// It wrote its dirty cache lines back, or forgot all lines: those of the region, or all.
    Clean {
        op: ir::Op,
        region: Option<Region>,
    },
    Invalidate {
        op: ir::Op,
        region: Option<Region>,
    },
}

/// What one core did for one block of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    pub task: u32,
    pub block: u32,
    pub core: Core,
    /// Which vector core of the cluster; 0 for the cube core.
    pub lane: u32,
    /// The function, by its name in the machine-level program; operations are its.
    pub kernel: String,
    pub events: Vec<Event>,
}

/// A scalar access of the orchestration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostAccess {
    /// Tasks submitted before it.
    pub after: u32,
    pub access: Access,
}

/// What a run did, enough to judge it by in another process.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Record {
    pub memory: Vec<Memory>,
    pub tasks: Vec<Task>,
    /// What the run obeyed.
    pub edges: Vec<Edge>,
    /// What the program declared: without the edges that only this runtime adds where the program opted out of tracking
    /// (semantics rule 18).
    pub declared: Vec<Edge>,
    /// By task, block, core, lane.
    pub streams: Vec<Stream>,
    pub host: Vec<HostAccess>,
}

/// Accesses of a stream that is being written. Those of one operation that go on where the last one ended are one event, so
/// that a loop over elements does not fill the memory.
#[derive(Clone, Default, Debug)]
pub struct Log {
    pub events: Vec<Event>,
    /// The events since the last one that is no access.
    open: usize,
}

/// Latest events of a log that a new access may go on with.
const RECENT: usize = 8;

impl Log {
    pub fn access(&mut self, op: ir::Op, kind: AccessKind, via: Via, region: Region) {
        if region.is_empty() {
            return;
        }
        let from = self.open.max(self.events.len().saturating_sub(RECENT));
        for event in self.events[from..].iter_mut().rev() {
            let Event::Access(last) = event else { continue };
            if (last.op, last.kind, last.via) != (op, kind, via) {
                continue;
            }
            if last.region.covers(&region) {
                return;
            }
            if last.region.is_contiguous() && region.is_contiguous() && last.region.end() == region.start {
                last.region = Region::bytes(last.region.start, region.end() - last.region.start);
                return;
            }
            break;
        }
        self.events.push(Event::Access(Access { op, kind, via, region }));
    }

    /// Something that is no access: what follows it is not one with what was before.
    pub fn event(&mut self, event: Event) {
        self.events.push(event);
        self.open = self.events.len();
    }

    pub fn clear(&mut self) {
        self.events.clear();
        self.open = 0;
    }
}
