//! Removes operations that nothing uses: bounds of dropped slices, folded constants, unread extents, loads that were made
//! again as matrices or in parts.

use std::collections::BTreeSet;

use ir::{Entity, Function, Op, Opcode, Value};

/// Operations without an effect that cannot fail: scalars, and tiles with nothing in them.
pub(crate) fn removable(opcode: Opcode) -> bool {
    use Opcode as C;
    matches!(
        opcode,
        C::Const
            | C::ScalarAdd
            | C::ScalarSub
            | C::ScalarMul
            | C::ScalarMin
            | C::ScalarMax
            | C::ScalarAnd
            | C::ScalarOr
            | C::ScalarXor
            | C::ScalarCmp
            | C::ScalarNot
            | C::ScalarNeg
            | C::ScalarCast
            | C::Select
            | C::TensorDim
            | C::TaskInvalid
            | C::GetBlockNum
            | C::GetSubblockIdx
            | C::TileCreate
    )
}

/// Whether a load stands right behind one of the same box in another shape: it fails where that one fails.
fn has_twin(func: &Function, op: Op) -> bool {
    let data = &func.ops[op];
    let ops = &func.blocks[data.block].ops;
    let before = ops.iter().position(|&o| o == op).and_then(|i| i.checked_sub(1)).map(|i| &func.ops[ops[i]]);
    data.opcode == Opcode::Load
        && before.is_some_and(|twin| {
            twin.opcode == Opcode::Load
                && twin.operands == data.operands
                && twin.attrs.get("sizes") == data.attrs.get("sizes")
                && twin.attrs.get("drop").is_some()
        })
}

/// `in_parts`: loads whose boxes were loaded again, in parts.
pub(crate) fn remove_dead(func: &mut Function, in_parts: &BTreeSet<Value>) {
    let order: Vec<Op> = func.walk();
    let mut uses = vec![0_u32; func.values.len()];
    for &op in &order {
        for v in func.ops[op].operands.iter().chain(&func.ops[op].dests) {
            uses[v.index()] += 1;
        }
    }
    // Users come after what they use, so one backward pass sees every chain.
    for &op in order.iter().rev() {
        let data = &func.ops[op];
        let again = has_twin(func, op) || data.results.iter().any(|r| in_parts.contains(r));
        if (removable(data.opcode) || again) && data.results.iter().all(|r| uses[r.index()] == 0) {
            for v in data.operands.clone() {
                uses[v.index()] -= 1;
            }
            ir::builder::detach(func, op);
        }
    }
}
