//! What faults need to know of a kernel: its operations by kind, and by which allocation a tile is.

use ir::info::{Form, Kind};
use ir::{Function, Op, Opcode as C, Value};

/// Whether an operation only names a value: it may stand anywhere between its operands and its uses.
pub(super) fn is_name(func: &Function, op: Op) -> bool {
    let data = &func.ops[op];
    let makes = matches!(data.opcode.info().form, Form::Results(_)) && !data.results.is_empty();
    let memory = matches!(data.opcode, C::LoadScalar | C::TGetVal | C::ArrayGet | C::StructGet | C::EventIdsGet);
    let loud = data.opcode.name().starts_with("tpop") || data.opcode.name().starts_with("comm.");
    makes && data.dests.is_empty() && data.regions.is_empty() && !memory && !loud && data.opcode != C::Call
}

/// Whether an operation works on the contents of tiles.
pub(super) fn works(func: &Function, op: Op) -> bool {
    let data = &func.ops[op];
    let tile = |v: &Value| func.ty(*v).as_tile().is_some();
    !is_name(func, op)
        && data.regions.is_empty()
        && !data.opcode.is_terminator()
        && (data.operands.iter().any(tile) || data.dests.iter().any(tile))
}

/// The tiles that an operation takes, scratch aside, and those that it makes or changes.
pub(super) fn tiles(func: &Function, op: Op) -> (Vec<Value>, Vec<Value>) {
    let data = &func.ops[op];
    let tile = |v: &Value| func.ty(*v).as_tile().is_some();
    let scratch = scratch(func, op);
    let takes = data.operands.iter().copied().filter(|v| tile(v) && !scratch.contains(v)).collect();
    (takes, data.dests.iter().copied().filter(tile).collect())
}

/// The scratch operands of an operation.
pub(super) fn scratch(func: &Function, op: Op) -> Vec<Value> {
    let data = &func.ops[op];
    let groups = data.opcode.info().operands.iter();
    let named = groups.filter(|o| o.name.starts_with("tmp") && matches!(o.kind, Kind::Tile | Kind::Any));
    named.flat_map(|o| data.named(o.name).iter().copied()).collect()
}

/// The `alloc_tile` that a tile is, or is a view of.
pub(super) fn root(func: &Function, tile: Value) -> Option<Op> {
    let mut value = tile;
    loop {
        let op = func.def_op(value)?;
        let data = &func.ops[op];
        match data.opcode {
            C::AllocTile => return Some(op),
            C::Subview | C::TReshape | C::Bitcast => value = *data.operands.first()?,
            _ => return None,
        }
    }
}

/// Where an `alloc_tile` lies, if that is a literal.
pub(super) fn address(func: &Function, alloc: Op) -> Option<i64> {
    func.const_int(*func.ops[alloc].named("addr").first()?)
}

/// Its place among the operations of its block.
pub(super) fn position(func: &Function, op: Op) -> usize {
    let ops = &func.blocks[func.ops[op].block].ops;
    ops.iter().position(|&o| o == op).unwrap_or(ops.len())
}

/// The operations behind one, in its block.
pub(super) fn behind(func: &Function, op: Op) -> &[Op] {
    func.blocks[func.ops[op].block].ops.get(position(func, op) + 1..).unwrap_or(&[])
}
