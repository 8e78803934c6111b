//! Buffers of tile values: allocation, valid regions, other shapes of the same bytes, moves to another space.

use chip::Space;
use dtype::DType;
use ir::builder::attrs;
use ir::{Dim, Layout, Op, Opcode, TileType, Type, Value};

use super::{Kernel, sizes};
use crate::Fail;
use crate::extent::{Extent, cut_axis};
use crate::tile::{self, Place, flat, is_column};
use crate::webs::{self, Web};

/// A value in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The whole buffer, fully valid; the same as `tile` where nothing asks for another descriptor of the bytes.
    pub(crate) root: Value,
    /// The descriptor with the value's shape and valid region.
    pub(crate) tile: Value,
}

impl Kernel<'_> {
    pub(super) fn tile_type(&self, value: Value) -> Result<TileType, Fail> {
        self.src.ty(value).as_tile().cloned().ok_or_else(|| self.internal("a tile that is none"))
    }

    pub(super) fn buffer_type(&self, value: Value) -> TileType {
        match self.b.func.ty(value) {
            Type::Tile(t) => t.clone(),
            _ => unreachable!("descriptors are tiles"),
        }
    }

    /// The valid rows and columns of a value as a matrix.
    pub(super) fn matrix_extents(&mut self, value: Value) -> Result<[Extent; 2], Fail> {
        let ty = self.tile_type(value)?;
        let extents = self.extents(value)?;
        let last = extents[extents.len() - 1];
        let rows = match cut_axis(&ty.shape, &extents) {
            None => {
                return Err(self.fail(
                    "valid-region",
                    format!(
                        "the valid region of this {:?} tile is not a box of its rows and columns: beside the last axis, only \
                         the first that is longer than 1 may be partly valid",
                        ty.shape
                    ),
                ));
            }
            Some(None) => Extent::Static(ty.rows()),
            Some(Some((axis, inner))) => match extents[axis] {
                Extent::Static(n) => Extent::Static(n * inner),
                Extent::Dynamic(v) => {
                    let inner = self.index(inner as i64);
                    Extent::Dynamic(self.arith(Opcode::ScalarMul, v, inner))
                }
            },
        };
        Ok([rows, last])
    }

    /// A buffer of its own, fully valid.
    pub(super) fn alloc(&mut self, ty: TileType) -> Result<Value, Fail> {
        tile::check(&ty, self.arch, self.b.span)?;
        Ok(self.b.alloc_tile(ty, None, None))
    }

    /// A buffer of its own for `rows × cols` elements of which `extents` are valid.
    pub(super) fn make(
        &mut self,
        dtype: DType,
        (rows, cols): (u64, u64),
        space: Space,
        extents: [Extent; 2],
    ) -> Result<Value, Fail> {
        let ty = tile::buffer(dtype, rows, cols, space, self.arch);
        tile::check(&ty, self.arch, self.b.span)?;
        let ty = tile::with_valid(&ty, extents.map(Extent::dim));
        Ok(self.b.alloc_tile(ty, extents[0].value(), extents[1].value()))
    }

    /// The descriptor of a buffer's bytes with these valid extents.
    pub(super) fn window(&mut self, root: Value, extents: [Extent; 2]) -> Value {
        let ty = self.buffer_type(root);
        if ty.valid == extents.map(Extent::dim) {
            return root;
        }
        self.window_at(root, (0, 0), (ty.shape[0], ty.shape[1]), extents)
    }

    /// A part of a buffer, with these valid extents.
    pub(super) fn window_at(
        &mut self,
        root: Value,
        (row, col): (u64, u64),
        (height, width): (u64, u64),
        extents: [Extent; 2],
    ) -> Value {
        let ty = tile::with_valid(&self.buffer_type(root), extents.map(Extent::dim));
        let window = TileType { shape: vec![height, width], ..ty };
        let (row, col) = (self.index(row as i64), self.index(col as i64));
        let [r, c] = extents.map(|e| e.value().into_iter().collect::<Vec<_>>());
        let size = attrs([sizes(height, width)]);
        self.b.result(Opcode::Subview, &[&[root], &[row], &[col], &r, &c], Type::Tile(window), size)
    }

    /// No single operation wrote the whole value: a window of all of it stands for that.
    pub(super) fn complete_whole(&mut self, tile: Value) {
        let ty = self.buffer_type(tile);
        let extents = self.valid_of(tile);
        let all = self.window_at(tile, (0, 0), (ty.shape[0], ty.shape[1]), extents);
        if let Some(window) = self.b.func.def_op(all) {
            self.complete(window);
        }
    }
    /// The descriptor of a fully valid Vec buffer's bytes with another matrix shape.
    pub(super) fn reshape(&mut self, root: Value, rows: u64, cols: u64) -> Value {
        let ty = self.buffer_type(root);
        let new = tile::buffer(ty.dtype, rows, cols, Space::Vec, self.arch);
        if ty.shape == new.shape && ty.layout == new.layout {
            return root;
        }
        self.b.result(Opcode::TReshape, &[&[root]], Type::Tile(new), attrs([]))
    }

    /// [`Kernel::reshape`], for elements of this type.
    pub(super) fn recast(&mut self, root: Value, dtype: DType, rows: u64, cols: u64) -> Value {
        if self.buffer_type(root).dtype == dtype {
            return self.reshape(root, rows, cols);
        }
        let new = tile::buffer(dtype, rows, cols, Space::Vec, self.arch);
        self.b.result(Opcode::Bitcast, &[&[root]], Type::Tile(new), attrs([]))
    }

    /// A column as the one row that elementwise instructions take.
    pub(super) fn as_row(&mut self, held: Held) -> Value {
        let (ty, valid) = (self.buffer_type(held.root), self.valid_of(held.tile));
        let row = TileType { layout: Layout::ROW_MAJOR, ..TileType::value(ty.dtype, vec![1, ty.rows()]) };
        let row = TileType { space: ty.space, ..row };
        let row = self.b.result(Opcode::TReshape, &[&[held.root]], Type::Tile(row), attrs([]));
        self.window(row, [Extent::Static(1), valid[0]])
    }

    /// The valid extents of a descriptor made here.
    pub(super) fn valid_of(&self, tile: Value) -> [Extent; 2] {
        let ty = self.buffer_type(tile);
        let def = self.b.func.def_op(tile).map(|op| &self.b.func.ops[op]);
        let given = |name: &str| def.and_then(|d| d.opcode.info().group(name).map(|g| d.group(g)));
        let one = |dim: Dim, name: &str| match (dim, given(name)) {
            (Dim::Static(n), _) => Extent::Static(n),
            (Dim::Dynamic, Some(&[v])) => Extent::Dynamic(v),
            (Dim::Dynamic, _) => Extent::Static(0),
        };
        [one(ty.valid[0], "valid_row"), one(ty.valid[1], "valid_col")]
    }

    /// What an elementwise instruction uses for a value: its descriptor, or the row of a column.
    pub(super) fn flat_view(&mut self, value: Value, place: Place) -> Result<Value, Fail> {
        let held = self.held(value, place)?;
        if place == Place::Vec && is_column(&self.tile_type(value)?) {
            return Ok(self.as_row(held));
        }
        Ok(held.tile)
    }

    pub(super) fn held(&self, value: Value, place: Place) -> Result<Held, Fail> {
        self.tiles
            .get(&(value, place))
            .copied()
            .ok_or_else(|| self.internal(&format!("a tile that is not in {}", tile::shown(place.space()))))
    }

    /// Allocates the webs whose buffers are made before `op`.
    pub(super) fn allocate(&mut self, op: Op) -> Result<(), Fail> {
        let webs = self.webs;
        let Some(list) = webs.allocate.get(&op) else { return Ok(()) };
        for &web in list {
            let value = webs::representative(webs, web);
            let ty = self.tile_type(value)?;
            let (rows, cols) = flat(&ty);
            let place = self.spaces.home(value);
            let buffer = tile::buffer(ty.dtype, rows, cols, place.space(), self.arch);
            let buffer = match self.common_valid(web) {
                Some(valid) => tile::with_valid(&buffer, valid),
                None => buffer,
            };
            let span = self.b.span;
            if let Some(def) = self.src.def_op(value) {
                self.b.span = self.src.ops[def].span;
            }
            let root = self.alloc(buffer)?;
            self.b.span = span;
            if let Some(name) = &self.src.values[value].name {
                self.b.name(root, name);
            }
            self.roots.insert(web, root);
        }
        Ok(())
    }

    /// The valid region of all values of a web, if it is one and known: then the buffer has it and needs no windows.
    fn common_valid(&self, web: Web) -> Option<[Dim; 2]> {
        let mut common = None;
        if !webs::one_shape(self.src, self.webs, web) {
            return None;
        }
        for &v in self.webs.members(web) {
            let ty = self.src.ty(v).as_tile()?;
            let known = ty.valid.iter().all(|d| d.known().is_some());
            if !known || ty.shape.len() != 2 || self.fills.is_needed(v) {
                return None;
            }
            // Columns are reshaped, which takes whole buffers.
            if !ty.is_fully_valid() && (is_column(ty) || self.is_reshaped(v)) {
                return None;
            }
            let valid = [ty.valid[0], ty.valid[1]];
            if common.is_some_and(|c| c != valid) {
                return None;
            }
            common = Some(valid);
        }
        common
    }

    fn is_reshaped(&self, value: Value) -> bool {
        self.uses.of(value).iter().any(|&op| webs::renames(self.src.ops[op].opcode))
    }

    /// Makes the buffer (or the descriptor in the buffer of its web) of a value at its home, for its extents.
    pub(super) fn define(&mut self, value: Value) -> Result<Held, Fail> {
        let place = self.spaces.home(value);
        let held = self.define_at(value, place)?;
        self.tiles.insert((value, place), held);
        Ok(held)
    }

    fn define_at(&mut self, value: Value, place: Place) -> Result<Held, Fail> {
        let ty = self.tile_type(value)?;
        let (rows, cols) = flat(&ty);
        let extents = self.matrix_extents(value)?;
        if self.webs.is_early(value) {
            let web = self.webs.of(value);
            let root = *self.roots.get(&web).ok_or_else(|| self.internal("a buffer that is not there yet"))?;
            let root = if place == Place::Vec { self.recast(root, ty.dtype, rows, cols) } else { root };
            let tile = self.window(root, extents);
            return Ok(Held { root, tile });
        }
        let full = [Extent::Static(rows), Extent::Static(cols)];
        let partial = extents != full;
        let copies = |op: Op| webs::renames(self.src.ops[op].opcode);
        let renamed = self.is_reshaped(value) || self.src.def_op(value).is_some_and(copies);
        let whole = partial && (is_column(&ty) || self.fills.is_needed(value) || renamed);
        let held = if whole {
            let buffer = tile::buffer(ty.dtype, rows, cols, place.space(), self.arch);
            let root = self.alloc(buffer)?;
            Held { root, tile: self.window(root, extents) }
        } else {
            let tile = self.make(ty.dtype, (rows, cols), place.space(), extents)?;
            Held { root: tile, tile }
        };
        if let Some(name) = &self.src.values[value].name {
            self.b.name(held.tile, name);
        }
        Ok(held)
    }

    /// A buffer for a value that is away from home; `whole`: something writes all of it.
    pub(super) fn define_away(&mut self, value: Value, place: Place, whole: bool) -> Result<Held, Fail> {
        let ty = self.tile_type(value)?;
        let (mut shape, mut extents) = (flat(&ty), self.matrix_extents(value)?);
        if place == (Place::Mat { transposed: true }) {
            shape = (shape.1, shape.0);
            extents.swap(0, 1);
        }
        let partial_column = place == Place::Vec && is_column(&ty) && extents[0] != Extent::Static(shape.0);
        let held = if whole || partial_column {
            let root = self.alloc(tile::buffer(ty.dtype, shape.0, shape.1, place.space(), self.arch))?;
            Held { root, tile: self.window(root, extents) }
        } else {
            let tile = self.make(ty.dtype, shape, place.space(), extents)?;
            Held { root: tile, tile }
        };
        self.tiles.insert((value, place), held);
        Ok(held)
    }

    /// Moves a value that was just made to the other spaces where it is used.
    pub(super) fn cross(&mut self, value: Value) -> Result<(), Fail> {
        let home = self.spaces.home(value);
        for place in self.spaces.needs(value).collect::<Vec<_>>() {
            if place != home && !self.webs.is_changed(value) {
                self.cross_to(value, place)?;
            }
        }
        Ok(())
    }

    /// A value elsewhere than at home, for a use. One that is changed in place moves at each use, not when it is made.
    pub(super) fn operand_in(&mut self, value: Value, place: Place) -> Result<Value, Fail> {
        if self.webs.is_changed(value) && self.spaces.home(value) != place {
            self.cross_to(value, place)?;
        }
        Ok(self.held(value, place)?.tile)
    }

    fn cross_to(&mut self, value: Value, place: Place) -> Result<(), Fail> {
        let home = self.spaces.home(value);
        match (home, place) {
            (Place::Vec, Place::Mat { transposed: true }) => {
                let source = self.held(value, Place::Vec)?.tile;
                self.transpose_to_mat(value, source)?;
            }
            (Place::Acc, Place::Mat { transposed: true }) => {
                let source = match self.tiles.get(&(value, Place::Vec)) {
                    Some(held) => held.tile,
                    None => self.move_to(value, Place::Acc, Place::Vec)?,
                };
                self.transpose_to_mat(value, source)?;
            }
            (_, Place::Acc) => return Err(self.internal("a move into the accumulator")),
            _ => {
                self.move_to(value, home, place)?;
            }
        }
        Ok(())
    }

    fn move_to(&mut self, value: Value, from: Place, to: Place) -> Result<Value, Fail> {
        let source = self.held(value, from)?.tile;
        let held = self.define_away(value, to, false)?;
        self.b.dest(Opcode::TMov, &[&[source]], held.tile, attrs([]));
        Ok(held.tile)
    }

    fn transpose_to_mat(&mut self, value: Value, source: Value) -> Result<(), Fail> {
        let ty = self.tile_type(value)?;
        let [rows, cols] = self.matrix_extents(value)?;
        let (r, c) = flat(&ty);
        let turned = self.make(ty.dtype, (c, r), Space::Vec, [cols, rows])?;
        self.b.dest(Opcode::TTrans, &[&[source], &[]], turned, attrs([]));
        let held = self.define_away(value, Place::Mat { transposed: true }, false)?;
        self.b.dest(Opcode::TMov, &[&[turned]], held.tile, attrs([]));
        Ok(())
    }

    /// The dynamic extents of a descriptor, as the `valid` group of the operation that writes it.
    pub(super) fn valid_group(&self, tile: Value) -> Vec<Value> {
        self.valid_of(tile).into_iter().filter_map(Extent::value).collect()
    }

    /// Zeros in the whole buffer of a Vec or Mat value.
    pub(super) fn zero_fill(&mut self, held: Held) -> Op {
        let ty = self.buffer_type(held.root);
        let zero = self.literal(dtype::Scalar::from_i64(ty.dtype, 0));
        let root = if is_column(&ty) && ty.space == Some(Space::Vec) {
            self.as_row(Held { root: held.root, tile: held.root })
        } else {
            held.root
        };
        self.b.dest(Opcode::TExpandS, &[&[zero], &[]], root, attrs([]))
    }
}
