//! Operations in which data choose: masks, gathers, scatters, sorts.
//!
//! What an undefined mask, key or element chooses is undefined. An undefined *index* says where memory is read or written,
//! which is a decision, and reported (semantics rule 2). A flat index counts the physical extent of its tile, so all of that
//! is what a gather may read.

use dtype::DType;
use isa::{Atomic, GatherMode, OutOfRange, Pattern, Predicate, ScatterMode, Tile, shadow};
use memory::Dims;

use super::{matrix, source};
use crate::arena::TileValue;
use crate::code::TileOp;
use crate::machine::{Frame, Machine};
use crate::problem::{Problem, Result};

impl<const DEFINED: bool> Machine<'_, DEFINED> {
    /// The mask of a comparison: all of its columns are valid, in the rows where the operands are.
    pub(super) fn compare(
        &mut self,
        op: &TileOp,
        frame: &Frame,
        predicate: Predicate,
        scalar: Option<DType>,
    ) -> Result<TileValue> {
        let first = source(op, frame, 0)?;
        let mut a = matrix(&first, "a comparison")?;
        let second = if scalar.is_none() { Some(source(op, frame, 1)?) } else { None };
        let b = second.as_ref().map(|b| matrix(b, "a comparison")).transpose()?;
        if let Some(b) = &b {
            a = meet(a, b);
        }
        let (rows, columns) = (a.valid_rows as u64, extent(op, 1)?);
        let tile = self.arena.tile(op.dtype, op.shape, Dims::new(&[rows, columns])?);
        let d = matrix(&tile, "a mask")?;
        match (b, scalar) {
            (Some(b), _) => {
                let b = b.with_valid(a.valid_rows, a.valid_cols);
                instruction!(self, [&a, &b] => &d, compare(predicate, &d, &a, &b));
            }
            (None, dtype) => {
                let value = frame.scalar(op.at[0], dtype.unwrap_or(first.dtype));
                instruction!(self, [&a] => &d, compare_scalar(predicate, &d, &a, value));
                self.scalar_decides(frame, op.at[0], &tile);
            }
        }
        Ok(tile)
    }

    pub(super) fn select(&mut self, op: &TileOp, frame: &Frame, scalar: Option<DType>) -> Result<TileValue> {
        let (mask, first) = (source(op, frame, 0)?, source(op, frame, 1)?);
        let mut a = matrix(&first, "a selection")?;
        let second = if scalar.is_none() { Some(source(op, frame, 2)?) } else { None };
        let b = second.as_ref().map(|b| matrix(b, "a selection")).transpose()?;
        if let Some(b) = &b {
            a = meet(a, b);
        }
        let (rows, cols) = (a.valid_rows, a.valid_cols);
        let tile = self.arena.tile(op.dtype, op.shape, Dims::new(&[rows as u64, cols as u64])?);
        let d = matrix(&tile, "a selection")?;
        // The bits of the domain, whatever is valid of the mask.
        let mask = mask.matrix();
        let used = mask.with_valid(rows.min(mask.rows), cols.div_ceil(8).min(mask.cols));
        match (b, scalar) {
            (Some(b), _) => {
                let b = b.with_valid(rows, cols);
                choosing!(self, [&used, &a, &b] => &d, select(&d, &mask, &a, &b));
            }
            (None, dtype) => {
                let value = frame.scalar(op.at[0], dtype.unwrap_or(first.dtype));
                choosing!(self, [&used, &a] => &d, select_scalar(&d, &mask, &a, value));
                if DEFINED && frame.undefined[op.at[0] as usize] {
                    self.unselected(&d, &mask);
                }
            }
        }
        Ok(tile)
    }

    /// The elements for which an undefined scalar was taken are undefined.
    fn unselected(&mut self, d: &Tile, mask: &Tile) {
        for r in 0..d.valid_rows {
            for c in 0..d.valid_cols {
                if self.arena.mem[mask.byte_offset(r, c / 8)] >> (c % 8) & 1 == 0 {
                    let at = d.byte_offset(r, c);
                    self.arena.shadow[at..at + d.dtype.size()].fill(0);
                }
            }
        }
    }

    pub(super) fn gather(&mut self, op: &TileOp, frame: &Frame) -> Result<TileValue> {
        let (from, indices) = (source(op, frame, 0)?, source(op, frame, 1)?);
        let (s, index) = (from.matrix(), matrix(&indices, "the indices of a gather")?);
        self.decides(&index, "a gather")?;
        let tile = self.arena.tile(op.dtype, op.shape, indices.valid);
        let d = matrix(&tile, "a gather")?;
        choosing!(self, [&s] => &d, gather(&d, &s, &index));
        Ok(tile)
    }

    pub(super) fn gather_blocks(&mut self, op: &TileOp, frame: &Frame) -> Result<TileValue> {
        let (from, offsets) = (source(op, frame, 0)?, source(op, frame, 1)?);
        let (s, index) = (from.matrix(), matrix(&offsets, "the offsets of a gather")?);
        self.decides(&index, "a gather of blocks")?;
        let columns = index.valid_cols as u64 * (32 / op.dtype.size() as u64);
        let tile = self.arena.tile(op.dtype, op.shape, Dims::new(&[index.valid_rows as u64, columns])?);
        let d = matrix(&tile, "a gather of blocks")?;
        choosing!(self, [&s] => &d, gather_blocks(&d, &s, &index));
        Ok(tile)
    }

    pub(super) fn gather_mask(&mut self, op: &TileOp, frame: &Frame, pattern: Pattern) -> Result<TileValue> {
        let from = source(op, frame, 0)?;
        let s = matrix(&from, "a gather by a pattern")?;
        let taken = (s.valid_cols / pattern.period()) as u64;
        let tile = self.arena.tile(op.dtype, op.shape, Dims::new(&[s.valid_rows as u64, taken])?);
        let d = matrix(&tile, "a gather by a pattern")?;
        instruction!(self, [&s] => &d, gather_mask(pattern, &d, &s));
        Ok(tile)
    }

    pub(super) fn scatter_mask(&mut self, op: &TileOp, frame: &Frame, pattern: Pattern) -> Result<TileValue> {
        let from = source(op, frame, 0)?;
        let s = matrix(&from, "a scatter by a pattern")?;
        let columns = s.valid_cols as u64 * pattern.period() as u64;
        let tile = self.arena.tile(op.dtype, op.shape, Dims::new(&[s.valid_rows as u64, columns])?);
        let d = matrix(&tile, "a scatter by a pattern")?;
        instruction!(self, [&s] => &d, scatter_mask(pattern, &d, &s));
        Ok(tile)
    }

    pub(super) fn scatter(&mut self, op: &TileOp, frame: &Frame) -> Result<TileValue> {
        let (from, indices) = (source(op, frame, 0)?, source(op, frame, 1)?);
        let s = matrix(&from, "a scatter")?;
        let index = used(&indices, s.valid_rows, s.valid_cols);
        self.decides(&index, "a scatter")?;
        // Zeroed: without a valid element the instruction does nothing.
        let tile = self.arena.zeroed(op.dtype, op.shape, op.shape);
        let d = matrix(&tile, "a scatter")?;
        choosing!(self, [&s] => &d, scatter(&d, &s, &index));
        Ok(tile)
    }

    pub(super) fn sort(&mut self, op: &TileOp, frame: &Frame) -> Result<TileValue> {
        let (from, indices) = (source(op, frame, 0)?, source(op, frame, 1)?);
        let s = matrix(&from, "a sort")?;
        let idx = used(&indices, s.valid_rows, s.valid_cols);
        let records = (s.valid_cols as u64).next_multiple_of(32);
        let columns = records * (8 / op.dtype.size() as u64);
        let tile = self.arena.tile(op.dtype, op.shape, Dims::new(&[s.valid_rows as u64, columns])?);
        let d = matrix(&tile, "a sort")?;
        choosing!(self, [&s, &idx] => &d, sort32(&d, &s, &idx));
        Ok(tile)
    }

    pub(super) fn merge_runs(&mut self, op: &TileOp, frame: &Frame) -> Result<TileValue> {
        let from = source(op, frame, 0)?;
        let s = matrix(&from, "a merge")?;
        let length = self.places(frame, &op.at, "the length of runs")?[0];
        let Ok(length) = u32::try_from(length) else {
            return Err(Problem::error("bad-extent", format!("a merge of runs of {length} columns")));
        };
        let tile = self.arena.tile(op.dtype, op.shape, from.valid);
        let d = matrix(&tile, "a merge")?;
        choosing!(self, [&s] => &d, merge_sort(&d, &s, length));
        Ok(tile)
    }

    /// Undefined behind the place where an exhausted list ends it.
    pub(super) fn merge_lists(&mut self, op: &TileOp, frame: &Frame, exhausted: bool) -> Result<TileValue> {
        let lists: Vec<TileValue> = (0..op.src.len()).map(|k| source(op, frame, k)).collect::<Result<_>>()?;
        let lists: Vec<Tile> = lists.iter().map(|list| matrix(list, "a list")).collect::<Result<_>>()?;
        let lists: Vec<&Tile> = lists.iter().collect();
        let columns = lists.iter().map(|list| list.valid_cols as u64).sum();
        let tile = self.arena.zeroed(op.dtype, op.shape, Dims::new(&[1, columns])?);
        let d = matrix(&tile, "a merge")?;
        if DEFINED {
            shadow::merge_lists(&mut self.arena.shadow, &self.arena.mem, &d, &lists, exhausted)?;
        }
        isa::merge_lists(&mut self.arena.mem, &d, &lists, exhausted)?;
        Ok(tile)
    }

    pub(super) fn gather_view(
        &mut self,
        op: &TileOp,
        frame: &Frame,
        mode: GatherMode,
        out_of_range: OutOfRange,
    ) -> Result<TileValue> {
        let tensor = frame.tensor(op.tensor)?.clone();
        let indices = source(op, frame, 0)?;
        let index = matrix(&indices, "the indices of a gather")?;
        self.decides(&index, "a gather")?;
        let valid = match mode {
            GatherMode::Elem => indices.valid,
            GatherMode::Row => {
                let columns = tensor.view.shape.last().copied().unwrap_or(1);
                Dims::new(&[index.valid_cols as u64, columns])?
            }
        };
        let tile = self.arena.tile(op.dtype, op.shape, valid);
        let d = matrix(&tile, "a gather")?;
        if let Some(there) = self.globals.shadow(tensor.global, &tensor.view) {
            let arena = &mut self.arena;
            shadow::gather_view(&mut arena.shadow, &arena.mem, &d, &there, &index, mode, out_of_range)?;
        }
        isa::gather_view(&mut self.arena.mem, &d, &tensor.view, &index, mode, out_of_range)?;
        Ok(tile)
    }

    pub(super) fn scatter_view(
        &mut self,
        op: &TileOp,
        frame: &mut Frame,
        mode: ScatterMode,
        out_of_range: OutOfRange,
        atomic: Option<Atomic>,
    ) -> Result<()> {
        let tensor = frame.tensor(op.tensor)?.clone();
        let (tile, indices) = (source(op, frame, 0)?, source(op, frame, 1)?);
        let (s, index) = (matrix(&tile, "a scatter")?, matrix(&indices, "the indices of a scatter")?);
        self.decides(&index, "a scatter")?;
        let view = &tensor.view;
        if DEFINED && atomic.is_some() && shadow::first_undefined(&self.arena.shadow, &s)?.is_some() {
            let message = "undefined data is combined with global memory".to_owned();
            return Err(Problem::undefined("undefined-atomic", message));
        }
        // The data first: a scatter that is refused leaves the shadow as it was.
        isa::scatter_view(&self.arena.mem, view, &s, &index, mode, out_of_range, atomic)?;
        if let Some(there) = self.globals.shadow(tensor.global, view) {
            let arena = &self.arena;
            shadow::scatter_view(&arena.shadow, &arena.mem, &there, &s, &index, mode, out_of_range, atomic)?;
        }
        self.globals.written(tensor.global);
        if self.observed() {
            let digest = isa::digest_scatter(&self.arena.mem, view, &s, &index, out_of_range, atomic);
            self.report(op.op, frame, digest);
        }
        Ok(())
    }

    /// Undefined indices decide where memory is read or written.
    fn decides(&self, index: &Tile, what: &str) -> Result<()> {
        if DEFINED && let Some((r, c)) = shadow::first_undefined(&self.arena.shadow, index)? {
            return Err(Problem::undefined("undefined-index", format!("index ({r}, {c}) of {what} is undefined")));
        }
        Ok(())
    }
}

/// The part of a tile that belongs to a region.
fn used(tile: &TileValue, rows: u32, cols: u32) -> Tile {
    tile.matrix().with_valid(rows, cols)
}

/// `a`, valid where both are.
fn meet(a: Tile, b: &Tile) -> Tile {
    a.with_valid(a.valid_rows.min(b.valid_rows), a.valid_cols.min(b.valid_cols))
}

/// An extent of the result's shape, which is that of a matrix.
fn extent(op: &TileOp, axis: usize) -> Result<u64> {
    match op.shape.get(axis) {
        Some(&n) if op.shape.len() == 2 => Ok(n),
        _ => Err(Problem::error("malformed-ir", format!("a result of shape {:?}, which is no matrix", op.shape))),
    }
}
