//! One run as a command asks for it: a file, an entry, some arguments, passes before it, a file to compare with.

use std::collections::BTreeMap;

use assemble::pass::{self, Settings};
use chip::Arch;
use control::Control;
use diag::Diagnostic;
use dtype::{DType, Profile, Scalar};
use ir::Program;

use super::compare::{Difference, compare};
use super::file::load;
use super::inputs::{Input, Memory};
use super::kernel::{Kernel, Param, ParamKind, entries};
use super::search::Prepared;
use super::session::Session;
use crate::compile::{Failure, Options};

/// An argument that is not made up.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    Array { dtype: DType, bytes: Vec<u8> },
    Int(i64),
    Float(f64),
}

/// What to compare with, if with anything.
#[derive(Clone, PartialEq, Debug)]
pub enum Against {
    Nothing,
    /// Another file: its text and path.
    File(String, String),
    /// The same file after the passes.
    Passes,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub text: String,
    pub path: String,
    /// Goes before the one that the text names.
    pub arch: Option<Arch>,
    pub profile: Option<Profile>,
    /// The only one, if none is named.
    pub entry: Option<String>,
    pub seed: u64,
    /// By name of the parameter.
    pub given: BTreeMap<String, Given>,
    /// Passes that run first (or, with [`Against::Passes`], between the two runs).
    pub passes: Option<Settings>,
    pub against: Against,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Answer {
    pub entry: String,
    pub params: Vec<Param>,
    pub prepared: Prepared,
    pub difference: Option<Difference>,
    pub sources: diag::Sources,
}

impl Answer {
    /// All bytes of an argument after the run. `None` for a scalar.
    pub fn contents(&self, param: usize) -> Option<Vec<u8>> {
        let Some(Input::Memory(m)) = self.prepared.inputs.args.get(param) else { return None };
        Some(self.prepared.outcome.contents(m, param))
    }
}

impl Request {
    /// # Errors
    /// The file, the entry, an argument or a pass is wrong; the run stopped.
    pub fn run(&self) -> Result<Answer, Failure> {
        let original = load(&self.text, &self.path, self.arch)?;
        let profile = self.profile.unwrap_or(Options::new(original.arch).profile);
        let before = match (&self.passes, &self.against) {
            (Some(settings), Against::Nothing | Against::File(..)) => assembled(&original, settings, self.seed)?,
            _ => original.clone(),
        };
        let entry = self.entry(&before)?;
        let kernel = Kernel::new(&before, &entry, profile)?;
        let fixed = self.fixed(&kernel).map_err(|e| Failure::new(e, &before.sources))?;
        let mut session = Session::new();
        let prepared = kernel.prepare_with(&mut session, self.seed, &fixed);
        if let Some(trap) = &prepared.outcome.trap {
            return Err(Failure::new(trap.clone(), &before.sources));
        }
        let other = match &self.against {
            Against::Nothing => None,
            Against::File(text, path) => Some(load(text, path, self.arch)?),
            Against::Passes => match &self.passes {
                Some(settings) => Some(assembled(&original, settings, self.seed)?),
                None => {
                    let d = Diagnostic::error("no-passes", "a comparison with what passes make, and no passes");
                    return Err(Failure::new(d, &original.sources));
                }
            },
        };
        let difference = match &other {
            Some(other) => compare(&before, other, &entry, profile, &prepared.inputs)?,
            None => None,
        };
        Ok(Answer { entry, params: kernel.params.clone(), prepared, difference, sources: before.sources.clone() })
    }

    fn entry(&self, program: &Program) -> Result<String, Failure> {
        if let Some(entry) = &self.entry {
            return Ok(entry.clone());
        }
        match &entries(program)[..] {
            [one] => Ok(one.clone()),
            all => {
                let message = format!("{} kernels in {}: say which", all.len(), self.path);
                let d = Diagnostic::error("no-entry", message).note(format!("kernels here: {}", all.join(", ")));
                Err(Failure::new(d, &program.sources))
            }
        }
    }

    /// The given arguments by number of the parameter.
    fn fixed(&self, kernel: &Kernel) -> Result<BTreeMap<usize, Input>, Diagnostic> {
        let mut fixed = BTreeMap::new();
        for (name, given) in &self.given {
            let wrong = |message: String| Diagnostic::error("wrong-argument", message);
            let Some(n) = kernel.params.iter().position(|p| p.name == *name) else {
                let names: Vec<&str> = kernel.params.iter().map(|p| p.name.as_str()).collect();
                let d = wrong(format!("`{}` has no parameter `{name}`", kernel.name));
                return Err(d.note(format!("parameters: {}", names.join(", "))));
            };
            let input = match (kernel.params[n].kind, given) {
                (ParamKind::Pointer(d), Given::Array { dtype, bytes }) if d == *dtype => {
                    Input::Memory(Memory { given: true, ..Memory::from_bytes(d, bytes) })
                }
                (ParamKind::Pointer(d), Given::Array { dtype, .. }) => {
                    return Err(wrong(format!("parameter `{name}` takes elements of {d}, not {dtype}")));
                }
                (ParamKind::Pointer(d), _) => {
                    return Err(wrong(format!("parameter `{name}` takes an array of {d}, not a number")));
                }
                (ParamKind::Scalar(d), Given::Int(v)) => Input::Scalar(match d.is_float() {
                    true => Scalar::from_f64(d, *v as f64),
                    false => Scalar::from_i64(d, *v),
                }),
                (ParamKind::Scalar(d), Given::Float(v)) if d.is_float() => Input::Scalar(Scalar::from_f64(d, *v)),
                (ParamKind::Scalar(d), Given::Float(v)) => {
                    return Err(wrong(format!("parameter `{name}` takes a {d}, not {v}")));
                }
                (ParamKind::Scalar(d), Given::Array { .. }) => {
                    return Err(wrong(format!("parameter `{name}` takes a number of {d}, not an array")));
                }
            };
            fixed.insert(n, input);
        }
        Ok(fixed)
    }
}

/// A program after the passes of a pipeline.
///
/// # Errors
/// Those of the pass that could not be done.
pub fn assembled(program: &Program, settings: &Settings, seed: u64) -> Result<Program, Failure> {
    let mut out = program.clone();
    let mut control = Control::new(seed);
    for pass in pass::passes(settings) {
        pass.run(&mut out, settings, &mut control)
            .map_err(|errors| Failure { errors, sources: program.sources.clone() })?;
    }
    Ok(out)
}
