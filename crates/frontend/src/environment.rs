//! What the front end asks of the host language: the functions, and what names mean in them.

use dtype::{DType, Scalar};
use ir::Direction;

/// A decorated function of the host program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunctionId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionKind {
    /// `@pl.jit`: the entry of a program.
    Entry,
    /// `@pl.jit.inline`: spliced at every call.
    Inline,
    /// `@pl.jit.incore`, `@pl.function(type=InCore)` and its kin: a call is a kernel scope of its own.
    Kernel,
    /// `@pl.function(type=Orchestration)`: spliced where it is called, an entry if it is compiled itself.
    Orchestration,
    /// `@pl.jit.opaque`, and `@pl.function` without a type: the same, but an entry that launches nothing is one kernel.
    Opaque,
}

/// The source of a function, as the host language has it.
#[derive(Clone, Debug)]
pub struct FunctionSource {
    pub name: String,
    pub kind: FunctionKind,
    /// The file's path as shown to the user.
    pub path: String,
    /// Text that contains the function: the whole file if it is on disk.
    pub text: String,
    /// The line number in the file of the first line of `text`.
    pub first_line: u32,
    /// The line number in the file of the function's first line (decorators or `def`).
    pub line: u32,
    /// Without the receiver of a method.
    pub params: Vec<ParamSpec>,
    /// A function of a `@pl.program` class: its first parameter in the source (`self`) is the program and no argument.
    pub method: bool,
}

/// A parameter, from its evaluated annotation.
#[derive(Clone, PartialEq, Debug)]
pub struct ParamSpec {
    pub name: String,
    pub kind: ParamKind,
    pub direction: Direction,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ParamKind {
    /// `pl.Tensor[[…], dtype]`; `None` where the annotation does not say.
    Tensor { shape: Option<Vec<DimSpec>>, dtype: Option<DType> },
    /// `pl.Scalar[dtype]` or a bare element type; `None` without an annotation.
    Scalar { dtype: Option<DType> },
    /// `pl.Array[n, element]`; `None` is a task id.
    Array { len: u64, element: Option<DType> },
    /// No annotation, or one that says nothing about kernels.
    Any,
}

/// An extent in an annotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DimSpec {
    Static(u64),
    /// `pl.dynamic("M")`; two extents are one if their `id` is.
    Dynamic {
        name: String,
        id: u64,
    },
}

/// An argument of the call to specialise for.
#[derive(Clone, PartialEq, Debug)]
pub enum ArgSpec {
    Tensor {
        dtype: DType,
        shape: Vec<u64>,
    },
    /// The value is a compile-time constant of the program (semantics rule 24).
    Scalar(Scalar),
    /// A scalar that stays a parameter of the program (`pl.RUNTIME`).
    Runtime(DType),
}

/// What a name means. Two meanings are equal if programs cannot tell them apart: floats by their bits, so that 0.0 is not
/// -0.0 and a NaN is itself.
#[derive(Clone, Debug)]
pub enum Known {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    None,
    DType(DType),
    /// Something of the language, by its canonical dotted name without `pl.`: `add`, `tensor.dim`, `tile.get_block_idx`,
    /// `system.syncall`, `Level.CORE_GROUP`, `PadValue.zero`, `SplitMode.UP_DOWN`, `at`, `range`.
    Language(String),
    Function(FunctionId),
    Dynamic {
        name: String,
        id: u64,
    },
    List(Vec<Known>),
    /// A module or another object with attributes: ask again with a longer path.
    Namespace,
    /// Something kernels cannot use, with the name of its type.
    Other(String),
}

impl PartialEq for Known {
    fn eq(&self, other: &Known) -> bool {
        match (self, other) {
            (Known::Int(a), Known::Int(b)) => a == b,
            (Known::Float(a), Known::Float(b)) => a.to_bits() == b.to_bits(),
            (Known::Bool(a), Known::Bool(b)) => a == b,
            (Known::Str(a), Known::Str(b)) | (Known::Language(a), Known::Language(b)) => a == b,
            (Known::Other(a), Known::Other(b)) => a == b,
            (Known::DType(a), Known::DType(b)) => a == b,
            (Known::Function(a), Known::Function(b)) => a == b,
            (Known::Dynamic { name: a, id: i }, Known::Dynamic { name: b, id: j }) => a == b && i == j,
            (Known::List(a), Known::List(b)) => a == b,
            (Known::None, Known::None) | (Known::Namespace, Known::Namespace) => true,
            _ => false,
        }
    }
}

impl Eq for Known {}

/// A name that was looked up.
#[derive(Clone, PartialEq, Debug)]
pub struct Lookup {
    pub function: FunctionId,
    /// `["cfg", "hidden"]` for `cfg.hidden`.
    pub path: Vec<String>,
    /// `None`: the name is not defined.
    pub meaning: Option<Known>,
}

/// The host language's side. Nothing here may run the body of a kernel.
pub trait Environment {
    fn function(&self, id: FunctionId) -> &FunctionSource;

    /// What a dotted name means in the globals and closure of a function, now.
    fn lookup(&self, function: FunctionId, path: &[&str]) -> Option<Known>;
}
