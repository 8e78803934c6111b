//! What an operation of a kernel does to tiles: which elements of its operands it reads, which of its destination it
//! writes. Memory planning and its checkers go by this page, and `crates/driver/tests/effects.rs` holds every operation
//! to it.
//!
//! Elements are boxes from the first element of a tile on, in the tile's own rows and columns. A *read* names at least
//! the elements that the result depends on. A *write* that is known is exact: each of its elements is overwritten, and no
//! other byte of the tile changes; one that is not known changes some elements of the tile. What is neither read nor
//! written does not matter to the operation, and keeps its contents.
//!
//! Where nothing is reduced over (no valid rows, or columns, or k of a product) most operations write nothing: what they
//! write is known only if that extent is known not to be zero.

use std::collections::BTreeSet;

use crate::entity::{Op, Value};
use crate::function::{Function, OpData};
use crate::info::{Domain, Kind};
use crate::ops::Opcode as C;
use crate::types::{Dim, TileType};

/// What one operation does to tiles.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Effects {
    pub reads: Vec<Read>,
    pub write: Option<Write>,
    /// Tiles that the device may use as scratch: written while the operands are read and results written.
    pub scratch: Vec<Value>,
}

/// A tile that an operation reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Read {
    pub value: Value,
    /// Name of the operand group.
    pub operand: &'static str,
    /// `None`: any bytes from its first element to its last.
    pub elements: Option<TileBox>,
    /// The destination may be the same elements of the same bytes ([`crate::info::OpInfo::in_place`]).
    pub in_place: bool,
}

/// The tile that an operation writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Write {
    pub value: Value,
    /// `None`: some of its elements.
    pub elements: Option<TileBox>,
}

/// Number of rows or columns of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    Static(u64),
    /// The run-time value of an `alloc_tile`'s or `subview`'s `valid_row` or `valid_col`.
    Dynamic(Value),
    Unknown,
}

/// The elements of the first `rows` rows and `cols` columns of a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TileBox {
    pub rows: Extent,
    pub cols: Extent,
}

/// The effects of every operation, in program order. Descriptors of tiles, control flow and terminators have none: they
/// move no element.
pub fn of_function(func: &Function) -> Vec<(Op, Effects)> {
    let ops = func.walk();
    let restated = |op: &Op| {
        let data = &func.ops[*op];
        data.dest().filter(|_| !stated(data).is_empty() || data.opcode == C::SetValidShape)
    };
    let restated = ops.iter().filter_map(restated).collect();
    ops.into_iter().map(|op| (op, Context { func, data: &func.ops[op], restated: &restated }.effects())).collect()
}

/// The dynamic extents that an operation gives its destination itself.
fn stated(data: &OpData) -> &[Value] {
    data.opcode.info().group("valid").map_or(&[], |group| data.group(group))
}

const ONE: Extent = Extent::Static(1);

impl TileBox {
    /// All elements.
    pub fn whole(ty: &TileType) -> TileBox {
        TileBox { rows: Extent::Static(ty.rows()), cols: Extent::Static(ty.cols()) }
    }

    /// A box of a tile, as a box of the same elements in another shape, if it is one.
    pub fn reshaped(self, from: &TileType, to: &TileType) -> Option<TileBox> {
        if from.shape == to.shape {
            return Some(self);
        }
        if self == TileBox::whole(from) {
            return Some(TileBox::whole(to));
        }
        if from.dtype.size() != to.dtype.size() {
            return None;
        }
        let prefix = match from.shape[..] {
            [1, _] if self.rows == ONE => self.cols,
            [_, 1] if self.cols == ONE => self.rows,
            _ => return None,
        };
        match to.shape[..] {
            [1, _] => Some(TileBox { rows: ONE, cols: prefix }),
            [_, 1] => Some(TileBox { rows: prefix, cols: ONE }),
            _ => None,
        }
    }
}

struct Context<'a> {
    func: &'a Function,
    data: &'a OpData,
    /// Tiles whose dynamic extents are not those of their allocation throughout.
    restated: &'a BTreeSet<Value>,
}

impl Context<'_> {
    fn effects(&self) -> Effects {
        let data = self.data;
        let info = data.opcode.info();
        let mut effects = Effects::default();
        let descriptor = matches!(
            data.opcode,
            C::AllocTile
                | C::Subview
                | C::TReshape
                | C::Bitcast
                | C::SetValidShape
                | C::GetValidShape
                | C::TileValidRows
                | C::TileValidCols
                | C::TileAddr
                | C::TAssign
        );
        if descriptor || !data.regions.is_empty() || data.opcode.is_terminator() {
            return effects;
        }
        let dest = data.dest().filter(|&d| self.func.ty(d).as_tile().is_some());
        for (group, operand) in info.operands.iter().enumerate() {
            if operand.kind != Kind::Tile {
                continue;
            }
            for &value in data.group(group) {
                // A transfer between ranks fills its staging tiles and empties them.
                if matches!(operand.name, "tmp" | "staging") {
                    effects.scratch.push(value);
                    continue;
                }
                // What no executor runs nobody has tested.
                let elements = self.read(operand.name, value, dest).filter(|_| info.runs);
                let in_place = info.in_place.contains(&operand.name);
                effects.reads.push(Read { value, operand: operand.name, elements, in_place });
            }
        }
        effects.write = dest.map(|dest| Write { value: dest, elements: self.written(dest).filter(|_| info.runs) });
        effects
    }

    /// The elements of operand `value`, of this group, that the operation reads.
    fn read(&self, group: &str, value: Value, dest: Option<Value>) -> Option<TileBox> {
        let data = self.data;
        let dest_box = dest.map(|d| self.valid(d));
        match (data.opcode, group) {
            (C::TExtract, _) => self.window(dest_box?),
            (C::TGetVal, _) => self.window(TileBox { rows: ONE, cols: ONE }),
            (C::TMatmul | C::TMatmulAcc | C::TMatmulBias, "rhs") => {
                Some(TileBox { rows: self.valid(data.named("lhs")[0]).cols, cols: self.valid(value).cols })
            }
            (C::TMatmulAcc, "acc") => Some(self.product()),
            // Wherever the indices lead.
            (C::TGather | C::TGatherB, "source") => None,
            // One for a block, one for a row: not the destination's box.
            (C::TGatherB, "offsets") | (C::MGather, "indices") => Some(self.valid(value)),
            // Some of the bytes of each row.
            (C::TSel | C::TSelS, "mask") => {
                let columns = self.func.ty(value).as_tile()?.cols();
                Some(TileBox { rows: dest_box?.rows, cols: Extent::Static(columns) })
            }
            // As far as the operand that the operation runs over is valid.
            (C::TCmp, "b") => Some(self.valid(data.named("a")[0])),
            (C::TScatter, "indices") | (C::TSort32, "idx") => Some(self.valid(data.named("source")[0])),
            (C::MScatter, "indices") => None,
            // All of both, side by side.
            (C::TConcat, _) => Some(self.valid(value)),
            (_, "v") => {
                let dest = dest_box?;
                let by_row = data.opcode.name().starts_with("trowexpand");
                Some(if by_row { TileBox { cols: ONE, ..dest } } else { TileBox { rows: ONE, ..dest } })
            }
            _ if data.opcode.info().domain == Domain::Destination => dest_box,
            _ => Some(self.valid(value)),
        }
    }

    /// The elements of `dest` that the operation writes.
    fn written(&self, dest: Value) -> Option<TileBox> {
        let source = || self.valid(self.data.named("source")[0]);
        let some = |extent| matches!(extent, Extent::Static(n) if n > 0);
        match (self.data.opcode, self.data.opcode.info().domain) {
            (C::TInsert | C::TSetVal, _) => None,
            (C::TConcat, _) => {
                let (a, b) = (self.valid(self.data.named("a")[0]), self.valid(self.data.named("b")[0]));
                match (a.cols, b.cols) {
                    (Extent::Static(x), Extent::Static(y)) if a.rows == b.rows => {
                        Some(TileBox { rows: a.rows, cols: Extent::Static(x.saturating_add(y)) })
                    }
                    _ => None,
                }
            }
            (C::TRowSum, _) => Some(TileBox { cols: ONE, ..source() }),
            (C::TRowMax | C::TRowMin, _) => Some(TileBox { cols: ONE, ..source() }).filter(|_| some(source().cols)),
            (C::TColSum | C::TColMax | C::TColMin, _) => {
                Some(TileBox { rows: ONE, ..source() }).filter(|_| some(source().rows))
            }
            (C::TTrans, _) => Some(TileBox { rows: source().cols, cols: source().rows }),
            // Without k it is the accumulator, which it reads.
            (C::TMatmulAcc, _) => Some(self.product()),
            (_, Domain::Matmul) => Some(self.product()).filter(|_| some(self.valid(self.data.named("lhs")[0]).cols)),
            (_, Domain::Destination) => Some(self.valid(dest)),
            (_, Domain::Whole) => self.func.ty(dest).as_tile().map(TileBox::whole),
            (_, Domain::Source | Domain::None) => None,
        }
    }

    /// The rows and columns of a matrix product.
    fn product(&self) -> TileBox {
        let (lhs, rhs) = (self.data.named("lhs")[0], self.data.named("rhs")[0]);
        TileBox { rows: self.valid(lhs).rows, cols: self.valid(rhs).cols }
    }

    /// The box that contains `size` elements from (`row`, `col`) on, where that is known.
    fn window(&self, size: TileBox) -> Option<TileBox> {
        let end = |group: &str, extent: Extent| {
            let start = u64::try_from(self.func.const_int(self.data.named(group)[0])?).ok()?;
            match extent {
                Extent::Static(n) => Some(Extent::Static(start.checked_add(n)?)),
                dynamic if start == 0 => Some(dynamic),
                _ => None,
            }
        };
        Some(TileBox { rows: end("row", size.rows)?, cols: end("col", size.cols)? })
    }

    /// The valid region of a tile value of rank 2.
    fn valid(&self, value: Value) -> TileBox {
        let unknown = TileBox { rows: Extent::Unknown, cols: Extent::Unknown };
        let Some(ty) = self.func.ty(value).as_tile() else { return unknown };
        if ty.valid.len() != 2 {
            return unknown;
        }
        if self.restated.contains(&value) {
            let mut stated = if self.data.dest() == Some(value) { stated(self.data).iter() } else { [].iter() };
            let mut extent = |dim: Dim| match dim {
                Dim::Static(n) => Extent::Static(n),
                Dim::Dynamic => stated.next().map_or(Extent::Unknown, |&v| Extent::Dynamic(v)),
            };
            return TileBox { rows: extent(ty.valid[0]), cols: extent(ty.valid[1]) };
        }
        let def = self.func.def_op(value).map(|op| &self.func.ops[op]);
        if let Some(def) = def
            && def.opcode == C::TReshape
            && ty.valid.contains(&Dim::Dynamic)
        {
            // A vector's valid elements are a prefix of it, as a row or as a column.
            let source = def.named("source")[0];
            let from = self.func.ty(source).as_tile();
            return from.and_then(|from| self.valid(source).reshaped(from, ty)).unwrap_or(unknown);
        }
        let extent = |dim: Dim, group: &str| match (dim, def) {
            (Dim::Static(n), _) => Extent::Static(n),
            (Dim::Dynamic, Some(def)) if matches!(def.opcode, C::AllocTile | C::Subview) => {
                def.named(group).first().map_or(Extent::Unknown, |&v| Extent::Dynamic(v))
            }
            _ => Extent::Unknown,
        };
        TileBox { rows: extent(ty.valid[0], "valid_row"), cols: extent(ty.valid[1], "valid_col") }
    }
}
