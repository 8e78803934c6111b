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
//! 16-bit float are such stores and untransposed operands of products, the conversion is done on the way out of the
//! accumulator (semantics rule 9: the bits agree).
//!
//! A product that has no accumulator as a whole ([`crate::sums`]) has its home in Vec if vector work uses it, else nowhere:
//! its stores make it.
//!
//! Where an accumulator would have to be copied, [`Detours`] say what to do instead.

use std::collections::{BTreeMap, BTreeSet};

use chip::Arch;
use diag::Diagnostic;
use ir::{Block, Def, Function, Op, Opcode, Type, Value};

use crate::Fail;
use crate::captures::ops_in;
use crate::phi::Joins;
use crate::sums::{is_narrowing, is_on_cube, is_sum, pieced};
use crate::tile::Place;
use crate::uses::{self, Uses};

/// Ways around copies of accumulators, which the machine does not have. All keep the bits.
#[derive(Clone, Default, Debug)]
pub(crate) struct Detours {
    /// Products that are moved to Vec when they are made, and stored from there: the accumulator is free at once.
    spilled: BTreeSet<Value>,
    /// `matmul_acc`s that make their sum from all of its terms in an accumulator of its own.
    remade: BTreeSet<Op>,
    /// Joins (target, source) that make the source again in the target's accumulator.
    assigned: BTreeSet<(Value, Value)>,
    /// Joined names that are kept in Vec although only products flow into them.
    vector: BTreeSet<Value>,
    /// Sums that are made in pieces because other accumulators leave no room.
    crowded: BTreeSet<Value>,
}

/// Two accumulators that would have to be one, or be copied.
#[derive(Debug)]
pub(crate) struct Conflict {
    pub(crate) at: At,
    /// The names that share the accumulator, in the way of each other.
    pub(crate) values: BTreeSet<Value>,
    pub(crate) fail: Fail,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum At {
    /// A `matmul_acc` whose accumulator is used after it.
    Sum(Op),
    /// A join of `target` and `source`.
    Join { target: Value, source: Value },
}

impl Detours {
    /// Takes the largest of `values`, which have no room in Acc together, out of it. Whether there was one.
    pub(crate) fn thin(&mut self, f: &Function, joins: &Joins, values: &BTreeSet<Value>) -> bool {
        let groups = Groups::new(joins);
        let bytes = |v: Value| f.ty(v).as_tile().map_or(0, ir::TileType::bytes);
        let free = |&v: &Value| is_sum(f, v) && groups.members(v).len() == 1 && !self.crowded.contains(&v);
        let largest = values.iter().copied().filter(free).max_by_key(|&v| bytes(v));
        self.crowded.extend(largest);
        largest.is_some()
    }

    /// Takes a way around a conflict that was not taken yet. The conflict's error if there is none.
    pub(crate) fn avoid(
        &mut self,
        f: &Function,
        joins: &Joins,
        uses: &Uses,
        spaces: &Spaces,
        conflict: Conflict,
    ) -> Result<(), Fail> {
        let stored =
            |v: Value| uses.of(v).iter().any(|&op| f.ops[op].opcode == Opcode::Store || spaces.folded.contains(&op));
        let spill: Vec<Value> = (conflict.values.iter().copied())
            .filter(|&v| spaces.home(v) == Place::Acc && !self.spilled.contains(&v) && stored(v))
            .collect();
        if !spill.is_empty() {
            self.spilled.extend(spill);
            return Ok(());
        }
        let is_new = match conflict.at {
            At::Sum(op) => is_sum(f, f.ops[op].results[0]) && self.remade.insert(op),
            At::Join { target, source } if is_sum(f, source) => self.assigned.insert((target, source)),
            At::Join { target, .. } => {
                let members = Groups::new(joins).members(target);
                let continued = |v: Value| {
                    let adds = |&op: &Op| f.ops[op].opcode == Opcode::TMatmulAcc && f.ops[op].named("acc")[0] == v;
                    uses.of(v).iter().any(adds)
                };
                !members.iter().any(|&v| continued(v)) && !members.is_subset(&self.vector) && {
                    self.vector.extend(members);
                    true
                }
            }
        };
        if is_new { Ok(()) } else { Err(conflict.fail) }
    }
}

#[derive(Debug)]
pub(crate) struct Spaces {
    pub(crate) home: BTreeMap<Value, Place>,
    /// Where the users of a value want it.
    pub(crate) needs: BTreeMap<Value, BTreeSet<Place>>,
    /// Conversions that are done on the way out of the accumulator.
    pub(crate) folded: BTreeSet<Op>,
    pieced: BTreeSet<Value>,
    detours: Detours,
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

    /// Whether a product has no accumulator as a whole.
    pub(crate) fn is_pieced(&self, value: Value) -> bool {
        self.pieced.contains(&value)
    }

    /// Whether there is little room in Acc.
    pub(crate) fn is_crowded(&self) -> bool {
        !self.detours.crowded.is_empty()
    }

    /// Where a store takes a value from.
    pub(crate) fn stored_from(&self, value: Value) -> Place {
        if self.home(value) == Place::Acc && !self.detours.spilled.contains(&value) { Place::Acc } else { Place::Vec }
    }

    /// Whether a `matmul_acc` makes its accumulator again.
    pub(crate) fn is_remade(&self, op: Op) -> bool {
        self.detours.remade.contains(&op)
    }

    /// Whether a join makes the source again in the accumulator of the target.
    pub(crate) fn is_assigned(&self, target: Value, source: Value) -> bool {
        self.detours.assigned.contains(&(target, source))
    }

    /// The tile values whose home `op` reads. Other operands were moved elsewhere when they were made.
    pub(crate) fn reads(&self, f: &Function, op: Op) -> Vec<Value> {
        let data = &f.ops[op];
        let mut read = Vec::new();
        for &v in data.operands.iter().filter(|&&v| matches!(f.ty(v), Type::Tile(_))) {
            let folded = f.def_op(v).filter(|def| self.folded.contains(def));
            let source = folded.map_or(v, |def| f.ops[def].named("a")[0]);
            let from_acc = match data.opcode {
                Opcode::Store => self.stored_from(source) == Place::Acc,
                Opcode::TMatmulAcc => v == data.named("acc")[0] && !self.is_remade(op),
                Opcode::TCvt => {
                    let mut needs = self.needs(data.results[0]);
                    self.folded.contains(&op) && needs.any(|p| p != Place::Vec && p != Place::Acc)
                }
                _ => false,
            };
            if self.home(source) == Place::Acc {
                if from_acc && !self.is_pieced(source) {
                    read.push(source);
                }
            } else if !self.folded.contains(&op) {
                read.push(v);
            }
        }
        read
    }

    /// Where the operation that makes a value puts it; a load that goes to several places is kept here under its name.
    pub(crate) fn home(&self, value: Value) -> Place {
        self.home.get(&value).copied().unwrap_or(Place::Vec)
    }
}

pub(crate) fn assign(
    f: &Function,
    region: Block,
    joins: &Joins,
    uses: &Uses,
    arch: Arch,
    detours: &Detours,
) -> Result<Spaces, Fail> {
    let ops = ops_in(f, region);
    let groups = Groups::new(joins);
    // What is changed in place must be where a program can write single elements: in Vec.
    let changed: BTreeSet<Value> = ops.iter().flat_map(|&op| &f.ops[op].dests).copied().collect();
    let mut s = Spaces {
        home: BTreeMap::new(),
        needs: BTreeMap::new(),
        folded: BTreeSet::new(),
        pieced: pieced(f, &ops, arch, |v| groups.members(v).len() > 1, &changed, &detours.crowded),
        detours: detours.clone(),
        cube: false,
        vector: false,
    };
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
        let kept_out = members.iter().any(|v| changed.contains(v) || detours.vector.contains(v));
        let in_acc = !elsewhere && wanted && possible && !kept_out;
        // A pieced product is put together where vector work wants it.
        let together = s.is_pieced(value) && !uses.of(value).iter().all(|&op| is_on_cube(f, uses, op, value));
        let acc = (in_acc || product(value)) && !together;
        s.home.insert(value, if acc { Place::Acc } else { Place::Vec });
    }
    for &op in &ops {
        if is_narrowing(f, uses, op) && s.stored_from(f.ops[op].named("a")[0]) == Place::Acc {
            s.folded.insert(op);
        }
    }
    for &op in &ops {
        let data = &f.ops[op];
        if s.folded.contains(&op) {
            s.need(data.named("a")[0], Place::Acc);
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
                    if s.home(acc) != Place::Acc && (!s.is_pieced(acc) || changed.contains(&acc)) {
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
                let place = s.stored_from(source);
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
