//! Comparisons and selections by mask.
//!
//! A mask has a bit per element, in rows of whole blocks of 32 bytes, so the mask of a column is not that of the same
//! elements as a row. Columns are refused here; a front end compares and selects them as rows.

use ir::{Dim, Op, Opcode, Value};

use super::Kernel;
use crate::Fail;
use crate::extent::Extent;
use crate::tile::Place;

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
        let domain = [extents[0], extents[1]];
        if let Dim::Static(columns) = self.tile_type(value)?.valid[1] {
            extents[1] = Extent::Static(columns);
        }
        self.result(value, extents)?;
        if data.opcode == Opcode::TCmpS {
            return self.emit(op);
        }
        // The instruction runs over its first source: no further than both are valid.
        let first = self.held(compared[0], Place::Vec)?.tile;
        let (a, b) = (self.window(first, domain), self.held(compared[1], Place::Vec)?.tile);
        let dest = self.held(value, Place::Vec)?.tile;
        let new = self.b.dest(Opcode::TCmp, &[&[a], &[b]], dest, data.attrs.clone());
        self.finish(value, new)
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
