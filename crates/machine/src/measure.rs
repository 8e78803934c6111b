//! What a measured run ([`Mode::Measured`](crate::Mode::Measured)) finds out: which regions of the code it came through,
//! how far views of each pointer reach, and which chunks of memory behind it were read and written.
//!
//! It serves whoever makes up arguments for a kernel that comes without any: how large they must be and which of their
//! bytes matter is learnt by running. Chunks, not bytes: what matters of arguments of gigabytes is a few megabytes.

use crate::exec::Trap;

/// Bytes of a chunk.
pub const CHUNK: usize = 1024;
/// What entering a region costs, in the bytes of global memory that could have moved meanwhile.
const REGION_COST: u64 = 256;

/// A set of chunks.
#[derive(Clone, Default, Debug)]
pub struct Chunks {
    bits: Vec<u64>,
    list: Vec<u32>,
}

impl Chunks {
    pub fn insert(&mut self, chunk: u32) {
        let (word, bit) = (chunk as usize / 64, 1u64 << (chunk % 64));
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        if self.bits[word] & bit == 0 {
            self.bits[word] |= bit;
            self.list.push(chunk);
        }
    }

    pub fn contains(&self, chunk: u32) -> bool {
        self.bits.get(chunk as usize / 64).is_some_and(|w| w & 1 << (chunk % 64) != 0)
    }

    /// In the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.list.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn clear(&mut self) {
        for chunk in self.list.drain(..) {
            self.bits[chunk as usize / 64] = 0;
        }
    }

    /// Those of the bytes `start..end`; bytes that no argument can have are nobody's.
    fn cover(&mut self, start: i64, end: i64) {
        if start < 0 || end <= start {
            return;
        }
        let last = u32::try_from((end as usize - 1) / CHUNK).unwrap_or(u32::MAX);
        let Ok(first) = u32::try_from(start as usize / CHUNK) else { return };
        (first..=last).for_each(|chunk| self.insert(chunk));
    }
}

/// What a run did behind one pointer.
#[derive(Clone, Default, Debug)]
pub struct Use {
    /// Bytes from where it points that views and scalar accesses reach.
    pub extent: u64,
    pub read: Chunks,
    pub written: Chunks,
}

/// What one frame did.
#[derive(Clone, Default, Debug)]
pub struct Measure {
    /// By `ir::Block`: whether the run came there.
    pub reached: Vec<bool>,
    /// By pointer parameter, counted among the pointers.
    pub pointers: Vec<Use>,
    /// What the run may still do: bytes moved, and regions entered.
    pub budget: u64,
    /// An argument may not be larger than this.
    pub limit: u64,
}

impl Measure {
    /// Ready for a run of a function with this many blocks and pointers.
    pub fn reset(&mut self, blocks: usize, pointers: usize, budget: u64, limit: u64) {
        self.reached.clear();
        self.reached.resize(blocks, false);
        self.pointers.resize_with(pointers, Use::default);
        for used in &mut self.pointers {
            used.extent = 0;
            used.read.clear();
            used.written.clear();
        }
        (self.budget, self.limit) = (budget, limit);
    }

    fn spend(&mut self, cost: u64) -> Result<(), Trap> {
        match self.budget.checked_sub(cost) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => Err(Trap::new("budget", "the run does more than it was given the time for".to_string())),
        }
    }

    pub(crate) fn enter(&mut self, block: u32) -> Result<(), Trap> {
        if let Some(reached) = self.reached.get_mut(block as usize) {
            *reached = true;
        }
        self.spend(REGION_COST)
    }

    /// A strided box, in bytes: `dims` are counts and strides, outermost first.
    pub(crate) fn reach(
        &mut self,
        param: usize,
        start: i64,
        size: i64,
        dims: impl Iterator<Item = (i64, i64)>,
    ) -> Result<(), Trap> {
        let mut end = start.saturating_add(size);
        for (count, stride) in dims {
            if count <= 0 {
                return Ok(());
            }
            end = end.saturating_add((count - 1).saturating_mul(stride).max(0));
        }
        let end = u64::try_from(end).unwrap_or(0);
        if end > self.limit {
            return Err(Trap::new("argument-size", format!("an argument of at least {end} bytes")));
        }
        if let Some(used) = self.pointers.get_mut(param) {
            used.extent = used.extent.max(end);
        }
        Ok(())
    }

    pub(crate) fn touch(
        &mut self,
        param: usize,
        write: bool,
        start: i64,
        size: i64,
        dims: &[(i64, i64)],
    ) -> Result<(), Trap> {
        self.reach(param, start, size, dims.iter().copied())?;
        let bytes = dims.iter().fold(size, |n, &(count, _)| n.saturating_mul(count));
        self.spend(u64::try_from(bytes).unwrap_or(0))?;
        let limit = self.limit as i64;
        if let Some(used) = self.pointers.get_mut(param) {
            let chunks = if write { &mut used.written } else { &mut used.read };
            // A run of consecutive elements is one range.
            let mut run = size;
            let mut outer = dims.len();
            while outer > 0 && (dims[outer - 1].0 == 1 || dims[outer - 1].1 == run) {
                outer -= 1;
                run = run.saturating_mul(dims[outer].0);
            }
            cover(chunks, start, run.min(limit), &dims[..outer]);
        }
        Ok(())
    }
}

fn cover(chunks: &mut Chunks, start: i64, run: i64, dims: &[(i64, i64)]) {
    match dims.split_first() {
        None => chunks.cover(start, start.saturating_add(run)),
        Some((&(count, stride), rest)) => {
            for k in 0..count {
                cover(chunks, start.saturating_add(k.saturating_mul(stride)), run, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_touches_the_chunks_of_its_rows() {
        let mut m = Measure::default();
        m.reset(1, 2, 1 << 20, 1 << 30);
        // Three rows of 64 bytes, 4096 apart, from byte 1000 on: the first crosses a border.
        m.touch(1, false, 1000, 4, &[(3, 4096), (16, 4)]).expect("in budget");
        let chunks: Vec<u32> = m.pointers[1].read.iter().collect();
        assert_eq!(chunks, [0, 1, 4, 5, 8, 9]);
        assert_eq!(m.pointers[1].extent, 1000 + 2 * 4096 + 64);
        assert!(m.pointers[1].written.is_empty() && m.pointers[0].read.is_empty());
        // Nothing is touched of a box without elements, or before the argument.
        m.touch(0, true, 0, 4, &[(0, 4096), (16, 4)]).expect("in budget");
        m.touch(0, true, -64, 4, &[(16, 4)]).expect("in budget");
        assert_eq!((m.pointers[0].written.len(), m.pointers[0].extent), (0, 0));
    }

    #[test]
    fn a_budget_and_a_limit_end_a_run() {
        let mut m = Measure::default();
        m.reset(1, 1, 1000, 1 << 20);
        assert_eq!(m.touch(0, false, 0, 4, &[(1000, 4)]).expect_err("too much").code, "budget");
        assert_eq!(m.touch(0, false, 1 << 20, 4, &[]).expect_err("too far").code, "argument-size");
        assert!((0..3).all(|_| m.enter(0).is_ok()) && m.reached[0]);
        assert_eq!(m.enter(0).expect_err("a loop").code, "budget");
    }
}
