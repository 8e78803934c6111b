//! A compiled program and what running it means: arguments in, results and findings out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use chip::Core;
use diag::{Diagnostic, Sources};
use dtype::{DType, Scalar};
use frontend::{ArgSpec, Lookup, Specialised};
use ir::{Dim, Direction, FunctionKind, Opcode, Type, Value};
use memory::{Arg, Returned, View};

use crate::checks::Checks;
use crate::compile::{Failure, Options};
use crate::levels::{self, LevelReport};

/// A parameter of a program, as a caller sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramParam {
    pub name: String,
    /// Declared by the program; what is written reaches the caller whatever it says (semantics rule 17).
    pub direction: Direction,
    pub kind: ProgramParamKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ProgramParamKind {
    /// `None` is an extent known only at run time.
    Tensor { dtype: DType, shape: Vec<Option<u64>> },
    /// `constant`: the value the program was specialised for; another value needs another program.
    Scalar { dtype: DType, constant: Option<Scalar> },
}

/// How to run.
#[derive(Clone, Default, Debug)]
pub struct RunOptions {
    /// Worker threads; `None` is as many as the host has. Results do not depend on it.
    pub threads: Option<usize>,
    /// The seed of every scheduling choice. Results do not depend on it.
    pub seed: u64,
    pub checks: Checks,
    /// Set by the host to stop a run (Ctrl-C).
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Report {
    pub returned: Vec<Returned>,
    /// Tasks executed.
    pub tasks: u32,
    /// Of the machine level, without setting up or comparing.
    pub run_time: Duration,
    /// Present if the levels were compared.
    pub levels: Option<LevelReport>,
    pub warnings: Vec<Diagnostic>,
}

/// A program at every level, ready to run.
pub struct Program {
    pub(crate) options: Options,
    pub(crate) params: Vec<ProgramParam>,
    /// Which tensor parameters the program may write: those that are declared so, and those that some operation writes
    /// through a view, whatever was declared.
    written: Vec<bool>,
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) lookups: Vec<Lookup>,
    pub(crate) tensor: ir::Program,
    pub(crate) tile: ir::Program,
    pub(crate) machine: ir::Program,
    pub(crate) compiled: runtime::Compiled,
}

impl Program {
    /// The program behind what the front end made of a function for these arguments.
    pub fn from_tensor_level(
        specialised: Specialised,
        args: &[ArgSpec],
        options: &Options,
    ) -> Result<Program, Failure> {
        let Specialised { program, warnings, lookups } = specialised;
        let constants =
            args.iter().map(|a| if let ArgSpec::Scalar(s) = a { Some(*s) } else { None }).collect::<Vec<_>>();
        let params = params_of(&program, &constants);
        let mut built = Program::from_ir(program, params, options)?;
        built.warnings = warnings;
        built.lookups = lookups;
        Ok(built)
    }

    /// Lowers, assembles and decodes a tensor-level program.
    pub fn from_ir(tensor: ir::Program, params: Vec<ProgramParam>, options: &Options) -> Result<Program, Failure> {
        let fail = |errors| Failure { errors, sources: tensor.sources.clone() };
        ir::verify::verify(&tensor).map_err(fail)?;
        let tile = lower::lower(&tensor, &lower::Options { profile: options.profile }).map_err(fail)?;
        ir::verify::verify(&tile).map_err(fail)?;
        let machine = assemble::place(&tile, &assemble::Options::default()).map_err(fail)?;
        ir::verify::verify(&machine).map_err(fail)?;
        Program::from_levels(tensor, tile, machine, params, options)
    }

    pub(crate) fn from_levels(
        tensor: ir::Program,
        tile: ir::Program,
        machine: ir::Program,
        params: Vec<ProgramParam>,
        options: &Options,
    ) -> Result<Program, Failure> {
        let compiled = runtime::Compiled::new(&machine, options.profile)
            .map_err(|errors| Failure { errors, sources: machine.sources.clone() })?;
        let entry = &tensor.functions[tensor.entry];
        let values = written_values(entry);
        let declared = params.iter().zip(entry.param_values());
        let written = declared.map(|(p, v)| p.direction != Direction::In || values.contains(v)).collect();
        let (warnings, lookups) = (Vec::new(), Vec::new());
        Ok(Program { options: *options, params, written, warnings, lookups, tensor, tile, machine, compiled })
    }

    pub fn name(&self) -> &str {
        &self.tensor.name
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn params(&self) -> &[ProgramParam] {
        &self.params
    }

    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// What the names in the source meant when it was compiled.
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// The program at the tensor level.
    pub fn tensor_level(&self) -> &ir::Program {
        &self.tensor
    }

    /// The program at the machine level.
    pub fn machine_level(&self) -> &ir::Program {
        &self.machine
    }

    /// (name, kind) of the functions of the machine level: `orchestration`, `cube` or `vector`.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.machine.functions.iter().map(|(_, f)| {
            let kind = match f.kind {
                FunctionKind::Orchestration => "orchestration",
                FunctionKind::Kernel(Core::Cube) => "cube",
                FunctionKind::Kernel(Core::Vector) => "vector",
                FunctionKind::Cluster => "cluster",
                FunctionKind::Helper => "helper",
            };
            (f.name.as_str(), kind)
        })
    }

    pub fn sources(&self) -> &Sources {
        &self.tensor.sources
    }

    /// The text of a level: `tensor`, `tile` or `machine`. `None` for another name.
    pub fn print(&self, level: &str) -> Option<String> {
        match level {
            "tensor" => Some(ir::text::print(&self.tensor)),
            "tile" => Some(print_kernels(&self.tile)),
            "machine" => Some(print_kernels(&self.machine)),
            _ => None,
        }
    }

    /// Runs on the caller's memory. A call that is refused (wrong count, element type, shape, scalar) has touched
    /// nothing; after a run that failed, written arguments are unspecified and the others intact.
    pub fn run(&self, args: &[Arg], options: &RunOptions) -> Result<Report, Failure> {
        self.check_args(args).map_err(|e| Failure::new(e, &self.tensor.sources))?;
        let private = Private::new(self, args);
        let result = match options.checks {
            Checks { levels: true, .. } => {
                if options.checks.recorded() {
                    self.run_recorded(&levels::copies(&private.args), options)?;
                }
                levels::run(self, &private.args, options)
            }
            checks if checks.recorded() => self.run_recorded(&private.args, options),
            _ => self.run_machine(&private.args, options, false).map(|(report, _)| report),
        };
        let mut report = result?;
        private.write_back().map_err(|e| Failure::new(e, &self.tensor.sources))?;
        report.warnings.extend(self.warnings.iter().cloned());
        Ok(report)
    }

    /// Runs the machine level and judges the record of the run. Findings are the error.
    fn run_recorded(&self, args: &[Arg], options: &RunOptions) -> Result<Report, Failure> {
        let (report, record) = self.record(args, options)?;
        let mut verdict = check::Verdict::default();
        if options.checks.races {
            verdict.add(check::races::check(&self.machine, &record));
        }
        match verdict.diagnostics() {
            found if found.is_empty() => Ok(report),
            errors => Err(Failure { errors, sources: self.machine.sources.clone() }),
        }
    }

    /// Runs the machine level; also what it did to global memory, for the checkers.
    pub fn record(&self, args: &[Arg], options: &RunOptions) -> Result<(Report, trace::Record), Failure> {
        let start = std::time::Instant::now();
        let recorded = runtime::Options { accesses: true, ..options.runtime(false) };
        let mut done = self.compiled.run(args, &recorded).map_err(|e| Failure::new(e, &self.machine.sources))?;
        let report = report(&mut done, start.elapsed());
        Ok((report, done.into_record()))
    }

    pub(crate) fn run_machine(
        &self,
        args: &[Arg],
        options: &RunOptions,
        observe: bool,
    ) -> Result<(Report, Vec<trace::ValueRecord>), Failure> {
        run_compiled(&self.compiled, args, options, observe).map_err(|e| Failure::new(e, &self.machine.sources))
    }

    fn check_args(&self, args: &[Arg]) -> Result<(), Diagnostic> {
        if args.len() != self.params.len() {
            return Err(Diagnostic::error(
                "wrong-argument",
                format!("{} takes {} arguments, {} were given", self.name(), self.params.len(), args.len()),
            ));
        }
        for ((param, arg), written) in self.params.iter().zip(args).zip(&self.written) {
            param.check(arg, *written)?;
        }
        Ok(())
    }
}

/// Tensors that some operation writes, with everything that they may be a view of.
fn written_values(f: &ir::Function) -> BTreeSet<Value> {
    let ops = f.walk();
    let mut written = BTreeSet::new();
    for &op in &ops {
        let op = &f.ops[op];
        if matches!(op.opcode, Opcode::Store | Opcode::Scatter | Opcode::Write) {
            written.extend(op.named("tensor"));
        }
    }
    // A view's source is written with it; so is what a loop or branch hands on.
    loop {
        let before = written.len();
        for &id in ops.iter().rev() {
            let op = &f.ops[id];
            let made = op.results.iter().chain(op.regions.iter().flat_map(|&r| &f.blocks[r].args));
            if made.into_iter().any(|v| written.contains(v)) {
                let handed =
                    op.regions.iter().filter_map(|&r| f.blocks[r].ops.last()).flat_map(|&t| &f.ops[t].operands);
                let sources = op.operands.iter().chain(handed).filter(|&&v| matches!(f.ty(v), Type::Tensor(_)));
                written.extend(sources.copied().collect::<Vec<_>>());
            }
        }
        if written.len() == before {
            return written;
        }
    }
}

pub(crate) fn run_compiled(
    compiled: &runtime::Compiled,
    args: &[Arg],
    options: &RunOptions,
    observe: bool,
) -> Result<(Report, Vec<trace::ValueRecord>), Diagnostic> {
    let start = std::time::Instant::now();
    let mut done = compiled.run(args, &options.runtime(observe))?;
    Ok((report(&mut done, start.elapsed()), done.values))
}

fn report(done: &mut runtime::Report, run_time: Duration) -> Report {
    let returned = std::mem::take(&mut done.returned);
    Report { returned, tasks: done.task_count, run_time, levels: None, warnings: Vec::new() }
}

impl RunOptions {
    fn runtime(&self, observe: bool) -> runtime::Options {
        let threads = self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let interrupt = self.interrupt.clone();
        runtime::Options { threads: threads.max(1), seed: self.seed, observe, interrupt, ..runtime::Options::default() }
    }
}

fn print_kernels(program: &ir::Program) -> String {
    ir::text::print(program)
}

/// Parameters of a tensor-level program's entry; `constants` are the scalar values it was specialised for.
pub fn params_of(program: &ir::Program, constants: &[Option<Scalar>]) -> Vec<ProgramParam> {
    let entry = &program.functions[program.entry];
    let mut params = Vec::new();
    for (i, (&value, param)) in entry.param_values().iter().zip(&entry.params).enumerate() {
        let kind = match entry.ty(value) {
            Type::Tensor(t) => ProgramParamKind::Tensor {
                dtype: t.dtype,
                shape: t.shape.iter().map(|d| if let Dim::Static(n) = d { Some(*n) } else { None }).collect(),
            },
            ty => ProgramParamKind::Scalar {
                dtype: ty.as_scalar().unwrap_or(DType::Index),
                constant: constants.get(i).copied().flatten(),
            },
        };
        params.push(ProgramParam { name: param.name.clone(), direction: param.direction, kind });
    }
    params
}

impl ProgramParam {
    fn check(&self, arg: &Arg, written: bool) -> Result<(), Diagnostic> {
        let wrong =
            |message: String| Err(Diagnostic::error("wrong-argument", format!("parameter `{}` {message}", self.name)));
        match (&self.kind, arg) {
            (ProgramParamKind::Tensor { dtype, shape }, Arg::Tensor(view)) => {
                if view.dtype != *dtype {
                    return wrong(format!("takes {dtype} elements, not {}", view.dtype));
                }
                let given: Vec<u64> = view.shape.iter().copied().collect();
                if given.len() != shape.len() || shape.iter().zip(&given).any(|(s, g)| s.is_some_and(|s| s != *g)) {
                    let shape: Vec<String> = shape.iter().map(|d| d.map_or("?".into(), |n| n.to_string())).collect();
                    return wrong(format!("takes shape [{}], not {given:?}", shape.join(", ")));
                }
                if !view.is_contiguous() {
                    return wrong("takes packed row-major memory".into());
                }
                if written && !view.buffer.is_writable() {
                    return wrong("is written, but its memory is read-only".into());
                }
                Ok(())
            }
            (ProgramParamKind::Scalar { dtype, constant }, Arg::Scalar(s)) => {
                if s.dtype != *dtype {
                    return wrong(format!("takes a scalar of {dtype}, not {}", s.dtype));
                }
                match constant {
                    Some(c) if c != s => wrong(format!("was compiled as the constant {c}; compile again to use {s}")),
                    _ => Ok(()),
                }
            }
            (ProgramParamKind::Tensor { .. }, Arg::Scalar(_)) => wrong("takes a tensor, not a scalar".into()),
            (ProgramParamKind::Scalar { .. }, Arg::Tensor(_)) => wrong("takes a scalar, not a tensor".into()),
        }
    }
}

/// Arguments of which none that is written overlaps another: those that do get private copies (semantics rule 17).
struct Private {
    args: Vec<Arg>,
    /// (copy, the caller's memory).
    copies: Vec<(View, View)>,
}

impl Private {
    fn new(program: &Program, args: &[Arg]) -> Private {
        let written = &program.written;
        let mut private = Private { args: args.to_vec(), copies: Vec::new() };
        for i in 0..args.len() {
            let Some(view) = args[i].tensor() else { continue };
            let clash = (0..args.len()).any(|j| {
                j != i
                    && (written[i] || written[j])
                    && args[j].tensor().is_some_and(|o| o.buffer.overlaps(&view.buffer))
            });
            if clash && let Some(copy) = copy_of(view) {
                private.args[i] = Arg::Tensor(copy.clone());
                if written[i] {
                    private.copies.push((copy, view.clone()));
                }
            }
        }
        private
    }

    fn write_back(&self) -> Result<(), Diagnostic> {
        for (copy, target) in &self.copies {
            target.copy_from(copy).map_err(|e| Diagnostic::error("memory", e.to_string()))?;
        }
        Ok(())
    }
}

/// A packed private copy of a view.
pub(crate) fn copy_of(view: &View) -> Option<View> {
    let shape: Vec<u64> = view.shape.iter().copied().collect();
    let bytes = view.to_vec().ok()?;
    View::new(memory::Buffer::from_bytes(&bytes), view.dtype, &shape).ok()
}
