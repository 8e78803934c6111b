//! Compiled programs: made from a function, run on borrowed arrays, written to a folder and read back.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use chip::Arch;
use driver::{Checks, Failure, ProgramParam, ProgramParamKind, RunOptions};
use dtype::Scalar;
use frontend::{ArgSpec, FunctionId, Rejected};
use ir::Direction;
use memory::{Arg, Returned};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::array::Borrowed;
use crate::environment::Names;
use crate::{failure, number};

/// How often a run asks whether the user pressed Ctrl-C.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The architecture of a platform name.
pub(crate) fn arch(platform: &str) -> PyResult<Arch> {
    platform
        .parse()
        .map_err(|()| PyValueError::new_err(format!("platform {platform:?} is not one of a2a3, a2a3sim, a5, a5sim")))
}

/// Compiles function number `entry` of `functions` for arguments of these types, each a tuple: `("tensor", "FP32",
/// [64, 64])`, `("scalar", "FP32", 1.5)` or `("runtime", "INT32")`.
#[pyfunction]
pub(crate) fn compile(
    py: Python<'_>,
    functions: Py<PyAny>,
    entry: u32,
    args: Vec<Bound<'_, PyTuple>>,
    platform: &str,
    profile: &str,
) -> PyResult<Program> {
    let args = args.iter().map(spec).collect::<PyResult<Vec<_>>>()?;
    let profile = profile
        .parse()
        .map_err(|_| PyValueError::new_err(format!("profile {profile:?} is not one of a2a3, a5, cpu-compat")))?;
    let options = driver::Options { arch: arch(platform)?, profile };
    let specialised = read(py, functions, |names| frontend::specialise(names, FunctionId(entry), &args, options.arch))?;
    match py.detach(|| driver::Program::from_tensor_level(specialised, &args, &options)) {
        Ok(program) => Ok(Program { program: Arc::new(program) }),
        Err(f) => Err(failure::raise(py, &f, failure::Stage::Program)),
    }
}

/// What the front end makes of Python's functions.
fn read<T: Send>(
    py: Python<'_>,
    functions: Py<PyAny>,
    work: impl FnOnce(&Names) -> Result<T, Rejected> + Send,
) -> PyResult<T> {
    let names = Names::new(functions);
    let result = py.detach(|| work(&names));
    match (names.take_error(), result) {
        (Some(error), _) => Err(error),
        (None, Ok(done)) => Ok(done),
        (None, Err(r)) => Err(rejected(py, r)),
    }
}

fn rejected(py: Python<'_>, r: Rejected) -> PyErr {
    failure::raise(py, &Failure { errors: r.errors, sources: r.sources }, failure::Stage::Source)
}

/// Function number `entry` at the tensor level, for arguments of these types.
#[pyfunction]
pub(crate) fn specialise(
    py: Python<'_>,
    functions: Py<PyAny>,
    entry: u32,
    args: Vec<Bound<'_, PyTuple>>,
    platform: &str,
) -> PyResult<Reading> {
    let args = args.iter().map(spec).collect::<PyResult<Vec<_>>>()?;
    let arch = arch(platform)?;
    let read = read(py, functions, |names| frontend::specialise(names, FunctionId(entry), &args, arch))?;
    Ok(Reading { program: read.program })
}

/// What the front end has read: a program at the tensor level.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Reading {
    program: ir::Program,
}

#[pymethods]
impl Reading {
    /// As text of the language, in a `@pl.program` class if that has a name.
    #[pyo3(signature = (class_name, concise))]
    fn as_python(&self, py: Python<'_>, class_name: Option<&str>, concise: bool) -> PyResult<String> {
        print(py, &self.program, class_name, concise)
    }
}

fn print(py: Python<'_>, program: &ir::Program, class: Option<&str>, concise: bool) -> PyResult<String> {
    frontend::print(program, frontend::Style { class, concise })
        .map_err(|e| failure::raise(py, &Failure::new(*e, &program.sources), failure::Stage::Program))
}

/// The numbers of the functions that function number `function` calls or launches.
#[pyfunction]
pub(crate) fn callees(py: Python<'_>, functions: Py<PyAny>, function: u32) -> PyResult<Vec<u32>> {
    let found = read(py, functions, |names| frontend::callees(names, FunctionId(function)))?;
    Ok(found.into_iter().map(|f| f.0).collect())
}

/// Raises ParserSyntaxError if a text is not Python.
#[pyfunction]
pub(crate) fn check_syntax(py: Python<'_>, path: &str, text: &str) -> PyResult<()> {
    frontend::check_syntax(path, text).map_err(|r| rejected(py, r))
}

/// What a function is found to need: whether it compiles (None without `args`), what its compile came across, and what
/// reading it and its helpers finds. Each as (kind, code, message, place).
type Need = (&'static str, &'static str, String, Option<String>);

/// Finds out what of function number `entry` is supported; `args` as for [`compile`], or None to read it only.
#[pyfunction]
pub(crate) fn support(
    py: Python<'_>,
    functions: Py<PyAny>,
    entry: u32,
    args: Option<Vec<Bound<'_, PyTuple>>>,
    platform: &str,
) -> PyResult<(Option<bool>, Vec<Need>, Vec<Need>)> {
    let args = args.map(|args| args.iter().map(spec).collect::<PyResult<Vec<_>>>()).transpose()?;
    let options = driver::Options::new(arch(platform)?);
    let names = Names::new(functions);
    let found = py.detach(|| driver::support(&names, FunctionId(entry), args.as_deref(), &options));
    if let Some(error) = names.take_error() {
        return Err(error);
    }
    let compiles = found.compile.as_ref().map(Result::is_ok);
    let compile = found.compile.and_then(Result::err).map_or(Vec::new(), |f| needs(&f));
    Ok((compiles, compile, needs(&found.survey)))
}

/// Names of the functions of a `.pto` text that this machine can run, and what keeps the others from it.
#[pyfunction]
pub(crate) fn support_of_kernels(
    py: Python<'_>,
    text: &str,
    path: &str,
    platform: &str,
) -> PyResult<(Vec<String>, Vec<Need>)> {
    let options = driver::Options::new(arch(platform)?);
    let (runnable, failure) = py.detach(|| driver::unsupported_in_kernels(text, path, &options));
    Ok((runnable, needs(&failure)))
}

fn needs(failure: &Failure) -> Vec<Need> {
    let need = |e: &diag::Diagnostic| {
        let kind = if e.kind == diag::Kind::Unsupported { "unsupported" } else { "error" };
        let place = e.primary.as_ref().map(|l| failure.sources.place(l.span));
        (kind, e.code, e.message.clone(), place)
    };
    failure.errors.iter().map(need).collect()
}

fn spec(tuple: &Bound<'_, PyTuple>) -> PyResult<ArgSpec> {
    let dtype = number::dtype(&tuple.get_item(1)?.extract::<String>()?)?;
    Ok(match tuple.get_item(0)?.extract::<String>()?.as_str() {
        "tensor" => ArgSpec::Tensor { dtype, shape: tuple.get_item(2)?.extract()? },
        "scalar" => ArgSpec::Scalar(number::scalar(dtype, &tuple.get_item(2)?)?),
        _ => ArgSpec::Runtime(dtype),
    })
}

/// A program at every level, ready to run.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Program {
    program: Arc<driver::Program>,
}

#[pymethods]
impl Program {
    /// Reads an artifact folder. Raises ArtifactError if it is not one, and UnsupportedError for an edit that is legal
    /// upstream and not here.
    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Program> {
        match py.detach(|| driver::Program::load(&directory)) {
            Ok(program) => Ok(Program { program: Arc::new(program) }),
            Err(f) => Err(failure::raise(py, &f, failure::Stage::Artifact)),
        }
    }

    /// The files of an artifact folder that were edited after the compile.
    #[staticmethod]
    fn edits(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<String>> {
        py.detach(|| driver::edits(&directory)).map_err(|f| failure::raise(py, &f, failure::Stage::Artifact))
    }

    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        py.detach(|| self.program.save(&directory))
            .map_err(|e| PyOSError::new_err(format!("{}: {e}", directory.display())))
    }

    #[getter]
    fn name(&self) -> &str {
        self.program.name()
    }

    #[getter]
    fn arch(&self) -> &'static str {
        self.program.options().arch.name()
    }

    #[getter]
    fn params(&self) -> Vec<Parameter> {
        self.program.params().iter().cloned().map(|param| Parameter { param }).collect()
    }

    /// The text of a level.
    fn print(&self, level: &str) -> PyResult<String> {
        self.program.print(level).ok_or_else(|| PyValueError::new_err(format!("no level is called {level:?}")))
    }

    /// The tensor level as text of the language.
    #[pyo3(signature = (class_name, concise))]
    fn as_python(&self, py: Python<'_>, class_name: Option<&str>, concise: bool) -> PyResult<String> {
        print(py, self.program.tensor_level(), class_name, concise)
    }

    /// (name, kind) of the functions of the machine level.
    fn functions(&self) -> Vec<(String, &'static str)> {
        self.program.functions().map(|(name, kind)| (name.to_owned(), kind)).collect()
    }

    /// Warnings of the compile, rendered.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.program.warnings().iter().map(|w| diag::render(w, self.program.sources())).collect()
    }

    /// Whether every name that was looked up for this program still means what it meant.
    fn holds(&self, py: Python<'_>, functions: Py<PyAny>) -> PyResult<bool> {
        let names = Names::new(functions);
        for lookup in self.program.lookups() {
            let path: Vec<&str> = lookup.path.iter().map(String::as_str).collect();
            if names.ask(py, lookup.function, &path)? != lookup.meaning {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs on borrowed arrays and numbers, one per parameter. Yields what the program returned (for an argument its
    /// number, for a new tensor its element type, shape and bytes) and a dictionary of what the run did.
    fn run<'py>(
        &self,
        py: Python<'py>,
        args: Vec<Bound<'py, PyAny>>,
        threads: Option<usize>,
        seed: u64,
        check: Option<&str>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, Bound<'py, PyDict>)> {
        let params = self.program.params();
        if params.len() != args.len() {
            return Err(PyTypeError::new_err(format!("{} arguments for {} parameters", args.len(), params.len())));
        }
        let args = params.iter().zip(&args).map(|(p, a)| argument(p, a)).collect::<PyResult<Vec<_>>>()?;
        let interrupt = Arc::new(AtomicBool::new(false));
        let checks = check.map_or(Ok(Checks::NONE), str::parse).map_err(PyValueError::new_err)?;
        let options = RunOptions { threads, seed, checks, interrupt: Some(interrupt.clone()) };
        let program = self.program.clone();
        let report = match interruptible(py, interrupt, move || program.run(&args, &options))? {
            Ok(report) => report,
            Err(f) => return Err(failure::raise(py, &f, failure::Stage::Program)),
        };
        let returned = report.returned.iter().map(|r| returned(py, r)).collect::<PyResult<Vec<_>>>()?;
        let did = PyDict::new(py);
        did.set_item("tasks", report.tasks)?;
        did.set_item("seconds", report.run_time.as_secs_f64())?;
        // The report repeats the warnings of the compile, which were shown then.
        let new = report.warnings.len().saturating_sub(self.program.warnings().len());
        let warnings: Vec<String> =
            report.warnings[..new].iter().map(|w| diag::render(w, self.program.sources())).collect();
        did.set_item("warnings", warnings)?;
        if let Some(levels) = &report.levels {
            did.set_item("levels", levels.levels.clone())?;
            did.set_item("elements", levels.elements)?;
            did.set_item("points", levels.points)?;
            did.set_item("undefined", levels.undefined)?;
        }
        Ok((returned, did))
    }
}

/// Runs `work` on a thread of its own while this one waits for it and for signals, with the interpreter released.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    interrupt: Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = channel();
    let worker = std::thread::spawn(move || {
        // The receiver outlives the worker: it waits for this message or for the worker's end.
        let _ = send.send(work());
    });
    let receive = std::sync::Mutex::new(receive);
    let wait = || receive.lock().map_or(Err(RecvTimeoutError::Disconnected), |r| r.recv_timeout(SIGNAL_INTERVAL));
    let mut stopped = None;
    let result = loop {
        match py.detach(wait) {
            Ok(result) => break Some(result),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stopped.is_none()
            && let Err(signal) = py.check_signals()
        {
            interrupt.store(true, Ordering::Relaxed);
            stopped = Some(signal);
        }
    };
    // The arrays are not given back before the worker has let go of them.
    let ended = py.detach(|| worker.join());
    match (stopped, result) {
        (Some(signal), _) => Err(signal),
        (None, Some(result)) => Ok(result),
        (None, None) => {
            let cause =
                ended.err().and_then(|e| e.downcast::<String>().ok()).map_or(String::new(), |s| format!(": {s}"));
            Err(PyRuntimeError::new_err(format!("internal error: the run panicked{cause}; please report it")))
        }
    }
}

fn argument(param: &ProgramParam, value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    match &param.kind {
        ProgramParamKind::Tensor { .. } => Ok(Arg::Tensor(value.cast::<Borrowed>()?.get().view())),
        ProgramParamKind::Scalar { dtype, .. } => Ok(Arg::Scalar(number::scalar(*dtype, value)?)),
    }
}

fn returned<'py>(py: Python<'py>, value: &Returned) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Returned::Param(index) => index.into_bound_py_any(py),
        Returned::Tensor(view) => {
            let bytes = view.to_vec().map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
            (view.dtype.language_name(), view.shape.to_vec(), PyBytes::new(py, &bytes)).into_bound_py_any(py)
        }
    }
}

/// A parameter of a compiled program.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Parameter {
    param: ProgramParam,
}

#[pymethods]
impl Parameter {
    #[getter]
    fn name(&self) -> &str {
        &self.param.name
    }

    /// `in`, `out` or `inout`.
    #[getter]
    fn direction(&self) -> &'static str {
        match self.param.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        }
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        match &self.param.kind {
            ProgramParamKind::Tensor { dtype, .. } | ProgramParamKind::Scalar { dtype, .. } => dtype.language_name(),
        }
    }

    /// Extents, None where known only at run time; None for a scalar.
    #[getter]
    fn shape(&self) -> Option<Vec<Option<u64>>> {
        match &self.param.kind {
            ProgramParamKind::Tensor { shape, .. } => Some(shape.clone()),
            ProgramParamKind::Scalar { .. } => None,
        }
    }

    /// The value that the program was specialised for, if it was.
    #[getter]
    fn constant<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.value().map(|c| number::number(py, c)).transpose()
    }

    /// Whether the program means what it should with this value of a scalar.
    fn accepts(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.value().map_or(Ok(true), |c| Ok(number::scalar(c.dtype, value)? == c))
    }
}

impl Parameter {
    fn value(&self) -> Option<Scalar> {
        match &self.param.kind {
            ProgramParamKind::Scalar { constant, .. } => *constant,
            ProgramParamKind::Tensor { .. } => None,
        }
    }
}
