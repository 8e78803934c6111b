//! Run-time scalars: literals adopt types, operators become operations (semantics rule 16).

use dtype::scalar::{self, BinaryOp, CmpOp};
use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{Attr, Attrs, Opcode, Type, Value};
use ruff_python_ast::{self as ast, Operator, UnaryOp};
use ruff_text_size::TextRange;

use crate::cx::{Cx, Fail, Res};
use crate::literals;
use crate::value::Held;

impl Cx<'_> {
    /// A literal as a scalar of type `to`. A fraction does not fit an integer.
    pub(crate) fn adopt(&self, literal: &Held, to: DType, at: TextRange) -> Res<Scalar> {
        let misfit = |what: String| {
            let message = format!("the literal {what} does not fit {}", to.language_name());
            Fail::from(self.error("dtype-mismatch", at, message))
        };
        match literal {
            Held::Bool(v) if to == DType::Bool => Ok(Scalar::bool(*v)),
            Held::Bool(v) => Ok(Scalar::from_i64(to, i64::from(*v))),
            Held::Int(v) if to.is_float() => Ok(Scalar::from_i64(to, *v)),
            Held::Int(v) if to == DType::Bool => {
                let _ = v;
                Err(misfit(v.to_string()))
            }
            Held::Int(v) => {
                let s = Scalar::from_i64(to, *v);
                let fits = s.as_i64() == Some(*v) || (to == DType::U64 && *v >= 0);
                if fits { Ok(s) } else { Err(misfit(v.to_string())) }
            }
            Held::Float(v) if to.is_float() => Ok(Scalar::from_f64(to, *v)),
            Held::Float(v) if v.fract() == 0.0 && v.abs() < 9e15 && to.is_int() => {
                self.adopt(&Held::Int(*v as i64), to, at)
            }
            Held::Float(v) => Err(misfit(format!("{v:?}"))),
            other => Err(self.not_a(other, "a number", at)),
        }
    }

    /// The type a literal has without an operand beside it.
    pub(crate) fn literal_type(literal: &Held) -> Option<DType> {
        match literal {
            Held::Int(_) => Some(DType::Index),
            Held::Float(_) => Some(DType::F32),
            Held::Bool(_) => Some(DType::Bool),
            _ => None,
        }
    }

    /// Something as a run-time scalar, of type `want` if it is a literal and `want` is given.
    pub(crate) fn scalar(&mut self, held: &Held, want: Option<DType>, at: TextRange) -> Res<Value> {
        match held {
            Held::Ir(v) if self.ty(*v).as_scalar().is_some() => Ok(*v),
            Held::Poison => Err(Fail::Reported),
            Held::Dynamic { .. } => {
                let value = self.dynamic_extent(held, at)?;
                self.scalar(&value, want, at)
            }
            _ => match Self::literal_type(held) {
                Some(own) => {
                    let scalar = self.adopt(held, want.unwrap_or(own), at)?;
                    Ok(self.constant(scalar))
                }
                None => Err(self.not_a(held, "a scalar", at)),
            },
        }
    }

    /// Something as a scalar of exactly type `to`: a literal adopts it, `Index` and `I64` convert, others do not.
    pub(crate) fn scalar_of(&mut self, held: &Held, to: DType, at: TextRange) -> Res<Value> {
        let value = self.scalar(held, Some(to), at)?;
        let from = self.ty(value).as_scalar().unwrap_or(to);
        if from == to {
            return Ok(value);
        }
        if matches!((from, to), (DType::Index, DType::I64) | (DType::I64, DType::Index)) {
            return Ok(self.convert_scalar(value, to));
        }
        // What comes from literals takes the type that is needed, as they do.
        if self.program.weak.contains(&value) && adopts(from, to) {
            return Ok(self.convert_scalar(value, to));
        }
        let (f, t) = (from.language_name(), to.language_name());
        let diagnostic = self.error("dtype-mismatch", at, format!("{} scalar is needed here, not {f}", a(to)));
        Err(diagnostic.help(format!("convert it: `pl.cast({}, pl.{t})`", self.text(at))).into())
    }

    /// An integer as an index: offsets, extents, loop bounds.
    pub(crate) fn as_index(&mut self, held: &Held, at: TextRange) -> Res<Value> {
        let value = self.scalar(held, Some(DType::Index), at)?;
        match self.ty(value).as_scalar() {
            Some(DType::Index) => Ok(value),
            Some(d) if d.is_int() => Ok(self.convert_scalar(value, DType::Index)),
            other => {
                let what = other.map_or("this", |d| d.language_name());
                Err(self.error("wrong-argument", at, format!("an integer is needed here, not {what}")).into())
            }
        }
    }

    /// A conversion as C does it; folded where the operand is a literal.
    pub(crate) fn convert_scalar(&mut self, value: Value, to: DType) -> Value {
        if self.ty(value).as_scalar() == Some(to) {
            return value;
        }
        if let Some(literal) = self.literal(value) {
            let folded = scalar::cast(literal, to);
            return self.constant(folded);
        }
        let result = self.pure(Opcode::ScalarCast, &[value], Type::Scalar(to), Attrs::default());
        let widens = |from: DType| from.is_int() && to.is_int() && to.size() >= from.size();
        if self.ty(value).as_scalar().is_some_and(widens)
            && let Some(form) = self.affine(&Held::Ir(value))
        {
            self.program.affine.insert(result, form);
        }
        result
    }

    /// The two operands of a scalar operation in one type.
    fn agree(&mut self, a: &Held, b: &Held, at: TextRange) -> Res<(Value, Value)> {
        let dtype = |cx: &Self, h: &Held| match h {
            Held::Ir(v) => cx.ty(*v).as_scalar(),
            _ => None,
        };
        let (x, y) = (self.settle(a, at)?, self.settle(b, at)?);
        let common = match (dtype(self, &x), dtype(self, &y)) {
            (Some(d), None) => Self::beside(d, &y),
            (None, Some(d)) => Self::beside(d, &x),
            (Some(p), Some(q)) if self.is_weak(&x) && !self.is_weak(&y) && adopts(p, q) => q,
            (Some(p), Some(q)) if self.is_weak(&y) && !self.is_weak(&x) && adopts(q, p) => p,
            (Some(p), Some(q)) => match promote_scalars(p, q) {
                Some(d) => d,
                None => {
                    let (p, q) = (p.language_name(), q.language_name());
                    let message = format!("{p} and {q} scalars do not mix");
                    let help = "convert one of them with `pl.cast`";
                    return Err(self.error("dtype-mismatch", at, message).help(help).into());
                }
            },
            (None, None) => Self::literal_type(&x).or(Self::literal_type(&y)).unwrap_or(DType::Index),
        };
        let x = self.scalar(&x, Some(common), at)?;
        let y = self.scalar(&y, Some(common), at)?;
        Ok((self.convert_scalar(x, common), self.convert_scalar(y, common)))
    }

    /// Whether a scalar comes from literals alone.
    pub(crate) fn is_weak(&self, held: &Held) -> bool {
        match held {
            Held::Ir(v) => self.program.weak.contains(v),
            other => other.is_literal_number(),
        }
    }

    /// The type of an operation on a scalar of type `d` and a literal.
    fn beside(d: DType, literal: &Held) -> DType {
        match literal {
            Held::Float(_) if d.is_int() => DType::F32,
            _ => d,
        }
    }

    /// Resolves dynamic extents to scalars.
    fn settle(&mut self, held: &Held, at: TextRange) -> Res<Held> {
        match held {
            Held::Dynamic { .. } => self.dynamic_extent(held, at),
            Held::Poison => Err(Fail::Reported),
            other => Ok(other.clone()),
        }
    }

    pub(crate) fn binary(&mut self, op: Operator, a: &Held, b: &Held, at: TextRange) -> Res<Held> {
        if *a == Held::Poison || *b == Held::Poison {
            return Err(Fail::Reported);
        }
        let runtime = |h: &Held| matches!(h, Held::Ir(_) | Held::Dynamic { .. });
        if !runtime(a) && !runtime(b) {
            return literals::binary(op, a, b).map_err(|e| {
                self.error("literal-arithmetic", at, format!("`{}`: {}", self.text(at), e.message())).into()
            });
        }
        if let Some(held) = self.container_operator(op, a, b, at)? {
            return Ok(held);
        }
        let opcode = match op {
            Operator::Add => BinaryOp::Add,
            Operator::Sub => BinaryOp::Sub,
            Operator::Mult => BinaryOp::Mul,
            Operator::Div | Operator::FloorDiv => BinaryOp::Div,
            Operator::Mod => BinaryOp::Rem,
            Operator::LShift => BinaryOp::Shl,
            Operator::RShift => BinaryOp::Shr,
            Operator::BitAnd => BinaryOp::And,
            Operator::BitOr => BinaryOp::Or,
            Operator::BitXor => BinaryOp::Xor,
            Operator::Pow | Operator::MatMult => {
                let what = if op == Operator::Pow { "`**`" } else { "`@`" };
                let message = format!("{what} is not supported on run-time values");
                let help = if op == Operator::Pow { "multiply instead" } else { "use `pl.matmul`" };
                return Err(self.unsupported("unsupported-operator", at, message).help(help).into());
            }
        };
        self.scalar_binary(opcode, a, b, at)
    }

    /// A scalar operation, folded where both operands are literals of the program.
    pub(crate) fn scalar_binary(&mut self, op: BinaryOp, a: &Held, b: &Held, at: TextRange) -> Res<Held> {
        let weak = self.is_weak(a) && self.is_weak(b);
        let (x, y) = self.agree(a, b, at)?;
        let dtype = self.ty(x).as_scalar().unwrap_or(DType::Index);
        let undefined = dtype.is_float()
            && matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr)
            || dtype == DType::Bool && !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        if undefined {
            let message = format!("this operator is not defined on {} scalars", dtype.language_name());
            return Err(self.error("dtype-mismatch", at, message).into());
        }
        if let (Some(p), Some(q)) = (self.literal(x), self.literal(y)) {
            let folded = scalar::binary(op, p, q)
                .map_err(|e| Fail::from(self.error("literal-arithmetic", at, e.to_string())))?;
            return Ok(Held::Ir(self.constant(folded)));
        }
        // Nothing to compute: the other operand is the neutral element.
        let literal = |cx: &Self, v| cx.literal(v).filter(|s| s.dtype.is_int()).and_then(|s| s.as_i64());
        match (op, literal(self, x), literal(self, y)) {
            (BinaryOp::Add | BinaryOp::Sub, _, Some(0)) | (BinaryOp::Mul | BinaryOp::Div, _, Some(1)) => {
                return Ok(Held::Ir(x));
            }
            (BinaryOp::Add, Some(0), _) | (BinaryOp::Mul, Some(1), _) => return Ok(Held::Ir(y)),
            _ => {}
        }
        let (p, q) = (self.affine(&Held::Ir(x)), self.affine(&Held::Ir(y)));
        let form = match (op, p, q) {
            (BinaryOp::Add, Some(p), Some(q)) => p.plus(&q, 1),
            (BinaryOp::Sub, Some(p), Some(q)) => p.plus(&q, -1),
            (BinaryOp::Mul, Some(p), Some(q)) => p.times(&q),
            _ => None,
        };
        if let Some(known) = form.as_ref().and_then(|f| f.known()) {
            return Ok(Held::Ir(self.constant(Scalar::from_i64(dtype, known))));
        }
        // What is visible to an operand is visible here.
        if let Some(same) = form.as_ref().and_then(|f| f.single())
            && self.ty(same).as_scalar() == Some(dtype)
        {
            return Ok(Held::Ir(same));
        }
        let opcode = match op {
            BinaryOp::Add => Opcode::ScalarAdd,
            BinaryOp::Sub => Opcode::ScalarSub,
            BinaryOp::Mul => Opcode::ScalarMul,
            BinaryOp::Div => Opcode::ScalarDiv,
            BinaryOp::Rem => Opcode::ScalarRem,
            BinaryOp::Min => Opcode::ScalarMin,
            BinaryOp::Max => Opcode::ScalarMax,
            BinaryOp::And => Opcode::ScalarAnd,
            BinaryOp::Or => Opcode::ScalarOr,
            BinaryOp::Xor => Opcode::ScalarXor,
            BinaryOp::Shl => Opcode::ScalarShl,
            BinaryOp::Shr => Opcode::ScalarShr,
        };
        let value = self.pure(opcode, &[x, y], Type::Scalar(dtype), Attrs::default());
        if weak {
            self.program.weak.insert(value);
        }
        if let Some(form) = form {
            self.program.affine.insert(value, form);
        }
        Ok(Held::Ir(value))
    }

    pub(crate) fn compare(&mut self, op: ast::CmpOp, a: &Held, b: &Held, at: TextRange) -> Res<Held> {
        if *a == Held::Poison || *b == Held::Poison {
            return Err(Fail::Reported);
        }
        if let Some(known) = literals::compare(op, a, b) {
            return Ok(Held::Bool(known));
        }
        let predicate = match op {
            ast::CmpOp::Eq => CmpOp::Eq,
            ast::CmpOp::NotEq => CmpOp::Ne,
            ast::CmpOp::Lt => CmpOp::Lt,
            ast::CmpOp::LtE => CmpOp::Le,
            ast::CmpOp::Gt => CmpOp::Gt,
            ast::CmpOp::GtE => CmpOp::Ge,
            _ => {
                let message = format!("`{}` needs values known at compile time", op.as_str());
                return Err(self.unsupported("unsupported-operator", at, message).into());
            }
        };
        for held in [a, b] {
            if matches!(held, Held::Ir(v) if self.tile(*v).is_some() || self.tensor(*v).is_some()) {
                let message = format!("`{}` compares scalars, not {}", op.as_str(), self.describe(held));
                return Err(self.error("wrong-argument", at, message).help("use `pl.cmp` for tiles").into());
            }
        }
        let (x, y) = self.agree(a, b, at)?;
        if let (Some(p), Some(q)) = (self.literal(x), self.literal(y))
            && let Ok(known) = scalar::compare(predicate, p, q)
        {
            return Ok(Held::Bool(known.is_true()));
        }
        if let (Some(p), Some(q)) = (self.affine(&Held::Ir(x)), self.affine(&Held::Ir(y)))
            && let Some(difference) = p.plus(&q, -1).and_then(|d| d.known())
            && let Ok(known) = scalar::compare(predicate, Scalar::index(difference), Scalar::index(0))
        {
            return Ok(Held::Bool(known.is_true()));
        }
        let word = match predicate {
            CmpOp::Eq => "eq",
            CmpOp::Ne => "ne",
            CmpOp::Lt => "lt",
            CmpOp::Le => "le",
            CmpOp::Gt => "gt",
            CmpOp::Ge => "ge",
        };
        let attributes = attrs([("predicate", Attr::Word(word.into()))]);
        Ok(Held::Ir(self.pure(Opcode::ScalarCmp, &[x, y], Type::BOOL, attributes)))
    }

    pub(crate) fn unary(&mut self, op: UnaryOp, a: &Held, at: TextRange) -> Res<Held> {
        let value = match self.settle(a, at)? {
            Held::Ir(v) => v,
            literal => {
                return literals::unary(op, &literal)
                    .map_err(|e| self.error("literal-arithmetic", at, e.message()).into());
            }
        };
        if self.tile(value).is_some() || self.tensor(value).is_some() {
            if op == UnaryOp::USub {
                return self.elementwise_unary("neg", &Held::Ir(value), at);
            }
            return Err(self.not_a(&Held::Ir(value), "a scalar", at));
        }
        let Some(dtype) = self.ty(value).as_scalar() else {
            return Err(self.not_a(&Held::Ir(value), "a scalar", at));
        };
        let (opcode, defined) = match op {
            UnaryOp::UAdd => return Ok(Held::Ir(value)),
            UnaryOp::USub => (Opcode::ScalarNeg, dtype != DType::Bool),
            UnaryOp::Not => (Opcode::ScalarNot, dtype == DType::Bool),
            UnaryOp::Invert => (Opcode::ScalarNot, !dtype.is_float() && dtype != DType::Bool),
        };
        if !defined {
            let message = format!("`{}` is not defined on {} scalars", op.as_str(), dtype.language_name());
            return Err(self.error("dtype-mismatch", at, message).into());
        }
        if let Some(literal) = self.literal(value) {
            let folded = if opcode == Opcode::ScalarNeg { scalar::neg(literal) } else { scalar::not(literal) };
            if let Ok(folded) = folded {
                return Ok(Held::Ir(self.constant(folded)));
            }
        }
        let form = self.affine(&Held::Ir(value)).and_then(|f| f.times(&crate::affine::Affine::constant(-1)));
        let result = self.pure(opcode, &[value], Type::Scalar(dtype), Attrs::default());
        if let (Opcode::ScalarNeg, Some(form)) = (opcode, form) {
            self.program.affine.insert(result, form);
        }
        Ok(Held::Ir(result))
    }

    /// A condition: a compile-time truth or a boolean scalar.
    pub(crate) fn condition(&mut self, held: Held, at: TextRange) -> Res<Held> {
        match &held {
            Held::Poison => Err(Fail::Reported),
            Held::Ir(v) if *self.ty(*v) == Type::BOOL => match self.literal(*v) {
                Some(s) => Ok(Held::Bool(s.is_true())),
                None => Ok(held),
            },
            Held::Ir(v) if self.ty(*v).as_scalar().is_some() => {
                let what = self.describe(&held);
                let message = format!("a condition must be a comparison or a BOOL, not {what}");
                Err(self.error("wrong-argument", at, message).help("compare it: `… != 0`").into())
            }
            _ => match literals::truth(&held) {
                Some(t) => Ok(Held::Bool(t)),
                None => Err(self.not_a(&held, "a condition", at)),
            },
        }
    }
}

/// Whether a literal that stands for itself in type `own` can be given in type `to`: not a fraction as an integer.
pub(crate) fn adopts(own: DType, to: DType) -> bool {
    own != DType::Bool && to != DType::Bool && (to.is_float() || own.is_int())
}

/// A dtype's language name with its article.
pub(crate) fn a(dtype: DType) -> String {
    let name = dtype.language_name();
    let article = if name.starts_with(['I', 'F']) { "an" } else { "a" };
    format!("{article} {name}")
}

/// The type of an operation on two scalars: within integers and within floats the wider, the left one on ties.
fn promote_scalars(a: DType, b: DType) -> Option<DType> {
    if a == b {
        return Some(a);
    }
    if matches!((a, b), (DType::Index, DType::I64) | (DType::I64, DType::Index)) {
        return Some(DType::Index);
    }
    if a.is_float() != b.is_float() || a == DType::Bool || b == DType::Bool {
        return None;
    }
    Some(if b.size() > a.size() { b } else { a })
}
