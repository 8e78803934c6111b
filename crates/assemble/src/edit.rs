//! Editing a function in place: one walk over its blocks, with a builder at each operation.

use ir::{Attrs, Block, Builder, Def, Function, Op, Opcode, Value};

/// What becomes of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It stays, as it is or as it was changed, behind what was built.
    Stay,
    /// It goes. Nothing may use its results any more.
    Go,
}

/// Visits every operation in program order, those of its regions before itself. What `step` builds stands before the
/// operation, with its place in the source.
pub(crate) fn rewrite(func: &mut Function, step: &mut dyn FnMut(&mut Builder<'_>, Op) -> Fate) {
    let body = func.body;
    block(func, body, step);
}

fn block(func: &mut Function, at: Block, step: &mut dyn FnMut(&mut Builder<'_>, Op) -> Fate) {
    for op in std::mem::take(&mut func.blocks[at].ops) {
        for region in func.ops[op].regions.clone() {
            block(func, region, step);
        }
        let span = func.ops[op].span;
        let mut builder = Builder::new(func);
        builder.switch_to(at);
        builder.span = span;
        if step(&mut builder, op) == Fate::Stay {
            func.blocks[at].ops.push(op);
        }
    }
}

/// Appends the operation at hand, so that what is built next stands behind it; its step then answers [`Fate::Go`].
pub(crate) fn put(b: &mut Builder<'_>, op: Op) {
    let at = b.block();
    b.func.blocks[at].ops.push(op);
}

/// Turns an operation into another one with the same results: groups in the order of the new table entry.
pub(crate) fn become_op(func: &mut Function, op: Op, opcode: Opcode, groups: &[&[Value]], attrs: Attrs) {
    let data = &mut func.ops[op];
    data.opcode = opcode;
    data.operands = groups.concat();
    data.segments = groups.iter().map(|g| g.len() as u32).collect();
    data.segments.resize(opcode.info().operands.len(), 0);
    data.attrs = attrs;
}

/// Puts operands into an empty group.
pub(crate) fn fill_group(func: &mut Function, op: Op, group: usize, values: &[Value]) {
    let data = &mut func.ops[op];
    let at: u32 = data.segments[..=group].iter().sum();
    data.operands.splice(at as usize..at as usize, values.iter().copied());
    data.segments[group] += values.len() as u32;
}

/// The literal that an integer is, through conversions that keep its value.
pub(crate) fn constant(func: &Function, value: Value) -> Option<i64> {
    let mut value = value;
    // A chain of conversions is no longer than the function.
    for _ in 0..func.ops.len() {
        if let Some(number) = func.const_int(value) {
            return Some(number);
        }
        let Def::Result(op, _) = func.values[value].def else { return None };
        let data = &func.ops[op];
        let (from, to) = (func.ty(*data.operands.first()?).as_scalar()?, func.ty(value).as_scalar()?);
        let keeps = data.opcode == Opcode::ScalarCast && from.is_int() && to.is_int() && to.size() >= from.size();
        if !keeps || !from.is_signed_int() {
            return None;
        }
        value = data.operands[0];
    }
    None
}
