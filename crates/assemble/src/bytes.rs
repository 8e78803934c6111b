//! Which bytes each operation touches, in functions with and without addresses: the ground on which passes decide what
//! may be moved and what must wait.
//!
//! An operation *touches* [`Place`]s: bytes ([`Footprint`]) of one [`Memory`]. Names are not storage: at level 3 two
//! tiles with one address are the same bytes, and `subview`, `treshape`, `bitcast`, `multi_tile_get`, `select` and
//! carried values are other names of their source's ([`tiles`]). A tile counts with its whole physical extent, since
//! instructions work in blocks and may write beside the valid region.
//!
//! Two operations [conflict](Bytes::conflict) if one writes what the other touches; scratch counts as written. Memory that
//! is not known counts as all of its kind: a dynamic offset in global memory may be any, a dynamic slot each of them.
//! Different spaces never overlap. Different pointer parameters are assumed not to ([`global`]).
//!
//! Some operations order what is around them whatever its bytes ([`Touch::fence`]): flags, barriers, fences, FIFOs,
//! calls, what goes to other cores and ranks, prints. And `set_validshape` changes a tile's descriptor, not its bytes: it
//! conflicts with every use of that tile ([`Touch::sets_shape`]).

mod footprint;
mod global;
mod pipe;
mod tiles;

use chip::{Arch, Space};
use ir::info::{Form, Kind, Pipe};
use ir::{Compact, Entity, Function, Op, OpData, Opcode as C, TileType, Type, Value};

pub use footprint::{ByteBox, Footprint};
pub use pipe::pipe;
use tiles::Tiles;

/// A memory with bytes of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Memory {
    /// A buffer of the core, by address.
    Space(Space),
    /// The storage of an `alloc_tile` without an address.
    Tile(Value),
    /// The slots of a FIFO whose place is not known.
    Slots(i64),
    /// Global memory, from where a pointer parameter points.
    Global(Value),
    /// Global memory, wherever.
    Anywhere,
}

impl Memory {
    /// Whether the two may be the same bytes.
    pub fn meets(self, other: Memory) -> bool {
        match (self, other) {
            (Memory::Anywhere, b) => b.is_global(),
            (a, Memory::Anywhere) => a.is_global(),
            (a, b) => a == b,
        }
    }

    pub fn is_global(self) -> bool {
        matches!(self, Memory::Global(_) | Memory::Anywhere | Memory::Slots(_))
    }
}

/// Bytes of a memory, and the value that stands for the tile or view (what `set_validshape` changes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub memory: Memory,
    pub bytes: Footprint,
    pub handle: Value,
}

impl Place {
    pub fn overlaps(&self, other: &Place) -> bool {
        if !self.memory.meets(other.memory) {
            return false;
        }
        // Distances from different pointers are not comparable.
        self.memory != other.memory || self.bytes.overlaps(&other.bytes)
    }
}

/// What one operation touches.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Who executes it; [`Pipe::None`] for descriptors, scalar code and control flow.
    pub pipe: Pipe,
    pub reads: Vec<Place>,
    pub writes: Vec<Place>,
    /// Written while the operands are read and results written.
    pub scratch: Vec<Place>,
    /// Orders everything around it.
    pub fence: bool,
    /// Changes the valid region of the tiles whose handles it writes.
    pub sets_shape: bool,
    /// The handles of all tiles that it uses.
    pub handles: Vec<Value>,
}

impl Touch {
    /// Whether it is nothing to anybody.
    pub fn is_empty(&self) -> bool {
        !self.fence && self.handles.is_empty() && self.places().next().is_none()
    }

    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.reads.iter().chain(self.changed())
    }

    /// What it writes, scratch included.
    pub fn changed(&self) -> impl Iterator<Item = &Place> {
        self.writes.iter().chain(&self.scratch)
    }

    /// Whether one writes bytes that the other touches.
    pub fn overlaps(&self, other: &Touch) -> bool {
        let meet = |a: &Touch, b: &Touch| a.changed().any(|w| b.places().any(|p| w.overlaps(p)));
        meet(self, other) || meet(other, self)
    }

    /// Whether their order matters.
    pub fn conflicts(&self, other: &Touch) -> bool {
        let meaningless = self.is_empty() || other.is_empty();
        let shapes = (self.sets_shape || other.sets_shape) && self.handles.iter().any(|h| other.handles.contains(h));
        !meaningless && (self.fence || other.fence || shapes || self.overlaps(other))
    }
}

/// The touches of every operation of a function.
pub struct Bytes {
    touches: Vec<Touch>,
    places: Vec<Vec<Place>>,
}

impl Bytes {
    pub fn new(arch: Arch, func: &Function) -> Bytes {
        let walk = func.walk();
        let cx = Context { arch, func, tiles: Tiles::new(func, &walk) };
        let nothing = Touch {
            pipe: Pipe::None,
            reads: Vec::new(),
            writes: Vec::new(),
            scratch: Vec::new(),
            fence: false,
            sets_shape: false,
            handles: Vec::new(),
        };
        let mut touches = vec![nothing; func.ops.len()];
        for op in walk {
            touches[op.index()] = cx.touch(op);
        }
        Bytes { touches, places: cx.tiles.into_places() }
    }

    /// Where the bytes of a tile value may be; empty for values that are no tiles.
    pub fn places(&self, value: Value) -> &[Place] {
        &self.places[value.index()]
    }

    pub fn of(&self, op: Op) -> &Touch {
        &self.touches[op.index()]
    }

    /// Whether the order of two operations matters, apart from who defines whose operands. Control flow conflicts with
    /// what is in its regions: ask for those.
    pub fn conflict(&self, a: Op, b: Op) -> bool {
        self.of(a).conflicts(self.of(b))
    }

    /// Whether anything in the regions of `a` conflicts with anything in those of `b`, each with itself included.
    pub fn conflict_within(&self, func: &Function, a: Op, b: Op) -> bool {
        let (a, b) = (nest(func, a), nest(func, b));
        a.iter().any(|&x| b.iter().any(|&y| self.conflict(x, y)))
    }
}

/// An operation and those of its regions.
fn nest(func: &Function, op: Op) -> Vec<Op> {
    let mut all = vec![op];
    let mut next = 0;
    while let Some(&op) = all.get(next) {
        let regions = func.ops[op].regions.iter();
        all.extend(regions.flat_map(|&r| func.blocks[r].ops.iter().copied()));
        next += 1;
    }
    all
}

/// Bytes of a tile's physical extent; an absurd one saturates.
fn tile_bytes(ty: &TileType) -> u64 {
    let size = ty.dtype.size() as u64;
    let elements = ty.shape.iter().fold(1, |n: u64, &extent| n.saturating_mul(extent));
    let gaps = if ty.layout.compact == Compact::RowPlusOne { ty.rows().max(ty.cols()) } else { 0 };
    elements.saturating_add(gaps).saturating_mul(size)
}

struct Context<'f> {
    arch: Arch,
    func: &'f Function,
    tiles: Tiles<'f>,
}

impl Context<'_> {
    fn touch(&self, op: Op) -> Touch {
        let func = self.func;
        let data = &func.ops[op];
        let mut touch = Touch {
            pipe: pipe(self.arch, func, data),
            reads: Vec::new(),
            writes: Vec::new(),
            scratch: Vec::new(),
            fence: fences(data),
            sets_shape: data.opcode == C::SetValidShape,
            handles: Vec::new(),
        };
        let tiles = data.operands.iter().chain(&data.dests).flat_map(|&v| self.tiles.of(v));
        touch.handles.extend(tiles.map(|p| p.handle));
        if describes(data) {
            if !matches!(data.opcode, C::SetValidShape | C::GetValidShape | C::TileValidRows | C::TileValidCols) {
                touch.handles.clear();
            }
            return touch;
        }
        self.operands(data, &mut touch);
        for &dest in &data.dests {
            self.place(dest, &mut touch.writes);
        }
        match data.opcode {
            C::LoadScalar => touch.reads = vec![global::element(func, data.named("ptr")[0], data.named("offset")[0])],
            C::StoreScalar => {
                touch.reads.clear();
                touch.writes = vec![global::element(func, data.named("ptr")[0], data.named("offset")[0])];
            }
            // A pop makes the slot this core's, a free gives it away: between the two it may be read.
            C::TPopFromAic | C::TPopFromAiv => touch.writes.extend(data.results.iter().flat_map(|&v| self.tiles.of(v))),
            C::TFreeFromAic | C::TFreeFromAiv => touch.writes.push(self.tiles.slots(data.attrs.int("id").unwrap_or(0))),
            C::TPop | C::TFree => touch.writes.append(&mut touch.reads),
            C::TAlloc => touch.writes.append(&mut touch.reads),
            C::TPushViewToAiv | C::TPushViewToAic | C::TFreeViewFromAic | C::TFreeViewFromAiv => {
                touch.writes.append(&mut touch.reads);
            }
            _ => {}
        }
        touch
    }

    /// What the operands are to the operation, by the names of their groups.
    fn operands(&self, data: &OpData, touch: &mut Touch) {
        for (group, operand) in data.opcode.info().operands.iter().enumerate() {
            if matches!(operand.kind, Kind::Scalar | Kind::Int | Kind::Bool) {
                continue;
            }
            let written = matches!(operand.name, "tmp" | "staging");
            for &value in data.group(group) {
                match (operand.name, data.opcode) {
                    _ if written => self.place(value, &mut touch.scratch),
                    ("dest" | "signal", _) | (_, C::CommBroadcast | C::CommScatter) if self.is_memory(value) => {
                        self.place(value, &mut touch.writes);
                    }
                    ("acc", C::CommReduce) => self.place(value, &mut touch.scratch),
                    _ => self.place(value, &mut touch.reads),
                }
            }
        }
    }

    fn is_memory(&self, value: Value) -> bool {
        Kind::Memory.accepts(self.func.ty(value))
    }

    fn place(&self, value: Value, out: &mut Vec<Place>) {
        match self.func.ty(value) {
            Type::Tile(_) | Type::Opaque(_) => out.extend(self.tiles.of(value)),
            Type::Ptr(_) | Type::View(_) | Type::PartView { .. } => out.push(global::region(self.func, value)),
            _ => {}
        }
    }
}

/// Whether an operation only says what other operations work on, or only computes with scalars: it moves no byte.
fn describes(data: &OpData) -> bool {
    let info = data.opcode.info();
    let moves = info.pipe != Pipe::None
        || matches!(info.form, Form::Dest | Form::Outs(..))
        || matches!(data.opcode, C::Call | C::TPrint | C::SyncAllSoft)
        || info.name.starts_with("comm.");
    !moves || !data.regions.is_empty() || data.opcode.is_terminator() || data.opcode == C::SetValidShape
}

/// Whether an operation orders everything around it.
fn fences(data: &OpData) -> bool {
    match data.opcode {
        C::Barrier | C::FenceBarrierAll | C::CacheInvalid | C::SyncAll | C::SyncAllSoft | C::TSync => true,
        C::SetFlag | C::WaitFlag | C::SetFlagDyn | C::WaitFlagDyn | C::RecordEvent | C::WaitEvent => true,
        C::GetBuf | C::RlsBuf | C::SyncSet | C::SyncWait | C::SetFfts => true,
        C::SetCrossBlock | C::WaitCrossBlock | C::SetIntraBlock | C::WaitIntraBlock => true,
        C::AicInitializePipe | C::AivInitializePipe | C::InitL2g2lPipe | C::InitL2lPipe => true,
        C::TPushToAiv | C::TPushToAic | C::TPopFromAic | C::TPopFromAiv | C::TFreeFromAic | C::TFreeFromAiv => true,
        C::TPush | C::TPop | C::TFree | C::TAlloc | C::TAllocToAiv | C::TAllocToAic => true,
        C::TPushViewToAiv | C::TPushViewToAic | C::TPopViewFromAic | C::TPopViewFromAiv => true,
        C::TFreeViewFromAic | C::TFreeViewFromAiv => true,
        C::SetQuantScalar | C::SetQuantVector | C::TPrefetchAsync => true,
        C::Call | C::TPrint | C::Trap => true,
        _ => data.opcode.name().starts_with("comm."),
    }
}
