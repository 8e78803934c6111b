//! Random tensor-level programs: one scope of tile code with loops, branches, carries, in-place changes and products.

use chip::Arch;
use control::Control;
use diag::Sources;
use dtype::DType;
use ir::builder::{NewOp, attrs};
use ir::{
    Arena, Attr, Builder, Dim, Direction, Function, FunctionKind, Level, Opcode, Program, TensorType, TileType, Type,
    Value,
};

pub(crate) fn program(seed: u64, arch: Arch) -> Program {
    let mut f = Function::new("random", FunctionKind::Orchestration);
    let tensor = |d: DType, r: u64, c: u64| Type::Tensor(TensorType::packed(d, vec![Dim::Static(r), Dim::Static(c)]));
    let x = f.add_param("x", Direction::In, tensor(DType::F32, 64, 64));
    let h = f.add_param("h", Direction::In, tensor(DType::BF16, 64, 64));
    let n = f.add_param("n", Direction::In, Type::INDEX);
    let s = f.add_param("s", Direction::In, Type::Scalar(DType::F32));
    let y = f.add_param("y", Direction::Out, tensor(DType::F32, 4096, 64));
    let mut b = Builder::new(&mut f);
    let scope = b.op(NewOp {
        opcode: Opcode::Scope,
        groups: &[&[], &[]],
        dests: &[],
        results: &[Type::TaskId],
        attrs: attrs([("name", Attr::Text("work".into()))]),
    });
    let region = b.add_region(scope, &[]);
    let outer = b.switch_to(region);
    let mut g = Generator {
        c: Control::new(seed),
        b,
        x,
        h,
        y,
        scalars: vec![s],
        indices: vec![n],
        tiles: Vec::new(),
        rows: 0,
        products: seed.is_multiple_of(3),
    };
    for _ in 0..3 {
        g.load();
    }
    let steps = 6 + g.c.choose(10);
    g.steps(steps, 0);
    for value in g.tiles.clone() {
        g.store(value);
    }
    g.b.effect(Opcode::Yield, &[&[]], attrs([]));
    g.b.switch_to(outer);
    g.b.effect(Opcode::Return, &[&[y]], attrs([]));
    let mut functions = Arena::default();
    let entry = functions.push(f);
    Program { name: "random".into(), arch, level: Level::Tensor, functions, entry, sources: Sources::default() }
}

struct Generator<'a> {
    c: Control,
    b: Builder<'a>,
    x: Value,
    h: Value,
    y: Value,
    scalars: Vec<Value>,
    indices: Vec<Value>,
    /// Visible tiles.
    tiles: Vec<Value>,
    /// Next free row of the output.
    rows: u64,
    products: bool,
}

/// Shapes that are aligned for f32 and bf16.
const SHAPES: [(u64, u64); 7] = [(16, 32), (32, 16), (16, 16), (16, 1), (1, 16), (32, 1), (1, 32)];

impl Generator<'_> {
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.c.choose(list.len())]
    }

    fn ty(&self, v: Value) -> TileType {
        self.b.func.ty(v).as_tile().expect("a tile").clone()
    }

    /// A visible tile that fits.
    fn tile(&mut self, fits: impl Fn(&TileType) -> bool) -> Option<Value> {
        let list: Vec<Value> = self.tiles.iter().copied().filter(|&v| fits(&self.ty(v))).collect();
        if list.is_empty() { None } else { Some(self.pick(&list)) }
    }

    fn any(&mut self) -> Value {
        let tiles = self.tiles.clone();
        self.pick(&tiles)
    }

    fn steps(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            match self.c.choose(23) {
                0..=1 => self.load(),
                2..=7 => self.elementwise(),
                8..=9 => self.reduce(),
                10..=11 => self.broadcast(),
                12 => self.reshape(),
                13 => self.change(),
                14..=15 if depth < 2 => self.repeat(depth),
                16..=17 if depth < 2 => self.branch(depth),
                18 if self.products => self.product(),
                19 => self.convert(),
                20 => self.select(),
                21 => self.bits(),
                _ => self.gather(),
            }
        }
    }

    fn load(&mut self) {
        let (rows, cols) = self.pick(&SHAPES);
        let (tensor, dtype) = self.pick(&[(self.x, DType::F32), (self.x, DType::F32), (self.h, DType::BF16)]);
        let dtype = if cols == 1 { DType::F32 } else { dtype };
        let tensor = if cols == 1 { self.x } else { tensor };
        let (r, c) = (self.c.choose(32) as i64, self.c.choose(2) as i64 * 16);
        let (r, c) = (self.b.index(r), self.b.index(c));
        let mut ty = TileType::value(dtype, vec![rows, cols]);
        let mut valid = Vec::new();
        if self.c.choose(4) == 0 {
            let axis = usize::from(rows == 1);
            if ty.shape[axis] > 8 {
                ty.valid[axis] = Dim::Dynamic;
                let indices = self.indices.clone();
                let index = self.pick(&indices);
                let most = self.b.index(ty.shape[axis] as i64);
                let one = self.b.index(1);
                let low = self.b.infer(Opcode::ScalarMax, &[&[index], &[one]], attrs([])).expect("indices");
                valid.push(self.b.infer(Opcode::ScalarMin, &[&[low], &[most]], attrs([])).expect("indices"));
            }
        }
        let sizes = attrs([("sizes", Attr::Ints(vec![rows as i64, cols as i64]))]);
        let value = self.b.result(Opcode::Load, &[&[tensor], &[r, c], &valid], Type::Tile(ty), sizes);
        self.tiles.push(value);
    }

    /// To rows of the output that nothing else writes, as f32.
    fn store(&mut self, value: Value) {
        let ty = self.ty(value);
        let value = match ty.dtype {
            DType::F32 => value,
            _ => self.cvt(value, DType::F32),
        };
        let (row, zero) = (self.b.index(self.rows as i64), self.b.index(0));
        self.rows += ty.rows();
        let sizes = attrs([("sizes", Attr::Ints(ty.shape.iter().map(|&n| n as i64).collect()))]);
        self.b.effect(Opcode::Store, &[&[value], &[self.y], &[row, zero]], sizes);
    }

    fn infer(&mut self, opcode: Opcode, groups: &[&[Value]]) -> Option<Value> {
        let value = self.b.infer(opcode, groups, attrs([])).ok()?;
        self.tiles.push(value);
        Some(value)
    }

    fn elementwise(&mut self) {
        use Opcode as C;
        let a = self.any();
        let ty = self.ty(a);
        match self.c.choose(3) {
            0 => {
                let b = self.tile(|t| t.dtype == ty.dtype && t.shape == ty.shape).expect("itself");
                let opcode = self.pick(&[C::TAdd, C::TSub, C::TMul, C::TMax, C::TMin]);
                self.infer(opcode, &[&[a], &[b]]);
            }
            1 if ty.dtype == DType::F32 => {
                let scalars = self.scalars.clone();
                let s = self.pick(&scalars);
                let opcode = self.pick(&[C::TAddS, C::TSubS, C::TMulS, C::TMaxS, C::TMinS]);
                self.infer(opcode, &[&[a], &[s]]);
            }
            _ => {
                let opcode = self.pick(&[C::TAbs, C::TNeg, C::TRelu, C::TMov, C::TExp]);
                self.infer(opcode, &[&[a]]);
            }
        }
    }

    /// By a mask of another tile of that shape, which may have fewer valid rows.
    fn select(&mut self) {
        use Opcode as C;
        let matrix = |t: &TileType| t.dtype == DType::F32 && t.cols() > 1;
        let Some(a) = self.tile(matrix) else { return };
        let shape = self.ty(a).shape;
        let alike = |t: &TileType| t.dtype == DType::F32 && t.shape == shape;
        let (b, c) = (self.tile(alike).expect("itself"), self.tile(alike).expect("itself"));
        let s = self.scalars[0];
        let list = attrs([("predicate", Attr::Word(self.pick(ir::ops::PREDICATES).into()))]);
        let mask = match self.c.choose(2) {
            0 => self.b.infer(C::TCmp, &[&[b], &[c]], list),
            _ => self.b.infer(C::TCmpS, &[&[c], &[s]], list),
        };
        let mask = mask.expect("of one shape");
        match self.c.choose(2) {
            0 => self.infer(C::TSel, &[&[mask], &[a], &[b], &[]]),
            _ => self.infer(C::TSelS, &[&[mask], &[a], &[s], &[]]),
        };
    }

    /// The bits of a tile, mixed with themselves by way of integers.
    fn bits(&mut self) {
        let Some(a) = self.tile(|t| t.dtype == DType::F32 && t.is_fully_valid()) else { return };
        let ty = self.ty(a);
        let to = Type::Tile(TileType { dtype: DType::I32, ..ty.clone() });
        let bits = self.b.result(Opcode::Bitcast, &[&[a]], to, attrs([]));
        let opcode = self.pick(&[Opcode::TAnd, Opcode::TOr]);
        let count = self.b.constant(dtype::Scalar::from_i64(DType::I32, 3));
        let other = self.b.infer(Opcode::TShrS, &[&[bits], &[count]], attrs([])).expect("integers");
        let mixed = self.b.infer(opcode, &[&[bits], &[other]], attrs([])).expect("integers");
        let value = self.b.result(Opcode::Bitcast, &[&[mixed]], Type::Tile(ty), attrs([]));
        self.tiles.push(value);
    }

    /// From a tile in another order: its first rows again, element by element.
    fn gather(&mut self) {
        let Some(a) = self.tile(|t| t.dtype == DType::F32 && t.shape == [16, 32]) else { return };
        let start = self.b.constant(dtype::Scalar::from_i64(DType::I32, 31));
        let ty = TileType::value(DType::I32, vec![1, 32]);
        let list = attrs([("descending", Attr::Bool(true))]);
        let indices = self.b.result(Opcode::TCi, &[&[start]], Type::Tile(ty), list);
        self.infer(Opcode::TGather, &[&[a], &[indices], &[]]);
    }

    fn reduce(&mut self) {
        use Opcode as C;
        let Some(a) = self.tile(|t| t.dtype == DType::F32 && t.cols() > 1 && t.rows() > 1) else { return };
        let opcode = self.pick(&[C::TRowSum, C::TRowMax, C::TRowMin, C::TColSum, C::TColMax, C::TColMin]);
        self.infer(opcode, &[&[a], &[]]);
    }

    fn broadcast(&mut self) {
        use Opcode as C;
        let a = self.any();
        let ty = self.ty(a);
        let rows = self.c.choose(2) == 0;
        let shape = if rows { vec![ty.rows(), 1] } else { vec![1, ty.cols()] };
        let full = |t: &TileType| t.dtype == ty.dtype && t.shape == shape && t.is_fully_valid();
        let Some(v) = self.tile(full) else { return };
        let opcode = match rows {
            true => self.pick(&[C::TRowExpandAdd, C::TRowExpandSub, C::TRowExpandMul, C::TRowExpandMax]),
            false => self.pick(&[C::TColExpandAdd, C::TColExpandSub, C::TColExpandMul, C::TColExpandMin]),
        };
        self.infer(opcode, &[&[a], &[v]]);
    }

    fn cvt(&mut self, a: Value, to: DType) -> Value {
        let ty = TileType { dtype: to, ..self.ty(a) };
        let mode = self.pick(&["rint", "round", "trunc"]);
        let mode = attrs([("mode", Attr::Word(mode.into()))]);
        self.b.result(Opcode::TCvt, &[&[a]], Type::Tile(ty), mode)
    }

    fn convert(&mut self) {
        let a = self.any();
        let ty = self.ty(a);
        let to = match ty.dtype {
            DType::F32 => self.pick(&[DType::BF16, DType::F16, DType::I32]),
            _ => DType::F32,
        };
        // 16 columns of 16 bits are a block; a column of 16 rows is too.
        let value = self.cvt(a, to);
        self.tiles.push(value);
    }

    fn reshape(&mut self) {
        let a = self.any();
        let ty = self.ty(a);
        if ty.is_fully_valid() {
            let n = ty.rows() * ty.cols();
            let shapes: Vec<(u64, u64)> = SHAPES.into_iter().filter(|(r, c)| r * c == n).collect();
            let (r, c) = self.pick(&shapes);
            if vec![r, c] != ty.shape {
                let new = TileType::value(ty.dtype, vec![r, c]);
                let value = self.b.result(Opcode::TReshape, &[&[a]], Type::Tile(new), attrs([]));
                self.tiles.push(value);
            }
        } else if ty.shape == [16, 1] || ty.shape == [1, 16] {
            let valid = vec![ty.valid[1], ty.valid[0]];
            let new = TileType::value(ty.dtype, vec![ty.shape[1], ty.shape[0]]).with_valid(valid);
            let value = self.b.result(Opcode::TReshape, &[&[a]], Type::Tile(new), attrs([]));
            self.tiles.push(value);
        }
    }

    /// In-place changes, of a fresh tile or of one that others hold.
    fn change(&mut self) {
        let Some(small) = self.tile(|t| t.shape == [16, 16] && t.dtype == DType::F32) else { return };
        let target = if self.c.choose(2) == 0 {
            let ty = TileType::value(DType::F32, vec![16, 32]);
            self.b.result(Opcode::TileCreate, &[], Type::Tile(ty), attrs([]))
        } else {
            let Some(t) = self.tile(|t| t.shape == [16, 32] && t.dtype == DType::F32) else { return };
            self.b.infer(Opcode::TMov, &[&[t]], attrs([])).expect("a tile")
        };
        let (zero, col) = (self.b.index(0), self.b.index(16));
        self.b.dest(Opcode::TInsert, &[&[small], &[zero], &[col]], target, attrs([]));
        self.tiles.push(target);
        if self.c.choose(2) == 0 {
            let (r, c) = (self.b.index(3), self.b.index(5));
            let s = self.b.infer(Opcode::TGetVal, &[&[small], &[zero], &[zero]], attrs([])).expect("a scalar");
            self.b.dest(Opcode::TSetVal, &[&[r], &[c], &[s]], target, attrs([]));
        }
        if self.c.choose(2) == 0 {
            let ty = TileType::value(DType::F32, vec![16, 16]);
            let part = self.b.result(Opcode::TExtract, &[&[target], &[zero], &[col], &[]], Type::Tile(ty), attrs([]));
            self.tiles.push(part);
        }
    }

    fn product(&mut self) {
        let dtype = self.pick(&[DType::F32, DType::BF16]);
        let (ta, tb) = (self.c.choose(3) == 0, self.c.choose(3) == 0);
        let lhs_shape = if ta { [32, 16] } else { [16, 32] };
        let rhs_shape = if tb { [16, 32] } else { [32, 16] };
        let full = |t: &TileType, shape: [u64; 2]| t.dtype == dtype && t.shape == shape && t.is_fully_valid();
        let (Some(lhs), Some(rhs)) = (self.tile(|t| full(t, lhs_shape)), self.tile(|t| full(t, rhs_shape))) else {
            return;
        };
        let list = attrs([("a_trans", Attr::Bool(ta)), ("b_trans", Attr::Bool(tb))]);
        let product = self.b.infer(Opcode::TMatmul, &[&[lhs], &[rhs]], list.clone()).expect("fits");
        self.tiles.push(product);
        if self.c.choose(2) == 0 {
            // The product itself may be used later, too.
            if self.c.choose(2) == 0 {
                self.tiles.pop();
            }
            let sum = self.b.infer(Opcode::TMatmulAcc, &[&[product], &[lhs], &[rhs]], list).expect("fits");
            self.tiles.push(sum);
        }
    }

    /// A loop that carries some tiles, and makes new ones from them.
    fn repeat(&mut self, depth: usize) {
        let count = self.c.choose(4) as i64;
        let (lower, upper, step) = (self.b.index(0), self.b.index(count), self.b.index(1));
        let init: Vec<Value> = (0..1 + self.c.choose(3)).map(|_| self.any()).collect();
        let types: Vec<Type> = init.iter().map(|&v| self.b.func.ty(v).clone()).collect();
        let op = self.b.op(NewOp {
            opcode: Opcode::For,
            groups: &[&[lower], &[upper], &[step], &init],
            dests: &[],
            results: &types,
            attrs: attrs([("kind", Attr::Word("range".into()))]),
        });
        let mut args = vec![(Type::INDEX, None)];
        args.extend(types.iter().map(|t| (t.clone(), None)));
        let body = self.b.add_region(op, &args);
        let outer = self.b.switch_to(body);
        let (tiles, indices) = (self.tiles.len(), self.indices.len());
        let names = self.b.func.blocks[body].args.clone();
        self.indices.push(names[0]);
        self.tiles.extend(&names[1..]);
        let steps = 2 + self.c.choose(4);
        self.steps(steps, depth + 1);
        let next: Vec<Value> = types.iter().map(|t| self.of_type(t)).collect();
        self.b.effect(Opcode::Yield, &[&next], attrs([]));
        self.tiles.truncate(tiles);
        self.indices.truncate(indices);
        self.b.switch_to(outer);
        self.tiles.extend(self.b.func.ops[op].results.clone());
    }

    /// A visible tile of exactly this type; newer ones are likelier.
    fn of_type(&mut self, ty: &Type) -> Value {
        let list: Vec<Value> = self.tiles.iter().copied().filter(|&v| self.b.func.ty(v) == ty).collect();
        let newest = list[list.len() - 1];
        if self.c.choose(2) == 0 { newest } else { self.pick(&list) }
    }

    fn branch(&mut self, depth: usize) {
        let index = self.indices[self.indices.len() - 1];
        let limit = self.c.choose(3) as i64;
        let limit = self.b.index(limit);
        let list = attrs([("predicate", Attr::Word(self.pick(&["lt", "eq", "gt"]).into()))]);
        let condition = self.b.infer(Opcode::ScalarCmp, &[&[index], &[limit]], list).expect("indices");
        let models: Vec<Value> = (0..1 + self.c.choose(2)).map(|_| self.any()).collect();
        let types: Vec<Type> = models.into_iter().map(|v| self.b.func.ty(v).clone()).collect();
        let op = self.b.op(NewOp {
            opcode: Opcode::If,
            groups: &[&[condition]],
            dests: &[],
            results: &types,
            attrs: attrs([]),
        });
        for _ in 0..2 {
            let body = self.b.add_region(op, &[]);
            let outer = self.b.switch_to(body);
            let tiles = self.tiles.len();
            let steps = 1 + self.c.choose(3);
            self.steps(steps, depth + 1);
            let values: Vec<Value> = types.iter().map(|t| self.of_type(t)).collect();
            self.b.effect(Opcode::Yield, &[&values], attrs([]));
            self.tiles.truncate(tiles);
            self.b.switch_to(outer);
        }
        self.tiles.extend(self.b.func.ops[op].results.clone());
    }
}
