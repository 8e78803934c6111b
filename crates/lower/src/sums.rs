//! Sums of products: which the cube can make again, which have no accumulator, and which conversions it does itself.
//!
//! A *sum* is a product, or a `matmul_acc` that starts from zeros, a bias or a sum. Its terms stay in Mat, so it can be made
//! again, with the same bits, wherever it is visible. A joined name is none: what flowed into it is not known.
//!
//! A sum is *pieced* if it has no accumulator as a whole: none is large enough ([`crate::tile::has_accumulator`]), other
//! accumulators leave no room, or the value is changed in place, which happens in Vec; or if it shares terms with such a sum.

use std::collections::BTreeSet;

use chip::Arch;
use dtype::DType;
use ir::{Function, Op, OpData, Opcode, Value};

use crate::spaces::is_zero;
use crate::tile::{flat, has_accumulator};
use crate::uses::Uses;

/// Whether the terms of a value are known.
pub(crate) fn is_sum(f: &Function, mut value: Value) -> bool {
    while let Some(op) = f.def_op(value) {
        match start(f, op) {
            Start::Other => return false,
            Start::Fresh => return true,
            Start::From(acc) => value = acc,
        }
    }
    false
}

enum Start {
    /// At zero or at a bias.
    Fresh,
    From(Value),
    /// Not an operation that adds products.
    Other,
}

/// Where the chain of a product starts.
fn start(f: &Function, op: Op) -> Start {
    let data = &f.ops[op];
    match data.opcode {
        Opcode::TMatmul | Opcode::TMatmulBias => Start::Fresh,
        Opcode::TMatmulAcc if is_zero(f, data.named("acc")[0]) => Start::Fresh,
        Opcode::TMatmulAcc => Start::From(data.named("acc")[0]),
        _ => Start::Other,
    }
}

/// The sums among the results of `ops` (in program order) that are made in pieces. `joined`: control flow hands the value
/// on, so it must be somewhere as a whole; `changed`: it is in Vec as a whole; `crowded`: it has no room in Acc.
pub(crate) fn pieced(
    f: &Function,
    ops: &[Op],
    arch: Arch,
    joined: impl Fn(Value) -> bool,
    changed: &BTreeSet<Value>,
    crowded: &BTreeSet<Value>,
) -> BTreeSet<Value> {
    let mut chains: Vec<Vec<Value>> = Vec::new();
    for &op in ops {
        let chain = match start(f, op) {
            Start::Other => continue,
            Start::Fresh => None,
            Start::From(acc) => match chains.iter().position(|c| c.contains(&acc)) {
                Some(chain) => Some(chain),
                // It goes on with a joined accumulator.
                None => continue,
            },
        };
        let sum = f.ops[op].results[0];
        match chain {
            Some(chain) => chains[chain].push(sum),
            None => chains.push(vec![sum]),
        }
    }
    let split = |&sum: &Value| {
        let operand = f.def_op(sum).and_then(|op| f.ty(f.ops[op].named("lhs")[0]).element());
        let (Some(ty), Some(operand)) = (f.ty(sum).as_tile(), operand) else { return false };
        let (m, n) = flat(ty);
        changed.contains(&sum) || crowded.contains(&sum) || !has_accumulator(operand, ty.dtype, m, n, arch)
    };
    let whole = |&sum: &Value| joined(sum) && !changed.contains(&sum);
    chains.into_iter().filter(|c| c.iter().any(split) && !c.iter().any(whole)).flatten().collect()
}

/// Whether `op` takes `value` as the cube has it: from the accumulator, or untransposed from Mat.
pub(crate) fn is_on_cube(f: &Function, uses: &Uses, op: Op, value: Value) -> bool {
    let data = &f.ops[op];
    match data.opcode {
        Opcode::Store => true,
        Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias => !is_transposed(data, value),
        Opcode::TCvt => is_narrowing(f, uses, op),
        _ => false,
    }
}

/// Whether a product uses `value` as an operand that is stored transposed.
fn is_transposed(data: &OpData, value: Value) -> bool {
    let as_is = |group: &str, attr: &str| data.named(group)[0] == value && data.attrs.bool(attr);
    as_is("lhs", "a_trans") || as_is("rhs", "b_trans")
}

/// A nearest-even conversion to a 16-bit float that only stores and products use: an f32 accumulator is narrowed so on its
/// way out, to global memory or to Mat (semantics rule 9: the bits agree).
pub(crate) fn is_narrowing(f: &Function, uses: &Uses, op: Op) -> bool {
    let data = &f.ops[op];
    if data.opcode != Opcode::TCvt || data.attrs.word("mode") != Some("rint") || data.attrs.bool("saturate") {
        return false;
    }
    let (source, result) = (data.named("a")[0], data.results[0]);
    let narrow =
        f.ty(source).element() == Some(DType::F32) && matches!(f.ty(result).element(), Some(DType::F16 | DType::BF16));
    let users = uses.of(result);
    let takes = |&user: &Op| match f.ops[user].opcode {
        Opcode::Store => f.ops[user].attrs.get("atomic").is_none(),
        Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias => !is_transposed(&f.ops[user], result),
        _ => false,
    };
    narrow && !users.is_empty() && users.iter().all(takes)
}
