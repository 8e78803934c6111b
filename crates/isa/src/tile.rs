//! Tile descriptors: where element (r, c) of a matrix lies.
//!
//! Orders are those of `isa.md` §3.1. With an inner box of `ir × ic` elements, `R` and `C` the physical extent:
//!
//! | order | element offset |
//! |---|---|
//! | `RowMajor` | r·pitch + c |
//! | `ColMajor` | c·pitch + r |
//! | `Nz` | (c÷ic)·R·ic + (r÷ir)·ir·ic + (r mod ir)·ic + c mod ic |
//! | `Zn` | (r÷ir)·C·ir + (c÷ic)·ir·ic + (c mod ic)·ir + r mod ir |
//! | `Zz` | (r÷ir)·C·ir + (c÷ic)·ir·ic + (r mod ir)·ic + c mod ic |
//! | `Nn` | (c÷ic)·R·ic + (r÷ir)·ir·ic + (c mod ic)·ir + r mod ir |
//!
//! Every one is a sum of a function of r and a function of c, both increasing; the last element of a region is its corner.

use dtype::DType;

use crate::Fault;

/// The order of the elements of a tile. For the boxed ones the first letter is the order of the boxes (N by columns, Z by
/// rows), the second the order inside a box.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Order {
    RowMajor,
    ColMajor,
    Nz,
    Zn,
    Zz,
    Nn,
}

impl Order {
    pub const ALL: [Order; 6] = [Order::RowMajor, Order::ColMajor, Order::Nz, Order::Zn, Order::Zz, Order::Nn];

    pub const fn is_boxed(self) -> bool {
        !matches!(self, Order::RowMajor | Order::ColMajor)
    }
}

/// A matrix in an arena. A part of a larger tile is a `Tile` too ([`Tile::part`]): it keeps the pitch of the whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    /// Byte offset of element (0, 0).
    pub offset: usize,
    pub dtype: DType,
    /// Physical extent, in elements.
    pub rows: u32,
    pub cols: u32,
    /// The part that instructions work on; may be 0.
    pub valid_rows: u32,
    pub valid_cols: u32,
    pub order: Order,
    /// Elements from row to row (`RowMajor`) or column to column (`ColMajor`); the physical R for `Nz` and `Nn`, the
    /// physical C for `Zn` and `Zz`.
    pub pitch: u32,
    /// Bytes of the inner box of a boxed order (512; 1024 for the accumulator; 32 for scales). Ignored for plain orders.
    pub fractal: u32,
}

impl Tile {
    /// A dense row-major tile, wholly valid.
    pub const fn row_major(offset: usize, dtype: DType, rows: u32, cols: u32) -> Tile {
        let order = Order::RowMajor;
        Tile { offset, dtype, rows, cols, valid_rows: rows, valid_cols: cols, order, pitch: cols, fractal: 0 }
    }

    /// A dense column-major tile, wholly valid.
    pub const fn col_major(offset: usize, dtype: DType, rows: u32, cols: u32) -> Tile {
        let order = Order::ColMajor;
        Tile { offset, dtype, rows, cols, valid_rows: rows, valid_cols: cols, order, pitch: rows, fractal: 0 }
    }

    /// A dense tile in any order, wholly valid. `fractal` is in bytes and ignored for plain orders.
    pub const fn new(offset: usize, dtype: DType, rows: u32, cols: u32, order: Order, fractal: u32) -> Tile {
        let pitch = match order {
            Order::RowMajor | Order::Zn | Order::Zz => cols,
            Order::ColMajor | Order::Nz | Order::Nn => rows,
        };
        Tile { offset, dtype, rows, cols, valid_rows: rows, valid_cols: cols, order, pitch, fractal }
    }

    /// The same tile with another valid region.
    pub const fn with_valid(self, rows: u32, cols: u32) -> Tile {
        Tile { valid_rows: rows, valid_cols: cols, ..self }
    }

    /// Elements of the inner box, (rows, columns); (1, 1) for plain orders.
    #[inline]
    pub fn inner_box(&self) -> (u32, u32) {
        let narrow = || (self.fractal / 16) >> self.dtype.size().trailing_zeros();
        match self.order {
            Order::RowMajor | Order::ColMajor => (1, 1),
            Order::Nz | Order::Zz => (16, narrow()),
            Order::Zn | Order::Nn => (narrow(), 16),
        }
    }

    /// Offset of element (r, c) from element (0, 0), in elements. The descriptor must have passed [`Tile::check`].
    #[inline]
    pub fn element_offset(&self, r: u32, c: u32) -> usize {
        let (r, c, pitch) = (r as usize, c as usize, self.pitch as usize);
        match self.order {
            Order::RowMajor => return r * pitch + c,
            Order::ColMajor => return c * pitch + r,
            _ => {}
        }
        let (ir, ic) = self.inner_box();
        let (ir, ic) = (ir.max(1) as usize, ic.max(1) as usize);
        match self.order {
            Order::Nz => (c / ic) * pitch * ic + r * ic + c % ic,
            Order::Zn => (r / ir) * pitch * ir + c * ir + r % ir,
            Order::Zz => (r / ir) * pitch * ir + (c / ic) * ir * ic + (r % ir) * ic + c % ic,
            _ => (c / ic) * pitch * ic + (r / ir) * ir * ic + (c % ic) * ir + r % ir,
        }
    }

    /// Byte offset of element (r, c) in the arena.
    pub fn byte_offset(&self, r: u32, c: u32) -> usize {
        self.offset + self.element_offset(r, c) * self.dtype.size()
    }

    /// Bytes from the start of the tile to the end of its last physical element; 0 for an empty one.
    pub fn byte_len(&self) -> usize {
        self.region_len(self.rows, self.cols)
    }

    /// Bytes from element (0, 0) to the end of the corner of the region `rows × cols`.
    #[inline]
    pub(crate) fn region_len(&self, rows: u32, cols: u32) -> usize {
        if rows == 0 || cols == 0 { 0 } else { (self.element_offset(rows - 1, cols - 1) + 1) * self.dtype.size() }
    }

    /// The `rows × cols` part at (r0, c0), wholly valid. In boxed orders it must start at a box.
    pub fn part(&self, r0: u32, c0: u32, rows: u32, cols: u32) -> Result<Tile, Fault> {
        let inside = |at: u32, n: u32, of: u32| at.checked_add(n).is_some_and(|end| end <= of);
        if !inside(r0, rows, self.rows) || !inside(c0, cols, self.cols) {
            return Err(Fault::shape(
                "part",
                format!("{rows}x{cols} at ({r0}, {c0}) of a tile of {}x{}", self.rows, self.cols),
            ));
        }
        self.check_descriptor("part")?;
        let (ir, ic) = self.inner_box();
        if !r0.is_multiple_of(ir) || !c0.is_multiple_of(ic) {
            return Err(Fault::shape("part", format!("({r0}, {c0}) does not start a {ir}x{ic} box")));
        }
        Ok(Tile { offset: self.byte_offset(r0, c0), rows, cols, valid_rows: rows, valid_cols: cols, ..*self })
    }

    /// Whether the descriptor makes sense by itself.
    fn check_descriptor(&self, operand: &'static str) -> Result<(), Fault> {
        if self.valid_rows > self.rows || self.valid_cols > self.cols {
            return Err(Fault::shape(
                operand,
                format!("valid {}x{} exceeds physical {}x{}", self.valid_rows, self.valid_cols, self.rows, self.cols),
            ));
        }
        let least = match self.order {
            // A single row or column never uses the pitch.
            Order::RowMajor => {
                if self.rows > 1 {
                    self.cols
                } else {
                    0
                }
            }
            Order::ColMajor => {
                if self.cols > 1 {
                    self.rows
                } else {
                    0
                }
            }
            Order::Nz | Order::Nn => self.rows,
            Order::Zn | Order::Zz => self.cols,
        };
        if self.pitch < least {
            return Err(Fault::shape(operand, format!("a pitch of {} for an extent of {least}", self.pitch)));
        }
        if self.order.is_boxed() {
            let (ir, ic) = self.inner_box();
            if ir * ic * self.dtype.size() as u32 != self.fractal || self.fractal == 0 {
                return Err(Fault::shape(
                    operand,
                    format!("a box of {} bytes is not 16 x n elements of type {}", self.fractal, self.dtype),
                ));
            }
        }
        Ok(())
    }

    /// Checks the descriptor, its alignment, and that its whole physical extent lies in an arena of `arena` bytes.
    pub fn check(&self, operand: &'static str, arena: usize) -> Result<(), Fault> {
        self.check_region(operand, arena, self.rows, self.cols)
    }

    /// Checks the descriptor, and that the region `rows × cols` lies in the physical extent and in the arena.
    pub(crate) fn check_region(&self, operand: &'static str, arena: usize, rows: u32, cols: u32) -> Result<(), Fault> {
        self.check_descriptor(operand)?;
        if rows > self.rows || cols > self.cols {
            return Err(Fault::shape(
                operand,
                format!("the instruction works on {rows}x{cols}, the tile has {}x{}", self.rows, self.cols),
            ));
        }
        let size = self.dtype.size();
        if !self.offset.is_multiple_of(size) {
            return Err(Fault::Misaligned { operand, offset: self.offset, align: size });
        }
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        // 32-bit extents: the index of the last element fits 64 bits, and its byte if the index is below the arena's size.
        let (ir, ic) = self.inner_box();
        let (r, c, pitch) = (rows - 1, cols - 1, self.pitch as u64);
        let bound = match self.order {
            Order::RowMajor => r as u64 * pitch + c as u64,
            Order::ColMajor => c as u64 * pitch + r as u64,
            Order::Nz | Order::Nn => (c / ic) as u64 * pitch * ic as u64,
            Order::Zn | Order::Zz => (r / ir) as u64 * pitch * ir as u64,
        };
        let end = if bound > arena as u64 {
            self.offset as u128 + (bound as u128 + 1) * size as u128
        } else {
            self.offset as u128 + self.region_len(rows, cols) as u128
        };
        if end > arena as u128 {
            return Err(Fault::OutOfBounds { operand, end, arena });
        }
        Ok(())
    }

    /// Whether two tiles put every element at the same place.
    #[inline]
    pub(crate) fn same_place(&self, other: &Tile) -> bool {
        let boxed = self.order.is_boxed();
        self.offset == other.offset
            && self.dtype.size() == other.dtype.size()
            && self.order == other.order
            && self.pitch == other.pitch
            && (!boxed || self.fractal == other.fractal)
    }
}
