//! The bytes of global memory that an instruction touches, for the record of a run ([`trace::Log`]).

use dtype::DType;
use isa::Tile;
use memory::{Buffer, View};
use trace::{Fifo, Region};

use crate::code::FifoName;
use crate::kernel::whole_region;

/// What a transfer between a box of global memory and a tile's valid region moves.
pub(crate) fn transferred(view: &View, tile: &Tile) -> Region {
    let size = view.dtype.size() as i64;
    let start = view.buffer.as_ptr().addr() as i64 + view.offset as i64 * size;
    let rank = view.rank();
    if rank == 0 || view.elements() == 0 {
        return Region::EMPTY;
    }
    let rows: u64 = view.shape[..rank - 1].iter().product();
    let (valid_rows, cols) = (tile.valid_rows as u64, (tile.valid_cols as u64).min(view.shape[rank - 1]));
    if valid_rows >= rows || rank == 2 {
        let mut shape = view.shape;
        shape[rank - 1] = cols;
        if rank == 2 {
            shape[0] = shape[0].min(valid_rows);
        }
        let dims = shape.iter().zip(view.strides.iter()).map(|(&n, &s)| (n as i64, s * size));
        return Region::strided(start, size, dims);
    }
    // A prefix of the rows of several planes is no strided set; the planes it reaches into are.
    let mut shape = view.shape;
    shape[rank - 1] = cols;
    let plane: u64 = view.shape[1..rank - 1].iter().product();
    shape[0] = shape[0].min(valid_rows.div_ceil(plane.max(1)));
    let dims = shape.iter().zip(view.strides.iter()).map(|(&n, &s)| (n as i64, s * size));
    Region::strided(start, size, dims)
}

/// All of a view: what an indexed transfer may touch.
pub(crate) fn whole(view: &View) -> Region {
    whole_region(view)
}

pub(crate) fn scalar(buffer: &Buffer, at: usize, dtype: DType) -> Region {
    Region::bytes(buffer.as_ptr().addr() as i64 + at as i64, dtype.size() as i64)
}

impl From<FifoName> for Fifo {
    fn from(name: FifoName) -> Fifo {
        Fifo { id: name.id, to_vector: name.to_vector }
    }
}
