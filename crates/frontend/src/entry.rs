//! The entry: its parameters against the call's arguments, its body, its results.

use std::collections::BTreeMap;
use std::rc::Rc;

use chip::Arch;
use diag::{Diagnostic, Span};
use dtype::{DType, Scalar};
use ir::{Attrs, Dim, Direction, Opcode, TensorType, Type};
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::call::is_submit;
use crate::cx::{Cx, Fail, Frame, Res};
use crate::liveness::{Liveness, Names, targets};
use crate::names::dotted;
use crate::scopes::ScopeOptions;
use crate::source::Files;
use crate::stmt::Flow;
use crate::value::{Binding, Held, Table};
use crate::{
    ArgSpec, DimSpec, Environment, FunctionId, FunctionKind, FunctionSource, Known, ParamKind, ParamSpec, Rejected,
    Specialised,
};

pub(crate) fn specialise(
    environment: &dyn Environment,
    entry: FunctionId,
    args: &[ArgSpec],
    arch: Arch,
) -> Result<Specialised, Rejected> {
    let source = environment.function(entry);
    let mut cx = Cx::new(environment, arch, &source.name);
    if let Err(fail) = cx.entry(entry, source, args) {
        cx.report(fail);
    }
    if cx.errors.is_empty() {
        crate::transposes::fold(&mut cx.program.func);
        crate::cleanup::remove_dead(&mut cx.program.func, &cx.program.in_parts);
    } else {
        return Err(Rejected { errors: cx.errors, sources: cx.files.sources });
    }
    let mut functions = ir::Arena::default();
    let id = functions.push(cx.program.func);
    let program = ir::Program {
        name: source.name.clone(),
        arch,
        level: ir::Level::Tensor,
        functions,
        entry: id,
        sources: cx.files.sources,
    };
    Ok(Specialised { program, warnings: cx.warnings, lookups: cx.lookups })
}

impl Cx<'_> {
    fn entry(&mut self, id: FunctionId, source: &FunctionSource, args: &[ArgSpec]) -> Res<()> {
        let parsed = self.files.parse(source)?;
        let Some(def) = parsed.function(&source.name, source.line) else {
            let message = format!("the source of `{}` was not found in {}", source.name, source.path);
            return Err(Diagnostic::error("no-source", message).into());
        };
        if def.is_async {
            let message = format!("`async def {}` is not supported in a kernel", source.name);
            return Err(Diagnostic::unsupported("unsupported-function", message)
                .at(Some(parsed.span(&def.name)), "")
                .help("write `def`")
                .into());
        }
        let outputs = source.params.iter().filter(|p| p.direction != Direction::In).map(|p| p.name.clone()).collect();
        self.frames.push(Frame {
            function: id,
            parsed: parsed.clone(),
            names: Table::new(),
            liveness: Rc::new(Liveness::of(&def.body)),
            targets: Rc::new(targets(&def.body)),
            outputs,
            dynamic: BTreeMap::new(),
            yielded: None,
            loops: Vec::new(),
            pruned: BTreeMap::new(),
            call: None,
        });
        if args.len() != source.params.len() {
            let message = format!("`{}` takes {} arguments, not {}", source.name, source.params.len(), args.len());
            return Err(self.error("wrong-argument", &def.name, message).into());
        }
        let bound = self.bound_dims(&def.body);
        let mut extents: BTreeMap<u64, (String, u64, String)> = BTreeMap::new();
        for (param, arg) in source.params.iter().zip(args) {
            let span = parameter_span(&def.parameters, &param.name).map(|e| parsed.span(e));
            if let Err(fail) = self.parameter(param, arg, span, &bound, &mut extents) {
                self.report(fail);
                self.bind(&param.name, Held::Poison, span);
            }
        }
        self.span = None;
        let flow = if self.is_one_kernel(id, source, &def.body) {
            let options = ScopeOptions { name: source.name.clone(), ..ScopeOptions::default() };
            let at = TextRange::new(def.range().start(), def.parameters.range().end());
            self.kernel_scope(options, &Names::new(), None, at, |cx| cx.block(&def.body))?.0
        } else {
            self.block(&def.body)
        };
        let returned = match flow {
            Flow::Return(Held::Tuple(items)) => items,
            Flow::Return(Held::None) | Flow::Next => Vec::new(),
            Flow::Return(one) => vec![one],
        };
        let at = def.body.last().map_or(def.range(), |s| s.range());
        let mut values = Vec::new();
        for held in returned {
            match held {
                Held::Ir(v) if self.tensor(v).is_some() => values.push(v),
                Held::Poison => {}
                other if self.errors.is_empty() => {
                    let what = self.describe(&other);
                    let message = format!("a program returns tensors, not {what}");
                    self.report(self.unsupported("unsupported-return", at, message).into());
                }
                _ => {}
            }
        }
        self.at(at, |cx| cx.effect(Opcode::Return, &[&values], Attrs::default()));
        if self.errors.is_empty() {
            self.check_outputs(source);
        }
        Ok(())
    }

    /// An `Out` parameter whose name is bound to something else, and that nothing is written to, is a mistake: the caller
    /// gets back what was in it.
    fn check_outputs(&mut self, source: &FunctionSource) {
        let func = &self.program.func;
        let mut written = std::collections::BTreeSet::new();
        for op in func.walk() {
            let data = &func.ops[op];
            if matches!(data.opcode, Opcode::Store | Opcode::Write | Opcode::Scatter) {
                let target = data.named("tensor").iter();
                written.extend(target.filter_map(|v| self.program.root.get(v)).copied());
            }
        }
        for (root, (name, span)) in std::mem::take(&mut self.rebound) {
            if written.contains(&root) || source.params.get(root).is_none_or(|p| p.direction != Direction::Out) {
                continue;
            }
            let message =
                format!("nothing is written to the output `{name}`: its name is bound to something else here");
            let error = Diagnostic::error("output-not-written", message)
                .at(span, "")
                .help(format!("write into it: `{name}[:] = …`"));
            self.report(error.into());
        }
    }

    /// Whether an entry is one kernel: it is declared so, or it is a plain `@pl.function` that launches nothing.
    fn is_one_kernel(&self, id: FunctionId, source: &FunctionSource, body: &[Stmt]) -> bool {
        match source.kind {
            FunctionKind::Kernel => true,
            FunctionKind::Opaque => {
                let mut calls =
                    Calls { environment: self.environment, function: id, meanings: Vec::new(), scopes: false };
                body.iter().for_each(|s| calls.visit_stmt(s));
                let launches = |called: &Known| match called {
                    Known::Function(_) => true,
                    Known::Language(name) => matches!(name.as_str(), "spmd" | "submit" | "spmd_submit"),
                    _ => false,
                };
                !calls.scopes && !calls.meanings.iter().any(launches)
            }
            FunctionKind::Entry | FunctionKind::Inline | FunctionKind::Orchestration => false,
        }
    }

    /// `x.bind_dynamic(axis, M)` statements: (parameter, axis) and the extent's name and id.
    fn bound_dims(&mut self, body: &[Stmt]) -> BTreeMap<(String, usize), (String, u64)> {
        let mut bound = BTreeMap::new();
        for stmt in body {
            let Stmt::Expr(e) = stmt else { continue };
            let Expr::Call(call) = &*e.value else { continue };
            let Expr::Attribute(attribute) = &*call.func else { continue };
            let (Expr::Name(tensor), "bind_dynamic") = (&*attribute.value, attribute.attr.as_str()) else { continue };
            let [axis, dim] = &call.arguments.args[..] else { continue };
            let local = body.iter().find_map(|s| match s {
                Stmt::Assign(a) if matches!((&a.targets[..], dim), ([Expr::Name(t)], Expr::Name(d)) if t.id == d.id) => Some(&*a.value),
                _ => None,
            });
            let (Ok(axis), Ok(Held::Dynamic { name, id })) = (self.static_int(axis), self.eval(local.unwrap_or(dim)))
            else {
                continue;
            };
            if let Ok(axis) = usize::try_from(axis) {
                bound.insert((tensor.id.to_string(), axis), (name, id));
            }
        }
        bound
    }

    fn wrong(&self, param: &ParamSpec, span: Option<Span>, message: String) -> Fail {
        Diagnostic::error("wrong-argument", format!("argument `{}`: {message}", param.name)).at(span, "").into()
    }

    fn parameter(
        &mut self,
        param: &ParamSpec,
        arg: &ArgSpec,
        span: Option<Span>,
        bound: &BTreeMap<(String, usize), (String, u64)>,
        extents: &mut BTreeMap<u64, (String, u64, String)>,
    ) -> Res<()> {
        match (arg, &param.kind) {
            (ArgSpec::Tensor { dtype, shape }, ParamKind::Tensor { shape: declared, dtype: wanted }) => {
                if let Some(wanted) = wanted
                    && wanted != dtype
                {
                    let (w, d) = (wanted.language_name(), dtype.language_name());
                    return Err(self.wrong(param, span, format!("declared {w}, given {d}")));
                }
                if let Some(declared) = declared
                    && declared.len() != shape.len()
                {
                    let message = format!("declared with {} axes, given {}", declared.len(), shape.len());
                    return Err(self.wrong(param, span, message));
                }
                self.tensor_parameter(param, span, (*dtype, shape), declared.as_deref(), bound, extents)
            }
            (ArgSpec::Tensor { dtype, shape }, ParamKind::Any) => {
                self.tensor_parameter(param, span, (*dtype, shape), None, bound, extents)
            }
            (ArgSpec::Scalar(value), ParamKind::Scalar { .. } | ParamKind::Any) => {
                let dtype = match &param.kind {
                    ParamKind::Scalar { dtype: Some(d) } => *d,
                    _ => value.dtype,
                };
                // The parameter is there, one per argument, but the program is specialised for the value.
                self.program.func.add_param(param.name.clone(), Direction::In, Type::Scalar(dtype));
                let held = literal(*value, dtype);
                self.frame_mut().names.insert(param.name.clone(), Binding { held, span });
                Ok(())
            }
            (ArgSpec::Runtime(given), ParamKind::Scalar { .. } | ParamKind::Any) => {
                let dtype = match &param.kind {
                    ParamKind::Scalar { dtype: Some(d) } => *d,
                    _ => *given,
                };
                let value = self.program.func.add_param(param.name.clone(), Direction::In, Type::Scalar(dtype));
                self.frame_mut().names.insert(param.name.clone(), Binding { held: Held::Ir(value), span });
                Ok(())
            }
            (arg, kind) => {
                let given = match arg {
                    ArgSpec::Tensor { .. } => "a tensor",
                    ArgSpec::Scalar(_) | ArgSpec::Runtime(_) => "a scalar",
                };
                let declared = match kind {
                    ParamKind::Tensor { .. } => "a tensor",
                    ParamKind::Scalar { .. } => "a scalar",
                    ParamKind::Array { .. } => "an array, which an entry cannot take",
                    ParamKind::Any => "anything",
                };
                Err(self.wrong(param, span, format!("declared {declared}, given {given}")))
            }
        }
    }

    fn tensor_parameter(
        &mut self,
        param: &ParamSpec,
        span: Option<Span>,
        (dtype, shape): (DType, &[u64]),
        declared: Option<&[DimSpec]>,
        bound: &BTreeMap<(String, usize), (String, u64)>,
        extents: &mut BTreeMap<u64, (String, u64, String)>,
    ) -> Res<()> {
        if shape.is_empty() || shape.len() > 5 {
            return Err(self.wrong(param, span, format!("a tensor has 1 to 5 axes, not {}", shape.len())));
        }
        if shape.iter().try_fold(1_u64, |n, &d| n.checked_mul(d.max(1))).is_none_or(|n| n > 1 << 48) {
            return Err(self.wrong(param, span, "more elements than any memory has".into()));
        }
        let (mut dims, mut ids) = (Vec::new(), Vec::new());
        for (axis, &given) in shape.iter().enumerate() {
            let dynamic = match declared.and_then(|d| d.get(axis)) {
                Some(DimSpec::Static(n)) if *n != given => {
                    return Err(self.wrong(param, span, format!("axis {axis} is declared {n} and given {given}")));
                }
                Some(DimSpec::Dynamic { name, id }) => Some((name.clone(), *id)),
                _ => None,
            };
            let dynamic = bound.get(&(param.name.clone(), axis)).cloned().or(dynamic);
            match dynamic {
                None => {
                    dims.push(Dim::Static(given));
                    ids.push(Held::Int(given as i64));
                }
                Some((name, id)) => {
                    if let Some((_, other, owner)) = extents.get(&id)
                        && *other != given
                    {
                        let message =
                            format!("the dynamic dimension `{name}` is {given} here and {other} in `{owner}`");
                        return Err(self.wrong(param, span, message));
                    }
                    extents.entry(id).or_insert((name.clone(), given, param.name.clone()));
                    dims.push(Dim::Dynamic);
                    ids.push(Held::Dynamic { name, id });
                }
            }
        }
        let position = self.program.func.params.len();
        let ty = Type::Tensor(TensorType::packed(dtype, dims));
        let value = self.program.func.add_param(param.name.clone(), param.direction, ty);
        for (axis, held) in ids.iter().enumerate() {
            if let Held::Dynamic { id, .. } = held {
                self.dynamic.entry(*id).or_insert((value, axis));
            }
        }
        self.program.dims.insert(value, ids);
        self.program.root.insert(value, position);
        self.frame_mut().names.insert(param.name.clone(), Binding { held: Held::Ir(value), span });
        Ok(())
    }
}

/// The functions that a function mentions, each once, in order: those it calls or launches.
pub(crate) fn callees(environment: &dyn Environment, id: FunctionId) -> Result<Vec<FunctionId>, Rejected> {
    let source = environment.function(id);
    let mut files = Files::default();
    let parsed = match files.parse(source) {
        Ok(parsed) => parsed,
        Err(error) => return Err(Rejected { errors: vec![*error], sources: files.sources }),
    };
    let mut calls = Calls { environment, function: id, meanings: Vec::new(), scopes: false };
    if let Some(def) = parsed.function(&source.name, source.line) {
        def.body.iter().for_each(|s| calls.visit_stmt(s));
    }
    let mut found = Vec::new();
    for meaning in calls.meanings {
        match meaning {
            Known::Function(callee) if !found.contains(&callee) => found.push(callee),
            _ => {}
        }
    }
    Ok(found)
}

/// What the names in a body mean that are called, or handed to a call (`pl.submit(kernel, …)`); whether it opens scopes.
struct Calls<'e> {
    environment: &'e dyn Environment,
    function: FunctionId,
    meanings: Vec<Known>,
    scopes: bool,
}

impl Calls<'_> {
    fn note(&mut self, callee: &Expr) {
        if let Some(name) = dotted(callee) {
            let path: Vec<&str> = name.split('.').collect();
            self.meanings.extend(self.environment.lookup(self.function, &path));
        }
    }
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.scopes |= matches!(stmt, Stmt::With(_));
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            self.note(&call.func);
            if let (true, Some(kernel)) = (is_submit(expr), call.arguments.args.first()) {
                self.note(kernel);
            }
        }
        walk_expr(self, expr);
    }
}

/// The value of a scalar argument as a literal of its declared type's category.
fn literal(value: Scalar, dtype: DType) -> Held {
    let value = dtype::scalar::cast(value, dtype);
    match dtype {
        DType::Bool => Held::Bool(value.is_true()),
        d if d.is_float() => Held::Float(value.as_f64()),
        _ => Held::Int(value.as_i64().unwrap_or(0)),
    }
}

fn parameter_span<'p>(parameters: &'p ast::Parameters, name: &str) -> Option<&'p ast::Parameter> {
    let all = parameters.posonlyargs.iter().chain(parameters.args.iter()).chain(parameters.kwonlyargs.iter());
    all.into_iter().map(|p| &p.parameter).find(|p| p.name.as_str() == name)
}
