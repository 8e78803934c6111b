//! Elementwise, broadcasting and reducing operations on tiles.
//!
//! Element types that differ are promoted by inserting conversions: the float wins over the integer, the wider over the
//! narrower. A literal takes the tile's type, but a float literal on an integer tile promotes the operation to f32
//! (semantics rule 16). Shapes broadcast as in NumPy; `[M, 1]` and `[1, N]` operands become row and column expansions.

use dtype::DType;
use ir::builder::attrs;
use ir::{Attr, Attrs, Opcode, TileType, Type, Value};
use ruff_python_ast::Operator;
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Fail, Res};
use crate::faces::Meaning;
use crate::ops::binary::{ADD, Binary, DIV, Elements, MUL, SUB};
use crate::value::Held;

impl Cx<'_> {
    /// The faces that the table describes by opcodes alone.
    pub(crate) fn table_op(&mut self, meaning: Meaning, args: &Args<'_>) -> Res<Held> {
        let at = args.at;
        match meaning {
            Meaning::Binary(op) => {
                let (a, b) = (args.need("a"), args.need("b"));
                let (x, y) = (self.eval(a)?, self.eval(b)?);
                self.elementwise(op, (&x, a.range()), (&y, b.range()), at)
            }
            Meaning::Chain(op) => {
                let (a, b, c) = (args.need("a"), args.need("b"), args.need("c"));
                let (x, y, z) = (self.eval(a)?, self.eval(b)?, self.eval(c)?);
                let first = self.elementwise(op, (&x, a.range()), (&y, b.range()), at)?;
                self.elementwise(&ADD, (&first, at), (&z, c.range()), at)
            }
            Meaning::Unary { op, floats } => {
                let x = args.need("x");
                let held = self.eval(x)?;
                if let Some(scalar) = self.scalar_unary(args.name, &held, at)? {
                    return Ok(scalar);
                }
                let tile = self.operand(args.name, &held, x.range())?;
                self.unary_tile(op, floats, tile, at)
            }
            Meaning::Reduce(op) => {
                let x = args.need("x");
                let held = self.eval(x)?;
                let tile = self.operand(args.name, &held, x.range())?;
                self.infer_op(op, &[tile], Attrs::default(), at).map(Held::Ir)
            }
            Meaning::Expand(op) => self.expand(op, args).map(Held::Ir),
            Meaning::ExpandExp(op) => {
                let difference = self.expand(op, args)?;
                self.infer(Opcode::TExp, &[&[difference]], Attrs::default(), at).map(Held::Ir)
            }
            Meaning::Repeat(op) => {
                let (target, v) = (args.need("target"), args.need("v"));
                let (shape, vector) = (self.eval(target)?, self.eval(v)?);
                let Held::Ir(shape) = shape else { return Err(self.not_a(&shape, "a tile", target.range())) };
                let vector = self.operand(args.name, &vector, v.range())?;
                let ty = self.repeated(op, shape, vector, at)?;
                Ok(Held::Ir(self.result(op, &[&[vector]], Type::Tile(ty), Attrs::default())))
            }
            Meaning::Op(_) | Meaning::Launch | Meaning::Statement(_) | Meaning::Unsupported => {
                Err(self.unsupported("unsupported-op", at, format!("`pl.{}` is not supported yet", args.name)).into())
            }
        }
    }

    /// `+`, `-`, `*`, `/` on tiles and tensors; `None` if neither operand is one.
    pub(crate) fn container_operator(&mut self, op: Operator, a: &Held, b: &Held, at: TextRange) -> Res<Option<Held>> {
        let container =
            |cx: &Self, h: &Held| matches!(h, Held::Ir(v) if matches!(cx.ty(*v), Type::Tile(_) | Type::Tensor(_)));
        if !container(self, a) && !container(self, b) {
            return Ok(None);
        }
        let binary = match op {
            Operator::Add => &ADD,
            Operator::Sub => &SUB,
            Operator::Mult => &MUL,
            Operator::Div => &DIV,
            other => {
                let message = format!("`{}` is not supported on tiles", other.as_str());
                let instead = match other {
                    Operator::Mod => "`pl.rem` (sign of the divisor) or `pl.fmod` (sign of the dividend)",
                    Operator::LShift => "`pl.shl`",
                    Operator::RShift => "`pl.shr`",
                    Operator::BitAnd => "`pl.and_`",
                    Operator::BitOr => "`pl.or_`",
                    Operator::BitXor => "`pl.xor`",
                    Operator::MatMult => "`pl.matmul`",
                    Operator::FloorDiv => "`pl.div`, and `pl.cast` with mode \"floor\" for floats",
                    _ => "`pl.mul`",
                };
                let help = format!("use {instead}");
                return Err(self.unsupported("unsupported-operator", at, message).help(help).into());
            }
        };
        self.elementwise(binary, (a, at), (b, at), at).map(Some)
    }

    pub(crate) fn elementwise_unary(&mut self, name: &'static str, a: &Held, at: TextRange) -> Res<Held> {
        let tile = self.operand(name, a, at)?;
        self.unary_tile(Opcode::TNeg, false, tile, at)
    }

    /// `abs` and `neg` of a literal or a scalar; other operations take tiles only.
    fn scalar_unary(&mut self, name: &str, held: &Held, at: TextRange) -> Res<Option<Held>> {
        let scalar = held.is_literal_number() || matches!(held, Held::Ir(v) if self.ty(*v).as_scalar().is_some());
        match name {
            "neg" if scalar => self.unary(ruff_python_ast::UnaryOp::USub, held, at).map(Some),
            _ => Ok(None),
        }
    }

    fn unary_tile(&mut self, op: Opcode, floats: bool, tile: Value, at: TextRange) -> Res<Held> {
        let dtype = self.ty(tile).element().unwrap_or(DType::F32);
        let tile = if floats && !dtype.is_float() { self.convert(tile, DType::F32, "rint", at)? } else { tile };
        self.infer(op, &[&[tile]], Attrs::default(), at).map(Held::Ir)
    }

    /// A tile operand: a tile in its language type, or a whole tensor, loaded here.
    pub(crate) fn operand(&mut self, name: &str, held: &Held, at: TextRange) -> Res<Value> {
        let value = self.raw_operand(name, held, at)?;
        self.settled(value, at)
    }

    /// A tile operand, a matmul's value unrounded.
    pub(crate) fn raw_operand(&mut self, name: &str, held: &Held, at: TextRange) -> Res<Value> {
        let Held::Ir(value) = *held else {
            return Err(self.not_a(held, "a tile or a tensor", at));
        };
        match self.ty(value) {
            Type::Tile(_) => Ok(value),
            Type::Tensor(_) if self.in_scope() => self.load_whole(value, at),
            Type::Tensor(_) => Err(self.outside(name, at)),
            _ => Err(self.not_a(held, "a tile or a tensor", at)),
        }
    }

    /// The error of an operation that computes, outside of a kernel scope.
    pub(crate) fn outside(&self, name: &str, at: TextRange) -> Fail {
        self.error("wrong-level", at, format!("`pl.{name}` computes on tensors, outside of a kernel scope"))
            .help("put it inside `with pl.at(level=pl.Level.CORE_GROUP):`")
            .into()
    }

    /// A tile whose elements have their language type: a matmul's value is rounded to it, ties to even (rule 9).
    pub(crate) fn settled(&mut self, tile: Value, at: TextRange) -> Res<Value> {
        match self.program.language.get(&tile) {
            Some(&d) if Some(d) != self.ty(tile).element() => self.convert(tile, d, "rint", at),
            _ => Ok(tile),
        }
    }

    /// A conversion of element types by the profile's chain of hops; nothing if the type is right already.
    pub(crate) fn convert(&mut self, tile: Value, to: DType, mode: &str, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else {
            return Err(self.not_a(&Held::Ir(tile), "a tile", at));
        };
        if t.dtype == to {
            return Ok(tile);
        }
        let profile = match self.arch {
            chip::Arch::A2a3 => dtype::Profile::A2a3,
            chip::Arch::A5 => dtype::Profile::A5,
        };
        if dtype::convert::chain(t.dtype, to, profile).is_none() {
            let (f, t) = (t.dtype.language_name(), to.language_name());
            let message = format!("{} has no conversion from {f} to {t}", self.arch.name());
            return Err(self.unsupported("cast-unsupported", at, message).into());
        }
        let ty = Type::Tile(TileType::value(to, t.shape).with_valid(t.valid));
        let value = self.result(Opcode::TCvt, &[&[tile]], ty, attrs([("mode", Attr::Word(mode.to_owned()))]));
        self.same_valid(value, tile);
        Ok(value)
    }

    pub(crate) fn elementwise(
        &mut self,
        op: &'static Binary,
        (a, at_a): (&Held, TextRange),
        (b, at_b): (&Held, TextRange),
        at: TextRange,
    ) -> Res<Held> {
        let scalar = |cx: &Self, h: &Held| match h {
            Held::Ir(v) => cx.ty(*v).as_scalar().is_some(),
            other => other.is_literal_number() || matches!(other, Held::Dynamic { .. }),
        };
        match (scalar(self, a), scalar(self, b)) {
            (true, true) => match op.scalars {
                Some(scalars) => self.scalar_binary(scalars, a, b, at),
                None => Err(self.not_a(a, "a tile or a tensor", at_a)),
            },
            (false, true) => {
                let tile = self.operand(op.name, a, at_a)?;
                self.with_scalar(op, tile, b, at_b, false, at)
            }
            (true, false) => {
                let tile = self.operand(op.name, b, at_b)?;
                self.with_scalar(op, tile, a, at_a, true, at)
            }
            (false, false) => {
                let x = self.operand(op.name, a, at_a)?;
                let y = self.operand(op.name, b, at_b)?;
                if op.elements != Elements::Any {
                    self.integers(op, x, at_a)?;
                    self.integers(op, y, at_b)?;
                }
                let (x, y) = match op.elements {
                    Elements::Shift => (x, self.counts(op, x, y, at_b)?),
                    Elements::Any | Elements::Bits => self.promoted(x, y, at)?,
                };
                self.broadcast(op, x, y, at).map(Held::Ir)
            }
        }
    }

    /// A tile and a number; `reversed` where the number is on the left.
    fn with_scalar(
        &mut self,
        op: &'static Binary,
        tile: Value,
        number: &Held,
        at_number: TextRange,
        reversed: bool,
        at: TextRange,
    ) -> Res<Held> {
        let element = self.ty(tile).element().unwrap_or(DType::F32);
        if op.elements != Elements::Any {
            self.integers(op, tile, at)?;
        }
        if op.elements == Elements::Shift && self.known_int(number).is_some_and(|n| n < 0) && !reversed {
            let message = format!("`pl.{}` shifts by a number of bits that is not negative", self.called(op));
            return Err(self.error("wrong-argument", at_number, message).into());
        }
        let float = match number {
            _ if op.elements != Elements::Any => false,
            Held::Float(_) => true,
            Held::Ir(v) => self.ty(*v).as_scalar() == Some(DType::F32),
            _ => false,
        };
        let tile = if float && element.is_int() { self.convert(tile, DType::F32, "rint", at)? } else { tile };
        let element = self.ty(tile).element().unwrap_or(element);
        let none = Attrs::default;
        if reversed && op.tiles == Opcode::TSub {
            // s − t = (−t) + s exactly: negation does not round.
            let minus = if element.is_float() { Held::Float(-1.0) } else { Held::Int(-1) };
            let minus = self.scalar_of(&minus, element, at_number)?;
            let scalar = self.scalar_of(number, element, at_number)?;
            let negative = self.infer(Opcode::TMulS, &[&[tile], &[minus]], none(), at)?;
            return self.infer(Opcode::TAddS, &[&[negative], &[scalar]], none(), at).map(Held::Ir);
        }
        let scalar = self.scalar_of(number, element, at_number)?;
        let reverse = reversed && !op.commutes;
        match op.scalar {
            Some(opcode) if !reverse => self.infer_op(opcode, &[tile, scalar], none(), at).map(Held::Ir),
            Some(Opcode::TDivS) => {
                let attributes = attrs([("reverse", Attr::Bool(true))]);
                self.infer_op(Opcode::TDivS, &[tile, scalar], attributes, at).map(Held::Ir)
            }
            // No form for a number there: a tile of it.
            Some(_) => {
                let filled = self.filled_like(tile, scalar, at)?;
                self.infer_op(op.tiles, &[filled, tile], none(), at).map(Held::Ir)
            }
            None => Err(self.not_a(number, "a tile or a tensor", at_number)),
        }
    }

    /// An operation on these operands, one a group; optional ones that follow are left out.
    pub(crate) fn infer_op(
        &mut self,
        opcode: Opcode,
        operands: &[Value],
        attributes: Attrs,
        at: TextRange,
    ) -> Res<Value> {
        let mut groups: Vec<&[Value]> = operands.chunks(1).collect();
        groups.resize(opcode.info().operands.len(), &[]);
        self.infer(opcode, &groups, attributes, at)
    }

    /// A tile of one number, of the shape and valid region of another tile.
    pub(crate) fn filled_like(&mut self, tile: Value, scalar: Value, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else { return Err(self.not_a(&Held::Ir(tile), "a tile", at)) };
        let (mut dynamic, mut extents) = (Vec::new(), Vec::new());
        for (axis, dim) in t.valid.iter().enumerate() {
            let extent = self.valid_extent(tile, axis, at)?;
            if dim.known().is_none() {
                dynamic.push(self.as_index(&extent, at)?);
            }
            extents.push(extent);
        }
        let dtype = self.ty(scalar).as_scalar().unwrap_or(t.dtype);
        let partly = !t.is_fully_valid();
        let ty = Type::Tile(TileType::value(dtype, t.shape).with_valid(t.valid));
        let filled = self.result(Opcode::TExpandS, &[&[scalar], &dynamic], ty, Attrs::default());
        if partly {
            self.program.valid.insert(filled, extents);
        }
        Ok(filled)
    }

    /// What an operation was called as.
    fn called(&self, op: &'static Binary) -> &'static str {
        self.face.unwrap_or(op.name)
    }

    fn integers(&self, op: &'static Binary, tile: Value, at: TextRange) -> Res<()> {
        match self.ty(tile).element() {
            Some(d) if d.is_float() => {
                let message = format!("`pl.{}` takes integers, not {}", self.called(op), d.language_name());
                Err(self.error("dtype-unsupported", at, message).into())
            }
            _ => Ok(()),
        }
    }

    /// Numbers of bits in the type of what is shifted; the conversion must keep every number.
    fn counts(&mut self, op: &'static Binary, x: Value, y: Value, at: TextRange) -> Res<Value> {
        let (Some(p), Some(q)) = (self.ty(x).element(), self.ty(y).element()) else { return Ok(y) };
        if p != q && (q.size() >= p.size() || (q.is_signed_int() && !p.is_signed_int())) {
            let message = format!(
                "`pl.{}` shifts {} elements by as many {}",
                self.called(op),
                p.language_name(),
                q.language_name()
            );
            return Err(self.error("dtype-mismatch", at, message).help("convert the counts with `pl.cast`").into());
        }
        self.convert(y, p, "rint", at)
    }

    /// Two tiles of one element type, converting where they differ.
    pub(crate) fn promoted(&mut self, x: Value, y: Value, at: TextRange) -> Res<(Value, Value)> {
        let (Some(p), Some(q)) = (self.ty(x).element(), self.ty(y).element()) else {
            return Err(self.not_a(&Held::Ir(x), "a tile", at));
        };
        let common = promote(p, q);
        Ok((self.convert(x, common, "round", at)?, self.convert(y, common, "round", at)?))
    }

    /// The shape that two broadcast to.
    fn common_shape(&self, name: &str, p: &[u64], q: &[u64], at: TextRange) -> Res<Vec<u64>> {
        let mut target = Vec::new();
        for (&m, &n) in p.iter().zip(q) {
            match (m, n) {
                (m, n) if m == n => target.push(m),
                (1, n) => target.push(n),
                (m, 1) => target.push(m),
                _ => {
                    let message = format!("`pl.{name}` needs shapes that broadcast, not {p:?} and {q:?}");
                    return Err(self.error("shape-mismatch", at, message).into());
                }
            }
        }
        Ok(target)
    }

    /// Two tiles, repeated to one shape.
    pub(crate) fn one_shape(&mut self, name: &str, x: Value, y: Value, at: TextRange) -> Res<(Value, Value)> {
        let shape = |cx: &Self, v: Value| cx.tile(v).map_or(Vec::new(), |t| t.shape.clone());
        let rank = shape(self, x).len().max(shape(self, y).len());
        let (x, y) = (self.with_rank(x, rank, at)?, self.with_rank(y, rank, at)?);
        let target = self.common_shape(name, &shape(self, x), &shape(self, y), at)?;
        Ok((self.expanded(x, &target, at)?, self.expanded(y, &target, at)?))
    }

    fn broadcast(&mut self, op: &'static Binary, x: Value, y: Value, at: TextRange) -> Res<Value> {
        let shape = |cx: &Self, v: Value| cx.tile(v).map_or(Vec::new(), |t| t.shape.clone());
        let (mut x, mut y) = (x, y);
        let none = Attrs::default;
        if shape(self, x) == shape(self, y) {
            return self.infer_op(op.tiles, &[x, y], none(), at);
        }
        let rank = shape(self, x).len().max(shape(self, y).len());
        x = self.with_rank(x, rank, at)?;
        y = self.with_rank(y, rank, at)?;
        let (p, q) = (shape(self, x), shape(self, y));
        let target = self.common_shape(op.name, &p, &q, at)?;
        if p != target && q == target && op.commutes {
            std::mem::swap(&mut x, &mut y);
        } else if p != target {
            x = self.expanded(x, &target, at)?;
        }
        let q = shape(self, y);
        if q == target {
            return self.infer_op(op.tiles, &[x, y], none(), at);
        }
        let (last, lead) = (rank - 1, &target[..rank - 1]);
        if let Some(row) = op.row
            && q[last] == 1
            && q[..last] == *lead
        {
            return self.infer(row, &[&[x], &[y]], none(), at);
        }
        if let Some(col) = op.col
            && rank == 2
            && q[0] == 1
            && q[1] == target[1]
        {
            return self.infer(col, &[&[x], &[y]], none(), at);
        }
        let y = self.expanded(y, &target, at)?;
        self.infer_op(op.tiles, &[x, y], none(), at)
    }

    /// A tile with extents of 1 put in front.
    fn with_rank(&mut self, tile: Value, rank: usize, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else {
            return Err(self.not_a(&Held::Ir(tile), "a tile", at));
        };
        if t.shape.len() == rank {
            return Ok(tile);
        }
        let shape = [vec![1; rank - t.shape.len()], t.shape].concat();
        self.reshaped(tile, shape, at)
    }

    /// A vector or single element repeated to a matrix.
    pub(crate) fn expanded(&mut self, tile: Value, target: &[u64], at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else {
            return Err(self.not_a(&Held::Ir(tile), "a tile", at));
        };
        let ty = Type::Tile(spread(&t, target));
        match (&t.shape[..], target) {
            (a, b) if a == b => Ok(tile),
            ([1, 1], [_, _]) => {
                let zero = self.index(0);
                let element = self.infer(Opcode::TGetVal, &[&[tile], &[zero], &[zero]], Attrs::default(), at)?;
                let ty = Type::Tile(TileType::value(t.dtype, target.to_vec()));
                Ok(self.result(Opcode::TExpandS, &[&[element], &[]], ty, Attrs::default()))
            }
            ([m, 1], [n, _]) if m == n => Ok(self.result(Opcode::TRowExpand, &[&[tile]], ty, Attrs::default())),
            ([1, m], [_, n]) if m == n => Ok(self.result(Opcode::TColExpand, &[&[tile]], ty, Attrs::default())),
            _ => {
                let message = format!("broadcasting {:?} to {target:?} is not supported", t.shape);
                Err(self.unsupported("unsupported-broadcast", at, message).into())
            }
        }
    }

    fn expand(&mut self, op: Opcode, args: &Args<'_>) -> Res<Value> {
        let (x, v) = (args.need("x"), args.need("v"));
        let (matrix, vector) = (self.eval(x)?, self.eval(v)?);
        let matrix = self.operand(args.name, &matrix, x.range())?;
        let vector = self.operand(args.name, &vector, v.range())?;
        let (matrix, vector) = self.promoted(matrix, vector, args.at)?;
        self.infer(op, &[&[matrix], &[vector]], Attrs::default(), args.at)
    }

    /// The type of a vector repeated to the shape of `shape`.
    fn repeated(&self, op: Opcode, shape: Value, vector: Value, at: TextRange) -> Res<TileType> {
        let dims = match self.ty(shape) {
            Type::Tile(t) => Some(t.shape.clone()),
            Type::Tensor(t) => t.static_shape(),
            _ => None,
        };
        let (Some(dims), Some(v)) = (dims, self.tile(vector)) else {
            return Err(self.not_a(&Held::Ir(shape), "a tile of known shape", at));
        };
        let fits = match (op, &dims[..], &v.shape[..]) {
            (Opcode::TRowExpand, [.., _], [.., 1]) => dims[..dims.len() - 1] == v.shape[..v.shape.len() - 1],
            (Opcode::TColExpand, [_, n], [1, m]) => n == m,
            _ => false,
        };
        if !fits {
            let message = format!("a vector of shape {:?} does not repeat to {dims:?}", v.shape);
            return Err(self.error("shape-mismatch", at, message).into());
        }
        Ok(spread(v, &dims))
    }
}

/// A vector repeated to a shape: all of the axis it spreads over is valid, along the others what is valid of it.
fn spread(v: &TileType, shape: &[u64]) -> TileType {
    let valid = shape.iter().enumerate().map(|(i, &n)| match (v.shape.get(i), v.valid.get(i)) {
        (Some(&own), Some(&valid)) if own == n => valid,
        _ => ir::Dim::Static(n),
    });
    TileType::value(v.dtype, shape.to_vec()).with_valid(valid.collect())
}

/// The type of an operation on two element types.
pub(crate) fn promote(a: DType, b: DType) -> DType {
    match (a.is_float(), b.is_float()) {
        _ if a == b => a,
        (true, true) if a.size() == b.size() => DType::F32,
        (true, false) => {
            if b.size() > 1 {
                DType::F32
            } else {
                a
            }
        }
        (false, true) => {
            if a.size() > 1 {
                DType::F32
            } else {
                b
            }
        }
        _ if b.size() > a.size() => b,
        _ if b.size() == a.size() && b.is_signed_int() => b,
        _ => a,
    }
}
