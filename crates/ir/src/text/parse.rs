//! The parser. Any text gives a program or errors with places in the text; what comes out has well-formed types, segments
//! and definitions, and is otherwise the verifier's to judge.

use std::collections::BTreeMap;

use chip::{Arch, Core};
use diag::{Diagnostic, FileId, SourceFile, Sources, Span};

use super::cursor::{Cursor, Places, Result};
use super::types::parse_type;
use crate::attr::{Attr, Attrs};
use crate::entity::{Arena, Block, Entity, FuncId, Op, Value};
use crate::function::{
    Def, Direction, Function, FunctionKind, Level, Linkage, OpData, Origin, Param, Program, Properties, ValueData,
};
use crate::info::{Arity, OpInfo};
use crate::ops::{Opcode, TABLE};

/// Deeper regions are refused, so that no later recursion can overflow the stack.
const MAX_DEPTH: usize = 100;
/// Numbers of operations that leave larger gaps than this are refused.
const MAX_GAP: usize = 1 << 20;

/// Reads a program. Spans of the errors point into [`sources`]`(text, path)`; spans of the program are those written in
/// it.
pub fn parse(text: &str, _path: &str) -> std::result::Result<Program, Vec<Diagnostic>> {
    Parser::new(text, None).program().map_err(|e| vec![e.diagnostic(text, FileId(0))])
}

/// Reads a program as [`parse`] does, and gives each operation without a location its place in `text` itself, which is
/// added to the program's sources: for programs written by hand.
pub fn parse_located(text: &str, path: &str) -> std::result::Result<Program, Vec<Diagnostic>> {
    let mut parser = Parser::new(text, Some(path));
    parser.program().map_err(|e| vec![e.diagnostic(text, FileId(0))])
}

/// The table that spans of parse errors point into.
pub fn sources(text: &str, path: &str) -> Sources {
    let mut sources = Sources::default();
    sources.add(SourceFile { path: path.to_owned(), text: Some(text.into()), first_line: 1 });
    sources
}

struct Parser<'t> {
    c: Cursor<'t>,
    sources: Sources,
    /// Where operations without a location are: the text itself.
    own: Option<Own<'t>>,
}

struct Own<'t> {
    path: &'t str,
    text: &'t str,
    places: Places<'t>,
    file: FileId,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, own: Option<&'t str>) -> Parser<'t> {
        let own = own.map(|path| Own { path, text, places: Places::new(text), file: FileId(0) });
        Parser { c: Cursor::new(text, true), sources: Sources::default(), own }
    }

    fn program(&mut self) -> Result<Program> {
        self.c.blank_lines();
        self.c.expect("program")?;
        let name = self.c.string()?;
        let start = self.mark();
        let word = self.c.expect_word("an architecture")?;
        let arch: Arch = word.parse().map_err(|()| {
            self.c
                .error_from(start, "unknown-arch", format!("`{word}` is not an architecture"))
                .help("architectures are a2a3 and a5")
        })?;
        let level = self.one_of("a level", &[("tensor", Level::Tensor), ("tile", Level::Tile)])?;
        self.c.expect("entry")?;
        let entry_start = self.mark();
        let entry = self.symbol()?;
        let entry_end = self.c.offset();
        self.line_end()?;
        self.files()?;
        let mut functions: Arena<FuncId, Function> = Arena::default();
        while !self.c.at_end() {
            let function = self.function()?;
            functions.push(function);
        }
        let found = functions.iter().find(|(_, f)| f.name == entry).map(|(id, _)| id);
        let Some(entry) = found else {
            self.c.seek(entry_end);
            let message = format!("the entry function @{entry} is not in the program");
            return Err(self.c.error_from(entry_start, "unknown-function", message));
        };
        Ok(Program { name, arch, level, functions, entry, sources: std::mem::take(&mut self.sources) })
    }

    fn files(&mut self) -> Result<()> {
        loop {
            self.c.blank_lines();
            if !self.c.eat("file") {
                break;
            }
            self.c.blank();
            let start = self.c.offset();
            let id = self.file_id()?;
            if id.0 as usize != self.sources.files().count() {
                return Err(self.c.error_from(start, "file-order", "files are numbered f0, f1, … in order".into()));
            }
            let path = self.c.string()?;
            self.c.expect("line")?;
            let first_line = self.c.number("a line")?;
            self.line_end()?;
            self.sources.add(SourceFile { path, text: None, first_line });
        }
        if let Some(own) = &mut self.own {
            let (path, text) = (own.path.to_owned(), Some(own.text.into()));
            own.file = self.sources.add(SourceFile { path, text, first_line: 1 });
        }
        Ok(())
    }

    fn file_id(&mut self) -> Result<FileId> {
        if !self.c.rest().starts_with('f') {
            return Err(self.c.unexpected("a file (`f0`)"));
        }
        self.c.seek(self.c.offset() + 1);
        if !self.c.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.c.unexpected("the number of a file"));
        }
        Ok(FileId(self.c.number("the number of a file")?))
    }

    /// Skips blanks; where the next piece starts.
    fn mark(&mut self) -> usize {
        self.c.blank();
        self.c.offset()
    }

    fn line_end(&mut self) -> Result<()> {
        if self.c.at_line_end() { Ok(()) } else { Err(self.c.unexpected("the end of the line")) }
    }

    fn one_of<T: Copy>(&mut self, what: &str, words: &[(&str, T)]) -> Result<T> {
        let start = self.mark();
        let word = self.c.expect_word(what)?;
        words.iter().find(|(w, _)| *w == word).map(|(_, t)| *t).ok_or_else(|| {
            let list: Vec<&str> = words.iter().map(|(w, _)| *w).collect();
            self.c.error_from(start, "syntax", format!("`{word}` is not {what}")).help(list.join(", "))
        })
    }

    fn symbol(&mut self) -> Result<String> {
        self.c.expect("@")?;
        if self.c.rest().starts_with('"') {
            return self.c.string();
        }
        match self.c.rest().chars().next() {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => Ok(self.c.expect_word("a name")?.to_owned()),
            _ => Err(self.c.unexpected("a name after `@`")),
        }
    }

    fn function(&mut self) -> Result<Function> {
        self.c.blank_lines();
        self.c.expect("func")?;
        let name = self.symbol()?;
        let start = self.mark();
        let kind = match self.c.expect_word("a kind of function")? {
            "orchestration" => FunctionKind::Orchestration,
            "cluster" => FunctionKind::Cluster,
            "helper" => FunctionKind::Helper,
            "kernel" => {
                self.c.expect("(")?;
                let core = self.one_of("a core", &[("cube", Core::Cube), ("vector", Core::Vector)])?;
                self.c.expect(")")?;
                FunctionKind::Kernel(core)
            }
            word => {
                return Err(self
                    .c
                    .error_from(start, "syntax", format!("`{word}` is not a kind of function"))
                    .help("orchestration, kernel(cube), kernel(vector), cluster, helper"));
            }
        };
        let mut function = Function::new(name, kind);
        let p = &mut function.properties;
        *p = Properties { placed: self.c.eat("placed"), fused: self.c.eat("fused"), synced: self.c.eat("synced") };
        if self.c.eat("public") {
            function.linkage = Linkage::Public;
        } else if self.c.eat("private") {
            function.linkage = Linkage::Private;
        }
        while self.c.eat("says") {
            self.c.expect("(")?;
            let name = self.c.string()?;
            self.c.expect(",")?;
            let value = self.c.string()?;
            self.c.expect(")")?;
            function.attributes.push((name, value));
        }
        let mut body = Body { p: self, f: function, names: BTreeMap::new(), ops: BTreeMap::new(), next: 0 };
        body.params()?;
        let block = body.f.body;
        body.block(block, 0)?;
        let function = body.finish();
        self.line_end()?;
        Ok(function)
    }
}

/// A function while it is read. Operations wait in `ops` by number until all are known.
struct Body<'p, 't> {
    p: &'p mut Parser<'t>,
    f: Function,
    names: BTreeMap<&'t str, Value>,
    ops: BTreeMap<usize, OpData>,
    next: usize,
}

impl<'t> Body<'_, 't> {
    fn finish(mut self) -> Function {
        for (id, op) in self.ops {
            // Gaps are operations that were detached: in the arena, in no block.
            while self.f.ops.len() < id {
                let (opcode, block) = (Opcode::Yield, self.f.body);
                self.f.ops.push(OpData {
                    opcode,
                    operands: Vec::new(),
                    segments: vec![0],
                    dests: Vec::new(),
                    results: Vec::new(),
                    regions: Vec::new(),
                    attrs: Attrs::default(),
                    block,
                    span: None,
                    origin: None,
                });
            }
            self.f.ops.push(op);
        }
        self.f
    }

    fn params(&mut self) -> Result<()> {
        self.p.c.expect("(")?;
        if !self.p.c.eat(")") {
            loop {
                self.param()?;
                if !self.p.c.eat(",") {
                    break;
                }
            }
            self.p.c.expect(")")?;
        }
        if self.p.c.eat("->") {
            loop {
                self.f.results.push(parse_type(&mut self.p.c)?);
                if !self.p.c.eat(",") {
                    break;
                }
            }
        }
        self.p.c.expect("{")?;
        self.p.line_end()
    }

    fn param(&mut self) -> Result<()> {
        let (start, text) = self.value_text()?;
        let name = if self.p.c.peek() == Some('"') { self.p.c.string()? } else { text.to_owned() };
        self.p.c.expect(":")?;
        let words = [("in", Direction::In), ("out", Direction::Out), ("inout", Direction::InOut)];
        let direction = self.p.one_of("a direction", &words)?;
        let ty = parse_type(&mut self.p.c)?;
        let value = self.f.add_arg(self.f.body, ty, hint(text));
        self.f.params.push(Param { name, direction });
        self.define(start, text, value)
    }

    /// `%name`, with where it starts.
    fn value_text(&mut self) -> Result<(usize, &'t str)> {
        let start = self.p.mark();
        if !self.p.c.eat("%") {
            return Err(self.p.c.unexpected("a value (`%name`)"));
        }
        let text = self.p.c.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if text.is_empty() {
            return Err(self.p.c.unexpected("a name after `%`"));
        }
        Ok((start, text))
    }

    fn define(&mut self, start: usize, text: &'t str, value: Value) -> Result<()> {
        match self.names.insert(text, value) {
            None => Ok(()),
            Some(_) => {
                let mut e = self.p.c.error_from(start, "redefined-value", format!("%{text} is defined twice"));
                e.end = start + 1 + text.len();
                Err(e)
            }
        }
    }

    fn value(&mut self) -> Result<Value> {
        let (start, text) = self.value_text()?;
        self.names.get(text).copied().ok_or_else(|| {
            self.p.c.error_from(start, "undefined-value", format!("%{text} is not defined before its use"))
        })
    }

    fn values(&mut self) -> Result<Vec<Value>> {
        let mut values = vec![self.value()?];
        while self.p.c.eat(",") {
            values.push(self.value()?);
        }
        Ok(values)
    }

    /// Operations up to and with the closing brace.
    fn block(&mut self, block: Block, depth: usize) -> Result<()> {
        loop {
            self.p.c.blank_lines();
            if self.p.c.eat("}") {
                return Ok(());
            }
            self.op(block, depth)?;
        }
    }

    /// The number of the next operation: written, or one more than the last.
    fn number(&mut self) -> Result<usize> {
        let start = self.p.mark();
        let number = match self.p.c.rest().strip_prefix("op") {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                self.p.c.seek(start + 2);
                let number: u32 = self.p.c.number("the number of an operation")?;
                self.p.c.expect(":")?;
                number as usize
            }
            _ => self.next,
        };
        if self.ops.contains_key(&number) {
            return Err(self.p.c.error_from(start, "redefined-op", format!("op{number} is defined twice")));
        }
        if number > self.next + MAX_GAP {
            return Err(self.p.c.error_from(start, "number-range", format!("op{number} is numbered too far ahead")));
        }
        self.next = self.next.max(number + 1);
        Ok(number)
    }

    fn op(&mut self, block: Block, depth: usize) -> Result<()> {
        let number = self.number()?;
        let id = Op::new(number);
        let start = self.p.mark();
        let mut results = Vec::new();
        if self.p.c.peek() == Some('%') {
            results.push(self.value_text()?);
            while self.p.c.eat(",") {
                results.push(self.value_text()?);
            }
            self.p.c.expect("=")?;
        }
        let opcode = self.opcode()?;
        let info = opcode.info();
        let (operands, segments) = self.groups(info)?;
        let mut dests = Vec::new();
        if self.p.c.eat("outs") {
            self.p.c.expect("(")?;
            dests = self.values()?;
            self.p.c.expect(")")?;
        }
        let attrs = self.attrs(info)?;
        let mut end = self.p.c.consumed();
        let mut types = Vec::new();
        if self.p.c.eat(":") {
            types.push(parse_type(&mut self.p.c)?);
            while self.p.c.eat(",") {
                types.push(parse_type(&mut self.p.c)?);
            }
            end = self.p.c.consumed();
        }
        if types.len() != results.len() {
            let message = format!("{} results with {} types", results.len(), types.len());
            return Err(self.p.c.error_from(start, "result-types", message));
        }
        // The number is taken before the regions are read, and the results are defined after: regions cannot use them.
        self.ops.insert(
            number,
            OpData {
                opcode,
                operands,
                segments,
                dests,
                results: Vec::new(),
                regions: Vec::new(),
                attrs,
                block,
                span: None,
                origin: None,
            },
        );
        self.f.blocks[block].ops.push(id);
        let regions = self.regions(id, depth)?;
        let (span, origin) = self.tail(start, end)?;
        self.p.line_end()?;
        let mut values = Vec::new();
        for (i, ((at, text), ty)) in results.into_iter().zip(types).enumerate() {
            let value = self.f.values.push(ValueData { ty, def: Def::Result(id, i as u32), name: hint(text) });
            self.define(at, text, value)?;
            values.push(value);
        }
        if let Some(op) = self.ops.get_mut(&number) {
            (op.results, op.regions, op.span, op.origin) = (values, regions, span, origin);
        }
        Ok(())
    }

    fn opcode(&mut self) -> Result<Opcode> {
        let start = self.p.mark();
        let word = self.p.c.expect_word("an operation")?;
        Opcode::from_name(word).ok_or_else(|| {
            let e = self.p.c.error_from(start, "unknown-op", format!("`{word}` is not an operation"));
            match TABLE.iter().map(|i| i.name).min_by_key(|name| distance(name, word)) {
                Some(near) if distance(near, word) <= 2 => e.help(format!("did you mean `{near}`?")),
                _ => e,
            }
        })
    }

    fn groups(&mut self, info: &OpInfo) -> Result<(Vec<Value>, Vec<u32>)> {
        let count = info.operands.len();
        let mut groups: Vec<Vec<Value>> = vec![Vec::new(); count];
        if self.p.c.peek() == Some('%') {
            let start = self.p.c.offset();
            let values = self.values()?;
            if count == 1 && info.operands[0].arity == Arity::Many {
                groups[0] = values;
            } else {
                let single = info.operands.iter().take_while(|o| o.arity == Arity::One).count();
                if values.len() > single {
                    let message = format!("{} takes {single} operands by position, not {}", info.name, values.len());
                    return Err(self.p.c.error_from(start, "operand-groups", message));
                }
                for (group, value) in groups.iter_mut().zip(values) {
                    group.push(value);
                }
            }
        }
        loop {
            let start = self.p.mark();
            let before = self.p.c.clone();
            let Some(word) = self.p.c.word() else { break };
            if matches!(word, "outs" | "loc" | "from") {
                self.p.c = before;
                break;
            }
            let Some(index) = info.group(word) else {
                let names: Vec<&str> = info.operands.iter().map(|o| o.name).collect();
                let e = self.p.c.error_from(start, "operand-groups", format!("{} has no operands `{word}`", info.name));
                return Err(if names.is_empty() { e } else { e.help(format!("it has {}", names.join(", "))) });
            };
            if !groups[index].is_empty() {
                return Err(self.p.c.error_from(start, "operand-groups", format!("operands `{word}` are given twice")));
            }
            self.p.c.expect("(")?;
            if !self.p.c.eat(")") {
                groups[index] = self.values()?;
                self.p.c.expect(")")?;
            }
        }
        let segments = groups.iter().map(|g| g.len() as u32).collect();
        Ok((groups.concat(), segments))
    }

    /// `{name = value, …}`; nothing if the brace opens a region.
    fn attrs(&mut self, info: &'static OpInfo) -> Result<Attrs> {
        let mut attrs = Attrs::default();
        let before = self.p.c.clone();
        let opens = self.p.c.eat("{") && self.p.c.word().is_some() && self.p.c.eat("=");
        self.p.c = before;
        if !opens {
            return Ok(attrs);
        }
        self.p.c.expect("{")?;
        loop {
            let start = self.p.mark();
            let name = self.p.c.expect_word("an attribute")?;
            let Some(known) = info.attr(name) else {
                let names: Vec<&str> = info.attrs.iter().chain(info.marks()).map(|a| a.name).collect();
                let message = format!("{} has no attribute `{name}`", info.name);
                let e = self.p.c.error_from(start, "unknown-attribute", message);
                return Err(if names.is_empty() { e } else { e.help(format!("it has {}", names.join(", "))) });
            };
            if attrs.get(name).is_some() {
                let message = format!("attribute `{name}` is given twice");
                return Err(self.p.c.error_from(start, "unknown-attribute", message));
            }
            self.p.c.expect("=")?;
            let value = self.attr()?;
            attrs.set(known.name, value);
            if !self.p.c.eat(",") {
                break;
            }
        }
        self.p.c.expect("}")?;
        Ok(attrs)
    }

    fn attr(&mut self) -> Result<Attr> {
        let c = &mut self.p.c;
        match c.peek() {
            Some('"') => return Ok(Attr::Text(c.string()?)),
            Some('[') => return self.list(),
            Some('!') => {
                c.expect("!")?;
                let start = c.offset();
                let word = c.expect_word("an element type")?;
                return word
                    .parse()
                    .map(Attr::Type)
                    .map_err(|()| c.error_from(start, "unknown-type", format!("`{word}` is not an element type")));
            }
            _ => {}
        }
        for (text, value) in [("+inf", f64::INFINITY), ("-inf", f64::NEG_INFINITY)] {
            if c.eat(text) {
                return Ok(Attr::Float(value));
            }
        }
        let start = c.offset();
        if let Some(word) = c.word() {
            return Ok(match word {
                "true" => Attr::Bool(true),
                "false" => Attr::Bool(false),
                "word" => {
                    c.expect("(")?;
                    let text = c.string()?;
                    c.expect(")")?;
                    Attr::Word(text)
                }
                "nan" => {
                    c.expect("(")?;
                    c.blank();
                    let digits = c.take_while(|c| c.is_ascii_alphanumeric()).strip_prefix("0x").unwrap_or("");
                    let bits = u64::from_str_radix(digits, 16).ok().map(f64::from_bits).filter(|v| v.is_nan());
                    let Some(value) = bits else {
                        return Err(c.error_from(start, "syntax", "these are not the bits of a NaN".into()));
                    };
                    c.expect(")")?;
                    Attr::Float(value)
                }
                word => Attr::Word(word.to_owned()),
            });
        }
        number(c)
    }

    fn list(&mut self) -> Result<Attr> {
        self.p.c.expect("[")?;
        if self.p.c.eat("]") {
            return Ok(Attr::Ints(Vec::new()));
        }
        if self.p.c.peek() == Some('@') {
            if self.p.c.rest().starts_with("@]") {
                self.p.c.seek(self.p.c.offset() + 2);
                return Ok(Attr::Symbols(Vec::new()));
            }
            let mut symbols = vec![self.p.symbol()?];
            while self.p.c.eat(",") {
                symbols.push(self.p.symbol()?);
            }
            self.p.c.expect("]")?;
            return Ok(Attr::Symbols(symbols));
        }
        let mut ints = vec![self.p.c.integer("an integer or a symbol")?];
        while self.p.c.eat(",") {
            ints.push(self.p.c.integer("an integer")?);
        }
        self.p.c.expect("]")?;
        Ok(Attr::Ints(ints))
    }

    fn regions(&mut self, op: Op, depth: usize) -> Result<Vec<Block>> {
        let mut regions = Vec::new();
        if !matches!(self.p.c.peek(), Some('(' | '{')) {
            return Ok(regions);
        }
        if depth >= MAX_DEPTH {
            return Err(self.p.c.unexpected("at most 100 nested regions"));
        }
        loop {
            let block = self.f.add_block();
            self.f.blocks[block].parent = Some(op);
            regions.push(block);
            if self.p.c.eat("(") {
                loop {
                    let (start, text) = self.value_text()?;
                    self.p.c.expect(":")?;
                    let ty = parse_type(&mut self.p.c)?;
                    let value = self.f.add_arg(block, ty, hint(text));
                    self.define(start, text, value)?;
                    if !self.p.c.eat(",") {
                        break;
                    }
                }
                self.p.c.expect(")")?;
            }
            self.p.c.expect("{")?;
            self.p.line_end()?;
            self.block(block, depth + 1)?;
            if !self.p.c.eat(",") {
                return Ok(regions);
            }
        }
    }

    /// Location and origin. `start..end` is the operation in the text.
    fn tail(&mut self, start: usize, end: usize) -> Result<(Option<Span>, Option<Origin>)> {
        let mut span = self.p.own.as_ref().map(|own| own.places.span(own.file, start, end));
        if self.p.c.eat("loc") {
            span = Some(self.location()?);
        }
        let mut origin = None;
        if self.p.c.eat("from") {
            self.p.c.blank();
            if !self.p.c.rest().starts_with("op") {
                return Err(self.p.c.unexpected("an operation (`op17`)"));
            }
            self.p.c.seek(self.p.c.offset() + 2);
            let number: u32 = self.p.c.number("the number of an operation")?;
            origin = Some(Origin { op: Op::new(number as usize), completes: self.p.c.eat("done") });
        }
        Ok((span, origin))
    }

    fn location(&mut self) -> Result<Span> {
        let c = &mut self.p.c;
        c.expect("(")?;
        c.blank();
        let start = c.offset();
        let file = self.p.file_id()?;
        let c = &mut self.p.c;
        if self.p.sources.get(file).is_none() {
            return Err(c.error_from(start, "unknown-file", format!("f{} is not a file of this program", file.0)));
        }
        c.expect(":")?;
        let line = c.number("a line")?;
        c.expect(":")?;
        let col = c.number("a column")?;
        c.expect("-")?;
        let last: u32 = c.number("a column or line")?;
        let (end_line, end_col) = if c.eat(":") { (last, c.number("a column")?) } else { (line, last) };
        c.expect(")")?;
        Ok(Span { file, line, col, end_line, end_col })
    }
}

/// A number with a point or an exponent is a float.
fn number(c: &mut Cursor<'_>) -> Result<Attr> {
    c.blank();
    let start = c.offset();
    let signed = c.rest().starts_with('-');
    c.seek(start + usize::from(signed));
    if !c.rest().starts_with(|c: char| c.is_ascii_digit()) {
        c.seek(start);
        return Err(c.unexpected("the value of an attribute"));
    }
    let float = |c: char| c.is_ascii_digit() || c == '.' || c == 'e' || c == 'E';
    c.take_while(float);
    while c.slice(start, c.offset()).ends_with(['e', 'E']) && c.rest().starts_with(['-', '+']) {
        c.seek(c.offset() + 1);
        c.take_while(float);
    }
    let literal = c.slice(start, c.offset());
    let value = if literal.contains(['.', 'e', 'E']) {
        literal.parse().ok().filter(|v: &f64| v.is_finite()).map(Attr::Float)
    } else {
        literal.parse().ok().map(Attr::Int)
    };
    value.ok_or_else(|| c.error_from(start, "number-range", format!("`{literal}` is not a 64-bit number")))
}

/// The user's name in a value's text (without `%`): without the number that makes it unique; none if it is a number.
pub fn hint(text: &str) -> Option<String> {
    let name = match text.rsplit_once('.') {
        Some((name, number)) if number.chars().all(|c| c.is_ascii_digit()) => name,
        _ => text,
    };
    (!name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty()).then(|| name.to_owned())
}

/// Edit distance, for suggestions.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut left = i + 1;
        for j in 0..b.len() {
            let best = (row[j] + usize::from(x != b[j])).min(row[j + 1] + 1).min(left + 1);
            row[j] = left;
            left = best;
        }
        row[b.len()] = left;
    }
    row[b.len()]
}
