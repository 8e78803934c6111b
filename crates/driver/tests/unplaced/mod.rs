//! A file with addresses, as it was before somebody gave its tiles addresses.
//!
//! Names do not say it all: compilers write one tile as several `alloc_tile`s at one address, and what goes into one comes
//! out of another. So allocations of one type at one address become one tile, made where the function starts. That is
//! the same program only if nothing else is passed on by address; an execution has to say whether it is.

use std::collections::BTreeMap;

use ir::builder::{NewOp, detach};
use ir::{Attr, Attrs, Builder, Function, Op, Opcode as C, Program, Type, Value};

/// The program without addresses; `None` for what has no form without.
pub(crate) fn unplaced(program: &Program) -> Option<Program> {
    let mut out = program.clone();
    for id in out.functions.keys().collect::<Vec<_>>() {
        let func = &mut out.functions[id];
        func.properties.placed = false;
        if func.ops.keys().any(|op| matches!(func.ops[op].opcode, C::AllocTiles | C::TAssign)) {
            return None;
        }
        merge(func);
        for op in func.walk() {
            let data = &mut func.ops[op];
            if data.opcode == C::AllocTile && !data.named("addr").is_empty() {
                data.operands.remove(0);
                data.segments[0] = 0;
            }
        }
    }
    ir::verify::verify(&out).is_ok().then_some(out)
}

/// Makes tiles of one type and one address one.
fn merge(func: &mut Function) {
    let mut groups: BTreeMap<(i64, String, Vec<i64>), Vec<Op>> = BTreeMap::new();
    for op in func.walk() {
        let data = &func.ops[op];
        let (C::AllocTile, Some(result)) = (data.opcode, data.result()) else { continue };
        let Some(&addr) = data.named("addr").first() else { continue };
        let numbers: Option<Vec<i64>> = data.operands.iter().map(|&v| func.const_int(v)).collect();
        let (Some(at), Some(numbers)) = (func.const_int(addr), numbers) else { continue };
        groups.entry((at, func.ty(result).to_string(), numbers)).or_default().push(op);
    }
    for allocs in groups.into_values().filter(|allocs| allocs.len() > 1) {
        let one = at_start(func, allocs[0]);
        for alloc in allocs {
            let old = func.ops[alloc].results[0];
            detach(func, alloc);
            for op in func.walk() {
                let data = &mut func.ops[op];
                data.operands.iter_mut().chain(&mut data.dests).filter(|v| **v == old).for_each(|v| *v = one);
            }
        }
    }
}

/// The tile of an allocation, allocated where the function starts.
fn at_start(func: &mut Function, alloc: Op) -> Value {
    let data = func.ops[alloc].clone();
    let numbers: Vec<(i64, Type)> =
        data.operands.iter().map(|&v| (func.const_int(v).unwrap_or(0), func.ty(v).clone())).collect();
    let body = func.body;
    let before = func.blocks[body].ops.len();
    let mut b = Builder::new(func);
    b.switch_to(body);
    let mut operands = Vec::new();
    for (n, ty) in &numbers {
        let mut attrs = Attrs::default();
        attrs.set("value", Attr::Int(*n));
        operands.push(b.result(C::Const, &[], ty.clone(), attrs));
    }
    let mut groups: Vec<&[Value]> = Vec::new();
    let mut rest = &operands[..];
    for &n in &data.segments {
        let (group, others) = rest.split_at(n as usize);
        groups.push(group);
        rest = others;
    }
    let ty = b.func.ty(data.results[0]).clone();
    let made = b.op(NewOp { opcode: C::AllocTile, groups: &groups, dests: &[], results: &[ty], attrs: data.attrs });
    func.blocks[body].ops.rotate_right(numbers.len() + 1);
    assert_eq!(func.blocks[body].ops.len(), before + numbers.len() + 1, "the constants and the tile");
    func.ops[made].results[0]
}
