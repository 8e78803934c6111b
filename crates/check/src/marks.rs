//! Judges what fusion says of operations: its groups, and which operands are read for the last time.
//!
//! * `order-group`: the members of a group follow each other in one block, in the order that they claim; between them
//!   stands nothing that touches memory or has effects.
//! * `order-last-use`: an operand so marked is never read again before all its bytes are overwritten: on no path, around no
//!   back edge, and through no other tile on the same bytes. Who fuses may then leave it in registers.

use std::collections::BTreeMap;

use ir::info::{GROUP_ID, GROUP_ORDER, LAST_USE};
use ir::{Block, Function, Op, Opcode as C, Type, Value};

use crate::access::FunctionAccesses;
use crate::reach::{Reach, is_effect};
use crate::verdict::{Bytes, Finding, Site, memory_name, on_line};

pub(crate) fn marks(func: &Function, accesses: &FunctionAccesses, reach: &Reach) -> Vec<Finding> {
    let marked = |name: &str| accesses.ops.iter().any(|o| func.ops[o.op].attrs.get(name).is_some());
    let mut out = Vec::new();
    if marked(GROUP_ID) || marked(GROUP_ORDER) {
        groups(func, accesses, reach, &mut out);
    }
    if marked(LAST_USE) {
        let mut liveness = Liveness { func, reach, live: vec![None; reach.cells()], out: &mut out };
        liveness.block(func.body, true);
        out.sort_by_key(|f| reach.position(f.first.op));
    }
    out
}

fn groups(func: &Function, accesses: &FunctionAccesses, reach: &Reach, out: &mut Vec<Finding>) {
    // Per group: its block, its last member, and the place that one claims.
    let mut seen: BTreeMap<i64, (Block, Op, i64)> = BTreeMap::new();
    for o in &accesses.ops {
        let data = &func.ops[o.op];
        let Some(group) = data.attrs.int(GROUP_ID) else { continue };
        let claimed = data.attrs.int(GROUP_ORDER);
        let mut wrong = |message: String, second: Option<(Op, &str)>| {
            out.push(Finding {
                rule: "order-group",
                message,
                first: Site::new(func, o.op, "is a member"),
                second: second.map(|(op, role)| Site::new(func, op, role)),
                bytes: None,
                help: None,
            });
        };
        let name = data.opcode.name();
        let place = match seen.get(&group) {
            None => 0,
            Some(&(block, last, place)) => {
                if block != data.block {
                    wrong(
                        format!("fusion group {group} has members in two blocks"),
                        Some((last, "is in another block")),
                    );
                } else if let Some(between) = between(func, accesses, reach, last, o.op) {
                    let other = &func.ops[between];
                    let message = format!(
                        "`{}`{} stands between members of fusion group {group}",
                        other.opcode.name(),
                        on_line(func, between)
                    );
                    wrong(message, Some((between, "is not a member")));
                }
                place + 1
            }
        };
        if claimed != Some(place) {
            let claim = claimed.map_or("no place".to_owned(), |c| format!("place {c}"));
            wrong(format!("`{name}` claims {claim} in fusion group {group}, and has place {place}"), None);
        }
        seen.insert(group, (data.block, o.op, place));
    }
}

/// An operation between two of a block that does something.
fn between(func: &Function, accesses: &FunctionAccesses, reach: &Reach, first: Op, second: Op) -> Option<Op> {
    let (from, to) = (reach.position(first) as usize, reach.position(second) as usize);
    let inner = accesses.ops.get(from + 1..to)?;
    let does = |op: Op| is_effect(&func.ops[op]) || !func.ops[op].regions.is_empty();
    inner.iter().find(|o| !o.accesses.is_empty() || does(o.op)).map(|o| o.op)
}

/// Per cell, walking backwards: an operation that reads it next, on some path, before it is overwritten.
struct Liveness<'a> {
    func: &'a Function,
    reach: &'a Reach<'a>,
    live: Vec<Option<Op>>,
    out: &'a mut Vec<Finding>,
}

impl Liveness<'_> {
    fn block(&mut self, block: Block, report: bool) {
        let func = self.func;
        for &op in func.blocks[block].ops.iter().rev() {
            let data = &func.ops[op];
            match data.opcode {
                C::If => {
                    let after = self.live.clone();
                    let mut joined: Vec<Option<Op>> = vec![None; after.len()];
                    for &region in &data.regions {
                        self.live.clone_from(&after);
                        self.block(region, report);
                        join(&mut joined, &self.live);
                    }
                    self.live = joined;
                }
                C::For | C::While => {
                    // What is read after the loop, and what a turn reads first, is live at the end of a turn.
                    let after = self.live.clone();
                    for round in 0.. {
                        let head = self.live.clone();
                        self.turn(data.opcode, &data.regions, &after, false);
                        let mut next = after.clone();
                        join(&mut next, &self.live);
                        let grown = next.iter().zip(&head).any(|(n, h)| n.is_some() && h.is_none());
                        join(&mut next, &head);
                        self.live = next;
                        if !grown && round > 0 {
                            break;
                        }
                    }
                    if report {
                        self.turn(data.opcode, &data.regions, &after, true);
                        join(&mut self.live, &after);
                    }
                }
                _ if !data.regions.is_empty() => {
                    for &region in data.regions.iter().rev() {
                        self.block(region, report);
                    }
                }
                _ => self.op(op, report),
            }
        }
    }

    /// One turn, backwards from the live cells at its end.
    fn turn(&mut self, opcode: C, regions: &[Block], after: &[Option<Op>], report: bool) {
        let [first, rest @ ..] = regions else { return };
        for &region in rest.iter().rev() {
            self.block(region, report);
        }
        if opcode == C::While {
            // The first region goes on to the second, or out.
            join(&mut self.live, after);
        }
        self.block(*first, report);
    }

    fn op(&mut self, op: Op, report: bool) {
        if report && let Some(marks) = self.func.ops[op].attrs.ints(LAST_USE) {
            self.judge(op, marks);
        }
        for cell in self.reach.overwritten(op) {
            self.live[cell as usize] = None;
        }
        for (_, cell) in self.reach.read(op) {
            self.live[cell as usize] = Some(op);
        }
    }

    fn judge(&mut self, op: Op, marks: &[i64]) {
        let func = self.func;
        let data = &func.ops[op];
        let tiles = |values: &[Value]| -> Vec<Value> {
            values.iter().copied().filter(|&v| matches!(func.ty(v), Type::Tile(_))).collect()
        };
        let (ins, outs) = (tiles(&data.operands), tiles(&data.dests));
        let name = data.opcode.name();
        let wrong = |message: String, second: Option<Site>, bytes: Option<Bytes>| Finding {
            rule: "order-last-use",
            message,
            first: Site::new(func, op, "says that it reads them last"),
            second,
            bytes,
            help: None,
        };
        if marks.len() != ins.len() + outs.len() {
            let message = format!(
                "`{name}` marks {} tiles, and has {} operands and {} results",
                marks.len(),
                ins.len(),
                outs.len()
            );
            self.out.push(wrong(message, None, None));
            return;
        }
        if marks[ins.len()..].iter().any(|&m| m != 0) {
            self.out.push(wrong(format!("`{name}` marks a tile that it writes as read for the last time"), None, None));
        }
        let overwritten = self.reach.overwritten(op);
        for (&tile, _) in ins.iter().zip(marks).filter(|(_, m)| **m != 0) {
            for (value, cell) in self.reach.read(op) {
                if value != Some(tile) || overwritten.contains(&cell) {
                    continue;
                }
                if let Some(later) = self.live[cell as usize] {
                    let (memory, range) = self.reach.place(cell);
                    let bytes = Bytes { memory: memory_name(func, memory), range };
                    let message = format!(
                        "`{name}`{} is marked as the last use of bytes that `{}`{} still reads",
                        on_line(func, op),
                        func.ops[later].opcode.name(),
                        on_line(func, later)
                    );
                    let second = Site::new(func, later, "reads them afterwards");
                    self.out.push(wrong(message, Some(second), Some(bytes)));
                    break;
                }
            }
        }
    }
}

fn join(into: &mut [Option<Op>], from: &[Option<Op>]) {
    for (i, f) in into.iter_mut().zip(from) {
        *i = i.or(*f);
    }
}
