//! Functions to [`Code`]: registers, constants, control flow. What each operation becomes is in the submodules.

mod alloc;
mod blocks;
mod check;
mod chosen;
mod comm;
mod global;
mod pipe;
mod scalars;
mod tiles;

use chip::{Arch, Core};
use diag::Diagnostic;
use dtype::{DType, Profile};
use ir::{Block, Entity, Function, FunctionKind, Op, OpData, Opcode, Type, Value};
use isa::Tile;

use crate::code::{
    BLOCK_IDX, BLOCK_NUM, Class, Code, Extent, Inst, LoopSpec, Mode, ParamKind, Pc, RESERVED, Reg, SUBBLOCK_IDX,
    pointer,
};
use crate::footprint::Plan;

/// Decodes a kernel function of the tile or machine level, or an orchestration (whose own operations become
/// [`Inst::Host`]). Errors are what this machine cannot run: operations of other levels, layouts it does not know.
pub fn decode(func: &Function, arch: Arch, profile: Profile, mode: Mode) -> Result<Code, Vec<Diagnostic>> {
    let core = match func.kind {
        FunctionKind::Orchestration => None,
        FunctionKind::Kernel(core) => Some(core),
        FunctionKind::Cluster => {
            return Err(vec![Diagnostic::unsupported(
                "cluster-function",
                format!("`{}` is a mixed kernel before the core split, which does not run", func.name),
            )]);
        }
        FunctionKind::Helper => {
            return Err(vec![Diagnostic::unsupported(
                "helper-function",
                format!("`{}` is called by kernels; calls do not run", func.name),
            )]);
        }
    };
    let refused: Vec<Diagnostic> = func.walk().into_iter().filter_map(|op| not_run(func, &func.ops[op])).collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    if let Some((value, what)) = func.not_run() {
        let message = format!("values of `{what}` ({}) in `{}` do not run on this machine", func.ty(value), func.name);
        let span = func.def_op(value).and_then(|op| func.ops[op].span);
        return Err(vec![Diagnostic::unsupported("unsupported-type", message).at(span, "here")]);
    }
    check::well_formed(func).map_err(|(op, why)| {
        let data = func.ops.get(op);
        let name = data.map_or("return", |d| d.opcode.name());
        let d = Diagnostic::error("malformed-operation", format!("`{name}` in `{}` has {why}", func.name));
        vec![d.at(data.and_then(|d| d.span), "here")]
    })?;
    let plan = (mode == Mode::Footprint).then(|| Plan::new(func));
    let mut d = Decoder::new(func, arch, core, profile, mode, plan);
    d.registers();
    d.block(func.body, &Target::Function);
    d.code.storage = d.storage;
    d.clear_ranges();
    if d.errors.is_empty() { Ok(d.code) } else { Err(d.errors) }
}

/// An operation that is only text, or is with what it has here.
fn not_run(func: &Function, data: &OpData) -> Option<Diagnostic> {
    let (what, name) = (data.not_run()?, data.opcode.name());
    let message = match what == name {
        true => format!("`{name}` in `{}` does not run on this machine", func.name),
        false => format!("`{name}` with `{what}` in `{}` does not run on this machine", func.name),
    };
    Some(Diagnostic::unsupported("unsupported-operation", message).at(data.span, "here"))
}

/// Where the values of a block's terminator go.
enum Target {
    Function,
    /// Registers of these values.
    Values(Vec<Value>),
    /// The test of a `while`: (arguments of the body, results); the exit jump is patched by the caller.
    Test {
        body: Vec<Value>,
        exits: std::cell::Cell<Option<usize>>,
        results: Vec<Value>,
    },
}

struct Decoder<'a> {
    func: &'a Function,
    arch: Arch,
    core: Option<Core>,
    code: Code,
    errors: Vec<Diagnostic>,
    plan: Option<Plan>,
    /// The operation being decoded.
    op: Option<Op>,
    /// Descriptors known at decode time.
    known: Vec<Option<Tile>>,
    /// Bytes of storage handed out (unplaced functions).
    storage: usize,
    /// Storage of each `alloc_tile`, for the ranges to clear.
    sites: Vec<(Op, std::ops::Range<usize>)>,
}

/// Why an operation cannot be decoded; becomes a diagnostic at its span.
type Refused = String;

impl<'a> Decoder<'a> {
    fn new(
        func: &'a Function,
        arch: Arch,
        core: Option<Core>,
        profile: Profile,
        mode: Mode,
        plan: Option<Plan>,
    ) -> Decoder<'a> {
        let code = Code {
            name: func.name.clone(),
            core,
            placed: func.properties.placed,
            mode,
            profile,
            insts: Vec::new(),
            ops: Vec::new(),
            units: Vec::new(),
            params: Vec::new(),
            pointers: 0,
            scalars: vec![0; RESERVED as usize],
            tiles: Vec::new(),
            based: Vec::new(),
            views: 0,
            tensors: 0,
            storage: 0,
            clear: Vec::new(),
            loops: Vec::new(),
            allocs: Vec::new(),
            randoms: Vec::new(),
            merges: Vec::new(),
            subviews: Vec::new(),
            shapes: Vec::new(),
            make_views: Vec::new(),
            partitions: Vec::new(),
            fifos: Vec::new(),
            pipes: Vec::new(),
            pops: Vec::new(),
            transfers: Vec::new(),
            reserved: Vec::new(),
            imports: Vec::new(),
            points: Vec::new(),
            traps: Vec::new(),
            sites: Vec::new(),
            hosts: Vec::new(),
            blocks: func.blocks.len(),
            uses_block: false,
            syncs: false,
            float_atomics: false,
            spans: Vec::new(),
            regs: Vec::new(),
        };
        let known = vec![None; func.values.len()];
        Decoder { func, arch, core, code, errors: Vec::new(), plan, op: None, known, storage: 0, sites: Vec::new() }
    }

    /// A register for every value; constants and block numbers need no instruction.
    fn registers(&mut self) {
        for (_, data) in self.func.values.iter() {
            let reg = self.fresh(Class::of(&data.ty));
            self.code.regs.push(reg);
        }
        for op in self.func.walk() {
            let data = &self.func.ops[op];
            match data.opcode {
                Opcode::Const => {
                    if let Some(v) = data.result() {
                        match ir::builder::const_scalar(self.func, v) {
                            Some(s) => self.code.scalars[self.code.regs[v.index()] as usize] = s.bits,
                            None => self.refuse(data, "a constant without a literal value"),
                        }
                    }
                }
                // The last carried values are the results.
                Opcode::For => {
                    if let Some(&body) = data.regions.first() {
                        for (&r, &a) in data.results.iter().zip(self.func.blocks[body].args.iter().skip(1)) {
                            self.code.regs[r.index()] = self.code.regs[a.index()];
                        }
                    }
                }
                Opcode::GetBlockIdx | Opcode::GetBlockNum | Opcode::GetSubblockIdx => {
                    let reg = match data.opcode {
                        Opcode::GetBlockIdx => BLOCK_IDX,
                        Opcode::GetBlockNum => BLOCK_NUM,
                        _ => SUBBLOCK_IDX,
                    };
                    self.code.uses_block |= reg == BLOCK_IDX;
                    if let Some(v) = data.result() {
                        self.code.regs[v.index()] = reg;
                    }
                }
                _ => {}
            }
        }
        for &value in self.func.param_values() {
            let reg = self.code.regs[value.index()];
            let kind = match self.func.ty(value) {
                Type::Ptr(d) => {
                    let n = self.code.pointers;
                    self.code.pointers += 1;
                    self.code.scalars[reg as usize] = pointer::new(n);
                    ParamKind::Pointer(n, *d)
                }
                Type::Scalar(d) => ParamKind::Scalar(*d, reg),
                Type::Tensor(t) => ParamKind::Tensor(t.dtype, reg),
                _ => ParamKind::Other,
            };
            self.code.params.push(kind);
        }
    }

    fn fresh(&mut self, class: Class) -> Reg {
        match class {
            Class::Scalar => {
                self.code.scalars.push(0);
                self.code.scalars.len() as Reg - 1
            }
            Class::Tile => {
                self.code.tiles.push(Tile::row_major(0, DType::F32, 0, 0));
                self.code.based.push(false);
                self.code.tiles.len() as Reg - 1
            }
            Class::View => {
                self.code.views += 1;
                self.code.views - 1
            }
            Class::Tensor => {
                self.code.tensors += 1;
                self.code.tensors - 1
            }
        }
    }

    fn constant(&mut self, bits: u64) -> Reg {
        self.code.scalars.push(bits);
        self.code.scalars.len() as Reg - 1
    }

    fn reg(&self, value: Value) -> Reg {
        self.code.regs[value.index()]
    }

    /// The register of an integer operand, widened to 64 bits.
    fn int(&mut self, value: Value) -> Reg {
        let reg = self.reg(value);
        match self.func.ty(value) {
            Type::Scalar(d) if d.size() < 8 => {
                if let Some(v) = self.func.const_int(value) {
                    return self.constant(v as u64);
                }
                let dst = self.fresh(Class::Scalar);
                self.emit(Inst::Cast { from: *d, to: DType::Index, dst, a: reg });
                dst
            }
            _ => reg,
        }
    }

    fn ints(&mut self, values: &[Value]) -> Vec<Reg> {
        values.iter().map(|&v| self.int(v)).collect()
    }

    fn emit(&mut self, inst: Inst) -> usize {
        self.code.units.push(self.unit(&inst));
        self.code.insts.push(inst);
        self.code.ops.push(self.op);
        self.code.spans.push(self.op.and_then(|op| self.func.ops[op].span));
        self.code.insts.len() - 1
    }

    fn here(&self) -> Pc {
        self.code.insts.len() as Pc
    }

    fn refuse(&mut self, data: &OpData, why: impl std::fmt::Display) {
        self.errors.push(
            Diagnostic::unsupported(
                "machine-operation",
                format!("`{}` in `{}`: {why}", data.opcode.name(), self.func.name),
            )
            .at(data.span, "does not run on this machine"),
        );
    }

    /// Whether this run needs the operation.
    fn wanted(&self, op: Op) -> bool {
        self.plan.as_ref().is_none_or(|p| p.is_live(op))
    }

    fn block(&mut self, block: Block, target: &Target) {
        if self.code.mode.is_measured() {
            self.emit(Inst::EnterRegion { block: block.index() as u32 });
        }
        for &op in &self.func.blocks[block].ops {
            self.op = Some(op);
            let data = &self.func.ops[op];
            if data.opcode.is_terminator() {
                self.terminator(data, target);
            } else if self.wanted(op) {
                let done = match data.opcode {
                    Opcode::For => self.for_loop(data),
                    Opcode::If => self.branch(data),
                    Opcode::While => self.while_loop(data),
                    _ => self.operation(op, data),
                };
                self.op = Some(op);
                if let Err(why) = done {
                    self.refuse(data, why);
                }
            }
        }
    }

    fn operation(&mut self, op: Op, data: &'a OpData) -> Result<(), Refused> {
        if self.core.is_none() && host_operation(data.opcode) {
            let n = self.code.hosts.len() as u32;
            self.code.hosts.push(op);
            self.emit(Inst::Host(n));
            return Ok(());
        }
        let done = self.scalar_op(data)? || {
            if self.core.is_none() {
                return Err("not an operation of an orchestration".into());
            }
            self.alloc_op(op, data)?
                || self.global_op(op, data)?
                || self.comm_op(op, data)?
                || self.block_op(data)?
                || self.tile_op(data)?
        };
        if !done {
            return Err("not an operation of a kernel".into());
        }
        match self.code.mode {
            Mode::Observed => self.observe(data),
            Mode::Measured { digests: true } => self.observe_output(op, data),
            Mode::Plain | Mode::Footprint | Mode::Measured { digests: false } => {}
        }
        Ok(())
    }

    fn observe(&mut self, data: &OpData) {
        let Some(origin) = data.origin.filter(|o| o.completes) else { return };
        let inst = match data.opcode {
            Opcode::TStore => data.dest().map(|v| (v, true)),
            // Stands for stores to parts of the box.
            Opcode::PartitionView => data.result().map(|v| (v, true)),
            Opcode::MScatter => {
                let point = self.point(origin.op);
                if let Some(&Inst::ScatterView { out_of_range, atomic, view, src, index, .. }) = self.code.insts.last()
                {
                    self.emit(Inst::ObserveScatter { point, out_of_range, atomic, view, src, index });
                }
                return;
            }
            Opcode::StoreScalar => {
                let (ptr, offset, value) = (data.named("ptr")[0], data.named("offset")[0], data.named("value")[0]);
                let dtype = self.func.ty(value).as_scalar().unwrap_or(DType::I32);
                let (ptr, offset) = (self.reg(ptr), self.int(offset));
                let point = self.point(origin.op);
                self.emit(Inst::ObserveScalar { point, dtype, ptr, offset });
                return;
            }
            _ => data.output().filter(|&v| self.func.ty(v).as_tile().is_some()).map(|v| (v, false)),
        };
        let Some((value, store)) = inst else { return };
        let reg = self.reg(value);
        let point = self.point(origin.op);
        self.emit(if store { Inst::ObserveView { point, view: reg } } else { Inst::ObserveTile { point, tile: reg } });
    }

    /// The digest of whatever an operation writes, at the operation itself.
    fn observe_output(&mut self, op: Op, data: &OpData) {
        let descriptor =
            matches!(data.opcode, Opcode::AllocTile | Opcode::Subview | Opcode::TReshape | Opcode::Bitcast);
        let Some(value) = data.dest().or(data.output()).filter(|_| !descriptor) else { return };
        let reg = self.reg(value);
        match self.func.ty(value) {
            Type::Tile(_) => {
                let point = self.point(op);
                self.emit(Inst::ObserveTile { point, tile: reg });
            }
            Type::PartView { .. } if data.opcode == Opcode::TStore => {
                let point = self.point(op);
                self.emit(Inst::ObserveView { point, view: reg });
            }
            _ => {}
        }
    }

    fn point(&mut self, op: Op) -> u32 {
        let at = self.code.points.iter().position(|&p| p == op).unwrap_or_else(|| {
            self.code.points.push(op);
            self.code.points.len() - 1
        });
        at as u32
    }

    fn terminator(&mut self, data: &OpData, target: &Target) {
        match target {
            Target::Function => {
                if let Some(op) = self.op.filter(|_| self.core.is_none() && !data.operands.is_empty()) {
                    let n = self.code.hosts.len() as u32;
                    self.code.hosts.push(op);
                    self.emit(Inst::Host(n));
                }
                self.emit(Inst::End);
            }
            Target::Values(targets) => self.moves(targets, &data.operands),
            Target::Test { body, exits, results } => {
                let condition = self.reg(data.operands[0]);
                let values = &data.operands[1..];
                let exit = self.emit(Inst::Unless { condition, to: 0 });
                self.moves(body, values);
                let enter = self.emit(Inst::Jump(0));
                let here = self.here();
                self.patch(exit, here);
                self.moves(results, values);
                exits.set(Some(self.emit(Inst::Jump(0))));
                let here = self.here();
                self.patch(enter, here);
            }
        }
    }

    fn patch(&mut self, at: usize, pc: Pc) {
        match &mut self.code.insts[at] {
            Inst::Jump(to) | Inst::Unless { to, .. } => *to = pc,
            _ => {}
        }
    }

    /// All targets get their sources at once.
    fn moves(&mut self, targets: &[Value], sources: &[Value]) {
        let mut pairs: Vec<(Class, Reg, Reg)> = Vec::new();
        for (&t, &s) in targets.iter().zip(sources) {
            let class = Class::of(self.func.ty(t));
            if self.code.mode == Mode::Footprint && class == Class::Tile {
                continue;
            }
            if self.reg(t) != self.reg(s) {
                pairs.push((class, self.reg(t), self.reg(s)));
            }
        }
        let clash = pairs.iter().enumerate().any(|(i, p)| pairs[i + 1..].iter().any(|q| (q.0, q.2) == (p.0, p.1)));
        if clash {
            for pair in &mut pairs {
                let temporary = self.fresh(pair.0);
                self.move_register(pair.0, temporary, pair.2);
                pair.2 = temporary;
            }
        }
        for (class, dst, src) in pairs {
            self.move_register(class, dst, src);
        }
    }

    fn move_register(&mut self, class: Class, dst: Reg, src: Reg) {
        self.emit(match class {
            Class::Scalar => Inst::Move { dst, src },
            Class::Tile => Inst::MoveTile { dst, src },
            Class::View => Inst::MoveView { dst, src },
            Class::Tensor => Inst::MoveTensor { dst, src },
        });
    }

    fn for_loop(&mut self, data: &'a OpData) -> Result<(), Refused> {
        let body = *data.regions.first().ok_or("a loop without a body")?;
        let args = &self.func.blocks[body].args;
        let (lower, upper, step) = (data.group(0)[0], data.group(1)[0], data.group(2)[0]);
        let dtype = self.func.ty(lower).as_scalar().ok_or("bounds that are not scalars")?;
        self.moves(&args[1..], data.group(3));
        let counter = self.fresh(Class::Scalar);
        let spec = self.code.loops.len();
        let (lower, upper, step) = (self.reg(lower), self.int(upper), self.int(step));
        self.code.loops.push(LoopSpec {
            dtype,
            lower,
            upper,
            step,
            counter,
            variable: self.reg(args[0]),
            body: 0,
            exit: 0,
        });
        self.emit(Inst::Enter { spec: spec as u32 });
        self.code.loops[spec].body = self.here();
        let op = self.op;
        self.block(body, &Target::Values(args[1..].to_vec()));
        self.op = op;
        self.emit(Inst::Next { spec: spec as u32 });
        self.code.loops[spec].exit = self.here();
        Ok(())
    }

    fn branch(&mut self, data: &'a OpData) -> Result<(), Refused> {
        let [then, other] = data.regions[..] else { return Err("a branch without two regions".into()) };
        let (op, target) = (self.op, Target::Values(data.results.clone()));
        let unless = self.emit(Inst::Unless { condition: self.reg(data.operands[0]), to: 0 });
        self.block(then, &target);
        self.op = op;
        let skip = self.emit(Inst::Jump(0));
        let here = self.here();
        self.patch(unless, here);
        self.block(other, &target);
        let here = self.here();
        self.patch(skip, here);
        Ok(())
    }

    fn while_loop(&mut self, data: &'a OpData) -> Result<(), Refused> {
        let [test, body] = data.regions[..] else { return Err("a `while` without two regions".into()) };
        let op = self.op;
        let before = self.func.blocks[test].args.clone();
        self.moves(&before, data.group(0));
        let head = self.here();
        let target = Target::Test {
            body: self.func.blocks[body].args.clone(),
            exits: std::cell::Cell::new(None),
            results: data.results.clone(),
        };
        self.block(test, &target);
        let Target::Test { exits, .. } = &target else { return Ok(()) };
        let exit = exits.get().ok_or("a test without a condition")?;
        self.block(body, &Target::Values(before));
        self.op = op;
        self.emit(Inst::Jump(head));
        let here = self.here();
        self.patch(exit, here);
        Ok(())
    }

    fn tile_type(&self, value: Value) -> Result<&'a ir::TileType, Refused> {
        self.func.ty(value).as_tile().ok_or_else(|| "an operand that is not a tile".into())
    }

    fn element(&self, value: Value) -> Result<DType, Refused> {
        self.func.ty(value).element().ok_or_else(|| "an operand without elements".into())
    }

    /// The destination of an operation in destination form.
    fn dest(&self, data: &OpData) -> Result<Value, Refused> {
        data.dest().ok_or_else(|| "no destination: the value form is of the tensor level".into())
    }

    /// How each valid extent of `ty` comes about, given the operands for the dynamic ones.
    fn extents(&mut self, ty: &ir::TileType, row: Option<Value>, col: Option<Value>) -> Result<[Extent; 2], Refused> {
        let mut out = [Extent::Derived; 2];
        for (i, operand) in [row, col].into_iter().enumerate() {
            out[i] = match (ty.valid.get(i).ok_or("a tile that has not rank 2")?.known(), operand) {
                (Some(n), _) => Extent::Known(u32::try_from(n).map_err(|_| "an extent beyond 32 bits")?),
                (None, Some(v)) => Extent::In(self.int(v)),
                (None, None) => Extent::Derived,
            };
        }
        Ok(out)
    }
}

/// Operations of an orchestration that its caller carries out.
fn host_operation(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::TaskInvalid
            | Opcode::TaskIsValid
            | Opcode::TaskDummy
            | Opcode::TensorCreate
            | Opcode::TensorSlice
            | Opcode::TensorReshape
            | Opcode::TensorBitcast
            | Opcode::TensorTranspose
            | Opcode::TensorDim
            | Opcode::TensorStride
            | Opcode::Read
            | Opcode::Write
            | Opcode::Submit
    )
}
