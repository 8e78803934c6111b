//! A transposed operand of a product is taken as it is stored: the product's flag says that it is transposed.
//!
//! Nothing is taken so that is changed in place somewhere: its contents could be others by then.

use std::collections::BTreeSet;

use ir::{Attr, Entity, Function, Op, Opcode, Value};

/// The tile that `operand` is the transpose of, directly or through copies, with the operations between.
fn stored(func: &Function, changed: &BTreeSet<Value>, operand: Value) -> Option<Value> {
    let mut value = operand;
    loop {
        if changed.contains(&value) {
            return None;
        }
        let data = &func.ops[func.def_op(value)?];
        match data.opcode {
            Opcode::TMov => value = data.operands[0],
            Opcode::TTrans => return Some(data.operands[0]).filter(|source| !changed.contains(source)),
            _ => return None,
        }
    }
}

pub(crate) fn fold(func: &mut Function) {
    let order: Vec<Op> = func.walk();
    let changed: BTreeSet<Value> = order.iter().flat_map(|&op| func.ops[op].dests.iter().copied()).collect();
    for &op in &order {
        let opcode = func.ops[op].opcode;
        if !matches!(opcode, Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias) {
            continue;
        }
        let first = usize::from(opcode == Opcode::TMatmulAcc);
        for (i, flag) in [(first, "a_trans"), (first + 1, "b_trans")] {
            let Some(source) = stored(func, &changed, func.ops[op].operands[i]) else { continue };
            let data = &mut func.ops[op];
            data.operands[i] = source;
            if data.attrs.bool(flag) {
                data.attrs.remove(flag);
            } else {
                data.attrs.set(flag, Attr::Bool(true));
            }
        }
    }
    remove_unused(func, &order, &changed);
}

/// Transposes and copies that nothing reads any more.
fn remove_unused(func: &mut Function, order: &[Op], changed: &BTreeSet<Value>) {
    let mut uses = vec![0_u32; func.values.len()];
    for &op in order {
        func.ops[op].operands.iter().for_each(|v| uses[v.index()] += 1);
    }
    for &op in order.iter().rev() {
        let data = &func.ops[op];
        let moves = matches!(data.opcode, Opcode::TMov | Opcode::TTrans);
        if moves && data.results.iter().all(|r| uses[r.index()] == 0 && !changed.contains(r)) {
            for v in data.operands.clone() {
                uses[v.index()] -= 1;
            }
            ir::builder::detach(func, op);
        }
    }
}
