//! Upstream's model kernels with order put in by `assemble::sync`, where a checkout is at hand: `TILEWRIGHT_UPSTREAM` names a
//! folder with a checkout `PTOAS`; without it nothing is run, and the test says so. Every `TILEWRIGHT_STRIDE`-th kernel is
//! run (8 if that is not set), those that `TILEWRIGHT_CORPUS` is part of the path of.
//!
//! `cargo test --release -p driver --test pipes corpus -- --nocapture` prints what was run and what differs.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use assemble::pass::Sync;
use chip::Arch;
use driver::exec::{self, Kernel, Order, Session};

use crate::{POLICIES, differences, synced};

fn kernels(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            kernels(&path, out);
        } else if path.extension().is_some_and(|e| e == "pto") && path.to_string_lossy().contains("/kernels/") {
            out.push(path);
        }
    }
}

#[derive(Default)]
struct Tally {
    kernels: usize,
    /// By mode.
    runs: [usize; 3],
    not_run: Vec<String>,
    differ: Vec<String>,
}

const MODES: [Sync; 3] = [Sync::Flags, Sync::Tokens, Sync::BarrierAll];

fn examine(path: &Path, name: &str, tally: &Mutex<Tally>) {
    let mut result = Tally::default();
    match one(path, name, &mut result) {
        Ok(()) => result.kernels = 1,
        Err(why) => result.not_run.push(format!("{name}: {why}")),
    }
    let mut all = tally.lock().expect("no thread panicked");
    all.kernels += result.kernels;
    all.runs.iter_mut().zip(result.runs).for_each(|(a, b)| *a += b);
    all.not_run.extend(result.not_run);
    all.differ.extend(result.differ);
}

fn one(path: &Path, name: &str, tally: &mut Tally) -> Result<(), String> {
    let text = std::fs::read_to_string(path).expect("a text file");
    let reason = |f: driver::Failure| f.errors[0].message.clone();
    let program = exec::load(&text, name, None).map_err(reason)?;
    let [entry] = &exec::entries(&program)[..] else { return Err("several entries".to_owned()) };
    let profile = driver::Options::new(program.arch).profile;
    let kernel = Kernel::new(&program, entry, profile).map_err(reason)?;
    let mut session = Session::new();
    let prepared = kernel.prepare_in(&mut session, 1);
    if !prepared.is_good() {
        return Err("no inputs with which it runs".to_owned());
    }
    for (n, mode) in MODES.into_iter().enumerate() {
        if mode == Sync::Tokens && program.arch != Arch::A5 {
            continue;
        }
        let ordered = synced(&program, mode);
        let kernel = Kernel::new(&ordered, entry, profile).map_err(reason)?;
        session.order = Order::Program;
        if !session.run(&kernel, &prepared.inputs).same(&prepared.outcome) {
            tally.differ.push(format!("{name}: {mode:?} in program order"));
            continue;
        }
        let found = differences(&kernel, &prepared.inputs, &prepared.outcome, &mut session, &POLICIES);
        tally.differ.extend(found.into_iter().map(|why| format!("{name}: {mode:?}: {why}")));
        tally.runs[n] += POLICIES.len();
    }
    Ok(())
}

#[test]
fn model_kernels_give_the_same_bits_in_any_order() {
    let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS/test/samples"))
    else {
        println!("not run: TILEWRIGHT_UPSTREAM is not set");
        return;
    };
    let mut paths = Vec::new();
    kernels(&root, &mut paths);
    assert!(!paths.is_empty(), "no kernels in {}", root.display());
    let filter = std::env::var("TILEWRIGHT_CORPUS").unwrap_or_default();
    let stride = std::env::var("TILEWRIGHT_STRIDE").ok().and_then(|s| s.parse().ok()).unwrap_or(8);
    let name = |p: &Path| p.strip_prefix(&root).expect("below the folder").display().to_string();
    let paths: Vec<PathBuf> = paths.into_iter().filter(|p| name(p).contains(&filter)).step_by(stride).collect();
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    examine(path, &name(path), &tally);
                }
            });
        }
    });
    let mut tally = tally.into_inner().expect("no thread panicked");
    tally.not_run.sort();
    tally.differ.sort();
    println!("{} of {} kernels, {:?}", tally.kernels, paths.len(), start.elapsed());
    for (mode, runs) in MODES.iter().zip(tally.runs) {
        println!("{mode:?}: {runs} runs");
    }
    tally.not_run.iter().for_each(|why| println!("not run: {why}"));
    tally.differ.iter().for_each(|why| println!("differs: {why}"));
    assert!(tally.differ.is_empty(), "{} runs differ", tally.differ.len());
    assert!(tally.kernels * 10 >= paths.len() * 8, "few of the kernels run");
}
