//! The op table: every operation of every level, once.
//!
//! Conventions that hold for all entries:
//!
//! * A group called `valid` has one index per *dynamic* extent of the result's (or destination's) valid region, in order.
//! * Tile operations come in value form at the tensor level and in destination form below ([`Form::Tile`]). A tile's
//!   contents outside its valid region are undefined unless the entry says otherwise (semantics rule 13).
//! * Offsets, sizes and strides are in elements.
//! * Axes are logical: rows × columns, whatever the layout.

use crate::info::{
    Arity::{Many, One, Optional},
    AttrInfo,
    AttrKind::{self, Bool, Int, Ints, Number, Symbols, Text, Word},
    Domain::{Destination, Matmul, Source, Whole},
    Evidence::{self, Doc, Golden, Inferred},
    Form::{self, Carried, Dest, Outs, Results, Terminator, Tile},
    Kind, Levels, OpInfo, Operand, Pipe,
};

const T: Levels = Levels::TENSOR;
const S: Levels = Levels::SCOPE;
const O: Levels = Levels::ORCH;
const K: Levels = Levels::KERNEL;
const TO: Levels = T.or(O);
const SK: Levels = S.or(K);
const ALL: Levels = Levels::ALL;

const fn one(name: &'static str, kind: Kind) -> Operand {
    Operand { name, kind, arity: One }
}

const fn opt(name: &'static str, kind: Kind) -> Operand {
    Operand { name, kind, arity: Optional }
}

const fn many(name: &'static str, kind: Kind) -> Operand {
    Operand { name, kind, arity: Many }
}

const fn need(name: &'static str, kind: AttrKind) -> AttrInfo {
    AttrInfo { name, kind, required: true }
}

const fn may(name: &'static str, kind: AttrKind) -> AttrInfo {
    AttrInfo { name, kind, required: false }
}

/// As many regions as there are.
pub const ANY_REGIONS: usize = usize::MAX;

impl OpInfo {
    const fn new(
        opcode: Opcode,
        name: &'static str,
        operands: &'static [Operand],
        form: Form,
        levels: Levels,
        doc: &'static str,
    ) -> OpInfo {
        OpInfo {
            opcode,
            name,
            doc,
            operands,
            form,
            attrs: &[],
            regions: 0,
            levels,
            pipe: Pipe::None,
            domain: crate::info::Domain::None,
            in_place: &[],
            evidence: Inferred,
            text: false,
            runs: true,
            beyond: &[],
        }
    }

    const fn attrs(mut self, attrs: &'static [AttrInfo]) -> OpInfo {
        self.attrs = attrs;
        self
    }

    const fn regions(mut self, regions: usize) -> OpInfo {
        self.regions = regions;
        self
    }

    const fn on(mut self, pipe: Pipe, domain: crate::info::Domain) -> OpInfo {
        self.pipe = pipe;
        self.domain = domain;
        self
    }

    const fn in_place(mut self, groups: &'static [&'static str]) -> OpInfo {
        self.in_place = groups;
        self
    }

    /// Of `.pto` text only, and no executor runs it.
    const fn text(mut self) -> OpInfo {
        self.text = true;
        self.runs = false;
        self
    }

    /// Of `.pto` text only; the machine runs it.
    const fn machine(mut self) -> OpInfo {
        self.text = true;
        self
    }

    /// Executors refuse it with these operands or attributes.
    const fn beyond(mut self, names: &'static [&'static str]) -> OpInfo {
        self.beyond = names;
        self
    }

    const fn from(mut self, evidence: Evidence) -> OpInfo {
        self.evidence = evidence;
        self
    }
}

/// Rounding modes of a conversion (`spec/isa.md` §2.9).
pub const ROUND_MODES: &[&str] = &["none", "rint", "round", "floor", "ceil", "trunc", "odd"];
/// Comparison predicates.
pub const PREDICATES: &[&str] = &["eq", "ne", "lt", "le", "gt", "ge"];
/// Pad values.
pub const PADS: &[&str] = &["zero", "max", "min"];
/// Loop kinds: strict order, independent iterations, software pipelined. All mean the same.
pub const LOOP_KINDS: &[&str] = &["range", "parallel", "pipeline"];
/// What a kernel does to a tensor argument.
pub const DIRECTIONS: &[&str] = &["in", "out", "inout", "scalar", "workspace"];
/// What an index of a gather from or scatter to global memory counts: rows, or elements.
pub const GATHER_MODES: &[&str] = &["row", "elem"];
/// What a gather does with an index out of range, other than failing: the nearest, the remainder, zeros.
pub const OUT_OF_RANGE_READS: &[&str] = &["clamp", "wrap", "zero"];
/// What a scatter does with an index out of range, other than failing: nothing, the nearest, the remainder.
pub const OUT_OF_RANGE_WRITES: &[&str] = &["skip", "clamp", "wrap"];
const CORE_TYPES: &[&str] = &["aiv_only", "aic_only", "mix"];
/// Order of a view's two last axes, where `.pto` states it; the strides say the same.
pub const VIEW_LAYOUTS: &[&str] = &["nd", "dn", "nz", "mx_a_zz", "mx_b_nn"];
/// Where in a chain of accumulations an instruction stands.
pub const PHASES: &[&str] = &["unspecified", "partial", "final"];
/// How exact a function is.
pub const PRECISIONS: &[&str] = &["default", "high_precision"];
/// Events between two pipes.
pub const EVENTS: &[&str] =
    &["EVENT_ID0", "EVENT_ID1", "EVENT_ID2", "EVENT_ID3", "EVENT_ID4", "EVENT_ID5", "EVENT_ID6", "EVENT_ID7"];
/// Pipes by what runs on them.
pub const ENDPOINTS: &[&str] = &[
    "TLOAD",
    "TSTORE_ACC",
    "TSTORE_VEC",
    "TMOV_M2L",
    "TMOV_M2S",
    "TMOV_M2B",
    "TMOV_M2V",
    "TMOV_V2M",
    "TMATMUL",
    "TVEC",
    "TVECWAIT_EVENT",
];
/// What the fix pipe does before it quantises.
pub const RELU: &[&str] = &["no_relu", "normal_relu", "scalar_relu", "vector_relu", "pwl"];
/// Which vector core gets what of an Acc tile.
pub const ACC_TO_VEC: &[&str] = &["single_mode_vec0", "single_mode_vec1", "dual_mode_split_m", "dual_mode_split_n"];
/// Formats of quantisation.
pub const QUANT: &[&str] = &["INT8_SYM", "INT8_ASYM", "MXFP8", "MXFP4_E2M1"];
/// What a barrier waits for.
pub const PIPES: &[&str] =
    &["PIPE_S", "PIPE_V", "PIPE_M", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_FIX", "PIPE_ALL"];

/// Every operation of every level; what each means is in [`OpInfo::doc`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Opcode {
    For,
    If,
    While,
    Yield,
    Condition,
    Return,
    Scope,
    Const,
    ScalarAdd,
    ScalarSub,
    ScalarMul,
    ScalarDiv,
    ScalarRem,
    ScalarMin,
    ScalarMax,
    ScalarAnd,
    ScalarOr,
    ScalarXor,
    ScalarShl,
    ScalarShr,
    ScalarCmp,
    ScalarNot,
    ScalarNeg,
    ScalarCast,
    Select,
    TaskInvalid,
    TaskIsValid,
    TaskDummy,
    ArrayCreate,
    ArrayGet,
    ArraySet,
    TensorCreate,
    TensorSlice,
    TensorReshape,
    TensorBitcast,
    TensorTranspose,
    TensorDim,
    TensorStride,
    Read,
    Write,
    Submit,
    Load,
    Store,
    Gather,
    Scatter,
    TileCreate,
    MakeTensorView,
    PartitionView,
    AddPtr,
    LoadScalar,
    StoreScalar,
    TLoad,
    TStore,
    MGather,
    MScatter,
    AllocTile,
    Subview,
    TReshape,
    Bitcast,
    SetValidShape,
    TMov,
    TExtract,
    TInsert,
    TGetVal,
    TSetVal,
    TAdd,
    TSub,
    TMul,
    TDiv,
    TMax,
    TMin,
    TRem,
    TFmod,
    TAnd,
    TOr,
    TXor,
    TShl,
    TShr,
    TPRelu,
    TPartAdd,
    TPartMul,
    TPartMax,
    TPartMin,
    TAddS,
    TSubS,
    TMulS,
    TDivS,
    TMaxS,
    TMinS,
    TRemS,
    TFmodS,
    TAndS,
    TOrS,
    TXorS,
    TShlS,
    TShrS,
    TLRelu,
    TExp,
    TLog,
    TSqrt,
    TRsqrt,
    TRecip,
    TAbs,
    TNeg,
    TRelu,
    TNot,
    TCvt,
    TCmp,
    TCmpS,
    TSel,
    TSelS,
    TExpandS,
    TCi,
    TTri,
    TRandom,
    TFillPad,
    TRowSum,
    TRowMax,
    TRowMin,
    TRowProd,
    TRowArgMax,
    TRowArgMin,
    TColSum,
    TColMax,
    TColMin,
    TColProd,
    TColArgMax,
    TColArgMin,
    TRowExpand,
    TRowExpandAdd,
    TRowExpandSub,
    TRowExpandMul,
    TRowExpandDiv,
    TRowExpandMax,
    TRowExpandMin,
    TColExpand,
    TColExpandAdd,
    TColExpandSub,
    TColExpandMul,
    TColExpandDiv,
    TColExpandMax,
    TColExpandMin,
    TGather,
    TGatherMask,
    TGatherB,
    TScatter,
    TScatterMask,
    TSort32,
    TMrgSort,
    TMrgSortLists,
    TMatmul,
    TMatmulAcc,
    TMatmulBias,
    TTrans,
    GetBlockIdx,
    GetBlockNum,
    GetSubblockIdx,
    SyncAll,
    AicInitializePipe,
    AivInitializePipe,
    ReserveBuffer,
    ImportReservedBuffer,
    TPushToAiv,
    TPopFromAic,
    TFreeFromAic,
    TPushToAic,
    TPopFromAiv,
    TFreeFromAiv,
    Call,
    Barrier,
    FenceBarrierAll,
    CacheInvalid,
    TConcat,
    TColExpandExpDif,
    TRowExpandExpDif,
    CommTPut,
    CommTNotify,
    CommTWait,
    Section,
    Trap,
    GetSubblockNum,
    CastPtr,
    IntToPtr,
    PtrToInt,
    ViewDim,
    ViewStride,
    AllocTiles,
    TilesGet,
    GetValidShape,
    TileValidRows,
    TileValidCols,
    TileAddr,
    TAssign,
    DeclareTile,
    DeclareGlobal,
    TGetScaleAddr,
    SetFlag,
    WaitFlag,
    SetFlagDyn,
    WaitFlagDyn,
    RecordEvent,
    WaitEvent,
    GetBuf,
    RlsBuf,
    SyncSet,
    SyncWait,
    SetCrossBlock,
    WaitCrossBlock,
    SetIntraBlock,
    WaitIntraBlock,
    SetFfts,
    TSync,
    SyncAllSoft,
    EventIdsCreate,
    EventIdsGet,
    EventIdsSet,
    StructCreate,
    StructGet,
    StructSet,
    TPrint,
    InitL2g2lPipe,
    InitL2lPipe,
    TPush,
    TPop,
    TFree,
    TAlloc,
    TAllocToAiv,
    TAllocToAic,
    TPushViewToAiv,
    TPushViewToAic,
    TPopViewFromAic,
    TPopViewFromAiv,
    TFreeViewFromAic,
    TFreeViewFromAiv,
    TPrefetch,
    MakePrefetchContext,
    GetPrefetchSession,
    TPrefetchAsync,
    TStoreFix,
    TMovFix,
    TExtractFix,
    TInsertFix,
    SetQuantScalar,
    SetQuantVector,
    TGemv,
    TGemvAcc,
    TGemvBias,
    TMatmulMx,
    TMatmulMxAcc,
    TMatmulMxBias,
    TGemvMx,
    TGemvMxAcc,
    TGemvMxBias,
    TAxpy,
    TAddC,
    TSubC,
    TAddSC,
    TSubSC,
    TAddRelu,
    TPow,
    TPowS,
    TConcatIdx,
    TPartArgMax,
    TPartArgMin,
    TQuant,
    TQuantMx,
    TDequant,
    THistogram,
    TGatherCmp,
    TMrgSortCounted,
    CommTGet,
    CommTTest,
    CommBroadcast,
    CommGather,
    CommScatter,
    CommReduce,
    CommSession,
    CommPutAsync,
    CommGetAsync,
    CommWaitAsync,
    CommTestAsync,
    ArrayGetAt,
    ArraySetAt,
    CountsConst,
    Reinterpret,
    MGatherStaged,
    ExecuteRegion,
    FusionRegion,
    Blocks,
    Branch,
    BranchIf,
    SimtLaunch,
    SyncThreads,
}

use Opcode as C;

/// A part of the table: operations of one kind, one after the other.
pub struct Family {
    pub title: &'static str,
    /// What all of them have in common.
    pub note: &'static str,
    first: Opcode,
}

const fn family(first: Opcode, title: &'static str, note: &'static str) -> Family {
    Family { title, note, first }
}

/// The families, in the order of the table; each goes up to the first operation of the next.
pub static FAMILIES: [Family; 26] = [
    family(C::For, "Control flow", ""),
    family(C::Const, "Scalars", ""),
    family(C::TaskInvalid, "Tasks and arrays", ""),
    family(C::TensorCreate, "Tensors", "Handles to views of global memory."),
    family(C::Submit, "Submission", ""),
    family(C::Load, "Between global memory and tiles, tensor level", ""),
    family(C::MakeTensorView, "Between global memory and tiles, kernels", ""),
    family(C::AllocTile, "Tile buffers and views of them", ""),
    family(C::TAdd, "Elementwise", ""),
    family(
        C::TCmp,
        "Masks",
        "A mask is a u8 tile with one bit per element: element (r, c) is bit c mod 8, lowest first, of byte c / 8 in row r. A row has its bits rounded up to 32 bytes.",
    ),
    family(C::TExpandS, "Fills", ""),
    family(C::TRowSum, "Reductions", ""),
    family(C::TRowExpand, "Row and column vectors", ""),
    family(
        C::TGather,
        "Gathers, scatters, sorts",
        "A *flat* index counts elements in row-major order over a tile's physical extent. Patterns of columns: 1 the even ones, 2 the odd ones, 3 to 6 every fourth from column 0 to 3 on, 7 all.",
    ),
    family(C::TMatmul, "Products and transposes", ""),
    family(C::GetBlockIdx, "Blocks, cores, FIFOs", ""),
    family(
        C::Call,
        "Only in `.pto` text",
        "Read, verified, kept and printed; executors refuse them by name. So it is with those of the families that follow.",
    ),
    family(C::Section, "Text: cores and pointers", ""),
    family(C::AllocTiles, "Text: descriptors of tiles", ""),
    family(C::SetFlag, "Text: order between pipes, cores and functions", ""),
    family(C::InitL2g2lPipe, "Text: FIFOs", ""),
    family(C::TPrefetch, "Text: transfers and the fix pipe", ""),
    family(C::TGemv, "Text: products of a row and of scaled formats", ""),
    family(C::TAxpy, "Text: elementwise", ""),
    family(C::CommTGet, "Text: between ranks", ""),
    family(
        C::ArrayGetAt,
        "Text: regions, blocks and the rest",
        "A function whose control flow is not structured is one `blocks` at its end. Passes do not look into it: they refuse it by name.",
    ),
];

/// The table, in the order of [`Opcode`].
pub static TABLE: [OpInfo; 293] = [
    // Control flow.
    OpInfo::new(C::For, "for", &[one("lower", Kind::Int), one("upper", Kind::Int), one("step", Kind::Int), many("init", Kind::Any)], Carried, ALL, "Counted loop. The region's arguments are the loop variable (type of `lower`) and the carried values; its `yield` gives the next carried values; the results are the last ones. The trip count is fixed at entry: (upper − lower) / step rounded up, zero if not positive; a step of zero is an error. A negative step counts down.").attrs(&[need("kind", Word(LOOP_KINDS)), may("stage", Int)]).regions(1),
    OpInfo::new(C::If, "if", &[one("condition", Kind::Bool)], Carried, ALL, "Runs the first region if the condition holds, else the second; both end in `yield` with the results.").regions(2),
    OpInfo::new(C::While, "while", &[many("init", Kind::Any)], Carried, ALL, "The first region gets the carried values and ends in `condition`; if it holds, the second region gets the forwarded values and yields the next ones; else they are the results.").regions(2),
    OpInfo::new(C::Yield, "yield", &[many("values", Kind::Any)], Terminator, ALL, "Ends a region of `for` and `if`, and the second of `while`."),
    OpInfo::new(C::Condition, "condition", &[one("condition", Kind::Bool), many("values", Kind::Any)], Terminator, ALL, "Ends the first region of `while`."),
    OpInfo::new(C::Return, "return", &[many("values", Kind::Any)], Terminator, ALL, "Ends a function. Only an entry returns values: tensors, the program's results."),
    OpInfo::new(C::Scope, "scope", &[opt("blocks", Kind::Int), many("deps", Kind::Task)], Results(1), T, "A kernel scope (`pl.at`, `pl.spmd`): one task. With `blocks` the region runs once per block and has the block index as its argument. Tensors and scalars of the surroundings may be used inside; tiles never cross its border. Yields the task's id. `manual`: the program says by `deps` alone what it follows, and is held to that by the race check. Ends in `yield` without values.").attrs(&[need("name", Text), may("sync_start", Bool), may("manual", Bool), may("split", Word(&["up_down", "left_right"])), may("slot_num", Int)]).regions(1),
    // Scalars.
    OpInfo::new(C::Const, "const", &[], Results(1), ALL, "A literal of the result's type.").attrs(&[need("value", Number)]),
    OpInfo::new(C::ScalarAdd, "add", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Sum; integers wrap. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarSub, "sub", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Difference; integers wrap. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarMul, "mul", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Product; integers wrap. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarDiv, "div", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Quotient; integers truncate toward zero, and division by zero is a run error (semantics rule 16). Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarRem, "rem", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Remainder of the truncating division; the sign is the dividend's. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarMin, "min", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "The smaller operand. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarMax, "max", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "The larger operand. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarAnd, "and", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Bitwise and; logical for booleans. Both sides are evaluated. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarOr, "or", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Bitwise or; logical for booleans. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarXor, "xor", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Bitwise exclusive or. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarShl, "shl", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Shift left. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarShr, "shr", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Shift right: arithmetic for signed types, logical for unsigned. Operands and result have one type.").from(Doc),
    OpInfo::new(C::ScalarCmp, "cmp", &[one("a", Kind::Scalar), one("b", Kind::Scalar)], Results(1), ALL, "Compares two scalars of one type; IEEE for floats.").attrs(&[need("predicate", Word(PREDICATES))]).from(Doc),
    OpInfo::new(C::ScalarNot, "not", &[one("a", Kind::Scalar)], Results(1), ALL, "Bitwise complement; logical for booleans."),
    OpInfo::new(C::ScalarNeg, "neg", &[one("a", Kind::Scalar)], Results(1), ALL, "Negation."),
    OpInfo::new(C::ScalarCast, "cast", &[one("a", Kind::Scalar)], Results(1), ALL, "Converts as C does: float to integer truncates, integers narrow by their low bits.").from(Doc),
    OpInfo::new(C::Select, "select", &[one("condition", Kind::Bool), one("a", Kind::Any), one("b", Kind::Any)], Results(1), ALL, "`a` if the condition holds, else `b`: scalars; in text alone also buffers, of which one is meant."),
    // Task ids and arrays.
    OpInfo::new(C::TaskInvalid, "task_invalid", &[], Results(1), TO, "The task id of no task; depending on it orders nothing."),
    OpInfo::new(C::TaskIsValid, "task_is_valid", &[one("task", Kind::Task)], Results(1), TO, "Whether a task id names a task.").from(Doc),
    OpInfo::new(C::TaskDummy, "task_dummy", &[many("deps", Kind::Task)], Results(1), TO, "A task that does nothing and completes after its dependencies."),
    OpInfo::new(C::ArrayCreate, "array_create", &[], Results(1), ALL, "A zeroed array (invalid task ids for an array of tasks); changed in place by `array_set`."),
    OpInfo::new(C::ArrayGet, "array_get", &[one("array", Kind::Array), one("index", Kind::Int)], Results(1), ALL, "An element; out of range is a run error."),
    OpInfo::new(C::ArraySet, "array_set", &[one("array", Kind::Array), one("index", Kind::Int), one("value", Kind::Any)], Results(0), ALL, "Replaces an element."),
    // Tensors: handles to views of global memory.
    OpInfo::new(C::TensorCreate, "tensor_create", &[many("dims", Kind::Int)], Results(1), TO, "A fresh packed tensor; `dims` are its dynamic extents. Undefined contents (zero bytes, semantics rule 4) or filled with `init`.").attrs(&[may("init", Number)]),
    OpInfo::new(C::TensorSlice, "tensor_slice", &[one("tensor", Kind::Tensor), many("offsets", Kind::Int), many("dims", Kind::Int)], Results(1), TO, "A view of the box at `offsets` (one per axis), `sizes` elements each (−1: the next of `dims`), without the axes in `drop` (of size 1). Strides are the source's. Beyond the source is a run error.").attrs(&[need("sizes", Ints), may("drop", Ints)]),
    OpInfo::new(C::TensorReshape, "tensor_reshape", &[one("tensor", Kind::Tensor), many("dims", Kind::Int)], Results(1), TO, "The same elements in row-major order under another shape; the source must be packed."),
    OpInfo::new(C::TensorBitcast, "tensor_bitcast", &[one("tensor", Kind::Tensor), many("dims", Kind::Int)], Results(1), TO, "The same bytes as elements of another type: the last axis, which is packed, has as many bytes as before. `dims` are the dynamic extents.").from(Doc),
    OpInfo::new(C::TensorTranspose, "tensor_transpose", &[one("tensor", Kind::Tensor)], Results(1), TO, "The view with two axes exchanged; nothing moves.").attrs(&[need("axis1", Int), need("axis2", Int)]),
    OpInfo::new(C::TensorDim, "tensor_dim", &[one("tensor", Kind::Tensor)], Results(1), ALL, "An extent of a tensor at run time (index).").attrs(&[need("axis", Int)]),
    OpInfo::new(C::TensorStride, "tensor_stride", &[one("tensor", Kind::Tensor)], Results(1), O, "A stride of a tensor at run time (index).").attrs(&[need("axis", Int)]),
    OpInfo::new(C::Read, "read", &[one("tensor", Kind::Tensor), many("indices", Kind::Int)], Results(1), T.or(S).or(O), "Reads one element. In the orchestration it waits for every earlier task that writes those bytes (semantics rule 19); in a scope it is a scalar load of the core (rule 20).").from(Doc),
    OpInfo::new(C::Write, "write", &[one("tensor", Kind::Tensor), many("indices", Kind::Int), one("value", Kind::Scalar)], Results(0), T.or(S).or(O), "Writes one element of the tensor's type; ordered as `read`.").from(Doc),
    OpInfo::new(C::Submit, "submit", &[many("args", Kind::Any), many("deps", Kind::Task), opt("blocks", Kind::Int)], Results(1), O, "Submits a task: one kernel, or a cube and a vector kernel that share the arguments (a mixed task, one block a cluster). `directions` says per argument what the kernels do to it; a `workspace` argument is a tensor private to the task and orders nothing. Which bytes of them it touches is found by the runtime. Yields the task's id.").attrs(&[need("kernels", Symbols), need("name", Text), need("directions", Text), may("sync_start", Bool), may("manual", Bool)]),
    // Between global memory and tiles, tensor level.
    OpInfo::new(C::Load, "load", &[one("tensor", Kind::Tensor), many("offsets", Kind::Int), many("valid", Kind::Int)], Results(1), S, "Copies the box at `offsets`, of `sizes` elements, into a new tile whose shape is `sizes` without the axes in `drop`. Only the valid region is read; the rest is undefined. Reading beyond the tensor is a run error.").attrs(&[need("sizes", Ints), may("drop", Ints)]).from(Doc),
    OpInfo::new(C::Store, "store", &[one("tile", Kind::Tile), one("tensor", Kind::Tensor), many("offsets", Kind::Int)], Results(0), S, "Copies the valid region of a tile to the box of `sizes` elements at `offsets`, whose extents other than 1 are those of the tile. Element types are equal.").attrs(&[need("sizes", Ints), may("atomic", Word(&["add"]))]).from(Doc),
    OpInfo::new(C::Gather, "gather", &[one("tensor", Kind::Tensor), one("indices", Kind::Tile)], Results(1), S, "A tile gathered from global memory. `row`: indices [1, n] select rows of a matrix; the tile is [n, columns]. `elem`: the tile has the shape of the indices, which count elements in row-major order. An index out of range is a run error, or as `out_of_range` says: the nearest index, the remainder, or zeros.").attrs(&[need("mode", Word(GATHER_MODES)), may("out_of_range", Word(OUT_OF_RANGE_READS))]).from(Doc),
    OpInfo::new(C::Scatter, "scatter", &[one("tile", Kind::Tile), one("indices", Kind::Tile), one("tensor", Kind::Tensor)], Results(0), S, "The reverse of `gather`: writes rows or elements of a tensor, in row-major order over the indices; the last of equals wins. `atomic` combines with what is there. An index out of range is a run error, or as `out_of_range` says: nothing is written, the nearest index, or the remainder.").attrs(&[need("mode", Word(GATHER_MODES)), may("out_of_range", Word(OUT_OF_RANGE_WRITES)), may("atomic", Word(&["add", "max", "min"]))]).from(Doc),
    OpInfo::new(C::TileCreate, "tile_create", &[], Results(1), S, "A tile with undefined contents (zero bytes)."),
    // Between global memory and tiles, kernels.
    OpInfo::new(C::MakeTensorView, "make_tensor_view", &[one("ptr", Kind::Ptr), many("shape", Kind::Int), many("strides", Kind::Int)], Results(1), K, "A view of global memory: an address with a shape and strides, one value per axis each.").attrs(&[may("layout", Word(VIEW_LAYOUTS)), may("pto.inferred_layout", Bool)]).from(Doc),
    OpInfo::new(C::PartitionView, "partition_view", &[one("view", Kind::View), many("offsets", Kind::Int), many("sizes", Kind::Int)], Results(1), K, "A box of a view.").from(Doc),
    OpInfo::new(C::AddPtr, "addptr", &[one("ptr", Kind::Ptr), one("offset", Kind::Int)], Results(1), K, "An address `offset` elements further on.").from(Doc),
    OpInfo::new(C::LoadScalar, "load_scalar", &[one("ptr", Kind::Ptr), one("offset", Kind::Int)], Results(1), K, "Scalar load from global memory, through the core's scalar cache.").on(Pipe::Scalar, crate::info::Domain::None).from(Doc),
    OpInfo::new(C::StoreScalar, "store_scalar", &[one("value", Kind::Scalar), one("ptr", Kind::Ptr), one("offset", Kind::Int)], Results(0), K, "Scalar store to global memory, through the core's scalar cache.").on(Pipe::Scalar, crate::info::Domain::None).from(Doc),
    OpInfo::new(C::TLoad, "tload", &[one("source", Kind::PartView)], Dest, K, "Copies a box of global memory into the destination's valid region (leading axes flattened into rows), in the destination's layout.").attrs(&[may("layout", Word(VIEW_LAYOUTS)), may("pto.inferred_layout", Bool)]).on(Pipe::BySpace, Destination).beyond(&["layout"]).from(Golden),
    OpInfo::new(C::TStore, "tstore", &[one("source", Kind::Tile)], Dest, K, "Copies the valid region of a tile to a box of global memory. An f32 Acc tile may narrow to f16 or bf16 (ties to even).").attrs(&[may("reluPreMode", Word(RELU)), may("stPhase", Word(PHASES)), may("layout", Word(VIEW_LAYOUTS)), may("pto.inferred_layout", Bool), may("atomic", Word(&["add"]))]).on(Pipe::BySpace, Source).beyond(&["reluPreMode", "stPhase", "layout"]).from(Golden),
    OpInfo::new(C::MGather, "mgather", &[one("source", Kind::PartView), one("indices", Kind::Tile)], Dest, K, "Gathers rows or elements of global memory into a tile, as `gather` does at the tensor level.").attrs(&[need("mode", Word(GATHER_MODES)), may("out_of_range", Word(OUT_OF_RANGE_READS))]).on(Pipe::BySpace, Destination).from(Golden),
    OpInfo::new(C::MScatter, "mscatter", &[one("source", Kind::Tile), one("indices", Kind::Tile)], Dest, K, "Scatters a tile to rows or elements of global memory, as `scatter` does at the tensor level.").attrs(&[may("scatterConflict", Word(&["default", "last"])), need("mode", Word(GATHER_MODES)), may("out_of_range", Word(OUT_OF_RANGE_WRITES)), may("atomic", Word(&["add", "max", "min"]))]).on(Pipe::BySpace, Source).beyond(&["scatterConflict"]).from(Golden),
    // Tile buffers and views of them.
    OpInfo::new(C::AllocTile, "alloc_tile", &[opt("addr", Kind::Int), opt("valid_row", Kind::Int), opt("valid_col", Kind::Int)], Results(1), K, "A tile buffer. `valid_row`, `valid_col` give the dynamic valid extents. `addr`: its byte address in its space; without one the tile has storage of its own (an unplaced function).").from(Doc),
    OpInfo::new(C::Subview, "subview", &[one("tile", Kind::Tile), one("row", Kind::Int), one("col", Kind::Int), opt("valid_row", Kind::Int), opt("valid_col", Kind::Int)], Results(1), K, "A window of a tile, on the same bytes: `sizes` rows and columns from (row, col) on, of which valid_row and valid_col are valid (absent: those of the type). Nothing moves.").attrs(&[need("sizes", Ints)]).from(Doc),
    OpInfo::new(C::TReshape, "treshape", &[one("source", Kind::Tile)], Results(1), SK, "The same elements in row-major order under another shape. A kernel's result is the same bytes (source and result row- or column-major without boxes); at the tensor level it is a new value.").from(Doc),
    OpInfo::new(C::Bitcast, "bitcast", &[one("source", Kind::Tile)], Results(1), SK, "The same bytes as elements of another type. A kernel's result is the same buffer; at the tensor level it is a new value. Source and result are fully valid.").from(Doc),
    OpInfo::new(C::SetValidShape, "set_validshape", &[one("tile", Kind::Tile), one("row", Kind::Int), one("col", Kind::Int)], Tile, SK, "The tile with another valid region; nothing moves. Elements that become valid and were never written are undefined. A kernel's destination is the tile itself, of dynamic valid extents: it is read and written with the new ones from here on.").from(Doc),
    OpInfo::new(C::TMov, "tmov", &[one("source", Kind::Tile)], Tile, SK, "Copies the valid region: between buffers and layouts in a kernel; at the tensor level the value form is a copy.").attrs(&[may("grpAxis", Word(&["axis0", "axis1"])), may("accToVecMode", Word(ACC_TO_VEC)), may("reluPreMode", Word(RELU))]).on(Pipe::BySpace, Destination).beyond(&["grpAxis", "accToVecMode", "reluPreMode"]).from(Golden),
    OpInfo::new(C::TExtract, "textract", &[one("source", Kind::Tile), one("row", Kind::Int), one("col", Kind::Int), many("valid", Kind::Int)], Tile, SK, "dst[i, j] = source[row + i, col + j] over dst's valid region; in a kernel also from one buffer to another (Mat to Left or Right).").attrs(&[may("accToVecMode", Word(ACC_TO_VEC)), may("reluPreMode", Word(RELU))]).on(Pipe::BySpace, Destination).beyond(&["accToVecMode", "reluPreMode"]).from(Golden),
    OpInfo::new(C::TInsert, "tinsert", &[one("source", Kind::Tile), one("row", Kind::Int), one("col", Kind::Int)], Dest, SK, "dst[row + i, col + j] = source[i, j] over the source's valid region; the rest of the destination keeps its contents.").attrs(&[may("tinsertMode", Word(&["split2", "split4"])), may("accToVecMode", Word(ACC_TO_VEC)), may("reluPreMode", Word(RELU))]).on(Pipe::BySpace, Source).beyond(&["tinsertMode", "accToVecMode", "reluPreMode"]).from(Golden),
    OpInfo::new(C::TGetVal, "tgetval", &[one("source", Kind::Tile), one("row", Kind::Int), one("col", Kind::Int)], Results(1), SK, "Reads one element of a tile into a scalar.").on(Pipe::Scalar, crate::info::Domain::None).from(Doc),
    OpInfo::new(C::TSetVal, "tsetval", &[one("row", Kind::Int), one("col", Kind::Int), one("value", Kind::Scalar)], Dest, SK, "Writes one element of a tile.").on(Pipe::Scalar, crate::info::Domain::None).from(Doc),
    // Elementwise.
    OpInfo::new(C::TAdd, "tadd", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a + b; integers wrap. One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TSub, "tsub", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a − b; integers wrap. One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TMul, "tmul", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a · b; integers wrap. One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TDiv, "tdiv", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a / b: IEEE for floats; integers truncate, and by zero give all ones. One element type, one shape.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a", "b"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TMax, "tmax", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "The larger element. NaN from either side wins, and +0 over −0 (profile `cpu-compat`: as `std::max`). One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TMin, "tmin", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "The smaller element. NaN from either side wins, and −0 over +0 (profile `cpu-compat`: as `std::min`). One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TRem, "trem", &[one("a", Kind::Tile), one("b", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The remainder with the divisor's sign. Integers are exact; by zero they give all ones. Floats: q = ⌊a / b⌋, r = a − q · b, plus b if r and b then differ in sign, each step rounded (f16 and bf16: all of it in f32), so that a large quotient gives an inexact remainder. One element type, one shape.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TFmod, "tfmod", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "The remainder with the dividend's sign, exact; integers by zero give all ones. One element type, one shape.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a", "b"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TAnd, "tand", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "Bitwise and of integers. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TOr, "tor", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "Bitwise or of integers. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TXor, "txor", &[one("a", Kind::Tile), one("b", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "Bitwise exclusive or of integers. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TShl, "tshl", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a shifted left by b bits; integers. A count that is negative or not less than the width gives 0. One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TShr, "tshr", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a shifted right by b bits: arithmetic for signed types, logical for unsigned. A count that is negative or not less than the width gives all copies of the sign, or 0. One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TPRelu, "tprelu", &[one("a", Kind::Tile), one("slope", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "a where a > 0, else slope · a; NaN stays. Floats. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TPartAdd, "tpartadd", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a + b where both are valid; where one is, that one. One of them is valid wherever the other is. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TPartMul, "tpartmul", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "a · b where both are valid; where one is, that one. One of them is valid wherever the other is. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TPartMax, "tpartmax", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "The larger element where both are valid; where one is, that one. One of them is valid wherever the other is. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TPartMin, "tpartmin", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "The smaller element where both are valid; where one is, that one. One of them is valid wherever the other is. One element type, one shape.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TAddS, "tadds", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "a + s. The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TSubS, "tsubs", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "a − s. The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TMulS, "tmuls", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "a · s. The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TDivS, "tdivs", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "a / s, or s / a with `reverse`. The scalar has the element type.").attrs(&[may("precisionType", Word(PRECISIONS)), may("reverse", Bool)]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TMaxS, "tmaxs", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "The larger of a and s (see `tmax`). The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TMinS, "tmins", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "The smaller of a and s (see `tmin`). The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TRemS, "trems", &[one("a", Kind::Tile), one("s", Kind::Scalar), opt("tmp", Kind::Tile)], Tile, SK, "The remainder of a by s with the sign of s (see `trem`). The scalar has the element type.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TFmodS, "tfmods", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "The remainder of a by s with the sign of a, exact. The scalar has the element type.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TAndS, "tands", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "Bitwise and of a and s; integers. The scalar has the element type.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TOrS, "tors", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "Bitwise or of a and s; integers. The scalar has the element type.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TXorS, "txors", &[one("a", Kind::Tile), one("s", Kind::Scalar), opt("tmp", Kind::Tile)], Tile, SK, "Bitwise exclusive or of a and s; integers. The scalar has the element type.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TShlS, "tshls", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "a shifted left by s bits (see `tshl`). The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TShrS, "tshrs", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "a shifted right by s bits (see `tshr`). The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TLRelu, "tlrelu", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "a where a > 0, else s · a; NaN stays. Floats. The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TExp, "texp", &[one("a", Kind::Tile)], Tile, SK, "e^x: one stated sequence in double precision, rounded once.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TLog, "tlog", &[one("a", Kind::Tile)], Tile, SK, "Natural logarithm: one stated sequence in double precision, rounded once. −inf of ±0, NaN of a negative number.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TSqrt, "tsqrt", &[one("a", Kind::Tile)], Tile, SK, "Square root, correctly rounded. NaN of a negative number, −0 of −0.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TRsqrt, "trsqrt", &[one("a", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "1 / √x, in double precision, rounded once.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TRecip, "trecip", &[one("a", Kind::Tile)], Tile, SK, "1 / x, correctly rounded.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TAbs, "tabs", &[one("a", Kind::Tile)], Tile, SK, "|x|. The least integer of a signed type stays.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TNeg, "tneg", &[one("a", Kind::Tile)], Tile, SK, "−x, by multiplication with −1.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TRelu, "trelu", &[one("a", Kind::Tile)], Tile, SK, "max(x, 0): NaN stays, −0 becomes +0.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TNot, "tnot", &[one("a", Kind::Tile)], Tile, SK, "Bitwise complement; integers.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TCvt, "tcvt", &[one("a", Kind::Tile)], Tile, SK, "Converts element types; f32 to itself rounds to integral values. In a kernel one native hop; at the tensor level the machine's chain of hops with one mode (semantics rule 10). `mode`: rint (nearest, ties to even), round (ties away from zero), floor, ceil, trunc, odd (truncated, lowest bit set if inexact), none (float to integer trunc, else rint). Integer to float is nearest-even in every mode. With `saturate` what is out of range becomes the nearest bound and NaN an integer 0; without it integers keep the low bits (of a float rounded to i32, or to i64 for a 64-bit destination) and floats become infinite.").attrs(&[need("mode", Word(ROUND_MODES)), may("saturate", Bool)]).on(Pipe::Vector, Destination).from(Golden),
    // Masks ([`crate::infer::mask_columns`]).
    OpInfo::new(C::TCmp, "tcmp", &[one("a", Kind::Tile), one("b", Kind::Tile)], Tile, SK, "The mask of a ∘ b, IEEE for floats (`ne` holds on NaN, nothing else does). Bits beside the valid region are 0; all columns of the mask are valid. One element type, one shape.").attrs(&[need("predicate", Word(PREDICATES))]).on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TCmpS, "tcmps", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Tile, SK, "The mask of a ∘ s (see `tcmp`). The scalar has the element type.").attrs(&[need("predicate", Word(PREDICATES))]).on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TSel, "tsel", &[one("mask", Kind::Tile), one("a", Kind::Tile), one("b", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "a where the mask's bit is set, else b; bits are moved. One element type, one shape.").on(Pipe::Vector, Destination).in_place(&["a", "b"]).from(Golden),
    OpInfo::new(C::TSelS, "tsels", &[one("mask", Kind::Tile), one("a", Kind::Tile), one("s", Kind::Scalar), opt("tmp", Kind::Tile)], Tile, SK, "a where the mask's bit is set, else s; bits are moved. The scalar has the element type.").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    // Fill.
    OpInfo::new(C::TExpandS, "texpands", &[one("s", Kind::Scalar), many("valid", Kind::Int)], Tile, SK, "Every element of the valid region is s.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TCi, "tci", &[one("start", Kind::Scalar), opt("tmp", Kind::Tile)], Tile, SK, "dst[0, j] = start ± j; one row, integers.").attrs(&[may("descending", Bool)]).on(Pipe::Scalar, Destination).from(Golden),
    OpInfo::new(C::TTri, "ttri", &[one("diagonal", Kind::Int), many("valid", Kind::Int)], Tile, SK, "The lower triangle: 1 where j ≤ i + diagonal, else 0. With `upper`: 0 where j < i + diagonal, else 1.").attrs(&[may("upper", Bool)]).on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TRandom, "trandom", &[one("key0", Kind::Int), one("key1", Kind::Int), one("c0", Kind::Int), one("c1", Kind::Int), one("c2", Kind::Int), one("c3", Kind::Int)], Tile, SK, "i32 or u32 words of Philox-4x32 of `rounds` 7 or 10 (the default), from a key of two and a counter of four 32-bit words. Column 4·l + r of the first 256 of a row is word r for the counter plus l; the next 256 go on at the counter plus 64. After a row of n columns the next goes on as if its last 256 had taken only ((n − 1) mod 64) + 1 counters. A5 only.").attrs(&[may("rounds", Int)]).on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TFillPad, "tfillpad", &[one("source", Kind::Tile)], Tile, SK, "The valid region of the source; everything else of the destination's physical extent is the pad: zero, or the largest or least value of the type (±infinity for floats; 0 for 64-bit types). The result is fully valid.").attrs(&[need("pad", Word(PADS))]).on(Pipe::Vector, Whole).in_place(&["source"]).from(Golden),
    // Reductions.
    OpInfo::new(C::TRowSum, "trowsum", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The sum of the valid columns of each row: [rows, 1]. Every addition is rounded to the element type, in an order that depends on element type, machine and number of valid columns only (semantics rule 7). Up to 256 bytes of elements: neighbours are added, then neighbours of the sums, and so on. Longer rows: a2a3 adds the row's blocks of 256 bytes lane by lane and sums the lanes so; a5 sums each block so and adds the sums from the first to the last. Of no columns 0. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TRowMax, "trowmax", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The largest of the valid columns of each row: [rows, 1]; NaN wins, and +0 over −0. Of no columns nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TRowMin, "trowmin", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The smallest of the valid columns of each row: [rows, 1]; NaN wins, and −0 over +0. Of no columns nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TRowProd, "trowprod", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The product of the valid columns of each row: [rows, 1], every step rounded to the element type: column j belongs to lane j mod L, where L elements are 32 bytes; lanes are multiplied in themselves from left to right, then with each other from the first to the last. Of no columns 1. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TRowArgMax, "trowargmax", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The index (i32) of the largest valid column of each row: [rows, 1]; the first of equals, −0 and +0 being equal; NaN only where it comes first. Of no columns nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TRowArgMin, "trowargmin", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The index (i32) of the smallest valid column of each row: [rows, 1]; the first of equals, −0 and +0 being equal; NaN only where it comes first. Of no columns nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TColSum, "tcolsum", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The sum of the valid rows of each column: [1, columns], from top to bottom, every step rounded to the element type. Of no rows nothing is written. `tmp`: the device's scratch, no meaning here.").attrs(&[may("isBinary", Bool)]).on(Pipe::Vector, Source).beyond(&["isBinary"]).from(Golden),
    OpInfo::new(C::TColMax, "tcolmax", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The largest of the valid rows of each column: [1, columns]; NaN wins, and +0 over −0. Of no rows nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TColMin, "tcolmin", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The smallest of the valid rows of each column: [1, columns]; NaN wins, and −0 over +0. Of no rows nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TColProd, "tcolprod", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The product of the valid rows of each column: [1, columns], from top to bottom, every step rounded to the element type. Of no rows nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TColArgMax, "tcolargmax", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The index (i32) of the largest valid row of each column: [1, columns]; the first of equals, −0 and +0 being equal; NaN only where it comes first. Of no rows nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TColArgMin, "tcolargmin", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The index (i32) of the smallest valid row of each column: [1, columns]; the first of equals, −0 and +0 being equal; NaN only where it comes first. Of no rows nothing is written. `tmp`: the device's scratch, no meaning here.").on(Pipe::Vector, Source).from(Golden),
    // Broadcast.
    OpInfo::new(C::TRowExpand, "trowexpand", &[one("v", Kind::Tile)], Tile, SK, "dst[i, j] = v[i, 0].").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TRowExpandAdd, "trowexpandadd", &[one("a", Kind::Tile), one("v", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "a[i, j] + v[i, 0].").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TRowExpandSub, "trowexpandsub", &[one("a", Kind::Tile), one("v", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "a[i, j] − v[i, 0].").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TRowExpandMul, "trowexpandmul", &[one("a", Kind::Tile), one("v", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "a[i, j] · v[i, 0].").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TRowExpandDiv, "trowexpanddiv", &[one("a", Kind::Tile), one("v", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "a[i, j] / v[i, 0].").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TRowExpandMax, "trowexpandmax", &[one("a", Kind::Tile), one("v", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The larger of a[i, j] and v[i, 0] (see `tmax`).").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TRowExpandMin, "trowexpandmin", &[one("a", Kind::Tile), one("v", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "The smaller of a[i, j] and v[i, 0] (see `tmin`).").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TColExpand, "tcolexpand", &[one("v", Kind::Tile)], Tile, SK, "dst[i, j] = v[0, j].").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TColExpandAdd, "tcolexpandadd", &[one("a", Kind::Tile), one("v", Kind::Tile)], Tile, SK, "a[i, j] + v[0, j].").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TColExpandSub, "tcolexpandsub", &[one("a", Kind::Tile), one("v", Kind::Tile)], Tile, SK, "a[i, j] − v[0, j].").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TColExpandMul, "tcolexpandmul", &[one("a", Kind::Tile), one("v", Kind::Tile)], Tile, SK, "a[i, j] · v[0, j].").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TColExpandDiv, "tcolexpanddiv", &[one("a", Kind::Tile), one("v", Kind::Tile)], Tile, SK, "a[i, j] / v[0, j].").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).in_place(&["a"]).beyond(&["precisionType"]).from(Golden),
    OpInfo::new(C::TColExpandMax, "tcolexpandmax", &[one("a", Kind::Tile), one("v", Kind::Tile)], Tile, SK, "The larger of a[i, j] and v[0, j] (see `tmax`).").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    OpInfo::new(C::TColExpandMin, "tcolexpandmin", &[one("a", Kind::Tile), one("v", Kind::Tile)], Tile, SK, "The smaller of a[i, j] and v[0, j] (see `tmin`).").on(Pipe::Vector, Destination).in_place(&["a"]).from(Golden),
    // Gather, scatter, sort.
    OpInfo::new(C::TGather, "tgather", &[one("source", Kind::Tile), one("indices", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "dst[i, j] = source[indices[i, j]], flat over the source's physical extent; an index out of range is a run error.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TGatherMask, "tgather.mask", &[one("source", Kind::Tile)], Tile, SK, "The columns of a pattern (see the family), packed; bits are moved, so the element type may be another of that width.").attrs(&[need("pattern", Int), may("axis", Word(&["row", "col"]))]).on(Pipe::Vector, Source).beyond(&["axis"]).from(Golden),
    OpInfo::new(C::TGatherB, "tgatherb", &[one("source", Kind::Tile), one("offsets", Kind::Tile)], Tile, SK, "Blocks of 32 bytes: block (i, j) of dst is the one at byte offsets[i, j] (u32, a multiple of 32) of the source.").on(Pipe::Vector, Destination).from(Golden),
    OpInfo::new(C::TScatter, "tscatter", &[one("source", Kind::Tile), one("indices", Kind::Tile)], Tile, SK, "The whole physical extent of dst becomes zero, then dst[indices[i, j]] = source[i, j], flat, in row-major order over the source's valid region: the last of equals wins. An index out of range is a run error. If the source has no valid element nothing happens, dst is not zeroed; where that may be, lowering zeroes dst first, so that the value is all zeros.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TScatterMask, "tscatter.mask", &[one("source", Kind::Tile)], Tile, SK, "dst is zero but for the columns of a pattern (see the family), which hold the source's one after the other.").attrs(&[need("pattern", Int), may("axis", Word(&["row", "col"]))]).on(Pipe::Vector, Source).beyond(&["axis"]).from(Golden),
    OpInfo::new(C::TSort32, "tsort32", &[one("source", Kind::Tile), one("idx", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "Sorts each 32 elements of a row in descending order, stably, with their idx (u32 or i32), into records of 8 bytes: f32 value and index; f16 value, 16 zero bits and index. The order is the total one of IEEE 754: +NaN first, +0 before −0, −NaN last. A last group of fewer than 32 is filled up with records of −NaN and index 0.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TMrgSort, "tmrgsort", &[one("source", Kind::Tile), one("block_len", Kind::Int), opt("tmp", Kind::Tile)], Tile, SK, "Merges every four neighbouring sorted runs of `block_len` elements (not records) of a row of records into one. Of equal values the one from the earlier run comes first. Records and order: `tsort32`.").on(Pipe::Vector, Source).from(Golden),
    OpInfo::new(C::TMrgSortLists, "tmrgsort.lists", &[many("lists", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "Merges two to four sorted rows of records (see `tsort32`) into one row. Of equal values the one from the earlier list comes first. With `exhausted` it stops when one list is used up; what follows is undefined.").attrs(&[may("exhausted", Bool)]).on(Pipe::Vector, Source).from(Golden),
    // Matrix.
    OpInfo::new(C::TMatmul, "tmatmul", &[one("lhs", Kind::Tile), one("rhs", Kind::Tile)], Tile, SK, "lhs · rhs, from +0: f32, or i32 for integers, exact and wrapping. f32 operands: fused multiply-adds in ascending k. f16 and bf16: in each 32 k the even and the odd ones are chains from zero, and acc becomes acc + (even + odd); bf16 flushes subnormals (semantics rule 8). `a_trans`, `b_trans` (tensor level): the operand is stored transposed.").attrs(&[may("accPhase", Word(PHASES)), may("a_trans", Bool), may("b_trans", Bool)]).on(Pipe::Matrix, Matmul).beyond(&["accPhase"]).from(Evidence::Measured),
    OpInfo::new(C::TMatmulAcc, "tmatmul.acc", &[one("acc", Kind::Tile), one("lhs", Kind::Tile), one("rhs", Kind::Tile)], Tile, SK, "acc + lhs · rhs: the chain starts from acc (order: `tmatmul`). In a kernel acc and destination are one buffer.").attrs(&[may("accPhase", Word(PHASES)), may("a_trans", Bool), may("b_trans", Bool)]).on(Pipe::Matrix, Matmul).in_place(&["acc"]).beyond(&["accPhase"]).from(Evidence::Measured),
    OpInfo::new(C::TMatmulBias, "tmatmul.bias", &[one("lhs", Kind::Tile), one("rhs", Kind::Tile), one("bias", Kind::Tile)], Tile, SK, "lhs · rhs + bias, a row of the accumulator's type: the chain of column j starts from bias[0, j].").attrs(&[may("accPhase", Word(PHASES)), may("a_trans", Bool), may("b_trans", Bool)]).on(Pipe::Matrix, Matmul).beyond(&["accPhase"]).from(Golden),
    OpInfo::new(C::TTrans, "ttrans", &[one("source", Kind::Tile), opt("tmp", Kind::Tile)], Tile, SK, "dst[i, j] = source[j, i].").on(Pipe::Vector, Source).from(Golden),
    // Blocks, cores, FIFOs.
    OpInfo::new(C::GetBlockIdx, "get_block_idx", &[], Results(1), K, "The index of this block in its launch (i64).").from(Doc),
    OpInfo::new(C::GetBlockNum, "get_block_num", &[], Results(1), SK, "The number of blocks of the launch (i64 in a kernel, index in a scope).").from(Doc),
    OpInfo::new(C::GetSubblockIdx, "get_subblock_idx", &[], Results(1), SK, "Which vector core of its cluster this is (i64 in a kernel, index in a scope); 0 on the cube core.").from(Doc),
    OpInfo::new(C::SyncAll, "syncall", &[], Results(0), SK, "Waits until every block of the launch is here; what was stored before is visible after.").attrs(&[may("core_type", Word(CORE_TYPES))]).from(Doc),
    OpInfo::new(C::AicInitializePipe, "aic_initialize_pipe", &[opt("gm_slot_buffer", Kind::Ptr), opt("c2v_consumer_buf", Kind::Int), opt("v2c_consumer_buf", Kind::Int), opt("gm_slot_tensor", Kind::View)], Results(0), K, "Sets up the cube core's end of FIFO `id` between the cores of a cluster. dir_mask: 1 cube to vector, 2 vector to cube, 3 both. Slots of `slot_size` bytes, `slot_num` a direction.").attrs(&[may("acc_push_epilogue", AttrKind::Spelled), need("id", Int), need("dir_mask", Int), need("slot_size", Int), may("slot_num", Int), may("local_slot_num", Int), may("nosplit", Bool)]).beyond(&["gm_slot_tensor", "acc_push_epilogue"]).from(Doc),
    OpInfo::new(C::AivInitializePipe, "aiv_initialize_pipe", &[opt("gm_slot_buffer", Kind::Ptr), opt("c2v_consumer_buf", Kind::Int), opt("v2c_consumer_buf", Kind::Int), opt("gm_slot_tensor", Kind::View)], Results(0), K, "Sets up the vector core's end of FIFO `id` between the cores of a cluster. dir_mask: 1 cube to vector, 2 vector to cube, 3 both. Slots of `slot_size` bytes, `slot_num` a direction.").attrs(&[may("acc_push_epilogue", AttrKind::Spelled), need("id", Int), need("dir_mask", Int), need("slot_size", Int), may("slot_num", Int), may("local_slot_num", Int), may("nosplit", Bool)]).beyond(&["gm_slot_tensor", "acc_push_epilogue"]).from(Doc),
    OpInfo::new(C::ReserveBuffer, "reserve_buffer", &[], Results(1), K, "Keeps `size` bytes of `location` for the slots of a FIFO that this core pops; yields the address (i32).").attrs(&[need("name", Text), need("size", Int), need("location", Word(&["vec", "mat"])), need("auto", Bool), may("base", Int)]).from(Doc),
    OpInfo::new(C::ImportReservedBuffer, "import_reserved_buffer", &[], Results(1), K, "The address that the peer function reserved under this name (i32).").attrs(&[need("name", Text), need("peer_func", Symbols)]).from(Doc),
    OpInfo::new(C::TPushToAiv, "tpush_to_aiv", &[one("source", Kind::Tile), opt("subblock", Kind::Int)], Results(0), K, "Waits for a free slot, copies the tile's valid region into it, and makes it ready.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).beyond(&["subblock"]).from(Doc),
    OpInfo::new(C::TPopFromAic, "tpop_from_aic", &[opt("valid_row", Kind::Int), opt("valid_col", Kind::Int), opt("subblock", Kind::Int)], Results(1), K, "Waits for the next ready slot; the result is the tile in it, live until the matching `tfree`.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).beyond(&["subblock"]).from(Doc),
    OpInfo::new(C::TFreeFromAic, "tfree_from_aic", &[], Results(0), K, "Gives the oldest popped slot back.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::Scalar, crate::info::Domain::None).from(Doc),
    OpInfo::new(C::TPushToAic, "tpush_to_aic", &[one("source", Kind::Tile), opt("subblock", Kind::Int)], Results(0), K, "Waits for a free slot, copies the tile's valid region into it, and makes it ready.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).beyond(&["subblock"]).from(Doc),
    OpInfo::new(C::TPopFromAiv, "tpop_from_aiv", &[opt("valid_row", Kind::Int), opt("valid_col", Kind::Int), opt("subblock", Kind::Int)], Results(1), K, "Waits for the next ready slot; the result is the tile in it, live until the matching `tfree`.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).beyond(&["subblock"]).from(Doc),
    OpInfo::new(C::TFreeFromAiv, "tfree_from_aiv", &[], Results(0), K, "Gives the oldest popped slot back.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::Scalar, crate::info::Domain::None).from(Doc),
    // What only `.pto` text says: kept, verified and printed; executors refuse it by name.
    OpInfo::new(C::Call, "call", &[many("args", Kind::Any)], Carried, K, "Runs a helper function of the module, on this core; the results are what it returns.").attrs(&[need("callee", Symbols)]).text().from(Doc),
    OpInfo::new(C::Barrier, "barrier", &[], Results(0), K, "What follows on a pipe (or on all) starts after everything before on it has ended.").attrs(&[need("pipe", Word(PIPES))]).machine().from(Doc),
    OpInfo::new(C::FenceBarrierAll, "fence.barrier_all", &[], Results(0), K, "All memory accesses of this core before it, in the scope, are seen before those after it.").attrs(&[need("scope", Word(&["local_memory", "gm", "all"]))]).machine().from(Doc),
    OpInfo::new(C::CacheInvalid, "cmo.cacheinvalid", &[opt("target", Kind::Memory)], Results(0), K, "Forgets what the scalar cache holds: of the line at `target`, or of a whole address space.").attrs(&[may("space", Word(&["gm"]))]).on(Pipe::Scalar, crate::info::Domain::None).machine().from(Doc),
    OpInfo::new(C::TConcat, "tconcat", &[one("a", Kind::Tile), one("b", Kind::Tile)], Dest, K, "The valid columns of a, then those of b, row by row.").attrs(&[may("candidates", AttrKind::Spelled)]).on(Pipe::Vector, Destination).beyond(&["candidates"]).machine().from(Golden),
    OpInfo::new(C::TColExpandExpDif, "tcolexpandexpdif", &[one("a", Kind::Tile), one("v", Kind::Tile)], Dest, K, "e^(a[i, j] − v[0, j]).").on(Pipe::Vector, Destination).machine().from(Golden),
    OpInfo::new(C::TRowExpandExpDif, "trowexpandexpdif", &[one("a", Kind::Tile), one("v", Kind::Tile), opt("tmp", Kind::Tile)], Dest, K, "e^(a[i, j] − v[i, 0]). `tmp`: the device's scratch.").on(Pipe::Vector, Destination).machine().from(Golden),
    // Between the ranks of a program.
    OpInfo::new(C::CommTPut, "comm.tput", &[one("dest", Kind::Memory), one("source", Kind::Memory), many("staging", Kind::Tile)], Results(0), K, "Copies a box of this rank's memory to another rank's, through one staging tile or two in turn (MTE2 fills them, MTE3 empties them). `atomicType`: replaces, or adds.").attrs(&[may("atomicType", Word(&["atomic_none", "atomic_add"]))]).machine().from(Doc),
    OpInfo::new(C::CommTNotify, "comm.tnotify", &[one("signal", Kind::Memory), one("value", Kind::Int)], Results(0), K, "After everything this core did before has ended: sets a signal word (i32) of another rank, or adds to it.").attrs(&[may("notifyOp", Word(&["set", "atomic_add"]))]).machine().from(Doc),
    OpInfo::new(C::CommTWait, "comm.twait", &[one("signal", Kind::Memory), one("value", Kind::Int)], Results(0), K, "Waits until every signal word (i32) of the box compares with the value.").attrs(&[may("cmp", Word(PREDICATES))]).on(Pipe::Scalar, crate::info::Domain::None).machine().from(Doc),
    // Cores and pointers.
    OpInfo::new(C::Section, "section", &[], Results(0), K, "The region runs on this kind of core only; a function that has sections runs on both.").attrs(&[need("core", Word(&["cube", "vector", "simt"])), may("grid", Ints)]).regions(1).text().from(Doc),
    OpInfo::new(C::Trap, "trap", &[], Results(0), K, "Stops the program.").text().from(Doc),
    OpInfo::new(C::GetSubblockNum, "get_subblock_num", &[], Results(1), K, "The number of vector cores of a cluster (i64).").text().from(Doc),
    OpInfo::new(C::CastPtr, "castptr", &[one("value", Kind::Any)], Results(1), K, "A pointer as another pointer or an integer, or an integer as a pointer; the same address.").text().from(Doc),
    OpInfo::new(C::IntToPtr, "inttoptr", &[one("value", Kind::Int)], Results(1), K, "An integer as an address in global memory.").text().from(Doc),
    OpInfo::new(C::PtrToInt, "ptrtoint", &[one("ptr", Kind::Ptr)], Results(1), K, "The address that a pointer is (i64).").text().from(Doc),
    OpInfo::new(C::ViewDim, "get_tensor_view_dim", &[one("view", Kind::Memory), one("axis", Kind::Int)], Results(1), K, "An extent of a view (index).").text().from(Doc),
    OpInfo::new(C::ViewStride, "get_tensor_view_stride", &[one("view", Kind::Memory), one("axis", Kind::Int)], Results(1), K, "A stride of a view, in elements (index).").text().from(Doc),
    // Descriptors of tiles.
    OpInfo::new(C::AllocTiles, "alloc_multi_tile", &[opt("addr", Kind::Int), opt("valid_row", Kind::Int), opt("valid_col", Kind::Int)], Results(1), K, "Several tiles of one type after each other, for turns of a loop; `addr` is that of the first.").text().from(Doc),
    OpInfo::new(C::TilesGet, "multi_tile_get", &[one("tiles", Kind::Opaque), one("index", Kind::Int)], Results(1), K, "One of several tiles, on the same bytes.").text().from(Doc),
    OpInfo::new(C::GetValidShape, "get_validshape", &[one("tile", Kind::Tile)], Results(2), K, "The valid extents of a tile, rows and columns (index).").text().from(Doc),
    OpInfo::new(C::TileValidRows, "tile_valid_rows", &[one("tile", Kind::Tile)], Results(1), K, "The valid rows of a tile (index).").text().from(Doc),
    OpInfo::new(C::TileValidCols, "tile_valid_cols", &[one("tile", Kind::Tile)], Results(1), K, "The valid columns of a tile (index).").text().from(Doc),
    OpInfo::new(C::TileAddr, "tile_buf_addr", &[one("tile", Kind::Tile)], Results(1), K, "The address of a tile in its space.").text().from(Doc),
    OpInfo::new(C::TAssign, "tassign", &[one("tile", Kind::Tile), one("addr", Kind::Int)], Results(1), K, "The tile at another byte address.").text().from(Doc),
    OpInfo::new(C::DeclareTile, "declare_tile", &[], Results(1), K, "A tile whose buffer a pop says.").text().from(Doc),
    OpInfo::new(C::DeclareGlobal, "declare_global", &[], Results(1), K, "A view whose memory a pop says.").text().from(Doc),
    OpInfo::new(C::TGetScaleAddr, "tget_scale_addr", &[one("source", Kind::Tile)], Dest, K, "The destination becomes the view of the scales that belong to an operand of a scaled product; nothing moves.").on(Pipe::Scalar, crate::info::Domain::None).text().from(Doc),
    // Order between pipes, cores and functions.
    OpInfo::new(C::SetFlag, "set_flag", &[], Results(0), K, "When what `from` has begun before has ended: raises a flag for `to`.").attrs(&[need("from", Word(PIPES)), need("to", Word(PIPES)), need("event", Word(EVENTS))]).machine().from(Doc),
    OpInfo::new(C::WaitFlag, "wait_flag", &[], Results(0), K, "`to` goes on when `from` has raised the flag, and lowers it.").attrs(&[need("from", Word(PIPES)), need("to", Word(PIPES)), need("event", Word(EVENTS))]).machine().from(Doc),
    OpInfo::new(C::SetFlagDyn, "set_flag_dyn", &[one("event", Kind::Int)], Results(0), K, "As `set_flag`, with an event known at run time.").attrs(&[need("from_pipe", Word(PIPES)), need("to_pipe", Word(PIPES))]).machine().from(Doc),
    OpInfo::new(C::WaitFlagDyn, "wait_flag_dyn", &[one("event", Kind::Int)], Results(0), K, "As `wait_flag`, with an event known at run time.").attrs(&[need("from_pipe", Word(PIPES)), need("to_pipe", Word(PIPES))]).machine().from(Doc),
    OpInfo::new(C::RecordEvent, "record_event", &[], Results(0), K, "As `set_flag`, between pipes that are named by what runs on them.").attrs(&[need("source", Word(ENDPOINTS)), need("target", Word(ENDPOINTS)), need("event", Word(EVENTS))]).machine().from(Doc),
    OpInfo::new(C::WaitEvent, "wait_event", &[], Results(0), K, "As `wait_flag`, between pipes that are named by what runs on them.").attrs(&[need("source", Word(ENDPOINTS)), need("target", Word(ENDPOINTS)), need("event", Word(EVENTS))]).machine().from(Doc),
    OpInfo::new(C::GetBuf, "get_buf", &[], Results(0), K, "Waits until no other pipe has buffer token `buffer`, and takes it (A5).").attrs(&[need("source", Word(ENDPOINTS)), need("buffer", Int)]).machine().from(Doc),
    OpInfo::new(C::RlsBuf, "rls_buf", &[], Results(0), K, "Gives buffer token `buffer` back (A5).").attrs(&[need("source", Word(ENDPOINTS)), need("buffer", Int)]).machine().from(Doc),
    OpInfo::new(C::SyncSet, "sync.set", &[opt("event", Kind::Int)], Results(0), K, "When a pipe has done what it has begun: tells other cores, by an event.").attrs(&[need("pipe", Word(PIPES)), may("number", Int), may("ffts_mode", Int)]).text().from(Doc),
    OpInfo::new(C::SyncWait, "sync.wait", &[opt("event", Kind::Int)], Results(0), K, "A pipe goes on when other cores have told the event.").attrs(&[need("pipe", Word(PIPES)), may("number", Int), may("ffts_mode", Int)]).text().from(Doc),
    OpInfo::new(C::SetCrossBlock, "set_cross_block", &[opt("event", Kind::Int)], Results(0), K, "Tells the other cores of the launch an event, after a pipe.").attrs(&[need("pipe", Word(PIPES)), may("number", Int)]).text().from(Doc),
    OpInfo::new(C::WaitCrossBlock, "wait_cross_block", &[opt("event", Kind::Int)], Results(0), K, "A pipe goes on when another core of the launch has told the event.").attrs(&[need("pipe", Word(PIPES)), may("number", Int)]).text().from(Doc),
    OpInfo::new(C::SetIntraBlock, "set_intra_block", &[opt("event", Kind::Int)], Results(0), K, "Tells the other core of the cluster an event, after a pipe.").attrs(&[need("pipe", Word(PIPES)), may("number", Int)]).text().from(Doc),
    OpInfo::new(C::WaitIntraBlock, "wait_intra_block", &[opt("event", Kind::Int)], Results(0), K, "A pipe goes on when the other core of the cluster has told the event.").attrs(&[need("pipe", Word(PIPES)), may("number", Int)]).text().from(Doc),
    OpInfo::new(C::SetFfts, "set_ffts", &[one("base", Kind::Ptr)], Results(0), K, "Where in memory the events between cores are (A2/A3).").machine().from(Doc),
    OpInfo::new(C::TSync, "tsync", &[many("events", Kind::Any)], Results(0), K, "Waits for what made these.").machine().from(Doc),
    OpInfo::new(C::SyncAllSoft, "syncall.soft", &[one("workspace", Kind::Memory), opt("used", Kind::Int)], Results(0), K, "As `syncall`, by words of a workspace in global memory (i32).").attrs(&[may("core_type", Word(CORE_TYPES))]).text().from(Doc),
    OpInfo::new(C::EventIdsCreate, "declare_eventid_array", &[], Results(1), K, "An array of event ids.").text().from(Doc),
    OpInfo::new(C::EventIdsGet, "eventid_array_get", &[one("ids", Kind::Opaque), one("index", Kind::Int)], Results(1), K, "An event id of an array (index).").text().from(Doc),
    OpInfo::new(C::EventIdsSet, "eventid_array_set", &[one("ids", Kind::Opaque), one("index", Kind::Int), one("value", Kind::Int)], Results(0), K, "Replaces an event id of an array.").text().from(Doc),
    OpInfo::new(C::StructCreate, "declare_struct", &[], Results(1), K, "A structure with undefined contents.").text().from(Doc),
    OpInfo::new(C::StructGet, "struct_get", &[one("struct", Kind::Opaque)], Results(1), K, "A field of a structure, by its number, and its field, and so on.").attrs(&[need("path", Ints)]).text().from(Doc),
    OpInfo::new(C::StructSet, "struct_set", &[one("struct", Kind::Opaque), one("value", Kind::Any)], Results(0), K, "Replaces a field of a structure.").attrs(&[need("path", Ints)]).text().from(Doc),
    OpInfo::new(C::TPrint, "tprint", &[one("source", Kind::Any), opt("tmp", Kind::Memory)], Results(0), K, "Prints the elements of a tile or a view, for the programmer.").attrs(&[may("printFormat", Word(&["width8_precision4", "width8_precision2", "width10_precision6"]))]).text().from(Doc),
    // FIFOs whose slots are views, and FIFOs as values.
    OpInfo::new(C::InitL2g2lPipe, "initialize_l2g2l_pipe", &[one("slots", Kind::Memory), opt("local", Kind::Int), opt("peer", Kind::Int)], Results(1), K, "A FIFO with slots in global memory, as a value.").attrs(&[need("dir_mask", Int), need("slot_size", Int), may("slot_num", Int), may("local_slot_num", Int), may("flag_base", Int), may("nosplit", Bool), may("acc_push_epilogue", AttrKind::Spelled)]).text().from(Doc),
    OpInfo::new(C::InitL2lPipe, "initialize_l2l_pipe", &[opt("local", Kind::Int), opt("peer", Kind::Int)], Results(1), K, "A FIFO with slots in the consumer's buffer, as a value.").attrs(&[need("dir_mask", Int), need("slot_size", Int), may("slot_num", Int), may("local_slot_num", Int), may("flag_base", Int), may("nosplit", Bool), may("acc_push_epilogue", AttrKind::Spelled)]).text().from(Doc),
    OpInfo::new(C::TPush, "tpush", &[one("entry", Kind::Slot), one("pipe", Kind::Opaque), opt("subblock", Kind::Int)], Results(0), K, "Waits for a free slot of the FIFO, copies the entry into it, and makes it ready.").attrs(&[need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TPop, "tpop", &[one("entry", Kind::Slot), one("pipe", Kind::Opaque), opt("subblock", Kind::Int)], Results(0), K, "Waits for the next ready slot; the entry is what is in it.").attrs(&[need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TFree, "tfree", &[opt("entry", Kind::Slot), one("pipe", Kind::Opaque)], Results(0), K, "Gives the oldest popped slot of the FIFO back.").attrs(&[need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TAlloc, "talloc", &[one("entry", Kind::Slot), one("pipe", Kind::Opaque)], Results(0), K, "Waits for a free slot of the FIFO; the entry is the view of it.").attrs(&[need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TAllocToAiv, "talloc_to_aiv", &[], Results(1), K, "Waits for a free slot of the FIFO to the vector core and yields a view of it.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TAllocToAic, "talloc_to_aic", &[], Results(1), K, "Waits for a free slot of the FIFO to the cube core and yields a view of it.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TPushViewToAiv, "tpush_to_aiv.view", &[one("entry", Kind::View)], Results(0), K, "Makes the slot ready that the view is of.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TPushViewToAic, "tpush_to_aic.view", &[one("entry", Kind::View)], Results(0), K, "Makes the slot ready that the view is of.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TPopViewFromAic, "tpop_from_aic.view", &[], Results(1), K, "Waits for the next ready slot and yields a view of it.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TPopViewFromAiv, "tpop_from_aiv.view", &[], Results(1), K, "Waits for the next ready slot and yields a view of it.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TFreeViewFromAic, "tfree_from_aic.view", &[one("entry", Kind::View)], Results(0), K, "Gives the slot back that the view is of.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::TFreeViewFromAiv, "tfree_from_aiv.view", &[one("entry", Kind::View)], Results(0), K, "Gives the slot back that the view is of.").attrs(&[need("id", Int), need("split", Int)]).on(Pipe::BySpace, crate::info::Domain::None).text().from(Doc),
    // Transfers, and what the fix pipe does on the way.
    OpInfo::new(C::TPrefetch, "tprefetch", &[one("source", Kind::Memory)], Dest, K, "Begins to bring a box of global memory near; the destination is undefined.").on(Pipe::Mte2, Destination).text().from(Doc),
    OpInfo::new(C::MakePrefetchContext, "make_prefetch_async_context", &[one("memory", Kind::Memory)], Results(1), K, "What asynchronous prefetches need.").text().from(Doc),
    OpInfo::new(C::GetPrefetchSession, "get_prefetch_async_session", &[one("context", Kind::Opaque)], Results(1), K, "The session of a prefetch context.").text().from(Doc),
    OpInfo::new(C::TPrefetchAsync, "tprefetch_async", &[one("source", Kind::Memory), one("context", Kind::Opaque)], Results(1), K, "Begins to bring global memory into the cache.").text().from(Doc),
    OpInfo::new(C::TStoreFix, "tstore.fix", &[one("source", Kind::Tile), opt("fp", Kind::Tile), opt("quant", Kind::Int)], Dest, K, "As `tstore` from Acc, quantised on the way by a table `fp` or a scalar.").attrs(&[may("atomicType", Word(&["atomic_none", "atomic_add"])), may("reluPreMode", Word(RELU)), may("stPhase", Word(PHASES))]).on(Pipe::BySpace, Source).text().from(Doc),
    OpInfo::new(C::TMovFix, "tmov.fix", &[one("source", Kind::Tile), opt("fp", Kind::Tile), opt("quant", Kind::Int)], Dest, K, "As `tmov` from Acc, quantised on the way by a table `fp` or a scalar; or exponents of a scaled format in another order.").attrs(&[may("reluPreMode", Word(RELU)), may("accToVecMode", Word(ACC_TO_VEC)), may("grpAxis", Word(&["axis0", "axis1"]))]).on(Pipe::BySpace, Destination).text().from(Doc),
    OpInfo::new(C::TExtractFix, "textract.fix", &[one("source", Kind::Tile), one("row", Kind::Int), one("col", Kind::Int), opt("fp", Kind::Tile), opt("quant", Kind::Int)], Dest, K, "As `textract` from Acc, quantised on the way by a table `fp` or a scalar.").attrs(&[may("reluPreMode", Word(RELU)), may("accToVecMode", Word(ACC_TO_VEC))]).on(Pipe::BySpace, Destination).text().from(Doc),
    OpInfo::new(C::TInsertFix, "tinsert.fix", &[one("source", Kind::Tile), one("row", Kind::Int), one("col", Kind::Int), opt("fp", Kind::Tile), opt("quant", Kind::Int)], Dest, K, "As `tinsert` from Acc, quantised on the way by a table `fp` or a scalar.").attrs(&[may("reluPreMode", Word(RELU)), may("accToVecMode", Word(ACC_TO_VEC)), may("tinsertMode", Word(&["split2", "split4"]))]).on(Pipe::BySpace, Source).text().from(Doc),
    OpInfo::new(C::SetQuantScalar, "set_quant_scalar", &[one("scale", Kind::Scalar)], Results(0), K, "The scale that pushes of FIFO `id` quantise with.").attrs(&[need("id", Int)]).on(Pipe::Fix, crate::info::Domain::None).text().from(Doc),
    OpInfo::new(C::SetQuantVector, "set_quant_vector", &[one("scales", Kind::Tile)], Results(0), K, "The scales that pushes of FIFO `id` quantise with, one a column.").attrs(&[need("id", Int)]).on(Pipe::Fix, crate::info::Domain::None).text().from(Doc),
    // Products of a row, and of scaled formats (A5).
    OpInfo::new(C::TGemv, "tgemv", &[one("lhs", Kind::Tile), one("rhs", Kind::Tile)], Dest, K, "As `tmatmul` with one row of lhs.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TGemvAcc, "tgemv.acc", &[one("acc", Kind::Tile), one("lhs", Kind::Tile), one("rhs", Kind::Tile)], Dest, K, "As `tmatmul.acc` with one row of lhs.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TGemvBias, "tgemv.bias", &[one("lhs", Kind::Tile), one("rhs", Kind::Tile), one("bias", Kind::Tile)], Dest, K, "As `tmatmul.bias` with one row of lhs.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TMatmulMx, "tmatmul.mx", &[one("lhs", Kind::Tile), one("lhs_scale", Kind::Tile), one("rhs", Kind::Tile), one("rhs_scale", Kind::Tile)], Dest, K, "lhs · rhs, each 32 elements along k scaled by a power of two.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TMatmulMxAcc, "tmatmul.mx.acc", &[one("acc", Kind::Tile), one("lhs", Kind::Tile), one("lhs_scale", Kind::Tile), one("rhs", Kind::Tile), one("rhs_scale", Kind::Tile)], Dest, K, "acc + lhs · rhs, each 32 elements along k scaled by a power of two.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TMatmulMxBias, "tmatmul.mx.bias", &[one("lhs", Kind::Tile), one("lhs_scale", Kind::Tile), one("rhs", Kind::Tile), one("rhs_scale", Kind::Tile), one("bias", Kind::Tile)], Dest, K, "lhs · rhs + bias, each 32 elements along k scaled by a power of two.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TGemvMx, "tgemv.mx", &[one("lhs", Kind::Tile), one("lhs_scale", Kind::Tile), one("rhs", Kind::Tile), one("rhs_scale", Kind::Tile)], Dest, K, "As `tmatmul.mx` with one row of lhs.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TGemvMxAcc, "tgemv.mx.acc", &[one("acc", Kind::Tile), one("lhs", Kind::Tile), one("lhs_scale", Kind::Tile), one("rhs", Kind::Tile), one("rhs_scale", Kind::Tile)], Dest, K, "As `tmatmul.mx.acc` with one row of lhs.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    OpInfo::new(C::TGemvMxBias, "tgemv.mx.bias", &[one("lhs", Kind::Tile), one("lhs_scale", Kind::Tile), one("rhs", Kind::Tile), one("rhs_scale", Kind::Tile), one("bias", Kind::Tile)], Dest, K, "As `tmatmul.mx.bias` with one row of lhs.").attrs(&[may("accPhase", Word(PHASES))]).on(Pipe::Matrix, Matmul).text().from(Doc),
    // Elementwise, of several operands or with several results.
    OpInfo::new(C::TAxpy, "taxpy", &[one("a", Kind::Tile), one("s", Kind::Scalar)], Dest, K, "dst + s · a; f32 dst may have f16 operands.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TAddC, "taddc", &[one("a", Kind::Tile), one("b", Kind::Tile), one("c", Kind::Tile)], Dest, K, "(a + b) + c.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TSubC, "tsubc", &[one("a", Kind::Tile), one("b", Kind::Tile), one("c", Kind::Tile)], Dest, K, "(a − b) + c.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TAddSC, "taddsc", &[one("a", Kind::Tile), one("s", Kind::Scalar), one("c", Kind::Tile)], Dest, K, "(a + s) + c.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TSubSC, "tsubsc", &[one("a", Kind::Tile), one("s", Kind::Scalar), one("c", Kind::Tile)], Dest, K, "(a − s) + c.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TAddRelu, "taddrelu", &[one("a", Kind::Tile), one("b", Kind::Tile)], Dest, K, "max(a + b, 0).").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TPow, "tpow", &[one("a", Kind::Tile), one("b", Kind::Tile), opt("tmp", Kind::Tile)], Dest, K, "a to the power b.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TPowS, "tpows", &[one("a", Kind::Tile), one("s", Kind::Scalar), opt("tmp", Kind::Tile)], Dest, K, "a to the power s.").attrs(&[may("precisionType", Word(PRECISIONS))]).on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TConcatIdx, "tconcatidx", &[one("a", Kind::Tile), one("b", Kind::Tile), one("a_count", Kind::Tile), one("b_count", Kind::Tile)], Dest, K, "Row by row: as many elements of a as its count says, then of b.").attrs(&[may("candidates", AttrKind::Spelled)]).on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TPartArgMax, "tpartargmax", &[one("a", Kind::Tile), one("b", Kind::Tile), one("a_index", Kind::Tile), one("b_index", Kind::Tile)], Outs(2, 2), K, "The larger element where both are valid, and its index; where one is, that one.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TPartArgMin, "tpartargmin", &[one("a", Kind::Tile), one("b", Kind::Tile), one("a_index", Kind::Tile), one("b_index", Kind::Tile)], Outs(2, 2), K, "The smaller element where both are valid, and its index; where one is, that one.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TQuant, "tquant", &[one("source", Kind::Tile), one("scale", Kind::Tile), opt("offset", Kind::Tile)], Outs(1, 2), K, "f32 to i8 or u8 by a scale (and offset) a row. A second `outs` is scratch.").attrs(&[may("quant_type", Word(QUANT))]).on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TQuantMx, "tquant.mx", &[one("source", Kind::Tile)], Outs(2, 5), K, "To a scaled format (A5): elements, exponents, and scratch.").attrs(&[may("quant_type", Word(QUANT)), may("quant_scale_alg", Word(&["ocp", "nv"])), may("storeMode", Word(&["nd", "nz"])), may("grpAxis", Word(&["axis0", "axis1"]))]).on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::TDequant, "tdequant", &[one("source", Kind::Tile), one("scale", Kind::Tile), one("offset", Kind::Tile)], Dest, K, "(source − offset) · scale, by a scale and offset a row.").on(Pipe::Vector, Destination).text().from(Doc),
    OpInfo::new(C::THistogram, "thistogram", &[one("source", Kind::Tile), one("indices", Kind::Tile)], Dest, K, "How often each value of a byte occurs in a row (A5).").attrs(&[may("isMSB", Bool), may("byte", Int)]).on(Pipe::Vector, Source).text().from(Doc),
    OpInfo::new(C::TGatherCmp, "tgather.cmp", &[one("source", Kind::Tile), one("s", Kind::Scalar), one("tmp", Kind::Tile)], Outs(2, 2), K, "The indices of a row's elements that compare with s, packed, and how many they are.").attrs(&[may("cmpMode", Word(PREDICATES)), may("offset", Int)]).on(Pipe::Vector, Source).text().from(Doc),
    OpInfo::new(C::TMrgSortCounted, "tmrgsort.counted", &[many("lists", Kind::Tile), opt("tmp", Kind::Tile)], Outs(2, 2), K, "As `tmrgsort.lists`; the second `outs` is how many records of each list were used.").attrs(&[may("exhausted", Bool)]).on(Pipe::Vector, Source).text().from(Doc),
    // Between ranks.
    OpInfo::new(C::CommTGet, "comm.tget", &[one("dest", Kind::Memory), one("source", Kind::Memory), many("staging", Kind::Tile)], Results(0), K, "Copies a box of another rank's memory to this one's, through one staging tile or two in turn.").machine().from(Doc),
    OpInfo::new(C::CommTTest, "comm.ttest", &[one("signal", Kind::Memory), one("value", Kind::Int)], Results(1), K, "Whether every signal word (i32) of the box compares with the value.").attrs(&[may("cmp", Word(PREDICATES))]).machine().from(Doc),
    OpInfo::new(C::CommBroadcast, "comm.tbroadcast", &[one("source", Kind::Memory), many("staging", Kind::Tile), many("group", Kind::Memory)], Results(0), K, "Copies the root's box to every rank of the group.").attrs(&[need("root", Int)]).text().from(Doc),
    OpInfo::new(C::CommGather, "comm.tgather", &[one("dest", Kind::Memory), many("staging", Kind::Tile), many("group", Kind::Memory)], Results(0), K, "Copies every rank's box, one after the other, to the root.").attrs(&[need("root", Int)]).text().from(Doc),
    OpInfo::new(C::CommScatter, "comm.tscatter", &[one("source", Kind::Memory), many("staging", Kind::Tile), many("group", Kind::Memory)], Results(0), K, "Copies a part of the root's box to every rank of the group.").attrs(&[need("root", Int)]).text().from(Doc),
    OpInfo::new(C::CommReduce, "comm.treduce", &[one("dest", Kind::Memory), one("acc", Kind::Tile), many("staging", Kind::Tile), many("group", Kind::Memory)], Results(0), K, "Combines every rank's box at the root.").attrs(&[need("reduceOp", Word(&["sum", "max", "min"])), need("root", Int)]).text().from(Doc),
    OpInfo::new(C::CommSession, "comm.build_async_session", &[one("scratch", Kind::Tile), one("workspace", Kind::Ptr)], Results(1), K, "What asynchronous transfers need.").text().from(Doc),
    OpInfo::new(C::CommPutAsync, "comm.tput_async", &[one("dest", Kind::Memory), one("source", Kind::Memory), one("session", Kind::Opaque)], Results(1), K, "Begins a copy to another rank.").text().from(Doc),
    OpInfo::new(C::CommGetAsync, "comm.tget_async", &[one("dest", Kind::Memory), one("source", Kind::Memory), one("session", Kind::Opaque)], Results(1), K, "Begins a copy from another rank.").text().from(Doc),
    OpInfo::new(C::CommWaitAsync, "comm.wait_async_event", &[one("event", Kind::Opaque), one("session", Kind::Opaque)], Results(1), K, "Waits for the end of a transfer.").text().from(Doc),
    OpInfo::new(C::CommTestAsync, "comm.test_async_event", &[one("event", Kind::Opaque), one("session", Kind::Opaque)], Results(1), K, "Whether a transfer has ended.").text().from(Doc),
    // Regions, blocks, and the rest.
    OpInfo::new(C::ArrayGetAt, "local_array_get.at", &[one("array", Kind::Array), many("indices", Kind::Int)], Results(1), K, "An element of an array of arrays, by one index per dimension.").text().from(Doc),
    OpInfo::new(C::ArraySetAt, "local_array_set.at", &[one("array", Kind::Array), many("indices", Kind::Int), one("value", Kind::Scalar)], Results(0), K, "Replaces an element of an array of arrays.").text().from(Doc),
    OpInfo::new(C::CountsConst, "counts", &[], Results(1), K, "Four 16-bit counts, as a merge of sorted lists makes them.").attrs(&[need("value", Ints)]).text().from(Doc),
    OpInfo::new(C::Reinterpret, "unrealized_conversion_cast", &[one("value", Kind::Any)], Results(1), K, "The same value under another type, where text mixes dialects.").text().from(Doc),
    OpInfo::new(C::MGatherStaged, "mgather.staged", &[one("source", Kind::Memory), one("indices", Kind::Any), opt("scratch", Kind::Any)], Dest, K, "As `mgather` into Mat, with its indices in global memory or a scratch beside them.").attrs(&[need("mode", Word(GATHER_MODES)), may("out_of_range", Word(OUT_OF_RANGE_READS))]).on(Pipe::BySpace, Destination).text().from(Doc),
    OpInfo::new(C::ExecuteRegion, "execute_region", &[], Carried, K, "The region runs once; its `yield` gives the results.").regions(1).text().from(Doc),
    OpInfo::new(C::FusionRegion, "fusion_region", &[], Carried, K, "The region is executed as one: a fused group. Its `yield` gives the results.").regions(1).text().from(Doc),
    OpInfo::new(C::Blocks, "blocks", &[], Terminator, K, "The rest of the function as blocks that jump to each other, from the first. A value is seen in the blocks behind its own.").regions(ANY_REGIONS).text().from(Doc),
    OpInfo::new(C::Branch, "br", &[many("values", Kind::Any)], Terminator, K, "Goes to a block of the function, by its number, with the block's arguments.").attrs(&[need("target", Int)]).text().from(Doc),
    OpInfo::new(C::BranchIf, "cond_br", &[one("condition", Kind::Bool), many("values", Kind::Any)], Terminator, K, "Goes to one of two blocks; the first `taken` values are the arguments of the first, the rest of the other.").attrs(&[need("target", Int), need("other", Int), need("taken", Int)]).text().from(Doc),
    OpInfo::new(C::SimtLaunch, "simt_launch", &[many("grid", Kind::Int), many("args", Kind::Any)], Results(0), K, "Runs a function of scalar threads, as many as the product of three numbers.").attrs(&[need("callee", Symbols)]).text().from(Doc),
    OpInfo::new(C::SyncThreads, "syncthreads", &[], Results(0), K, "Every thread of the launch waits for the others.").text().from(Doc),
];

impl Opcode {
    pub fn info(self) -> &'static OpInfo {
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    pub fn from_name(name: &str) -> Option<Opcode> {
        TABLE.iter().find(|i| i.name == name).map(|i| i.opcode)
    }

    pub fn family(self) -> &'static Family {
        let next = FAMILIES.partition_point(|f| f.first <= self);
        &FAMILIES[next - 1]
    }

    pub fn is_terminator(self) -> bool {
        matches!(self.info().form, Terminator)
    }

    /// The arithmetic of a two-operand scalar operation.
    pub fn scalar_binary(self) -> Option<dtype::scalar::BinaryOp> {
        use dtype::scalar::BinaryOp as B;
        Some(match self {
            C::ScalarAdd => B::Add,
            C::ScalarSub => B::Sub,
            C::ScalarMul => B::Mul,
            C::ScalarDiv => B::Div,
            C::ScalarRem => B::Rem,
            C::ScalarMin => B::Min,
            C::ScalarMax => B::Max,
            C::ScalarAnd => B::And,
            C::ScalarOr => B::Or,
            C::ScalarXor => B::Xor,
            C::ScalarShl => B::Shl,
            C::ScalarShr => B::Shr,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_enum_order_and_names_are_unique() {
        for (i, info) in TABLE.iter().enumerate() {
            assert_eq!(info.opcode as usize, i, "{}", info.name);
            assert_eq!(Opcode::from_name(info.name), Some(info.opcode), "two entries called {}", info.name);
        }
    }

    #[test]
    fn families_are_in_the_order_of_the_table_and_cover_it() {
        assert_eq!(FAMILIES[0].first, TABLE[0].opcode);
        assert!(FAMILIES.is_sorted_by(|a, b| a.first < b.first));
        for (op, title) in [(C::For, "Control flow"), (C::TShrS, "Elementwise"), (C::TSelS, "Masks")] {
            assert_eq!(op.family().title, title);
        }
    }

    #[test]
    fn in_place_groups_exist() {
        for info in &TABLE {
            for group in info.in_place {
                assert!(info.group(group).is_some(), "{}: no operand {group}", info.name);
            }
        }
    }

    #[test]
    fn groups_and_attributes_have_different_names() {
        for info in &TABLE {
            let names = info.operands.iter().map(|o| o.name).chain(info.attrs.iter().map(|a| a.name));
            let distinct: std::collections::BTreeSet<&str> = names.clone().collect();
            assert_eq!(distinct.len(), names.count(), "{}", info.name);
        }
    }
}
