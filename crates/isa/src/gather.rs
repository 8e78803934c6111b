//! Gathers and scatters inside an arena (`isa.md` §2.7). Bits are moved, whatever they mean.
//!
//! A *flat* index counts the elements of a tile in row-major order over its physical extent, whatever its own order. An index
//! out of range is a fault, and so is a negative one; nothing is written then.

use crate::elementwise::same_types;
use crate::number::with_bits;
use crate::plane::{self, Arena, Layout};
use crate::{Fault, Tile, index};

/// `dst[i, j] = src.flat[index[i, j]]` over the destination's valid region; indices are i16, u16, i32 or u32.
pub fn gather(mem: &mut [u8], dst: &Tile, src: &Tile, index: &Tile) -> Result<(), Fault> {
    same_types("a gather", &[dst, src])?;
    let from = gathered(mem, dst, src, index)?;
    let (region, size) = ((dst.valid_rows, dst.valid_cols), dst.dtype.size());
    with_bits!(size, T => {
        let mut values = Vec::with_capacity(from.len());
        // SAFETY: the source's physical extent, where all of these lie, was checked against the arena.
        values.extend(from.iter().map(|&at| unsafe { mem.as_ptr().add(at).cast::<T>().read_unaligned() }));
        let rows = Layout::strided(values.as_mut_ptr().cast(), region.1 as isize * size as isize, size as isize);
        crate::copy::move_elements(Arena::new(mem), dst, region, rows);
    });
    Ok(())
}

/// Byte offsets of what [`gather`] reads, in row-major order of the destination.
pub(crate) fn gathered(mem: &[u8], dst: &Tile, src: &Tile, index: &Tile) -> Result<Vec<usize>, Fault> {
    dst.check_region("destination", mem.len(), dst.valid_rows, dst.valid_cols)?;
    src.check("source", mem.len())?;
    places(mem, (dst.valid_rows, dst.valid_cols), src, index)
}

/// Byte offsets in `target` of what a region of indices names.
fn places(mem: &[u8], region: (u32, u32), target: &Tile, index: &Tile) -> Result<Vec<usize>, Fault> {
    index::check(mem.len(), index, region)?;
    let bound = index::flat_bound(target);
    let mut places = Vec::with_capacity(region.0 as usize * region.1 as usize);
    for r in 0..region.0 {
        for c in 0..region.1 {
            let flat = index::inside(index::at(mem, index, r, c), bound, (r, c))?;
            places.push(index::flat_offset(target, flat));
        }
    }
    Ok(places)
}

/// Bytes of a block of [`gather_blocks`].
const BLOCK: u32 = 32;

/// Each 32 bytes of a row of the destination's valid region are a block of the source: block k of row i starts at byte
/// `offsets[i, k]` of the source, a u32 and a multiple of 32. Of a last block that the valid columns cut short, only their
/// bytes are read and written. The destination is row-major; of the source only its bytes matter.
pub fn gather_blocks(mem: &mut [u8], dst: &Tile, src: &Tile, offsets: &Tile) -> Result<(), Fault> {
    let from = gathered_blocks(mem, dst, src, offsets)?;
    let (region, size) = ((dst.valid_rows, dst.valid_cols), dst.dtype.size());
    let mut bytes = Vec::with_capacity(region.0 as usize * region.1 as usize * size);
    for (at, n) in from {
        bytes.extend_from_slice(&mem[at..at + n]);
    }
    let rows = Layout::dense(&mut bytes, region.1, size);
    crate::copy::move_elements(Arena::new(mem), dst, region, rows);
    Ok(())
}

/// Columns of [`gather_blocks`]' offsets that the destination's valid columns use.
pub(crate) fn block_columns(dst: &Tile) -> u32 {
    dst.valid_cols.div_ceil(BLOCK / dst.dtype.size() as u32)
}

/// Byte offsets and lengths of what [`gather_blocks`] reads, in the order of the destination's bytes.
pub(crate) fn gathered_blocks(
    mem: &[u8],
    dst: &Tile,
    src: &Tile,
    offsets: &Tile,
) -> Result<Vec<(usize, usize)>, Fault> {
    same_types("a gather of blocks", &[dst, src])?;
    if offsets.dtype != dtype::DType::U32 {
        return Err(Fault::dtype("a gather of blocks", &[offsets.dtype], "offsets of type u32"));
    }
    if dst.order != crate::Order::RowMajor {
        return Err(Fault::shape("destination", "a gather of blocks writes row-major tiles".to_string()));
    }
    dst.check_region("destination", mem.len(), dst.valid_rows, dst.valid_cols)?;
    src.check("source", mem.len())?;
    let blocks = block_columns(dst);
    index::check(mem.len(), offsets, (dst.valid_rows, blocks))?;
    let (row, available) = (dst.valid_cols as u64 * dst.dtype.size() as u64, src.byte_len() as u64);
    let mut from = Vec::with_capacity(dst.valid_rows as usize * blocks as usize);
    for r in 0..dst.valid_rows {
        for c in 0..blocks {
            let offset = index::at(mem, offsets, r, c);
            let n = (row - c as u64 * BLOCK as u64).min(BLOCK as u64);
            let start = index::inside(offset, (available + 1).saturating_sub(n), (r, c))?;
            if !start.is_multiple_of(BLOCK as u64) {
                let reason = format!("{start} at ({r}, {c}) is not a multiple of {BLOCK} bytes");
                return Err(Fault::shape("offsets", reason));
            }
            from.push((src.offset + start as usize, n as usize));
        }
    }
    Ok(from)
}

/// Which columns a mask form takes: one of every two or four, or all. The digits are lanes, the last one is lane 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pattern {
    P0101,
    P1010,
    P0001,
    P0010,
    P0100,
    P1000,
    P1111,
}

impl Pattern {
    /// In the order of the instruction's encoding, which starts at 1.
    pub const ALL: [Pattern; 7] = [
        Pattern::P0101,
        Pattern::P1010,
        Pattern::P0001,
        Pattern::P0010,
        Pattern::P0100,
        Pattern::P1000,
        Pattern::P1111,
    ];

    /// The pattern of an encoding (`isa.md` §2.7), 1 to 7.
    pub fn from_code(code: i64) -> Option<Pattern> {
        let place = usize::try_from(code.checked_sub(1)?).ok()?;
        Pattern::ALL.get(place).copied()
    }

    /// Columns of which one is taken.
    pub const fn period(self) -> u32 {
        match self {
            Pattern::P0101 | Pattern::P1010 => 2,
            Pattern::P1111 => 1,
            _ => 4,
        }
    }

    /// Which one of them.
    pub const fn lane(self) -> u32 {
        match self {
            Pattern::P0101 | Pattern::P0001 | Pattern::P1111 => 0,
            Pattern::P1010 | Pattern::P0010 => 1,
            Pattern::P0100 => 2,
            Pattern::P1000 => 3,
        }
    }
}

/// `dst[i, j]` = the j-th element of row i that the pattern takes, over the source's valid region, whose columns must be a
/// multiple of the pattern's period. The element types may differ if their size does not.
pub fn gather_mask(mem: &mut [u8], pattern: Pattern, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    let region = check_gather_mask(mem.len(), pattern, dst, src)?;
    let size = src.dtype.size();
    let mem = Arena::new(mem);
    let mut copy = plane::dense(mem.layout(src), (src.valid_rows, src.valid_cols), size);
    crate::copy::move_elements(mem, dst, region, lanes(pattern, &mut copy, src.valid_cols, size));
    Ok(())
}

/// What a pattern takes of dense rows.
fn lanes(pattern: Pattern, rows: &mut [u8], cols: u32, size: usize) -> Layout {
    let first = rows.as_mut_ptr().wrapping_add(pattern.lane() as usize * size);
    Layout::strided(first, cols as isize * size as isize, pattern.period() as isize * size as isize)
}

/// The extent of what [`gather_mask`] writes.
pub(crate) fn check_gather_mask(arena: usize, pattern: Pattern, dst: &Tile, src: &Tile) -> Result<(u32, u32), Fault> {
    same_sizes("a gather by a pattern", dst, src)?;
    src.check_region("source", arena, src.valid_rows, src.valid_cols)?;
    let region = (src.valid_rows, taken("source", pattern, src)?);
    dst.check_region("destination", arena, region.0, region.1)?;
    Ok(region)
}

/// The reverse: zeros in the destination's valid region, but for the columns of the pattern, which hold those of the source
/// one after the other. The valid columns of the destination must be a multiple of the pattern's period.
pub fn scatter_mask(mem: &mut [u8], pattern: Pattern, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    let region = check_scatter_mask(mem.len(), pattern, dst, src)?;
    let size = dst.dtype.size();
    let mem = Arena::new(mem);
    let mut rows = vec![0u8; dst.valid_rows as usize * dst.valid_cols as usize * size];
    crate::copy::move_layouts(region, lanes(pattern, &mut rows, dst.valid_cols, size), mem.layout(src), size);
    crate::copy::move_elements(
        mem,
        dst,
        (dst.valid_rows, dst.valid_cols),
        Layout::dense(&mut rows, dst.valid_cols, size),
    );
    Ok(())
}

/// The extent of what [`scatter_mask`] reads.
pub(crate) fn check_scatter_mask(arena: usize, pattern: Pattern, dst: &Tile, src: &Tile) -> Result<(u32, u32), Fault> {
    same_sizes("a scatter by a pattern", dst, src)?;
    dst.check_region("destination", arena, dst.valid_rows, dst.valid_cols)?;
    let region = (dst.valid_rows, taken("destination", pattern, dst)?);
    src.check_region("source", arena, region.0, region.1)?;
    Ok(region)
}

/// How many of a tile's valid columns the pattern takes.
fn taken(operand: &'static str, pattern: Pattern, tile: &Tile) -> Result<u32, Fault> {
    let period = pattern.period();
    if tile.valid_cols.is_multiple_of(period) {
        return Ok(tile.valid_cols / period);
    }
    Err(Fault::shape(
        operand,
        format!("{} valid columns are not a multiple of {period}, the period of {pattern:?}", tile.valid_cols),
    ))
}

fn same_sizes(op: &'static str, dst: &Tile, src: &Tile) -> Result<(), Fault> {
    if dst.dtype.size() == src.dtype.size() {
        return Ok(());
    }
    Err(Fault::dtype(op, &[dst.dtype, src.dtype], "elements of one size"))
}

/// The whole physical extent of `dst` becomes zero, then `dst.flat[index[r, c]] = src[r, c]` in row-major order over the
/// source's valid region: the last of equal indices wins. Without a valid element nothing happens.
pub fn scatter(mem: &mut [u8], dst: &Tile, src: &Tile, index: &Tile) -> Result<(), Fault> {
    let to = scattered(mem, dst, src, index)?;
    if to.is_empty() {
        return Ok(());
    }
    let size = dst.dtype.size();
    let region = (src.valid_rows, src.valid_cols);
    let mut values = plane::dense(Layout::of(mem, src), region, size);
    crate::fill_all(mem, dst, dtype::Scalar::new(dst.dtype, 0))?;
    with_bits!(size, T => {
        let values = values.as_mut_ptr().cast::<T>();
        for (k, at) in to.into_iter().enumerate() {
            // SAFETY: one value per place; the places lie in the destination, which was checked against the arena.
            unsafe { mem.as_mut_ptr().add(at).cast::<T>().write_unaligned(values.add(k).read_unaligned()) };
        }
    });
    Ok(())
}

/// Byte offsets of what [`scatter`] writes, in row-major order of the source.
pub(crate) fn scattered(mem: &[u8], dst: &Tile, src: &Tile, index: &Tile) -> Result<Vec<usize>, Fault> {
    same_types("a scatter", &[dst, src])?;
    let region = (src.valid_rows, src.valid_cols);
    src.check_region("source", mem.len(), region.0, region.1)?;
    dst.check("destination", mem.len())?;
    places(mem, region, dst, index)
}
