//! The simulated NPU: runs kernel functions of the tile and machine level.
//!
//! A function is *decoded* once ([`Code`]) into a flat array of instructions over four register files: scalars, tile
//! descriptors, views of global memory, and (in orchestrations) tensors. Loops and branches are jumps; operands are
//! register numbers; what is constant is in the registers before the first instruction. A run is a *frame* ([`Frame`]): a
//! program counter and registers, nothing on the host's stack, so that it can stop at `syncall`, at a pop from an empty
//! FIFO or a push to a full one, and go on later on another thread (semantics rule 22).
//!
//! Unplaced and placed functions share the decoder. They differ in where tiles lie ([`space`]): an unplaced function has
//! storage of its own for each `alloc_tile`, a placed one the scratchpads of the chip, and traps beyond their physical size.
//! Left, Right and Acc hold plain row-major elements (`chip`, "host-friendly element order").
//!
//! A [`Group`] is one block of a launch on one cluster: the cube and/or the vector frame, joined by FIFOs, on one thread.
//!
//! Instructions run in program order, or ([`Order::Pipes`]) each pipe apart from the others, so that only flags, barriers and
//! tokens order them ([`pipes`]).
//!
//! Each function can be decoded three ways ([`Mode`]): plain; observed, where the points of `docs/ir.md` ("Digests") report
//! their values; and footprint, the scalar skeleton that finds out which bytes of global memory a task will touch.

// An error ends a run: its size costs nothing.
#![allow(clippy::result_large_err)]

pub mod code;
mod decode;
mod exec;
pub mod fifo;
mod footprint;
mod frame;
mod group;
mod kernel;
mod log;
pub mod measure;
pub mod pipes;
pub mod space;

pub use code::{Class, Code, Inst, Mode};
pub use decode::decode;
pub use exec::{Cluster, Machine, Stop, Trap};
pub use footprint::{Footprint, Touch};
pub use frame::{Frame, ViewReg};
pub use group::{Group, Lane, Outcome, SyncKind};
pub use kernel::{Kernel, whole_region};
pub use pipes::{Order, Policy};
