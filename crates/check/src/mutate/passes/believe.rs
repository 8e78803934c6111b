//! Machines that use the freedom they are given, where our executors do not. Contents that a program must not rely on are
//! overwritten, by operations put in between, and what it computes must not change:
//!
//! * [`believe`] goes by marks of last uses: the bytes of a marked operand are gone when its operation has ended, since they
//!   never left the registers.
//! * [`scribble`] uses scratch: it is written while operands are still to be read, and after the results have been.

use chip::Space;
use dtype::Scalar;
use ir::info::LAST_USE;
use ir::{Attrs, FuncId, Function, Op, Opcode as C, Program, Value};

use super::kernel::{behind, scratch, works};
use crate::access;
use crate::mutate::edit::Before;

/// What bytes that are gone look like.
const GONE: f64 = 97.0;

/// Overwrites the tiles whose last use an operation is marked as, right behind it; how many. Those on whose bytes its own
/// result lies are overwritten already.
pub fn believe(program: &mut Program, function: FuncId, op: Op) -> usize {
    let arch = program.arch;
    let func = &program.functions[function];
    let data = &func.ops[op];
    let Some(marks) = data.attrs.ints(LAST_USE) else { return 0 };
    let tiles: Vec<Value> = data.operands.iter().copied().filter(|&v| func.ty(v).as_tile().is_some()).collect();
    let accesses = access::of(arch, func);
    let Some(own) = accesses.ops.iter().find(|o| o.op == op) else { return 0 };
    let free = |tile: Value| {
        let reads = own.accesses.iter().filter(|a| a.value == Some(tile));
        reads.into_iter().all(|r| !own.accesses.iter().any(|w| w.writes() && w.overlaps(r)))
    };
    let mut gone: Vec<Value> = tiles
        .iter()
        .zip(marks)
        .filter(|(t, m)| **m != 0 && free(**t) && can_fill(func, **t))
        .map(|(t, _)| *t)
        .collect();
    gone.dedup();
    let Some(&next) = behind(func, op).first() else { return 0 };
    let func = &mut program.functions[function];
    gone.iter().for_each(|&tile| fill(func, next, tile));
    gone.len()
}

/// [`believe`]s all marks of a program; how many tiles are overwritten.
pub fn believe_all(program: &mut Program) -> usize {
    let mut count = 0;
    for id in program.functions.keys().collect::<Vec<_>>() {
        for op in program.functions[id].walk() {
            count += believe(program, id, op);
        }
    }
    count
}

/// Overwrites the scratch of every operation right before and right behind it; how many operations have some.
pub fn scribble(program: &mut Program) -> usize {
    let mut count = 0;
    for id in program.functions.keys().collect::<Vec<_>>() {
        for op in program.functions[id].walk() {
            let func = &program.functions[id];
            let next = behind(func, op).first().copied();
            let scratch: Vec<Value> = scratch(func, op).into_iter().filter(|&t| can_fill(func, t)).collect();
            let Some(next) = next.filter(|_| !scratch.is_empty() && works(func, op)) else { continue };
            for tile in scratch {
                fill(&mut program.functions[id], op, tile);
                fill(&mut program.functions[id], next, tile);
            }
            count += 1;
        }
    }
    count
}

/// Whether `texpands` writes all bytes of a tile.
fn can_fill(func: &Function, tile: Value) -> bool {
    func.ty(tile).as_tile().is_some_and(|t| t.dtype.size() >= 2 && t.space == Some(Space::Vec))
}

/// Overwrites a tile before an operation.
fn fill(func: &mut Function, before: Op, tile: Value) {
    let Some(dtype) = func.ty(tile).as_tile().map(|t| t.dtype) else { return };
    let value = if dtype.is_float() { Scalar::from_f64(dtype, GONE) } else { Scalar::from_i64(dtype, GONE as i64) };
    let mut before = Before::new(func, before);
    let value = before.scalar(value);
    before.dest(C::TExpandS, &[&[value]], tile, Attrs::default());
}
