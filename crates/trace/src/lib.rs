//! Records of a run: values at comparison points, the bytes that tasks touch, edges between tasks.
//!
//! Data only, plus the geometry of strided byte sets ([`Region`]). Executors write these records; the driver, checkers and
//! reports read them.

mod access;
mod file;
mod region;

pub use access::{Access, AccessKind, Event, Fifo, HostAccess, Log, Meeting, Memory, Record, Stream, Via};
pub use region::Region;

/// One execution of one operation of the tensor-level entry.
///
/// `nth` counts the executions of `op` by this block of this task, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Point {
    pub task: u32,
    pub block: u32,
    pub op: ir::Op,
    pub nth: u32,
}

/// The digest (`docs/ir.md`, "Digests") of the value that `point` made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ValueRecord {
    pub point: Point,
    pub digest: u64,
}

/// `to` starts after `from` has ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    pub cause: Cause,
}

/// Why there is an edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// `deps` of the program.
    Explicit,
    /// `to` reads bytes that `from` writes.
    ReadAfterWrite,
    /// `to` writes bytes that `from` reads.
    WriteAfterRead,
    WriteAfterWrite,
}

/// A task of a run, in submission order; its number is its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// The name that the program gave the scope.
    pub name: String,
    pub kernels: Vec<String>,
    pub blocks: u32,
    /// The program opted out of having this task ordered by what it touches.
    pub manual: bool,
    /// Where it was submitted.
    pub span: Option<diag::Span>,
}
