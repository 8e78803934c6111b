//! Diagnostics as data: spans, structured errors, and the one renderer that turns them into text.
//!
//! Passes, checkers and the front end return [`Diagnostic`] values; nothing formats its own message for the user's
//! terminal. [`render`] is called at the edges (command line, Python) only; [`mlir::render`] is the same for who reads
//! what an MLIR tool writes.

pub mod mlir;
mod render;
mod source;

pub use render::render;
pub use source::{FileId, SourceFile, Sources, Span};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// What kind of ending a diagnostic means for a command (exit codes of the command line).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The program or its call is wrong: a script that meets it fails (exit 1).
    Invalid,
    /// The input is legal but not supported here; the message names what is (exit 4).
    Unsupported,
    /// A check found something (exit 3).
    Finding,
}

/// A place in the user's source and what to say about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// One error, warning or note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    pub kind: Kind,
    /// A stable name for the rule, in kebab case (`dtype-mismatch`); tests and documentation refer to it.
    pub code: &'static str,
    pub message: String,
    /// The operation it is about, as the op table calls it.
    pub op: Option<&'static str>,
    /// The place where it happened, if it has one.
    pub primary: Option<Label>,
    /// Other places that explain it (an earlier definition, the other operation of a pair, the call site).
    pub secondary: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            kind: Kind::Invalid,
            code,
            message: message.into(),
            op: None,
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    pub fn unsupported(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { kind: Kind::Unsupported, ..Diagnostic::error(code, message) }
    }

    pub fn finding(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { kind: Kind::Finding, ..Diagnostic::error(code, message) }
    }

    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// The same, about one operation.
    pub fn about(mut self, op: &'static str) -> Diagnostic {
        self.op = Some(op);
        self
    }

    pub fn at(mut self, span: Option<Span>, text: impl Into<String>) -> Diagnostic {
        self.primary = span.map(|span| Label { span, text: text.into() });
        self
    }

    pub fn also(mut self, span: Option<Span>, text: impl Into<String>) -> Diagnostic {
        if let Some(span) = span {
            self.secondary.push(Label { span, text: text.into() });
        }
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }
}
