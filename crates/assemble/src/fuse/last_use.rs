//! Which operands are used for the last time.
//!
//! Backward over the structured control flow, to a fixed point at loops: which bytes of each memory may still be read.
//! They are bytes, so a tile declared over another one's address keeps it alive, and a loop's next turn counts. Where it
//! is not known how much of a tile is read, all of it is; where it is not known how much is written, none of it is
//! overwritten. At the end of a function scratchpads are dead, unless somebody called it with tiles.

use std::collections::BTreeMap;

use ir::effects::{Effects, Extent};
use ir::{Block, Function, Major, Op, Opcode as C, Value};

use crate::bytes::{ByteBox, Bytes, Footprint, Memory, Place};

/// Disjoint ranges of bytes, ascending.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    fn add(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        // Those that touch it become one.
        let first = self.0.partition_point(|&(_, e)| e < start);
        let last = self.0.partition_point(|&(s, _)| s <= end);
        let all = self.0[first..last].iter().fold((start, end), |(s, e), r| (s.min(r.0), e.max(r.1)));
        self.0.splice(first..last, [all]);
    }

    fn remove(&mut self, start: u64, end: u64) {
        let first = self.0.partition_point(|&(_, e)| e <= start);
        let last = self.0.partition_point(|&(s, _)| s < end);
        if first >= last {
            return;
        }
        let (before, after) = ((self.0[first].0, start), (end, self.0[last - 1].1));
        self.0.splice(first..last, [before, after].into_iter().filter(|(s, e)| s < e));
    }

    fn meets(&self, start: u64, end: u64) -> bool {
        self.0.get(self.0.partition_point(|&(_, e)| e <= start)).is_some_and(|&(s, _)| s < end)
    }
}

/// Bytes that may still be read, of memories on the core.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Live(BTreeMap<Memory, Ranges>);

/// From the first to the last byte of a place.
fn hull(place: &Place) -> (u64, u64) {
    match place.bytes {
        Footprint::Box(b) => (b.start, b.end()),
        Footprint::Any => (0, u64::MAX),
    }
}

impl Live {
    fn add(&mut self, place: &Place) {
        if !place.memory.is_global() {
            let (start, end) = hull(place);
            self.0.entry(place.memory).or_default().add(start, end);
        }
    }

    fn add_all(&mut self, other: &Live) {
        for (&memory, ranges) in &other.0 {
            let own = self.0.entry(memory).or_default();
            for &(start, end) in &ranges.0 {
                own.add(start, end);
            }
        }
    }

    fn remove(&mut self, memory: Memory, b: &ByteBox) {
        /// Of more rows than these nothing is taken out: the pieces would be too many.
        const MAX_ROWS: u64 = 64;
        let Some(ranges) = self.0.get_mut(&memory) else { return };
        if b.rows <= MAX_ROWS {
            for row in 0..b.rows {
                let start = b.start.saturating_add(row.saturating_mul(b.pitch));
                ranges.remove(start, start.saturating_add(b.width));
            }
        }
        if ranges.0.is_empty() {
            self.0.remove(&memory);
        }
    }

    fn meets(&self, place: &Place) -> bool {
        let (start, end) = hull(place);
        place.memory.is_global() || self.0.get(&place.memory).is_some_and(|r| r.meets(start, end))
    }
}

struct LastUses<'a> {
    func: &'a Function,
    bytes: &'a Bytes,
    effects: &'a [Effects],
    /// For each operation that is asked for: its bits.
    bits: BTreeMap<Op, Vec<i64>>,
}

/// For each of these operations, a number per tile: operands in order, then destinations. 1 where what an operand holds
/// is not read again, on any path, before it is overwritten.
pub(super) fn last_uses(func: &Function, bytes: &Bytes, effects: &[Effects], of: &[Op]) -> BTreeMap<Op, Vec<i64>> {
    let bits = of.iter().map(|&op| (op, Vec::new())).collect();
    let mut uses = LastUses { func, bytes, effects, bits };
    let mut live = Live::default();
    for &param in func.param_values() {
        for place in bytes.places(param) {
            live.add(place);
        }
    }
    uses.block(func.body, &mut live);
    uses.bits
}

impl LastUses<'_> {
    /// From what is live behind a block to what is live before it.
    fn block(&mut self, block: Block, live: &mut Live) {
        let func = self.func;
        for &op in func.blocks[block].ops.iter().rev() {
            self.op(op, live);
        }
    }

    fn op(&mut self, op: Op, live: &mut Live) {
        let func = self.func;
        let data = &func.ops[op];
        match data.opcode {
            C::If => {
                let behind = live.clone();
                live.0.clear();
                for &region in &data.regions {
                    let mut branch = behind.clone();
                    self.block(region, &mut branch);
                    live.add_all(&branch);
                }
            }
            // Once round for what is live at its end and nothing else, and again for what its start needs.
            C::For => loop {
                let before = live.clone();
                let mut turn = live.clone();
                self.block(data.regions[0], &mut turn);
                live.add_all(&turn);
                if *live == before {
                    break;
                }
            },
            C::While => loop {
                let before = live.clone();
                // The body is left to the head, and the head to the body or to what is behind the loop.
                for region in [data.regions[1], data.regions[0]] {
                    let mut turn = live.clone();
                    self.block(region, &mut turn);
                    live.add_all(&turn);
                }
                if *live == before {
                    break;
                }
            },
            _ if !data.regions.is_empty() => {
                for &region in data.regions.iter().rev() {
                    self.block(region, live);
                }
            }
            C::AllocTile => {
                // Storage of its own begins to exist here.
                if let [Place { memory: memory @ Memory::Tile(_), .. }] = self.bytes.places(data.results[0]) {
                    live.0.remove(memory);
                }
            }
            _ => self.access(op, live),
        }
    }

    fn access(&mut self, op: Op, live: &mut Live) {
        let data = &self.func.ops[op];
        if let Some(write) = &self.effects[ir::Entity::index(op)].write
            && let [place] = self.bytes.places(write.value)
            && let Some(elements) = write.elements
            && let Some(written) = self.exactly(write.value, place, elements.rows, elements.cols)
        {
            live.remove(place.memory, &written);
        }
        if self.bits.contains_key(&op) {
            let mut bits = Vec::new();
            for (group, operand) in data.opcode.info().operands.iter().enumerate() {
                for &value in data.group(group).iter().filter(|&&v| self.func.ty(v).as_tile().is_some()) {
                    let places = self.bytes.places(value);
                    let again = places.is_empty() || places.iter().any(|p| live.meets(p));
                    bits.push(i64::from(operand.name != "tmp" && !again));
                }
            }
            bits.extend(data.dests.iter().filter(|&&d| self.func.ty(d).as_tile().is_some()).map(|_| 0));
            self.bits.insert(op, bits);
        }
        let touch = self.bytes.of(op);
        for place in &touch.reads {
            live.add(place);
        }
        // Whoever is called may read what it gets, and so may the other end of a FIFO.
        if touch.fence {
            for place in touch.changed() {
                live.add(place);
            }
        }
    }

    /// The bytes of the first elements of a tile that lies at `place`, if they are known.
    fn exactly(&self, value: Value, place: &Place, rows: Extent, cols: Extent) -> Option<ByteBox> {
        let number = |e: Extent| match e {
            Extent::Static(n) => Some(n),
            Extent::Dynamic(v) => u64::try_from(self.func.const_int(v)?).ok(),
            Extent::Unknown => None,
        };
        let ty = self.func.ty(value).as_tile()?;
        let (rows, cols) = (number(rows)?, number(cols)?);
        let Footprint::Box(whole) = place.bytes else { return None };
        if ty.layout.slayout.is_some() || ty.layout.compact == ir::Compact::RowPlusOne {
            return ((rows, cols) == (ty.rows(), ty.cols())).then_some(whole);
        }
        let (lines, along, length) = match ty.layout.blayout {
            Major::Row => (rows, cols, ty.cols()),
            Major::Col => (cols, rows, ty.rows()),
        };
        let size = ty.dtype.size() as u64;
        // Lines that lie together are one row of the box.
        let pitch = if whole.rows == 1 { length.checked_mul(size)? } else { whole.pitch };
        Some(ByteBox::new(whole.start, lines, pitch, along.checked_mul(size)?))
    }
}
