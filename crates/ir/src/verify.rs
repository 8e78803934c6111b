//! The verifier: what every pass may rely on and every pass must leave true.
//!
//! [`RULES`] lists the rules; each has a failing program under `tests/filetests/verifier`. An operation that breaks a
//! structural rule is not looked at further, so one mistake gives one error. What depends on run-time values (a load
//! beyond its tensor, a division by zero) is not a rule: executors report it.
//!
//! Beyond the table ([`crate::ops`]): SSA visibility, result types by [`crate::infer`], and what the device demands of
//! tile buffers (`spec/isa.md` §2 and §3, `spec/pto-assembly.md` §2), for the program's architecture.

mod buffers;
mod device;
mod dialect;
mod fifo;
mod kept;
mod kernel;
mod program;
mod structure;
mod tensor;
#[cfg(test)]
mod tests;
mod types;

use diag::Diagnostic;

use crate::entity::{Op, Value};
use crate::function::{Function, FunctionKind, Level, OpData, Program};
use crate::info::Levels;
use crate::text::print_op;
use crate::types::{TileType, Type};

/// Every rule: its id (the code of its diagnostics) and what it says.
pub const RULES: &[(&str, &str)] = &[
    // Program and functions.
    ("entry", "the entry is the program's one orchestration function; the tensor level has no other function"),
    ("function-name", "functions have different names"),
    ("function-params", "a function has one description per parameter, of a type its kind may take"),
    ("submit", "a submission names kernels of the program and passes what they take, with a direction each"),
    // Structure.
    ("bookkeeping", "values, operations and blocks know where they stand, and stand in one place"),
    ("block-end", "a block ends in the terminator its place asks for, and has no other"),
    ("region-count", "an operation has the number of regions its table entry says"),
    ("region-args", "a region has the arguments its operation gives it"),
    ("segments", "the groups' lengths add up to the operands"),
    ("arity", "a group has as many operands as its table entry says"),
    ("operand-kind", "an operand has the kind its table entry says"),
    ("results", "an operation has as many results as its form says"),
    ("destinations", "an operation has as many destinations as its form says at this level, of the right kind"),
    ("visibility", "a value is used after its definition, in its block or a region below it"),
    ("level", "an operation stands where its table entry allows"),
    ("scope-border", "a tile does not enter a scope"),
    // Attributes.
    ("attribute-missing", "required attributes are there"),
    ("attribute-unknown", "other attributes than those of the table entry are not"),
    ("attribute-value", "an attribute has the kind, and is one of the words, that its table entry says"),
    ("fusion-mark", "a member of a fusion group has a group and a place, and a bit for each tile in its last uses"),
    // Types.
    (
        "type-level",
        "a value has a type of its level: tensors in the orchestration, pointers, views and buffers in kernels",
    ),
    ("valid-extent", "valid extents are as many as the extents and not larger"),
    ("valid-operands", "there is one operand per dynamic extent, and none for a static one"),
    ("operand-types", "operands fit each other"),
    ("result-type", "the result has the type that follows from the operands"),
    ("dest-type", "the destination has the element type and the shape that follow from the operands"),
    ("valid-region", "a destination's static valid extents are those that follow from the operands"),
    ("const-value", "a literal is one of its type"),
    ("carried-types", "what a loop carries and what a branch yields has one type all the way"),
    ("loop-bounds", "bounds and step of a loop have one type"),
    ("return-values", "the entry returns tensors, a helper the scalars it declares, a kernel nothing"),
    (
        "call",
        "a call names a function that runs on this core, passes what it takes and gets what it returns; functions do not recur",
    ),
    ("architecture", "an instruction is one that the program's architecture has"),
    ("same-type", "a conversion changes the element type"),
    (
        "store-dtype",
        "a store's tile and tensor have one element type (semantics rule 10); an f32 Acc tile may narrow to 16 bits",
    ),
    ("axes", "offsets, sizes, axes and indices are as many as the tensor's or view's extents, and in range"),
    ("box-shape", "the extents of a box, without dropped axes, are those of the tile or view it makes or fills"),
    ("element-count", "a reshape keeps the number of elements"),
    ("packed", "a tensor that is created or reshaped is packed"),
    // Tile buffers.
    ("tile-layout", "a buffer has a layout of its space"),
    ("tile-alignment", "rows, columns or boxes of a buffer fill blocks of 32 bytes, or fractals"),
    ("tile-capacity", "a buffer fits its space"),
    ("tile-address", "in a placed function, and only there, buffers have addresses; they are aligned and in range"),
    ("core", "a kernel uses the buffers and the FIFO ends of its core"),
    ("operand-space", "an instruction's tiles are in spaces it can reach"),
    ("operand-layout", "a vector instruction's tiles are row-major, or vectors as it takes them"),
    ("kernel-transpose", "a matmul in a kernel does not transpose"),
    ("acc-in-place", "the accumulator that a matmul starts from is the buffer it writes"),
    ("window", "a window lies in its tile, and on whole boxes"),
    ("valid-shape", "only a tile of dynamic valid extents can get others, and it stays the same tile"),
    ("struct-field", "a structure has scalars and structures, is about one scalar of them, and stays in its function"),
    ("jump", "a jump goes to a block of its function"),
    ("pointer-use", "a pointer that was an integer is for scalar accesses"),
    ("sync-event", "an event is a number or a value, one of them"),
    ("scratch", "a scratch is there where it is needed, of the type and layout that is"),
    ("fix-pipe", "quantisation is by a table or a scalar, on the way out of Acc"),
    ("cache-target", "a cache operation is about one place in memory, or about a whole address space"),
    ("same-bytes", "a reshape in a kernel keeps space and bytes, and involves no boxes"),
    // What the assembler demands beyond that.
    ("element-types", "an instruction has the element types that the architecture has it for"),
    ("rank-extents", "memory that others look at has known extents, not zero, and is flat where transfers are"),
    ("tileop-helper", "a helper that stands for a tile operation has none in it, and orders no pipes"),
    ("simt", "threads launch no threads"),
    ("epilogue", "a FIFO through the fix pipe says the same at both ends, and what goes in and out are of its types"),
    ("quant-state", "what is pushed through a quantising FIFO has its scales set before it, in the same block"),
    ("scales", "a scaled product has one scale for 32 elements along k"),
    ("fifo-split", "the split of a FIFO is one there is, and one that all its users say"),
    // FIFOs.
    ("fifo-init", "a FIFO has a direction, slots, and the memory that its architecture needs"),
    ("fifo-end", "pushes, pops and frees name a FIFO of the function that goes their way, and fit its slots"),
    ("reserved-buffer", "reserved buffers have different names, a size, and a base if placed; imports find theirs"),
];

/// More errors than this are not collected.
const MAX_ERRORS: usize = 100;

/// Whose rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rules {
    /// What `lower` makes and executors run.
    Executors,
    /// What the assembler takes: more than executors run, and less than they could.
    Assembler,
}

/// Checks every rule of programs that run here. Errors point at the operations' source locations and quote the operation.
pub fn verify(program: &Program) -> Result<(), Vec<Diagnostic>> {
    check(program, Rules::Executors)
}

/// Checks what the assembler demands of kernels: everything that the device has a form for is legal, whether an executor
/// here has it or not, and what it has no form for is not.
pub fn assembler(program: &Program) -> Result<(), Vec<Diagnostic>> {
    check(program, Rules::Assembler)
}

fn check(program: &Program, rules: Rules) -> Result<(), Vec<Diagnostic>> {
    let mut errors = program::check(program, rules);
    for (_, function) in program.functions.iter() {
        if errors.len() >= MAX_ERRORS {
            break;
        }
        errors.append(&mut structure::check(program, function, rules));
    }
    errors.truncate(MAX_ERRORS);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// A broken rule, before it has a place.
#[derive(Debug)]
struct Fault {
    code: &'static str,
    message: String,
}

type Check = Result<(), Fault>;

/// `ensure!(condition, "rule", "message {}", …)`: the fault unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $code:literal, $($message:tt)+) => {
        if !$condition {
            return Err($crate::verify::Fault { code: $code, message: format!($($message)+) });
        }
    };
}
use ensure;

/// What a check of one operation looks at.
#[derive(Clone, Copy)]
struct Cx<'a> {
    program: &'a Program,
    function: &'a Function,
    /// Where the operation stands.
    place: Levels,
    rules: Rules,
}

impl<'a> Cx<'a> {
    fn ty(&self, value: Value) -> &'a Type {
        self.function.ty(value)
    }

    fn constant(&self, value: Value) -> Option<i64> {
        self.function.const_int(value)
    }

    /// The tile type of a value whose kind has been checked.
    fn tile(&self, value: Value) -> Result<&'a TileType, Fault> {
        self.ty(value)
            .as_tile()
            .ok_or_else(|| Fault { code: "operand-kind", message: format!("a tile is needed, not {}", self.ty(value)) })
    }

    /// By the rules of the assembler, not those of executors.
    fn assembles(&self) -> bool {
        self.rules == Rules::Assembler
    }

    fn in_kernel(&self) -> bool {
        self.place == Levels::KERNEL
    }

    /// The tile that a tile operation makes or writes.
    fn output(&self, op: &OpData) -> Result<&'a TileType, Fault> {
        match op.output() {
            Some(value) => self.tile(value),
            None => Err(Fault { code: "results", message: format!("{} makes no tile", op.opcode.name()) }),
        }
    }

    fn diagnostic(&self, op: Op, fault: Fault) -> Diagnostic {
        let data = &self.function.ops[op];
        Diagnostic::error(fault.code, fault.message)
            .about(data.opcode.name())
            .at(data.span, "in this operation")
            .note(format!("in @{}: {}", self.function.name, print_op(self.function, op)))
    }
}

/// Where the body of a function stands.
fn place(program: &Program, function: &Function) -> Levels {
    match (program.level, function.kind) {
        (Level::Tensor, _) => Levels::TENSOR,
        (Level::Tile, FunctionKind::Orchestration) => Levels::ORCH,
        (Level::Tile, _) => Levels::KERNEL,
    }
}
