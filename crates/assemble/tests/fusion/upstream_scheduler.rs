//! A model of the fusion scheduler that shipped on by default and broke models (`spec/pto-assembly.md` §4.6 and §4.7,
//! from which this is written): what our checkers have to catch. It is wrong on purpose; nothing but tests uses it.
//!
//! Two faults, both by design of the model:
//!
//! * dependences are compared by name: two tiles are the same bytes only if they are the same value;
//! * if a member cannot be brought to its group over the operation in between, all members so far are moved behind that
//!   operation, and each is checked against *it* alone, not against what else it jumps over.
//!
//! Last uses are by name too. Self-contained but for `ir`, so that tests of other crates can include it by path.

use std::collections::{BTreeMap, BTreeSet};

use ir::effects::{self, Effects, Extent};
use ir::info::{GROUP_ID, GROUP_ORDER, LAST_USE};
use ir::{Attr, Block, Function, Op, Opcode as C, Program, Value};

/// Fuses every kernel as the model does, marks included.
pub(crate) fn fuse(program: &mut Program) {
    let ids: Vec<_> = program.functions.keys().collect();
    for id in ids {
        let func = &mut program.functions[id];
        let effects: BTreeMap<Op, Effects> = effects::of_function(func).into_iter().collect();
        let regions = func.walk().into_iter().flat_map(|op| func.ops[op].regions.clone()).collect::<Vec<_>>();
        let mut next_group = 0;
        for block in std::iter::once(func.body).chain(regions) {
            let groups = plan(func, block, &effects);
            let mut order = func.blocks[block].ops.clone();
            for group in &groups {
                bring_together(func, &mut order, group);
            }
            func.blocks[block].ops = order;
            mark(func, block, &groups, &mut next_group);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Compute,
    Reshape,
    Alloc,
    Hard,
}

fn class(opcode: C) -> Class {
    match opcode {
        C::TAdd | C::TSub | C::TMul | C::TDiv | C::TMax | C::TMin => Class::Compute,
        C::TAddS | C::TSubS | C::TMulS | C::TDivS | C::TMaxS | C::TMinS => Class::Compute,
        C::TExp | C::TExpandS | C::TRowExpandSub | C::TRowExpandMul | C::TRowExpandDiv => Class::Compute,
        C::TRowSum | C::TRowMax | C::TRowMin | C::TColSum | C::TColMax | C::TColMin => Class::Compute,
        C::TReshape => Class::Reshape,
        C::AllocTile => Class::Alloc,
        _ => Class::Hard,
    }
}

/// Tiles that an operation reads and writes, by name.
fn tiles(func: &Function, op: Op) -> (BTreeSet<Value>, BTreeSet<Value>) {
    let data = &func.ops[op];
    let is_tile = |v: &Value| func.ty(*v).as_tile().is_some();
    let outs = data.dests.iter().chain(&data.results);
    (data.operands.iter().copied().filter(is_tile).collect(), outs.copied().filter(is_tile).collect())
}

/// Rows and columns: constants, or the values that say so.
fn domain(func: &Function, op: Op, effects: &Effects) -> Option<[Result<u64, Value>; 2]> {
    let reduces = func.ops[op].opcode.info().domain == ir::info::Domain::Source;
    let elements = match reduces {
        true => effects.reads.iter().find(|r| r.operand == "source")?.elements?,
        false => effects.write.as_ref()?.elements?,
    };
    let known = |e: Extent| match e {
        Extent::Static(n) => Some(Ok(n)),
        Extent::Dynamic(v) => Some(func.const_int(v).map(|n| n as u64).ok_or(v)),
        Extent::Unknown => None,
    };
    Some([known(elements.rows)?, known(elements.cols)?])
}

/// Groups of a block: members in the order of the block.
fn plan(func: &Function, block: Block, effects: &BTreeMap<Op, Effects>) -> Vec<Vec<Op>> {
    let ops = &func.blocks[block].ops;
    let place: BTreeMap<Op, usize> = ops.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    // Calls and regions cut a block; loads, stores and scalar code do not.
    let cuts: Vec<usize> =
        (0..ops.len()).filter(|&i| func.ops[ops[i]].opcode == C::Call || has_region(func, ops[i])).collect();
    let part = |op: Op| cuts.partition_point(|&c| c < place[&op]);
    let nodes: Vec<(Op, [Result<u64, Value>; 2])> = ops
        .iter()
        .filter(|&&op| class(func.ops[op].opcode) == Class::Compute)
        .filter_map(|&op| Some((op, domain(func, op, effects.get(&op)?)?)))
        .collect();
    let mut grouped = BTreeSet::new();
    let mut groups = Vec::new();
    for &(seed, domain) in &nodes {
        if grouped.contains(&seed) {
            continue;
        }
        let mut group = vec![seed];
        loop {
            let before = group.len();
            for &(node, other) in &nodes {
                let free = !grouped.contains(&node) && !group.contains(&node);
                if free && other == domain && part(node) == part(seed) && score(func, &group, node) > 0 {
                    group.push(node);
                }
            }
            if group.len() == before {
                break;
            }
        }
        if group.len() > 1 {
            group.sort_by_key(|op| place[op]);
            grouped.extend(group.iter().copied());
            groups.push(group);
        }
    }
    groups
}

fn has_region(func: &Function, op: Op) -> bool {
    !func.ops[op].regions.is_empty()
}

/// What the model thinks of a node in a group; not above 0 without a value between them.
fn score(func: &Function, group: &[Op], node: Op) -> i64 {
    let (ins, outs) = tiles(func, node);
    let mut connections = 0;
    for &member in group {
        let (mine, made) = tiles(func, member);
        connections += made.intersection(&ins).count() + outs.intersection(&mine).count();
    }
    if connections == 0 {
        return 0;
    }
    let all = group.iter().copied().chain([node]).map(|op| tiles(func, op));
    let (mut read, mut made) = (BTreeSet::new(), BTreeSet::new());
    for (r, m) in all {
        read.extend(r);
        made.extend(m);
    }
    let outside = read.difference(&made).count() as i64;
    4 * connections as i64 + 4 - (made.len() as i64 - 10).max(0) - (outside - 12).max(0)
}

/// Whether the model lets `mover` pass `other`.
fn passes(func: &Function, mover: Op, other: Op) -> bool {
    let (ins, outs) = tiles(func, mover);
    match class(func.ops[other].opcode) {
        Class::Hard => false,
        Class::Alloc => func.ops[other].results.iter().all(|r| !ins.contains(r) && !outs.contains(r)),
        Class::Compute | Class::Reshape => {
            let (theirs, made) = tiles(func, other);
            made.is_disjoint(&ins) && theirs.is_disjoint(&outs) && made.is_disjoint(&outs)
        }
    }
}

fn bring_together(func: &Function, order: &mut Vec<Op>, group: &[Op]) {
    let at = |order: &[Op], op: Op| order.iter().position(|&o| o == op).expect("it is of this block");
    let mut placement = group[0];
    for (done, &member) in group.iter().enumerate().skip(1) {
        loop {
            let (from, to) = (at(order, placement) + 1, at(order, member));
            if to < from {
                break;
            }
            if order[from..to].iter().all(|&other| passes(func, member, other)) {
                order.remove(to);
                order.insert(from, member);
                break;
            }
            // The fault: all of the prefix goes behind `next`, though each passes more than `next`.
            let next = order[from];
            if next == member || !group[..done].iter().all(|&m| passes(func, m, next)) {
                break;
            }
            order.retain(|op| !group[..done].contains(op));
            let behind = at(order, next) + 1;
            order.splice(behind..behind, group[..done].iter().copied());
        }
        placement = member;
    }
}

/// Numbers runs of members that follow each other.
fn mark(func: &mut Function, block: Block, groups: &[Vec<Op>], next_group: &mut i64) {
    let order = func.blocks[block].ops.clone();
    let group_of = |op: &Op| groups.iter().position(|g| g.contains(op));
    let mut marks = Vec::new();
    for run in order.chunk_by(|a, b| group_of(a).is_some() && group_of(a) == group_of(b)) {
        if run.len() < 2 {
            continue;
        }
        for (i, &op) in run.iter().enumerate() {
            marks.push((op, *next_group, i as i64, last_uses(func, &order, op)));
        }
        *next_group += 1;
    }
    for (op, group, order, bits) in marks {
        let attrs = &mut func.ops[op].attrs;
        attrs.set(GROUP_ID, Attr::Int(group));
        attrs.set(GROUP_ORDER, Attr::Int(order));
        attrs.set(LAST_USE, Attr::Ints(bits));
    }
}

/// 1 for an operand whose name is not used later in the block, nor in any other.
fn last_uses(func: &Function, order: &[Op], op: Op) -> Vec<i64> {
    let place = order.iter().position(|&o| o == op).unwrap_or(0);
    let data = &func.ops[op];
    let mut bits = Vec::new();
    for &value in data.operands.iter().filter(|&&v| func.ty(v).as_tile().is_some()) {
        let later = |user: &Op| order.iter().position(|o| o == user).is_none_or(|at| at > place);
        bits.push(i64::from(!func.users(value).iter().any(later)));
    }
    bits.extend(data.dests.iter().filter(|&&d| func.ty(d).as_tile().is_some()).map(|_| 0));
    bits
}
