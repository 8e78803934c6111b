//! In which on-chip buffers each tile value of a scope lives.
//!
//! Every value has a *home*, where the operation that makes it puts it: the accumulator for products, Vec for all other
//! computed values. A load goes wherever its users need it, once for each. Names joined by control flow have one home:
//! the accumulator if only products and zeros flow into them, else Vec.
//!
//! Where a user needs a value elsewhere it is *moved* right after it is made: accumulator to Vec for vector work,
//! accumulator or Vec to Mat as an operand or the bias of a matmul. Nothing moves into the accumulator: the machine has no such path;
//! only zeros can be made there again.
//!
//! A store takes a product from the accumulator itself. If the only users of a nearest-even conversion of a product to a
//! 16-bit float are such stores, the conversion is done by the store (semantics rule 9: the bits agree).

use std::collections::{BTreeMap, BTreeSet};

use diag::Diagnostic;
use dtype::DType;
use ir::{Block, Def, Function, Op, Opcode, Type, Value};

use crate::Fail;
use crate::captures::ops_in;
use crate::phi::Joins;
use crate::tile::Place;
use crate::uses::{self, Uses};

#[derive(Debug)]
pub(crate) struct Spaces {
    pub(crate) home: BTreeMap<Value, Place>,
    /// Where the users of a value want it.
    pub(crate) needs: BTreeMap<Value, BTreeSet<Place>>,
    /// Conversions that their stores do.
    pub(crate) folded: BTreeSet<Op>,
    pub(crate) cube: bool,
    pub(crate) vector: bool,
}

impl Spaces {
    pub(crate) fn needs(&self, value: Value) -> impl Iterator<Item = Place> + '_ {
        self.needs.get(&value).into_iter().flatten().copied()
    }

    /// Whether anything uses the value.
    pub(crate) fn is_used(&self, value: Value) -> bool {
        self.needs.get(&value).is_some_and(|n| !n.is_empty())
    }

    /// Where the operation that makes a value puts it; a load that goes to several places is kept here under its name.
    pub(crate) fn home(&self, value: Value) -> Place {
        self.home.get(&value).copied().unwrap_or(Place::Vec)
    }
}

pub(crate) fn assign(f: &Function, region: Block, joins: &Joins, uses: &Uses) -> Result<Spaces, Fail> {
    let ops = ops_in(f, region);
    let groups = Groups::new(joins);
    let mut s =
        Spaces { home: BTreeMap::new(), needs: BTreeMap::new(), folded: BTreeSet::new(), cube: false, vector: false };
    // What is changed in place must be where a program can write single elements: in Vec.
    let changed: BTreeSet<Value> = ops.iter().flat_map(|&op| &f.ops[op].dests).copied().collect();
    let accumulated: BTreeSet<Value> =
        ops.iter().filter(|&&op| f.ops[op].opcode == Opcode::TMatmulAcc).map(|&op| f.ops[op].named("acc")[0]).collect();
    for value in tile_values(f, region, &ops) {
        let members = groups.members(value);
        let product =
            |v: Value| matches!(opcode(f, v), Some(Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias));
        let zero = |v: Value| is_zero(f, v);
        let joined = |v: Value| f.def_op(v).is_none_or(|op| !f.ops[op].regions.is_empty());
        let wanted = members.iter().any(|&v| product(v) || accumulated.contains(&v));
        let possible = members.iter().all(|&v| product(v) || zero(v) || joined(v));
        // Zeros that vector work uses too stay in Vec: a sum that starts from them does not read them.
        let vector = |&op: &Op| {
            let data = &f.ops[op];
            let other = matches!(data.opcode, Opcode::TMatmulAcc | Opcode::Store) || data.opcode.is_terminator();
            data.regions.is_empty() && !other
        };
        let elsewhere = members.len() == 1 && zero(value) && uses.of(value).iter().any(vector);
        let in_acc = !elsewhere && wanted && possible && !members.iter().any(|v| changed.contains(v));
        s.home.insert(value, if in_acc || product(value) { Place::Acc } else { Place::Vec });
    }
    for &op in &ops {
        if is_foldable(f, uses, &s, op) {
            s.folded.insert(op);
        }
    }
    for &op in &ops {
        let data = &f.ops[op];
        if s.folded.contains(&op) {
            continue;
        }
        match data.opcode {
            Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias => {
                let (lhs, rhs) = (data.named("lhs")[0], data.named("rhs")[0]);
                s.need(lhs, Place::Mat { transposed: data.attrs.bool("a_trans") });
                s.need(rhs, Place::Mat { transposed: data.attrs.bool("b_trans") });
                if data.opcode == Opcode::TMatmulBias {
                    s.need(data.named("bias")[0], Place::Mat { transposed: false });
                }
                let acc = data.opcode.info().group("acc").map(|g| data.group(g)[0]);
                if let Some(acc) = acc.filter(|&acc| !is_zero(f, acc)) {
                    if s.home(acc) != Place::Acc {
                        let from = f.def_op(acc).and_then(|d| f.ops[d].span);
                        return Err(Box::new(
                            Diagnostic::unsupported(
                                "accumulator-from-vector",
                                "the accumulator of `matmul_acc` is the result of vector work; it must come from \
                                 matmuls or be zero",
                            )
                            .at(data.span, "accumulates here")
                            .also(from, "the accumulator is made here")
                            .note("the machine has no path from the vector core's buffer to the accumulator"),
                        ));
                    }
                    s.need(acc, Place::Acc);
                }
                s.cube = true;
            }
            Opcode::Store => {
                let tile = data.named("tile")[0];
                let source = match f.def_op(tile) {
                    Some(def) if s.folded.contains(&def) => f.ops[def].named("a")[0],
                    _ => tile,
                };
                let place = if s.home(source) == Place::Acc { Place::Acc } else { Place::Vec };
                s.need(source, place);
            }
            _ if !data.regions.is_empty() || data.opcode.is_terminator() => {}
            _ => {
                for v in uses::inputs(data).chain(data.dests.iter().copied()) {
                    if matches!(f.ty(v), Type::Tile(_)) {
                        s.need(v, Place::Vec);
                    }
                }
            }
        }
    }
    for edge in &joins.edges {
        let home = s.home(edge.target);
        s.need(edge.source, home);
    }
    s.cores(f, region, &ops);
    Ok(s)
}

impl Spaces {
    fn need(&mut self, value: Value, place: Place) {
        self.needs.entry(value).or_default().insert(place);
    }

    /// Which cores have work. A load that nothing uses still happens (it can fail): on the core that is there anyway.
    fn cores(&mut self, f: &Function, region: Block, ops: &[Op]) {
        for value in tile_values(f, region, ops) {
            let folded = f.def_op(value).is_some_and(|op| self.folded.contains(&op));
            let home = self.home(value);
            let computed = !matches!(opcode(f, value), Some(Opcode::Load | Opcode::TileCreate)) && !folded;
            self.cube |= self.needs(value).any(|p| p != Place::Vec) || (computed && home == Place::Acc);
            self.vector |= self.needs(value).any(|p| p == Place::Vec) || (computed && home == Place::Vec);
            // A product is transposed on its way by the vector core.
            self.vector |= home == Place::Acc && self.needs(value).any(|p| p == Place::Mat { transposed: true });
        }
    }
}

/// Tile values defined in a region, in order of definition.
pub(crate) fn tile_values(f: &Function, region: Block, ops: &[Op]) -> Vec<Value> {
    let mut out: Vec<Value> = f.blocks[region].args.clone();
    for &op in ops {
        for &inner in &f.ops[op].regions {
            out.extend(&f.blocks[inner].args);
        }
        out.extend(&f.ops[op].results);
    }
    out.retain(|&v| matches!(f.ty(v), Type::Tile(_)));
    out
}

fn opcode(f: &Function, value: Value) -> Option<Opcode> {
    match f.values[value].def {
        Def::Result(op, _) => Some(f.ops[op].opcode),
        Def::Arg(..) => None,
    }
}

/// Zero by construction: fresh, or filled with the literal 0 (not −0).
pub(crate) fn is_zero(f: &Function, value: Value) -> bool {
    let Some(op) = f.def_op(value) else { return false };
    let data = &f.ops[op];
    match data.opcode {
        Opcode::TileCreate => true,
        Opcode::TExpandS => ir::builder::const_scalar(f, data.named("s")[0]).is_some_and(|s| s.bits == 0),
        _ => false,
    }
}

fn is_foldable(f: &Function, uses: &Uses, s: &Spaces, op: Op) -> bool {
    let data = &f.ops[op];
    if data.opcode != Opcode::TCvt || data.attrs.word("mode") != Some("rint") || data.attrs.bool("saturate") {
        return false;
    }
    let (source, result) = (data.named("a")[0], data.results[0]);
    let narrow =
        f.ty(source).element() == Some(DType::F32) && matches!(f.ty(result).element(), Some(DType::F16 | DType::BF16));
    let users = uses.of(result);
    narrow
        && s.home(source) == Place::Acc
        && !users.is_empty()
        && users.iter().all(|&u| f.ops[u].opcode == Opcode::Store && f.ops[u].attrs.get("atomic").is_none())
}

/// Sets of values joined by control flow.
struct Groups {
    sets: Vec<BTreeSet<Value>>,
}

impl Groups {
    fn new(joins: &Joins) -> Groups {
        let mut groups = Groups { sets: Vec::new() };
        let edges = joins.edges.iter().map(|e| (e.target, e.source));
        for (a, b) in edges.chain(joins.same.iter().copied()) {
            let mut merged = BTreeSet::from([a, b]);
            groups.sets.retain(|set| {
                let touches = set.contains(&a) || set.contains(&b);
                if touches {
                    merged.extend(set);
                }
                !touches
            });
            groups.sets.push(merged);
        }
        groups
    }

    fn members(&self, value: Value) -> BTreeSet<Value> {
        self.sets.iter().find(|s| s.contains(&value)).cloned().unwrap_or_else(|| BTreeSet::from([value]))
    }
}
