//! From the tile level to the machine level.
//!
//! [`place`] gives every tile buffer of every kernel an address: the program it returns means the same as the one it
//! got, with the tiles in the bytes of real scratchpads instead of storage of their own. How:
//!
//! 1. [`alias`]: which buffers (roots) a tile value may be. `subview`, `treshape` and carried values are no storage.
//! 2. [`access`]: what each operation reads, overwrites, or changes in part of which root.
//! 3. [`liveness`]: where a root holds bytes that may still be read; dataflow over the structured control flow.
//! 4. [`interference`]: which roots may not share bytes, and which may only share an address exactly (in place).
//! 5. [`pack`]: first fit, largest first, below the language's budget of each buffer (semantics rule 21).
//!
//! The result depends on nothing but the program and [`Options`]. [`pass`] is the pipeline of a kernel file, of which
//! this is one step.
//!
//! [`bytes`] says which bytes each operation touches, with and without addresses: what passes that move or order
//! operations go by. [`fuse`] brings vector operations together that can be one loop, [`sync`] makes the order between
//! pipes explicit.

mod access;
mod alias;
pub mod bytes;
pub mod fuse;
mod interference;
mod liveness;
mod pack;
pub mod pass;
mod place;
mod plan;
mod report;
pub mod sync;

pub use pack::Order;
pub use place::place;
pub use plan::{FunctionPlan, Live, Plan, Reserved, Tile, plan};

/// What may be chosen freely.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// The order in which tiles get their addresses. Results never depend on it; whether everything fits may.
    pub order: Order,
}
