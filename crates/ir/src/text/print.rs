//! The printer. Total: a malformed function prints too, so that an error about it can show it.

use std::collections::BTreeMap;
use std::fmt::Write;

use chip::Core;
use diag::Span;

use crate::attr::{Attr, Attrs};
use crate::entity::{Block, Entity, Op, Value};
use crate::function::{Direction, Function, FunctionKind, Level, Linkage, OpData, Program};
use crate::info::Arity;
use crate::types::Type;

/// A whole program.
pub fn print(program: &Program) -> String {
    let level = match program.level {
        Level::Tensor => "tensor",
        Level::Tile => "tile",
    };
    let mut out = format!("program {} {} {level}", quoted(&program.name), program.arch);
    if let Some(entry) = program.functions.get(program.entry) {
        out += &format!(" entry {}", symbol(&entry.name));
    }
    out.push('\n');
    for (id, file) in program.sources.files() {
        out += &format!("file f{} {} line {}\n", id.0, quoted(&file.path), file.first_line);
    }
    for (_, function) in program.functions.iter() {
        out.push('\n');
        let files = program.sources.files().count() as u32;
        out += &Printer::new(function, files).function();
    }
    out
}

/// One function; every span prints, whether its file is known or not.
pub fn print_function(function: &Function) -> String {
    Printer::new(function, u32::MAX).function()
}

/// One operation on one line, without its regions and its location: for messages.
pub fn print_op(function: &Function, op: Op) -> String {
    let mut printer = Printer::new(function, u32::MAX);
    printer.head(&function.ops[op]);
    printer.out
}

/// A string in double quotes (the escapes of [`super::Cursor::string`]).
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            c if c.is_control() => out += &format!("\\u{{{:x}}}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `@name`, or `@"any name"`.
fn symbol(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    if plain { format!("@{name}") } else { format!("@{}", quoted(name)) }
}

fn attr(value: &Attr) -> String {
    match value {
        Attr::Bool(b) => b.to_string(),
        Attr::Int(v) => v.to_string(),
        // Shortest digits that read back to the same bits; NaN by its bits.
        Attr::Float(v) if v.is_nan() => format!("nan({:#x})", v.to_bits()),
        Attr::Float(v) if v.is_infinite() => if *v > 0.0 { "+inf" } else { "-inf" }.to_owned(),
        Attr::Float(v) => format!("{v:?}"),
        Attr::Word(w) if is_plain_word(w) => w.clone(),
        Attr::Word(w) => format!("word({})", quoted(w)),
        Attr::Text(t) => quoted(t),
        Attr::Type(d) => format!("!{d}"),
        Attr::Ints(v) => format!("[{}]", join(v.iter().map(i64::to_string))),
        Attr::Symbols(v) if v.is_empty() => "[@]".to_owned(),
        Attr::Symbols(v) => format!("[{}]", join(v.iter().map(|s| symbol(s)))),
    }
}

/// Whether a word reads back as a word when it stands alone.
fn is_plain_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !matches!(word, "true" | "false" | "nan" | "word")
}

fn attrs(list: &Attrs) -> String {
    join(list.iter().map(|(name, value)| format!("{name} = {}", attr(value))))
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// Texts of values (`%acc.1`), unique in a function, and the same after a trip through text.
#[derive(Debug)]
pub struct Names(Vec<Option<String>>);

impl Names {
    /// In the order in which values appear in the text.
    pub fn of(function: &Function) -> Names {
        let mut naming = Naming { function, names: vec![None; function.values.len()], next: 0, used: BTreeMap::new() };
        naming.block(function.body);
        Names(naming.names)
    }

    pub fn get(&self, value: Value) -> String {
        match self.0.get(value.index()) {
            Some(Some(name)) => format!("%{name}"),
            // Defined nowhere in the text.
            _ => format!("%undefined.{}", value.index()),
        }
    }
}

struct Naming<'a> {
    function: &'a Function,
    names: Vec<Option<String>>,
    next: u32,
    used: BTreeMap<String, u32>,
}

impl Naming<'_> {
    fn block(&mut self, block: Block) {
        let data = &self.function.blocks[block];
        data.args.iter().for_each(|&v| self.name(v));
        for &op in &data.ops {
            let op = &self.function.ops[op];
            op.results.iter().for_each(|&v| self.name(v));
            op.regions.iter().for_each(|&r| self.block(r));
        }
    }

    fn name(&mut self, value: Value) {
        // The characters of an identifier; a hint of other characters only is no hint.
        let hint = self.function.values[value].name.as_deref().unwrap_or("");
        let mut base: String =
            hint.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if base.starts_with(|c: char| c.is_ascii_digit()) {
            base.insert(0, '_');
        }
        let text = if base.is_empty() {
            self.next += 1;
            (self.next - 1).to_string()
        } else {
            let count = self.used.entry(base.clone()).or_insert(0);
            *count += 1;
            if *count == 1 { base } else { format!("{base}.{}", *count - 1) }
        };
        self.names[value.index()] = Some(text);
    }
}

struct Printer<'a> {
    function: &'a Function,
    names: Names,
    files: u32,
    /// Operations carry their number.
    numbered: bool,
    out: String,
    depth: usize,
}

impl<'a> Printer<'a> {
    fn new(function: &'a Function, files: u32) -> Printer<'a> {
        let numbered = function.kind == FunctionKind::Orchestration;
        Printer { function, names: Names::of(function), files, numbered, out: String::new(), depth: 1 }
    }

    fn function(mut self) -> String {
        let f = self.function;
        let kind = match f.kind {
            FunctionKind::Orchestration => "orchestration",
            FunctionKind::Kernel(Core::Cube) => "kernel(cube)",
            FunctionKind::Kernel(Core::Vector) => "kernel(vector)",
            FunctionKind::Cluster => "cluster",
            FunctionKind::Helper => "helper",
        };
        self.out += &format!("func {} {kind}", symbol(&f.name));
        let p = f.properties;
        for (word, set) in [("placed", p.placed), ("fused", p.fused), ("synced", p.synced)] {
            if set {
                self.out += &format!(" {word}");
            }
        }
        match f.linkage {
            Linkage::Entry => {}
            Linkage::Public => self.out += " public",
            Linkage::Private => self.out += " private",
        }
        for (name, value) in &f.attributes {
            self.out += &format!(" says({}, {})", quoted(name), quoted(value));
        }
        let params: Vec<String> = f.param_values().iter().enumerate().map(|(i, &v)| self.param(i, v)).collect();
        let mut results = join(f.results.iter().map(Type::to_string));
        if !results.is_empty() {
            results = format!(" -> {results}");
        }
        self.out += &format!("({}){results} {{\n", params.join(", "));
        self.block(f.body);
        self.out += "}\n";
        self.out
    }

    fn param(&self, index: usize, value: Value) -> String {
        let text = self.names.get(value);
        let Some(param) = self.function.params.get(index) else {
            return format!("{text}: {}", self.function.ty(value));
        };
        let direction = match param.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        };
        // The user's name, where the value's text is not it.
        let name = if text[1..] == param.name { String::new() } else { format!(" {}", quoted(&param.name)) };
        format!("{text}{name}: {direction} {}", self.function.ty(value))
    }

    fn block(&mut self, block: Block) {
        for &op in &self.function.blocks[block].ops {
            self.op(op);
        }
    }

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
    }

    fn op(&mut self, id: Op) {
        let op = &self.function.ops[id];
        self.indent();
        if self.numbered {
            self.out += &format!("op{}: ", id.index());
        }
        self.head(op);
        for (i, &region) in op.regions.iter().enumerate() {
            self.out += if i == 0 { " " } else { ", " };
            self.region(region);
        }
        if let Some(span) = op.span {
            self.location(span);
        }
        if let Some(origin) = op.origin {
            let done = if origin.completes { " done" } else { "" };
            self.out += &format!(" from op{}{done}", origin.op.index());
        }
        self.out.push('\n');
    }

    fn region(&mut self, region: Block) {
        let args = &self.function.blocks[region].args;
        if !args.is_empty() {
            let args = join(args.iter().map(|&v| format!("{}: {}", self.names.get(v), self.function.ty(v))));
            self.out += &format!("({args}) ");
        }
        self.out += "{\n";
        self.depth += 1;
        self.block(region);
        self.depth -= 1;
        self.indent();
        self.out.push('}');
    }

    fn location(&mut self, s: Span) {
        if s.file.0 >= self.files {
            return;
        }
        let end = if s.end_line == s.line { s.end_col.to_string() } else { format!("{}:{}", s.end_line, s.end_col) };
        self.out += &format!(" loc(f{}:{}:{}-{end})", s.file.0, s.line, s.col);
    }

    fn list(&self, values: &[Value]) -> String {
        join(values.iter().map(|&v| self.names.get(v)))
    }

    /// Everything before the regions.
    fn head(&mut self, op: &OpData) {
        let info = op.opcode.info();
        if !op.results.is_empty() {
            self.out += &format!("{} = ", self.list(&op.results));
        }
        self.out += info.name;
        self.groups(op);
        if !op.dests.is_empty() {
            self.out += &format!(" outs({})", self.list(&op.dests));
        }
        if !op.attrs.is_empty() {
            self.out += &format!(" {{{}}}", attrs(&op.attrs));
        }
        if !op.results.is_empty() {
            let types = join(op.results.iter().map(|&v| self.function.ty(v).to_string()));
            self.out += &format!(" : {types}");
        }
    }

    fn groups(&mut self, op: &OpData) {
        let info = op.opcode.info();
        let mut at = 0;
        let mut groups = Vec::new();
        for i in 0..info.operands.len() {
            let len = op.segments.get(i).map_or(0, |&n| n as usize).min(op.operands.len() - at);
            groups.push(&op.operands[at..at + len]);
            at += len;
        }
        let positional = positional_groups(info.operands, |i| groups[i].len());
        let front: Vec<Value> = groups[..positional].concat();
        if !front.is_empty() {
            let _ = write!(self.out, " {}", self.list(&front));
        }
        for (operand, group) in info.operands.iter().zip(&groups).skip(positional) {
            // A missing operand is as good as an empty group.
            if !group.is_empty() {
                let _ = write!(self.out, " {}({})", operand.name, self.list(group));
            }
        }
        if at < op.operands.len() {
            let _ = write!(self.out, " surplus({})", self.list(&op.operands[at..]));
        }
    }
}

/// How many leading groups print by position: a sole list does, and so do the leading groups of one operand each, if
/// every one of them has just that.
fn positional_groups(operands: &[crate::info::Operand], len: impl Fn(usize) -> usize) -> usize {
    let single = operands.iter().take_while(|o| o.arity == Arity::One).count();
    if operands.len() == 1 && operands[0].arity == Arity::Many {
        1
    } else if (0..single).all(|i| len(i) == 1) {
        single
    } else {
        0
    }
}
