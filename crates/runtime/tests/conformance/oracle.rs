//! What a program means, statement after statement, and whom each task must follow: sets of bytes, no cleverness.

use std::collections::BTreeSet;

use crate::program::{BYTES, COLS, PARAMS, Program, ROWS, Statement, Task, View};

const WORDS: usize = BYTES / 64;
const MEMORIES: usize = PARAMS + 2;

/// Bytes of all tensors.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Bytes([[u64; WORDS]; MEMORIES]);

impl Bytes {
    fn add(&mut self, memory: usize, from: usize, n: usize) {
        (from..from + n).for_each(|b| self.0[memory][b / 64] |= 1 << (b % 64));
    }

    fn meets(&self, other: &Bytes) -> bool {
        self.0.as_flattened().iter().zip(other.0.as_flattened()).any(|(a, b)| a & b != 0)
    }
}

/// Reads and writes; those of arguments that are left to the runtime apart.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Touched {
    pub(crate) reads: Bytes,
    pub(crate) writes: Bytes,
}

impl Touched {
    fn conflicts(&self, other: &Touched) -> bool {
        self.writes.meets(&other.writes) || self.writes.meets(&other.reads) || self.reads.meets(&other.writes)
    }
}

/// A task that was submitted.
pub(crate) struct Ran {
    pub(crate) all: Touched,
    pub(crate) tracked: Touched,
}

/// What running a program one statement after the other does.
pub(crate) struct Meaning {
    pub(crate) memory: Vec<Vec<u8>>,
    pub(crate) ran: Vec<Ran>,
    pub(crate) explicit: BTreeSet<(u32, u32)>,
    /// What `Deps::Upstream` must derive.
    pub(crate) upstream: BTreeSet<(u32, u32)>,
    /// By the orchestration's scalar accesses, which wait.
    pub(crate) waited: BTreeSet<(u32, u32)>,
    /// Whether an element decides what runs.
    pub(crate) decides: bool,
}

struct Modified {
    view: View,
    task: u32,
}

fn at(view: &View, i: u64, j: u64) -> usize {
    ((view.start + i * view.rows().1 + j * view.cols().1) * view.size()) as usize
}

fn elements(view: &View) -> BTreeSet<u64> {
    let (rows, cols) = (view.rows(), view.cols());
    (0..rows.0).flat_map(|i| (0..cols.0).map(move |j| view.start + i * rows.1 + j * cols.1)).collect()
}

/// Whether the map of upstream takes the later view to share something with the earlier one, and to contain it.
fn overlap(later: &View, earlier: &View) -> (bool, bool) {
    let (a, b) = (elements(later), elements(earlier));
    let hull = |s: &BTreeSet<u64>, size: u64| (s.first().unwrap() * size, (s.last().unwrap() + 1) * size);
    let (ha, hb) = (hull(&a, later.size()), hull(&b, earlier.size()));
    if ha.1 <= hb.0 || hb.1 <= ha.0 {
        return (false, false);
    }
    let strides = |v: &View| v.axes.iter().map(|a| a.1).collect::<Vec<_>>();
    let boxes = later.short == earlier.short && strides(later) == strides(earlier) && later.cols().1 == 1;
    // A turned view whose columns have stride 1 does not occur: those of a tensor have the stride of a row.
    if !boxes {
        return (true, false);
    }
    (!a.is_disjoint(&b), b.is_subset(&a))
}

pub(crate) fn initial() -> Vec<Vec<u8>> {
    (0..PARAMS).map(|m| (0..BYTES).map(|b| (m * 31 + b * 7) as u8 % 11).collect()).collect()
}

fn get(memory: &[Vec<u8>], view: &View, byte: usize) -> i32 {
    let m = &memory[view.memory];
    if view.short {
        i16::from_le_bytes([m[byte], m[byte + 1]]).into()
    } else {
        i32::from_le_bytes([m[byte], m[byte + 1], m[byte + 2], m[byte + 3]])
    }
}

pub(crate) fn run(program: &Program) -> Meaning {
    let mut m = Meaning {
        memory: initial(),
        ran: Vec::new(),
        explicit: BTreeSet::new(),
        upstream: BTreeSet::new(),
        waited: BTreeSet::new(),
        decides: false,
    };
    let mut manual_dep = vec![false; PARAMS];
    // The tasks behind each statement's id.
    let mut ids: Vec<Vec<u32>> = Vec::new();
    let mut map: Vec<Modified> = Vec::new();
    // Tasks that the orchestration has waited for.
    let mut waited: BTreeSet<u32> = BTreeSet::new();
    let mut wait = |m: &Meaning, memory: usize, (r, c): (u64, u64), write: bool| {
        let mut bytes = Bytes::default();
        bytes.add(memory, 4 * (r * COLS + c) as usize, 4);
        let host = if write {
            Touched { writes: bytes, ..Touched::default() }
        } else {
            Touched { reads: bytes, ..Touched::default() }
        };
        waited.extend((0..).zip(&m.ran).filter(|(_, t)| t.all.conflicts(&host)).map(|(t, _)| t));
        waited.clone()
    };
    let mut before: BTreeSet<u32> = BTreeSet::new();
    for statement in &program.statements {
        let mut mine = Vec::new();
        match statement {
            Statement::Create { manual_dep: flag, init } => {
                m.memory.push((0..(ROWS * COLS) as usize).flat_map(|_| init.to_le_bytes()).collect());
                manual_dep.push(*flag);
            }
            Statement::Task(task) => mine.push(submit(&mut m, task, &ids, &manual_dep, &mut map, &before)),
            Statement::Dummy(deps) => mine = deps.iter().flat_map(|&d| ids[d].clone()).collect(),
            Statement::If { memory, at: (r, c), limit, task } => {
                m.decides = true;
                before = wait(&m, *memory, (*r, *c), false);
                let view = View { memory: *memory, short: false, start: 0, axes: vec![(ROWS, COLS), (COLS, 1)] };
                if get(&m.memory, &view, at(&view, *r, *c)) > *limit {
                    submit(&mut m, task, &ids, &manual_dep, &mut map, &before);
                }
            }
            Statement::Write { memory, at: (r, c), value } => {
                before = wait(&m, *memory, (*r, *c), true);
                let byte = 4 * (r * COLS + c) as usize;
                m.memory[*memory][byte..byte + 4].copy_from_slice(&value.to_le_bytes());
            }
        }
        ids.push(mine);
    }
    m
}

fn submit(
    m: &mut Meaning,
    t: &Task,
    ids: &[Vec<u32>],
    manual_dep: &[bool],
    map: &mut Vec<Modified>,
    waited: &BTreeSet<u32>,
) -> u32 {
    let task = m.ran.len() as u32;
    let mut sides = [Touched::default(); 2];
    let size = t.dst.size() as usize;
    for block in 0..t.blocks {
        for i in block * t.rows..(block + 1) * t.rows {
            for j in 0..t.cols {
                let (s, d) = (at(&t.src, i, j), at(&t.dst, i, j));
                sides[0].reads.add(t.src.memory, s, size);
                sides[1].writes.add(t.dst.memory, d, size);
                let x = get(&m.memory, &t.src, s);
                let y = if t.updates {
                    sides[1].reads.add(t.dst.memory, d, size);
                    get(&m.memory, &t.dst, d).wrapping_mul(3).wrapping_add(x)
                } else {
                    x.wrapping_mul(3)
                };
                let r = y.wrapping_add(t.addend).to_le_bytes();
                m.memory[t.dst.memory][d..d + size].copy_from_slice(&r[..size]);
            }
        }
    }
    let join = |list: &[&Touched]| {
        let mut all = Touched::default();
        for side in list {
            let pairs = [(&mut all.reads, &side.reads), (&mut all.writes, &side.writes)];
            for (to, from) in pairs {
                to.0.as_flattened_mut().iter_mut().zip(from.0.as_flattened()).for_each(|(a, b)| *a |= b);
            }
        }
        all
    };
    let views = [&t.src, &t.dst];
    let left_to_runtime = |k: usize| !t.manual && !t.no_dep[k] && !manual_dep[views[k].memory];
    let tracked: Vec<&Touched> = (0..2).filter(|&k| left_to_runtime(k)).map(|k| &sides[k]).collect();
    let ran = Ran { all: join(&[&sides[0], &sides[1]]), tracked: join(&tracked) };
    let named = t.deps.iter().flat_map(|&d| &ids[d]).map(|&from| (from, task));
    m.explicit.extend(named.clone());
    m.upstream.extend(named);
    m.waited.extend(waited.iter().map(|&from| (from, task)));
    // By tags: (argument, looked up, entered).
    let tags = [(0, true, false), (1, t.updates, true)];
    for (k, looks, _) in tags {
        if looks && left_to_runtime(k) {
            map.retain(|entry| {
                let (hit, covers) =
                    if entry.view.memory == views[k].memory { overlap(views[k], &entry.view) } else { (false, false) };
                if hit {
                    m.upstream.insert((entry.task, task));
                }
                !(covers && k == 1)
            });
        }
    }
    if left_to_runtime(1) {
        map.push(Modified { view: t.dst.clone(), task });
    }
    m.ran.push(ran);
    task
}

impl Meaning {
    fn pairs(&self, pick: impl Fn(&Ran) -> &Touched) -> BTreeSet<(u32, u32)> {
        let mut out = BTreeSet::new();
        for (b, second) in self.ran.iter().enumerate() {
            for (a, first) in self.ran[..b].iter().enumerate() {
                if pick(first).conflicts(pick(second)) {
                    out.insert((a as u32, b as u32));
                }
            }
        }
        out
    }

    pub(crate) fn conflicts(&self) -> BTreeSet<(u32, u32)> {
        self.pairs(|r| &r.all)
    }

    /// Among what the program left to the runtime.
    pub(crate) fn tracked_conflicts(&self) -> BTreeSet<(u32, u32)> {
        self.pairs(|r| &r.tracked)
    }

    /// Pairs of `wanted` that no path of `edges` orders.
    pub(crate) fn unordered(
        &self,
        wanted: &BTreeSet<(u32, u32)>,
        edges: &[&BTreeSet<(u32, u32)>],
    ) -> BTreeSet<(u32, u32)> {
        let n = self.ran.len();
        let mut reach = vec![vec![false; n]; n];
        for to in 0..n {
            for list in edges {
                for &(from, _) in list.iter().filter(|e| e.1 as usize == to) {
                    let (earlier, rest) = reach.split_at_mut(to);
                    rest[0][from as usize] = true;
                    rest[0].iter_mut().zip(&earlier[from as usize]).for_each(|(r, b)| *r |= b);
                }
            }
        }
        wanted.iter().copied().filter(|&(a, b)| !reach[b as usize][a as usize]).collect()
    }
}
