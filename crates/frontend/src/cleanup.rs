//! Removes scalar operations that nothing uses: bounds of dropped slices, folded constants, unread extents.

use ir::{Entity, Function, Op, Opcode};

/// Operations that only compute a scalar, and cannot fail.
fn removable(opcode: Opcode) -> bool {
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
    )
}

pub(crate) fn remove_dead(func: &mut Function) {
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
        if removable(data.opcode) && data.results.iter().all(|r| uses[r.index()] == 0) {
            for v in data.operands.clone() {
                uses[v.index()] -= 1;
            }
            ir::builder::detach(func, op);
        }
    }
}
