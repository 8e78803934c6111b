//! A kernel file through the assembler: read, verified, its passes run, and each pass judged by somebody else.
//!
//! ```text
//! text ──read──▶ program ──pass──▶ program ──pass──▶ program ──text──▶
//!                   │                 │                 │
//!               placement        what the pass      what the pass
//!               (level 3)        did (checkers)     did (checkers)
//! ```
//!
//! A pass that makes a program wrong does not know it, so no pass is asked. After each one the [`checkers`] that fit it
//! compare what it got with what it made, and a *witness*, two operations that disagree about bytes, ends the assembly:
//! there is no output that a checker objects to. What a checker cannot decide is a warning that says so.
//!
//! [`Assembled`] keeps the program after every step, for dumps and for who wants to know which pass did it, and what
//! every step cost.

mod checkers;

use std::time::{Duration, Instant};

use assemble::pass::{Pass, Settings, Sync, passes};
use chip::Arch;
use control::Control;
use diag::{Diagnostic, Kind, Severity, Sources};
use ir::{FunctionKind, Program};

use crate::compile::Failure;
use crate::exec::program;
pub use checkers::{Check, judge};

/// What is asked of the assembler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    pub settings: Settings,
    /// Whether passes are judged.
    pub check: bool,
    /// Of every choice of a pass that could be otherwise.
    pub seed: u64,
}

impl Request {
    pub fn new(settings: Settings) -> Request {
        Request { settings, check: true, seed: 0 }
    }
}

/// One step: what was read, or what a pass made of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// `input`, or the name of the pass.
    pub name: &'static str,
    pub program: Program,
    /// Without what its checks took.
    pub time: Duration,
    pub checks: Vec<Check>,
}

impl Step {
    /// The program as `.pto` text.
    pub fn text(&self) -> String {
        text(&self.program)
    }
}

/// What came of it. The last step is how far it went.
#[derive(Clone, Debug)]
pub struct Assembled {
    pub steps: Vec<Step>,
    /// What ended it: errors of the program or of a pass, findings of a checker. Empty if it went to the end.
    pub errors: Vec<Diagnostic>,
    pub warnings: Vec<Diagnostic>,
}

impl Assembled {
    /// The program after the last pass, if all went well.
    pub fn program(&self) -> Option<&Program> {
        self.steps.last().filter(|_| self.errors.is_empty()).map(|s| &s.program)
    }

    /// What passes took, and what their checkers took.
    pub fn times(&self) -> (Duration, Duration) {
        let checks = self.steps.iter().flat_map(|s| &s.checks).map(|c| c.time).sum();
        (self.steps.iter().map(|s| s.time).sum(), checks)
    }
}

/// Reads a kernel file. `arch` goes before the architecture that the text names, which goes before A3. Operations without
/// a location have their place in the text, which is the first of the program's sources.
///
/// # Errors
/// All that is wrong with the text, with spans into it.
pub fn read(text: &str, path: &str, arch: Option<Arch>) -> Result<Program, Failure> {
    let mut sources = Sources::default();
    match pto::parse_located(text, path, arch, &mut sources) {
        Err(errors) => Err(Failure { errors, sources }),
        Ok(functions) => {
            let named = || text.split("pto.target_arch").nth(1)?.split('"').nth(1)?.parse().ok();
            Ok(program(functions, arch.or_else(named).unwrap_or(Arch::A2a3), sources))
        }
    }
}

/// A program as `.pto` text: everything but the host. Places in the text that it was read from are left out: they are
/// those of another text now.
pub fn text(program: &Program) -> String {
    let ids: Vec<_> = program.functions.iter().map(|(id, _)| id).filter(|&id| id != program.entry).collect();
    let own = program.sources.files().next().filter(|(_, f)| f.text.is_some());
    pto::print_without(program, &ids, own.map(|(id, _)| id))
}

/// The rules of kernel files.
///
/// # Errors
/// All breaches, with spans.
pub fn verify(program: &Program) -> Result<(), Vec<Diagnostic>> {
    ir::verify::assembler(program)
}

/// Verifies a program and runs the passes that `request` asks for.
pub fn assemble(program: Program, request: &Request) -> Assembled {
    let mut done = Assembled { steps: Vec::new(), errors: Vec::new(), warnings: Vec::new() };
    let start = Instant::now();
    let settings = settle(&program, request.settings, &mut done);
    if done.errors.is_empty()
        && let Err(errors) = verify(&program).and_then(|()| assemble::level_rules(&program, &settings))
    {
        done.errors = errors;
    }
    let checks = if request.check && done.errors.is_empty() { checkers::of_input(&program) } else { Vec::new() };
    let spent: Duration = checks.iter().map(|c| c.time).sum();
    let time = start.elapsed().saturating_sub(spent);
    done.step(Step { name: "input", program, time, checks });
    let mut control = Control::new(request.seed);
    for pass in passes(&settings) {
        if !done.errors.is_empty() {
            break;
        }
        done.run(pass, &settings, request.check, &mut control);
    }
    done
}

impl Assembled {
    /// Adds a step, with what its checks found.
    fn step(&mut self, step: Step) {
        for d in step.checks.iter().flat_map(|c| c.verdict.diagnostics()) {
            match d.kind {
                Kind::Finding => self.errors.push(d),
                _ => self.warnings.push(Diagnostic { severity: Severity::Warning, ..d }),
            }
        }
        self.steps.push(step);
    }

    fn run(&mut self, pass: Pass, settings: &Settings, check: bool, control: &mut Control) {
        let Some(before) = self.steps.last().map(|s| &s.program) else { return };
        let start = Instant::now();
        let mut program = before.clone();
        if let Err(errors) = pass.run(&mut program, settings, control) {
            self.errors.extend(errors);
            return;
        }
        let time = start.elapsed();
        let mut broken = Vec::new();
        let mut checks = Vec::new();
        if check {
            // A program that breaks the rules cannot be judged by who relies on them.
            match verify(&program) {
                Ok(()) => checks = checkers::of_pass(pass, before, &program),
                Err(errors) => broken = errors,
            }
        }
        let note = |d: Diagnostic| d.note(format!("after the pass `{}`, which is to blame", pass.name()));
        self.errors.extend(broken.into_iter().map(note));
        self.step(Step { name: pass.name(), program, time, checks });
    }
}

/// What a request means for this program: flags that its machine or level does not have.
fn settle(program: &Program, asked: Settings, done: &mut Assembled) -> Settings {
    let mut settings = asked;
    if let Some((name, value)) = backend(program).filter(|(_, value)| *value != "emitc") {
        let message = format!("the module asks for the backend {value}, which is not one of this assembler's");
        done.errors.push(Diagnostic::unsupported("backend", message).note(format!("`{name}`")));
    }
    if settings.fusion && program.arch != Arch::A5 {
        let message = format!("operations are fused on a5; this file is for {}", program.arch.target_name());
        done.errors.push(Diagnostic::error("fusion-arch", message));
    }
    if settings.fusion && settings.level == assemble::pass::Level::One {
        let message = "level 1 does not fuse; the request is ignored";
        done.warnings.push(Diagnostic::warning("fusion-level", message));
        settings.fusion = false;
    }
    if settings.sync == Sync::Tokens && program.arch != Arch::A5 {
        let message = format!("buffer tokens order pipes on a5; this file is for {}", program.arch.target_name());
        done.errors.push(Diagnostic::error("sync-tokens-arch", message));
    }
    settings
}

/// The backend that a module names.
fn backend(program: &Program) -> Option<(&str, &str)> {
    let kernels = program.functions.iter().map(|(_, f)| f).filter(|f| f.kind != FunctionKind::Orchestration);
    let mut said = kernels.flat_map(|f| &f.attributes);
    said.find(|(name, _)| name == "module pto.backend").map(|(name, v)| (&name[7..], v.trim_matches('"')))
}
