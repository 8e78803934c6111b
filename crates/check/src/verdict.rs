//! What a checker answers: *proved*, a *witness*, or *unsupported*. Silence means proved, never "not looked at".

use std::ops::Range;

use diag::{Diagnostic, Span};
use ir::{Function, Op};

use crate::access::Memory;

/// The answer of one checker about one program.
#[derive(Clone, Default, Debug)]
pub struct Verdict {
    /// Violations, in program order of their second operation.
    pub findings: Vec<Finding>,
    /// What could not be decided, by operation or function, each with its reason.
    pub unsupported: Vec<Diagnostic>,
}

impl Verdict {
    /// Everything was looked at, and nothing was found.
    pub fn proved(&self) -> bool {
        self.findings.is_empty() && self.unsupported.is_empty()
    }

    /// Adds another answer, about another function or rule.
    pub fn add(&mut self, other: Verdict) {
        self.findings.extend(other.findings);
        self.unsupported.extend(other.unsupported);
    }

    /// Findings, then what is undecided, for the renderer.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.findings.iter().map(Finding::diagnostic).chain(self.unsupported.iter().cloned()).collect()
    }
}

/// A violation: usually two operations, and the bytes that they disagree about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The rule, in kebab case (`order-raw`, `memory-overlap`, `sync-missing`): stable, for tests and documentation.
    pub rule: &'static str,
    /// What is wrong, in a sentence that a kernel author understands.
    pub message: String,
    /// Where: the operation that goes wrong, and the one it conflicts with.
    pub first: Site,
    pub second: Option<Site>,
    pub bytes: Option<Bytes>,
    /// What would mend it.
    pub help: Option<String>,
}

/// One operation of a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    pub function: String,
    /// Of the program that was judged (where there are two, the one after the pass).
    pub op: Op,
    /// Its name in the op table.
    pub name: &'static str,
    pub span: Option<Span>,
    /// What it does here: `writes %a`, `reads it here`.
    pub role: String,
}

impl Site {
    pub fn new(func: &Function, op: Op, role: impl Into<String>) -> Site {
        let data = &func.ops[op];
        let (name, span) = (data.opcode.name(), data.span);
        Site { function: func.name.clone(), op, name, span, role: role.into() }
    }
}

/// Bytes of a buffer: of a space of the core if tiles have addresses, of one tile's own storage if not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bytes {
    /// `vec`, `acc`, `global memory`, or the name of an unplaced tile.
    pub memory: String,
    pub range: Range<u64>,
}

impl Finding {
    pub fn diagnostic(&self) -> Diagnostic {
        let mut d = Diagnostic::finding(self.rule, self.message.clone()).about(self.first.name);
        d = d.at(self.first.span, format!("`{}` {}", self.first.name, self.first.role));
        if let Some(second) = &self.second {
            d = d.also(second.span, format!("`{}` {}", second.name, second.role));
        }
        if let Some(b) = &self.bytes {
            d = d.note(format!("bytes {}..{} of {}", b.range.start, b.range.end, b.memory));
        }
        d = d.note(format!("in `{}`", self.first.function));
        d.help = self.help.clone();
        d
    }
}

/// ` at line 12`, where an operation has a line.
pub(crate) fn on_line(func: &Function, op: Op) -> String {
    func.ops[op].span.map_or(String::new(), |s| format!(" at line {}", s.line))
}

/// What a kernel author calls a memory.
pub(crate) fn memory_name(func: &Function, memory: Memory) -> String {
    let name = |v: ir::Value| func.values[v].name.as_deref().map(|n| format!("`%{n}`"));
    match memory {
        Memory::Space(space) => space.name().to_owned(),
        Memory::Root(v) | Memory::Slots(v) => name(v).unwrap_or_else(|| "a tile without a name".to_owned()),
        Memory::Global(v) => match v.and_then(name) {
            Some(pointer) => format!("global memory behind {pointer}"),
            None => "global memory".to_owned(),
        },
        Memory::Valid(v) => format!("the valid extents of {}", name(v).unwrap_or_else(|| "a tile".to_owned())),
        Memory::Locals => "an array or a structure".to_owned(),
    }
}
