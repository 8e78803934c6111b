//! Loops: `pl.range` and its kin, `pl.unroll`, `while`, and what they carry.
//!
//! A name is carried if the body binds it and it is live at the start of an iteration or after the loop. Its type must
//! not change. A body is evaluated with the types the names have before the loop; where a literal meets a typed value,
//! a whole tensor a tile, or a valid region becomes dynamic, it is evaluated again with the type that both have. A name
//! first bound in the body and read after the loop starts as zero, an empty tile or no task; one that stands for a tensor
//! from outside (the target of a store) stands for it after the loop too, and is not carried.
//!
//! `break` and `continue` become two flags: `$active` (this iteration goes on) guards the statements after them, `$done`
//! (no more iterations) is carried and guards the body.

use diag::Span;
use ir::builder::attrs;
use ir::{Attr, Attrs, Block, Def, Entity, Op, Opcode, Type, Value};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::cx::{Cx, Fail, Res};
use crate::faces;
use crate::liveness::{Live, assigned};
use crate::scalars::adopts;
use crate::stmt::Flow;
use crate::value::{Binding, Held, Table};

pub(crate) const ACTIVE: &str = "$active";
pub(crate) const DONE: &str = "$done";

/// How often a body is evaluated in search of types that hold.
const ATTEMPTS: usize = 6;
/// Copies that `pl.unroll` loops, one in another, may make of a body.
const MOST_UNROLLED: i64 = 4096;

/// Whether statements have a `break` or `continue` of the loop they stand in.
pub(crate) fn leaves(body: &[Stmt]) -> bool {
    body.iter().any(|s| match s {
        Stmt::Break(_) | Stmt::Continue(_) => true,
        Stmt::If(s) => leaves(&s.body) || s.elif_else_clauses.iter().any(|c| leaves(&c.body)),
        Stmt::With(s) => leaves(&s.body),
        _ => false,
    })
}

fn breaks(body: &[Stmt]) -> bool {
    body.iter().any(|s| match s {
        Stmt::Break(_) => true,
        Stmt::If(s) => breaks(&s.body) || s.elif_else_clauses.iter().any(|c| breaks(&c.body)),
        Stmt::With(s) => breaks(&s.body),
        _ => false,
    })
}

/// The names on the left of the `yield_` that ends a body.
pub(crate) fn yields(body: &[Stmt]) -> Vec<String> {
    match body.last() {
        Some(last @ Stmt::Assign(s)) if is_yield(&s.value) => assigned(std::slice::from_ref(last)),
        _ => Vec::new(),
    }
}

/// Whether an expression is a call of `yield_`.
pub(crate) fn is_yield(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    crate::names::dotted(&call.func).is_some_and(|n| n == "yield_" || n.ends_with(".yield_"))
}

/// How a loop runs.
enum Head<'a> {
    Counted { bounds: [Value; 3], kind: &'static str, stage: Option<i64>, variable: Option<(String, Option<Span>)> },
    While { test: &'a Expr },
}

/// A loop to build.
struct Loop<'a> {
    head: Head<'a>,
    body: &'a [Stmt],
    live: Live,
    at: TextRange,
    /// Names of the loop's head and their first values (`init_values`).
    header: Vec<(String, Held, Option<Span>)>,
}

/// A carried name.
#[derive(Clone, Debug)]
struct Carry {
    name: String,
    init: Held,
    span: Option<Span>,
    /// The type it is carried in; `None`: as the initial value has it.
    ty: Option<Type>,
    /// Extents of the valid region in every iteration, as far as known from outside of the loop.
    valid: Option<Vec<Held>>,
    header: bool,
}

impl Cx<'_> {
    pub(crate) fn for_loop(&mut self, s: &ast::StmtFor) -> Res<Flow> {
        if let Some(stmt) = s.orelse.first() {
            return Err(self.unsupported("unsupported-statement", stmt, "`else` of a loop is not supported").into());
        }
        let not_a_loop = |cx: &Self, what: String| {
            let message = format!(
                "a loop runs over `pl.range`, `pl.parallel`, `pl.pipeline`, `pl.unroll` or `pl.spmd`, not {what}"
            );
            let diagnostic = cx.unsupported("unsupported-statement", &*s.iter, message);
            Fail::from(diagnostic.help("use `pl.range` for a run-time loop and `pl.unroll` to copy the body"))
        };
        let Expr::Call(call) = &*s.iter else {
            let held = self.eval(&s.iter)?;
            return Err(not_a_loop(self, self.describe(&held)));
        };
        let kind = match self.eval(&call.func)? {
            Held::Language(name) => name,
            other => return Err(not_a_loop(self, self.describe(&other))),
        };
        match kind.as_str() {
            "range" => self.counted(s, call, "range"),
            "parallel" => self.counted(s, call, "parallel"),
            "pipeline" => self.counted(s, call, "pipeline"),
            "unroll" => self.unroll(s, call),
            "spmd" => self.spmd_loop(s, call),
            "while_" => self.explicit_while(s, call),
            "split_aiv" => self.lanes(s, call),
            other => {
                let message = format!("`{}`", other.strip_prefix("builtins.").unwrap_or(other));
                Err(not_a_loop(self, message))
            }
        }
    }

    /// Start, stop and step as `range` takes them.
    fn bounds(&mut self, call: &ast::ExprCall, name: &str) -> Res<[(Held, TextRange); 3]> {
        let mut values = Vec::new();
        for expr in &call.arguments.args {
            let held = self.eval(expr)?;
            values.push((self.dynamic_extent(&held, expr.range())?, expr.range()));
        }
        let at = call.range();
        let (zero, one) = ((Held::Int(0), at), (Held::Int(1), at));
        let [start, stop, step] = match &values[..] {
            [stop] => [zero, stop.clone(), one],
            [start, stop] => [start.clone(), stop.clone(), one],
            [start, stop, step] => [start.clone(), stop.clone(), step.clone()],
            _ => {
                let message = format!("`pl.{name}` takes one to three bounds, not {}", values.len());
                return Err(self.error("wrong-argument", at, message).into());
            }
        };
        if self.known_int(&step.0) == Some(0) {
            return Err(self.error("wrong-argument", step.1, "a step of zero").into());
        }
        Ok([start, stop, step])
    }

    fn counted(&mut self, s: &ast::StmtFor, call: &ast::ExprCall, kind: &'static str) -> Res<Flow> {
        let bounds = self.bounds(call, kind)?;
        let (mut stage, mut init) = (None, None);
        for keyword in call.arguments.keywords.iter() {
            match keyword.arg.as_ref().map(|a| a.as_str()) {
                Some("stage") => {
                    let n = self.static_int(&keyword.value)?;
                    if n < 1 {
                        let message = format!("a pipeline has at least one stage, not {n}");
                        return Err(self.error("wrong-argument", keyword.range(), message).into());
                    }
                    stage = Some(n);
                }
                Some("init_values") => init = Some(&keyword.value),
                Some("attrs") => {}
                other => {
                    let message = format!("`pl.{kind}` has no argument `{}`", other.unwrap_or("**"));
                    let help = "its arguments are start, stop, step, init_values and, for `pl.pipeline`, stage";
                    return Err(self.error("wrong-argument", keyword.range(), message).help(help).into());
                }
            }
        }
        let (variable, header) = self.targets(&s.target, init)?;
        let mut values = Vec::new();
        for (held, at) in &bounds {
            values.push(self.as_index(held, *at)?);
        }
        let bounds = [values[0], values[1], values[2]];
        let live = self.live(s);
        self.build(Loop {
            head: Head::Counted { bounds, kind, stage, variable },
            body: &s.body,
            live,
            at: TextRange::new(s.range().start(), s.iter.range().end()),
            header,
        })
    }

    /// The loop variable and the carried names of `for i, (a, b) in …(init_values=(x, y))`.
    #[allow(clippy::type_complexity)]
    fn targets(
        &mut self,
        target: &Expr,
        init: Option<&Expr>,
    ) -> Res<(Option<(String, Option<Span>)>, Vec<(String, Held, Option<Span>)>)> {
        let (variable, names): (&Expr, Option<&Expr>) = match (target, init) {
            (Expr::Tuple(t), Some(_)) if t.elts.len() == 2 => (&t.elts[0], Some(&t.elts[1])),
            _ => (target, None),
        };
        let Expr::Name(v) = variable else {
            let message = "a loop binds one name, or `i, (a, b)` with `init_values`";
            return Err(self.error("wrong-argument", variable, message).into());
        };
        let variable = Some((v.id.to_string(), self.span_of(v)));
        let Some(init) = init else { return Ok((variable, Vec::new())) };
        let Some(names) = names else {
            let message = "`init_values` needs names for the carried values: `for i, (a, b) in …`";
            return Err(self.error("wrong-argument", target, message).into());
        };
        Ok((variable, self.header(names, init)?))
    }

    fn header(&mut self, names: &Expr, init: &Expr) -> Res<Vec<(String, Held, Option<Span>)>> {
        let one = std::slice::from_ref(names);
        let targets: &[Expr] = match names {
            Expr::Tuple(t) => &t.elts,
            Expr::List(t) => &t.elts,
            _ => one,
        };
        let values = match self.eval(init)? {
            Held::Tuple(items) => items,
            single => vec![single],
        };
        if targets.len() != values.len() {
            let message = format!("{} names for {} initial values", targets.len(), values.len());
            return Err(self.error("wrong-argument", names, message).into());
        }
        let mut header = Vec::new();
        for (target, held) in targets.iter().zip(values) {
            let Expr::Name(n) = target else {
                return Err(self.error("wrong-argument", target, "a carried value needs a name").into());
            };
            header.push((n.id.to_string(), held, self.span_of(n)));
        }
        Ok(header)
    }

    /// `pl.unroll`: the body once per value, each a compile-time constant.
    fn unroll(&mut self, s: &ast::StmtFor, call: &ast::ExprCall) -> Res<Flow> {
        if let Some(keyword) = call.arguments.keywords.first() {
            return Err(self.error("wrong-argument", keyword.range(), "`pl.unroll` takes bounds only").into());
        }
        let bounds = self.bounds(call, "unroll")?;
        let mut numbers = [0; 3];
        for (number, (held, at)) in numbers.iter_mut().zip(&bounds) {
            match self.known_int(held) {
                Some(n) => *number = n,
                None => return Err(self.not_a(held, "a bound known at compile time", *at)),
            }
        }
        let [start, stop, step] = numbers;
        let Expr::Name(variable) = &*s.target else {
            return Err(self.error("wrong-argument", &*s.target, "`pl.unroll` binds one name").into());
        };
        let (name, span) = (variable.id.to_string(), self.span_of(variable));
        // Loops in loops make the product of their copies.
        let length = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
        let trips = length.max(0).saturating_add(step.saturating_abs() - 1) / step.saturating_abs();
        let copies = self.copies.saturating_mul(trips.max(1));
        if copies > MOST_UNROLLED {
            let around = match self.copies {
                1 => String::new(),
                n => format!(" in {n} copies of the loops around"),
            };
            let message = format!("{trips} copies{around}: a body is unrolled at most {MOST_UNROLLED} times");
            return Err(self.unsupported("unroll-limit", call, message).help("use `pl.range`").into());
        }
        let copies_around = std::mem::replace(&mut self.copies, copies);
        let saved = self.flags();
        let leaving = leaves(&s.body);
        if leaving {
            self.bind(DONE, Held::Bool(false), None);
            let place = self.place;
            self.frame_mut().loops.push((place, "unroll"));
        }
        let (mut i, mut result) = (start, Ok(Flow::Next));
        while (step > 0 && i < stop) || (step < 0 && i > stop) {
            let errors = self.errors.len();
            let once = |cx: &mut Self| {
                cx.bind(&name, Held::Int(i), span);
                if leaving {
                    cx.bind(ACTIVE, Held::Bool(true), None);
                }
                cx.block(&s.body)
            };
            let done = self.frame().names.get(DONE).map(|b| b.held.clone());
            match done.filter(|_| leaving) {
                Some(Held::Bool(true)) => break,
                Some(Held::Ir(done)) => {
                    let go = self.unary(ast::UnaryOp::Not, &Held::Ir(done), s.range())?;
                    let go = self.scalar(&go, None, s.range())?;
                    if let Err(fail) = self.branch(go, None, s.range(), once, |_| Flow::Next) {
                        result = Err(fail);
                        break;
                    }
                }
                _ => {
                    if let Flow::Return(held) = once(self) {
                        result = Ok(Flow::Return(held));
                        break;
                    }
                }
            }
            // The same mistake in every copy is one mistake.
            if self.errors.len() > errors {
                break;
            }
            i = match i.checked_add(step) {
                Some(next) => next,
                None => break,
            };
        }
        if leaving {
            self.frame_mut().loops.pop();
        }
        self.restore_flags(saved);
        self.copies = copies_around;
        result
    }

    pub(crate) fn while_loop(&mut self, s: &ast::StmtWhile) -> Res<Flow> {
        if let Some(stmt) = s.orelse.first() {
            return Err(self.unsupported("unsupported-statement", stmt, "`else` of a loop is not supported").into());
        }
        let live = self.live(s);
        self.build(Loop {
            head: Head::While { test: &s.test },
            body: &s.body,
            live,
            at: TextRange::new(s.range().start(), s.test.range().end()),
            header: Vec::new(),
        })
    }

    /// `for (x,) in pl.while_(init_values=(…)):` with `pl.cond(c)` first.
    fn explicit_while(&mut self, s: &ast::StmtFor, call: &ast::ExprCall) -> Res<Flow> {
        let Some(face) = faces::find("while_") else { return Ok(Flow::Next) };
        let args = self.bind_args(face, &call.arguments, call.range())?;
        let header = self.header(&s.target, args.need("init_values"))?;
        let first = s.body.first();
        let test = match first {
            Some(Stmt::Expr(e)) => match &*e.value {
                Expr::Call(c) if crate::names::dotted(&c.func).is_some_and(|n| n.ends_with("cond")) => {
                    c.arguments.args.first()
                }
                _ => None,
            },
            _ => None,
        };
        let Some(test) = test else {
            let message = "the body of `pl.while_` starts with `pl.cond(…)`";
            return Err(self.error("wrong-argument", s, message).into());
        };
        let live = self.live(s);
        self.build(Loop {
            head: Head::While { test },
            body: &s.body[1..],
            live,
            at: TextRange::new(s.range().start(), s.iter.range().end()),
            header,
        })
    }

    fn flags(&self) -> [Option<Binding>; 2] {
        [ACTIVE, DONE].map(|n| self.frame().names.get(n).cloned())
    }

    fn restore_flags(&mut self, saved: [Option<Binding>; 2]) {
        for (name, binding) in [ACTIVE, DONE].into_iter().zip(saved) {
            match binding {
                Some(b) => self.frame_mut().names.insert(name.to_owned(), b),
                None => self.frame_mut().names.remove(name),
            };
        }
    }

    fn build(&mut self, l: Loop<'_>) -> Res<Flow> {
        let saved = self.flags();
        let breaking = breaks(l.body);
        if breaking {
            self.bind(DONE, Held::Bool(false), None);
        }
        let before = self.frame().names.clone();
        let bound = assigned(l.body);
        let header: Vec<&String> = l.header.iter().map(|(n, _, _)| n).collect();
        let variable = match &l.head {
            Head::Counted { variable: Some((name, _)), .. } => Some(name.clone()),
            _ => None,
        };
        let mut carries: Vec<Carry> = l
            .header
            .iter()
            .map(|(name, init, span)| Carry {
                name: name.clone(),
                init: init.clone(),
                span: *span,
                ty: None,
                valid: self.outer_valid(init),
                header: true,
            })
            .collect();
        let (mut fixed, mut fresh) = (Vec::new(), Vec::new());
        let wanted = |n: &String| l.live.iteration.contains(n) || l.live.out.contains(n);
        let flag = breaking.then(|| DONE.to_owned());
        for name in bound.iter().chain(flag.iter()) {
            if header.contains(&name) || Some(name) == variable.as_ref() || !(wanted(name) || name == DONE) {
                continue;
            }
            // What `out = pl.yield_(…)` at the end binds is the header's value after the loop, and is no carry of its own.
            if !l.header.is_empty() && yields(l.body).contains(name) {
                continue;
            }
            match before.get(name) {
                Some(b) if self.carriable(&b.held) => carries.push(Carry {
                    name: name.clone(),
                    init: b.held.clone(),
                    span: b.span,
                    ty: None,
                    valid: self.outer_valid(&b.held),
                    header: false,
                }),
                Some(Binding { held: Held::Unset(_), .. }) | None if l.live.out.contains(name) => {
                    fresh.push(name.clone())
                }
                Some(b) if !matches!(b.held, Held::Unset(_)) => fixed.push(name.clone()),
                _ => {}
            }
        }
        let marks = (self.errors.len(), self.warnings.len(), self.scopes);
        for attempt in 0..ATTEMPTS {
            let outer_values = std::mem::replace(&mut self.outer_values, self.program.func.values.len());
            let mark = self.program.mark();
            let result = self.attempt(&l, &mut carries, &mut fresh, attempt + 1 == ATTEMPTS);
            self.outer_values = outer_values;
            match result? {
                Attempt::Built { ends, handles } => {
                    self.finish(&l, &before, &bound, &carries, &fixed, ends);
                    for Handle { name, tensor, span } in handles {
                        self.bind(&name, Held::Ir(tensor), span);
                    }
                    self.restore_flags(saved);
                    return Ok(Flow::Next);
                }
                Attempt::Again => {
                    self.program.rollback(mark);
                    self.errors.truncate(marks.0);
                    self.warnings.truncate(marks.1);
                    self.scopes = marks.2;
                    self.frame_mut().names = before.clone();
                }
            }
        }
        self.restore_flags(saved);
        Err(self.error("type-change", l.at, "the types of the values that this loop carries do not settle").into())
    }

    fn carriable(&self, held: &Held) -> bool {
        match held {
            // What a view has of a valid region is known of the view alone.
            Held::Ir(v) => !matches!(self.ty(*v), Type::Array { .. }) && !self.program.valid_views.contains_key(v),
            Held::Int(_) | Held::Float(_) | Held::Bool(_) | Held::None => true,
            _ => false,
        }
    }

    /// Builds the loop once, with the types that the carries have so far.
    fn attempt(&mut self, l: &Loop<'_>, carries: &mut Vec<Carry>, fresh: &mut Vec<String>, last: bool) -> Res<Attempt> {
        let leaving = leaves(l.body);
        let mut types = Vec::new();
        let mut inits = Vec::new();
        for carry in carries.iter() {
            let ty = match &carry.ty {
                Some(ty) => ty.clone(),
                None => match &carry.init {
                    Held::Ir(v) => self.ty(*v).clone(),
                    Held::None => Type::TaskId,
                    other => match Self::literal_type(other) {
                        Some(d) => Type::Scalar(d),
                        None => return Err(self.not_a(other, "a value that a loop can carry", l.at)),
                    },
                },
            };
            inits.push(self.initial(carry, &ty, l.at)?);
            types.push(ty);
        }
        let args: Vec<(Type, Option<String>)> = types
            .iter()
            .cloned()
            .zip(carries.iter().map(|c| Some(c.name.trim_start_matches('$').to_owned())))
            .collect();
        let (op, regions) = match &l.head {
            Head::Counted { bounds, kind, stage, variable } => {
                let mut attributes = attrs([("kind", Attr::Word((*kind).into()))]);
                if let Some(stage) = stage {
                    attributes.set("stage", Attr::Int(*stage));
                }
                let op = self.new_op(Opcode::For, &[&bounds[..1], &bounds[1..2], &bounds[2..], &inits], attributes);
                let name = variable.as_ref().map(|(n, _)| n.clone());
                let all: Vec<_> = std::iter::once((Type::INDEX, name)).chain(args).collect();
                let region = self.builder().add_region(op, &all);
                (op, vec![region])
            }
            Head::While { .. } => {
                let op = self.new_op(Opcode::While, &[&inits], Attrs::default());
                let first = self.builder().add_region(op, &args);
                let second = self.builder().add_region(op, &args);
                (op, vec![first, second])
            }
        };
        let skip = usize::from(matches!(l.head, Head::Counted { .. }));
        for &region in &regions {
            for (i, carry) in carries.iter().enumerate() {
                let arg = self.program.func.blocks[region].args[skip + i];
                if let Some(known) = &carry.valid {
                    self.program.valid.insert(arg, known.clone());
                }
                if carry.ty.is_none() && self.is_weak(&carry.init) {
                    self.program.weak.insert(arg);
                }
                if let Held::Ir(init) = carry.init {
                    if let Some(&d) = self.program.language.get(&init) {
                        self.program.language.insert(arg, d);
                    }
                    self.inherit_root(init, arg);
                }
            }
        }
        if let Head::While { test } = &l.head {
            let back = self.enter(regions[0]);
            let args = self.program.func.blocks[regions[0]].args.clone();
            self.bind_carries(carries, &args);
            let condition = self.loop_condition(test);
            let values = args.clone();
            match condition {
                Ok(condition) => {
                    self.effect(Opcode::Condition, &[&[condition], &values], Attrs::default());
                    self.leave(back);
                }
                Err(fail) => {
                    self.leave(back);
                    return Err(fail);
                }
            }
        }
        let body = *regions.last().expect("a loop has a body");
        let back = self.enter(body);
        let args = self.program.func.blocks[body].args.clone();
        if let Head::Counted { variable: Some((name, span)), .. } = &l.head {
            self.bind(name, Held::Ir(args[0]), *span);
        }
        self.bind_carries(carries, &args[skip..]);
        let (place, kind) = match &l.head {
            Head::Counted { kind, .. } => (self.place, *kind),
            Head::While { .. } => (self.place, "while"),
        };
        self.frame_mut().loops.push((place, kind));
        let outer_yield = self.frame_mut().yielded.take();
        let result = self.iteration(l, leaving);
        let yielded = std::mem::replace(&mut self.frame_mut().yielded, outer_yield);
        self.frame_mut().loops.pop();
        let result = result.and_then(|flow| match flow {
            Flow::Return(_) => {
                let message = "`return` inside of a loop is not supported";
                let help = "return at the end of the function";
                Err(self.unsupported("unsupported-statement", l.at, message).help(help).into())
            }
            Flow::Next => Ok(()),
        });
        let verdict = match result {
            Ok(()) => self.verdict(l, carries, &types, &args[skip..], fresh, yielded, last),
            Err(fail) => Err(fail),
        };
        let outcome = match verdict {
            Ok(Verdict::Ends { ends, handles }) => {
                let mut values = Vec::new();
                for (end, ty) in ends.iter().zip(&types) {
                    match self.coerce(&end.held, ty, l.at) {
                        Ok(v) => values.push(v),
                        Err(fail) => {
                            self.leave(back);
                            return Err(fail);
                        }
                    }
                }
                self.effect(Opcode::Yield, &[&values], Attrs::default());
                self.leave(back);
                let results = self.conclude(op, &regions, skip, &inits, &types, &values, carries);
                let ends = ends
                    .into_iter()
                    .zip(results)
                    .zip(carries.iter())
                    .map(|((end, result), carry)| End { held: result.map_or(carry.init.clone(), Held::Ir), ..end })
                    .collect();
                return Ok(Attempt::Built { ends, handles });
            }
            Ok(Verdict::Again) => Ok(Attempt::Again),
            Err(fail) => Err(fail),
        };
        self.leave(back);
        outcome
    }

    fn loop_condition(&mut self, test: &Expr) -> Res<Value> {
        let held = self.eval(test)?;
        let mut condition = self.condition(held, test.range())?;
        if let Some(done) = self.frame().names.get(DONE).map(|b| b.held.clone())
            && !matches!(done, Held::Bool(false))
        {
            let go = self.unary(ast::UnaryOp::Not, &done, test.range())?;
            condition = match condition {
                Held::Bool(true) => go,
                Held::Bool(false) => Held::Bool(false),
                other => {
                    let (x, y) = (self.scalar(&other, None, test.range())?, self.scalar(&go, None, test.range())?);
                    Held::Ir(self.pure(Opcode::ScalarAnd, &[x, y], Type::BOOL, Attrs::default()))
                }
            };
        }
        self.scalar(&condition, None, test.range())
    }

    /// The body once: guarded by `$done` in counted loops that break.
    fn iteration(&mut self, l: &Loop<'_>, leaving: bool) -> Res<Flow> {
        if leaving {
            self.bind(ACTIVE, Held::Bool(true), None);
        }
        let done = self.frame().names.get(DONE).map(|b| b.held.clone());
        match (&l.head, done) {
            (Head::Counted { .. }, Some(Held::Ir(done))) if breaks(l.body) => {
                let go = self.unary(ast::UnaryOp::Not, &Held::Ir(done), l.at)?;
                let go = self.scalar(&go, None, l.at)?;
                self.branch(go, None, l.at, |cx| cx.block(l.body), |_| Flow::Next)?;
                Ok(Flow::Next)
            }
            _ => Ok(self.block(l.body)),
        }
    }

    fn bind_carries(&mut self, carries: &[Carry], args: &[Value]) {
        for (carry, &arg) in carries.iter().zip(args) {
            self.bind(&carry.name, Held::Ir(arg), carry.span);
        }
    }

    /// The first value of a carry in its type; a name without one starts empty.
    fn initial(&mut self, carry: &Carry, ty: &Type, at: TextRange) -> Res<Value> {
        match (&carry.init, ty) {
            (Held::Unset(_), Type::Scalar(d)) => Ok(self.constant(dtype::Scalar::from_i64(*d, 0))),
            (Held::Unset(_), Type::TaskId) => self.task(&Held::None, at),
            (Held::Unset(_), Type::Tile(_)) => Ok(self.result(Opcode::TileCreate, &[], ty.clone(), Attrs::default())),
            (Held::Unset(_), Type::Tensor(t)) if t.static_shape().is_some() && t.is_packed() => {
                Ok(self.result(Opcode::TensorCreate, &[&[]], ty.clone(), Attrs::default()))
            }
            // Undefined contents, so any: fresh ones with the valid region of the later values.
            (Held::Ir(v), Type::Tile(t)) if self.is_fresh(*v) && self.ty(*v) != ty => {
                if t.valid.iter().all(|d| d.known().is_some()) {
                    return Ok(self.result(Opcode::TileCreate, &[], ty.clone(), Attrs::default()));
                }
                // Without one that is known out here, all of it is valid.
                let whole = || t.shape.iter().map(|&n| Held::Int(n as i64)).collect();
                let extents = carry.valid.clone().unwrap_or_else(whole);
                let mut dynamic = Vec::new();
                for (extent, dim) in extents.iter().zip(&t.valid) {
                    if dim.known().is_none() {
                        dynamic.push(self.as_index(extent, at)?);
                    }
                }
                let zero = self.constant(dtype::Scalar::from_i64(t.dtype, 0));
                Ok(self.result(Opcode::TExpandS, &[&[zero], &dynamic], ty.clone(), Attrs::default()))
            }
            (Held::Unset(_), _) => {
                let message = format!("`{}` is first bound in this loop and read after it", carry.name);
                Err(self.unsupported("unsupported-carry", at, message).help("bind it before the loop").into())
            }
            (init, ty) => self.coerce(init, ty, at),
        }
    }

    /// Whether the ends of an iteration have the types of its starts, and if not, what to try next.
    #[allow(clippy::too_many_arguments)]
    fn verdict(
        &mut self,
        l: &Loop<'_>,
        carries: &mut Vec<Carry>,
        types: &[Type],
        args: &[Value],
        fresh: &mut Vec<String>,
        yielded: Option<Vec<(String, Held)>>,
        last: bool,
    ) -> Res<Verdict> {
        let mut again = false;
        let mut ends = Vec::new();
        let mut header = 0;
        for (carry, ty) in carries.iter_mut().zip(types) {
            let binding = self.frame().names.get(&carry.name).cloned();
            let mut end = End { held: Held::Poison, span: None, after: None };
            if let Some(b) = binding {
                end.held = b.held;
                end.span = b.span;
            }
            if carry.header {
                if let Some((name, held)) = yielded.as_ref().and_then(|y| y.get(header)) {
                    end.held = held.clone();
                    end.after = Some(name.clone());
                }
                header += 1;
            }
            match &end.held {
                Held::Poison => return Err(Fail::Reported),
                Held::Unset(why) => {
                    let message = format!("`{}` has no value at the end of an iteration: {why}", carry.name);
                    return Err(self.error("unknown-name", l.at, message).also(end.span, "bound here").into());
                }
                _ => {}
            }
            let common = self.common_end(&end.held, ty);
            let end_valid = match &end.held {
                Held::Ir(v) => self.program.valid.get(v).cloned(),
                _ => None,
            };
            match common {
                Some(common) if common == *ty && (carry.valid.is_none() || carry.valid == end_valid) => {}
                // What was known of the valid region does not hold in later iterations.
                Some(common) if common == *ty && !last => {
                    carry.valid = None;
                    again = true;
                }
                // The first value can be given in the type of the later ones: try with that.
                other => {
                    let next = match (&carry.init, other) {
                        (Held::Unset(_), Some(common)) => Some(common),
                        (init, Some(common)) => {
                            let fits = match init {
                                Held::Ir(v) => self.common_types(self.ty(*v), &common).as_ref() == Some(&common),
                                literal => self.fits(literal, &common),
                            };
                            fits.then_some(common)
                        }
                        (init, None) => match &end.held {
                            Held::Ir(v) if self.can_start(init, self.ty(*v)) => Some(self.ty(*v).clone()),
                            Held::Float(_) if matches!(init, Held::Int(_)) => Some(Type::Scalar(dtype::DType::F32)),
                            _ => None,
                        },
                    };
                    match next {
                        Some(next) if !last && carry.ty.as_ref() != Some(&next) => {
                            // Fresh contents take the region of the later values as it is, where that is known outside.
                            let later = end_valid.filter(|v| v.iter().all(|h| self.is_outside(h)));
                            match (&carry.init, &end.held) {
                                (Held::Ir(init), Held::Ir(v))
                                    if carry.ty.is_none() && self.is_fresh(*init) && self.has_region(*v, &later) =>
                                {
                                    carry.ty = Some(self.ty(*v).clone());
                                    carry.valid = later;
                                }
                                _ => {
                                    carry.ty = Some(next);
                                    carry.valid = None;
                                }
                            }
                            again = true;
                        }
                        _ => return Err(self.type_change(carry, &end, ty, l.at)),
                    }
                }
            }
            ends.push(end);
        }
        // Names that the body introduces and that are read after the loop become carries, or are what they stand for.
        let mut handles = Vec::new();
        for name in std::mem::take(fresh) {
            let Some(binding) = self.frame().names.get(&name).cloned() else { continue };
            if let Some(tensor) = self.outer_tensor(&binding.held, carries, args, &ends) {
                handles.push(Handle { name: name.clone(), tensor, span: binding.span });
                fresh.push(name);
                continue;
            }
            let ty = match &binding.held {
                Held::Ir(v) => Some(self.ty(*v).clone()).filter(|t| !matches!(t, Type::Array { .. })),
                Held::None => Some(Type::TaskId),
                other => Self::literal_type(other).map(Type::Scalar),
            };
            if let Some(ty) = ty {
                carries.push(Carry {
                    name,
                    init: Held::Unset("the loop did not run".into()),
                    span: binding.span,
                    ty: Some(ty),
                    valid: None,
                    header: false,
                });
                again = true;
            }
        }
        Ok(if again { Verdict::Again } else { Verdict::Ends { ends, handles } })
    }

    /// The tensor from outside of the loop that a name stands for at the end of every iteration: a handle to the same
    /// memory each time, itself or through a carry that every iteration gives on as it came.
    fn outer_tensor(&self, held: &Held, carries: &[Carry], args: &[Value], ends: &[End]) -> Option<Value> {
        let &Held::Ir(value) = held else { return None };
        self.tensor(value)?;
        let outer = match args.iter().position(|&arg| arg == value) {
            Some(i) if ends.get(i)?.held == *held || ends.get(i)?.held == carries[i].init => &carries[i].init,
            Some(_) => return None,
            None => held,
        };
        match *outer {
            Held::Ir(v) if self.is_outside(outer) => Some(v),
            _ => None,
        }
    }

    /// The extents of a partly valid tile, where known.
    fn outer_valid(&self, held: &Held) -> Option<Vec<Held>> {
        match held {
            Held::Ir(v) => self.program.valid.get(v).cloned(),
            _ => None,
        }
    }

    /// A tile that nothing has been written to.
    fn is_fresh(&self, value: Value) -> bool {
        let func = &self.program.func;
        let created = func.def_op(value).is_some_and(|op| func.ops[op].opcode == Opcode::TileCreate);
        created && func.ops.iter().all(|(_, data)| !data.dests.contains(&value))
    }

    /// Whether the valid region of a tile is one of numbers, or known.
    fn has_region(&self, value: Value, known: &Option<Vec<Held>>) -> bool {
        let dynamic = |t: &ir::TileType| t.valid.iter().any(|d| d.known().is_none());
        self.tile(value).is_some_and(|t| !dynamic(t) || known.is_some())
    }

    /// Whether a scalar was there before the loop being built.
    fn is_outside(&self, held: &Held) -> bool {
        match held {
            Held::Ir(v) => v.index() < self.outer_values,
            other => other.is_literal_number(),
        }
    }

    fn common_end(&self, end: &Held, ty: &Type) -> Option<Type> {
        match end {
            Held::Ir(v) => self.common_types(self.ty(*v), ty),
            literal => self.fits(literal, ty).then(|| ty.clone()),
        }
    }

    /// Whether a first value that comes from literals can be given in the type of the later ones.
    fn can_start(&self, init: &Held, ty: &Type) -> bool {
        match (init, ty) {
            (Held::Ir(v), Type::Scalar(to)) if self.is_weak(init) => {
                self.ty(*v).as_scalar().is_some_and(|own| adopts(own, *to))
            }
            (Held::Ir(_), _) => false,
            (literal, ty) => self.fits(literal, ty),
        }
    }

    /// Whether a literal can be given in a type.
    fn fits(&self, literal: &Held, ty: &Type) -> bool {
        match (literal, ty) {
            (Held::Int(_), Type::Scalar(d)) => *d != dtype::DType::Bool,
            (Held::Float(_), Type::Scalar(d)) => d.is_float(),
            (Held::Bool(_), Type::Scalar(d)) => *d == dtype::DType::Bool,
            (Held::None, Type::TaskId) => true,
            _ => false,
        }
    }

    fn type_change(&self, carry: &Carry, end: &End, ty: &Type, at: TextRange) -> Fail {
        let end_is = self.describe(&end.held);
        let first_is = match &carry.init {
            Held::Unset(_) => format!("{ty:?}"),
            held => self.describe(held),
        };
        let message = format!("`{}` changes its type across the loop: {first_is}, then {end_is}", carry.name);
        let mut diagnostic = self.error("type-change", at, message);
        if let Some(span) = end.span {
            diagnostic.primary = Some(diag::Label { span, text: format!("{end_is} here") });
        }
        diagnostic
            .also(carry.span, format!("{first_is} here"))
            .help("give it the later type before the loop, or use another name in the body")
            .into()
    }

    /// Removes the carries that every iteration gives on as they came, and makes results of the others (`None`: removed).
    #[allow(clippy::too_many_arguments)]
    fn conclude(
        &mut self,
        op: Op,
        regions: &[Block],
        skip: usize,
        inits: &[Value],
        types: &[Type],
        ends: &[Value],
        carries: &[Carry],
    ) -> Vec<Option<Value>> {
        let body = *regions.last().expect("a loop has a body");
        let args: Vec<Value> = self.program.func.blocks[body].args[skip..].to_vec();
        let trivial: Vec<bool> = ends
            .iter()
            .zip(&args)
            .zip(inits)
            .zip(carries)
            .map(|(((end, arg), init), carry)| (end == arg || end == init) && !matches!(carry.init, Held::Unset(_)))
            .collect();
        for i in (0..ends.len()).rev().filter(|&i| trivial[i]) {
            for &region in regions {
                let arg = self.program.func.blocks[region].args.remove(skip + i);
                self.replace(arg, inits[i], op);
                for (at, value) in self.program.func.blocks[region].args.clone().into_iter().enumerate() {
                    self.program.func.values[value].def = Def::Arg(region, at as u32);
                }
                if let Some(&end) = self.program.func.blocks[region].ops.last() {
                    let terminator = &mut self.program.func.ops[end];
                    let lead = usize::from(terminator.opcode == Opcode::Condition);
                    terminator.operands.remove(lead + i);
                    if let Some(count) = terminator.segments.last_mut() {
                        *count -= 1;
                    }
                }
            }
            let lead = if skip == 1 { 3 } else { 0 };
            let data = &mut self.program.func.ops[op];
            data.operands.remove(lead + i);
            if let Some(count) = data.segments.last_mut() {
                *count -= 1;
            }
        }
        let mut results = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            if trivial[i] {
                results.push(None);
                continue;
            }
            let result = self.builder().add_result(op, ty.clone());
            if let Some(&d) = self.program.language.get(&args[i]) {
                self.program.language.insert(result, d);
            }
            if let Held::Ir(init) = carries[i].init {
                self.inherit_root(init, result);
            }
            if let Some(known) = &carries[i].valid {
                self.program.valid.insert(result, known.clone());
            }
            if self.program.weak.contains(&args[i]) && self.is_weak(&Held::Ir(ends[i])) {
                self.program.weak.insert(result);
            }
            results.push(Some(result));
        }
        results
    }

    /// The names after the loop.
    fn finish(
        &mut self,
        l: &Loop<'_>,
        before: &Table,
        bound: &[String],
        carries: &[Carry],
        fixed: &[String],
        ends: Vec<End>,
    ) {
        let after = std::mem::replace(&mut self.frame_mut().names, before.clone());
        for name in fixed {
            let (Some(old), Some(new)) = (before.get(name), after.get(name)) else { continue };
            if old.held != new.held && new.held != Held::Poison {
                let (p, q) = (self.describe(&old.held), self.describe(&new.held));
                let message = format!("`{name}` cannot be carried around a loop: {p}, then {q}");
                let diagnostic = self.error("type-change", l.at, message).also(new.span, format!("{q} here"));
                self.report(diagnostic.into());
            }
        }
        for name in bound {
            if !fixed.contains(name) && carries.iter().all(|c| c.name != *name) {
                let span = after.get(name).and_then(|b| b.span);
                let held = match after.get(name).map(|b| &b.held) {
                    Some(Held::Poison) => Held::Poison,
                    _ => Held::Unset("it was assigned in a loop and belongs to its iterations".into()),
                };
                self.bind(name, held, span);
            }
        }
        if let Head::Counted { variable: Some((name, span)), .. } = &l.head {
            self.bind(name, Held::Unset("it is the variable of a loop that has ended".into()), *span);
        }
        for (carry, end) in carries.iter().zip(ends) {
            if carry.header {
                match before.get(&carry.name) {
                    Some(old) => self.frame_mut().names.insert(carry.name.clone(), old.clone()),
                    None => self.frame_mut().names.remove(&carry.name),
                };
                if let Some(name) = end.after {
                    self.bind(&name, end.held, end.span);
                }
            } else {
                self.bind(&carry.name, end.held, end.span.or(carry.span));
            }
        }
    }
}

/// The value of a carry at the end of an iteration; later, after the loop.
struct End {
    held: Held,
    span: Option<Span>,
    /// The name on the left of `yield_`, which has the value after the loop.
    after: Option<String>,
}

/// A name first bound in a loop that stands for a tensor from outside, during the loop and after it.
struct Handle {
    name: String,
    tensor: Value,
    span: Option<Span>,
}

enum Verdict {
    Ends { ends: Vec<End>, handles: Vec<Handle> },
    Again,
}

enum Attempt {
    Built { ends: Vec<End>, handles: Vec<Handle> },
    Again,
}
