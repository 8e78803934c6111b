//! The checkers over upstream's model kernels, where a checkout is at hand: a kernel does what itself does, and its plan of
//! memory is one that works.
//!
//! `TILEWRIGHT_UPSTREAM` names a folder with a checkout `PTOAS`; without it nothing is run, and the test says so.
//! `cargo test --release -p check --test corpus -- --nocapture` prints what was found, and how long it took.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use check::Verdict;
use check::access::{Access, Kind, Memory};
use ir::{Attrs, Builder, Function, FunctionKind, Op, Opcode, Program};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "pto") && path.to_string_lossy().contains("/kernels/") {
            out.push(path);
        }
    }
}

fn read(path: &Path) -> Program {
    let text = std::fs::read_to_string(path).expect("a text file");
    let mut sources = ir::text::sources(&text, &path.display().to_string());
    let named = || text.split("pto.target_arch = \"").nth(1)?.split('"').next()?.parse().ok();
    let arch = named().unwrap_or(chip::Arch::A2a3);
    let kernels = pto::parse_for(&text, Some(arch), &mut sources).expect("a kernel that parses");
    let mut main = Function::new("host orchestration", FunctionKind::Orchestration);
    Builder::new(&mut main).effect(Opcode::Return, &[&[]], Attrs::default());
    let mut functions = ir::Arena::default();
    let entry = functions.push(main);
    for kernel in kernels {
        functions.push(kernel);
    }
    Program { name: "kernels".into(), arch, level: ir::Level::Tile, functions, entry, sources }
}

/// The model kernels, or nothing and a word.
fn kernels() -> Vec<PathBuf> {
    let Some(root) = std::env::var_os("TILEWRIGHT_UPSTREAM").map(|r| PathBuf::from(r).join("PTOAS/test/samples"))
    else {
        println!("not run: TILEWRIGHT_UPSTREAM does not name a folder with a checkout of PTOAS");
        return Vec::new();
    };
    let mut paths = Vec::new();
    files(&root, &mut paths);
    assert!(paths.len() >= 629, "{} kernels below {}", paths.len(), root.display());
    paths
}

/// Runs one checker over all of them.
fn over_all(what: &str, judge: impl Fn(&Program) -> Verdict) {
    let paths = kernels();
    if paths.is_empty() {
        return;
    }
    let mut times = Vec::new();
    let mut wrong = 0;
    for path in &paths {
        let program = read(path);
        let start = Instant::now();
        let verdict = judge(&program);
        times.push((start.elapsed(), path));
        if !verdict.proved() {
            wrong += 1;
            for d in verdict.diagnostics().iter().take(3) {
                let places: Vec<_> =
                    d.primary.iter().chain(&d.secondary).map(|l| program.sources.place(l.span)).collect();
                println!("{}: [{}] {} {places:?} {:?}", path.display(), d.code, d.message, d.notes);
            }
        }
    }
    times.sort();
    let (worst, slowest) = &times[times.len() - 1];
    let sum: std::time::Duration = times.iter().map(|(t, _)| *t).sum();
    println!(
        "{what}: {} kernels, {wrong} not proved; median {:?}, all {sum:?}, worst {worst:?} ({})",
        times.len(),
        times[times.len() / 2].0,
        slowest.display()
    );
    assert_eq!(wrong, 0, "{what}");
}

#[test]
fn a_kernel_does_what_itself_does() {
    over_all("order", |p| check::order(p, p));
}

#[test]
fn the_addresses_of_a_kernel_are_sound() {
    over_all("placement", check::placement);
}

/// The kernels with tiles that have no addresses.
fn without_addresses(program: &Program) -> Program {
    let mut out = program.clone();
    let ids: Vec<_> = out.functions.iter().filter(|(_, f)| f.is_kernel()).map(|(id, _)| id).collect();
    for id in ids {
        let func = &mut out.functions[id];
        func.properties.placed = false;
        let ops: Vec<Op> = func.ops.keys().collect();
        for op in ops {
            let data = &mut func.ops[op];
            if data.opcode == Opcode::AllocTile && data.segments[0] == 1 {
                data.operands.remove(0);
                data.segments[0] = 0;
            }
        }
    }
    out
}

/// What the passes of `assemble` make of the kernels is what they were.
#[test]
fn passes_keep_what_kernels_mean() {
    let (mut fused, mut synced, mut placed, mut refused, mut wrong) = (0, 0, 0, 0, 0);
    let mut times = std::time::Duration::ZERO;
    for path in kernels() {
        let program = read(&path);
        let mut tell = |what: &str, verdict: &Verdict| {
            wrong += usize::from(!verdict.proved());
            for d in verdict.diagnostics().iter().take(3) {
                println!("{what}: {}: [{}] {} {:?}", path.display(), d.code, d.message, d.notes);
            }
        };
        if program.arch == chip::Arch::A5 {
            let mut after = program.clone();
            assemble::fuse::fuse(&mut after, true, &mut control::Control::new(0));
            let start = Instant::now();
            tell("fuse", &check::order(&program, &after));
            times += start.elapsed();
            fused += 1;
        }
        let mut after = program.clone();
        let mut settings = assemble::pass::Settings::new(assemble::pass::Level::Three);
        settings.sync = assemble::pass::Sync::Flags;
        if assemble::pass::Pass::InsertSync.run(&mut after, &settings, &mut control::Control::new(0)).is_ok() {
            tell("sync", &check::order(&program, &after));
            synced += 1;
        }
        let bare = without_addresses(&program);
        match assemble::place(&bare, &assemble::Options::default()) {
            Ok(after) => {
                tell("place", &check::memory(&bare, &after));
                placed += 1;
            }
            Err(_) => refused += 1,
        }
    }
    println!(
        "{fused} fused ({times:?}), {synced} synced, {placed} placed anew, {refused} do not fit so; {wrong} not proved"
    );
    assert_eq!(wrong, 0);
}

/// An oracle that knows nothing of values: two neighbours that touch no common byte, or only read them, may change places;
/// of a reader and a writer of one byte, neither may pass the other.
#[test]
fn neighbours_change_places_where_they_touch_different_bytes() {
    let (mut free, mut bound) = (0, 0);
    for (i, path) in kernels().iter().enumerate() {
        let program = read(path);
        let ids: Vec<_> = program.functions.iter().filter(|(_, f)| f.is_kernel()).map(|(id, _)| id).collect();
        for id in ids {
            let func = &program.functions[id];
            let accesses = check::access::of_function(&program, id);
            let of = |op: Op| &accesses.ops.iter().find(|o| o.op == op).expect("every operation is there").accesses;
            let mut pairs = Vec::new();
            for (block, data) in func.blocks.iter() {
                // The next operation that touches something; what stands between only names values.
                let touching: Vec<usize> = (0..data.ops.len()).filter(|&i| !of(data.ops[i]).is_empty()).collect();
                for pair in touching.windows(2) {
                    let (from, to) = (pair[0], pair[1]);
                    let (first, second) = (data.ops[from], data.ops[to]);
                    let special = data.ops[from..=to].iter().any(|&op| is_special(&func.ops[op]));
                    let uses = |op: &Op| func.ops[*op].operands.iter().chain(&func.ops[*op].dests);
                    let mut used = data.ops[from + 1..=to].iter().flat_map(uses);
                    if !special && !used.any(|v| func.ops[first].results.contains(v)) {
                        pairs.push((block, from, to, first, second));
                    }
                }
            }
            // A few of each kernel.
            let step = pairs.len() / 6 + 1;
            for (block, at, to, first, second) in pairs.into_iter().skip(i % step).step_by(step) {
                let mut after = program.clone();
                after.functions[id].blocks[block].ops[at..=to].rotate_left(1);
                let meets = |x: &Access, y: &Access| x.overlaps(y);
                let both =
                    |f: &dyn Fn(&Access, &Access) -> bool| of(first).iter().any(|x| of(second).iter().any(|y| f(x, y)));
                let conflict = both(&|x, y| (x.writes() || y.writes()) && meets(x, y));
                let read = both(&|x, y| {
                    let (r, w) = if x.kind == Kind::Read { (x, y) } else { (y, x) };
                    r.kind == Kind::Read
                        && w.kind == Kind::Write
                        && meets(x, y)
                        && !matches!(w.memory, Memory::Global(_))
                });
                let verdict = check::order(&program, &after);
                let (p, q) = (func.ops[first].opcode.name(), func.ops[second].opcode.name());
                let place =
                    || format!("{}: {p} and {q} of block {block:?}, {at}: {:?}", path.display(), verdict.findings);
                // Conservative, not wrong: global memory is one thing a pointer.
                let global = both(&|x, y| {
                    matches!((x.memory, y.memory), (Memory::Global(_), Memory::Global(_))) && (x.writes() || y.writes())
                });
                if !conflict && !global {
                    free += 1;
                    assert!(verdict.proved(), "{}", place());
                }
                if read {
                    bound += 1;
                    assert!(!verdict.proved(), "{}", place());
                }
            }
        }
    }
    println!("{free} exchanges proved, {bound} refused");
}

/// Operations whose order others see.
fn is_special(op: &ir::OpData) -> bool {
    let name = op.opcode.name();
    !op.regions.is_empty()
        || ["tpush", "tpop", "tfree", "comm.", "syncall", "call", "set_", "wait_", "cmo.", "fence", "barrier", "sync."]
            .iter()
            .any(|p| name.starts_with(p))
}
