//! Kernels from text, for tests.

use diag::Sources;
use ir::{Attrs, Builder, FuncId, Function, FunctionKind, Opcode, Program};

/// A vector kernel of pointers `%arg0` to `%arg2` with this body.
pub(crate) fn program(body: &str) -> Program {
    program_of(&kernel_text(body))
}

pub(crate) fn kernel_text(body: &str) -> String {
    format!(
        "module attributes {{pto.target_arch = \"a5\"}} {{
         func.func @k(%arg0: !pto.ptr<f32>, %arg1: !pto.ptr<f32>, %arg2: !pto.ptr<i32>) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>, pto.entry}} {{
         {body}
         return
         }}
         }}"
    )
}

/// The functions of a text, verified.
pub(crate) fn program_of(text: &str) -> Program {
    let program = unverified(text);
    if let Err(errors) = ir::verify::verify(&program) {
        panic!("{text}\n{:?}", errors.iter().map(|d| (&d.code, &d.message)).collect::<Vec<_>>());
    }
    program
}

/// The functions of a text, as they are.
pub(crate) fn unverified(text: &str) -> Program {
    let mut sources = ir::text::sources(text, "k.pto");
    let functions = pto::parse(text, "k.pto", &mut sources)
        .unwrap_or_else(|e| panic!("{text}\n{:?}", e.iter().map(|d| (&d.code, &d.message)).collect::<Vec<_>>()));
    host(functions, sources, if text.contains("\"a3\"") { chip::Arch::A2a3 } else { chip::Arch::A5 })
}

fn host(kernels: Vec<Function>, sources: Sources, arch: chip::Arch) -> Program {
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    Builder::new(&mut main).effect(Opcode::Return, &[&[]], Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

/// The first kernel.
pub(crate) fn kernel(program: &Program) -> FuncId {
    program.functions.iter().map(|(id, _)| id).find(|&id| id != program.entry).expect("a kernel")
}
