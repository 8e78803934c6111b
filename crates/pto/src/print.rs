//! The printer: legal functions, one line an operation. Here modules, functions, regions and locations; what an operation
//! without regions looks like is in [`operation`].

mod operation;

use diag::{FileId, Sources, Span};
use ir::text::Names;
use ir::{
    Block, Direction, FuncId, Function, FunctionKind, Linkage, Op, OpData, Opcode as C, Origin, Program, Type, Value,
};

use crate::legal::legal;
use crate::types::show;

pub(crate) use operation::{PATTERNS, pad_word};

/// A module with these functions, for the program's architecture.
pub fn print(program: &Program, functions: &[FuncId]) -> String {
    print_without(program, functions, None)
}

/// As [`print`], without locations in one file: the text that the functions were read from
/// ([`parse_located`](crate::parse_located)).
pub fn print_without(program: &Program, functions: &[FuncId], own: Option<FileId>) -> String {
    let functions: Vec<Function> = functions.iter().map(|&id| legal(&program.functions[id])).collect();
    // Functions of one module follow each other.
    let modules: Vec<&[Function]> = functions.chunk_by(|a, b| said(a, true).eq(said(b, true))).collect();
    let head = |said: Vec<String>| {
        let arch = format!("pto.target_arch = \"{}\"", program.arch.target_name());
        let all: Vec<String> = std::iter::once(arch).chain(said).collect();
        format!("module attributes {{{}}} {{\n", all.join(", "))
    };
    let mut out = String::new();
    let several = modules.len() > 1;
    if several || modules.is_empty() {
        out += &head(Vec::new());
    }
    for module in modules {
        out += &head(module.first().map(|f| said(f, true).collect()).unwrap_or_default());
        for f in module {
            let printer =
                Printer { f, names: Names::of(f), sources: &program.sources, own, out: String::new(), depth: 2 };
            out += &printer.function();
        }
        out += "}\n";
    }
    if several || functions.is_empty() { out + "}\n" } else { out }
}

/// What is said of a function, or of its module, to other tools.
fn said(f: &Function, of_module: bool) -> impl Iterator<Item = String> {
    f.attributes.iter().filter_map(move |(name, value)| {
        let stripped = name.strip_prefix("module ");
        (stripped.is_some() == of_module).then(|| {
            let name = stripped.unwrap_or(name);
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            let name = if plain { name.to_owned() } else { quoted(name) };
            if value.is_empty() { name } else { format!("{name} = {value}") }
        })
    })
}

struct Printer<'a> {
    f: &'a Function,
    names: Names,
    sources: &'a Sources,
    own: Option<FileId>,
    out: String,
    depth: usize,
}

pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            c => out.push(c),
        }
    }
    out + "\""
}

pub(crate) fn symbol(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    if plain { name.to_owned() } else { quoted(name) }
}

impl Printer<'_> {
    fn function(mut self) -> String {
        let f = self.f;
        let params: Vec<String> = f
            .param_values()
            .iter()
            .enumerate()
            .map(|(i, &v)| {
                let text = format!("{}: {}", self.v(v), show(f.ty(v)));
                let mut extra = Vec::new();
                if let Some(param) = f.params.get(i) {
                    match param.direction {
                        Direction::In => {}
                        Direction::Out => extra.push("tw.direction = \"out\"".to_owned()),
                        Direction::InOut => extra.push("tw.direction = \"inout\"".to_owned()),
                    }
                    if self.v(v)[1..] != param.name {
                        extra.push(format!("tw.name = {}", quoted(&param.name)));
                    }
                }
                if extra.is_empty() { text } else { format!("{text} {{{}}}", extra.join(", ")) }
            })
            .collect();
        let mut attrs = Vec::new();
        let sections = f.walk().into_iter().any(|op| matches!(f.ops[op].opcode, C::Section | C::Call));
        match f.kind {
            // Its sections, or what it calls, run on one core each; that tells what it is.
            FunctionKind::Cluster if sections => {
                if f.linkage == Linkage::Entry {
                    attrs.push("pto.entry".to_owned());
                }
            }
            FunctionKind::Kernel(core) => {
                let core = match core {
                    chip::Core::Cube => "cube",
                    chip::Core::Vector => "vector",
                };
                if f.linkage == Linkage::Entry {
                    attrs.push("pto.entry".to_owned());
                }
                attrs.push(format!("pto.kernel_kind = #pto.kernel_kind<{core}>"));
            }
            // Not for export; named so that nothing takes it for a kernel.
            FunctionKind::Cluster => attrs.push("tw.kind = \"cluster\"".to_owned()),
            // Told by what it returns, or by being private.
            FunctionKind::Helper if f.results.is_empty() && f.linkage != Linkage::Private => {
                attrs.push("tw.kind = \"helper\"".to_owned());
            }
            FunctionKind::Helper => {}
            FunctionKind::Orchestration => attrs.push("tw.kind = \"orchestration\"".to_owned()),
        }
        attrs.extend(said(f, false));
        let p = f.properties;
        for (name, set) in [("tw.placed", p.placed), ("tw.fused", p.fused), ("tw.synced", p.synced)] {
            if set {
                attrs.push(name.to_owned());
            }
        }
        let private = if f.linkage == Linkage::Private { "private " } else { "" };
        self.out += &format!("  func.func {private}@{}({})", symbol(&f.name), params.join(", "));
        match &f.results[..] {
            [] => {}
            [one] => self.out += &format!(" -> {}", show(one)),
            several => self.out += &format!(" -> ({})", several.iter().map(show).collect::<Vec<_>>().join(", ")),
        }
        if !attrs.is_empty() {
            self.out += &format!(" attributes {{{}}}", attrs.join(", "));
        }
        if f.is_declaration() {
            self.out.push('\n');
            return self.out;
        }
        self.out += " {\n";
        self.block(f.body);
        self.out += "  }\n";
        self.out
    }

    fn v(&self, value: Value) -> String {
        self.names.get(value)
    }

    fn list(&self, values: &[Value]) -> String {
        values.iter().map(|&v| self.v(v)).collect::<Vec<_>>().join(", ")
    }

    fn types(&self, values: &[Value]) -> String {
        values.iter().map(|&v| show(self.f.ty(v))).collect::<Vec<_>>().join(", ")
    }

    fn ty(&self, value: Value) -> String {
        show(self.f.ty(value))
    }

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
    }

    fn block(&mut self, block: Block) {
        for &op in &self.f.blocks[block].ops {
            self.op(op);
        }
    }

    /// A region's operations; an empty `yield` is understood.
    fn region(&mut self, block: Block) {
        self.depth += 1;
        for &op in &self.f.blocks[block].ops {
            let data = &self.f.ops[op];
            if data.opcode != C::Yield || !data.operands.is_empty() {
                self.op(op);
            }
        }
        self.depth -= 1;
    }

    fn op(&mut self, id: Op) {
        let op = &self.f.ops[id];
        self.indent();
        if !op.results.is_empty() {
            self.out += &format!("{} = ", self.list(&op.results));
        }
        match op.opcode {
            C::For => self.for_loop(op),
            C::If => self.branch(op),
            C::While => self.while_loop(op),
            C::Blocks => return self.blocks(op),
            C::ExecuteRegion => {
                let types = self.types(&op.results);
                self.out += &if types.is_empty() {
                    "scf.execute_region {\n".to_owned()
                } else if op.results.len() == 1 {
                    format!("scf.execute_region -> {types} {{\n")
                } else {
                    format!("scf.execute_region -> ({types}) {{\n")
                };
                self.region(op.regions[0]);
                self.indent();
                self.out.push('}');
            }
            C::FusionRegion => {
                self.out += "pto.fusion_region {\n";
                self.region(op.regions[0]);
                self.indent();
                self.out.push('}');
                if !op.results.is_empty() {
                    self.out += &format!(" : {}", self.types(&op.results));
                }
            }
            C::Yield if self.fused(op) => {
                let (values, types) = (self.list(&op.operands), self.types(&op.operands));
                self.out += &format!("pto.yield({values}) : ({types}) -> ()");
            }
            C::Section => {
                let grid: Vec<String> = op.attrs.ints("grid").unwrap_or(&[]).iter().map(i64::to_string).collect();
                let grid = if grid.is_empty() { String::new() } else { format!("<<<{}>>> ", grid.join(", ")) };
                self.out += &format!("pto.section.{} {grid}{{\n", op.attrs.word("core").unwrap_or("cube"));
                self.region(op.regions[0]);
                self.indent();
                self.out.push('}');
            }
            _ => {
                let text = self.text(op);
                self.out += &text;
            }
        }
        let location = self.location(op.span, op.origin);
        self.out += &location;
        self.out.push('\n');
    }

    /// Whether an operation stands in a fusion region itself.
    fn fused(&self, op: &OpData) -> bool {
        self.f.blocks[op.block].parent.is_some_and(|parent| self.f.ops[parent].opcode == C::FusionRegion)
    }

    /// The blocks of a function: the first goes on where it is, the others have labels.
    fn blocks(&mut self, op: &OpData) {
        // What has been indented for the operation is the first jump.
        self.out.truncate(self.out.trim_end_matches(' ').len());
        for (i, &block) in op.regions.iter().enumerate() {
            if i > 0 {
                let args = &self.f.blocks[block].args;
                let list: Vec<String> = args.iter().map(|&v| format!("{}: {}", self.v(v), self.ty(v))).collect();
                let list = if list.is_empty() { String::new() } else { format!("({})", list.join(", ")) };
                self.out += &format!("  ^bb{i}{list}:\n");
            }
            self.block(block);
        }
    }

    fn location(&self, span: Option<Span>, origin: Option<Origin>) -> String {
        let span = span.filter(|s| Some(s.file) != self.own);
        let file = span.and_then(|s| self.sources.get(s.file).map(|f| (s, f)));
        let place = file.map(|(s, f)| format!("{}:{}:{}", quoted(&f.path), s.line, s.col));
        let name = origin.map(|o| {
            let done = if o.completes { "!" } else { "" };
            format!("\"op{}{done}\"", ir::Entity::index(o.op))
        });
        match (name, place) {
            (None, None) => String::new(),
            (None, Some(place)) => format!(" loc({place})"),
            (Some(name), None) => format!(" loc({name})"),
            (Some(name), Some(place)) => format!(" loc({name}({place}))"),
        }
    }

    fn for_loop(&mut self, op: &OpData) {
        let args = self.f.blocks[op.regions[0]].args.clone();
        let (iv, carried) = args.split_first().map_or((None, &[][..]), |(a, b)| (Some(*a), b));
        let iv = iv.map_or_else(|| "%none".to_owned(), |v| self.v(v));
        let [lower, upper, step] = [op.operands[0], op.operands[1], op.operands[2]];
        self.out += &format!("scf.for {iv} = {} to {} step {}", self.v(lower), self.v(upper), self.v(step));
        let init = op.named("init");
        if !init.is_empty() {
            let pairs: Vec<String> =
                carried.iter().zip(init).map(|(&a, &i)| format!("{} = {}", self.v(a), self.v(i))).collect();
            self.out += &format!(" iter_args({}) -> ({})", pairs.join(", "), self.types(&op.results));
        }
        if *self.f.ty(lower) != Type::INDEX {
            self.out += &format!(" : {}", self.ty(lower));
        }
        self.out += " {\n";
        self.region(op.regions[0]);
        self.indent();
        self.out.push('}');
        let mut attrs = Vec::new();
        if let Some(kind) = op.attrs.word("kind").filter(|k| *k != "range") {
            attrs.push(format!("tw.kind = \"{kind}\""));
        }
        if let Some(stage) = op.attrs.int("stage") {
            attrs.push(format!("tw.stage = {stage} : i64"));
        }
        if !attrs.is_empty() {
            self.out += &format!(" {{{}}}", attrs.join(", "));
        }
    }

    fn branch(&mut self, op: &OpData) {
        self.out += &format!("scf.if {}", self.v(op.operands[0]));
        if !op.results.is_empty() {
            self.out += &format!(" -> ({})", self.types(&op.results));
        }
        self.out += " {\n";
        self.region(op.regions[0]);
        self.indent();
        self.out.push('}');
        let otherwise = &self.f.blocks[op.regions[1]].ops;
        let empty = otherwise.iter().all(|&o| self.f.ops[o].opcode == C::Yield && self.f.ops[o].operands.is_empty());
        if !empty {
            self.out += " else {\n";
            self.region(op.regions[1]);
            self.indent();
            self.out.push('}');
        }
    }

    fn while_loop(&mut self, op: &OpData) {
        let before = self.f.blocks[op.regions[0]].args.clone();
        let after = self.f.blocks[op.regions[1]].args.clone();
        let init = op.named("init");
        let pairs: Vec<String> =
            before.iter().zip(init).map(|(&a, &i)| format!("{} = {}", self.v(a), self.v(i))).collect();
        self.out += "scf.while";
        if !pairs.is_empty() {
            self.out += &format!(" ({})", pairs.join(", "));
        }
        self.out += &format!(" : ({}) -> ({}) {{\n", self.types(init), self.types(&op.results));
        self.region(op.regions[0]);
        self.indent();
        self.out += "} do {\n";
        if !after.is_empty() {
            self.indent();
            let args: Vec<String> = after.iter().map(|&v| format!("{}: {}", self.v(v), self.ty(v))).collect();
            self.out += &format!("^bb0({}):\n", args.join(", "));
        }
        self.region(op.regions[1]);
        self.indent();
        self.out.push('}');
    }
}
