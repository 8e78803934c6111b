//! Who uses the values of a scope.

use std::collections::BTreeMap;

use ir::{Block, Function, Op, Value};

use crate::captures::ops_in;

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
