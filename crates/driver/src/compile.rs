//! Source to program: the pipeline, and the verifier after every step of it.

use chip::Arch;
use diag::{Diagnostic, Sources};
use dtype::convert::Profile;
use frontend::{ArgSpec, Environment, FunctionId};

use crate::run::Program;

/// Errors shown; all of them are in the data.
const MOST_SHOWN: usize = 20;

/// What a program is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub arch: Arch,
    /// The numeric profile, bound to all levels (semantics rule 1).
    pub profile: Profile,
}

impl Options {
    pub fn new(arch: Arch) -> Options {
        let profile = match arch {
            Arch::A2a3 => Profile::A2a3,
            Arch::A5 => Profile::A5,
        };
        Options { arch, profile }
    }
}

/// Errors or findings (at least one), with the sources their spans point into.
#[derive(Clone, Debug)]
pub struct Failure {
    pub errors: Vec<Diagnostic>,
    pub sources: Sources,
}

impl Failure {
    pub fn new(error: Diagnostic, sources: &Sources) -> Failure {
        Failure { errors: vec![error], sources: sources.clone() }
    }

    /// What the first error means for a command.
    pub fn kind(&self) -> diag::Kind {
        self.errors.first().map_or(diag::Kind::Invalid, |e| e.kind)
    }

    /// The errors as text, with the user's lines: as many as people read.
    pub fn render(&self) -> String {
        let mut texts: Vec<String> =
            self.errors.iter().take(MOST_SHOWN).map(|e| diag::render(e, &self.sources)).collect();
        if self.errors.len() > MOST_SHOWN {
            texts.push(format!("and {} more errors", self.errors.len() - MOST_SHOWN));
        }
        texts.join("\n\n")
    }
}

/// Compiles `entry` for a call with `args`.
pub fn compile(
    environment: &dyn Environment,
    entry: FunctionId,
    args: &[ArgSpec],
    options: &Options,
) -> Result<Program, Failure> {
    let specialised = frontend::specialise(environment, entry, args, options.arch)
        .map_err(|r| Failure { errors: r.errors, sources: r.sources })?;
    Program::from_tensor_level(specialised, args, options)
}

/// Everything that `entry` uses and is not supported: what compiling it for `args` comes across, if it has types to be
/// compiled for, and what only reading the source finds.
pub struct Support {
    pub compile: Option<Result<(), Failure>>,
    pub survey: Failure,
}

/// Finds out what of a function is supported, and runs nothing.
pub fn support(
    environment: &dyn Environment,
    entry: FunctionId,
    args: Option<&[ArgSpec]>,
    options: &Options,
) -> Support {
    let (errors, sources) = frontend::survey(environment, entry);
    let compile = args.map(|args| compile(environment, entry, args, options).map(drop));
    Support { compile, survey: Failure { errors, sources } }
}
