//! Programs, functions, blocks, operations: the IR as data.

use chip::{Arch, Core};
use diag::{Sources, Span};

use crate::attr::Attrs;
use crate::entity::{Arena, Block, FuncId, Op, Value};
use crate::info::Form;
use crate::ops::Opcode;
use crate::types::Type;

/// Which of the three levels (design §3) a program is at. Machine level is the tile level's dialect with properties.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    Tensor,
    Tile,
}

/// A whole program: at the tensor level one entry function; at the tile level the orchestration and its kernels.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub arch: Arch,
    pub level: Level,
    pub functions: Arena<FuncId, Function>,
    pub entry: FuncId,
    /// The files that spans point into.
    pub sources: Sources,
}

impl Program {
    pub fn function(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// The program's entry at the tensor level, and the orchestration below it.
    Orchestration,
    /// Runs on one kind of core.
    Kernel(Core),
    /// A mixed kernel before the core split: one stream over the buffers of a cluster. Not executable, not exportable;
    /// `lower` makes and removes it.
    Cluster,
    /// Scalar code that kernels call; runs on the core of its caller and may return one scalar.
    Helper,
}

/// Who may start a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Linkage {
    /// The host, by launching it.
    #[default]
    Entry,
    /// Other functions, of this or another module.
    Public,
    /// Functions of its module.
    Private,
}

/// What has been decided about a kernel (design §3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Properties {
    /// Tiles have addresses.
    pub placed: bool,
    /// Fusion regions exist.
    pub fused: bool,
    /// Flags and barriers decide the order between pipes; without it program order does.
    pub synced: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    In,
    Out,
    InOut,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// The user's name.
    pub name: String,
    pub direction: Direction,
}

/// A function. Its parameters are the arguments of `body`.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub kind: FunctionKind,
    pub properties: Properties,
    pub linkage: Linkage,
    /// Types of the scalars that a helper returns.
    pub results: Vec<Type>,
    /// What `.pto` text says of the function, and (names after `module `) of its module, to other tools: name and
    /// value as text, empty for a name alone.
    pub attributes: Vec<(String, String)>,
    /// One per argument of `body`.
    pub params: Vec<Param>,
    pub body: Block,
    /// Where its text is.
    pub span: Option<Span>,
    pub values: Arena<Value, ValueData>,
    pub ops: Arena<Op, OpData>,
    pub blocks: Arena<Block, BlockData>,
}

#[derive(Clone, Debug)]
pub struct ValueData {
    pub ty: Type,
    pub def: Def,
    /// The user's name for it, as a hint to printers; not unique.
    pub name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Def {
    Arg(Block, u32),
    Result(Op, u32),
}

#[derive(Clone, Default, Debug)]
pub struct BlockData {
    pub args: Vec<Value>,
    /// In order; the last is the terminator.
    pub ops: Vec<Op>,
    /// The operation whose region this is; `None` for a function body.
    pub parent: Option<Op>,
}

/// Where an operation below the tensor level comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Origin {
    /// The operation of the tensor-level entry function.
    pub op: Op,
    /// After this operation its destination (or result) holds the whole value of `op`, or the store that is `op` has
    /// fully happened. Comparing levels compares exactly these points.
    pub completes: bool,
}

#[derive(Clone, Debug)]
pub struct OpData {
    pub opcode: Opcode,
    pub operands: Vec<Value>,
    /// How many operands each group of the table entry has.
    pub segments: Vec<u32>,
    /// Destination form: the `outs`.
    pub dests: Vec<Value>,
    pub results: Vec<Value>,
    pub regions: Vec<Block>,
    pub attrs: Attrs,
    /// The block it stands in.
    pub block: Block,
    pub span: Option<Span>,
    pub origin: Option<Origin>,
}

impl OpData {
    /// The operands of a group, by its number in the table entry.
    pub fn group(&self, index: usize) -> &[Value] {
        let start: u32 = self.segments[..index].iter().sum();
        &self.operands[start as usize..(start + self.segments[index]) as usize]
    }

    /// The operands of a group, by its name in the table entry. Panics if the entry has no such group.
    pub fn named(&self, name: &str) -> &[Value] {
        let info = self.opcode.info();
        match info.group(name) {
            Some(i) => self.group(i),
            None => panic!("{} has no operand group `{name}`", info.name),
        }
    }

    /// What of it no executor gives a meaning to: its name, or that of an operand group or attribute.
    pub fn not_run(&self) -> Option<&'static str> {
        let info = self.opcode.info();
        let there = |name: &str| match info.group(name) {
            Some(group) => self.segments.get(group).is_some_and(|&n| n > 0),
            None => self.attrs.get(name).is_some(),
        };
        if info.runs { info.beyond.iter().copied().find(|n| there(n)) } else { Some(info.name) }
    }

    pub fn result(&self) -> Option<Value> {
        self.results.first().copied()
    }

    pub fn dest(&self) -> Option<Value> {
        self.dests.first().copied()
    }

    /// The tile a tile operation makes, in either form.
    pub fn output(&self) -> Option<Value> {
        match self.opcode.info().form {
            Form::Tile => self.result().or(self.dest()),
            Form::Dest => self.dest(),
            _ => self.result(),
        }
    }
}

impl Function {
    pub fn new(name: impl Into<String>, kind: FunctionKind) -> Function {
        let mut blocks = Arena::default();
        let body = blocks.push(BlockData::default());
        Function {
            name: name.into(),
            kind,
            properties: Properties::default(),
            linkage: Linkage::default(),
            results: Vec::new(),
            attributes: Vec::new(),
            params: Vec::new(),
            body,
            span: None,
            values: Arena::default(),
            ops: Arena::default(),
            blocks,
        }
    }

    /// Whether it runs on one kind of core.
    pub fn is_kernel(&self) -> bool {
        matches!(self.kind, FunctionKind::Kernel(_))
    }

    /// Whether it is only named here, and its body is elsewhere.
    pub fn is_declaration(&self) -> bool {
        self.kind == FunctionKind::Helper && self.blocks[self.body].ops.is_empty()
    }

    pub fn param_values(&self) -> &[Value] {
        &self.blocks[self.body].args
    }

    pub fn add_param(&mut self, name: impl Into<String>, direction: Direction, ty: Type) -> Value {
        let name = name.into();
        let value = self.add_arg(self.body, ty, Some(name.clone()));
        self.params.push(Param { name, direction });
        value
    }

    pub fn add_block(&mut self) -> Block {
        self.blocks.push(BlockData::default())
    }

    pub fn add_arg(&mut self, block: Block, ty: Type, name: Option<String>) -> Value {
        let index = self.blocks[block].args.len() as u32;
        let value = self.values.push(ValueData { ty, def: Def::Arg(block, index), name });
        self.blocks[block].args.push(value);
        value
    }

    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value].ty
    }

    /// The first value of a type that no executor has, and what of the type that is.
    pub fn not_run(&self) -> Option<(Value, &'static str)> {
        self.values.iter().find_map(|(value, data)| Some((value, data.ty.not_run()?)))
    }

    /// The operation that defines a value, if it is not a block argument.
    pub fn def_op(&self, value: Value) -> Option<Op> {
        match self.values[value].def {
            Def::Result(op, _) => Some(op),
            Def::Arg(..) => None,
        }
    }

    /// The literal a value is defined by, if it is a `const` of integer, index or boolean type.
    pub fn const_int(&self, value: Value) -> Option<i64> {
        let op = &self.ops[self.def_op(value)?];
        if op.opcode != Opcode::Const {
            return None;
        }
        match op.attrs.get("value") {
            Some(crate::Attr::Int(v)) => Some(*v),
            Some(crate::Attr::Bool(b)) => Some(*b as i64),
            _ => None,
        }
    }

    /// All operations in program order: each before the operations of its regions.
    pub fn walk(&self) -> Vec<Op> {
        fn go(f: &Function, block: Block, out: &mut Vec<Op>) {
            for &op in &f.blocks[block].ops {
                out.push(op);
                for &region in &f.ops[op].regions {
                    go(f, region, out);
                }
            }
        }
        let mut out = Vec::new();
        go(self, self.body, &mut out);
        out
    }

    /// Every use of a value as an operand or destination, in program order.
    pub fn users(&self, value: Value) -> Vec<Op> {
        let mut ops = self.walk();
        ops.retain(|&op| self.ops[op].operands.contains(&value) || self.ops[op].dests.contains(&value));
        ops
    }
}
