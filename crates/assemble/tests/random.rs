//! Random structured kernels: no byte that an operation reads was clobbered since it was written.
//!
//! Checked by brute force, with nothing of the crate but the addresses: random paths through the kernel are followed twice
//! over, once with storage of its own for every tile and once in the bytes of the plan. Every write leaves a mark of its
//! own in each byte; every read finds in the plan's bytes what it finds in the tile's own storage, where that is defined.

use std::collections::BTreeMap;

use assemble::{Options, Order, Plan, plan};
use chip::{Arch, Core, Space};
use control::Control;
use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{
    Arena, Attr, Attrs, Block, Builder, Dim, Direction, Function, FunctionKind, Level, Op, Opaque, Opcode, Program,
    TileType, Type, Value,
};

const ROWS: u64 = 8;
const COLS: u64 = 16;
/// How many tiles an `alloc_multi_tile` makes.
const SEVERAL: u64 = 3;

/// Makes a kernel.
struct Generator {
    func: Function,
    block: Block,
    control: Control,
    gm: Value,
    /// A number that nobody knows.
    turn: Value,
    /// Tile values that may be used here; one list for each region around.
    visible: Vec<Vec<Value>>,
    budget: usize,
}

fn matrix() -> TileType {
    TileType::buffer(DType::F32, ROWS, COLS, Space::Vec, Arch::A2a3)
}

impl Generator {
    fn kernel(seed: u64, budget: usize) -> Function {
        let mut func = Function::new("k", FunctionKind::Kernel(Core::Vector));
        let ty = Type::PartView { dtype: DType::F32, shape: vec![Dim::Dynamic, Dim::Dynamic] };
        let gm = func.add_param("x", Direction::InOut, ty);
        let turn = func.add_param("n", Direction::In, Type::INDEX);
        let block = func.body;
        let visible = vec![Vec::new()];
        let mut g = Generator { func, block, control: Control::new(seed), gm, turn, visible, budget };
        for _ in 0..2 {
            g.alloc();
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

    fn some(&mut self, fits: impl Fn(&TileType) -> bool) -> Option<Value> {
        let all = self.visible.concat();
        let all: Vec<Value> = all.into_iter().filter(|&v| self.func.ty(v).as_tile().is_some_and(&fits)).collect();
        (!all.is_empty()).then(|| all[self.control.choose(all.len())])
    }

    /// A tile to read or write: of the plain matrix type, whatever its valid region.
    fn tile(&mut self) -> Option<Value> {
        self.some(|t| t.shape == [ROWS, COLS] && t.dtype == DType::F32)
    }

    fn push(&mut self, value: Value) -> Value {
        self.visible.last_mut().expect("a region").push(value);
        value
    }

    fn alloc(&mut self) -> Value {
        let mut ty = matrix();
        match self.control.choose(6) {
            0 => ty.valid = vec![Dim::Static(3), Dim::Static(COLS)],
            1 => ty.valid = vec![Dim::Static(ROWS), Dim::Static(5)],
            2 => ty = TileType::buffer(DType::F32, ROWS, 1, Space::Vec, Arch::A2a3),
            3 => ty = TileType::buffer(DType::I32, ROWS, COLS, Space::Vec, Arch::A2a3),
            _ => {}
        }
        let value = self.build(|b| b.alloc_tile(ty, None, None));
        self.push(value)
    }

    fn statement(&mut self, depth: usize) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        let kinds = if depth < 3 { 23 } else { 19 };
        // A statement whose operands do not exist yet is left out.
        let _ = self.try_statement(self.control.clone().choose(kinds), depth);
        self.control.bits();
    }

    fn try_statement(&mut self, kind: usize, depth: usize) -> Option<()> {
        self.control.bits();
        let plain = Attrs::default;
        match kind {
            0 | 1 => {
                self.alloc();
            }
            2 | 3 => {
                let (d, gm) = (self.tile()?, self.gm);
                self.build(|b| b.dest(Opcode::TLoad, &[&[gm]], d, plain()));
            }
            4 | 5 => {
                let (s, gm) = (self.some(|_| true)?, self.gm);
                self.build(|b| b.dest(Opcode::TStore, &[&[s]], gm, plain()));
            }
            6 | 7 => {
                let (x, y, d) = (self.tile()?, self.tile()?, self.tile()?);
                self.build(|b| b.dest(Opcode::TAdd, &[&[x], &[y]], d, plain()));
            }
            8 => {
                let (x, d) = (self.tile()?, self.tile()?);
                self.build(|b| b.dest(Opcode::TExp, &[&[x]], d, plain()));
            }
            9 => {
                let (x, d) = (self.tile()?, self.some(|t| t.dtype == DType::I32)?);
                let mode = attrs([("mode", Attr::Word("rint".into()))]);
                self.build(|b| b.dest(Opcode::TCvt, &[&[x]], d, mode));
            }
            10 => {
                let d = self.tile()?;
                let (r, c) = (self.control.choose(3), self.control.choose(5));
                self.build(|b| {
                    let (r, c) = (b.index(r as i64), b.index(c as i64));
                    let v = b.constant(Scalar::from_f64(DType::F32, 1.0));
                    b.dest(Opcode::TSetVal, &[&[r], &[c], &[v]], d, plain());
                });
            }
            11 => {
                let (s, tmp, d) = (self.tile()?, self.tile()?, self.some(|t| t.shape == [ROWS, 1])?);
                let scratch: &[Value] = if self.control.choose(2) == 0 { &[] } else { &[tmp] };
                self.build(|b| b.dest(Opcode::TRowMax, &[&[s], scratch], d, plain()));
            }
            12 => {
                let (x, v, d) = (self.tile()?, self.some(|t| t.shape == [ROWS, 1])?, self.tile()?);
                self.build(|b| b.dest(Opcode::TRowExpandSub, &[&[x], &[v]], d, plain()));
            }
            13 => {
                let s = self.some(|t| t.shape == [ROWS, COLS] && t.dtype == DType::F32 && t.is_fully_valid())?;
                let ty = Type::Tile(TileType::buffer(DType::F32, 1, ROWS * COLS, Space::Vec, Arch::A2a3));
                let value = self.build(|b| b.result(Opcode::TReshape, &[&[s]], ty, plain()));
                self.push(value);
            }
            14 => {
                let s = self.tile()?;
                let ty = Type::Tile(TileType::buffer(DType::F32, 2, 8, Space::Vec, Arch::A2a3));
                let value = self.build(|b| {
                    let (r, c) = (b.index(1), b.index(8));
                    let sizes = attrs([("sizes", Attr::Ints(vec![2, 8]))]);
                    b.result(Opcode::Subview, &[&[s], &[r], &[c], &[], &[]], ty, sizes)
                });
                self.push(value);
            }
            15 => {
                let (s, d) = (self.some(|t| t.shape == [2, 8])?, self.tile()?);
                self.build(|b| {
                    let (r, c) = (b.index(4), b.index(0));
                    b.dest(Opcode::TInsert, &[&[s], &[r], &[c]], d, plain());
                });
            }
            16 => {
                let ty = Type::Opaque(Opaque::Tiles { tile: matrix(), count: SEVERAL });
                let value = self.build(|b| b.result(Opcode::AllocTiles, &[&[], &[], &[]], ty, plain()));
                self.push(value);
            }
            17 => {
                let several = |v: &Value| matches!(self.func.ty(*v), Type::Opaque(Opaque::Tiles { .. }));
                let all: Vec<Value> = self.visible.concat().into_iter().filter(several).collect();
                let tiles = *all.get(self.control.choose(all.len()))?;
                let (known, turn) = (self.control.choose(SEVERAL as usize + 2), self.turn);
                let value = self.build(|b| {
                    let index = if known < SEVERAL as usize { b.index(known as i64) } else { turn };
                    b.result(Opcode::TilesGet, &[&[tiles], &[index]], Type::Tile(matrix()), plain())
                });
                self.push(value);
            }
            18 => {
                let (x, y) = (self.some(|t| *t == matrix())?, self.some(|t| *t == matrix())?);
                let value = self.build(|b| {
                    let condition = b.constant(Scalar::bool(true));
                    b.result(Opcode::Select, &[&[condition], &[x], &[y]], Type::Tile(matrix()), plain())
                });
                self.push(value);
            }
            19 | 20 => self.repeat(depth),
            21 => self.repeat_while(depth),
            _ => self.branch(depth),
        }
        Some(())
    }

    /// A loop; half of them carry a tile, yielding it or another one from outside.
    fn repeat(&mut self, depth: usize) {
        let carried = if self.control.choose(2) == 0 { self.some(|t| *t == matrix()) } else { None };
        let inside_of = carried.map(|_| matrix());
        let next = self.some(|t| *t == matrix());
        let types: Vec<Type> = inside_of.iter().cloned().map(Type::Tile).collect();
        let (op, region) = self.build(|b| {
            let (zero, two, one) = (b.index(0), b.index(2), b.index(1));
            let init: Vec<Value> = carried.into_iter().collect();
            let kind = attrs([("kind", Attr::Word("range".into()))]);
            let op = b.effect(Opcode::For, &[&[zero], &[two], &[one], &init], kind);
            for ty in &types {
                b.add_result(op, ty.clone());
            }
            let mut args = vec![(Type::INDEX, None)];
            args.extend(types.iter().map(|t| (t.clone(), None)));
            (op, b.add_region(op, &args))
        });
        let args: Vec<Value> = self.func.blocks[region].args[1..].to_vec();
        let next = next.filter(|_| self.control.choose(2) == 0).or(args.first().copied());
        self.region(
            region,
            args.clone(),
            depth,
            |_| if args.is_empty() { Vec::new() } else { next.into_iter().collect() },
        );
        let results = self.func.ops[op].results.clone();
        self.visible.last_mut().expect("a region").extend(results);
    }

    fn repeat_while(&mut self, depth: usize) {
        let (head, body) = self.build(|b| {
            let op = b.effect(Opcode::While, &[&[]], Attrs::default());
            (b.add_region(op, &[]), b.add_region(op, &[]))
        });
        let outside = std::mem::replace(&mut self.block, head);
        self.visible.push(Vec::new());
        self.statement(3);
        self.build(|b| {
            let go = b.constant(Scalar::bool(true));
            b.effect(Opcode::Condition, &[&[go], &[]], Attrs::default())
        });
        self.visible.pop();
        self.block = outside;
        self.region(body, Vec::new(), depth, |_| Vec::new());
    }

    /// A branch; some yield one of two tiles.
    fn branch(&mut self, depth: usize) {
        let yields = self.control.choose(2) == 0 && self.some(|t| *t == matrix()).is_some();
        let (op, regions) = self.build(|b| {
            let condition = b.constant(Scalar::bool(true));
            let op = b.effect(Opcode::If, &[&[condition]], Attrs::default());
            if yields {
                b.add_result(op, Type::Tile(matrix()));
            }
            (op, [b.add_region(op, &[]), b.add_region(op, &[])])
        });
        for region in regions {
            self.region(region, Vec::new(), depth, |g| {
                if yields { g.some(|t| *t == matrix()).into_iter().collect() } else { Vec::new() }
            });
        }
        let results = self.func.ops[op].results.clone();
        self.visible.last_mut().expect("a region").extend(results);
    }

    fn region(
        &mut self,
        region: Block,
        args: Vec<Value>,
        depth: usize,
        yields: impl FnOnce(&mut Generator) -> Vec<Value>,
    ) {
        let outside = std::mem::replace(&mut self.block, region);
        self.visible.push(args);
        for _ in 0..2 + self.control.choose(5) {
            self.statement(depth + 1);
        }
        let values = yields(self);
        self.build(|b| b.effect(Opcode::Yield, &[&values], Attrs::default()));
        self.visible.pop();
        self.block = outside;
    }
}

/// A tile value at run time: which bytes of which root.
#[derive(Clone, PartialEq, Debug)]
struct View {
    root: Value,
    offset: usize,
    /// Bytes from one row to the next.
    pitch: usize,
    valid: (usize, usize),
}

impl View {
    fn bytes(&self) -> Vec<usize> {
        let row = |r: usize| (0..self.valid.1 * 4).map(move |b| r * self.pitch + b);
        (0..self.valid.0).flat_map(row).map(|b| self.offset + b).collect()
    }

    fn cut(&self, rows: usize, cols: usize) -> View {
        View { valid: (self.valid.0.min(rows), self.valid.1.min(cols)), ..self.clone() }
    }
}

/// What made a byte: number of the write, and which of its bytes.
type Mark = (u32, usize);
const UNDEFINED: Mark = (0, 0);
const SCRAPPED: Mark = (u32::MAX, 0);

struct Machine<'a> {
    func: &'a Function,
    address: &'a BTreeMap<Value, usize>,
    control: Control,
    views: BTreeMap<Value, View>,
    own: BTreeMap<Value, Vec<Mark>>,
    memory: Vec<Mark>,
    writes: u32,
    steps: usize,
    /// Reads that were compared.
    compared: usize,
}

type Fault = String;

impl<'a> Machine<'a> {
    fn new(func: &'a Function, address: &'a BTreeMap<Value, usize>, seed: u64) -> Machine<'a> {
        let memory = vec![UNDEFINED; 256 << 10];
        let (views, own) = (BTreeMap::new(), BTreeMap::new());
        Machine { func, address, control: Control::new(seed), views, own, memory, writes: 0, steps: 0, compared: 0 }
    }

    fn ty(&self, value: Value) -> &'a TileType {
        self.func.ty(value).as_tile().expect("a tile")
    }

    fn pass(&mut self, from: &[Value], to: &[Value]) {
        let views: Vec<View> = from.iter().map(|v| self.views[v].clone()).collect();
        for (&to, view) in to.iter().zip(views) {
            self.views.insert(to, view);
        }
    }

    /// Runs a block; the values that its terminator passes on.
    fn block(&mut self, block: Block) -> Result<Vec<Value>, Fault> {
        for &op in &self.func.blocks[block].ops {
            self.steps += 1;
            let data = &self.func.ops[op];
            match data.opcode {
                Opcode::Yield | Opcode::Condition => return Ok(data.named("values").to_vec()),
                Opcode::For => {
                    let args = &self.func.blocks[data.regions[0]].args[1..];
                    self.pass(data.named("init"), args);
                    for _ in 0..self.trips() {
                        let next = self.block(data.regions[0])?;
                        self.pass(&next, args);
                    }
                    self.pass(args, &data.results);
                }
                Opcode::While => {
                    for _ in 0..self.trips() {
                        self.block(data.regions[0])?;
                        self.block(data.regions[1])?;
                    }
                    self.block(data.regions[0])?;
                }
                Opcode::If => {
                    let taken = data.regions[self.control.choose(2)];
                    let values = self.block(taken)?;
                    self.pass(&values, &data.results);
                }
                _ => self.leaf(op)?,
            }
        }
        Ok(Vec::new())
    }

    fn trips(&mut self) -> usize {
        if self.steps > 2000 { 0 } else { self.control.choose(4) }
    }

    fn leaf(&mut self, op: Op) -> Result<(), Fault> {
        let data = &self.func.ops[op];
        let view = |v: Value| self.views[&v].clone();
        match data.opcode {
            Opcode::AllocTile => {
                let value = data.results[0];
                let ty = self.ty(value);
                let size = (ty.shape[0] * ty.shape[1] * 4) as usize;
                self.own.insert(value, vec![UNDEFINED; size]);
                let valid = |i: usize| ty.valid[i].known().expect("static") as usize;
                let view =
                    View { root: value, offset: 0, pitch: ty.shape[1] as usize * 4, valid: (valid(0), valid(1)) };
                self.views.insert(value, view);
                Ok(())
            }
            Opcode::AllocTiles => {
                let value = data.results[0];
                self.own.insert(value, vec![UNDEFINED; (SEVERAL * ROWS * COLS * 4) as usize]);
                let valid = (ROWS as usize, COLS as usize);
                self.views.insert(value, View { root: value, offset: 0, pitch: COLS as usize * 4, valid });
                Ok(())
            }
            Opcode::TilesGet => {
                let several = view(data.named("tiles")[0]);
                let known = self.func.const_int(data.named("index")[0]).map(|k| k as usize);
                let k = known.unwrap_or_else(|| self.control.choose(SEVERAL as usize));
                self.views.insert(data.results[0], View { offset: k * (ROWS * COLS * 4) as usize, ..several });
                Ok(())
            }
            Opcode::Select => {
                let group = if self.control.choose(2) == 0 { "a" } else { "b" };
                self.views.insert(data.results[0], view(data.named(group)[0]));
                Ok(())
            }
            Opcode::TReshape => {
                let source = view(data.named("source")[0]);
                let valid = (1, (ROWS * COLS) as usize);
                self.views.insert(data.results[0], View { pitch: valid.1 * 4, valid, ..source });
                Ok(())
            }
            Opcode::Subview => {
                let source = view(data.named("tile")[0]);
                let offset = source.offset + source.pitch + 8 * 4;
                self.views.insert(data.results[0], View { offset, valid: (2, 8), ..source });
                Ok(())
            }
            Opcode::TLoad => {
                let dest = view(data.dests[0]);
                self.execute(&[], &[], Some(dest.clone()), &[])
            }
            Opcode::TStore => self.execute(&[view(data.named("source")[0])], &[], None, &[]),
            Opcode::TSetVal => {
                let dest = view(data.dests[0]);
                let at = |group| self.func.const_int(data.named(group)[0]).expect("a literal") as usize;
                let one = View { offset: dest.offset + at("row") * dest.pitch + at("col") * 4, valid: (1, 1), ..dest };
                self.execute(&[], &[], Some(one), &[])
            }
            Opcode::TInsert => {
                let dest = view(data.dests[0]);
                let window = View { offset: dest.offset + 4 * dest.pitch, valid: (2, 8), ..dest };
                self.execute(&[view(data.named("source")[0])], &[], Some(window), &[])
            }
            Opcode::TAdd | Opcode::TExp | Opcode::TCvt | Opcode::TRowExpandSub => {
                let dest = view(data.dests[0]);
                let (rows, cols) = dest.valid;
                // A source is read where the destination is valid, its own padding included.
                let read = |v: Value| View { valid: (rows, cols), ..view(v) };
                match data.opcode {
                    Opcode::TCvt => self.execute(&[read(data.operands[0])], &[], Some(dest), &[]),
                    Opcode::TRowExpandSub => {
                        let vector = view(data.operands[1]).cut(rows, 1);
                        self.execute(&[vector], &[read(data.operands[0])], Some(dest), &[])
                    }
                    _ => {
                        let sources: Vec<View> = data.operands.iter().map(|&v| read(v)).collect();
                        self.execute(&[], &sources, Some(dest), &[])
                    }
                }
            }
            Opcode::TRowMax => {
                let source = view(data.named("source")[0]);
                let dest = view(data.dests[0]).cut(source.valid.0, 1);
                let scratch: Vec<View> = data.named("tmp").iter().map(|&v| view(v)).collect();
                self.execute(&[source], &[], Some(dest), &scratch)
            }
            _ => Ok(()),
        }
    }

    /// Reads `apart` and, element by element as the destination is written, `in_place`; then writes `dest`.
    fn execute(
        &mut self,
        apart: &[View],
        in_place: &[View],
        dest: Option<View>,
        scratch: &[View],
    ) -> Result<(), Fault> {
        // Scratch may take any contents before, during and after.
        for view in scratch {
            let whole = self.own[&view.root].len();
            for b in 0..whole {
                self.memory[self.address[&view.root] + b] = SCRAPPED;
                self.own.get_mut(&view.root).expect("made")[b] = UNDEFINED;
            }
        }
        // An operand at the destination's very address is read element by element before that element is written; the
        // others are read while the destination is being written. (What the program itself overlays is not our matter.)
        let base = |v: &View| self.address[&v.root] + v.offset;
        let at_dest = |v: &View| dest.as_ref().is_some_and(|d| base(v) == base(d) && v.pitch == d.pitch);
        let own_dest = |v: &View| dest.as_ref().is_some_and(|d| v.root == d.root);
        let (first, late): (Vec<&View>, Vec<&View>) = in_place.iter().partition(|v| at_dest(v));
        let late: Vec<&View> = late.into_iter().chain(apart).filter(|v| !own_dest(v)).collect();
        for view in first {
            self.read(view)?;
        }
        let mut scrapped = Vec::new();
        if let Some(dest) = &dest {
            for b in dest.bytes() {
                let at = self.address[&dest.root] + b;
                scrapped.push((at, self.memory[at]));
                self.memory[at] = SCRAPPED;
            }
        }
        for view in late {
            self.read(view)?;
        }
        for (at, mark) in scrapped {
            self.memory[at] = mark;
        }
        if let Some(dest) = dest {
            self.writes += 1;
            for (i, b) in dest.bytes().into_iter().enumerate() {
                let mark = (self.writes, i);
                self.own.get_mut(&dest.root).expect("made")[b] = mark;
                self.memory[self.address[&dest.root] + b] = mark;
            }
        }
        Ok(())
    }

    fn read(&mut self, view: &View) -> Result<(), Fault> {
        let (own, base) = (&self.own[&view.root], self.address[&view.root]);
        for b in view.bytes() {
            if own.get(b).is_some_and(|&m| m != UNDEFINED && m != self.memory[base + b]) {
                return Err(format!("byte {b} of {:?} is {:?}, not {:?}", view.root, self.memory[base + b], own[b]));
            }
        }
        self.compared += 1;
        Ok(())
    }
}

fn program(func: Function) -> Program {
    let mut functions = Arena::default();
    let entry = functions.push(Function::new("main", FunctionKind::Orchestration));
    functions.push(func);
    let sources = Default::default();
    Program { name: "p".into(), arch: Arch::A2a3, level: Level::Tile, functions, entry, sources }
}

fn addresses(plan: &Plan) -> BTreeMap<Value, usize> {
    plan.functions[0].tiles.iter().map(|t| (t.value, t.address as usize)).collect()
}

/// Follows `paths` paths; the first fault, or how many reads were compared.
fn follow(func: &Function, address: &BTreeMap<Value, usize>, seed: u64, paths: u64) -> Result<usize, Fault> {
    let mut compared = 0;
    for path in 0..paths {
        let mut machine = Machine::new(func, address, seed.wrapping_mul(1000) + path);
        machine.block(func.body)?;
        compared += machine.compared;
    }
    Ok(compared)
}

#[test]
fn no_byte_that_is_read_was_clobbered() {
    let (mut compared, mut shared) = (0, 0);
    for seed in 0..400 {
        let program = program(Generator::kernel(seed, 20 + seed as usize % 60));
        let func = program.functions.iter().nth(1).expect("the kernel").1;
        let order = [Order::Size, Order::Program, Order::Seeded(seed)][seed as usize % 3];
        let plan = plan(&program, &Options { order, ..Options::default() }).expect("fits");
        let again = assemble::plan(&program, &Options { order, ..Options::default() }).expect("fits");
        assert_eq!(plan, again, "seed {seed}: not deterministic");
        let address = addresses(&plan);
        let tiles = &plan.functions[0].tiles;
        shared +=
            tiles.iter().map(|t| t.bytes).sum::<u64>() / tiles.iter().map(|t| t.address + t.bytes).max().unwrap_or(1);
        match follow(func, &address, seed, 8) {
            Ok(n) => compared += n,
            Err(fault) => panic!("seed {seed}, {order:?}: {fault}\n{plan:#?}"),
        }
    }
    assert!(compared > 20_000, "only {compared} reads compared");
    assert!(shared > 600, "the plans hardly share bytes: {shared}");
}

#[test]
fn the_check_finds_coalesced_tiles() {
    let (mut wrong, mut found) = (0, 0);
    for seed in 0..60 {
        let program = program(Generator::kernel(seed, 60));
        let func = program.functions.iter().nth(1).expect("the kernel").1;
        let plan = plan(&program, &Options::default()).expect("fits");
        let mut address = addresses(&plan);
        for at in address.values_mut() {
            *at = 0;
        }
        wrong += 1;
        found += usize::from(follow(func, &address, seed, 8).is_err());
    }
    assert!(found * 10 >= wrong * 9, "{found} of {wrong}");
}
