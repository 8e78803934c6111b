//! Running kernels of `.pto` files, for `tilewright exec`.

use std::collections::BTreeMap;

use driver::exec::{Against, Given, Level, ParamKind, Request, Settings, Sync};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::{failure, number, program};

/// Runs one kernel. `given`: per parameter name an array (language name of the element type, bytes) or a number.
/// `passes`: (level, sync, fusion). `other`: (text, path) of a file to compare with; `compare_passes` compares with what
/// the passes make. Yields a dictionary of what happened.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "keywords on the other side")]
pub(crate) fn run_kernel<'py>(
    py: Python<'py>,
    text: String,
    path: String,
    platform: Option<&str>,
    profile: Option<&str>,
    entry: Option<String>,
    seed: u64,
    given: BTreeMap<String, Bound<'py, PyAny>>,
    passes: Option<(u8, String, bool)>,
    other: Option<(String, String)>,
    compare_passes: bool,
    contents: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let mut arguments = BTreeMap::new();
    for (name, value) in given {
        arguments.insert(name, argument(&value)?);
    }
    let profile = profile.map(str::parse).transpose();
    let request = Request {
        text,
        path,
        arch: platform.map(program::arch).transpose()?,
        profile: profile.map_err(|_| PyValueError::new_err("profile is not one of a2a3, a5, cpu-compat"))?,
        entry,
        seed,
        given: arguments,
        passes: passes.as_ref().map(settings).transpose()?,
        against: match other {
            _ if compare_passes => Against::Passes,
            Some((text, path)) => Against::File(text, path),
            None => Against::Nothing,
        },
    };
    let answer = match py.detach(|| request.run()) {
        Ok(answer) => answer,
        Err(f) => return Err(failure::raise(py, &f, failure::Stage::Program)),
    };
    let (inputs, outcome) = (&answer.prepared.inputs, &answer.prepared.outcome);
    let did = PyDict::new(py);
    did.set_item("entry", &answer.entry)?;
    did.set_item("attempts", answer.prepared.attempts)?;
    did.set_item("coverage", (outcome.coverage.reached, outcome.coverage.total, outcome.coverage.dead))?;
    did.set_item("blocks", (inputs.first_block, inputs.run_blocks, inputs.blocks))?;
    let mut args = Vec::new();
    for (n, (param, input)) in answer.params.iter().zip(&inputs.args).enumerate() {
        let arg = PyDict::new(py);
        arg.set_item("name", &param.name)?;
        let dtype = match param.kind {
            ParamKind::Pointer(d) | ParamKind::Scalar(d) => d,
        };
        arg.set_item("dtype", dtype.language_name())?;
        match input {
            driver::exec::Input::Scalar(s) => arg.set_item("value", number::number(py, *s)?)?,
            driver::exec::Input::Memory(m) => {
                arg.set_item("elements", m.len / dtype.size())?;
                arg.set_item("digest", format!("{:016x}", outcome.digest(n)))?;
                arg.set_item("changed", outcome.outputs.get(n).is_some_and(|o| !o.is_empty()))?;
                if contents {
                    let bytes = answer.contents(n).unwrap_or_default();
                    arg.set_item("before", PyBytes::new(py, &m.to_vec()))?;
                    arg.set_item("after", PyBytes::new(py, &bytes))?;
                }
            }
        }
        args.push(arg);
    }
    did.set_item("args", args)?;
    if let Some(difference) = &answer.difference {
        did.set_item("difference", diag::render(&difference.finding, &answer.sources))?;
    }
    Ok(did)
}

fn argument(value: &Bound<'_, PyAny>) -> PyResult<Given> {
    if let Ok((dtype, bytes)) = value.extract::<(String, Vec<u8>)>() {
        return Ok(Given::Array { dtype: number::dtype(&dtype)?, bytes });
    }
    match value.extract::<i64>() {
        Ok(n) => Ok(Given::Int(n)),
        Err(_) => Ok(Given::Float(value.extract()?)),
    }
}

fn settings(passes: &(u8, String, bool)) -> PyResult<Settings> {
    let (level, sync, fusion) = passes;
    let level = match level {
        1 => Level::One,
        2 => Level::Two,
        3 => Level::Three,
        other => return Err(PyValueError::new_err(format!("level {other}; supported: 1, 2, 3"))),
    };
    let sync = match sync.as_str() {
        "keep" => Sync::Keep,
        "flags" => Sync::Flags,
        "tokens" => Sync::Tokens,
        "barrier-all" => Sync::BarrierAll,
        other => return Err(PyValueError::new_err(format!("sync {other:?} is not keep, flags, tokens, barrier-all"))),
    };
    Ok(Settings { sync, fusion: *fusion, ..Settings::new(level) })
}
