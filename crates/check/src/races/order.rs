//! Happens-before, as far as the program declares it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use chip::Core;
use trace::{Event, Fifo, Meeting, Record, Region};

/// The declared order of tasks: reachability in a graph whose edges lead from lower to higher numbers.
pub(super) struct Tasks {
    /// Direct predecessors, ascending.
    before: Vec<Vec<u32>>,
    /// (n, t): the orchestration waited for task t before it submitted task n. Ascending.
    waited: Vec<(u32, u32)>,
    search: RefCell<Search>,
}

/// The ancestors of one task as far down as they have been looked for.
#[derive(Default)]
struct Search {
    of: Option<u32>,
    /// The ancestors that have been met: stamped with what they are ancestors of.
    stamp: Vec<u32>,
    /// Met, and their own predecessors not yet: a heap, the highest first.
    open: std::collections::BinaryHeap<u32>,
    waited: usize,
}

impl Tasks {
    pub(super) fn new(record: &Record) -> Tasks {
        let mut before = vec![Vec::new(); record.tasks.len()];
        for e in &record.declared {
            if let Some(list) = before.get_mut(e.to as usize) {
                list.push(e.from);
            }
        }
        let mut waited = Vec::new();
        let mut touched: BTreeMap<u32, Vec<(Region, bool)>> = BTreeMap::new();
        if !record.host.is_empty() {
            for s in &record.streams {
                let list = touched.entry(s.task).or_default();
                for event in &s.events {
                    if let Event::Access(a) = event {
                        list.push((a.region, a.kind != trace::AccessKind::Read));
                    }
                }
            }
        }
        for h in &record.host {
            let writes = h.access.kind != trace::AccessKind::Read;
            for (&task, list) in touched.range(..h.after) {
                if list.iter().any(|(r, w)| (*w || writes) && r.overlaps(&h.access.region)) {
                    waited.push((h.after, task));
                }
            }
        }
        waited.sort_unstable();
        waited.dedup();
        let search = Search { stamp: vec![u32::MAX; record.tasks.len()], ..Search::default() };
        Tasks { before, waited, search: RefCell::new(search) }
    }

    /// Whether task `a` has ended before task `b` starts, whatever the schedule. `a` is the lower number.
    pub(super) fn path(&self, a: u32, b: u32) -> bool {
        if self.before.get(b as usize).is_some_and(|list| list.contains(&a)) {
            return true;
        }
        let mut s = self.search.borrow_mut();
        let s = &mut *s;
        if s.of != Some(b) {
            s.of = Some(b);
            s.open.clear();
            s.open.push(b);
            // What the orchestration waited for before it submitted `b`.
            for &(n, t) in &self.waited {
                if n > b {
                    break;
                }
                s.open.push(t);
                if let Some(stamp) = s.stamp.get_mut(t as usize) {
                    *stamp = b;
                }
            }
            s.waited = s.open.len();
        }
        while let Some(&top) = s.open.peek() {
            if top <= a {
                break;
            }
            s.open.pop();
            for &p in self.before.get(top as usize).into_iter().flatten() {
                let Some(stamp) = s.stamp.get_mut(p as usize) else { continue };
                if std::mem::replace(stamp, b) != b {
                    s.open.push(p);
                }
            }
        }
        s.stamp.get(a as usize) == Some(&b)
    }
}

/// How far a core has come: `syncall`s of each kind that it took part in, and what it knows of the other cores of its block.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Clock {
    all: u32,
    own: u32,
    /// Pushes and pops that it has done.
    steps: u32,
    /// Of each core of the block (cube, vector 0, vector 1): steps that are known to be over.
    known: [u32; 3],
}

/// What every stream has done so far. Streams of a block are taken one after the other, so what a pop knows is filled in when the
/// push has been seen; pushes of a stream that comes later are found in the record itself.
pub(super) struct Clocks {
    now: Vec<Clock>,
    core: Vec<Core>,
    block: Vec<(u32, u32)>,
    lane: Vec<usize>,
    /// Of each stream: it is the only one of its task.
    alone: Vec<bool>,
    /// Per block and FIFO: the pusher's lane and its steps at the n-th push.
    pushes: BTreeMap<(u32, u32, Fifo), (usize, Vec<u32>)>,
    popped: BTreeMap<(u32, u32, Fifo), usize>,
}

fn lane(core: Core, lane: u32) -> usize {
    match core {
        Core::Cube => 0,
        Core::Vector => 1 + (lane as usize).min(1),
    }
}

impl Clocks {
    pub(super) fn new(record: &Record) -> Clocks {
        let mut pushes: BTreeMap<(u32, u32, Fifo), (usize, Vec<u32>)> = BTreeMap::new();
        for s in &record.streams {
            let mut steps = 0;
            for event in &s.events {
                if let Event::Push(fifo) = event {
                    let entry = pushes.entry((s.task, s.block, *fifo)).or_insert((lane(s.core, s.lane), Vec::new()));
                    entry.1.push(steps);
                }
                steps += u32::from(matches!(event, Event::Push(_) | Event::Pop(_)));
            }
        }
        let streams = &record.streams;
        let mut of_task: BTreeMap<u32, usize> = BTreeMap::new();
        for s in streams {
            *of_task.entry(s.task).or_default() += 1;
        }
        Clocks {
            alone: streams.iter().map(|s| of_task.get(&s.task) == Some(&1)).collect(),
            now: vec![Clock::default(); streams.len()],
            core: streams.iter().map(|s| s.core).collect(),
            block: streams.iter().map(|s| (s.task, s.block)).collect(),
            lane: streams.iter().map(|s| lane(s.core, s.lane)).collect(),
            pushes,
            popped: BTreeMap::new(),
        }
    }

    /// Whether it is the only stream of its task.
    pub(super) fn is_alone(&self, stream: usize) -> bool {
        self.alone[stream]
    }

    pub(super) fn now(&self, stream: usize) -> Clock {
        self.now[stream]
    }

    pub(super) fn pass(&mut self, stream: usize, event: &Event) {
        let (task, block) = self.block[stream];
        let now = &mut self.now[stream];
        match event {
            Event::Meet(Meeting::All) => now.all += 1,
            Event::Meet(_) => now.own += 1,
            Event::Push(_) => now.steps += 1,
            Event::Pop(fifo) => {
                now.steps += 1;
                let n = self.popped.entry((task, block, *fifo)).or_default();
                if let Some((pusher, steps)) = self.pushes.get(&(task, block, *fifo)) {
                    // Everything up to that push, the push itself included, is over.
                    if let Some(&at) = steps.get(*n) {
                        now.known[*pusher] = now.known[*pusher].max(at + 1);
                    }
                }
                *n += 1;
            }
            Event::Access(_) | Event::Clean { .. } | Event::Invalidate { .. } => {}
        }
    }

    /// Whether something at clock `a` of one stream is before something at clock `b` of another of the same task.
    pub(super) fn ordered(&self, s: usize, a: &Clock, t: usize, b: &Clock) -> bool {
        let same_kind = self.core[s] == self.core[t];
        if a.all < b.all || (same_kind && a.own < b.own) {
            return true;
        }
        // The accesses before step n are over when n + 1 steps are known.
        self.block[s] == self.block[t] && a.steps < b.known[self.lane[s]]
    }
}
