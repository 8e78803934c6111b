//! Assembles upstream's files of level 2, where a checkout is at hand: `TILEWRIGHT_UPSTREAM` names a folder with a checkout
//! `PTOAS`; without it nothing is run, and the test says so. Of each file that the parser and the verifier accept and that
//! has tiles without addresses: every pass of level 2 succeeds, and what comes out passes the verifier, prints and reads
//! back. The model kernels, of level 3, take the passes of theirs.
//!
//! `cargo test --release -p assemble --test plan_corpus -- --nocapture` prints counts, reasons of refusals, and planned
//! bytes against the most that are in use at once.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assemble::pass::{Level, Settings, passes};
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
        } else if path.extension().is_some_and(|e| e == "pto") {
            out.push(path);
        }
    }
}

fn host(kernels: Vec<Function>, sources: Sources, arch: Arch) -> Program {
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

#[derive(Default)]
struct Tally {
    /// Files that neither parser nor verifier refuses.
    read: usize,
    /// The others, by who refuses them: the parser, the verifier, or the rules of the level (files for another level).
    others: BTreeMap<&'static str, usize>,
    done: usize,
    refused: BTreeMap<&'static str, Vec<String>>,
    planned: u64,
    least: u64,
    slowest: Duration,
}

impl Tally {
    fn file(&mut self, name: &str, text: &str, arch: Arch, wanted: Level) {
        let mut sources = Sources::default();
        let Ok(kernels) = pto::parse_for(text, Some(arch), &mut sources) else {
            return *self.others.entry("parser").or_default() += 1;
        };
        let mut program = host(kernels, sources, arch);
        let settings = Settings::new(wanted);
        if ir::verify::assembler(&program).is_err() {
            return *self.others.entry("verifier").or_default() += 1;
        }
        if assemble::level_rules(&program, &settings).is_err() {
            return *self.others.entry("level").or_default() += 1;
        }
        self.read += 1;
        let before = program.clone();
        for backend_forms in [false, true] {
            program = before.clone();
            let settings = Settings { backend_forms, ..settings };
            for pass in passes(&settings) {
                let start = Instant::now();
                if let Err(errors) = pass.run(&mut program, &settings, &mut Control::new(0)) {
                    let message = format!("{name}: {}: {}", pass.name(), errors[0].message);
                    self.refused.entry(errors[0].code).or_default().push(message);
                    return;
                }
                self.slowest = self.slowest.max(start.elapsed());
                if let Err(errors) = ir::verify::assembler(&program) {
                    let message = format!("{name}: after {}: {:?}", pass.name(), errors[0]);
                    self.refused.entry("not verified").or_default().push(message);
                    return;
                }
            }
            let text = print(&program);
            let again = pto::parse_for(&text, Some(arch), &mut Sources::default());
            let again = again.map(|k| print(&host(k, Sources::default(), arch)));
            if again.as_ref() != Ok(&text) {
                let message = format!("{name}: {:?}", again.err().and_then(|e| e.first().map(|e| e.message.clone())));
                self.refused.entry("does not read back").or_default().push(message);
                return;
            }
        }
        self.done += 1;
        if let Ok(plan) = assemble::plan(&before, &settings.place) {
            for used in plan.functions.iter().flat_map(|f| &f.spaces) {
                self.planned += used.planned;
                self.least += used.least;
            }
        }
    }
}

#[test]
fn upstream_files_are_assembled() {
    let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS")) else {
        println!("not run: TILEWRIGHT_UPSTREAM does not name a folder with a checkout of PTOAS");
        return;
    };
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for folder in ["test/samples", "test/lit/pto", "test/lit/tile_fusion"] {
        let mut paths = Vec::new();
        files(&root.join(folder), &mut paths);
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("a text file");
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            let runs: Vec<&str> = text.lines().filter(|l| l.contains("RUN:")).collect();
            // Files that are to be refused, or are several.
            if text.contains("//--- ")
                || name.contains("invalid")
                || runs.iter().any(|l| l.split_whitespace().any(|w| w == "not"))
            {
                continue;
            }
            let kernel = name.contains("/kernels/");
            let named = text.split("pto.target_arch = \"").nth(1).and_then(|t| t.split('"').next());
            let flag = runs.iter().find_map(|l| l.split("--pto-arch=").nth(1)?.split_whitespace().next());
            let arch = flag.or(named).and_then(|a| a.parse().ok()).unwrap_or(Arch::A2a3);
            let (tally, level) = match (kernel, folder) {
                (true, _) => ("model kernels", Level::Three),
                (_, "test/samples") => ("samples", Level::Two),
                _ => ("lit", Level::Two),
            };
            tallies.entry(tally).or_default().file(&name, &text, arch, level);
        }
    }
    for (name, tally) in &tallies {
        let (planned, least) = (tally.planned, tally.least);
        println!(
            "{name}: {} of {} assembled, refused before {:?}; {planned} bytes planned, {least} in use at once; slowest pass {:?}",
            tally.done, tally.read, tally.others, tally.slowest
        );
        for (code, messages) in &tally.refused {
            println!("  {code}: {}", messages.len());
            for message in messages.iter().take(6) {
                println!("    {}", message.lines().next().unwrap_or_default());
            }
        }
    }
    let done = |name: &str| tallies.get(name).map_or(0, |t| t.done);
    assert_eq!(done("model kernels"), 629);
    assert!(done("samples") >= 82 && done("lit") >= 450, "fewer files than before are assembled");
}
