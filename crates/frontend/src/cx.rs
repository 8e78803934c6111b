//! The state of a specialisation, and how operations are emitted.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use chip::Arch;
use diag::{Diagnostic, Span};
use dtype::{DType, Scalar};
use ir::builder::{NewOp, attrs, const_scalar};
use ir::infer::TypeError;
use ir::{
    Attr, Attrs, Block, Builder, Def, Entity, Function, FunctionKind, Op, Opcode, TensorType, TileType, Type, Value,
};
use ruff_text_size::{Ranged, TextRange};

use crate::affine::Affine;
use crate::liveness::{Live, Liveness, Names};
use crate::source::{Files, Parsed};
use crate::value::{Binding, Held, Table};
use crate::{Environment, FunctionId, Lookup};

/// Why a piece of the program has no value.
#[derive(Debug)]
pub(crate) enum Fail {
    /// To be reported by whoever executes the statement.
    Error(Box<Diagnostic>),
    /// Reported already.
    Reported,
}

pub(crate) type Res<T> = Result<T, Fail>;

/// Errors after which a specialisation gives up: more would be noise.
pub(crate) const MOST_ERRORS: usize = 500;

/// The program so far, with what is known about its values.
pub(crate) struct Program {
    pub(crate) func: Function,
    pub(crate) block: Block,
    /// Pure operations of the blocks that are open, so that equal ones are one value.
    open: Vec<(Block, BTreeMap<Key, Value>)>,
    pub(crate) affine: BTreeMap<Value, Affine>,
    /// Tiles whose element type in the language is narrower than their value (semantics rule 9).
    pub(crate) language: BTreeMap<Value, DType>,
    /// Valid extents of tiles where they are not those of the type.
    pub(crate) valid: BTreeMap<Value, Vec<Held>>,
    /// Valid extents of views that were taken with a `valid_shape`: what is loaded from them is valid that far.
    pub(crate) valid_views: BTreeMap<Value, Vec<Held>>,
    /// Run-time extents of tensors, where known as scalars.
    pub(crate) dims: BTreeMap<Value, Vec<Held>>,
    /// Scalars that come from literals alone, through loops and branches: they still adopt the type beside them.
    pub(crate) weak: BTreeSet<Value>,
    /// Values that the language calls tiles ([`crate::kinds`]).
    pub(crate) tiles: BTreeSet<Value>,
    /// Loads that have been made again in parts.
    pub(crate) in_parts: BTreeSet<Value>,
    /// The entry parameter that a tensor is a view of.
    pub(crate) root: BTreeMap<Value, usize>,
}

/// How far a program had come: [`Program::rollback`] forgets what was added since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    ops: usize,
    values: usize,
    blocks: usize,
    open: usize,
    block: Block,
}

impl Program {
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            ops: self.func.ops.len(),
            values: self.func.values.len(),
            blocks: self.func.blocks.len(),
            open: self.open.len(),
            block: self.block,
        }
    }

    /// Only open blocks have been added to since, and nothing that was there has been changed.
    pub(crate) fn rollback(&mut self, mark: Mark) {
        self.block = mark.block;
        self.open.truncate(mark.open);
        for (block, known) in &mut self.open {
            self.func.blocks[*block].ops.retain(|op| op.index() < mark.ops);
            known.retain(|_, value| value.index() < mark.values);
        }
        self.func.ops.truncate(mark.ops);
        self.func.values.truncate(mark.values);
        self.func.blocks.truncate(mark.blocks);
        let first = Value::new(mark.values);
        self.affine.split_off(&first);
        self.language.split_off(&first);
        self.valid.split_off(&first);
        self.valid_views.split_off(&first);
        self.dims.split_off(&first);
        self.weak.split_off(&first);
        self.tiles.split_off(&first);
        self.in_parts.split_off(&first);
        self.root.split_off(&first);
    }
}

type Key = (Opcode, Vec<Value>, String);

/// Where code stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Orchestration,
    Scope(ScopePlace),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScopePlace {
    pub(crate) op: Op,
    /// The block index, in a scope of several blocks.
    pub(crate) block_index: Option<Value>,
    /// The scope's body is to be one inner `pl.at` or kernel call, which opens no scope of its own.
    pub(crate) carrier: bool,
}

/// One of a cluster's vector cores, and the axis of a product that the two share, if they do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    pub(crate) number: i64,
    pub(crate) axis: Option<usize>,
}

/// A function being spliced.
pub(crate) struct Frame {
    pub(crate) function: FunctionId,
    pub(crate) parsed: Rc<Parsed>,
    pub(crate) names: Table,
    pub(crate) liveness: Rc<Liveness>,
    /// Names whose tile may change in place.
    pub(crate) targets: Rc<Names>,
    /// Parameters declared `Out` or `InOut`.
    pub(crate) outputs: Names,
    /// Extents by `dynamic` id: an argument and its axis.
    pub(crate) dynamic: BTreeMap<u64, (Value, usize)>,
    /// Names and values of the last `yield_` in the loop body being executed.
    pub(crate) yielded: Option<Vec<(String, Held)>>,
    /// Where the loops being executed stand, and their kinds.
    pub(crate) loops: Vec<(Place, &'static str)>,
    /// Names that are assigned in a branch that was decided against at compile time, and where.
    pub(crate) pruned: BTreeMap<String, Span>,
    /// The call that this function is spliced for.
    pub(crate) call: Option<Span>,
}

pub(crate) struct Cx<'e> {
    pub(crate) environment: &'e dyn Environment,
    pub(crate) arch: Arch,
    pub(crate) files: Files,
    pub(crate) program: Program,
    pub(crate) place: Place,
    pub(crate) span: Option<Span>,
    pub(crate) frames: Vec<Frame>,
    /// Extents of the entry's parameters by `dynamic` id: parameter value and axis.
    pub(crate) dynamic: BTreeMap<u64, (Value, usize)>,
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) lookups: Vec<Lookup>,
    /// Where in `lookups` a name is.
    pub(crate) asked: BTreeMap<(FunctionId, Vec<String>), usize>,
    pub(crate) scopes: u32,
    /// Within a `pl.manual_scope()`: tasks follow what they say alone.
    pub(crate) manual: bool,
    /// Where names of outputs have been bound to something else, by parameter.
    pub(crate) rebound: BTreeMap<usize, (String, Option<Span>)>,
    /// Copies that the `pl.unroll` loops around make of what stands here.
    pub(crate) copies: i64,
    /// How many values there were before the loop being built.
    pub(crate) outer_values: usize,
    /// How many expressions are being evaluated, one in another.
    pub(crate) depth: usize,
    /// Names read after the assignment being made.
    pub(crate) read_later: Rc<Names>,
    /// The lane of a `pl.split_aiv` that code stands in.
    pub(crate) lane: Option<Lane>,
    /// The operation of the language being called, for messages.
    pub(crate) face: Option<&'static str>,
}

impl<'e> Cx<'e> {
    pub(crate) fn new(environment: &'e dyn Environment, arch: Arch, name: &str) -> Cx<'e> {
        let func = Function::new(name, FunctionKind::Orchestration);
        let block = func.body;
        let program = Program {
            func,
            block,
            open: vec![(block, BTreeMap::new())],
            affine: BTreeMap::new(),
            language: BTreeMap::new(),
            valid: BTreeMap::new(),
            valid_views: BTreeMap::new(),
            dims: BTreeMap::new(),
            weak: BTreeSet::new(),
            tiles: BTreeSet::new(),
            in_parts: BTreeSet::new(),
            root: BTreeMap::new(),
        };
        Cx {
            environment,
            arch,
            files: Files::default(),
            program,
            place: Place::Orchestration,
            span: None,
            frames: Vec::new(),
            dynamic: BTreeMap::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            lookups: Vec::new(),
            asked: BTreeMap::new(),
            scopes: 0,
            manual: false,
            rebound: BTreeMap::new(),
            copies: 1,
            outer_values: 0,
            depth: 0,
            read_later: Rc::default(),
            lane: None,
            face: None,
        }
    }

    // Frames and names.

    pub(crate) fn frame(&self) -> &Frame {
        self.frames.last().expect("a function is being spliced")
    }

    pub(crate) fn frame_mut(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a function is being spliced")
    }

    pub(crate) fn bind(&mut self, name: &str, held: Held, span: Option<Span>) {
        if let Held::Ir(value) = held
            && self.program.func.values[value].name.is_none()
            && self.program.func.def_op(value).is_none_or(|op| self.program.func.ops[op].opcode != Opcode::Const)
        {
            self.program.func.values[value].name = Some(name.to_owned());
        }
        self.frame_mut().names.insert(name.to_owned(), Binding { held, span });
    }

    pub(crate) fn live(&self, stmt: impl Ranged) -> Live {
        self.frame().liveness.around(stmt)
    }

    // Errors.

    pub(crate) fn span_of(&self, range: impl Ranged) -> Option<Span> {
        self.frames.last().map(|f| f.parsed.span(range.range()))
    }

    pub(crate) fn text(&self, range: impl Ranged) -> String {
        let text = self.frame().parsed.text(range);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn error(&self, code: &'static str, at: impl Ranged, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, message).at(self.span_of(at), "")
    }

    pub(crate) fn unsupported(&self, code: &'static str, at: impl Ranged, message: impl Into<String>) -> Diagnostic {
        Diagnostic::unsupported(code, message).at(self.span_of(at), "")
    }

    pub(crate) fn report(&mut self, fail: Fail) {
        if let Fail::Error(diagnostic) = fail {
            let mut diagnostic = *diagnostic;
            for frame in self.frames.iter().rev() {
                diagnostic = diagnostic.also(frame.call, "in this call");
            }
            if self.errors.len() < MOST_ERRORS && !self.errors.contains(&diagnostic) {
                self.errors.push(diagnostic);
            }
        }
    }

    pub(crate) fn warn(&mut self, diagnostic: Diagnostic) {
        if !self.warnings.contains(&diagnostic) {
            self.warnings.push(diagnostic);
        }
    }

    /// Puts the operations of `f` at the place of a node.
    pub(crate) fn at<T>(&mut self, range: TextRange, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.span;
        self.span = self.span_of(range);
        let result = f(self);
        self.span = before;
        result
    }

    /// An error of the type rules, at a node.
    pub(crate) fn type_error(&self, error: TypeError, at: impl Ranged) -> Fail {
        let code = match &error {
            TypeError::DType { .. } => "dtype-mismatch",
            TypeError::Unsupported { .. } => "dtype-unsupported",
            TypeError::SameType(_) => "same-dtype-cast",
            TypeError::Kind { .. } | TypeError::NotInferred { .. } => "wrong-argument",
            _ => "shape-mismatch",
        };
        let help = matches!(error, TypeError::DType { .. }).then_some("convert one of them with `pl.cast`");
        let mut message = error.to_string();
        if let (Some(face), Some(opcode)) = (self.face, message.split(' ').find_map(Opcode::from_name)) {
            message = message.replacen(opcode.name(), &format!("`pl.{face}`"), 1);
        }
        if let TypeError::DType { a, b, .. } = &error {
            message =
                message.replace(&format!("{a} and {b}"), &format!("{} and {}", a.language_name(), b.language_name()));
        }
        let mut diagnostic = self.error(code, at, message);
        diagnostic.help = help.map(str::to_owned);
        diagnostic.into()
    }

    // Emission.

    pub(crate) fn in_scope(&self) -> bool {
        matches!(self.place, Place::Scope(_))
    }

    pub(crate) fn builder(&mut self) -> Builder<'_> {
        let (block, span) = (self.program.block, self.span);
        let mut b = Builder::new(&mut self.program.func);
        b.switch_to(block);
        b.span = span;
        b
    }

    pub(crate) fn ty(&self, value: Value) -> &Type {
        self.program.func.ty(value)
    }

    pub(crate) fn tile(&self, value: Value) -> Option<&TileType> {
        self.ty(value).as_tile()
    }

    pub(crate) fn tensor(&self, value: Value) -> Option<&TensorType> {
        self.ty(value).as_tensor()
    }

    /// An operation with one result of a stated type.
    pub(crate) fn result(&mut self, opcode: Opcode, groups: &[&[Value]], ty: Type, attrs: Attrs) -> Value {
        self.builder().result(opcode, groups, ty, attrs)
    }

    pub(crate) fn effect(&mut self, opcode: Opcode, groups: &[&[Value]], attrs: Attrs) -> Op {
        self.builder().effect(opcode, groups, attrs)
    }

    /// A tile operation whose result type follows from its operands.
    pub(crate) fn infer(&mut self, opcode: Opcode, groups: &[&[Value]], attrs: Attrs, at: TextRange) -> Res<Value> {
        let result = self.builder().infer(opcode, groups, attrs);
        let value = result.map_err(|e| self.type_error(e, at))?;
        self.propagate_valid(value, groups);
        Ok(value)
    }

    /// A pure scalar operation: an equal one in an open block is reused.
    pub(crate) fn pure(&mut self, opcode: Opcode, operands: &[Value], ty: Type, attributes: Attrs) -> Value {
        let key: Key = (opcode, operands.to_vec(), format!("{ty:?}{attributes:?}"));
        // Literals are not captured by scopes: a kernel has its own.
        let visible = if opcode == Opcode::Const { self.local_blocks() } else { 0 };
        if let Some(value) = self.program.open[visible..].iter().rev().find_map(|(_, known)| known.get(&key)) {
            return *value;
        }
        let groups: Vec<&[Value]> = operands.chunks(1).collect();
        let value = if opcode == Opcode::Const {
            self.result(opcode, &[], ty, attributes)
        } else {
            self.result(opcode, &groups, ty, attributes)
        };
        if let Some((_, known)) = self.program.open.last_mut() {
            known.insert(key, value);
        }
        value
    }

    /// The first open block that belongs to the scope around, if there is one.
    fn local_blocks(&self) -> usize {
        let Place::Scope(scope) = self.place else { return 0 };
        let outside =
            |(block, _): &(Block, BTreeMap<Key, Value>)| self.program.func.blocks[*block].parent != Some(scope.op);
        self.program.open.iter().take_while(|level| outside(level)).count()
    }

    pub(crate) fn constant(&mut self, scalar: Scalar) -> Value {
        let attr = match scalar.dtype {
            DType::Bool => Attr::Bool(scalar.is_true()),
            d if d.is_float() => Attr::Float(scalar.as_f64()),
            _ => Attr::Int(scalar.as_i64().unwrap_or(0)),
        };
        self.pure(Opcode::Const, &[], Type::Scalar(scalar.dtype), attrs([("value", attr)]))
    }

    pub(crate) fn index(&mut self, value: i64) -> Value {
        self.constant(Scalar::index(value))
    }

    /// The literal behind a run-time scalar, if it is one.
    pub(crate) fn literal(&self, value: Value) -> Option<Scalar> {
        const_scalar(&self.program.func, value)
    }

    /// The integer that something is at compile time.
    pub(crate) fn known_int(&self, held: &Held) -> Option<i64> {
        match held {
            Held::Int(v) => Some(*v),
            Held::Ir(v) => self.literal(*v).and_then(|s| s.as_i64()).or_else(|| self.affine(held)?.known()),
            _ => None,
        }
    }

    /// The linear form of an integer.
    pub(crate) fn affine(&self, held: &Held) -> Option<Affine> {
        match held {
            Held::Int(v) => Some(Affine::constant(*v)),
            Held::Ir(v) => {
                if let Some(form) = self.program.affine.get(v) {
                    return Some(form.clone());
                }
                match self.literal(*v) {
                    Some(s) => s.as_i64().map(Affine::constant),
                    None => self.ty(*v).as_scalar().filter(|d| d.is_int()).map(|_| Affine::value(*v)),
                }
            }
            _ => None,
        }
    }

    // Blocks.

    /// Continues in a region; returns the block left, for [`Cx::leave`].
    pub(crate) fn enter(&mut self, block: Block) -> Block {
        self.program.open.push((block, BTreeMap::new()));
        std::mem::replace(&mut self.program.block, block)
    }

    pub(crate) fn leave(&mut self, back: Block) {
        self.program.open.pop();
        self.program.block = back;
    }

    /// Emits in front of an operation that is not in the current block: `f` must use only values defined before it.
    pub(crate) fn before<T>(&mut self, op: Op, f: impl FnOnce(&mut Self) -> T) -> T {
        let block = self.program.func.ops[op].block;
        let position = |func: &Function| func.blocks[block].ops.iter().position(|&o| o == op);
        // Values known in the regions of `op` are not visible in front of it.
        let level = self.program.open.iter().position(|(b, _)| *b == block).map_or(0, |i| i + 1);
        let inner = self.program.open.split_off(level);
        let back = self.enter(block);
        let end = self.program.func.blocks[block].ops.len();
        let span = self.span;
        let result = f(self);
        self.span = span;
        self.leave(back);
        self.program.open.extend(inner);
        if let Some(at) = position(&self.program.func) {
            let ops = &mut self.program.func.blocks[block].ops;
            let added: Vec<Op> = ops.drain(end..).collect();
            ops.splice(at..at, added);
        }
        result
    }

    /// Whether a value is defined in a region of `op` (at any depth).
    pub(crate) fn defined_in(&self, value: Value, op: Op) -> bool {
        let func = &self.program.func;
        let mut block = match func.values[value].def {
            Def::Arg(block, _) => block,
            Def::Result(by, _) => func.ops[by].block,
        };
        while let Some(parent) = func.blocks[block].parent {
            if parent == op {
                return true;
            }
            block = func.ops[parent].block;
        }
        false
    }

    /// Replaces every use of a value, of which there is none before `from`.
    pub(crate) fn replace(&mut self, old: Value, new: Value, from: Op) {
        let func = &mut self.program.func;
        for op in (from.index()..func.ops.len()).map(Op::new) {
            let data = &mut func.ops[op];
            for v in data.operands.iter_mut().chain(data.dests.iter_mut()) {
                if *v == old {
                    *v = new;
                }
            }
        }
        for frame in &mut self.frames {
            for binding in frame.names.values_mut() {
                substitute(&mut binding.held, old, new);
            }
        }
    }

    pub(crate) fn new_op(&mut self, opcode: Opcode, groups: &[&[Value]], attrs: Attrs) -> Op {
        self.builder().op(NewOp { opcode, groups, dests: &[], results: &[], attrs })
    }

    /// What is valid of `value` is what is valid of `source`, which has the same shape.
    pub(crate) fn same_valid(&mut self, value: Value, source: Value) {
        if let Some(known) = self.program.valid.get(&source).cloned() {
            self.program.valid.insert(value, known);
        }
    }

    fn propagate_valid(&mut self, value: Value, groups: &[&[Value]]) {
        let Some(t) = self.tile(value) else { return };
        if t.valid.iter().all(|d| d.known().is_some()) {
            return;
        }
        // Known only where every partly valid operand of this shape has the same region.
        let shape = t.shape.clone();
        let mut regions = Vec::new();
        for &operand in groups.iter().flat_map(|g| g.iter()) {
            match self.tile(operand) {
                Some(t) if t.shape == shape && !t.is_fully_valid() => regions.push(self.program.valid.get(&operand)),
                _ => {}
            }
        }
        if let Some(Some(first)) = regions.first()
            && regions.iter().all(|r| *r == Some(first))
        {
            let first = (*first).clone();
            self.program.valid.insert(value, first);
        }
    }
}

pub(crate) fn substitute(held: &mut Held, old: Value, new: Value) {
    match held {
        Held::Ir(v) if *v == old => *v = new,
        Held::Tuple(items) => items.iter_mut().for_each(|h| substitute(h, old, new)),
        _ => {}
    }
}

impl From<Diagnostic> for Fail {
    fn from(diagnostic: Diagnostic) -> Fail {
        Fail::Error(Box::new(diagnostic))
    }
}

impl From<Box<Diagnostic>> for Fail {
    fn from(diagnostic: Box<Diagnostic>) -> Fail {
        Fail::Error(diagnostic)
    }
}
