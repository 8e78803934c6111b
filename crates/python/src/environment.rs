//! The front end's questions, answered by Python: `tilewright.names.Functions`.

use std::sync::{Mutex, OnceLock};

use frontend::{DimSpec, Environment, FunctionId, FunctionKind, FunctionSource, Known, ParamKind, ParamSpec};
use ir::Direction;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::number;

/// The live names of a session. Functions are fetched when first asked for.
pub(crate) struct Names {
    functions: Py<PyAny>,
    sources: Sources,
    /// The first exception that an answer ended in; the compile is given up for it.
    error: Mutex<Option<PyErr>>,
}

/// Sources by function, in a list that only grows, so that references into it stay.
#[derive(Default)]
struct Sources {
    head: OnceLock<Box<Node>>,
}

struct Node {
    id: FunctionId,
    source: FunctionSource,
    next: Sources,
}

impl Sources {
    fn get(&self, id: FunctionId, make: impl FnOnce() -> FunctionSource) -> &FunctionSource {
        let mut at = self;
        while let Some(node) = at.head.get() {
            if node.id == id {
                return &node.source;
            }
            at = &node.next;
        }
        &at.head.get_or_init(|| Box::new(Node { id, source: make(), next: Sources::default() })).source
    }
}

impl Names {
    pub(crate) fn new(functions: Py<PyAny>) -> Names {
        Names { functions, sources: Sources::default(), error: Mutex::new(None) }
    }

    /// The exception that an answer ended in, if any.
    pub(crate) fn take_error(&self) -> Option<PyErr> {
        self.error.lock().ok().and_then(|mut e| e.take())
    }

    fn keep<T>(&self, result: PyResult<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                if let Ok(mut slot) = self.error.lock() {
                    slot.get_or_insert(error);
                }
                None
            }
        }
    }

    /// What a name means now; an exception is returned.
    pub(crate) fn ask(&self, py: Python<'_>, function: FunctionId, path: &[&str]) -> PyResult<Option<Known>> {
        let answer = self.functions.bind(py).call_method1("lookup", (function.0, PyList::new(py, path)?))?;
        if answer.is_none() { Ok(None) } else { known(&answer).map(Some) }
    }
}

impl Environment for Names {
    fn function(&self, id: FunctionId) -> &FunctionSource {
        self.sources.get(id, || {
            Python::attach(|py| {
                let answer = self.functions.bind(py).call_method1("source", (id.0,)).and_then(|s| source(&s));
                self.keep(answer).unwrap_or_else(|| FunctionSource {
                    name: String::new(),
                    kind: FunctionKind::Entry,
                    path: String::new(),
                    text: String::new(),
                    first_line: 1,
                    line: 1,
                    params: Vec::new(),
                    method: false,
                })
            })
        })
    }

    fn lookup(&self, function: FunctionId, path: &[&str]) -> Option<Known> {
        Python::attach(|py| self.keep(self.ask(py, function, path)).flatten())
    }
}

/// A tuple of `names.Functions.meaning`.
fn known(answer: &Bound<'_, PyAny>) -> PyResult<Known> {
    let answer = answer.cast::<PyTuple>()?;
    let tag: String = answer.get_item(0)?.extract()?;
    let value = || answer.get_item(1);
    Ok(match tag.as_str() {
        "int" => Known::Int(value()?.extract()?),
        "float" => Known::Float(value()?.extract()?),
        "bool" => Known::Bool(value()?.extract()?),
        "str" => Known::Str(value()?.extract()?),
        "none" => Known::None,
        "dtype" => Known::DType(number::dtype(&value()?.extract::<String>()?)?),
        "language" => Known::Language(value()?.extract()?),
        "function" => Known::Function(FunctionId(value()?.extract()?)),
        "dynamic" => Known::Dynamic { name: value()?.extract()?, id: answer.get_item(2)?.extract()? },
        "list" => Known::List(value()?.cast::<PyList>()?.iter().map(|v| known(&v)).collect::<PyResult<_>>()?),
        "namespace" => Known::Namespace,
        "other" => Known::Other(value()?.extract()?),
        _ => return Err(PyValueError::new_err(format!("an unknown kind of name: {tag}"))),
    })
}

/// The tuple of `JITFunction.source`.
fn source(answer: &Bound<'_, PyAny>) -> PyResult<FunctionSource> {
    let (name, kind, path, text, first_line, line, params, method): (
        String,
        String,
        String,
        String,
        u32,
        u32,
        Vec<Py<PyTuple>>,
        bool,
    ) = answer.extract()?;
    let kind = match kind.as_str() {
        "inline" => FunctionKind::Inline,
        "kernel" => FunctionKind::Kernel,
        "orchestration" => FunctionKind::Orchestration,
        "opaque" => FunctionKind::Opaque,
        _ => FunctionKind::Entry,
    };
    let params = params.iter().map(|p| parameter(p.bind(answer.py()))).collect::<PyResult<_>>()?;
    Ok(FunctionSource { name, kind, path, text, first_line, line, params, method })
}

/// The tuple of `names.parameter`.
fn parameter(spec: &Bound<'_, PyTuple>) -> PyResult<ParamSpec> {
    let name: String = spec.get_item(0)?.extract()?;
    let direction = match spec.get_item(1)?.extract::<String>()?.as_str() {
        "out" => Direction::Out,
        "inout" => Direction::InOut,
        _ => Direction::In,
    };
    // An element type that programs cannot have is not known here: the front end sees the name in the annotation's
    // place, and arguments of such a type are refused before.
    let element = |at: usize| -> PyResult<Option<dtype::DType>> {
        Ok(spec.get_item(at)?.extract::<Option<String>>()?.and_then(|d| dtype::DType::from_language_name(&d)))
    };
    let kind = match spec.get_item(2)?.extract::<String>()?.as_str() {
        "tensor" => {
            let shape = spec.get_item(3)?;
            let shape = match shape.is_none() {
                true => None,
                false => Some(shape.cast::<PyList>()?.iter().map(|d| extent(&d)).collect::<PyResult<_>>()?),
            };
            ParamKind::Tensor { shape, dtype: element(4)? }
        }
        "scalar" => ParamKind::Scalar { dtype: element(3)? },
        "array" => ParamKind::Array { len: spec.get_item(3)?.extract()?, element: element(4)? },
        _ => ParamKind::Any,
    };
    Ok(ParamSpec { name, kind, direction })
}

fn extent(value: &Bound<'_, PyAny>) -> PyResult<DimSpec> {
    if let Ok(n) = value.extract::<u64>() {
        return Ok(DimSpec::Static(n));
    }
    let (_, name, id): (String, String, u64) = value.extract()?;
    Ok(DimSpec::Dynamic { name, id })
}
