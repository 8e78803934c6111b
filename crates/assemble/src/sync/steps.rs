//! What is ordered: the instructions of a function in program order, and which pairs of them need it.
//!
//! A *step* is one instruction, or a fused group: what works as one. A *hazard* is a pair of steps of which one writes
//! bytes that the other touches, on two pipes, or on one pipe whose instructions may overlap. Steps without hazards are
//! left out.

use std::collections::BTreeMap;

use chip::{Arch, Space};
use ir::info::Pipe;
use ir::{Block, Function, Op, Opcode as C, Program};

use super::bits::Bits;
use crate::bytes::{Bytes, Footprint, Memory, Place, Touch};

/// The pipes, numbered; the numbers index observers ([`super::known`]).
pub(super) const PIPES: [Pipe; 7] =
    [Pipe::Scalar, Pipe::Vector, Pipe::Matrix, Pipe::Mte1, Pipe::Mte2, Pipe::Mte3, Pipe::Fix];
/// Their names as flags and barriers spell them.
pub(super) const NAMES: [&str; 7] = ["PIPE_S", "PIPE_V", "PIPE_M", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_FIX"];
pub(super) const SCALAR: usize = 0;
pub(super) const VECTOR: usize = 1;
/// In place of a pipe: an instruction of several pipes, or one that everything before must have ended for. Only a barrier
/// of all pipes orders it.
pub(super) const ALL: usize = 7;

#[derive(Debug)]
pub(super) struct Step {
    /// One, or the members of a fused group in order.
    pub(super) ops: Vec<Op>,
    /// Number of its pipe, or [`ALL`].
    pub(super) pipe: usize,
    pub(super) places: Vec<(Place, bool)>,
    /// Everything before must have ended.
    drains: bool,
    /// The section that it is in: those of different cores never meet.
    section: Option<Op>,
}

/// Every instruction of the function, in program order.
pub(super) fn steps(program: &Program, func: &Function, bytes: &Bytes) -> Vec<Step> {
    let mut steps = Vec::new();
    collect(&Source { program, func, bytes }, func.body, None, &mut steps);
    steps
}

struct Source<'a> {
    program: &'a Program,
    func: &'a Function,
    bytes: &'a Bytes,
}

fn collect(source: &Source<'_>, block: Block, section: Option<Op>, steps: &mut Vec<Step>) {
    let func = source.func;
    // The group that the last step of this block is, while nothing else came in between.
    let mut open = None;
    for &op in &func.blocks[block].ops {
        let data = &func.ops[op];
        let within = if data.opcode == C::Section { Some(op) } else { section };
        if !data.regions.is_empty() {
            open = None;
        }
        for &region in &data.regions {
            collect(source, region, within, steps);
        }
        let touch = source.bytes.of(op);
        let Some((pipe, drains)) = who(source, op, touch) else {
            if touch.fence {
                open = None;
            }
            continue;
        };
        let group = data.attrs.int("pto.fusion.group_id").filter(|_| pipe == VECTOR);
        let places = touch.reads.iter().map(|&p| (p, false)).chain(touch.changed().map(|&p| (p, true)));
        match steps.last_mut() {
            Some(last) if group.is_some() && open == group => {
                last.ops.push(op);
                last.places.extend(places);
            }
            _ => steps.push(Step { ops: vec![op], pipe, places: places.collect(), drains, section }),
        }
        open = group;
    }
}

/// The pipe of an operation, and whether it waits for everything; `None` for what is no instruction.
fn who(source: &Source<'_>, op: Op, touch: &Touch) -> Option<(usize, bool)> {
    match source.func.ops[op].opcode {
        C::Barrier | C::FenceBarrierAll => None,
        C::SyncAll | C::SyncAllSoft | C::TSync => Some((ALL, true)),
        C::CommTWait | C::CommTTest | C::TPrint => Some((SCALAR, false)),
        C::Call => match runs_scalar_code_only(source.program, source.func, op) {
            true => Some((SCALAR, false)),
            false => Some((ALL, true)),
        },
        opcode if opcode.name().starts_with("comm.") => Some((ALL, true)),
        C::TPrefetchAsync => Some((ALL, true)),
        // The scalar unit reads the indices, a transfer brings the rows.
        C::MGather if source.program.arch == Arch::A2a3 && fills_vec(source.func, op) => Some((ALL, false)),
        _ => {
            let pipe = PIPES.iter().position(|&p| p == touch.pipe)?;
            touch.places().next().is_some().then_some((pipe, false))
        }
    }
}

fn fills_vec(func: &Function, op: Op) -> bool {
    func.ops[op].dest().and_then(|d| func.ty(d).as_tile()).is_some_and(|t| t.space == Some(Space::Vec))
}

/// Whether the function that is called, which has to be there, leaves the pipes alone.
fn runs_scalar_code_only(program: &Program, func: &Function, call: Op) -> bool {
    let callee = func.ops[call].attrs.symbols("callee").and_then(|names| program.function(names.first()?));
    let Some(callee) = callee.map(|id| &program.functions[id]) else { return false };
    let scalar = |op: &Op| {
        let data = &callee.ops[*op];
        let info = data.opcode.info();
        matches!(info.pipe, Pipe::None | Pipe::Scalar)
            && !matches!(data.opcode, C::Call | C::SyncAll | C::SyncAllSoft | C::TSync)
            && !info.name.starts_with("comm.")
    };
    !callee.blocks[callee.body].ops.is_empty() && callee.walk().iter().all(scalar)
}

/// Which of two steps on one memory must not overlap in time unless something orders them.
pub(super) fn ordered_by_nothing(arch: Arch, a: usize, b: usize) -> bool {
    a != b || !(a == SCALAR || a == VECTOR && arch == Arch::A5)
}

/// The pairs of steps whose order matters and nothing gives, the earlier first; a step may be in a pair with itself, for
/// the turns of a loop.
pub(super) fn hazards(arch: Arch, steps: &[Step]) -> Vec<(usize, usize)> {
    let mut memories: BTreeMap<Memory, Vec<(usize, &Place, bool)>> = BTreeMap::new();
    for (i, step) in steps.iter().enumerate() {
        for (place, write) in &step.places {
            memories.entry(place.memory).or_default().push((i, place, *write));
        }
    }
    let mut found = Vec::new();
    let mut meet = |(i, a, write): (usize, &Place, bool), (j, b, changes): (usize, &Place, bool)| {
        let (x, y) = (&steps[i], &steps[j]);
        let apart = x.section != y.section && x.section.is_some() && y.section.is_some();
        if (write || changes) && ordered_by_nothing(arch, x.pipe, y.pipe) && !apart && a.overlaps(b) {
            found.push((i.min(j), i.max(j)));
        }
    };
    let by_pipe = |list: &[(usize, &'_ Place, bool)]| {
        let mut pipes: [Vec<usize>; 8] = Default::default();
        list.iter().enumerate().for_each(|(n, &(i, ..))| pipes[steps[i].pipe].push(n));
        pipes
    };
    for (memory, list) in &mut memories {
        if !memory.is_global() {
            sweep(list, &mut meet);
            continue;
        }
        let pipes = by_pipe(list);
        for p in 0..8 {
            for q in p..8 {
                // Scalar code alone may have thousands.
                if !ordered_by_nothing(arch, p, q) {
                    continue;
                }
                for (n, &x) in pipes[p].iter().enumerate() {
                    let others = if p == q { &pipes[q][n..] } else { &pipes[q][..] };
                    others.iter().for_each(|&y| meet(list[x], list[y]));
                }
            }
        }
    }
    if let Some(list) = memories.get(&Memory::Anywhere) {
        for (_, others) in memories.iter().filter(|(m, _)| m.is_global() && **m != Memory::Anywhere) {
            list.iter().for_each(|&x| others.iter().for_each(|&y| meet(x, y)));
        }
    }
    for (j, step) in steps.iter().enumerate().filter(|(_, s)| s.drains) {
        let others = steps.iter().enumerate().filter(|(_, s)| !(s.drains && s.places.is_empty()));
        let apart = |s: &Step| s.section != step.section && s.section.is_some() && step.section.is_some();
        found.extend(others.filter(|(_, s)| !apart(s)).map(|(i, _)| (i.min(j), i.max(j))));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Meets every two accesses whose hulls overlap, by ascending start.
fn sweep<'p>(
    list: &mut [(usize, &'p Place, bool)],
    meet: &mut impl FnMut((usize, &'p Place, bool), (usize, &'p Place, bool)),
) {
    let hull = |place: &Place| match place.bytes {
        Footprint::Box(b) => (b.start, b.end()),
        Footprint::Any => (0, u64::MAX),
    };
    list.sort_unstable_by_key(|&(step, place, write)| (hull(place), step, write));
    for (n, &x) in list.iter().enumerate() {
        let end = hull(x.1).1;
        list[n..].iter().take_while(|y| hull(y.1).0 < end).for_each(|&y| meet(x, y));
    }
}

/// The steps that are in some hazard, renumbered, with the steps that each must not overlap.
#[derive(Debug)]
pub(super) struct Hazards {
    pub(super) steps: Vec<Step>,
    pub(super) with: Vec<Bits>,
}

impl Hazards {
    pub(super) fn new(steps: Vec<Step>, pairs: &[(usize, usize)]) -> Hazards {
        let mut number = vec![usize::MAX; steps.len()];
        for &(a, b) in pairs {
            (number[a], number[b]) = (0, 0);
        }
        let mut count = 0;
        for n in number.iter_mut().filter(|n| **n == 0) {
            *n = count;
            count += 1;
        }
        let mut with = vec![Bits::new(count); count];
        for &(a, b) in pairs {
            with[number[a]].insert(number[b]);
            with[number[b]].insert(number[a]);
        }
        let steps = steps.into_iter().zip(number).filter(|(_, n)| *n != usize::MAX).map(|(s, _)| s).collect();
        Hazards { steps, with }
    }
}
