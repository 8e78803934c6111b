//! Pipes that really run apart, so that a flag or barrier that is missing can change what comes out.
//!
//! A core's scalar unit goes through a function in program order. What other pipes execute it hands to them, and goes on:
//! an instruction waits in the queue of its pipe, with the registers that it uses as they were when it was issued, until a
//! scheduler picks it. Then it runs whole. Which one is picked is free wherever nothing orders them; a [`Policy`] decides,
//! and one policy is one execution, the same every time. So:
//!
//! | in program order | here |
//! |---|---|
//! | an instruction of a pipe | into its queue; may be picked once nothing before it in the queue holds it up |
//! | … of a pipe that [keeps its order](Pipe::keeps_order) | only once all before it in the queue have ended |
//! | `set_flag A → B` | into A's queue: raises the flag when all before it there have ended |
//! | `wait_flag A → B` | into B's queue: holds up what follows until the flag is raised, and lowers it |
//! | `barrier` of a pipe | holds up what follows in its queue until all before it there have ended |
//! | `barrier` of all pipes, a fence | the scalar unit goes on when all queues are empty |
//! | `get_buf`, `rls_buf` | as a wait and a set; turns are given in program order, and no pipe waits for itself |
//! | `syncall` | the core arrives, whatever is still in its queues |
//! | what the scalar unit does to memory (`tgetval`, `load_scalar`, …) | at once |
//! | the end | the scalar unit waits for all queues |
//!
//! Where the scalar unit is the A or B of a flag it sets or waits itself. Queues are of [`DEPTH`]: a scalar unit that
//! finds one full waits. What has run has run whole, so an order can be wrong here only by pairs of instructions, not by
//! halves of them.
//!
//! **FIFOs.** A push signals when all before it in its queue have ended. A pop on A2/A3 copies from the ring on MTE2, and
//! its slot is given back behind it; its tile is known when it is issued. On A5 the scalar unit pops and frees. Pops of
//! one FIFO keep their order.
//!
//! **Transfers between ranks** fill a tile on MTE2 and empty it on MTE3: they run when both have come to them, and hold both
//! up. A notification waits for all queues.
//!
//! **Atomic additions** of one core commit in program order (semantics rule 15).
//!
//! Flags are binary: one that is raised twice without a wait between (in program order), or left raised at the end, traps;
//! so do tokens that are taken twice or kept. When nobody can go on, the error names who waits for whom.

mod core;
mod group;
mod lazy;
mod policy;
mod queue;
mod stuck;

use chip::Arch;

pub(crate) use self::core::Pipes;
pub use self::policy::Policy;
pub(crate) use self::policy::Scheduler;

/// In which order the instructions of a core run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// Each ends before the next begins.
    #[default]
    Program,
    /// Each pipe on its own; see the module.
    Pipes(Policy),
}

/// What executes instructions. The scalar unit issues those of the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pipe {
    Scalar,
    Vector,
    Matrix,
    Mte1,
    Mte2,
    Mte3,
    Fix,
}

impl Pipe {
    pub const ALL: [Pipe; 7] =
        [Pipe::Scalar, Pipe::Vector, Pipe::Matrix, Pipe::Mte1, Pipe::Mte2, Pipe::Mte3, Pipe::Fix];
    /// Those with a queue.
    pub(crate) const QUEUED: [Pipe; 6] = [Pipe::Vector, Pipe::Matrix, Pipe::Mte1, Pipe::Mte2, Pipe::Mte3, Pipe::Fix];

    pub fn name(self) -> &'static str {
        match self {
            Pipe::Scalar => "PIPE_S",
            Pipe::Vector => "PIPE_V",
            Pipe::Matrix => "PIPE_M",
            Pipe::Mte1 => "PIPE_MTE1",
            Pipe::Mte2 => "PIPE_MTE2",
            Pipe::Mte3 => "PIPE_MTE3",
            Pipe::Fix => "PIPE_FIX",
        }
    }

    /// Whether no barrier is needed between its own instructions: the vector and matrix pipes of A5 see to their
    /// dependences themselves (`isa.md` §1.5).
    pub fn keeps_order(self, arch: Arch) -> bool {
        match self {
            Pipe::Scalar => true,
            Pipe::Vector | Pipe::Matrix => arch == Arch::A5,
            _ => false,
        }
    }
}

/// Instructions, flags and barriers that a queue holds.
pub const DEPTH: usize = 128;

/// What executes one instruction of the decoded code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unit {
    pub pipe: Pipe,
    /// It reads its indices when it is issued, whenever it runs.
    pub looks_early: bool,
}

impl Unit {
    pub(crate) const SCALAR: Unit = Unit { pipe: Pipe::Scalar, looks_early: false };
}
