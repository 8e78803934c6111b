//! Accesses by address: those that may share a byte with another.
//!
//! A set of bytes that spans up to 2^k bytes lies in the one or two cells of 2^k bytes that it meets; a look-up visits the
//! cells of every size that is in use.

use std::collections::BTreeMap;

use trace::Region;

/// Smaller spans share cells of this many bytes (a power of two, as its exponent).
const FINEST: u32 = 6;

#[derive(Default, Debug)]
pub(super) struct Grid {
    /// By exponent of the cell's size and its number.
    cells: BTreeMap<(u32, i64), Vec<usize>>,
    /// Entries of each exponent.
    sizes: BTreeMap<u32, usize>,
    /// Of the last look-up, for telling an entry once.
    seen: Vec<usize>,
}

fn exponent(r: &Region) -> u32 {
    ((r.end() - r.start).max(1) as u64).next_power_of_two().trailing_zeros().max(FINEST)
}

fn cells(exponent: u32, r: &Region) -> std::ops::RangeInclusive<i64> {
    r.start >> exponent..=(r.end() - 1) >> exponent
}

impl Grid {
    pub(super) fn insert(&mut self, index: usize, r: &Region) {
        let k = exponent(r);
        *self.sizes.entry(k).or_default() += 1;
        for cell in cells(k, r) {
            self.cells.entry((k, cell)).or_default().push(index);
        }
    }

    pub(super) fn remove(&mut self, index: usize, r: &Region) {
        let k = exponent(r);
        if let Some(n) = self.sizes.get_mut(&k) {
            *n = n.saturating_sub(1);
        }
        for cell in cells(k, r) {
            if let Some(entries) = self.cells.get_mut(&(k, cell)) {
                entries.retain(|&i| i != index);
                if entries.is_empty() {
                    self.cells.remove(&(k, cell));
                }
            }
        }
    }

    /// Tells every entry that lies in a cell with the set, once, in ascending order.
    pub(super) fn overlapping(&mut self, r: &Region, mut found: impl FnMut(usize)) {
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        for (&k, _) in self.sizes.iter().filter(|(_, n)| **n > 0) {
            let near = cells(k, r);
            for (_, entries) in self.cells.range((k, *near.start())..=(k, *near.end())) {
                seen.extend_from_slice(entries);
            }
        }
        seen.sort_unstable();
        seen.dedup();
        seen.iter().for_each(|&i| found(i));
        self.seen = seen;
    }
}
