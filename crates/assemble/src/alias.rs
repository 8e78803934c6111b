//! Which buffers a tile value may be.
//!
//! A *root* is the storage of one `alloc_tile`. `treshape` and `subview` are other descriptors of their source's bytes;
//! results and region arguments of `for`, `if` and `while` may be any of the values that reach them. Tiles popped from a
//! FIFO live in the slots of a `reserve_buffer`: they have no root here.

use std::collections::BTreeSet;

use chip::Space;
use ir::{Block, Entity, Function, Op, Opcode, TileType, Value};

/// The storage of one `alloc_tile`.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) value: Value,
    pub(crate) op: Op,
    pub(crate) space: Space,
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
            let (Opcode::AllocTile, Some(value)) = (data.opcode, data.result()) else { continue };
            let Some(ty) = func.ty(value).as_tile() else { continue };
            let Some(space) = ty.space else { continue };
            views[value.index()] = Some(View { roots: BTreeSet::from([roots.len()]), whole: true });
            roots.push(Root { value, op, space, bytes: bytes(ty), ty: ty.clone() });
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
            Opcode::For => {
                let (body, init) = (data.regions[0], data.named("init"));
                let args = &func.blocks[body].args[1..];
                let next = terminator_values(func, body, "values");
                self.flow_all(init, args) | self.flow_all(next, args) | self.flow_all(args, &data.results)
            }
            Opcode::If => {
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

/// Bytes of the physical extent; saturating, so that an absurd tile is over capacity and not a panic.
pub(crate) fn bytes(ty: &TileType) -> u64 {
    ty.shape.iter().fold(ty.dtype.size() as u64, |n, &extent| n.saturating_mul(extent))
}
