//! Zeros where a tile might be read before it is written (semantics rule 4).
//!
//! The reference has zeros wherever nothing was written. A kernel fills explicitly, and only where the difference could
//! be seen: a fresh tile that is used at all, and a value with a partial valid region of which an operation reads more than that
//! (another valid region, a window, a reshape). All other operations stay inside the valid regions of their operands.

use ir::{Function, Opcode, Value};

/// Whether zeros go to the whole buffer before the operation that makes `value`.
pub(crate) fn is_needed(f: &Function, value: Value) -> bool {
    let Some(ty) = f.ty(value).as_tile() else { return false };
    let Some(def) = f.def_op(value) else { return false };
    let data = &f.ops[def];
    // A filled or fully valid value has no such elements; joined names and reshapes have those of their sources.
    let other = matches!(data.opcode, Opcode::TileCreate | Opcode::TReshape | Opcode::SetValidShape | Opcode::TFillPad);
    if other || !data.regions.is_empty() || ty.is_fully_valid() {
        return false;
    }
    let mut names = vec![value];
    let mut seen = 0;
    while seen < names.len() {
        let name = names[seen];
        seen += 1;
        for user in f.users(name) {
            let data = &f.ops[user];
            match data.opcode {
                Opcode::SetValidShape | Opcode::TExtract | Opcode::TReshape | Opcode::TGetVal => return true,
                _ => {}
            }
            for other in joined(f, user, name) {
                if !names.contains(&other) {
                    names.push(other);
                }
            }
        }
    }
    false
}

/// The names that get `value` where `user` joins or ends a region.
fn joined(f: &Function, user: ir::Op, value: Value) -> Vec<Value> {
    let data = &f.ops[user];
    let mut out = Vec::new();
    let mut targets = |sources: &[Value], targets: &[Value]| {
        out.extend(sources.iter().zip(targets).filter(|(s, _)| **s == value).map(|(_, &t)| t));
    };
    match data.opcode {
        Opcode::For => targets(data.named("init"), &f.blocks[data.regions[0]].args[1..]),
        Opcode::While => targets(data.named("init"), &f.blocks[data.regions[0]].args),
        Opcode::Yield | Opcode::Condition => {
            let values = data.named("values");
            if let Some(parent) = f.blocks[data.block].parent {
                let p = &f.ops[parent];
                match (p.opcode, data.opcode) {
                    (Opcode::For, _) => {
                        targets(values, &f.blocks[p.regions[0]].args[1..]);
                        targets(values, &p.results);
                    }
                    (Opcode::While, Opcode::Condition) => {
                        targets(values, &f.blocks[p.regions[1]].args);
                        targets(values, &p.results);
                    }
                    (Opcode::While, _) => targets(values, &f.blocks[p.regions[0]].args),
                    (Opcode::If, _) => targets(values, &p.results),
                    _ => {}
                }
            }
        }
        _ => {}
    }
    out
}
