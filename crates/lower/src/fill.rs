//! Zeros where a tile might be read before it is written (semantics rule 4).
//!
//! The reference has zeros wherever nothing was written. A kernel fills explicitly, and only where the difference could
//! be seen: a fresh tile that is used (unless the first iteration of a loop replaces it unseen), and a value with a partial
//! valid region of which an operation reads more than that (another valid region, a window, a reshape, a vector
//! shorter than its matrix). All other operations stay inside the valid regions of their operands.

use ir::{Dim, Function, Opcode, Value};

/// Whether zeros go to the whole buffer before the operation that makes `value`.
pub(crate) fn is_needed(f: &Function, value: Value) -> bool {
    let Some(ty) = f.ty(value).as_tile() else { return false };
    let Some(def) = f.def_op(value) else { return false };
    let data = &f.ops[def];
    // A filled or fully valid value has no such elements; joined names and reshapes have those of their sources.
    let other = matches!(data.opcode, Opcode::TileCreate | Opcode::TReshape | Opcode::SetValidShape | Opcode::TFillPad);
    if other || !data.regions.is_empty() || ty.is_fully_valid() {
        return false;
    }
    let mut names = vec![value];
    let mut seen = 0;
    while seen < names.len() {
        let name = names[seen];
        seen += 1;
        for user in f.users(name) {
            let data = &f.ops[user];
            match data.opcode {
                Opcode::SetValidShape | Opcode::TExtract | Opcode::TReshape | Opcode::TGetVal => return true,
                _ if is_short_vector(f, user, name) => return true,
                _ => {}
            }
            for other in joined(f, user, name) {
                if !names.contains(&other) {
                    names.push(other);
                }
            }
        }
    }
    false
}

/// Whether `user` spreads `vector` over a matrix that may be valid where the vector is not.
fn is_short_vector(f: &Function, user: ir::Op, vector: Value) -> bool {
    use Opcode as C;
    let data = &f.ops[user];
    let rows = match data.opcode {
        C::TRowExpandAdd
        | C::TRowExpandSub
        | C::TRowExpandMul
        | C::TRowExpandDiv
        | C::TRowExpandMax
        | C::TRowExpandMin => true,
        C::TColExpandAdd
        | C::TColExpandSub
        | C::TColExpandMul
        | C::TColExpandDiv
        | C::TColExpandMax
        | C::TColExpandMin => false,
        _ => return false,
    };
    let (a, v) = (data.named("a")[0], data.named("v")[0]);
    let rank = f.ty(a).as_tile().map_or(0, |t| t.shape.len());
    let mut axes = if rows { 0..rank.saturating_sub(1) } else { rank.saturating_sub(1)..rank };
    v == vector && axes.any(|axis| extent(f, a, axis).is_none_or(|e| extent(f, v, axis) != Some(e)))
}

/// A valid extent: known, or the index that the operation that made it was given.
#[derive(PartialEq)]
enum Known {
    Static(u64),
    Given(Value),
}

/// The valid extent of a value along an axis, if it can be told where it comes from.
fn extent(f: &Function, value: Value, axis: usize) -> Option<Known> {
    use Opcode as C;
    let ty = f.ty(value).as_tile()?;
    if let Dim::Static(n) = ty.valid[axis] {
        return Some(Known::Static(n));
    }
    let data = &f.ops[f.def_op(value)?];
    match data.opcode {
        C::Load | C::TExpandS | C::TExtract => {
            let before = ty.valid[..axis].iter().filter(|d| **d == Dim::Dynamic).count();
            data.named("valid").get(before).map(|&v| Known::Given(v))
        }
        C::SetValidShape => Some(Known::Given(data.named(if axis == 0 { "row" } else { "col" })[0])),
        C::TTrans => extent(f, data.operands[0], 1 - axis),
        C::TMatmul | C::TMatmulAcc | C::TReshape | C::TFillPad | C::TileCreate => None,
        _ if !data.regions.is_empty() => None,
        // Reductions keep the other axis, broadcasts have the matrix', elementwise operations what all operands have.
        C::TAdd | C::TSub | C::TMul | C::TDiv | C::TMax | C::TMin => {
            let (a, b) = (extent(f, data.operands[0], axis)?, extent(f, data.operands[1], axis)?);
            (a == b).then_some(a)
        }
        _ => data.operands.first().and_then(|&a| extent(f, a, axis)),
    }
}

/// The names that get `value` where `user` joins or ends a region.
fn joined(f: &Function, user: ir::Op, value: Value) -> Vec<Value> {
    let data = &f.ops[user];
    let mut out = Vec::new();
    let mut targets = |sources: &[Value], targets: &[Value]| {
        out.extend(sources.iter().zip(targets).filter(|(s, _)| **s == value).map(|(_, &t)| t));
    };
    match data.opcode {
        Opcode::For => targets(data.named("init"), &f.blocks[data.regions[0]].args[1..]),
        Opcode::While => targets(data.named("init"), &f.blocks[data.regions[0]].args),
        Opcode::Yield | Opcode::Condition => {
            let values = data.named("values");
            if let Some(parent) = f.blocks[data.block].parent {
                let p = &f.ops[parent];
                match (p.opcode, data.opcode) {
                    (Opcode::For, _) => {
                        targets(values, &f.blocks[p.regions[0]].args[1..]);
                        targets(values, &p.results);
                    }
                    (Opcode::While, Opcode::Condition) => {
                        targets(values, &f.blocks[p.regions[1]].args);
                        targets(values, &p.results);
                    }
                    (Opcode::While, _) => targets(values, &f.blocks[p.regions[0]].args),
                    (Opcode::If, _) => targets(values, &p.results),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    out
}

/// Whether a fresh tile is only the initial value of a loop whose first iteration makes a new one without looking: the
/// usual way to start a sum (`if k == 0: acc = matmul(…) else: acc = matmul_acc(acc, …)`). Then nobody sees what it holds.
pub(crate) fn is_start_of_loop(f: &Function, value: Value) -> bool {
    let users = f.users(value);
    let [user] = users[..] else { return false };
    let data = &f.ops[user];
    if data.opcode != Opcode::For || !runs(f, data) {
        return false;
    }
    let body = data.regions[0];
    let (iv, names) = (f.blocks[body].args[0], &f.blocks[body].args[1..]);
    let lower = data.named("lower")[0];
    data.named("init")
        .iter()
        .zip(names)
        .filter(|(init, _)| **init == value)
        .all(|(_, &name)| f.users(name).into_iter().all(|op| is_skipped_first(f, op, body, iv, lower)))
}

/// At least once, by its literal bounds.
fn runs(f: &Function, data: &ir::OpData) -> bool {
    let known = |name: &str| f.const_int(data.named(name)[0]);
    match (known("lower"), known("upper"), known("step")) {
        (Some(lower), Some(upper), Some(step)) => (step > 0 && lower < upper) || (step < 0 && lower > upper),
        _ => false,
    }
}

/// Whether `op`, in the loop body `body`, stands in the branch that is not taken in the first iteration.
fn is_skipped_first(f: &Function, op: ir::Op, body: ir::Block, iv: Value, lower: Value) -> bool {
    let mut block = f.ops[op].block;
    while block != body {
        let Some(parent) = f.blocks[block].parent else { return false };
        let data = &f.ops[parent];
        if data.opcode == Opcode::If {
            let first = is_first(f, data.named("condition")[0], iv, lower);
            let branch = data.regions.iter().position(|&r| r == block);
            if matches!((first, branch), (Some(true), Some(1)) | (Some(false), Some(0))) {
                return true;
            }
        }
        block = data.block;
    }
    false
}

/// Whether the condition says "this is the first iteration" (true), or "it is not" (false).
fn is_first(f: &Function, condition: Value, iv: Value, lower: Value) -> Option<bool> {
    let data = &f.ops[f.def_op(condition)?];
    if data.opcode != Opcode::ScalarCmp {
        return None;
    }
    let (a, b) = (data.named("a")[0], data.named("b")[0]);
    let other = match (a == iv, b == iv) {
        (true, false) => b,
        (false, true) => a,
        _ => return None,
    };
    let same = other == lower || (f.const_int(other).is_some() && f.const_int(other) == f.const_int(lower));
    match data.attrs.word("predicate") {
        Some("eq") if same => Some(true),
        Some("ne") if same => Some(false),
        _ => None,
    }
}
