//! Zeros where a tile might be read before it is written (semantics rule 4).
//!
//! The reference has zeros wherever nothing was written. A kernel fills explicitly, and only where the difference could
//! be seen: a fresh tile that is used (unless the first iteration of a loop replaces it unseen), a value with a partial
//! valid region of which an operation reads more than that (another valid region, a window, a reshape, a gather, an
//! operand that is shorter than the one the operation runs over), and a value whose operation may stop early. All other
//! operations stay inside the valid regions of their operands.

use std::collections::{BTreeMap, BTreeSet};

use ir::{Block, Dim, Function, Op, OpData, Opcode, Value};

use crate::captures::ops_in;
use crate::phi::Joins;
use crate::uses::Uses;
use crate::webs::renames;

/// The values of a scope before whose operation zeros go to the whole buffer.
#[derive(Debug)]
pub(crate) struct Fills(BTreeSet<Value>);

impl Fills {
    pub(crate) fn is_needed(&self, value: Value) -> bool {
        self.0.contains(&value)
    }

    pub(crate) fn find(f: &Function, region: Block, joins: &Joins) -> Fills {
        let ops = ops_in(f, region);
        let extents = Extents::new(f, &ops);
        // Names that are read beyond their valid region, and those that flow into them.
        let mut open = Vec::new();
        for &op in &ops {
            open.extend(read_beyond(f, &extents, op));
        }
        let mut sources: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
        let edges = joins.edges.iter().map(|e| (e.target, e.source));
        for (target, source) in edges.chain(joins.same.iter().map(|&(a, b)| (b, a))) {
            sources.entry(target).or_default().push(source);
        }
        let mut read = BTreeSet::new();
        while let Some(name) = open.pop() {
            if read.insert(name) {
                open.extend(sources.get(&name).into_iter().flatten());
            }
        }
        read.retain(|&v| leaves_out(f, v));
        let stopped = ops.iter().map(|&op| &f.ops[op]).filter(|data| data.attrs.bool("exhausted"));
        read.extend(stopped.flat_map(|data| &data.results));
        Fills(read)
    }
}

/// Whether the operation that makes `value` writes less than its buffer. A filled or fully valid value has no such
/// elements; joined names and reshapes have those of their sources.
fn leaves_out(f: &Function, value: Value) -> bool {
    let (Some(ty), Some(def)) = (f.ty(value).as_tile(), f.def_op(value)) else { return false };
    let data = &f.ops[def];
    let other = renames(data.opcode) || matches!(data.opcode, Opcode::TileCreate | Opcode::TFillPad);
    !other && data.regions.is_empty() && !ty.is_fully_valid()
}

/// The operands that `op` may read where they are not valid.
fn read_beyond(f: &Function, extents: &Extents, op: Op) -> Vec<Value> {
    use Opcode as C;
    let data = &f.ops[op];
    let first = |name: &str| data.named(name)[0];
    let differ = |a: Value, i: usize, b: Value, j: usize| {
        let (a, b) = (extents.of(a, i), extents.of(b, j));
        a.is_none() || a != b
    };
    // `other` where it is shorter than `lead`, the operand that the operation runs over.
    let shorter = |other: Value, lead: Value| {
        let axes = f.ty(lead).as_tile().map_or(0, |t| t.shape.len());
        (0..axes).any(|axis| differ(other, axis, lead, axis)).then_some(other).into_iter().collect()
    };
    match data.opcode {
        C::SetValidShape | C::TExtract | C::TReshape | C::TGetVal => vec![data.operands[0]],
        // Any element may be asked for.
        C::TGather | C::TGatherB => vec![first("source")],
        C::TScatter => shorter(first("indices"), first("source")),
        C::TSort32 => shorter(first("idx"), first("source")),
        C::Scatter if data.attrs.word("mode") == Some("row") => {
            let (tile, indices) = (first("tile"), first("indices"));
            if differ(indices, 1, tile, 0) { vec![indices] } else { Vec::new() }
        }
        C::Scatter => shorter(first("indices"), first("tile")),
        C::TSel | C::TSelS => {
            let mask = first("mask");
            let columns = f.ty(mask).as_tile().map(|t| Known::Static(t.shape[1]));
            let short = differ(mask, 0, data.results[0], 0) || extents.of(mask, 1) != columns;
            if short { vec![mask] } else { Vec::new() }
        }
        _ => short_vector(f, extents, op).into_iter().collect(),
    }
}

/// The vector that `op` spreads over a matrix which may be valid where the vector is not.
fn short_vector(f: &Function, extents: &Extents, op: Op) -> Option<Value> {
    use Opcode as C;
    let data = &f.ops[op];
    let rows = match data.opcode {
        C::TRowExpandAdd
        | C::TRowExpandSub
        | C::TRowExpandMul
        | C::TRowExpandDiv
        | C::TRowExpandMax
        | C::TRowExpandMin => true,
        C::TColExpandAdd
        | C::TColExpandSub
        | C::TColExpandMul
        | C::TColExpandDiv
        | C::TColExpandMax
        | C::TColExpandMin => false,
        _ => return None,
    };
    let (a, v) = (data.named("a")[0], data.named("v")[0]);
    let last = f.ty(a).as_tile()?.shape.len() - 1;
    let mut axes = if rows { 0..last } else { last..last + 1 };
    axes.any(|axis| extents.of(a, axis).is_none_or(|e| extents.of(v, axis) != Some(e))).then_some(v)
}

/// A valid extent: known, or the index that the operation that made it was given.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Known {
    Static(u64),
    Given(Value),
}

/// The valid extents of tile values, where it can be told what they come from.
struct Extents(BTreeMap<Value, Vec<Option<Known>>>);

impl Extents {
    fn of(&self, value: Value, axis: usize) -> Option<Known> {
        self.0.get(&value)?.get(axis).copied().flatten()
    }

    /// `ops` in program order.
    fn new(f: &Function, ops: &[Op]) -> Extents {
        let mut extents = Extents(BTreeMap::new());
        for &op in ops {
            let regions = f.ops[op].regions.iter().flat_map(|&r| &f.blocks[r].args);
            for &value in f.ops[op].results.iter().chain(regions) {
                let Some(ty) = f.ty(value).as_tile() else { continue };
                let known = (0..ty.valid.len()).map(|axis| match ty.valid[axis] {
                    Dim::Static(n) => Some(Known::Static(n)),
                    Dim::Dynamic if f.def_op(value) == Some(op) => extents.dynamic(f, op, &ty.valid, axis),
                    Dim::Dynamic => None,
                });
                let known = known.collect();
                extents.0.insert(value, known);
            }
        }
        extents
    }

    fn dynamic(&self, f: &Function, op: Op, valid: &[Dim], axis: usize) -> Option<Known> {
        use Opcode as C;
        let data = &f.ops[op];
        match data.opcode {
            C::Load | C::TExpandS | C::TExtract | C::TTri => {
                let before = valid[..axis].iter().filter(|d| **d == Dim::Dynamic).count();
                data.named("valid").get(before).map(|&v| Known::Given(v))
            }
            C::SetValidShape => Some(Known::Given(data.named(if axis == 0 { "row" } else { "col" })[0])),
            C::TTrans => self.of(data.operands[0], 1 - axis),
            C::TMatmul | C::TMatmulAcc | C::TMatmulBias | C::TReshape | C::TFillPad | C::TileCreate => None,
            _ if !data.regions.is_empty() => None,
            C::Gather if data.attrs.word("mode") == Some("row") => self.of(data.named("indices")[0], 1),
            C::Gather => self.of(data.named("indices")[0], axis),
            C::TGather | C::TGatherB => self.of(data.operands[1], axis),
            C::TSelS => self.of(data.named("a")[0], axis),
            // Operations on two tiles of one shape have what both have.
            C::TPRelu => self.meet(f, data.named("a")[0], data.named("slope")[0], axis),
            _ if data.opcode.info().group("b").is_some() => self.meet(f, data.named("a")[0], data.named("b")[0], axis),
            // Reductions keep the other axis, broadcasts have the matrix'.
            _ => data.operands.first().and_then(|&a| self.of(a, axis)),
        }
    }

    /// The smaller of two extents, if it can be told: they are the same, or one of them is all of the axis.
    fn meet(&self, f: &Function, a: Value, b: Value, axis: usize) -> Option<Known> {
        let all = Known::Static(f.ty(a).as_tile()?.shape[axis]);
        match (self.of(a, axis)?, self.of(b, axis)?) {
            (x, y) if x == y || y == all => Some(x),
            (x, y) if x == all => Some(y),
            _ => None,
        }
    }
}

/// Whether a fresh tile is only the initial value of a loop whose first iteration makes a new one without looking: the
/// usual way to start a sum (`if k == 0: acc = matmul(…) else: acc = matmul_acc(acc, …)`). Then nobody sees what it holds.
pub(crate) fn is_start_of_loop(f: &Function, uses: &Uses, value: Value) -> bool {
    let [user] = *uses.of(value) else { return false };
    let data = &f.ops[user];
    if data.opcode != Opcode::For || !runs(f, data) {
        return false;
    }
    let body = data.regions[0];
    let (iv, names) = (f.blocks[body].args[0], &f.blocks[body].args[1..]);
    let lower = data.named("lower")[0];
    data.named("init")
        .iter()
        .zip(names)
        .filter(|(init, _)| **init == value)
        .all(|(_, &name)| uses.of(name).iter().all(|&op| is_skipped_first(f, op, body, iv, lower)))
}

/// At least once, by its literal bounds.
fn runs(f: &Function, data: &OpData) -> bool {
    let known = |name: &str| f.const_int(data.named(name)[0]);
    match (known("lower"), known("upper"), known("step")) {
        (Some(lower), Some(upper), Some(step)) => (step > 0 && lower < upper) || (step < 0 && lower > upper),
        _ => false,
    }
}

/// Whether `op`, in the loop body `body`, stands in the branch that is not taken in the first iteration.
fn is_skipped_first(f: &Function, op: Op, body: Block, iv: Value, lower: Value) -> bool {
    let mut block = f.ops[op].block;
    while block != body {
        let Some(parent) = f.blocks[block].parent else { return false };
        let data = &f.ops[parent];
        if data.opcode == Opcode::If {
            let first = is_first(f, data.named("condition")[0], iv, lower);
            let branch = data.regions.iter().position(|&r| r == block);
            if matches!((first, branch), (Some(true), Some(1)) | (Some(false), Some(0))) {
                return true;
            }
        }
        block = data.block;
    }
    false
}

/// Whether the condition says "this is the first iteration" (true), or "it is not" (false).
fn is_first(f: &Function, condition: Value, iv: Value, lower: Value) -> Option<bool> {
    let data = &f.ops[f.def_op(condition)?];
    if data.opcode != Opcode::ScalarCmp {
        return None;
    }
    let (a, b) = (data.named("a")[0], data.named("b")[0]);
    let other = match (a == iv, b == iv) {
        (true, false) => b,
        (false, true) => a,
        _ => return None,
    };
    let same = other == lower || (f.const_int(other).is_some() && f.const_int(other) == f.const_int(lower));
    match data.attrs.word("predicate") {
        Some("eq") if same => Some(true),
        Some("ne") if same => Some(false),
        _ => None,
    }
}
