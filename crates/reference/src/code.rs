//! Linear code: what [`crate::flatten`] makes of a function's structured control flow, once.
//!
//! A [`Body`] is the function outside its scopes, or one scope. Values live in numbered slots of four files (scalars with
//! task ids, tiles, tensors, arrays); every SSA value has one. Constants are part of the initial contents of the scalar
//! file. A scope's slots are its own: what it uses of its surroundings is copied in when it starts.

use dtype::scalar::{BinaryOp, CmpOp};
use dtype::{DType, RoundMode, Scalar};
use ir::{Dim, Op};
use memory::Dims;

/// A task id that names no task.
pub(crate) const NO_TASK: u64 = u64::MAX;
/// The id of a join (`task_dummy`), which is one, but none of a scope.
pub(crate) const JOIN: u64 = u64::MAX - 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    Scalar(u32),
    Tile(u32),
    Tensor(u32),
    Array(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Instr {
    Scalar {
        dst: u32,
        src: u32,
    },
    MoveTile {
        dst: u32,
        src: u32,
    },
    MoveTensor {
        dst: u32,
        src: u32,
    },
    MoveArray {
        dst: u32,
        src: u32,
    },
    Jump(u32),
    /// Jumps unless the condition holds.
    Unless {
        condition: u32,
        target: u32,
    },
    /// The trip count of a loop; jumps to `exit` if it is zero.
    Enter {
        trips: u32,
        lower: u32,
        upper: u32,
        step: u32,
        dtype: DType,
        exit: u32,
    },
    /// The end of an iteration: steps the variable, counts down, jumps to `top` while trips are left.
    Next {
        var: u32,
        step: u32,
        trips: u32,
        top: u32,
        dtype: DType,
    },
    /// Arithmetic on 64-bit integers.
    Add64 {
        dst: u32,
        a: u32,
        b: u32,
    },
    Sub64 {
        dst: u32,
        a: u32,
        b: u32,
    },
    Mul64 {
        dst: u32,
        a: u32,
        b: u32,
    },
    /// Signed comparison of 64-bit integers.
    Cmp64 {
        op: CmpOp,
        dst: u32,
        a: u32,
        b: u32,
    },
    Binary {
        op: BinaryOp,
        dtype: DType,
        dst: u32,
        a: u32,
        b: u32,
    },
    Cmp {
        op: CmpOp,
        dtype: DType,
        dst: u32,
        a: u32,
        b: u32,
    },
    Not {
        dtype: DType,
        dst: u32,
        a: u32,
    },
    Neg {
        dtype: DType,
        dst: u32,
        a: u32,
    },
    Cast {
        from: DType,
        to: DType,
        dst: u32,
        a: u32,
    },
    Select {
        dst: u32,
        condition: u32,
        a: u32,
        b: u32,
    },
    BlockCount {
        dst: u32,
    },
    ArrayCreate {
        dst: u32,
        len: u64,
        fill: u64,
    },
    ArrayGet {
        dst: u32,
        array: u32,
        index: u32,
    },
    ArraySet {
        array: u32,
        index: u32,
        src: u32,
    },
    /// By number in [`Body::tensor_ops`].
    Tensor(u32),
    /// By number in [`Body::tile_ops`].
    Tile(u32),
    /// Runs scope `scope` of [`Code::scopes`] as the next task.
    Scope {
        scope: u32,
        blocks: Option<u32>,
        dst: u32,
    },
    Sync,
    End,
}

/// A whole function.
pub(crate) struct Code {
    pub(crate) main: Body,
    pub(crate) scopes: Vec<Body>,
}

#[derive(Default)]
pub(crate) struct Body {
    pub(crate) code: Vec<Instr>,
    /// The operation each instruction belongs to.
    pub(crate) ops: Vec<Op>,
    /// Initial contents of the scalar file.
    pub(crate) scalars: Vec<u64>,
    pub(crate) tiles: u32,
    pub(crate) tensors: u32,
    pub(crate) arrays: u32,
    /// Slots of the surroundings and where their values go.
    pub(crate) captures: Vec<(Slot, Slot)>,
    /// Where the block index goes.
    pub(crate) block_index: Option<u32>,
    pub(crate) tensor_ops: Vec<TensorOp>,
    pub(crate) tile_ops: Vec<TileOp>,
    /// Tensor slots of the results.
    pub(crate) returns: Vec<u32>,
    /// Whether blocks wait for each other.
    pub(crate) syncs: bool,
}

/// An operation on handles of global memory.
#[derive(Debug)]
pub(crate) struct TensorOp {
    pub(crate) op: Op,
    pub(crate) kind: TensorKind,
    /// The tensor it starts from.
    pub(crate) tensor: u32,
    /// Indices, offsets.
    pub(crate) at: Vec<u32>,
    /// Dynamic extents.
    pub(crate) dims: Vec<u32>,
    /// Destination, or the scalar to write.
    pub(crate) dst: u32,
}

#[derive(Debug)]
pub(crate) enum TensorKind {
    Create {
        dtype: DType,
        shape: Vec<Dim>,
        init: Option<Scalar>,
    },
    Slice {
        sizes: Vec<i64>,
        drop: Vec<usize>,
    },
    Reshape {
        shape: Vec<Dim>,
    },
    Bitcast {
        dtype: DType,
        shape: Vec<Dim>,
    },
    Transpose(usize, usize),
    Dim(usize),
    /// `host`: outside scopes, where the orchestration reads what tasks wrote.
    Read {
        dtype: DType,
        host: bool,
    },
    Write {
        dtype: DType,
    },
}

/// An operation on tiles.
#[derive(Debug)]
pub(crate) struct TileOp {
    pub(crate) op: Op,
    pub(crate) kind: TileKind,
    /// The tile made (or changed, for `tinsert` and `tsetval`), or the scalar that `tgetval` makes.
    pub(crate) dst: u32,
    /// Tile operands.
    pub(crate) src: Vec<u32>,
    /// The tensor of a load or store.
    pub(crate) tensor: u32,
    /// Scalar operands: offsets, row and column, the scalar of a tile-scalar operation.
    pub(crate) at: Vec<u32>,
    /// Dynamic valid extents that are operands.
    pub(crate) valid: Vec<u32>,
    /// The type of the result.
    pub(crate) dtype: DType,
    pub(crate) shape: Dims<u64>,
    pub(crate) declared: Vec<Dim>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TileKind {
    Load {
        sizes: Vec<u64>,
        drop: Vec<usize>,
    },
    Store {
        sizes: Vec<u64>,
        add: bool,
    },
    Create,
    Copy,
    Binary(isa::BinaryOp),
    BinaryScalar {
        op: isa::BinaryOp,
        scalar: DType,
        reversed: bool,
    },
    /// Where only one source is valid, that one.
    Part(isa::BinaryOp),
    Unary(isa::UnaryOp),
    Convert {
        mode: RoundMode,
        saturate: bool,
    },
    Fill {
        scalar: DType,
    },
    Iota {
        scalar: DType,
        descending: bool,
    },
    Triangle {
        upper: bool,
    },
    Random {
        rounds: u32,
    },
    FillPad(isa::Pad),
    /// With a scalar of this type instead of a second tile.
    Compare {
        predicate: isa::Predicate,
        scalar: Option<DType>,
    },
    /// By the first source, between the others, or the second and a scalar of this type.
    Select {
        scalar: Option<DType>,
    },
    Gather,
    GatherMask(isa::Pattern),
    GatherBlocks,
    Scatter,
    ScatterMask(isa::Pattern),
    Sort,
    MergeRuns,
    MergeLists {
        exhausted: bool,
    },
    /// From and to global memory.
    GatherView {
        mode: isa::GatherMode,
        out_of_range: isa::OutOfRange,
    },
    ScatterView {
        mode: isa::ScatterMode,
        out_of_range: isa::OutOfRange,
        atomic: Option<isa::Atomic>,
    },
    RowReduce(isa::Reduce),
    ColReduce(isa::Reduce),
    /// The place of the largest or smallest element.
    RowArg(isa::Arg),
    ColArg(isa::Arg),
    RowExpand(Option<isa::BinaryOp>),
    ColExpand(Option<isa::BinaryOp>),
    Matmul {
        start: Start,
        a_trans: bool,
        b_trans: bool,
    },
    Transpose,
    Reshape,
    Bitcast,
    SetValid,
    Extract,
    Insert,
    Get,
    Set {
        scalar: DType,
    },
}

/// What a product starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    Zero,
    /// The first source.
    Accumulator,
    /// The last source, a row.
    Bias,
}
