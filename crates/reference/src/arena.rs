//! Tile values: reference-counted ranges of one byte arena.
//!
//! A tile value is a range of bytes and a shape with a valid region. Copying the value copies the handle; `tinsert` and
//! `tsetval` change the bytes for every name that holds it (semantics rule 14). Elements lie row-major and packed; what an
//! operation does not write of a fresh tile is zero (rule 4).
//!
//! Instructions see matrices: a tile of more dimensions is `[product of the leading extents, last]`. A valid region that
//! is no box of that matrix (a middle dimension partly valid) falls apart into several *planes*, each of which is one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dtype::DType;
use memory::Dims;

/// Ranges start on a cache line.
const ALIGN: usize = 64;

/// Which ranges of the arena are free, by size.
#[derive(Default)]
struct Pool {
    end: usize,
    free: BTreeMap<usize, Vec<usize>>,
}

/// A range of the arena; freed with its last holder.
pub(crate) struct Storage {
    offset: usize,
    bytes: usize,
    pool: Rc<RefCell<Pool>>,
}

impl Drop for Storage {
    fn drop(&mut self) {
        self.pool.borrow_mut().free.entry(self.bytes).or_default().push(self.offset);
    }
}

/// The bytes of all tiles, and beside them one byte each that says whether it is defined (1) if that is tracked.
#[derive(Default)]
pub(crate) struct Arena {
    pub(crate) mem: Vec<u8>,
    /// As long as `mem`, or empty.
    pub(crate) shadow: Vec<u8>,
    track: bool,
    pool: Rc<RefCell<Pool>>,
}

impl Arena {
    pub(crate) fn new(definedness: bool) -> Arena {
        Arena { track: definedness, ..Arena::default() }
    }

    /// A tile of which the part outside `valid` is zero and everything is undefined. The part inside is left as it is:
    /// whoever asks is about to write it.
    pub(crate) fn tile(&mut self, dtype: DType, shape: Dims<u64>, valid: Dims<u64>) -> TileValue {
        let full = *shape == *valid;
        let tile = self.raw(dtype, shape, valid);
        let range = tile.bytes();
        if !full {
            self.mem[range.clone()].fill(0);
        }
        if self.track {
            self.shadow[range].fill(0);
        }
        tile
    }

    /// A tile of zeros, undefined.
    pub(crate) fn zeroed(&mut self, dtype: DType, shape: Dims<u64>, valid: Dims<u64>) -> TileValue {
        let tile = self.raw(dtype, shape, valid);
        let range = tile.bytes();
        self.mem[range.clone()].fill(0);
        if self.track {
            self.shadow[range].fill(0);
        }
        tile
    }

    /// Whether every element of the valid region of a (row-major) matrix is defined. `false` for an empty one: what an
    /// instruction makes of nothing is for the instruction to say.
    pub(crate) fn is_defined(&self, tile: &isa::Tile) -> bool {
        let bytes = tile.valid_cols as usize * tile.dtype.size();
        tile.valid_rows > 0
            && bytes > 0
            && (0..tile.valid_rows).all(|r| {
                let at = tile.byte_offset(r, 0);
                // No early exit inside a row: this way it is a vector loop.
                self.shadow[at..at + bytes].iter().fold(1, |all, &b| all & b) == 1
            })
    }

    /// Marks the valid region of a (row-major) matrix.
    pub(crate) fn define(&mut self, tile: &isa::Tile) {
        let bytes = tile.valid_cols as usize * tile.dtype.size();
        for r in 0..tile.valid_rows {
            let at = tile.byte_offset(r, 0);
            self.shadow[at..at + bytes].fill(1);
        }
    }

    fn raw(&mut self, dtype: DType, shape: Dims<u64>, valid: Dims<u64>) -> TileValue {
        let exact = shape.iter().product::<u64>() as usize * dtype.size();
        let bytes = exact.next_multiple_of(ALIGN).max(ALIGN);
        let mut pool = self.pool.borrow_mut();
        let offset = match pool.free.get_mut(&bytes).and_then(Vec::pop) {
            Some(offset) => offset,
            None => {
                let offset = pool.end;
                pool.end += bytes;
                if pool.end > self.mem.len() {
                    let size = pool.end.max(self.mem.len() * 2);
                    self.mem.resize(size, 0);
                    if self.track {
                        self.shadow.resize(size, 0);
                    }
                }
                offset
            }
        };
        let storage = Rc::new(Storage { offset, bytes, pool: self.pool.clone() });
        TileValue { storage, dtype, shape, valid }
    }
}

/// A tile at the tensor level.
#[derive(Clone)]
pub(crate) struct TileValue {
    storage: Rc<Storage>,
    pub(crate) dtype: DType,
    pub(crate) shape: Dims<u64>,
    pub(crate) valid: Dims<u64>,
}

/// A run of valid rows of the matrix `[product of the leading extents, last]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rows {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// The runs of rows that a valid region consists of. One run if it is a box of the matrix; nothing if it has no element.
pub(crate) fn runs(shape: &[u64], valid: &[u64]) -> Vec<Rows> {
    let lead = shape.len().saturating_sub(1);
    let (shape, valid) = (&shape[..lead], &valid[..lead]);
    // Trailing dimensions that are wholly valid join the run; the first one that is not ends it.
    let mut inner = lead;
    let mut count = 1;
    while inner > 0 {
        inner -= 1;
        count *= valid[inner];
        if valid[inner] != shape[inner] {
            break;
        }
    }
    // Dimensions before `inner` with more than one index make separate runs.
    let step: u64 = shape[inner.min(lead)..].iter().product();
    let outer = &valid[..inner];
    let total: u64 = outer.iter().product();
    if count == 0 || total == 0 {
        return Vec::new();
    }
    let mut out = Vec::with_capacity(total as usize);
    let mut index = vec![0u64; inner];
    for _ in 0..total {
        let row = index.iter().zip(shape).fold(0, |n, (&i, &extent)| n * extent + i);
        out.push(Rows { first: row * step, count });
        for k in (0..inner).rev() {
            index[k] += 1;
            if index[k] < outer[k] {
                break;
            }
            index[k] = 0;
        }
    }
    out
}

impl TileValue {
    pub(crate) fn rows(&self) -> u64 {
        self.shape[..self.shape.len() - 1].iter().product()
    }

    pub(crate) fn cols(&self) -> u64 {
        self.shape[self.shape.len() - 1]
    }

    pub(crate) fn valid_cols(&self) -> u64 {
        self.valid[self.valid.len() - 1]
    }

    pub(crate) fn is_fully_valid(&self) -> bool {
        *self.shape == *self.valid
    }

    /// Its bytes in the arena.
    pub(crate) fn bytes(&self) -> std::ops::Range<usize> {
        let start = self.storage.offset;
        start..start + self.shape.iter().product::<u64>() as usize * self.dtype.size()
    }

    /// The same bytes with another valid region.
    pub(crate) fn with_valid(&self, valid: Dims<u64>) -> TileValue {
        TileValue { valid, ..self.clone() }
    }

    /// The whole tile as a matrix, wholly valid.
    pub(crate) fn matrix(&self) -> isa::Tile {
        isa::Tile::row_major(self.storage.offset, self.dtype, self.rows() as u32, self.cols() as u32)
    }

    /// A run of rows as a matrix: as many rows as the run, all columns, of which `valid_cols` are valid.
    pub(crate) fn plane(&self, rows: Rows, valid_cols: u64) -> isa::Tile {
        let (first, count) = (rows.first as usize, rows.count as u32);
        let offset = self.storage.offset + first * self.cols() as usize * self.dtype.size();
        isa::Tile::row_major(offset, self.dtype, count, self.cols() as u32).with_valid(count, valid_cols as u32)
    }

    /// The rectangle of `rows × cols` elements at (`row`, `col`) of the matrix.
    pub(crate) fn window(&self, row: u64, col: u64, rows: u64, cols: u64) -> isa::Tile {
        let at = (row * self.cols() + col) as usize * self.dtype.size();
        let tile = isa::Tile::row_major(self.storage.offset + at, self.dtype, rows as u32, cols as u32);
        isa::Tile { pitch: self.cols() as u32, ..tile }
    }

    /// The valid region as one matrix, if it is one.
    pub(crate) fn valid_matrix(&self) -> Option<isa::Tile> {
        match *runs(&self.shape, &self.valid) {
            [] => Some(self.matrix().with_valid(0, self.valid_cols() as u32)),
            [rows] => Some(self.plane(rows, self.valid_cols())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(list: &[(u64, u64)]) -> Vec<Rows> {
        list.iter().map(|&(first, count)| Rows { first, count }).collect()
    }

    #[test]
    fn a_box_of_the_matrix_is_one_run() {
        assert_eq!(runs(&[8], &[3]), rows(&[(0, 1)]));
        assert_eq!(runs(&[4, 8], &[3, 5]), rows(&[(0, 3)]));
        assert_eq!(runs(&[2, 4, 8], &[2, 4, 8]), rows(&[(0, 8)]));
        assert_eq!(runs(&[3, 4, 8], &[2, 4, 1]), rows(&[(0, 8)]));
    }

    #[test]
    fn a_partly_valid_middle_dimension_makes_planes() {
        assert_eq!(runs(&[3, 4, 8], &[2, 3, 8]), rows(&[(0, 3), (4, 3)]));
        assert_eq!(runs(&[2, 3, 4, 8], &[2, 2, 4, 8]), rows(&[(0, 8), (12, 8)]));
        assert_eq!(runs(&[2, 2, 4, 8], &[2, 2, 3, 8]), rows(&[(0, 3), (4, 3), (8, 3), (12, 3)]));
    }

    #[test]
    fn nothing_valid_is_no_run() {
        assert_eq!(runs(&[4, 8], &[0, 8]), rows(&[]));
        assert_eq!(runs(&[2, 4, 8], &[0, 4, 8]), rows(&[]));
    }

    #[test]
    fn freed_ranges_are_used_again() {
        let mut arena = Arena::new(false);
        let dims = Dims::new(&[4, 8]).unwrap();
        let first = arena.tile(DType::F32, dims, dims).bytes();
        let again = arena.tile(DType::F32, dims, dims);
        assert_eq!(again.bytes(), first);
        assert_ne!(arena.tile(DType::F32, dims, dims).bytes(), first);
        drop(again);
    }
}
