//! Lowering: the tensor level to the tile level (unplaced, unsynced).
//!
//! Each kernel scope becomes one kernel function (two for a mixed scope, after the core split), and the entry becomes
//! the orchestration that submits them. `docs/ir.md` states what both look like.
//!
//! The steps, one file each:
//!
//! * [`captures`]: what a scope uses of its surroundings, and so the parameters of its kernel; which tensors it writes.
//! * [`phi`]: the joins of tile values at loops and branches.
//! * [`spaces`]: in which on-chip buffers each tile value lives.
//! * [`sums`]: products that are made piece by piece, or again.
//! * [`fill`]: where zeros are needed.
//! * [`webs`]: which tile values share one buffer, by interference.
//! * [`access`]: which box of which view of global memory a load or store touches.
//! * [`kernel`]: writes the kernel function, with matmul tiling, copies and the like as parts of it.
//! * [`orchestrate`]: the entry with scopes replaced by submissions.
//! * [`split`]: a mixed kernel becomes a cube and a vector kernel joined by FIFOs.

mod access;
mod captures;
mod choices;
mod extent;
mod fill;
mod kernel;
mod orchestrate;
mod phi;
mod spaces;
pub mod split;
mod sums;
mod tile;
mod uses;
mod webs;

use std::collections::BTreeMap;

pub use choices::Choices;

use diag::Diagnostic;
use dtype::Profile;
use ir::{Arena, FunctionKind, Level, Opcode, Program};

/// What lowering may depend on besides the program.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose chains of native conversions a cast takes (semantics rule 10).
    pub profile: Profile,
}

/// An error of one construct; boxed because it travels through many `Result`s.
pub(crate) type Fail = Box<Diagnostic>;

/// Lowers a verified tensor-level program. All scopes are tried; the errors of all that fail are returned.
pub fn lower(program: &Program, options: &Options) -> Result<Program, Vec<Diagnostic>> {
    lower_with(program, options, &mut Choices::default())
}

/// [`lower`], with other decisions where there are several right ones.
pub fn lower_with(program: &Program, options: &Options, choices: &mut Choices) -> Result<Program, Vec<Diagnostic>> {
    if program.level != Level::Tensor {
        return Err(vec![Diagnostic::error("wrong-level", "only a tensor-level program can be lowered")]);
    }
    let entry = &program.functions[program.entry];
    let mut errors = Vec::new();
    let mut tasks = BTreeMap::new();
    let mut names = vec![entry.name.clone()];
    for op in entry.walk() {
        if entry.ops[op].opcode != Opcode::Scope {
            continue;
        }
        let name = unique(entry.ops[op].attrs.word("name").unwrap_or("kernel"), &mut names);
        match kernel::outline(entry, op, name, program.arch, options, choices) {
            Ok(task) => {
                tasks.insert(op, task);
            }
            Err(mut list) => errors.append(&mut list),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let orchestration = orchestrate::rewrite(entry, &tasks);
    let mut functions = Arena::default();
    let main = functions.push(orchestration);
    let mut clusters = Vec::new();
    for (scope, task) in tasks {
        let mixed = task.function.kind == FunctionKind::Cluster;
        let id = functions.push(task.function);
        if mixed {
            let slots = entry.ops[scope].attrs.int("slot_num").and_then(|n| u64::try_from(n).ok());
            clusters.push((id, slots));
        }
    }
    let mut lowered = Program {
        name: program.name.clone(),
        arch: program.arch,
        level: Level::Tile,
        functions,
        entry: main,
        sources: program.sources.clone(),
    };
    for (cluster, slots) in clusters {
        if let Err(mut list) = split::split_with(&mut lowered, cluster, slots) {
            errors.append(&mut list);
        }
    }
    if errors.is_empty() { Ok(lowered) } else { Err(errors) }
}

/// A name that no function has yet: the wish, or with a number behind it.
fn unique(wish: &str, names: &mut Vec<String>) -> String {
    let mut name = wish.to_owned();
    let mut n = 1;
    while names.contains(&name) {
        name = format!("{wish}_{n}");
        n += 1;
    }
    names.push(name.clone());
    name
}
