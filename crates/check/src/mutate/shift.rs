//! By how much an offset can be wrong.

use ir::{Function, Op, Opcode, Type, Value};

use super::edit::{operand, operands, tile};

/// The shifts of an offset operand that are worth making: the smallest one, and a whole neighbour, either way, as far as they
/// stay inside. None if the offset is known and every shift would leave what it is an offset into: that stops every
/// executor, and shows nothing.
pub(super) fn deltas(func: &Function, op: Op, at: u32) -> Vec<i64> {
    let old = func.const_int(func.ops[op].operands[at as usize]);
    let (step, room) = room(func, op, at);
    let mut deltas = vec![step, -step];
    if let Some((extent, _)) = room
        && extent != step
    {
        deltas.extend([extent, -extent]);
    }
    deltas.retain(|d| match (old, room) {
        (Some(o), Some((extent, of))) => o + d >= 0 && o + d + extent <= of,
        (Some(o), None) => o + d >= 0,
        // Known at run time only; a window of the whole has nowhere to go all the same.
        (None, Some((extent, of))) => extent < of,
        (None, None) => true,
    });
    deltas
}

/// The smallest sensible shift of an offset operand, and the extents of what is accessed and of what it lies in.
fn room(func: &Function, op: Op, at: u32) -> (i64, Option<(i64, i64)>) {
    let data = &func.ops[op];
    match data.opcode {
        Opcode::PartitionView => {
            let axis = at - operands(data, "offsets").start;
            let size = func.const_int(data.operands[(operands(data, "sizes").start + axis) as usize]);
            let of = match func.ty(data.operands[0]) {
                Type::View(t) => t.shape.get(axis as usize).and_then(|d| d.known()),
                _ => None,
            };
            (1, size.zip(of.and_then(|n| i64::try_from(n).ok())))
        }
        Opcode::TExtract | Opcode::TInsert | Opcode::Subview | Opcode::TGetVal | Opcode::TSetVal => {
            let axis = usize::from(Some(at) != operand(data, "row"));
            let (inner, outer): (Option<Value>, Option<Value>) = match data.opcode {
                Opcode::TExtract => (data.dest(), Some(data.operands[0])),
                Opcode::TInsert => (Some(data.operands[0]), data.dest()),
                Opcode::Subview => (data.result(), Some(data.operands[0])),
                Opcode::TGetVal => (None, Some(data.operands[0])),
                _ => (None, data.dest()),
            };
            let ty = |v: Option<Value>| v.and_then(|v| tile(func, v));
            let extent = |v| ty(v).map(|t| t.shape[axis] as i64);
            let boxed = |v| ty(v).is_some_and(|t| t.layout.slayout.is_some());
            // Whole boxes, whichever way they lie.
            let step = match boxed(outer) || boxed(inner) {
                true if ty(outer).is_some_and(|t| t.dtype.size() == 1) => 32,
                true => 16,
                false => 1,
            };
            (step, extent(outer).map(|of| (extent(inner).unwrap_or(1), of)))
        }
        _ => (1, None),
    }
}
