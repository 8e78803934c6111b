//! The task runtime: runs a tile- or machine-level program, its tasks in parallel on the host's cores.
//!
//! The orchestration is a register machine on the calling thread. It runs ahead and submits *tasks*; tasks whose accesses
//! to global memory conflict (read after write, write after read, write after write, by exact bytes) run in submission
//! order, as do those that the program orders by `deps`; all others run in any order, which is drawn from a seed. So the
//! result is that of running everything in program order, whatever the seed and the number of threads (semantics rule 18).
//!
//! * [`history`]: who touched which bytes, and so the edges of a new task.
//! * [`host`]: what the operations of an orchestration do.
//! * [`upstream`]: the edges that upstream derives from argument tags, which `Deps::Upstream` obeys alone.
//! * [`scheduler`]: the tasks in flight, the ready units of work, the workers.

// An error ends a run: its size costs nothing.
#![allow(clippy::result_large_err)]
// Groups are large, and move between threads and lists.
#![allow(clippy::vec_box)]

mod args;
mod history;
mod host;
mod orchestrator;
mod pool;
mod scheduler;
mod submit;
mod upstream;

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use chip::Arch;
use diag::{Diagnostic, Kind};
use dtype::Profile;
use ir::{Entity, FunctionKind, Level, Program};
use machine::{Code, Kernel, Mode};
use memory::{Arg, Returned};
use trace::{Edge, HostAccess, Memory, Record, Stream, Task, ValueRecord};

use crate::host::HostOp;

/// A program, decoded, and the threads that run it. Any number of runs may share it, also at the same time.
#[derive(Debug)]
pub struct Compiled {
    arch: Arch,
    entry: Code,
    hosts: Vec<HostOp>,
    params: Vec<args::Param>,
    kernels: Vec<Kernel>,
    pool: pool::Pool,
}

/// Which edges between tasks a run obeys.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Deps {
    /// `deps` of the program, and program order for every two tasks that conflict (semantics rule 18).
    #[default]
    Sound,
    /// Those that upstream's runtime derives, and no other: what its schedule may reorder, this one may.
    Upstream,
}

impl FromStr for Deps {
    type Err = String;

    fn from_str(text: &str) -> Result<Deps, String> {
        match text {
            "sound" => Ok(Deps::Sound),
            "upstream" => Ok(Deps::Upstream),
            other => Err(format!("edges `{other}` are not known; `sound` and `upstream` are")),
        }
    }
}

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Host threads, the calling one included; 0: one per core of the host.
    pub threads: usize,
    /// Decides which ready unit of work runs next. 0: the oldest.
    pub seed: u64,
    pub deps: Deps,
    /// Report the values at the points of `docs/ir.md`, "Digests". Implies `record`.
    pub observe: bool,
    /// Report the tasks and every edge, those to tasks long done included.
    pub record: bool,
    /// Report what every task did to global memory, and what the program declared. Implies `record`.
    pub accesses: bool,
    /// Ends the run with an error (`interrupted`) soon after somebody sets it.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The tensors that the program returns.
    pub returned: Vec<Returned>,
    pub task_count: u32,
    /// If recorded: the tasks in submission order.
    pub tasks: Vec<Task>,
    /// If recorded: the edges, by `to`, then `from`. One pair may have several causes; the first that applies is named
    /// (explicit, then read after write, write after read, write after write). Edges that follow from others through a
    /// task that rewrites the same bytes are left out.
    pub edges: Vec<Edge>,
    /// If observed: sorted by point.
    pub values: Vec<ValueRecord>,
    /// If accesses are recorded, as the fields of [`trace::Record`].
    pub memory: Vec<Memory>,
    pub declared: Vec<Edge>,
    pub streams: Vec<Stream>,
    pub host: Vec<HostAccess>,
}

impl Report {
    /// What the run did, for the checkers.
    pub fn into_record(self) -> Record {
        let Report { tasks, edges, memory, declared, streams, host, .. } = self;
        Record { memory, tasks, edges, declared, streams, host }
    }
}

impl Compiled {
    /// Decodes the orchestration and its kernels. Errors name what this machine cannot run, with the user's lines.
    pub fn new(program: &Program, profile: Profile) -> Result<Compiled, Vec<Diagnostic>> {
        let entry = &program.functions[program.entry];
        if program.level != Level::Tile || entry.kind != FunctionKind::Orchestration {
            return Err(vec![Diagnostic::error(
                "not-a-tile-program",
                format!("`{}` is not an orchestration of the tile level", entry.name),
            )]);
        }
        let mut errors = Vec::new();
        let mut keep = |e: Vec<Diagnostic>| errors.extend(e);
        let mut kernels = Vec::new();
        let mut index = vec![None; program.functions.len()];
        for (id, func) in program.functions.iter() {
            if matches!(func.kind, FunctionKind::Kernel(_)) {
                match Kernel::new(func, program.arch, profile) {
                    Ok(kernel) => {
                        index[id.index()] = Some(kernels.len());
                        kernels.push(kernel);
                    }
                    Err(e) => keep(e),
                }
            }
        }
        let code = machine::decode(entry, program.arch, profile, Mode::Plain).map_err(&mut keep).ok();
        let code = match (code, errors.is_empty()) {
            (Some(code), true) => code,
            _ => return Err(errors),
        };
        let hosts = host::decode(program, entry, &code, &index, &kernels)?;
        let params = args::params(entry);
        Ok(Compiled { arch: program.arch, entry: code, hosts, params, kernels, pool: pool::Pool::default() })
    }

    /// Runs the program on these arguments, in the order of its parameters. Tensors are borrowed: what the program writes is
    /// there afterwards (semantics rule 17). After an error outputs are unspecified, and this program may run again.
    pub fn run(&self, args: &[Arg], options: &Options) -> Result<Report, Diagnostic> {
        args::check(&self.params, args)?;
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        orchestrator::run(self, args, options, threads)
    }

    pub fn arch(&self) -> Arch {
        self.arch
    }
}

/// The error of a run that was told to stop.
fn interrupted() -> Diagnostic {
    Diagnostic { kind: Kind::Invalid, ..Diagnostic::error("interrupted", "the run was interrupted") }
}
