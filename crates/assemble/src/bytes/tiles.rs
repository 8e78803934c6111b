//! Where the bytes of a tile value are: in a space at an address, in an `alloc_tile`'s own storage (unplaced), or in the
//! slots of a FIFO. A value that control flow brings together has several places.

use std::collections::BTreeMap;

use chip::Space;
use ir::{Block, Entity, Function, Major, Op, Opaque, Opcode as C, TileType, Type, Value};

use super::{ByteBox, Footprint, Memory, Place};

/// The places of a value are given up as "anywhere in the memory" beyond so many.
const MAX_PLACES: usize = 16;

pub(super) struct Tiles<'f> {
    func: &'f Function,
    places: Vec<Vec<Place>>,
    /// `reserve_buffer` with a base: its bytes, by the value that it yields.
    reserved: BTreeMap<Value, (Space, ByteBox)>,
    /// Of each FIFO by its id: where this core finds what it pops.
    slots: BTreeMap<i64, Vec<Value>>,
}

impl<'f> Tiles<'f> {
    pub(super) fn new(func: &'f Function, walk: &[Op]) -> Tiles<'f> {
        let mut tiles = Tiles {
            func,
            places: vec![Vec::new(); func.values.len()],
            reserved: BTreeMap::new(),
            slots: BTreeMap::new(),
        };
        for &param in func.param_values() {
            if let Some(space) = func.ty(param).as_tile().and_then(|t| t.space) {
                let place = Place { memory: Memory::Space(space), bytes: Footprint::Any, handle: param };
                tiles.places[param.index()].push(place);
            }
        }
        while walk.iter().fold(false, |changed, &op| tiles.transfer(op) | changed) {
            // Once more only if a loop carries tiles.
            if !walk.iter().any(|&op| matches!(func.ops[op].opcode, C::For | C::While)) {
                break;
            }
        }
        tiles
    }

    pub(super) fn into_places(self) -> Vec<Vec<Place>> {
        self.places
    }

    /// Empty for values that are no tiles.
    pub(super) fn of(&self, value: Value) -> &[Place] {
        &self.places[value.index()]
    }

    fn transfer(&mut self, op: Op) -> bool {
        let func = self.func;
        let data = &func.ops[op];
        match data.opcode {
            C::AllocTile | C::AllocTiles => {
                let result = data.results[0];
                let Some((space, bytes)) = storage(func.ty(result)) else { return false };
                let memory = match data.named("addr").first() {
                    None => vec![(Memory::Tile(result), Footprint::Box(ByteBox::run(0, bytes)))],
                    Some(&addr) => addresses(func, addr)
                        .into_iter()
                        .map(|a| {
                            (Memory::Space(space), a.map_or(Footprint::Any, |a| Footprint::Box(ByteBox::run(a, bytes))))
                        })
                        .collect(),
                };
                self.add(result, memory.into_iter().map(|(memory, bytes)| Place { memory, bytes, handle: result }))
            }
            C::TAssign => {
                let result = data.results[0];
                let Some((space, bytes)) = storage(func.ty(result)) else { return false };
                let found = addresses(func, data.named("addr")[0]);
                let at = |a: Option<u64>| a.map_or(Footprint::Any, |a| Footprint::Box(ByteBox::run(a, bytes)));
                let place = |a| Place { memory: Memory::Space(space), bytes: at(a), handle: result };
                self.add(result, found.into_iter().map(place))
            }
            C::TilesGet => self.slot(data.named("tiles")[0], data.named("index")[0], data.results[0]),
            C::Subview => self.subview(op),
            C::TReshape | C::Bitcast => self.flow(data.named("source")[0], data.results[0]),
            C::Select => {
                self.flow(data.named("a")[0], data.results[0]) | self.flow(data.named("b")[0], data.results[0])
            }
            C::ReserveBuffer => {
                let space = data.attrs.word("location").and_then(|w| w.parse::<Space>().ok());
                let (base, size) = (data.attrs.int("base"), data.attrs.int("size"));
                if let (Some(space), Some(base), Some(size)) = (space, base, size)
                    && base >= 0
                    && size >= 0
                {
                    self.reserved.insert(data.results[0], (space, ByteBox::run(base as u64, size as u64)));
                }
                false
            }
            C::AicInitializePipe | C::AivInitializePipe => {
                let group = if data.opcode == C::AivInitializePipe { "c2v_consumer_buf" } else { "v2c_consumer_buf" };
                let id = data.attrs.int("id").unwrap_or(0);
                self.slots.entry(id).or_insert_with(|| data.named(group).to_vec());
                false
            }
            C::TPopFromAic | C::TPopFromAiv => {
                let id = data.attrs.int("id").unwrap_or(0);
                self.popped(data.results[0], self.slots.get(&id).and_then(|v| v.first()).copied(), Memory::Slots(id))
            }
            // The internal forms fill a declared tile.
            C::TPop => {
                let (entry, fifo) = (data.named("entry")[0], data.named("pipe")[0]);
                let local = func.def_op(fifo).and_then(|d| func.ops[d].opcode.info().group("local").map(|g| (d, g)));
                let local = local.and_then(|(d, g)| func.ops[d].group(g).first().copied());
                self.popped(entry, local, Memory::Slots(fifo.index() as i64))
            }
            C::For | C::If | C::While => self.control(op),
            _ => false,
        }
    }

    fn control(&mut self, op: Op) -> bool {
        let func = self.func;
        let data = &func.ops[op];
        match data.opcode {
            C::For => {
                let args = &func.blocks[data.regions[0]].args[1..];
                let next = passed_on(func, data.regions[0]);
                self.flow_all(data.named("init"), args) | self.flow_all(next, args) | self.flow_all(args, &data.results)
            }
            C::If => {
                let results = &data.results;
                data.regions.iter().fold(false, |c, &r| self.flow_all(passed_on(func, r), results) | c)
            }
            C::While => {
                let (head, body) = (data.regions[0], data.regions[1]);
                let args = &func.blocks[head].args;
                let forwarded = passed_on(func, head);
                self.flow_all(data.named("init"), args)
                    | self.flow_all(passed_on(func, body), args)
                    | self.flow_all(forwarded, &func.blocks[body].args)
                    | self.flow_all(forwarded, &data.results)
            }
            _ => false,
        }
    }

    /// What a pop yields lies in the slots of its FIFO: in the reserved bytes, if they are known.
    fn popped(&mut self, value: Value, buffer: Option<Value>, slots: Memory) -> bool {
        let reserved = buffer.and_then(|b| self.reserved.get(&b)).copied();
        let (memory, bytes) = match reserved {
            Some((space, run)) => (Memory::Space(space), Footprint::Box(run)),
            None => (slots, Footprint::Any),
        };
        self.add(value, [Place { memory, bytes, handle: value }])
    }

    /// The bytes that a slot of FIFO `id` may be, for what hands slots over.
    pub(super) fn slots(&self, id: i64) -> Place {
        let values = self.slots.get(&id);
        let reserved = values.and_then(|v| v.first()).and_then(|b| self.reserved.get(b));
        let handle = values.and_then(|v| v.first()).copied().unwrap_or(Value::new(0));
        match reserved {
            Some(&(space, run)) => Place { memory: Memory::Space(space), bytes: Footprint::Box(run), handle },
            None => Place { memory: Memory::Slots(id), bytes: Footprint::Any, handle },
        }
    }

    fn slot(&mut self, tiles: Value, index: Value, result: Value) -> bool {
        let Some((_, size)) = storage(self.func.ty(result)) else { return false };
        let index = self.func.const_int(index).and_then(|i| u64::try_from(i).ok());
        let one = |p: &Place| match (p.bytes, index) {
            (Footprint::Box(b), Some(i)) => Place {
                bytes: Footprint::Box(ByteBox::run(b.start.saturating_add(i.saturating_mul(size)), size)),
                ..*p
            },
            _ => *p,
        };
        let found: Vec<Place> = self.of(tiles).iter().map(one).collect();
        self.add(result, found)
    }

    /// A window of a tile without boxes, at a known place; else all of the tile.
    fn subview(&mut self, op: Op) -> bool {
        let data = &self.func.ops[op];
        let tile = data.named("tile")[0];
        let (Some(of), Some(ty)) = (self.func.ty(tile).as_tile(), self.func.ty(data.results[0]).as_tile()) else {
            return false;
        };
        let at = |group: &str| self.func.const_int(data.named(group)[0]).and_then(|v| u64::try_from(v).ok());
        let window = at("row").zip(at("col")).and_then(|(row, col)| window(of, ty, row, col, self.pitch(tile)));
        let found: Vec<Place> = self.of(tile).iter().map(|p| Place { bytes: inside(p.bytes, window), ..*p }).collect();
        self.add(data.results[0], found)
    }

    /// Bytes from one line of a value to the next: a window keeps the distance of the tile that it is of.
    fn pitch(&self, value: Value) -> Option<u64> {
        let mut value = value;
        loop {
            match self.func.def_op(value).map(|op| &self.func.ops[op]) {
                Some(data) if data.opcode == C::Subview => value = data.named("tile")[0],
                Some(data) if data.opcode == C::AllocTile || data.opcode.info().regions == 0 => break,
                // Carried values may be windows of anything.
                _ => return None,
            }
        }
        let ty = self.func.ty(value).as_tile()?;
        Some(line(ty)?.saturating_mul(ty.dtype.size() as u64))
    }

    fn flow_all(&mut self, from: &[Value], to: &[Value]) -> bool {
        from.iter().zip(to).fold(false, |changed, (&f, &t)| self.flow(f, t) | changed)
    }

    fn flow(&mut self, from: Value, to: Value) -> bool {
        if from == to || self.places[from.index()].is_empty() {
            return false;
        }
        let found = self.places[from.index()].clone();
        self.add(to, found)
    }

    fn add(&mut self, value: Value, places: impl IntoIterator<Item = Place>) -> bool {
        let known = &mut self.places[value.index()];
        let before = known.len();
        for place in places {
            let there = |k: &Place| k.memory == place.memory && k.handle == place.handle;
            if known.iter().any(|k| there(k) && (k.bytes == place.bytes || k.bytes == Footprint::Any)) {
                continue;
            }
            if known.len() < MAX_PLACES {
                known.push(place);
            } else {
                known.push(Place { bytes: Footprint::Any, ..place });
            }
        }
        known.len() != before
    }
}

/// The space of a tile or of several, and how many bytes it takes.
fn storage(ty: &Type) -> Option<(Space, u64)> {
    match ty {
        Type::Tile(t) => Some((t.space?, super::tile_bytes(t))),
        Type::Opaque(Opaque::Tiles { tile, count }) => {
            Some((tile.space?, super::tile_bytes(tile).saturating_mul(*count)))
        }
        _ => None,
    }
}

/// What an address may be, by constants and selections between them; `None` for anything else.
fn addresses(func: &Function, value: Value) -> Vec<Option<u64>> {
    let mut found = Vec::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        if let Some(v) = func.const_int(value) {
            found.push(u64::try_from(v).ok());
            continue;
        }
        match func.def_op(value).map(|op| &func.ops[op]) {
            Some(data) if data.opcode == C::Select && found.len() + pending.len() < MAX_PLACES => {
                pending.extend([data.named("b")[0], data.named("a")[0]]);
            }
            _ => found.push(None),
        }
    }
    found
}

/// Elements of a line that lies together, if there are no boxes.
fn line(ty: &TileType) -> Option<u64> {
    match (ty.layout.slayout, ty.layout.compact, ty.layout.blayout) {
        (Some(_), ..) => None,
        (None, ir::Compact::RowPlusOne, _) => None,
        (None, _, Major::Row) => Some(ty.cols()),
        (None, _, Major::Col) => Some(ty.rows()),
    }
}

/// The window of `ty`'s shape at (row, col) of a tile, relative to the tile's first byte.
fn window(of: &TileType, ty: &TileType, row: u64, col: u64, pitch: Option<u64>) -> Option<ByteBox> {
    line(of)?;
    let (pitch, size) = (pitch?, of.dtype.size() as u64);
    let (lines, along, first, skip) = match of.layout.blayout {
        Major::Row => (ty.rows(), ty.cols(), row, col),
        Major::Col => (ty.cols(), ty.rows(), col, row),
    };
    let start = first.checked_mul(pitch)?.checked_add(skip.checked_mul(size)?)?;
    Some(ByteBox::new(start, lines, pitch, along.checked_mul(size)?))
}

/// A window of a tile that lies at `tile`.
fn inside(tile: Footprint, window: Option<ByteBox>) -> Footprint {
    match (tile, window) {
        (Footprint::Box(t), Some(w)) => Footprint::Box(ByteBox { start: t.start.saturating_add(w.start), ..w }),
        (all, _) => all,
    }
}

/// The values that the last operation of a region passes on.
fn passed_on(func: &Function, block: Block) -> &[Value] {
    match func.blocks[block].ops.last() {
        Some(&last) if func.ops[last].opcode.is_terminator() => func.ops[last].named("values"),
        _ => &[],
    }
}
