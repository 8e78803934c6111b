//! The body of a kernel scope: loads, tile operations, loops and branches around them, stores.

use dtype::DType;

use super::{Base, Generator, OFFSETS, Tensor};

/// A tile in sight.
#[derive(Clone, Debug)]
struct Tile {
    name: String,
    dtype: DType,
    rows: u64,
    cols: u64,
    /// All of it is valid.
    full: bool,
    /// The matrix unit made it; vector work on it comes first, so it is not accumulated into.
    product: bool,
}

/// Tensors that this scope has written (and in a launch must not read any more: other blocks may be writing them).
struct Scope<'a> {
    base: &'a Base,
    launch: bool,
    written: Vec<String>,
    read: Vec<String>,
    tiles: Vec<Tile>,
    /// Index scalars below [`OFFSETS`].
    offsets: Vec<String>,
    /// Float or integer scalars by element type.
    scalars: Vec<(String, DType)>,
    /// How deep in loops and branches of this scope.
    nested: usize,
}

pub(super) fn body(g: &mut Generator, depth: usize, base: &Base, launch: bool) {
    let offsets = g.scalars.clone();
    let mut s = Scope {
        base,
        launch,
        written: Vec::new(),
        read: Vec::new(),
        tiles: Vec::new(),
        offsets,
        scalars: Vec::new(),
        nested: 0,
    };
    let start = g.text.len();
    s.load(g, depth);
    let statements = 2 + g.c.choose(9);
    for _ in 0..statements {
        s.statement(g, depth);
    }
    let stores = 1 + g.c.choose(2);
    for _ in 0..stores {
        s.store(g, depth);
    }
    if g.text.len() == start {
        g.line(depth, "pass");
    }
}

impl Scope<'_> {
    fn statement(&mut self, g: &mut Generator, depth: usize) {
        match g.c.choose(50) {
            0..=4 => self.load(g, depth),
            5..=8 => self.unary(g, depth),
            9..=13 => self.binary(g, depth),
            14..=17 => self.with_scalar(g, depth),
            18..=20 => self.reduce(g, depth),
            21..=23 => self.expand(g, depth),
            24 | 25 => self.cast(g, depth),
            26 | 27 => self.matmul(g, depth),
            28 => self.transpose(g, depth),
            29 => self.pad(g, depth),
            30 => self.full(g, depth),
            31 => self.read(g, depth),
            32 => self.insert(g, depth),
            33 => self.copy(g, depth),
            34 => self.reshape(g, depth),
            40 | 41 => self.compare(g, depth),
            42 => self.gather(g, depth),
            43 => self.pattern(g, depth),
            44 => self.sort(g, depth),
            45 => self.triangle(g, depth),
            46 => self.concat(g, depth),
            47 => self.scatter(g, depth),
            35 | 36 if self.nested < 2 => self.repeat(g, depth),
            37 | 38 if self.nested < 2 => self.branch(g, depth),
            _ => self.store(g, depth),
        }
    }

    /// A tile whose rows (or whose column) do not fill blocks of 32 bytes does not exist on the machines: then nothing
    /// is written.
    fn define(&mut self, g: &mut Generator, depth: usize, expression: &str, tile: Tile) {
        let run = if tile.cols == 1 { tile.rows } else { tile.cols };
        if !(run as usize * tile.dtype.size()).is_multiple_of(32) {
            return;
        }
        // Sometimes a name is bound anew.
        let same =
            |t: &&Tile| t.dtype == tile.dtype && t.rows == tile.rows && t.cols == tile.cols && t.full == tile.full;
        let rebound = self.tiles.iter().rev().find(same).filter(|_| g.one_in(3)).map(|t| t.name.clone());
        let name = match rebound {
            Some(name) => {
                self.tiles.retain(|t| t.name != name);
                name
            }
            None => g.fresh("q"),
        };
        g.line(depth, &format!("{name} = {expression}"));
        self.tiles.push(Tile { name, ..tile });
    }

    fn tile(&self, g: &mut Generator, fits: impl Fn(&Tile) -> bool) -> Option<Tile> {
        let found: Vec<&Tile> = self.tiles.iter().filter(|t| fits(t)).collect();
        if found.is_empty() { None } else { Some(found[g.c.choose(found.len())].clone()) }
    }

    /// Row and column where a box of this size may start in a tensor; `None` if it does not fit.
    fn place(&self, g: &mut Generator, t: &Tensor, rows: u64, cols: u64, own: bool) -> Option<(String, String)> {
        let column = t.cols.checked_sub(cols)?;
        let col = match g.one_in(3) {
            true if column >= OFFSETS && !self.offsets.is_empty() => g.pick(&self.offsets),
            _ => (g.c.choose(column as usize + 1)).to_string(),
        };
        let row = match self.base {
            Base::Strided { variable, rows: step, count } if own || g.one_in(2) => {
                if rows > *step || step * (count - 1) + rows > t.rows {
                    return None;
                }
                format!("{variable} * {step}")
            }
            Base::Strided { .. } if own => return None,
            _ => {
                let room = t.rows.checked_sub(rows)?;
                match g.one_in(3) {
                    true if room >= OFFSETS && !self.offsets.is_empty() => g.pick(&self.offsets),
                    _ => g.c.choose(room as usize + 1).to_string(),
                }
            }
        };
        Some((row, col))
    }

    fn load(&mut self, g: &mut Generator, depth: usize) {
        let tensor = g.pick(&g.tensors.clone());
        if tensor.offsets || (self.launch && self.written.contains(&tensor.name)) {
            return;
        }
        // Rows of a tile fill blocks of 32 bytes.
        let block = 32 / tensor.dtype.size() as u64;
        let (mut rows, mut cols) = (g.pick(&[1, 8, 16, 16]), block * g.pick(&[1, 1, 2, 4]));
        // Shapes that meet are more likely to be combined.
        if let Some(t) = self.tile(g, |t| t.cols % block == 0).filter(|_| g.one_in(2)) {
            (rows, cols) = (t.rows, t.cols);
        }
        let Some((row, col)) = self.place(g, &tensor, rows, cols, false) else { return };
        if self.launch && !self.read.contains(&tensor.name) {
            self.read.push(tensor.name.clone());
        }
        let name = &tensor.name;
        let tile = Tile { name: String::new(), dtype: tensor.dtype, rows, cols, full: true, product: false };
        match g.c.choose(5) {
            0 => {
                let (vr, vc) = (1 + g.c.choose(rows as usize), 1 + g.c.choose(cols as usize));
                let vc = if self.offsets.is_empty() || g.one_in(2) || cols < OFFSETS {
                    vc.to_string()
                } else {
                    format!("{} + 1", g.pick(&self.offsets))
                };
                let text = format!("pl.slice({name}, [{rows}, {cols}], [{row}, {col}], valid_shape=[{vr}, {vc}])");
                self.define(g, depth, &text, Tile { full: false, ..tile });
            }
            1 => self.define(g, depth, &format!("pl.slice({name}, [{rows}, {cols}], [{row}, {col}])"), tile),
            _ => {
                let text = format!("{name}[{row} : {row} + {rows}, {col} : {col} + {cols}]");
                self.define(g, depth, &text, tile);
            }
        }
    }

    fn store(&mut self, g: &mut Generator, depth: usize) {
        let targets: Vec<Tensor> = g.tensors.iter().filter(|t| t.written).cloned().collect();
        let Some(tile) = self.tile(g, |_| true) else { return };
        let fits: Vec<&Tensor> =
            targets.iter().filter(|t| t.dtype == tile.dtype && t.rows >= tile.rows && t.cols >= tile.cols).collect();
        let (tile, tensor) = match fits.is_empty() {
            false => (tile, (*fits[g.c.choose(fits.len())]).clone()),
            true => {
                let tensor = g.pick(&targets);
                if !convertible(tile.dtype, tensor.dtype) || tensor.rows < tile.rows || tensor.cols < tile.cols {
                    return;
                }
                let text = format!("pl.cast({}, pl.{})", tile.name, tensor.dtype.language_name());
                let made = self.tiles.len();
                self.define(g, depth, &text, Tile { dtype: tensor.dtype, product: false, ..tile });
                match self.tiles.get(made) {
                    Some(tile) => (tile.clone(), tensor),
                    None => return,
                }
            }
        };
        if self.launch && self.read.contains(&tensor.name) {
            return;
        }
        let Some((row, col)) = self.place(g, &tensor, tile.rows, tile.cols, true) else { return };
        if !self.written.contains(&tensor.name) {
            self.written.push(tensor.name.clone());
        }
        let (t, r, c) = (&tensor.name, tile.rows, tile.cols);
        if tile.full && g.one_in(2) {
            g.line(depth, &format!("{t}[{row} : {row} + {r}, {col} : {col} + {c}] = {}", tile.name));
        } else {
            g.line(depth, &format!("pl.assemble({t}, {}, [{row}, {col}])", tile.name));
        }
    }

    fn unary(&mut self, g: &mut Generator, depth: usize) {
        let Some(t) = self.tile(g, |_| true) else { return };
        let names: &[&str] = match t.dtype.is_float() {
            true if t.dtype == DType::F32 => {
                &["exp", "log", "sqrt", "rsqrt", "recip", "abs", "neg", "relu", "sin", "cos"]
            }
            true => &["exp", "log", "sqrt", "rsqrt", "recip", "abs", "neg", "relu"],
            false => &["abs", "neg", "relu", "not_"],
        };
        let text = format!("pl.{}({})", g.pick(names), t.name);
        self.define(g, depth, &text, Tile { product: false, ..t });
    }

    fn binary(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |_| true) else { return };
        let like = |b: &Tile| b.dtype == a.dtype && b.rows == a.rows && b.cols == a.cols;
        let Some(b) = self.tile(g, like) else { return };
        let mut names = vec!["add", "sub", "mul", "maximum", "minimum", "fmod", "rem"];
        names.extend(if a.dtype.is_float() { ["div", "prelu", "div"] } else { ["and_", "or_", "xor"] });
        if a.full && b.full {
            names.extend(["part_add", "part_mul", "part_max", "part_min"]);
        }
        let text = format!("pl.{}({}, {})", g.pick(&names), a.name, b.name);
        self.define(g, depth, &text, Tile { full: a.full && b.full, product: false, ..a.clone() });
    }

    fn with_scalar(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |_| true) else { return };
        let scalars: Vec<String> = self.scalars.iter().filter(|(_, d)| *d == a.dtype).map(|(n, _)| n.clone()).collect();
        let literal = match a.dtype.is_float() {
            true => g.pick(&["0.5", "2.0", "-1.25", "0.0", "3.0"]),
            false => g.pick(&["1", "2", "-3", "7"]),
        };
        let scalar = if scalars.is_empty() || g.one_in(2) { literal.to_owned() } else { g.pick(&scalars) };
        let text = match g.c.choose(8) {
            6 if a.dtype.is_float() => format!("pl.lrelu({}, {scalar})", a.name),
            6 => format!("pl.{}({}, {})", g.pick(&["shls", "shrs"]), a.name, g.c.choose(a.dtype.bits() as usize)),
            7 if a.dtype.is_float() => format!("pl.fmods({}, {scalar})", a.name),
            7 => format!("pl.{}({}, {scalar})", g.pick(&["ands", "ors", "xors", "rems"]), a.name),
            0 => format!("{} + {scalar}", a.name),
            1 => format!("{} * {scalar}", a.name),
            n => format!("pl.{}({}, {scalar})", ["add", "sub", "mul", "maximum"][n - 2], a.name),
        };
        self.define(g, depth, &text, Tile { product: false, ..a });
    }

    fn reduce(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| t.dtype != DType::BF16) else { return };
        let (axis, rows, cols) = if g.one_in(2) { ("row", a.rows, 1) } else { ("col", 1, a.cols) };
        let kind = g.pick(&["sum", "max", "min", "prod", "argmax", "argmin"]);
        let dtype = if kind.starts_with("arg") { DType::I32 } else { a.dtype };
        let text = format!("pl.{axis}_{kind}({})", a.name);
        self.define(g, depth, &text, Tile { rows, cols, dtype, product: false, ..a });
    }

    fn expand(&mut self, g: &mut Generator, depth: usize) {
        let Some(v) = self.tile(g, |t| t.full && (t.rows == 1 || t.cols == 1)) else { return };
        let row = v.cols == 1;
        let fits = |t: &Tile| {
            t.dtype == v.dtype && t.rows > 1 && t.cols > 1 && if row { t.rows == v.rows } else { t.cols == v.cols }
        };
        let Some(a) = self.tile(g, fits) else { return };
        let axis = if row { "row" } else { "col" };
        let mut names = vec!["add", "sub", "mul", "max", "min"];
        if a.dtype.is_float() {
            names.extend(["div", "expdif"]);
        }
        let text = format!("pl.{axis}_expand_{}({}, {})", g.pick(&names), a.name, v.name);
        self.define(g, depth, &text, Tile { product: false, ..a });
    }

    fn cast(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |_| true) else { return };
        let to = g.pick(&[DType::F32, DType::F16, DType::BF16, DType::I32, DType::I16, DType::I8]);
        if !convertible(a.dtype, to) {
            return;
        }
        let mode = g.pick(&["", ", mode=\"rint\"", ", mode=\"trunc\"", ", mode=\"floor\"", ", mode=\"ceil\""]);
        let text = format!("pl.cast({}, pl.{}{mode})", a.name, to.language_name());
        self.define(g, depth, &text, Tile { dtype: to, product: false, ..a });
    }

    /// Operands are loaded here, in shapes of the cube.
    fn matmul(&mut self, g: &mut Generator, depth: usize) {
        let usable = |t: &Tensor| matches!(t.dtype, DType::F32 | DType::F16 | DType::BF16) && !t.offsets;
        let all: Vec<Tensor> = g.tensors.iter().filter(|t| usable(t)).cloned().collect();
        if all.is_empty() {
            return;
        }
        let a = g.pick(&all);
        let b = g.pick(&all);
        if a.dtype != b.dtype || (self.launch && [&a, &b].iter().any(|t| self.written.contains(&t.name))) {
            return;
        }
        let (m, k, n) = (16, g.pick(&[16, 32]), g.pick(&[16, 32]));
        let transposed = g.one_in(3);
        let (kb, nb) = if transposed { (n, k) } else { (k, n) };
        let (Some((ra, ca)), Some((rb, cb))) = (self.place(g, &a, m, k, false), self.place(g, &b, kb, nb, false))
        else {
            return;
        };
        if self.launch {
            self.read.extend([a.name.clone(), b.name.clone()]);
        }
        let (x, y) = (g.fresh("m"), g.fresh("m"));
        g.line(depth, &format!("{x} = {}[{ra} : {ra} + {m}, {ca} : {ca} + {k}]", a.name));
        g.line(depth, &format!("{y} = {}[{rb} : {rb} + {kb}, {cb} : {cb} + {nb}]", b.name));
        let flag = if transposed { ", b_trans=True" } else { "" };
        let tile = Tile { name: String::new(), dtype: DType::F32, rows: m, cols: n, full: true, product: true };
        let same = |t: &Tile| t.product && t.rows == m && t.cols == n;
        match self.tile(g, same).filter(|_| g.one_in(2)) {
            Some(acc) => {
                self.tiles.retain(|t| t.name != acc.name);
                g.line(depth, &format!("{} = pl.matmul_acc({}, {x}, {y}{flag})", acc.name, acc.name));
                self.tiles.push(acc);
            }
            None => {
                let name = g.fresh("p");
                g.line(depth, &format!("{name} = pl.matmul({x}, {y}, out_dtype=pl.FP32{flag})"));
                self.tiles.push(Tile { name, ..tile });
            }
        }
    }

    fn transpose(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| t.full) else { return };
        let text = format!("pl.transpose({}, 0, 1)", a.name);
        self.define(g, depth, &text, Tile { rows: a.cols, cols: a.rows, product: false, ..a });
    }

    fn pad(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| !t.full) else { return };
        let pad = g.pick(&["zero", "max", "min"]);
        let text = format!("pl.fillpad({}, pad_value=pl.PadValue.{pad})", a.name);
        self.define(g, depth, &text, Tile { full: true, product: false, ..a });
    }

    fn full(&mut self, g: &mut Generator, depth: usize) {
        let (rows, cols) = (g.pick(&[1, 8, 16]), g.pick(&[16, 32]));
        let dtype = g.pick(&[DType::F32, DType::I32, DType::F16]);
        let value = if dtype.is_float() { "1.5" } else { "3" };
        let text = format!("pl.full([{rows}, {cols}], dtype=pl.{}, value={value})", dtype.language_name());
        let tile = Tile { name: String::new(), dtype, rows, cols, full: true, product: false };
        self.define(g, depth, &text, tile);
    }

    /// A scalar out of a tile.
    fn read(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| t.full && matches!(t.dtype, DType::F32 | DType::I32)) else { return };
        let name = g.fresh("v");
        let (r, c) = (g.c.choose(a.rows as usize), g.c.choose(a.cols as usize));
        g.line(depth, &format!("{name} = pl.read({}, [{r}, {c}])", a.name));
        self.scalars.push((name, a.dtype));
    }

    /// A smaller tile into a larger one, in place.
    fn insert(&mut self, g: &mut Generator, depth: usize) {
        let Some(b) = self.tile(g, |t| t.full && !t.product) else { return };
        let fits = |t: &Tile| {
            let large = t.rows >= b.rows && t.cols >= b.cols && t.name != b.name;
            t.dtype == b.dtype && t.full && !t.product && large && t.cols > 1
        };
        let Some(a) = self.tile(g, fits) else { return };
        let (r, c) = (g.c.choose((a.rows - b.rows) as usize + 1), g.c.choose((a.cols - b.cols) as usize + 1));
        g.line(depth, &format!("{} = pl.assemble({}, {}, [{r}, {c}])", a.name, a.name, b.name));
    }

    /// A second name for a value.
    fn copy(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| !t.product) else { return };
        let name = g.fresh("q");
        g.line(depth, &format!("{name} = {}", a.name));
        self.tiles.push(Tile { name, ..a });
    }

    fn reshape(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| t.full && !t.product && t.rows % 2 == 0) else { return };
        let (rows, cols) = (a.rows / 2, a.cols * 2);
        let text = format!("pl.reshape({}, [{rows}, {cols}])", a.name);
        self.define(g, depth, &text, Tile { rows, cols, ..a });
    }

    /// A selection by a mask. (`pl.cmp` is a mask or zeros and ones, as its operands are tiles or tensors.)
    fn compare(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| t.cols > 1) else { return };
        let like = |b: &Tile| b.dtype == a.dtype && b.rows == a.rows && b.cols == a.cols;
        let Some(b) = self.tile(g, like) else { return };
        let (x, y, number) = (&a.name, &b.name, g.c.choose(6));
        let text = match g.one_in(4) {
            true => format!("pl.sels(pl.cmps({x}, 1, cmp_type={number}), {y}, {y}, 2)"),
            false => format!("pl.sel(pl.tile.cmp({x}, {y}, cmp_type={number}), {y}, {x})"),
        };
        self.define(g, depth, &text, Tile { full: a.full && b.full, product: false, ..a.clone() });
    }

    /// Columns of every row, by indices cut to the row's length.
    fn gather(&mut self, g: &mut Generator, depth: usize) {
        let Some(x) = self.tile(g, |t| t.full && t.cols.is_power_of_two() && t.cols > 1 && t.dtype.size() == 4) else {
            return;
        };
        let fits = |t: &Tile| t.full && t.dtype == DType::I32 && t.rows == x.rows && t.cols > 1;
        let Some(i) = self.tile(g, fits) else { return };
        let text = format!("pl.gather({}, dim=-1, index=pl.ands({}, {}))", x.name, i.name, x.cols - 1);
        self.define(g, depth, &text, Tile { dtype: x.dtype, product: false, ..i });
    }

    /// Every element to another place of its row; places that two want hold the last.
    fn scatter(&mut self, g: &mut Generator, depth: usize) {
        let Some(x) = self.tile(g, |t| t.full && t.cols.is_power_of_two() && t.cols > 1 && t.dtype.size() == 4) else {
            return;
        };
        let fits = |t: &Tile| t.full && t.dtype == DType::I32 && t.rows == x.rows && t.cols == x.cols;
        let Some(i) = self.tile(g, fits) else { return };
        let (a, mask) = (&x.name, x.cols - 1);
        let text = format!("pl.scatter({a}, dim=-1, index=pl.ands({}, {mask}), src={a})", i.name);
        self.define(g, depth, &text, Tile { product: false, ..x.clone() });
    }

    fn pattern(&mut self, g: &mut Generator, depth: usize) {
        let Some(x) = self.tile(g, |t| t.full && t.cols % 4 == 0 && matches!(t.dtype.size(), 2 | 4)) else { return };
        let pattern = 1 + g.c.choose(7);
        let cols = x.cols / [2, 2, 4, 4, 4, 4, 1][pattern - 1];
        let text = format!("pl.gather({}, mask_pattern={pattern})", x.name);
        self.define(g, depth, &text, Tile { cols, product: false, ..x });
    }

    fn sort(&mut self, g: &mut Generator, depth: usize) {
        let Some(x) = self.tile(g, |t| t.full && t.rows == 1 && t.cols % 32 == 0 && t.dtype == DType::F32) else {
            return;
        };
        let text = format!("pl.sort32({}, pl.arange(0, [1, {}], dtype=pl.UINT32))", x.name, x.cols);
        self.define(g, depth, &text, Tile { cols: 2 * x.cols, product: false, ..x });
    }

    fn triangle(&mut self, g: &mut Generator, depth: usize) {
        let (rows, cols, dtype) = (g.pick(&[8, 16]), g.pick(&[16, 32]), g.pick(&[DType::F32, DType::I32]));
        let (diagonal, upper) = (g.c.choose(9) as i64 - 4, g.pick(&["True", "False"]));
        let dt = dtype.language_name();
        let text = format!("pl.tile.tri({diagonal}, [{rows}, {cols}], dtype=pl.{dt}, upper={upper})");
        self.define(g, depth, &text, Tile { name: String::new(), dtype, rows, cols, full: true, product: false });
    }

    fn concat(&mut self, g: &mut Generator, depth: usize) {
        let Some(a) = self.tile(g, |t| t.full && !t.product && t.cols > 1 && t.cols <= 64) else { return };
        let fits =
            |b: &Tile| b.full && !b.product && b.dtype == a.dtype && b.rows == a.rows && b.cols > 1 && b.cols <= 64;
        let Some(b) = self.tile(g, fits) else { return };
        let text = format!("pl.concat({}, {})", a.name, b.name);
        self.define(g, depth, &text, Tile { cols: a.cols + b.cols, ..a.clone() });
    }

    /// A loop that carries what it rebinds. What it makes anew is gone after it.
    fn repeat(&mut self, g: &mut Generator, depth: usize) {
        let variable = g.fresh("j");
        let bound = match self.offsets.is_empty() || g.one_in(2) {
            true => g.c.choose(4).to_string(),
            false => g.pick(&self.offsets),
        };
        let kind = g.pick(&["range", "range", "pipeline"]);
        let stage = if kind == "pipeline" { ", stage=2" } else { "" };
        g.line(depth, &format!("for {variable} in pl.{kind}({bound}{stage}):"));
        self.block(g, depth + 1);
    }

    fn branch(&mut self, g: &mut Generator, depth: usize) {
        let condition = match (self.offsets.is_empty(), self.scalars.is_empty()) {
            (true, true) => return,
            (false, _) if g.one_in(2) => format!("{} > {}", g.pick(&self.offsets), g.c.choose(8)),
            (_, false) => {
                let (name, dtype) = g.pick(&self.scalars);
                format!("{name} > {}", if dtype.is_float() { "0.5" } else { "2" })
            }
            _ => format!("{} > {}", g.pick(&self.offsets), g.c.choose(8)),
        };
        g.line(depth, &format!("if {condition}:"));
        self.block(g, depth + 1);
        if g.one_in(2) {
            g.line(depth, "else:");
            self.block(g, depth + 1);
        }
    }

    /// Statements that rebind what is there, in the types that it has.
    fn block(&mut self, g: &mut Generator, depth: usize) {
        let outer = self.tiles.clone();
        let scalars = self.scalars.len();
        self.nested += 1;
        let start = g.text.len();
        for _ in 0..1 + g.c.choose(3) {
            self.statement(g, depth);
            if let Some(old) = self.tile(g, |t| outer.iter().any(|o| o.name == t.name && !o.product)) {
                let fits = |t: &Tile| {
                    let same = t.dtype == old.dtype && t.rows == old.rows && t.cols == old.cols && t.full == old.full;
                    same && t.name != old.name && !t.product
                };
                if let Some(new) = self.tile(g, fits) {
                    let (op, a, b) = (g.pick(&["add", "maximum", "sub"]), &old.name, &new.name);
                    g.line(depth, &format!("{a} = pl.{op}({a}, {b})"));
                }
            }
        }
        if g.text.len() == start {
            g.line(depth, "pass");
        }
        self.nested -= 1;
        self.tiles = outer;
        self.scalars.truncate(scalars);
    }
}

/// Both machines have a chain of conversions.
fn convertible(from: DType, to: DType) -> bool {
    use dtype::Profile;
    from != to && [Profile::A2a3, Profile::A5].iter().all(|&p| dtype::convert::chain(from, to, p).is_some())
}
