//! Gathers and scatters, in tiles and in global memory.
//!
//! A flat index counts elements in row-major order over a tile's extent. A column's elements are in that order too, so a
//! column is computed as a row; all other tiles have in Vec exactly the extent of their value, and so the same indices.

use ir::builder::attrs;
use ir::{Attr, Dim, Op, Opcode, Type, Value};

use super::Kernel;
use crate::Fail;
use crate::access;
use crate::extent::Extent;
use crate::tile::{Place, is_column};

impl Kernel<'_> {
    /// Valid where its indices (`tgather`) or offsets of blocks (`tgatherb`) are.
    pub(super) fn tgather(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        if data.opcode == Opcode::TGatherB {
            self.no_columns(op)?;
        }
        let (value, indices) = (data.results[0], data.operands[1]);
        let extents = self.extents_like(value, indices)?;
        self.result(value, extents)?;
        self.emit(op)
    }

    /// The instruction zeroes the whole destination first, but does nothing if it has nothing to place.
    pub(super) fn tscatter(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let extents = self.given_extents(value, &[])?;
        self.result(value, extents)?;
        if self.extents(source)?.iter().any(|e| !matches!(e, Extent::Static(1..))) {
            let held = self.held(value, Place::Vec)?;
            self.zero_fill(held);
        }
        self.emit(op)
    }

    /// Columns of a pattern packed or spread, row by row.
    pub(super) fn pattern(&mut self, op: Op) -> Result<(), Fail> {
        self.no_columns(op)?;
        let data = &self.src.ops[op];
        let value = data.results[0];
        let extents = self.extents_like(value, data.named("source")[0])?;
        self.result(value, extents)?;
        self.emit(op)
    }

    /// From global memory. A column of rows of one element is gathered by elements.
    pub(super) fn gather(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let (value, indices) = (data.results[0], data.named("indices")[0]);
        let mut extents = self.extents(indices)?;
        if data.attrs.word("mode") == Some("row") {
            let ty = self.tile_type(value)?;
            let Dim::Static(columns) = ty.valid[1] else { return Err(self.internal("rows of unknown length")) };
            extents = vec![extents[1], Extent::Static(columns)];
        }
        self.result(value, extents)?;
        let memory = self.whole(data.named("tensor")[0])?;
        let indices = self.flat_view(indices, Place::Vec)?;
        let dest = self.flat_view(value, Place::Vec)?;
        let list = self.gather_attrs(op, value)?;
        let new = self.b.dest(Opcode::MGather, &[&[memory], &[indices]], dest, list);
        self.finish(value, new)
    }

    pub(super) fn scatter(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let (value, indices) = (data.named("tile")[0], data.named("indices")[0]);
        let memory = self.whole(data.named("tensor")[0])?;
        let source = self.flat_view(value, Place::Vec)?;
        let indices = self.flat_view(indices, Place::Vec)?;
        let list = self.gather_attrs(op, value)?;
        let new = self.b.dest(Opcode::MScatter, &[&[source], &[indices]], memory, list);
        self.complete(new);
        Ok(())
    }

    fn gather_attrs(&self, op: Op, tile: Value) -> Result<ir::Attrs, Fail> {
        let mut list = self.src.ops[op].attrs.clone();
        if is_column(&self.tile_type(tile)?) {
            list.set("mode", Attr::Word("elem".into()));
        }
        Ok(list)
    }

    /// A tensor as one box.
    fn whole(&mut self, tensor: Value) -> Result<Value, Fail> {
        let (tensor, param) = self.tensor(tensor)?;
        let axes = access::natural(param.ty.rank());
        let view = *self.views.get(&(tensor, axes)).ok_or_else(|| self.internal("a view that was not made"))?;
        let zero = self.index(0);
        let offsets = vec![zero; param.dims.len()];
        let mut sizes = Vec::new();
        for &dim in &param.dims {
            sizes.push(self.extent_value(dim));
        }
        let shape = param.dims.iter().map(|d| d.dim()).collect();
        let ty = Type::PartView { dtype: param.ty.dtype, shape };
        Ok(self.b.result(Opcode::PartitionView, &[&[view], &offsets, &sizes], ty, attrs([])))
    }
}
