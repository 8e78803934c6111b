//! Which tile values of a scope share one buffer.
//!
//! Values are immutable and buffers are not, so two values may share a buffer only if neither is written while the other
//! is still wanted. That is the classical interference of names (Chaitin): when a value is written, it interferes with
//! every value that is live after, except one it is a copy of; and with those operands of its operation that the
//! instruction must not overwrite while it reads (op table, `in_place`).
//!
//! Sharing is asked for where it saves a copy: joined names (see [`crate::phi`]), an accumulator and its sum, another
//! shape, element type or valid region of the same bytes. If the two classes do not interfere they become one, greedily in that
//! order; else the emission copies. Sums in the accumulator cannot be copied: there a refusal is an error.
//!
//! `tinsert` and `tsetval` write their target: for interference that is a write of the target that keeps it live.

use std::collections::{BTreeMap, BTreeSet};

use chip::{Arch, Space};
use diag::Diagnostic;
use ir::{Block, Def, Function, Op, Opcode, Type, Value};

use crate::captures::ops_in;
use crate::fill::Fills;
use crate::phi::{Joins, yielded};
use crate::spaces::{At, Conflict, Spaces, is_zero, tile_values};
use crate::tile::{self, Place, flat};
use crate::{Choices, Fail};

/// A class of values that share a buffer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Web(usize);

#[derive(Debug)]
pub(crate) struct Webs {
    of: BTreeMap<Value, Web>,
    members: BTreeMap<Web, BTreeSet<Value>>,
    changed: BTreeSet<Value>,
    early: BTreeSet<Web>,
    /// Values that need more of Acc at once than there is.
    pub(crate) crowd: Option<BTreeSet<Value>>,
    /// Before which operation the buffer of a web is allocated: of those with several members or a joined name.
    pub(crate) allocate: BTreeMap<Op, Vec<Web>>,
}

impl Webs {
    pub(crate) fn of(&self, value: Value) -> Web {
        self.of[&value]
    }

    pub(crate) fn members(&self, web: Web) -> &BTreeSet<Value> {
        &self.members[&web]
    }

    /// Whether the buffer exists before the operation that makes the value.
    pub(crate) fn is_early(&self, value: Value) -> bool {
        self.early.contains(&self.of[&value])
    }

    /// Whether the value is changed in place, under this name or another.
    pub(crate) fn is_changed(&self, value: Value) -> bool {
        self.members[&self.of[&value]].iter().any(|v| self.changed.contains(v))
    }

    pub(crate) fn share(&self, a: Value, b: Value) -> bool {
        self.of.get(&a) == self.of.get(&b)
    }

    fn merge(&mut self, a: Value, b: Value) {
        let (keep, gone) = (self.of[&a], self.of[&b]);
        if keep == gone {
            return;
        }
        let moved = self.members.remove(&gone).unwrap_or_default();
        for &v in &moved {
            self.of.insert(v, keep);
        }
        self.members.entry(keep).or_default().extend(moved);
    }
}

/// Why the values cannot have buffers.
pub(crate) enum Refusal {
    /// An accumulator would have to be copied; there may be a way around it.
    Copy(Conflict),
    Fail(Fail),
}

pub(crate) fn build(
    f: &Function,
    region: Block,
    joins: &Joins,
    spaces: &Spaces,
    fills: &Fills,
    arch: Arch,
    choices: &mut Choices,
) -> Result<Webs, Refusal> {
    let ops = ops_in(f, region);
    let values = tile_values(f, region, &ops);
    let changed: BTreeSet<Value> = ops.iter().flat_map(|&op| &f.ops[op].dests).copied().collect();
    let mut webs = Webs {
        of: BTreeMap::new(),
        members: BTreeMap::new(),
        changed,
        early: BTreeSet::new(),
        crowd: None,
        allocate: BTreeMap::new(),
    };
    for (i, &v) in values.iter().enumerate() {
        webs.of.insert(v, Web(i));
        webs.members.insert(Web(i), BTreeSet::from([v]));
    }
    let mut live =
        Liveness { f, spaces, fills, edges: BTreeSet::new(), doubled: BTreeSet::new(), together: BTreeSet::new() };
    live.block(region, BTreeSet::new());
    let (conflicts, doubled, together) = (live.edges, live.doubled, live.together);
    let free = |webs: &Webs, a: Value, b: Value| {
        webs.share(a, b)
            || webs
                .members(webs.of(a))
                .iter()
                .all(|&x| webs.members(webs.of(b)).iter().all(|&y| !conflicts.contains(&(x.min(y), x.max(y)))))
    };
    for &(a, b) in &joins.same {
        // A product may join other values in Vec; then the join copies.
        if spaces.home(a) == spaces.home(b) {
            webs.merge(a, b);
        }
    }
    let accumulations = ops.iter().filter(|&&op| f.ops[op].opcode == Opcode::TMatmulAcc);
    for &op in accumulations {
        let (acc, sum) = (f.ops[op].named("acc")[0], f.ops[op].results[0]);
        // A sum that starts from zeros is a product (both start from +0).
        if is_zero(f, acc) || spaces.is_pieced(sum) || spaces.is_remade(op) {
            continue;
        }
        if !free(&webs, acc, sum) {
            let what = "`matmul_acc` adds in place, but its accumulator has to be somewhere else after it";
            let values = webs.members(webs.of(acc)).clone();
            return Err(no_copy(f, op, what, At::Sum(op), values));
        }
        webs.merge(acc, sum);
    }
    for edge in &joins.edges {
        let place = spaces.home(edge.target);
        if spaces.home(edge.source) != place || webs.share(edge.target, edge.source) {
            continue;
        }
        if free(&webs, edge.target, edge.source) && (place == Place::Acc || choices.share()) {
            webs.merge(edge.target, edge.source);
        } else if place == Place::Acc && (is_zero(f, edge.source) || spaces.is_assigned(edge.target, edge.source)) {
            // Zeros and sums of known terms are made again where the join needs them.
        } else if place == Place::Acc {
            let what = "two accumulators that are both alive would have to be one here";
            let (target, source) = (edge.target, edge.source);
            let values = webs.members(webs.of(target)).union(webs.members(webs.of(source))).copied().collect();
            return Err(no_copy(f, edge.at, what, At::Join { target, source }, values));
        } else {
            // Both names are wanted afterwards, and a change of one would have to show in the other (rule 14).
            let both = doubled.contains(&(edge.target, edge.source));
            if both && (webs.is_changed(edge.target) || webs.is_changed(edge.source)) {
                return Err(Refusal::Fail(Box::new(
                    Diagnostic::unsupported(
                        "changed-join",
                        "a tile that is changed in place gets a second name here while the first is still used",
                    )
                    .at(f.ops[edge.at].span, "here")
                    .help("copy the tile first, or use one name"),
                )));
            }
        }
    }
    for &op in &ops {
        let data = &f.ops[op];
        if !renames(data.opcode) {
            continue;
        }
        let (source, result) = (data.operands[0], data.results[0]);
        let vec = spaces.home(source) == Place::Vec && spaces.home(result) == Place::Vec;
        if vec && free(&webs, source, result) && choices.share() {
            webs.merge(source, result);
        }
    }
    for web in webs.members.keys().copied().collect::<Vec<_>>() {
        let members = &webs.members[&web];
        let joined = |&v: &Value| f.def_op(v).is_none_or(|op| !f.ops[op].regions.is_empty());
        if members.len() > 1 || members.iter().any(joined) {
            let at = first_common(f, region, &webs.members[&web]);
            webs.early.insert(web);
            webs.allocate.entry(at).or_default().push(web);
        }
    }
    let capacity = arch.chip().capacity(Space::Acc).language as u64;
    // Where there are pieces, they need some of it.
    let limit = if spaces.is_crowded() { capacity - capacity / 8 } else { capacity };
    webs.crowd = together.into_iter().find(|values| {
        let of: BTreeSet<Web> = values.iter().map(|&v| webs.of(v)).collect();
        let bytes = |&web: &Web| {
            let ty = f.ty(representative(&webs, web)).as_tile();
            ty.map_or(0, |t| tile::buffer(t.dtype, t.rows(), t.cols(), Space::Acc, arch).bytes())
        };
        of.iter().map(bytes).fold(0, u64::saturating_add) > limit
    });
    Ok(webs)
}

fn no_copy(f: &Function, op: Op, what: &str, at: At, values: BTreeSet<Value>) -> Refusal {
    let fail = Diagnostic::unsupported("accumulator-copy", what)
        .at(f.ops[op].span, "here")
        .note(
            "the machine cannot copy an accumulator, and this one cannot be made again, for a loop or a branch handed it on",
        )
        .help("keep each sum under one name throughout");
    Refusal::Copy(Conflict { at, values, fail: Box::new(fail) })
}

/// The operation before which all values of a set are still undefined, in the innermost block around all of them.
fn first_common(f: &Function, region: Block, values: &BTreeSet<Value>) -> Op {
    // For each value the operations it stands in, outermost first; its own last.
    let chains: Vec<Vec<Op>> = values
        .iter()
        .map(|&v| {
            let mut op = match f.values[v].def {
                Def::Result(op, _) => op,
                Def::Arg(block, _) => f.blocks[block].parent.expect("tiles are no arguments of a scope"),
            };
            let mut chain = vec![op];
            while f.ops[op].block != region {
                op = f.blocks[f.ops[op].block].parent.expect("inside the scope");
                chain.push(op);
            }
            chain.reverse();
            chain
        })
        .collect();
    let mut depth = 0;
    loop {
        let block = f.ops[chains[0][depth]].block;
        let one = chains.iter().all(|c| c[depth] == chains[0][depth]);
        let deeper = one && chains.iter().all(|c| c.len() > depth + 1);
        let same_block = deeper && {
            let inner = f.ops[chains[0][depth + 1]].block;
            chains.iter().all(|c| f.ops[c[depth + 1]].block == inner)
        };
        if same_block {
            depth += 1;
            continue;
        }
        let here: BTreeSet<Op> = chains.iter().map(|c| c[depth]).collect();
        return *f.blocks[block].ops.iter().find(|op| here.contains(op)).expect("one of them is there");
    }
}

struct Liveness<'a> {
    f: &'a Function,
    spaces: &'a Spaces,
    fills: &'a Fills,
    edges: BTreeSet<(Value, Value)>,
    /// Joins after which the source is wanted under another name too.
    doubled: BTreeSet<(Value, Value)>,
    /// Sets of values that are in Acc at once.
    together: BTreeSet<Set>,
}

type Set = BTreeSet<Value>;

impl Liveness<'_> {
    fn is_tile(&self, v: Value) -> bool {
        matches!(self.f.ty(v), Type::Tile(_))
    }

    fn tiles(&self, list: &[Value]) -> Vec<Value> {
        list.iter().copied().filter(|&v| self.is_tile(v)).collect()
    }

    fn conflict(&mut self, a: Value, b: Value) {
        if a != b {
            self.edges.insert((a.min(b), a.max(b)));
        }
    }

    /// `target` is written while `live` are wanted; it may hold the same as `same`.
    fn write(&mut self, target: Value, live: &Set, same: Option<Value>) {
        for &other in live {
            if Some(other) != same {
                self.conflict(target, other);
            }
        }
    }

    /// Parallel assignment at a join; returns what is live before it.
    fn assign(&mut self, targets: &[Value], sources: &[Value], mut live: Set) -> Set {
        let pairs: Vec<(Value, Value)> =
            targets.iter().copied().zip(sources.iter().copied()).filter(|&(t, _)| self.is_tile(t)).collect();
        let replaced = |v: Value| pairs.iter().any(|p| p.0 == v);
        let again = |v: Value| pairs.iter().filter(|p| p.1 == v).count() > 1;
        let doubled = pairs.iter().filter(|&&(_, s)| (live.contains(&s) && !replaced(s)) || again(s));
        self.doubled.extend(doubled);
        live.extend(pairs.iter().map(|p| p.0));
        for &(target, source) in &pairs {
            if target == source {
                continue;
            }
            self.write(target, &live, Some(source));
            for &(_, other) in &pairs {
                if other != source {
                    self.conflict(target, other);
                }
            }
        }
        for (target, _) in &pairs {
            live.remove(target);
        }
        live.extend(pairs.iter().map(|p| p.1));
        live
    }

    /// The block without its terminator; `live` is what is wanted at its end.
    fn block(&mut self, block: Block, mut live: Set) -> Set {
        for &op in self.f.blocks[block].ops.iter().rev() {
            if !self.f.ops[op].opcode.is_terminator() {
                live = self.op(op, live);
            }
        }
        live
    }

    fn op(&mut self, op: Op, live: Set) -> Set {
        let f = self.f;
        let data = &f.ops[op];
        match data.opcode {
            Opcode::For => self.for_(op, live),
            Opcode::If => {
                let mut before = Set::new();
                for &branch in &data.regions {
                    let end = self.assign(&data.results, yielded(f, branch), live.clone());
                    before.extend(self.block(branch, end));
                }
                before
            }
            Opcode::While => self.while_(op, live),
            _ => self.simple(op, live),
        }
    }

    fn for_(&mut self, op: Op, mut live: Set) -> Set {
        let f = self.f;
        let data = &f.ops[op];
        let body = data.regions[0];
        let args = &f.blocks[body].args[1..];
        for r in &data.results {
            live.remove(r);
        }
        // What is wanted after the loop, or at the head by the next iteration.
        let mut head = live.clone();
        loop {
            let mut around = head.clone();
            around.extend(&live);
            let end = self.assign(args, yielded(f, body), around);
            let mut start = self.block(body, end);
            for a in args {
                start.remove(a);
            }
            start.extend(&live);
            if start == head {
                break;
            }
            head = start;
        }
        self.assign(args, data.named("init"), head)
    }

    fn while_(&mut self, op: Op, mut live: Set) -> Set {
        let f = self.f;
        let data = &f.ops[op];
        let (first, second) = (data.regions[0], data.regions[1]);
        let (args, inner) = (&f.blocks[first].args, &f.blocks[second].args);
        for r in &data.results {
            live.remove(r);
        }
        let mut head = live.clone();
        loop {
            let end = self.assign(args, yielded(f, second), head.clone());
            let mut after = self.block(second, end);
            for a in inner {
                after.remove(a);
            }
            after.extend(&live);
            // The forwarded values go to the second region's names, which are also the results.
            let test = self.assign(&data.results, yielded(f, first), after);
            let mut start = self.block(first, test);
            for a in args {
                start.remove(a);
            }
            start.extend(&live);
            if start == head {
                break;
            }
            head = start;
        }
        self.assign(args, data.named("init"), head)
    }

    fn simple(&mut self, op: Op, mut live: Set) -> Set {
        let f = self.f;
        let data = &f.ops[op];
        if self.spaces.folded.contains(&op) {
            // Its result is nowhere: stores read the accumulator themselves, products what is moved to Mat here.
            live.extend(self.spaces.reads(f, op));
            return live;
        }
        for target in self.tiles(&data.dests) {
            self.write(target, &live, None);
            live.insert(target);
        }
        let read = self.spaces.reads(f, op);
        let nowhere = |v: Value| self.spaces.is_pieced(v) && self.spaces.home(v) == Place::Acc;
        for result in self.tiles(&data.results).into_iter().filter(|&v| !nowhere(v)) {
            let copied = match data.opcode {
                opcode if renames(opcode) => data.operands.first().copied(),
                _ => None,
            };
            self.write(result, &live, copied);
            if self.spaces.home(result) == Place::Acc {
                let with = live.iter().chain([&result]).copied();
                self.together.insert(with.filter(|&v| self.spaces.home(v) == Place::Acc).collect());
            }
            live.remove(&result);
            // Zeros are written before the operation runs.
            let filled = self.fills.is_needed(result);
            let info = data.opcode.info();
            for (i, group) in info.operands.iter().enumerate() {
                let in_place = info.in_place.contains(&group.name) || copied.is_some();
                if in_place && !filled {
                    continue;
                }
                for operand in self.tiles(data.group(i)) {
                    if read.contains(&operand) {
                        self.conflict(result, operand);
                    }
                }
            }
        }
        live.extend(read);
        live
    }
}

/// Whether the operation's result is the bytes of its first operand under another descriptor.
pub(crate) fn renames(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::TReshape | Opcode::Bitcast | Opcode::SetValidShape)
}

/// The buffer of a web has the type of its first member.
pub(crate) fn representative(webs: &Webs, web: Web) -> Value {
    *webs.members(web).first().expect("a web has members")
}

/// Whether all members have one matrix shape.
pub(crate) fn one_shape(f: &Function, webs: &Webs, web: Web) -> bool {
    let shapes: BTreeSet<(u64, u64)> = webs.members(web).iter().filter_map(|&v| f.ty(v).as_tile().map(flat)).collect();
    shapes.len() == 1
}
