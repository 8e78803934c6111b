//! The parser: modules, functions, values, regions. Operations are in [`ops`] and [`formatted`], scalar code in [`arith`],
//! control flow in [`control`], FIFOs in [`fifo`], attributes in [`attributes`], locations in [`location`].
//!
//! Any text gives functions or errors; an operation, attribute or type that is legal upstream and not supported here is an
//! error of kind *unsupported* that names it. Line ends mean nothing. Values of a region are not seen outside it, and
//! their names can be used again there.

mod arith;
mod attributes;
mod blocks;
mod control;
mod fifo;
mod formatted;
mod generic;
mod location;
mod ops;
mod recover;

use std::collections::BTreeMap;

use chip::{Arch, Core};
use diag::{Diagnostic, FileId, Kind, SourceFile, Sources, Span};
use ir::text::{Cursor, Places, Result, SyntaxError, hint};
use ir::{
    Attrs, Block, Builder, Def, Direction, Entity, Function, FunctionKind, Linkage, Op, Opcode as C, Origin, Param,
    Type, Value, ValueData,
};

use crate::types::{parse_type, show};
use attributes::{Attributes, Item};

/// Deeper regions, modules and locations are refused, so that no recursion can overflow the stack.
const MAX_DEPTH: usize = 100;

/// Reads the functions of a module. Errors are those of all its operations, or the first elsewhere.
/// Files that locations name are added to `sources`, where the functions' spans point;
/// spans of the errors point into [`ir::text::sources`]`(text, path)`.
pub fn parse(text: &str, _path: &str, sources: &mut Sources) -> std::result::Result<Vec<Function>, Vec<Diagnostic>> {
    parse_for(text, None, sources)
}

/// As [`parse`], for an architecture that goes before the one that the text names.
pub fn parse_for(
    text: &str,
    arch: Option<Arch>,
    sources: &mut Sources,
) -> std::result::Result<Vec<Function>, Vec<Diagnostic>> {
    read(text, arch, sources, None)
}

/// As [`parse_for`], and gives each operation without a location, and each function, its place in the text itself, which
/// is added to `sources` as `path`. Errors are placed there, too.
pub fn parse_located(
    text: &str,
    path: &str,
    arch: Option<Arch>,
    sources: &mut Sources,
) -> std::result::Result<Vec<Function>, Vec<Diagnostic>> {
    let file = sources.add(SourceFile { path: path.to_owned(), text: Some(text.into()), first_line: 1 });
    read(text, arch, sources, Some(file))
}

fn read(
    text: &str,
    arch: Option<Arch>,
    sources: &mut Sources,
    own: Option<FileId>,
) -> std::result::Result<Vec<Function>, Vec<Diagnostic>> {
    if text.starts_with("PTOBC\0") {
        let mut d = Diagnostic::unsupported("unsupported-bytecode", "this is PTO bytecode, which is not read");
        d.help = Some("`ptobc decode` of upstream's tools makes `.pto` text of it".into());
        return Err(vec![d]);
    }
    let mut parser = Parser {
        c: Cursor::new(text, false),
        arch: arch.unwrap_or_else(|| target_arch(text)),
        aliases: aliases(text),
        sources,
        own: own.map(|file| (file, Places::new(text))),
        functions: Vec::new(),
        module: Vec::new(),
        skipped: Vec::new(),
    };
    let end = parser.items(0);
    let errors: Vec<SyntaxError> = parser.skipped.into_iter().chain(end.err()).collect();
    if errors.is_empty() {
        return Ok(parser.functions);
    }
    let diagnostic = |e: &SyntaxError| {
        let mut d = e.diagnostic(text, own.unwrap_or(FileId(0)));
        if e.code.starts_with("unsupported") {
            d.kind = Kind::Unsupported;
        }
        d
    };
    Err(errors.iter().map(diagnostic).collect())
}

/// The architecture that the text names; without one it is A3 (§1.3). Decides the layout of `left` tiles.
fn target_arch(text: &str) -> Arch {
    let after = text.split("pto.target_arch").nth(1).map(|t| t.trim_start().trim_start_matches('=').trim_start());
    after.and_then(|t| t.strip_prefix('"')?.split('"').next()?.parse().ok()).unwrap_or(Arch::A2a3)
}

/// `#loc1 = loc(…)` at line starts: where each one's `loc` is.
fn aliases(text: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with('#')
            && let Some(equals) = line.find('=')
        {
            found.insert(line[1..equals].trim(), start + equals + 1);
        }
        start += line.len();
    }
    found
}

struct Parser<'t, 's> {
    c: Cursor<'t>,
    arch: Arch,
    aliases: BTreeMap<&'t str, usize>,
    sources: &'s mut Sources,
    /// Where operations without a location are: the text itself.
    own: Option<(FileId, Places<'t>)>,
    functions: Vec<Function>,
    /// What the modules around say, beside the architecture.
    module: Vec<(String, String)>,
    /// Unsupported operations that were read over ([`recover`]).
    skipped: Vec<SyntaxError>,
}

/// What a module may say beside its architecture: the chip, who emits it, the core of its functions.
const MODULE_ATTRIBUTES: &[&str] = &["pto.device-spec", "pto.backend", "pto.kernel_kind", "pto.mode"];
/// What a function may say to other tools: how inserted synchronisation ends it, who sees it, what it is to `ptodsl`.
const FUNCTION_ATTRIBUTES: &[&str] = &[
    "pto.auto_sync_tail_hint",
    "pto.visibility",
    "pto.kernel",
    "pto.aicore",
    "pto.tileop.helper",
    "pto.tileop.kind",
    "pto.tileop.effects",
    "pto.simt_entry",
    "pto.ptodsl.logical_name",
    "pto.ptodsl.subkernel_helper",
];

/// A place in the user's source, and an origin.
#[derive(Clone, Copy, Default)]
struct Place {
    span: Option<Span>,
    origin: Option<Origin>,
}

impl<'t> Parser<'t, '_> {
    fn mark(&mut self) -> usize {
        self.c.blank();
        self.c.offset()
    }

    /// What stands in a module, or in the text.
    fn items(&mut self, depth: usize) -> Result<()> {
        loop {
            let start = self.mark();
            if depth > MAX_DEPTH {
                return Err(self.c.unexpected("fewer nested modules"));
            }
            if self.c.at_end() || (depth > 0 && self.c.peek() == Some('}')) {
                return Ok(());
            }
            if self.c.peek() == Some('#') {
                let rest = self.c.rest();
                self.c.seek(self.c.offset() + rest.find('\n').unwrap_or(rest.len()));
                continue;
            }
            match self.c.expect_word("a module or a function")? {
                "module" | "builtin.module" => {
                    if self.c.eat("@") {
                        self.symbol_text()?;
                    }
                    let outer = self.module.clone();
                    if self.c.eat("attributes") {
                        let list = self.attributes()?;
                        list.only(&self.c, &[MODULE_ATTRIBUTES, &["pto.target_arch"]].concat())?;
                        for (name, value) in list.texts(MODULE_ATTRIBUTES) {
                            let name = format!("module {name}");
                            self.module.retain(|(n, _)| *n != name);
                            self.module.push((name, value));
                        }
                    }
                    self.c.expect("{")?;
                    self.items(depth + 1)?;
                    self.module = outer;
                    self.c.expect("}")?;
                    self.place()?;
                }
                "func.func" | "func" => {
                    let function = self.function()?;
                    self.functions.push(function);
                }
                word => {
                    let message = format!("`{word}` is not supported beside functions");
                    return Err(self.c.error_from(start, "unsupported-op", message));
                }
            }
        }
    }

    /// A name after `@`.
    fn symbol_text(&mut self) -> Result<String> {
        if self.c.rest().starts_with('"') {
            return self.c.string();
        }
        let name = self.c.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-'));
        if name.is_empty() { Err(self.c.unexpected("a name after `@`")) } else { Ok(name.to_owned()) }
    }

    /// From `start` to where reading is, in the text itself.
    fn span(&self, start: usize) -> Option<Span> {
        let (file, places) = self.own.as_ref()?;
        Some(places.span(*file, start, self.c.consumed()))
    }

    fn ty(&mut self) -> Result<Type> {
        parse_type(&mut self.c, self.arch)
    }

    fn function(&mut self) -> Result<Function> {
        let start = self.mark();
        let private = self.c.eat("private");
        if !private && !self.c.eat("public") {
            self.c.eat("nested");
        }
        self.c.expect("@")?;
        let name = self.symbol_text()?;
        let mut body = Body {
            f: Function::new(name, FunctionKind::Cluster),
            p: self,
            names: BTreeMap::new(),
            defined: Vec::new(),
            block: Block::new(0),
            depth: 0,
            blind: false,
            labels: blocks::Labels::default(),
        };
        body.f.span = body.p.span(start);
        body.params()?;
        if body.p.c.eat("->") {
            body.f.results = body.type_list()?;
        }
        let list = if body.p.c.eat("attributes") { body.p.attributes()? } else { Attributes::default() };
        // Without a body it is elsewhere.
        if body.p.c.peek() == Some('{') {
            body.p.c.expect("{")?;
            body.block = body.f.body;
            body.operations()?;
            body.resolve_labels()?;
            body.p.c.expect("}")?;
        }
        body.p.place()?;
        let mut f = body.f;
        self.properties(&mut f, &list, private)?;
        Ok(f)
    }

    fn properties(&mut self, f: &mut Function, list: &Attributes, private: bool) -> Result<()> {
        let known = ["pto.entry", "hacc.entry", "pto.kernel_kind", "tw.kind", "tw.placed", "tw.fused", "tw.synced"];
        list.only(&self.c, &[&known[..], FUNCTION_ATTRIBUTES].concat())?;
        f.linkage = if list.get("pto.entry").is_some() || list.get("hacc.entry").is_some() {
            Linkage::Entry
        } else if private {
            Linkage::Private
        } else {
            Linkage::Public
        };
        f.attributes = list.texts(FUNCTION_ATTRIBUTES).chain(self.module.iter().cloned()).collect();
        f.kind = match (list.get("pto.kernel_kind"), list.get("tw.kind")) {
            _ if f.blocks[f.body].ops.is_empty() => FunctionKind::Helper,
            (Some(Item::Enum(kind)), _) if kind == "cube" => FunctionKind::Kernel(Core::Cube),
            (Some(Item::Enum(kind)), _) if kind == "vector" => FunctionKind::Kernel(Core::Vector),
            (None, Some(Item::Text(kind))) if kind == "cluster" => FunctionKind::Cluster,
            (None, Some(Item::Text(kind))) if kind == "helper" => FunctionKind::Helper,
            (None, None) if private || !f.results.is_empty() => FunctionKind::Helper,
            (None, None) => by_spaces(f),
            _ => {
                let message = format!("@{} is neither a cube nor a vector kernel", f.name);
                return Err(self.c.error_from(self.c.offset(), "unsupported-attribute", message));
            }
        };
        let addressed = f.walk().into_iter().any(|op| {
            let op = &f.ops[op];
            match op.opcode {
                C::AllocTile => !op.named("addr").is_empty(),
                C::ReserveBuffer => op.attrs.int("base").is_some(),
                _ => false,
            }
        });
        f.properties.placed = addressed || list.get("tw.placed").is_some();
        f.properties.fused = list.get("tw.fused").is_some();
        f.properties.synced = list.get("tw.synced").is_some();
        Ok(())
    }
}

/// The core whose buffers a function without a stated kind uses.
fn by_spaces(f: &Function) -> FunctionKind {
    if f.walk().into_iter().any(|op| f.ops[op].opcode == C::Section) {
        return FunctionKind::Cluster;
    }
    let cores =
        |core| f.values.iter().any(|(_, v)| v.ty.as_tile().and_then(|t| t.space).map(|s| s.core()) == Some(core));
    match (cores(Core::Cube), cores(Core::Vector)) {
        (true, true) => FunctionKind::Cluster,
        (true, false) => FunctionKind::Kernel(Core::Cube),
        // It only calls, kernels of both cores perhaps.
        (false, false) if f.walk().into_iter().any(|op| f.ops[op].opcode == C::Call) => FunctionKind::Cluster,
        (false, _) => FunctionKind::Kernel(Core::Vector),
    }
}

/// A function while it is read.
struct Body<'p, 't, 's> {
    p: &'p mut Parser<'t, 's>,
    f: Function,
    /// Values in sight, and their names in order of definition.
    names: BTreeMap<String, Value>,
    defined: Vec<String>,
    block: Block,
    depth: usize,
    /// Names may be undefined because what defines them was read over.
    blind: bool,
    labels: blocks::Labels,
}

/// A name of a result, and how many results it stands for (`%r:2`).
struct ResultName<'t> {
    start: usize,
    text: &'t str,
    count: Option<usize>,
}

impl<'t> Body<'_, 't, '_> {
    fn params(&mut self) -> Result<()> {
        self.p.c.expect("(")?;
        if self.p.c.eat(")") {
            return Ok(());
        }
        loop {
            // Parameters of a declaration need no names.
            let (start, text) = match self.p.c.peek() {
                Some('%') => {
                    let name = self.value_text()?;
                    self.p.c.expect(":")?;
                    name
                }
                _ => (self.p.mark(), ""),
            };
            let ty = self.p.ty()?;
            let list = if self.p.c.peek() == Some('{') { self.p.attributes()? } else { Attributes::default() };
            list.only(&self.p.c, &["tw.direction", "tw.name"])?;
            let direction = match list.get("tw.direction") {
                None => Direction::In,
                Some(Item::Text(word)) if word == "out" => Direction::Out,
                Some(Item::Text(word)) if word == "inout" => Direction::InOut,
                Some(_) => {
                    return Err(self.p.c.error_from(start, "syntax", "a direction is \"out\" or \"inout\"".into()));
                }
            };
            let name = match list.get("tw.name") {
                Some(Item::Text(name)) => name.clone(),
                _ if text.is_empty() => format!("arg{}", self.f.params.len()),
                _ => text.to_owned(),
            };
            let shown = if text.is_empty() { hint(&name) } else { hint(text) };
            let value = self.f.add_arg(self.f.body, ty, shown);
            self.f.params.push(Param { name, direction });
            if !text.is_empty() {
                self.define(start, text, value)?;
            }
            self.p.place()?;
            if !self.p.c.eat(",") {
                break;
            }
        }
        self.p.c.expect(")")
    }

    fn value_text(&mut self) -> Result<(usize, &'t str)> {
        let start = self.p.mark();
        if !self.p.c.eat("%") {
            return Err(self.p.c.unexpected("a value (`%name`)"));
        }
        let text = self.p.c.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-'));
        if text.is_empty() {
            return Err(self.p.c.unexpected("a name after `%`"));
        }
        Ok((start, text))
    }

    fn define(&mut self, start: usize, text: &str, value: Value) -> Result<()> {
        self.defined.push(text.to_owned());
        match self.names.insert(text.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(self.p.c.error_from(start, "redefined-value", format!("%{text} is defined twice"))),
        }
    }

    /// A use: `%name`, or `%name#1`, the second of several results.
    fn value(&mut self) -> Result<Value> {
        let (start, text) = self.value_text()?;
        let mut name = text.to_owned();
        if self.p.c.rest().starts_with('#') {
            self.p.c.seek(self.p.c.offset() + 1);
            let index: u32 = self.p.c.number("the number of a result")?;
            if index > 0 {
                name = format!("{text}#{index}");
            }
        }
        self.names.get(&name).copied().ok_or_else(|| {
            self.p.c.error_from(start, "undefined-value", format!("%{name} is not defined before its use"))
        })
    }

    fn values(&mut self) -> Result<Vec<Value>> {
        let mut values = vec![self.value()?];
        while self.p.c.eat(",") {
            values.push(self.value()?);
        }
        Ok(values)
    }

    /// `: type, …`, which must be the types of these values.
    fn types_of(&mut self, values: &[Value]) -> Result<()> {
        self.p.c.expect(":")?;
        self.listed_types(values)
    }

    fn listed_types(&mut self, values: &[Value]) -> Result<()> {
        for (i, &value) in values.iter().enumerate() {
            if i > 0 {
                self.p.c.expect(",")?;
            }
            self.type_of(value)?;
        }
        Ok(())
    }

    fn type_of(&mut self, value: Value) -> Result<()> {
        let start = self.p.mark();
        // `<f32>` abbreviates the type of a pointer.
        let found = if self.p.c.peek() == Some('<') {
            self.p.c.expect("<")?;
            let element = self.p.ty()?;
            self.p.c.expect(">")?;
            format!("!pto.ptr<{}>", show(&element))
        } else {
            show(&self.p.ty()?)
        };
        let ty = show(self.f.ty(value));
        if found != ty {
            let message = format!("this value has the type {ty}, not {found}");
            return Err(self.p.c.error_from(start, "type-mismatch", message));
        }
        Ok(())
    }

    /// Types in parentheses, or one alone.
    fn type_list(&mut self) -> Result<Vec<Type>> {
        if !self.p.c.eat("(") {
            return Ok(vec![self.p.ty()?]);
        }
        let mut types = Vec::new();
        if self.p.c.eat(")") {
            return Ok(types);
        }
        loop {
            types.push(self.p.ty()?);
            if !self.p.c.eat(",") {
                break;
            }
        }
        self.p.c.expect(")")?;
        Ok(types)
    }

    fn builder(&mut self) -> Builder<'_> {
        let block = self.block;
        let mut b = Builder::new(&mut self.f);
        b.switch_to(block);
        b
    }

    /// Operations up to the closing brace, which stays.
    fn operations(&mut self) -> Result<()> {
        while self.p.c.peek() != Some('}') {
            if self.p.c.at_end() {
                return Err(self.p.c.unexpected("`}`"));
            }
            if self.depth == 0 && self.p.c.peek() == Some('^') {
                self.label()?;
                continue;
            }
            let (start, block, depth) = (self.p.mark(), self.block, self.depth);
            if let Err(error) = self.operation() {
                (self.block, self.depth) = (block, depth);
                self.recover(start, error)?;
            }
        }
        Ok(())
    }

    fn operation(&mut self) -> Result<()> {
        let mut results = Vec::new();
        if self.p.c.peek() == Some('%') {
            loop {
                let (start, text) = self.value_text()?;
                let count = if self.p.c.eat(":") { Some(self.p.c.number("a number of results")?) } else { None };
                results.push(ResultName { start, text, count });
                if !self.p.c.eat(",") {
                    break;
                }
            }
            self.p.c.expect("=")?;
        }
        let start = self.p.mark();
        let first = self.f.ops.len();
        if self.p.c.peek() == Some('"') {
            let made = self.generic(start)?;
            let place = self.p.place()?;
            self.stamp(made, first, false, place, start);
            return self.bind(start, "this operation", results, made);
        }
        let mnemonic = self.p.c.expect_word("an operation")?;
        let regions = mnemonic.starts_with("scf.")
            || mnemonic.starts_with("pto.section.")
            || mnemonic.starts_with("cf.")
            || mnemonic == "pto.fusion_region";
        let made = match mnemonic {
            "scf.for" => self.for_loop()?,
            "scf.if" => self.branch()?,
            "scf.while" => self.while_loop()?,
            "scf.yield" => self.terminator(C::Yield)?,
            "scf.condition" => self.condition()?,
            "scf.execute_region" => self.yielding(C::ExecuteRegion)?,
            "pto.fusion_region" => self.yielding(C::FusionRegion)?,
            "pto.yield" => self.yields()?,
            "cf.br" => self.jump(false)?,
            "cf.cond_br" => self.jump(true)?,
            "pto.section.cube" | "pto.section.vector" | "pto.section.simt" => {
                let core = mnemonic.trim_start_matches("pto.section.").to_owned();
                let mut list = ir::builder::attrs([("core", ir::Attr::Word(core))]);
                if mnemonic == "pto.section.simt" {
                    list.set("grid", ir::Attr::Ints(self.grid()?));
                }
                let op = self.make(C::Section, &[], &[], &[], list);
                self.region(op, Vec::new(), false)?;
                Some(op)
            }
            "return" | "func.return" => self.terminator(C::Return)?,
            "call" | "func.call" => self.call()?,
            name if name.starts_with("arith.") || name.starts_with("builtin.") => self.arith(name, start)?,
            name => match name.strip_prefix("pto.") {
                Some(name) => self.pto(name, start)?,
                None => return Err(self.unsupported(start, mnemonic)),
            },
        };
        let place = self.p.place()?;
        self.stamp(made, first, regions, place, start);
        self.bind(start, mnemonic, results, made)
    }

    /// Gives the operations made since `first` their place; the last alone completes a value.
    fn stamp(&mut self, made: Option<Op>, first: usize, regions: bool, place: Place, start: usize) {
        let Some(made) = made else { return };
        let own = self.p.span(start);
        let all = if regions { made.index()..made.index() + 1 } else { first..self.f.ops.len() };
        for id in all {
            let op = &mut self.f.ops[Op::new(id)];
            op.span = place.span.or(own);
            op.origin = place.origin.map(|o| Origin { completes: o.completes && id == made.index(), ..o });
        }
    }

    fn bind(&mut self, start: usize, mnemonic: &str, names: Vec<ResultName<'t>>, made: Option<Op>) -> Result<()> {
        let values = made.map_or(Vec::new(), |op| self.f.ops[op].results.clone());
        let wanted: usize = names.iter().map(|n| n.count.unwrap_or(1)).fold(0, usize::saturating_add);
        // A result that is not named is not used.
        if wanted != values.len() && !names.is_empty() {
            let message = format!("{mnemonic} has {} results, not {wanted}", values.len());
            return Err(self.p.c.error_from(start, "result-count", message));
        }
        let mut values = values.into_iter();
        for name in names {
            for i in 0..name.count.unwrap_or(1) {
                let Some(value) = values.next() else { break };
                self.f.values[value].name = hint(name.text);
                let text = if i == 0 { name.text.to_owned() } else { format!("{}#{i}", name.text) };
                self.define(name.start, &text, value)?;
            }
        }
        Ok(())
    }

    fn unsupported(&self, start: usize, mnemonic: &str) -> SyntaxError {
        self.p.c.error_from(start, "unsupported-op", format!("the operation `{mnemonic}` is not supported"))
    }

    /// Makes an operation at the end of the block.
    fn make(&mut self, opcode: C, groups: &[&[Value]], dests: &[Value], results: &[Type], attrs: Attrs) -> Op {
        self.builder().op(ir::builder::NewOp { opcode, groups, dests, results, attrs })
    }

    /// `{ … }` as region of `op`, with arguments; `values` are named in it.
    fn region(&mut self, op: Op, args: Vec<(usize, &'t str, Type)>, header: bool) -> Result<()> {
        let block = self.f.add_block();
        self.f.blocks[block].parent = Some(op);
        self.f.ops[op].regions.push(block);
        let outer = std::mem::replace(&mut self.block, block);
        let mark = self.defined.len();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.p.c.unexpected("fewer nested regions"));
        }
        self.p.c.expect("{")?;
        for (start, text, ty) in args {
            self.argument(block, start, text, ty)?;
        }
        if header && self.p.c.eat("^") {
            self.p.c.expect_word("a block label")?;
            if self.p.c.eat("(") {
                loop {
                    let (start, text) = self.value_text()?;
                    self.p.c.expect(":")?;
                    let ty = self.p.ty()?;
                    self.argument(block, start, text, ty)?;
                    self.p.place()?;
                    if !self.p.c.eat(",") {
                        break;
                    }
                }
                self.p.c.expect(")")?;
            }
            self.p.c.expect(":")?;
        }
        self.operations()?;
        self.p.c.expect("}")?;
        let ended = self.f.blocks[block].ops.last().is_some_and(|&o| self.f.ops[o].opcode.is_terminator());
        if !ended {
            self.make(C::Yield, &[&[]], &[], &[], Attrs::default());
        }
        self.depth -= 1;
        self.block = outer;
        for name in self.defined.drain(mark..) {
            self.names.remove(&name);
        }
        Ok(())
    }

    fn argument(&mut self, block: Block, start: usize, text: &'t str, ty: Type) -> Result<()> {
        let index = self.f.blocks[block].args.len() as u32;
        let value = self.f.values.push(ValueData { ty, def: Def::Arg(block, index), name: hint(text) });
        self.f.blocks[block].args.push(value);
        // Shadows nothing: names of the surroundings are taken.
        self.define(start, text, value)
    }
}
