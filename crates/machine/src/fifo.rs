//! FIFOs between the cores of a cluster (`isa.md` §1.7).
//!
//! One direction of a pipe is a ring of slots. A push writes the tile's valid region into slot `i mod slots`, row-major with
//! the pitch of the source; a pop makes the consumer's tile of it. On A5 the slots lie in the consumer's buffer, and the
//! tile is the slot itself (rearranged there if its layout differs). On A2/A3 they lie in global memory, and a pop copies
//! the slot to local slot `i mod local slots` of the consumer's buffer.
//!
//! A push waits while `slots` tiles are pushed and not freed; a pop waits while none is ready. When a slot is given back
//! cannot be seen by a program that frees in order, so the credit batches of the device are not modelled.

use std::collections::VecDeque;

use dtype::DType;
use isa::Tile;
use memory::{Dims, View};

use crate::code::{FifoName, PipeSpec, PopSpec};
use crate::exec::Trap;

/// What a slot holds.
#[derive(Clone, Copy, Debug)]
struct Pushed {
    dtype: DType,
    rows: u32,
    cols: u32,
    pitch: u32,
}

#[derive(Debug)]
pub struct Fifo {
    pub name: FifoName,
    pub(crate) spec: PipeSpec,
    /// Arena offset of the consumer's slots, once either side has said it.
    pub(crate) slots: Option<usize>,
    /// Global memory of the ring: a view whose offset (in bytes, its type is u8) is slot 0.
    pub(crate) ring: Option<View>,
    pushed: u64,
    popped: u64,
    freed: u64,
    ready: VecDeque<Pushed>,
}

impl Fifo {
    pub(crate) fn new(name: FifoName, spec: PipeSpec) -> Fifo {
        Fifo { name, spec, slots: None, ring: None, pushed: 0, popped: 0, freed: 0, ready: VecDeque::new() }
    }

    pub(crate) fn can_push(&self) -> bool {
        self.pushed - self.freed < self.spec.slot_num as u64 && (self.ring.is_some() || self.slots.is_some())
    }

    pub(crate) fn can_pop(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Why this FIFO may not be left as it is at the end of a block.
    pub(crate) fn unbalanced(&self) -> Option<String> {
        let way = self.way();
        if self.pushed != self.popped {
            Some(format!("{} of {} tiles pushed {way} were never popped", self.pushed - self.popped, self.pushed))
        } else if self.popped != self.freed {
            Some(format!("{} of {} tiles popped {way} were never freed", self.popped - self.freed, self.popped))
        } else {
            None
        }
    }

    pub(crate) fn way(&self) -> String {
        let way = if self.name.to_vector { "from cube to vector" } else { "from vector to cube" };
        format!("{way} (FIFO {})", self.name.id)
    }

    /// A view of ring slot `n` as a `rows × cols` matrix.
    fn ring_view(&self, ring: &View, n: u64, tile: &Pushed) -> Result<View, Trap> {
        let size = tile.dtype.size() as u64;
        let at = ring.offset + n % self.spec.slot_num as u64 * self.spec.slot_size as u64;
        if !at.is_multiple_of(size) {
            return Err(Trap::new("fifo-slot", format!("a slot at byte {at} for elements of {size} bytes")));
        }
        let shape = Dims::new(&[tile.rows as u64, tile.cols as u64]).map_err(Trap::memory)?;
        let strides = Dims::new(&[tile.pitch as i64, 1]).map_err(Trap::memory)?;
        Ok(View { buffer: ring.buffer.clone(), dtype: tile.dtype, offset: at / size, shape, strides })
    }

    pub(crate) fn push(&mut self, mem: &mut [u8], src: &Tile) -> Result<(), Trap> {
        let tile = Pushed { dtype: src.dtype, rows: src.valid_rows, cols: src.valid_cols, pitch: src.cols };
        let slot = Tile::row_major(0, src.dtype, src.rows, src.cols).with_valid(src.valid_rows, src.valid_cols);
        let bytes = match (tile.rows, tile.cols) {
            (0, _) | (_, 0) => 0,
            (r, c) => ((r as usize - 1) * tile.pitch as usize + c as usize) * tile.dtype.size(),
        };
        if bytes > self.spec.slot_size {
            let size = self.spec.slot_size;
            return Err(Trap::new("fifo-slot", format!("a tile of {bytes} bytes pushed into slots of {size}")));
        }
        if let Some(ring) = &self.ring {
            let view = self.ring_view(ring, self.pushed, &tile)?;
            isa::store(&view, mem, src, false)?;
        } else if let Some(slots) = self.slots {
            let offset = slots + (self.pushed % self.spec.slot_num as u64) as usize * self.spec.slot_size;
            isa::copy(mem, &Tile { offset, ..slot }, src)?;
        }
        self.pushed += 1;
        self.ready.push_back(tile);
        Ok(())
    }

    /// The tile of the next ready slot, its valid region as stated or as it was pushed.
    pub(crate) fn pop(&mut self, mem: &mut [u8], spec: &PopSpec, valid: (u32, u32)) -> Result<Tile, Trap> {
        let Some(tile) = self.ready.front().copied() else {
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
        let Some(slots) = self.slots else {
            return Err(Trap::new("fifo-buffer", "a pop without a consumer buffer".to_string()));
        };
        let local = if self.ring.is_some() { self.spec.local_slot_num } else { self.spec.slot_num };
        if self.popped - self.freed >= local as u64 {
            return Err(Trap::new("fifo-local", format!("{} tiles popped and not freed; {local} fit", local + 1)));
        }
        let offset = slots + (self.popped % local as u64) as usize * self.spec.slot_size;
        let out = Tile { offset, ..spec.tile }.with_valid(valid.0, valid.1);
        if out.byte_len() > self.spec.slot_size {
            let (n, size) = (out.byte_len(), self.spec.slot_size);
            return Err(Trap::new("fifo-slot", format!("a tile of {n} bytes popped from slots of {size}")));
        }
        if let Some(ring) = &self.ring {
            let view = self.ring_view(ring, self.popped, &tile)?;
            isa::load(mem, &out, &view)?;
        } else {
            let height = tile.rows.max(1);
            let slot = Tile::row_major(offset, tile.dtype, height, tile.pitch).with_valid(tile.rows, tile.cols);
            if out.order != isa::Order::RowMajor || (out.pitch != tile.pitch && valid.0 > 1) {
                isa::copy(mem, &out, &slot)?;
            }
        }
        self.popped += 1;
        self.ready.pop_front();
        Ok(out)
    }

    pub(crate) fn free(&mut self) -> Result<(), Trap> {
        if self.freed == self.popped {
            return Err(Trap::new("fifo-free", format!("a slot {} is freed that was not popped", self.way())));
        }
        self.freed += 1;
        Ok(())
    }
}
