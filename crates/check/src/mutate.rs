//! Seeded faults in tile-level programs: what a bug in `lower` or `assemble` would have done.
//!
//! [`sites`] lists every place where some fault can be made; [`apply`] makes one of them. Same program, site and seed, same
//! mutant, on every machine. A mutant is *live* if executing it gives other results than the program; a live mutant that no
//! check reports is a hole in the checks (design §6).
//!
//! Mutants are structurally sound where the fault allows it. Where the verifier refuses one nevertheless
//! ([`Mutation::rejected`]), or an executor stops with an error, the fault has been caught; the report says by what.
//!
//! Faults know what instructions mean as far as the op table says it, and look at the program around them only to
//! keep the mutant interesting: a shifted offset stays inside its tile if there is room, and coalesced tiles are tiles that
//! are both needed at some point.
//!
//! [`passes`] has the faults of passes over single kernels.

mod apply;
mod edit;
mod live;
pub mod passes;
mod shift;
mod sites;

use diag::Diagnostic;
use ir::{FuncId, Op, Program};

pub use apply::apply;
pub use sites::sites;

/// Kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// An offset of a box, window, extract, insert or scalar access is a little more or less.
    WrongOffset,
    /// A box is one element smaller along an axis.
    WrongSize,
    /// A stride of a view is one element smaller.
    WrongStride,
    /// A store to global memory is missing.
    DroppedStore,
    /// A load into a tile is missing.
    DroppedLoad,
    /// Another instruction that writes a tile is missing: a fill, a copy, arithmetic.
    DroppedOperation,
    /// A `syncall` is missing.
    DroppedSync,
    /// The operands of a difference, a quotient, a remainder, a shift, a comparison or a selection are exchanged.
    SwappedOperands,
    /// An instruction of the same form that computes something else.
    WrongOperation,
    /// A comparison with or without equality, or equality for inequality.
    WrongPredicate,
    /// A gather or scatter takes its indices from another tile.
    WrongIndices,
    /// A mask pattern of the same length takes other columns.
    WrongPattern,
    /// A conversion rounds or saturates otherwise.
    WrongMode,
    /// A conversion takes a detour through bf16, which rounds twice.
    ExtraHop,
    /// A chain of conversions goes through the other 16-bit float.
    WrongHop,
    /// A product overwrites the accumulator it should be added to, or starts from zero instead of its bias.
    DroppedAccumulation,
    /// A product leaves out the end of the contracted axis.
    ShortContraction,
    /// An operand of a product starts elsewhere on the contracted axis.
    ShiftedContraction,
    /// The contracted axis is cut at 16, which changes the order of a sum of 16-bit products (semantics rule 8).
    CutContraction,
    /// Two tiles that are needed at the same time lie on the same bytes.
    CoalescedTiles,
    /// A loop runs once more or less, or starts one step late.
    LoopBound,
    /// A constant operand of an arithmetic instruction or of a scalar store has another value.
    WrongConstant,
    /// A tile is not pushed into its FIFO.
    DroppedPush,
    /// A slot of a FIFO is not given back.
    DroppedFree,
    /// Two pops are exchanged.
    SwappedPops,
    /// Two arguments of a submission are exchanged.
    SwappedArguments,
    /// A pad has another value.
    WrongPad,
    /// The valid region of a tile is one element smaller along an axis.
    ReducedValid,
    /// The branches of an `if` are exchanged.
    SwappedBranches,
}

impl Fault {
    /// Every kind, in the order in which [`sites`] lists those of one operation.
    pub const ALL: [Fault; 29] = [
        Fault::WrongOffset,
        Fault::WrongSize,
        Fault::WrongStride,
        Fault::DroppedStore,
        Fault::DroppedLoad,
        Fault::DroppedOperation,
        Fault::DroppedSync,
        Fault::SwappedOperands,
        Fault::WrongOperation,
        Fault::WrongPredicate,
        Fault::WrongIndices,
        Fault::WrongPattern,
        Fault::WrongMode,
        Fault::ExtraHop,
        Fault::WrongHop,
        Fault::DroppedAccumulation,
        Fault::ShortContraction,
        Fault::ShiftedContraction,
        Fault::CutContraction,
        Fault::CoalescedTiles,
        Fault::LoopBound,
        Fault::WrongConstant,
        Fault::DroppedPush,
        Fault::DroppedFree,
        Fault::SwappedPops,
        Fault::SwappedArguments,
        Fault::WrongPad,
        Fault::ReducedValid,
        Fault::SwappedBranches,
    ];

    /// A stable name, in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::WrongOffset => "wrong-offset",
            Fault::WrongSize => "wrong-size",
            Fault::WrongStride => "wrong-stride",
            Fault::DroppedStore => "dropped-store",
            Fault::DroppedLoad => "dropped-load",
            Fault::DroppedOperation => "dropped-operation",
            Fault::DroppedSync => "dropped-sync",
            Fault::SwappedOperands => "swapped-operands",
            Fault::WrongOperation => "wrong-operation",
            Fault::WrongPredicate => "wrong-predicate",
            Fault::WrongIndices => "wrong-indices",
            Fault::WrongPattern => "wrong-pattern",
            Fault::WrongMode => "wrong-mode",
            Fault::ExtraHop => "extra-hop",
            Fault::WrongHop => "wrong-hop",
            Fault::DroppedAccumulation => "dropped-accumulation",
            Fault::ShortContraction => "short-contraction",
            Fault::ShiftedContraction => "shifted-contraction",
            Fault::CutContraction => "cut-contraction",
            Fault::CoalescedTiles => "coalesced-tiles",
            Fault::LoopBound => "loop-bound",
            Fault::WrongConstant => "wrong-constant",
            Fault::DroppedPush => "dropped-push",
            Fault::DroppedFree => "dropped-free",
            Fault::SwappedPops => "swapped-pops",
            Fault::SwappedArguments => "swapped-arguments",
            Fault::WrongPad => "wrong-pad",
            Fault::ReducedValid => "reduced-valid",
            Fault::SwappedBranches => "swapped-branches",
        }
    }
}

/// A place where a fault can be made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    pub fault: Fault,
    pub function: FuncId,
    pub op: Op,
    /// Which operand it concerns, counted over all groups; 0 where that is no question.
    pub operand: u32,
    /// The other operation of a pair, or operand of a pair.
    pub partner: Option<Partner>,
}

/// The second half of a fault that concerns two things.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Partner {
    Op(Op),
    Operand(u32),
}

/// A fault that was made.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// [`Fault::name`].
    pub what: &'static str,
    pub function: FuncId,
    pub op: Op,
    /// The tensor-level operation that the changed one comes from: where a comparison of levels should point, or to a
    /// later one that uses its value.
    pub origin: Option<Op>,
    /// What was changed, with the function and the operation as they were.
    pub description: String,
    /// The verifier's first error, if it refuses the mutant.
    pub rejected: Option<Box<Diagnostic>>,
}

/// The verifier's first error.
fn verdict(program: &Program) -> Option<Box<Diagnostic>> {
    ir::verify::verify(program).err().and_then(|errors| errors.into_iter().next()).map(Box::new)
}
