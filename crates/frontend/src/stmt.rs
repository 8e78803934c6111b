//! Statements.

use diag::Diagnostic;
use ir::{Attrs, Opcode, Type};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::call::is_submit;
use crate::cx::{Cx, MOST_ERRORS, Res};
use crate::liveness::{assigned, changes_in_place};
use crate::loops::{ACTIVE, DONE, is_yield, leaves};
use crate::names::dotted;
use crate::value::Held;

/// The part of a statement that its operations point at: of a compound one its first line.
pub(crate) fn head(stmt: &Stmt) -> TextRange {
    let end = match stmt {
        Stmt::For(s) => s.iter.range().end(),
        Stmt::While(s) => s.test.range().end(),
        Stmt::If(s) => s.test.range().end(),
        Stmt::With(s) => s.items.last().map_or(s.range().end(), |i| i.range().end()),
        _ => stmt.range().end(),
    };
    TextRange::new(stmt.range().start(), end)
}

/// How a block ended.
#[derive(Clone, Debug)]
pub(crate) enum Flow {
    Next,
    Return(Held),
}

/// Whether a tile is this one, or in this tuple.
pub(crate) fn holds(held: &Held, tile: ir::Value) -> bool {
    match held {
        Held::Ir(v) => *v == tile,
        Held::Tuple(items) => items.iter().any(|i| holds(i, tile)),
        _ => false,
    }
}

/// Whether an expression is a call that gives back the tile it changed.
pub(crate) fn gives_handle(source: &Expr) -> bool {
    let Expr::Call(call) = source else { return false };
    matches!(&*call.func, Expr::Attribute(a) if changes_in_place(a.attr.as_str()))
}

/// Why a statement cannot be in a kernel at all, and what to write instead.
pub(crate) fn unsupported_statement(stmt: &Stmt) -> Option<(String, &'static str)> {
    let what = match stmt {
        Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) | Stmt::Return(_) => return None,
        Stmt::For(_) | Stmt::While(_) | Stmt::If(_) | Stmt::With(_) => return None,
        Stmt::Pass(_) | Stmt::Break(_) | Stmt::Continue(_) => return None,
        Stmt::FunctionDef(_) => "a nested function",
        Stmt::ClassDef(_) => "a class",
        Stmt::Delete(_) => "`del`",
        Stmt::TypeAlias(_) => "a type alias",
        Stmt::Match(_) => "`match`",
        Stmt::Raise(_) => "`raise`",
        Stmt::Try(_) => "`try`",
        Stmt::Assert(_) => "`assert`",
        Stmt::Import(_) | Stmt::ImportFrom(_) => "an import",
        Stmt::Global(_) => "`global`",
        Stmt::Nonlocal(_) => "`nonlocal`",
        _ => "this statement",
    };
    let help = match stmt {
        Stmt::Assert(_) => "use `pl.static_assert` for what is known at compile time, or assert outside of the kernel",
        Stmt::Import(_) | Stmt::ImportFrom(_) => "import at module level",
        Stmt::FunctionDef(_) => "define a helper at module level with `@pl.jit.inline`",
        _ => {
            "assignments, `for` over `pl.range` and its kin, `while`, `if`, `with pl.at(…)`, `return` and calls are supported"
        }
    };
    Some((format!("{what} is not supported in a kernel"), help))
}

impl Cx<'_> {
    /// Executes statements. Errors are reported here, statement by statement: names a failed statement would have bound
    /// are poisoned, so that one mistake is reported once.
    pub(crate) fn block(&mut self, body: &[Stmt]) -> Flow {
        for (i, stmt) in body.iter().enumerate() {
            if self.errors.len() >= MOST_ERRORS {
                return Flow::Next;
            }
            match self.statement(stmt) {
                Ok(Flow::Next) => {}
                Ok(Flow::Return(held)) => {
                    if let Some(next) = body.get(i + 1) {
                        let warning =
                            Diagnostic::warning("unreachable", "this is never reached").at(self.span_of(next), "");
                        self.warn(warning);
                    }
                    return Flow::Return(held);
                }
                Err(fail) => {
                    self.report(fail);
                    for name in assigned(std::slice::from_ref(stmt)) {
                        let span = self.span_of(stmt);
                        self.bind(&name, Held::Poison, span);
                    }
                }
            }
            if leaves(std::slice::from_ref(stmt)) {
                match self.frame().names.get(ACTIVE).map(|b| b.held.clone()) {
                    Some(Held::Bool(false)) => return Flow::Next,
                    Some(Held::Ir(active)) if i + 1 < body.len() => {
                        let rest = &body[i + 1..];
                        let at = head(stmt);
                        let result = self.branch(active, None, at, |cx| cx.block(rest), |_| Flow::Next);
                        if let Err(fail) = result {
                            self.report(fail);
                        }
                        return Flow::Next;
                    }
                    _ => {}
                }
            }
        }
        Flow::Next
    }

    fn statement(&mut self, stmt: &Stmt) -> Res<Flow> {
        self.at(head(stmt), |cx| cx.statement_here(stmt))
    }

    fn statement_here(&mut self, stmt: &Stmt) -> Res<Flow> {
        match stmt {
            Stmt::Assign(s) => {
                let value = self.eval(&s.value)?;
                self.read_later = self.live(s).out;
                for target in &s.targets {
                    self.assign(target, value.clone(), &s.value)?;
                }
                self.note_yield(&s.targets, &s.value, &value);
            }
            Stmt::AnnAssign(s) => {
                if let Some(expr) = &s.value {
                    let value = self.eval(expr)?;
                    let value = self.annotated(&s.annotation, value, expr.range())?;
                    self.read_later = self.live(s).out;
                    self.assign(&s.target, value, expr)?;
                }
            }
            Stmt::AugAssign(s) => {
                let (left, right) = (self.eval(&s.target)?, self.eval(&s.value)?);
                let value = self.binary(s.op, &left, &right, s.range())?;
                self.read_later = self.live(s).out;
                self.assign(&s.target, value, &s.value)?;
            }
            Stmt::For(s) => return self.for_loop(s),
            Stmt::While(s) => return self.while_loop(s),
            Stmt::If(s) => return self.if_statement(s),
            Stmt::With(s) => return self.with_statement(s),
            Stmt::Return(s) => {
                let held = s.value.as_ref().map(|e| self.eval(e)).transpose()?.unwrap_or(Held::None);
                return Ok(Flow::Return(held));
            }
            Stmt::Expr(s) => match &*s.value {
                Expr::StringLiteral(_) | Expr::EllipsisLiteral(_) => {}
                Expr::Call(_) | Expr::Name(_) | Expr::Attribute(_) => {
                    self.eval(&s.value)?;
                }
                _ => {
                    self.eval(&s.value)?;
                    let warning =
                        Diagnostic::warning("no-effect", "this expression has no effect").at(self.span_of(s), "");
                    self.warn(warning);
                }
            },
            Stmt::Pass(_) => {}
            Stmt::Break(s) => self.leave_loop("break", s.range())?,
            Stmt::Continue(s) => self.leave_loop("continue", s.range())?,
            other => {
                let (message, help) = unsupported_statement(other).unwrap_or_default();
                return Err(self.unsupported("unsupported-statement", other, message).help(help).into());
            }
        }
        Ok(Flow::Next)
    }

    /// Binds a target to a value; `source` is the expression that it comes from.
    fn assign(&mut self, target: &Expr, value: Held, source: &Expr) -> Res<()> {
        match target {
            Expr::Name(name) => {
                let value = self.copied(name.id.as_str(), value, source)?;
                self.check_rebinding(name, &value);
                let span = self.span_of(target);
                self.bind(name.id.as_str(), value, span);
                Ok(())
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                // `(x,) = pl.yield_(v)`: one value, as a tuple.
                let value = match value {
                    Held::Tuple(items) => Held::Tuple(items),
                    one if elts.len() == 1 && is_yield(source) => Held::Tuple(vec![one]),
                    other => other,
                };
                let Held::Tuple(items) = value else {
                    return Err(self.not_a(&value, &format!("a tuple of {}", elts.len()), target.range()));
                };
                // `(a, b), task = pl.submit(…)`: the results in a tuple of their own.
                if let [first @ (Expr::Tuple(_) | Expr::List(_)), last] = &elts[..]
                    && is_submit(source)
                    && let Some((task, results)) = items.split_last()
                {
                    self.assign(first, Held::Tuple(results.to_vec()), source)?;
                    return self.assign(last, task.clone(), source);
                }
                if items.len() != elts.len() {
                    let message = format!("{} values for {} names", items.len(), elts.len());
                    return Err(self.error("wrong-argument", target, message).into());
                }
                let sources: &[Expr] = match source {
                    Expr::Tuple(t) if t.elts.len() == elts.len() => &t.elts,
                    _ => &[],
                };
                for (i, (element, item)) in elts.iter().zip(items).enumerate() {
                    self.assign(element, item, sources.get(i).unwrap_or(source))?;
                }
                Ok(())
            }
            Expr::Subscript(s) => self.assign_subscript(s, &value, source.range()),
            _ => {
                let message = format!("assigning to `{}` is not supported", self.text(target));
                Err(self.unsupported("unsupported-statement", target, message).into())
            }
        }
    }

    /// A value as its annotation says: a number in `x: pl.Scalar[pl.INT32] = …` has that type. What annotations say about
    /// tensors and tiles is what their values are anyway.
    fn annotated(&mut self, annotation: &Expr, value: Held, at: TextRange) -> Res<Held> {
        let Expr::Subscript(s) = annotation else { return Ok(value) };
        if dotted(&s.value).is_none_or(|n| n.rsplit('.').next() != Some("Scalar")) {
            return Ok(value);
        }
        let dtype = self.static_dtype(&s.slice)?;
        match &value {
            Held::Ir(v) if self.ty(*v).as_scalar().is_some_and(|own| own.is_int() && dtype.is_int()) => {
                Ok(Held::Ir(self.convert_scalar(*v, dtype)))
            }
            _ => self.scalar_of(&value, dtype, at).map(Held::Ir),
        }
    }

    /// Plain assignment of a tile makes a value, not another name for the same one (semantics rule 14), whatever expression
    /// the tile comes from: copied if another name that is read later holds it, and one of the names is ever changed in
    /// place. What `assemble` and `write` give back is the handle that they were given.
    fn copied(&mut self, name: &str, value: Held, source: &Expr) -> Res<Held> {
        if let Held::Tuple(items) = value {
            return items.into_iter().map(|i| self.copied(name, i, source)).collect::<Res<_>>().map(Held::Tuple);
        }
        let Held::Ir(tile) = value else { return Ok(value) };
        if self.tile(tile).is_none() || gives_handle(source) {
            return Ok(value);
        }
        let frame = self.frame();
        if frame.names.get(name).is_some_and(|b| b.held == value) {
            return Ok(value);
        }
        // Names of the callers are taken to be read after the call.
        let outer = self.frames[..self.frames.len() - 1].iter().any(|f| f.names.values().any(|b| holds(&b.held, tile)));
        let own: Vec<&String> = frame
            .names
            .iter()
            .filter(|(n, b)| n.as_str() != name && self.read_later.contains(*n) && holds(&b.held, tile))
            .map(|(n, _)| n)
            .collect();
        let changed = frame.targets.contains(name) || own.iter().any(|n| frame.targets.contains(*n));
        if !changed || (!outer && own.is_empty()) {
            return Ok(value);
        }
        self.tile_copy(tile, source.range()).map(Held::Ir)
    }

    /// The same elements in a tile of their own.
    pub(crate) fn tile_copy(&mut self, tile: ir::Value, at: TextRange) -> Res<ir::Value> {
        let language = self.program.language.get(&tile).copied();
        let copy = self.infer(Opcode::TMov, &[&[tile]], Attrs::default(), at)?;
        if let Some(d) = language {
            self.program.language.insert(copy, d);
        }
        Ok(copy)
    }

    /// Rebinding an output parameter writes nothing: warned (semantics rule 14).
    fn check_rebinding(&mut self, name: &ast::ExprName, value: &Held) {
        let id = name.id.as_str();
        let frame = self.frame();
        if !frame.outputs.contains(id) {
            return;
        }
        let Some(before) = frame.names.get(id) else { return };
        let Held::Ir(parameter) = before.held else { return };
        if before.held == *value || !matches!(self.ty(parameter), Type::Tensor(_)) {
            return;
        }
        // A view of it, or what `assemble` gives back, is still the parameter.
        if let Held::Ir(v) = value
            && self.program.root.get(v).is_some_and(|r| Some(r) == self.program.root.get(&parameter))
        {
            return;
        }
        if let Some(&root) = self.program.root.get(&parameter) {
            let span = self.span_of(name);
            self.rebound.entry(root).or_insert((id.to_owned(), span));
        }
        let message = format!("`{id}` is an output, and binding the name to something else writes nothing to it");
        let warning = Diagnostic::warning("out-param-rebound", message)
            .at(self.span_of(name), "")
            .help(format!("write into it: `{id}[:] = …`"));
        self.warn(warning);
    }

    /// `a, b = pl.yield_(x, y)` in the body of a loop with `init_values` gives the next carried values.
    fn note_yield(&mut self, targets: &[Expr], value: &Expr, held: &Held) {
        let [target] = targets else { return };
        if !is_yield(value) {
            return;
        }
        let names: Vec<String> = match target {
            Expr::Name(n) => vec![n.id.to_string()],
            Expr::Tuple(t) => t.elts.iter().filter_map(dotted).collect(),
            _ => return,
        };
        let values = match held {
            Held::Tuple(items) if items.len() == names.len() => items.clone(),
            one => vec![one.clone()],
        };
        self.frame_mut().yielded = Some(names.into_iter().zip(values).collect());
    }

    fn leave_loop(&mut self, word: &str, at: TextRange) -> Res<()> {
        let Some(&(place, kind)) = self.frame().loops.last() else {
            return Err(self.error("wrong-place", at, format!("`{word}` outside of a loop")).into());
        };
        if kind == "parallel" {
            let message = format!("`{word}` in a `pl.parallel` loop: its iterations are independent");
            return Err(self.error("wrong-place", at, message).help("use `pl.range`").into());
        }
        if place != self.place {
            let message = format!("`{word}` cannot leave a kernel scope");
            return Err(self.error("wrong-place", at, message).help("decide outside of the scope").into());
        }
        if self.environment.function(self.frame().function).kind == crate::FunctionKind::Entry {
            let message = format!(
                "upstream's compiler drops `{word}` in the body of a `@pl.jit` function; here it does what Python says"
            );
            let warning = Diagnostic::warning("differs-from-upstream", message).at(self.span_of(at), "");
            self.warn(warning);
        }
        let span = self.span_of(at);
        self.bind(ACTIVE, Held::Bool(false), span);
        if word == "break" {
            self.bind(DONE, Held::Bool(true), span);
        }
        Ok(())
    }
}
