//! The op table and the language's names as data, for the manual (docs/ops.md).

use ir::info::{Arity, AttrKind, Domain, Evidence, Form, Kind, Levels, Pipe};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Every operation: `name`, `doc`, `operands`, `attributes`, `form`, `levels`, `pipe`, `domain`, `in_place`, `evidence`,
/// `regions`, `text`, `runs`, `family` (title and note), in words.
#[pyfunction]
pub(crate) fn op_table(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for info in &ir::ops::TABLE {
        let entry = PyDict::new(py);
        entry.set_item("name", info.name)?;
        entry.set_item("doc", info.doc)?;
        let operands: Vec<_> = info.operands.iter().map(|o| (o.name, kind(o.kind), arity(o.arity))).collect();
        entry.set_item("operands", operands)?;
        let attributes: Vec<_> = info.attrs.iter().map(|a| (a.name, attr_kind(a.kind), a.required)).collect();
        entry.set_item("attributes", attributes)?;
        entry.set_item("form", form(info.form))?;
        entry.set_item("levels", levels(info.levels))?;
        entry.set_item("pipe", pipe(info.pipe))?;
        entry.set_item("domain", domain(info.domain))?;
        entry.set_item("in_place", info.in_place.to_vec())?;
        entry.set_item("evidence", evidence(info.evidence))?;
        match info.regions {
            ir::ops::ANY_REGIONS => entry.set_item("regions", "any number")?,
            n => entry.set_item("regions", n)?,
        }
        entry.set_item("text", info.text)?;
        entry.set_item("runs", info.runs)?;
        entry.set_item("family", (info.opcode.family().title, info.opcode.family().note))?;
        list.append(entry)?;
    }
    Ok(list)
}

/// The supported names of the language with their parameters, as `frontend` writes them.
#[pyfunction]
pub(crate) fn face_table() -> Vec<(&'static str, &'static str)> {
    frontend::signatures().collect()
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => "any",
        Kind::Tile => "tile",
        Kind::Tensor => "tensor",
        Kind::Scalar => "scalar",
        Kind::Int => "integer",
        Kind::Bool => "boolean",
        Kind::Task => "task",
        Kind::Array => "array",
        Kind::Ptr => "pointer",
        Kind::View => "view",
        Kind::PartView => "part of a view",
        Kind::Slot => "tile or view",
        Kind::Opaque => "value of the text's own types",
        Kind::Memory => "pointer, view or part of one",
    }
}

fn arity(arity: Arity) -> &'static str {
    match arity {
        Arity::One => "",
        Arity::Optional => "optional",
        Arity::Many => "any number",
    }
}

fn attr_kind(kind: AttrKind) -> String {
    match kind {
        AttrKind::Bool => "boolean".into(),
        AttrKind::Int => "integer".into(),
        AttrKind::Number => "number".into(),
        AttrKind::Word(words) => words.join(" | "),
        AttrKind::Text => "text".into(),
        AttrKind::Type => "type".into(),
        AttrKind::Ints => "integers".into(),
        AttrKind::Symbols => "function names".into(),
        AttrKind::Spelled => "as spelled in `.pto`".into(),
    }
}

fn form(form: Form) -> String {
    match form {
        Form::Tile => "a tile (tensor level: its result; below: written to `outs`)".into(),
        Form::Dest => "writes `outs`".into(),
        Form::Outs(least, most) => format!("writes {least} to {most} `outs`"),
        Form::Results(0) => "nothing".into(),
        Form::Results(1) => "one result".into(),
        Form::Results(n) => format!("{n} results"),
        Form::Carried => "one result per carried value".into(),
        Form::Terminator => "ends a block".into(),
    }
}

fn levels(levels: Levels) -> Vec<&'static str> {
    let all = [
        (Levels::TENSOR, "tensor level, outside scopes"),
        (Levels::SCOPE, "tensor level, in a scope"),
        (Levels::ORCH, "tile level, orchestration"),
        (Levels::KERNEL, "tile and machine level, kernels"),
    ];
    all.into_iter().filter(|(l, _)| levels.contains(*l)).map(|(_, name)| name).collect()
}

fn pipe(pipe: Pipe) -> &'static str {
    match pipe {
        Pipe::None => "none",
        Pipe::Scalar => "scalar",
        Pipe::Vector => "vector",
        Pipe::Matrix => "matrix",
        Pipe::Mte1 => "MTE1",
        Pipe::Mte2 => "MTE2",
        Pipe::Mte3 => "MTE3",
        Pipe::Fix => "fix",
        Pipe::BySpace => "by the operands' buffers",
    }
}

fn domain(domain: Domain) -> &'static str {
    match domain {
        Domain::None => "none",
        Domain::Destination => "valid region of the destination",
        Domain::Source => "valid region of the source",
        Domain::Matmul => "rows of lhs × columns of rhs",
        Domain::Whole => "the whole destination",
    }
}

fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Measured => "measured",
        Evidence::Golden => "golden",
        Evidence::Doc => "documentation",
        Evidence::Inferred => "inferred",
    }
}
