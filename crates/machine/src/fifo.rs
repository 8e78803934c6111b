//! FIFOs between the cores of a cluster (`isa.md` §1.7).
//!
//! One direction of a pipe is a ring of slots. A push writes the tile's valid region into slot `i mod slots`, row-major with
//! the pitch of the source; a pop makes the consumer's tile of it. On A5 the slots lie in the consumer's buffer, and the
//! tile is the slot itself (rearranged there if its layout differs). On A2/A3 they lie in global memory, and a pop copies
//! the slot to local slot `i mod local slots` of the consumer's buffer.
//!
//! Each vector core of a cluster has its own end of the FIFO ([`End`]): its own count of slots, and on A5 its own slots.
//! Towards the vector cores a push serves all ends at once; towards the cube core a pop takes one tile from each. What an
//! end gets or gives is all of the tile or its half of it ([`Split`]).
//!
//! A push waits while `slots` tiles are pushed and not freed; a pop waits while none is ready. When a slot is given back
//! cannot be seen by a program that frees in order, so the credit batches of the device are not modelled.

use std::collections::VecDeque;

use dtype::DType;
use isa::Tile;
use memory::{Dims, View};

use crate::code::{FifoName, PipeSpec, PopSpec, Split};
use crate::exec::{Cluster, Trap};

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
struct Pushed {
    dtype: DType,
    rows: u32,
    cols: u32,
    pitch: u32,
    /// Where in the slot, in elements: of the half that a second core pushed.
    at: (u32, u32),
}

/// A vector core's end.
#[derive(Debug, Default)]
struct End {
    pushed: u64,
    popped: u64,
    freed: u64,
    ready: VecDeque<Pushed>,
}

#[derive(Debug)]
pub struct Fifo {
    pub name: FifoName,
    pub(crate) spec: PipeSpec,
    /// Arena offset of the (first) consumer's slots, once either side has said it.
    pub(crate) slots: Option<usize>,
    /// Global memory of the ring: a view whose offset (in bytes, its type is u8) is slot 0.
    pub(crate) ring: Option<View>,
    ends: Vec<End>,
    /// How far the second vector core's slots are behind the first's.
    stride: usize,
}

impl Fifo {
    pub(crate) fn new(name: FifoName, spec: PipeSpec, cluster: Cluster) -> Fifo {
        let ends = (0..cluster.vector_cores.max(1)).map(|_| End::default()).collect();
        Fifo { name, spec, slots: None, ring: None, ends, stride: cluster.stride }
    }

    /// The ends that an operation of this core is about: those of all vector cores for the cube core, its own for a
    /// vector core. `push` tells which core it is, as the direction is known.
    fn of(&self, push: bool, core: usize) -> std::ops::Range<usize> {
        let cube = push == self.name.to_vector;
        if cube { 0..self.ends.len() } else { core..(core + 1).min(self.ends.len()) }
    }

    pub(crate) fn can_push(&self, core: usize) -> bool {
        let full = |end: &End| end.pushed - end.freed >= self.spec.slot_num as u64;
        !self.ends[self.of(true, core)].iter().any(full) && (self.ring.is_some() || self.slots.is_some())
    }

    pub(crate) fn can_pop(&self, core: usize) -> bool {
        !self.ends[self.of(false, core)].iter().any(|end| end.ready.is_empty())
    }

    /// Why this FIFO may not be left as it is at the end of a block.
    pub(crate) fn unbalanced(&self) -> Option<String> {
        let way = self.way();
        self.ends.iter().find_map(|end| {
            if end.pushed != end.popped {
                Some(format!("{} of {} tiles pushed {way} were never popped", end.pushed - end.popped, end.pushed))
            } else if end.popped != end.freed {
                Some(format!("{} of {} tiles popped {way} were never freed", end.popped - end.freed, end.popped))
            } else {
                None
            }
        })
    }

    pub(crate) fn way(&self) -> String {
        let way = if self.name.to_vector { "from cube to vector" } else { "from vector to cube" };
        format!("{way} (FIFO {})", self.name.id)
    }

    /// A view of ring slot `n` as a matrix of the tile's valid region.
    fn ring_view(&self, ring: &View, n: u64, tile: &Pushed) -> Result<View, Trap> {
        let size = tile.dtype.size() as u64;
        let at = ring.offset + n % self.spec.slot_num as u64 * self.spec.slot_size as u64;
        if !at.is_multiple_of(size) {
            return Err(Trap::new("fifo-slot", format!("a slot at byte {at} for elements of {size} bytes")));
        }
        let offset = at / size + tile.at.0 as u64 * tile.pitch as u64 + tile.at.1 as u64;
        let shape = Dims::new(&[tile.rows as u64, tile.cols as u64]).map_err(Trap::memory)?;
        let strides = Dims::new(&[tile.pitch as i64, 1]).map_err(Trap::memory)?;
        Ok(View { buffer: ring.buffer.clone(), dtype: tile.dtype, offset, shape, strides })
    }

    /// Makes tiles ready, of vector core `core` or of the cube core.
    pub(crate) fn push(&mut self, mem: &mut [u8], src: &Tile, split: Split, core: usize) -> Result<(), Trap> {
        let ends = self.of(true, core);
        let cube = self.name.to_vector;
        let split = if self.ends.len() == 1 { Split::None } else { split };
        // The whole tile in the slot, of which a vector core may push a half.
        let (rows, cols) = match split {
            Split::Rows if !cube => (src.rows * 2, src.cols),
            Split::Cols if !cube => (src.rows, src.cols * 2),
            _ => (src.rows, src.cols),
        };
        let last = (src.valid_rows as usize).max(1) - 1;
        let bytes = match (src.valid_rows, src.valid_cols) {
            (0, _) | (_, 0) => 0,
            (_, c) => (last * cols as usize + c as usize) * src.dtype.size(),
        };
        if bytes > self.spec.slot_size {
            let size = self.spec.slot_size;
            return Err(Trap::new("fifo-slot", format!("a tile of {bytes} bytes pushed into slots of {size}")));
        }
        for i in ends {
            // The second core's tile is no part of an unsplit one: it pushes to be in step.
            let idle = !cube && split == Split::None && i > 0;
            let part = if cube { half(src, split, i)? } else { *src };
            let at = match (split, cube, i) {
                (Split::Rows, false, 1) => (rows / 2, 0),
                (Split::Cols, false, 1) => (0, cols / 2),
                _ => (0, 0),
            };
            let pitch = if self.ring.is_some() || !cube { cols } else { part.cols };
            let mut tile = Pushed { dtype: src.dtype, rows: part.valid_rows, cols: part.valid_cols, pitch, at };
            if idle {
                (tile.rows, tile.cols) = (0, 0);
            }
            let n = self.ends[i].pushed;
            if let Some(ring) = &self.ring {
                if cube {
                    tile.at = start(src, split, i);
                }
                let view = self.ring_view(ring, n, &tile)?;
                if !idle {
                    isa::store(&view, mem, &part, false)?;
                }
            } else if let Some(slots) = self.slots
                && !idle
            {
                let slots = slots + if cube { i * self.stride } else { 0 };
                let offset = slots + (n % self.spec.slot_num as u64) as usize * self.spec.slot_size;
                let offset = offset + (at.0 as usize * pitch as usize + at.1 as usize) * src.dtype.size();
                let mut slot = Tile::row_major(offset, src.dtype, part.rows, part.cols);
                slot.pitch = pitch;
                isa::copy(mem, &slot.with_valid(part.valid_rows, part.valid_cols), &part)?;
            }
            self.ends[i].pushed += 1;
            self.ends[i].ready.push_back(tile);
        }
        Ok(())
    }

    /// What is in the next ready slot of a core: of the cube core, what all vector cores pushed into it.
    fn next(&self, core: usize) -> Option<Pushed> {
        let mut ends = self.ends[self.of(false, core)].iter();
        let mut whole = *ends.next()?.ready.front()?;
        for end in ends {
            let part = end.ready.front()?;
            match part.at {
                (0, 0) => {}
                (row, 0) => whole.rows = (row + part.rows).max(whole.rows),
                (_, col) => whole.cols = (col + part.cols).max(whole.cols),
            }
        }
        Some(whole)
    }

    /// Slots of the consumer: it may have so many tiles at once.
    fn local_slots(&self) -> usize {
        if self.ring.is_some() { self.spec.local_slot_num } else { self.spec.slot_num }
    }

    /// What the `n`-th pop of a core yields: the tile in its slot. `None` before the slots are known.
    pub(crate) fn popped_tile(&self, n: u64, spec: &PopSpec, valid: (u32, u32), core: usize) -> Option<Tile> {
        let slots = self.slots? + if self.name.to_vector { core * self.stride } else { 0 };
        let offset = slots + (n % self.local_slots() as u64) as usize * self.spec.slot_size;
        Some(Tile { offset, ..spec.tile }.with_valid(valid.0, valid.1))
    }

    /// The tile of the next ready slot, its valid region as stated or as it was pushed.
    pub(crate) fn pop(&mut self, mem: &mut [u8], spec: &PopSpec, valid: (u32, u32), core: usize) -> Result<Tile, Trap> {
        let Some(tile) = self.next(core) else {
            return Err(Trap::new("fifo-empty", "a pop from an empty FIFO".to_string()));
        };
        if tile.dtype != spec.tile.dtype {
            let (a, b) = (tile.dtype, spec.tile.dtype);
            return Err(Trap::new("fifo-type", format!("a tile of {a} pushed {} is popped as {b}", self.way())));
        }
        if valid.0 > tile.rows || valid.1 > tile.cols {
            return Err(Trap::new(
                "fifo-shape",
                format!(
                    "a tile of {}x{} valid elements pushed {} is popped as {}x{}",
                    tile.rows,
                    tile.cols,
                    self.way(),
                    valid.0,
                    valid.1
                ),
            ));
        }
        let ends = self.of(false, core);
        let (popped, freed) = (self.ends[ends.start].popped, self.ends[ends.start].freed);
        let Some(out) = self.popped_tile(popped, spec, valid, core) else {
            return Err(Trap::new("fifo-buffer", "a pop without a consumer buffer".to_string()));
        };
        let local = self.local_slots();
        if popped - freed >= local as u64 {
            return Err(Trap::new("fifo-local", format!("{} tiles popped and not freed; {local} fit", local + 1)));
        }
        if out.byte_len() > self.spec.slot_size {
            let (n, size) = (out.byte_len(), self.spec.slot_size);
            return Err(Trap::new("fifo-slot", format!("a tile of {n} bytes popped from slots of {size}")));
        }
        if let Some(ring) = &self.ring {
            let view = self.ring_view(ring, popped, &tile)?;
            isa::load(mem, &out, &view)?;
        } else {
            let height = tile.rows.max(1);
            let slot = Tile::row_major(out.offset, tile.dtype, height, tile.pitch).with_valid(tile.rows, tile.cols);
            if out.order != isa::Order::RowMajor || (out.pitch != tile.pitch && valid.0 > 1) {
                isa::copy(mem, &out, &slot)?;
            }
        }
        for end in &mut self.ends[ends] {
            end.popped += 1;
            end.ready.pop_front();
        }
        Ok(out)
    }

    pub(crate) fn free(&mut self, core: usize) -> Result<(), Trap> {
        let ends = self.of(false, core);
        if self.ends[ends.clone()].iter().any(|end| end.freed == end.popped) {
            return Err(Trap::new("fifo-free", format!("a slot {} is freed that was not popped", self.way())));
        }
        self.ends[ends].iter_mut().for_each(|end| end.freed += 1);
        Ok(())
    }
}

/// Where vector core `core`'s share of a tile starts.
fn start(tile: &Tile, split: Split, core: usize) -> (u32, u32) {
    match (split, core) {
        (Split::None, _) | (_, 0) => (0, 0),
        (Split::Rows, _) => (tile.rows.div_ceil(2), 0),
        (Split::Cols, _) => (0, tile.cols.div_ceil(2)),
    }
}

/// Vector core `core`'s share of a tile.
fn half(tile: &Tile, split: Split, core: usize) -> Result<Tile, Trap> {
    let (row, col) = start(tile, split, core);
    let (rows, cols) = match (split, core) {
        (Split::None, _) => return Ok(*tile),
        (Split::Rows, 0) => (tile.rows.div_ceil(2), tile.cols),
        (Split::Cols, 0) => (tile.rows, tile.cols.div_ceil(2)),
        _ => (tile.rows - row, tile.cols - col),
    };
    let part = tile.part(row, col, rows, cols).map_err(|e| Trap::new("fifo-split", e.to_string()))?;
    Ok(part.with_valid(tile.valid_rows.saturating_sub(row).min(rows), tile.valid_cols.saturating_sub(col).min(cols)))
}
