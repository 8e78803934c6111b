//! Operations that only `.pto` text says (`spec/pto-assembly.md` §2): calls, descriptors, fences, what joins and combines
//! tiles, and what goes between ranks.

use chip::Space;
use dtype::DType;

use super::types::{carried, exactly, list, passed};
use super::{Check, Cx, Fault, ensure, kept};
use crate::entity::Value;
use crate::function::{Function, FunctionKind, OpData, Program};
use crate::ops::Opcode as C;
use crate::types::{Dim, Opaque, TileType, Type};

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    match op.opcode {
        C::Call => call(cx, op),
        C::SetValidShape => valid_shape(cx, op),
        C::CacheInvalid => {
            let (places, spaces) = (op.named("target").len(), usize::from(op.attrs.get("space").is_some()));
            ensure!(places + spaces == 1, "cache-target", "{} names {} things", op.opcode.name(), places + spaces);
            Ok(())
        }
        C::TConcat => concat(cx, op),
        C::TColExpandExpDif | C::TRowExpandExpDif => beside_vector(cx, op),
        C::CommTPut => put(cx, op),
        C::CommTNotify | C::CommTWait | C::CommTTest => signal(cx, op),
        C::CommTGet => put(cx, op),
        C::ArrayGetAt | C::ArraySetAt => element(cx, op),
        C::CountsConst => exactly(cx, op, &Type::Opaque(Opaque::Counts)),
        C::ExecuteRegion | C::FusionRegion => region(cx, op),
        C::Branch | C::BranchIf => jump(cx, op),
        _ => kept::check(cx, op),
    }
}

/// One index per dimension.
fn element(cx: &Cx<'_>, op: &OpData) -> Check {
    let mut ty = cx.ty(op.named("array")[0]);
    for _ in op.named("indices") {
        let Type::Array { element, .. } = ty else {
            return Err(Fault {
                code: "axes",
                message: format!("{} has more indices than dimensions", op.opcode.name()),
            });
        };
        ty = element;
    }
    ensure!(ty.as_scalar().is_some(), "axes", "{} is about an element, not about {ty}", op.opcode.name());
    if op.opcode == C::ArrayGetAt {
        return exactly(cx, op, ty);
    }
    let value = cx.ty(op.named("value")[0]);
    ensure!(value == ty, "operand-types", "an array of {ty} cannot hold {value}");
    Ok(())
}

/// What a region yields is what its operation makes.
fn region(cx: &Cx<'_>, op: &OpData) -> Check {
    match passed(cx, op, 0, C::Yield) {
        Some(values) => carried(cx, "out of the region", values, &op.results),
        None => Ok(()),
    }
}

/// A jump goes to a block there is, with what that takes.
fn jump(cx: &Cx<'_>, op: &OpData) -> Check {
    let f = cx.function;
    let values = op.named("values");
    let taken = op.attrs.int("taken").map_or(values.len(), |n| usize::try_from(n).unwrap_or(usize::MAX));
    let blocks = f.blocks[op.block].parent.map(|parent| &f.ops[parent].regions);
    for (name, values) in [("target", values.get(..taken)), ("other", values.get(taken..))] {
        let Some(target) = op.attrs.int(name) else { continue };
        let block = usize::try_from(target).ok().and_then(|i| blocks?.get(i));
        let (Some(&block), Some(values)) = (block, values) else {
            return Err(Fault { code: "jump", message: format!("{} goes to block {target}", op.opcode.name()) });
        };
        carried(cx, "to the next block", values, &f.blocks[block].args)?;
    }
    Ok(())
}

/// The helper that a call names.
fn callee<'a>(cx: &Cx<'a>, op: &OpData) -> Result<&'a Function, Fault> {
    let program = cx.program;
    let names = op.attrs.symbols("callee").unwrap_or(&[]);
    ensure!(names.len() == 1, "call", "a call names one function, not {}", names.len());
    match program.function(&names[0]).map(|id| &program.functions[id]) {
        Some(f) if f.kind == FunctionKind::Helper || f.kind == FunctionKind::Cluster => Ok(f),
        // The part for one core, called where that core (too) runs.
        Some(f) if f.kind == cx.function.kind || (cx.function.kind == FunctionKind::Cluster && f.is_kernel()) => Ok(f),
        Some(f) => Err(Fault {
            code: "call",
            message: format!("@{} does not run on the core of @{}", f.name, cx.function.name),
        }),
        None => Err(Fault { code: "call", message: format!("there is no function @{}", names[0]) }),
    }
}

fn call(cx: &Cx<'_>, op: &OpData) -> Check {
    let f = callee(cx, op)?;
    let types = |values: &[Value], of: &Function| list(values.iter().map(|&v| of.ty(v)));
    let (given, wanted) = (types(&op.operands, cx.function), types(f.param_values(), f));
    ensure!(given == wanted, "call", "@{} takes ({wanted}), not ({given})", f.name);
    let (got, returned) = (types(&op.results, cx.function), list(f.results.iter()));
    ensure!(got == returned, "call", "@{} returns ({returned}), not ({got})", f.name);
    ensure!(
        !reaches(cx.program, f, &cx.function.name),
        "call",
        "@{} calls @{}, which calls it",
        cx.function.name,
        f.name
    );
    Ok(())
}

/// Whether calls lead from a function to another.
fn reaches(program: &Program, from: &Function, to: &str) -> bool {
    let mut seen = vec![from.name.as_str()];
    let mut next = 0;
    while let Some(&name) = seen.get(next) {
        if name == to {
            return true;
        }
        next += 1;
        let Some(f) = program.function(name).map(|id| &program.functions[id]) else { continue };
        let calls = f.walk().into_iter().map(|op| &f.ops[op]).filter(|op| op.opcode == C::Call);
        for name in calls.filter_map(|op| op.attrs.symbols("callee")?.first()) {
            if !seen.contains(&name.as_str()) {
                seen.push(name);
            }
        }
    }
    false
}

fn valid_shape(cx: &Cx<'_>, op: &OpData) -> Check {
    let tile = op.named("tile")[0];
    ensure!(op.dest() == Some(tile), "valid-shape", "{} changes the tile it names, no other", op.opcode.name());
    let t = cx.tile(tile)?;
    ensure!(t.valid == [Dim::Dynamic; 2], "valid-shape", "the valid extents of {t} are in its type");
    Ok(())
}

fn vector_tile<'a>(cx: &Cx<'a>, op: &OpData, what: &str, value: Value) -> Result<&'a TileType, Fault> {
    let t = cx.tile(value)?;
    ensure!(
        t.space == Some(Space::Vec) && t.layout.slayout.is_none(),
        "operand-space",
        "the {what} of {} must be in vec, without boxes; this is {t}",
        op.opcode.name()
    );
    Ok(t)
}

fn concat(cx: &Cx<'_>, op: &OpData) -> Check {
    let a = vector_tile(cx, op, "a", op.named("a")[0])?;
    let b = vector_tile(cx, op, "b", op.named("b")[0])?;
    let Some(dest) = op.dest() else { return Ok(()) };
    let out = vector_tile(cx, op, "destination", dest)?;
    ensure!(
        a.dtype == out.dtype && b.dtype == out.dtype,
        "dest-type",
        "{} joins {} and {}; the destination is {out}",
        op.opcode.name(),
        a.dtype,
        b.dtype
    );
    if let (Dim::Static(x), Dim::Static(y)) = (a.valid[1], b.valid[1]) {
        ensure!(x + y <= out.cols(), "dest-type", "{x} and {y} columns do not fit into {out}");
    }
    if let (Dim::Static(x), Dim::Static(y)) = (a.valid[0], b.valid[0]) {
        ensure!(x == y, "valid-region", "{} joins tiles of as many rows, not {x} and {y}", op.opcode.name());
    }
    Ok(())
}

/// A matrix and a vector along one of its axes.
fn beside_vector(cx: &Cx<'_>, op: &OpData) -> Check {
    let a = vector_tile(cx, op, "a", op.named("a")[0])?;
    let v = vector_tile(cx, op, "v", op.named("v")[0])?;
    let Some(dest) = op.dest() else { return Ok(()) };
    let out = vector_tile(cx, op, "destination", dest)?;
    let floats = matches!(a.dtype, DType::F16 | DType::F32);
    ensure!(floats, "operand-types", "{} takes f16 and f32, not {}", op.opcode.name(), a.dtype);
    ensure!(
        a.dtype == out.dtype && v.dtype == out.dtype && a.shape == out.shape,
        "dest-type",
        "the destination of {} is {out}; the operands are {a} and {v}",
        op.opcode.name()
    );
    Ok(())
}

fn put(cx: &Cx<'_>, op: &OpData) -> Check {
    let (dest, source) = (cx.ty(op.named("dest")[0]).element(), cx.ty(op.named("source")[0]).element());
    let staging = op.named("staging");
    ensure!((1..=2).contains(&staging.len()), "arity", "{} has one staging tile or two", op.opcode.name());
    for &tile in staging {
        let t = vector_tile(cx, op, "staging tile", tile)?;
        ensure!(
            dest == Some(t.dtype) && source == Some(t.dtype),
            "operand-types",
            "{} copies elements of one type through a tile of it, not through {t}",
            op.opcode.name()
        );
    }
    Ok(())
}

/// Signal words are i32.
fn signal(cx: &Cx<'_>, op: &OpData) -> Check {
    let (memory, value) = (cx.ty(op.named("signal")[0]), cx.ty(op.named("value")[0]));
    ensure!(
        memory.element() == Some(DType::I32) && *value == Type::Scalar(DType::I32),
        "operand-types",
        "signals are i32; {} has {memory} and {value}",
        op.opcode.name()
    );
    Ok(())
}
