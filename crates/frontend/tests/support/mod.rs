//! A host language without Python: the module constants and decorated functions of one file.
//!
//! Comments steer it: `# arg x = f32[8, 16]`, `# arg a = 1.5`, `# arg n = runtime INT32` replace what annotations say
//! (`f.x` for one function only); `# unknown addd` hides a name of the language.

#![allow(unreachable_pub, dead_code)]

use std::collections::BTreeMap;

use dtype::{DType, Scalar};
use frontend::{ArgSpec, DimSpec, Environment, FunctionId, FunctionKind, FunctionSource, Known, ParamKind, ParamSpec};
use ir::Direction;
use ruff_python_ast::{Expr, Number, Operator, Stmt, StmtFunctionDef, UnaryOp};

pub struct Module {
    functions: Vec<FunctionSource>,
    constants: BTreeMap<String, Known>,
    hidden: Vec<String>,
    overrides: BTreeMap<String, String>,
    docs: Vec<String>,
}

impl Environment for Module {
    fn function(&self, id: FunctionId) -> &FunctionSource {
        &self.functions[id.0 as usize]
    }

    fn lookup(&self, _: FunctionId, path: &[&str]) -> Option<Known> {
        if path[0] == "pl" {
            return self.language(&path[1..]);
        }
        // The one program of a case: `self.f` is a function of it, as is `f`.
        let path = if path[0] == "self" { &path[1..] } else { path };
        if path.is_empty() {
            return Some(Known::Namespace);
        }
        if let Some(i) = self.functions.iter().position(|f| f.name == path[0]) {
            return Some(Known::Function(FunctionId(i as u32)));
        }
        if path.len() == 1 {
            return self.constants.get(path[0]).cloned();
        }
        None
    }
}

impl Module {
    fn language(&self, path: &[&str]) -> Option<Known> {
        let Some(last) = path.last() else { return Some(Known::Namespace) };
        if self.hidden.iter().any(|h| h == last) {
            return None;
        }
        let module = ["tensor", "tile", "system", "array", "prefetch"].contains(last);
        let word = ["Level", "PadValue", "SplitMode", "AtomicType", "Mem", "ScopeMode", "Role"].contains(last);
        if path.len() == 1 && (module || word) {
            return Some(Known::Namespace);
        }
        match DType::from_language_name(last) {
            Some(d) if path.len() == 1 => Some(Known::DType(d)),
            _ => Some(Known::Language(path.join("."))),
        }
    }

    pub fn parse(path: &str, text: &str) -> Module {
        let parsed = ruff_python_parser::parse_module(text).map(|p| p.into_syntax());
        let mut module = Module {
            functions: Vec::new(),
            constants: BTreeMap::new(),
            hidden: Vec::new(),
            overrides: BTreeMap::new(),
            docs: Vec::new(),
        };
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# arg ") {
                let (name, value) = rest.split_once('=').expect("# arg name = value");
                module.overrides.insert(name.trim().to_owned(), value.trim().to_owned());
            } else if let Some(name) = line.strip_prefix("# unknown ") {
                module.hidden.push(name.trim().to_owned());
            }
        }
        let body = match parsed {
            Ok(module) => module.body,
            // A syntax error is the front end's to report: one entry without parameters.
            Err(_) => {
                let line = text.lines().position(|l| l.starts_with("@pl.jit")).unwrap_or(0) as u32 + 1;
                module.functions.push(FunctionSource {
                    name: "broken".into(),
                    kind: FunctionKind::Entry,
                    path: path.into(),
                    text: text.into(),
                    first_line: 1,
                    line,
                    params: Vec::new(),
                    method: false,
                });
                module.docs.push(String::new());
                return module;
            }
        };
        for stmt in &body {
            match stmt {
                Stmt::Assign(a) => {
                    if let Expr::Name(n) = &a.targets[0]
                        && let Some(value) = module.constant(&a.value)
                    {
                        module.constants.insert(n.id.to_string(), value);
                    }
                }
                Stmt::FunctionDef(f) => module.define(path, text, f, false),
                Stmt::ClassDef(c) if c.decorator_list.iter().any(|d| spelled(&d.expression) == "pl.program") => {
                    for stmt in &c.body {
                        if let Stmt::FunctionDef(f) = stmt {
                            module.define(path, text, f, true);
                        }
                    }
                }
                _ => {}
            }
        }
        module
    }

    fn define(&mut self, path: &str, text: &str, f: &StmtFunctionDef, method: bool) {
        let decorator = f.decorator_list.first().map(|d| match &d.expression {
            Expr::Call(c) => {
                let role = c.arguments.keywords.iter().find(|k| k.arg.as_ref().is_some_and(|a| a == "type"));
                (spelled(&c.func), role.map_or(String::new(), |k| spelled(&k.value)))
            }
            e => (spelled(e), String::new()),
        });
        let kind = match decorator.as_ref().map(|(name, role)| (name.as_str(), role.as_str())) {
            Some(("pl.jit", _)) => FunctionKind::Entry,
            Some(("pl.jit.inline", _) | ("pl.function", "pl.FunctionType.Inline")) => FunctionKind::Inline,
            Some(("pl.jit.incore", _) | ("pl.function", "pl.FunctionType.InCore")) => FunctionKind::Kernel,
            Some(("pl.function", "pl.FunctionType.Orchestration")) => FunctionKind::Orchestration,
            Some(("pl.jit.opaque" | "pl.function", _)) => FunctionKind::Opaque,
            _ => return,
        };
        let params = f
            .parameters
            .args
            .iter()
            .skip(usize::from(method))
            .map(|p| self.param(p.parameter.name.as_str(), p.parameter.annotation.as_deref()))
            .collect();
        self.docs.push(match f.body.first() {
            Some(Stmt::Expr(e)) => match &*e.value {
                Expr::StringLiteral(s) => s.value.to_str().to_owned(),
                _ => String::new(),
            },
            _ => String::new(),
        });
        let start = f.range.start().to_usize();
        self.functions.push(FunctionSource {
            name: f.name.to_string(),
            kind,
            path: path.into(),
            text: text.into(),
            first_line: 1,
            line: text[..start].matches('\n').count() as u32 + 1,
            params,
            method,
        });
    }

    /// The entries, in order.
    pub fn entries(&self) -> Vec<FunctionId> {
        let entry =
            |(_, f): &(usize, &FunctionSource)| matches!(f.kind, FunctionKind::Entry | FunctionKind::Orchestration);
        self.functions.iter().enumerate().filter(entry).map(|(i, _)| FunctionId(i as u32)).collect()
    }

    pub fn doc(&self, id: FunctionId) -> &str {
        &self.docs[id.0 as usize]
    }

    pub fn args(&self, id: FunctionId) -> Vec<ArgSpec> {
        let function = self.function(id);
        let given = |name: &str| {
            let own = self.overrides.get(&format!("{}.{name}", function.name));
            own.or(self.overrides.get(name))
        };
        function.params.iter().map(|p| argument(p, given(&p.name))).collect()
    }

    fn constant(&self, expr: &Expr) -> Option<Known> {
        Some(match expr {
            Expr::NumberLiteral(n) => match &n.value {
                Number::Int(i) => Known::Int(i.as_i64()?),
                Number::Float(f) => Known::Float(*f),
                Number::Complex { .. } => return None,
            },
            Expr::BooleanLiteral(b) => Known::Bool(b.value),
            Expr::StringLiteral(s) => Known::Str(s.value.to_str().into()),
            Expr::NoneLiteral(_) => Known::None,
            Expr::Name(n) => self.constants.get(n.id.as_str())?.clone(),
            Expr::List(l) => Known::List(l.elts.iter().map(|e| self.constant(e)).collect::<Option<_>>()?),
            Expr::Tuple(l) => Known::List(l.elts.iter().map(|e| self.constant(e)).collect::<Option<_>>()?),
            Expr::UnaryOp(u) if u.op == UnaryOp::USub => match self.constant(&u.operand)? {
                Known::Int(v) => Known::Int(-v),
                Known::Float(v) => Known::Float(-v),
                _ => return None,
            },
            Expr::BinOp(b) => {
                let (a, c) = (self.constant(&b.left)?, self.constant(&b.right)?);
                match (a, c) {
                    (Known::Int(a), Known::Int(c)) => match b.op {
                        Operator::Add => Known::Int(a + c),
                        Operator::Sub => Known::Int(a - c),
                        Operator::Mult => Known::Int(a * c),
                        Operator::FloorDiv => Known::Int(a.div_euclid(c)),
                        Operator::Div => Known::Float(a as f64 / c as f64),
                        _ => return None,
                    },
                    (a, c) => {
                        let f = |k: Known| match k {
                            Known::Int(v) => Some(v as f64),
                            Known::Float(v) => Some(v),
                            _ => None,
                        };
                        let (a, c) = (f(a)?, f(c)?);
                        match b.op {
                            Operator::Add => Known::Float(a + c),
                            Operator::Mult => Known::Float(a * c),
                            Operator::Div => Known::Float(a / c),
                            _ => return None,
                        }
                    }
                }
            }
            Expr::Attribute(_) => {
                let name = spelled(expr);
                let path: Vec<&str> = name.split('.').collect();
                self.lookup(FunctionId(0), &path)?
            }
            Expr::Call(c) if spelled(&c.func) == "pl.dynamic" => {
                let Known::Str(name) = self.constant(&c.arguments.args[0])? else { return None };
                Known::Dynamic { id: self.constants.len() as u64 + 1, name }
            }
            _ => return None,
        })
    }

    fn param(&self, name: &str, annotation: Option<&Expr>) -> ParamSpec {
        let (mut kind, mut direction) = (ParamKind::Any, Direction::In);
        let mut expr = annotation;
        while let Some(e) = expr.take() {
            match e {
                Expr::Subscript(s) => match spelled(&s.value).as_str() {
                    "pl.Out" => {
                        direction = Direction::Out;
                        expr = Some(&s.slice);
                    }
                    "pl.InOut" => {
                        direction = Direction::InOut;
                        expr = Some(&s.slice);
                    }
                    "pl.Scalar" => {
                        let dtype = match self.constant(&s.slice) {
                            Some(Known::DType(d)) => Some(d),
                            _ => None,
                        };
                        kind = ParamKind::Scalar { dtype };
                    }
                    "pl.Tensor" => {
                        let Expr::Tuple(t) = &*s.slice else { panic!("pl.Tensor[[…], dtype]") };
                        let Some(Known::List(dims)) = self.constant(&t.elts[0]) else {
                            panic!("extents of `{name}` are not constants")
                        };
                        let dims = dims
                            .into_iter()
                            .map(|d| match d {
                                Known::Int(n) => DimSpec::Static(n as u64),
                                Known::Dynamic { name, id } => DimSpec::Dynamic { name, id },
                                other => panic!("an extent {other:?}"),
                            })
                            .collect();
                        let dtype = match self.constant(&t.elts[1]) {
                            Some(Known::DType(d)) => Some(d),
                            _ => None,
                        };
                        kind = ParamKind::Tensor { shape: Some(dims), dtype };
                    }
                    _ => {}
                },
                e if spelled(e) == "pl.Tensor" => kind = ParamKind::Tensor { shape: None, dtype: None },
                e => {
                    if let Some(Known::DType(d)) = self.constant(e) {
                        kind = ParamKind::Scalar { dtype: Some(d) };
                    }
                }
            }
        }
        ParamSpec { name: name.into(), kind, direction }
    }
}

fn spelled(e: &Expr) -> String {
    match e {
        Expr::Name(n) => n.id.to_string(),
        Expr::Attribute(a) => format!("{}.{}", spelled(&a.value), a.attr.as_str()),
        _ => String::new(),
    }
}

fn argument(param: &ParamSpec, given: Option<&String>) -> ArgSpec {
    if let Some(text) = given {
        if let Some(d) = text.strip_prefix("runtime ") {
            return ArgSpec::Runtime(DType::from_language_name(d.trim()).expect("a dtype"));
        }
        if let Some((dtype, dims)) = text.split_once('[') {
            let shape = dims.trim_end_matches(']').split(',').map(|d| d.trim().parse().expect("an extent")).collect();
            return ArgSpec::Tensor { dtype: dtype.trim().parse().expect("a dtype"), shape };
        }
        let dtype = match param.kind {
            ParamKind::Scalar { dtype: Some(d) } => d,
            _ if text.contains('.') => DType::F32,
            _ => DType::Index,
        };
        return ArgSpec::Scalar(Scalar::from_f64(dtype, text.parse().expect("a number")));
    }
    match &param.kind {
        ParamKind::Tensor { shape: Some(dims), dtype: Some(dtype) } => ArgSpec::Tensor {
            dtype: *dtype,
            shape: dims
                .iter()
                .map(|d| match d {
                    DimSpec::Static(n) => *n,
                    DimSpec::Dynamic { .. } => 64,
                })
                .collect(),
        },
        ParamKind::Scalar { dtype } => ArgSpec::Runtime(dtype.unwrap_or(DType::F32)),
        kind => panic!("`{}` ({kind:?}) needs a line `# arg {} = …`", param.name, param.name),
    }
}
