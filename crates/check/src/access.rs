//! The access model: which bytes of which memory every operation of a kernel reads, writes, or uses as scratch.
//!
//! Checkers go by bytes, not by names of tiles: at level 3 two `alloc_tile`s at one address *are* one buffer. A tile value
//! is a set of places ([`places`]): usually one; several where it is the result of an `if`, `for`, `while`, `select`, or
//! of a `multi_tile_get` at a run-time slot. Each place gives an access of its own, and an access that is one of several
//! may not happen, so its write is never [`Access::must`].
//!
//! **What an access touches.** [`ir::effects`] says which rows and columns; the place says where they lie. Layouts without
//! boxes become strided boxes of bytes, with the physical stride of the buffer that a `subview` is of. Boxed layouts
//! become the whole range of the buffer. Extents and offsets known at run time only count as far as they could reach.
//! So a range is never too small; a write that overwrites all bytes of its range says so (`must`), and any other one has
//! to be taken for an operation that reads what it might leave.
//!
//! **Memories** are disjoint unless [`Memory::may_be`] says otherwise:
//!
//! * the on-chip spaces, for tiles with addresses, and each root's own storage, for tiles without;
//! * the slots of FIFOs, one memory per pop: a slot is the consumer's from its `tpop` until a `tfree` of that FIFO, which
//!   counts as writing every slot of the FIFO;
//! * global memory, one per pointer parameter: two arguments never alias, since a runtime gives overlapping ones private
//!   copies when one is written (semantics rule 17; upstream assumes the same). A pointer from anywhere else may be
//!   anything in global memory;
//! * the valid extents of tiles, changed by `set_validshape`, per allocation;
//! * arrays and structures of scalars, as one memory.
//!
//! **Addresses in global memory** are linear in scalar values: `start` plus a [`Symbol`]. Two boxes with one symbol are
//! compared by their bytes, in one iteration of the loops around them ([`Access::overlaps`]); across iterations, or with
//! different symbols, they may overlap.

mod global;
mod places;

use std::collections::BTreeMap;

use chip::{Arch, Space};
use ir::effects::{self, Extent, TileBox};
use ir::info::{Kind as OperandKind, Pipe};
use ir::{FuncId, Function, Op, OpData, Opcode as C, Program, Type, Value};

use places::{Place, Places};

/// What the operations of a function do to memory.
#[derive(Clone, Debug)]
pub struct FunctionAccesses {
    /// In program order ([`Function::walk`]), those without accesses included.
    pub ops: Vec<OpAccesses>,
    /// Where the slots of popped tiles lie, as far as it is known: the reserved buffer of the FIFO, by popped value.
    pub slots: BTreeMap<Value, (Space, u64, u64)>,
}

/// What one operation does to memory.
#[derive(Clone, Debug)]
pub struct OpAccesses {
    pub op: Op,
    /// The pipe that executes it; never [`Pipe::BySpace`].
    pub pipe: Pipe,
    pub accesses: Vec<Access>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Read,
    Write,
    /// Written while operands are read and results written; undefined afterwards.
    Scratch,
}

/// One access of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// The operand group, or `dst`.
    pub operand: &'static str,
    /// The operand.
    pub value: Option<Value>,
    pub kind: Kind,
    /// Of a write: it happens, and overwrites every byte of its range.
    pub must: bool,
    pub memory: Memory,
    pub bytes: Footprint,
    /// Of a read: the destination may be the same elements of the same bytes.
    pub in_place: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Memory {
    /// Absolute bytes of a buffer of the core.
    Space(Space),
    /// The storage of a tile that has no address, by the value that allocates it.
    Root(Value),
    /// A slot of a FIFO, by the popped value.
    Slots(Value),
    /// What a pointer parameter points to; `None`: anything in global memory.
    Global(Option<Value>),
    /// The valid extents of a tile, by the value that allocates it.
    Valid(Value),
    /// Arrays and structures of scalars.
    Locals,
}

impl Memory {
    /// Whether the two may be, or contain, the same bytes.
    pub fn may_be(self, other: Memory) -> bool {
        match (self, other) {
            (Memory::Global(a), Memory::Global(b)) => a.is_none() || b.is_none() || a == b,
            (a, b) => a == b,
        }
    }
}

/// A run-time part of an address in global memory; equal symbols are equal numbers in one iteration of the loops around.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Symbol(pub u32);

/// Which bytes of a memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Footprint {
    Box(ByteBox),
    /// Any.
    Unknown,
}

/// `rows` runs of `row_bytes` bytes, the starts `row_stride` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteBox {
    /// [`Symbol`] 0 stands for nothing.
    pub symbol: Symbol,
    pub start: u64,
    pub row_stride: u64,
    pub row_bytes: u64,
    pub rows: u64,
}

impl ByteBox {
    pub fn range(start: u64, bytes: u64) -> ByteBox {
        ByteBox { symbol: Symbol(0), start, row_stride: bytes, row_bytes: bytes, rows: 1 }
    }

    /// With rows that touch made one.
    pub fn strided(start: u64, rows: u64, row_stride: u64, row_bytes: u64) -> ByteBox {
        if rows <= 1 {
            return ByteBox::range(start, if rows == 0 { 0 } else { row_bytes });
        }
        if row_stride == row_bytes {
            return ByteBox::range(start, rows.saturating_mul(row_bytes));
        }
        ByteBox { symbol: Symbol(0), start, row_stride, row_bytes, rows }
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.row_bytes == 0
    }

    /// One past its last byte.
    pub fn end(&self) -> u64 {
        let last = self.rows.saturating_sub(1).saturating_mul(self.row_stride);
        self.start.saturating_add(last).saturating_add(self.row_bytes)
    }

    /// Whether the two share a byte, equal symbols taken for granted.
    pub fn meets(&self, other: &ByteBox) -> bool {
        if self.is_empty() || other.is_empty() || self.start >= other.end() || other.start >= self.end() {
            return false;
        }
        let (few, many) = if self.rows <= other.rows { (self, other) } else { (other, self) };
        (0..few.rows).any(|row| many.meets_run(few.start + row * few.row_stride, few.row_bytes))
    }

    /// Whether it shares a byte with `start .. start + bytes`.
    fn meets_run(&self, start: u64, bytes: u64) -> bool {
        let end = start.saturating_add(bytes);
        if start >= self.end() || end <= self.start {
            return false;
        }
        // The first row that ends after `start`.
        let row = match start.checked_sub(self.start) {
            None => 0,
            Some(_) if self.rows == 1 => 0,
            Some(past) if past % self.row_stride < self.row_bytes => past / self.row_stride,
            Some(past) => past / self.row_stride + 1,
        };
        row < self.rows && self.start + row * self.row_stride < end
    }
}

impl Access {
    pub fn writes(&self) -> bool {
        self.kind != Kind::Read
    }

    /// Whether the two may touch the same bytes, in one iteration of the loops around both.
    pub fn overlaps(&self, other: &Access) -> bool {
        self.memory.may_be(other.memory)
            && match (self.bytes, other.bytes) {
                (Footprint::Box(a), Footprint::Box(b)) if self.memory == other.memory && a.symbol == b.symbol => {
                    a.meets(&b)
                }
                (Footprint::Box(a), _) if a.is_empty() => false,
                (_, Footprint::Box(b)) if b.is_empty() => false,
                _ => true,
            }
    }

    /// Whether the two may touch the same bytes, in whatever iterations.
    pub fn overlaps_later(&self, other: &Access) -> bool {
        let fixed = |f: Footprint| matches!(f, Footprint::Box(b) if b.symbol == Symbol(0));
        if fixed(self.bytes) && fixed(other.bytes) {
            return self.overlaps(other);
        }
        let empty = |f: Footprint| matches!(f, Footprint::Box(b) if b.is_empty());
        self.memory.may_be(other.memory) && !empty(self.bytes) && !empty(other.bytes)
    }
}

/// The accesses of a kernel function of the tile or machine level.
pub fn of_function(program: &Program, func: FuncId) -> FunctionAccesses {
    of(program.arch, &program.functions[func])
}

/// As [`of_function`], of a function by itself.
pub fn of(arch: Arch, func: &Function) -> FunctionAccesses {
    let places = Places::new(func);
    let mut cx = Context { arch, func, places: &places, symbols: global::Symbols::default() };
    let ops = effects::of_function(func).into_iter().map(|(op, effects)| cx.op(op, &effects)).collect();
    FunctionAccesses { ops, slots: places.slots }
}

struct Context<'a> {
    arch: Arch,
    func: &'a Function,
    places: &'a Places,
    symbols: global::Symbols,
}

impl Context<'_> {
    fn op(&mut self, op: Op, effects: &effects::Effects) -> OpAccesses {
        let data = &self.func.ops[op];
        let mut out = Vec::new();
        self.tiles(data, effects, &mut out);
        self.other_tiles(data, &mut out);
        self.memory(data, &mut out);
        self.slots(data, &mut out);
        self.extents(data, &mut out);
        let locals = match data.opcode {
            C::ArrayGet | C::StructGet | C::EventIdsGet => Some(Kind::Read),
            C::ArraySet | C::StructSet | C::EventIdsSet | C::ArrayCreate | C::StructCreate | C::EventIdsCreate => {
                Some(Kind::Write)
            }
            _ => None,
        };
        if let Some(kind) = locals {
            out.push(whole("value", None, kind, Memory::Locals));
        }
        OpAccesses { op, pipe: self.pipe(data), accesses: out }
    }

    /// What the op table knows: tile operands, and the first destination.
    fn tiles(&self, data: &OpData, effects: &effects::Effects, out: &mut Vec<Access>) {
        let window = self.window(data);
        for r in &effects.reads {
            let windowed = window.filter(|_| matches!(data.opcode, C::TExtract | C::TGetVal) && r.operand == "source");
            let places = self.places.of(r.value);
            for place in places {
                let bytes = match windowed {
                    Some((at, size)) => self.window_of(r.value, place, at, size).0,
                    None => self.footprint(r.value, place, r.elements).0,
                };
                let access = Access {
                    operand: r.operand,
                    value: Some(r.value),
                    kind: Kind::Read,
                    must: false,
                    memory: place.memory,
                    bytes,
                    in_place: r.in_place,
                };
                out.push(access);
            }
        }
        for &value in &effects.scratch {
            for place in self.places.of(value) {
                let bytes = self.footprint(value, place, None).0;
                let scratch = Kind::Scratch;
                let memory = place.memory;
                out.push(Access {
                    operand: group_of(data, value),
                    value: Some(value),
                    kind: scratch,
                    must: false,
                    memory,
                    bytes,
                    in_place: false,
                });
            }
        }
        // The extents are changed, not the elements.
        if matches!(data.opcode, C::SetValidShape) {
            out.clear();
            return;
        }
        if let Some(w) = &effects.write {
            let windowed = window.filter(|_| matches!(data.opcode, C::TInsert | C::TSetVal));
            match windowed {
                Some((at, size)) => {
                    let make = |place: &Place| self.window_of(w.value, place, at, size);
                    self.write_by(w.value, make, out);
                }
                None => self.write(w.value, w.elements, out),
            }
        }
    }

    /// The first element and the extents of the window of an extract, an insert or a scalar access, if it is known where.
    fn window(&self, data: &OpData) -> Option<((u64, u64), TileBox)> {
        let one = Extent::Static(1);
        let size = match data.opcode {
            C::TExtract => self.physical(data.dest()?)?,
            C::TInsert => self.physical(data.named("source")[0])?,
            C::TGetVal | C::TSetVal => TileBox { rows: one, cols: one },
            _ => return None,
        };
        let offset = |group: &str| self.func.const_int(data.named(group)[0]).and_then(|n| u64::try_from(n).ok());
        Some(((offset("row")?, offset("col")?), size))
    }

    /// The valid extents of a tile as far as its type says them; what only a run knows is unknown.
    fn physical(&self, value: Value) -> Option<TileBox> {
        let ty = self.func.ty(value).as_tile()?;
        let extent = |i: usize| ty.valid.get(i).and_then(|d| d.known()).map_or(Extent::Unknown, Extent::Static);
        Some(TileBox { rows: extent(0), cols: extent(1) })
    }

    /// The bytes of a window of a tile at a place, and whether they are exactly those.
    fn window_of(&self, value: Value, place: &Place, at: (u64, u64), size: TileBox) -> (Footprint, bool) {
        let whole = || (self.footprint(value, place, None).0, false);
        let (Some(ty), Some((start, _)), Some(pitch)) = (self.func.ty(value).as_tile(), place.range, place.pitch)
        else {
            return whole();
        };
        let element = ty.dtype.size() as u64;
        let extent = |e: Extent, from: u64, physical: u64| match self.known(e) {
            Some(n) => (n.min(physical.saturating_sub(from)), true),
            None => (physical.saturating_sub(from), false),
        };
        let (rows, known_rows) = extent(size.rows, at.0, ty.rows());
        let (cols, known_cols) = extent(size.cols, at.1, ty.cols());
        let by_row = ty.layout.blayout == ir::Major::Row;
        let ((major, minor), (majors, minors)) = if by_row { (at, (rows, cols)) } else { ((at.1, at.0), (cols, rows)) };
        let offset = major.saturating_mul(pitch).saturating_add(minor.saturating_mul(element));
        let bytes = ByteBox::strided(start.saturating_add(offset), majors, pitch, minors.saturating_mul(element));
        (Footprint::Box(bytes), place.exact && known_rows && known_cols)
    }

    fn write(&self, value: Value, elements: Option<TileBox>, out: &mut Vec<Access>) {
        self.write_by(value, |place| self.footprint(value, place, elements), out);
    }

    fn write_by(&self, value: Value, bytes: impl Fn(&Place) -> (Footprint, bool), out: &mut Vec<Access>) {
        let places = self.places.of(value);
        for place in places {
            let (bytes, exact) = bytes(place);
            let must = exact && places.len() == 1;
            out.push(Access {
                operand: "dst",
                value: Some(value),
                kind: Kind::Write,
                must,
                memory: place.memory,
                bytes,
                in_place: false,
            });
        }
    }

    /// Further destinations, and tiles in operand groups that hold other things too.
    fn other_tiles(&self, data: &OpData, out: &mut Vec<Access>) {
        let tile = |v: &&Value| matches!(self.func.ty(**v), Type::Tile(_));
        for &dest in data.dests.iter().skip(1).filter(tile) {
            self.write(dest, None, out);
        }
        if !data.regions.is_empty() || data.opcode.is_terminator() || data.opcode == C::Select {
            return;
        }
        for (group, operand) in data.opcode.info().operands.iter().enumerate() {
            if operand.kind == OperandKind::Tile {
                continue;
            }
            for &value in data.group(group).iter().filter(tile) {
                // A pop fills its entry, a helper may do anything with an argument.
                let (reads, writes) = match data.opcode {
                    C::TPop => (false, true),
                    C::TFree => (false, false),
                    C::Call => (true, true),
                    _ => (true, false),
                };
                if reads {
                    for place in self.places.of(value) {
                        let bytes = self.footprint(value, place, None).0;
                        let memory = place.memory;
                        out.push(Access {
                            operand: operand.name,
                            value: Some(value),
                            kind: Kind::Read,
                            must: false,
                            memory,
                            bytes,
                            in_place: false,
                        });
                    }
                }
                if writes {
                    self.write(value, None, out);
                }
            }
        }
    }

    /// Global memory.
    fn memory(&mut self, data: &OpData, out: &mut Vec<Access>) {
        let func = self.func;
        match data.opcode {
            C::LoadScalar | C::StoreScalar => {
                let (ptr, offset) = (data.named("ptr")[0], data.named("offset")[0]);
                let kind = if data.opcode == C::LoadScalar { Kind::Read } else { Kind::Write };
                let (memory, bytes) = self.symbols.element(func, ptr, offset);
                out.push(Access { bytes, ..whole("ptr", Some(ptr), kind, memory) });
            }
            // Views and pointers are made, not followed.
            C::MakeTensorView
            | C::PartitionView
            | C::AddPtr
            | C::CastPtr
            | C::PtrToInt
            | C::ViewDim
            | C::ViewStride
            | C::Select
            | C::SetFfts
            | C::AicInitializePipe
            | C::AivInitializePipe
            | C::InitL2g2lPipe
            | C::MakePrefetchContext
            | C::CommSession => {}
            // A helper function may do anything; a fence orders all of it.
            C::Call | C::FenceBarrierAll | C::SyncAll | C::SyncAllSoft | C::CacheInvalid => {
                out.push(whole("memory", None, Kind::Read, Memory::Global(None)));
                out.push(whole("memory", None, Kind::Write, Memory::Global(None)));
            }
            _ if !data.regions.is_empty() || data.opcode.is_terminator() => {}
            opcode => {
                // What happens between ranks is not in the table: it reads and writes every box that it is given.
                let comm = opcode.name().starts_with("comm.");
                let info = opcode.info();
                for (group, operand) in info.operands.iter().enumerate() {
                    for &value in data.group(group).iter().filter(|v| is_memory(func, **v)) {
                        let (memory, bytes) = self.symbols.region(func, value);
                        let access = Access { bytes, ..whole(operand.name, Some(value), Kind::Read, memory) };
                        if comm {
                            out.push(Access { kind: Kind::Write, ..access.clone() });
                        }
                        out.push(access);
                    }
                }
                for &value in data.dests.iter().filter(|v| is_memory(func, **v)) {
                    let (memory, bytes) = self.symbols.region(func, value);
                    out.push(Access { bytes, ..whole("dst", Some(value), Kind::Write, memory) });
                }
            }
        }
    }

    /// The slots of FIFOs: a pop fills one, a free gives all of its FIFO up.
    fn slots(&self, data: &OpData, out: &mut Vec<Access>) {
        if matches!(data.opcode, C::TPopFromAic | C::TPopFromAiv)
            && let Some(value) = data.result()
        {
            let must = true;
            out.push(Access { must, ..whole("slot", Some(value), Kind::Write, Memory::Slots(value)) });
        }
        if matches!(data.opcode, C::TFreeFromAic | C::TFreeFromAiv | C::TFree) {
            for &value in self.places.popped_like(self.func, data) {
                out.push(whole("slot", Some(value), Kind::Write, Memory::Slots(value)));
            }
        }
    }

    /// Valid extents that `set_validshape` changes, where it does.
    fn extents(&self, data: &OpData, out: &mut Vec<Access>) {
        if self.places.restated.is_empty() || !data.regions.is_empty() || data.opcode.is_terminator() {
            return;
        }
        let write = data.opcode == C::SetValidShape;
        for &value in data.operands.iter().chain(&data.dests) {
            for place in self.places.of(value) {
                if !self.places.restated.contains(&place.root) {
                    continue;
                }
                let memory = Memory::Valid(place.root);
                let kind = if write { Kind::Write } else { Kind::Read };
                let access = Access { must: write, ..whole("valid", Some(value), kind, memory) };
                if !out.contains(&access) {
                    out.push(access);
                }
            }
        }
        // Every turn of a loop allocates with the extents of its `alloc_tile` again.
        if data.opcode == C::AllocTile
            && let Some(value) = data.result()
            && self.places.restated.contains(&value)
        {
            out.push(Access { must: true, ..whole("valid", Some(value), Kind::Write, Memory::Valid(value)) });
        }
    }

    /// The bytes of `elements` (all where that is not known) of a tile at a place, and whether they are exactly those.
    fn footprint(&self, value: Value, place: &Place, elements: Option<TileBox>) -> (Footprint, bool) {
        let unknown = (Footprint::Unknown, false);
        let Some(ty) = self.func.ty(value).as_tile() else { return unknown };
        let Some((start, bytes)) = place.range else { return unknown };
        let Some(pitch) = place.pitch else {
            // Boxes, or an offset known at run time: the whole range.
            let whole = elements.is_some_and(|e| self.covers(e, ty.rows(), ty.cols()));
            return (Footprint::Box(ByteBox::range(start, bytes)), place.exact && whole);
        };
        let size = ty.dtype.size() as u64;
        let extent = |e: Extent, physical: u64| match self.known(e) {
            Some(n) => (n.min(physical), true),
            None => (physical, false),
        };
        let (rows, known_rows) = elements.map_or((ty.rows(), false), |e| extent(e.rows, ty.rows()));
        let (cols, known_cols) = elements.map_or((ty.cols(), false), |e| extent(e.cols, ty.cols()));
        let (major, minor) = if ty.layout.blayout == ir::Major::Row { (rows, cols) } else { (cols, rows) };
        let bytes = ByteBox::strided(start, major, pitch, minor.saturating_mul(size));
        (Footprint::Box(bytes), place.exact && known_rows && known_cols)
    }

    fn covers(&self, e: TileBox, rows: u64, cols: u64) -> bool {
        self.known(e.rows).is_some_and(|n| n >= rows) && self.known(e.cols).is_some_and(|n| n >= cols)
    }

    fn known(&self, e: Extent) -> Option<u64> {
        match e {
            Extent::Static(n) => Some(n),
            Extent::Dynamic(v) => self.func.const_int(v).and_then(|n| u64::try_from(n).ok()),
            Extent::Unknown => None,
        }
    }

    fn pipe(&self, data: &OpData) -> Pipe {
        let space = |v: Option<Value>| v.and_then(|v| self.func.ty(v).as_tile()).and_then(|t| t.space);
        let source = space(data.operands.iter().copied().find(|&v| self.func.ty(v).as_tile().is_some()));
        let dest = space(data.dest());
        let a5 = self.arch == Arch::A5;
        match data.opcode {
            C::TLoad => Pipe::Mte2,
            C::TStore | C::TStoreFix if source == Some(Space::Acc) => Pipe::Fix,
            C::TStore | C::TStoreFix => Pipe::Mte3,
            C::TMov | C::TMovFix | C::TExtract | C::TExtractFix => match (source, dest) {
                (Some(Space::Acc), _) => Pipe::Fix,
                (Some(Space::Mat), Some(Space::Left | Space::Right | Space::Bias)) => Pipe::Mte1,
                (Some(Space::Mat), None) => Pipe::Fix,
                _ => Pipe::Vector,
            },
            C::TInsert | C::TInsertFix => match (source, dest) {
                (Some(Space::Acc), _) => Pipe::Fix,
                (Some(Space::Vec), Some(Space::Mat)) => Pipe::Mte3,
                _ => Pipe::Vector,
            },
            C::TFillPad if dest == Some(Space::Mat) => Pipe::Mte1,
            C::TExpandS if dest == Some(Space::Mat) => Pipe::Mte2,
            C::MGather if a5 && dest == Some(Space::Vec) => Pipe::Vector,
            C::MGather => Pipe::Mte2,
            C::MScatter if a5 => Pipe::Vector,
            C::MScatter => Pipe::Mte3,
            C::TPushToAiv | C::TPushToAic | C::TPush if source == Some(Space::Acc) => Pipe::Fix,
            C::TPushToAiv | C::TPushToAic | C::TPush | C::TPushViewToAiv | C::TPushViewToAic => Pipe::Mte3,
            C::TPopFromAic | C::TPopFromAiv | C::TPop | C::TPopViewFromAic | C::TPopViewFromAiv => {
                if a5 {
                    Pipe::Scalar
                } else {
                    Pipe::Mte2
                }
            }
            C::TFreeFromAic | C::TFreeFromAiv | C::TFree | C::TFreeViewFromAic | C::TFreeViewFromAiv => Pipe::Scalar,
            C::TAlloc | C::TAllocToAiv | C::TAllocToAic => Pipe::Mte3,
            opcode => match opcode.info().pipe {
                Pipe::BySpace => Pipe::None,
                pipe => pipe,
            },
        }
    }
}

/// The operand group that a value stands in.
fn group_of(data: &OpData, value: Value) -> &'static str {
    let mut groups = data.opcode.info().operands.iter().enumerate();
    groups.find(|(i, _)| data.group(*i).contains(&value)).map_or("tmp", |(_, o)| o.name)
}

fn is_memory(func: &Function, value: Value) -> bool {
    matches!(func.ty(value), Type::Ptr(_) | Type::View(_) | Type::PartView { .. })
}

/// An access to a memory that is not looked into.
fn whole(operand: &'static str, value: Option<Value>, kind: Kind, memory: Memory) -> Access {
    Access { operand, value, kind, must: false, memory, bytes: Footprint::Unknown, in_place: false }
}

#[cfg(test)]
mod tests;
