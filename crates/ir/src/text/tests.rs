//! Round trips on generated programs, errors with their places, and damage: truncated and altered texts.

use diag::{SourceFile, Span};
use dtype::DType;

use super::*;
use crate::attr::{Attr, Attrs};
use crate::builder::{Builder, NewOp, attrs};
use crate::entity::{Block, Entity, Op, Value};
use crate::function::{Direction, Function, FunctionKind, Level, Origin, Program};
use crate::info::{Arity, AttrKind};
use crate::ops::{Opcode, TABLE};
use crate::types::{Dim, Layout, Pad, TensorType, TileType, Type};

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

/// Programs that mean nothing but have everything text can hold.
pub(crate) struct Generator {
    r: Random,
    level: Level,
}

impl Generator {
    pub(crate) fn program(seed: u64) -> Program {
        let mut r = Random(seed);
        let level = r.pick(&[Level::Tensor, Level::Tile]);
        let arch = r.pick(&chip::Arch::ALL);
        let mut g = Generator { r, level };
        let mut sources = diag::Sources::default();
        for i in 0..g.r.below(3) {
            let (path, first_line) = (format!("dir \"{i}\"\\é.py"), 1 + g.r.below(90) as u32);
            sources.add(SourceFile { path, text: None, first_line });
        }
        let mut functions = crate::Arena::default();
        let mut entry = None;
        for i in 0..1 + g.r.below(3) {
            let function = g.function(i, sources.files().count());
            entry.get_or_insert(functions.push(function));
        }
        let entry = entry.expect("at least one function");
        Program { name: "a \"program\"\n".into(), arch, level, functions, entry, sources }
    }

    fn function(&mut self, index: usize, files: usize) -> Function {
        let kinds = [
            FunctionKind::Orchestration,
            FunctionKind::Kernel(chip::Core::Cube),
            FunctionKind::Kernel(chip::Core::Vector),
            FunctionKind::Cluster,
        ];
        let name = if self.r.one_in(3) { format!("odd name {index}") } else { format!("f{index}") };
        let kind = if self.level == Level::Tensor { kinds[0] } else { self.r.pick(&kinds) };
        let mut f = Function::new(name, kind);
        f.properties.placed = self.r.one_in(2);
        f.properties.fused = self.r.one_in(2);
        f.properties.synced = self.r.one_in(2);
        for i in 0..self.r.below(4) {
            let direction = self.r.pick(&[Direction::In, Direction::Out, Direction::InOut]);
            let name = if self.r.one_in(4) { "größe".to_owned() } else { format!("p{i}") };
            let ty = self.ty(0);
            f.add_param(name, direction, ty);
        }
        let mut visible = f.param_values().to_vec();
        let body = f.body;
        self.block(&mut f, body, &mut visible, 0, files);
        // A detached operation leaves a gap in the numbers.
        if let Some(&op) = f.blocks[body].ops.first()
            && f.ops[op].results.is_empty()
            && self.r.one_in(2)
        {
            crate::builder::detach(&mut f, op);
        }
        f
    }

    fn block(&mut self, f: &mut Function, block: Block, visible: &mut Vec<Value>, depth: usize, files: usize) {
        for _ in 0..1 + self.r.below(if depth == 0 { 12 } else { 4 }) {
            self.op(f, block, visible, depth, files);
        }
    }

    fn op(&mut self, f: &mut Function, block: Block, visible: &mut Vec<Value>, depth: usize, files: usize) {
        let info = &TABLE[self.r.below(TABLE.len())];
        let mut groups: Vec<Vec<Value>> = Vec::new();
        for operand in info.operands {
            // Wrong counts print too.
            let n = match operand.arity {
                Arity::One if self.r.one_in(20) => self.r.below(3),
                Arity::One => 1,
                Arity::Optional => self.r.below(2),
                Arity::Many => self.r.below(4),
            };
            let n = if visible.is_empty() { 0 } else { n };
            groups.push((0..n).map(|_| self.r.pick(visible)).collect());
        }
        let dests: Vec<Value> =
            if visible.is_empty() || self.r.one_in(2) { vec![] } else { vec![self.r.pick(visible)] };
        let results: Vec<Type> = (0..self.r.below(3)).map(|_| self.ty(0)).collect();
        let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
        let list = self.attrs(info);
        let mut b = Builder::new(f);
        b.switch_to(block);
        b.span = (files > 0 && !self.r.one_in(4)).then(|| self.span(files));
        b.origin = self.r.one_in(2).then(|| Origin { op: Op::new(self.r.below(99)), completes: self.r.one_in(2) });
        let op = b.op(NewOp { opcode: info.opcode, groups: &groups, dests: &dests, results: &results, attrs: list });
        if depth < 4 {
            let regions = if self.r.one_in(3) { self.r.below(3) } else { info.regions.min(3) };
            for _ in 0..regions {
                let args: Vec<(Type, Option<String>)> =
                    (0..self.r.below(3)).map(|_| (self.ty(0), self.hint())).collect();
                let region = Builder::new(f).add_region(op, &args);
                let outer = visible.len();
                visible.extend(f.blocks[region].args.clone());
                self.block(f, region, visible, depth + 1, files);
                visible.truncate(outer);
            }
        }
        for value in f.ops[op].results.clone() {
            f.values[value].name = self.hint();
            visible.push(value);
        }
    }

    fn span(&mut self, files: usize) -> Span {
        let file = diag::FileId(self.r.below(files) as u32);
        let (line, col) = (self.r.below(500) as u32, self.r.below(80) as u32);
        let end_line = line + self.r.below(2) as u32;
        Span { file, line, col, end_line, end_col: self.r.below(90) as u32 }
    }

    fn hint(&mut self) -> Option<String> {
        let hints = ["acc", "x", "acc_1", "t", "", "ünicode", "3d", "a b"];
        self.r.one_in(2).then(|| self.r.pick(&hints).to_owned())
    }

    fn dims(&mut self, rank: usize, dynamic: bool) -> Vec<Dim> {
        (0..rank)
            .map(|_| if dynamic && self.r.one_in(3) { Dim::Dynamic } else { Dim::Static(self.r.below(300) as u64) })
            .collect()
    }

    fn ty(&mut self, depth: usize) -> Type {
        let dtype = self.r.pick(&DType::ALL);
        let rank = 1 + self.r.below(5);
        match self.r.below(if depth < 3 { 8 } else { 2 }) {
            0 => Type::Scalar(dtype),
            1 => Type::TaskId,
            2 => Type::Array { element: Box::new(self.ty(depth + 1)), len: self.r.below(20) as u64 },
            3 | 4 => {
                let mut t = TensorType::packed(dtype, self.dims(rank, true));
                if self.r.one_in(2) {
                    t.strides = self.dims(rank, true);
                }
                if self.r.one_in(2) { Type::Tensor(t) } else { Type::View(t) }
            }
            5 => Type::Ptr(dtype),
            6 => Type::PartView { dtype, shape: self.dims(rank, true) },
            _ => {
                let mut t = TileType::value(dtype, (0..rank).map(|_| 1 + self.r.below(64) as u64).collect());
                if self.r.one_in(2) {
                    t.valid = self.dims(rank, true);
                }
                t.space = self.r.one_in(2).then(|| self.r.pick(&chip::Space::ALL));
                t.layout = self.r.pick(&[
                    Layout::ROW_MAJOR,
                    Layout::COL_MAJOR,
                    Layout::NZ,
                    Layout::ZN,
                    Layout::ZZ,
                    Layout::ACC,
                ]);
                t.pad = self.r.pick(&[Pad::Null, Pad::Zero, Pad::Max, Pad::Min]);
                Type::Tile(t)
            }
        }
    }

    fn attrs(&mut self, op: &'static crate::info::OpInfo) -> Attrs {
        let mut list = Attrs::default();
        for info in op.attrs.iter().chain(op.marks()) {
            if !info.required && self.r.one_in(2) {
                continue;
            }
            let kind = if self.r.one_in(8) { AttrKind::Number } else { info.kind };
            let value = match kind {
                AttrKind::Bool => Attr::Bool(self.r.one_in(2)),
                AttrKind::Int => Attr::Int(self.r.next() as i64),
                AttrKind::Number if self.r.one_in(2) => Attr::Float(f64::from_bits(self.r.next())),
                AttrKind::Number => {
                    Attr::Float(self.r.pick(&[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300]))
                }
                AttrKind::Word(words) if self.r.one_in(4) => {
                    Attr::Word(self.r.pick(&["true", "nan", "word", "a b", "", words[0]]).to_owned())
                }
                AttrKind::Word(words) => Attr::Word(self.r.pick(words).to_owned()),
                AttrKind::Text | AttrKind::Spelled => {
                    Attr::Text(self.r.pick(&["", "a\"b\\c\n", "k_1", "\u{7}é"]).to_owned())
                }
                AttrKind::Type => Attr::Type(self.r.pick(&DType::ALL)),
                AttrKind::Ints => Attr::Ints((0..self.r.below(4)).map(|_| self.r.next() as i64 >> 40).collect()),
                AttrKind::Symbols => {
                    Attr::Symbols((0..self.r.below(3)).map(|_| self.r.pick(&["k", "odd name"]).to_owned()).collect())
                }
            };
            list.set(info.name, value);
        }
        list
    }
}

#[test]
fn generated_programs_survive_the_trip() {
    let mut ops = 0;
    for seed in 0..400 {
        let program = Generator::program(seed);
        let text = print(&program);
        let back = parse(&text, "x.tw").unwrap_or_else(|e| panic!("seed {seed}: {e:#?}\n{text}"));
        assert_eq!(print(&back), text, "seed {seed}");
        assert_eq!((program.arch, program.level, &program.name), (back.arch, back.level, &back.name));
        for ((_, a), (_, b)) in program.functions.iter().zip(back.functions.iter()) {
            assert_eq!((a.kind, a.properties, &a.params), (b.kind, b.properties, &b.params), "seed {seed}");
            let (xs, ys) = (a.walk(), b.walk());
            assert_eq!(xs.len(), ys.len());
            if a.kind == FunctionKind::Orchestration {
                assert_eq!(xs, ys, "seed {seed}: numbers of operations");
            }
            for (&x, &y) in xs.iter().zip(&ys) {
                let (x, y) = (&a.ops[x], &b.ops[y]);
                ops += 1;
                assert_eq!((x.opcode, &x.segments), (y.opcode, &y.segments), "seed {seed}");
                assert_eq!((x.span, x.origin), (y.span, y.origin), "seed {seed}");
                // Bits of floats, so not by `==`.
                assert_eq!(format!("{:?}", x.attrs), format!("{:?}", y.attrs), "seed {seed}");
                let types = |f: &Function, vs: &[Value]| vs.iter().map(|&v| f.ty(v).clone()).collect::<Vec<_>>();
                assert_eq!(types(a, &x.operands), types(b, &y.operands), "seed {seed}");
                assert_eq!(types(a, &x.results), types(b, &y.results), "seed {seed}");
                assert_eq!(types(a, &x.dests), types(b, &y.dests), "seed {seed}");
            }
        }
    }
    assert!(ops > 2000, "the generator made only {ops} operations");
}

/// Whatever the damage, the parser answers; and what it accepts prints.
#[test]
fn damaged_texts_do_not_panic() {
    let mut accepted = 0;
    for seed in 0..12 {
        let text = print(&Generator::program(seed));
        let mut r = Random(seed);
        let cuts: Vec<usize> = (0..=text.len()).filter(|&i| text.is_char_boundary(i)).collect();
        for &cut in cuts.iter().step_by(1 + cuts.len() / 300) {
            // A text that ends inside its last line break is complete.
            accepted += usize::from(parse(&text[..cut], "x").is_ok());
        }
        for _ in 0..600 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + r.below(3) {
                let at = r.below(bytes.len());
                match r.below(3) {
                    0 => bytes[at] ^= 1 << r.below(8),
                    1 => bytes[at] = r.pick(b"%@{}()<>x0?,:\"\n"),
                    _ => drop(bytes.remove(at)),
                }
            }
            if let Ok(program) = parse(&String::from_utf8_lossy(&bytes), "x") {
                accepted += 1;
                let text = print(&program);
                let again = parse(&text, "x").unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
                assert_eq!(print(&again), text);
            }
        }
    }
    assert!(accepted > 0, "some damage is harmless");
}

#[test]
fn deep_nesting_is_an_error() {
    let mut text = String::from("program \"p\" a5 tile entry @f\nfunc @f cluster() {\n");
    text += &"syncall {\n".repeat(100_000);
    let errors = parse(&text, "x").expect_err("nested too deeply");
    assert!(errors[0].message.contains("nested"), "{errors:?}");
    let types = format!("program \"p\" a5 tile entry @f\nfunc @f cluster(%x: in {}", "array<1x".repeat(100_000));
    assert!(parse(&types, "x").is_err());
}

fn hello() -> Program {
    let mut f = Function::new("hello", FunctionKind::Orchestration);
    let ty = TensorType::packed(DType::F32, vec![Dim::Dynamic, Dim::Static(64)]);
    let x = f.add_param("x", Direction::In, Type::Tensor(ty));
    let mut b = Builder::new(&mut f);
    let zero = b.index(0);
    let scope = b.op(NewOp {
        opcode: Opcode::Scope,
        groups: &[&[], &[]],
        dests: &[],
        results: &[Type::TaskId],
        attrs: attrs([("name", Attr::Text("k".into()))]),
    });
    let region = b.add_region(scope, &[]);
    let outer = b.switch_to(region);
    let tile = TileType::value(DType::F32, vec![16, 64]);
    let list = attrs([("sizes", Attr::Ints(vec![16, 64]))]);
    let t = b.result(Opcode::Load, &[&[x], &[zero, zero], &[]], Type::Tile(tile.clone()), list);
    b.name(t, "t");
    let u = b.infer(Opcode::TAdd, &[&[t], &[t]], Attrs::default()).expect("adds");
    b.name(u, "t");
    b.effect(Opcode::Yield, &[&[]], Attrs::default());
    b.switch_to(outer);
    b.effect(Opcode::Return, &[&[]], Attrs::default());
    let mut functions = crate::Arena::default();
    let entry = functions.push(f);
    let sources = diag::Sources::default();
    Program { name: "hello".into(), arch: chip::Arch::A5, level: Level::Tensor, functions, entry, sources }
}

#[test]
fn reads_well() {
    let expected = "\
program \"hello\" a5 tensor entry @hello

func @hello orchestration(%x: in tensor<?x64xf32>) {
  op0: %0 = const {value = 0} : index
  op1: %1 = scope {name = \"k\"} : task {
    op2: %t = load %x offsets(%0, %0) {sizes = [16, 64]} : tile<16x64xf32>
    op3: %t.1 = tadd %t, %t : tile<16x64xf32>
    op4: yield
  }
  op5: return
}
";
    let program = hello();
    assert_eq!(print(&program), expected);
    let f = &program.functions[program.entry];
    assert_eq!(print_op(f, Op::new(3)), "%t.1 = tadd %t, %t : tile<16x64xf32>");
}

#[test]
fn the_text_itself_can_be_the_source() {
    let text = "// by hand\nprogram \"p\" a5 tile entry @f\nfunc @f cluster() {\n  syncall // here\n  return\n}\n";
    let program = parse_located(text, "p.tw").expect("parses");
    let f = &program.functions[program.entry];
    let span = f.ops[f.walk()[0]].span.expect("has a place");
    assert_eq!((span.line, span.col, span.end_col), (4, 3, 10));
    assert_eq!(program.sources.place(span), "p.tw:4:3");
}

/// Each error of the parser: its code, and the text that it points at.
#[test]
fn errors_point_at_their_place() {
    let cases: &[(&str, &str, &str)] = &[
        ("syntax", "x", "func @f cluster(x: in f32) {\n}"),
        ("unknown-op", "taddd", "func @f cluster() {\n  taddd\n}"),
        ("undefined-value", "%x", "func @f cluster() {\n  tadd %x, %x\n}"),
        ("redefined-value", "%x", "func @f cluster(%x: in f32, %x: in f32) {\n}"),
        ("redefined-op", "op1:", "func @f cluster() {\n  op1: syncall\n  op1: syncall\n}"),
        ("unknown-type", "f31", "func @f cluster(%x: in f31) {\n}"),
        ("rank", "1x1x1x1x1x1x", "func @f cluster(%x: in tensor<1x1x1x1x1x1xf32>) {\n}"),
        ("dynamic-tile", "?x4x", "func @f cluster(%x: in tile<?x4xf32>) {\n}"),
        ("number-range", "99999999999999999999", "func @f cluster(%x: in tile<99999999999999999999x4xf32>) {\n}"),
        ("unknown-attribute", "mod", "func @f cluster(%x: in f32) {\n  tcvt %x {mod = rint}\n}"),
        ("operand-groups", "%x, %x", "func @f cluster(%x: in f32) {\n  texp %x, %x\n}"),
        ("operand-groups", "b", "func @f cluster(%x: in f32) {\n  texp b(%x)\n}"),
        ("result-types", "%x = syncall", "func @f cluster() {\n  %x = syncall\n}"),
        ("unknown-file", "f3", "func @f cluster() {\n  syncall loc(f3:1:1-2)\n}"),
        ("unknown-function", "@g", ""),
    ];
    for (i, (code, at, body)) in cases.iter().enumerate() {
        let text = format!("program \"p\" a5 tile entry @{}\n{body}\n", if body.is_empty() { "g" } else { "f" });
        let errors = parse(&text, "p.tw").expect_err(body);
        let (e, span) = (&errors[0], errors[0].primary.as_ref().expect("has a place").span);
        assert_eq!(e.code, *code, "case {i}: {e:?}");
        let line = text.lines().nth(span.line as usize - 1).expect("a line of the text");
        let shown: String = line.chars().skip(span.col as usize - 1).take((span.end_col - span.col) as usize).collect();
        assert_eq!(shown, *at, "case {i}: {e:?}");
    }
}
