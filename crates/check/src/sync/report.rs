//! What is wrong, in words: each finding once, however often the walk meets it.

use std::collections::{BTreeMap, BTreeSet};

use ir::{Op, Value};

use super::model::{Action, Flag, Model, Step, Use};
use super::queue::Queue;
use crate::access::{Footprint, Memory};
use crate::{Bytes, Finding, Site};

pub(super) struct Report<'m> {
    model: &'m Model<'m>,
    /// By place of the operation that goes wrong, rule, and what else tells two of them apart.
    found: BTreeMap<(usize, &'static str, i64), Finding>,
    /// Flags and tokens that are not raised and lowered by turns: the first fault of each is told, others follow from it.
    broken: BTreeSet<Flag>,
    broken_tokens: BTreeSet<i64>,
}

pub(super) struct Hazard<'h> {
    pub step: &'h Step,
    pub used: &'h Use,
    /// What may not have ended when `step` starts.
    pub other: &'h Step,
    /// Its instance of an earlier turn of a loop.
    pub earlier_turn: bool,
}

impl<'m> Report<'m> {
    pub(super) fn new(model: &'m Model<'m>) -> Report<'m> {
        Report { model, found: BTreeMap::new(), broken: BTreeSet::new(), broken_tokens: BTreeSet::new() }
    }

    /// In program order.
    pub(super) fn findings(self) -> Vec<Finding> {
        self.found.into_values().collect()
    }

    fn name(&self, op: Op) -> &'static str {
        self.model.func.ops[op].opcode.name()
    }

    fn value(&self, value: Option<Value>) -> String {
        match value.and_then(|v| self.model.func.values[v].name.as_deref()) {
            Some(name) => format!("`%{name}`"),
            None => "memory".to_owned(),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a finding")]
    fn add(
        &mut self,
        rule: &'static str,
        which: i64,
        message: String,
        first: (Op, String),
        second: Option<(Op, String)>,
        bytes: Option<Bytes>,
        help: String,
    ) {
        let func = self.model.func;
        let key = (self.model.position(first.0), rule, which);
        self.found.entry(key).or_insert_with(|| Finding {
            rule,
            message,
            first: Site::new(func, first.0, first.1),
            second: second.map(|(op, role)| Site::new(func, op, role)),
            bytes,
            help: Some(help),
        });
    }

    pub(super) fn hazard(&mut self, h: &Hazard) {
        let (x, y) = (self.name(h.step.op), self.name(h.other.op));
        let (here, there) = (h.step.queue.name(), h.other.queue.name());
        let cells = &self.model.cells;
        let used = cells.access(h.used.cell);
        // The use of the other one that is in the way.
        let met = h.other.uses.iter().find(|u| {
            let a = cells.access(u.cell);
            (u.writes || h.used.writes) && (a.overlaps(used) || h.earlier_turn && a.overlaps_later(used))
        });
        let verb = |writes: bool| if writes { "writes" } else { "reads" };
        let met_writes = met.is_none_or(|u| u.writes);
        let bytes = met.and_then(|u| self.shared(h.used, u));
        let turn = if h.earlier_turn { " in an earlier turn of a loop" } else { "" };
        let first = format!("{} {}, on {here}", verb(h.used.writes), self.value(h.used.value));
        let second = format!("{} {}{turn}, on {there}", verb(met_writes), self.value(met.and_then(|u| u.value)));
        let what = format!("{} bytes that `{y}`{turn} {}", verb(h.used.writes), verb(met_writes));
        let (first, second) = ((h.step.op, first), Some((h.other.op, second)));
        let which = h.other.queue as i64;
        if h.step.queue == h.other.queue {
            let message = format!("`{x}` {what}, and {here} may start it before that has ended");
            let help = format!("a `barrier <{here}>` between them keeps the order");
            self.add("sync-barrier", which, message, first, second, bytes, help);
        } else {
            let message = format!("`{x}` {what}, and nothing makes {here} wait for {there}");
            let help = format!("after `{y}`: `set_flag` from {there} to {here}; before `{x}`: its `wait_flag`");
            self.add("sync-missing", which, message, first, second, bytes, help);
        }
    }

    /// The bytes of two uses that overlap, from the first to the last.
    fn shared(&self, a: &Use, b: &Use) -> Option<Bytes> {
        let (a, b) = (self.model.cells.access(a.cell), self.model.cells.access(b.cell));
        let memory = match a.memory {
            Memory::Space(space) => space.name().to_owned(),
            Memory::Root(v) | Memory::Slots(v) => self.value(Some(v)),
            // Addresses there are relative to what is not known.
            Memory::Global(_) | Memory::Valid(_) | Memory::Locals => return None,
        };
        let (Footprint::Box(a), Footprint::Box(b)) = (a.bytes, b.bytes) else { return None };
        let range = a.start.max(b.start)..a.end().min(b.end());
        (range.start < range.end).then_some(Bytes { memory, range })
    }

    /// The operation in `within` that does this.
    fn inside(&self, within: Op, wanted: impl Fn(&Action) -> bool) -> Option<Op> {
        let func = self.model.func;
        let mut pending: Vec<Op> = vec![within];
        let mut found: Vec<Op> = Vec::new();
        while let Some(op) = pending.pop() {
            if self.model.actions(op).iter().any(&wanted) {
                found.push(op);
            }
            pending.extend(func.ops[op].regions.iter().flat_map(|&r| func.blocks[r].ops.iter().copied()));
        }
        found.into_iter().min_by_key(|&op| self.model.position(op))
    }

    pub(super) fn left_raised(&mut self, flag: Flag, by: Op) {
        if !self.broken.insert(flag) {
            return;
        }
        let message = format!("flag {flag} is still raised when the function ends");
        let help = "a flag needs one `wait_flag` for every `set_flag`, on every path".to_owned();
        self.add("sync-unpaired-set", flag.event, message, (by, "raises it".into()), None, None, help);
    }

    pub(super) fn raised_on_one_path(&mut self, at: Op, flag: Flag, by: Op) {
        if !self.broken.insert(flag) {
            return;
        }
        let way = self.name(at);
        let message =
            format!("flag {flag} is raised inside `{way}` and not waited for there: on another path it is not raised");
        let help = format!("wait for it inside the `{way}`, or raise it on every path");
        let second = Some((at, "does not always come this way".into()));
        self.add("sync-unpaired-set", flag.event, message, (by, "raises it".into()), second, None, help);
    }

    pub(super) fn lowered_on_one_path(&mut self, at: Op, flag: Flag, by: Op) {
        if !self.broken.insert(flag) {
            return;
        }
        let way = self.name(at);
        let wait = self.inside(at, |a| matches!(a, Action::Wait(f) if *f == flag)).unwrap_or(at);
        let often = if self.model.func.ops[at].opcode == ir::Opcode::If { "" } else { ", or not once" };
        let message = format!(
            "`{way}` lowers flag {flag}, which is raised outside it: there are paths on which it is not lowered{often}, or lowered twice"
        );
        let help = format!("wait outside the `{way}`, or raise the flag again inside it");
        let second = Some((by, "raises it".into()));
        self.add("sync-unpaired-wait", flag.event, message, (wait, "lowers it".into()), second, None, help);
    }

    pub(super) fn raised_twice(&mut self, op: Op, flag: Flag, before: Op) {
        if !self.broken.insert(flag) {
            return;
        }
        let message = format!("flag {flag} is raised while it is raised already");
        let help = "two waits that are open at once need two events".to_owned();
        let second = Some((before, "raised it, and nothing has waited for that".into()));
        self.add("sync-id-collision", flag.event, message, (op, "raises it again".into()), second, None, help);
    }

    pub(super) fn not_raised(&mut self, op: Op, flag: Flag) {
        if !self.broken.insert(flag) {
            return;
        }
        let none = Vec::new();
        let sets = self.model.sets.get(&flag).unwrap_or(&none);
        let at = self.model.position(op);
        let (before, after): (Vec<Op>, Vec<Op>) = sets.iter().partition(|&&s| self.model.position(s) < at);
        let (first, help) = ((op, "waits for it".to_owned()), "raise it before, once for every wait".to_owned());
        match (before.last(), after.first()) {
            (None, Some(&set)) => {
                let message = format!(
                    "the first wait for flag {flag} stands before anything has raised it: {} never goes on",
                    flag.to.name()
                );
                let second = Some((set, "raises it, later".into()));
                self.add("sync-order-deadlock", flag.event, message, first, second, None, help);
            }
            (last, _) => {
                let message = format!("flag {flag} is waited for where it is not raised");
                let second = last.map(|&set| (set, "raises it, for another wait or on another path".into()));
                self.add("sync-unpaired-wait", flag.event, message, first, second, None, help);
            }
        }
    }

    pub(super) fn taken_twice(&mut self, op: Op, id: i64, holder: Queue, by: Op) {
        if !self.broken_tokens.insert(id) {
            return;
        }
        let message = format!("buffer token {id} is taken while {} holds it", holder.name());
        let help = "give it back before it is taken again, or use another token".to_owned();
        let second = Some((by, "took it".into()));
        self.add("sync-token", id, message, (op, "takes it".into()), second, None, help);
    }

    pub(super) fn not_held(&mut self, op: Op, id: i64, queue: Queue) {
        if !self.broken_tokens.insert(id) {
            return;
        }
        let message = format!("buffer token {id} is given back by {}, which does not hold it", queue.name());
        let help = "every `rls_buf` follows a `get_buf` of its pipe and token".to_owned();
        self.add("sync-token", id, message, (op, "gives it back".into()), None, None, help);
    }

    pub(super) fn kept(&mut self, id: i64, queue: Queue, by: Op) {
        if !self.broken_tokens.insert(id) {
            return;
        }
        let message = format!("{} still holds buffer token {id} when the function ends", queue.name());
        let help = "give it back with `rls_buf`".to_owned();
        self.add("sync-token", id, message, (by, "takes it".into()), None, None, help);
    }

    pub(super) fn held_on_one_path(&mut self, at: Op, id: i64, by: Op) {
        if !self.broken_tokens.insert(id) {
            return;
        }
        let way = self.name(at);
        let message = format!("whether buffer token {id} is held depends on the way through `{way}`");
        let help = format!("take it and give it back inside the `{way}`, or outside");
        let second = Some((at, "does not always come this way".into()));
        self.add("sync-token", id, message, (by, "takes it".into()), second, None, help);
    }

    pub(super) fn not_drained(&mut self, op: Op, store: &Step) {
        let (name, queue) = (self.name(store.op), store.queue.name());
        let message = format!("other blocks go on from here, and `{name}` on {queue} may not have ended");
        let help = "a `barrier <PIPE_ALL>` before it waits for all stores".to_owned();
        let second = Some((store.op, "writes global memory".into()));
        self.add("sync-drain", 0, message, (op, "tells other blocks that this one is here".into()), second, None, help);
    }
}
