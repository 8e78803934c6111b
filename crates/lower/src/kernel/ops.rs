//! Tile operations: value form to destination form.

use std::str::FromStr;

use chip::Space;
use dtype::RoundMode;
use ir::builder::attrs;
use ir::{Dim, Op, Opcode, TileType, Type, Value};

use super::{Held, Kernel};
use crate::Fail;
use crate::extent::Extent;
use crate::tile::{Place, flat, is_column};
use crate::{fill, uses, webs};

impl Kernel<'_> {
    pub(super) fn op(&mut self, op: Op) -> Result<(), Fail> {
        use Opcode as C;
        let opcode = self.src.ops[op].opcode;
        match opcode {
            C::Load => self.load(op),
            C::Store => self.store(op),
            C::Gather => self.gather(op),
            C::Scatter => self.scatter(op),
            C::Read => self.read(op),
            C::Write => self.write(op),
            C::TensorDim => self.tensor_dim(op),
            C::GetBlockIdx | C::GetBlockNum | C::GetSubblockIdx => {
                let value = self.launch_index(opcode);
                self.scalars.insert(self.src.ops[op].results[0], value);
                Ok(())
            }
            C::SyncAll => {
                let list = self.src.ops[op].attrs.clone();
                self.b.effect(C::SyncAll, &[], list);
                Ok(())
            }
            C::TileCreate => self.tile_create(op),
            C::TReshape => self.treshape(op),
            C::Bitcast => self.bitcast(op),
            C::SetValidShape => self.set_validshape(op),
            C::TExtract => self.textract(op),
            C::TInsert => self.tinsert(op),
            C::TGetVal => self.tgetval(op),
            C::TSetVal => self.tsetval(op),
            C::TCvt => self.tcvt(op),
            C::TExpandS => self.texpands(op),
            C::TCi => self.tci(op),
            C::TMatmul | C::TMatmulAcc | C::TMatmulBias => self.matmul(op),
            C::TMov
            | C::TAdd
            | C::TSub
            | C::TMul
            | C::TDiv
            | C::TMax
            | C::TMin
            | C::TRem
            | C::TFmod
            | C::TAnd
            | C::TOr
            | C::TXor
            | C::TShl
            | C::TShr
            | C::TPRelu
            | C::TAddS
            | C::TSubS
            | C::TMulS
            | C::TDivS
            | C::TMaxS
            | C::TMinS
            | C::TRemS
            | C::TFmodS
            | C::TAndS
            | C::TOrS
            | C::TXorS
            | C::TShlS
            | C::TShrS
            | C::TLRelu
            | C::TExp
            | C::TLog
            | C::TSqrt
            | C::TRsqrt
            | C::TRecip
            | C::TAbs
            | C::TNeg
            | C::TRelu
            | C::TNot => self.elementwise(op),
            C::TPartAdd | C::TPartMul | C::TPartMax | C::TPartMin => self.part_op(op),
            C::TCmp | C::TCmpS => self.compare(op),
            C::TSel | C::TSelS => self.select(op),
            C::TTri => self.ttri(op),
            C::TRandom => self.trandom(op),
            C::TGather | C::TGatherB => self.tgather(op),
            C::TScatter => self.tscatter(op),
            C::TGatherMask | C::TScatterMask => self.pattern(op),
            C::TSort32 | C::TMrgSort | C::TMrgSortLists => self.sort(op),
            C::TRowSum
            | C::TRowMax
            | C::TRowMin
            | C::TRowProd
            | C::TRowArgMax
            | C::TRowArgMin
            | C::TColSum
            | C::TColMax
            | C::TColMin
            | C::TColProd
            | C::TColArgMax
            | C::TColArgMin => self.reduce(op),
            C::TRowExpand | C::TColExpand => self.expand(op),
            C::TRowExpandAdd
            | C::TRowExpandSub
            | C::TRowExpandMul
            | C::TRowExpandDiv
            | C::TRowExpandMax
            | C::TRowExpandMin
            | C::TColExpandAdd
            | C::TColExpandSub
            | C::TColExpandMul
            | C::TColExpandDiv
            | C::TColExpandMax
            | C::TColExpandMin => self.broadcast(op),
            C::TTrans => self.ttrans(op),
            C::TFillPad => self.tfillpad(op),
            _ if self.is_scalar(op) => self.copy_scalar(op),
            _ => Err(self.fail("unsupported-op", format!("`{}` in a kernel scope is not supported", opcode.name()))),
        }
    }

    /// Neither operands nor results are tiles, tensors or views.
    fn is_scalar(&self, op: Op) -> bool {
        let data = &self.src.ops[op];
        let plain = |&v: &Value| matches!(self.src.ty(v), Type::Scalar(_) | Type::Array { .. });
        data.regions.is_empty() && data.operands.iter().chain(&data.results).all(plain)
    }

    /// Makes the result's buffer for its extents, with zeros where they may be seen.
    pub(super) fn result(&mut self, value: Value, extents: Vec<Extent>) -> Result<(), Fail> {
        self.extents.insert(value, extents);
        let held = self.define(value)?;
        if self.fills.is_needed(value) {
            self.zero_fill(held);
        }
        Ok(())
    }

    /// The last step of an operation: its value is whole; it goes where else it is needed.
    pub(super) fn finish(&mut self, value: Value, last: Op) -> Result<(), Fail> {
        self.complete(last);
        self.cross(value)
    }

    /// The smaller of two extents of an axis of size `n`.
    fn meet(&mut self, a: Extent, b: Extent, n: u64) -> Extent {
        match (a, b) {
            (Extent::Static(x), Extent::Static(y)) => Extent::Static(x.min(y)),
            (x, y) if x == y => x,
            (Extent::Static(x), y) if x == n => y,
            (x, Extent::Static(y)) if y == n => x,
            (x, y) => {
                let (x, y) = (self.extent_value(x), self.extent_value(y));
                Extent::Dynamic(self.arith(Opcode::ScalarMin, x, y))
            }
        }
    }

    /// Where all of these values, of one shape, are valid.
    pub(super) fn meet_all(&mut self, values: &[Value]) -> Result<Vec<Extent>, Fail> {
        let shape = self.tile_type(values[0])?.shape;
        let mut extents = self.extents(values[0])?;
        for &other in &values[1..] {
            let theirs = self.extents(other)?;
            extents = extents.iter().zip(&theirs).zip(&shape).map(|((&a, &b), &n)| self.meet(a, b, n)).collect();
        }
        Ok(extents)
    }

    /// The extents of `value`'s type; those that it leaves open are the ones of `source` along the same axis.
    pub(super) fn extents_like(&mut self, value: Value, source: Value) -> Result<Vec<Extent>, Fail> {
        let theirs = self.extents(source)?;
        let valid = self.tile_type(value)?.valid;
        Ok(valid.iter().zip(theirs).map(|(dim, theirs)| dim.known().map_or(theirs, Extent::Static)).collect())
    }

    /// Elementwise: the result is valid where all tile operands are; columns are computed as rows.
    fn elementwise(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let tiles: Vec<Value> = uses::inputs(data).filter(|&v| src.ty(v).as_tile().is_some()).collect();
        let extents = self.meet_all(&tiles)?;
        self.result(data.results[0], extents)?;
        self.emit(op)
    }

    /// Elementwise on parts: the result is valid where one operand is, which its type knows.
    fn part_op(&mut self, op: Op) -> Result<(), Fail> {
        let value = self.src.ops[op].results[0];
        let extents = self.given_extents(value, &[])?;
        self.result(value, extents)?;
        self.emit(op)
    }

    /// The instruction itself, into the result's buffer; columns as rows, scratch left to `assemble`.
    pub(super) fn emit(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let result = data.results[0];
        let mut groups = Vec::new();
        for (i, operand) in data.opcode.info().operands.iter().enumerate() {
            let mut group = Vec::new();
            for &v in data.group(i).iter().filter(|_| operand.name != "tmp") {
                group.push(match src.ty(v) {
                    Type::Tile(_) => self.flat_view(v, Place::Vec)?,
                    _ => self.scalars[&v],
                });
            }
            groups.push(group);
        }
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        let dest = self.flat_view(result, Place::Vec)?;
        let new = self.b.dest(data.opcode, &groups, dest, data.attrs.clone());
        self.finish(result, new)
    }

    /// Refuses an operation that is not the same on a column as on a row.
    pub(super) fn no_columns(&self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        for value in uses::inputs(data).chain(data.results.iter().copied()) {
            let Some(ty) = self.src.ty(value).as_tile().filter(|ty| is_column(ty)) else { continue };
            let message = format!(
                "`{}` with a tile of one column ({:?}) is not supported; one of one row is",
                data.opcode.name(),
                ty.shape
            );
            return Err(self.fail("column-tile", message));
        }
        Ok(())
    }

    /// The profile's chain of native conversions, all with the same mode.
    fn tcvt(&mut self, op: Op) -> Result<(), Fail> {
        let src = self.src;
        let data = &src.ops[op];
        let (source, result) = (data.named("a")[0], data.results[0]);
        if self.spaces.folded.contains(&op) {
            // Its stores do it; they need to know only its extents.
            let extents = self.extents(source)?;
            self.extents.insert(result, extents);
            return self.narrow(source, result);
        }
        let (from, to) = (self.tile_type(source)?.dtype, self.tile_type(result)?.dtype);
        let Some(hops) = dtype::convert::chain(from, to, self.profile) else {
            let message = format!("no chain of conversions of {} leads from {from} to {to} without loss", self.profile);
            return Err(self.fail("cast", message));
        };
        if data.attrs.word("mode").is_none_or(|m| RoundMode::from_str(m).is_err()) {
            return Err(self.internal("a conversion without a mode"));
        }
        let extents = self.extents(source)?;
        self.result(result, extents)?;
        let ty = self.tile_type(result)?;
        let matrix = self.matrix_extents(result)?;
        let (shape, matrix) = match is_column(&ty) {
            true => ((1, ty.rows()), [Extent::Static(1), matrix[0]]),
            false => (flat(&ty), matrix),
        };
        let mut tile = self.flat_view(source, Place::Vec)?;
        let mut last = None;
        for (i, &hop) in hops.iter().enumerate() {
            let dest = if i + 1 == hops.len() {
                self.flat_view(result, Place::Vec)?
            } else {
                self.make(hop, shape, Space::Vec, matrix)?
            };
            last = Some(self.b.dest(Opcode::TCvt, &[&[tile]], dest, data.attrs.clone()));
            tile = dest;
        }
        let last = last.ok_or_else(|| self.internal("a conversion of no step"))?;
        self.finish(result, last)
    }

    /// A folded conversion whose result is an operand of a matmul: the accumulator is narrowed on its way to Mat.
    fn narrow(&mut self, product: Value, result: Value) -> Result<(), Fail> {
        let mat = Place::Mat { transposed: false };
        if !self.spaces.needs(result).any(|p| p == mat) {
            return Ok(());
        }
        if self.spaces.is_pieced(product) {
            return self.pieces_to_mat(result, product);
        }
        let source = self.held(product, Place::Acc)?.tile;
        let dest = self.define_away(result, mat, false)?.tile;
        let new = self.b.dest(Opcode::TMov, &[&[source]], dest, attrs([]));
        self.complete(new);
        Ok(())
    }

    fn tile_create(&mut self, op: Op) -> Result<(), Fail> {
        let value = self.src.ops[op].results[0];
        if !self.spaces.is_used(value) {
            return Ok(());
        }
        let extents = self.given_extents(value, &[])?;
        self.extents.insert(value, extents);
        if self.spaces.home(value) == Place::Acc && !self.is_kept(value) {
            return Ok(());
        }
        let held = self.define(value)?;
        if fill::is_start_of_loop(self.src, self.uses, value) && self.choices.leave_out() {
            return self.cross(value);
        }
        let last = if self.spaces.home(value) == Place::Acc {
            self.zero_accumulator(value, held)?
        } else {
            self.zero_fill(held)
        };
        self.finish(value, last)
    }

    fn texpands(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let value = data.results[0];
        let extents = self.given_extents(value, data.named("valid"))?;
        if self.spaces.home(value) == Place::Acc {
            self.extents.insert(value, extents);
            if !self.is_kept(value) {
                return Ok(());
            }
            let held = self.define(value)?;
            let last = self.zero_accumulator(value, held)?;
            return self.finish(value, last);
        }
        self.result(value, extents)?;
        let scalar = self.scalars[&data.named("s")[0]];
        let dest = self.flat_view(value, Place::Vec)?;
        let valid = self.valid_group(dest);
        let new = self.b.dest(Opcode::TExpandS, &[&[scalar], &valid], dest, attrs([]));
        self.finish(value, new)
    }

    fn tci(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let value = data.results[0];
        let extents = self.given_extents(value, &[])?;
        self.result(value, extents)?;
        let start = self.scalars[&data.named("start")[0]];
        let dest = self.held(value, Place::Vec)?.tile;
        let new = self.b.dest(Opcode::TCi, &[&[start]], dest, data.attrs.clone());
        self.finish(value, new)
    }

    fn tfillpad(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let (old, new) = (self.tile_type(source)?, self.tile_type(value)?);
        let extents = self.given_extents(value, &[])?;
        self.result(value, extents)?;
        // Rows of the matrix stay where they are only if no axis between the first and the last grows.
        let inner = |t: &TileType| t.shape.get(1..t.shape.len() - 1).map(<[u64]>::to_vec);
        let (from, dest) = if old.shape == new.shape {
            (self.flat_view(source, Place::Vec)?, self.flat_view(value, Place::Vec)?)
        } else if inner(&old) == inner(&new) && !is_column(&old) {
            (self.held(source, Place::Vec)?.tile, self.held(value, Place::Vec)?.tile)
        } else {
            return self.pad_blocks(op);
        };
        let new = self.b.dest(Opcode::TFillPad, &[&[from]], dest, data.attrs.clone());
        self.finish(value, new)
    }

    /// A padding that moves rows: each block of rows (of the last axis but one) by itself, and those that the source does
    /// not have from a source without valid elements.
    fn pad_blocks(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let (old, new) = (self.tile_type(source)?, self.tile_type(value)?);
        let (held, [rows, cols]) = (self.held(value, Place::Vec)?, self.matrix_extents(source)?);
        let last = old.shape.len() - 1;
        let (height, taller) = (old.shape[last - 1], new.shape[last - 1]);
        // Columns are padded as the rows that elementwise instructions see.
        let as_rows = is_column(&old) && is_column(&new);
        let (from, dest) = if as_rows {
            let unit = chip::BLOCK_BYTES as u64 / old.dtype.size() as u64;
            if last > 1 && !(height.is_multiple_of(unit) && taller.is_multiple_of(unit)) {
                let message = format!(
                    "padding a {:?} tile of {} to {:?}: the columns inside must have multiples of {unit} elements",
                    old.shape, old.dtype, new.shape
                );
                return Err(self.fail("pad-shape", message));
            }
            let root = self.held(source, Place::Vec)?.root;
            (self.as_row(Held { root, tile: root }), self.as_row(held))
        } else if is_column(&old) {
            (self.widened(source)?, held.tile)
        } else {
            (self.held(source, Place::Vec)?.tile, held.tile)
        };
        let width = |tile: &Self, v: Value| tile.buffer_type(v).cols();
        let (narrow, wide) = (width(self, from), width(self, dest));
        let window = |start: u64, count: u64, width: u64| match as_rows {
            true => ((0, start), (1, count)),
            false => ((start, 0), (count, width)),
        };
        for (block, from_block) in blocks(&old.shape[..last - 1], &new.shape[..last - 1]).into_iter().enumerate() {
            let start = from_block.unwrap_or(0) * height;
            let valid = match from_block {
                Some(_) => self.part_extent(rows, old.rows(), start, height),
                None => Extent::Static(0),
            };
            let extents = if as_rows { [Extent::Static(1), valid] } else { [valid, cols] };
            let (at, size) = window(start, height, narrow);
            let part = self.window_at(from, at, size, extents);
            let (at, size) = window(block as u64 * taller, taller, wide);
            let padded = self.window_at(dest, at, size, [Extent::Static(size.0), Extent::Static(size.1)]);
            self.b.dest(Opcode::TFillPad, &[&[part]], padded, data.attrs.clone());
        }
        self.complete_whole(held.tile);
        self.cross(value)
    }

    /// A column in the first column of a matrix of whole blocks.
    fn widened(&mut self, column: Value) -> Result<Value, Fail> {
        let ty = self.tile_type(column)?;
        let extents = self.matrix_extents(column)?;
        let unit = chip::BLOCK_BYTES as u64 / ty.dtype.size() as u64;
        let matrix = self.make(ty.dtype, (ty.rows(), unit), Space::Vec, extents)?;
        let from = self.held(column, Place::Vec)?.tile;
        self.b.dest(Opcode::TRowExpand, &[&[from]], matrix, attrs([]));
        Ok(matrix)
    }

    /// Reductions: the kept axis' extent stays, the other is 1.
    fn reduce(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let rows = matches!(
            data.opcode,
            Opcode::TRowSum
                | Opcode::TRowMax
                | Opcode::TRowMin
                | Opcode::TRowProd
                | Opcode::TRowArgMax
                | Opcode::TRowArgMin
        );
        let mut extents = self.extents(source)?;
        let axis = if rows { extents.len() - 1 } else { 0 };
        let empty = !matches!(extents[axis], Extent::Static(1..));
        extents[axis] = Extent::Static(1);
        self.result(value, extents)?;
        if empty {
            // The instruction writes nothing if there is nothing to reduce.
            let held = self.held(value, Place::Vec)?;
            self.zero_fill(held);
        }
        // The instruction takes rows.
        let column = is_column(&self.tile_type(source)?);
        let from = if column { self.widened(source)? } else { self.held(source, Place::Vec)?.tile };
        let dest = self.held(value, Place::Vec)?.tile;
        let new = self.b.dest(data.opcode, &[&[from], &[]], dest, attrs([]));
        self.finish(value, new)
    }

    /// A vector spread over a matrix.
    fn expand(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (vector, value) = (data.named("v")[0], data.results[0]);
        let ty = self.tile_type(value)?;
        let mut extents = self.extents(vector)?;
        let axis = if data.opcode == Opcode::TRowExpand { extents.len() - 1 } else { 0 };
        let Dim::Static(n) = ty.valid[axis] else {
            return Err(self.fail("valid-region", "a broadcast needs a known extent along the axis it spreads over"));
        };
        extents[axis] = Extent::Static(n);
        self.result(value, extents)?;
        let new = if is_column(&ty) {
            // A column spread over one column.
            let (from, dest) = (self.flat_view(vector, Place::Vec)?, self.flat_view(value, Place::Vec)?);
            self.b.dest(Opcode::TMov, &[&[from]], dest, attrs([]))
        } else {
            let (from, dest) = (self.held(vector, Place::Vec)?.tile, self.held(value, Place::Vec)?.tile);
            self.b.dest(data.opcode, &[&[from]], dest, attrs([]))
        };
        self.finish(value, new)
    }

    /// A matrix with a vector. On a column both are columns, and the operation is elementwise.
    fn broadcast(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (a, v, value) = (data.named("a")[0], data.named("v")[0], data.results[0]);
        let extents = self.extents(a)?;
        let column = is_column(&self.tile_type(value)?);
        if let (true, Some(plain)) = (column, without_broadcast(data.opcode)) {
            self.result(value, extents)?;
            let (x, y) = (self.flat_view(a, Place::Vec)?, self.flat_view(v, Place::Vec)?);
            let dest = self.flat_view(value, Place::Vec)?;
            let new = self.b.dest(plain, &[&[x], &[y]], dest, attrs([]));
            return self.finish(value, new);
        }
        self.result(value, extents)?;
        let (x, y) = (self.held(a, Place::Vec)?.tile, self.held(v, Place::Vec)?.tile);
        let dest = self.held(value, Place::Vec)?.tile;
        let new = self.b.dest(data.opcode, &[&[x], &[y]], dest, data.attrs.clone());
        self.finish(value, new)
    }

    fn ttrans(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let mut extents = self.extents(source)?;
        extents.swap(0, 1);
        self.result(value, extents)?;
        let (from_column, to_column) = (is_column(&self.tile_type(source)?), is_column(&self.tile_type(value)?));
        let new = if from_column || to_column {
            // One row or column: the elements are in order already.
            let (from, dest) = (self.flat_view(source, Place::Vec)?, self.flat_view(value, Place::Vec)?);
            self.b.dest(Opcode::TMov, &[&[from]], dest, attrs([]))
        } else {
            let (from, dest) = (self.held(source, Place::Vec)?.tile, self.held(value, Place::Vec)?.tile);
            self.b.dest(Opcode::TTrans, &[&[from], &[]], dest, attrs([]))
        };
        self.finish(value, new)
    }

    /// A reshape names the source's bytes if both share a buffer, and copies them if not.
    fn treshape(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let (from, to) = (self.tile_type(source)?, self.tile_type(value)?);
        let theirs = self.extents(source)?;
        let full = |e: &[Extent], shape: &[u64]| e.iter().zip(shape).all(|(&e, &n)| e == Extent::Static(n));
        let extents = if full(&theirs, &from.shape) {
            to.shape.iter().map(|&n| Extent::Static(n)).collect()
        } else {
            // Kept where only axes of one element come or go.
            let real = |ty: &TileType| ty.shape.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
            let (kept, units): (Vec<_>, Vec<_>) = theirs.iter().zip(&from.shape).partition(|(_, n)| **n != 1);
            if real(&from) != real(&to) || units.iter().any(|(e, _)| **e != Extent::Static(1)) {
                let message = format!(
                    "a reshape of a partly valid tile from {:?} to {:?}; supported are whole axes of one element that come \
                     or go",
                    from.shape, to.shape
                );
                return Err(self.fail("valid-region", message));
            }
            let mut kept = kept.into_iter().map(|(&e, _)| e);
            let extent = |&n: &u64| if n == 1 { Extent::Static(1) } else { kept.next().unwrap_or(Extent::Static(n)) };
            to.shape.iter().map(extent).collect()
        };
        self.extents.insert(value, extents);
        self.same_bytes(source, value)
    }

    /// Both types are fully valid.
    fn bitcast(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let extents = self.given_extents(value, &[])?;
        self.extents.insert(value, extents);
        self.same_bytes(source, value)
    }

    fn set_validshape(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("tile")[0], data.results[0]);
        let ty = self.tile_type(value)?;
        if ty.shape.len() != 2 {
            return Err(self.fail("valid-region", "`set_validshape` takes a tile of two axes"));
        }
        let given = [data.named("row")[0], data.named("col")[0]];
        let mut extents = Vec::new();
        for (dim, v) in ty.valid.iter().zip(given) {
            extents.push(match dim {
                Dim::Static(n) => Extent::Static(*n),
                Dim::Dynamic => Extent::Dynamic(self.scalar_index(v)),
            });
        }
        self.extents.insert(value, extents);
        self.same_bytes(source, value)
    }

    /// `value` is `source` under another descriptor.
    fn same_bytes(&mut self, source: Value, value: Value) -> Result<(), Fail> {
        let held = self.define(value)?;
        if self.webs.share(source, value) {
            // The descriptor was made last, unless the buffer has that shape itself. It keeps its bytes only as long as
            // an instruction reads them later: without one there is nothing to report.
            let reads = |&op: &Op| {
                let data = &self.src.ops[op];
                !webs::renames(data.opcode) && !data.opcode.is_terminator() && data.regions.is_empty()
            };
            let made = self.b.func.def_op(held.tile).filter(|&d| self.b.func.ops[d].opcode != Opcode::AllocTile);
            if let (Some(made), true) = (made, self.uses.of(value).iter().any(reads)) {
                self.complete(made);
            }
            return self.cross(value);
        }
        // All of the source's bytes, valid or not: nothing is said about what becomes valid.
        let ty = self.tile_type(value)?;
        let from = self.held(source, Place::Vec)?.root;
        let (rows, cols) = if is_column(&ty) { (1, ty.rows()) } else { flat(&ty) };
        let (from, dest) = (self.recast(from, ty.dtype, rows, cols), self.reshape(held.root, rows, cols));
        let copy = self.b.dest(Opcode::TMov, &[&[from]], dest, attrs([]));
        let matrix = self.matrix_extents(value)?;
        let tile = self.window(held.root, matrix);
        if tile == held.root {
            return self.finish(value, copy);
        }
        self.tiles.insert((value, Place::Vec), Held { root: held.root, tile });
        match self.b.func.def_op(tile) {
            Some(window) => self.finish(value, window),
            None => self.cross(value),
        }
    }

    fn textract(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, value) = (data.named("source")[0], data.results[0]);
        let extents = self.given_extents(value, data.named("valid"))?;
        self.result(value, extents)?;
        let (row, col) = (self.scalar_index(data.named("row")[0]), self.scalar_index(data.named("col")[0]));
        let (from, dest) = (self.held(source, Place::Vec)?.tile, self.held(value, Place::Vec)?.tile);
        let valid = self.valid_group(dest);
        let new = self.b.dest(Opcode::TExtract, &[&[from], &[row], &[col], &valid], dest, attrs([]));
        self.finish(value, new)
    }

    fn tinsert(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, target) = (data.named("source")[0], data.dests[0]);
        let (row, col) = (self.scalar_index(data.named("row")[0]), self.scalar_index(data.named("col")[0]));
        let (from, dest) = (self.held(source, Place::Vec)?.tile, self.held(target, Place::Vec)?.tile);
        let new = self.b.dest(Opcode::TInsert, &[&[from], &[row], &[col]], dest, attrs([]));
        self.complete(new);
        Ok(())
    }

    fn tgetval(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let (source, result) = (data.named("source")[0], data.results[0]);
        let (row, col) = (self.scalar_index(data.named("row")[0]), self.scalar_index(data.named("col")[0]));
        let from = self.held(source, Place::Vec)?.tile;
        let ty = self.src.ty(result).clone();
        let value = self.b.result(Opcode::TGetVal, &[&[from], &[row], &[col]], ty, attrs([]));
        if let Some(name) = &self.src.values[result].name {
            self.b.name(value, name);
        }
        self.scalars.insert(result, value);
        Ok(())
    }

    fn tsetval(&mut self, op: Op) -> Result<(), Fail> {
        let data = &self.src.ops[op];
        let target = data.dests[0];
        let (row, col) = (self.scalar_index(data.named("row")[0]), self.scalar_index(data.named("col")[0]));
        let value = self.scalars[&data.named("value")[0]];
        let dest = self.held(target, Place::Vec)?.tile;
        let new = self.b.dest(Opcode::TSetVal, &[&[row], &[col], &[value]], dest, attrs([]));
        self.complete(new);
        Ok(())
    }
}

/// For each index of the axes `new`, in order, the number of the same index of the smaller axes `old`, which have it or not.
fn blocks(old: &[u64], new: &[u64]) -> Vec<Option<u64>> {
    let mut all = vec![Some(0)];
    for (&n, &more) in old.iter().zip(new) {
        let next = |at: Option<u64>| (0..more).map(move |i| at.filter(|_| i < n).map(|at| at * n + i));
        all = all.into_iter().flat_map(next).collect();
    }
    all
}

/// The elementwise operation of a row broadcast.
fn without_broadcast(opcode: Opcode) -> Option<Opcode> {
    Some(match opcode {
        Opcode::TRowExpandAdd => Opcode::TAdd,
        Opcode::TRowExpandSub => Opcode::TSub,
        Opcode::TRowExpandMul => Opcode::TMul,
        Opcode::TRowExpandDiv => Opcode::TDiv,
        Opcode::TRowExpandMax => Opcode::TMax,
        Opcode::TRowExpandMin => Opcode::TMin,
        _ => return None,
    })
}
