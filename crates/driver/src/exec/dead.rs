//! Code that no arguments can reach: branches on conditions that always come out one way.
//!
//! Compilers leave them behind (`t + 4 - t == 1` guards the rest of a loop that has none), and coverage does not count
//! them. Conditions are compared as sums of values times constants: what cancels out does not matter. That indices could wrap
//! around is left out of account: a kernel that counts that far never ends.

use std::collections::BTreeMap;

use ir::{Block, Entity, Function, OpData, Opcode, Value};

/// By block: whether nothing can come there.
pub(super) fn blocks(f: &Function) -> Vec<bool> {
    let mut dead = vec![false; f.blocks.len()];
    let mut kill = |block: Block| dead[block.index()] = true;
    for op in f.walk() {
        let op = &f.ops[op];
        match (op.opcode, &op.regions[..]) {
            (Opcode::If, &[then, other]) => match decided(f, op.operands[0]) {
                Some(true) => kill(other),
                Some(false) => kill(then),
                None => {}
            },
            (Opcode::For, &[body]) if never(f, op) => kill(body),
            _ => {}
        }
    }
    // Whatever is inside.
    for block in f.blocks.iter().map(|(id, _)| id) {
        let mut at = block;
        while let Some(parent) = f.blocks[at].parent {
            at = f.ops[parent].block;
            if dead[at.index()] {
                dead[block.index()] = true;
                break;
            }
        }
    }
    dead
}

/// Whether a loop has no iterations.
fn never(f: &Function, op: &OpData) -> bool {
    let (lower, upper, step) = (op.group(0)[0], op.group(1)[0], op.group(2)[0]);
    let distance = Sum::of(f, upper).minus(&Sum::of(f, lower)).constant();
    match (distance, f.const_int(step)) {
        (Some(n), Some(s)) => (s > 0 && n <= 0) || (s < 0 && n >= 0),
        _ => false,
    }
}

/// What a condition always is.
fn decided(f: &Function, condition: Value) -> Option<bool> {
    if let Some(n) = f.const_int(condition) {
        return Some(n != 0);
    }
    let op = &f.ops[f.def_op(condition)?];
    if op.opcode != Opcode::ScalarCmp || !f.ty(op.operands[0]).as_scalar()?.is_int() {
        return None;
    }
    let n = Sum::of(f, op.operands[0]).minus(&Sum::of(f, op.operands[1])).constant()?;
    Some(match op.attrs.word("predicate")? {
        "eq" => n == 0,
        "ne" => n != 0,
        "lt" => n < 0,
        "le" => n <= 0,
        "gt" => n > 0,
        "ge" => n >= 0,
        _ => return None,
    })
}

/// A constant and multiples of values.
#[derive(Default)]
struct Sum {
    constant: i128,
    terms: BTreeMap<Value, i128>,
    /// Values looked at: beyond some, one is a term, whatever it is made of.
    seen: u32,
}

const MOST_SEEN: u32 = 256;

impl Sum {
    fn of(f: &Function, value: Value) -> Sum {
        let mut sum = Sum::default();
        sum.add(f, value, 1);
        sum
    }

    fn add(&mut self, f: &Function, value: Value, factor: i128) {
        if let Some(n) = f.const_int(value) {
            self.constant += factor * n as i128;
            return;
        }
        self.seen += 1;
        let def = f.def_op(value).map(|op| &f.ops[op]).filter(|_| self.seen < MOST_SEEN);
        let constant = |v: Value| f.const_int(v).map(|n| n as i128).filter(|n| n.unsigned_abs() < 1 << 32);
        match def.map(|op| (op.opcode, &op.operands[..])) {
            Some((Opcode::ScalarAdd, &[a, b])) => {
                self.add(f, a, factor);
                self.add(f, b, factor);
            }
            Some((Opcode::ScalarSub, &[a, b])) => {
                self.add(f, a, factor);
                self.add(f, b, -factor);
            }
            Some((Opcode::ScalarMul, &[a, b])) if factor.unsigned_abs() < 1 << 64 => match (constant(a), constant(b)) {
                (Some(n), _) => self.add(f, b, factor * n),
                (_, Some(n)) => self.add(f, a, factor * n),
                _ => self.term(value, factor),
            },
            _ => self.term(value, factor),
        }
    }

    fn term(&mut self, value: Value, factor: i128) {
        let entry = self.terms.entry(value).or_insert(0);
        *entry = entry.saturating_add(factor);
    }

    fn minus(mut self, other: &Sum) -> Sum {
        self.constant -= other.constant;
        for (&value, &factor) in &other.terms {
            self.term(value, -factor);
        }
        self
    }

    fn constant(&self) -> Option<i128> {
        self.terms.values().all(|&n| n == 0).then_some(self.constant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_out_decides() {
        let text = "func.func @k(%x: index) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c4 = arith.constant 4 : index
            %a = arith.muli %x, %c4 : index
            %b = arith.addi %a, %c4 : index
            %d = arith.subi %b, %a : index
            %never = arith.cmpi eq, %d, %c1 : index
            %perhaps = arith.cmpi eq, %a, %c4 : index
            scf.if %never { scf.for %i = %c0 to %x step %c1 { } } else { }
            scf.if %perhaps { } else { }
            scf.for %i = %b to %a step %c1 { }
            return }";
        let program = crate::exec::load(text, "k.pto", None).unwrap_or_else(|f| panic!("{}", f.render()));
        let f = &program.functions[program.function("k").expect("the kernel")];
        let dead = blocks(f);
        // The body; the first branch, the loop in it, the other; two branches; a loop.
        let names: Vec<usize> = dead.iter().enumerate().filter(|(_, d)| **d).map(|(i, _)| i).collect();
        assert_eq!(names.len(), 3, "{names:?} of {}", dead.len());
        assert!(!dead[f.body.index()]);
    }
}
