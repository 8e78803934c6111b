//! Python source, parsed once a file, and where functions and spans are in it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use diag::{Diagnostic, FileId, SourceFile, Sources, Span};
use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::FunctionSource;

/// A line that makes an indented piece of source (a method's text, a cell's) a module.
const WRAPPER: &str = "if True:\n";

/// A parsed file.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) file: FileId,
    module: ast::ModModule,
    text: Arc<str>,
    /// Byte offsets of line starts in `text`.
    lines: Vec<usize>,
    first_line: u32,
    /// Bytes that the parsed text has before `text`.
    shift: usize,
}

impl Parsed {
    pub(crate) fn span(&self, range: impl Ranged) -> Span {
        let range = range.range();
        let (line, col) = self.place(range.start());
        let (end_line, end_col) = self.place(range.end());
        Span { file: self.file, line, col, end_line, end_col }
    }

    fn place(&self, at: TextSize) -> (u32, u32) {
        let byte = at.to_usize().saturating_sub(self.shift).min(self.text.len());
        let line = self.lines.partition_point(|&start| start <= byte).saturating_sub(1);
        let col = self.text.get(self.lines[line]..byte).map_or(0, |s| s.chars().count());
        (self.first_line + line as u32, col as u32 + 1)
    }

    /// The source text of a node.
    pub(crate) fn text(&self, range: impl Ranged) -> &str {
        let range: TextRange = range.range();
        let (start, end) = (range.start().to_usize(), range.end().to_usize());
        self.text.get(start.saturating_sub(self.shift)..end.saturating_sub(self.shift)).unwrap_or("")
    }

    /// The `def` called `name` that starts (decorators included) at `line`, or else the one whose lines contain it.
    pub(crate) fn function(&self, name: &str, line: u32) -> Option<&ast::StmtFunctionDef> {
        let mut found: Vec<&ast::StmtFunctionDef> = Vec::new();
        collect(&self.module.body, name, &mut found);
        let lines = |f: &ast::StmtFunctionDef| (self.place(f.range.start()).0, self.place(f.range.end()).0);
        let exact = found.iter().find(|f| lines(f).0 == line || self.place(f.name.range.start()).0 == line);
        exact.or_else(|| found.iter().find(|f| lines(f).0 <= line && line <= lines(f).1)).copied()
    }
}

fn collect<'a>(body: &'a [Stmt], name: &str, out: &mut Vec<&'a ast::StmtFunctionDef>) {
    for stmt in body {
        match stmt {
            Stmt::FunctionDef(f) => {
                if f.name.as_str() == name {
                    out.push(f);
                }
                collect(&f.body, name, out);
            }
            Stmt::ClassDef(c) => collect(&c.body, name, out),
            Stmt::If(s) => {
                collect(&s.body, name, out);
                s.elif_else_clauses.iter().for_each(|c| collect(&c.body, name, out));
            }
            Stmt::With(s) => collect(&s.body, name, out),
            Stmt::For(s) => collect(&s.body, name, out),
            Stmt::While(s) => collect(&s.body, name, out),
            Stmt::Try(s) => {
                collect(&s.body, name, out);
                collect(&s.orelse, name, out);
                collect(&s.finalbody, name, out);
            }
            _ => {}
        }
    }
}

/// The files of one specialisation.
#[derive(Default, Debug)]
pub(crate) struct Files {
    pub(crate) sources: Sources,
    parsed: BTreeMap<(String, u32), Rc<Parsed>>,
}

impl Files {
    /// Parses the file of a function, once.
    pub(crate) fn parse(&mut self, source: &FunctionSource) -> Result<Rc<Parsed>, Box<Diagnostic>> {
        self.parse_text(&source.path, &source.text, source.first_line)
    }

    pub(crate) fn parse_text(
        &mut self,
        path: &str,
        text: &str,
        first_line: u32,
    ) -> Result<Rc<Parsed>, Box<Diagnostic>> {
        let key = (path.to_owned(), first_line);
        if let Some(parsed) = self.parsed.get(&key) {
            return Ok(parsed.clone());
        }
        let text: Arc<str> = text.into();
        let file = self.sources.add(SourceFile { path: path.to_owned(), text: Some(text.clone()), first_line });
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
        let indented = first.starts_with([' ', '\t']);
        let shift = if indented { WRAPPER.len() } else { 0 };
        let result = if indented {
            ruff_python_parser::parse_module(&format!("{WRAPPER}{text}"))
        } else {
            ruff_python_parser::parse_module(&text)
        };
        let mut parsed = Parsed {
            file,
            module: ast::ModModule {
                node_index: ast::AtomicNodeIndex::NONE,
                range: TextRange::default(),
                body: Default::default(),
            },
            text,
            lines,
            first_line,
            shift,
        };
        match result {
            Ok(module) => parsed.module = module.into_syntax(),
            Err(error) => {
                return Err(Box::new(
                    Diagnostic::error("syntax", format!("Python syntax error: {}", error.error))
                        .at(Some(parsed.span(error.location)), ""),
                ));
            }
        }
        let parsed = Rc::new(parsed);
        self.parsed.insert(key, parsed.clone());
        Ok(parsed)
    }
}
