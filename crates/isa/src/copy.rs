//! Moving elements between tiles of one type: bits are kept, whatever they mean (semantics rule 5).

use dtype::DType;

use crate::number::with_bits;
use crate::plane::{self, Arena, ColumnsOfBoxes, Layout, Plane};
use crate::simd::Simd;
use crate::tier::{Kernel, dispatch};
use crate::{Fault, Tile};

/// What [`fill_pad`] writes around the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pad {
    Zero,
    /// +infinity; the greatest integer. 0 for 64-bit integers (`isa.md` §2.0).
    Max,
    /// −infinity; the least integer. 0 for 64-bit integers.
    Min,
}

impl Pad {
    /// The element's bits, zero-extended.
    pub fn bits(self, dtype: DType) -> u64 {
        let width = dtype.bits();
        match (self, dtype) {
            (Pad::Zero, _) | (_, DType::I64 | DType::U64 | DType::Index) => 0,
            (Pad::Max, DType::F32) => 0x7f80_0000,
            (Pad::Min, DType::F32) => 0xff80_0000,
            (Pad::Max, DType::F16) => 0x7c00,
            (Pad::Min, DType::F16) => 0xfc00,
            (Pad::Max, DType::BF16) => 0x7f80,
            (Pad::Min, DType::BF16) => 0xff80,
            (_, DType::Bool) => (self == Pad::Max) as u64,
            (Pad::Max, d) if d.is_signed_int() => (1 << (width - 1)) - 1,
            (Pad::Max, _) => (1 << width) - 1,
            (Pad::Min, d) if d.is_signed_int() => 1 << (width - 1),
            (Pad::Min, _) => 0,
        }
    }
}

fn same_size(op: &'static str, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    if dst.dtype == src.dtype {
        return Ok(());
    }
    crate::elementwise::same_types(op, &[dst, src])
}

/// `dst[i, j] = src[i, j]` over the destination's valid region, in any orders.
pub fn copy(mem: &mut [u8], dst: &Tile, src: &Tile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let region = (dst.valid_rows, dst.valid_cols);
    same_size("a copy", dst, src)?;
    dst.check_region("destination", mem.len(), region.0, region.1)?;
    src.check_region("source", mem.len(), region.0, region.1)?;
    let src = plane::source(mem, src, region, dst, region, true);
    move_elements(mem, dst, region, src.layout);
    Ok(())
}

/// As [`copy`], between two arenas.
pub fn copy_across(to: &mut [u8], dst: &Tile, from: &[u8], src: &Tile) -> Result<(), Fault> {
    let region = (dst.valid_rows, dst.valid_cols);
    same_size("a copy", dst, src)?;
    dst.check_region("destination", to.len(), region.0, region.1)?;
    src.check_region("source", from.len(), region.0, region.1)?;
    // Only read through; the borrow of `from` outlives the copy.
    let layout = Layout::tile(from.as_ptr().cast_mut(), src);
    move_elements(Arena::new(to), dst, region, layout);
    Ok(())
}

/// `dst[j, i] = src[i, j]` over the source's valid region.
pub fn transpose(mem: &mut [u8], dst: &Tile, src: &Tile) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let region = (src.valid_rows, src.valid_cols);
    let turned = (region.1, region.0);
    same_size("a transpose", dst, src)?;
    src.check_region("source", mem.len(), region.0, region.1)?;
    dst.check_region("destination", mem.len(), turned.0, turned.1)?;
    let src = plane::source(mem, src, region, dst, turned, false);
    let d = mem.layout(dst);
    let size = dst.dtype.size();
    plane::for_each_transposed(turned.0 as usize, turned.1 as usize, d, src.layout, |rows, cols, [d, s]| {
        // SAFETY: the planes lie in regions that were checked; the source shares nothing with the destination.
        unsafe { move_plane(rows, cols, d, s, size) }
    });
    Ok(())
}

/// Copies the source's valid region and sets the rest of the destination's *physical* extent to `pad`. In place is legal;
/// the destination may be larger.
pub fn fill_pad(mem: &mut [u8], dst: &Tile, src: &Tile, pad: Pad) -> Result<(), Fault> {
    let mem = Arena::new(mem);
    let region = (src.valid_rows, src.valid_cols);
    same_size("a padding", dst, src)?;
    dst.check("destination", mem.len())?;
    src.check_region("source", mem.len(), region.0, region.1)?;
    if region.0 > dst.rows || region.1 > dst.cols {
        return Err(Fault::shape(
            "destination",
            format!("{}x{} cannot hold a source of {}x{}", dst.rows, dst.cols, region.0, region.1),
        ));
    }
    let whole = (dst.rows, dst.cols);
    let src = plane::source(mem, src, region, dst, whole, true);
    move_elements(mem, dst, region, src.layout);
    let mut bytes = pad.bits(dst.dtype).to_le_bytes();
    let splat = Layout::strided(bytes.as_mut_ptr(), 0, 0);
    let d = mem.layout(dst);
    let size = dst.dtype.size();
    let (rows, cols) = (dst.rows as usize, dst.cols as usize);
    let (valid_rows, valid_cols) = (region.0 as usize, region.1 as usize);
    for (r, c, rows, cols) in [(0, valid_cols, valid_rows, cols - valid_cols), (valid_rows, 0, rows - valid_rows, cols)]
    {
        plane::for_each_from((r, c), rows, cols, &[d, splat], |rows, cols, [d, s]| {
            // SAFETY: inside the physical extent, which was checked; the splat is one element read over and over.
            unsafe { move_plane(rows, cols, d, s, size) }
        });
    }
    Ok(())
}

/// Writes `source` over a checked `region` of `dst`. The source may be read while the destination is written.
pub(crate) fn move_elements(mem: Arena, dst: &Tile, region: (u32, u32), source: Layout) {
    let d = mem.layout(dst);
    let size = dst.dtype.size();
    move_layouts(region, d, source, size);
}

/// As [`move_elements`], for any destination.
pub(crate) fn move_layouts(region: (u32, u32), dst: Layout, src: Layout, size: usize) {
    let (rows, cols) = (region.0 as usize, region.1 as usize);
    // SAFETY: both lie in regions that the caller checked.
    let done = unsafe { move_boxes(rows, cols, dst, src, size) };
    plane::for_each_from((0, done), rows, cols - done, &[dst, src], |rows, cols, [d, s]| {
        // SAFETY: the planes lie in regions that the caller checked.
        unsafe { move_plane(rows, cols, d, s, size) }
    });
}

/// Between plain rows and the columns of boxes of `Nz`, whole boxes only: the columns done, none for other layouts. Rows
/// are taken a few at a time across all columns of boxes: a column at a time would come back to every row of a matrix
/// whose rows lie far apart.
///
/// # Safety
///
/// Both layouts are valid over `rows × cols` elements of `size` bytes, and share bytes at most where they coincide.
unsafe fn move_boxes(rows: usize, cols: usize, dst: Layout, src: Layout, size: usize) -> usize {
    let (boxes, plain, into_boxes) = match (dst.columns_of_boxes(), src.columns_of_boxes()) {
        (Some(boxes), None) => (boxes, src.as_plane(), true),
        (None, Some(boxes)) => (boxes, dst.as_plane(), false),
        _ => return 0,
    };
    let Some(plain) = plain.filter(|p| p.cs == size as isize) else { return 0 };
    let columns = cols * size / boxes.width;
    macro_rules! run {
        ($width:literal) => {
            // SAFETY: the caller's promise.
            unsafe { dispatch(MoveBoxes::<$width> { rows, columns, boxes, plain, into_boxes }) }
        };
    }
    match boxes.width {
        32 => run!(32),
        64 => run!(64),
        _ => return 0,
    }
    columns * boxes.width / size
}

struct MoveBoxes<const WIDTH: usize> {
    rows: usize,
    columns: usize,
    boxes: ColumnsOfBoxes,
    plain: Plane,
    into_boxes: bool,
}

impl<const WIDTH: usize> Kernel for MoveBoxes<WIDTH> {
    type Output = ();

    /// # Safety
    ///
    /// As for [`move_boxes`].
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        // Rows of a box that follow each other share cache lines.
        const ROWS: usize = 4;
        for first in (0..self.rows).step_by(ROWS) {
            for column in 0..self.columns {
                for r in first..self.rows.min(first + ROWS) {
                    // SAFETY: row `r` of a box, and as many bytes of row `r` of the plain operand.
                    unsafe {
                        let in_box = self.boxes.ptr.offset(column as isize * self.boxes.next).add(r * WIDTH);
                        let in_row = self.plain.at(r, 0).add(column * WIDTH);
                        let (to, from) = if self.into_boxes { (in_box, in_row) } else { (in_row, in_box) };
                        to.cast::<[u8; WIDTH]>().write(from.cast::<[u8; WIDTH]>().read());
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// Both planes are valid over `rows × cols` elements of `size` bytes, and share bytes at most where they coincide.
pub(crate) unsafe fn move_plane(rows: usize, cols: usize, d: Plane, s: Plane, size: usize) {
    let (rows, cols, [d, s]) = plane::straighten(rows, cols, [d, s], [size; 2]);
    let dense = size as isize;
    // SAFETY: rows and elements inside the planes.
    unsafe {
        if d.cs == dense && s.cs == dense {
            let bytes = cols * size;
            if bytes == 32 {
                // A row of an inner box: a call per row would cost more than the copy.
                for r in 0..rows {
                    let row = s.at(r, 0).cast::<[u64; 4]>().read_unaligned();
                    d.at(r, 0).cast::<[u64; 4]>().write_unaligned(row);
                }
                return;
            }
            for r in 0..rows {
                std::ptr::copy(s.at(r, 0), d.at(r, 0), bytes);
            }
            return;
        }
        with_bits!(size, T => {
            for r in 0..rows {
                if s.cs == 0 {
                    let v = s.at(r, 0).cast::<T>().read_unaligned();
                    if d.cs == dense {
                        let row = d.at(r, 0).cast::<T>();
                        for c in 0..cols {
                            row.add(c).write_unaligned(v);
                        }
                        continue;
                    }
                }
                for c in 0..cols {
                    d.at(r, c).cast::<T>().write_unaligned(s.at(r, c).cast::<T>().read_unaligned());
                }
            }
        });
    }
}
