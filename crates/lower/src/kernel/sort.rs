//! Sorts of rows into records, and merges of sorted rows.

use ir::{Op, Opcode};

use super::Kernel;
use crate::Fail;

impl Kernel<'_> {
    /// Rows stay rows; how many columns of records are valid is in the result's type.
    pub(super) fn sort(&mut self, op: Op) -> Result<(), Fail> {
        self.no_columns(op)?;
        let data = &self.src.ops[op];
        let value = data.results[0];
        let extents = match data.opcode {
            Opcode::TMrgSortLists => self.given_extents(value, &[])?,
            _ => self.extents_like(value, data.named("source")[0])?,
        };
        self.result(value, extents)?;
        self.emit(op)
    }
}
