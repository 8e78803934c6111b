//! Who uses the values of a scope.

use std::collections::BTreeMap;

use ir::{Block, Function, Op, OpData, Value};

use crate::captures::ops_in;

/// The operands of an operation without scratch tiles (`tmp`): those are the device's, and `assemble` makes them.
pub(crate) fn inputs(data: &OpData) -> impl Iterator<Item = Value> + '_ {
    let groups = data.opcode.info().operands.iter().enumerate();
    groups.filter(|(_, operand)| operand.name != "tmp").flat_map(|(i, _)| data.group(i)).copied()
}

/// The operations of a region that use each value as operand or destination, in program order.
#[derive(Debug, Default)]
pub(crate) struct Uses(BTreeMap<Value, Vec<Op>>);

impl Uses {
    pub(crate) fn new(f: &Function, region: Block) -> Uses {
        let mut uses = Uses::default();
        for op in ops_in(f, region) {
            let data = &f.ops[op];
            for &value in data.operands.iter().chain(&data.dests) {
                let list = uses.0.entry(value).or_default();
                if list.last() != Some(&op) {
                    list.push(op);
                }
            }
        }
        uses
    }

    pub(crate) fn of(&self, value: Value) -> &[Op] {
        self.0.get(&value).map_or(&[], Vec::as_slice)
    }
}
