//! Order between the cores' accesses to global memory.
//!
//! The one stream of a cluster function orders all its accesses; the two kernels order only what a FIFO orders. For every
//! two accesses of different cores that may touch the same bytes, one of them a write, the later must come after a
//! crossing that the earlier core reaches after its access. If there is none for certain, a token follows the earlier
//! access. Which parameters may share bytes is the caller's to say.

use chip::Core;
use ir::{Block, Function, Op, Opcode, Value};

use super::crossing::{Crossing, position_in};
use super::slice::Slice;

/// Which pointer parameters may refer to the same bytes: parameters with a common number.
pub(super) struct AliasClasses {
    pub(super) classes: Vec<Option<Vec<usize>>>,
}

impl AliasClasses {
    /// `None` stands for any.
    fn may_share(&self, a: Option<usize>, b: Option<usize>) -> bool {
        let class = |p: Option<usize>| p.and_then(|p| self.classes.get(p)).and_then(|c| c.as_ref());
        match (class(a), class(b)) {
            (Some(x), Some(y)) => a == b || x.iter().any(|n| y.contains(n)),
            _ => true,
        }
    }
}

struct Access {
    op: Op,
    core: Core,
    param: Option<usize>,
    write: bool,
}

/// Adds the missing tokens; whether there were any.
pub(super) fn add_tokens(
    func: &Function,
    slices: &[Slice; 2],
    classes: &AliasClasses,
    crossings: &mut Vec<Crossing>,
    arch: chip::Arch,
) -> bool {
    let accesses = accesses(func, slices);
    let before = crossings.len();
    for (i, a) in accesses.iter().enumerate() {
        for b in &accesses[i + 1..] {
            let conflict = a.core != b.core && (a.write || b.write) && classes.may_share(a.param, b.param);
            if !conflict {
                continue;
            }
            // `a` stands before `b`, or is the same operation on the other core.
            if a.op != b.op && !forward(func, crossings, a, b) {
                add(crossings, a, b.core, arch);
            }
            let ordered = match repeats(func, a.op, b.op) {
                Repeats::Never => true,
                Repeats::Body(body) => around(func, crossings, body, a, b),
                Repeats::Regions => false,
            };
            if !ordered {
                add(crossings, b, a.core, arch);
            }
        }
    }
    crossings.len() > before
}

fn add(crossings: &mut Vec<Crossing>, after: &Access, to: Core, arch: chip::Arch) {
    let token = Crossing::token(after.op, to, arch);
    if !crossings.iter().any(|c| c.op == token.op && c.to == to) {
        crossings.push(token);
    }
}

/// In program order.
fn accesses(func: &Function, slices: &[Slice; 2]) -> Vec<Access> {
    let mut list = Vec::new();
    for op in func.walk() {
        let data = &func.ops[op];
        let (address, write) = match data.opcode {
            Opcode::TLoad | Opcode::MGather => (data.named("source")[0], false),
            Opcode::TStore | Opcode::MScatter => (data.dests[0], true),
            Opcode::LoadScalar => (data.named("ptr")[0], false),
            Opcode::StoreScalar => (data.named("ptr")[0], true),
            _ => continue,
        };
        for (core, slice) in [Core::Cube, Core::Vector].into_iter().zip(slices) {
            if slice.ops.contains(&op) {
                list.push(Access { op, core, param: param(func, address), write });
            }
        }
    }
    list
}

/// The pointer parameter that an address, view or box is part of.
fn param(func: &Function, mut value: Value) -> Option<usize> {
    while let Some(op) = func.def_op(value) {
        let data = &func.ops[op];
        value = match data.opcode {
            Opcode::PartitionView => data.named("view")[0],
            Opcode::MakeTensorView | Opcode::AddPtr => data.named("ptr")[0],
            _ => return None,
        };
    }
    func.param_values().iter().position(|&p| p == value)
}

/// Whether every way from `a` on to `b` passes a crossing from the core of `a` to that of `b`.
fn forward(func: &Function, crossings: &[Crossing], a: &Access, b: &Access) -> bool {
    let block = common_block(func, a.op, b.op);
    let at = |op| position_in(func, block, op);
    crossings
        .iter()
        .filter(|c| c.to == b.core)
        .any(|c| func.ops[c.op].block == block && at(c.op) >= at(a.op) && at(c.op) < at(b.op) && c.after(a.op))
}

/// Whether every way from `b` around the loop with this body to `a` passes a crossing to the core of `a`.
fn around(func: &Function, crossings: &[Crossing], body: Block, a: &Access, b: &Access) -> bool {
    let at = |op| position_in(func, body, op);
    crossings
        .iter()
        .filter(|c| c.to == a.core && func.ops[c.op].block == body)
        .any(|c| (at(c.op) >= at(b.op) && c.after(b.op)) || at(c.op) < at(a.op))
}

impl Crossing {
    /// Whether a crossing in the block of `access`, or around it, comes after it: a value's move is another operation
    /// than any access, a token directly follows its own.
    fn after(&self, access: Op) -> bool {
        self.op != access || matches!(self.what, super::crossing::What::Token)
    }
}

fn common_block(func: &Function, a: Op, b: Op) -> Block {
    let mut block = func.ops[a].block;
    while position_in(func, block, b).is_none() {
        match func.blocks[block].parent {
            Some(parent) => block = func.ops[parent].block,
            None => return func.body,
        }
    }
    block
}

/// How `a` can come again after `b`.
enum Repeats {
    Never,
    /// By the innermost loop around both, in one region of it.
    Body(Block),
    /// By a `while` that has one of them in its head and the other in its body.
    Regions,
}

fn repeats(func: &Function, a: Op, b: Op) -> Repeats {
    let mut block = common_block(func, a, b);
    let (first, second) = (position_in(func, block, a), position_in(func, block, b));
    if a != b && first == second {
        let shared = first.map(|i| func.blocks[block].ops[i]);
        if shared.is_some_and(|op| func.ops[op].opcode == Opcode::While) {
            return Repeats::Regions;
        }
    }
    loop {
        let Some(parent) = func.blocks[block].parent else { return Repeats::Never };
        let data = &func.ops[parent];
        if matches!(data.opcode, Opcode::For | Opcode::While) {
            return Repeats::Body(block);
        }
        block = data.block;
    }
}
