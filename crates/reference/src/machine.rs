//! The interpreter: control flow, scalars, scopes.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use diag::Diagnostic;
use dtype::scalar::{self, BinaryOp, CmpOp, ScalarError};
use dtype::{DType, Profile, Scalar};
use ir::{Function, Op};
use memory::Arg;

use crate::arena::{Arena, TileValue};
use crate::code::{Body, Code, Instr, Slot};
use crate::global::{Globals, Tensor};
use crate::problem::{Fail, Problem, Result};
use crate::{Observer, Options, Outcome, Point};

/// Runs of one program. `DEFINED`: definedness is tracked.
pub(crate) struct Machine<'a, const DEFINED: bool> {
    func: &'a Function,
    pub(crate) profile: Profile,
    pub(crate) arena: Arena,
    pub(crate) globals: Globals,
    args: Vec<Arg>,
    tasks: u32,
    watch: Watch<'a>,
}

/// Who looks at a run from outside.
pub(crate) struct Watch<'a> {
    pub(crate) observer: Option<&'a mut dyn Observer>,
    pub(crate) interrupt: &'a AtomicBool,
}

impl Watch<'_> {
    fn interrupted(&self) -> Result<()> {
        if self.interrupt.load(Relaxed) {
            return Err(Problem::error("interrupted", "the run was interrupted".to_owned()));
        }
        Ok(())
    }
}

/// A fixed number of scalars or task ids, and which of them are undefined.
pub(crate) struct Array {
    values: Vec<u64>,
    undefined: Vec<bool>,
}

/// The state of one block of a scope, or of the function outside scopes.
pub(crate) struct Frame {
    pc: usize,
    pub(crate) scalars: Vec<u64>,
    /// Per scalar, whether it is undefined; empty if that is not tracked.
    pub(crate) undefined: Vec<bool>,
    tiles: Vec<Option<TileValue>>,
    tensors: Vec<Option<Rc<Tensor>>>,
    arrays: Vec<Option<Rc<RefCell<Array>>>>,
    task: u32,
    block: u32,
    blocks: u32,
    /// How often each tile or tensor operation ran, for the observer.
    counts: Vec<u32>,
}

/// Why a frame stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    End,
    /// At a `syncall`, behind which it goes on.
    Sync,
}

impl Frame {
    fn new(body: &Body, defined: bool) -> Frame {
        Frame {
            pc: 0,
            scalars: body.scalars.clone(),
            undefined: if defined { vec![false; body.scalars.len()] } else { Vec::new() },
            tiles: vec![None; body.tiles as usize],
            tensors: vec![None; body.tensors as usize],
            arrays: vec![None; body.arrays as usize],
            task: 0,
            block: 0,
            blocks: 1,
            counts: Vec::new(),
        }
    }

    pub(crate) fn tile(&self, slot: u32) -> Result<&TileValue> {
        self.tiles[slot as usize].as_ref().ok_or_else(unset)
    }

    pub(crate) fn set_tile(&mut self, slot: u32, tile: TileValue) {
        self.tiles[slot as usize] = Some(tile);
    }

    pub(crate) fn tensor(&self, slot: u32) -> Result<&Rc<Tensor>> {
        self.tensors[slot as usize].as_ref().ok_or_else(unset)
    }

    pub(crate) fn set_tensor(&mut self, slot: u32, tensor: Tensor) {
        self.tensors[slot as usize] = Some(Rc::new(tensor));
    }

    fn array(&self, slot: u32) -> Result<&Rc<RefCell<Array>>> {
        self.arrays[slot as usize].as_ref().ok_or_else(unset)
    }

    pub(crate) fn int(&self, slot: u32) -> i64 {
        self.scalars[slot as usize] as i64
    }

    pub(crate) fn scalar(&self, slot: u32, dtype: DType) -> Scalar {
        Scalar::new(dtype, self.scalars[slot as usize])
    }
}

/// The verifier refuses such IR.
fn unset() -> Fail {
    Problem::error("malformed-ir", "a value is used before it is defined".to_owned())
}

fn scalar_problem(e: ScalarError) -> Fail {
    Problem::error("scalar-operation", e.to_string())
}

/// With the operands, which the error of the arithmetic itself does not know.
fn arithmetic_problem(op: BinaryOp, x: Scalar, y: Scalar, e: ScalarError) -> Fail {
    let code = match e {
        ScalarError::DivisionByZero => "division-by-zero",
        ScalarError::NegativeShift => "negative-shift",
        _ => "scalar-operation",
    };
    Problem::error(code, format!("{e}: {op:?} of {x} and {y} ({})", x.dtype))
}

impl<'a, const DEFINED: bool> Machine<'a, DEFINED> {
    pub(crate) fn new(
        func: &'a Function,
        args: &[Arg],
        options: &Options,
        watch: Watch<'a>,
    ) -> std::result::Result<Machine<'a, DEFINED>, Box<Diagnostic>> {
        let mut globals = Globals::new(DEFINED);
        globals.bind(func, args)?;
        Ok(Machine {
            func,
            profile: options.profile,
            arena: Arena::new(DEFINED),
            globals,
            args: args.to_vec(),
            tasks: 0,
            watch,
        })
    }

    pub(crate) fn execute(mut self, code: &Code) -> std::result::Result<Outcome, Box<Diagnostic>> {
        let mut frame = Frame::new(&code.main, DEFINED);
        let (mut scalar, mut tensor) = (0, 0);
        // Parameters have the first slots of their files, in order.
        for (index, arg) in self.args.iter().enumerate() {
            match arg {
                Arg::Scalar(s) => {
                    frame.scalars[scalar] = s.bits;
                    scalar += 1;
                }
                Arg::Tensor(view) => {
                    frame.set_tensor(tensor, Tensor { view: view.clone(), global: index as u32 });
                    tensor += 1;
                }
            }
        }
        match self.run(code, &code.main, &mut frame)? {
            Stop::End => {}
            Stop::Sync => return Err(Box::new(Diagnostic::error("malformed-ir", "a `syncall` outside a scope"))),
        }
        let returned = code.main.returns.iter().map(|&slot| frame.tensor(slot).cloned());
        let returned: Vec<Rc<Tensor>> = returned.collect::<Result<_>>().map_err(|e| Box::new(e.at(None)))?;
        let outcome = self.globals.outcome(&self.args, &returned, self.tasks);
        outcome.map_err(|e| Box::new(e.at(None)))
    }

    fn run(&mut self, code: &Code, body: &Body, frame: &mut Frame) -> std::result::Result<Stop, Box<Diagnostic>> {
        self.steps(code, body, frame).map_err(|e| match e {
            Failure::Here(problem) => Box::new(problem.at(self.func.ops[body.ops[frame.pc]].span)),
            Failure::Inside(diagnostic) => diagnostic,
        })
    }

    /// Runs until the frame ends or waits. On a failure the frame's `pc` is that of the instruction.
    fn steps(&mut self, code: &Code, body: &Body, frame: &mut Frame) -> std::result::Result<Stop, Failure> {
        let mut pc = frame.pc;
        // Evaluates to the value; leaves the loop with the place on a failure.
        macro_rules! place {
            ($e:expr) => {
                match $e {
                    Ok(v) => v,
                    Err(e) => {
                        frame.pc = pc;
                        return Err(e.into());
                    }
                }
            };
        }
        macro_rules! set {
            ($dst:expr, $value:expr, $from:expr) => {{
                let value = $value;
                frame.scalars[$dst as usize] = value;
                if DEFINED {
                    let from: &[u32] = &$from;
                    frame.undefined[$dst as usize] = from.iter().any(|&s| frame.undefined[s as usize]);
                }
            }};
        }
        macro_rules! get {
            ($slot:expr) => {
                frame.scalars[$slot as usize]
            };
        }
        loop {
            match body.code[pc] {
                Instr::Scalar { dst, src } => set!(dst, get!(src), [src]),
                Instr::MoveTile { dst, src } => frame.tiles[dst as usize] = frame.tiles[src as usize].clone(),
                Instr::MoveTensor { dst, src } => frame.tensors[dst as usize] = frame.tensors[src as usize].clone(),
                Instr::MoveArray { dst, src } => frame.arrays[dst as usize] = frame.arrays[src as usize].clone(),
                Instr::Jump(target) => {
                    if (target as usize) < pc {
                        place!(self.watch.interrupted());
                    }
                    pc = target as usize;
                    continue;
                }
                Instr::Unless { condition, target } => {
                    if DEFINED && frame.undefined[condition as usize] {
                        place!(Err(undefined("undefined-branch", "the condition of a branch is undefined")));
                    }
                    if get!(condition) == 0 {
                        pc = target as usize;
                        continue;
                    }
                }
                Instr::Enter { trips, lower, upper, step, dtype, exit } => {
                    if DEFINED && [lower, upper, step].iter().any(|&s| frame.undefined[s as usize]) {
                        place!(Err(undefined("undefined-branch", "a bound of a loop is undefined")));
                    }
                    let int = |slot| wide(frame.scalar(slot, dtype));
                    let count = place!(trip_count(int(lower), int(upper), int(step)));
                    frame.scalars[trips as usize] = count;
                    if count == 0 {
                        pc = exit as usize;
                        continue;
                    }
                }
                Instr::Next { var, step, trips, top, dtype } => {
                    let next = get!(var).wrapping_add(get!(step));
                    frame.scalars[var as usize] = Scalar::new(dtype, next).bits;
                    frame.scalars[trips as usize] -= 1;
                    if get!(trips) != 0 {
                        place!(self.watch.interrupted());
                        pc = top as usize;
                        continue;
                    }
                }
                Instr::Add64 { dst, a, b } => set!(dst, get!(a).wrapping_add(get!(b)), [a, b]),
                Instr::Sub64 { dst, a, b } => set!(dst, get!(a).wrapping_sub(get!(b)), [a, b]),
                Instr::Mul64 { dst, a, b } => set!(dst, get!(a).wrapping_mul(get!(b)), [a, b]),
                Instr::Cmp64 { op, dst, a, b } => {
                    let (x, y) = (get!(a) as i64, get!(b) as i64);
                    let holds = match op {
                        CmpOp::Eq => x == y,
                        CmpOp::Ne => x != y,
                        CmpOp::Lt => x < y,
                        CmpOp::Le => x <= y,
                        CmpOp::Gt => x > y,
                        CmpOp::Ge => x >= y,
                    };
                    set!(dst, holds as u64, [a, b]);
                }
                Instr::Binary { op, dtype, dst, a, b } => {
                    let (x, y) = (frame.scalar(a, dtype), frame.scalar(b, dtype));
                    let value = place!(scalar::binary(op, x, y).map_err(|e| arithmetic_problem(op, x, y, e)));
                    set!(dst, value.bits, [a, b]);
                }
                Instr::Cmp { op, dtype, dst, a, b } => {
                    let (x, y) = (frame.scalar(a, dtype), frame.scalar(b, dtype));
                    let value = place!(scalar::compare(op, x, y).map_err(scalar_problem));
                    set!(dst, value.bits, [a, b]);
                }
                Instr::Not { dtype, dst, a } => {
                    let value = place!(scalar::not(frame.scalar(a, dtype)).map_err(scalar_problem));
                    set!(dst, value.bits, [a]);
                }
                Instr::Neg { dtype, dst, a } => {
                    let value = place!(scalar::neg(frame.scalar(a, dtype)).map_err(scalar_problem));
                    set!(dst, value.bits, [a]);
                }
                Instr::Cast { from, to, dst, a } => {
                    set!(dst, scalar::cast(frame.scalar(a, from), to).bits, [a]);
                }
                Instr::Select { dst, condition, a, b } => {
                    let taken = if get!(condition) != 0 { a } else { b };
                    set!(dst, get!(taken), [condition, taken]);
                }
                Instr::BlockCount { dst } => set!(dst, frame.blocks as u64, []),
                Instr::ArrayCreate { dst, len, fill } => {
                    let len = place!(usize::try_from(len).map_err(|_| too_long(len)));
                    let array = Array { values: vec![fill; len], undefined: vec![false; len] };
                    frame.arrays[dst as usize] = Some(Rc::new(RefCell::new(array)));
                }
                Instr::ArrayGet { dst, array, index } => {
                    let at = place!(element::<DEFINED>(frame, array, index));
                    let array = place!(frame.array(array)).borrow();
                    let (value, undefined) = (array.values[at], array.undefined[at]);
                    drop(array);
                    frame.scalars[dst as usize] = value;
                    if DEFINED {
                        frame.undefined[dst as usize] = undefined;
                    }
                }
                Instr::ArraySet { array, index, src } => {
                    let at = place!(element::<DEFINED>(frame, array, index));
                    let mut array = place!(frame.array(array)).borrow_mut();
                    array.values[at] = get!(src);
                    array.undefined[at] = DEFINED && frame.undefined[src as usize];
                }
                Instr::Tensor(number) => {
                    let op = &body.tensor_ops[number as usize];
                    place!(self.tensor_op(op, frame));
                }
                Instr::Tile(number) => {
                    let op = &body.tile_ops[number as usize];
                    place!(self.watch.interrupted());
                    place!(self.tile_op(op, frame));
                }
                Instr::Scope { scope, blocks, dst } => {
                    let blocks = place!(launch::<DEFINED>(frame, blocks));
                    let task = self.tasks;
                    self.tasks += 1;
                    place!(self.scope(code, &code.scopes[scope as usize], frame, task, blocks));
                    set!(dst, task as u64, []);
                }
                Instr::Sync => {
                    frame.pc = pc + 1;
                    return Ok(Stop::Sync);
                }
                Instr::End => {
                    frame.pc = pc;
                    return Ok(Stop::End);
                }
            }
            pc += 1;
        }
    }

    /// One task: every block of the launch.
    fn scope(
        &mut self,
        code: &Code,
        body: &Body,
        outer: &Frame,
        task: u32,
        blocks: u32,
    ) -> std::result::Result<(), Failure> {
        if !body.syncs {
            for block in 0..blocks {
                let mut frame = self.enter(body, outer, task, block, blocks)?;
                self.run(code, body, &mut frame)?;
            }
            return Ok(());
        }
        let frames = (0..blocks).map(|block| self.enter(body, outer, task, block, blocks));
        let mut frames: Vec<Frame> = frames.collect::<Result<_>>()?;
        loop {
            let mut stops = Vec::with_capacity(frames.len());
            for frame in &mut frames {
                stops.push(self.run(code, body, frame)?);
            }
            let waiting = stops.iter().position(|&s| s == Stop::Sync);
            let ended = stops.iter().position(|&s| s == Stop::End);
            match (waiting, ended) {
                (None, _) => return Ok(()),
                (Some(_), None) => {}
                (Some(w), Some(e)) => {
                    let message = format!(
                        "block {w} of {blocks} waits at a `syncall` that block {e} never reaches: it has ended"
                    );
                    let span = self.func.ops[body.ops[frames[w].pc - 1]].span;
                    return Err(Failure::Inside(Box::new(Problem::error("deadlock", message).at(span))));
                }
            }
        }
    }

    fn enter(&self, body: &Body, outer: &Frame, task: u32, block: u32, blocks: u32) -> Result<Frame> {
        self.watch.interrupted()?;
        let mut frame = Frame::new(body, DEFINED);
        (frame.task, frame.block, frame.blocks) = (task, block, blocks);
        for &(from, to) in &body.captures {
            match (from, to) {
                (Slot::Scalar(from), Slot::Scalar(to)) => {
                    frame.scalars[to as usize] = outer.scalars[from as usize];
                    if DEFINED {
                        frame.undefined[to as usize] = outer.undefined[from as usize];
                    }
                }
                (Slot::Tensor(from), Slot::Tensor(to)) => {
                    frame.tensors[to as usize] = outer.tensors[from as usize].clone();
                }
                (Slot::Array(from), Slot::Array(to)) => {
                    frame.arrays[to as usize] = outer.arrays[from as usize].clone();
                }
                // Flattening refuses tiles that cross, and keeps the kinds of both ends equal.
                _ => {}
            }
        }
        if let Some(slot) = body.block_index {
            frame.scalars[slot as usize] = block as u64;
        }
        Ok(frame)
    }

    pub(crate) fn observed(&self) -> bool {
        self.watch.observer.is_some()
    }

    /// Tells the observer that `op` has made its value.
    pub(crate) fn report(&mut self, op: Op, frame: &mut Frame, digest: u64) {
        let Some(observer) = self.watch.observer.as_deref_mut() else {
            return;
        };
        let index = ir::Entity::index(op);
        if frame.counts.len() <= index {
            frame.counts.resize(index + 1, 0);
        }
        let nth = frame.counts[index];
        frame.counts[index] += 1;
        observer.value(Point { task: frame.task, block: frame.block, op, nth }, digest);
    }
}

/// A failure of this frame's instruction, or one inside a task that has its place already.
enum Failure {
    Here(Fail),
    Inside(Box<Diagnostic>),
}

impl From<Fail> for Failure {
    fn from(e: Fail) -> Failure {
        Failure::Here(e)
    }
}

impl From<Box<Diagnostic>> for Failure {
    fn from(e: Box<Diagnostic>) -> Failure {
        Failure::Inside(e)
    }
}

pub(crate) fn undefined(code: &'static str, message: &str) -> Fail {
    Problem::undefined(code, message.to_owned())
}

fn too_long(len: u64) -> Fail {
    Problem::error("bad-extent", format!("an array of {len} elements"))
}

/// An integer scalar of any type, exactly.
fn wide(s: Scalar) -> i128 {
    match s.dtype {
        DType::U64 => s.bits as i128,
        _ => s.as_i64().unwrap_or(0) as i128,
    }
}

fn trip_count(lower: i128, upper: i128, step: i128) -> Result<u64> {
    if step == 0 {
        return Err(Problem::error("zero-step", format!("a loop from {lower} to {upper} with step 0")));
    }
    let (distance, step) = if step > 0 { (upper - lower, step) } else { (lower - upper, -step) };
    Ok(if distance <= 0 { 0 } else { ((distance + step - 1) / step) as u64 })
}

/// The number of blocks of a launch.
fn launch<const DEFINED: bool>(frame: &Frame, blocks: Option<u32>) -> Result<u32> {
    let Some(slot) = blocks else {
        return Ok(1);
    };
    if DEFINED && frame.undefined[slot as usize] {
        return Err(undefined("undefined-branch", "the number of blocks of a launch is undefined"));
    }
    match u32::try_from(frame.int(slot)) {
        Ok(n) if n > 0 => Ok(n),
        _ => {
            let n = frame.int(slot);
            Err(Problem::error("bad-launch", format!("a launch of {n} blocks; at least one is needed")))
        }
    }
}

/// The place of an array access.
fn element<const DEFINED: bool>(frame: &Frame, array: u32, index: u32) -> Result<usize> {
    if DEFINED && frame.undefined[index as usize] {
        return Err(undefined("undefined-index", "the index of an array access is undefined"));
    }
    let len = frame.array(array)?.borrow().values.len();
    let at = frame.int(index);
    usize::try_from(at)
        .ok()
        .filter(|&at| at < len)
        .ok_or_else(|| Problem::error("out-of-bounds", format!("element {at} of an array of {len}")))
}
