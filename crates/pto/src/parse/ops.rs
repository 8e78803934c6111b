//! `pto` operations (`spec/pto-assembly.md` §1.5).

use dtype::DType;
use ir::builder::attrs;
use ir::info::{Form, Levels, OpInfo};
use ir::text::Result;
use ir::{Attr, Attrs, Dim, Op, Opcode as C, TensorType, Type, Value};

use super::{Attributes, Body};
use crate::format::{format, plain};
use crate::print::{PATTERNS, pad_word};

/// `ins(…) outs(…)` of a tile operation.
struct Dps {
    ins: Vec<Value>,
    outs: Vec<Value>,
    /// It says that there is no scratch.
    no_tmp: bool,
    /// Those inside `ins` and those after `outs`.
    inner: Attributes,
    attrs: Attributes,
    valid: Vec<Value>,
    /// Along which axis a mask pattern is; rows if it is not said.
    columns: bool,
}

impl Body<'_, '_, '_> {
    /// `name` is without `pto.`.
    pub(super) fn pto(&mut self, name: &str, start: usize) -> Result<Option<Op>> {
        let op = match name {
            "make_tensor_view" => self.make_tensor_view(start)?,
            "partition_view" => self.partition_view()?,
            "addptr" => {
                let (ptr, offset) = self.pair()?;
                self.types_of(&[ptr])?;
                self.p.c.expect("->")?;
                self.type_of(ptr)?;
                let ty = self.f.ty(ptr).clone();
                self.make(C::AddPtr, &[&[ptr], &[offset]], &[], &[ty], Attrs::default())
            }
            "load_scalar" => {
                let (ptr, offset) = self.element()?;
                self.types_of(&[ptr])?;
                let ty = self.arrow()?;
                self.make(C::LoadScalar, &[&[ptr], &[offset]], &[], &[ty], Attrs::default())
            }
            "store_scalar" => {
                let value = self.value()?;
                self.p.c.expect(",")?;
                let (ptr, offset) = self.element()?;
                self.types_of(&[ptr, value])?;
                self.make(C::StoreScalar, &[&[value], &[ptr], &[offset]], &[], &[], Attrs::default())
            }
            "alloc_tile" => {
                let addr = self.keyed("addr")?;
                let row = self.keyed("valid_row")?;
                let col = self.keyed("valid_col")?;
                self.p.c.expect(":")?;
                let ty = self.p.ty()?;
                self.make(C::AllocTile, &[&addr, &row, &col], &[], &[ty], Attrs::default())
            }
            "subview" => self.subview()?,
            "treshape" | "bitcast" => {
                let source = self.value()?;
                self.types_of(&[source])?;
                let ty = self.arrow()?;
                let opcode = if name == "bitcast" { C::Bitcast } else { C::TReshape };
                self.make(opcode, &[&[source]], &[], &[ty], Attrs::default())
            }
            "set_validshape" => {
                let values = self.values()?;
                let [tile, row, col] = values[..] else {
                    return Err(self.operands(start, "pto.set_validshape", 3, values.len()));
                };
                self.types_of(&[tile])?;
                self.make(C::SetValidShape, &[&[tile], &[row], &[col]], &[tile], &[], Attrs::default())
            }
            "tgetval" => self.tgetval(start)?,
            "declare_local_array" => {
                let ty = self.arrow()?;
                self.make(C::ArrayCreate, &[], &[], &[ty], Attrs::default())
            }
            "local_array_get" => {
                let (array, indices) = self.array_element()?;
                self.types_of(&[array])?;
                let ty = self.arrow()?;
                let opcode = if indices.len() == 1 { C::ArrayGet } else { C::ArrayGetAt };
                self.make(opcode, &[&[array], &indices], &[], &[ty], Attrs::default())
            }
            "local_array_set" => {
                let (array, indices) = self.array_element()?;
                self.p.c.expect(",")?;
                let value = self.value()?;
                self.types_of(&[array, value])?;
                let opcode = if indices.len() == 1 { C::ArraySet } else { C::ArraySetAt };
                self.make(opcode, &[&[array], &indices, &[value]], &[], &[], Attrs::default())
            }
            "simt_launch" => self.launch()?,
            "get_block_idx" | "get_block_num" | "get_subblock_idx" | "get_subblock_num" => {
                let ty = if self.p.c.eat("->") || self.p.c.eat(":") { self.p.ty()? } else { Type::Scalar(DType::I64) };
                let opcode = match name {
                    "get_block_idx" => C::GetBlockIdx,
                    "get_block_num" => C::GetBlockNum,
                    "get_subblock_num" => C::GetSubblockNum,
                    _ => C::GetSubblockIdx,
                };
                self.make(opcode, &[], &[], &[ty], Attrs::default())
            }
            "syncall" => self.syncall(start)?,
            "aic_initialize_pipe" => self.initialize(C::AicInitializePipe, start)?,
            "aiv_initialize_pipe" => self.initialize(C::AivInitializePipe, start)?,
            "reserve_buffer" => self.reserve(start)?,
            "import_reserved_buffer" => self.import(start)?,
            "tpush_to_aiv" => self.push(C::TPushToAiv)?,
            "tpush_to_aic" => self.push(C::TPushToAic)?,
            "tpop_from_aic" => self.pop(C::TPopFromAic)?,
            "tpop_from_aiv" => self.pop(C::TPopFromAiv)?,
            "tfree_from_aic" | "tfree_from_aiv" => {
                let from_cube = name == "tfree_from_aic";
                if self.p.c.eat("(") {
                    let entry = self.value()?;
                    self.types_of(&[entry])?;
                    self.p.c.expect(")")?;
                    let opcode = if from_cube { C::TFreeViewFromAic } else { C::TFreeViewFromAiv };
                    let attrs = self.fifo()?;
                    return Ok(Some(self.make(opcode, &[&[entry]], &[], &[], attrs)));
                }
                let attrs = self.fifo()?;
                let opcode = if from_cube { C::TFreeFromAic } else { C::TFreeFromAiv };
                self.make(opcode, &[], &[], &[], attrs)
            }
            name => match C::from_name(name) {
                Some(opcode) if let Some(pieces) = format(opcode) => self.formatted(opcode, &pieces, start)?,
                Some(opcode) if is_dps(opcode) => self.tile_op(opcode, start)?,
                _ => return Err(self.unsupported(start, &format!("pto.{name}"))),
            },
        };
        Ok(Some(op))
    }

    fn pair(&mut self) -> Result<(Value, Value)> {
        let a = self.value()?;
        self.p.c.expect(",")?;
        Ok((a, self.value()?))
    }

    /// `%a[%i]`
    fn element(&mut self) -> Result<(Value, Value)> {
        let a = self.value()?;
        self.p.c.expect("[")?;
        let index = self.value()?;
        self.p.c.expect("]")?;
        Ok((a, index))
    }

    /// `%a[%i, …]`
    fn array_element(&mut self) -> Result<(Value, Vec<Value>)> {
        let a = self.value()?;
        Ok((a, self.bracketed()?))
    }

    pub(super) fn arrow(&mut self) -> Result<Type> {
        self.p.c.expect("->")?;
        self.p.ty()
    }

    /// `name = %value`, if it comes next.
    fn keyed(&mut self, name: &str) -> Result<Vec<Value>> {
        if !self.p.c.eat(name) {
            return Ok(Vec::new());
        }
        self.p.c.expect("=")?;
        Ok(vec![self.value()?])
    }

    /// `, name = [%a, …]`
    fn list(&mut self, name: &str) -> Result<Vec<Value>> {
        self.p.c.expect(",")?;
        self.p.c.expect(name)?;
        self.p.c.expect("=")?;
        self.bracketed()
    }

    fn bracketed(&mut self) -> Result<Vec<Value>> {
        self.p.c.expect("[")?;
        let values = self.values()?;
        self.p.c.expect("]")?;
        Ok(values)
    }

    fn make_tensor_view(&mut self, start: usize) -> Result<Op> {
        let ptr = self.value()?;
        let shape = self.list("shape")?;
        let strides = self.list("strides")?;
        let mut attrs = Attrs::default();
        if self.p.c.peek() == Some('{') {
            let list = self.p.attributes()?;
            let names = ["layout", "pto.inferred_layout"];
            list.only(&self.p.c, &names)?;
            for name in names {
                if let Some(item) = list.get(name) {
                    self.set_attr(C::MakeTensorView.info(), name, item, &mut attrs, start)?;
                }
            }
        }
        self.p.c.expect(":")?;
        let mut ty = self.p.ty()?;
        if let Type::View(TensorType { strides: dims, .. }) = &mut ty
            && dims.len() == strides.len()
        {
            for (dim, &stride) in dims.iter_mut().zip(&strides) {
                *dim = self.f.const_int(stride).and_then(|n| u64::try_from(n).ok()).map_or(Dim::Dynamic, Dim::Static);
            }
        }
        Ok(self.make(C::MakeTensorView, &[&[ptr], &shape, &strides], &[], &[ty], attrs))
    }

    fn partition_view(&mut self) -> Result<Op> {
        let view = self.value()?;
        let offsets = self.list("offsets")?;
        let sizes = self.list("sizes")?;
        self.types_of(&[view])?;
        // Without a type it is that of the sizes.
        let ty = match self.f.ty(view) {
            Type::View(whole) if !self.p.c.clone().eat("->") => {
                let size = |&v: &Value| self.f.const_int(v).and_then(|n| u64::try_from(n).ok());
                let shape = sizes.iter().map(|v| size(v).map_or(Dim::Dynamic, Dim::Static)).collect();
                Type::PartView { dtype: whole.dtype, shape }
            }
            _ => self.arrow()?,
        };
        Ok(self.make(C::PartitionView, &[&[view], &offsets, &sizes], &[], &[ty], Attrs::default()))
    }

    fn subview(&mut self) -> Result<Op> {
        let tile = self.value()?;
        self.p.c.expect("[")?;
        let (row, col) = self.pair()?;
        self.p.c.expect("]")?;
        self.p.c.expect("sizes")?;
        self.p.c.expect("[")?;
        let rows = self.p.c.integer("rows")?;
        self.p.c.expect(",")?;
        let cols = self.p.c.integer("columns")?;
        self.p.c.expect("]")?;
        let given = if self.p.c.eat("valid") { self.bracketed()? } else { Vec::new() };
        self.types_of(&[tile])?;
        let ty = self.arrow()?;
        let (vr, vc) = self.extents(&given, &ty)?;
        let list = attrs([("sizes", Attr::Ints(vec![rows, cols]))]);
        Ok(self.make(C::Subview, &[&[tile], &[row], &[col], &vr, &vc], &[], &[ty], list))
    }

    /// Of both valid extents, those that the type does not state.
    pub(super) fn extents(&mut self, given: &[Value], ty: &Type) -> Result<(Vec<Value>, Vec<Value>)> {
        let [row, col] = given else {
            return if given.is_empty() { Ok((vec![], vec![])) } else { Err(self.p.c.unexpected("two valid extents")) };
        };
        let dynamic = |axis: usize| ty.as_tile().is_some_and(|t| t.valid.get(axis) == Some(&Dim::Dynamic));
        let keep = |axis: usize, v: &Value| if dynamic(axis) { vec![*v] } else { vec![] };
        Ok((keep(0, row), keep(1, col)))
    }

    /// Row and column of an element from its row-major index.
    fn split(&mut self, index: Value, cols: u64) -> (Value, Value) {
        let list = attrs([("value", Attr::Int(i64::try_from(cols).unwrap_or(i64::MAX)))]);
        let n = self.make(C::Const, &[], &[], &[Type::INDEX], list);
        let n = self.f.ops[n].results[0];
        let mut part = |opcode| {
            let op = self.make(opcode, &[&[index], &[n]], &[], &[Type::INDEX], Attrs::default());
            self.f.ops[op].results[0]
        };
        (part(C::ScalarDiv), part(C::ScalarRem))
    }

    fn columns(&self, start: usize, tile: Value) -> Result<u64> {
        match self.f.ty(tile).as_tile() {
            Some(t) => Ok(t.cols()),
            None => Err(self.p.c.error_from(start, "type-mismatch", "elements are those of a tile".into())),
        }
    }

    fn tgetval(&mut self, start: usize) -> Result<Op> {
        self.p.c.expect("ins")?;
        self.p.c.expect("(")?;
        let (tile, index) = self.pair()?;
        self.types_of(&[tile, index])?;
        self.p.c.expect(")")?;
        self.p.c.expect("outs")?;
        self.p.c.expect(":")?;
        let ty = self.p.ty()?;
        let cols = self.columns(start, tile)?;
        self.index(start, index)?;
        let (row, col) = self.split(index, cols);
        Ok(self.make(C::TGetVal, &[&[tile], &[row], &[col]], &[], &[ty], Attrs::default()))
    }

    fn index(&self, start: usize, value: Value) -> Result<()> {
        if *self.f.ty(value) == Type::INDEX {
            return Ok(());
        }
        Err(self.p.c.error_from(start, "type-mismatch", "the index of an element has the type index".into()))
    }

    fn dps(&mut self) -> Result<Dps> {
        self.p.c.expect("ins")?;
        self.p.c.expect("(")?;
        let mut ins = vec![self.value()?];
        while self.p.c.eat(",") {
            // A comma may stand before the attributes, too.
            if self.p.c.peek() == Some('{') {
                break;
            }
            ins.push(self.value()?);
        }
        let no_tmp = self.p.c.eat("no_tmp");
        let inner = if self.p.c.peek() == Some('{') { self.p.attributes()? } else { Attributes::default() };
        self.types_of(&ins)?;
        // What the fix pipe needs follows the types.
        while self.p.c.eat("fp") || self.p.c.eat("pre_quant") || self.more() {
            let value = self.value()?;
            self.types_of(&[value])?;
            ins.push(value);
        }
        let mut columns = false;
        if self.p.c.eat(",") {
            let start = self.p.mark();
            columns = match self.p.c.string()?.as_str() {
                "row" => false,
                "col" => true,
                axis => {
                    let message = format!("a mask pattern is along \"row\" or \"col\", not {axis:?}");
                    return Err(self.p.c.error_from(start, "attribute-value", message));
                }
            };
        }
        self.p.c.expect(")")?;
        self.p.c.expect("outs")?;
        self.p.c.expect("(")?;
        let outs = self.values()?;
        self.types_of(&outs)?;
        self.p.c.expect(")")?;
        let attrs = if self.p.c.peek() == Some('{') { self.p.attributes()? } else { Attributes::default() };
        self.no_trailing()?;
        let valid = if self.p.c.eat("tw.valid") { self.bracketed()? } else { Vec::new() };
        Ok(Dps { ins, outs, no_tmp, inner, attrs, valid, columns })
    }

    /// Takes a comma before another operand with its type.
    fn more(&mut self) -> bool {
        let mut ahead = self.p.c.clone();
        let more = ahead.eat(",") && ahead.peek() == Some('%');
        more && self.p.c.eat(",")
    }

    /// Operands by name after the destinations (§1.5, form 3), and of pushes: none is supported.
    fn no_trailing(&mut self) -> Result<()> {
        let start = self.p.mark();
        let names = ["pad_mode", "pad_value", "left_padding_num", "right_padding_num", "init_out_buffer"];
        match names.iter().find(|name| self.p.c.eat(name)) {
            Some(name) => {
                let message = format!("the operand `{name}` is not supported");
                Err(self.p.c.error_from(start, "unsupported-op", message))
            }
            None => Ok(()),
        }
    }

    /// A tile operation whose operands are its groups in order.
    fn tile_op(&mut self, opcode: C, start: usize) -> Result<Op> {
        let mut dps = self.dps()?;
        let opcode = self.form(opcode, &dps);
        let mut list = self.tile_attrs(opcode, &dps, start)?;
        let info = opcode.info();
        if opcode == C::TSetVal {
            let [index, value] = dps.ins[..] else {
                return Err(self.operands(start, info.name, 2, dps.ins.len()));
            };
            self.index(start, index)?;
            let dest = dps.outs[0];
            let cols = self.columns(start, dest)?;
            let (row, col) = self.split(index, cols);
            return Ok(self.make(opcode, &[&[row], &[col], &[value]], &dps.outs, &[], list));
        }
        // A scalar before the tile: the operands change places.
        if opcode == C::TDivS && dps.ins.len() == 2 && self.f.ty(dps.ins[0]).as_scalar().is_some() {
            dps.ins.swap(0, 1);
            list.set("reverse", Attr::Bool(true));
        }
        // The scratch of `tsels` stands before the scalar.
        if opcode == C::TSelS && dps.ins.len() == 4 {
            dps.ins.swap(2, 3);
        }
        let mut groups: Vec<Vec<Value>> = vec![Vec::new(); info.operands.len()];
        let mut ins = &dps.ins[..];
        // The lists to merge and the scratch look alike.
        if matches!(opcode, C::TMrgSortLists | C::TMrgSortCounted)
            && !dps.no_tmp
            && let (Some((&tmp, lists)), Some(group)) = (ins.split_last(), info.group("tmp"))
        {
            groups[group] = vec![tmp];
            ins = lists;
        }
        let wanted: Vec<usize> =
            (0..groups.len()).filter(|&g| info.operands[g].name != "valid" && groups[g].is_empty()).collect();
        self.distribute(info, &wanted, ins, &mut groups, start)?;
        if let Some(group) = info.group("valid") {
            groups[group] = std::mem::take(&mut dps.valid);
        }
        self.outs(info, dps.outs.len(), start)?;
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        Ok(self.make(opcode, &groups, &dps.outs, &[], list))
    }

    /// Whether source and destination have different elements, the source being in Acc.
    fn converts(&self, dps: &Dps) -> bool {
        let tile = |v: Option<&Value>| v.and_then(|&v| self.f.ty(v).as_tile());
        match (tile(dps.ins.first()), tile(dps.outs.first())) {
            (Some(from), Some(to)) => from.space == Some(chip::Space::Acc) && from.dtype != to.dtype,
            _ => false,
        }
    }

    /// As many destinations as the operation has.
    fn outs(&self, info: &'static OpInfo, found: usize, start: usize) -> Result<()> {
        let (least, most) = match info.form {
            Form::Outs(least, most) => (least, most),
            _ => (1, 1),
        };
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let message = format!("pto.{} has {least} to {most} destinations, not {found}", info.name);
        Err(self.p.c.error_from(start, "operand-count", message))
    }

    /// Of the forms that share a name, the one with these operands.
    fn form(&self, opcode: C, dps: &Dps) -> C {
        match opcode {
            C::MGather if dps.ins.len() > 2 || dps.ins.get(1).is_some_and(|&v| self.f.ty(v).as_tile().is_none()) => {
                C::MGatherStaged
            }
            C::TStore if dps.ins.len() > 1 => C::TStoreFix,
            C::TMov if dps.ins.len() > 1 => C::TMovFix,
            C::TExtract if dps.ins.len() > 3 => C::TExtractFix,
            C::TInsert if dps.ins.len() > 3 => C::TInsertFix,
            // The element type changes only on the way through the fix pipe.
            C::TExtract if self.converts(dps) => C::TExtractFix,
            C::TInsert if self.converts(dps) => C::TInsertFix,
            C::TGather if dps.ins.get(1).is_some_and(|&v| self.f.ty(v).as_scalar().is_some()) => C::TGatherCmp,
            C::TMrgSort if dps.outs.len() > 1 => C::TMrgSortCounted,
            C::TGather if dps.inner.get("maskPattern").is_some() => C::TGatherMask,
            C::TScatter if dps.inner.get("maskPattern").is_some() => C::TScatterMask,
            C::TMrgSort if dps.ins.get(1).is_none_or(|&v| self.f.ty(v).as_scalar().is_none()) => C::TMrgSortLists,
            other => other,
        }
    }

    fn tile_attrs(&mut self, opcode: C, dps: &Dps, start: usize) -> Result<Attrs> {
        let mut list = Attrs::default();
        let (inner, outer): (&[&str], &[&str]) = match opcode {
            C::TCvt => (&["rmode", "satmode"], &[]),
            C::TCmp | C::TCmpS => (&["cmpMode"], &[]),
            C::TTri => (&["upperOrLower"], &[]),
            C::TRandom => (&["rounds"], &[]),
            C::TGatherMask | C::TScatterMask => (&["maskPattern"], &[]),
            C::TMrgSortLists => (&["exhausted"], &[]),
            C::MGather | C::MGatherStaged => (&[], &["coalesce", "gatherOob"]),
            C::MScatter => (&[], &["coalesce", "scatterOob", "scatterAtomicOp"]),
            C::TStore => (&[], &["atomicType"]),
            C::TCi => (&[], &["descending"]),
            C::TFillPad => (&[], &["tw.pad"]),
            _ => (&[], &[]),
        };
        if opcode == C::TFillPad && dps.attrs.get("mode").is_some() {
            let message = "how pto.tfillpad fills follows from shapes and addresses; it has no mode".to_owned();
            return Err(self.p.c.error_from(start, "attribute-unknown", message));
        }
        let plain: Vec<&'static str> =
            plain(opcode).filter(|n| !matches!(*n, "mode" | "out_of_range" | "axis")).collect();
        dps.inner.only(&self.p.c, &[inner, &plain].concat())?;
        let marks: Vec<&'static str> = opcode.info().marks().iter().map(|mark| mark.name).collect();
        dps.attrs.only(&self.p.c, &[outer, &plain, &marks].concat())?;
        for name in marks {
            if let Some(item) = dps.attrs.get(name) {
                self.set_attr(opcode.info(), name, item, &mut list, start)?;
            }
        }
        for name in plain {
            if let Some(item) = dps.inner.get(name).or(dps.attrs.get(name)) {
                self.set_attr(opcode.info(), name, item, &mut list, start)?;
            }
        }
        let refuse = |what: String| Err(self.p.c.error_from(start, "unsupported-attribute", what));
        match opcode {
            C::TCvt => {
                let mode = dps.inner.word("rmode").unwrap_or("CAST_RINT");
                let mode = mode.strip_prefix("CAST_").unwrap_or(mode).to_lowercase();
                if !ir::ops::ROUND_MODES.contains(&mode.as_str()) {
                    return refuse(format!("the rounding mode {mode} is not supported"));
                }
                list.set("mode", Attr::Word(mode));
                match dps.inner.word("satmode") {
                    None => {}
                    Some("ON") => list.set("saturate", Attr::Bool(true)),
                    Some("OFF") => list.set("saturate", Attr::Bool(false)),
                    Some(other) => return refuse(format!("the saturation mode {other} is not supported")),
                }
            }
            C::TCmp | C::TCmpS => {
                list.set("predicate", Attr::Word(dps.inner.word("cmpMode").unwrap_or("eq").to_owned()))
            }
            C::TTri => match dps.inner.int("upperOrLower") {
                None | Some(0) => {}
                Some(_) => list.set("upper", Attr::Bool(true)),
            },
            C::TRandom => {
                if let Some(rounds) = dps.inner.int("rounds") {
                    list.set("rounds", Attr::Int(rounds));
                }
            }
            C::TGatherMask | C::TScatterMask => {
                let word = dps.inner.word("maskPattern").unwrap_or_default();
                let Some(pattern) = PATTERNS.iter().position(|p| *p == word) else {
                    return refuse(format!("there is no mask pattern `{word}`; there are {}", PATTERNS.join(", ")));
                };
                list.set("pattern", Attr::Int(pattern as i64 + 1));
                if dps.columns {
                    list.set("axis", Attr::Word("col".into()));
                }
            }
            C::TMrgSortLists if dps.inner.bool("exhausted") == Some(true) => list.set("exhausted", Attr::Bool(true)),
            C::MGather | C::MGatherStaged | C::MScatter => {
                let mode = dps.attrs.word("coalesce");
                let plain =
                    ["scatterOob", "scatterAtomicOp", "scatterConflict"].iter().all(|n| dps.attrs.get(n).is_none());
                if mode.is_none() && (opcode != C::MScatter || !plain) {
                    let message = format!("pto.{} needs the attribute `coalesce`", opcode.name());
                    return Err(self.p.c.error_from(start, "attribute-missing", message));
                }
                list.set("mode", Attr::Word(mode.unwrap_or("elem").to_owned()));
                let order = dps.attrs.word("gatherOob").or(dps.attrs.word("scatterOob")).filter(|w| *w != "undefined");
                if let Some(word) = order {
                    list.set("out_of_range", Attr::Word(word.to_owned()));
                }
                if let Some(word) = dps.attrs.word("scatterAtomicOp").filter(|w| *w != "none") {
                    list.set("atomic", Attr::Word(word.to_owned()));
                }
            }
            // That it is not is the same as not to say so: the order of a sum is the profile's (semantics rule 7).
            C::TColSum if !list.bool("isBinary") => list.remove("isBinary"),
            C::TStore => match dps.attrs.word("atomicType") {
                None | Some("atomic_none") => {}
                Some("atomic_add") => list.set("atomic", Attr::Word("add".into())),
                Some(other) => return refuse(format!("{other} is not supported")),
            },
            C::TCi => {
                if let Some(descending) = dps.attrs.bool("descending") {
                    list.set("descending", Attr::Bool(descending));
                }
            }
            C::TFillPad => {
                let typed = dps.outs.first().and_then(|&d| self.f.ty(d).as_tile()).map(|t| pad_word(t.pad));
                let pad = dps.attrs.word("tw.pad").or(typed).unwrap_or("null");
                if pad == "null" {
                    return refuse("the destination of pto.tfillpad has no pad".into());
                }
                list.set("pad", Attr::Word(pad.to_owned()));
            }
            _ => {}
        }
        Ok(list)
    }
}

/// Operations that are written `ins(…) outs(…)`.
fn is_dps(opcode: C) -> bool {
    let info = opcode.info();
    matches!(info.form, Form::Tile | Form::Dest | Form::Outs(..)) && info.levels.contains(Levels::KERNEL)
}
