//! Faults of what moves operations.

use ir::builder::detach;
use ir::info::LAST_USE;
use ir::{Attr, Function, Op, Type, Value};

use super::kernel::{address, is_name, position, root, tiles, works};
use super::{Fault, Site};
use crate::mutate::edit::{Before, operand};

/// Makes the fault and says what it is.
pub(super) fn apply(func: &mut Function, site: &Site) -> Option<String> {
    let op = site.op;
    match site.fault {
        Fault::PrefixJump => {
            let reader = site.other?;
            let prefix = prefix(func, op);
            sink(func, &prefix, reader, false)
                .then(|| format!("it and {} before it go to their reader", prefix.len() - 1))
        }
        Fault::SunkProducer => {
            let consumer = site.other?;
            if !sink(func, &[op], consumer, true) {
                return None;
            }
            let moved = format!("goes behind `{}`", ir::text::print_op(func, consumer));
            Some(match coalesce(func, op, consumer) {
                true => format!("{moved}, with both results on one address"),
                false => moved,
            })
        }
        Fault::AliasReordered | Fault::SwappedNeighbours => {
            let first = site.other?;
            let text = ir::text::print_op(func, first);
            hoist(func, op, first).then(|| format!("goes before `{text}`"))
        }
        Fault::DroppedStore | Fault::DroppedOperation => {
            detach(func, op);
            Some("left out".to_owned())
        }
        Fault::EarlyLastUse => {
            let mut marks = marks(func, op);
            *marks.get_mut(site.operand as usize)? = 1;
            func.ops[op].attrs.set(LAST_USE, Attr::Ints(marks));
            Some(format!("tile {} is said to be used last here", site.operand))
        }
        Fault::DroppedOffset => {
            let zero = Before::new(func, op).constant(&Type::INDEX, Attr::Int(0));
            func.ops[op].operands[site.operand as usize] = zero;
            Some(format!("offset (operand {}) is 0", site.operand))
        }
        _ => None,
    }
}

/// The marks of last uses of an operation; all 0 if there are none.
pub(super) fn marks(func: &Function, op: Op) -> Vec<i64> {
    let data = &func.ops[op];
    let all = data.operands.iter().chain(&data.dests).filter(|&&v| func.ty(v).as_tile().is_some()).count();
    let marks = data.attrs.ints(LAST_USE).map(<[i64]>::to_vec).unwrap_or_default();
    if marks.len() == all { marks } else { vec![0; all] }
}

/// The writer of a tile value that stands last before `reader`, in its block.
pub(super) fn writer(func: &Function, reader: Op, value: Value) -> Option<Op> {
    let ops = &func.blocks[func.ops[reader].block].ops[..position(func, reader)];
    ops.iter().copied().rev().find(|&o| works(func, o) && func.ops[o].dests.contains(&value))
}

/// An operation and those that make what it takes, four at most, in their order.
fn prefix(func: &Function, op: Op) -> Vec<Op> {
    let mut out = vec![op];
    let mut at = 0;
    while let Some(&reader) = out.get(at)
        && out.len() < 4
    {
        let writers = tiles(func, reader).0.into_iter().filter_map(|v| writer(func, reader, v));
        for w in writers.collect::<Vec<_>>() {
            if !out.contains(&w) && out.len() < 4 {
                out.push(w);
            }
        }
        at += 1;
    }
    out.sort_by_key(|&o| position(func, o));
    out
}

/// Moves operations to before or behind a later one of their block; false if what is between uses what they define.
fn sink(func: &mut Function, list: &[Op], target: Op, behind: bool) -> bool {
    let block = func.ops[target].block;
    let to = position(func, target);
    let made: Vec<Value> = list.iter().flat_map(|&o| func.ops[o].results.iter().copied()).collect();
    let earlier = |o: &Op| func.ops[*o].block == block && position(func, *o) < to;
    if !list.iter().all(earlier) {
        return false;
    }
    if !made.is_empty() {
        return false;
    }
    let ops = &mut func.blocks[block].ops;
    ops.retain(|o| !list.contains(o));
    let at = ops.iter().position(|&o| o == target).map_or(ops.len(), |at| at + usize::from(behind));
    ops.splice(at..at, list.iter().copied());
    true
}

/// Moves an operation to before an earlier one of its block, with the names it needs; false if it needs more.
fn hoist(func: &mut Function, op: Op, target: Op) -> bool {
    let Some(moved) = needed(func, op, target) else { return false };
    let block = func.ops[op].block;
    let ops = &mut func.blocks[block].ops;
    ops.retain(|o| !moved.contains(o));
    let at = ops.iter().position(|&o| o == target).unwrap_or(ops.len());
    ops.splice(at..at, moved);
    true
}

/// An operation and the names between `target` and it that it needs, in their order.
pub(super) fn needed(func: &Function, op: Op, target: Op) -> Option<Vec<Op>> {
    let ops = &func.blocks[func.ops[op].block].ops;
    let (from, to) = (position(func, target), position(func, op));
    let between = ops.get(from..to)?;
    let mut moved = vec![op];
    let mut at = 0;
    while let Some(&o) = moved.get(at) {
        let data = &func.ops[o];
        for &v in data.operands.iter().chain(&data.dests) {
            if let Some(def) = func.def_op(v).filter(|d| between.contains(d) && !moved.contains(d)) {
                if !is_name(func, def) {
                    return None;
                }
                moved.push(def);
            }
        }
        at += 1;
    }
    moved.sort_by_key(|&o| position(func, o));
    Some(moved)
}

/// Puts the result of `consumer` where that of `producer` lies; whether both have an address.
fn coalesce(func: &mut Function, producer: Op, consumer: Op) -> bool {
    let result = |op: Op| func.ops[op].dest().and_then(|v| root(func, v));
    let (Some(from), Some(to)) = (result(producer), result(consumer)) else { return false };
    let space = |op: Op| func.ops[op].result().and_then(|v| func.ty(v).as_tile()).and_then(|t| t.space);
    match address(func, from) {
        Some(at) if space(from) == space(to) => set_address(func, to, at),
        _ => false,
    }
}

/// Gives an `alloc_tile` another address.
pub(super) fn set_address(func: &mut Function, alloc: Op, to: i64) -> bool {
    let Some(at) = operand(&func.ops[alloc], "addr") else { return false };
    let ty = func.ty(func.ops[alloc].operands[at as usize]).clone();
    let new = Before::new(func, alloc).constant(&ty, Attr::Int(to));
    func.ops[alloc].operands[at as usize] = new;
    true
}
