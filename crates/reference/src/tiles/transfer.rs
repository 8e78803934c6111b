//! Loads and stores: boxes of global memory and tiles.
//!
//! The box of a load has one axis per tile dimension, and axes of size 1 that the tile does not have. The box of a store
//! and its tile agree in the extents that are not 1. Only the valid region moves, and only it must lie inside the tensor.

use isa::BinaryOp;
use memory::{Dims, View};

use crate::arena::{TileValue, runs};
use crate::code::TileOp;
use crate::global::window;
use crate::machine::{Frame, Machine};
use crate::problem::{Problem, Result};

impl<const DEFINED: bool> Machine<'_, DEFINED> {
    pub(super) fn load(&mut self, op: &TileOp, frame: &Frame, sizes: &[u64], drop: &[usize]) -> Result<TileValue> {
        let tensor = frame.tensor(op.tensor)?.clone();
        let offsets = self.places(frame, &op.at, "an offset of a load")?;
        let valid = self.given(op, frame)?;
        let kept: Vec<usize> = (0..sizes.len()).filter(|axis| !drop.contains(axis)).collect();
        if kept.len() != op.shape.len() || kept.iter().zip(op.shape.iter()).any(|(&axis, &n)| sizes[axis] != n) {
            let message = format!("a load of {sizes:?} without axes {drop:?} makes no tile of {:?}", op.shape);
            return Err(Problem::error("malformed-ir", message));
        }
        let mut accessed = Dims::new(sizes)?;
        for (&axis, &n) in kept.iter().zip(valid.iter()) {
            accessed[axis] = n;
        }
        let axes: Vec<(usize, u64)> = kept.into_iter().zip(valid.iter().copied()).collect();
        let view = window(&tensor.view, &offsets, &accessed, &axes, "a load")?;
        let tile = self.arena.tile(op.dtype, op.shape, valid);
        for (tile, view) in pieces(&tile, &view)? {
            isa::load(&mut self.arena.mem, &tile, &view)?;
            if let Some(shadow) = self.globals.shadow(tensor.global, &view) {
                isa::shadow::load(&mut self.arena.shadow, &tile, &shadow)?;
            }
        }
        Ok(tile)
    }

    pub(super) fn store(&mut self, op: &TileOp, frame: &mut Frame, sizes: &[u64], add: bool) -> Result<()> {
        let tensor = frame.tensor(op.tensor)?.clone();
        let tile = super::source(op, frame, 0)?;
        let offsets = self.places(frame, &op.at, "an offset of a store")?;
        let (accessed, axes) = store_axes(&tile, sizes)?;
        // Dimensions of the tile without an axis have extent 1 (or nothing is valid).
        let kept: Vec<(usize, u64)> = axes.iter().flatten().copied().collect();
        let boxed = window(&tensor.view, &offsets, &accessed, &kept, "a store")?;
        let (mut shape, mut strides) = (Dims::default(), Dims::default());
        let mut stride = boxed.strides.iter();
        for (axis, &valid) in axes.iter().zip(tile.valid.iter()) {
            shape.push(valid)?;
            strides.push(if axis.is_some() { stride.next().copied().unwrap_or(1) } else { 1 })?;
        }
        let view = View { shape, strides, ..boxed };
        for (part, view) in pieces(&tile, &view)? {
            let shadow = self.globals.shadow(tensor.global, &view);
            if add {
                let sum = self.arena.tile(tile.dtype, Dims::new(&[part.valid_rows as u64, part.valid_cols as u64])?, {
                    Dims::new(&[part.valid_rows as u64, part.valid_cols as u64])?
                });
                let sum = sum.matrix();
                isa::load(&mut self.arena.mem, &sum, &view)?;
                isa::binary(&mut self.arena.mem, BinaryOp::Add, &sum, &sum, &part)?;
                if DEFINED && isa::shadow::first_undefined(&self.arena.shadow, &part)?.is_some() {
                    let message = "undefined data is added to global memory".to_owned();
                    return Err(Problem::undefined("undefined-atomic", message));
                }
                isa::store(&view, &self.arena.mem, &sum, false)?;
            } else {
                isa::store(&view, &self.arena.mem, &part, false)?;
                if let Some(shadow) = shadow {
                    isa::shadow::store(&shadow, &self.arena.shadow, &part, false)?;
                }
            }
        }
        self.globals.written(tensor.global);
        if self.observed() {
            let digest = isa::digest_store(&view);
            self.report(op.op, frame, digest);
        }
        Ok(())
    }
}

/// Per axis of the box the extent that is written, and per tile dimension its axis.
type StoreAxes = (Dims<u64>, Vec<Option<(usize, u64)>>);

fn store_axes(tile: &TileValue, sizes: &[u64]) -> Result<StoreAxes> {
    let mut accessed = Dims::new(sizes)?;
    let mut axes = Vec::with_capacity(tile.shape.len());
    let mut free = (0..sizes.len()).filter(|&axis| sizes[axis] != 1);
    let mismatch = || {
        let message = format!("a store of a tile of {:?} to a box of {sizes:?}", tile.shape);
        Err(Problem::error("malformed-ir", message))
    };
    for (&n, &valid) in tile.shape.iter().zip(tile.valid.iter()) {
        if n == 1 {
            axes.push(None);
            if valid == 0 {
                accessed.iter_mut().for_each(|n| *n = 0);
            }
            continue;
        }
        match free.next() {
            Some(axis) if sizes[axis] == n => {
                accessed[axis] = accessed[axis].min(valid);
                axes.push(Some((axis, valid)));
            }
            _ => return mismatch(),
        }
    }
    if free.next().is_some() { mismatch() } else { Ok((accessed, axes)) }
}

/// The runs of a tile's valid region, each with its part of the view. The view's shape is the valid region.
fn pieces(tile: &TileValue, view: &View) -> Result<Vec<(isa::Tile, View)>> {
    let list = runs(&tile.shape, &tile.valid);
    if let [rows] = list[..] {
        return Ok(vec![(tile.plane(rows, tile.valid_cols()), view.clone())]);
    }
    // As many leading dimensions as make one run per index.
    let mut outer = 0;
    let mut count = 1;
    while count < list.len() as u64 {
        count *= tile.valid[outer];
        outer += 1;
    }
    let mut out = Vec::with_capacity(list.len());
    for (number, &rows) in list.iter().enumerate() {
        let (mut rest, mut offset) = (number as u64, view.offset as i64);
        for axis in (0..outer).rev() {
            offset += (rest % tile.valid[axis]) as i64 * view.strides[axis];
            rest /= tile.valid[axis];
        }
        let (shape, strides) = (Dims::new(&view.shape[outer..])?, Dims::new(&view.strides[outer..])?);
        let part = View { offset: offset as u64, shape, strides, ..view.clone() };
        out.push((tile.plane(rows, tile.valid_cols()), part));
    }
    Ok(out)
}
