//! Assigning joined tiles: the copies where buffers are not shared.
//!
//! All targets of a join are written at once, so a target's buffer may be written only when no pending copy reads it; a
//! ring of copies is broken by saving one source in a fresh buffer.

use chip::Space;
use ir::builder::attrs;
use ir::{Opcode, Type, Value};

use super::matmul::Rect;
use super::{Held, Kernel};
use crate::Fail;
use crate::extent::Extent;
use crate::spaces::is_zero;
use crate::tile::{Place, flat, is_column};
use crate::webs::Web;

struct Copy {
    /// The written web, and the descriptor in it.
    target: (Web, Value),
    /// The web that is read, unless the source has a buffer that no copy writes.
    reads: Option<Web>,
    source: Value,
    shape: (u64, u64),
    extents: [Extent; 2],
}

impl Kernel<'_> {
    /// Gives `targets` the values of `sources`.
    pub(super) fn assign(&mut self, targets: &[Value], sources: &[Value]) -> Result<(), Fail> {
        let mut pending = Vec::new();
        for (&target, &source) in targets.iter().zip(sources) {
            if target == source || !matches!(self.src.ty(target), Type::Tile(_)) {
                continue;
            }
            let place = self.spaces.home(target);
            let at_home = self.spaces.home(source) == place;
            if at_home && self.webs.share(target, source) {
                continue;
            }
            if place == Place::Acc && is_zero(self.src, source) {
                let web = self.webs.of(target);
                let root = *self.roots.get(&web).ok_or_else(|| self.internal("a buffer that is not there yet"))?;
                let extents = self.matrix_extents(source)?;
                let held = Held { root, tile: self.window(root, extents) };
                self.zero_accumulator(source, held)?;
                continue;
            }
            if place == Place::Acc && self.spaces.is_assigned(target, source) {
                let web = self.webs.of(target);
                let root = *self.roots.get(&web).ok_or_else(|| self.internal("a buffer that is not there yet"))?;
                let extents = self.matrix_extents(source)?;
                let (height, width) = flat(&self.tile_type(source)?);
                let tile = self.window(root, extents);
                self.remake(source, tile, Rect { row: 0, col: 0, height, width })?;
                continue;
            }
            if place != Place::Vec {
                return Err(self.internal("a copy of an accumulator"));
            }
            let ty = self.tile_type(target)?;
            let mut extents = self.matrix_extents(source)?;
            let mut from = self.held(source, Place::Vec)?;
            if self.buffer_type(from.root).is_fully_valid() {
                // What is outside the valid region comes along, as it does where names share a buffer.
                from.tile = from.root;
                extents = [Extent::Static(ty.rows()), Extent::Static(ty.cols())];
            }
            let web = self.webs.of(target);
            let root = *self.roots.get(&web).ok_or_else(|| self.internal("a buffer that is not there yet"))?;
            let root = self.recast(root, ty.dtype, ty.rows(), ty.cols());
            let held = Held { root, tile: self.window(root, extents) };
            let into = if is_column(&ty) { self.as_row(held) } else { held.tile };
            pending.push(Copy {
                target: (web, into),
                reads: at_home.then(|| self.webs.of(source)),
                source: if is_column(&ty) { self.as_row(from) } else { from.tile },
                shape: if is_column(&ty) { (1, ty.rows()) } else { flat(&ty) },
                extents: if is_column(&ty) { [Extent::Static(1), extents[0]] } else { extents },
            });
        }
        while !pending.is_empty() {
            let free = (0..pending.len()).find(|&i| {
                let web = pending[i].target.0;
                (0..pending.len()).all(|j| j == i || pending[j].reads != Some(web))
            });
            if let Some(i) = free {
                let copy = pending.remove(i);
                self.b.dest(Opcode::TMov, &[&[copy.source]], copy.target.1, attrs([]));
            } else {
                let dtype = self.buffer_type(pending[0].source).dtype;
                let (shape, extents) = (pending[0].shape, pending[0].extents);
                let saved = self.make(dtype, shape, Space::Vec, extents)?;
                self.b.dest(Opcode::TMov, &[&[pending[0].source]], saved, attrs([]));
                pending[0].source = saved;
                pending[0].reads = None;
            }
        }
        Ok(())
    }
}
