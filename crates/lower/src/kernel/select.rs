//! Comparisons and selections by mask.
//!
//! A mask has a bit per element, in rows of whole blocks of 32 bytes, so the mask of a column is not that of the same
//! elements as a row. Columns are refused here; a front end compares and selects them as rows.

use ir::{Dim, Op, Opcode, Value};

use super::Kernel;
use crate::Fail;
use crate::extent::Extent;

impl Kernel<'_> {
    /// The mask has the rows that are compared; all of its columns are written.
    pub(super) fn compare(&mut self, op: Op) -> Result<(), Fail> {
        self.no_columns(op)?;
        let data = &self.src.ops[op];
        let value = data.results[0];
        let compared: Vec<Value> = match data.opcode {
            Opcode::TCmp => vec![data.named("a")[0], data.named("b")[0]],
            _ => vec![data.named("a")[0]],
        };
        let mut extents = self.meet_all(&compared)?;
        if let Dim::Static(columns) = self.tile_type(value)?.valid[1] {
            extents[1] = Extent::Static(columns);
        }
        self.result(value, extents)?;
        self.emit(op)
    }

    /// Valid where both sources are; the mask's valid region does not count (see [`crate::fill`]).
    pub(super) fn select(&mut self, op: Op) -> Result<(), Fail> {
        self.no_columns(op)?;
        let data = &self.src.ops[op];
        let sources: Vec<Value> = match data.opcode {
            Opcode::TSel => vec![data.named("a")[0], data.named("b")[0]],
            _ => vec![data.named("a")[0]],
        };
        let extents = self.meet_all(&sources)?;
        self.result(data.results[0], extents)?;
        self.emit(op)
    }
}
