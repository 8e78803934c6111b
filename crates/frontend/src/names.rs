//! What names mean: locals of the function being spliced, then the host's globals and closures, then the few builtins
//! that make sense at compile time. Every question to the host is recorded.

use ir::{Attr, Opcode, Type, builder::attrs};
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::cx::{Cx, Fail, Res};
use crate::suggest::{instead_of, nearest};
use crate::value::Held;
use crate::{FunctionId, Lookup, faces};

/// Python builtins that compute on compile-time values.
pub(crate) const BUILTINS: &[&str] =
    &["len", "min", "max", "abs", "int", "float", "bool", "sum", "range", "list", "tuple", "print"];

impl Cx<'_> {
    pub(crate) fn name(&mut self, name: &ast::ExprName) -> Res<Held> {
        let id = name.id.as_str();
        if let Some(binding) = self.frame().names.get(id) {
            return match &binding.held {
                Held::Poison => Err(Fail::Reported),
                Held::Unset(why) => {
                    let message = format!("`{id}` has no value here: {why}");
                    let diagnostic = self.error("unknown-name", name, message);
                    Err(diagnostic.also(binding.span, "assigned here").into())
                }
                held => Ok(held.clone()),
            };
        }
        match self.ask(self.frame().function, &[id]) {
            None if BUILTINS.contains(&id) => Ok(Held::Language(format!("builtins.{id}"))),
            Some(held) => Ok(held),
            None => {
                let mut diagnostic = self.error("unknown-name", name, format!("`{id}` is not defined"));
                let locals: Vec<String> = self.frame().names.keys().cloned().collect();
                if let Some(&span) = self.frame().pruned.get(id) {
                    diagnostic.message = format!(
                        "`{id}` has no value here: the branch that assigns it was decided against at compile time"
                    );
                    diagnostic = diagnostic.also(Some(span), "assigned here");
                } else if let Some(close) = nearest(id, locals.iter().map(String::as_str)) {
                    diagnostic = diagnostic.help(format!("did you mean `{close}`?"));
                }
                Err(diagnostic.into())
            }
        }
    }

    /// Asks the host for a dotted name, once: a program sees one meaning of it.
    fn ask(&mut self, function: FunctionId, path: &[&str]) -> Option<Held> {
        let key = (function, path.iter().map(|s| (*s).to_owned()).collect::<Vec<String>>());
        let meaning = match self.asked.get(&key) {
            Some(&i) => self.lookups[i].meaning.clone(),
            None => {
                let meaning = self.environment.lookup(function, path);
                let lookup = Lookup { function, path: key.1.clone(), meaning: meaning.clone() };
                self.asked.insert(key, self.lookups.len());
                self.lookups.push(lookup);
                meaning
            }
        };
        meaning.map(|known| Held::from_known(known, function, path))
    }

    pub(crate) fn attribute(&mut self, attribute: &ast::ExprAttribute) -> Res<Held> {
        let base = self.eval(&attribute.value)?;
        let name = attribute.attr.as_str();
        match &base {
            Held::Namespace(function, path) => {
                let mut longer: Vec<&str> = path.iter().map(String::as_str).collect();
                longer.push(name);
                match self.ask(*function, &longer) {
                    Some(held) => Ok(held),
                    None => Err(self.unknown_attribute(attribute)),
                }
            }
            Held::Ir(value) => self.property(*value, attribute),
            Held::DType(d) if name == "get_byte" => Ok(Held::Language(format!("builtins.bytes.{}", d.size()))),
            Held::Language(owner) => {
                let full = format!("{owner}.{name}");
                if owner == "builtins.param" {
                    return Ok(Held::Language(full));
                }
                Err(self.unknown_attribute(attribute))
            }
            other => {
                let what = self.describe(other);
                let message = format!("{what} has no attribute `{name}` that kernels can use");
                Err(self.error("unknown-name", attribute, message).into())
            }
        }
    }

    fn unknown_attribute(&self, attribute: &ast::ExprAttribute) -> Fail {
        let full = self.text(attribute);
        let Some((prefix, name)) = full.rsplit_once('.') else {
            return self.error("unknown-name", attribute, format!("`{full}` is not defined")).into();
        };
        let diagnostic = self.error("unknown-op", attribute, format!("`{full}` is not defined"));
        if prefix.rsplit('.').next() == Some("Level") {
            return diagnostic.help(format!("kernel scopes are at `{prefix}.CORE_GROUP`")).into();
        }
        if let Some(instead) = instead_of(name) {
            return diagnostic.help(instead).into();
        }
        match nearest(name, faces::names()) {
            Some(close) => diagnostic.help(format!("did you mean `{prefix}.{close}`?")).into(),
            None => diagnostic.into(),
        }
    }

    /// `x.shape`, `x.dtype` and methods of run-time values.
    fn property(&mut self, value: ir::Value, attribute: &ast::ExprAttribute) -> Res<Held> {
        let at = attribute.range();
        match (attribute.attr.as_str(), self.ty(value).clone()) {
            ("shape", Type::Tensor(t)) => {
                (0..t.rank()).map(|axis| self.extent(value, axis, at)).collect::<Res<Vec<_>>>().map(Held::Tuple)
            }
            ("shape", Type::Tile(t)) => Ok(Held::Tuple(t.shape.iter().map(|&n| Held::Int(n as i64)).collect())),
            ("dtype", _) => match self.language_dtype(value) {
                Some(d) => Ok(Held::DType(d)),
                None => Err(self.not_a(&Held::Ir(value), "something with a dtype", at)),
            },
            ("bind_dynamic", Type::Tensor(_)) => Ok(Held::Language("builtins.bind_dynamic".into())),
            (name, _) => {
                let what = self.describe(&Held::Ir(value));
                let message = format!("{what} has no attribute `{name}`; `.shape` and `.dtype` are known");
                Err(self.error("unknown-name", attribute, message).into())
            }
        }
    }

    /// An extent of a tensor: a literal, or a run-time scalar.
    pub(crate) fn extent(&mut self, tensor: ir::Value, axis: usize, at: TextRange) -> Res<Held> {
        let Some(t) = self.tensor(tensor) else {
            return Err(self.not_a(&Held::Ir(tensor), "a tensor", at));
        };
        if let Some(n) = t.shape[axis].known() {
            return Ok(Held::Int(n as i64));
        }
        if let Some(known) = self.program.dims.get(&tensor).and_then(|d| d.get(axis)) {
            return match known.clone() {
                Held::Dynamic { id, .. } if self.dynamic.contains_key(&id) => {
                    let (owner, axis) = self.dynamic[&id];
                    Ok(Held::Ir(self.tensor_dim(owner, axis)))
                }
                Held::Dynamic { .. } => Ok(Held::Ir(self.tensor_dim(tensor, axis))),
                known => Ok(known),
            };
        }
        Ok(Held::Ir(self.tensor_dim(tensor, axis)))
    }

    fn tensor_dim(&mut self, tensor: ir::Value, axis: usize) -> ir::Value {
        self.pure(Opcode::TensorDim, &[tensor], Type::INDEX, attrs([("axis", Attr::Int(axis as i64))]))
    }

    /// The extent that `pl.dynamic(…)` stands for: that of the first parameter axis bound to it.
    pub(crate) fn dynamic_extent(&mut self, held: &Held, at: TextRange) -> Res<Held> {
        let Held::Dynamic { name, id } = held else { return Ok(held.clone()) };
        let own = self.frame().dynamic.get(id).or(self.dynamic.get(id)).copied();
        match own {
            Some((tensor, axis)) => self.extent(tensor, axis, at),
            None => {
                let message = format!("no parameter has an extent bound to the dynamic dimension `{name}`");
                Err(self.error("unknown-name", at, message).into())
            }
        }
    }

    /// Values as messages call them.
    pub(crate) fn describe(&self, held: &Held) -> String {
        match held {
            Held::Int(v) => format!("the integer {v}"),
            Held::Float(v) => format!("the float {v:?}"),
            Held::Bool(v) => (if *v { "True" } else { "False" }).into(),
            Held::Str(_) => "a string".into(),
            Held::None => "None".into(),
            Held::DType(d) => format!("the dtype {}", d.language_name()),
            Held::Ir(v) => self.describe_type(*v),
            Held::Tuple(_) => "a tuple".into(),
            Held::Function(id) => format!("the function `{}`", self.environment.function(*id).name),
            Held::Language(name) => format!("`{}`", name.strip_prefix("builtins.").unwrap_or(name)),
            Held::Dynamic { name, .. } => format!("the dynamic dimension `{name}`"),
            Held::Namespace(_, path) => format!("the module `{}`", path.join(".")),
            Held::Other(what) => format!("a Python object of type `{what}`"),
            Held::Unset(_) | Held::Poison => "nothing".into(),
        }
    }

    pub(crate) fn describe_type(&self, value: ir::Value) -> String {
        let language = self.language_dtype(value).map_or("", |d| d.language_name());
        match self.ty(value) {
            Type::Scalar(_) => format!("a run-time {language} scalar"),
            Type::TaskId => "a task id".into(),
            Type::Array { len, .. } => format!("an array of {len}"),
            Type::Tensor(t) => {
                let dims: Vec<String> = t.shape.iter().map(|d| d.to_string()).collect();
                let part = if self.program.valid_views.contains_key(&value) { ", partly valid" } else { "" };
                format!("a tensor [{}] {language}{part}", dims.join(", "))
            }
            Type::Tile(t) => {
                let dims: Vec<String> = t.shape.iter().map(|d| d.to_string()).collect();
                format!("a tile [{}] {language}", dims.join(", "))
            }
            _ => "a value".into(),
        }
    }

    pub(crate) fn not_a(&self, held: &Held, wanted: &str, at: TextRange) -> Fail {
        if *held == Held::Poison {
            return Fail::Reported;
        }
        let message = format!("{wanted} is needed here, not {}", self.describe(held));
        self.error("wrong-argument", at, message).into()
    }

    /// The element type something has in the language.
    pub(crate) fn language_dtype(&self, value: ir::Value) -> Option<dtype::DType> {
        self.program.language.get(&value).copied().or_else(|| self.ty(value).element())
    }
}

/// The dotted name that an expression spells, if it is only names and dots.
pub(crate) fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(n) => Some(n.id.to_string()),
        Expr::Attribute(a) => Some(format!("{}.{}", dotted(&a.value)?, a.attr.as_str())),
        _ => None,
    }
}
