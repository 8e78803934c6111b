//! Fusion: vector operations that can be one loop are brought together, and marked as a group.
//!
//! Why: a vector instruction loads its tiles from the scratchpad and stores its result there. A group is one pass over
//! rows and columns with values in registers: what a member makes and only members take never goes through memory.
//!
//! 1. [`domain`]: which operations go over the same rows and columns, on every run.
//! 2. [`compute`]: which operations fuse, and how two of them may share bytes.
//! 3. [`graph`]: what must stay in order. A block is cut into stretches at fences and control flow; nothing moves from
//!    one stretch to another.
//! 4. [`group`]: groups that have an order in which they stand together, and that the machine has the registers for.
//! 5. [`schedule`]: that order.
//! 6. [`last_use`]: which operands no path reads again.
//!
//! **Why it cannot go wrong the way it did.** A scheduler that moves operations one at a time has to check each against
//! everything it passes; moving half a group along for the sake of one member, with a look at one neighbour only, put
//! producers behind their consumers; and checking by name let tiles of one address overtake each other. Here nothing is
//! moved: a stretch is put in *an order that keeps every edge* of its graph, edges are by bytes, and a group without such
//! an order is never formed. `check::order` judges the result in any case.

mod compute;
mod domain;
mod graph;
mod group;
mod last_use;
mod schedule;
mod statistics;

use std::collections::BTreeMap;

use chip::Fusion as Limits;
use control::Control;
use ir::effects::{self, Effects};
use ir::info::{GROUP_ID, GROUP_ORDER, LAST_USE, Pipe};
use ir::{Attr, Block, Entity, Function, Op, Opcode as C, Program};

use crate::bytes::Bytes;
use domain::Domains;
use graph::Graph;
pub use statistics::Statistics;

/// Longer stretches are cut: the graph is quadratic in bits.
const MAX_STRETCH: usize = 2048;

/// Groups the vector operations of all kernels, puts each group together and marks its members. With `shape_inference`
/// extents that are not constants can be known to be equal. A machine without fusion ([`chip::Chip::fusion`]) is left
/// as it is.
pub fn fuse(program: &mut Program, shape_inference: bool, control: &mut Control) -> Statistics {
    let mut all = Statistics::default();
    let arch = program.arch;
    let Some(limits) = arch.chip().fusion else { return all };
    let ids: Vec<_> = program.functions.keys().collect();
    for id in ids {
        let func = &mut program.functions[id];
        if func.kind == ir::FunctionKind::Orchestration {
            continue;
        }
        let bytes = Bytes::new(arch, func);
        let mut effects = vec![Effects::default(); func.ops.len()];
        for (op, e) in effects::of_function(func) {
            effects[op.index()] = e;
        }
        let mut groups = find(func, &bytes, &effects, shape_inference, &limits, control);
        mark(func, &bytes, &effects, &mut groups);
        func.properties.fused = true;
        all.add(statistics::of(func, &bytes, &effects, &groups));
    }
    all
}

/// The groups of a function, each of them together now.
fn find(
    func: &mut Function,
    bytes: &Bytes,
    effects: &[Effects],
    inference: bool,
    limits: &Limits,
    control: &mut Control,
) -> Vec<Vec<Op>> {
    let mut groups: Vec<Vec<Op>> = Vec::new();
    let mut orders: Vec<(Block, Vec<Op>)> = Vec::new();
    let mut domains = Domains::new(func, inference);
    for block in blocks(func) {
        let mut order: Vec<Op> = Vec::new();
        for stretch in stretches(func, block, bytes) {
            if !may_fuse(stretch, func) {
                order.extend(stretch);
                continue;
            }
            let mut graph = graph_of(func, stretch, bytes, effects, &mut domains);
            let found = group::groups(&mut graph, func, limits, control);
            // There is an order: groups were formed so. If ever there were none, nothing would have been fused.
            let Some(nodes) = schedule::schedule(&graph, &found).filter(|_| !found.is_empty()) else {
                order.extend(stretch);
                continue;
            };
            order.extend(nodes.iter().map(|&n| graph.nodes[n].op));
            groups.extend(found.iter().map(|g| g.iter().map(|&n| graph.nodes[n].op).collect()));
        }
        orders.push((block, order));
    }
    drop(domains);
    for (block, order) in orders {
        func.blocks[block].ops = order;
    }
    groups
}

/// The blocks of a function, each before those in its operations.
fn blocks(func: &Function) -> Vec<Block> {
    let regions = func.walk().into_iter().flat_map(|op| func.ops[op].regions.clone());
    std::iter::once(func.body).chain(regions).collect()
}

/// The operations of a block between its fences, and each fence by itself.
fn stretches<'f>(func: &'f Function, block: Block, bytes: &Bytes) -> Vec<&'f [Op]> {
    let ops = &func.blocks[block].ops[..];
    let pieces = ops.chunk_by(|&a, &b| !stays(func, a, bytes) && !stays(func, b, bytes));
    pieces.flat_map(|piece| piece.chunks(MAX_STRETCH)).collect()
}

/// Whether nothing may move past an operation: it orders what is around it, or what it does is not in terms of bytes.
fn stays(func: &Function, op: Op, bytes: &Bytes) -> bool {
    let data = &func.ops[op];
    let touch = bytes.of(op);
    if touch.fence || !data.regions.is_empty() || data.opcode.is_terminator() {
        return true;
    }
    let in_bytes =
        touch.pipe != Pipe::None || touch.sets_shape || matches!(data.opcode, C::LoadScalar | C::StoreScalar);
    !in_bytes && !is_value(data.opcode)
}

/// Operations that only define values, out of values.
fn is_value(opcode: C) -> bool {
    domain::is_arithmetic(opcode)
        || matches!(
            opcode,
            C::Const
                | C::AllocTile
                | C::Subview
                | C::TReshape
                | C::Bitcast
                | C::MakeTensorView
                | C::PartitionView
                | C::AddPtr
                | C::ViewDim
                | C::ViewStride
                | C::GetBlockIdx
                | C::GetBlockNum
                | C::GetSubblockIdx
                | C::GetSubblockNum
                | C::GetValidShape
                | C::TileValidRows
                | C::TileValidCols
        )
}

/// Whether there are two computations at all.
fn may_fuse(stretch: &[Op], func: &Function) -> bool {
    stretch.iter().filter(|&&op| compute::fuses(func.ops[op].opcode)).nth(1).is_some()
}

fn graph_of(func: &Function, stretch: &[Op], bytes: &Bytes, effects: &[Effects], domains: &mut Domains<'_>) -> Graph {
    let place: BTreeMap<Op, usize> = stretch.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    let node = |&op: &Op| {
        let data = &func.ops[op];
        let used = data.operands.iter().chain(&data.dests);
        let definitions = used.filter_map(|&v| place.get(&func.def_op(v)?).copied()).collect();
        let compute = compute::compute(func, op, &effects[op.index()], bytes, domains);
        (op, compute, definitions)
    };
    Graph::new(stretch.iter().map(node).collect(), bytes)
}

/// Numbers the groups as they stand, and marks their members. What was marked before is forgotten.
fn mark(func: &mut Function, bytes: &Bytes, effects: &[Effects], groups: &mut [Vec<Op>]) {
    let walk = func.walk();
    for &op in &walk {
        for name in [GROUP_ID, GROUP_ORDER, LAST_USE] {
            func.ops[op].attrs.remove(name);
        }
    }
    let place: BTreeMap<Op, usize> = walk.iter().enumerate().map(|(i, &op)| (op, i)).collect();
    groups.sort_by_key(|group| place.get(&group[0]).copied());
    let members: Vec<Op> = groups.concat();
    let bits = last_use::last_uses(func, bytes, effects, &members);
    for (id, group) in groups.iter().enumerate() {
        for (order, &op) in group.iter().enumerate() {
            let attrs = &mut func.ops[op].attrs;
            attrs.set(GROUP_ID, Attr::Int(id as i64));
            attrs.set(GROUP_ORDER, Attr::Int(order as i64));
            if let Some(bits) = bits.get(&op) {
                attrs.set(LAST_USE, Attr::Ints(bits.clone()));
            }
        }
    }
}
