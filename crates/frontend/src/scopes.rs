//! Kernel scopes: `pl.at`, `pl.spmd`, calls of kernel functions. One scope is one task.
//!
//! Tiles and scalars computed inside and read after the scope go through tensors created before it (`docs/ir.md`): the
//! scope stores them at its end, and after it the name is the tensor, or the scalar read back.

use std::collections::BTreeMap;

use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Opcode, TensorType, Type, Value};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Fail, Place, Res, ScopePlace};
use crate::faces;
use crate::liveness::Names;
use crate::ops::memory::{Axis, Window};
use crate::stmt::Flow;
use crate::value::{Binding, Held};

/// Where the two paths of a launch with a predicate leave its task.
const TASK: &str = "$task";

/// Characters of a kernel's name.
const LONGEST_NAME: usize = 64;

/// What the head of a scope says.
#[derive(Clone, Default, Debug)]
pub(crate) struct ScopeOptions {
    pub(crate) name: String,
    pub(crate) blocks: Option<Value>,
    pub(crate) deps: Vec<Value>,
    pub(crate) attrs: Attrs,
    /// The body is one `pl.at` or one call of a kernel, which is this scope.
    pub(crate) carrier: bool,
}

impl Cx<'_> {
    pub(crate) fn with_statement(&mut self, s: &ast::StmtWith) -> Res<Flow> {
        let [item] = &s.items[..] else {
            return Err(self.unsupported("unsupported-statement", s, "`with` takes one item here").into());
        };
        let Expr::Call(call) = &item.context_expr else {
            let message = "`with` needs `pl.at(…)`, `pl.spmd(…)`, `pl.scope()` or `pl.manual_scope()`";
            return Err(self.unsupported("unsupported-statement", &item.context_expr, message).into());
        };
        let callee = self.eval(&call.func)?;
        let name = match &callee {
            Held::Language(name) => name.rsplit('.').next().unwrap_or(name).to_owned(),
            other => return Err(self.not_a(other, "`pl.at`, `pl.spmd` or `pl.scope`", call.func.range())),
        };
        let Some(face) =
            faces::find(&name).filter(|f| matches!(f.name, "at" | "spmd" | "scope" | "manual_scope" | "cluster"))
        else {
            let message = format!("`with {}(…)` is not supported", self.text(&*call.func));
            let help = "`pl.at`, `pl.spmd`, `pl.scope`, `pl.manual_scope` and `pl.cluster` are";
            return Err(self.unsupported("unsupported-statement", call, message).help(help).into());
        };
        let args = self.bind_args(face, &call.arguments, call.range())?;
        if matches!(face.name, "scope" | "manual_scope") {
            self.scope_options(&args)?;
        }
        let live = self.live(s).out;
        let head = TextRange::new(s.range().start(), item.range().end());
        let bound = item.optional_vars.as_deref();
        match face.name {
            // Submission is in program order with inferred edges everywhere: these only change what upstream tracks, which
            // tasks it starts together, and what the race check holds the program to.
            "scope" | "manual_scope" | "cluster" => {
                if self.in_scope() {
                    let message = format!("`pl.{}` belongs to the orchestration, not into a kernel scope", face.name);
                    return Err(self.error("wrong-level", call, message).into());
                }
                let manual = match face.name {
                    "scope" => self.is_manual(&args)?,
                    name => name == "manual_scope",
                };
                let around = self.manual;
                self.manual |= manual;
                let flow = self.block(&s.body);
                self.manual = around;
                Ok(flow)
            }
            "at" => {
                let mut options = self.scope_options(&args)?;
                self.check_level(&args)?;
                if let Place::Scope(scope) = self.place {
                    return self.carried_scope(scope, options, &args, bound, &s.body);
                }
                options.carrier = false;
                let (flow, task) = self.kernel_scope(options, &live, None, head, |cx| cx.block(&s.body))?;
                self.bind_task(bound, task)?;
                Ok(flow)
            }
            _ => {
                let mut options = self.scope_options(&args)?;
                options.blocks = Some(self.block_count(&args)?);
                options.carrier = sole_carrier(&s.body);
                if options.name.is_empty()
                    && let Some(call) = sole_call(&s.body)
                    && let Held::Function(kernel) = self.eval(&call.func)?
                {
                    options.name = self.environment.function(kernel).name.clone();
                }
                let deps = options.deps.clone();
                let (flow, task) = self.predicated(args.get("predicate"), &deps, Some(&live), |cx| {
                    cx.kernel_scope(options, &live, None, head, |cx| cx.block(&s.body))
                })?;
                self.bind_task(bound, task)?;
                Ok(flow)
            }
        }
    }

    /// `for i in pl.spmd(n):`.
    pub(crate) fn spmd_loop(&mut self, s: &ast::StmtFor, call: &ast::ExprCall) -> Res<Flow> {
        let Some(face) = faces::find("spmd") else { return Ok(Flow::Next) };
        let args = self.bind_args(face, &call.arguments, call.range())?;
        let Expr::Name(target) = &*s.target else {
            return Err(self.error("wrong-argument", &*s.target, "`for … in pl.spmd(…)` binds one name").into());
        };
        let mut options = self.scope_options(&args)?;
        options.blocks = Some(self.block_count(&args)?);
        let live = self.live(s).out;
        let name = target.id.to_string();
        let head = TextRange::new(s.range().start(), s.iter.range().end());
        let deps = options.deps.clone();
        let (flow, _) = self.predicated(args.get("predicate"), &deps, Some(&live), |cx| {
            cx.kernel_scope(options, &live, Some(&name), head, |cx| cx.block(&s.body))
        })?;
        Ok(flow)
    }

    /// A launch that happens if its predicate holds. The predicate is read where the launch stands in the program, after
    /// the tasks that write what it reads (semantics rule 19). A launch that does not happen is a task of nothing: it
    /// is complete when what it depends on is.
    pub(crate) fn predicated<T>(
        &mut self,
        predicate: Option<&Expr>,
        deps: &[Value],
        live: Option<&Names>,
        launch: impl FnOnce(&mut Self) -> Res<(T, Value)>,
    ) -> Res<(T, Value)> {
        let Some(expr) = predicate else { return launch(self) };
        let at = expr.range();
        let held = match self.eval(expr)? {
            Held::None => return launch(self),
            held => self.condition(held, at)?,
        };
        if self.in_scope() {
            return Err(self.error("wrong-level", at, "`predicate` belongs to the orchestration").into());
        }
        let condition = self.scalar(&held, None, at)?;
        let mut outcome = Err(Fail::Reported);
        let holds = |cx: &mut Self| {
            outcome = launch(cx).map(|(result, task)| {
                cx.frame_mut().names.insert(TASK.into(), Binding { held: Held::Ir(task), span: None });
                result
            });
            Flow::Next
        };
        let fails = |cx: &mut Self| {
            let task = cx.result(Opcode::TaskDummy, &[deps], Type::TaskId, Attrs::default());
            cx.frame_mut().names.insert(TASK.into(), Binding { held: Held::Ir(task), span: None });
            Flow::Next
        };
        self.branch(condition, live, at, holds, fails)?;
        match (outcome, self.frame_mut().names.remove(TASK).map(|b| b.held)) {
            (Ok(result), Some(Held::Ir(task))) => Ok((result, task)),
            (Err(fail), _) => Err(fail),
            (Ok(_), _) => Err(Fail::Reported),
        }
    }

    pub(crate) fn block_count(&mut self, args: &Args<'_>) -> Res<Value> {
        let expr = args.need("core_num");
        let held = self.eval(expr)?;
        if let Some(n) = self.known_int(&held)
            && n <= 0
        {
            let message = format!("a launch needs at least one block, not {n}");
            return Err(self.error("wrong-argument", expr, message).into());
        }
        self.as_index(&held, expr.range())
    }

    fn check_level(&mut self, args: &Args<'_>) -> Res<()> {
        let Some(expr) = args.get("level") else { return Ok(()) };
        match self.eval(expr)? {
            Held::Language(level) if level == "Level.CORE_GROUP" => Ok(()),
            Held::Language(level) => {
                let message = format!("`pl.at` at `pl.{level}` is not supported");
                Err(self.unsupported("unsupported-level", expr, message).help("`pl.Level.CORE_GROUP` is").into())
            }
            other => Err(self.not_a(&other, "a level", expr.range())),
        }
    }

    /// `pl.scope(mode=pl.ScopeMode.MANUAL)`.
    fn is_manual(&mut self, args: &Args<'_>) -> Res<bool> {
        let Some(expr) = args.get("mode") else { return Ok(false) };
        Ok(matches!(self.eval(expr)?, Held::Language(name) if name == "ScopeMode.MANUAL"))
    }

    pub(crate) fn scope_options(&mut self, args: &Args<'_>) -> Res<ScopeOptions> {
        let mut options = ScopeOptions::default();
        if let Some(expr) = args.get("name_hint") {
            match self.eval(expr)? {
                Held::Str(name) if is_identifier(&name) && name.len() <= LONGEST_NAME => options.name = name,
                Held::Str(name) if name.is_empty() => {}
                Held::Str(name) => {
                    let message = if is_identifier(&name) {
                        format!("the name of a kernel has at most {LONGEST_NAME} characters, not {}", name.len())
                    } else {
                        format!("`{name}` is not an identifier, which the name of a kernel must be")
                    };
                    return Err(self.error("wrong-argument", expr, message).into());
                }
                Held::None => {}
                other => return Err(self.not_a(&other, "a string", expr.range())),
            }
        }
        if let Some(expr) = args.get("deps")
            && !matches!(expr, Expr::NoneLiteral(_))
        {
            options.deps = self.dependencies(expr)?;
        }
        if let Some(expr) = args.get("sync_start")
            && self.static_bool(expr)?
        {
            options.attrs.set("sync_start", Attr::Bool(true));
        }
        if let Some(expr) = args.get("optimizations") {
            let one = std::slice::from_ref(expr);
            let entries: &[Expr] = match expr {
                Expr::List(l) => &l.elts,
                Expr::Tuple(t) => &t.elts,
                _ => one,
            };
            for entry in entries {
                self.optimization(entry, &mut options)?;
            }
        }
        Ok(options)
    }

    fn optimization(&mut self, entry: &Expr, options: &mut ScopeOptions) -> Res<()> {
        let Expr::Call(call) = entry else {
            let held = self.eval(entry)?;
            return Err(self.not_a(&held, "`pl.split(…)` or `pl.cross_core_slot(…)`", entry.range()));
        };
        let callee = self.eval(&call.func)?;
        let name = match &callee {
            Held::Language(name) if name == "split" || name == "cross_core_slot" => name.clone(),
            other => return Err(self.not_a(other, "`pl.split(…)` or `pl.cross_core_slot(…)`", entry.range())),
        };
        let Some(face) = faces::find(&name) else { return Ok(()) };
        let args = self.bind_args(face, &call.arguments, call.range())?;
        if let Some(expr) = args.get("mode") {
            match self.eval(expr)? {
                Held::Language(mode) if mode == "SplitMode.UP_DOWN" => {
                    options.attrs.set("split", Attr::Word("up_down".into()));
                }
                Held::Language(mode) if mode == "SplitMode.LEFT_RIGHT" => {
                    options.attrs.set("split", Attr::Word("left_right".into()));
                }
                Held::Language(mode) if mode == "SplitMode.NONE" => {}
                other => return Err(self.not_a(&other, "a `pl.SplitMode`", expr.range())),
            }
        }
        if let Some(expr) = args.get("slot_num") {
            let n = self.static_int(expr)?;
            if n <= 0 {
                let message = format!("a FIFO needs at least one slot, not {n}");
                return Err(self.error("wrong-argument", expr, message).into());
            }
            options.attrs.set("slot_num", Attr::Int(n));
        }
        Ok(())
    }

    fn bind_task(&mut self, target: Option<&Expr>, task: Value) -> Res<()> {
        match target {
            None => Ok(()),
            Some(Expr::Name(name)) => {
                let span = self.span_of(name);
                self.bind(name.id.as_str(), Held::Ir(task), span);
                Ok(())
            }
            Some(other) => Err(self.error("wrong-argument", other, "a task id is bound to one name").into()),
        }
    }

    /// `pl.at` inside of a scope: legal only as the one statement of `with pl.spmd(…)`, whose scope it then is.
    fn carried_scope(
        &mut self,
        scope: ScopePlace,
        options: ScopeOptions,
        args: &Args<'_>,
        bound: Option<&Expr>,
        body: &[Stmt],
    ) -> Res<Flow> {
        if !scope.carrier {
            let message = "`pl.at` inside of a kernel scope: scopes do not nest";
            return Err(self.error("nested-scope", args.at, message).help("put them one after the other").into());
        }
        if let Some(name) = bound {
            let message = "the task of a launch is bound on its `with pl.spmd(…)`";
            return Err(self.error("wrong-argument", name, message).into());
        }
        if !options.deps.is_empty() {
            return Err(self.error("wrong-argument", args.at, "`deps` belong on the `with pl.spmd(…)` around").into());
        }
        let data = &mut self.program.func.ops[scope.op];
        for (name, attr) in options.attrs.iter() {
            data.attrs.set(name, attr.clone());
        }
        if !options.name.is_empty() {
            data.attrs.set("name", Attr::Text(options.name));
        }
        self.place = Place::Scope(ScopePlace { carrier: false, ..scope });
        let flow = self.block(body);
        self.place = Place::Scope(scope);
        Ok(flow)
    }

    /// A scope around `body`. Yields how the body ended and the task's id.
    pub(crate) fn kernel_scope(
        &mut self,
        options: ScopeOptions,
        live: &Names,
        index_name: Option<&str>,
        at: TextRange,
        body: impl FnOnce(&mut Self) -> Flow,
    ) -> Res<(Flow, Value)> {
        if self.in_scope() {
            let message = "a kernel scope inside of a kernel scope: scopes do not nest";
            return Err(self.error("nested-scope", at, message).help("put them one after the other").into());
        }
        self.scopes += 1;
        let name = if options.name.is_empty() {
            format!("{}_{}", self.environment.function(self.frame().function).name, self.scopes)
        } else {
            options.name
        };
        let mut attributes = attrs([("name", Attr::Text(name))]);
        for (key, attr) in options.attrs.iter() {
            attributes.set(key, attr.clone());
        }
        if self.manual {
            attributes.set("manual", Attr::Bool(true));
        }
        let blocks: Vec<Value> = options.blocks.into_iter().collect();
        let op = self.new_op(Opcode::Scope, &[&blocks, &options.deps], attributes);
        let task = self.builder().add_result(op, Type::TaskId);
        let args: Vec<(Type, Option<String>)> = match options.blocks {
            Some(_) => vec![(Type::INDEX, Some(index_name.unwrap_or("block").to_owned()))],
            None => Vec::new(),
        };
        let region = self.builder().add_region(op, &args);
        let block_index = self.program.func.blocks[region].args.first().copied();
        let back = self.enter(region);
        self.place = Place::Scope(ScopePlace { op, block_index, carrier: options.carrier });
        if let (Some(name), Some(index)) = (index_name, block_index) {
            let span = self.span_of(at);
            self.bind(name, Held::Ir(index), span);
        }
        let flow = body(self);
        let mut escape =
            Escape { op, several: block_index.is_some(), at, tensors: BTreeMap::new(), scalars: Vec::new() };
        let mut names = self.frame().names.clone();
        let mut failures = Vec::new();
        for (name, binding) in &mut names {
            if !self.computed_in(&binding.held, op) {
                continue;
            }
            if !live.contains(name) {
                binding.held = Held::Unset("it was computed in a kernel scope that has ended".into());
                continue;
            }
            match self.escaped(&mut escape, name, binding) {
                Ok(held) => binding.held = held,
                Err(fail) => {
                    failures.push(fail);
                    binding.held = Held::Poison;
                }
            }
        }
        let mut returned = match flow {
            Flow::Return(held) if self.computed_in(&held, op) => {
                let span = self.span_of(at);
                match self.escaped(&mut escape, "the result", &Binding { held, span }) {
                    Ok(held) => Flow::Return(held),
                    Err(fail) => {
                        failures.push(fail);
                        Flow::Return(Held::Poison)
                    }
                }
            }
            other => other,
        };
        self.effect(Opcode::Yield, &[&[]], Attrs::default());
        self.leave(back);
        self.place = Place::Orchestration;
        let zero = self.index(0);
        for (inner, tensor) in escape.scalars {
            let read = self.infer(Opcode::Read, &[&[tensor], &[zero]], Attrs::default(), at)?;
            for binding in names.values_mut() {
                crate::cx::substitute(&mut binding.held, inner, read);
            }
            if let Flow::Return(held) = &mut returned {
                crate::cx::substitute(held, inner, read);
            }
        }
        self.frame_mut().names = names;
        for fail in failures {
            self.report(fail);
        }
        Ok((returned, task))
    }

    fn computed_in(&self, held: &Held, op: ir::Op) -> bool {
        match held {
            Held::Ir(v) => self.defined_in(*v, op),
            Held::Tuple(items) => items.iter().any(|h| self.computed_in(h, op)),
            _ => false,
        }
    }

    /// What a name that leaves a scope holds after it.
    fn escaped(&mut self, escape: &mut Escape, name: &str, binding: &Binding) -> Res<Held> {
        let value = match &binding.held {
            Held::Tuple(items) => {
                let mut parts = Vec::new();
                for held in items {
                    parts.push(self.escaped(escape, name, &Binding { held: held.clone(), span: binding.span })?);
                }
                return Ok(Held::Tuple(parts));
            }
            Held::Ir(v) if self.defined_in(*v, escape.op) => *v,
            other => return Ok(other.clone()),
        };
        let at = escape.at;
        let error = |cx: &Self, message: String, help: &str| {
            let mut diagnostic = cx.unsupported("unsupported-escape", at, message).help(help);
            diagnostic.primary = binding.span.map(|span| diag::Label { span, text: "computed here".into() });
            Err(diagnostic.into())
        };
        if escape.several {
            let message = format!("`{name}` is used after a launch of several blocks, each of which computes its own");
            return error(self, message, "write it to a tensor inside of the launch");
        }
        if let Some(&tensor) = escape.tensors.get(&value) {
            return Ok(if self.tile(value).is_some() { Held::Ir(tensor) } else { binding.held.clone() });
        }
        match self.ty(value).clone() {
            Type::Tile(_) => {
                let tile = self.settled(value, at)?;
                let Some(t) = self.tile(tile).cloned() else { return Ok(Held::Poison) };
                let dims: Vec<Dim> = t.shape.iter().map(|&n| Dim::Static(n)).collect();
                let ty = Type::Tensor(TensorType::packed(t.dtype, dims));
                let tensor = self.before(escape.op, |cx| cx.result(Opcode::TensorCreate, &[&[]], ty, Attrs::default()));
                self.program.func.values[tensor].name = Some(name.to_owned());
                let axis = |&n: &u64| Axis { offset: Held::Int(0), size: Held::Int(n as i64), drop: false, at };
                let window = Window { axes: t.shape.iter().map(axis).collect() };
                self.store_window(tile, tensor, &window, false, at)?;
                escape.tensors.insert(value, tensor);
                Ok(Held::Ir(tensor))
            }
            Type::Scalar(d) => {
                let ty = Type::Tensor(TensorType::packed(d, vec![Dim::Static(1)]));
                let tensor = self.before(escape.op, |cx| cx.result(Opcode::TensorCreate, &[&[]], ty, Attrs::default()));
                let zero = self.index(0);
                self.effect(Opcode::Write, &[&[tensor], &[zero], &[value]], Attrs::default());
                escape.tensors.insert(value, tensor);
                escape.scalars.push((value, tensor));
                Ok(binding.held.clone())
            }
            _ => {
                let what = self.describe(&binding.held);
                error(self, format!("`{name}`, {what}, cannot leave a kernel scope"), "create it before the scope")
            }
        }
    }
}

/// What leaves a scope.
struct Escape {
    op: ir::Op,
    several: bool,
    at: TextRange,
    /// Inner values and the tensors they are stored to.
    tensors: BTreeMap<Value, Value>,
    /// Scalars that are read back after the scope.
    scalars: Vec<(Value, Value)>,
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a body is one `with …` (a `pl.at`), docstrings aside.
fn sole_carrier(body: &[Stmt]) -> bool {
    let mut real = body.iter().filter(|s| !matches!(s, Stmt::Expr(e) if matches!(&*e.value, Expr::StringLiteral(_))));
    matches!((real.next(), real.next()), (Some(Stmt::With(_)), None))
}

/// The call that is all of a body, docstrings aside: the dispatch form of a launch.
fn sole_call(body: &[Stmt]) -> Option<&ast::ExprCall> {
    let mut real = body.iter().filter(|s| !matches!(s, Stmt::Expr(e) if matches!(&*e.value, Expr::StringLiteral(_))));
    let value = match (real.next()?, real.next()) {
        (Stmt::Expr(s), None) => &s.value,
        (Stmt::Assign(s), None) => &s.value,
        (Stmt::AnnAssign(s), None) => s.value.as_ref()?,
        _ => return None,
    };
    match &**value {
        Expr::Call(call) => Some(call),
        _ => None,
    }
}
