//! Core split of mixed kernels. Not here yet: a mixed scope is refused by name.

use diag::Diagnostic;
use ir::{FuncId, Program};

/// Replaces a cluster function by a cube kernel and a vector kernel, joined by FIFOs.
pub fn split(program: &mut Program, cluster: FuncId) -> Result<(FuncId, FuncId), Vec<Diagnostic>> {
    let name = &program.functions[cluster].name;
    Err(vec![Diagnostic::unsupported(
        "mixed-scope",
        format!("`{name}` mixes cube and vector work; scopes with one kind of work are supported"),
    )])
}
