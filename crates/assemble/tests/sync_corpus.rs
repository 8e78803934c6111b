//! Orders the pipes of upstream's model kernels, where a checkout is at hand: `TILEWRIGHT_UPSTREAM` names a folder with a
//! checkout `PTOAS`; without it nothing is run, and the test says so. In each mode that the machine has, every kernel
//! takes the pass, and what comes out prints, reads back as it was, passes the verifier, and is judged by `check::sync`.
//!
//! `cargo test --release -p assemble --test sync_corpus -- --nocapture` prints what was inserted, and how long it took.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assemble::pass::Sync;
use assemble::sync::{Report, insert};
use chip::Arch;
use control::Control;
use diag::Sources;
use ir::{Function, FunctionKind, Opcode, Program};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "pto") && path.display().to_string().contains("/kernels/") {
            out.push(path);
        }
    }
}

fn program(kernels: Vec<Function>, sources: Sources, arch: Arch) -> Program {
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    ir::Builder::new(&mut main).effect(Opcode::Return, &[&[]], ir::Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

fn print(program: &Program) -> String {
    let ids: Vec<_> = program.functions.keys().filter(|id| *id != program.entry).collect();
    pto::print(program, &ids)
}

fn read(text: &str) -> Program {
    let arch = if text.contains("pto.target_arch = \"a5\"") { Arch::A5 } else { Arch::A2a3 };
    let mut sources = Sources::default();
    let kernels = pto::parse_for(text, Some(arch), &mut sources).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    program(kernels, sources, arch)
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Files that the checker may leave undecided.
const UNDECIDED: usize = 14;

#[test]
fn model_kernels_are_synced() {
    let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS")) else {
        println!("not run: TILEWRIGHT_UPSTREAM does not name a folder with a checkout of PTOAS");
        return;
    };
    let mut paths = Vec::new();
    files(&root.join("test/samples"), &mut paths);
    assert!(!paths.is_empty(), "no kernels in {}", root.display());
    for mode in [Sync::Flags, Sync::Tokens, Sync::BarrierAll] {
        let mut reports: Vec<Report> = Vec::new();
        let mut times: Vec<(Duration, String)> = Vec::new();
        let mut kernels = 0;
        let mut undecided: Vec<String> = Vec::new();
        for path in &paths {
            let text = std::fs::read_to_string(path).expect("a text file");
            let mut program = read(&text);
            if mode == Sync::Tokens && program.arch != Arch::A5 {
                continue;
            }
            kernels += 1;
            // The least of some: other processes run here too.
            let mut least = Duration::MAX;
            for _ in 0..3 {
                let mut copy = program.clone();
                let start = Instant::now();
                insert(&mut copy, mode, &mut Control::new(0)).unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
                least = least.min(start.elapsed());
            }
            times.push((least, path.display().to_string()));
            let made = insert(&mut program, mode, &mut Control::new(0)).unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
            reports.extend(made.iter().map(|(_, report)| *report));
            ir::verify::verify(&program).unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
            let verdict = check::sync::check_all(&program);
            assert!(verdict.findings.is_empty(), "{path:?}: {:#?}", verdict.findings);
            undecided.extend(verdict.unsupported.first().map(|d| format!("{}: {}", path.display(), d.message)));
            let text = print(&program);
            let again = read(&text);
            ir::verify::verify(&again).unwrap_or_else(|e| panic!("{path:?}: {e:?}"));
            assert_eq!(print(&again), text, "{path:?} reads back as it was printed");
        }
        println!("{mode:?}: {kernels} files, {} functions, {} files proved", reports.len(), kernels - undecided.len());
        undecided.iter().for_each(|reason| println!("  undecided: {reason}"));
        assert!(undecided.len() <= UNDECIDED, "files that cannot be judged");
        let total = |f: fn(&Report) -> usize| reports.iter().map(f).sum::<usize>();
        let middle = |f: fn(&Report) -> usize| median(reports.iter().map(f).collect());
        println!("  hazards   {:6}, median {}", total(|r| r.hazards), middle(|r| r.hazards));
        println!("  sets      {:6}, median {}", total(|r| r.sets), middle(|r| r.sets));
        println!("  barriers  {:6}, median {}", total(|r| r.barriers), middle(|r| r.barriers));
        println!("  time      median {:?}", median(times.iter().map(|t| t.0).collect()));
        times.sort();
        for (time, path) in times.iter().rev().take(4) {
            println!("            {time:?} {path}");
        }
    }
}
