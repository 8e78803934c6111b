//! Writes the kernel of one core.

use std::collections::BTreeMap;

use chip::{Arch, Core, Space};
use dtype::{DType, Scalar};
use ir::builder::{NewOp, attrs};
use ir::{Attr, Attrs, Block, Builder, Direction, Function, FunctionKind, Op, Opcode, Origin, TileType, Type, Value};

use super::crossing::{Crossing, Pipe, Pipes, What};
use super::slice::Slice;

/// The element type of the rings in global memory: offsets into them are bytes.
pub(super) const RING: DType = DType::U8;

pub(super) struct Context<'a> {
    pub(super) func: &'a Function,
    pub(super) arch: Arch,
    pub(super) core: Core,
    pub(super) crossings: &'a [Crossing],
    pub(super) pipes: &'a Pipes,
    /// Of the cube and of the vector core.
    pub(super) slices: &'a [Slice; 2],
    /// Of the cube and of the vector kernel.
    pub(super) names: &'a [String; 2],
    /// Where the pointer to the rings stands among the parameters, if there is one.
    pub(super) workspace: Option<usize>,
}

pub(super) fn kernel(cx: &Context<'_>, name: &str, slice: &Slice) -> Function {
    let mut function = Function::new(name, FunctionKind::Kernel(cx.core));
    let mut values = BTreeMap::new();
    let mut rings = None;
    let params = cx.func.params.iter().zip(cx.func.param_values());
    for (i, (param, &value)) in params.enumerate() {
        if cx.workspace == Some(i) {
            rings = Some(function.add_param("workspace", Direction::InOut, Type::Ptr(RING)));
        }
        let new = function.add_param(param.name.clone(), param.direction, cx.func.ty(value).clone());
        values.insert(value, new);
    }
    if cx.workspace == Some(cx.func.params.len()) {
        rings = Some(function.add_param("workspace", Direction::InOut, Type::Ptr(RING)));
    }
    let b = Builder::new(&mut function);
    let mut writer = Writer { cx, slice, values, b, token: None };
    writer.pipes(rings);
    writer.block(cx.func.body, &Kept::default());
    function
}

/// Which of the values of a terminator stay.
#[derive(Default)]
struct Kept {
    values: Vec<usize>,
}

struct Writer<'a> {
    cx: &'a Context<'a>,
    slice: &'a Slice,
    values: BTreeMap<Value, Value>,
    b: Builder<'a>,
    /// The tile that tokens are pushed from.
    token: Option<Value>,
}

impl Writer<'_> {
    /// Reserves slots and sets up the FIFOs of this kernel.
    fn pipes(&mut self, rings: Option<Value>) {
        if self.cx.pipes.pipes.is_empty() {
            return;
        }
        let block = rings.map(|_| self.block_offset());
        let mut offset = 0;
        for pipe in &self.cx.pipes.pipes {
            let ring = rings.zip(block).map(|(ring, block)| {
                let start = self.b.constant(Scalar::from_i64(DType::I64, offset as i64));
                let at =
                    self.b.result(Opcode::ScalarAdd, &[&[block], &[start]], Type::Scalar(DType::I64), Attrs::default());
                self.b.result(Opcode::AddPtr, &[&[ring], &[at]], Type::Ptr(RING), Attrs::default())
            });
            offset += pipe.ring_bytes();
            self.pipe(pipe, ring);
        }
        if self.cx.crossings.iter().any(|c| c.what == What::Token && c.to != self.cx.core) {
            let space = if self.cx.core == Core::Cube { Space::Acc } else { Space::Vec };
            let ty = TileType::buffer(DType::F32, 16, 16, space, self.cx.arch);
            self.token = Some(self.b.alloc_tile(ty, None, None));
        }
    }

    /// Where the rings of this block start: its index times the bytes of all of them.
    fn block_offset(&mut self) -> Value {
        let i64 = Type::Scalar(DType::I64);
        let index = self.b.result(Opcode::GetBlockIdx, &[], i64.clone(), Attrs::default());
        let bytes = self.b.constant(Scalar::from_i64(DType::I64, self.cx.pipes.ring_bytes() as i64));
        self.b.result(Opcode::ScalarMul, &[&[index], &[bytes]], i64, Attrs::default())
    }

    fn pipe(&mut self, pipe: &Pipe, ring: Option<Value>) {
        let name = format!("{}_slots_{}", if pipe.to == Core::Vector { "c2v" } else { "v2c" }, pipe.id);
        let through_memory = ring.is_some();
        let slots = if through_memory { pipe.local_slot_num } else { pipe.slot_num };
        let address = if pipe.to == self.cx.core {
            let list = attrs([
                ("name", Attr::Text(name)),
                ("size", Attr::Int((slots * pipe.slot_size) as i64)),
                ("location", Attr::Word(pipe.location().name().into())),
                ("auto", Attr::Bool(true)),
            ]);
            Some(self.b.result(Opcode::ReserveBuffer, &[], Type::Scalar(DType::I32), list))
        } else if !through_memory {
            let peer = &self.cx.names[usize::from(pipe.to == Core::Vector)];
            let list = attrs([("name", Attr::Text(name)), ("peer_func", Attr::Symbols(vec![peer.clone()]))]);
            Some(self.b.result(Opcode::ImportReservedBuffer, &[], Type::Scalar(DType::I32), list))
        } else {
            None
        };
        let address: Vec<Value> = address.into_iter().collect();
        let ring: Vec<Value> = ring.into_iter().collect();
        let mut list = attrs([
            ("id", Attr::Int(pipe.id)),
            ("dir_mask", Attr::Int(if pipe.to == Core::Vector { 1 } else { 2 })),
            ("slot_size", Attr::Int(pipe.slot_size as i64)),
            ("slot_num", Attr::Int(pipe.slot_num as i64)),
        ]);
        if through_memory {
            list.set("local_slot_num", Attr::Int(pipe.local_slot_num as i64));
        }
        list.set("nosplit", Attr::Bool(true));
        let (c2v, v2c): (&[Value], &[Value]) = if pipe.to == Core::Vector { (&address, &[]) } else { (&[], &address) };
        let opcode = match self.cx.core {
            Core::Cube => Opcode::AicInitializePipe,
            Core::Vector => Opcode::AivInitializePipe,
        };
        self.b.effect(opcode, &[&ring, c2v, v2c], list);
    }

    fn map(&self, list: &[Value]) -> Vec<Value> {
        list.iter().map(|v| self.values[v]).collect()
    }

    /// Writes what is kept of a block, and of the values that its terminator passes on.
    fn block(&mut self, block: Block, kept: &Kept) {
        let func = self.cx.func;
        for &op in &func.blocks[block].ops {
            let data = &func.ops[op];
            self.b.span = data.span;
            self.b.origin =
                data.origin.map(|origin| Origin { completes: origin.completes && self.reports(op), ..origin });
            match data.opcode {
                Opcode::Return => {
                    self.b.effect(Opcode::Return, &[&[]], Attrs::default());
                }
                Opcode::Yield => {
                    let values: Vec<Value> =
                        kept.values.iter().map(|&i| self.values[&data.named("values")[i]]).collect();
                    self.b.effect(Opcode::Yield, &[&values], Attrs::default());
                }
                Opcode::Condition => {
                    let condition = self.map(data.named("condition"));
                    let values: Vec<Value> =
                        kept.values.iter().map(|&i| self.values[&data.named("values")[i]]).collect();
                    self.b.effect(Opcode::Condition, &[&condition, &values], Attrs::default());
                }
                _ if !self.slice.ops.contains(&op) => {}
                _ if self.is_slot(op) => {}
                Opcode::For | Opcode::If | Opcode::While => self.region_op(op),
                _ => self.copy(op),
            }
            self.crossings(op);
        }
    }

    /// Whether this kernel reports the values that `op` completes: the vector kernel does for what both execute.
    fn reports(&self, op: Op) -> bool {
        self.cx.core == Core::Vector || !self.cx.slices[1].ops.contains(&op)
    }

    /// The `alloc_tile` of a tile whose bytes are a slot.
    fn is_slot(&self, op: Op) -> bool {
        let result = self.cx.func.ops[op].result();
        self.cx.crossings.iter().any(|c| match c.what {
            What::Value { dest, copied: false, .. } => c.to == self.cx.core && Some(dest) == result,
            _ => false,
        })
    }

    /// The crossings at an operation, and the slots that are free after it.
    fn crossings(&mut self, op: Op) {
        let origin = self.b.origin.take();
        let mut frees = Vec::new();
        for crossing in self.cx.crossings {
            if crossing.op == op {
                let moved = matches!(crossing.what, What::Value { .. });
                self.b.origin = origin.filter(|_| moved);
                if crossing.to == self.cx.core { self.pop(crossing) } else { self.push(crossing) }
            }
            if crossing.free_after == op && crossing.to == self.cx.core {
                frees.push(crossing.pipe);
            }
        }
        self.b.origin = None;
        for pipe in frees {
            let opcode = match self.cx.core {
                Core::Cube => Opcode::TFreeFromAiv,
                Core::Vector => Opcode::TFreeFromAic,
            };
            let list = self.fifo(pipe);
            self.b.effect(opcode, &[], list);
        }
    }

    fn fifo(&self, pipe: usize) -> Attrs {
        attrs([("id", Attr::Int(self.cx.pipes.pipes[pipe].id)), ("split", Attr::Int(0))])
    }

    fn push(&mut self, crossing: &Crossing) {
        let source = match crossing.what {
            What::Value { source, .. } => Some(self.values[&source]),
            What::Token => self.token,
        };
        let Some(source) = source else { return };
        let opcode = if crossing.to == Core::Vector { Opcode::TPushToAiv } else { Opcode::TPushToAic };
        self.b.origin = self.b.origin.map(|o| Origin { completes: false, ..o });
        let list = self.fifo(crossing.pipe);
        self.b.effect(opcode, &[&[source]], list);
    }

    fn pop(&mut self, crossing: &Crossing) {
        let origin = self.b.origin;
        let incomplete = origin.map(|o| Origin { completes: false, ..o });
        let opcode = if crossing.to == Core::Vector { Opcode::TPopFromAic } else { Opcode::TPopFromAiv };
        let (mut rows, mut cols) = (Vec::new(), Vec::new());
        if let What::Value { dest, .. } = crossing.what
            && let Some(alloc) = self.cx.func.def_op(dest)
        {
            let data = &self.cx.func.ops[alloc];
            if matches!(data.opcode, Opcode::AllocTile | Opcode::Subview) {
                rows = self.map(data.named("valid_row"));
                cols = self.map(data.named("valid_col"));
            }
        }
        let copied = matches!(crossing.what, What::Value { copied: true, .. });
        self.b.origin = if copied { incomplete } else { origin };
        let list = self.fifo(crossing.pipe);
        let popped = self.b.result(opcode, &[&rows, &cols], Type::Tile(crossing.popped.clone()), list);
        let What::Value { dest, copied, .. } = crossing.what else { return };
        if copied {
            self.b.origin = origin;
            let target = self.values[&dest];
            self.b.dest(Opcode::TMov, &[&[popped]], target, Attrs::default());
        } else {
            if let Some(name) = &self.cx.func.values[dest].name {
                self.b.name(popped, name);
            }
            self.values.insert(dest, popped);
        }
    }

    fn copy(&mut self, op: Op) {
        let func = self.cx.func;
        let data = &func.ops[op];
        let groups: Vec<Vec<Value>> = (0..data.segments.len()).map(|g| self.map(data.group(g))).collect();
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        let results: Vec<Type> = data.results.iter().map(|&r| func.ty(r).clone()).collect();
        let dests = self.map(&data.dests);
        let mut list = data.attrs.clone();
        if data.opcode == Opcode::SyncAll {
            // The one stream waited whole; so do its parts.
            list.set("core_type", Attr::Word("mix".into()));
        }
        let new =
            self.b.op(NewOp { opcode: data.opcode, groups: &groups, dests: &dests, results: &results, attrs: list });
        let results: Vec<usize> = (0..data.results.len()).collect();
        self.bind(op, new, &results);
    }

    /// Result number `n` of `new` stands for result `kept[n]` of `op`.
    fn bind(&mut self, op: Op, new: Op, kept: &[usize]) {
        let results = self.b.func.ops[new].results.clone();
        for (&i, new) in kept.iter().zip(results) {
            let old = self.cx.func.ops[op].results[i];
            self.pair(old, new);
        }
    }

    fn pair(&mut self, old: Value, new: Value) {
        if let Some(name) = &self.cx.func.values[old].name {
            self.b.name(new, name);
        }
        self.values.insert(old, new);
    }

    fn region_op(&mut self, op: Op) {
        let func = self.cx.func;
        let data = &func.ops[op];
        let set = |set: &std::collections::BTreeSet<(Op, usize)>| -> Vec<usize> {
            set.range((op, 0)..=(op, usize::MAX)).map(|&(_, i)| i).collect()
        };
        let carried = set(&self.slice.carried);
        let head = set(&self.slice.head);
        let pick = |list: &[Value], which: &[usize]| -> Vec<Value> { which.iter().map(|&i| list[i]).collect() };
        let results: Vec<Type> = carried.iter().map(|&i| func.ty(data.results[i]).clone()).collect();
        let groups: Vec<Vec<Value>> = match data.opcode {
            Opcode::For => {
                let bounds = ["lower", "upper", "step"].map(|g| self.map(data.named(g)));
                bounds.into_iter().chain([self.map(&pick(data.named("init"), &carried))]).collect()
            }
            Opcode::If => vec![self.map(data.named("condition"))],
            _ => vec![self.map(&pick(data.named("init"), &head))],
        };
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        let list = data.attrs.clone();
        let new = self.b.op(NewOp { opcode: data.opcode, groups: &groups, dests: &[], results: &results, attrs: list });
        self.bind(op, new, &carried);
        for (n, &region) in data.regions.iter().enumerate() {
            let all = &func.blocks[region].args;
            // Which arguments a region keeps, and which values its terminator passes on.
            let (args, passed): (Vec<usize>, &[usize]) = match (data.opcode, n) {
                (Opcode::For, _) => ([0].into_iter().chain(carried.iter().map(|i| i + 1)).collect(), &carried),
                (Opcode::If, _) => (Vec::new(), &carried),
                (_, 0) => (head.clone(), &carried),
                _ => (carried.clone(), &head),
            };
            let args = pick(all, &args);
            let types: Vec<(Type, Option<String>)> =
                args.iter().map(|&a| (func.ty(a).clone(), func.values[a].name.clone())).collect();
            let inner = self.b.add_region(new, &types);
            for (&old, new) in args.iter().zip(self.b.func.blocks[inner].args.clone()) {
                self.values.insert(old, new);
            }
            let outer = self.b.switch_to(inner);
            self.block(region, &Kept { values: passed.to_vec() });
            self.b.switch_to(outer);
        }
    }
}
