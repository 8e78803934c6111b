//! Judges the order between pipes that `assemble::sync` puts into upstream's model kernels, where a checkout is at hand:
//! `TILEWRIGHT_UPSTREAM` names a folder with a checkout `PTOAS`; without it nothing is run, and the test says so. Then
//! breaks that order, and looks whether the checker sees it.
//!
//! `cargo test --release -p check --test sync -- --nocapture` prints the tables.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assemble::pass::Sync;
use chip::Arch;
use control::Control;
use ir::Program;

use crate::faults::Fault;
use crate::{Tally, kernels, read, try_fault};

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

/// The model kernels, or nothing and a word about it.
fn corpus() -> Vec<(String, Program)> {
    let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS/test/samples"))
    else {
        println!("not run: TILEWRIGHT_UPSTREAM does not name a folder with a checkout of PTOAS");
        return Vec::new();
    };
    let mut paths = Vec::new();
    files(&root, &mut paths);
    assert!(!paths.is_empty(), "no kernels in {}", root.display());
    let named = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a text file");
        (path.strip_prefix(&root).expect("below the folder").display().to_string(), read(&text))
    };
    paths.into_iter().map(named).collect()
}

fn synced(program: &Program, mode: Sync) -> Program {
    let mut program = program.clone();
    assemble::sync::insert(&mut program, mode, &mut Control::new(0)).unwrap_or_else(|e| panic!("{e:?}"));
    program
}

#[test]
fn model_kernels_are_proved() {
    let corpus = corpus();
    for mode in [Sync::Flags, Sync::Tokens, Sync::BarrierAll] {
        let mut count = [0; 3];
        let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
        let mut times: Vec<(Duration, &str)> = Vec::new();
        for (name, program) in &corpus {
            if mode == Sync::Tokens && program.arch != Arch::A5 {
                continue;
            }
            let program = synced(program, mode);
            let start = Instant::now();
            let verdict = check::sync::check_all(&program);
            times.push((start.elapsed(), name));
            let of = [verdict.proved(), !verdict.findings.is_empty(), true].iter().position(|&b| b).expect("the last");
            count[of] += 1;
            for d in verdict.diagnostics() {
                reasons.entry(d.message.clone()).or_insert((0, name.clone())).0 += 1;
            }
        }
        let [proved, found, unsupported] = count;
        times.sort_unstable();
        let total: Duration = times.iter().map(|t| t.0).sum();
        if let Some(last) = times.last() {
            println!("{mode:?}: {proved} proved, {found} with findings, {unsupported} unsupported");
            println!("  {total:?}, median {:?}, worst {:?} {}", times[times.len() / 2].0, last.0, last.1);
        }
        for (message, (n, first)) in &reasons {
            println!("  {n:5} {message} ({first})");
        }
        assert_eq!(found, 0, "{mode:?}");
        assert!(unsupported * 50 <= proved + unsupported, "{mode:?}: more than 2 % unsupported");
    }
}

#[test]
fn faults_in_model_kernels_are_found() {
    let mut control = Control::new(7);
    let mut tally: BTreeMap<Fault, Tally> = BTreeMap::new();
    for (_, bare) in corpus() {
        for mode in [Sync::Flags, Sync::Tokens] {
            if mode == Sync::Tokens && bare.arch != Arch::A5 {
                continue;
            }
            let program = synced(&bare, mode);
            for id in kernels(&program) {
                for fault in Fault::ALL {
                    try_fault(&program, id, fault, &mut control, &mut tally);
                }
            }
        }
    }
    for (fault, t) in &tally {
        println!("{fault:?}: {} made, {} found, {} covered by other order", t.made, t.found, t.covered);
    }
}
