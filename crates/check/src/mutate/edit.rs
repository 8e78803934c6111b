//! Small edits of a function.

use dtype::{DType, Scalar};
use ir::builder::{NewOp, attrs};
use ir::{Attr, Builder, Dim, Function, Op, OpData, Opcode, TileType, Type, Value};

/// Builds operations in front of another one, with its source place and, except for completing it, its origin.
pub(super) struct Before<'f> {
    pub(super) func: &'f mut Function,
    op: Op,
}

impl<'f> Before<'f> {
    pub(super) fn new(func: &'f mut Function, op: Op) -> Before<'f> {
        Before { func, op }
    }

    pub(super) fn op(&mut self, new: NewOp<'_>) -> Op {
        let (block, span, origin) = {
            let at = &self.func.ops[self.op];
            (at.block, at.span, at.origin)
        };
        let mut b = Builder::new(self.func);
        b.switch_to(block);
        b.span = span;
        b.origin = origin.map(|o| ir::Origin { completes: false, ..o });
        let made = b.op(new);
        let ops = &mut self.func.blocks[block].ops;
        ops.pop();
        let at = ops.iter().position(|&o| o == self.op).unwrap_or(ops.len());
        ops.insert(at, made);
        made
    }

    pub(super) fn value(&mut self, opcode: Opcode, groups: &[&[Value]], ty: Type, list: ir::Attrs) -> Value {
        let op = self.op(NewOp { opcode, groups, dests: &[], results: &[ty], attrs: list });
        self.func.ops[op].results[0]
    }

    pub(super) fn dest(&mut self, opcode: Opcode, groups: &[&[Value]], dest: Value, list: ir::Attrs) -> Op {
        self.op(NewOp { opcode, groups, dests: &[dest], results: &[], attrs: list })
    }

    pub(super) fn constant(&mut self, ty: &Type, value: Attr) -> Value {
        self.value(Opcode::Const, &[], ty.clone(), attrs([("value", value)]))
    }

    pub(super) fn scalar(&mut self, value: Scalar) -> Value {
        let attr = match value.as_i64() {
            _ if value.dtype == DType::Bool => Attr::Bool(value.is_true()),
            Some(v) => Attr::Int(v),
            None => Attr::Float(value.as_f64()),
        };
        self.constant(&Type::Scalar(value.dtype), attr)
    }

    /// `value + delta`, of the value's type.
    pub(super) fn plus(&mut self, value: Value, delta: i64) -> Value {
        let ty = self.func.ty(value).clone();
        let delta = self.constant(&ty, Attr::Int(delta));
        self.value(Opcode::ScalarAdd, &[&[value], &[delta]], ty, ir::Attrs::default())
    }

    /// The window of `rows × cols` at (`row`, `col`) of a buffer, wholly valid.
    pub(super) fn window(&mut self, tile: Value, ty: &TileType, at: (i64, i64), size: (u64, u64)) -> Value {
        let row = self.constant(&Type::INDEX, Attr::Int(at.0));
        let col = self.constant(&Type::INDEX, Attr::Int(at.1));
        let shape = vec![size.0, size.1];
        let valid = shape.iter().map(|&n| Dim::Static(n)).collect();
        let window = TileType { shape, valid, ..ty.clone() };
        let sizes = attrs([("sizes", Attr::Ints(vec![size.0 as i64, size.1 as i64]))]);
        self.value(Opcode::Subview, &[&[tile], &[row], &[col], &[], &[]], Type::Tile(window), sizes)
    }
}

/// The first operand of a group, counted over all groups; `None` if the group is empty or the entry has none.
pub(super) fn operand(op: &OpData, group: &str) -> Option<u32> {
    let index = op.opcode.info().group(group)?;
    let start: u32 = op.segments.get(..index)?.iter().sum();
    (*op.segments.get(index)? > 0).then_some(start)
}

/// All operands of a group, counted over all groups.
pub(super) fn operands(op: &OpData, group: &str) -> std::ops::Range<u32> {
    match op.opcode.info().group(group) {
        Some(index) => {
            let start: u32 = op.segments[..index].iter().sum();
            start..start + op.segments[index]
        }
        None => 0..0,
    }
}

/// The operation that makes the buffer a value is, if that is `alloc_tile`.
pub(super) fn alloc(func: &Function, tile: Value) -> Option<Op> {
    func.def_op(tile).filter(|&op| func.ops[op].opcode == Opcode::AllocTile)
}

pub(super) fn tile(func: &Function, value: Value) -> Option<&TileType> {
    func.ty(value).as_tile()
}

/// The tile type of a value, to change.
pub(super) fn tile_mut(func: &mut Function, value: Value) -> Option<&mut TileType> {
    match &mut func.values[value].ty {
        Type::Tile(t) => Some(t),
        _ => None,
    }
}

/// Replaces every use.
pub(super) fn replace_uses(func: &mut Function, from: Value, to: Value) {
    for op in func.walk() {
        let data = &mut func.ops[op];
        for value in data.operands.iter_mut().chain(&mut data.dests) {
            if *value == from {
                *value = to;
            }
        }
    }
}

/// Exchanges every use of two values.
pub(super) fn exchange_uses(func: &mut Function, a: Value, b: Value) {
    for op in func.walk() {
        let data = &mut func.ops[op];
        for value in data.operands.iter_mut().chain(&mut data.dests) {
            if *value == a {
                *value = b;
            } else if *value == b {
                *value = a;
            }
        }
    }
}
