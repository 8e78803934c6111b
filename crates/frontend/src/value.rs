//! What a name holds while a body is specialised.

use std::collections::BTreeMap;

use diag::Span;
use dtype::DType;

use crate::{FunctionId, Known};

/// A compile-time thing or a value of the program being built.
///
/// Integers, floats and booleans here are *literals*: they fold with Python's semantics and take the type of the
/// operand beside them (semantics rule 16). A run-time value's kind is its IR type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Held {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    None,
    DType(DType),
    /// Scalar, tile, tensor, task id or array.
    Ir(ir::Value),
    Tuple(Vec<Held>),
    Function(FunctionId),
    /// Something of the language, by its canonical name without `pl.`.
    Language(String),
    /// `pl.dynamic("M")`.
    Dynamic {
        name: String,
        id: u64,
    },
    /// Something with attributes, by its dotted path in a function's globals: it may be passed to another function.
    Namespace(FunctionId, Vec<String>),
    /// A host object kernels cannot use, with the name of its type.
    Other(String),
    /// The name has been assigned on some path, but has no value here: why.
    Unset(String),
    /// An error about it has been reported; nothing more is said.
    Poison,
}

impl Held {
    pub(crate) fn from_known(known: Known, function: FunctionId, path: &[&str]) -> Held {
        match known {
            Known::Int(v) => Held::Int(v),
            Known::Float(v) => Held::Float(v),
            Known::Bool(v) => Held::Bool(v),
            Known::Str(v) => Held::Str(v),
            Known::None => Held::None,
            Known::DType(d) => Held::DType(d),
            Known::Language(name) => Held::Language(name),
            Known::Function(id) => Held::Function(id),
            Known::Dynamic { name, id } => Held::Dynamic { name, id },
            Known::List(items) => Held::Tuple(items.into_iter().map(|k| Held::from_known(k, function, path)).collect()),
            Known::Namespace => Held::Namespace(function, path.iter().map(|s| (*s).to_owned()).collect()),
            Known::Other(what) => Held::Other(what),
        }
    }

    pub(crate) fn is_literal_number(&self) -> bool {
        matches!(self, Held::Int(_) | Held::Float(_) | Held::Bool(_))
    }
}

/// A name's value and where it got it.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) held: Held,
    pub(crate) span: Option<Span>,
}

pub(crate) type Table = BTreeMap<String, Binding>;
