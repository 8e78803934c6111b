//! What goes wrong at run time. An instruction fails with a [`Problem`]; the interpreter loop knows which operation it was
//! and turns it into a diagnostic at the user's line.

use diag::{Diagnostic, Kind, Span};
use isa::Fault;
use memory::MemoryError;

/// A failure without its place. Boxed: failing is rare, and results travel through every instruction.
pub(crate) type Fail = Box<Problem>;

pub(crate) type Result<T> = std::result::Result<T, Fail>;

#[derive(Debug)]
pub(crate) struct Problem {
    kind: Kind,
    code: &'static str,
    message: String,
    label: String,
}

impl Problem {
    /// The program did something that has no meaning (exit code 1).
    pub(crate) fn error(code: &'static str, message: String) -> Fail {
        Box::new(Problem { kind: Kind::Invalid, code, message, label: "here".to_owned() })
    }

    pub(crate) fn unsupported(code: &'static str, message: String) -> Fail {
        Box::new(Problem { kind: Kind::Unsupported, code, message, label: "here".to_owned() })
    }

    /// Undefined data decided something (semantics rule 2).
    pub(crate) fn undefined(code: &'static str, message: String) -> Fail {
        Box::new(Problem { kind: Kind::Finding, code, message, label: "decided by undefined data".to_owned() })
    }

    pub(crate) fn at(self, span: Option<Span>) -> Diagnostic {
        let base = match self.kind {
            Kind::Invalid => Diagnostic::error(self.code, self.message),
            Kind::Unsupported => Diagnostic::unsupported(self.code, self.message),
            Kind::Finding => Diagnostic::finding(self.code, self.message),
        };
        base.at(span, self.label)
    }
}

impl From<Fault> for Fail {
    fn from(fault: Fault) -> Fail {
        match fault {
            Fault::Memory(e) => e.into(),
            Fault::Index { .. } => Problem::error("out-of-bounds", fault.to_string()),
            Fault::DType { .. } | Fault::Unsupported { .. } => {
                Problem::unsupported("unsupported-instruction", fault.to_string())
            }
            _ => Problem::error("instruction-fault", fault.to_string()),
        }
    }
}

impl From<MemoryError> for Fail {
    fn from(e: MemoryError) -> Fail {
        let code = match e {
            MemoryError::OutOfBounds { .. } => "out-of-bounds",
            MemoryError::ReadOnly => "read-only",
            _ => "memory-access",
        };
        Problem::error(code, e.to_string())
    }
}
