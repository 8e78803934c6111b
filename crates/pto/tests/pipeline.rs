//! What the pipeline emits: every tensor-level program of `lower`'s tests, lowered and placed for both architectures, is
//! verified at each level and survives both text forms.

use std::path::Path;

use chip::Arch;
use diag::Diagnostic;
use ir::{FuncId, Function, FunctionKind, Program};

fn verified(program: &Program, what: &str) {
    if let Err(errors) = ir::verify::verify(program) {
        let list: Vec<String> = errors.iter().map(|d| format!("[{}] {} {:?}", d.code, d.message, d.notes)).collect();
        panic!("{what}:\n{}", list.join("\n"));
    }
}

fn accepted(errors: Vec<Diagnostic>, what: &str) -> Program {
    panic!("{what}: {errors:#?}")
}

fn through_tw(program: &Program, what: &str) {
    let text = ir::text::print(program);
    let back = ir::text::parse(&text, "again.tw").unwrap_or_else(|e| accepted(e, what));
    assert_eq!(ir::text::print(&back), text, "{what}");
}

/// Operations with their attributes and origins, without literals and control flow, which may differ.
fn outline(f: &Function) -> Vec<String> {
    let ops = f.walk().into_iter().map(|op| &f.ops[op]).filter(|op| !op.dests.is_empty() || op.results.is_empty());
    ops.filter(|op| !op.opcode.is_terminator())
        .map(|op| format!("{} {:?} {:?}", op.opcode.name(), op.attrs, op.origin))
        .collect()
}

fn through_pto(program: &Program, what: &str) {
    let kernels: Vec<FuncId> =
        program.functions.iter().filter(|(_, f)| f.kind != FunctionKind::Orchestration).map(|(id, _)| id).collect();
    let text = pto::print(program, &kernels);
    let mut back = program.clone();
    let functions = pto::parse(&text, "again.pto", &mut back.sources).unwrap_or_else(|e| panic!("{what}: {e:#?}"));
    assert_eq!(functions.len(), kernels.len(), "{what}");
    for (&id, function) in kernels.iter().zip(functions) {
        assert_eq!(outline(&function), outline(&program.functions[id]), "{what}");
        assert_eq!(function.properties, program.functions[id].properties, "{what}");
        back.functions[id] = function;
    }
    assert_eq!(pto::print(&back, &kernels), text, "{what}");
    verified(&back, &format!("{what}, read back"));
}

#[test]
fn every_level_survives() {
    let mut files = Vec::new();
    for folder in ["programs", "ops"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lower/tests").join(folder);
        files.extend(std::fs::read_dir(&folder).expect("programs").map(|e| e.expect("a file").path()));
    }
    files.retain(|path| path.extension().is_some_and(|e| e == "tw"));
    files.sort();
    assert!(files.len() >= 30, "{}", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a program");
        for arch in Arch::ALL {
            let what = format!("{} on {arch}", file.display());
            let mut program = ir::text::parse_located(&text, "program.tw").unwrap_or_else(|e| accepted(e, &what));
            if program.arch == Arch::A5 && arch != Arch::A5 {
                // It says that it needs an A5.
                continue;
            }
            program.arch = arch;
            verified(&program, &what);
            through_tw(&program, &what);
            let profile = arch.name().parse().expect("a profile");
            let options = lower::Options { profile };
            let tile = lower::lower(&program, &options).unwrap_or_else(|e| accepted(e, &what));
            verified(&tile, &what);
            through_tw(&tile, &what);
            through_pto(&tile, &what);
            let placed = assemble::place(&tile, &assemble::Options::default()).unwrap_or_else(|e| accepted(e, &what));
            verified(&placed, &what);
            through_tw(&placed, &what);
            through_pto(&placed, &what);
        }
    }
}
