//! What a scope takes from its surroundings.
//!
//! A kernel gets one pointer per captured tensor, then scalars: the extents and strides of those tensors that are known
//! at run time only, and the captured scalars. Literals are not captured: they are written again.

use diag::Diagnostic;
use ir::{Block, Dim, Function, Op, Opcode, Type, Value};

use crate::Fail;

/// One argument of a submission, in terms of the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arg {
    Tensor(Value),
    Dim(Value, usize),
    Stride(Value, usize),
    Scalar(Value),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Captures {
    /// In the order of the kernel's parameters.
    pub(crate) args: Vec<Arg>,
    /// Literals of the surroundings that the scope uses.
    pub(crate) consts: Vec<Value>,
}

/// Collects what the region of `scope` uses but does not define, in order of first use.
pub(crate) fn captures(f: &Function, scope: Op) -> Result<Captures, Fail> {
    let region = f.ops[scope].regions[0];
    let inside = ops_in(f, region);
    let mut tensors = Vec::new();
    let mut scalars = Vec::new();
    let mut consts = Vec::new();
    for &op in &inside {
        let data = &f.ops[op];
        for &value in data.operands.iter().chain(&data.dests) {
            if is_inside(f, value, region) {
                continue;
            }
            match f.ty(value) {
                Type::Tensor(_) => push(&mut tensors, value),
                Type::Scalar(_) if f.def_op(value).is_some_and(|d| f.ops[d].opcode == Opcode::Const) => {
                    push(&mut consts, value);
                }
                Type::Scalar(_) => push(&mut scalars, value),
                other => {
                    let what = match other {
                        Type::TaskId => "a task id",
                        Type::Array { .. } => "an array",
                        Type::Tile(_) => "a tile",
                        _ => "a value of this kind",
                    };
                    return Err(Box::new(
                        Diagnostic::unsupported(
                            "capture",
                            format!("a kernel scope cannot use {what} of its surroundings; tensors and scalars it can"),
                        )
                        .at(data.span, "used here"),
                    ));
                }
            }
        }
    }
    let mut args: Vec<Arg> = tensors.iter().map(|&t| Arg::Tensor(t)).collect();
    for &tensor in &tensors {
        let Type::Tensor(ty) = f.ty(tensor) else { continue };
        for (axis, dim) in ty.shape.iter().enumerate() {
            if *dim == Dim::Dynamic {
                args.push(Arg::Dim(tensor, axis));
            }
        }
        for (axis, stride) in ty.strides.iter().enumerate() {
            if *stride == Dim::Dynamic {
                args.push(Arg::Stride(tensor, axis));
            }
        }
    }
    args.extend(scalars.into_iter().map(Arg::Scalar));
    Ok(Captures { args, consts })
}

/// What the scope does to a captured tensor: `in`, `out` or `inout`.
///
/// Names of the tensor inside the scope (carried by loops) are `aliases` of it.
pub(crate) fn direction(f: &Function, scope: Op, is: impl Fn(Value) -> bool) -> ir::Direction {
    let (mut read, mut written) = (false, false);
    for op in ops_in(f, f.ops[scope].regions[0]) {
        let data = &f.ops[op];
        match data.opcode {
            Opcode::Load | Opcode::Read | Opcode::Gather => read |= is(data.named("tensor")[0]),
            Opcode::Write => written |= is(data.named("tensor")[0]),
            // What it does not reach keeps its contents, and which that is depends on data.
            Opcode::Scatter if is(data.named("tensor")[0]) => (read, written) = (true, true),
            Opcode::Store if is(data.named("tensor")[0]) => {
                written = true;
                // An atomic addition reads what it adds to.
                read |= data.attrs.get("atomic").is_some();
            }
            _ => {}
        }
    }
    match (read, written) {
        (true, true) => ir::Direction::InOut,
        (false, true) => ir::Direction::Out,
        _ => ir::Direction::In,
    }
}

/// All operations of a region, outer before inner, in program order.
pub(crate) fn ops_in(f: &Function, block: Block) -> Vec<Op> {
    fn go(f: &Function, block: Block, out: &mut Vec<Op>) {
        for &op in &f.blocks[block].ops {
            out.push(op);
            for &region in &f.ops[op].regions {
                go(f, region, out);
            }
        }
    }
    let mut out = Vec::new();
    go(f, block, &mut out);
    out
}

/// Whether a value is defined in `region` or a region inside it.
fn is_inside(f: &Function, value: Value, region: Block) -> bool {
    let mut block = match f.values[value].def {
        ir::Def::Arg(block, _) => block,
        ir::Def::Result(op, _) => f.ops[op].block,
    };
    loop {
        if block == region {
            return true;
        }
        match f.blocks[block].parent {
            Some(op) => block = f.ops[op].block,
            None => return false,
        }
    }
}

fn push(list: &mut Vec<Value>, value: Value) {
    if !list.contains(&value) {
        list.push(value);
    }
}
