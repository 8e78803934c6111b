//! Calls: operations of the language, builtins on compile-time values, and helpers, specialised and spliced per call.

use std::rc::Rc;

use dtype::DType;
use ir::{Def, Value};
use ruff_python_ast::{self as ast, Arguments, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::cx::{Cx, Fail, Frame, Res};
use crate::faces::{self, Meaning};
use crate::liveness::{Liveness, Names, targets};
use crate::names::dotted;
use crate::scopes::ScopeOptions;
use crate::stmt::{Flow, gives_handle, holds};
use crate::suggest::instead_of;
use crate::value::{Binding, Held, Table};
use crate::{DimSpec, FunctionId, FunctionKind, FunctionSource, ParamKind};

/// Helpers in helpers: deeper is taken for a recursion through a cycle of names.
const DEEPEST: usize = 64;

/// A call of a helper.
struct Helper<'a> {
    function: FunctionId,
    args: &'a [Expr],
    keywords: Vec<&'a ast::Keyword>,
    at: TextRange,
}

impl<'a> Helper<'a> {
    fn of_call(function: FunctionId, c: &'a ast::ExprCall) -> Helper<'a> {
        Helper { function, args: &c.arguments.args, keywords: c.arguments.keywords.iter().collect(), at: c.range() }
    }
}

/// Whether an expression is a launch that gives back what the kernel does and its task's id.
pub(crate) fn is_submit(expr: &Expr) -> bool {
    let Expr::Call(call) = expr else { return false };
    dotted(&call.func).is_some_and(|n| matches!(n.rsplit('.').next(), Some("submit" | "spmd_submit")))
}

impl Cx<'_> {
    pub(crate) fn call(&mut self, c: &ast::ExprCall) -> Res<Held> {
        let at = c.range();
        match self.eval(&c.func)? {
            Held::Language(name) => match name.strip_prefix("builtins.") {
                Some(builtin) => self.builtin(builtin, &c.arguments, at),
                None => self.language_call(&name, c),
            },
            Held::Function(id) => {
                let helper = Helper::of_call(id, c);
                self.splice(&helper, ScopeOptions::default()).map(|(held, _)| held)
            }
            other => {
                let what = match other {
                    Held::Namespace(..) => format!("`{}`", self.text(&*c.func)),
                    other => self.describe(&other),
                };
                let message = format!("{what} cannot be called in a kernel");
                let diagnostic = self.error("not-callable", &*c.func, message);
                // `np.exp`, `torch.softmax`: what the language has for it.
                let name = dotted(&c.func);
                let name = name.as_deref().and_then(|n| n.rsplit_once('.')).map(|(_, last)| last);
                let known = name.and_then(faces::find).filter(|f| !matches!(f.meaning, Meaning::Unsupported));
                Err(match (known, name.and_then(instead_of)) {
                    (Some(face), _) => diagnostic
                        .help(format!("bodies are compiled, not executed; `pl.{}` does it on tiles", face.name)),
                    (None, Some(instead)) => diagnostic.help(instead),
                    (None, None) => diagnostic.help(
                        "operations of the language and functions decorated with `@pl.jit.inline` or `@pl.jit.incore` can",
                    ),
                }
                .into())
            }
        }
    }

    fn language_call(&mut self, name: &str, c: &ast::ExprCall) -> Res<Held> {
        let at = c.range();
        let Some(face) = faces::find(name) else {
            let message = format!("`{}` is not supported in a kernel", self.text(&*c.func));
            return Err(self.unsupported("unsupported-op", &*c.func, message).into());
        };
        match face.meaning {
            Meaning::Unsupported => {
                let message = format!("`{}` is not supported yet", self.text(&*c.func));
                Err(self.unsupported("unsupported-op", &*c.func, message).into())
            }
            Meaning::Statement(place) => {
                let message = format!("`{}` stands in a `{place}` statement only", self.text(&*c.func));
                Err(self.error("wrong-place", at, message).into())
            }
            Meaning::Launch => self.submit(face, c),
            meaning => {
                let args = self.bind_args(face, &c.arguments, at)?;
                let outer = self.face.replace(face.name);
                let result = match meaning {
                    Meaning::Op(handler) => handler(self, &args),
                    table => self.table_op(table, &args),
                };
                self.face = outer;
                if let Ok(held) = &result {
                    self.note_kind(name, held);
                }
                result
            }
        }
    }

    fn builtin(&mut self, name: &str, arguments: &Arguments, at: TextRange) -> Res<Held> {
        if name == "bind_dynamic" {
            return Ok(Held::None);
        }
        if let Some(bytes) = name.strip_prefix("bytes.") {
            return Ok(bytes.parse().map_or(Held::Poison, Held::Int));
        }
        if name == "print" {
            let message = "`print` is not available in a kernel";
            let help = "`pl.static_print` prints while the kernel is compiled";
            return Err(self.unsupported("unsupported-op", at, message).help(help).into());
        }
        let mut values = Vec::new();
        for expr in &arguments.args {
            let held = self.eval(expr)?;
            values.push(match self.known_int(&held) {
                Some(v) if !matches!(held, Held::Bool(_)) => Held::Int(v),
                _ => held,
            });
        }
        let runtime = |h: &Held| matches!(h, Held::Ir(_) | Held::Dynamic { .. });
        if let ("min" | "max", [_, _]) = (name, &values[..])
            && values.iter().any(runtime)
        {
            let op = if name == "min" { dtype::scalar::BinaryOp::Min } else { dtype::scalar::BinaryOp::Max };
            return self.scalar_binary(op, &values[0], &values[1], at);
        }
        let items = match &values[..] {
            [Held::Tuple(items)] => items.clone(),
            _ => values.clone(),
        };
        let compare = |a: &Held, b: &Held| crate::literals::compare(ast::CmpOp::Lt, a, b) == Some(true);
        let result = match (name, &values[..]) {
            ("len", [Held::Tuple(items)]) => Some(Held::Int(items.len() as i64)),
            ("len", [Held::Str(s)]) => Some(Held::Int(s.chars().count() as i64)),
            ("min", _) if items.iter().all(Held::is_literal_number) => {
                items.iter().cloned().reduce(|a, b| if compare(&b, &a) { b } else { a })
            }
            ("max", _) if items.iter().all(Held::is_literal_number) => {
                items.iter().cloned().reduce(|a, b| if compare(&a, &b) { b } else { a })
            }
            ("sum", [Held::Tuple(items)]) => {
                items.iter().try_fold(Held::Int(0), |a, b| crate::literals::binary(ast::Operator::Add, &a, b)).ok()
            }
            ("abs", [Held::Int(v)]) => v.checked_abs().map(Held::Int),
            ("abs", [Held::Float(v)]) => Some(Held::Float(v.abs())),
            ("int", [Held::Int(v)]) => Some(Held::Int(*v)),
            ("int", [Held::Bool(v)]) => Some(Held::Int(i64::from(*v))),
            ("int", [Held::Float(v)]) if v.abs() < 9e15 => Some(Held::Int(v.trunc() as i64)),
            ("float", [Held::Int(v)]) => Some(Held::Float(*v as f64)),
            ("float", [Held::Float(v)]) => Some(Held::Float(*v)),
            ("float", [Held::Str(s)]) => match s.trim().to_ascii_lowercase().as_str() {
                "inf" | "+inf" | "infinity" => Some(Held::Float(f64::INFINITY)),
                "-inf" | "-infinity" => Some(Held::Float(f64::NEG_INFINITY)),
                "nan" => Some(Held::Float(f64::NAN)),
                text => text.parse().ok().map(Held::Float),
            },
            ("bool", [one]) => crate::literals::truth(one).map(Held::Bool),
            ("list" | "tuple", [Held::Tuple(items)]) => Some(Held::Tuple(items.clone())),
            ("range", [Held::Int(stop)]) => counted(0, *stop, 1),
            ("range", [Held::Int(start), Held::Int(stop)]) => counted(*start, *stop, 1),
            ("range", [Held::Int(start), Held::Int(stop), Held::Int(step)]) => counted(*start, *stop, *step),
            _ => None,
        };
        result.ok_or_else(|| {
            let message = format!("`{name}` computes at compile time only, and not on this");
            self.unsupported("unsupported-expression", at, message).into()
        })
    }

    /// `pl.submit(kernel, …, deps=[…])`: what the kernel returns, one by one, and then the task's id.
    fn submit(&mut self, face: &'static faces::Face, c: &ast::ExprCall) -> Res<Held> {
        let at = c.range();
        let Some((kernel, args)) = c.arguments.args.split_first() else {
            let message = format!("`pl.{}` takes a kernel and its arguments", face.name);
            return Err(self.error("wrong-argument", at, message).into());
        };
        let function = match self.eval(kernel)? {
            Held::Function(id) if self.environment.function(id).kind == FunctionKind::Kernel => id,
            other => return Err(self.not_a(&other, "a kernel (an InCore function)", kernel.range())),
        };
        if self.in_scope() {
            let message = format!("`pl.{}` belongs to the orchestration, not into a kernel scope", face.name);
            return Err(self.error("wrong-level", at, message).into());
        }
        let (options, keywords) = self.launch_options(face, c)?;
        let mut scope = self.scope_options(&options)?;
        if options.get("core_num").is_some() {
            scope.blocks = Some(self.block_count(&options)?);
        }
        let (predicate, deps) = (options.get("predicate"), scope.deps.clone());
        let helper = Helper { function, args, keywords, at };
        let (held, task) = self.predicated(predicate, &deps, None, |cx| match cx.splice(&helper, scope)? {
            (held, Some(task)) => Ok((held, task)),
            (_, None) => Err(Fail::Reported),
        })?;
        if !self.is_visible(&held) {
            let message = "what a launch with a predicate computes does not exist if it is skipped";
            return Err(self.error("unsupported-escape", at, message).help("write it to an output").into());
        }
        let task = Held::Ir(task);
        Ok(match held {
            Held::None => task,
            Held::Tuple(items) => Held::Tuple(items.into_iter().chain([task]).collect()),
            one => Held::Tuple(vec![one, task]),
        })
    }

    /// Whether all values in something are defined here or in a region around.
    fn is_visible(&self, held: &Held) -> bool {
        let func = &self.program.func;
        match held {
            Held::Ir(v) => {
                let home = match func.values[*v].def {
                    Def::Arg(block, _) => block,
                    Def::Result(op, _) => func.ops[op].block,
                };
                let mut block = self.program.block;
                loop {
                    if block == home {
                        return true;
                    }
                    match func.blocks[block].parent {
                        Some(parent) => block = func.ops[parent].block,
                        None => return false,
                    }
                }
            }
            Held::Tuple(items) => items.iter().all(|h| self.is_visible(h)),
            _ => true,
        }
    }

    /// Evaluates the body of a helper where it is called, for these arguments. A kernel called from the orchestration is a
    /// task with these options; its id is given back too.
    fn splice(&mut self, helper: &Helper<'_>, mut options: ScopeOptions) -> Res<(Held, Option<Value>)> {
        let (id, at) = (helper.function, helper.at);
        let source = self.environment.function(id);
        let name = source.name.clone();
        match source.kind {
            FunctionKind::Inline | FunctionKind::Kernel | FunctionKind::Orchestration | FunctionKind::Opaque => {}
            FunctionKind::Entry => {
                let message = format!("`{name}` is an entry (`@pl.jit`) and cannot be called from a kernel");
                return Err(self.error("not-callable", at, message).help("make it `@pl.jit.inline`").into());
            }
        }
        if self.frames.iter().any(|f| f.function == id) || self.frames.len() > DEEPEST {
            let message = format!("`{name}` calls itself; helpers are spliced and cannot be recursive");
            return Err(self.error("recursion", at, message).into());
        }
        let parsed = self.files.parse(source)?;
        let Some(def) = parsed.function(&name, source.line) else {
            let message = format!("the source of `{name}` was not found in {}", source.path);
            return Err(self.error("no-source", at, message).into());
        };
        if def.is_async {
            let message = format!("`async def {name}` is not supported in a kernel");
            return Err(self.unsupported("unsupported-function", at, message).help("write `def`").into());
        }
        let changed = targets(&def.body);
        let bound = self.bind_helper(source, &def.parameters, &changed, helper)?;
        let outputs: Names =
            source.params.iter().filter(|p| p.direction != ir::Direction::In).map(|p| p.name.clone()).collect();
        let mut names = Table::new();
        let mut dynamic = std::collections::BTreeMap::new();
        for (parameter, held) in bound.iter().filter_map(|(n, h)| h.as_ref().map(|h| (n, h))) {
            let spec = source.params.iter().find(|p| p.name == *parameter);
            let held = match spec.map(|s| &s.kind) {
                Some(ParamKind::Scalar { dtype: Some(d) }) => match held {
                    Held::Ir(v) if self.ty(*v).as_scalar().is_some_and(|own| own.is_float() == d.is_float()) => {
                        Held::Ir(self.convert_scalar(*v, *d))
                    }
                    Held::Int(n) if *d == DType::Bool => Held::Bool(*n != 0),
                    Held::Int(n) if d.is_float() => Held::Float(*n as f64),
                    other => other.clone(),
                },
                Some(ParamKind::Tensor { shape: Some(dims), .. }) => {
                    if let Held::Ir(v) = held
                        && let Some(t) = self.tensor(*v)
                        && t.rank() == dims.len()
                    {
                        for (axis, dim) in dims.iter().enumerate() {
                            if let DimSpec::Dynamic { id, .. } = dim {
                                dynamic.entry(*id).or_insert((*v, axis));
                            }
                        }
                    }
                    held.clone()
                }
                _ => held.clone(),
            };
            let output = spec.is_some_and(|s| s.direction != ir::Direction::In);
            if output
                && let Held::Ir(v) = held
                && self.program.func.def_op(v).is_some_and(|op| self.program.func.ops[op].opcode == ir::Opcode::Load)
            {
                let message =
                    format!("`{parameter}` is an output of `{name}`, but gets a copy: what is written to it is lost");
                let help = "in a kernel scope a slice of a tensor is a load; pass the tensor, or store the result here";
                let warning =
                    diag::Diagnostic::warning("output-is-a-copy", message).at(self.span_of(at), "").help(help);
                self.warn(warning);
            }
            names.insert(parameter.clone(), Binding { held, span: self.span_of(at) });
        }
        let call = self.span_of(at);
        self.frames.push(Frame {
            function: id,
            parsed: parsed.clone(),
            names,
            liveness: Rc::new(Liveness::of(&def.body)),
            targets: Rc::new(changed),
            outputs,
            dynamic,
            yielded: None,
            loops: Vec::new(),
            pruned: std::collections::BTreeMap::new(),
            call,
        });
        // Defaults mean what they mean where the helper is defined.
        let defaults: Vec<(String, &Expr)> = bound
            .iter()
            .filter(|(_, h)| h.is_none())
            .filter_map(|(n, _)| default_of(&def.parameters, n).map(|e| (n.clone(), e)))
            .collect();
        let mut failed = None;
        for (name, expr) in defaults {
            match self.eval(expr) {
                Ok(held) => self.bind(&name, held, None),
                Err(fail) => failed = Some(fail),
            }
        }
        let errors = self.errors.len();
        let mut task = None;
        let result = match failed {
            Some(fail) => Err(fail),
            None if source.kind == FunctionKind::Kernel && !self.in_scope() => {
                if options.name.is_empty() {
                    options.name = name.clone();
                }
                self.kernel_scope(options, &Names::new(), None, at, |cx| cx.block(&def.body)).map(|(flow, id)| {
                    task = Some(id);
                    flow
                })
            }
            None => Ok(self.block(&def.body)),
        };
        if let Err(fail) = result {
            self.report(fail);
            self.frames.pop();
            return Err(Fail::Reported);
        }
        self.frames.pop();
        match result {
            Ok(Flow::Return(held)) => Ok((held, task)),
            _ if self.errors.len() > errors => Err(Fail::Reported),
            _ => Ok((Held::None, task)),
        }
    }

    /// The arguments of a helper's call, by parameter; `None` where the default is to be used.
    fn bind_helper(
        &mut self,
        source: &FunctionSource,
        parameters: &ast::Parameters,
        changed: &Names,
        helper: &Helper<'_>,
    ) -> Res<Vec<(String, Option<Held>)>> {
        let name = &source.name;
        if let Some(star) = parameters.vararg.as_ref().or(parameters.kwarg.as_ref()) {
            let message = format!("`{name}` takes `*{}`, which is not supported in a helper", star.name.as_str());
            return Err(self.unsupported("unsupported-expression", helper.at, message).into());
        }
        let positional: Vec<&ast::ParameterWithDefault> =
            parameters.posonlyargs.iter().chain(parameters.args.iter()).skip(usize::from(source.method)).collect();
        let all: Vec<&ast::ParameterWithDefault> =
            positional.iter().copied().chain(parameters.kwonlyargs.iter()).collect();
        let mut bound: Vec<(String, Option<Held>)> = all.iter().map(|p| (p.parameter.name.to_string(), None)).collect();
        let changes = all.iter().any(|p| changed.contains(p.parameter.name.as_str()));
        for (i, expr) in helper.args.iter().enumerate() {
            if i >= positional.len() {
                let message = format!("`{name}` takes {} arguments", positional.len());
                return Err(self.error("wrong-argument", expr, message).into());
            }
            bound[i].1 = Some(self.argument(expr, changes)?);
        }
        for keyword in &helper.keywords {
            let Some(key) = &keyword.arg else {
                let message = "unpacking arguments with `**` is not supported in a kernel";
                return Err(self.unsupported("unsupported-expression", keyword.range(), message).into());
            };
            match bound.iter().position(|(n, _)| n == key.as_str()) {
                Some(i) if bound[i].1.is_some() => {
                    let message = format!("`{name}` gets `{key}` twice");
                    return Err(self.error("wrong-argument", keyword.range(), message).into());
                }
                Some(i) => bound[i].1 = Some(self.argument(&keyword.value, changes)?),
                None => {
                    let message = format!("`{name}` has no parameter `{key}`");
                    let diagnostic = self.error("wrong-argument", keyword.range(), message);
                    let close = crate::suggest::nearest(key, bound.iter().map(|(n, _)| n.as_str()));
                    return Err(match close {
                        _ if key.as_str() == "deps" => diagnostic
                            .help(format!("launch it with its dependencies: `pl.submit({name}, …, deps=[…])`")),
                        Some(close) => diagnostic.help(format!("did you mean `{close}`?")),
                        None => diagnostic,
                    }
                    .into());
                }
            }
        }
        for ((parameter, held), p) in bound.iter().zip(&all) {
            if held.is_none() && p.default.is_none() {
                let message = format!("`{name}` needs an argument `{parameter}`");
                return Err(self.error("wrong-argument", helper.at, message).into());
            }
        }
        Ok(bound)
    }

    /// The value of an argument. A name hands over its tile; every other expression is a value (semantics rule 14), so a
    /// full slice or a reshape that is still a named tile is copied for a helper that `changes` one of its parameters.
    fn argument(&mut self, expr: &Expr, changes: bool) -> Res<Held> {
        let held = self.eval(expr)?;
        if let Held::Ir(tile) = held
            && changes
            && self.tile(tile).is_some()
            && !matches!(expr, Expr::Name(_))
            && !gives_handle(expr)
            && self.frames.iter().any(|f| f.names.values().any(|b| holds(&b.held, tile)))
        {
            return self.tile_copy(tile, expr.range()).map(Held::Ir);
        }
        self.dynamic_extent(&held, expr.range()).or(Ok(held))
    }
}

fn default_of<'p>(parameters: &'p ast::Parameters, name: &str) -> Option<&'p Expr> {
    let all = parameters.posonlyargs.iter().chain(parameters.args.iter()).chain(parameters.kwonlyargs.iter());
    all.into_iter().find(|p| p.parameter.name.as_str() == name).and_then(|p| p.default.as_deref())
}

/// `range(…)` on literals; long ones are refused.
fn counted(start: i64, stop: i64, step: i64) -> Option<Held> {
    if step == 0 {
        return None;
    }
    let mut items = Vec::new();
    let mut i = start;
    while (step > 0 && i < stop) || (step < 0 && i > stop) {
        items.push(Held::Int(i));
        if items.len() > 65_536 {
            return None;
        }
        i = i.checked_add(step)?;
    }
    Some(Held::Tuple(items))
}
