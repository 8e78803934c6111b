//! Source to program: the pipeline, and the verifier after every step of it.

use chip::Arch;
use diag::{Diagnostic, Sources};
use dtype::convert::Profile;
use frontend::{ArgSpec, Environment, FunctionId};

use crate::run::Program;

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

    /// All errors as text, with the user's lines.
    pub fn render(&self) -> String {
        self.errors.iter().map(|e| diag::render(e, &self.sources)).collect::<Vec<_>>().join("\n\n")
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
