//! Who touched which bytes of global memory: the edges of a new task.
//!
//! Absolute addresses, so that it does not matter through which handle or view memory is named. Entries lie in a grid per
//! size: an access that spans up to 2^k bytes is in the one or two cells of 2^k bytes that it meets. Reads and writes are
//! apart, since reads do not conflict. Whether two accesses share a byte is decided exactly ([`Region::overlaps`]). An entry
//! goes when its task is done, or when a later write covers all of it: whoever conflicts with it conflicts with that write
//! too.

use std::collections::BTreeMap;

use trace::{Cause, Region};

/// Accesses closer together than a cache line share a cell.
const FINEST: u32 = 6;
/// The newest entries of a cell that an access is compared with, to share one.
const RECENT: usize = 4;
/// Tasks of an entry from which on it is searched for those that are done.
const CROWD: usize = 64;
/// Insertions between sweeps for entries of tasks that are done.
const SWEEP: usize = 8192;

#[derive(Debug)]
struct Entry {
    region: Region,
    end: i64,
    /// In submission order. Tasks that read the very same bytes (weights, say) share an entry.
    tasks: Vec<u32>,
    /// Cells that refer to it; 0: free.
    cells: u32,
}

/// Entries of a cell, the oldest first. Most cells have one or two: those need no allocation.
#[derive(Debug, Default)]
struct Cell {
    first: [u32; 2],
    /// Of `first` that count.
    len: usize,
    /// Empty unless `first` is full.
    more: Vec<u32>,
}

impl Cell {
    fn push(&mut self, index: u32) {
        match self.first.get_mut(self.len) {
            Some(slot) => {
                *slot = index;
                self.len += 1;
            }
            None => self.more.push(index),
        }
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.first[..self.len].iter().chain(&self.more).copied()
    }

    fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        let before = std::mem::take(&mut self.len);
        for k in 0..before {
            let index = self.first[k];
            if keep(index) {
                self.first[self.len] = index;
                self.len += 1;
            }
        }
        self.more.retain(|&index| keep(index));
        if self.len < self.first.len() && !self.more.is_empty() {
            let up = self.more.len().min(self.first.len() - self.len);
            for index in self.more.drain(..up) {
                self.first[self.len] = index;
                self.len += 1;
            }
        }
    }
}

/// Accesses by the power of two that they span, then by cell.
#[derive(Debug, Default)]
struct Grid {
    levels: BTreeMap<u32, BTreeMap<i64, Cell>>,
}

/// The accesses of tasks in flight (of all tasks, if it records).
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Reads and writes.
    grids: [Grid; 2],
    entries: Vec<Entry>,
    free: Vec<u32>,
    inserted: usize,
    record: bool,
}

fn level(low: i64, high: i64) -> u32 {
    ((high - low) as u64).next_power_of_two().trailing_zeros().max(FINEST)
}

fn cells(level: u32, low: i64, high: i64) -> std::ops::RangeInclusive<i64> {
    low >> level..=(high - 1) >> level
}

impl History {
    pub(crate) fn new(record: bool) -> History {
        History { record, ..History::default() }
    }

    /// Tells `found` every earlier task that an access conflicts with, at least once. `done` tasks are forgotten.
    pub(crate) fn conflicts(
        &mut self,
        region: &Region,
        write: bool,
        done: &dyn Fn(u32) -> bool,
        found: &mut dyn FnMut(u32, Cause),
    ) {
        if region.is_empty() {
            return;
        }
        let (low, high) = (region.start, region.end());
        let (entries, free, record) = (&mut self.entries, &mut self.free, self.record);
        for (grid, wrote) in self.grids.iter_mut().zip([false, true]) {
            if !wrote && !write {
                continue;
            }
            let cause = match (wrote, write) {
                (true, false) => Cause::ReadAfterWrite,
                (true, true) => Cause::WriteAfterWrite,
                (false, _) => Cause::WriteAfterRead,
            };
            for (&level, map) in &mut grid.levels {
                for (_, cell) in map.range_mut(cells(level, low, high)) {
                    cell.retain(|index| {
                        let e = &mut entries[index as usize];
                        let finished = !record && e.tasks.iter().all(|&t| done(t));
                        if !finished && low < e.end && e.region.start < high && region.overlaps(&e.region) {
                            e.tasks.iter().for_each(|&t| found(t, cause));
                            if write && region.covers(&e.region) {
                                // Its other cell finds it gone.
                                e.end = i64::MIN;
                            }
                        }
                        let gone = finished || e.end == i64::MIN;
                        if gone {
                            drop_cell(e, index, free);
                        }
                        !gone
                    });
                }
            }
        }
    }

    /// Tells `found` every recorded task that an access conflicts with, and changes nothing.
    pub(crate) fn look(&self, region: &Region, write: bool, found: &mut dyn FnMut(u32)) {
        let (low, high) = (region.start, region.end());
        for grid in &self.grids[usize::from(!write)..] {
            for (&level, map) in &grid.levels {
                for index in map.range(cells(level, low, high)).flat_map(|(_, cell)| cell.iter()) {
                    let e = &self.entries[index as usize];
                    if low < e.end && e.region.start < high && region.overlaps(&e.region) {
                        e.tasks.iter().for_each(|&t| found(t));
                    }
                }
            }
        }
    }

    /// Records an access of the newest task.
    pub(crate) fn insert(&mut self, region: &Region, write: bool, task: u32, done: &dyn Fn(u32) -> bool) {
        if region.is_empty() {
            return;
        }
        self.inserted += 1;
        if self.inserted.is_multiple_of(SWEEP) && !self.record {
            self.sweep(done);
        }
        let (low, high) = (region.start, region.end());
        let level = level(low, high);
        let cells = cells(level, low, high);
        let map = self.grids[usize::from(write)].levels.entry(level).or_default();
        for index in map.get(cells.start()).iter().flat_map(|cell| cell.iter().rev().take(RECENT)) {
            let e = &mut self.entries[index as usize];
            if e.end != i64::MIN && e.region == *region {
                if e.tasks.len() >= CROWD && e.tasks.len().is_multiple_of(CROWD) && !self.record {
                    e.tasks.retain(|&t| !done(t));
                }
                e.tasks.push(task);
                return;
            }
        }
        let references = (cells.end() - cells.start() + 1) as u32;
        let index = match self.free.pop() {
            Some(i) => {
                let e = &mut self.entries[i as usize];
                e.tasks.clear();
                (e.region, e.end, e.cells) = (*region, high, references);
                i
            }
            None => {
                self.entries.push(Entry { region: *region, end: high, tasks: Vec::new(), cells: references });
                self.entries.len() as u32 - 1
            }
        };
        self.entries[index as usize].tasks.push(task);
        cells.for_each(|cell| map.entry(cell).or_default().push(index));
    }

    /// Entries that no later access has met would stay for ever.
    fn sweep(&mut self, done: &dyn Fn(u32) -> bool) {
        let (entries, free) = (&mut self.entries, &mut self.free);
        for grid in &mut self.grids {
            grid.levels.retain(|_, map| {
                map.retain(|_, cell| {
                    cell.retain(|index| {
                        let e = &mut entries[index as usize];
                        let gone = e.end == i64::MIN || e.tasks.iter().all(|&t| done(t));
                        if gone {
                            drop_cell(e, index, free);
                        }
                        !gone
                    });
                    !cell.is_empty()
                });
                !map.is_empty()
            });
        }
    }
}

fn drop_cell(entry: &mut Entry, index: u32, free: &mut Vec<u32>) {
    entry.cells -= 1;
    if entry.cells == 0 {
        free.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(history: &mut History, region: Region, write: bool) -> Vec<(u32, Cause)> {
        let mut out = Vec::new();
        history.conflicts(&region, write, &|_| false, &mut |t, c| out.push((t, c)));
        out.sort();
        out.dedup();
        out
    }

    #[test]
    fn the_three_hazards_and_no_other() {
        let at = 1 << 20;
        let mut h = History::new(false);
        h.insert(&Region::bytes(at, 100), true, 0, &|_| false);
        h.insert(&Region::bytes(at + 100, 100), false, 1, &|_| false);
        assert_eq!(edges(&mut h, Region::bytes(at + 50, 100), false), [(0, Cause::ReadAfterWrite)]);
        let both = [(0, Cause::WriteAfterWrite), (1, Cause::WriteAfterRead)];
        assert_eq!(edges(&mut h, Region::bytes(at + 99, 2), true), both);
        assert_eq!(edges(&mut h, Region::bytes(at + 200, 1000), true), []);
        // A write over all of both stands for them.
        assert_eq!(edges(&mut h, Region::bytes(at, 200), true), both);
        h.insert(&Region::bytes(at, 200), true, 2, &|_| false);
        assert_eq!(edges(&mut h, Region::bytes(at, 1), false), [(2, Cause::ReadAfterWrite)]);
    }

    #[test]
    fn sizes_from_bytes_to_gigabytes_meet() {
        let mut h = History::new(false);
        let far = 1 << 40;
        h.insert(&Region::bytes(far + (1 << 30) - 1, 1), true, 0, &|_| false);
        h.insert(&Region::bytes(far - 100, 1 << 31), false, 1, &|_| false);
        h.insert(&Region::strided(far, 4, [(1 << 20, 4096)]), true, 2, &|_| false);
        let meets = |h: &mut History, at: i64, n: i64| -> Vec<u32> {
            edges(h, Region::bytes(at, n), true).into_iter().map(|e| e.0).collect()
        };
        assert_eq!(meets(&mut h, far + (1 << 30) - 2, 2), [0, 1]);
        assert_eq!(meets(&mut h, far + 4096 * 77 + 3, 1), [1, 2]);
        assert_eq!(meets(&mut h, far + 4096 * 77 + 4, 1), [1]);
        assert_eq!(meets(&mut h, far - 101, 1), []);
    }

    #[test]
    fn a_sweep_forgets_what_is_done_and_nothing_else() {
        let mut h = History::new(false);
        let n = 3 * SWEEP as u32 + 5;
        for task in 0..n {
            h.insert(&Region::bytes(1000 * task as i64, 1100), task % 2 == 0, task, &|t| t % 4 != 0);
        }
        assert!(h.entries.len() < n as usize / 2, "{} entries", h.entries.len());
        for task in (0..n).step_by(4) {
            let found = edges(&mut h, Region::bytes(1000 * task as i64 + 500, 1), false);
            assert_eq!(found, [(task, Cause::ReadAfterWrite)]);
        }
    }

    #[test]
    fn a_cell_keeps_its_entries_in_order() {
        let mut cell = Cell::default();
        (0..9).for_each(|k| cell.push(k));
        assert!(cell.iter().eq(0..9));
        cell.retain(|k| k % 4 != 0);
        assert!(cell.iter().eq([1, 2, 3, 5, 6, 7]));
        cell.push(9);
        assert!(cell.iter().rev().eq([9, 7, 6, 5, 3, 2, 1]));
        cell.retain(|k| k == 9);
        assert!(cell.iter().eq([9]) && cell.more.is_empty());
        cell.push(10);
        assert!(cell.iter().eq([9, 10]));
        cell.retain(|_| false);
        assert!(cell.is_empty());
    }

    #[test]
    fn agrees_with_a_plain_list_on_random_strided_accesses() {
        let at = 12345;
        for seed in 0..30 {
            let mut rng = control::Control::new(seed);
            let mut h = History::new(true);
            // (region, write) of task i; conflicts must be found at least through a covering writer.
            let mut all: Vec<(Region, bool)> = Vec::new();
            let mut reach: Vec<Vec<bool>> = Vec::new();
            for task in 0..120u32 {
                let rows = 1 + rng.choose(8) as i64;
                let (pitch, width) = (256 << rng.choose(3), 32 << rng.choose(3));
                let start = at + 32 * rng.choose(1000) as i64;
                let region = Region::strided(start, width, [(rows, pitch)]);
                let write = rng.choose(2) == 0;
                let found = edges(&mut h, region, write);
                let mut before = vec![false; task as usize];
                for &(t, _) in &found {
                    assert!(all[t as usize].0.overlaps(&region), "a false edge");
                    before[t as usize] = true;
                    for k in 0..t as usize {
                        before[k] |= reach[t as usize][k];
                    }
                }
                for (k, (r, w)) in all.iter().enumerate() {
                    assert!(
                        !(r.overlaps(&region) && (*w || write)) || before[k],
                        "task {k} before {task}, seed {seed}"
                    );
                }
                h.insert(&region, write, task, &|_| false);
                all.push((region, write));
                reach.push(before);
            }
        }
    }
}
