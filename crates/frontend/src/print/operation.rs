//! What one operation is written as: a call of the face that makes just this operation of just these operands.

use ir::{Attr, Dim, OpData, Opcode, TileType, Type, Value};

use super::indexed::flag;
use super::{Printer, Res, attr_text, dtype_text, unsupported};
use crate::faces::{FACES, Meaning};
use crate::ops::memory::align;

/// The face whose meaning is an operation, and whether it is one of a tile and a number.
fn face(opcode: Opcode) -> Option<(&'static str, bool)> {
    FACES.iter().find_map(|face| match face.meaning {
        Meaning::Binary(b) if b.tiles == opcode => Some((face.name, false)),
        Meaning::Binary(b) if b.scalar == Some(opcode) => Some((face.name, true)),
        Meaning::Unary { op, .. } | Meaning::Reduce(op) | Meaning::Expand(op) if op == opcode => {
            Some((face.name, false))
        }
        _ => None,
    })
}

impl Printer<'_> {
    /// The text of an operation without a result; `None` for one with.
    pub(super) fn effect(&self, data: &OpData) -> Res<Option<String>> {
        let named = |name: &str| data.named(name);
        Ok(Some(match data.opcode {
            Opcode::Store => self.store(data)?,
            Opcode::Scatter => self.scatter(data)?,
            Opcode::Write => {
                let tensor = self.value(named("tensor")[0])?;
                let (indices, value) = (self.list(named("indices"))?, self.number(named("value")[0])?);
                format!("pl.write({tensor}, {indices}, {value})")
            }
            Opcode::TSetVal => {
                let tile = data.dests[0];
                let cell = self.cell(tile, data)?;
                format!("pl.write({}, {cell}, {})", self.value(tile)?, self.number(named("value")[0])?)
            }
            Opcode::TInsert => {
                let place = self.list(&[named("row")[0], named("col")[0]])?;
                let (target, source) = (self.value(data.dests[0])?, self.value(named("source")[0])?);
                format!("pl.assemble({target}, {source}, {place})")
            }
            Opcode::ArraySet => {
                let (array, index) = (self.value(named("array")[0])?, self.number(named("index")[0])?);
                format!("pl.array.update_element({array}, {index}, {})", self.number(named("value")[0])?)
            }
            Opcode::SyncAll => match data.attrs.word("core_type") {
                Some(cores) => format!("pl.system.syncall(core_type=\"{cores}\")"),
                None => "pl.system.syncall()".into(),
            },
            _ if data.results.is_empty() => return Err(unsupported(&format!("`{}`", data.opcode.name()))),
            _ => return Ok(None),
        }))
    }

    /// The text of an operation with one result.
    pub(super) fn expression(&self, data: &OpData) -> Res<String> {
        let opcode = data.opcode;
        let refuse = || Err(unsupported(&format!("`{}`", opcode.name())));
        let result = match data.results[..] {
            [result] if data.dests.is_empty() => result,
            _ => return refuse(),
        };
        if let Some(text) = self.scalar_expression(data)? {
            return Ok(text);
        }
        if let Some(text) = self.tensor_expression(data, result)? {
            return Ok(text);
        }
        if let (Some((name, with_scalar)), Some(_)) = (face(opcode), self.func.ty(result).as_tile()) {
            let mut operands = data.operands.iter().map(|&v| self.number(v)).collect::<Res<Vec<_>>>()?;
            if with_scalar && data.attrs.bool("reverse") {
                operands.reverse();
            }
            // Reductions and row and column operations may have scratch operands, which the language has not.
            let own = data.attrs.iter().all(|(name, _)| name == "reverse");
            return if own { Ok(format!("pl.{name}({})", operands.join(", "))) } else { refuse() };
        }
        if let Some(text) = self.tile_expression(data, result)? {
            return Ok(text);
        }
        match self.indexed_expression(data, result)? {
            Some(text) => Ok(text),
            None => refuse(),
        }
    }

    fn scalar_expression(&self, data: &OpData) -> Res<Option<String>> {
        use Opcode as C;
        let operand = |i: usize| self.number(data.operands[i]);
        let is_bool = |v: Value| *self.func.ty(v) == Type::BOOL;
        let infix = |word: &str| -> Res<Option<String>> { Ok(Some(format!("{} {word} {}", operand(0)?, operand(1)?))) };
        match data.opcode {
            C::ScalarAdd => infix("+"),
            C::ScalarSub => infix("-"),
            C::ScalarMul => infix("*"),
            C::ScalarDiv if self.func.ty(data.operands[0]).element().is_some_and(|d| d.is_float()) => infix("/"),
            C::ScalarDiv => infix("//"),
            C::ScalarRem => infix("%"),
            C::ScalarAnd if is_bool(data.operands[0]) => infix("and"),
            C::ScalarOr if is_bool(data.operands[0]) => infix("or"),
            C::ScalarAnd => infix("&"),
            C::ScalarOr => infix("|"),
            C::ScalarXor => infix("^"),
            C::ScalarShl => infix("<<"),
            C::ScalarShr => infix(">>"),
            C::ScalarCmp => infix(match data.attrs.word("predicate") {
                Some("eq") => "==",
                Some("ne") => "!=",
                Some("lt") => "<",
                Some("le") => "<=",
                Some("gt") => ">",
                _ => ">=",
            }),
            C::ScalarMin => Ok(Some(format!("pl.min({}, {})", operand(0)?, operand(1)?))),
            C::ScalarMax => Ok(Some(format!("pl.max({}, {})", operand(0)?, operand(1)?))),
            C::ScalarNot if is_bool(data.operands[0]) => Ok(Some(format!("not {}", operand(0)?))),
            C::ScalarNot => Ok(Some(format!("~{}", operand(0)?))),
            C::ScalarNeg => Ok(Some(format!("-{}", operand(0)?))),
            C::ScalarCast => {
                let to = self.func.ty(data.results[0]).element();
                let Some(to) = to else { return Ok(None) };
                Ok(Some(format!("pl.cast({}, {})", self.value(data.operands[0])?, dtype_text(to))))
            }
            C::Select => {
                let (a, b) = (self.typed(data.operands[1])?, self.typed(data.operands[2])?);
                Ok(Some(format!("{a} if {} else {b}", operand(0)?)))
            }
            C::GetBlockNum => Ok(Some("pl.tile.get_block_num()".into())),
            C::GetSubblockIdx => Ok(Some("pl.tile.get_subblock_idx()".into())),
            _ => Ok(None),
        }
    }

    fn tensor_expression(&self, data: &OpData, result: Value) -> Res<Option<String>> {
        use Opcode as C;
        let named = |name: &str| data.named(name);
        Ok(Some(match data.opcode {
            C::TaskDummy => format!("pl.system.task_dummy(deps=[{}])", self.values(named("deps"))?),
            C::TaskIsValid => format!("pl.system.task_is_valid({})", self.value(named("task")[0])?),
            C::ArrayCreate => match self.func.ty(result) {
                Type::Array { element, len } => match &**element {
                    Type::Scalar(d) => format!("pl.array.create({len}, {})", dtype_text(*d)),
                    _ => format!("pl.array.create({len}, pl.TASK_ID)"),
                },
                _ => return Ok(None),
            },
            C::ArrayGet => {
                format!("pl.array.get_element({}, {})", self.value(named("array")[0])?, self.number(named("index")[0])?)
            }
            C::TensorCreate => {
                let Some(t) = self.func.ty(result).as_tensor() else { return Ok(None) };
                let shape = self.shape(&t.shape, named("dims"))?;
                let init = data.attrs.get("init").and_then(attr_text);
                let init = init.map_or(String::new(), |v| format!(", init_value={v}"));
                format!("pl.create_tensor({shape}, dtype={}{init})", dtype_text(t.dtype))
            }
            C::TensorSlice => {
                let sizes: Vec<Dim> = data.attrs.ints("sizes").unwrap_or_default().iter().map(|&n| dim(n)).collect();
                let (sizes, offsets) = (self.shape(&sizes, named("dims"))?, self.list(named("offsets"))?);
                format!("pl.slice({}, {sizes}, {offsets}{})", self.value(named("tensor")[0])?, drop_text(data))
            }
            C::TensorReshape => {
                let Some(t) = self.func.ty(result).as_tensor() else { return Ok(None) };
                format!("pl.reshape({}, {})", self.value(named("tensor")[0])?, self.shape(&t.shape, named("dims"))?)
            }
            C::TensorTranspose => {
                let axis = |name| data.attrs.int(name).unwrap_or(0);
                format!("pl.transpose({}, {}, {})", self.value(named("tensor")[0])?, axis("axis1"), axis("axis2"))
            }
            C::TensorDim => {
                let axis = data.attrs.int("axis").unwrap_or(0);
                format!("pl.tensor.dim({}, {axis})", self.value(named("tensor")[0])?)
            }
            C::Read => format!("pl.read({}, {})", self.value(named("tensor")[0])?, self.list(named("indices"))?),
            _ => return Ok(None),
        }))
    }

    fn tile_expression(&self, data: &OpData, result: Value) -> Res<Option<String>> {
        use Opcode as C;
        let named = |name: &str| data.named(name);
        let source = || self.value(data.operands[0]);
        if data.opcode == C::TGetVal {
            let tile = named("source")[0];
            return Ok(Some(format!("pl.read({}, {})", self.value(tile)?, self.cell(tile, data)?)));
        }
        let Some(t) = self.func.ty(result).as_tile() else { return Ok(None) };
        let dtype = dtype_text(t.dtype);
        Ok(Some(match data.opcode {
            C::Load => self.load(data, t)?,
            C::TileCreate => format!("pl.create_tile({:?}, dtype={dtype})", t.shape),
            C::TExpandS => format!("pl.full({:?}, {dtype}, {})", t.shape, self.number(data.operands[0])?),
            C::TMov => format!("pl.move({})", source()?),
            C::TExtract => {
                let place = self.list(&[named("row")[0], named("col")[0]])?;
                format!("pl.slice({}, {:?}, {place})", source()?, t.shape)
            }
            C::SetValidShape => {
                let (row, col) = (self.number(named("row")[0])?, self.number(named("col")[0])?);
                format!("pl.set_validshape({}, {row}, {col})", source()?)
            }
            C::TReshape => format!("pl.reshape({}, {:?})", source()?, t.shape),
            C::TTrans => format!("pl.transpose({}, 0, 1)", source()?),
            C::TFillPad => {
                let pad = data.attrs.word("pad").unwrap_or("zero");
                match self.func.ty(data.operands[0]).as_tile().is_some_and(|s| s.shape == t.shape) {
                    true => format!("pl.fillpad({}, pad_value=pl.PadValue.{pad})", source()?),
                    false => format!("pl.fillpad_expand({}, {:?}, pad_value=pl.PadValue.{pad})", source()?, t.shape),
                }
            }
            // Rounding to integral values (of `pl.sin`, `pl.cos`) is no conversion that the language has.
            C::TCvt if self.func.ty(data.operands[0]).element() == Some(t.dtype) => return Ok(None),
            C::TCvt => {
                let mode = data.attrs.word("mode").unwrap_or("round");
                let saturate = flag(data, "saturate");
                format!("pl.cast({}, {dtype}, mode=\"{mode}\"{saturate})", source()?)
            }
            C::TCi => {
                let descending = flag(data, "descending");
                let start = self.number(data.operands[0])?;
                format!("pl.arange({start}, {:?}, dtype={dtype}{descending})", t.shape)
            }
            // The first argument says the shape; nothing of it is read.
            C::TRowExpand | C::TColExpand => {
                let name = if data.opcode == C::TRowExpand { "row_expand" } else { "col_expand" };
                format!("pl.{name}(pl.create_tile({:?}, dtype={dtype}), {})", t.shape, source()?)
            }
            C::TMatmul | C::TMatmulAcc | C::TMatmulBias => {
                let operands = self.values(&data.operands)?;
                let flags = format!("{}{}", flag(data, "a_trans"), flag(data, "b_trans"));
                match data.opcode {
                    C::TMatmul => format!("pl.matmul({operands}, out_dtype={dtype}{flags})"),
                    C::TMatmulAcc => format!("pl.matmul_acc({operands}{flags})"),
                    _ => format!("pl.matmul_bias({operands}{flags})"),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// The valid region of a tile that is made with one.
    pub(super) fn made_region(&self, data: &OpData) -> Res<Option<String>> {
        let dynamic = match data.opcode {
            Opcode::TileCreate => &[],
            Opcode::TExpandS => data.named("valid"),
            _ => return Ok(None),
        };
        let Some(t) = data.result().and_then(|r| self.func.ty(r).as_tile()) else { return Ok(None) };
        Ok(self.extents(t, dynamic)?.map(|extents| extents.join(", ")))
    }

    /// The valid extents of a tile that is not fully valid; `dynamic` has those known at run time only.
    pub(super) fn extents(&self, t: &TileType, dynamic: &[Value]) -> Res<Option<Vec<String>>> {
        if t.is_fully_valid() {
            return Ok(None);
        }
        let mut rest = dynamic.iter();
        let mut all = Vec::new();
        for d in &t.valid {
            all.push(match d.known() {
                Some(n) => n.to_string(),
                None => match rest.next() {
                    Some(&v) => self.number(v)?,
                    None => return Err(unsupported("a valid region that no operand says")),
                },
            });
        }
        Ok(Some(all))
    }

    fn load(&self, data: &OpData, t: &TileType) -> Res<String> {
        let named = |name: &str| data.named(name);
        let sizes = data.attrs.ints("sizes").unwrap_or_default();
        let dropped = data.attrs.ints("drop").unwrap_or_default();
        let (tensor, offsets) = (self.value(named("tensor")[0])?, self.list(named("offsets"))?);
        let valid = match self.extents(t, named("valid"))? {
            None => String::new(),
            Some(extents) => {
                let mut kept = extents.into_iter();
                let axis = |i: usize| match dropped.contains(&(i as i64)) {
                    true => "1".to_owned(),
                    false => kept.next().unwrap_or_default(),
                };
                let all: Vec<String> = (0..sizes.len()).map(axis).collect();
                format!(", valid_shape=[{}]", all.join(", "))
            }
        };
        Ok(match dropped.is_empty() {
            true => format!("pl.load({tensor}, {offsets}, {sizes:?}{valid})"),
            false => format!("pl.slice({tensor}, {sizes:?}, {offsets}{valid}{})", drop_text(data)),
        })
    }

    /// `pl.store(…)`, or `x[…] = t` where axes that the tile has not stand between those that it has.
    fn store(&self, data: &OpData) -> Res<String> {
        let named = |name: &str| data.named(name);
        let (tile, offsets) = (named("tile")[0], named("offsets"));
        let sizes: Vec<u64> = data.attrs.ints("sizes").unwrap_or_default().iter().map(|&n| n as u64).collect();
        let shape = self.func.ty(tile).as_tile().map(|t| t.shape.clone()).unwrap_or_default();
        let atomic = data.attrs.word("atomic").is_some();
        let (tensor, source) = (self.value(named("tensor")[0])?, self.value(tile)?);
        if align(&shape, sizes.len()).as_ref() == Some(&sizes) {
            let atomic = if atomic { ", atomic=pl.AtomicType.Add" } else { "" };
            return Ok(format!("pl.store({source}, {}, {tensor}{atomic})", self.list(offsets)?));
        }
        // From the last axis on: an axis of the tile, or one that it has not.
        let mut rest = &shape[..];
        let mut places = Vec::new();
        for (&size, &offset) in sizes.iter().zip(offsets).rev() {
            let at = self.number(offset)?;
            match rest.split_last() {
                Some((&last, before)) if last == size => {
                    rest = before;
                    places.push(match at.parse::<u64>() {
                        Ok(at) => format!("{at}:{}", at + size),
                        Err(_) => format!("{at}:{at} + {size}"),
                    });
                }
                _ => places.push(at),
            }
        }
        if atomic || rest.iter().any(|&n| n != 1) {
            return Err(unsupported("a store of this shape"));
        }
        places.reverse();
        Ok(format!("{tensor}[{}] = {source}", places.join(", ")))
    }

    /// The index of an element of a tile.
    fn cell(&self, tile: Value, data: &OpData) -> Res<String> {
        let (row, col) = (data.named("row")[0], data.named("col")[0]);
        match self.func.ty(tile).as_tile().is_some_and(|t| t.shape.len() == 1) {
            true => self.list(&[col]),
            false => self.list(&[row, col]),
        }
    }

    /// A shape whose dynamic extents are operands.
    fn shape(&self, dims: &[Dim], values: &[Value]) -> Res<String> {
        let mut rest = values.iter();
        let mut all = Vec::new();
        for d in dims {
            all.push(match d.known() {
                Some(n) => n.to_string(),
                None => match rest.next() {
                    Some(&v) => self.value(v)?,
                    None => return Err(unsupported("an extent that no operand says")),
                },
            });
        }
        Ok(format!("[{}]", all.join(", ")))
    }
}

fn dim(n: i64) -> Dim {
    u64::try_from(n).map_or(Dim::Dynamic, Dim::Static)
}

fn drop_text(data: &OpData) -> String {
    match data.attrs.get("drop") {
        Some(Attr::Ints(axes)) if !axes.is_empty() => format!(", drop_dims={axes:?}"),
        _ => String::new(),
    }
}
