//! Which operations fusion brings together, and how they go over their tiles.
//!
//! A *computation* goes over rows and columns of its domain in any order it likes. Of most of its tiles it needs element
//! (i, j) when it is at (i, j): those it takes *by element*. A vector that is spread over rows or columns, the result of
//! a reduction, and scratch are not by element.
//!
//! Two computations of one domain can be one loop if what they share, they share by element ([`Relation::Aligned`]): the
//! same bytes in the same shape, so that at (i, j) the second finds what the first left there, and has not been
//! overtaken by what the first does elsewhere. Bytes decide this, not names.

use ir::effects::Effects;
use ir::{Function, Op, Opcode as C, Value};

use super::domain::{Domain, Domains};
use crate::bytes::{Bytes, Footprint, Place};

/// An operation that may be a member of a group.
pub(super) struct Compute {
    pub(super) domain: Domain,
    /// In source order, destinations last.
    pub(super) tiles: Vec<Tile>,
}

/// A tile that a computation uses.
pub(super) struct Tile {
    pub(super) value: Value,
    pub(super) places: Vec<Place>,
    pub(super) by_element: bool,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    /// Neither writes what the other touches.
    Apart,
    /// What they share they share by element.
    Aligned,
    Unaligned,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// All tiles are by element.
    Elementwise,
    /// Operand `v` is spread over the domain.
    Spread,
    /// The destination has one element for each row or column.
    Reduction,
}

fn shape(opcode: C) -> Option<Shape> {
    Some(match opcode {
        C::TAdd | C::TSub | C::TMul | C::TDiv | C::TMax | C::TMin => Shape::Elementwise,
        C::TAddS | C::TSubS | C::TMulS | C::TDivS | C::TMaxS | C::TMinS => Shape::Elementwise,
        C::TAnd | C::TOr | C::TNot | C::TAndS | C::TOrS => Shape::Elementwise,
        C::TShl | C::TShr | C::TShlS | C::TShrS => Shape::Elementwise,
        C::TExp | C::TLog | C::TSqrt | C::TRsqrt | C::TRecip => Shape::Elementwise,
        C::TAbs | C::TNeg | C::TRelu | C::TLRelu | C::TCvt | C::TExpandS => Shape::Elementwise,
        C::TRowExpand | C::TRowExpandAdd | C::TRowExpandSub | C::TRowExpandMul => Shape::Spread,
        C::TRowExpandDiv | C::TRowExpandMax | C::TRowExpandMin => Shape::Spread,
        C::TColExpand | C::TColExpandAdd | C::TColExpandSub | C::TColExpandMul => Shape::Spread,
        C::TColExpandDiv | C::TColExpandMax | C::TColExpandMin => Shape::Spread,
        C::TRowSum | C::TRowMax | C::TRowMin | C::TColSum | C::TColMax | C::TColMin => Shape::Reduction,
        _ => return None,
    })
}

/// `None` for what is no computation, and for one whose domain is not known.
pub(super) fn compute(
    func: &Function,
    op: Op,
    effects: &Effects,
    bytes: &Bytes,
    domains: &mut Domains<'_>,
) -> Option<Compute> {
    let data = &func.ops[op];
    shape(data.opcode)?;
    let in_vec = |&v: &Value| func.ty(v).as_tile().is_none_or(|t| t.space == Some(chip::Space::Vec));
    if !data.operands.iter().chain(&data.dests).all(in_vec) {
        return None;
    }
    let domain = domains.of(op, effects)?;
    Some(Compute { domain, tiles: tiles(func, op, bytes) })
}

/// Whether an operation can be a computation.
pub(super) fn fuses(opcode: C) -> bool {
    shape(opcode).is_some()
}

/// The tiles of a computation.
pub(super) fn tiles(func: &Function, op: Op, bytes: &Bytes) -> Vec<Tile> {
    let data = &func.ops[op];
    let mut tiles = Vec::new();
    let mut add = |value: Value, by_element: bool, reads: bool, writes: bool| {
        if let Some(ty) = func.ty(value).as_tile() {
            let by_element = by_element && ty.layout.slayout.is_none();
            tiles.push(Tile { value, places: bytes.places(value).to_vec(), by_element, reads, writes });
        }
    };
    for (group, operand) in data.opcode.info().operands.iter().enumerate() {
        let scratch = operand.name == "tmp";
        for &value in data.group(group) {
            add(value, !scratch && operand.name != "v", !scratch, scratch);
        }
    }
    for &value in &data.dests {
        add(value, shape(data.opcode) != Some(Shape::Reduction), false, true);
    }
    tiles
}

impl Compute {
    /// How this relates to a computation of the same domain.
    pub(super) fn relation(&self, other: &Compute, func: &Function) -> Relation {
        let mut relation = Relation::Apart;
        for a in &self.tiles {
            for b in other.tiles.iter().filter(|b| a.writes || b.writes) {
                if !a.meets(&b.places) {
                    continue;
                }
                if !a.aligned(b, func) {
                    return Relation::Unaligned;
                }
                relation = Relation::Aligned;
            }
        }
        relation
    }
}

impl Tile {
    pub(super) fn meets(&self, places: &[Place]) -> bool {
        self.places.iter().any(|p| places.iter().any(|q| p.overlaps(q)))
    }

    /// Whether both have element (i, j) in the same bytes.
    pub(super) fn aligned(&self, other: &Tile, func: &Function) -> bool {
        if !self.by_element || !other.by_element {
            return false;
        }
        let (Some(a), Some(b)) = (func.ty(self.value).as_tile(), func.ty(other.value).as_tile()) else { return false };
        let form = a.dtype.size() == b.dtype.size() && a.shape == b.shape && a.layout == b.layout;
        let same_box = match (&self.places[..], &other.places[..]) {
            ([p], [q]) => matches!(p.bytes, Footprint::Box(_)) && p.memory == q.memory && p.bytes == q.bytes,
            _ => false,
        };
        // One value of one block is one place, wherever that is.
        self.value == other.value || (form && same_box)
    }
}
