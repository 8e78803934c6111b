//! Structured IR to linear code.
//!
//! Every SSA value gets a slot. Regions become straight code with jumps; a `yield` becomes moves to the slots of what it
//! defines (all sources are read before a destination that is one of them is written). Constants take no instruction.

mod scalar;
mod tensor;
mod tile;

use diag::Diagnostic;
use dtype::{DType, Profile};
use ir::{Block, Function, FunctionKind, Op, OpData, Opcode, Type, Value};

use crate::code::{Body, Code, Instr, JOIN, NO_TASK, Slot};

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// The linear code of a tensor-level entry. An error names an operation that this level does not have, or IR that the
/// verifier would have refused.
pub(crate) fn flatten(func: &Function, profile: Profile) -> Result<Code> {
    if func.kind != FunctionKind::Orchestration {
        let message = format!("`{}` is no entry of a tensor-level program: its kind is {:?}", func.name, func.kind);
        return Err(Box::new(Diagnostic::unsupported("not-tensor-level", message)));
    }
    if let Some((value, what)) = func.not_run() {
        let message = format!("values of `{what}` ({}) in `{}` do not run here", func.ty(value), func.name);
        let span = func.def_op(value).and_then(|op| func.ops[op].span);
        return Err(Box::new(Diagnostic::unsupported("unsupported-type", message).at(span, "here")));
    }
    let mut scopes = Vec::new();
    let mut main = Flattener::new(func, profile, false);
    for &param in func.param_values() {
        main.define(param)?;
    }
    main.block(func.body, &mut scopes, &Exit::Function)?;
    Ok(Code { main: main.body, scopes })
}

/// What the terminator of a block does.
enum Exit<'s> {
    Function,
    Scope,
    /// Moves its values to these slots; control goes on behind it.
    Yield(&'s [Slot]),
    /// The condition of a `while`: its values move to the arguments of the body, or to the results and out of the loop.
    Condition {
        body: &'s [Slot],
        results: &'s [Slot],
    },
}

struct Flattener<'a> {
    func: &'a Function,
    profile: Profile,
    in_scope: bool,
    slots: Vec<Option<Slot>>,
    /// Values of the surroundings that are used here, in order of first use.
    captured: Vec<(Value, Slot)>,
    body: Body,
    /// The operation that emitted instructions belong to.
    op: Op,
}

impl<'a> Flattener<'a> {
    fn new(func: &'a Function, profile: Profile, in_scope: bool) -> Flattener<'a> {
        let op = ir::Entity::new(0);
        let slots = vec![None; func.values.len()];
        Flattener { func, profile, in_scope, slots, captured: Vec::new(), body: Body::default(), op }
    }

    fn data(&self) -> &'a OpData {
        let func: &'a Function = self.func;
        &func.ops[self.op]
    }

    /// IR that does not hold together.
    fn malformed(&self, what: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error("malformed-ir", what).at(self.data().span, "in this operation"))
    }

    fn emit(&mut self, instr: Instr) -> usize {
        self.body.code.push(instr);
        self.body.ops.push(self.op);
        self.body.code.len() - 1
    }

    fn here(&self) -> u32 {
        self.body.code.len() as u32
    }

    /// Lets the jump at `at` land at the next instruction.
    fn land(&mut self, at: usize) {
        let here = self.here();
        match &mut self.body.code[at] {
            Instr::Jump(target) | Instr::Unless { target, .. } | Instr::Enter { exit: target, .. } => *target = here,
            other => unreachable!("{other:?} is no jump"),
        }
    }

    fn fresh(&mut self, ty: &Type) -> Result<Slot> {
        let next = |n: &mut u32| {
            *n += 1;
            *n - 1
        };
        Ok(match ty {
            Type::Scalar(_) | Type::TaskId => Slot::Scalar(self.temporary()),
            Type::Tile(_) => Slot::Tile(next(&mut self.body.tiles)),
            Type::Tensor(_) => Slot::Tensor(next(&mut self.body.tensors)),
            Type::Array { .. } => Slot::Array(next(&mut self.body.arrays)),
            Type::Ptr(_) | Type::View(_) | Type::PartView { .. } | Type::Opaque(_) => {
                return Err(self.malformed(format!("a value of type {ty:?} at the tensor level")));
            }
        })
    }

    fn temporary(&mut self) -> u32 {
        self.body.scalars.push(0);
        self.body.scalars.len() as u32 - 1
    }

    /// A new slot for a value defined here.
    fn define(&mut self, value: Value) -> Result<Slot> {
        let slot = self.fresh(self.func.ty(value))?;
        self.slots[ir::Entity::index(value)] = Some(slot);
        Ok(slot)
    }

    /// The slot of a value used here.
    fn slot(&mut self, value: Value) -> Result<Slot> {
        let index = ir::Entity::index(value);
        if let Some(slot) = self.slots[index] {
            return Ok(slot);
        }
        let constant = ir::builder::const_scalar(self.func, value);
        if constant.is_none() && !self.in_scope {
            return Err(self.malformed(format!("{value:?} is used before it is defined")));
        }
        let slot = self.define(value)?;
        match (constant, slot) {
            (Some(c), Slot::Scalar(s)) => self.body.scalars[s as usize] = c.bits,
            (_, Slot::Tile(_)) => return Err(self.malformed("a tile crosses the border of a scope")),
            _ => self.captured.push((value, slot)),
        }
        Ok(slot)
    }

    fn scalar(&mut self, value: Value) -> Result<u32> {
        match self.slot(value)? {
            Slot::Scalar(s) => Ok(s),
            other => Err(self.malformed(format!("a scalar was expected, not {other:?}"))),
        }
    }

    /// An integer that says where or how many, as a 64-bit signed one.
    fn index(&mut self, value: Value) -> Result<u32> {
        let (from, a) = (self.dtype(value)?, self.scalar(value)?);
        if matches!(from, DType::Index | DType::I64) {
            return Ok(a);
        }
        let dst = self.temporary();
        self.emit(Instr::Cast { from, to: DType::Index, dst, a });
        Ok(dst)
    }

    fn indices(&mut self, values: &[Value]) -> Result<Vec<u32>> {
        values.iter().map(|&v| self.index(v)).collect()
    }

    fn tile(&mut self, value: Value) -> Result<u32> {
        match self.slot(value)? {
            Slot::Tile(s) => Ok(s),
            other => Err(self.malformed(format!("a tile was expected, not {other:?}"))),
        }
    }

    fn tensor(&mut self, value: Value) -> Result<u32> {
        match self.slot(value)? {
            Slot::Tensor(s) => Ok(s),
            other => Err(self.malformed(format!("a tensor was expected, not {other:?}"))),
        }
    }

    fn array(&mut self, value: Value) -> Result<u32> {
        match self.slot(value)? {
            Slot::Array(s) => Ok(s),
            other => Err(self.malformed(format!("an array was expected, not {other:?}"))),
        }
    }

    fn slots_of(&mut self, values: &[Value]) -> Result<Vec<Slot>> {
        values.iter().map(|&v| self.slot(v)).collect()
    }

    fn define_all(&mut self, values: &[Value]) -> Result<Vec<Slot>> {
        values.iter().map(|&v| self.define(v)).collect()
    }

    /// The one operand of a group.
    fn operand(&self, group: &str) -> Result<Value> {
        match *self.data().named(group) {
            [value] => Ok(value),
            ref other => Err(self.malformed(format!("{} operands `{group}`, one is needed", other.len()))),
        }
    }

    fn dtype(&self, value: Value) -> Result<DType> {
        match self.func.ty(value) {
            Type::Scalar(d) => Ok(*d),
            Type::TaskId => Ok(DType::U64),
            other => Err(self.malformed(format!("a scalar was expected, not a value of type {other:?}"))),
        }
    }

    fn one_result(&self) -> Result<Value> {
        self.data().result().ok_or_else(|| self.malformed("an operation without its result"))
    }

    /// Moves that happen at once.
    fn moves(&mut self, sources: &[Slot], destinations: &[Slot]) -> Result<()> {
        if sources.len() != destinations.len() {
            let (s, d) = (sources.len(), destinations.len());
            return Err(self.malformed(format!("{s} values are passed to {d} places")));
        }
        let clash = destinations.iter().enumerate().any(|(i, d)| sources[i + 1..].contains(d));
        let mut from = sources.to_vec();
        if clash {
            for slot in &mut from {
                let copy = match *slot {
                    Slot::Scalar(_) => Slot::Scalar(self.temporary()),
                    Slot::Tile(_) => Slot::Tile(bump(&mut self.body.tiles)),
                    Slot::Tensor(_) => Slot::Tensor(bump(&mut self.body.tensors)),
                    Slot::Array(_) => Slot::Array(bump(&mut self.body.arrays)),
                };
                self.transfer(*slot, copy)?;
                *slot = copy;
            }
        }
        for (&s, &d) in from.iter().zip(destinations) {
            self.transfer(s, d)?;
        }
        Ok(())
    }

    fn transfer(&mut self, source: Slot, destination: Slot) -> Result<()> {
        if source == destination {
            return Ok(());
        }
        let instr = match (destination, source) {
            (Slot::Scalar(dst), Slot::Scalar(src)) => Instr::Scalar { dst, src },
            (Slot::Tile(dst), Slot::Tile(src)) => Instr::MoveTile { dst, src },
            (Slot::Tensor(dst), Slot::Tensor(src)) => Instr::MoveTensor { dst, src },
            (Slot::Array(dst), Slot::Array(src)) => Instr::MoveArray { dst, src },
            _ => return Err(self.malformed(format!("{source:?} is passed where {destination:?} is expected"))),
        };
        self.emit(instr);
        Ok(())
    }

    fn block(&mut self, block: Block, scopes: &mut Vec<Body>, exit: &Exit<'_>) -> Result<()> {
        let func: &'a Function = self.func;
        for &op in &func.blocks[block].ops {
            self.op = op;
            if func.ops[op].opcode.is_terminator() {
                return self.terminator(exit);
            }
            self.operation(scopes)?;
        }
        Err(self.malformed("a block without its end"))
    }

    fn terminator(&mut self, exit: &Exit<'_>) -> Result<()> {
        let data = self.data();
        match (exit, data.opcode) {
            (Exit::Function, Opcode::Return) => {
                for &value in data.named("values") {
                    let slot = self.tensor(value)?;
                    self.body.returns.push(slot);
                }
                self.emit(Instr::End);
                Ok(())
            }
            (Exit::Scope, Opcode::Yield) => {
                self.emit(Instr::End);
                Ok(())
            }
            (Exit::Yield(places), Opcode::Yield) => {
                let values = self.slots_of(data.named("values"))?;
                self.moves(&values, places)
            }
            (Exit::Condition { body, results }, Opcode::Condition) => {
                let condition = self.scalar(self.operand("condition")?)?;
                let values = self.slots_of(data.named("values"))?;
                let branch = self.emit(Instr::Unless { condition, target: 0 });
                self.moves(&values, body)?;
                let enter = self.emit(Instr::Jump(0));
                self.land(branch);
                self.moves(&values, results)?;
                // The way out: `while_loop` knows where it leads.
                self.emit(Instr::Jump(0));
                self.land(enter);
                Ok(())
            }
            (_, other) => Err(self.malformed(format!("`{}` cannot end this block", other.name()))),
        }
    }

    fn operation(&mut self, scopes: &mut Vec<Body>) -> Result<()> {
        let data = self.data();
        match data.opcode {
            Opcode::Const => Ok(()),
            Opcode::For => self.for_loop(scopes),
            Opcode::If => self.conditional(scopes),
            Opcode::While => self.while_loop(scopes),
            Opcode::Scope => self.scope(scopes),
            Opcode::SyncAll => {
                self.body.syncs = true;
                self.emit(Instr::Sync);
                Ok(())
            }
            Opcode::TaskInvalid | Opcode::TaskDummy => {
                let result = self.one_result()?;
                if let Slot::Scalar(s) = self.define(result)? {
                    let id = if data.opcode == Opcode::TaskDummy { JOIN } else { NO_TASK };
                    self.body.scalars[s as usize] = id;
                }
                Ok(())
            }
            Opcode::TaskIsValid => {
                let a = self.scalar(self.operand("task")?)?;
                let b = self.temporary();
                self.body.scalars[b as usize] = NO_TASK;
                let dst = self.scalar_result()?;
                self.emit(Instr::Cmp64 { op: dtype::scalar::CmpOp::Ne, dst, a, b });
                Ok(())
            }
            Opcode::GetBlockNum | Opcode::GetSubblockIdx if !self.in_scope => {
                Err(self.malformed(format!("`{}` outside a scope", data.opcode.name())))
            }
            _ if self.scalar_op()? || self.tensor_op()? || self.tile_op()? => Ok(()),
            other => {
                let message = format!("`{}` is no operation of the tensor level", other.name());
                Err(Box::new(Diagnostic::unsupported("not-tensor-level", message).at(data.span, "here")))
            }
        }
    }

    fn for_loop(&mut self, scopes: &mut Vec<Body>) -> Result<()> {
        let (data, op) = (self.data(), self.op);
        let (lower, upper, step) = (self.operand("lower")?, self.operand("upper")?, self.operand("step")?);
        let dtype = self.dtype(lower)?;
        let (lower, upper, step) = (self.scalar(lower)?, self.scalar(upper)?, self.scalar(step)?);
        let init = self.slots_of(data.named("init"))?;
        let region = *data.regions.first().ok_or_else(|| self.malformed("a loop without a body"))?;
        let args = self.define_all(&self.func.blocks[region].args.clone())?;
        let Some((&Slot::Scalar(var), carried)) = args.split_first() else {
            return Err(self.malformed("a loop without its variable"));
        };
        let trips = self.temporary();
        self.moves(&init, carried)?;
        let enter = self.emit(Instr::Enter { trips, lower, upper, step, dtype, exit: 0 });
        self.transfer(Slot::Scalar(lower), Slot::Scalar(var))?;
        let top = self.here();
        self.block(region, scopes, &Exit::Yield(carried))?;
        self.op = op;
        self.emit(Instr::Next { var, step, trips, top, dtype });
        self.land(enter);
        let results = self.define_all(&data.results)?;
        self.moves(carried, &results)
    }

    fn conditional(&mut self, scopes: &mut Vec<Body>) -> Result<()> {
        let (data, op) = (self.data(), self.op);
        let condition = self.scalar(self.operand("condition")?)?;
        let results = self.define_all(&data.results)?;
        let [then, otherwise] = data.regions[..] else {
            return Err(self.malformed("an `if` without its two regions"));
        };
        let branch = self.emit(Instr::Unless { condition, target: 0 });
        self.block(then, scopes, &Exit::Yield(&results))?;
        self.op = op;
        let over = self.emit(Instr::Jump(0));
        self.land(branch);
        self.block(otherwise, scopes, &Exit::Yield(&results))?;
        self.op = op;
        self.land(over);
        Ok(())
    }

    fn while_loop(&mut self, scopes: &mut Vec<Body>) -> Result<()> {
        let (data, op) = (self.data(), self.op);
        let init = self.slots_of(data.named("init"))?;
        let [test, body] = data.regions[..] else {
            return Err(self.malformed("a `while` without its two regions"));
        };
        let test_args = self.define_all(&self.func.blocks[test].args.clone())?;
        let body_args = self.define_all(&self.func.blocks[body].args.clone())?;
        let results = self.define_all(&data.results)?;
        self.moves(&init, &test_args)?;
        let top = self.here();
        self.block(test, scopes, &Exit::Condition { body: &body_args, results: &results })?;
        let leave = self.here() as usize - 1;
        self.block(body, scopes, &Exit::Yield(&test_args))?;
        self.op = op;
        self.emit(Instr::Jump(top));
        self.land(leave);
        Ok(())
    }

    fn scope(&mut self, scopes: &mut Vec<Body>) -> Result<()> {
        let data = self.data();
        if self.in_scope {
            return Err(self.malformed("a scope inside a scope"));
        }
        let blocks = match *data.named("blocks") {
            [] => None,
            [n, ..] => Some(self.index(n)?),
        };
        let region = *data.regions.first().ok_or_else(|| self.malformed("a scope without a body"))?;
        let mut inner = Flattener::new(self.func, self.profile, true);
        inner.op = self.op;
        if let Some(&index) = self.func.blocks[region].args.first() {
            match inner.define(index)? {
                Slot::Scalar(s) => inner.body.block_index = Some(s),
                other => return Err(self.malformed(format!("a block index in {other:?}"))),
            }
        }
        inner.block(region, scopes, &Exit::Scope)?;
        for (value, slot) in std::mem::take(&mut inner.captured) {
            let outer = self.slot(value)?;
            inner.body.captures.push((outer, slot));
        }
        scopes.push(inner.body);
        let scope = scopes.len() as u32 - 1;
        let Slot::Scalar(dst) = self.define(self.one_result()?)? else {
            return Err(self.malformed("a scope's result is a task id"));
        };
        self.emit(Instr::Scope { scope, blocks, dst });
        Ok(())
    }
}

fn bump(n: &mut u32) -> u32 {
    *n += 1;
    *n - 1
}
