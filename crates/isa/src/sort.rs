//! Sorting by value, with indices that travel along (`isa.md` §2.8, `dsl.md` §3.6).
//!
//! A *record* is 8 bytes: f32 value and u32 index, or f16 value, 16 zero bits and u32 index. In a tile of the values' type it
//! takes two columns (f32) or four (f16).
//!
//! **Order**: descending, in the total order of IEEE 754: +NaN, +inf, …, +0, −0, …, −inf, −NaN, NaNs of a sign by their
//! payload. Only equal bits are equal: of equal values the one from the earlier place, or the list with the lower number,
//! comes first. Bits are moved, NaNs included.
//!
//! Domain: the source's valid region; each row by itself. Tiles may have any order of elements, and may alias.

use dtype::DType;

use crate::elementwise::same_types;
use crate::plane::{self, Arena, Layout};
use crate::{Fault, Tile};

/// Elements that [`sort32`] sorts together.
pub(crate) const GROUP: usize = 32;

/// The bytes of a record, as a little-endian number: the value's bits are the lowest.
const RECORD: usize = 8;

/// The bits of −NaN with the largest payload: nothing comes after it.
const LAST: u32 = u32::MAX;

/// Sorts each 32 elements of a row, with the elements of `idx` (u32 or i32) at their places, into records. A last group of fewer
/// than 32 valid elements is filled up with −NaN of all ones and index 0, which come last; so `dst` gets a multiple of 32
/// records per row.
pub fn sort32(mem: &mut [u8], dst: &Tile, src: &Tile, idx: &Tile) -> Result<(), Fault> {
    let region = check_sort(mem.len(), dst, src, idx)?;
    let (size, cols) = (src.dtype.size(), src.valid_cols as usize);
    let domain = (src.valid_rows, src.valid_cols);
    let values = plane::dense(Layout::of(mem, src), domain, size);
    let indices = plane::dense(Layout::of(mem, idx), domain, 4);
    let mut records = Vec::with_capacity(region.0 as usize * region.1 as usize * size);
    for (k, place) in sorted(&values, src.dtype, cols).into_iter().enumerate() {
        let row = k / cols.next_multiple_of(GROUP) * cols;
        let record = match place {
            Some(c) => value(&values, row + c, size) as u64 | (value(&indices, row + c, 4) as u64) << 32,
            None => (LAST >> (32 - 8 * size)) as u64,
        };
        records.extend_from_slice(&record.to_le_bytes());
    }
    crate::copy::move_elements(Arena::new(mem), dst, region, Layout::dense(&mut records, region.1, size));
    Ok(())
}

/// The region of `dst` that [`sort32`] writes.
pub(crate) fn check_sort(arena: usize, dst: &Tile, src: &Tile, idx: &Tile) -> Result<(u32, u32), Fault> {
    let columns = record_columns(src.dtype)?;
    same_types("a sort", &[dst, src])?;
    if !matches!(idx.dtype, DType::U32 | DType::I32) {
        return Err(Fault::dtype("a sort", &[idx.dtype], "indices of type u32 or i32"));
    }
    src.check_region("source", arena, src.valid_rows, src.valid_cols)?;
    idx.check_region("index", arena, src.valid_rows, src.valid_cols)?;
    let region = (src.valid_rows, elements(src.valid_cols.next_multiple_of(GROUP as u32) as usize, columns)?);
    dst.check_region("destination", arena, region.0, region.1)?;
    Ok(region)
}

/// Columns of a record.
fn record_columns(dtype: DType) -> Result<usize, Fault> {
    match dtype {
        DType::F32 | DType::F16 => Ok(RECORD / dtype.size()),
        d => Err(Fault::dtype("a sort", &[d], "values of type f32 or f16")),
    }
}

/// Columns of so many records.
fn elements(records: usize, columns: usize) -> Result<u32, Fault> {
    u32::try_from(records * columns).map_err(|_| Fault::shape("destination", format!("{records} records in a row")))
}

/// The column, in its row, of each record of the result; `None` fills up.
pub(crate) fn sorted(values: &[u8], dtype: DType, cols: usize) -> Vec<Option<usize>> {
    let size = dtype.size();
    let mut places = Vec::new();
    for row in values.chunks_exact((cols * size).max(1)) {
        for first in (0..cols).step_by(GROUP) {
            // A rank above the place makes the order total and stable.
            let mut keys = [u64::MAX; GROUP];
            let n = GROUP.min(cols - first);
            for (c, key) in keys.iter_mut().enumerate().take(n) {
                *key = (rank(value(row, first + c, size), size) as u64) << 32 | c as u64;
            }
            keys.sort_unstable();
            places.extend(keys.map(|key| {
                let c = key as u32 as usize;
                (c < n).then_some(first + c)
            }));
        }
    }
    places
}

/// An element's bits, zero-extended.
fn value(bytes: &[u8], at: usize, size: usize) -> u32 {
    let mut bits = [0; 4];
    bits[..size].copy_from_slice(&bytes[at * size..][..size]);
    u32::from_le_bytes(bits)
}

/// Ascending as the values descend.
fn rank(bits: u32, size: usize) -> u32 {
    // The sign at the top, whatever the width.
    let bits = bits << (32 - 8 * size);
    if bits >> 31 == 1 { bits } else { !bits & 0x7fff_ffff }
}

/// Merges every four neighbouring sorted runs of a row of records into one. A run has `block_len` columns; the last group may
/// have fewer runs and the last run fewer records. `dst` gets as many columns as are valid in the source.
pub fn merge_sort(mem: &mut [u8], dst: &Tile, src: &Tile, block_len: u32) -> Result<(), Fault> {
    let run = check_merge_sort(mem.len(), dst, src, block_len)?;
    let region = (src.valid_rows, src.valid_cols);
    let size = src.dtype.size();
    let bytes = plane::dense(Layout::of(mem, src), region, size);
    let mut merged = Vec::with_capacity(bytes.len());
    for group in groups(&bytes, region.1 as usize * size, run) {
        let runs: Vec<&[u8]> = group.chunks(run * RECORD).collect();
        for (list, k) in merge(&runs, size, false).0 {
            merged.extend_from_slice(&runs[list][k * RECORD..][..RECORD]);
        }
    }
    crate::copy::move_elements(Arena::new(mem), dst, region, Layout::dense(&mut merged, region.1, size));
    Ok(())
}

/// Runs that one step of [`merge_sort`] or [`merge_lists`] takes.
const LISTS: usize = 4;

/// What is merged into one, in order: up to four runs of `run` records, all of one row.
pub(crate) fn groups(bytes: &[u8], row: usize, run: usize) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(row.max(1)).flat_map(move |row| row.chunks(LISTS * run * RECORD))
}

/// The records of a run.
pub(crate) fn check_merge_sort(arena: usize, dst: &Tile, src: &Tile, block_len: u32) -> Result<usize, Fault> {
    let columns = record_columns(src.dtype)? as u32;
    same_types("a merge", &[dst, src])?;
    if block_len == 0 || !block_len.is_multiple_of(columns) {
        return Err(Fault::shape(
            "block length",
            format!("{block_len} is not a positive multiple of {columns} columns"),
        ));
    }
    check_records("source", arena, src)?;
    dst.check_region("destination", arena, src.valid_rows, src.valid_cols)?;
    Ok((block_len / columns) as usize)
}

/// Checks a tile of whole records; the records of a row.
fn check_records(operand: &'static str, arena: usize, tile: &Tile) -> Result<usize, Fault> {
    let columns = record_columns(tile.dtype)? as u32;
    tile.check_region(operand, arena, tile.valid_rows, tile.valid_cols)?;
    if !tile.valid_cols.is_multiple_of(columns) {
        let reason = format!("{} valid columns are not whole records of {columns}", tile.valid_cols);
        return Err(Fault::shape(operand, reason));
    }
    Ok((tile.valid_cols / columns) as usize)
}

/// The order in which the records of sorted lists leave, as (list, place in it), and how many left each list. With
/// `exhausted`, it ends as soon as a list has no more.
pub(crate) fn merge(lists: &[&[u8]], size: usize, exhausted: bool) -> (Vec<(usize, usize)>, [u32; LISTS]) {
    let lengths: Vec<usize> = lists.iter().map(|l| l.len() / RECORD).collect();
    let rank_of =
        |list: usize, k: usize| (k < lengths[list]).then(|| rank(value(lists[list], k * RECORD / size, size), size));
    let mut heads: Vec<Option<u32>> = (0..lists.len()).map(|list| rank_of(list, 0)).collect();
    let mut taken = [0u32; LISTS];
    let mut order = Vec::with_capacity(lengths.iter().sum());
    while !(exhausted && heads.contains(&None)) {
        let first = heads.iter().enumerate().filter_map(|(list, head)| head.map(|rank| (rank, list))).min();
        let Some((_, list)) = first else { break };
        let k = taken[list] as usize;
        order.push((list, k));
        taken[list] += 1;
        heads[list] = rank_of(list, k + 1);
    }
    (order, taken)
}

/// Merges two to four sorted rows of records into one row. With `exhausted`, it ends as soon as one of them is used up, and
/// what follows in `dst` stays as it was. Returns how many records each list gave; 0 for lists that there are not.
pub fn merge_lists(mem: &mut [u8], dst: &Tile, lists: &[&Tile], exhausted: bool) -> Result<[u32; 4], Fault> {
    check_lists(mem.len(), dst, lists)?;
    let size = dst.dtype.size();
    let bytes = list_bytes(mem, lists);
    let rows: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let (order, taken) = merge(&rows, size, exhausted);
    let mut merged = Vec::with_capacity(order.len() * RECORD);
    for (list, k) in order {
        merged.extend_from_slice(&rows[list][k * RECORD..][..RECORD]);
    }
    let columns = (merged.len() / size) as u32;
    crate::copy::move_elements(Arena::new(mem), dst, (1, columns), Layout::dense(&mut merged, columns, size));
    Ok(taken)
}

/// The records of each list, as they are in the arena or its shadow.
pub(crate) fn list_bytes(mem: &[u8], lists: &[&Tile]) -> Vec<Vec<u8>> {
    let row = |t: &&Tile| plane::dense(Layout::of(mem, t), (t.valid_rows, t.valid_cols), t.dtype.size());
    lists.iter().map(row).collect()
}

pub(crate) fn check_lists(arena: usize, dst: &Tile, lists: &[&Tile]) -> Result<(), Fault> {
    if !(2..=LISTS).contains(&lists.len()) {
        return Err(Fault::Unsupported { what: format!("a merge of {} lists; supported: 2 to {LISTS}", lists.len()) });
    }
    let mut records = 0;
    for list in lists {
        same_types("a merge", &[dst, list])?;
        if list.valid_rows > 1 {
            return Err(Fault::shape("list", format!("a list has one row, not {}", list.valid_rows)));
        }
        let n = check_records("list", arena, list)?;
        records += if list.valid_rows == 1 { n } else { 0 };
    }
    let columns = elements(records, record_columns(dst.dtype)?)?;
    dst.check_region("destination", arena, 1, columns)
}
