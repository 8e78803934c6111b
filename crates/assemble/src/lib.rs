//! From the tile level to the machine level.
//!
//! [`place`] gives every tile buffer of every kernel an address: the program it returns means the same as the one it
//! got, with the tiles in the bytes of real scratchpads instead of storage of their own. How:
//!
//! 1. [`alias`]: which buffers (roots) a tile value may be. `subview`, `treshape` and carried values are no storage.
//! 2. [`access`]: what each operation reads, overwrites, or changes in part of which root; [`apart`]: what the device
//!    wants apart beyond that.
//! 3. [`liveness`]: where a root holds bytes that may still be read; dataflow over the structured control flow.
//! 4. [`interference`]: which roots may not share bytes, and which may only share an address exactly (in place).
//! 5. [`pack`]: first fit, largest first, below one of the budgets of each buffer (semantics rule 21).
//!
//! Time and memory grow with the number of pairs of tiles that are in use at once, not with all pairs.
//!
//! The result depends on nothing but the program and [`Options`]. [`pass`] is the pipeline of a kernel file, of which
//! this is one step.
//!
//! [`level_rules`] says what a kernel file may contain at its level. The other steps of its pipeline, in order: [`fifos`]
//! (both ends agree; for a backend FIFOs become values), [`events`] (flags between pipes), [`layouts`] (axes of views),
//! [`columns`] (copies on A5), [`fuse`], [`scratch`] (what instructions work in), the plan, [`identity`] (moves that move
//! nothing), [`sync`], [`turns`] (one of several tiles is a tile at an address). [`edit`] is how they change a function.
//!
//! [`bytes`] says which bytes each operation touches, with and without addresses: what passes that move or order
//! operations go by. [`fuse`] brings vector operations together that can be one loop, [`sync`] makes the order between
//! pipes explicit.

mod access;
mod alias;
mod apart;
pub mod bytes;
mod columns;
mod edit;
mod events;
mod fifos;
pub mod fuse;
mod identity;
mod interference;
mod layouts;
mod level_rules;
mod liveness;
mod pack;
pub mod pass;
mod place;
mod plan;
mod report;
mod roots;
mod scratch;
pub mod sync;
mod turns;
mod usage;

use chip::{Chip, Space};

pub use layouts::INFERRED as INFERRED_LAYOUT;
pub use level_rules::{RULES as LEVEL_RULES, TAIL_HINTS, level_rules};
pub use pack::Order;
pub use place::place;
pub use plan::{FunctionPlan, Live, Plan, Reserved, Tile, Used, plan};

/// What may be chosen freely.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// The order in which tiles get their addresses. Results never depend on it; whether everything fits may.
    pub order: Order,
    pub limits: Limits,
}

/// Whose limits a plan keeps to (semantics rule 21).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Limits {
    /// Of the language: what programs may allocate.
    #[default]
    Language,
    /// Of the assembler of kernel files, with its coarser alignments (`spec/pto-assembly.md` §3.2).
    Assembler,
}

impl Limits {
    pub(crate) fn capacity(self, chip: &Chip, space: Space) -> u64 {
        let capacity = chip.capacity(space);
        match self {
            Limits::Language => capacity.language as u64,
            Limits::Assembler => capacity.assembler as u64,
        }
    }

    pub(crate) fn alignment(self, space: Space) -> u64 {
        match self {
            Limits::Language => chip::alignment(space) as u64,
            Limits::Assembler => chip::assembler_alignment(space) as u64,
        }
    }
}
