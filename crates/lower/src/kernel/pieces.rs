//! Products that have no accumulator as a whole: larger than Acc or than the room that others leave there, with more rows
//! than Left has room for, or changed in place in Vec.
//!
//! Such a product is never held. It is made piece by piece, each piece in an accumulator of its own that the next one of
//! the same size reuses, and each goes where the value is used:
//!
//! * a store makes the pieces itself, and stores each to its part of the box;
//! * a matmul that takes the value (or its conversion to a 16-bit float) gets it in Mat, put together when it is made;
//! * vector work gets it in Vec, put together when it is made.
//!
//! A value that is stored twice is computed twice. The bits are those of the whole product: the pieces divide rows and
//! columns, never the sums.

use std::collections::BTreeMap;

use chip::Space;
use ir::builder::attrs;
use ir::{Attr, Op, Opcode, Value};

use super::Kernel;
use super::matmul::Rect;
use crate::Fail;
use crate::access::Access;
use crate::extent::Extent;
use crate::tile::{self, CUT, Place, flat, granule};

/// Rows and columns of a piece where both are cut: as much of an operand is read again for each column of pieces as for
/// each row.
const SIDE: u64 = 128;

/// The accumulators of pieces, by size.
type Accumulators = BTreeMap<(u64, u64), Value>;

impl Kernel<'_> {
    /// The value of a product in pieces, in the space where its users want it whole.
    pub(super) fn piecewise(&mut self, result: Value) -> Result<(), Fail> {
        if self.spaces.home(result) == Place::Vec {
            self.pieces_to_vec(result)?;
            return self.cross(result);
        }
        if self.spaces.needs(result).any(|p| p == Place::Mat { transposed: false }) {
            self.pieces_to_mat(result, result)?;
        }
        Ok(())
    }

    /// Puts the pieces of `product` together in Mat, as `value`: itself, or its conversion to a 16-bit float.
    pub(super) fn pieces_to_mat(&mut self, value: Value, product: Value) -> Result<(), Fail> {
        let held = self.define_away(value, Place::Mat { transposed: false }, true)?;
        let ty = self.buffer_type(held.root);
        let mut accumulators = Accumulators::new();
        for piece in self.pieces(product, Space::Mat)? {
            let (acc, extents) = self.piece(product, piece, &mut accumulators)?;
            let unit = granule(ty.dtype);
            let height = piece.height.next_multiple_of(unit).min(ty.shape[0] - piece.row);
            let width = piece.width.next_multiple_of(unit).min(ty.shape[1] - piece.col);
            let window = self.window_at(held.root, (piece.row, piece.col), (height, width), extents);
            self.b.dest(Opcode::TMov, &[&[acc]], window, attrs([]));
        }
        self.complete_whole(held.tile);
        Ok(())
    }

    fn pieces_to_vec(&mut self, value: Value) -> Result<(), Fail> {
        let extents = self.extents(value)?;
        self.result(value, extents)?;
        let held = self.held(value, Place::Vec)?;
        let dtype = self.buffer_type(held.root).dtype;
        let mut accumulators = Accumulators::new();
        for piece in self.pieces(value, Space::Vec)? {
            let (acc, extents) = self.piece(value, piece, &mut accumulators)?;
            let moved = self.make(dtype, (piece.height, piece.width), Space::Vec, extents)?;
            self.b.dest(Opcode::TMov, &[&[acc]], moved, attrs([]));
            let (row, col) = (self.index(piece.row as i64), self.index(piece.col as i64));
            self.b.dest(Opcode::TInsert, &[&[moved], &[row], &[col]], held.root, attrs([]));
        }
        self.complete_whole(held.tile);
        Ok(())
    }

    /// Stores a product in pieces.
    pub(super) fn store_pieces(
        &mut self,
        op: Op,
        product: Value,
        access: &Access,
        atomic: Option<&Attr>,
    ) -> Result<(), Fail> {
        let mut accumulators = Accumulators::new();
        for piece in self.pieces(product, Space::Acc)? {
            let (acc, extents) = self.piece(product, piece, &mut accumulators)?;
            let part = self.part(op, access, &extents, &[piece.row, piece.col])?;
            let mut list = attrs([]);
            if let Some(atomic) = atomic {
                list.set("atomic", atomic.clone());
            }
            self.b.dest(Opcode::TStore, &[&[acc]], part, list);
        }
        // The whole box stands for the store.
        let extents = self.extents(product)?;
        let whole = self.part(op, access, &extents, &[0, 0])?;
        if let Some(view) = self.b.func.def_op(whole) {
            self.complete(view);
        }
        Ok(())
    }

    /// The pieces of a product that goes to `space`, row by row. Those that are known to have nothing valid are left out.
    fn pieces(&mut self, product: Value, space: Space) -> Result<Vec<Rect>, Fail> {
        let ty = self.tile_type(product)?;
        let (m, n) = flat(&ty);
        let unit = granule(ty.dtype);
        let chip = self.arch.chip();
        let limit = |space: Space| chip.capacity(space).language as u64;
        // A piece that goes to Vec lies there beside the whole; the next accumulator may be at work beside it.
        let bytes = match space {
            Space::Vec => limit(Space::Vec) / 8,
            _ if self.spaces.is_crowded() => limit(Space::Acc) / 8,
            _ => limit(Space::Acc) / 2,
        };
        let area = bytes / ty.dtype.size() as u64;
        // Operands are at most as wide as f32.
        let (tall, wide) = (limit(Space::Left) / (CUT * 4), limit(Space::Right) / (CUT * 4));
        let most = |n: u64, most: u64| n.next_multiple_of(unit).min(most / unit * unit);
        let narrow = SIDE.min(most(n, wide));
        let height = most(m, tall.min(area / narrow));
        let width = most(n, wide.min(area / height));
        let (height, width) = (self.choices.part(height, unit), self.choices.part(width, unit));
        let [rows, cols] = self.matrix_extents(product)?;
        let empty = |whole: Extent, from: u64| matches!(whole, Extent::Static(n) if n <= from);
        let mut pieces = Vec::new();
        for row in (0..m).step_by(height as usize).filter(|&row| !empty(rows, row)) {
            for col in (0..n).step_by(width as usize).filter(|&col| !empty(cols, col)) {
                pieces.push(Rect { row, col, height: height.min(m - row), width: width.min(n - col) });
            }
        }
        Ok(pieces)
    }

    /// One piece in an accumulator, and how much of it is valid.
    fn piece(
        &mut self,
        product: Value,
        piece: Rect,
        accumulators: &mut Accumulators,
    ) -> Result<(Value, [Extent; 2]), Fail> {
        let ty = self.tile_type(product)?;
        let (m, n) = flat(&ty);
        let [rows, cols] = self.matrix_extents(product)?;
        let rows = self.part_extent(rows, m, piece.row, piece.height);
        let cols = self.part_extent(cols, n, piece.col, piece.width);
        let buffer = tile::buffer(ty.dtype, piece.height, piece.width, Space::Acc, self.arch);
        let root = match accumulators.get(&(buffer.rows(), buffer.cols())) {
            Some(&root) => root,
            None => {
                let key = (buffer.rows(), buffer.cols());
                let root = self.alloc(buffer)?;
                accumulators.insert(key, root);
                root
            }
        };
        let acc = self.window(root, [rows, cols]);
        self.remake(product, acc, piece)?;
        Ok((acc, [rows, cols]))
    }
}
