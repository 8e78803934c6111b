//! Makes a function one that the dialect can say: afterwards every operation is one operation of the text.
//!
//! Index operands have type `index`; scalar operands of one operation have one type; complements and integer negations
//! become exclusive or and subtraction; conversions that `arith` has no operation for go through another type; elements
//! of tiles are addressed by one row-major index; an extent given beside another is given too. Values inserted have no
//! names, and literals in sight are used again, so that the result of parsing is legal as it is.

use dtype::{DType, Scalar};
use ir::builder::{attrs, const_scalar};
use ir::{
    Attr, Attrs, Block, Def, Dim, Entity, Function, Op, OpData, Opcode as C, Origin, Pad, Type, Value, ValueData,
};

pub(crate) fn legal(function: &Function) -> Function {
    let f = function.clone();
    // A literal that only splits a tile's index vanishes with it; it must not be used again.
    let mut uses = vec![(false, false); f.values.len()];
    for op in f.walk() {
        let splits = matches!(f.ops[op].opcode, C::ScalarDiv | C::ScalarRem);
        for &v in &f.ops[op].operands {
            let (split, other) = &mut uses[v.index()];
            *(if splits { split } else { other }) = true;
        }
    }
    let reusable = uses.into_iter().map(|(split, other)| other || !split).collect();
    let body = f.body;
    let mut legal = Legal { f, reusable, literals: Vec::new(), out: Vec::new(), at: None, dead: Vec::new() };
    legal.block(body);
    legal.sweep();
    legal.f
}

struct Legal {
    f: Function,
    /// Values (of the function as it was) that are not only divided by.
    reusable: Vec<bool>,
    /// Literals in sight.
    literals: Vec<(Scalar, Value)>,
    /// The block so far.
    out: Vec<Op>,
    /// The operation at hand: where what is inserted comes from.
    at: Option<Op>,
    /// Results that may have lost their last use.
    dead: Vec<Value>,
}

impl Legal {
    fn block(&mut self, block: Block) {
        let ops = std::mem::take(&mut self.f.blocks[block].ops);
        let outer = std::mem::take(&mut self.out);
        let mark = self.literals.len();
        for op in ops {
            self.at = Some(op);
            if self.op(op) {
                self.out.push(op);
                for region in self.f.ops[op].regions.clone() {
                    self.block(region);
                }
            }
            self.see(op);
        }
        self.literals.truncate(mark);
        self.f.blocks[block].ops = std::mem::replace(&mut self.out, outer);
    }

    /// Remembers a literal.
    fn see(&mut self, op: Op) {
        let Some(result) = self.f.ops[op].result() else { return };
        if let Some(scalar) = const_scalar(&self.f, result)
            && self.reusable.get(result.index()) != Some(&false)
        {
            self.literals.push((scalar, result));
        }
    }

    fn insert(&mut self, opcode: C, operands: &[Value], ty: Type, attrs: Attrs) -> Value {
        let at = self.at.map(|op| &self.f.ops[op]);
        let (span, origin, block) = match at {
            Some(at) => (at.span, at.origin.map(|o| Origin { completes: false, ..o }), at.block),
            None => (None, None, self.f.body),
        };
        let op = self.f.ops.push(OpData {
            opcode,
            operands: operands.to_vec(),
            segments: operands.iter().map(|_| 1).collect(),
            dests: Vec::new(),
            results: Vec::new(),
            regions: Vec::new(),
            attrs,
            block,
            span,
            origin,
        });
        let value = self.f.values.push(ValueData { ty, def: Def::Result(op, 0), name: None });
        self.f.ops[op].results.push(value);
        self.out.push(op);
        value
    }

    fn literal(&mut self, scalar: Scalar) -> Value {
        if let Some((_, value)) = self.literals.iter().find(|(s, _)| *s == scalar) {
            return *value;
        }
        let value = match scalar.dtype {
            DType::Bool => Attr::Bool(scalar.is_true()),
            _ => Attr::Int(scalar.as_i64().unwrap_or(0)),
        };
        let value = self.insert(C::Const, &[], Type::Scalar(scalar.dtype), attrs([("value", value)]));
        self.literals.push((scalar, value));
        value
    }

    fn cast(&mut self, value: Value, to: DType) -> Value {
        if *self.f.ty(value) == Type::Scalar(to) {
            return value;
        }
        match const_scalar(&self.f, value).and_then(Scalar::as_i64) {
            Some(v) if to.is_int() => self.literal(Scalar::from_i64(to, v)),
            _ => self.insert(C::ScalarCast, &[value], Type::Scalar(to), Attrs::default()),
        }
    }

    fn set(&mut self, op: Op, index: usize, value: Value) {
        self.f.ops[op].operands[index] = value;
    }

    fn cast_operands(&mut self, op: Op, range: std::ops::Range<usize>, to: DType) {
        for i in range {
            let value = self.f.ops[op].operands[i];
            if self.f.ty(value).as_scalar().is_some_and(|d| d != to) {
                let cast = self.cast(value, to);
                self.set(op, i, cast);
            }
        }
    }

    /// The operands of the named groups become `to`.
    fn cast_groups(&mut self, op: Op, groups: &[&str], to: DType) {
        for name in groups {
            let data = &self.f.ops[op];
            let Some(i) = data.opcode.info().group(name) else { continue };
            let start: u32 = data.segments[..i].iter().sum();
            let range = start as usize..(start + data.segments[i]) as usize;
            self.cast_operands(op, range, to);
        }
    }

    /// False if the operation is gone.
    fn op(&mut self, op: Op) -> bool {
        let opcode = self.f.ops[op].opcode;
        match opcode {
            _ if opcode.scalar_binary().is_some() => self.same_types(op, 0),
            C::ScalarCmp => self.same_types(op, 0),
            C::Select => self.same_types(op, 1),
            C::ScalarNot => self.complement(op),
            C::ScalarNeg => self.negation(op),
            C::ScalarCast => return self.conversion(op),
            C::For => {
                if let Some(d) = self.f.ty(self.f.ops[op].operands[0]).as_scalar() {
                    self.cast_operands(op, 1..3, d);
                }
            }
            C::MakeTensorView => self.cast_groups(op, &["shape", "strides"], DType::Index),
            C::PartitionView => self.cast_groups(op, &["offsets", "sizes"], DType::Index),
            C::AddPtr | C::LoadScalar | C::StoreScalar => self.cast_groups(op, &["offset"], DType::Index),
            C::AllocTile => {
                self.cast_groups(op, &["addr"], DType::I64);
                self.cast_groups(op, &["valid_row", "valid_col"], DType::Index);
            }
            C::Subview => {
                self.cast_groups(op, &["row", "col", "valid_row", "valid_col"], DType::Index);
                self.both_extents(op);
            }
            C::TPopFromAic | C::TPopFromAiv => {
                self.cast_groups(op, &["valid_row", "valid_col"], DType::Index);
                self.both_extents(op);
            }
            C::TExtract | C::TInsert => {
                self.cast_groups(op, &["row", "col", "valid"], DType::Index);
                self.stated_extents(op);
            }
            C::TExpandS => {
                self.cast_groups(op, &["valid"], DType::Index);
                self.stated_extents(op);
            }
            C::TGetVal => self.flat_index(op, 1),
            C::TSetVal => self.flat_index(op, 0),
            C::ArrayGet | C::ArraySet => self.cast_groups(op, &["index"], DType::Index),
            C::TFillPad => self.pad_in_type(op),
            _ => {}
        }
        true
    }

    /// `index` and `i64` mix in our operations; here both are what the first is, or `index`.
    fn same_types(&mut self, op: Op, first: usize) {
        let operands = self.f.ops[op].operands.clone();
        let types: Vec<Option<DType>> = operands[first..].iter().map(|&v| self.f.ty(v).as_scalar()).collect();
        if types.iter().any(|t| *t != types[0]) && types.contains(&Some(DType::Index)) {
            self.cast_operands(op, first..operands.len(), DType::Index);
        }
    }

    fn complement(&mut self, op: Op) {
        let a = self.f.ops[op].operands[0];
        let Some(dtype) = self.f.ty(a).as_scalar() else { return };
        let ones = match dtype {
            DType::Bool => Scalar::bool(true),
            d => Scalar::from_i64(d, -1),
        };
        let ones = self.literal(ones);
        self.become_binary(op, C::ScalarXor, a, ones);
    }

    fn negation(&mut self, op: Op) {
        let a = self.f.ops[op].operands[0];
        if let Some(dtype) = self.f.ty(a).as_scalar()
            && !dtype.is_float()
        {
            let zero = self.literal(Scalar::from_i64(dtype, 0));
            self.become_binary(op, C::ScalarSub, zero, a);
        }
    }

    fn become_binary(&mut self, op: Op, opcode: C, a: Value, b: Value) {
        let data = &mut self.f.ops[op];
        data.opcode = opcode;
        data.operands = vec![a, b];
        data.segments = vec![1, 1];
    }

    fn conversion(&mut self, op: Op) -> bool {
        let (a, Some(result)) = (self.f.ops[op].operands[0], self.f.ops[op].result()) else { return true };
        let (Some(from), Some(to)) = (self.f.ty(a).as_scalar(), self.f.ty(result).as_scalar()) else { return true };
        if from == to {
            self.replace(result, a);
            return false;
        }
        let through = match (from, to) {
            (DType::Index, d) | (d, DType::Index) if d.is_float() => Some(DType::I64),
            (DType::F16, DType::BF16) | (DType::BF16, DType::F16) => Some(DType::F32),
            _ => None,
        };
        if let Some(through) = through {
            let middle = self.insert(C::ScalarCast, &[a], Type::Scalar(through), Attrs::default());
            self.set(op, 0, middle);
        }
        true
    }

    fn replace(&mut self, old: Value, new: Value) {
        let ops: Vec<Op> = self.f.ops.keys().collect();
        for op in ops {
            let data = &mut self.f.ops[op];
            for value in data.operands.iter_mut().chain(&mut data.dests) {
                if *value == old {
                    *value = new;
                }
            }
        }
    }

    /// Where one valid extent is given, the other is too: the static one as a literal.
    fn both_extents(&mut self, op: Op) {
        let data = &self.f.ops[op];
        let info = data.opcode.info();
        let (Some(row), Some(col)) = (info.group("valid_row"), info.group("valid_col")) else { return };
        let given = (data.segments[row], data.segments[col]);
        if given == (0, 0) || given == (1, 1) {
            return;
        }
        let Some(t) = data.result().and_then(|r| self.f.ty(r).as_tile()) else { return };
        let axis = usize::from(given.0 == 1);
        let Some(Dim::Static(n)) = t.valid.get(axis).copied() else { return };
        let literal = self.literal(Scalar::index(n as i64));
        let data = &mut self.f.ops[op];
        let at: u32 = data.segments[..row].iter().sum::<u32>() + given.0 * axis as u32;
        data.operands.insert(at as usize, literal);
        data.segments[if axis == 0 { row } else { col }] = 1;
    }

    /// Extents that the operation states are those of its destination; then they need not be said twice.
    fn stated_extents(&mut self, op: Op) {
        let data = &self.f.ops[op];
        let Some(group) = data.opcode.info().group("valid") else { return };
        let Some(def) = data.dest().and_then(|d| self.f.def_op(d)).map(|d| &self.f.ops[d]) else { return };
        let has_extents = matches!(def.opcode, C::AllocTile | C::Subview | C::TPopFromAic | C::TPopFromAiv);
        if !has_extents {
            return;
        }
        let dynamic = |name: &str, axis: usize| {
            let ty = data.dest().and_then(|d| self.f.ty(d).as_tile());
            let is = ty.is_some_and(|t| t.valid.get(axis) == Some(&Dim::Dynamic));
            def.named(name).iter().copied().filter(move |_| is)
        };
        let own: Vec<Value> = dynamic("valid_row", 0).chain(dynamic("valid_col", 1)).collect();
        if own == data.group(group) {
            let len = own.len();
            let start: u32 = data.segments[..group].iter().sum();
            let data = &mut self.f.ops[op];
            data.operands.drain(start as usize..start as usize + len);
            data.segments[group] = 0;
        }
    }

    /// Row and column at `operands[at..]` become `(0, row · columns + column)`, kept in the column's place; the row is
    /// what the printer does not show.
    fn flat_index(&mut self, op: Op, at: usize) {
        self.cast_groups(op, &["row", "col"], DType::Index);
        let data = &self.f.ops[op];
        let (row, col) = (data.operands[at], data.operands[at + 1]);
        let Some(cols) = columns(&self.f, data).and_then(|n| i64::try_from(n).ok()) else { return };
        let flat = if let Some(index) = self.split_index(row, col, cols) {
            index
        } else if cols == 1 {
            row
        } else if self.f.const_int(row) == Some(0) {
            col
        } else {
            let n = self.literal(Scalar::index(cols));
            let first = self.insert(C::ScalarMul, &[row, n], Type::INDEX, Attrs::default());
            self.insert(C::ScalarAdd, &[first, col], Type::INDEX, Attrs::default())
        };
        self.set(op, at + 1, flat);
        // Keeps the row from counting as a use.
        self.set(op, at, flat);
    }

    /// The index that `row` and `col` are quotient and remainder of.
    fn split_index(&mut self, row: Value, col: Value, cols: i64) -> Option<Value> {
        let (q, r) = (self.f.def_op(row)?, self.f.def_op(col)?);
        let (q, r) = (&self.f.ops[q], &self.f.ops[r]);
        let by = |op: &OpData| self.f.const_int(*op.operands.get(1)?);
        let fits = q.opcode == C::ScalarDiv
            && r.opcode == C::ScalarRem
            && q.operands[0] == r.operands[0]
            && by(q) == Some(cols)
            && by(r) == Some(cols);
        if !fits {
            return None;
        }
        let (index, literals) = (q.operands[0], [q.operands[1], r.operands[1]]);
        self.dead.extend([row, col]);
        self.dead.extend(literals);
        Some(index)
    }

    /// Removes the quotients, remainders and literals that nothing uses any more.
    fn sweep(&mut self) {
        for value in std::mem::take(&mut self.dead) {
            if self.f.users(value).is_empty()
                && let Some(op) = self.f.def_op(value)
            {
                ir::builder::detach(&mut self.f, op);
            }
        }
    }

    /// The pad of a fill is a property of the destination's type.
    fn pad_in_type(&mut self, op: Op) {
        let data = &self.f.ops[op];
        let Some(dest) = data.dest() else { return };
        let pad = match data.attrs.word("pad") {
            Some("zero") => Pad::Zero,
            Some("max") => Pad::Max,
            Some("min") => Pad::Min,
            _ => return,
        };
        let allocated = self.f.def_op(dest).is_some_and(|d| self.f.ops[d].opcode == C::AllocTile);
        // A carried buffer's type is stated in more places.
        let carried = self
            .f
            .users(dest)
            .into_iter()
            .any(|user| matches!(self.f.ops[user].opcode, C::For | C::While | C::If | C::Yield | C::Condition));
        if let Type::Tile(t) = &mut self.f.values[dest].ty
            && allocated
            && !carried
            && t.pad == Pad::Null
        {
            t.pad = pad;
        }
    }
}

/// Columns of the tile that an element access is about.
fn columns(f: &Function, op: &OpData) -> Option<u64> {
    let tile = match op.opcode {
        C::TGetVal => op.operands.first().copied(),
        _ => op.dest(),
    };
    f.ty(tile?).as_tile().map(|t| t.cols())
}
