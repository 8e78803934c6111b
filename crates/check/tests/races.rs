//! The race check against brute force: random records of tasks, blocks, cores, `syncall`s and FIFOs; every pair of accesses is
//! judged by reachability in the graph of all events, and the pairs of source operations must be the same.

use std::collections::{BTreeMap, BTreeSet};

use chip::{Arch, Core};
use control::Control;
use ir::{Arena, Attrs, Builder, Entity, Function, FunctionKind, Level, Op, Opcode, Program};
use trace::{
    Access, AccessKind, Cause, Edge, Event, Fifo, HostAccess, Meeting, Memory, Record, Region, Stream, Task, Via,
};

/// A program whose entry and kernel `k` have some of the operations that records name.
fn program() -> Program {
    let function = |name: &str, kind| {
        let mut f = Function::new(name, kind);
        for _ in 0..16 {
            Builder::new(&mut f).effect(Opcode::Return, &[&[]], Attrs::default());
        }
        f
    };
    let mut functions = Arena::default();
    let entry = functions.push(function("main", FunctionKind::Orchestration));
    functions.push(function("k", FunctionKind::Kernel(Core::Vector)));
    Program { name: "p".into(), arch: Arch::A2a3, level: Level::Tile, functions, entry, sources: Default::default() }
}

struct Random(Control);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.choose(n)
    }

    fn region(&mut self) -> Region {
        let start = 1000 + 8 * self.below(24) as i64;
        match self.below(3) {
            0 => Region::bytes(start, 8),
            1 => Region::bytes(start, 8 * (1 + self.below(6) as i64)),
            _ => Region::strided(start, 8, [(1 + self.below(4) as i64, 32)]),
        }
    }

    fn access(&mut self, op: usize) -> Access {
        let kind = [AccessKind::Read, AccessKind::Read, AccessKind::Write, AccessKind::Atomic][self.below(4)];
        Access { op: Op::new(op), kind, via: Via::Transfer, region: self.region() }
    }

    /// Operations are numbered through, so that a pair of operations is a pair of accesses.
    fn record(&mut self) -> Record {
        let mut op = 0;
        let mut next = || {
            op += 1;
            op - 1
        };
        let mut record = Record::default();
        record.memory.push(Memory {
            name: "m".into(),
            param: Some(0),
            start: 1000,
            bytes: 512,
            size: 8,
            shape: vec![64],
        });
        let tasks = 1 + self.below(5) as u32;
        for task in 0..tasks {
            if self.below(4) == 0 {
                let access = self.access(next());
                if access.kind != AccessKind::Atomic {
                    record.host.push(HostAccess { after: task, access });
                }
            }
            let blocks = [1, 1, 2][self.below(3)];
            record.tasks.push(Task { name: "t".into(), kernels: vec!["k".into()], blocks, manual: false, span: None });
            for from in 0..task {
                if self.below(3) == 0 {
                    record.declared.push(Edge { from, to: task, cause: Cause::Explicit });
                }
            }
            let mixed = self.below(2) == 0;
            let meetings = self.below(3);
            let slots = if mixed { self.below(3) } else { 0 };
            let fifo = Fifo { id: 0, to_vector: true };
            for block in 0..blocks {
                for core in [Core::Cube, Core::Vector] {
                    if core == Core::Cube && !mixed {
                        continue;
                    }
                    let hand_over = if core == Core::Cube { Event::Push(fifo) } else { Event::Pop(fifo) };
                    let mut events = Vec::new();
                    for _ in 0..=meetings {
                        for part in 0..=slots {
                            for _ in 0..self.below(3) {
                                events.push(Event::Access(self.access(next())));
                            }
                            if part < slots {
                                events.push(hand_over);
                            }
                        }
                        events.push(Event::Meet(Meeting::All));
                    }
                    events.pop();
                    record.streams.push(Stream { task, block, core, lane: 0, kernel: "k".into(), events });
                }
            }
        }
        record
    }
}

/// Every access with its number in a graph of all events, and what each event is directly before.
fn brute_force(record: &Record) -> BTreeSet<(usize, usize)> {
    let mut edges: Vec<Vec<usize>> = Vec::new();
    let node = |edges: &mut Vec<Vec<usize>>| {
        edges.push(Vec::new());
        edges.len() - 1
    };
    let n = record.tasks.len();
    let starts: Vec<usize> = (0..n).map(|_| node(&mut edges)).collect();
    let ends: Vec<usize> = (0..n).map(|_| node(&mut edges)).collect();
    // The orchestration at the submission of each task.
    let submits: Vec<usize> = (0..=n).map(|_| node(&mut edges)).collect();
    for t in 0..n {
        edges[submits[t]].push(submits[t + 1]);
        edges[submits[t]].push(starts[t]);
    }
    for e in &record.declared {
        edges[ends[e.from as usize]].push(starts[e.to as usize]);
    }
    let mut accesses: Vec<(usize, Access, Option<u32>)> = Vec::new();
    let mut meets: BTreeMap<(u32, usize), (usize, usize)> = BTreeMap::new();
    let mut pushes: BTreeMap<(u32, u32, usize), usize> = BTreeMap::new();
    let mut pops: BTreeMap<(u32, u32, usize), usize> = BTreeMap::new();
    for s in &record.streams {
        let mut last = starts[s.task as usize];
        let (mut met, mut pushed, mut popped) = (0, 0, 0);
        for event in &s.events {
            let here = node(&mut edges);
            edges[last].push(here);
            last = here;
            match event {
                Event::Access(a) => accesses.push((here, *a, Some(s.task))),
                Event::Meet(_) => {
                    let (arrive, leave) = *meets.entry((s.task, met)).or_insert_with(|| {
                        let (a, l) = (node(&mut edges), node(&mut edges));
                        edges[a].push(l);
                        (a, l)
                    });
                    met += 1;
                    edges[here].push(arrive);
                    let after = node(&mut edges);
                    edges[leave].push(after);
                    last = after;
                }
                Event::Push(_) => {
                    pushes.insert((s.task, s.block, pushed), here);
                    pushed += 1;
                }
                Event::Pop(_) => {
                    pops.insert((s.task, s.block, popped), here);
                    popped += 1;
                }
                _ => {}
            }
        }
        edges[last].push(ends[s.task as usize]);
    }
    for (key, &push) in &pushes {
        if let Some(&pop) = pops.get(key) {
            edges[push].push(pop);
        }
    }
    // Host accesses: after what they conflict with, before what is submitted later.
    for h in &record.host {
        for (_, a, task) in accesses.clone() {
            let task = task.expect("a task");
            let conflict = a.kind != AccessKind::Read || h.access.kind != AccessKind::Read;
            if task < h.after && conflict && a.region.overlaps(&h.access.region) {
                edges[ends[task as usize]].push(submits[h.after as usize]);
            }
        }
    }
    let reaches = |from: usize, to: usize| {
        let mut seen = vec![false; edges.len()];
        let mut open = vec![from];
        while let Some(x) = open.pop() {
            if x == to {
                return true;
            }
            for &y in &edges[x] {
                if !std::mem::replace(&mut seen[y], true) {
                    open.push(y);
                }
            }
        }
        false
    };
    let mut racing = BTreeSet::new();
    for (i, (x, a, _)) in accesses.iter().enumerate() {
        for (y, b, _) in &accesses[i + 1..] {
            let conflict = a.kind != b.kind || a.kind == AccessKind::Write;
            if conflict && a.region.overlaps(&b.region) && !reaches(*x, *y) && !reaches(*y, *x) {
                racing.insert((a.op.index(), b.op.index()));
            }
        }
    }
    racing
}

#[test]
fn agrees_with_brute_force_on_random_records() {
    let program = program();
    let mut random = Random(Control::new(11));
    let (mut clean, mut racy) = (0, 0);
    for case in 0..4000 {
        let record = random.record();
        let expected = brute_force(&record);
        let verdict = check::races::check(&program, &record);
        let found: BTreeSet<(usize, usize)> = verdict
            .findings
            .iter()
            .map(|f| (f.second.as_ref().expect("two accesses").op.index(), f.first.op.index()))
            .collect();
        // Nothing is invented. What is not named is a race with an access that a later write has replaced: each of
        // its bytes is in a race that is named.
        assert!(found.is_subset(&expected), "case {case}: {:?}\n{record:#?}", found.difference(&expected));
        assert_eq!(found.is_empty(), expected.is_empty(), "case {case}: {expected:?}\n{record:#?}");
        *(if expected.is_empty() { &mut clean } else { &mut racy }) += 1;
    }
    assert!(clean > 500 && racy > 500, "{clean} without, {racy} with races: the cases no longer exercise both");
}
