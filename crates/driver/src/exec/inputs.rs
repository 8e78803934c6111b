//! The arguments of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dtype::{DType, Scalar};
use machine::measure::CHUNK;

use super::contents::Fill;

/// Memory behind a pointer: sparse, as most of an argument of gigabytes is never looked at. What is not there is zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    pub dtype: DType,
    /// Bytes.
    pub len: usize,
    pub chunks: BTreeMap<u32, Arc<[u8]>>,
    /// What chunks would hold that are not there yet.
    pub fill: Fill,
    /// The caller's: as large as it is, with what it holds.
    pub given: bool,
}

impl Memory {
    pub fn new(dtype: DType, len: usize, fill: Fill) -> Memory {
        Memory { dtype, len, chunks: BTreeMap::new(), fill, given: false }
    }

    /// All of `bytes`.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Memory {
        let chunk = |part: &[u8]| {
            let mut whole = part.to_vec();
            whole.resize(CHUNK, 0);
            whole.into()
        };
        let chunks = bytes.chunks(CHUNK).map(chunk).enumerate().map(|(i, c)| (i as u32, c)).collect();
        Memory { dtype, len: bytes.len(), chunks, fill: Fill::NOTHING, given: false }
    }

    /// Makes a chunk, if it is not there; whether it was not.
    pub(super) fn make(&mut self, chunk: u32) -> bool {
        if self.chunks.contains_key(&chunk) {
            return false;
        }
        self.chunks.insert(chunk, self.fill.chunk(self.dtype, chunk).into());
        true
    }

    /// All bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = vec![0; self.len];
        for (&chunk, bytes) in &self.chunks {
            let at = chunk as usize * CHUNK;
            if let Some(part) = out.get_mut(at..) {
                let n = part.len().min(CHUNK);
                part[..n].copy_from_slice(&bytes[..n]);
            }
        }
        out
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    Scalar(Scalar),
    Memory(Memory),
}

/// One argument per parameter of a [`Kernel`](super::Kernel), and which blocks of which launch run.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub args: Vec<Input>,
    /// The first block that runs, and how many do, one cluster for each.
    pub first_block: u32,
    pub run_blocks: u32,
    /// Blocks of the launch, as the kernel is told.
    pub blocks: u32,
    /// Another number for everything made: a session knows by it what its memory holds.
    id: u64,
}

impl PartialEq for Inputs {
    fn eq(&self, other: &Inputs) -> bool {
        let launch = |i: &Inputs| (i.first_block, i.run_blocks, i.blocks);
        self.args == other.args && launch(self) == launch(other)
    }
}

impl Inputs {
    pub fn new(args: Vec<Input>) -> Inputs {
        Inputs { args, first_block: 0, run_blocks: 1, blocks: 1, id: fresh() }
    }

    /// To be called after a change: memory of sessions holds the old contents.
    pub fn changed(&mut self) {
        self.id = fresh();
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
