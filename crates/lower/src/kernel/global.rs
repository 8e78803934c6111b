//! Global memory: views, loads, stores, single elements.

use std::collections::BTreeSet;

use ir::builder::attrs;
use ir::{Block, Dim, Op, Opcode, TensorType, Type, Value};

use super::{Kernel, TensorParam};
use crate::Fail;
use crate::access::{self, Access};
use crate::captures::ops_in;
use crate::extent::Extent;
use crate::tile::Place;

impl Kernel<'_> {
    pub(super) fn tensor(&self, value: Value) -> Result<(Value, TensorParam), Fail> {
        let captured = self.aliases.get(&value).copied();
        captured
            .and_then(|v| Some((v, self.tensors.get(&v)?.clone())))
            .ok_or_else(|| self.internal("a tensor that was not captured"))
    }

    /// Where a load goes.
    fn load_places(&self, value: Value) -> Vec<Place> {
        let mut places: Vec<Place> = self.spaces.needs(value).collect();
        if places.is_empty() {
            let cube_only = self.spaces.cube && !self.spaces.vector;
            places.push(if cube_only { Place::Mat { transposed: false } } else { Place::Vec });
        }
        places
    }

    fn load_access(&self, op: Op, place: Place) -> Result<Access, Fail> {
        let ty = self.tile_type(self.src.ops[op].results[0])?;
        access::load(self.src, op, &ty, place == Place::Mat { transposed: true })
    }

    /// Makes every view that the region uses, once.
    pub(super) fn views(&mut self, region: Block) -> Result<(), Fail> {
        let mut wanted = BTreeSet::new();
        for op in ops_in(self.src, region) {
            let data = &self.src.ops[op];
            match data.opcode {
                Opcode::Load => {
                    let tensor = self.tensor(data.named("tensor")[0])?.0;
                    for place in self.load_places(data.results[0]) {
                        wanted.insert((tensor, self.load_access(op, place)?.axes));
                    }
                }
                Opcode::Store => {
                    let tensor = self.tensor(data.named("tensor")[0])?.0;
                    let ty = self.tile_type(data.named("tile")[0])?;
                    wanted.insert((tensor, access::store(self.src, op, &ty)?.axes));
                }
                Opcode::Gather | Opcode::Scatter => {
                    let (tensor, param) = self.tensor(data.named("tensor")[0])?;
                    wanted.insert((tensor, access::natural(param.ty.rank())));
                }
                _ => {}
            }
        }
        for (tensor, axes) in wanted {
            let param = self.tensors[&tensor].clone();
            let (mut shape, mut strides, mut dims) = (Vec::new(), Vec::new(), (Vec::new(), Vec::new()));
            for axis in &axes {
                let (dim, stride) = match axis {
                    Some(a) => (param.dims[*a], param.strides[*a]),
                    None => (Extent::Static(1), Extent::Static(1)),
                };
                dims.0.push(dim.dim());
                dims.1.push(stride.dim());
                shape.push(self.extent_value(dim));
                strides.push(self.extent_value(stride));
            }
            let ty = TensorType { dtype: param.ty.dtype, shape: dims.0, strides: dims.1 };
            let view =
                self.b.result(Opcode::MakeTensorView, &[&[param.ptr], &shape, &strides], Type::View(ty), attrs([]));
            if let Some(name) = &self.src.values[tensor].name {
                self.b.name(view, &format!("{name}_view"));
            }
            self.views.insert((tensor, axes), view);
        }
        Ok(())
    }

    /// The box of an access, for a tile with these extents, or for its part from `at` on (by axis) with these extents.
    pub(super) fn part(&mut self, op: Op, access: &Access, extents: &[Extent], at: &[u64]) -> Result<Value, Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let tensor = self.tensor(data.named("tensor")[0])?.0;
        let view =
            *self.views.get(&(tensor, access.axes.clone())).ok_or_else(|| self.internal("a view that was not made"))?;
        let given = data.named("offsets");
        let (mut offsets, mut sizes, mut shape) = (Vec::new(), Vec::new(), Vec::new());
        for (i, axis) in access.axes.iter().enumerate() {
            let offset = match axis {
                Some(a) => self.scalars[&given[*a]],
                None => self.index(0),
            };
            offsets.push(match access.tile_axis[i].and_then(|t| at.get(t)) {
                Some(&n) if n > 0 => {
                    let n = self.index(n as i64);
                    self.arith(Opcode::ScalarAdd, offset, n)
                }
                _ => offset,
            });
            let extent = match access.tile_axis[i] {
                Some(t) => extents[t],
                None => Extent::Static(access.sizes[i]),
            };
            shape.push(extent.dim());
            sizes.push(self.extent_value(extent));
        }
        let dtype = self.tensors[&tensor].ty.dtype;
        let ty = Type::PartView { dtype, shape };
        Ok(self.b.result(Opcode::PartitionView, &[&[view], &offsets, &sizes], ty, attrs([])))
    }

    pub(super) fn load(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let value = data.results[0];
        let valid: Vec<Value> = data.named("valid").to_vec();
        let extents = self.given_extents(value, &valid)?;
        self.extents.insert(value, extents.clone());
        let mut is_complete = false;
        for place in self.load_places(value) {
            let access = self.load_access(op, place)?;
            // Not a box of rows and columns: refuse before anything is made.
            self.matrix_extents(value)?;
            let part = self.part(op, &access, &extents, &[])?;
            let fills = match place {
                Place::Vec => self.fills.is_needed(value),
                _ => self.is_read_beyond(value),
            };
            let held = if place == Place::Vec { self.define(value)? } else { self.define_away(value, place, fills)? };
            if fills {
                self.filled.insert(value);
                self.zero_fill(held);
            }
            let new = self.b.dest(Opcode::TLoad, &[&[part]], held.tile, attrs([]));
            // The value is reported once, and as it is.
            if !is_complete && place != (Place::Mat { transposed: true }) {
                self.complete(new);
                is_complete = true;
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let tile = data.named("tile")[0];
        // A folded conversion: the accumulator itself goes out, narrowed by the store.
        let source = match src.def_op(tile) {
            Some(def) if self.spaces.folded.contains(&def) => src.ops[def].named("a")[0],
            _ => tile,
        };
        let place = self.spaces.stored_from(source);
        let ty = self.tile_type(tile)?;
        let access = access::store(src, op, &ty)?;
        let atomic = data.attrs.get("atomic");
        if place == Place::Acc && self.spaces.is_pieced(source) {
            return self.store_pieces(op, source, &access, atomic);
        }
        let extents = self.extents(source)?;
        let part = self.part(op, &access, &extents, &[])?;
        let held = self.held(source, place)?;
        let mut list = attrs([]);
        if let Some(atomic) = atomic {
            list.set("atomic", atomic.clone());
        }
        let new = self.b.dest(Opcode::TStore, &[&[held.tile]], part, list);
        self.complete(new);
        Ok(())
    }

    /// The element index of one element, from the tensor's address.
    fn offset(&mut self, op: Op) -> Result<(Value, Value), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let (_, param) = self.tensor(data.named("tensor")[0])?;
        let mut offset = self.index(0);
        for (&index, &stride) in data.named("indices").iter().zip(&param.strides) {
            let index = self.scalar_index(index);
            let stride = self.extent_value(stride);
            let step = self.arith(Opcode::ScalarMul, index, stride);
            offset = self.arith(Opcode::ScalarAdd, offset, step);
        }
        Ok((param.ptr, offset))
    }

    pub(super) fn read(&mut self, op: Op) -> Result<(), Fail> {
        let result = self.src.ops[op].results[0];
        let (ptr, offset) = self.offset(op)?;
        let value = self.b.result(Opcode::LoadScalar, &[&[ptr], &[offset]], self.src.ty(result).clone(), attrs([]));
        if let Some(name) = &self.src.values[result].name {
            self.b.name(value, name);
        }
        self.scalars.insert(result, value);
        Ok(())
    }

    pub(super) fn write(&mut self, op: Op) -> Result<(), Fail> {
        let (ptr, offset) = self.offset(op)?;
        let value = self.scalars[&self.src.ops[op].named("value")[0]];
        let new = self.b.effect(Opcode::StoreScalar, &[&[value], &[ptr], &[offset]], attrs([]));
        self.complete(new);
        Ok(())
    }

    pub(super) fn tensor_dim(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let axis = data.attrs.int("axis").unwrap_or(0) as usize;
        let (_, param) = self.tensor(data.named("tensor")[0])?;
        let value = self.extent_value(param.dims[axis]);
        self.scalars.insert(data.results[0], value);
        Ok(())
    }

    /// Extents of a value whose operation states the dynamic ones, in order.
    pub(super) fn given_extents(&mut self, value: Value, given: &[Value]) -> Result<Vec<Extent>, Fail> {
        let ty = self.tile_type(value)?;
        let mut given = given.iter();
        let mut out = Vec::new();
        for dim in &ty.valid {
            out.push(match dim {
                Dim::Static(n) => Extent::Static(*n),
                Dim::Dynamic => {
                    let &v = given.next().ok_or_else(|| self.internal("a valid extent that is not given"))?;
                    Extent::Dynamic(self.scalar_index(v))
                }
            });
        }
        Ok(out)
    }
}
