//! `if`: decided at compile time where the condition is known, else two regions whose names are joined after it.

use dtype::DType;
use ir::{Attrs, Dim, Op, Opcode, TileType, Type, Value};
use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::cx::{Cx, Fail, Res};
use crate::liveness::{Names, assigned};
use crate::scalars::adopts;
use crate::stmt::Flow;
use crate::value::{Binding, Held, Table};

/// The value of a name after two paths meet.
enum Joined {
    /// The same on both.
    Same(Held),
    /// The n-th value that the regions yield.
    Slot(usize),
    Tuple(Vec<Joined>),
}

/// A value that both regions yield, in a common type.
struct Slot {
    a: Held,
    b: Held,
    ty: Type,
}

impl Cx<'_> {
    pub(crate) fn if_statement(&mut self, s: &ast::StmtIf) -> Res<Flow> {
        let live = self.live(s).out;
        let clauses: Vec<(Option<&ast::Expr>, &[Stmt])> = std::iter::once((Some(&*s.test), &s.body[..]))
            .chain(s.elif_else_clauses.iter().map(|c| (c.test.as_ref(), &c.body[..])))
            .collect();
        let at = TextRange::new(s.range().start(), s.test.range().end());
        self.clauses(&clauses, &live, at)
    }

    fn clauses(&mut self, clauses: &[(Option<&ast::Expr>, &[Stmt])], live: &Names, at: TextRange) -> Res<Flow> {
        let Some(((test, body), rest)) = clauses.split_first() else { return Ok(Flow::Next) };
        let Some(test) = test else { return Ok(self.block(body)) };
        let held = self.eval(test)?;
        match self.condition(held, test.range())? {
            Held::Bool(true) => {
                rest.iter().for_each(|(_, other)| self.prune(other));
                Ok(self.block(body))
            }
            Held::Bool(false) => {
                self.prune(body);
                self.clauses(rest, live, at)
            }
            held => {
                let condition = self.scalar(&held, None, test.range())?;
                let other = |cx: &mut Self| match cx.clauses(rest, live, at) {
                    Ok(flow) => flow,
                    Err(fail) => {
                        cx.report(fail);
                        Flow::Next
                    }
                };
                self.branch(condition, Some(live), at, |cx| cx.block(body), other)?;
                Ok(Flow::Next)
            }
        }
    }

    /// Remembers what statements that are left out would have bound, for messages.
    fn prune(&mut self, body: &[Stmt]) {
        for stmt in body {
            for name in assigned(std::slice::from_ref(stmt)) {
                if let Some(span) = self.span_of(crate::stmt::head(stmt)) {
                    self.frame_mut().pruned.entry(name).or_insert(span);
                }
            }
        }
    }

    /// A run-time branch. Names are joined where they are live after it (all, if `live` is not given).
    pub(crate) fn branch(
        &mut self,
        condition: Value,
        live: Option<&Names>,
        at: TextRange,
        then: impl FnOnce(&mut Self) -> Flow,
        other: impl FnOnce(&mut Self) -> Flow,
    ) -> Res<()> {
        let before = self.frame().names.clone();
        let op = self.new_op(Opcode::If, &[&[condition]], Attrs::default());
        let (first, a) = self.region(op, then, at)?;
        self.frame_mut().names = before;
        let (second, b) = self.region(op, other, at)?;
        let mut slots = Vec::new();
        let mut joined: Vec<(String, Option<diag::Span>, Joined)> = Vec::new();
        let mut table = Table::new();
        let mut failures = Vec::new();
        for name in a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))) {
            let wanted = name.starts_with('$') || live.is_none_or(|l| l.contains(name));
            let (x, y) = (a.get(name), b.get(name));
            let binding = match (x, y) {
                (Some(x), Some(y)) if x.held == y.held => x.clone(),
                (Some(x), Some(_)) | (Some(x), None) | (None, Some(x)) if !wanted => {
                    Binding { held: Held::Unset("it was assigned in a branch of an `if`".into()), span: x.span }
                }
                (Some(x), Some(y)) => match (&x.held, &y.held) {
                    (Held::Poison, _) | (_, Held::Poison) => Binding { held: Held::Poison, span: x.span },
                    (Held::Unset(_), _) | (_, Held::Unset(_)) => {
                        let span = if matches!(x.held, Held::Unset(_)) { y.span } else { x.span };
                        Binding { held: Held::Unset("only one branch of the `if` assigns it".into()), span }
                    }
                    (p, q) => match self.join(p, q, &mut slots) {
                        Some(result) => {
                            joined.push((name.clone(), y.span, result));
                            continue;
                        }
                        None => {
                            failures.push(self.disagreement(name, x, y, at));
                            Binding { held: Held::Poison, span: x.span }
                        }
                    },
                },
                (Some(x), None) | (None, Some(x)) => Binding {
                    held: match x.held {
                        Held::Poison => Held::Poison,
                        _ => Held::Unset("only one branch of the `if` assigns it".into()),
                    },
                    span: x.span,
                },
                (None, None) => continue,
            };
            table.insert(name.clone(), binding);
        }
        for (block, left) in [(first, true), (second, false)] {
            let back = self.enter(block);
            let mut values = Vec::new();
            for slot in &slots {
                let held = if left { &slot.a } else { &slot.b };
                match self.coerce(held, &slot.ty, at) {
                    Ok(value) => values.push(value),
                    Err(fail) => {
                        self.leave(back);
                        return Err(fail);
                    }
                }
            }
            self.effect(Opcode::Yield, &[&values], Attrs::default());
            self.leave(back);
        }
        let mut results = Vec::new();
        for slot in &slots {
            let result = self.builder().add_result(op, slot.ty.clone());
            let language = |cx: &Self, h: &Held| match h {
                Held::Ir(v) => cx.program.language.get(v).copied(),
                _ => None,
            };
            if let (Some(p), Some(q)) = (language(self, &slot.a), language(self, &slot.b))
                && p == q
            {
                self.program.language.insert(result, p);
            }
            if self.is_weak(&slot.a) && self.is_weak(&slot.b) {
                self.program.weak.insert(result);
            }
            if let (Held::Ir(a), Held::Ir(b)) = (&slot.a, &slot.b)
                && let (Some(p), Some(q)) = (self.program.valid.get(a), self.program.valid.get(b))
                && p == q
                && p.iter().all(|h| !matches!(h, Held::Ir(v) if self.defined_in(*v, op)))
            {
                let known = p.clone();
                self.program.valid.insert(result, known);
            }
            results.push(result);
        }
        self.frame_mut().names = table;
        for (name, span, join) in joined {
            let held = build(&join, &results);
            self.bind(&name, held, span);
        }
        for failure in failures {
            self.report(failure);
        }
        Ok(())
    }

    /// One region of an `if`, and the names at its end.
    fn region(&mut self, op: Op, body: impl FnOnce(&mut Self) -> Flow, at: TextRange) -> Res<(ir::Block, Table)> {
        let block = self.builder().add_region(op, &[]);
        let back = self.enter(block);
        let yielded = self.frame_mut().yielded.take();
        let flow = body(self);
        self.frame_mut().yielded = yielded;
        self.leave(back);
        if matches!(flow, Flow::Return(_)) {
            let message = "`return` inside of a run-time `if` is not supported";
            return Err(self
                .unsupported("unsupported-statement", at, message)
                .help("return at the end of the function")
                .into());
        }
        Ok((block, std::mem::take(&mut self.frame_mut().names)))
    }

    fn disagreement(&self, name: &str, x: &Binding, y: &Binding, at: TextRange) -> Fail {
        let (p, q) = (self.describe(&x.held), self.describe(&y.held));
        let message = format!("`{name}` is {p} on one path and {q} on the other");
        let mut diagnostic = self.error("type-change", at, message);
        diagnostic.primary = x.span.map(|span| diag::Label { span, text: p });
        diagnostic.also(y.span, q).into()
    }

    fn join(&self, a: &Held, b: &Held, slots: &mut Vec<Slot>) -> Option<Joined> {
        if a == b {
            return Some(Joined::Same(a.clone()));
        }
        if let (Held::Tuple(x), Held::Tuple(y)) = (a, b) {
            if x.len() != y.len() {
                return None;
            }
            return x.iter().zip(y).map(|(a, b)| self.join(a, b, slots)).collect::<Option<Vec<_>>>().map(Joined::Tuple);
        }
        let partial = |h: &Held| matches!(h, Held::Ir(v) if self.program.valid_views.contains_key(v));
        if partial(a) || partial(b) {
            return None;
        }
        let ty = self.common(a, b)?;
        slots.push(Slot { a: a.clone(), b: b.clone(), ty });
        Some(Joined::Slot(slots.len() - 1))
    }

    /// The type that both can be given in, without changing their meaning.
    pub(crate) fn common(&self, a: &Held, b: &Held) -> Option<Type> {
        let literal = |h: &Held, d: DType| match h {
            Held::Int(_) => d != DType::Bool,
            Held::Float(_) => d.is_float(),
            Held::Bool(_) => d == DType::Bool,
            _ => false,
        };
        match (a, b) {
            (Held::Ir(x), Held::Ir(y)) => match (self.ty(*x), self.ty(*y)) {
                // What comes from literals takes the type beside it.
                (Type::Scalar(p), Type::Scalar(q)) if p != q && self.is_weak(a) != self.is_weak(b) => {
                    let (own, to) = if self.is_weak(a) { (*p, *q) } else { (*q, *p) };
                    adopts(own, to).then_some(Type::Scalar(to))
                }
                (p, q) => self.common_types(p, q),
            },
            (Held::Ir(x), other) | (other, Held::Ir(x)) => match (self.ty(*x), other) {
                (Type::Scalar(d), other) if literal(other, *d) => Some(Type::Scalar(*d)),
                (Type::TaskId, Held::None) => Some(Type::TaskId),
                _ => None,
            },
            (Held::None, Held::None) => Some(Type::TaskId),
            (a, b) => match (Self::literal_type(a)?, Self::literal_type(b)?) {
                (x, y) if x == y => Some(Type::Scalar(x)),
                (DType::Index, DType::F32) | (DType::F32, DType::Index) => Some(Type::Scalar(DType::F32)),
                _ => None,
            },
        }
    }

    pub(crate) fn common_types(&self, x: &Type, y: &Type) -> Option<Type> {
        match (x, y) {
            _ if x == y => Some(x.clone()),
            (Type::Scalar(DType::Index), Type::Scalar(DType::I64))
            | (Type::Scalar(DType::I64), Type::Scalar(DType::Index)) => Some(Type::INDEX),
            (Type::Tile(a), Type::Tile(b)) if a.dtype == b.dtype && a.shape == b.shape => {
                let same = |(p, q): (&Dim, &Dim)| if p == q { *p } else { Dim::Dynamic };
                let valid = a.valid.iter().zip(&b.valid).map(same).collect();
                Some(Type::Tile(TileType::value(a.dtype, a.shape.clone()).with_valid(valid)))
            }
            // A batch of one is a matrix.
            (Type::Tile(a), Type::Tile(b)) if a.dtype == b.dtype && matrix(&a.shape) == matrix(&b.shape) => {
                let (lower, other) = if a.shape.len() < b.shape.len() { (a, b) } else { (b, a) };
                let lead = other.shape.len() - lower.shape.len();
                let same = |(p, q): (&Dim, &Dim)| if p == q { *p } else { Dim::Dynamic };
                let valid = lower.valid.iter().zip(&other.valid[lead..]).map(same).collect();
                Some(Type::Tile(TileType::value(lower.dtype, lower.shape.clone()).with_valid(valid)))
            }
            (Type::Tile(t), Type::Tensor(g)) | (Type::Tensor(g), Type::Tile(t))
                if self.in_scope() && g.dtype == t.dtype && g.static_shape().as_ref() == Some(&t.shape) =>
            {
                let full = t.is_fully_valid();
                let valid = t.valid.iter().zip(&t.shape).map(|(v, &n)| if full { Dim::Static(n) } else { *v });
                Some(Type::Tile(t.clone().with_valid(valid.collect())))
            }
            _ => None,
        }
    }

    /// A value in a type that [`Cx::common`] found.
    pub(crate) fn coerce(&mut self, held: &Held, ty: &Type, at: TextRange) -> Res<Value> {
        match ty {
            Type::Scalar(d) => self.scalar_of(held, *d, at),
            Type::TaskId => self.task(held, at),
            Type::Tile(t) => {
                let mut tile = self.raw_operand("yield_", held, at)?;
                if self.tile(tile).is_some_and(|own| own.shape != t.shape) {
                    tile = self.reshaped(tile, t.shape.clone(), at)?;
                }
                if self.ty(tile) == ty {
                    return Ok(tile);
                }
                self.widened(tile, t, at)
            }
            _ => match held {
                Held::Ir(v) if self.ty(*v) == ty => Ok(*v),
                _ => Err(self.not_a(held, "a value of the same type", at)),
            },
        }
    }

    /// The same tile with a valid region that is known at run time only.
    fn widened(&mut self, tile: Value, to: &TileType, at: TextRange) -> Res<Value> {
        let extents: Vec<Held> = match (self.program.valid.get(&tile), self.tile(tile)) {
            (Some(known), _) => known.clone(),
            (None, Some(t)) => t.valid.iter().filter_map(|d| d.known()).map(|n| Held::Int(n as i64)).collect(),
            (None, None) => Vec::new(),
        };
        let [rows, cols] = &extents[..] else {
            let message = "tiles of rank other than 2, or of unknown valid region, cannot meet here";
            return Err(self.unsupported("unsupported-valid-region", at, message).into());
        };
        let (rows, cols) = (self.as_index(rows, at)?, self.as_index(cols, at)?);
        Ok(self.result(Opcode::SetValidShape, &[&[tile], &[rows], &[cols]], Type::Tile(to.clone()), Attrs::default()))
    }
}

/// A shape without leading extents of one, down to a matrix.
fn matrix(shape: &[u64]) -> &[u64] {
    let lead = shape.len().saturating_sub(2);
    let ones = shape[..lead].iter().take_while(|&&n| n == 1).count();
    &shape[ones..]
}

fn build(join: &Joined, results: &[Value]) -> Held {
    match join {
        Joined::Same(held) => held.clone(),
        Joined::Slot(i) => Held::Ir(results[*i]),
        Joined::Tuple(items) => Held::Tuple(items.iter().map(|j| build(j, results)).collect()),
    }
}
