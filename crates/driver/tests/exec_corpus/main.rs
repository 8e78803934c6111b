//! Runs upstream's model kernels, where a checkout is at hand, on made-up inputs, and says of each what becomes of it.
//!
//! `TILEWRIGHT_UPSTREAM` names a folder with a checkout `PTOAS`; without it nothing is run, and the test says so. A kernel
//! counts if it came to its end through nine of ten of its tile operations and an argument changed. After each of our
//! passes ([`versions`]) it must leave the same bits.
//!
//! `cargo test --release -p driver --test exec_corpus -- --nocapture` prints a table by folder and the reasons of the
//! others; `TILEWRIGHT_CORPUS=text` keeps to files whose path has the text in it, and lists every one.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

mod scheduled;
#[path = "../unplaced/mod.rs"]
mod unplaced;
#[path = "../../../assemble/tests/fusion/upstream_scheduler.rs"]
mod upstream_scheduler;
mod versions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use driver::exec::{self, Kernel, Session};
use scheduled::{Scheduled, scheduled};
use versions::{NAMES, Original, Same};

/// Kernels that must run well: of A5, and of A2/A3.
const FLOORS: [(&str, usize); 2] = [("A5", 450), ("A3", 130)];
const SEED: u64 = 1;

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

struct Found {
    folder: String,
    name: String,
    good: bool,
    /// Why it is not good; else what it did.
    what: String,
    versions: Vec<Same>,
    scheduled: Option<Scheduled>,
    time: Duration,
    again: Duration,
}

fn examine(path: &Path, root: &Path, session: &mut Session) -> Found {
    let name = path.strip_prefix(root).expect("below the folder").display().to_string();
    let folder = name.split('/').next().unwrap_or_default().to_owned();
    let text = std::fs::read_to_string(path).expect("a text file");
    let start = Instant::now();
    let (good, what, again, versions, scheduled) = one(&text, &name, session);
    Found { folder, name, good, what, versions, scheduled, time: start.elapsed(), again }
}

fn one(text: &str, name: &str, session: &mut Session) -> (bool, String, Duration, Vec<Same>, Option<Scheduled>) {
    let none = Duration::ZERO;
    let no = |what, time| (false, what, time, Vec::new(), None);
    let program = match exec::load(text, name, None) {
        Ok(program) => program,
        Err(f) => return no(format!("not read: {}", f.errors[0].message), none),
    };
    let entries = exec::entries(&program);
    let [entry] = &entries[..] else { return no(format!("{} entries", entries.len()), none) };
    let profile = driver::Options::new(program.arch).profile;
    let kernel = match Kernel::new(&program, entry, profile) {
        Ok(kernel) => kernel,
        Err(f) => return no(format!("refused: {}", f.errors[0].message), none),
    };
    let prepared = kernel.prepare_in(session, SEED);
    session.run(&kernel, &prepared.inputs);
    let start = Instant::now();
    let once_more = session.run(&kernel, &prepared.inputs);
    let again = start.elapsed();
    if !once_more.same(&prepared.outcome) {
        return no("another run gave other bits".to_owned(), again);
    }
    let o = &prepared.outcome;
    let coverage = format!("{}/{} operations", o.coverage.reached, o.coverage.total);
    let what = match (&o.trap, prepared.is_good()) {
        (Some(trap), _) => format!("{}: {} ({coverage})", trap.code, trap.message),
        (None, true) => format!("{coverage}, {} attempts", prepared.attempts),
        (None, false) if !o.changed() => format!("nothing came out ({coverage})"),
        (None, false) => format!("little of it ran ({coverage})"),
    };
    if !prepared.is_good() {
        return no(what, again);
    }
    let mut original = Original { program: &program, entry, inputs: &prepared.inputs, outcome: o, session };
    let versions = original.versions();
    let moved = if program.arch == chip::Arch::A5 { scheduled(&mut original, name) } else { None };
    (true, what, again, versions, moved)
}

#[test]
fn model_kernels_run() {
    let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS/test/samples"))
    else {
        println!("not run: TILEWRIGHT_UPSTREAM is not set");
        return;
    };
    let mut paths = Vec::new();
    kernels(&root, &mut paths);
    if paths.is_empty() {
        println!("not run: no kernels under {}", root.display());
        return;
    }
    let filter = std::env::var("TILEWRIGHT_CORPUS").ok();
    paths.retain(|p| filter.as_ref().is_none_or(|f| p.to_string_lossy().contains(f.as_str())));
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut session = Session::new();
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = examine(path, &root, &mut session);
                    found.lock().expect("no thread panicked").push(result);
                }
            });
        }
    });
    let mut found = found.into_inner().expect("no thread panicked");
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let mut folders: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for f in &found {
        let row = folders.entry(&f.folder).or_default();
        row.0 += usize::from(f.good);
        row.1 += 1;
        if filter.is_some() || !f.good {
            let mark = if f.good { "ran" } else { "NOT" };
            println!("{mark} {} [{:?}, again {:?}]: {}", f.name, f.time, f.again, f.what);
        }
    }
    println!("\nfolder: kernels, of these run (≥ 90 % of tile operations, something came out)");
    for (folder, (good, all)) in &folders {
        println!("{folder}: {all}, {good}");
    }
    let mut again: Vec<Duration> = found.iter().filter(|f| f.good).map(|f| f.again).collect();
    again.sort();
    let total: Duration = found.iter().map(|f| f.time).sum();
    println!(
        "a run again: median {:?}, longest {:?}; all searches {total:?}",
        again.get(again.len() / 2),
        again.last()
    );
    let differences = versions_table(&found);
    assert!(differences == 0, "{differences} versions of kernels do something else");
    let unseen = scheduled_table(&found);
    assert!(unseen.is_empty(), "moved by names, with other bits, and accepted: {unseen:?}");
    if filter.is_some() {
        return;
    }
    for (arch, floor) in FLOORS {
        let good = found.iter().filter(|f| f.folder.ends_with(arch) && f.good).count();
        let all = found.iter().filter(|f| f.folder.ends_with(arch)).count();
        println!("{arch}: {good} of {all}");
        assert!(good >= floor, "{good} kernels of {arch} run, not {floor}");
    }
}

/// Prints what became of versions, by architecture; how many are not the same.
fn versions_table(found: &[Found]) -> usize {
    let mut differences = 0;
    for (arch, _) in FLOORS {
        let kernels: Vec<&Found> = found.iter().filter(|f| f.folder.ends_with(arch) && f.good).collect();
        println!(
            "\n{arch}, {} kernels that run; versions: same bits, nothing to do, not a version, other",
            kernels.len()
        );
        for (n, name) in NAMES.iter().enumerate() {
            let mut count = [0; 4];
            for (kernel, same) in kernels.iter().filter_map(|f| Some((f, f.versions.get(n)?))) {
                match same {
                    Same::Yes => count[0] += 1,
                    Same::Untouched => count[1] += 1,
                    Same::Not(_) => count[2] += 1,
                    Same::No(why) => {
                        count[3] += 1;
                        println!("DIFFERENT {}, {name}: {why}", kernel.name);
                    }
                }
            }
            println!("{name:<24}{:>5}{:>5}{:>5}{:>5}", count[0], count[1], count[2], count[3]);
            differences += count[3];
        }
    }
    differences
}

/// Prints which kernels a scheduler that goes by names breaks; those of them that the checker accepts.
fn scheduled_table(found: &[Found]) -> Vec<&str> {
    let moved: Vec<(&Found, &Scheduled)> = found.iter().filter_map(|f| Some((f, f.scheduled.as_ref()?))).collect();
    let count = |wanted: &dyn Fn(&Scheduled) -> bool| moved.iter().filter(|(_, s)| wanted(s)).count();
    println!(
        "\na scheduler that goes by names changes {} kernels; wrong order {}, of these other bits {}; wrong marks only {}, \
         of these other bits where a machine goes by them {}",
        moved.len(),
        count(&|s| s.order.is_some()),
        count(&|s| s.order.is_some() && s.differs),
        count(&|s| s.order.is_none() && s.marks.is_some()),
        count(&|s| s.order.is_none() && s.marks.is_some() && s.differs_by_marks),
    );
    for (kernel, s) in &moved {
        if let Some(what) = s.order.as_ref().or(s.marks.as_ref()) {
            let bits = match (s.differs, s.differs_by_marks) {
                (true, _) => "other bits",
                (_, true) => "other bits by its marks",
                _ => "same bits",
            };
            println!("BROKEN {} ({bits}): {what}", kernel.name);
        }
    }
    let accepted = |s: &Scheduled| (s.differs && s.order.is_none()) || (s.differs_by_marks && s.marks.is_none());
    moved.iter().filter(|(_, s)| accepted(s)).map(|(f, _)| f.name.as_str()).collect()
}
