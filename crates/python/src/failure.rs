//! Failures of the driver and the front end as Python exceptions of `tilewright.errors`.

use diag::Kind;
use driver::Failure;
use pyo3::prelude::*;

/// What failed: reading the source, making or running a program of it, or reading an artifact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Source,
    Program,
    Artifact,
}

/// `tilewright.errors.of` chooses the class, by the stage and by what the first error is.
pub(crate) fn raise(py: Python<'_>, failure: &Failure, stage: Stage) -> PyErr {
    let stage = match stage {
        Stage::Source => "source",
        Stage::Program => "program",
        Stage::Artifact => "artifact",
    };
    let kind = match failure.kind() {
        Kind::Invalid => "invalid",
        Kind::Unsupported => "unsupported",
        Kind::Finding => "finding",
    };
    let diagnostics: Vec<(&str, &str, Option<String>)> = failure
        .errors
        .iter()
        .map(|e| (e.code, e.message.as_str(), e.primary.as_ref().map(|l| failure.sources.place(l.span))))
        .collect();
    match py
        .import("tilewright.errors")
        .and_then(|m| m.getattr("of"))
        .and_then(|c| c.call1((stage, kind, failure.render(), diagnostics)))
    {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
