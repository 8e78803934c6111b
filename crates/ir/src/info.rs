//! What the op table says about an operation. The table itself is [`crate::ops`].

use crate::Opcode;
use crate::types::{Opaque, Type};

/// One entry of the op table: parser, printer, verifier, executors' dispatch and the manual follow from it.
#[derive(Debug)]
pub struct OpInfo {
    pub opcode: Opcode,
    /// The name in IR text. Tile operations have the instruction's name; in `.pto` it follows `pto.`.
    pub name: &'static str,
    pub doc: &'static str,
    /// Operand groups in order; [`crate::OpData::segments`] holds how many operands each has.
    pub operands: &'static [Operand],
    pub form: Form,
    pub attrs: &'static [AttrInfo],
    /// Number of regions, each one block.
    pub regions: usize,
    pub levels: Levels,
    pub pipe: Pipe,
    /// Over which elements a tile operation runs, and so which it writes.
    pub domain: Domain,
    /// Names of the operand groups whose buffer the destination may be, at the same address and layout.
    pub in_place: &'static [&'static str],
    pub evidence: Evidence,
    /// Whether only `.pto` text has it: no tensor level says it, and `lower` never makes it.
    pub text: bool,
    /// Whether executors give it its meaning. Others are read, verified, kept and printed, and refused by name in a run.
    pub runs: bool,
    /// Of an operation that runs: operand groups and attributes with which it does not.
    pub beyond: &'static [&'static str],
}

impl OpInfo {
    pub fn group(&self, name: &str) -> Option<usize> {
        self.operands.iter().position(|o| o.name == name)
    }

    /// An attribute of the entry, or a mark.
    pub fn attr(&self, name: &str) -> Option<&'static AttrInfo> {
        self.attrs.iter().chain(self.marks()).find(|a| a.name == name)
    }

    /// What a pass may say of the operation, beside the attributes of its entry: [`FUSION_MARKS`] of vector operations
    /// that go over the elements of tiles.
    pub fn marks(&self) -> &'static [AttrInfo] {
        let goes_over_elements = matches!(self.domain, Domain::Destination | Domain::Source);
        let in_kernels = matches!(self.form, Form::Tile | Form::Dest) && self.levels.contains(Levels::KERNEL);
        if self.pipe == Pipe::Vector && goes_over_elements && in_kernels { FUSION_MARKS } else { &[] }
    }
}

/// The fusion group of an operation: its members follow each other in one block.
pub const GROUP_ID: &str = "pto.fusion.group_id";
/// The place of an operation in its group, from 0.
pub const GROUP_ORDER: &str = "pto.fusion.order";
/// One number per tile of an operation, operands in order and then destinations: 1 where it is an operand whose bytes
/// nobody reads after this operation before they are overwritten.
pub const LAST_USE: &str = "pto.last_use";

/// What fusion says of an operation. No mark changes what the operation means.
pub const FUSION_MARKS: &[AttrInfo] = &[
    AttrInfo { name: GROUP_ID, kind: AttrKind::Int, required: false },
    AttrInfo { name: GROUP_ORDER, kind: AttrKind::Int, required: false },
    AttrInfo { name: LAST_USE, kind: AttrKind::Ints, required: false },
];

/// An operand group.
#[derive(Debug)]
pub struct Operand {
    pub name: &'static str,
    pub kind: Kind,
    pub arity: Arity,
}

/// Which types an operand may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Any,
    Tile,
    Tensor,
    /// Any scalar.
    Scalar,
    /// An integer or index scalar.
    Int,
    Bool,
    /// A task id or an array of them.
    Task,
    Array,
    Ptr,
    View,
    PartView,
    /// A pointer, a view or a box of one: anything that says where in global memory.
    Memory,
    /// What a slot of a FIFO holds: a tile, or a view of global memory.
    Slot,
    /// A value that only `.pto` text has.
    Opaque,
}

impl Kind {
    pub fn accepts(self, ty: &Type) -> bool {
        match self {
            Kind::Any => true,
            Kind::Tile => matches!(ty, Type::Tile(_)),
            Kind::Tensor => matches!(ty, Type::Tensor(_)),
            Kind::Scalar => matches!(ty, Type::Scalar(_)),
            Kind::Int => matches!(ty, Type::Scalar(d) if d.is_int()),
            Kind::Bool => *ty == Type::BOOL,
            Kind::Task => match ty {
                Type::Array { element, .. } => **element == Type::TaskId,
                ty => *ty == Type::TaskId,
            },
            Kind::Array => matches!(ty, Type::Array { .. }),
            Kind::Ptr => matches!(ty, Type::Ptr(_)),
            Kind::View => matches!(ty, Type::View(_)),
            Kind::PartView => matches!(ty, Type::PartView { .. }),
            Kind::Slot => matches!(ty, Type::Tile(_) | Type::View(_)),
            Kind::Opaque => matches!(ty, Type::Opaque(_)),
            Kind::Memory => {
                matches!(ty, Type::Ptr(_) | Type::View(_) | Type::PartView { .. } | Type::Opaque(Opaque::MemRef(_)))
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    One,
    Optional,
    Many,
}

/// What an operation yields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A tile. *Value form* (tensor level): one result. *Destination form* (tile and machine level): one `outs` tile
    /// and no result. The same entry, the same meaning.
    Tile,
    /// Writes its `outs` at every level (`tinsert` into a tile, `tstore` into a view); no result.
    Dest,
    /// Writes this many `outs`, at least and at most, in a kernel; no result.
    Outs(usize, usize),
    /// Exactly this many results, at every level.
    Results(usize),
    /// As many results as the operation carries values (`for`, `if`, `while`) or its callee returns (`call`).
    Carried,
    /// The end of a block.
    Terminator,
}

#[derive(Debug)]
pub struct AttrInfo {
    pub name: &'static str,
    pub kind: AttrKind,
    pub required: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttrKind {
    Bool,
    Int,
    /// An integer, float or boolean literal.
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    Text,
    Type,
    Ints,
    Symbols,
    /// Its spelling in `.pto`, kept as it is.
    Spelled,
}

/// Where an operation may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels(pub u8);

impl Levels {
    /// Tensor level, outside scopes.
    pub const TENSOR: Levels = Levels(1);
    /// Tensor level, inside a kernel scope.
    pub const SCOPE: Levels = Levels(2);
    /// Tile level, in the orchestration.
    pub const ORCH: Levels = Levels(4);
    /// Tile and machine level, in a kernel function.
    pub const KERNEL: Levels = Levels(8);
    pub const ALL: Levels = Levels(15);

    pub const fn or(self, other: Levels) -> Levels {
        Levels(self.0 | other.0)
    }

    pub const fn contains(self, other: Levels) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The pipe that executes an instruction (`spec/isa.md` §1.4). Where it depends on the spaces of the operands
/// (`tload`, `tstore`, `tmov`, `textract`, `tinsert`) the entry says [`Pipe::BySpace`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pipe {
    /// Not a pipe instruction.
    None,
    Scalar,
    Vector,
    Matrix,
    Mte1,
    Mte2,
    Mte3,
    Fix,
    BySpace,
}

/// Iteration domains (`spec/isa.md` §2.0).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    None,
    /// The valid region of the destination.
    Destination,
    /// The valid region of the (first) source.
    Source,
    /// m = lhs valid rows, k = lhs valid columns, n = rhs valid columns.
    Matmul,
    /// The destination's whole physical extent.
    Whole,
}

/// Where the semantics of an entry come from (`spec/semantics.md`, Evidence).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// A published device figure.
    Measured,
    /// Upstream's golden generators.
    Golden,
    Doc,
    Inferred,
}
