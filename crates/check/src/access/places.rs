//! Where tile values lie.
//!
//! Descriptors of a buffer (`subview`, `treshape`, `bitcast`, `multi_tile_get`, `tassign`) have places in it; results and
//! arguments of regions have those of all values that reach them. Places of one value are kept apart by their root, also
//! if they are the same bytes: which of them counts depends on the path.

use std::collections::{BTreeMap, BTreeSet};

use chip::Space;
use ir::{Block, Compact, Entity, Function, Major, Op, OpData, Opaque, Opcode as C, TileType, Type, Value};

use super::Memory;

/// One place that a tile may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) memory: Memory,
    /// The value that allocates it.
    pub(super) root: Value,
    /// First byte and number of bytes that the tile may reach; `None`: anywhere in the memory.
    pub(super) range: Option<(u64, u64)>,
    /// Bytes from one row (column, if column-major) to the next; `None` where the tile is only known to be in the range.
    pub(super) pitch: Option<u64>,
    /// The tile starts at the start of the range, and the range is its own.
    pub(super) exact: bool,
}

#[derive(Debug)]
pub(super) struct Places {
    by_value: Vec<Vec<Place>>,
    /// Values whose allocation's extents some `set_validshape` changes, by that allocation.
    pub(super) restated: BTreeSet<Value>,
    /// By popped value: space, first byte and bytes of the FIFO's slots.
    pub(super) slots: BTreeMap<Value, (Space, u64, u64)>,
    /// Popped values, by the FIFO that they come from.
    popped: BTreeMap<Fifo, Vec<Value>>,
}

/// A FIFO, as its pops and frees name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fifo {
    /// From the cube core, or from the vector cores, by id.
    FromCube(i64),
    FromVector(i64),
    Pipe(Value),
}

impl Places {
    pub(super) fn new(func: &Function) -> Places {
        let mut places = Places {
            by_value: vec![Vec::new(); func.values.len()],
            restated: BTreeSet::new(),
            slots: BTreeMap::new(),
            popped: BTreeMap::new(),
        };
        for &value in func.param_values() {
            if let Some(space) = func.ty(value).as_tile().and_then(|t| t.space) {
                let memory = Memory::Space(space);
                places.by_value[value.index()] =
                    vec![Place { memory, root: value, range: None, pitch: None, exact: false }];
            }
        }
        let ops = func.walk();
        // Operations come before those of their regions: what leaves a region needs another round.
        let around = |op: &Op| {
            let data = &func.ops[*op];
            !data.regions.is_empty() && data.results.iter().any(|&v| func.ty(v).as_tile().is_some())
        };
        let rounds = ops.iter().any(around);
        loop {
            let mut changed = false;
            for &op in &ops {
                changed |= places.transfer(func, op);
            }
            if !changed || !rounds {
                break;
            }
        }
        for &op in &ops {
            places.note(func, op);
        }
        places
    }

    pub(super) fn of(&self, value: Value) -> &[Place] {
        &self.by_value[value.index()]
    }

    /// The tiles that a `tfree` may give back.
    pub(super) fn popped_like(&self, func: &Function, free: &OpData) -> &[Value] {
        fifo(func, free).and_then(|f| self.popped.get(&f)).map_or(&[], |v| v)
    }

    fn transfer(&mut self, func: &Function, op: Op) -> bool {
        let data = &func.ops[op];
        let Some(&result) = data.results.first() else {
            // Loops without results have no carried tiles.
            return false;
        };
        match data.opcode {
            C::AllocTile | C::AllocTiles => {
                let (space, bytes, ty) = match func.ty(result) {
                    Type::Tile(t) => (t.space, t.bytes(), t),
                    Type::Opaque(Opaque::Tiles { tile, count }) => {
                        (tile.space, tile.bytes().saturating_mul(*count), tile)
                    }
                    _ => return false,
                };
                let Some(space) = space else { return false };
                let pitch = pitch(ty);
                let place = match data.named("addr").first() {
                    None => Place {
                        memory: Memory::Root(result),
                        root: result,
                        range: Some((0, bytes)),
                        pitch,
                        exact: true,
                    },
                    Some(&addr) => at(func, result, space, addr, bytes, pitch),
                };
                self.add(result, [place])
            }
            C::TAssign => {
                let Some(ty) = func.ty(result).as_tile() else { return false };
                let Some(space) = ty.space else { return false };
                let place = at(func, result, space, data.named("addr")[0], ty.bytes(), pitch(ty));
                self.add(result, [place])
            }
            C::DeclareTile | C::TPopFromAic | C::TPopFromAiv => {
                let Some(ty) = func.ty(result).as_tile() else { return false };
                let (memory, range) = (Memory::Slots(result), Some((0, ty.bytes())));
                self.add(result, [Place { memory, root: result, range, pitch: pitch(ty), exact: true }])
            }
            C::TilesGet => {
                let (tiles, index) = (data.named("tiles")[0], data.named("index")[0]);
                let Type::Opaque(Opaque::Tiles { tile, count }) = func.ty(tiles) else { return false };
                let bytes = tile.bytes();
                let slots = match func.const_int(index).and_then(|i| u64::try_from(i).ok()) {
                    Some(i) => i..i.saturating_add(1),
                    None => 0..*count,
                };
                let pitch = pitch(tile);
                let mut places = Vec::new();
                for place in &self.by_value[tiles.index()] {
                    for slot in slots.clone() {
                        let start = |(start, _): (u64, u64)| (start.saturating_add(slot.saturating_mul(bytes)), bytes);
                        places.push(Place { range: place.range.map(start), pitch, ..*place });
                    }
                }
                self.add(result, places)
            }
            C::Subview => {
                let (tile, row, col) = (data.named("tile")[0], data.named("row")[0], data.named("col")[0]);
                let (Some(from), Some(to)) = (func.ty(tile).as_tile(), func.ty(result).as_tile()) else { return false };
                let offset = |v| func.const_int(v).and_then(|n| u64::try_from(n).ok());
                let window = offset(row).zip(offset(col));
                let places: Vec<_> =
                    self.by_value[tile.index()].iter().map(|place| subview(*place, from, to, window)).collect();
                self.add(result, places)
            }
            C::TReshape | C::Bitcast => {
                let source = data.named("source")[0];
                let (Some(from), Some(to)) = (func.ty(source).as_tile(), func.ty(result).as_tile()) else {
                    return false;
                };
                let places: Vec<_> =
                    self.by_value[source.index()].iter().map(|place| reshaped(*place, from, to)).collect();
                self.add(result, places)
            }
            C::Select => {
                let mut places = Vec::new();
                for &v in &data.operands {
                    places.extend_from_slice(&self.by_value[v.index()]);
                }
                self.add(result, places)
            }
            C::If => {
                let mut changed = false;
                for &region in &data.regions {
                    changed |= self.flow(passed_on(func, region), &data.results);
                }
                changed
            }
            C::For => {
                let body = data.regions[0];
                let args = func.blocks[body].args.get(1..).unwrap_or(&[]);
                self.flow(data.named("init"), args)
                    | self.flow(passed_on(func, body), args)
                    | self.flow(args, &data.results)
            }
            C::While => {
                let (head, body) = (data.regions[0], data.regions[1]);
                let forwarded = passed_on(func, head);
                let args = &func.blocks[head].args;
                self.flow(data.named("init"), args)
                    | self.flow(passed_on(func, body), args)
                    | self.flow(forwarded, &func.blocks[body].args)
                    | self.flow(forwarded, &data.results)
            }
            _ => false,
        }
    }

    fn flow(&mut self, from: &[Value], to: &[Value]) -> bool {
        let mut changed = false;
        for (&f, &t) in from.iter().zip(to) {
            if self.by_value[f.index()].is_empty() {
                continue;
            }
            let places = self.by_value[f.index()].clone();
            changed |= self.add(t, places);
        }
        changed
    }

    fn add(&mut self, value: Value, places: impl IntoIterator<Item = Place>) -> bool {
        let mut changed = false;
        let known = &mut self.by_value[value.index()];
        for place in places {
            if !known.contains(&place) {
                known.push(place);
                changed = true;
            }
        }
        changed
    }

    fn note(&mut self, func: &Function, op: Op) {
        let data = &func.ops[op];
        match data.opcode {
            C::SetValidShape => {
                for &value in data.operands.iter().chain(&data.dests) {
                    self.restated.extend(self.by_value[value.index()].iter().map(|p| p.root));
                }
            }
            C::TPopFromAic | C::TPopFromAiv | C::TPop => {
                let popped = if data.opcode == C::TPop { data.named("entry").first() } else { data.results.first() };
                if let (Some(&value), Some(fifo)) = (popped, fifo(func, data)) {
                    self.popped.entry(fifo).or_default().push(value);
                    if let Some(range) = reserved(func, fifo) {
                        self.slots.insert(value, range);
                    }
                }
            }
            _ => {}
        }
    }
}

fn fifo(func: &Function, data: &OpData) -> Option<Fifo> {
    let id = data.attrs.int("id").unwrap_or(0);
    match data.opcode {
        C::TPopFromAic | C::TFreeFromAic => Some(Fifo::FromCube(id)),
        C::TPopFromAiv | C::TFreeFromAiv => Some(Fifo::FromVector(id)),
        C::TPop | C::TFree => {
            data.operands.iter().find(|&&v| func.ty(v) == &Type::Opaque(Opaque::Pipe)).copied().map(Fifo::Pipe)
        }
        _ => None,
    }
}

/// The reserved buffer of a FIFO that this core pops from, if its address is known.
fn reserved(func: &Function, fifo: Fifo) -> Option<(Space, u64, u64)> {
    let (id, buffer) = match fifo {
        Fifo::FromCube(id) => (id, "c2v_consumer_buf"),
        Fifo::FromVector(id) => (id, "v2c_consumer_buf"),
        Fifo::Pipe(_) => return None,
    };
    let is_init = |op: &OpData| {
        matches!(op.opcode, C::AicInitializePipe | C::AivInitializePipe) && op.attrs.int("id").unwrap_or(0) == id
    };
    let (_, init) = func.ops.iter().find(|(_, op)| is_init(op))?;
    let reserve = &func.ops[func.def_op(*init.named(buffer).first()?)?];
    if reserve.opcode != C::ReserveBuffer {
        return None;
    }
    let number = |name| reserve.attrs.int(name).and_then(|n| u64::try_from(n).ok());
    Some((reserve.attrs.word("location")?.parse().ok()?, number("base")?, number("size")?))
}

/// A tile at an address that is an operand.
fn at(func: &Function, root: Value, space: Space, addr: Value, bytes: u64, pitch: Option<u64>) -> Place {
    let memory = Memory::Space(space);
    match func.const_int(addr).and_then(|n| u64::try_from(n).ok()) {
        Some(start) => Place { memory, root, range: Some((start, bytes)), pitch, exact: true },
        None => Place { memory, root, range: None, pitch: None, exact: false },
    }
}

/// Bytes from one row (or column) of a whole buffer to the next, if its layout has no boxes.
fn pitch(ty: &TileType) -> Option<u64> {
    if ty.layout.slayout.is_some() {
        return None;
    }
    let minor = if ty.layout.blayout == Major::Row { ty.cols() } else { ty.rows() };
    let gap = u64::from(ty.layout.compact == Compact::RowPlusOne);
    (minor.checked_add(gap)?).checked_mul(ty.dtype.size() as u64)
}

/// Somewhere in the range.
fn within(place: Place) -> Place {
    Place { pitch: None, exact: false, ..place }
}

fn subview(place: Place, from: &TileType, to: &TileType, window: Option<(u64, u64)>) -> Place {
    let (Some(pitch), Some((start, _)), Some((row, col))) = (place.pitch, place.range, window) else {
        return within(place);
    };
    if from.layout.blayout != to.layout.blayout || to.layout.slayout.is_some() {
        return within(place);
    }
    let by_row = from.layout.blayout == Major::Row;
    let size = to.dtype.size() as u64;
    let (major, minor) = if by_row { (row, col) } else { (col, row) };
    let (majors, minors) = if by_row { (to.rows(), to.cols()) } else { (to.cols(), to.rows()) };
    let offset = major.saturating_mul(pitch).saturating_add(minor.saturating_mul(size));
    let bytes = majors.saturating_sub(1).saturating_mul(pitch).saturating_add(minors.saturating_mul(size));
    Place { range: Some((start.saturating_add(offset), bytes)), ..place }
}

/// The same bytes under another shape or type.
fn reshaped(place: Place, from: &TileType, to: &TileType) -> Place {
    let own = pitch(to);
    // Boxes, or an unknown offset: exact only as a whole.
    let Some(pitch) = place.pitch else {
        return Place { exact: place.exact && own.is_none() && from.bytes() == to.bytes(), ..place };
    };
    let majors = |t: &TileType| if t.layout.blayout == Major::Row { t.rows() } else { t.cols() };
    let packed = |t: &TileType, pitch: u64| majors(t) <= 1 || pitch.checked_mul(majors(t)) == Some(t.bytes());
    if packed(from, pitch) && own.is_some_and(|own| packed(to, own)) && from.bytes() == to.bytes() {
        return Place { pitch: own, ..place };
    }
    // The rows stay, their elements change.
    let same_rows = majors(from) == majors(to) && from.layout.blayout == to.layout.blayout;
    if same_rows && from.bytes() == to.bytes() { place } else { within(place) }
}

/// The values that the last operation of a region passes on: the carried ones of a `condition`.
fn passed_on(func: &Function, block: Block) -> &[Value] {
    match func.blocks[block].ops.last() {
        Some(&last) if func.ops[last].opcode.is_terminator() => func.ops[last].named("values"),
        _ => &[],
    }
}
