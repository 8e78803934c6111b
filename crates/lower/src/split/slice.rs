//! What one core keeps: its own operations and, backwards from them, all that they need.
//!
//! A region operation (`for`, `if`, `while`) is kept if something in it is, with its bounds or condition. A carried value
//! is kept if its result or region argument is used by something kept; then so are its start and its next values.

use std::collections::BTreeSet;

use chip::Core;
use diag::Diagnostic;
use ir::{Block, Def, Function, Op, Opcode, Type, Value};

use super::crossing::{Crossing, What};
use super::sides::{Side, Sides};

/// The operations and carried values that one core keeps.
#[derive(Clone, Default, Debug)]
pub(super) struct Slice {
    pub(super) ops: BTreeSet<Op>,
    /// Carried values: number of the result of `for` and `if`; for `while`, of the value that the head forwards.
    pub(super) carried: BTreeSet<(Op, usize)>,
    /// Values that a `while` hands to its head.
    pub(super) head: BTreeSet<(Op, usize)>,
}

pub(super) fn slice(func: &Function, sides: &Sides, crossings: &[Crossing], core: Core) -> Slice {
    let mut s = Slicer { func, slice: Slice::default(), values: BTreeSet::new(), work: Vec::new() };
    for (op, side) in sides.iter() {
        let stays = match side {
            Side::On(on) => on == core,
            Side::Both => true,
            Side::Wherever => core == Core::Vector && may_fail(func, op),
            Side::Crossing { .. } => false,
        };
        if stays {
            s.keep(op);
        }
    }
    for crossing in crossings {
        s.enclosing(func.ops[crossing.op].block);
        match crossing.what {
            What::Value { source, .. } if crossing.to != core => s.need(source),
            What::Value { dest, copied, .. } => {
                if copied {
                    s.need(dest);
                } else if let Some(alloc) = func.def_op(dest) {
                    func.ops[alloc].operands.iter().for_each(|&v| s.need(v));
                }
            }
            What::Token => {}
        }
    }
    s.run();
    s.slice
}

/// Errors for what the cube core needs and cannot compute.
pub(super) fn check(func: &Function, sides: &Sides, cube: &Slice, errors: &mut Vec<Diagnostic>) {
    for &op in &cube.ops {
        if sides.of(op) != Side::On(Core::Vector) {
            continue;
        }
        let data = &func.ops[op];
        let message = format!(
            "`{}`: the cube core needs a scalar that {} reads from a tile of the vector core",
            func.name,
            data.opcode.name()
        );
        errors.push(
            Diagnostic::unsupported("scalar-across-cores", message)
                .at(data.span, "read here")
                .help("read the scalar from a tensor, or decide in a scope of its own before this one"),
        );
    }
}

/// Whether an operation ends the program for some operands.
fn may_fail(func: &Function, op: Op) -> bool {
    let data = &func.ops[op];
    match data.opcode {
        Opcode::ScalarDiv | Opcode::ScalarRem => {
            let float = matches!(func.ty(data.results[0]), Type::Scalar(d) if d.is_float());
            !float && !matches!(func.const_int(data.named("b")[0]), Some(n) if n != 0)
        }
        Opcode::LoadScalar | Opcode::ArrayGet => true,
        Opcode::For => !matches!(func.const_int(data.named("step")[0]), Some(n) if n != 0),
        _ => false,
    }
}

struct Slicer<'f> {
    func: &'f Function,
    slice: Slice,
    values: BTreeSet<Value>,
    work: Vec<Value>,
}

impl Slicer<'_> {
    fn run(&mut self) {
        while let Some(value) = self.work.pop() {
            self.define(value);
        }
    }

    fn need(&mut self, value: Value) {
        if self.values.insert(value) {
            self.work.push(value);
        }
    }

    fn keep(&mut self, op: Op) {
        if !self.slice.ops.insert(op) {
            return;
        }
        let data = &self.func.ops[op];
        self.enclosing(data.block);
        match data.opcode {
            Opcode::For => {
                for group in ["lower", "upper", "step"] {
                    self.need(data.named(group)[0]);
                }
            }
            Opcode::If => self.need(data.named("condition")[0]),
            Opcode::While => {
                if let Some(last) = self.last(data.regions[0]) {
                    self.need(self.func.ops[last].named("condition")[0]);
                }
            }
            _ => {
                data.operands.iter().chain(&data.dests).for_each(|&v| self.need(v));
            }
        }
    }

    /// Keeps the operations around a block.
    fn enclosing(&mut self, block: Block) {
        if let Some(parent) = self.func.blocks[block].parent {
            self.keep(parent);
        }
    }

    fn last(&self, block: Block) -> Option<Op> {
        self.func.blocks[block].ops.last().copied()
    }

    /// Needs value number `i` that the terminator of a region passes on.
    fn passed(&mut self, block: Block, i: usize) {
        if let Some(last) = self.last(block)
            && let Some(&value) = self.func.ops[last].named("values").get(i)
        {
            self.need(value);
        }
    }

    fn define(&mut self, value: Value) {
        let func = self.func;
        match func.values[value].def {
            Def::Result(op, i) => {
                let i = i as usize;
                self.keep(op);
                match func.ops[op].opcode {
                    Opcode::For | Opcode::If | Opcode::While => self.carry(op, i),
                    Opcode::ArrayCreate => {
                        for user in func.users(value) {
                            if func.ops[user].opcode == Opcode::ArraySet {
                                self.keep(user);
                            }
                        }
                    }
                    _ => {}
                }
            }
            Def::Arg(block, i) => {
                let i = i as usize;
                let Some(parent) = func.blocks[block].parent else { return };
                self.keep(parent);
                let data = &func.ops[parent];
                match data.opcode {
                    Opcode::For if i > 0 => self.carry(parent, i - 1),
                    Opcode::While if block == data.regions[0] => self.hand_to_head(parent, i),
                    Opcode::While => self.carry(parent, i),
                    _ => {}
                }
            }
        }
    }

    fn hand_to_head(&mut self, op: Op, i: usize) {
        if self.slice.head.insert((op, i)) {
            let data = &self.func.ops[op];
            self.need(data.named("init")[i]);
            self.passed(data.regions[1], i);
        }
    }

    fn carry(&mut self, op: Op, i: usize) {
        if !self.slice.carried.insert((op, i)) {
            return;
        }
        let data = &self.func.ops[op];
        match data.opcode {
            Opcode::For => {
                self.need(data.named("init")[i]);
                self.passed(data.regions[0], i);
            }
            Opcode::If => data.regions.iter().for_each(|&region| self.passed(region, i)),
            _ => self.passed(data.regions[0], i),
        }
    }
}
