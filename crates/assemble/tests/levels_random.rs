//! Random programs of the tensor level, cube and vector work mixed, at every level. The variables `FROM` and `COUNT` choose
//! other seeds than the first hundred.

mod common;

use std::fmt::Write as _;

use chip::Arch;
use common::{Outcome, compare};
use control::Control;

/// A tile value.
#[derive(Clone, PartialEq, Debug)]
struct Tile {
    name: String,
    rows: u64,
    cols: u64,
    dtype: &'static str,
    /// Rows from some run-time number on are not valid.
    partial: bool,
}

impl Tile {
    fn ty(&self) -> String {
        let valid = if self.partial { format!(", valid ?x{}", self.cols) } else { String::new() };
        format!("tile<{}x{}x{}{valid}>", self.rows, self.cols, self.dtype)
    }

    fn like(&self, other: &Tile) -> bool {
        (self.rows, self.cols, self.dtype, self.partial) == (other.rows, other.cols, other.dtype, other.partial)
    }
}

const SIDES: [u64; 2] = [16, 32];

struct Generator {
    control: Control,
    text: String,
    names: usize,
    visible: Vec<Vec<Tile>>,
    /// Index values.
    indices: Vec<Vec<String>>,
    budget: usize,
    depth: usize,
    /// This scope runs in blocks.
    blocks: bool,
}

/// A program of a few scopes.
fn program(seed: u64) -> String {
    let mut g = Generator {
        control: Control::new(seed),
        text: String::new(),
        names: 0,
        visible: Vec::new(),
        indices: vec![vec!["%zero".into(), "%one".into(), "%two".into()]],
        budget: 0,
        depth: 1,
        blocks: false,
    };
    let params = "%x: in tensor<64x64xf32>, %h: in tensor<64x64xbf16>, %y: inout tensor<64x64xf32>, \
                  %z: inout tensor<64x64xf32>, %g: inout tensor<64x64xbf16>";
    let mut head = format!("program \"p\" a2a3 tensor entry @p\n\nfunc @p orchestration({params}) {{\n");
    for (name, value) in [("zero", 0), ("one", 1), ("two", 2), ("four", 4), ("k16", 16), ("k32", 32)] {
        let _ = writeln!(head, "  %{name} = const {{value = {value}}} : index");
    }
    let _ = writeln!(head, "  %c = const {{value = 0.75}} : f32");
    g.text = head;
    for _ in 0..1 + g.control.choose(2) {
        g.scope();
    }
    g.text += "  return\n}\n";
    g.text
}

impl Generator {
    fn line(&mut self, text: &str) {
        self.text += &"  ".repeat(self.depth);
        self.text += text;
        self.text.push('\n');
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    fn index(&mut self) -> String {
        let all = self.indices.concat();
        all[self.control.choose(all.len())].clone()
    }

    /// 0, 16 or 32: an offset in a tensor at which 32 elements follow.
    fn offset(&mut self) -> String {
        match self.control.choose(4) {
            0 => "%zero".into(),
            1 => "%k16".into(),
            2 => "%k32".into(),
            _ => {
                let (i, r, o) = (self.index(), self.name(), self.name());
                self.line(&format!("{r} = rem {i}, %two : index"));
                self.line(&format!("{o} = mul {r}, %k32 : index"));
                o
            }
        }
    }

    /// 0 or 16.
    fn half(&mut self) -> String {
        let (i, r, o) = (self.index(), self.name(), self.name());
        self.line(&format!("{r} = rem {i}, %two : index"));
        self.line(&format!("{o} = mul {r}, %k16 : index"));
        o
    }

    fn side(&mut self) -> u64 {
        SIDES[self.control.choose(2)]
    }

    fn some(&mut self, fits: impl Fn(&Tile) -> bool) -> Option<Tile> {
        let all: Vec<Tile> = self.visible.concat().into_iter().filter(fits).collect();
        let n = all.len();
        (n > 0).then(|| all[self.control.choose(n).max(self.control.choose(n))].clone())
    }

    fn make(&mut self, op: &str, rows: u64, cols: u64, dtype: &'static str, partial: bool) -> Tile {
        let tile = Tile { name: self.name(), rows, cols, dtype, partial };
        self.line(&format!("{} = {op} : {}", tile.name, tile.ty()));
        self.visible.last_mut().expect("a region").push(tile.clone());
        tile
    }

    /// Mostly goes on with what the vector core makes of a product: an accumulator cannot be copied, so joining those that
    /// are needed later is refused.
    fn hide(&mut self, product: Tile) {
        if self.control.choose(6) > 0 {
            self.visible.last_mut().expect("a region").pop();
            self.make(&format!("trelu {}", product.name), product.rows, product.cols, "f32", product.partial);
        }
    }

    fn load(&mut self, rows: u64, cols: u64) -> Tile {
        let (r, c) = (self.offset(), self.offset());
        let (tensor, dtype) = [("%x", "f32"), ("%h", "bf16"), ("%y", "f32"), ("%g", "bf16")][self.control.choose(4)];
        let partial = self.control.choose(5) == 0;
        let valid = if partial {
            let (i, n) = (self.index(), self.name());
            self.line(&format!("{n} = rem {i}, %k16 : index"));
            format!(" valid({n})")
        } else {
            String::new()
        };
        let load = format!("load {tensor} offsets({r}, {c}){valid} {{sizes = [{rows}, {cols}]}}");
        self.make(&load, rows, cols, dtype, partial)
    }

    fn scope(&mut self) {
        self.budget = 8 + self.control.choose(22);
        let (t, blocks) = (self.name(), self.control.choose(3) == 0);
        self.blocks = blocks;
        let name = self.names;
        let block = format!("%b{name}");
        let (arg, attr) = if blocks { (format!(" ({block}: index)"), " blocks(%two)") } else { (String::new(), "") };
        self.line(&format!("{t} = scope{attr} {{name = \"k{name}\"}} : task{arg} {{"));
        self.depth += 1;
        self.visible.push(Vec::new());
        self.indices.push(Vec::new());
        for _ in 0..3 {
            let (r, c) = (self.side(), self.side());
            self.load(r, c);
        }
        while self.budget > 0 {
            self.statement();
        }
        // Blocks run in any order: each stores to rows of its own, or only one block runs.
        for _ in 0..2 {
            let Some(tile) = self.some(|t| t.rows >= 16 && t.cols >= 16) else { continue };
            let tensor = if tile.dtype == "f32" { "%z" } else { "%g" };
            let row = if blocks {
                let row = self.name();
                self.line(&format!("{row} = mul {block}, %k32 : index"));
                row
            } else {
                self.offset()
            };
            if blocks && tile.dtype == "bf16" {
                // Read by both.
                continue;
            }
            self.line(&format!(
                "store {}, {tensor} offsets({row}, %zero) {{sizes = [{}, {}]}}",
                tile.name, tile.rows, tile.cols
            ));
        }
        self.visible.pop();
        self.indices.pop();
        self.line("yield");
        self.depth -= 1;
        self.line("}");
    }

    fn statement(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        let kinds = if self.depth < 5 { 24 } else { 20 };
        let kind = self.control.choose(kinds);
        let _ = self.of_kind(kind);
    }

    /// `None`: there was nothing to apply it to.
    fn of_kind(&mut self, kind: usize) -> Option<()> {
        let matrix = |t: &Tile| t.rows >= 16 && t.cols >= 16;
        match kind {
            0..3 => {
                let (r, c) = (self.side(), self.side());
                self.load(r, c);
            }
            3..6 => {
                let a = self.some(|t| matrix(t) && t.dtype == "f32")?;
                let b = self.some(|t| (t.rows, t.cols, t.dtype) == (a.rows, a.cols, a.dtype))?;
                let op = ["tadd", "tsub", "tmul", "tmax"][self.control.choose(4)];
                self.make(&format!("{op} {}, {}", a.name, b.name), a.rows, a.cols, "f32", a.partial || b.partial);
            }
            6 => {
                let a = self.some(|t| matrix(t) && t.dtype == "f32")?;
                let op = ["texp", "tabs", "trelu", "tneg"][self.control.choose(4)];
                self.make(&format!("{op} {}", a.name), a.rows, a.cols, "f32", a.partial);
            }
            7 if self.control.choose(2) == 0 => {
                let a = self.some(|t| matrix(t) && t.partial && t.dtype == "f32")?;
                let pad = ["zero", "max", "min"][self.control.choose(3)];
                self.make(&format!("tfillpad {} {{pad = {pad}}}", a.name), a.rows, a.cols, "f32", false);
            }
            7 => {
                let a = self.some(|t| matrix(t) && t.dtype == "f32")?;
                self.make(&format!("tmuls {}, %c", a.name), a.rows, a.cols, "f32", a.partial);
            }
            8 => {
                let a = self.some(|t| matrix(t) && t.dtype == "f32")?;
                let v = self.make(&format!("trowmax {}", a.name), a.rows, 1, "f32", a.partial);
                self.make(&format!("trowexpandsub {}, {}", a.name, v.name), a.rows, a.cols, "f32", a.partial);
            }
            9 => {
                let a = self.some(|t| matrix(t) && t.dtype == "f32")?;
                let v = self.make(&format!("tcolsum {}", a.name), 1, a.cols, "f32", false);
                self.make(&format!("tcolexpandmul {}, {}", a.name, v.name), a.rows, a.cols, "f32", a.partial);
            }
            10 => {
                let a = self.some(matrix)?;
                let to = if a.dtype == "f32" { "bf16" } else { "f32" };
                self.make(&format!("tcvt {} {{mode = rint}}", a.name), a.rows, a.cols, to, a.partial);
            }
            11..15 => {
                let a = self.some(matrix)?;
                let trans = self.control.choose(4) == 0;
                let b = self.some(|t| {
                    matrix(t) && !t.partial && t.dtype == a.dtype && if trans { t.cols } else { t.rows } == a.cols
                })?;
                let n = if trans { b.rows } else { b.cols };
                let attr = if trans { " {b_trans = true}" } else { "" };
                let product = self.make(&format!("tmatmul {}, {}{attr}", a.name, b.name), a.rows, n, "f32", a.partial);
                self.hide(product);
            }
            15 => {
                let a = self.some(matrix)?;
                let b = self.some(|t| matrix(t) && !t.partial && t.dtype == a.dtype && t.rows == a.cols)?;
                let first = self.make(&format!("tmatmul {}, {}", a.name, b.name), a.rows, b.cols, "f32", a.partial);
                self.visible.last_mut().expect("a region").pop();
                let sum = format!("tmatmul.acc {}, {}, {}", first.name, a.name, b.name);
                let sum = self.make(&sum, a.rows, b.cols, "f32", a.partial);
                self.hide(sum);
            }
            16 => {
                // Changed in place, so of a copy of its own.
                let a = self.some(|t| matrix(t) && !t.partial && t.dtype == "f32")?;
                let copy = self.make(&format!("tmov {}", a.name), a.rows, a.cols, "f32", a.partial);
                let i = self.index();
                let row = self.name();
                self.line(&format!("{row} = rem {i}, %k16 : index"));
                self.line(&format!("tsetval {row}, %one, %c outs({})", copy.name));
                self.visible.last_mut().expect("a region").pop();
                self.make(&format!("tabs {}", copy.name), a.rows, a.cols, "f32", a.partial);
            }
            17 if self.control.choose(2) == 0 && !self.blocks => {
                let (i, r, s) = (self.index(), self.name(), self.name());
                self.line(&format!("{r} = rem {i}, %k16 : index"));
                self.line(&format!("{s} = read %z indices({r}, %one) : f32"));
                let a = self.some(|t| matrix(t) && t.dtype == "f32")?;
                self.make(&format!("tadds {}, {s}", a.name), a.rows, a.cols, "f32", a.partial);
                if self.control.choose(2) == 0 {
                    self.line(&format!("write %z indices(%two, {r}) value(%c)"));
                }
            }
            17 => {
                let a = self.some(|t| matrix(t) && !t.partial && t.dtype == "f32")?;
                let s = self.name();
                self.line(&format!("{s} = tgetval {}, %one, %two : f32", a.name));
                self.make(&format!("tadds {}, {s}", a.name), a.rows, a.cols, "f32", a.partial);
            }
            18 => {
                let a = self.some(|t| matrix(t) && t.dtype == "f32")?;
                let (row, col) = (self.offset(), self.offset());
                if !self.blocks {
                    let sizes = format!("[{}, {}]", a.rows, a.cols);
                    self.line(&format!("store {}, %z offsets({row}, {col}) {{sizes = {sizes}}}", a.name));
                }
            }
            19 if self.control.choose(3) == 0 => {
                let a = self.some(|t| matrix(t) && !t.partial && t.rows == 32 && t.cols == 32 && t.dtype == "f32")?;
                let (row, col) = (self.half(), self.half());
                self.make(&format!("textract {}, {row}, {col}", a.name), 16, 16, "f32", false);
            }
            19 if self.control.choose(2) == 0 => {
                let a = self.some(|t| matrix(t) && !t.partial && t.rows == 32 && t.cols == 32 && t.dtype == "f32")?;
                let part = self.some(|t| t.rows == 16 && t.cols == 16 && t.dtype == "f32")?;
                let copy = self.make(&format!("tmov {}", a.name), a.rows, a.cols, "f32", false);
                let (row, col) = (self.half(), self.half());
                self.line(&format!("tinsert {}, {row}, {col} outs({})", part.name, copy.name));
                self.visible.last_mut().expect("a region").pop();
                self.make(&format!("tabs {}", copy.name), a.rows, a.cols, "f32", false);
            }
            19 => {
                let (r, c) = (self.side(), self.side());
                self.make("texpands %c", r, c, "f32", false);
            }
            20..22 => self.repeat()?,
            22 if self.control.choose(2) == 0 => self.repeat_while()?,
            _ => self.branch()?,
        }
        Some(())
    }

    /// Carries a tile or two around a loop.
    fn repeat(&mut self) -> Option<()> {
        let first = self.some(|t| t.rows >= 16 && t.cols >= 16)?;
        let second = self.some(|t| t.rows >= 16 && t.cols >= 16)?;
        let carried = if self.control.choose(2) == 0 { vec![first] } else { vec![first, second] };
        let upper = ["%two", "%four", "%one", "%zero"][self.control.choose(4)];
        let results: Vec<Tile> = carried.iter().map(|t| Tile { name: self.name(), ..t.clone() }).collect();
        let args: Vec<Tile> = carried.iter().map(|t| Tile { name: self.name(), ..t.clone() }).collect();
        let iv = self.name();
        let list = |tiles: &[Tile]| tiles.iter().map(|t| t.name.clone()).collect::<Vec<_>>().join(", ");
        let types = carried.iter().map(Tile::ty).collect::<Vec<_>>().join(", ");
        let arg_list = args.iter().map(|t| format!(", {}: {}", t.name, t.ty())).collect::<String>();
        self.line(&format!(
            "{} = for %zero, {upper}, %one init({}) {{kind = range}} : {types} ({iv}: index{arg_list}) {{",
            list(&results),
            list(&carried)
        ));
        self.indices.push(vec![iv]);
        self.region(args, &carried, "");
        self.indices.pop();
        self.line("}");
        self.visible.last_mut().expect("a region").extend(results);
        Some(())
    }

    /// Counts down from a small number, carrying a tile.
    fn repeat_while(&mut self) -> Option<()> {
        let first = self.some(|t| t.rows >= 16 && t.cols >= 16)?;
        let (i, start) = (self.index(), self.name());
        self.line(&format!("{start} = rem {i}, %two : index"));
        let names: Vec<String> = (0..8).map(|_| self.name()).collect();
        let [left, out, n, t, go, m, u, less] = &names[..] else { return None };
        let ty = first.ty();
        self.line(&format!(
            "{left}, {out} = while init({start}, {}) : index, {ty} ({n}: index, {t}: {ty}) {{",
            first.name
        ));
        self.line(&format!("  {go} = cmp {n}, %zero {{predicate = gt}} : i1"));
        self.line(&format!("  condition {go} values({n}, {t})"));
        self.line(&format!("}}, ({m}: index, {u}: {ty}) {{"));
        self.line(&format!("  {less} = sub {m}, %one : index"));
        self.indices.push(vec![m.clone()]);
        let arg = Tile { name: u.clone(), ..first.clone() };
        self.region(vec![arg], std::slice::from_ref(&first), &format!("{less}, "));
        self.indices.pop();
        self.line("}");
        self.visible.last_mut().expect("a region").push(Tile { name: out.clone(), ..first });
        Some(())
    }

    fn branch(&mut self) -> Option<()> {
        let like = self.some(|t| t.rows >= 16 && t.cols >= 16)?;
        let (i, condition, result) = (self.index(), self.name(), self.name());
        self.line(&format!("{condition} = cmp {i}, %one {{predicate = lt}} : i1"));
        self.line(&format!("{result} = if {condition} : {} {{", like.ty()));
        self.region(Vec::new(), std::slice::from_ref(&like), "");
        self.line("}, {");
        self.region(Vec::new(), std::slice::from_ref(&like), "");
        self.line("}");
        self.visible.last_mut().expect("a region").push(Tile { name: result, ..like });
        Some(())
    }

    /// Statements, and a `yield` of tiles of these types.
    fn region(&mut self, args: Vec<Tile>, like: &[Tile], before: &str) {
        self.depth += 1;
        self.visible.push(args);
        for _ in 0..1 + self.control.choose(5) {
            self.statement();
        }
        let mut names = Vec::new();
        for like in like {
            let found = self.some(|t| t.like(like));
            names.push(found.map_or_else(|| like.name.clone(), |t| t.name));
        }
        self.line(&format!("yield values({before}{})", names.join(", ")));
        self.visible.pop();
        self.depth -= 1;
    }
}

#[test]
fn random_programs_give_the_same_bits_at_every_level() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let (from, count) = (variable("FROM").unwrap_or(0), variable("COUNT").unwrap_or(100));
    let (mut same, mut points, mut refused) = (0, 0, std::collections::BTreeMap::new());
    for seed in from..from + count {
        let text = program(seed);
        let mut program = ir::text::parse(&text, "random.tw").unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
        program.arch = Arch::ALL[seed as usize % 2];
        match compare(&format!("seed {seed}"), &program) {
            Outcome::Same(n) => {
                same += 1;
                points += n;
            }
            Outcome::Refused(code) => *refused.entry(code).or_insert(0) += 1,
        }
    }
    assert!(
        same * 10 >= count * 9 && points > 100 * count as usize,
        "{same} the same at {points} points; refused: {refused:?}"
    );
}
