//! Seeded faults in kernels of tile instructions: what a wrong pass of an assembler would have done. Fusion that moves an
//! operation too far, a memory plan that puts two tiles that are needed on one place, flags that order too little.
//!
//! Beside [`super::sites`], whose faults a compiler of programs makes. [`sites`] lists the places, [`apply`] makes one
//! fault; same program, site and seed, same mutant.
//!
//! **Nothing here asks which bytes an operation touches.** Operations are moved past anything, tiles are put anywhere,
//! whether that does harm or not: a list of harmful places would come from an access model, and what that model does
//! not see would be missing here as it is in the checkers. Whether a mutant is *live* is for an execution to say.
//!
//! Most faults can be executed as they are. A wrong [mark of a last use](Fault::EarlyLastUse) cannot, since no executor
//! goes by marks: [`believe`] makes it do so; nor can [scratch](Fault::SharedScratch), which ours do not need:
//! [`scribble`] writes it. Faults in flags change nothing in program order; they show in another order that the flags
//! allow.

mod addresses;
mod believe;
mod flags;
mod kernel;
mod moves;
mod sites;

use ir::{FuncId, Op, Program};

pub use believe::{believe, believe_all, scribble};
pub use sites::sites;

use super::Mutation;

/// Kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// An operation and the ones it gets its tiles from are all moved to the last of their readers, past what is between.
    PrefixJump,
    /// A producer stands behind its consumer; where tiles have addresses, the result of the consumer lies on its result.
    SunkProducer,
    /// Of two operations whose tiles share an address and no name, the second goes first.
    AliasReordered,
    /// Two operations that follow each other change places.
    SwappedNeighbours,
    /// A store to global memory is missing.
    DroppedStore,
    /// Another operation on tiles is missing.
    DroppedOperation,
    /// An operand is marked as read for the last time, and is not marked in the program.
    EarlyLastUse,
    /// A window of a tile starts at its first row or column.
    DroppedOffset,
    /// Two tiles that are needed at the same time lie on the same bytes.
    CoalescedTiles,
    /// A tile that is the result of a loop or branch shares its bytes with one that is used while the result is needed.
    LostPhi,
    /// The scratch of an operation lies on one of its operands.
    SharedScratch,
    /// A result lies on an operand of its operation, or a block further.
    InPlace,
    /// A tile lies anywhere in its space.
    WrongAddress,
    /// A tile lies one block of 32 bytes before or after its place.
    ShiftedAddress,
    /// A flag is neither raised nor waited for.
    DroppedPair,
    /// A flag is not raised.
    DroppedSet,
    /// A flag is not waited for.
    DroppedWait,
    /// A barrier is missing.
    DroppedBarrier,
    /// A flag is raised by another pipe, or for another one.
    WrongPipe,
    /// A flag that is raised and waited for has the event of another one between the same pipes.
    EventCollision,
    /// A wait stands in a loop behind it, which may have no turns.
    WaitInLoop,
    /// A wait stands before the set that it is for.
    WaitBeforeSet,
    /// Turns of a loop do not wait for the turns before: a flag from before the loop to behind it is missing.
    DroppedGuard,
    /// A token is neither taken nor given back.
    DroppedToken,
    /// A token is not given back.
    DroppedRelease,
}

impl Fault {
    /// Every kind, in the order in which [`sites`] lists those of one operation.
    pub const ALL: [Fault; 25] = [
        Fault::PrefixJump,
        Fault::SunkProducer,
        Fault::AliasReordered,
        Fault::SwappedNeighbours,
        Fault::DroppedStore,
        Fault::DroppedOperation,
        Fault::EarlyLastUse,
        Fault::DroppedOffset,
        Fault::CoalescedTiles,
        Fault::LostPhi,
        Fault::SharedScratch,
        Fault::InPlace,
        Fault::WrongAddress,
        Fault::ShiftedAddress,
        Fault::DroppedPair,
        Fault::DroppedSet,
        Fault::DroppedWait,
        Fault::DroppedBarrier,
        Fault::WrongPipe,
        Fault::EventCollision,
        Fault::WaitInLoop,
        Fault::WaitBeforeSet,
        Fault::DroppedGuard,
        Fault::DroppedToken,
        Fault::DroppedRelease,
    ];

    /// A stable name, in kebab case.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::PrefixJump => "prefix-jump",
            Fault::SunkProducer => "sunk-producer",
            Fault::AliasReordered => "alias-reordered",
            Fault::SwappedNeighbours => "swapped-neighbours",
            Fault::DroppedStore => "dropped-store",
            Fault::DroppedOperation => "dropped-operation",
            Fault::EarlyLastUse => "early-last-use",
            Fault::DroppedOffset => "dropped-offset",
            Fault::CoalescedTiles => "coalesced-tiles",
            Fault::LostPhi => "lost-phi",
            Fault::SharedScratch => "shared-scratch",
            Fault::InPlace => "in-place",
            Fault::WrongAddress => "wrong-address",
            Fault::ShiftedAddress => "shifted-address",
            Fault::DroppedPair => "dropped-pair",
            Fault::DroppedSet => "dropped-set",
            Fault::DroppedWait => "dropped-wait",
            Fault::DroppedBarrier => "dropped-barrier",
            Fault::WrongPipe => "wrong-pipe",
            Fault::EventCollision => "event-collision",
            Fault::WaitInLoop => "wait-in-loop",
            Fault::WaitBeforeSet => "wait-before-set",
            Fault::DroppedGuard => "dropped-guard",
            Fault::DroppedToken => "dropped-token",
            Fault::DroppedRelease => "dropped-release",
        }
    }

    /// What would have made it.
    pub const fn pass(self) -> Pass {
        match self {
            Fault::PrefixJump
            | Fault::SunkProducer
            | Fault::AliasReordered
            | Fault::SwappedNeighbours
            | Fault::DroppedStore
            | Fault::DroppedOperation
            | Fault::EarlyLastUse
            | Fault::DroppedOffset => Pass::Schedule,
            Fault::CoalescedTiles
            | Fault::LostPhi
            | Fault::SharedScratch
            | Fault::InPlace
            | Fault::WrongAddress
            | Fault::ShiftedAddress => Pass::Place,
            Fault::DroppedPair
            | Fault::DroppedSet
            | Fault::DroppedWait
            | Fault::DroppedBarrier
            | Fault::WrongPipe
            | Fault::EventCollision
            | Fault::WaitInLoop
            | Fault::WaitBeforeSet
            | Fault::DroppedGuard
            | Fault::DroppedToken
            | Fault::DroppedRelease => Pass::Sync,
        }
    }
}

/// Kinds of passes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pass {
    /// Moves operations, and says what is used last.
    Schedule,
    /// Gives tiles their addresses.
    Place,
    /// Orders the pipes.
    Sync,
}

/// A place where a fault can be made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Site {
    pub fault: Fault,
    pub function: FuncId,
    pub op: Op,
    /// The other operation of a pair.
    pub other: Option<Op>,
    /// Which operand it concerns, counted over all groups; 0 where that is no question.
    pub operand: u32,
}

/// Makes the fault. `site` must come from [`sites`] of this very program; `seed` decides what the fault leaves open.
/// `None` if it turns out that it cannot be made: what an operation needs would come after it.
pub fn apply(program: &mut Program, site: &Site, seed: u64) -> Option<Mutation> {
    let func = &program.functions[site.function];
    let (name, before) = (func.name.clone(), ir::text::print_op(func, site.op));
    let origin = func.ops[site.op].origin.map(|o| o.op);
    let arch = program.arch;
    let func = &mut program.functions[site.function];
    let how = match site.fault.pass() {
        Pass::Schedule => moves::apply(func, site)?,
        Pass::Place => addresses::apply(arch, func, site, seed)?,
        Pass::Sync => flags::apply(func, site, seed)?,
    };
    Some(Mutation {
        what: site.fault.name(),
        function: site.function,
        op: site.op,
        origin,
        description: format!("@{name}: `{before}`: {how}"),
        rejected: super::verdict(program),
    })
}
