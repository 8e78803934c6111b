//! Decoded functions: the instruction set of the executor.
//!
//! Register conventions: scalars are 64-bit patterns as in [`dtype::Scalar`] (zero-extended); a task id or array handle is
//! a number, 0 for none; a pointer is a parameter number and an element offset ([`pointer`]). Integer operands of
//! instructions that take "an integer" are registers of 64 bits: the decoder widens narrower types first.

mod operands;

use chip::Core;
use diag::Span;
use dtype::scalar::{BinaryOp as ScalarOp, CmpOp};
use dtype::{DType, Profile, RoundMode};
use ir::{Function, Type, Value};
use isa::{Arg, Atomic, BinaryOp, GatherMode, OutOfRange, Pad, Pattern, Predicate, Reduce, ScatterMode, Tile, UnaryOp};

use crate::group::SyncKind;
use crate::pipes::{Pipe, Unit};

pub type Reg = u32;
pub type Pc = u32;

/// What a function is decoded for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Plain,
    /// With the digest of every value at the operation that completes it.
    Observed,
    /// Scalars, control flow and views only; accesses to global memory are recorded, not done.
    Footprint,
    /// Plain, and what it reaches and touches is recorded ([`crate::measure`]); with `digests` of what each tile operation
    /// made, too, whatever it comes from.
    Measured {
        digests: bool,
    },
}

impl Mode {
    pub fn is_measured(self) -> bool {
        matches!(self, Mode::Measured { .. })
    }
}

/// Which register file a value lives in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Scalars, task ids, array handles, pointers.
    Scalar,
    Tile,
    /// Views and partitions, in kernels.
    View,
    /// Tensors, in orchestrations.
    Tensor,
}

impl Class {
    pub fn of(ty: &Type) -> Class {
        match ty {
            // An opaque value has no operation here that looks at it.
            Type::Scalar(_) | Type::TaskId | Type::Array { .. } | Type::Ptr(_) | Type::Opaque(_) => Class::Scalar,
            Type::Tile(_) => Class::Tile,
            Type::View(_) | Type::PartView { .. } => Class::View,
            Type::Tensor(_) => Class::Tensor,
        }
    }
}

/// Scalar registers that every function has.
pub const BLOCK_IDX: Reg = 0;
pub const BLOCK_NUM: Reg = 1;
pub const SUBBLOCK_IDX: Reg = 2;
pub const RESERVED: Reg = 3;

#[derive(Clone, Debug)]
pub enum Inst {
    // Control.
    Jump(Pc),
    Unless {
        condition: Reg,
        to: Pc,
    },
    /// Fixes the trip count; jumps to the exit of the loop if it is 0.
    Enter {
        spec: u32,
    },
    /// The next iteration, or falls out of the loop.
    Next {
        spec: u32,
    },
    End,
    /// Hands operation number `n` of the orchestration to the caller.
    Host(u32),
    /// Ends the run with a message decided at decode time.
    Trap(u32),

    // Scalars.
    Move {
        dst: Reg,
        src: Reg,
    },
    AddI {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    SubI {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    MulI {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    CmpI {
        op: CmpOp,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Binary {
        op: ScalarOp,
        dtype: DType,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Compare {
        op: CmpOp,
        dtype: DType,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Cast {
        from: DType,
        to: DType,
        dst: Reg,
        a: Reg,
    },
    Neg {
        dtype: DType,
        dst: Reg,
        a: Reg,
    },
    Not {
        dtype: DType,
        dst: Reg,
        a: Reg,
    },
    Select {
        dst: Reg,
        condition: Reg,
        a: Reg,
        b: Reg,
    },
    ArrayNew {
        dst: Reg,
        len: u32,
    },
    ArrayGet {
        dst: Reg,
        array: Reg,
        index: Reg,
    },
    ArraySet {
        array: Reg,
        index: Reg,
        value: Reg,
    },

    // Descriptors.
    MoveTile {
        dst: Reg,
        src: Reg,
    },
    MoveView {
        dst: Reg,
        src: Reg,
    },
    MoveTensor {
        dst: Reg,
        src: Reg,
    },
    /// Resolves the run-time parts of `alloc_tile`.
    Alloc {
        spec: u32,
    },
    SetValid {
        dst: Reg,
        rows: Option<Reg>,
        cols: Option<Reg>,
    },
    Subview {
        spec: u32,
    },
    Reshape {
        dst: Reg,
        src: Reg,
        shape: u32,
    },
    MakeView {
        spec: u32,
    },
    Partition {
        spec: u32,
    },
    AddPtr {
        dst: Reg,
        ptr: Reg,
        offset: Reg,
    },

    // Global memory.
    Load {
        dst: Reg,
        view: Reg,
    },
    Store {
        view: Reg,
        src: Reg,
    },
    AtomicStore {
        view: Reg,
        src: Reg,
    },
    GatherView {
        mode: GatherMode,
        out_of_range: OutOfRange,
        dst: Reg,
        view: Reg,
        index: Reg,
    },
    ScatterView {
        mode: ScatterMode,
        out_of_range: OutOfRange,
        atomic: Option<Atomic>,
        view: Reg,
        src: Reg,
        index: Reg,
    },
    LoadScalar {
        dtype: DType,
        dst: Reg,
        ptr: Reg,
        offset: Reg,
    },
    StoreScalar {
        dtype: DType,
        ptr: Reg,
        offset: Reg,
        value: Reg,
    },

    // Tiles.
    Copy {
        dst: Reg,
        src: Reg,
    },
    /// Acc to a narrower type on the way out of the cube (ties to even).
    Narrow {
        dst: Reg,
        src: Reg,
    },
    Extract {
        dst: Reg,
        src: Reg,
        row: Reg,
        col: Reg,
    },
    Insert {
        dst: Reg,
        src: Reg,
        row: Reg,
        col: Reg,
    },
    Get {
        dst: Reg,
        src: Reg,
        row: Reg,
        col: Reg,
    },
    Set {
        dtype: DType,
        dst: Reg,
        row: Reg,
        col: Reg,
        value: Reg,
    },
    TileBinary {
        op: BinaryOp,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    TileScalar {
        op: BinaryOp,
        dtype: DType,
        reversed: bool,
        dst: Reg,
        a: Reg,
        s: Reg,
    },
    /// Where only one source is valid, that one.
    Part {
        op: BinaryOp,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Unary {
        op: UnaryOp,
        dst: Reg,
        a: Reg,
    },
    Convert {
        mode: RoundMode,
        saturate: bool,
        dst: Reg,
        src: Reg,
    },
    Fill {
        dtype: DType,
        dst: Reg,
        s: Reg,
    },
    Iota {
        dtype: DType,
        descending: bool,
        dst: Reg,
        start: Reg,
    },
    Triangle {
        upper: bool,
        dst: Reg,
        diagonal: Reg,
    },
    Random {
        spec: u32,
    },
    Mask {
        predicate: Predicate,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    MaskScalar {
        predicate: Predicate,
        dtype: DType,
        dst: Reg,
        a: Reg,
        s: Reg,
    },
    Choose {
        dst: Reg,
        mask: Reg,
        a: Reg,
        b: Reg,
    },
    ChooseScalar {
        dtype: DType,
        dst: Reg,
        mask: Reg,
        a: Reg,
        s: Reg,
    },
    Gather {
        dst: Reg,
        src: Reg,
        index: Reg,
    },
    GatherMask {
        pattern: Pattern,
        dst: Reg,
        src: Reg,
    },
    GatherBlocks {
        dst: Reg,
        src: Reg,
        offsets: Reg,
    },
    Scatter {
        dst: Reg,
        src: Reg,
        index: Reg,
    },
    ScatterMask {
        pattern: Pattern,
        dst: Reg,
        src: Reg,
    },
    Sort {
        dst: Reg,
        src: Reg,
        idx: Reg,
    },
    MergeRuns {
        dst: Reg,
        src: Reg,
        length: Reg,
    },
    MergeLists {
        spec: u32,
    },
    FillPad {
        pad: Pad,
        dst: Reg,
        src: Reg,
    },
    RowReduce {
        op: Reduce,
        dst: Reg,
        src: Reg,
    },
    ColReduce {
        op: Reduce,
        dst: Reg,
        src: Reg,
    },
    RowArg {
        arg: Arg,
        dst: Reg,
        src: Reg,
    },
    ColArg {
        arg: Arg,
        dst: Reg,
        src: Reg,
    },
    RowExpand {
        op: Option<BinaryOp>,
        dst: Reg,
        a: Reg,
        v: Reg,
    },
    ColExpand {
        op: Option<BinaryOp>,
        dst: Reg,
        a: Reg,
        v: Reg,
    },
    Matmul {
        dst: Reg,
        lhs: Reg,
        rhs: Reg,
    },
    MatmulAcc {
        dst: Reg,
        acc: Reg,
        lhs: Reg,
        rhs: Reg,
    },
    MatmulBias {
        dst: Reg,
        lhs: Reg,
        rhs: Reg,
        bias: Reg,
    },
    Transpose {
        dst: Reg,
        src: Reg,
    },

    // Order between pipes: of no meaning where instructions run in program order (`crate::pipes`).
    SetFlag {
        from: Pipe,
        to: Pipe,
        event: Reg,
    },
    WaitFlag {
        from: Pipe,
        to: Pipe,
        event: Reg,
    },
    /// Of one pipe, or of all.
    Barrier(Option<Pipe>),
    GetToken {
        pipe: Pipe,
        token: u32,
    },
    FreeToken {
        pipe: Pipe,
        token: u32,
    },
    /// An order that this machine does not know, and why: number of a trap.
    UnknownOrder(u32),

    // Blocks and cores.
    SyncAll(SyncKind),
    InitPipe {
        spec: u32,
    },
    Push {
        fifo: u32,
        split: Split,
        src: Reg,
    },
    Pop {
        spec: u32,
    },
    Free {
        fifo: u32,
    },
    /// From memory to memory, through a tile.
    Transfer {
        spec: u32,
    },
    Notify {
        add: bool,
        view: Reg,
        value: Reg,
    },
    /// Whether all words of a box compare with a value; without a destination it is an error if they do not.
    Await {
        op: CmpOp,
        dst: Option<Reg>,
        view: Reg,
        value: Reg,
    },
    /// Columns of two tiles side by side.
    Concat {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    /// The address that the peer reserved.
    Import {
        dst: Reg,
        name: u32,
    },

    // Observation.
    ObserveTile {
        point: u32,
        tile: Reg,
    },
    ObserveView {
        point: u32,
        view: Reg,
    },
    ObserveScatter {
        point: u32,
        out_of_range: OutOfRange,
        atomic: Option<Atomic>,
        view: Reg,
        src: Reg,
        index: Reg,
    },
    ObserveScalar {
        point: u32,
        dtype: DType,
        ptr: Reg,
        offset: Reg,
    },

    // Measured: a region of the code, and a view before anything is accessed through it.
    EnterRegion {
        block: u32,
    },
    Reach {
        view: Reg,
    },

    // Footprint, and measured.
    TouchView {
        site: u32,
        view: Reg,
    },
    TouchScalar {
        site: u32,
        ptr: Reg,
        offset: Reg,
    },
}

#[derive(Clone, Debug)]
pub struct LoopSpec {
    pub dtype: DType,
    pub lower: Reg,
    pub upper: Reg,
    pub step: Reg,
    /// Iterations left.
    pub counter: Reg,
    pub variable: Reg,
    pub body: Pc,
    pub exit: Pc,
}

#[derive(Clone, Debug)]
pub struct AllocSpec {
    pub dst: Reg,
    /// Address register, the base of the space and its physical size.
    pub addr: Option<(Reg, usize, usize)>,
    pub bytes: usize,
    pub rows: Option<Reg>,
    pub cols: Option<Reg>,
    /// Everything known at decode time.
    pub tile: Tile,
}

#[derive(Clone, Debug)]
pub struct SubviewSpec {
    pub dst: Reg,
    pub src: Reg,
    pub row: Reg,
    pub col: Reg,
    pub rows: u32,
    pub cols: u32,
    pub valid: [Extent; 2],
}

/// A valid extent: known, in a register, or whatever follows from the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    Known(u32),
    In(Reg),
    Derived,
}

#[derive(Clone, Debug)]
pub struct ShapeSpec {
    pub tile: Tile,
    pub valid: [Extent; 2],
}

#[derive(Clone, Debug)]
pub struct MakeViewSpec {
    pub dst: Reg,
    pub ptr: Reg,
    pub dtype: DType,
    pub shape: Vec<Reg>,
    pub strides: Vec<Reg>,
}

#[derive(Clone, Debug)]
pub struct PartitionSpec {
    pub dst: Reg,
    pub view: Reg,
    pub offsets: Vec<Reg>,
    pub sizes: Vec<Reg>,
}

/// Random bits: 32-bit words in registers of 64 bits.
#[derive(Clone, Debug)]
pub struct RandomSpec {
    pub dst: Reg,
    pub key: [Reg; 2],
    pub counter: [Reg; 4],
    pub rounds: u32,
}

#[derive(Clone, Debug)]
pub struct MergeSpec {
    pub dst: Reg,
    pub lists: Vec<Reg>,
    pub exhausted: bool,
}

/// How the vector cores of a cluster share a tile that the cube core pushes or pops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// Each gets all of it; what the cube core gets is the first core's.
    None,
    /// The first core has the upper half of the rows.
    Rows,
    /// The first core has the left half of the columns.
    Cols,
}

/// One direction of a FIFO, as an instruction names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FifoName {
    pub id: i64,
    /// From the cube core to the vector core, or back.
    pub to_vector: bool,
}

#[derive(Clone, Debug)]
pub struct PipeSpec {
    pub id: i64,
    pub dir_mask: i64,
    pub slot_size: usize,
    pub slot_num: usize,
    pub local_slot_num: usize,
    pub gm: Option<Reg>,
    pub c2v: Option<Reg>,
    pub v2c: Option<Reg>,
}

#[derive(Clone, Debug)]
pub struct PopSpec {
    pub fifo: u32,
    pub split: Split,
    pub dst: Reg,
    pub tile: Tile,
    pub valid: [Extent; 2],
}

/// A box of memory, another one, and the tile between them.
#[derive(Clone, Copy, Debug)]
pub struct TransferSpec {
    pub from: Reg,
    pub to: Reg,
    pub staging: Reg,
    pub add: bool,
}

/// A buffer that a consumer reserves for FIFO slots: its name and its address as the program sees it.
#[derive(Clone, Debug)]
pub struct Reserved {
    pub name: String,
    pub address: i64,
}

/// A place where a footprint records an access.
#[derive(Clone, Debug)]
pub struct Site {
    /// Pointer parameter (numbered among the pointers), if it is known which.
    pub param: Option<u32>,
    pub write: bool,
    /// The address depends on data: the whole argument counts.
    pub whole: bool,
    /// Bytes of an element.
    pub size: i64,
}

/// The kind of a parameter, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// Pointer number `n` of the function.
    Pointer(u32, DType),
    Scalar(DType, Reg),
    /// Orchestrations: a tensor.
    Tensor(DType, Reg),
    /// Orchestrations: a task id or array. Never an argument of a program.
    Other,
}

/// A decoded function.
#[derive(Debug)]
pub struct Code {
    pub name: String,
    pub core: Option<Core>,
    pub placed: bool,
    pub mode: Mode,
    pub profile: Profile,
    pub insts: Vec<Inst>,
    /// The operation that each instruction comes from.
    pub ops: Vec<Option<ir::Op>>,
    /// What executes each instruction, where pipes run apart.
    pub(crate) units: Vec<Unit>,
    pub params: Vec<ParamKind>,
    pub pointers: u32,
    pub scalars: Vec<u64>,
    /// Tile registers before the first instruction; true if `offset` is relative to the frame's storage.
    pub tiles: Vec<Tile>,
    pub based: Vec<bool>,
    pub views: u32,
    pub tensors: u32,
    /// Bytes of storage of an unplaced function.
    pub storage: usize,
    /// Byte ranges of the storage (or of the scratchpads) that must read as zero when a block starts.
    pub clear: Vec<std::ops::Range<usize>>,
    pub loops: Vec<LoopSpec>,
    pub allocs: Vec<AllocSpec>,
    pub subviews: Vec<SubviewSpec>,
    pub shapes: Vec<ShapeSpec>,
    pub make_views: Vec<MakeViewSpec>,
    pub partitions: Vec<PartitionSpec>,
    pub randoms: Vec<RandomSpec>,
    pub merges: Vec<MergeSpec>,
    pub fifos: Vec<FifoName>,
    pub pipes: Vec<PipeSpec>,
    pub pops: Vec<PopSpec>,
    pub transfers: Vec<TransferSpec>,
    pub reserved: Vec<Reserved>,
    pub imports: Vec<String>,
    pub points: Vec<ir::Op>,
    pub traps: Vec<String>,
    pub sites: Vec<Site>,
    /// Operations that the caller carries out.
    pub hosts: Vec<ir::Op>,
    /// Whether it reads its block index, and whether it stops at `syncall`.
    pub uses_block: bool,
    pub syncs: bool,
    /// It adds floats atomically: blocks must commit in order (semantics rule 15).
    pub float_atomics: bool,
    /// Blocks of the function, for [`Mode::Measured`].
    pub blocks: usize,
    pub(crate) spans: Vec<Option<Span>>,
    pub(crate) regs: Vec<Reg>,
}

impl Code {
    /// The register of a value.
    pub fn reg(&self, value: Value) -> Reg {
        self.regs[ir::Entity::index(value)]
    }

    /// The span of the instruction at `pc`.
    pub fn span(&self, pc: Pc) -> Option<Span> {
        self.spans.get(pc as usize).copied().flatten()
    }

    /// What the instruction at `pc` is called.
    pub fn op_name(&self, func: &Function, pc: Pc) -> &'static str {
        match self.ops.get(pc as usize) {
            Some(Some(op)) => func.ops[*op].opcode.name(),
            _ => "control flow",
        }
    }
}

/// Pointers in scalar registers: 16 bits of parameter number, 48 of element offset.
pub mod pointer {
    const BITS: u32 = 48;

    pub fn new(param: u32) -> u64 {
        (param as u64) << BITS
    }

    pub fn param(pointer: u64) -> usize {
        (pointer >> BITS) as usize
    }

    /// Elements from the start of the argument; may be negative.
    pub fn offset(pointer: u64) -> i64 {
        ((pointer << (64 - BITS)) as i64) >> (64 - BITS)
    }

    /// `None` if the offset no longer fits.
    pub fn add(pointer: u64, by: i64) -> Option<u64> {
        let offset = offset(pointer).checked_add(by)?;
        let limit = 1i64 << (BITS - 1);
        (-limit..limit).contains(&offset).then(|| new(param(pointer) as u32) | (offset as u64 & ((1 << BITS) - 1)))
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn offsets_move_both_ways_and_stop_at_the_limit() {
            let p = super::add(super::new(7), -5).and_then(|p| super::add(p, 3)).unwrap();
            assert_eq!((super::param(p), super::offset(p)), (7, -2));
            assert_eq!(super::add(super::new(1), 1 << 47), None);
        }
    }
}

#[cfg(test)]
mod tests {
    /// The interpreter reads one per step; three to a cache line.
    #[test]
    fn instructions_are_small() {
        assert!(size_of::<super::Inst>() <= 24, "{}", size_of::<super::Inst>());
    }
}
