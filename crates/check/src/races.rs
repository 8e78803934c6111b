//! Races: accesses to global memory that conflict and that nothing the program says orders.
//!
//! Two accesses *conflict* if they share a byte and one of them writes (two atomics of one kind commute: they do not). What
//! orders them, for this check, is what the program declares:
//!
//! * between tasks: a path of `deps` and of the edges that follow from the accesses of tasks the program left to the runtime
//!   ([`trace::Record::declared`]; a task of a manual scope has its `deps` only), and the orchestration, which waits at its
//!   scalar reads and writes for the tasks they conflict with, and submits what follows later (semantics rule 19);
//! * between blocks of a task: the `syncall`s that both took part in;
//! * between the cores of a block: those, and the FIFOs, where the n-th push is before the n-th pop.
//!
//! The run itself keeps program order for every conflicting pair, whatever is declared (semantics rule 18), so the record of
//! one run is enough and its values are right; a finding says what a device may do.
//!
//! **Method.** Accesses are taken in program order (task, block, core). For each the earlier ones that share bytes with it are
//! looked up in a grid; an earlier access goes when a later write covers it and is ordered after it, since whatever comes then
//! and races with it races with that write too. (Not within a task of several cores or blocks: what one has done after a
//! `syncall` is taken before what another did before it.) Each pair of source operations is reported once.

mod grid;
mod order;

use std::collections::BTreeMap;

use ir::{Op, Program};
use trace::{Access, AccessKind, Event, Record, Region};

use crate::verdict::{Bytes, Finding, Site, Verdict};
use grid::Grid;
use order::{Clock, Clocks, Tasks};

/// An access and when it happened.
#[derive(Clone, Debug)]
struct Touch {
    /// `None`: the orchestration, after that many tasks.
    at: Place,
    access: Access,
}

#[derive(Clone, Debug)]
enum Place {
    Host { after: u32 },
    Core { task: u32, stream: usize, clock: Clock },
}

/// Pairs of one kind that are shown; the others are counted.
type Key<'a> = (&'a str, Op, &'a str, Op, &'static str);

/// Judges the record of a run of a machine-level program.
pub fn check(program: &Program, record: &Record) -> Verdict {
    let tasks = Tasks::new(record);
    // By kind: what does not conflict is not looked at, however many read the same weights.
    let mut grids: [Grid; 3] = Default::default();
    let mut touches: Vec<Touch> = Vec::new();
    let mut found: BTreeMap<Key<'_>, (usize, usize, u32)> = BTreeMap::new();
    let mut clocks = Clocks::new(record);
    for touch in in_program_order(record, &mut clocks) {
        let index = touches.len();
        let kind = touch.access.kind;
        for earlier_kind in KINDS.into_iter().filter(|&k| conflicts(k, kind)) {
            let mut gone = Vec::new();
            let grid = &mut grids[earlier_kind as usize];
            grid.overlapping(&touch.access.region, |earlier| {
                let other = &touches[earlier];
                if ordered(&tasks, &clocks, other, &touch) {
                    let alone = matches!(touch.at, Place::Core { stream, .. } if clocks.is_alone(stream));
                    let replaces = alone || task(other) != task(&touch);
                    if replaces && kind == AccessKind::Write && touch.access.region.covers(&other.access.region) {
                        gone.push(earlier);
                    }
                } else if other.access.region.overlaps(&touch.access.region) {
                    let (first, second) = (kernel(record, other), kernel(record, &touch));
                    let key = (first, other.access.op, second, touch.access.op, rule(other, &touch));
                    found.entry(key).and_modify(|(_, _, n)| *n += 1).or_insert((earlier, index, 1));
                }
            });
            for earlier in gone {
                grid.remove(earlier, &touches[earlier].access.region);
            }
        }
        grids[kind as usize].insert(index, &touch.access.region);
        touches.push(touch);
    }
    let mut pairs: Vec<_> = found.into_iter().collect();
    pairs.sort_by_key(|(_, (first, second, _))| (*second, *first));
    let findings = pairs
        .into_iter()
        .map(|((.., rule), (a, b, n))| finding(program, record, &touches[a], &touches[b], rule, n))
        .collect();
    Verdict { findings, unsupported: Vec::new() }
}

const KINDS: [AccessKind; 3] = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic];

fn conflicts(a: AccessKind, b: AccessKind) -> bool {
    a != b || a == AccessKind::Write
}

fn in_program_order(record: &Record, clocks: &mut Clocks) -> Vec<Touch> {
    let mut out = Vec::new();
    let mut host = record.host.iter().peekable();
    for (stream, s) in record.streams.iter().enumerate() {
        while let Some(h) = host.next_if(|h| h.after <= s.task) {
            out.push(Touch { at: Place::Host { after: h.after }, access: h.access });
        }
        for event in &s.events {
            match event {
                Event::Access(access) => {
                    let at = Place::Core { task: s.task, stream, clock: clocks.now(stream) };
                    out.push(Touch { at, access: *access });
                }
                event => clocks.pass(stream, event),
            }
        }
    }
    out.extend(host.map(|h| Touch { at: Place::Host { after: h.after }, access: h.access }));
    out
}

/// Whether `a`, which is earlier in program order, is before `b` by what the program declares.
fn ordered(tasks: &Tasks, clocks: &Clocks, a: &Touch, b: &Touch) -> bool {
    match (&a.at, &b.at) {
        // The orchestration is one thread, waits for what it conflicts with, and submits in order.
        (Place::Host { .. }, _) | (_, Place::Host { .. }) => true,
        (Place::Core { task: t1, stream: s1, clock: c1 }, Place::Core { task: t2, stream: s2, clock: c2 }) => {
            if t1 != t2 {
                tasks.path(*t1, *t2)
            } else {
                s1 == s2 || clocks.ordered(*s1, c1, *s2, c2) || clocks.ordered(*s2, c2, *s1, c1)
            }
        }
    }
}

fn rule(a: &Touch, b: &Touch) -> &'static str {
    match (a.access.kind, b.access.kind) {
        (AccessKind::Read, _) => "race-war",
        (_, AccessKind::Read) => "race-raw",
        _ => "race-waw",
    }
}

fn kernel<'r>(record: &'r Record, touch: &Touch) -> &'r str {
    match touch.at {
        Place::Host { .. } => "",
        Place::Core { stream, .. } => &record.streams[stream].kernel,
    }
}

fn finding(program: &Program, record: &Record, a: &Touch, b: &Touch, rule: &'static str, times: u32) -> Finding {
    let common = common(&a.access.region, &b.access.region);
    let (tensor, elements, bytes) = named(record, common);
    let site = |t: &Touch| {
        let verb = match t.access.kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Atomic => "adds to",
        };
        let role = format!("{verb} it {}", whereabouts(record, t));
        let function = match t.at {
            Place::Host { .. } => Some(program.entry),
            Place::Core { stream, .. } => program.function(&record.streams[stream].kernel),
        };
        let function = function.map(|id| &program.functions[id]);
        match function.filter(|f| f.ops.get(t.access.op).is_some()) {
            Some(f) => Site::new(f, t.access.op, role),
            None => Site { function: kernel(record, t).into(), op: t.access.op, name: "access", span: None, role },
        }
    };
    let (first, second) = (site(b), site(a));
    let (task_a, task_b) = (task(a), task(b));
    let name = |t: Option<u32>| t.and_then(|t| record.tasks.get(t as usize)).map_or("?", |t| t.name.as_str());
    let (what, help) = match (task_a, task_b) {
        (Some(s), Some(t)) if s != t => (
            format!(
                "nothing that the program says orders task {s} `{}` before task {t} `{}`",
                name(task_a),
                name(task_b)
            ),
            format!("add task {s} to the `deps` of task {t}, or leave their order to the runtime"),
        ),
        _ => (
            format!("nothing orders these accesses of task {} `{}`", task_b.unwrap_or(0), name(task_b)),
            if same_block(record, a, b) {
                "order the cores of the block by a FIFO or `pl.system.syncall`".to_owned()
            } else {
                "blocks of one task run in parallel: put `pl.system.syncall` between, or make two tasks of it"
                    .to_owned()
            },
        ),
    };
    let more = if times > 1 { format!(" ({times} pairs like this)") } else { String::new() };
    Finding {
        rule,
        message: format!("{what}, and both touch {tensor}{elements}{more}"),
        first,
        second: Some(second),
        bytes: Some(Bytes { memory: tensor, range: bytes }),
        help: Some(help),
    }
}

fn task(t: &Touch) -> Option<u32> {
    match t.at {
        Place::Host { .. } => None,
        Place::Core { task, .. } => Some(task),
    }
}

fn same_block(record: &Record, a: &Touch, b: &Touch) -> bool {
    match (&a.at, &b.at) {
        (Place::Core { stream: s, .. }, Place::Core { stream: t, .. }) => {
            record.streams[*s].block == record.streams[*t].block
        }
        _ => false,
    }
}

fn whereabouts(record: &Record, t: &Touch) -> String {
    match t.at {
        Place::Host { after } => format!("in the orchestration, after {after} tasks"),
        Place::Core { task, stream, .. } => {
            let s = &record.streams[stream];
            let core = match s.core {
                chip::Core::Cube => "cube core".to_owned(),
                chip::Core::Vector => format!("vector core {}", s.lane),
            };
            let blocks = record.tasks.get(task as usize).map_or(1, |t| t.blocks);
            format!("in task {task}, block {} of {blocks}, {core}", s.block)
        }
    }
}

/// A run of bytes that both sets have: the first that is found, in order of the first set.
fn common(a: &Region, b: &Region) -> (i64, i64) {
    /// Runs looked at; beyond it the answer is the first byte of the first set, which is as good a hint.
    const MOST: usize = 1 << 16;
    let mut at = None;
    runs(a, MOST, &mut |start| {
        let run = Region::bytes(start, a.run);
        if !run.overlaps(b) {
            return false;
        }
        runs(b, MOST, &mut |other| {
            let (from, to) = (start.max(other), (start + a.run).min(other + b.run));
            if from < to {
                at = Some((from, to - from));
            }
            from < to
        })
    });
    at.unwrap_or((a.start, 1))
}

/// Calls `f` with the start of each run, in ascending order of dimensions, until it says so or `most` have been.
fn runs(r: &Region, most: usize, f: &mut dyn FnMut(i64) -> bool) -> bool {
    let dims = r.dims();
    let mut index = vec![0i64; dims.len()];
    for _ in 0..most {
        let start = r.start + index.iter().zip(dims).map(|(i, (_, s))| i * s).sum::<i64>();
        if f(start) {
            return true;
        }
        let mut k = dims.len();
        loop {
            if k == 0 {
                return false;
            }
            k -= 1;
            index[k] += 1;
            if index[k] < dims[k].0 {
                break;
            }
            index[k] = 0;
        }
    }
    false
}

/// The tensor that bytes belong to, their first element as text, and the bytes counted from its start.
fn named(record: &Record, (start, len): (i64, i64)) -> (String, String, std::ops::Range<u64>) {
    let Some(m) = record.memory.iter().find(|m| m.start <= start && start < m.start + m.bytes) else {
        return ("global memory".into(), String::new(), 0..len as u64);
    };
    let offset = start - m.start;
    let mut rest = (offset / m.size.max(1)) as u64;
    let mut index = vec![0; m.shape.len()];
    for (i, &n) in index.iter_mut().zip(&m.shape).rev() {
        (*i, rest) = (rest % n.max(1), rest / n.max(1));
    }
    let index: Vec<String> = index.iter().map(u64::to_string).collect();
    (
        format!("`{}`", m.name),
        format!(" (from element [{}] on)", index.join(", ")),
        offset as u64..(offset + len) as u64,
    )
}
