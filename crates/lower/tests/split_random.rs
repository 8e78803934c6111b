//! Random cluster functions: the two kernels of the split do what the one stream did, in every interleaving tried.
//!
//! Executed symbolically. A tile and a tensor hold a number that stands for how they were computed; every operation mixes
//! the numbers of its operands. FIFOs are rings of slots with the credits of the spec (`isa.md` §1.7: slots come back in
//! halves) or one by one; a popped tile *is* its slot, so a slot given back too early shows as a wrong number. At the end
//! all tensors hold the numbers that the one stream left, and the FIFOs are empty.

use std::collections::BTreeMap;

use chip::{Arch, Core, Space};
use control::Control;
use dtype::DType;
use ir::builder::{NewOp, attrs};
use ir::{
    Arena, Attr, Attrs, Block, Builder, Dim, Direction, Function, FunctionKind, Level, Op, Opcode, Program, TensorType,
    TileType, Type, Value,
};

// ---------------------------------------------------------------------------------------------------------------------
// Programs

/// Pointer parameters: three of tiles, of which the last two get overlapping tensors, and one of scalars.
const TENSORS: usize = 3;

struct Generator {
    func: Function,
    block: Block,
    control: Control,
    parts: Vec<Value>,
    scalars: Value,
    /// Values that may be used here, a list for each region around.
    visible: Vec<Vec<Value>>,
    budget: usize,
    arch: Arch,
}

impl Generator {
    fn cluster(seed: u64, budget: usize, arch: Arch) -> Function {
        let mut func = Function::new("k", FunctionKind::Cluster);
        let pointers: Vec<Value> =
            ["x", "y", "z"].iter().map(|n| func.add_param(*n, Direction::InOut, Type::Ptr(DType::F32))).collect();
        let scalars = func.add_param("s", Direction::InOut, Type::Ptr(DType::I64));
        let n = func.add_param("n", Direction::In, Type::INDEX);
        let block = func.body;
        let visible = vec![vec![n]];
        let control = Control::new(seed);
        let mut g = Generator { func, block, control, parts: Vec::new(), scalars, visible, budget, arch };
        let (zero, one, size) = g.build(|b| (b.index(0), b.index(1), b.index(16)));
        g.visible[0].extend([zero, one]);
        for pointer in pointers {
            let shape = vec![Dim::Static(16); 2];
            let ty = TensorType::packed(DType::F32, shape.clone());
            let part = g.build(|b| {
                let view = Type::View(ty.clone());
                let view = b.result(
                    Opcode::MakeTensorView,
                    &[&[pointer], &[size, size], &[size, one]],
                    view,
                    Attrs::default(),
                );
                let part = Type::PartView { dtype: DType::F32, shape };
                b.result(Opcode::PartitionView, &[&[view], &[zero, zero], &[size, size]], part, Attrs::default())
            });
            g.parts.push(part);
        }
        for space in [Space::Acc, Space::Vec, Space::Mat, Space::Left, Space::Right] {
            g.alloc(space);
        }
        while g.budget > 0 {
            g.statement(0);
        }
        g.build(|b| b.effect(Opcode::Return, &[&[]], Attrs::default()));
        g.func
    }

    fn build<R>(&mut self, f: impl FnOnce(&mut Builder<'_>) -> R) -> R {
        let mut b = Builder::new(&mut self.func);
        b.switch_to(self.block);
        f(&mut b)
    }

    fn push(&mut self, value: Value) -> Value {
        self.visible.last_mut().expect("a region").push(value);
        value
    }

    fn some(&mut self, fits: impl Fn(&Type) -> bool) -> Value {
        let all: Vec<Value> = self.visible.concat().into_iter().filter(|&v| fits(self.func.ty(v))).collect();
        // Recent values more often than old ones.
        let n = all.len();
        all[self.control.choose(n).max(self.control.choose(n))]
    }

    fn tile(&mut self, space: Space) -> Value {
        self.some(|t| t.as_tile().is_some_and(|t| t.space == Some(space)))
    }

    /// A Vec tile that is no reshaped view.
    fn matrix(&mut self) -> Value {
        self.some(|t| t.as_tile().is_some_and(|t| t.space == Some(Space::Vec) && t.shape == [16, 16]))
    }

    fn scalar(&mut self) -> Value {
        self.some(|t| *t == Type::INDEX)
    }

    fn alloc(&mut self, space: Space) -> Value {
        let ty = TileType::buffer(DType::F32, 16, 16, space, self.arch);
        let value = self.build(|b| b.alloc_tile(ty, None, None));
        self.push(value)
    }

    fn statement(&mut self, depth: usize) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let plain = Attrs::default;
        let kinds = if depth < 3 { 34 } else { 28 };
        if self.control.choose(5) == 0 {
            return self.chain();
        }
        match self.control.choose(kinds) {
            0..3 => {
                let part = self.parts[self.control.choose(TENSORS)];
                let space = [Space::Vec, Space::Mat][self.control.choose(2)];
                let d = if self.control.choose(2) == 0 { self.alloc(space) } else { self.tile(space) };
                self.build(|b| b.dest(Opcode::TLoad, &[&[part]], d, plain()));
            }
            3..6 => {
                let part = self.parts[self.control.choose(TENSORS)];
                let space = [Space::Vec, Space::Acc][self.control.choose(2)];
                let s = self.tile(space);
                self.build(|b| b.dest(Opcode::TStore, &[&[s]], part, plain()));
            }
            6..8 => {
                let (a, b, d) = (self.tile(Space::Vec), self.tile(Space::Vec), self.tile(Space::Vec));
                self.build(|x| x.dest(Opcode::TAdd, &[&[a], &[b]], d, plain()));
            }
            8..11 => {
                let s = self.tile(Space::Mat);
                let space = [Space::Left, Space::Right][self.control.choose(2)];
                let d = self.tile(space);
                self.build(|b| {
                    let zero = b.index(0);
                    b.dest(Opcode::TExtract, &[&[s], &[zero], &[zero], &[]], d, plain())
                });
            }
            11..14 => {
                let (l, r, d) = (self.tile(Space::Left), self.tile(Space::Right), self.tile(Space::Acc));
                self.build(|b| b.dest(Opcode::TMatmul, &[&[l], &[r]], d, plain()));
            }
            14..17 => {
                let s = self.tile(Space::Acc);
                let d = if self.control.choose(4) > 0 { self.alloc(Space::Vec) } else { self.matrix() };
                self.build(|b| b.dest(Opcode::TMov, &[&[s]], d, plain()));
            }
            17..20 => {
                let s = self.matrix();
                let d = self.alloc(Space::Mat);
                self.build(|b| b.dest(Opcode::TMov, &[&[s]], d, plain()));
            }
            20 => {
                let s = self.tile(Space::Vec);
                let ty = Type::Tile(TileType::buffer(DType::F32, 1, 256, Space::Vec, self.arch));
                let view = self.build(|b| b.result(Opcode::TReshape, &[&[s]], ty, plain()));
                self.push(view);
            }
            21 => {
                let pointer = self.scalars;
                let value = self.build(|b| {
                    let zero = b.index(0);
                    let ty = Type::Scalar(DType::I64);
                    let raw = b.result(Opcode::LoadScalar, &[&[pointer], &[zero]], ty, plain());
                    b.result(Opcode::ScalarCast, &[&[raw]], Type::INDEX, plain())
                });
                self.push(value);
            }
            22 => {
                let (pointer, value) = (self.scalars, self.scalar());
                self.build(|b| {
                    let zero = b.index(0);
                    let raw = b.result(Opcode::ScalarCast, &[&[value]], Type::Scalar(DType::I64), plain());
                    b.effect(Opcode::StoreScalar, &[&[raw], &[pointer], &[zero]], plain())
                });
            }
            23 if self.control.choose(4) == 0 => {
                let s = self.tile(Space::Vec);
                let value = self.build(|b| {
                    let zero = b.index(0);
                    let raw = b.result(Opcode::TGetVal, &[&[s], &[zero], &[zero]], Type::Scalar(DType::F32), plain());
                    b.result(Opcode::ScalarCast, &[&[raw]], Type::INDEX, plain())
                });
                self.push(value);
            }
            24 => {
                self.build(|b| b.effect(Opcode::SyncAll, &[], attrs([("core_type", Attr::Word("mix".into()))])));
            }
            23..28 => {
                let (a, b) = (self.scalar(), self.scalar());
                let value = self.build(|x| x.result(Opcode::ScalarAdd, &[&[a], &[b]], Type::INDEX, plain()));
                self.push(value);
            }
            28..31 => self.repeat(depth),
            31 => self.repeat_while(depth),
            _ => self.branch(depth),
        }
    }

    /// From memory through one core to memory.
    fn chain(&mut self) {
        let (from, to) = (self.parts[self.control.choose(TENSORS)], self.parts[self.control.choose(TENSORS)]);
        let plain = Attrs::default;
        if self.control.choose(2) == 0 {
            let (a, b) = (self.alloc(Space::Vec), self.tile(Space::Vec));
            self.build(|x| {
                x.dest(Opcode::TLoad, &[&[from]], a, plain());
                x.dest(Opcode::TAdd, &[&[a], &[b]], a, plain());
                x.dest(Opcode::TStore, &[&[a]], to, plain());
            });
        } else {
            let (mat, acc) = (self.alloc(Space::Mat), self.tile(Space::Acc));
            let (left, right) = (self.tile(Space::Left), self.tile(Space::Right));
            self.build(|x| {
                let zero = x.index(0);
                x.dest(Opcode::TLoad, &[&[from]], mat, plain());
                x.dest(Opcode::TExtract, &[&[mat], &[zero], &[zero], &[]], left, plain());
                x.dest(Opcode::TMatmul, &[&[left], &[right]], acc, plain());
                x.dest(Opcode::TStore, &[&[acc]], to, plain());
            });
        }
    }

    fn repeat(&mut self, depth: usize) {
        let (upper, start) = (self.scalar(), self.scalar());
        let (op, region) = self.build(|b| {
            let (zero, one, four) = (b.index(0), b.index(1), b.index(4));
            let upper = b.result(Opcode::ScalarRem, &[&[upper], &[four]], Type::INDEX, Attrs::default());
            let kind = attrs([("kind", Attr::Word("range".into()))]);
            let groups: [&[Value]; 4] = [&[zero], &[upper], &[one], &[start]];
            let op =
                b.op(NewOp { opcode: Opcode::For, groups: &groups, dests: &[], results: &[Type::INDEX], attrs: kind });
            (op, b.add_region(op, &[(Type::INDEX, None), (Type::INDEX, None)]))
        });
        let args = self.func.blocks[region].args.clone();
        self.region(region, args, depth, Opcode::Yield);
        self.push_results(op);
    }

    /// Counts a carried value down to zero; another one is whatever the body makes of it.
    fn repeat_while(&mut self, depth: usize) {
        let (n, start) = (self.scalar(), self.scalar());
        let (op, head, body) = self.build(|b| {
            let three = b.index(3);
            let n = b.result(Opcode::ScalarRem, &[&[n], &[three]], Type::INDEX, Attrs::default());
            let results = [Type::INDEX, Type::INDEX];
            let op = b.op(NewOp {
                opcode: Opcode::While,
                groups: &[&[n, start]],
                dests: &[],
                results: &results,
                attrs: Attrs::default(),
            });
            let args = [(Type::INDEX, None), (Type::INDEX, None)];
            (op, b.add_region(op, &args), b.add_region(op, &args))
        });
        let outside = std::mem::replace(&mut self.block, head);
        let args = self.func.blocks[head].args.clone();
        self.visible.push(args.clone());
        for _ in 0..self.control.choose(3) {
            self.statement(3);
        }
        let other = self.scalar();
        self.build(|b| {
            let zero = b.index(0);
            let predicate = attrs([("predicate", Attr::Word("gt".into()))]);
            let go = b.result(Opcode::ScalarCmp, &[&[args[0]], &[zero]], Type::BOOL, predicate);
            b.effect(Opcode::Condition, &[&[go], &[args[0], other]], Attrs::default())
        });
        self.visible.pop();
        self.block = body;
        let args = self.func.blocks[body].args.clone();
        self.visible.push(args.clone());
        for _ in 0..1 + self.control.choose(4) {
            self.statement(depth + 1);
        }
        let other = self.scalar();
        self.build(|b| {
            let one = b.index(1);
            let next = b.result(Opcode::ScalarSub, &[&[args[0]], &[one]], Type::INDEX, Attrs::default());
            b.effect(Opcode::Yield, &[&[next, other]], Attrs::default())
        });
        self.visible.pop();
        self.block = outside;
        self.push_results(op);
    }

    fn branch(&mut self, depth: usize) {
        let (a, b) = (self.scalar(), self.scalar());
        let (op, regions) = self.build(|x| {
            let predicate = attrs([("predicate", Attr::Word("lt".into()))]);
            let condition = x.result(Opcode::ScalarCmp, &[&[a], &[b]], Type::BOOL, predicate);
            let groups: [&[Value]; 1] = [&[condition]];
            let results = [Type::INDEX];
            let op = x.op(NewOp {
                opcode: Opcode::If,
                groups: &groups,
                dests: &[],
                results: &results,
                attrs: Attrs::default(),
            });
            (op, [x.add_region(op, &[]), x.add_region(op, &[])])
        });
        for region in regions {
            self.region(region, Vec::new(), depth, Opcode::Yield);
        }
        self.push_results(op);
    }

    fn push_results(&mut self, op: Op) {
        let results = self.func.ops[op].results.clone();
        self.visible.last_mut().expect("a region").extend(results);
    }

    /// Statements, then a terminator that passes on one scalar.
    fn region(&mut self, region: Block, args: Vec<Value>, depth: usize, terminator: Opcode) {
        let outside = std::mem::replace(&mut self.block, region);
        self.visible.push(args);
        for _ in 0..1 + self.control.choose(6) {
            self.statement(depth + 1);
        }
        let value = self.scalar();
        self.build(|b| b.effect(terminator, &[&[value]], Attrs::default()));
        self.visible.pop();
        self.block = outside;
    }
}

/// A program that submits the cluster function, `y` and `z` being parts of one tensor.
fn program(func: Function, arch: Arch) -> Program {
    let mut main = Function::new("main", FunctionKind::Orchestration);
    let tensor = |rows| Type::Tensor(TensorType::packed(DType::F32, vec![Dim::Static(rows), Dim::Static(16)]));
    let x = main.add_param("x", Direction::InOut, tensor(16));
    let both = main.add_param("yz", Direction::InOut, tensor(32));
    let ints = Type::Tensor(TensorType::packed(DType::I64, vec![Dim::Static(1)]));
    let s = main.add_param("s", Direction::InOut, ints);
    let n = main.add_param("n", Direction::In, Type::INDEX);
    let mut b = Builder::new(&mut main);
    let mut slice = |at: i64| {
        let (row, col) = (b.index(at), b.index(0));
        let sizes = attrs([("sizes", Attr::Ints(vec![16, 16]))]);
        b.result(Opcode::TensorSlice, &[&[both], &[row, col], &[]], tensor(16), sizes)
    };
    let (y, z) = (slice(0), slice(8));
    let list = attrs([
        ("kernels", Attr::Symbols(vec!["k".into()])),
        ("name", Attr::Text("k".into())),
        ("directions", Attr::Text("inout,inout,inout,inout,scalar".into())),
    ]);
    b.op(NewOp {
        opcode: Opcode::Submit,
        groups: &[&[x, y, z, s, n], &[], &[]],
        dests: &[],
        results: &[Type::TaskId],
        attrs: list,
    });
    b.effect(Opcode::Return, &[&[]], Attrs::default());
    let mut functions = Arena::default();
    let entry = functions.push(main);
    functions.push(func);
    Program { name: "p".into(), arch, level: Level::Tile, functions, entry, sources: Default::default() }
}

// ---------------------------------------------------------------------------------------------------------------------
// Execution

fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0x1234_5678, |h, &p| Control::new(h ^ p.rotate_left(17)).bits().wrapping_add(p))
}

/// Where a tile's number is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Buffer(usize),
    /// A slot of a FIFO, as the consumer has it.
    Slot(i64, usize),
}

#[derive(Clone, Copy, Debug)]
enum Datum {
    Scalar(i64),
    /// `true`: part of a tile.
    Tile(Place, bool),
    Memory(usize),
    Nothing,
}

#[derive(Default)]
struct Fifo {
    slot_num: u64,
    /// A2/A3: slots in the consumer's buffer.
    local: Option<u64>,
    ring: Vec<u64>,
    slots: Vec<u64>,
    pushed: u64,
    popped: u64,
    freed: u64,
}

impl Fifo {
    /// Whether a push would find a slot; `halves`: of those that the consumer returned in halves.
    fn has_room(&self, halves: bool) -> bool {
        let n = self.slot_num;
        if !halves {
            return self.pushed - self.freed < n;
        }
        let period = if n <= 2 { n } else { n / 2 };
        let i = self.pushed;
        // Waits before push number n, n + period, …; signals after each period of frees.
        let waits = if i < n { 0 } else { (i - n) / period + 1 };
        waits <= self.freed / period
    }
}

/// What both kernels of a block share.
#[derive(Default)]
struct World {
    /// A number per tensor; parameters `y` and `z` are one.
    memory: [u64; 3],
    fifos: BTreeMap<i64, Fifo>,
    halves: bool,
    /// Arrivals at barriers, by core.
    arrived: [u64; 2],
    cores: usize,
}

struct Frame {
    block: Block,
    next: usize,
    /// A loop's: the value of its variable, the end.
    counter: (i64, i64),
}

struct Thread<'f> {
    func: &'f Function,
    core: usize,
    values: BTreeMap<Value, Datum>,
    buffers: Vec<u64>,
    stack: Vec<Frame>,
    waiting: bool,
}

enum Step {
    Went,
    Blocked,
    Done,
}

impl<'f> Thread<'f> {
    fn new(func: &'f Function, core: usize, n: i64) -> Thread<'f> {
        let mut values = BTreeMap::new();
        let mut cells = [0, 1, 1, 2].into_iter();
        for &param in func.param_values() {
            let datum = match func.ty(param) {
                Type::Ptr(DType::U8) => Datum::Nothing,
                Type::Ptr(_) => Datum::Memory(cells.next().expect("four")),
                _ => Datum::Scalar(n),
            };
            values.insert(param, datum);
        }
        let stack = vec![Frame { block: func.body, next: 0, counter: (0, 0) }];
        Thread { func, core, values, buffers: Vec::new(), stack, waiting: false }
    }

    fn int(&self, v: Value) -> i64 {
        match self.values[&v] {
            Datum::Scalar(n) => n,
            other => panic!("{other:?} is no scalar"),
        }
    }

    fn number(&self, world: &World, v: Value) -> u64 {
        match self.values[&v] {
            Datum::Scalar(n) => n as u64,
            Datum::Tile(Place::Buffer(i), _) => self.buffers[i],
            Datum::Tile(Place::Slot(id, i), _) => world.fifos[&id].slots[i],
            Datum::Memory(cell) => world.memory[cell],
            Datum::Nothing => 0,
        }
    }

    fn write(&mut self, world: &mut World, v: Value, number: u64) {
        match self.values[&v] {
            Datum::Tile(Place::Buffer(i), part) => {
                self.buffers[i] = if part { mix(&[self.buffers[i], number]) } else { number };
            }
            Datum::Memory(cell) => world.memory[cell] = number,
            other => panic!("{other:?} is not written"),
        }
    }

    fn pass(&mut self, from: &[Value], to: &[Value]) {
        let data: Vec<Datum> = from.iter().map(|v| self.values[v]).collect();
        for (&to, datum) in to.iter().zip(data) {
            self.values.insert(to, datum);
        }
    }

    fn enter(&mut self, block: Block, counter: (i64, i64)) {
        self.stack.push(Frame { block, next: 0, counter });
    }

    fn step(&mut self, world: &mut World) -> Step {
        let Some(frame) = self.stack.last_mut() else { return Step::Done };
        let op = self.func.blocks[frame.block].ops[frame.next];
        frame.next += 1;
        let step = self.op(op, world);
        if let Step::Blocked = step {
            self.stack.last_mut().expect("a frame").next -= 1;
        }
        step
    }

    fn op(&mut self, op: Op, world: &mut World) -> Step {
        let func = self.func;
        let data = &func.ops[op];
        let result = data.result();
        let scalar = |n: i64| Some(Datum::Scalar(n));
        let datum = match data.opcode {
            Opcode::Return => {
                self.stack.pop();
                return Step::Done;
            }
            Opcode::For => {
                let (lower, upper) = (self.int(data.named("lower")[0]), self.int(data.named("upper")[0]));
                let args = &func.blocks[data.regions[0]].args;
                self.pass(data.named("init"), &data.results);
                if lower < upper {
                    self.pass(data.named("init"), &args[1..]);
                    self.values.insert(args[0], Datum::Scalar(lower));
                    self.enter(data.regions[0], (lower, upper));
                }
                None
            }
            Opcode::If => {
                let taken = if self.int(data.named("condition")[0]) != 0 { 0 } else { 1 };
                self.enter(data.regions[taken], (0, 0));
                None
            }
            Opcode::While => {
                self.pass(data.named("init"), &func.blocks[data.regions[0]].args);
                self.enter(data.regions[0], (0, 0));
                None
            }
            Opcode::Condition | Opcode::Yield => {
                self.terminator(op);
                None
            }
            Opcode::Const => scalar(func.const_int(data.results[0]).unwrap_or(0)),
            Opcode::ScalarAdd => scalar((self.int(data.operands[0]) + self.int(data.operands[1])) % 1000),
            Opcode::ScalarSub => scalar(self.int(data.operands[0]) - self.int(data.operands[1])),
            Opcode::ScalarMul => scalar(self.int(data.operands[0]) * self.int(data.operands[1])),
            Opcode::ScalarRem => scalar(self.int(data.operands[0]) % self.int(data.operands[1])),
            Opcode::ScalarCast => scalar(self.int(data.operands[0])),
            Opcode::ScalarCmp => {
                let (a, b) = (self.int(data.operands[0]), self.int(data.operands[1]));
                scalar((if data.attrs.word("predicate") == Some("lt") { a < b } else { a > b }) as i64)
            }
            Opcode::GetBlockIdx => scalar(0),
            Opcode::MakeTensorView | Opcode::PartitionView => Some(self.values[&data.operands[0]]),
            Opcode::AddPtr => Some(Datum::Nothing),
            Opcode::LoadScalar => scalar((self.number(world, data.named("ptr")[0]) % 7) as i64),
            Opcode::TGetVal => scalar((self.number(world, data.named("source")[0]) % 7) as i64),
            Opcode::StoreScalar => {
                let number = mix(&[7, self.number(world, data.named("value")[0])]);
                self.write(world, data.named("ptr")[0], number);
                None
            }
            Opcode::AllocTile => {
                self.buffers.push(0);
                Some(Datum::Tile(Place::Buffer(self.buffers.len() - 1), false))
            }
            Opcode::TReshape => match self.values[&data.operands[0]] {
                Datum::Tile(place, _) => Some(Datum::Tile(place, true)),
                other => panic!("{other:?} is no tile"),
            },
            Opcode::TMov => {
                // A copy; so that a move and a push with its pop are the same.
                let number = self.number(world, data.operands[0]);
                self.write(world, data.dests[0], number);
                None
            }
            Opcode::TLoad | Opcode::TStore | Opcode::TAdd | Opcode::TExtract | Opcode::TMatmul => {
                let mut parts = vec![data.opcode as u64];
                parts.extend(data.operands.iter().map(|&v| self.number(world, v)));
                self.write(world, data.dests[0], mix(&parts));
                None
            }
            Opcode::SyncAll => {
                if !self.waiting {
                    self.waiting = true;
                    world.arrived[self.core] += 1;
                }
                let others = world.arrived[..world.cores].iter();
                if others.clone().any(|&n| n < world.arrived[self.core]) {
                    return Step::Blocked;
                }
                self.waiting = false;
                None
            }
            Opcode::ReserveBuffer | Opcode::ImportReservedBuffer => scalar(0),
            Opcode::AicInitializePipe | Opcode::AivInitializePipe => {
                let id = data.attrs.int("id").expect("an id");
                let slot_num = data.attrs.int("slot_num").expect("slots") as u64;
                let local = data.attrs.int("local_slot_num").map(|n| n as u64);
                let fifo = world.fifos.entry(id).or_default();
                if fifo.ring.is_empty() {
                    let slots = local.unwrap_or(slot_num) as usize;
                    *fifo = Fifo {
                        slot_num,
                        local,
                        ring: vec![0; slot_num as usize],
                        slots: vec![0; slots],
                        ..Fifo::default()
                    };
                }
                assert_eq!((fifo.slot_num, fifo.local), (slot_num, local), "the two ends disagree");
                None
            }
            Opcode::TPushToAiv | Opcode::TPushToAic => {
                let number = self.number(world, data.operands[0]);
                let halves = world.halves;
                let fifo = world.fifos.get_mut(&data.attrs.int("id").expect("an id")).expect("set up");
                if !fifo.has_room(halves) {
                    return Step::Blocked;
                }
                let slot = (fifo.pushed % fifo.slot_num) as usize;
                fifo.ring[slot] = number;
                if fifo.local.is_none() {
                    fifo.slots[slot] = number;
                }
                fifo.pushed += 1;
                None
            }
            Opcode::TPopFromAic | Opcode::TPopFromAiv => {
                let id = data.attrs.int("id").expect("an id");
                let fifo = world.fifos.get_mut(&id).expect("set up");
                if fifo.popped == fifo.pushed {
                    return Step::Blocked;
                }
                let mut slot = (fifo.popped % fifo.slot_num) as usize;
                if let Some(local) = fifo.local {
                    assert!(fifo.popped - fifo.freed < local, "more tiles are held than there are local slots");
                    let number = fifo.ring[slot];
                    slot = (fifo.popped % local) as usize;
                    fifo.slots[slot] = number;
                }
                fifo.popped += 1;
                Some(Datum::Tile(Place::Slot(id, slot), false))
            }
            Opcode::TFreeFromAic | Opcode::TFreeFromAiv => {
                let fifo = world.fifos.get_mut(&data.attrs.int("id").expect("an id")).expect("set up");
                assert!(fifo.freed < fifo.popped, "a slot is freed that is not held");
                fifo.freed += 1;
                None
            }
            other => panic!("{} is not executed here", other.name()),
        };
        if let (Some(datum), Some(result)) = (datum, result) {
            self.values.insert(result, datum);
        }
        Step::Went
    }

    fn terminator(&mut self, op: Op) {
        let func = self.func;
        let frame = self.stack.pop().expect("a frame");
        let parent = func.blocks[frame.block].parent.expect("a region");
        let data = &func.ops[parent];
        let values = func.ops[op].named("values");
        match (data.opcode, func.ops[op].opcode) {
            (Opcode::For, _) => {
                let args = &func.blocks[frame.block].args;
                self.pass(values, &data.results);
                let (i, upper) = (frame.counter.0 + 1, frame.counter.1);
                if i < upper {
                    self.pass(values, &args[1..]);
                    self.values.insert(args[0], Datum::Scalar(i));
                    self.enter(frame.block, (i, upper));
                }
            }
            (_, Opcode::Condition) => {
                if self.int(func.ops[op].named("condition")[0]) != 0 {
                    self.pass(values, &func.blocks[data.regions[1]].args);
                    self.enter(data.regions[1], (0, 0));
                } else {
                    self.pass(values, &data.results);
                }
            }
            (Opcode::While, _) => {
                self.pass(values, &func.blocks[data.regions[0]].args);
                self.enter(data.regions[0], (0, 0));
            }
            _ => self.pass(values, &data.results),
        }
    }
}

/// Runs functions together, taking turns as `seed` says; what the tensors hold at the end.
fn run(funcs: &[&Function], n: i64, halves: bool, seed: u64) -> Result<[u64; 3], String> {
    let mut world = World { memory: [11, 12, 13], halves, cores: funcs.len(), ..World::default() };
    let mut threads: Vec<Thread<'_>> = funcs.iter().enumerate().map(|(i, f)| Thread::new(f, i, n)).collect();
    let mut control = Control::new(seed);
    // How far one runs ahead of the other.
    let patience = [3, 30, 300][seed as usize % 3];
    let mut stuck = 0;
    let mut steps = 0;
    let mut lead = control.choose(threads.len());
    while threads.iter().any(|t| !t.stack.is_empty()) {
        if stuck == 0 && control.choose(patience) == 0 {
            lead = control.choose(threads.len());
        }
        let at = if stuck > 0 { (lead + stuck) % threads.len() } else { lead };
        match threads[at].step(&mut world) {
            Step::Went => stuck = 0,
            Step::Blocked | Step::Done => stuck += 1,
        }
        steps += 1;
        if stuck > threads.len() && threads.iter().any(|t| !t.stack.is_empty()) {
            return Err("deadlock".into());
        }
        if steps > 2_000_000 {
            return Err("endless".into());
        }
    }
    for (id, fifo) in &world.fifos {
        if (fifo.pushed, fifo.pushed) != (fifo.popped, fifo.freed) {
            return Err(format!("FIFO {id}: {} pushed, {} popped, {} freed", fifo.pushed, fifo.popped, fifo.freed));
        }
    }
    Ok(world.memory)
}

#[test]
fn the_two_kernels_do_what_the_one_stream_did() {
    let (mut compared, mut refused, mut pipes, mut pops) = (0, 0, 0, 0);
    for seed in 0..600u64 {
        let arch = Arch::ALL[seed as usize % 2];
        let func = Generator::cluster(seed, 20 + seed as usize % 50, arch);
        let mut program = program(func.clone(), arch);
        let cluster = program.function("k").expect("the cluster function");
        let (cube, vector) = match lower::split::split(&mut program, cluster) {
            Ok(ids) => ids,
            Err(errors) => {
                for e in errors {
                    assert!(["scalar-across-cores", "core-crossing"].contains(&e.code), "seed {seed}: {e:?}");
                }
                refused += 1;
                continue;
            }
        };
        let kernels = [&program.functions[cube], &program.functions[vector]];
        assert_eq!(kernels.map(|k| k.kind), [Core::Cube, Core::Vector].map(FunctionKind::Kernel));
        let count = |o: Opcode| kernels[1].walk().iter().filter(|&&op| kernels[1].ops[op].opcode == o).count();
        pipes += usize::from(count(Opcode::AivInitializePipe) > 2);
        pops += count(Opcode::TPopFromAic);
        for n in 0..4 {
            let expected = run(&[&func], n, false, 0).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            for round in 0..9 {
                match run(&kernels, n, round % 2 == 1, seed * 100 + round) {
                    Ok(found) if found == expected => compared += 1,
                    outcome => panic!(
                        "seed {seed}, n {n}, round {round}: {outcome:?}, not {expected:?}\n{}\n{}\n{}",
                        ir::text::print_function(&func),
                        ir::text::print_function(kernels[0]),
                        ir::text::print_function(kernels[1]),
                    ),
                }
            }
        }
    }
    assert!(
        compared > 10_000 && refused < 300 && pipes > 100 && pops > 2_000,
        "{compared} runs compared, {refused} functions refused, {pipes} with more than two FIFOs, {pops} pops"
    );
}
