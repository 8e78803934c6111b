//! What fusion found, and what it saves: bytes that do not go through the scratchpad, once per execution of each group.
//!
//! A group is followed member by member with the values it has in registers: one that a member finds there is not
//! loaded, and one that nobody takes after the group, or that a member overwrites, is not stored.

use ir::effects::{Effects, Extent};
use ir::info::LAST_USE;
use ir::{Entity, Function, Op, Value};

use super::compute::{Tile, tiles};
use crate::bytes::Bytes;

/// Of one function, or of several.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    pub groups: usize,
    /// Operations in groups.
    pub ops: usize,
    /// Results that only their own group takes: they need not be stored.
    pub inner: usize,
    /// Bytes that one execution of each group does not store and does not load again, at least: of values that others
    /// need too, only the loads count, and extents that are not constants count as none.
    pub bytes_saved: u64,
    /// Bytes that the members would load and store one by one, in the same way.
    pub bytes: u64,
}

impl Statistics {
    pub fn add(&mut self, other: Statistics) {
        self.groups += other.groups;
        self.ops += other.ops;
        self.inner += other.inner;
        self.bytes_saved += other.bytes_saved;
        self.bytes += other.bytes;
    }
}

/// Of marked groups, which stand as they are listed.
pub(super) fn of(func: &Function, bytes: &Bytes, effects: &[Effects], groups: &[Vec<Op>]) -> Statistics {
    let mut all = Statistics { groups: groups.len(), ..Statistics::default() };
    for group in groups {
        all.ops += group.len();
        Registers { func, bytes, effects, values: Vec::new(), all: &mut all }.group(group);
    }
    all
}

/// A value that a group has in registers.
struct Held {
    tile: Tile,
    /// A member made it, and its result takes so many bytes.
    made: Option<u64>,
    /// Somebody in the group has taken it, and nobody will after the group.
    spent: bool,
}

struct Registers<'a> {
    func: &'a Function,
    bytes: &'a Bytes,
    effects: &'a [Effects],
    values: Vec<Held>,
    all: &'a mut Statistics,
}

impl Registers<'_> {
    fn group(mut self, group: &[Op]) {
        for &op in group {
            let last = self.func.ops[op].attrs.ints(LAST_USE).unwrap_or(&[]).to_vec();
            let tiles = tiles(self.func, op, self.bytes).into_iter().zip(last);
            let (read, written): (Vec<_>, Vec<_>) = tiles.partition(|(t, _)| t.reads);
            for (tile, last) in read {
                self.load(op, tile, last == 1);
            }
            for (tile, _) in written {
                self.store(op, tile);
            }
        }
        let inner = self.values.iter().filter(|held| held.spent).filter_map(|held| held.made);
        let inner: Vec<u64> = inner.collect();
        self.keep(&inner);
    }

    fn load(&mut self, op: Op, tile: Tile, last: bool) {
        let effects = &self.effects[op.index()];
        let elements = effects.reads.iter().find(|r| r.value == tile.value).and_then(|r| r.elements);
        let size = self.size(tile.value, elements.map(|e| (e.rows, e.cols)));
        self.all.bytes += size;
        match self.values.iter_mut().find(|held| held.tile.aligned(&tile, self.func)) {
            Some(held) => {
                held.spent |= last;
                self.all.bytes_saved += size;
            }
            None => self.values.push(Held { tile, made: None, spent: last }),
        }
    }

    fn store(&mut self, op: Op, tile: Tile) {
        let effects = &self.effects[op.index()];
        let elements = effects.write.as_ref().filter(|w| w.value == tile.value).and_then(|w| w.elements);
        let size = self.size(tile.value, elements.map(|e| (e.rows, e.cols)));
        self.all.bytes += size;
        // What is overwritten in the group was only for the group.
        let mut inner = Vec::new();
        self.values.retain(|held| {
            let gone = held.tile.meets(&tile.places);
            inner.extend(held.made.filter(|_| gone));
            !gone
        });
        self.keep(&inner);
        self.values.push(Held { tile, made: Some(size), spent: false });
    }

    /// Results that are not stored.
    fn keep(&mut self, sizes: &[u64]) {
        self.all.inner += sizes.len();
        self.all.bytes_saved += sizes.iter().sum::<u64>();
    }

    /// Bytes of the first rows and columns of a tile.
    fn size(&self, value: Value, elements: Option<(Extent, Extent)>) -> u64 {
        let number = |e: Extent| match e {
            Extent::Static(n) => Some(n),
            Extent::Dynamic(v) => u64::try_from(self.func.const_int(v)?).ok(),
            Extent::Unknown => None,
        };
        let of = || {
            let (rows, cols) = elements?;
            let size = self.func.ty(value).element()?.size() as u64;
            number(rows)?.checked_mul(number(cols)?)?.checked_mul(size)
        };
        of().unwrap_or(0)
    }
}
