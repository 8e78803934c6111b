//! Independent checkers over IR and records, and the faults that prove that checkers can fail.
//!
//! Nothing here shares logic with the passes that it judges. Every checker answers with a [`Verdict`].

pub mod access;
mod correspond;
mod difference;
mod marks;
pub mod memory;
pub mod mutate;
pub mod order;
pub mod races;
mod reach;
pub mod sync;
#[cfg(test)]
mod testing;
mod verdict;

pub use memory::{memory, memory_of, placement, placement_of};
pub use order::{order, order_of};
pub use verdict::{Bytes, Finding, Site, Verdict};
