//! Valid programs, drawn from a seed, as source text of the language.
//!
//! A program is one entry: a few stages (`at`, loops around `at`, `spmd` launches) over two-dimensional tensors, some of
//! them made by the program itself, with scalar reads and writes between them. What makes it valid is known while it is
//! written: boxes lie in their tensors, blocks of a launch write rows of their own and read nothing that another block
//! writes, element types are those an operation takes ([`scope`]). It need not be sensible: results may be infinite, and
//! may depend on memory that nothing wrote; the levels agree on all that is defined.

mod scope;

use std::fmt::Write as _;

use control::Control;
use dtype::{DType, Scalar};
use frontend::{ArgSpec, DimSpec, Environment, FunctionId, FunctionKind, FunctionSource, Known, ParamKind, ParamSpec};
use ir::Direction;
use memory::{Arg, Buffer, View};

/// Index tensors hold 0 up to this, exclusive, so that their elements are offsets of boxes.
const OFFSETS: u64 = 8;
const TENSORS: [DType; 6] = [DType::F32, DType::F32, DType::F16, DType::BF16, DType::I32, DType::I16];

pub(crate) struct Generated {
    pub(crate) source: String,
    params: Vec<ParamSpec>,
}

/// A two-dimensional tensor in sight.
#[derive(Clone, Debug)]
struct Tensor {
    name: String,
    dtype: DType,
    rows: u64,
    cols: u64,
    written: bool,
    /// Its elements are offsets.
    offsets: bool,
}

/// Where the rows of a stage's boxes start.
#[derive(Clone, Debug)]
enum Base {
    /// Anywhere.
    Free,
    /// At `variable · rows`: the blocks of a launch and the iterations of a loop have rows of their own.
    Strided { variable: String, rows: u64, count: u64 },
}

pub(crate) fn generate(seed: u64) -> Generated {
    let mut g =
        Generator { c: Control::new(seed), text: String::new(), tensors: Vec::new(), names: 0, scalars: vec![] };
    g.params();
    let stages = 1 + g.c.choose(4);
    for _ in 0..stages {
        g.stage(1);
    }
    let params: Vec<ParamSpec> = g.tensors.iter().filter(|t| t.name.starts_with(['x', 'y', 'k'])).map(param).collect();
    let mut source = "@pl.jit\ndef generated(\n".to_owned();
    for t in g.tensors.iter().filter(|t| t.name.starts_with(['x', 'y', 'k'])) {
        let ty = format!("pl.Tensor[[{}, {}], pl.{}]", t.rows, t.cols, t.dtype.language_name());
        let ty = if t.name.starts_with('y') { format!("pl.InOut[{ty}]") } else { ty };
        writeln!(source, "    {}: {ty},", t.name).expect("a string");
    }
    source += "):\n";
    source += &g.text;
    Generated { source, params }
}

fn param(t: &Tensor) -> ParamSpec {
    let shape = Some(vec![DimSpec::Static(t.rows), DimSpec::Static(t.cols)]);
    let direction = if t.name.starts_with('y') { Direction::InOut } else { Direction::In };
    ParamSpec { name: t.name.clone(), kind: ParamKind::Tensor { shape, dtype: Some(t.dtype) }, direction }
}

struct Generator {
    c: Control,
    text: String,
    tensors: Vec<Tensor>,
    names: u32,
    /// Index scalars of the orchestration, below [`OFFSETS`].
    scalars: Vec<String>,
}

impl Generator {
    fn params(&mut self) {
        let kinds = [(2 + self.c.choose(3), 'x'), (1 + self.c.choose(3), 'y')];
        for (count, letter) in kinds {
            for i in 0..count {
                let dtype = self.pick(&TENSORS);
                let (rows, cols) = self.extents();
                let name = format!("{letter}{i}");
                self.tensors.push(Tensor { name, dtype, rows, cols, written: letter == 'y', offsets: false });
            }
        }
        let (name, dtype) = ("k0".to_owned(), DType::I32);
        self.tensors.push(Tensor { name, dtype, rows: 1, cols: 16, written: false, offsets: true });
    }

    fn extents(&mut self) -> (u64, u64) {
        let rows = self.pick(&[16, 32, 32, 48, 64]) + if self.one_in(3) { 1 + self.c.choose(12) as u64 } else { 0 };
        let cols = self.pick(&[16, 32, 64, 64, 128]) + if self.one_in(3) { 1 + self.c.choose(12) as u64 } else { 0 };
        (rows, cols)
    }

    fn stage(&mut self, depth: usize) {
        match self.c.choose(12) {
            0 | 1 => {
                let dtype = self.pick(&TENSORS);
                let (rows, cols) = self.extents();
                let name = self.fresh("t");
                let init = if self.one_in(2) && matches!(dtype.size(), 4) { ", init_value=0" } else { "" };
                let dt = dtype.language_name();
                self.line(depth, &format!("{name} = pl.create_tensor([{rows}, {cols}], dtype=pl.{dt}{init})"));
                self.tensors.push(Tensor { name, dtype, rows, cols, written: true, offsets: false });
                self.at(depth, &Base::Free);
            }
            2 => {
                let name = self.fresh("s");
                let place = self.c.choose(16);
                self.line(depth, &format!("{name} = pl.cast(pl.read(k0, [0, {place}]), pl.INDEX)"));
                self.scalars.push(name);
                self.at(depth, &Base::Free);
            }
            3 if depth < 3 && !self.scalars.is_empty() => {
                let scalar = self.pick(&self.scalars.clone());
                let bound = self.c.choose(OFFSETS as usize);
                self.line(depth, &format!("if {scalar} > {bound}:"));
                self.inner(depth + 1);
                if self.one_in(2) {
                    self.line(depth, "else:");
                    self.inner(depth + 1);
                }
            }
            4..=6 if depth < 3 => {
                let (variable, rows) = (self.fresh("i"), self.pick(&[8, 8, 16]));
                let count = 1 + self.c.choose(3) as u64;
                let kind = self.pick(&["range", "parallel", "pipeline", "unroll"]);
                let stage = if kind == "pipeline" { ", stage=2" } else { "" };
                self.line(depth, &format!("for {variable} in pl.{kind}({count}{stage}):"));
                self.at(depth + 1, &Base::Strided { variable, rows, count });
            }
            7..=9 => {
                let (variable, rows) = (self.fresh("b"), self.pick(&[8, 8, 16]));
                let count = 1 + self.c.choose(3) as u64;
                self.line(depth, &format!("for {variable} in pl.spmd({count}):"));
                let base = Base::Strided { variable, rows, count };
                scope::body(self, depth + 1, &base, true);
            }
            _ => self.at(depth, &Base::Free),
        }
    }

    /// A stage whose names do not outlive it.
    fn inner(&mut self, depth: usize) {
        let (tensors, scalars) = (self.tensors.len(), self.scalars.len());
        self.stage(depth);
        self.tensors.truncate(tensors);
        self.scalars.truncate(scalars);
    }

    fn at(&mut self, depth: usize, base: &Base) {
        self.line(depth, "with pl.at(level=pl.Level.CORE_GROUP):");
        scope::body(self, depth + 1, base, false);
    }

    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.text, "{}{text}", "    ".repeat(depth)).expect("a string");
    }

    fn fresh(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names + 100)
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.c.choose(items.len())].clone()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.c.choose(n) == 0
    }
}

impl Generated {
    /// The same program with other text, which may be invalid.
    pub(crate) fn with_source(&self, source: String) -> Generated {
        Generated { source, params: self.params.clone() }
    }

    pub(crate) fn environment(&self) -> Names {
        Names(FunctionSource {
            name: "generated".into(),
            kind: FunctionKind::Entry,
            path: "generated.py".into(),
            text: self.source.clone(),
            first_line: 1,
            line: 1,
            params: self.params.clone(),
            method: false,
        })
    }

    pub(crate) fn arg_specs(&self) -> Vec<ArgSpec> {
        let spec = |p: &ParamSpec| {
            let ParamKind::Tensor { shape: Some(dims), dtype: Some(dtype) } = &p.kind else { unreachable!("a tensor") };
            ArgSpec::Tensor { dtype: *dtype, shape: dims.iter().map(extent).collect() }
        };
        self.params.iter().map(spec).collect()
    }

    /// Inputs of one of three kinds: small numbers; wide ones; and ones with infinities, NaN and −0 among them.
    pub(crate) fn args(&self, seed: u64) -> Vec<Arg> {
        let mut c = Control::new(seed);
        let kind = c.choose(3);
        let arg = |p: &ParamSpec| {
            let ParamKind::Tensor { shape: Some(dims), dtype: Some(dtype) } = p.kind.clone() else { unreachable!() };
            let shape: Vec<u64> = dims.iter().map(extent).collect();
            let offsets = p.name.starts_with('k');
            let count = shape.iter().product::<u64>();
            let bytes: Vec<u8> = (0..count)
                .flat_map(|_| {
                    let scalar = if offsets {
                        Scalar::from_i64(dtype, c.choose(OFFSETS as usize) as i64)
                    } else {
                        element(&mut c, kind, dtype)
                    };
                    scalar.bits.to_le_bytes()[..dtype.size()].to_vec()
                })
                .collect();
            Arg::Tensor(View::new(Buffer::from_bytes(&bytes), dtype, &shape).expect("a whole buffer"))
        };
        self.params.iter().map(arg).collect()
    }
}

fn element(c: &mut Control, kind: usize, dtype: DType) -> Scalar {
    let n = c.choose(8001) as f64 / 1000.0 - 4.0;
    match (kind, dtype.is_float()) {
        (0, true) => Scalar::from_f64(dtype, n),
        (0, false) => Scalar::from_i64(dtype, n as i64),
        (1, true) => Scalar::from_f64(dtype, n * f64::exp2(c.choose(40) as f64 - 20.0)),
        (_, true) if c.choose(16) == 0 => {
            let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 1e-40, 65504.0];
            Scalar::from_f64(dtype, special[c.choose(special.len())])
        }
        (_, true) => Scalar::from_f64(dtype, n),
        // All bits.
        (_, false) => Scalar::from_i64(dtype, c.bits() as i64 >> c.choose(60)),
    }
}

fn extent(dim: &DimSpec) -> u64 {
    match dim {
        DimSpec::Static(n) => *n,
        DimSpec::Dynamic { .. } => unreachable!("generated extents are static"),
    }
}

/// One function, and the names of the language.
pub(crate) struct Names(FunctionSource);

impl Environment for Names {
    fn function(&self, _: FunctionId) -> &FunctionSource {
        &self.0
    }

    fn lookup(&self, _: FunctionId, path: &[&str]) -> Option<Known> {
        let ["pl", rest @ ..] = path else { return None };
        match rest {
            [] | ["Level" | "PadValue" | "tile" | "tensor"] => Some(Known::Namespace),
            [name] if DType::from_language_name(name).is_some() => DType::from_language_name(name).map(Known::DType),
            rest => Some(Known::Language(rest.join("."))),
        }
    }
}

/// The text with a few of its tokens removed, repeated, exchanged or replaced.
pub(crate) fn damage(text: &str, seed: u64) -> String {
    const WORDS: [&str; 24] = [
        "0",
        "-1",
        "1.5",
        "99999999999999999999",
        "pl.FP32",
        "pl.add",
        "pl.nothing",
        "x0",
        "y0",
        "(",
        ")",
        "[",
        "]",
        ":",
        ",",
        "=",
        "==",
        "if",
        "for",
        "in",
        "None",
        "\"é\"",
        "lambda",
        "\n",
    ];
    let mut c = Control::new(seed);
    let mut tokens: Vec<&str> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = |ch: char| ch.is_alphanumeric() || ch == '_' || ch == '.';
        let end = rest.find(|ch: char| !word(ch)).filter(|&n| n > 0).unwrap_or(1);
        let (token, tail) = rest.split_at(end);
        tokens.push(token);
        rest = tail;
    }
    for _ in 0..1 + c.choose(3) {
        let (at, other) = (c.choose(tokens.len()), c.choose(tokens.len()));
        match c.choose(5) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[other]),
            2 => tokens.swap(at, other),
            3 => tokens[at] = WORDS[c.choose(WORDS.len())],
            _ => tokens.insert(at, WORDS[c.choose(WORDS.len())]),
        }
    }
    tokens.concat()
}
