//! Core split: a mixed kernel becomes a cube kernel and a vector kernel, joined by FIFOs.
//!
//! A cluster function is one stream of operations over the buffers of both cores. Every tile operation belongs to the
//! core of its buffers; a `tmov` from Acc to Vec or from Vec to Mat *crosses*. The two kernels together mean what the
//! one stream meant:
//!
//! * Each kernel keeps the tile operations of its core, and of scalar code and control flow what they need ([`slice`]).
//!   What both need, both compute: scalars come from parameters, literals and global memory. A scalar read from a Vec
//!   tile (`tgetval`) exists on the vector core only; if the cube core needs it, the kernel is refused by name. Scalar
//!   stores, and scalar code that may fail but serves nothing, go to the vector core.
//! * A crossing is a `tpush` where the one stream had the move on the producer's side, and a `tpop` at the same place of
//!   the consumer's ([`crossing`]). The consumer works on the slot itself and gives it back with `tfree` after the last
//!   operation, in the block of the pop, that uses it: on every path, before any back edge. Where the moved-to tile has
//!   other writers, is used before or around the move, or is large and not the only one held, the slot is copied into
//!   the tile and freed at once.
//! * FIFOs give slots back in the order in which they were popped, so frees are delayed to keep that order. A crossing
//!   inside a region that runs while an outer slot is held gets a FIFO of its own.
//! * Global memory: where one core writes what the other accesses, the order of the one stream is kept by a *token*, a
//!   crossing without a value right after the earlier access, unless a crossing is there anyway ([`order`]).
//! * `syncall` stays on both cores and waits for both.
//! * `split=up_down|left_right` on a scope divides vector work among the two vector cores of a cluster; the values are
//!   the same. Here all vector work runs on the first vector core, with or without it.
//!
//! **No deadlock.** Both kernels take the same branches, for they compute the same conditions, so both meet the same
//! crossings c₁, c₂, … in the same order. Let both be blocked, one at cᵢ, the other at cⱼ, i ≤ j. If i < j, the second has
//! done its part of cᵢ: it pushed, then the pop of the first is ready; or it popped, then the first has already pushed
//! and is not at cᵢ. If i = j, the consumer has popped all earlier tiles of the FIFO and holds fewer than it has slots
//! (the minimum that [`crossing`] computes, also for FIFOs that return slots in halves), so the push has a slot.
//!
//! Storage of slots: on A5 in the consumer's Vec or Mat (`reserve_buffer` there, `import_reserved_buffer` at the
//! producer); on A2/A3 in a `workspace` tensor in global memory, a part for each block, from which a pop copies to
//! slots in the consumer's buffer. The orchestration creates the workspace right before the submission ([`submit`]).

mod crossing;
mod emit;
mod order;
mod sides;
mod slice;
mod submit;

use chip::Core;
use diag::Diagnostic;
use ir::{FuncId, Function, FunctionKind, Program};

use crossing::Pipes;
use slice::Slice;

/// Replaces a cluster function by its cube kernel (under the same id) and adds its vector kernel, in the program and in
/// every submission. Names are the cluster's with `_aic` and `_aiv` behind it.
///
/// # Errors
/// Unsupported, by name: a move between buffers that have no path between the cores (`core-crossing`); a scalar that
/// only one core can compute but both need (`scalar-across-cores`); slots larger than the consumer's buffer
/// (`over-capacity`). The program is unchanged then.
pub fn split(program: &mut Program, cluster: FuncId) -> Result<(FuncId, FuncId), Vec<Diagnostic>> {
    split_with(program, cluster, None)
}

/// [`split`], with the number of slots that the user asks for in each direction (`slot_num` of a scope).
pub fn split_with(
    program: &mut Program,
    cluster: FuncId,
    slot_num: Option<u64>,
) -> Result<(FuncId, FuncId), Vec<Diagnostic>> {
    let func = &program.functions[cluster];
    if func.kind != FunctionKind::Cluster {
        return Err(vec![Diagnostic::error("not-a-cluster", format!("`{}` is not a mixed kernel", func.name))]);
    }
    let sides = sides::assign(func)?;
    let mut crossings = crossing::values(func, &sides)?;
    crossing::copy_large(func, program.arch, &mut crossings);
    let cores = [Core::Cube, Core::Vector];
    let slices = loop {
        let slices = cores.map(|core| slice::slice(func, &sides, &crossings, core));
        let classes = submit::alias_classes(program, &func.name);
        if !order::add_tokens(func, &slices, &classes, &mut crossings, program.arch) {
            break slices;
        }
    };
    let mut errors = Vec::new();
    slice::check(func, &sides, &slices[0], &mut errors);
    let pipes = match crossing::pipes(func, program.arch, &mut crossings, &slices, slot_num) {
        Ok(pipes) => pipes,
        Err(mut list) => {
            errors.append(&mut list);
            return Err(errors);
        }
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let names = ["_aic", "_aiv"].map(|suffix| unique(program, &func.name, suffix));
    let workspace = submit::workspace_position(func, program.arch, &pipes);
    let [cube, vector] = kernels(program, func, &crossings, &pipes, &slices, &names, workspace);
    let old = func.name.clone();
    submit::rewrite(program, &old, &names, workspace, pipes.ring_bytes());
    program.functions[cluster] = cube;
    let vector = program.functions.push(vector);
    Ok((cluster, vector))
}

fn kernels(
    program: &Program,
    func: &Function,
    crossings: &[crossing::Crossing],
    pipes: &Pipes,
    slices: &[Slice; 2],
    names: &[String; 2],
    workspace: Option<usize>,
) -> [Function; 2] {
    let make = |core: Core| {
        let i = usize::from(core == Core::Vector);
        let cx = emit::Context { func, arch: program.arch, core, crossings, pipes, slices, names, workspace };
        emit::kernel(&cx, &names[i], &slices[i])
    };
    [make(Core::Cube), make(Core::Vector)]
}

/// A function name that is not taken: `base` and `suffix`, with a number between them if need be.
fn unique(program: &Program, base: &str, suffix: &str) -> String {
    let mut name = format!("{base}{suffix}");
    let mut n = 1;
    while program.function(&name).is_some() {
        n += 1;
        name = format!("{base}_{n}{suffix}");
    }
    name
}
