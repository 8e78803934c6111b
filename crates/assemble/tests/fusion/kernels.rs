//! `.pto` files as programs.

use std::path::{Path, PathBuf};

use chip::Arch;
use diag::{Diagnostic, Sources};
use ir::{Function, FunctionKind, Opcode, Program};

/// A state update in the shape of the published failure.
pub(crate) const STATE_UPDATE: &str = include_str!("../../../../tests/fusion/state_update.pto");

/// A text that is right.
pub(crate) fn program(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    ir::verify::verify(&program).unwrap_or_else(|e| panic!("{e:#?}\n{text}"));
    program
}

/// The functions of a `.pto` text as a program without orchestration.
pub(crate) fn parse(text: &str) -> Result<Program, Vec<Diagnostic>> {
    let mut sources = Sources::default();
    let kernels = pto::parse(text, "kernel.pto", &mut sources)?;
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    ir::Builder::new(&mut main).effect(Opcode::Return, &[&[]], ir::Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    let arch = if text.contains("pto.target_arch = \"a5\"") { Arch::A5 } else { Arch::A2a3 };
    Ok(Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources })
}

pub(crate) fn text(program: &Program) -> String {
    let ids: Vec<_> = program.functions.keys().filter(|id| *id != program.entry).collect();
    pto::print(program, &ids)
}

/// Upstream's model kernels for A5, by their path; `None` without a checkout.
pub(crate) fn corpus() -> Option<Vec<(String, Program)>> {
    let root = PathBuf::from(std::env::var_os("TILEWRIGHT_UPSTREAM")?).join("PTOAS/test/samples");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let mut corpus = Vec::new();
    for path in paths.iter().filter(|p| p.components().any(|c| c.as_os_str() == "kernels")) {
        let text = std::fs::read_to_string(path).expect("a text file");
        if text.contains("pto.target_arch = \"a5\"") {
            let name = path.strip_prefix(&root).expect("below the folder").display().to_string();
            let program = parse(&text).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
            corpus.push((name, program));
        }
    }
    (!corpus.is_empty()).then_some(corpus)
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "pto") {
            out.push(path);
        }
    }
}
