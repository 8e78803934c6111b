//! Tiles made of nothing but scalars: triangles and random numbers.

use ir::builder::attrs;
use ir::{Attr, Op, Opcode, Type};

use super::Kernel;
use crate::Fail;
use crate::tile::{Place, is_column};

impl Kernel<'_> {
    /// A column is a row of the transposed triangle: 0 ≤ i + d is i ≥ −d.
    pub(super) fn ttri(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (value, given) = (data.results[0], data.named("diagonal")[0]);
        let extents = self.given_extents(value, data.named("valid"))?;
        self.result(value, extents)?;
        let (mut diagonal, mut upper) = (self.scalars[&given], data.attrs.bool("upper"));
        if is_column(&self.tile_type(value)?) {
            let wide = self.scalar_index(given);
            diagonal = self.b.result(Opcode::ScalarNeg, &[&[wide]], Type::INDEX, attrs([]));
            upper = !upper;
        }
        let dest = self.flat_view(value, Place::Vec)?;
        let valid = self.valid_group(dest);
        let mut list = attrs([]);
        if upper {
            list.set("upper", Attr::Bool(true));
        }
        let new = self.b.dest(Opcode::TTri, &[&[diagonal], &valid], dest, list);
        self.finish(value, new)
    }

    /// Which number an element gets depends on its row and column, so a column is no row here.
    pub(super) fn trandom(&mut self, op: Op) -> Result<(), Fail> {
        self.no_columns(op)?;
        let value = self.src.ops[op].results[0];
        let extents = self.given_extents(value, &[])?;
        self.result(value, extents)?;
        self.emit(op)
    }
}
