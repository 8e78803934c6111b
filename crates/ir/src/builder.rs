//! Building functions: appends operations, infers result types, keeps the bookkeeping (segments, definitions) right.

use diag::Span;
use dtype::{DType, Scalar};

use crate::attr::{Attr, Attrs};
use crate::entity::{Block, Op, Value};
use crate::function::{Def, Function, OpData, Origin, ValueData};
use crate::infer;
use crate::infer::TypeError;
use crate::info::Arity;
use crate::ops::Opcode;
use crate::types::{TileType, Type};

/// An operation about to be built: groups of operands in the order of its table entry.
#[derive(Clone, Debug)]
pub struct NewOp<'a> {
    pub opcode: Opcode,
    pub groups: &'a [&'a [Value]],
    pub dests: &'a [Value],
    pub results: &'a [Type],
    pub attrs: Attrs,
}

/// Appends to one block at a time. `span` and `origin` are stamped on every operation built.
pub struct Builder<'f> {
    pub func: &'f mut Function,
    block: Block,
    pub span: Option<Span>,
    pub origin: Option<Origin>,
}

impl<'f> Builder<'f> {
    pub fn new(func: &'f mut Function) -> Builder<'f> {
        let block = func.body;
        Builder { func, block, span: None, origin: None }
    }

    pub fn block(&self) -> Block {
        self.block
    }

    /// Continues at the end of another block; returns the one left.
    pub fn switch_to(&mut self, block: Block) -> Block {
        std::mem::replace(&mut self.block, block)
    }

    /// Appends an operation with explicit result types. Groups at the end that may be empty can be left out. Panics if
    /// the groups are not those of the table entry: that is a mistake of the caller, never of the user's program.
    pub fn op(&mut self, new: NewOp<'_>) -> Op {
        let info = new.opcode.info();
        let left = info.operands.get(new.groups.len()..);
        let fits = left.is_some_and(|left| left.iter().all(|o| o.arity != Arity::One));
        assert!(fits, "operand groups of {}: {}", info.name, new.groups.len());
        let mut segments: Vec<u32> = new.groups.iter().map(|g| g.len() as u32).collect();
        segments.resize(info.operands.len(), 0);
        let op = self.func.ops.push(OpData {
            opcode: new.opcode,
            operands: new.groups.concat(),
            segments,
            dests: new.dests.to_vec(),
            results: Vec::new(),
            regions: Vec::new(),
            attrs: new.attrs,
            block: self.block,
            span: self.span,
            origin: self.origin,
        });
        self.func.blocks[self.block].ops.push(op);
        for ty in new.results {
            self.add_result(op, ty.clone());
        }
        op
    }

    pub fn add_result(&mut self, op: Op, ty: Type) -> Value {
        let index = self.func.ops[op].results.len() as u32;
        let value = self.func.values.push(ValueData { ty, def: Def::Result(op, index), name: None });
        self.func.ops[op].results.push(value);
        value
    }

    /// A new region of `op`, whose arguments have the given types.
    pub fn add_region(&mut self, op: Op, args: &[(Type, Option<String>)]) -> Block {
        let block = self.func.add_block();
        self.func.blocks[block].parent = Some(op);
        self.func.ops[op].regions.push(block);
        for (ty, name) in args {
            self.func.add_arg(block, ty.clone(), name.clone());
        }
        block
    }

    /// An operation with one result whose type is stated.
    pub fn result(&mut self, opcode: Opcode, groups: &[&[Value]], ty: Type, attrs: Attrs) -> Value {
        let op = self.op(NewOp { opcode, groups, dests: &[], results: &[ty], attrs });
        self.func.ops[op].results[0]
    }

    /// An operation without result or destination.
    pub fn effect(&mut self, opcode: Opcode, groups: &[&[Value]], attrs: Attrs) -> Op {
        self.op(NewOp { opcode, groups, dests: &[], results: &[], attrs })
    }

    /// A tile operation in destination form.
    pub fn dest(&mut self, opcode: Opcode, groups: &[&[Value]], dest: Value, attrs: Attrs) -> Op {
        self.op(NewOp { opcode, groups, dests: &[dest], results: &[], attrs })
    }

    /// A tile operation in value form, or a scalar operation: the result type follows from the operands.
    pub fn infer(&mut self, opcode: Opcode, groups: &[&[Value]], attrs: Attrs) -> Result<Value, TypeError> {
        let types: Vec<Vec<&Type>> =
            groups.iter().map(|g| g.iter().map(|&v| self.func.ty(v)).collect::<Vec<_>>()).collect();
        let ty = infer::result(opcode, &types, &attrs)?;
        Ok(self.result(opcode, groups, ty, attrs))
    }

    pub fn constant(&mut self, value: Scalar) -> Value {
        let attr = match value.dtype {
            DType::Bool => Attr::Bool(value.is_true()),
            d if d.is_float() => Attr::Float(value.as_f64()),
            _ => Attr::Int(value.bits as i64),
        };
        let attr = match (attr, value.as_i64()) {
            (Attr::Int(_), Some(v)) => Attr::Int(v),
            (other, _) => other,
        };
        let mut attrs = Attrs::default();
        attrs.set("value", attr);
        self.result(Opcode::Const, &[], Type::Scalar(value.dtype), attrs)
    }

    pub fn index(&mut self, value: i64) -> Value {
        self.constant(Scalar::index(value))
    }

    /// A tile buffer of storage of its own (tile level), with its dynamic valid extents.
    pub fn alloc_tile(&mut self, ty: TileType, valid_row: Option<Value>, valid_col: Option<Value>) -> Value {
        let (r, c): (Vec<Value>, Vec<Value>) = (valid_row.into_iter().collect(), valid_col.into_iter().collect());
        self.result(Opcode::AllocTile, &[&[], &r, &c], Type::Tile(ty), Attrs::default())
    }

    pub fn name(&mut self, value: Value, name: &str) {
        self.func.values[value].name = Some(name.to_owned());
    }
}

/// Attributes from a list.
pub fn attrs(list: impl IntoIterator<Item = (&'static str, Attr)>) -> Attrs {
    let mut attrs = Attrs::default();
    for (name, value) in list {
        attrs.set(name, value);
    }
    attrs
}

/// Removes an operation from its block; its entry in the arena stays, unreachable.
pub fn detach(func: &mut Function, op: Op) {
    let block = func.ops[op].block;
    func.blocks[block].ops.retain(|&o| o != op);
}

/// The literal of a `const` operation as a typed scalar.
pub fn const_scalar(func: &Function, value: Value) -> Option<Scalar> {
    let op = &func.ops[func.def_op(value)?];
    let dtype = func.ty(value).as_scalar()?;
    if op.opcode != Opcode::Const {
        return None;
    }
    Some(match op.attrs.get("value")? {
        Attr::Int(v) => Scalar::from_i64(dtype, *v),
        Attr::Bool(b) => Scalar::bool(*b),
        Attr::Float(v) => Scalar::from_f64(dtype, *v),
        _ => return None,
    })
}
