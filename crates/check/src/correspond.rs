//! Which operations of two versions of a function are the same.
//!
//! Nothing that a pass says is believed. Values are *numbered*: operations without effects (scalar arithmetic, views,
//! tiles at an address) have one number per opcode, attributes and numbers of operands, in both versions, so that common
//! ones may be merged, moved or made anew. All others are matched one to one, block by block in corresponding regions: an
//! operation of the later version is one of the earlier version with equal opcode, attributes, operand numbers and types.
//! Where several are equal, the one with the same index or the same name of its result goes first, then program order
//! (for synchronisation: as many others before it).
//! A wrong choice among equals can only make two versions look different.
//!
//! Not compared: fusion marks, locations, scratch operands (`tmp`). Where a memory plan is judged, neither are addresses.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ir::info::{GROUP_ID, GROUP_ORDER, LAST_USE};
use ir::{Attr, Block, Entity, Function, Op, OpData, Opcode as C, Value};

use crate::access::FunctionAccesses;
use crate::reach::{Names, is_effect, is_sync};

/// What makes two versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Operations were moved, added, dropped.
    Moved,
    /// Tiles got addresses.
    Placed,
}

pub(crate) struct Correspondence {
    /// Per operation of the later version, by its index: its name.
    after: Vec<u32>,
    /// Of the earlier version: the partner.
    pub(crate) partner: Vec<Option<Op>>,
    /// Matched operations, in the order of the later version; those without effects are left out.
    pub(crate) pairs: Vec<(Op, Op)>,
    /// Operations of the later version that have no partner and are not without effects.
    pub(crate) added: Vec<Op>,
    /// Terminators that pass on other values than their partners.
    pub(crate) passes_on: Vec<(Op, Op)>,
}

impl Names for Correspondence {
    fn before(&self, op: Op) -> u32 {
        op.index() as u32
    }

    fn after(&self, op: Op) -> u32 {
        self.after[op.index()]
    }
}

/// A value's number; equal numbers are equal values.
type Number = u32;

struct Matcher<'a> {
    mode: Mode,
    before: Side<'a>,
    after: Side<'a>,
    /// By hash: operations without effects and the number of their first result.
    pure: HashMap<u64, Vec<(Version, Op, Number)>>,
    next: Number,
    out: Correspondence,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    Before,
    After,
}

struct Side<'a> {
    func: &'a Function,
    /// By operation index.
    pure: Vec<bool>,
    /// By value index.
    numbers: Vec<Number>,
}

impl<'a> Side<'a> {
    fn new(mode: Mode, func: &'a Function, accesses: &FunctionAccesses) -> Side<'a> {
        let mut pure = vec![false; func.ops.len()];
        for o in &accesses.ops {
            pure[o.op.index()] = is_pure(mode, &func.ops[o.op], o.accesses.is_empty());
        }
        Side { func, pure, numbers: vec![0; func.values.len()] }
    }
}

/// Whether an operation without accesses is only a name for its result.
fn is_pure(mode: Mode, data: &OpData, no_accesses: bool) -> bool {
    let made = match data.opcode {
        // A tile at an address is that address; one without is storage of its own.
        C::AllocTile | C::AllocTiles => mode == Mode::Moved && !data.named("addr").is_empty(),
        C::DeclareTile | C::DeclareGlobal => false,
        _ => true,
    };
    made && no_accesses
        && !data.results.is_empty()
        && data.regions.is_empty()
        && !data.opcode.is_terminator()
        && !is_effect(data)
}

pub(crate) fn correspond(
    mode: Mode,
    before: (&Function, &FunctionAccesses),
    after: (&Function, &FunctionAccesses),
) -> Correspondence {
    let first_free = before.0.ops.len() as u32;
    let mut matcher = Matcher {
        mode,
        before: Side::new(mode, before.0, before.1),
        after: Side::new(mode, after.0, after.1),
        pure: HashMap::new(),
        next: 1,
        out: Correspondence {
            after: (0..after.0.ops.len() as u32).map(|i| first_free + i).collect(),
            partner: vec![None; before.0.ops.len()],
            pairs: Vec::new(),
            added: Vec::new(),
            passes_on: Vec::new(),
        },
    };
    matcher.number(before.0.body);
    for (&b, &a) in before.0.param_values().iter().zip(after.0.param_values()) {
        matcher.after.numbers[a.index()] = matcher.before.numbers[b.index()];
    }
    matcher.blocks(before.0.body, after.0.body);
    matcher.out
}

impl Matcher<'_> {
    fn side(&self, version: Version) -> &Side<'_> {
        match version {
            Version::Before => &self.before,
            Version::After => &self.after,
        }
    }

    fn fresh(&mut self) -> Number {
        self.next += 1;
        self.next - 1
    }

    /// Numbers the values of the earlier version.
    fn number(&mut self, block: Block) {
        let func = self.before.func;
        for &arg in &func.blocks[block].args {
            self.before.numbers[arg.index()] = self.fresh();
        }
        for &op in &func.blocks[block].ops {
            if self.before.pure[op.index()] {
                self.intern(Version::Before, op);
                continue;
            }
            for &result in &func.ops[op].results {
                self.before.numbers[result.index()] = self.fresh();
            }
            for &region in &func.ops[op].regions {
                self.number(region);
            }
        }
    }

    /// Numbers the results of an operation without effects.
    fn intern(&mut self, version: Version, op: Op) {
        let hash = self.hash(version, op);
        let known = self.pure.get(&hash).and_then(|list| {
            list.iter().find(|&&(v, other, _)| self.equal(version, op, v, other)).map(|&(_, _, number)| number)
        });
        let results = &self.side(version).func.ops[op].results;
        let count = results.len() as u32;
        let results = results.clone();
        let first = known.unwrap_or_else(|| {
            let first = self.next;
            self.next += count;
            self.pure.entry(hash).or_default().push((version, op, first));
            first
        });
        let side = match version {
            Version::Before => &mut self.before,
            Version::After => &mut self.after,
        };
        for (i, result) in results.iter().enumerate() {
            side.numbers[result.index()] = first + i as u32;
        }
    }

    /// Matches the operations of corresponding blocks.
    fn blocks(&mut self, before: Block, after: Block) {
        let (old, new) = (self.before.func, self.after.func);
        let mut candidates: HashMap<u64, Vec<Op>> = HashMap::new();
        // Synchronisation has no operands to tell it by, and passes add it: how many others stand before it.
        let mut places: HashMap<Op, u32> = HashMap::new();
        let mut seen = 0;
        for &op in &old.blocks[before].ops {
            if !self.before.pure[op.index()] {
                candidates.entry(self.hash(Version::Before, op)).or_default().push(op);
                if is_sync(&old.ops[op]) {
                    places.insert(op, seen);
                } else {
                    seen += 1;
                }
            }
        }
        seen = 0;
        for &op in &new.blocks[after].ops {
            if self.after.pure[op.index()] {
                self.intern(Version::After, op);
                continue;
            }
            let data = &new.ops[op];
            if data.opcode.is_terminator() {
                self.terminators(before, op);
                continue;
            }
            let hash = self.hash(Version::After, op);
            let list = candidates.get(&hash).map_or(&[][..], |v| v);
            let equal = |b: &&Op| self.equal(Version::After, op, Version::Before, **b);
            let name = |f: &Function, o: Op| f.ops[o].result().and_then(|v| f.values[v].name.clone());
            let own = name(new, op);
            let open = || list.iter().filter(|b| self.out.partner[b.index()].is_none()).filter(equal);
            let synced = is_sync(data);
            // One that has the same index belongs to that.
            let claimed = |b: &&Op| {
                let same = (b.index() < new.ops.len()).then(|| &new.ops[**b]);
                **b != op
                    && same.is_some_and(|d| d.opcode == data.opcode && d.block == data.block && d.attrs == data.attrs)
            };
            let found = open()
                .find(|b| b.index() == op.index() && name(old, **b) == own)
                .or_else(|| own.as_ref().and_then(|_| open().find(|b| name(old, **b) == own)))
                .or_else(|| open().find(|b| synced && places.get(*b) == Some(&seen)))
                .or_else(|| open().find(|b| !(synced && claimed(b))))
                .copied();
            seen += u32::from(!synced && found.is_some());
            match found {
                Some(partner) => self.pair(partner, op),
                None => {
                    self.out.added.push(op);
                    for &result in &data.results {
                        self.after.numbers[result.index()] = self.fresh();
                    }
                    for &region in &data.regions {
                        self.alone(region);
                    }
                }
            }
        }
    }

    fn pair(&mut self, before: Op, after: Op) {
        self.out.partner[before.index()] = Some(after);
        self.out.after[after.index()] = before.index() as u32;
        self.out.pairs.push((before, after));
        let (old, new) = (self.before.func, self.after.func);
        for (b, a) in old.ops[before].results.iter().zip(&new.ops[after].results) {
            self.after.numbers[a.index()] = self.before.numbers[b.index()];
        }
        for (&b, &a) in old.ops[before].regions.iter().zip(&new.ops[after].regions) {
            for (x, y) in old.blocks[b].args.iter().zip(&new.blocks[a].args) {
                self.after.numbers[y.index()] = self.before.numbers[x.index()];
            }
            self.blocks(b, a);
        }
    }

    /// The end of a block: its partner is the end of the other.
    fn terminators(&mut self, before: Block, after: Op) {
        let Some(&end) = self.before.func.blocks[before].ops.last() else { return };
        self.out.partner[end.index()] = Some(after);
        self.out.after[after.index()] = end.index() as u32;
        let (old, new) = (&self.before.func.ops[end], &self.after.func.ops[after]);
        let number = |v: &Value, side: &Side| side.numbers[v.index()];
        let same = old.opcode == new.opcode
            && old.operands.len() == new.operands.len()
            && old.operands.iter().zip(&new.operands).all(|(b, a)| number(b, &self.before) == number(a, &self.after));
        if !same {
            self.out.passes_on.push((end, after));
        }
    }

    /// A region that the earlier version does not have.
    fn alone(&mut self, block: Block) {
        let func = self.after.func;
        for &arg in &func.blocks[block].args {
            self.after.numbers[arg.index()] = self.fresh();
        }
        for &op in &func.blocks[block].ops {
            if self.after.pure[op.index()] {
                self.intern(Version::After, op);
                continue;
            }
            let data = &func.ops[op];
            for &result in &data.results {
                self.after.numbers[result.index()] = self.fresh();
            }
            if !data.opcode.is_terminator() {
                self.out.added.push(op);
            }
            for &region in &data.regions {
                self.alone(region);
            }
        }
    }

    fn hash(&self, version: Version, op: Op) -> u64 {
        let side = self.side(version);
        let data = &side.func.ops[op];
        let mut hasher = DefaultHasher::new();
        data.opcode.hash(&mut hasher);
        for v in self.compared(data) {
            side.numbers[v.index()].hash(&mut hasher);
        }
        for (name, attr) in attributes(data, self.mode) {
            name.hash(&mut hasher);
            match attr {
                Attr::Int(n) => n.hash(&mut hasher),
                Attr::Float(x) => x.to_bits().hash(&mut hasher),
                Attr::Bool(b) => b.hash(&mut hasher),
                Attr::Word(w) | Attr::Text(w) => w.hash(&mut hasher),
                Attr::Ints(list) => list.hash(&mut hasher),
                // Compared, not hashed.
                Attr::Type(_) | Attr::Symbols(_) => {}
            }
        }
        hasher.finish()
    }

    /// The operands and destinations by which operations are told apart.
    fn compared<'d>(&self, data: &'d OpData) -> impl Iterator<Item = Value> + 'd {
        let mode = self.mode;
        let groups = data.opcode.info().operands.iter().enumerate();
        let groups = groups.filter(move |(_, o)| o.name != "tmp" && !(mode == Mode::Placed && address(data, o.name)));
        groups.flat_map(|(i, _)| data.group(i)).chain(&data.dests).copied()
    }

    fn equal(&self, v: Version, a: Op, w: Version, b: Op) -> bool {
        let (x, y) = (self.side(v), self.side(w));
        let (p, q) = (&x.func.ops[a], &y.func.ops[b]);
        if p.opcode != q.opcode || p.results.len() != q.results.len() || p.dests.len() != q.dests.len() {
            return false;
        }
        let numbers = |data, side: &Side| self.compared(data).map(|v| side.numbers[v.index()]).collect::<Vec<_>>();
        let groups = |data: &OpData| {
            let infos = data.opcode.info().operands.iter().zip(&data.segments);
            infos.filter(|(o, _)| o.name != "tmp" && !address(data, o.name)).map(|(_, n)| *n).collect::<Vec<_>>()
        };
        let attrs = |data| {
            let mut all: Vec<_> = attributes(data, self.mode).collect();
            all.sort_by_key(|(name, _)| *name);
            all.into_iter().map(|(n, a)| (n, a.clone())).collect::<Vec<_>>()
        };
        let result_types = p.results.iter().zip(&q.results).all(|(&r, &s)| x.func.ty(r) == y.func.ty(s));
        result_types && groups(p) == groups(q) && numbers(p, x) == numbers(q, y) && attrs(p) == attrs(q)
    }
}

/// Attributes that say what an operation means.
fn attributes(data: &OpData, mode: Mode) -> impl Iterator<Item = (&'static str, &Attr)> {
    let placed = mode == Mode::Placed && data.opcode == C::ReserveBuffer;
    data.attrs.iter().filter(move |(name, _)| {
        let mark = [GROUP_ID, GROUP_ORDER, LAST_USE].contains(name);
        let decided = placed && ["base", "auto"].contains(name);
        !mark && !decided
    })
}

/// Whether a group is the address of an allocation.
fn address(data: &OpData, group: &str) -> bool {
    group == "addr" && matches!(data.opcode, C::AllocTile | C::AllocTiles)
}
