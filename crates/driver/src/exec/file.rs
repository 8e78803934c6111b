//! A `.pto` file as a program.

use chip::Arch;
use diag::{SourceFile, Sources};
use ir::{Attrs, Builder, Function, FunctionKind, Opcode, Program};

use crate::compile::Failure;

/// Reads a kernel file. `arch` goes before the architecture that the text names.
///
/// # Errors
/// What is wrong with the text, with spans into it.
pub fn load(text: &str, path: &str, arch: Option<Arch>) -> Result<Program, Failure> {
    let mut own = Sources::default();
    own.add(SourceFile { path: path.to_owned(), text: Some(text.into()), first_line: 1 });
    let mut sources = Sources::default();
    let functions = pto::parse_for(text, arch, &mut sources).map_err(|errors| Failure { errors, sources: own })?;
    let named = || text.split("pto.target_arch").nth(1)?.split('"').nth(1)?.parse().ok();
    Ok(program(functions, arch.or_else(named).unwrap_or(Arch::A2a3), sources))
}

/// The functions of a kernel file as a program, whose entry is a host that launches nothing.
pub fn program(functions: Vec<Function>, arch: Arch, sources: Sources) -> Program {
    // No function of a file has a blank in its name.
    let mut host = Function::new("host orchestration", FunctionKind::Orchestration);
    Builder::new(&mut host).effect(Opcode::Return, &[&[]], Attrs::default());
    let mut all = ir::Arena::default();
    let entry = all.push(host);
    for function in functions {
        all.push(function);
    }
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions: all, entry, sources }
}
