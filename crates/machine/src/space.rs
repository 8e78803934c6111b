//! Where tiles lie in a group's arena.
//!
//! Placed: every scratchpad at a fixed base, with the physical size of the chip. Unplaced: each function has a range of
//! its own, the cube's before the vector core's, and each `alloc_tile` a part of that.

use chip::{Chip, Space};
use ir::{Layout, Major, TileType};
use isa::{Order, Tile};

/// First byte of a scratchpad in the arena of a placed group.
pub fn base(chip: &Chip, space: Space) -> usize {
    Space::ALL.iter().take_while(|&&s| s != space).map(|&s| chip.capacity(s).physical).sum()
}

/// Bytes of the arena of a placed group.
pub fn total(chip: &Chip) -> usize {
    Space::ALL.iter().map(|&s| chip.capacity(s).physical).sum()
}

/// The order in which a tile of `space` holds its elements here.
pub fn order(space: Option<Space>, layout: Layout) -> Order {
    if matches!(space, Some(Space::Left | Space::Right | Space::Acc)) {
        return Order::RowMajor;
    }
    match (layout.blayout, layout.slayout) {
        (Major::Row, None) => Order::RowMajor,
        (Major::Col, None) => Order::ColMajor,
        (Major::Col, Some(Major::Row)) => Order::Nz,
        (Major::Row, Some(Major::Col)) => Order::Zn,
        (Major::Row, Some(Major::Row)) => Order::Zz,
        (Major::Col, Some(Major::Col)) => Order::Nn,
    }
}

/// The descriptor of a tile type at byte 0, dynamic valid extents at their maximum.
pub fn descriptor(ty: &TileType) -> Option<Tile> {
    let (rows, cols) = (u32::try_from(ty.rows()).ok()?, u32::try_from(ty.cols()).ok()?);
    let tile = Tile::new(0, ty.dtype, rows, cols, order(ty.space, ty.layout), ty.layout.fractal);
    let valid = |i: usize, max: u32| match ty.valid.get(i).and_then(|d| d.known()) {
        Some(n) => u32::try_from(n).ok(),
        None => Some(max),
    };
    Some(tile.with_valid(valid(0, rows)?, valid(1, cols)?))
}
