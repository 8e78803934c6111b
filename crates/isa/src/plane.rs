//! How loops see tiles: rectangles in which every operand has a constant row and column stride.
//!
//! A plain tile is one such rectangle. A boxed one falls into several: a column of boxes of `Nz` is a dense row-major
//! matrix of `ic` columns, a row of boxes of `Zn` a dense column-major one, and so on. [`for_each`] cuts the domain of
//! an instruction at the boundaries of all its operands, so every loop is written once, over strides.

use std::marker::PhantomData;

use memory::View;

use crate::{Fault, Order, Tile};

/// An arena while an instruction works on it: one pointer, from which the addresses of all operands derive.
#[derive(Clone, Copy)]
pub(crate) struct Arena<'a> {
    base: *mut u8,
    len: usize,
    marker: PhantomData<&'a mut [u8]>,
}

impl<'a> Arena<'a> {
    pub(crate) fn new(mem: &'a mut [u8]) -> Arena<'a> {
        Arena { base: mem.as_mut_ptr(), len: mem.len(), marker: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The address of a byte offset.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        self.base.wrapping_add(offset)
    }

    /// A checked tile.
    pub(crate) fn layout(&self, tile: &Tile) -> Layout {
        Layout::tile(self.base, tile)
    }
}

/// Strides of a rectangle, in bytes, from the address of its first element.
#[derive(Clone, Copy)]
pub(crate) struct Plane {
    pub(crate) ptr: *mut u8,
    pub(crate) rs: isize,
    pub(crate) cs: isize,
}

impl Plane {
    /// # Safety
    ///
    /// (r, c) is inside the rectangle.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, r: usize, c: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.ptr.offset(r as isize * self.rs + c as isize * self.cs) }
    }

    fn transposed(self) -> Plane {
        Plane { ptr: self.ptr, rs: self.cs, cs: self.rs }
    }
}

/// Where the elements of one operand lie.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    plane: Plane,
    boxes: Option<Boxes>,
}

#[derive(Clone, Copy)]
struct Boxes {
    /// The row of the tile that the layout calls 0.
    first_row: usize,
    order: Order,
    /// Bytes.
    size: isize,
    pitch: isize,
    ir: isize,
    ic: isize,
}

/// An `Nz` operand: each column of boxes is a dense row-major matrix.
#[derive(Clone, Copy)]
pub(crate) struct ColumnsOfBoxes {
    pub(crate) ptr: *mut u8,
    /// Bytes of a row of a box, which are those from row to row.
    pub(crate) width: usize,
    /// Bytes from one column of boxes to the next.
    pub(crate) next: isize,
}

impl Layout {
    /// A checked tile in the arena that starts at `base`.
    pub(crate) fn tile(base: *mut u8, tile: &Tile) -> Layout {
        let ptr = base.wrapping_add(tile.offset);
        let size = tile.dtype.size() as isize;
        let pitch = tile.pitch as isize * size;
        match tile.order {
            Order::RowMajor => Layout::strided(ptr, pitch, size),
            Order::ColMajor => Layout::strided(ptr, size, pitch),
            order => {
                let (ir, ic) = tile.inner_box();
                let boxes = Boxes { first_row: 0, order, size, pitch, ir: ir as isize, ic: ic as isize };
                Layout { plane: Plane { ptr, rs: 0, cs: 0 }, boxes: Some(boxes) }
            }
        }
    }

    pub(crate) fn strided(ptr: *mut u8, rs: isize, cs: isize) -> Layout {
        Layout { plane: Plane { ptr, rs, cs }, boxes: None }
    }

    /// Rows of `cols` elements of `size` bytes, one after another.
    pub(crate) fn dense(bytes: &mut [u8], cols: u32, size: usize) -> Layout {
        Layout::strided(bytes.as_mut_ptr(), cols as isize * size as isize, size as isize)
    }

    /// A checked tile that is only read.
    pub(crate) fn of(mem: &[u8], tile: &Tile) -> Layout {
        Layout::tile(mem.as_ptr().cast_mut(), tile)
    }

    /// The same operand, counted from row `row` on.
    pub(crate) fn rows_from(mut self, row: usize) -> Layout {
        match &mut self.boxes {
            Some(b) => b.first_row += row,
            None => self.plane.ptr = self.plane.ptr.wrapping_offset(row as isize * self.plane.rs),
        }
        self
    }

    /// Where the columns of boxes of an `Nz` operand lie, if it is one.
    pub(crate) fn columns_of_boxes(&self) -> Option<ColumnsOfBoxes> {
        let b = self.boxes.as_ref().filter(|b| b.order == Order::Nz)?;
        let width = (b.ic * b.size) as usize;
        let ptr = self.plane.ptr.wrapping_offset(b.first_row as isize * b.ic * b.size);
        Some(ColumnsOfBoxes { ptr, width, next: b.pitch * b.ic })
    }

    /// The strides of a plain operand.
    pub(crate) fn as_plane(&self) -> Option<Plane> {
        self.boxes.is_none().then_some(self.plane)
    }

    /// The row below `r` at which the strides change.
    fn row_end(&self, r: usize) -> usize {
        match &self.boxes {
            Some(b) if b.order != Order::Nz => {
                let ir = b.ir as usize;
                ((r + b.first_row) / ir + 1) * ir - b.first_row
            }
            _ => usize::MAX,
        }
    }

    /// The column right of `c` at which the strides change.
    fn col_end(&self, c: usize) -> usize {
        match &self.boxes {
            Some(b) if b.order != Order::Zn => (c / b.ic as usize + 1) * b.ic as usize,
            _ => usize::MAX,
        }
    }

    /// The rectangle that starts at (r, c), good up to [`Layout::row_end`] and [`Layout::col_end`].
    pub(crate) fn at(&self, r: usize, c: usize) -> Plane {
        let r = match &self.boxes {
            Some(b) => r + b.first_row,
            None => r,
        };
        let (r, c) = (r as isize, c as isize);
        let Some(b) = &self.boxes else {
            let Plane { ptr, rs, cs } = self.plane;
            return Plane { ptr: ptr.wrapping_offset(r * rs + c * cs), rs, cs };
        };
        let (row_in_box, col_in_box) = (r % b.ir, c % b.ic);
        let (offset, rs, cs) = match b.order {
            Order::Nz => ((c / b.ic) * b.pitch * b.ic + (r * b.ic + col_in_box) * b.size, b.ic * b.size, b.size),
            Order::Zn => ((r / b.ir) * b.pitch * b.ir + (c * b.ir + row_in_box) * b.size, b.size, b.ir * b.size),
            Order::Zz => (
                (r / b.ir) * b.pitch * b.ir + ((c / b.ic) * b.ir * b.ic + row_in_box * b.ic + col_in_box) * b.size,
                b.ic * b.size,
                b.size,
            ),
            _ => (
                (c / b.ic) * b.pitch * b.ic + ((r / b.ir) * b.ir * b.ic + col_in_box * b.ir + row_in_box) * b.size,
                b.size,
                b.ir * b.size,
            ),
        };
        Plane { ptr: self.plane.ptr.wrapping_offset(offset), rs, cs }
    }
}

/// Calls `f(rows, columns, planes)` for rectangles that tile the domain `rows × cols`.
#[inline(always)]
pub(crate) fn for_each<const K: usize>(
    rows: usize,
    cols: usize,
    operands: &[Layout; K],
    mut f: impl FnMut(usize, usize, [Plane; K]),
) {
    if operands.iter().all(|o| o.boxes.is_none()) {
        if rows > 0 && cols > 0 {
            f(rows, cols, operands.map(|o| o.plane));
        }
        return;
    }
    walk((0, 0), rows, cols, operands, &mut f);
}

/// As [`for_each`], over the domain of `rows × cols` that starts at `from`.
pub(crate) fn for_each_from<const K: usize>(
    from: (usize, usize),
    rows: usize,
    cols: usize,
    operands: &[Layout; K],
    mut f: impl FnMut(usize, usize, [Plane; K]),
) {
    walk(from, from.0 + rows, from.1 + cols, operands, &mut f);
}

fn walk<const K: usize>(
    from: (usize, usize),
    rows: usize,
    cols: usize,
    operands: &[Layout; K],
    f: &mut dyn FnMut(usize, usize, [Plane; K]),
) {
    let mut c = from.1;
    while c < cols {
        let c_end = operands.iter().fold(cols, |end, o| end.min(o.col_end(c)));
        let mut r = from.0;
        while r < rows {
            let r_end = operands.iter().fold(rows, |end, o| end.min(o.row_end(r)));
            f(r_end - r, c_end - c, operands.map(|o| o.at(r, c)));
            r = r_end;
        }
        c = c_end;
    }
}

/// As [`for_each`] for one operand, with the origin of each rectangle: `f(row, column, rows, columns, plane)`.
#[inline(always)]
pub(crate) fn for_each_at(
    rows: usize,
    cols: usize,
    operand: Layout,
    mut f: impl FnMut(usize, usize, usize, usize, Plane),
) {
    let mut c = 0;
    while c < cols {
        let c_end = cols.min(operand.col_end(c));
        let mut r = 0;
        while r < rows {
            let r_end = rows.min(operand.row_end(r));
            f(r, c, r_end - r, c_end - c, operand.at(r, c));
            r = r_end;
        }
        c = c_end;
    }
}

/// As [`for_each`], where rows of `transposed` are columns of `operand`: calls `f` with the second plane's strides
/// exchanged, over a domain in terms of `operand`.
pub(crate) fn for_each_transposed(
    rows: usize,
    cols: usize,
    operand: Layout,
    transposed: Layout,
    mut f: impl FnMut(usize, usize, [Plane; 2]),
) {
    let mut r = 0;
    while r < rows {
        let r_end = rows.min(operand.row_end(r)).min(transposed.col_end(r));
        let mut c = 0;
        while c < cols {
            let c_end = cols.min(operand.col_end(c)).min(transposed.row_end(c));
            f(r_end - r, c_end - c, [operand.at(r, c), transposed.at(c, r).transposed()]);
            c = c_end;
        }
        r = r_end;
    }
}

/// Turns a rectangle so that the first operand (the destination) runs along its columns, and makes one long row of it
/// where all operands allow. `sizes` are the operands' element sizes. Only for loops whose order does not matter.
#[inline(always)]
pub(crate) fn straighten<const K: usize>(
    rows: usize,
    cols: usize,
    planes: [Plane; K],
    sizes: [usize; K],
) -> (usize, usize, [Plane; K]) {
    let (mut rows, mut cols, mut planes) = (rows, cols, planes);
    let along = |p: &Plane, size: usize| p.cs == size as isize || p.cs == 0;
    let columns_fit = cols > 1 && (0..K).all(|k| along(&planes[k], sizes[k]));
    if !columns_fit && rows > 1 && (cols == 1 || planes[0].rs == sizes[0] as isize) {
        planes = planes.map(Plane::transposed);
        (rows, cols) = (cols, rows);
    }
    if rows > 1 && planes.iter().all(|p| p.rs == p.cs * cols as isize) {
        (rows, cols) = (1, rows * cols);
    }
    (rows, cols, planes)
}

/// A source that is safe to read while the destination is being written.
pub(crate) struct Source {
    pub(crate) layout: Layout,
    /// Holds the bytes if they had to be copied first.
    _copy: Option<Vec<u8>>,
}

impl Source {
    /// An operand that shares nothing with the destination.
    pub(crate) fn plain(layout: Layout) -> Source {
        Source { layout, _copy: None }
    }

    /// A plain operand that stands still along rows or columns.
    pub(crate) fn broadcast(mut self, along_rows: bool, along_cols: bool) -> Source {
        if !along_rows {
            self.layout.plane.rs = 0;
        }
        if !along_cols {
            self.layout.plane.cs = 0;
        }
        self
    }
}

/// Makes `source` readable while `target` is written: as it is if the two share no byte or coincide element by element
/// (then `coincide` must be true: the loop reads an element before it writes it, and no other one), else as a copy.
///
/// `region` and `target_region` are the (rows, columns) that the instruction touches; both were checked.
pub(crate) fn source(
    mem: Arena,
    source: &Tile,
    region: (u32, u32),
    target: &Tile,
    target_region: (u32, u32),
    coincide: bool,
) -> Source {
    if (coincide && source.same_place(target)) || !overlap(source, region, target, target_region) {
        return Source { layout: mem.layout(source), _copy: None };
    }
    let len = source.region_len(region.0, region.1);
    let mut copy = vec![0; len];
    // SAFETY: the region was checked to lie in the arena; the copy is as long.
    unsafe { std::ptr::copy_nonoverlapping(mem.at(source.offset), copy.as_mut_ptr(), len) };
    let moved = Tile { offset: 0, ..*source };
    Source { layout: Layout::tile(copy.as_mut_ptr(), &moved), _copy: Some(copy) }
}

/// Whether two regions might share a byte. Exact for dense ones and for column ranges of rows with a common pitch.
pub(crate) fn overlap(a: &Tile, a_region: (u32, u32), b: &Tile, b_region: (u32, u32)) -> bool {
    let a_len = a.region_len(a_region.0, a_region.1);
    let b_len = b.region_len(b_region.0, b_region.1);
    if a_len == 0 || b_len == 0 || a.offset + a_len <= b.offset || b.offset + b_len <= a.offset {
        return false;
    }
    let bytes = |t: &Tile, n: u32| n as usize * t.dtype.size();
    let pitch = bytes(a, a.pitch);
    if a.order == Order::RowMajor && b.order == Order::RowMajor && pitch == bytes(b, b.pitch) && pitch > 0 {
        let (a_width, b_width) = (bytes(a, a_region.1), bytes(b, b_region.1));
        let shift = (b.offset as isize - a.offset as isize).rem_euclid(pitch as isize) as usize;
        if shift >= a_width && shift + b_width <= pitch {
            return false;
        }
    }
    true
}

/// The elements of a region, one row after another, as bytes.
pub(crate) fn dense(source: Layout, region: (u32, u32), size: usize) -> Vec<u8> {
    let pitch = region.1 as usize * size;
    let mut bytes = vec![0; region.0 as usize * pitch];
    crate::copy::move_layouts(region, Layout::dense(&mut bytes, region.1, size), source, size);
    bytes
}

/// A region whose rows lie element after element: `source` itself if they do, else a copy of it that `copy` holds.
pub(crate) fn in_rows(source: Layout, region: (u32, u32), size: usize, copy: &mut Vec<u8>) -> Layout {
    if source.boxes.is_none() && source.plane.cs == size as isize {
        return source;
    }
    *copy = dense(source, region, size);
    Layout::dense(copy, region.1, size)
}

/// A global-memory view as a matrix of [product of the leading extents, last extent]: calls `f(first row, rows, plane
/// layout)` for groups of rows at a constant stride, in order. Returns (rows, columns); fails if the view does not fit
/// its buffer.
pub(crate) fn matrix_of(view: &View) -> Result<(u64, u64), Fault> {
    view.extent()?;
    let cols = view.shape.last().copied().unwrap_or(1);
    let rows = view.shape.iter().rev().skip(1).fold(1u64, |n, &d| n.saturating_mul(d));
    Ok((rows, cols))
}

/// Calls `f(first row, rows, layout)` for groups of matrix rows that lie at one stride, until `limit` rows are done. The view
/// has been checked by [`matrix_of`] and has elements.
pub(crate) fn for_each_row_group(view: &View, limit: usize, mut f: impl FnMut(usize, usize, Layout)) {
    let size = view.dtype.size() as isize;
    let rank = view.rank();
    let base = view.buffer.as_ptr().wrapping_offset(view.offset as isize * size);
    let cs = view.strides.last().map_or(size, |&s| s as isize * size);
    // Leading dimensions that continue each other at one stride count as one.
    let mut group = 1usize;
    let mut rs = 0isize;
    let mut outer = rank.saturating_sub(1);
    while outer > 0 {
        let (d, s) = (view.shape[outer - 1] as usize, view.strides[outer - 1] as isize * size);
        if d != 1 {
            if group != 1 && s != rs * group as isize {
                break;
            }
            if group == 1 {
                rs = s;
            }
            group *= d;
        }
        outer -= 1;
    }
    let mut index = [0u64; memory::MAX_RANK];
    let mut at = 0isize;
    let mut row = 0;
    while row < limit {
        let n = group.min(limit - row);
        f(row, n, Layout::strided(base.wrapping_offset(at), rs, cs));
        row += n;
        let mut k = outer;
        loop {
            if k == 0 {
                return;
            }
            k -= 1;
            let stride = (view.strides[k] as isize).wrapping_mul(size);
            index[k] += 1;
            at = at.wrapping_add(stride);
            if index[k] < view.shape[k] {
                break;
            }
            at = at.wrapping_sub(stride.wrapping_mul(view.shape[k] as isize));
            index[k] = 0;
        }
    }
}
