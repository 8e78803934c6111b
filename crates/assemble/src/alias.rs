//! Which buffers a tile value may be.
//!
//! A *root* is the storage of one `alloc_tile`, or of the tiles of one `alloc_multi_tile`, which lie after each other.
//! `treshape`, `bitcast` and `subview` are other descriptors of their source's bytes, and one of several tiles is part of
//! theirs. Results and region arguments of `for`, `if` and `while` may be any of the values that reach them, and what
//! `select` yields is one of two. Tiles popped from a FIFO live in the slots of a `reserve_buffer`: they have no root here.

use std::collections::BTreeSet;

use chip::Space;
use ir::{Block, Entity, Function, Op, Opaque, Opcode, TileType, Type, Value};

/// The storage of one `alloc_tile` or `alloc_multi_tile`.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) value: Value,
    pub(crate) op: Op,
    pub(crate) space: Space,
    /// Of several tiles, that of each.
    pub(crate) ty: TileType,
    pub(crate) bytes: u64,
}

/// What a tile value may name.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct View {
    /// Indices into [`Aliases::roots`].
    pub(crate) roots: BTreeSet<usize>,
    /// The view starts at the first byte of its root and has all its elements, maybe in another shape.
    pub(crate) whole: bool,
}

impl View {
    /// The one root that this value covers, if there is just one.
    pub(crate) fn exactly(&self) -> Option<usize> {
        if self.whole && self.roots.len() == 1 { self.roots.first().copied() } else { None }
    }
}

pub(crate) struct Aliases {
    pub(crate) roots: Vec<Root>,
    views: Vec<Option<View>>,
}

impl Aliases {
    pub(crate) fn new(func: &Function) -> Aliases {
        let mut roots = Vec::new();
        let mut views = vec![None; func.values.len()];
        let ops = func.walk();
        for &op in &ops {
            let data = &func.ops[op];
            let (Opcode::AllocTile | Opcode::AllocTiles, Some(value)) = (data.opcode, data.result()) else { continue };
            let (ty, count) = match func.ty(value) {
                Type::Tile(tile) => (tile, None),
                Type::Opaque(Opaque::Tiles { tile, count }) => (tile, Some(*count)),
                _ => continue,
            };
            let Some(space) = ty.space else { continue };
            views[value.index()] = Some(View { roots: BTreeSet::from([roots.len()]), whole: count.is_none() });
            let bytes = bytes(ty).saturating_mul(count.unwrap_or(1));
            roots.push(Root { value, op, space, bytes, ty: ty.clone() });
        }
        let mut aliases = Aliases { roots, views };
        loop {
            let mut changed = false;
            for &op in &ops {
                changed |= aliases.transfer(func, op);
            }
            if !changed {
                return aliases;
            }
        }
    }

    /// `None` for values that are no tiles and for popped tiles.
    pub(crate) fn view(&self, value: Value) -> Option<&View> {
        self.views[value.index()].as_ref()
    }

    fn transfer(&mut self, func: &Function, op: Op) -> bool {
        let data = &func.ops[op];
        match data.opcode {
            Opcode::TReshape | Opcode::Bitcast => self.flow(data.named("source")[0], data.results[0], true),
            Opcode::Subview => self.flow(data.named("tile")[0], data.results[0], false),
            Opcode::TilesGet => self.flow(data.named("tiles")[0], data.results[0], false),
            Opcode::Select => {
                self.flow(data.named("a")[0], data.results[0], true)
                    | self.flow(data.named("b")[0], data.results[0], true)
            }
            Opcode::For => {
                let (body, init) = (data.regions[0], data.named("init"));
                let args = &func.blocks[body].args[1..];
                let next = terminator_values(func, body, "values");
                self.flow_all(init, args) | self.flow_all(next, args) | self.flow_all(args, &data.results)
            }
            Opcode::If | Opcode::ExecuteRegion | Opcode::FusionRegion => {
                let mut changed = false;
                for &region in &data.regions {
                    changed |= self.flow_all(terminator_values(func, region, "values"), &data.results);
                }
                changed
            }
            Opcode::While => {
                let (head, body) = (data.regions[0], data.regions[1]);
                let args = &func.blocks[head].args;
                let forwarded = terminator_values(func, head, "values");
                self.flow_all(data.named("init"), args)
                    | self.flow_all(terminator_values(func, body, "values"), args)
                    | self.flow_all(forwarded, &func.blocks[body].args)
                    | self.flow_all(forwarded, &data.results)
            }
            _ => false,
        }
    }

    fn flow_all(&mut self, from: &[Value], to: &[Value]) -> bool {
        let mut changed = false;
        for (&f, &t) in from.iter().zip(to) {
            changed |= self.flow(f, t, true);
        }
        changed
    }

    fn flow(&mut self, from: Value, to: Value, whole: bool) -> bool {
        let Some(source) = self.views[from.index()].clone() else { return false };
        let whole = whole && source.whole;
        match &mut self.views[to.index()] {
            Some(view) => {
                let before = view.clone();
                view.roots.extend(source.roots);
                view.whole &= whole;
                *view != before
            }
            none => {
                *none = Some(View { roots: source.roots, whole });
                true
            }
        }
    }
}

/// The values that the last operation of a region passes on.
fn terminator_values<'f>(func: &'f Function, block: Block, group: &str) -> &'f [Value] {
    match func.blocks[block].ops.last() {
        Some(&last) if func.ops[last].opcode.is_terminator() => func.ops[last].named(group),
        _ => &[],
    }
}

/// Bytes from the first element to the last; an absurd tile is over capacity, not a panic.
pub(crate) fn bytes(ty: &TileType) -> u64 {
    let most = ty.shape.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent.checked_add(1)?));
    match most.and_then(|n| n.checked_mul(ty.dtype.size() as u64)) {
        Some(_) => ty.bytes(),
        None => u64::MAX,
    }
}
