//! Tile values as buffers: two dimensions, a place, a physical shape.
//!
//! A value of rank n is the matrix of its last axis by all others; a value of rank 1 is one row. In the cube's buffers
//! the physical shape is rounded up to whole fractals and the real extents are the valid region; in Vec the shape is
//! the user's, which must be aligned.

use chip::{Arch, Space};
use diag::{Diagnostic, Span};
use dtype::DType;
use ir::{Dim, Layout, TileType};

use crate::Fail;

/// Where a tile value can be kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    Vec,
    /// `transposed`: the buffer holds the transposed value.
    Mat {
        transposed: bool,
    },
    Acc,
}

impl Place {
    pub(crate) fn space(self) -> Space {
        match self {
            Place::Vec => Space::Vec,
            Place::Mat { .. } => Space::Mat,
            Place::Acc => Space::Acc,
        }
    }
}

/// Rows and columns of a value.
pub(crate) fn flat(ty: &TileType) -> (u64, u64) {
    (ty.rows(), ty.cols())
}

/// Whether the value is kept column-major in Vec, so that elementwise operations see it as one row.
pub(crate) fn is_column(ty: &TileType) -> bool {
    ty.cols() == 1 && ty.rows() > 1
}

/// Both extents of a tile in Mat, Left and Right are rounded to this many elements, so that every tile can be either
/// operand of a matmul: a fractal is 16 rows of 32 bytes. The same holds for the columns of the accumulator.
pub(crate) fn granule(dtype: DType) -> u64 {
    match dtype.size() {
        1 => 32,
        _ if dtype == DType::I32 => 32,
        _ => 16,
    }
}

/// The inner extent of a product is cut at multiples of this (semantics rule 8).
pub(crate) const CUT: u64 = 32;

/// Whether a product of `m × n` elements with operands of this type has one accumulator: it fits into Acc, and a part of
/// its inner extent for all of its rows fits into Left. (Accumulators have no windows of rows.)
pub(crate) fn has_accumulator(operand: DType, sum: DType, m: u64, n: u64, arch: Arch) -> bool {
    let capacity = |space| arch.chip().capacity(space).language as u64;
    let fits = |ty: TileType| bytes(&ty).is_some_and(|b| b <= capacity(ty.space.unwrap_or(Space::Acc)));
    fits(buffer(sum, m, n, Space::Acc, arch)) && fits(buffer(operand, m, CUT, Space::Left, arch))
}

/// The fully valid buffer type for `rows × cols` elements in `space`.
pub(crate) fn buffer(dtype: DType, rows: u64, cols: u64, space: Space, arch: Arch) -> TileType {
    let g = granule(dtype);
    let (r, c) = match space {
        Space::Vec | Space::Scaling => (rows, cols),
        // As wide as the accumulator that starts from it.
        Space::Bias => (rows, cols.next_multiple_of(g)),
        Space::Mat | Space::Right => (rows.next_multiple_of(g), cols.next_multiple_of(g)),
        Space::Left | Space::Acc => (rows.next_multiple_of(16), cols.next_multiple_of(g)),
    };
    TileType::buffer(dtype, r, c, space, arch)
}

/// Refuses a buffer that the machine cannot hold: misaligned in Vec, or by itself larger than its space.
pub(crate) fn check(ty: &TileType, arch: Arch, span: Option<Span>) -> Result<(), Fail> {
    let Some(space) = ty.space else { return Ok(()) };
    let (rows, cols) = flat(ty);
    let size = ty.dtype.size() as u64;
    if space == Space::Vec {
        let (major, what) = if ty.layout == Layout::COL_MAJOR { (rows, "column") } else { (cols, "row") };
        if !(major * size).is_multiple_of(chip::BLOCK_BYTES as u64) {
            let unit = chip::BLOCK_BYTES as u64 / size;
            return Err(Box::new(
                Diagnostic::error(
                    "misaligned-tile",
                    format!(
                        "a {rows}x{cols} tile of {} in Vec has {what}s of {} bytes; they must be a multiple of {} bytes",
                        ty.dtype,
                        major * size,
                        chip::BLOCK_BYTES
                    ),
                )
                .at(span, "this tile")
                .help(format!("use a multiple of {unit} elements, and a valid region for the part that counts")),
            ));
        }
    }
    let limit = arch.chip().capacity(space).language as u64;
    let needs = bytes(ty);
    if needs.is_some_and(|n| n <= limit) {
        return Ok(());
    }
    let needs = needs.map_or_else(|| "more than 2^64".to_owned(), |n| n.to_string());
    let message = format!("a {rows}x{cols} tile of {} needs {needs} bytes, {} has {limit}", ty.dtype, shown(space));
    let error = Diagnostic::error("tile-capacity", message).at(span, "this tile");
    Err(Box::new(match space {
        Space::Acc => error.note(
            "a product that is larger than the accumulator is made piece by piece where it is used, unless a loop or a \
             branch hands it on",
        ),
        _ => error,
    }))
}

/// Bytes of the whole physical extent, if that is a number.
fn bytes(ty: &TileType) -> Option<u64> {
    ty.shape.iter().try_fold(ty.dtype.size() as u64, |n, &d| n.checked_mul(d))
}

/// The space by the name the language uses.
pub(crate) fn shown(space: Space) -> &'static str {
    match space {
        Space::Vec => "Vec",
        Space::Mat => "Mat",
        Space::Left => "Left",
        Space::Right => "Right",
        Space::Acc => "Acc",
        Space::Bias => "Bias",
        Space::Scaling => "Scaling",
    }
}

/// The type with these valid extents.
pub(crate) fn with_valid(ty: &TileType, valid: [Dim; 2]) -> TileType {
    ty.clone().with_valid(valid.to_vec())
}
