//! Where each fault can be made.

use ir::info::LAST_USE;
use ir::{FuncId, Function, FunctionKind, Op, Opcode as C, Program, Value};

use super::flags::{guard, key, release, wait_for};
use super::kernel::{address, behind, is_name, position, root, scratch, tiles, works};
use super::moves::{marks, needed, writer};
use super::{Fault, Site};
use crate::mutate::edit::operand;
use crate::mutate::live::{Range, ranges};

/// How many partners of one kind one operation has: more say the same again, and there are quadratically many.
const PARTNERS: usize = 3;
/// How far behind an operation its partner stands, in operations on tiles.
const REACH: usize = 24;

/// Every site of a program's kernels: function by function, operation by operation in program order, in the order of
/// [`Fault::ALL`].
pub fn sites(program: &Program) -> Vec<Site> {
    let mut out = Vec::new();
    for (id, func) in program.functions.iter() {
        if func.kind == FunctionKind::Orchestration {
            continue;
        }
        let from = out.len();
        let walk = func.walk();
        let mut finder = Finder { func, id, out: &mut out };
        for &op in &walk {
            finder.schedule(op);
            finder.sync(op);
        }
        finder.place(&walk);
        let mut place = vec![0; func.ops.len()];
        walk.iter().enumerate().for_each(|(i, &op)| place[ir::Entity::index(op)] = i);
        out[from..].sort_by_key(|s| (place[ir::Entity::index(s.op)], s.fault, s.operand, s.other));
    }
    out
}

struct Finder<'a> {
    func: &'a Function,
    id: FuncId,
    out: &'a mut Vec<Site>,
}

impl Finder<'_> {
    fn found(&mut self, fault: Fault, op: Op, other: Option<Op>, operand: u32) {
        self.out.push(Site { fault, function: self.id, op, other, operand });
    }

    fn schedule(&mut self, op: Op) {
        let func = self.func;
        let data = &func.ops[op];
        if data.opcode == C::Subview {
            for group in ["row", "col"] {
                if let Some(at) = operand(data, group)
                    && func.const_int(data.operands[at as usize]) != Some(0)
                {
                    self.found(Fault::DroppedOffset, op, None, at);
                }
            }
        }
        if !works(func, op) {
            return;
        }
        let store = matches!(data.opcode, C::TStore | C::MScatter);
        if store || (!data.dests.is_empty() && data.results.is_empty()) {
            self.found(if store { Fault::DroppedStore } else { Fault::DroppedOperation }, op, None, 0);
        }
        if data.attrs.get(LAST_USE).is_some() {
            let takes = data.operands.iter().filter(|&&v| func.ty(v).as_tile().is_some()).count();
            for (i, _) in marks(func, op).iter().enumerate().take(takes).filter(|(_, m)| **m == 0) {
                self.found(Fault::EarlyLastUse, op, None, i as u32);
            }
        }
        // Its producers: moved to it, or behind it.
        let mut producers: Vec<Op> = tiles(func, op).0.into_iter().filter_map(|v| writer(func, op, v)).collect();
        producers.dedup();
        for producer in producers {
            self.found(Fault::SunkProducer, producer, Some(op), 0);
            let (from, to) = (position(func, producer), position(func, op));
            let between = &func.blocks[data.block].ops[from + 1..to];
            if between.iter().any(|&o| works(func, o)) {
                self.found(Fault::PrefixJump, producer, Some(op), 0);
            }
        }
        self.reorderings(op);
    }

    /// Operations behind `op` that may change places with it.
    fn reorderings(&mut self, op: Op) {
        let func = self.func;
        let all = |op: Op| {
            let (takes, makes) = tiles(func, op);
            let roots = |list: &[Value]| list.iter().filter_map(|&v| root(func, v)).collect::<Vec<_>>();
            (roots(&takes), roots(&makes))
        };
        let place = |alloc: Op| {
            let space = func.ops[alloc].result().and_then(|v| func.ty(v).as_tile()).and_then(|t| t.space);
            address(func, alloc).map(|at| (space, at))
        };
        let (takes, makes) = all(op);
        let own: Vec<Op> = takes.iter().chain(&makes).copied().collect();
        let mut aliases = 0;
        let others = behind(func, op).iter().copied().take_while(|&o| func.ops[o].regions.is_empty());
        let others = others.filter(|&o| !is_name(func, o) && !func.ops[o].opcode.is_terminator());
        for (distance, other) in others.take(REACH).enumerate() {
            if needed(func, other, op).is_none() {
                continue;
            }
            if distance == 0 {
                self.found(Fault::SwappedNeighbours, other, Some(op), 0);
            }
            if !works(func, other) || aliases == PARTNERS {
                continue;
            }
            let (theirs, made) = all(other);
            let names: Vec<Op> = theirs.iter().chain(&made).copied().collect();
            if names.iter().any(|n| own.contains(n)) {
                continue;
            }
            let meets =
                |a: &[Op], b: &[Op]| a.iter().any(|&x| b.iter().any(|&y| place(x).is_some() && place(x) == place(y)));
            if meets(&makes, &names) || meets(&own, &made) {
                self.found(Fault::AliasReordered, other, Some(op), 0);
                aliases += 1;
            }
        }
    }

    fn place(&mut self, walk: &[Op]) {
        let func = self.func;
        let space = |alloc: Op| func.ops[alloc].result().and_then(|v| func.ty(v).as_tile()).and_then(|t| t.space);
        let placed = |alloc: &Op| address(func, *alloc).is_some() && space(*alloc).is_some();
        for &op in walk {
            if func.ops[op].opcode == C::AllocTile && placed(&op) {
                self.found(Fault::WrongAddress, op, None, 0);
                self.found(Fault::ShiftedAddress, op, None, 0);
            }
            if !works(func, op) {
                continue;
            }
            let roots = |list: Vec<Value>| {
                let mut roots: Vec<Op> = list.into_iter().filter_map(|v| root(func, v)).filter(placed).collect();
                roots.dedup();
                roots
            };
            let (takes, makes) = tiles(func, op);
            let (takes, makes, scratch) = (roots(takes), roots(makes), roots(scratch(func, op)));
            let apart = |a: Op, b: Op| a != b && space(a) == space(b) && address(func, a) != address(func, b);
            for &taken in &takes {
                for &made in makes.iter().filter(|&&m| apart(m, taken)) {
                    self.found(Fault::InPlace, made, Some(taken), 0);
                }
                for &tmp in scratch.iter().filter(|&&t| apart(t, taken)) {
                    self.found(Fault::SharedScratch, tmp, Some(taken), 0);
                }
            }
            for &made in &makes {
                for &tmp in scratch.iter().filter(|&&t| apart(t, made)) {
                    self.found(Fault::SharedScratch, tmp, Some(made), 0);
                }
            }
        }
        let list = ranges(func);
        let apart = |a: &Range, b: &Range| {
            placed(&a.alloc)
                && placed(&b.alloc)
                && space(a.alloc) == space(b.alloc)
                && address(func, a.alloc) != address(func, b.alloc)
        };
        for (i, a) in list.iter().enumerate() {
            for b in list[i + 1..].iter().filter(|b| a.overlaps(b) && apart(a, b)).take(PARTNERS) {
                self.found(Fault::CoalescedTiles, b.alloc, Some(a.alloc), 0);
            }
        }
        self.phis(walk, &list, &apart);
    }

    /// Tiles that loops and branches result in: what they may be is needed until the result is used last.
    fn phis(&mut self, walk: &[Op], list: &[Range], apart: &dyn Fn(&Range, &Range) -> bool) {
        let func = self.func;
        let at = |op: Op| walk.iter().position(|&o| o == op);
        for &op in walk.iter().filter(|&&op| matches!(func.ops[op].opcode, C::For | C::If | C::While)) {
            let data = &func.ops[op];
            for (n, &result) in data.results.iter().enumerate().filter(|(_, v)| func.ty(**v).as_tile().is_some()) {
                let Some(last) = func.users(result).into_iter().filter_map(at).max() else { continue };
                // What is carried in, and what each region passes on.
                let mut sources: Vec<Value> =
                    data.operands.iter().copied().filter(|v| func.ty(*v) == func.ty(result)).collect();
                for &region in &data.regions {
                    let end = func.blocks[region].ops.last();
                    sources.extend(end.and_then(|&e| func.ops[e].operands.get(n)).copied());
                }
                let roots: Vec<Op> = sources.into_iter().filter_map(|v| root(func, v)).collect();
                let from = at(op).unwrap_or(0);
                for source in list.iter().filter(|r| roots.contains(&r.alloc)) {
                    let between =
                        |r: &&Range| r.alloc != source.alloc && r.start < last && r.end > from && apart(r, source);
                    for other in list.iter().filter(between).take(PARTNERS) {
                        self.found(Fault::LostPhi, other.alloc, Some(source.alloc), 0);
                    }
                }
            }
        }
    }

    fn sync(&mut self, op: Op) {
        let func = self.func;
        let loop_behind = || {
            let loops = behind(func, op).iter().copied();
            loops.into_iter().find(|&o| matches!(func.ops[o].opcode, C::For | C::While))
        };
        match func.ops[op].opcode {
            C::SetFlag => {
                let wait = wait_for(func, op);
                self.found(Fault::DroppedSet, op, None, 0);
                self.found(Fault::WrongPipe, op, wait, 0);
                if wait.is_some() {
                    self.found(Fault::DroppedPair, op, wait, 0);
                    self.found(Fault::WaitBeforeSet, op, wait, 0);
                }
                if guard(func, op).is_some() {
                    self.found(Fault::DroppedGuard, op, None, 0);
                }
                let [from, to, event] = key(func, op);
                let rival = |o: &Op| {
                    let [f, t, e] = key(func, *o);
                    func.ops[*o].opcode == C::SetFlag && (f, t) == (from, to) && e != event
                };
                let rivals = func.walk().into_iter().filter(rival).take(PARTNERS);
                for rival in rivals.collect::<Vec<_>>() {
                    self.found(Fault::EventCollision, op, Some(rival), 0);
                }
            }
            C::WaitFlag => {
                self.found(Fault::DroppedWait, op, None, 0);
                if let Some(into) = loop_behind() {
                    self.found(Fault::WaitInLoop, op, Some(into), 0);
                }
            }
            C::Barrier => self.found(Fault::DroppedBarrier, op, None, 0),
            C::GetBuf => {
                if let Some(release) = release(func, op) {
                    self.found(Fault::DroppedToken, op, Some(release), 0);
                }
            }
            C::RlsBuf => self.found(Fault::DroppedRelease, op, None, 0),
            _ => {}
        }
    }
}
