//! The joins of a scope: where structured control flow gives one name several values.
//!
//! A join assigns, in parallel, the values of a list to the names of another:
//!
//! * `for`: the carried names get the initial values before the loop and the yielded values after each iteration; the
//!   results are the carried names after the last.
//! * `if`: the results get what the branch yields, at its end.
//! * `while`: the names of the first region get the initial values, and the yielded ones after each iteration; the names of
//!   the second region and the results are one list, which gets what `condition` forwards.

use ir::{Block, Function, Op, Opcode, Type, Value};

use crate::captures::ops_in;

/// `target` gets `source` on some edge of the control flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) target: Value,
    pub(crate) source: Value,
    /// The operation that joins.
    pub(crate) at: Op,
}

/// All joins of values of one kind in a region, and the pairs of names that are one by construction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Joins {
    pub(crate) edges: Vec<Edge>,
    pub(crate) same: Vec<(Value, Value)>,
}

pub(crate) fn joins(f: &Function, region: Block, is: fn(&Type) -> bool) -> Joins {
    let mut joins = Joins::default();
    for at in ops_in(f, region) {
        let data = &f.ops[at];
        let mut edges = |targets: &[Value], sources: &[Value]| {
            for (&target, &source) in targets.iter().zip(sources) {
                if is(f.ty(target)) && target != source {
                    joins.edges.push(Edge { target, source, at });
                }
            }
        };
        match data.opcode {
            Opcode::For => {
                let carried = &f.blocks[data.regions[0]].args[1..];
                let (init, next) = (data.named("init"), yielded(f, data.regions[0]));
                edges(carried, init);
                edges(carried, next);
                // A name that is carried unchanged is its initial value.
                let kept = (0..carried.len()).filter(|&i| next.get(i) == Some(&carried[i]) && is(f.ty(carried[i])));
                joins.same.extend(kept.map(|i| (init[i], carried[i])));
                joins.same.extend(pairs(f, carried, &data.results, is));
            }
            Opcode::If => {
                for &branch in &data.regions {
                    edges(&data.results, yielded(f, branch));
                }
                // Both branches give one value.
                let (a, b) = (yielded(f, data.regions[0]), yielded(f, data.regions[1]));
                let kept = (0..data.results.len()).filter(|&i| a.get(i) == b.get(i) && is(f.ty(data.results[i])));
                joins.same.extend(kept.map(|i| (a[i], data.results[i])));
            }
            Opcode::While => {
                let first = &f.blocks[data.regions[0]].args;
                edges(first, data.named("init"));
                edges(&data.results, yielded(f, data.regions[0]));
                edges(first, yielded(f, data.regions[1]));
                joins.same.extend(pairs(f, &f.blocks[data.regions[1]].args, &data.results, is));
            }
            _ => {}
        }
    }
    joins
}

fn pairs(f: &Function, a: &[Value], b: &[Value], is: fn(&Type) -> bool) -> Vec<(Value, Value)> {
    a.iter().copied().zip(b.iter().copied()).filter(|&(x, _)| is(f.ty(x))).collect()
}

pub(crate) fn is_tile(ty: &Type) -> bool {
    matches!(ty, Type::Tile(_))
}

pub(crate) fn is_tensor(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(_))
}

/// The values that a region hands on at its end (without the condition of `condition`).
pub(crate) fn yielded(f: &Function, region: Block) -> &[Value] {
    match f.blocks[region].ops.last() {
        Some(&op) if matches!(f.ops[op].opcode, Opcode::Yield | Opcode::Condition) => f.ops[op].named("values"),
        _ => &[],
    }
}
