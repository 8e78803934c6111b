//! Who touched which bytes of global memory: the edges of a new task.
//!
//! Absolute addresses, so that it does not matter through which handle or view memory is named. Entries are grouped by
//! allocation, and within one by coarse *buckets* of its range; what spans many buckets is kept in one list of its own.
//! Whether two accesses share a byte is decided exactly ([`Region::overlaps`]). An entry goes when its task is done, or when
//! a later write covers all of it: whoever conflicts with it conflicts with that write too.

use std::collections::BTreeMap;

use memory::Buffer;
use trace::{Cause, Region};

/// Buckets of an allocation.
const BUCKETS: usize = 256;
/// An access over more buckets than this is kept in the common list.
const WIDE: usize = 8;

#[derive(Debug)]
struct Entry {
    region: Region,
    end: i64,
    task: u32,
    write: bool,
    /// Lists that refer to it; 0: free.
    lists: u32,
}

#[derive(Debug)]
struct Root {
    end: i64,
    /// Bytes of a bucket, as a shift.
    shift: u32,
    buckets: Vec<Vec<u32>>,
    wide: Vec<u32>,
    /// Keeps the addresses from being used again, where the history outlives the tasks.
    keep: Vec<Buffer>,
}

/// The accesses of tasks in flight (of all tasks, if it records).
#[derive(Debug, Default)]
pub(crate) struct History {
    roots: BTreeMap<i64, Root>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    record: bool,
}

impl Root {
    fn new(start: i64, end: i64) -> Root {
        let len = (end - start).max(1) as u64;
        // At least a cache line each.
        let shift = len.div_ceil(BUCKETS as u64).next_power_of_two().trailing_zeros().max(6);
        let n = ((len - 1) >> shift) as usize + 1;
        Root { end, shift, buckets: (0..n).map(|_| Vec::new()).collect(), wide: Vec::new(), keep: Vec::new() }
    }

    fn span(&self, start: i64, low: i64, high: i64) -> std::ops::Range<usize> {
        let at = |x: i64| (((x - start).max(0) as u64 >> self.shift) as usize).min(self.buckets.len() - 1);
        at(low)..at(high - 1) + 1
    }
}

impl History {
    pub(crate) fn new(record: bool) -> History {
        History { record, ..History::default() }
    }

    /// The allocation that holds `buffer`, which may first have to be made out of several.
    fn root(&mut self, buffer: &Buffer) -> i64 {
        let start = buffer.as_ptr().addr() as i64;
        let end = start + buffer.len().max(1) as i64;
        if let Some((&at, root)) = self.roots.range(..=start).next_back()
            && end <= root.end
        {
            return at;
        }
        let touching: Vec<i64> =
            self.roots.range(..end).rev().take_while(|(_, r)| r.end > start).map(|(&at, _)| at).collect();
        let low = touching.iter().copied().min().unwrap_or(start).min(start);
        let high = touching.iter().map(|at| self.roots[at].end).max().unwrap_or(end).max(end);
        let mut root = Root::new(low, high);
        let mut moved = Vec::new();
        for at in touching {
            if let Some(old) = self.roots.remove(&at) {
                root.keep.extend(old.keep);
                moved.extend(old.buckets.into_iter().flatten());
                moved.extend(old.wide);
            }
        }
        if self.record {
            root.keep.push(buffer.clone());
        }
        self.roots.insert(low, root);
        moved.sort_unstable();
        moved.dedup();
        for entry in moved {
            self.link(low, entry);
        }
        low
    }

    fn link(&mut self, root: i64, index: u32) {
        let Some(r) = self.roots.get_mut(&root) else { return };
        let entry = &mut self.entries[index as usize];
        let span = r.span(root, entry.region.start, entry.end);
        if span.len() > WIDE {
            r.wide.push(index);
            entry.lists = 1;
        } else {
            entry.lists = span.len() as u32;
            r.buckets[span].iter_mut().for_each(|b| b.push(index));
        }
    }

    /// Tells `found` every earlier task that an access conflicts with, once per conflict. `done` tasks are forgotten.
    pub(crate) fn conflicts(
        &mut self,
        buffer: &Buffer,
        region: &Region,
        write: bool,
        done: &dyn Fn(u32) -> bool,
        found: &mut dyn FnMut(u32, Cause),
    ) {
        if region.is_empty() {
            return;
        }
        let at = self.root(buffer);
        let Some(root) = self.roots.get_mut(&at) else { return };
        let (low, high) = (region.start, region.end());
        let span = root.span(at, low, high);
        let (entries, free, record) = (&mut self.entries, &mut self.free, self.record);
        let mut scan = |list: &mut Vec<u32>| {
            list.retain(|&index| {
                let e = &mut entries[index as usize];
                let finished = !record && done(e.task);
                let mut covered = false;
                if !finished && (write || e.write) && low < e.end && e.region.start < high && region.overlaps(&e.region)
                {
                    let cause = match (e.write, write) {
                        (true, false) => Cause::ReadAfterWrite,
                        (false, _) => Cause::WriteAfterRead,
                        (true, true) => Cause::WriteAfterWrite,
                    };
                    found(e.task, cause);
                    covered = write && region.covers(&e.region);
                }
                if covered {
                    // Its other lists find it done with.
                    e.region = Region::EMPTY;
                    e.end = i64::MIN;
                }
                let gone = finished || e.end == i64::MIN;
                if gone {
                    e.lists -= 1;
                    if e.lists == 0 {
                        free.push(index);
                    }
                }
                !gone
            });
        };
        root.buckets[span].iter_mut().for_each(&mut scan);
        scan(&mut root.wide);
    }

    /// Tells `found` every recorded task that an access conflicts with, and changes nothing.
    pub(crate) fn look(&self, buffer: &Buffer, region: &Region, write: bool, found: &mut dyn FnMut(u32)) {
        let (low, high) = (region.start, region.end());
        let start = buffer.as_ptr().addr() as i64;
        let end = start + buffer.len().max(1) as i64;
        for (&at, root) in self.roots.range(..end).rev() {
            if root.end <= start {
                break;
            }
            for list in root.buckets[root.span(at, low, high)].iter().chain([&root.wide]) {
                for &index in list {
                    let e = &self.entries[index as usize];
                    if (write || e.write) && low < e.end && e.region.start < high && region.overlaps(&e.region) {
                        found(e.task);
                    }
                }
            }
        }
    }

    /// Records an access of the newest task.
    pub(crate) fn insert(&mut self, buffer: &Buffer, region: &Region, write: bool, task: u32) {
        if region.is_empty() {
            return;
        }
        let root = self.root(buffer);
        let entry = Entry { region: *region, end: region.end(), task, write, lists: 0 };
        let index = match self.free.pop() {
            Some(i) => {
                self.entries[i as usize] = entry;
                i
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.link(root, index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(history: &mut History, buffer: &Buffer, region: Region, write: bool) -> Vec<(u32, Cause)> {
        let mut out = Vec::new();
        history.conflicts(buffer, &region, write, &|_| false, &mut |t, c| out.push((t, c)));
        out.sort();
        out.dedup();
        out
    }

    fn base(buffer: &Buffer) -> i64 {
        buffer.as_ptr().addr() as i64
    }

    #[test]
    fn the_three_hazards_and_no_other() {
        let b = Buffer::zeroed(1 << 20);
        let at = base(&b);
        let mut h = History::new(false);
        h.insert(&b, &Region::bytes(at, 100), true, 0);
        h.insert(&b, &Region::bytes(at + 100, 100), false, 1);
        assert_eq!(edges(&mut h, &b, Region::bytes(at + 50, 100), false), [(0, Cause::ReadAfterWrite)]);
        let both = [(0, Cause::WriteAfterWrite), (1, Cause::WriteAfterRead)];
        assert_eq!(edges(&mut h, &b, Region::bytes(at + 99, 2), true), both);
        assert_eq!(edges(&mut h, &b, Region::bytes(at + 200, 1000), true), []);
        // A write over all of both stands for them.
        assert_eq!(edges(&mut h, &b, Region::bytes(at, 200), true), both);
        h.insert(&b, &Region::bytes(at, 200), true, 2);
        assert_eq!(edges(&mut h, &b, Region::bytes(at, 1), false), [(2, Cause::ReadAfterWrite)]);
    }

    #[test]
    fn handles_that_overlap_are_one_allocation() {
        let b = Buffer::zeroed(4096);
        let (left, right) = (b.sub(0, 2048).unwrap(), b.sub(1024, 3072).unwrap());
        let mut h = History::new(false);
        h.insert(&left, &Region::bytes(base(&b) + 1500, 10), true, 0);
        h.insert(&right, &Region::bytes(base(&b) + 3000, 10), true, 1);
        assert_eq!(edges(&mut h, &right, Region::bytes(base(&b) + 1509, 4), false), [(0, Cause::ReadAfterWrite)]);
        assert_eq!(edges(&mut h, &b, Region::bytes(base(&b), 4096), false).len(), 2);
    }

    #[test]
    fn agrees_with_a_plain_list_on_random_strided_accesses() {
        let b = Buffer::zeroed(1 << 16);
        let at = base(&b);
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
                let found = edges(&mut h, &b, region, write);
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
                h.insert(&b, &region, write, task);
                all.push((region, write));
                reach.push(before);
            }
        }
    }
}
