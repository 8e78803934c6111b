//! Failures of the driver as Python exceptions of `tilewright.errors`.

use diag::Kind;
use driver::Failure;
use pyo3::prelude::*;

/// The exception class is chosen by what the first error means; `class` overrides it.
pub(crate) fn raise(py: Python<'_>, failure: &Failure, class: Option<&str>) -> PyErr {
    let name = match failure.kind() {
        _ if class.is_some() => class.unwrap_or_default(),
        Kind::Invalid => "ProgramError",
        Kind::Unsupported => "UnsupportedError",
        Kind::Finding => "FindingError",
    };
    let diagnostics: Vec<(&str, &str, Option<String>)> = failure
        .errors
        .iter()
        .map(|e| (e.code, e.message.as_str(), e.primary.as_ref().map(|l| failure.sources.place(l.span))))
        .collect();
    match py
        .import("tilewright.errors")
        .and_then(|m| m.getattr(name))
        .and_then(|c| c.call1((failure.render(), diagnostics)))
    {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
