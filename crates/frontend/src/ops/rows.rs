//! Operations that are built row by row: loops of known form, rows of matrices, regions.

use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Opcode, TileType, Type, Value};
use ruff_text_size::TextRange;

use crate::cx::{Cx, Res};
use crate::value::Held;

impl Cx<'_> {
    /// Runs `body` for 0, 1, …, `upper` − 1: a loop in the program, or nothing around it where there is one iteration.
    pub(crate) fn each(
        &mut self,
        upper: &Held,
        at: TextRange,
        body: impl FnOnce(&mut Self, &Held) -> Res<()>,
    ) -> Res<()> {
        match self.known_int(upper) {
            Some(n) if n <= 0 => return Ok(()),
            Some(1) => return body(self, &Held::Int(0)),
            _ => {}
        }
        let (lower, upper, step) = (self.index(0), self.as_index(upper, at)?, self.index(1));
        let kind = attrs([("kind", Attr::Word("range".into()))]);
        let op = self.new_op(Opcode::For, &[&[lower], &[upper], &[step], &[]], kind);
        let region = self.builder().add_region(op, &[(Type::INDEX, None)]);
        let index = Held::Ir(self.program.func.blocks[region].args[0]);
        let back = self.enter(region);
        let result = body(self, &index);
        self.effect(Opcode::Yield, &[&[]], Attrs::default());
        self.leave(back);
        result
    }

    /// How much of an axis of a tile is valid.
    pub(crate) fn valid_extent(&self, tile: Value, axis: usize, at: TextRange) -> Res<Held> {
        let valid = self.tile(tile).and_then(|t| t.valid.get(axis)).copied().unwrap_or(Dim::Static(1));
        match (valid, self.program.valid.get(&tile)) {
            (Dim::Static(n), _) => Ok(Held::Int(n as i64)),
            (Dim::Dynamic, Some(known)) => Ok(known[axis].clone()),
            (Dim::Dynamic, None) => {
                let message = "a tile whose valid region is not known here is not supported as this operand";
                Err(self.unsupported("unsupported-valid-region", at, message).into())
            }
        }
    }

    /// The elements of a tile as a matrix with its last axis as columns.
    pub(crate) fn flattened(&mut self, tile: Value, at: TextRange) -> Res<Value> {
        match self.tile(tile) {
            Some(t) if t.shape.len() != 2 => {
                let shape = vec![t.rows(), t.cols()];
                self.reshaped(tile, shape, at)
            }
            _ => Ok(tile),
        }
    }

    /// One row of a matrix that is valid there, as far as the row is valid.
    pub(crate) fn row(&mut self, tile: Value, row: &Held, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else { return Err(self.not_a(&Held::Ir(tile), "a tile", at)) };
        if t.shape[0] == 1 {
            return Ok(tile);
        }
        let extent = self.valid_extent(tile, 1, at)?;
        let (cols, dynamic) = match self.known_int(&extent) {
            Some(n) => (Dim::Static(n as u64), Vec::new()),
            None => (Dim::Dynamic, vec![self.as_index(&extent, at)?]),
        };
        let ty = TileType::value(t.dtype, vec![1, t.shape[1]]).with_valid(vec![Dim::Static(1), cols]);
        let partly = !ty.is_fully_valid();
        let (row, zero) = (self.as_index(row, at)?, self.index(0));
        let groups: [&[Value]; 4] = [&[tile], &[row], &[zero], &dynamic];
        let part = self.result(Opcode::TExtract, &groups, Type::Tile(ty), Attrs::default());
        if partly {
            self.program.valid.insert(part, vec![Held::Int(1), extent]);
        }
        Ok(part)
    }

    /// A matrix made of one row per valid row of `pattern`, which gives its rows and what of them is valid.
    pub(crate) fn by_rows(
        &mut self,
        ty: TileType,
        pattern: Value,
        at: TextRange,
        mut row: impl FnMut(&mut Self, &Held) -> Res<Value>,
    ) -> Res<Value> {
        if ty.shape[0] == 1 {
            return row(self, &Held::Int(0));
        }
        let rows = self.valid_extent(pattern, 0, at)?;
        let whole = self.result(Opcode::TileCreate, &[], Type::Tile(ty), Attrs::default());
        self.each(&rows, at, |cx, index| {
            let part = row(cx, index)?;
            cx.insert(part, whole, index, &Held::Int(0), at)
        })?;
        let cols = self.valid_extent(pattern, 1, at)?;
        crate::ops::shape::narrowed(self, whole, &rows, &cols, at)
    }
}
