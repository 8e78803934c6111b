//! Could the level comparison fail? Seeded faults in machine-level programs, as a bug in `lower` or `assemble` would have
//! made them; every one that changes a result must be found, at its operation.
//!
//! A mutant is *live* if on some input it fails, or leaves other bytes than the unmutated program in an element that the
//! program defines. That is decided here, by running both, not by the comparison under test. Found means that
//! [`driver::Expected::judge`] reports a difference on that input. Located means that the operation it names is the
//! one the fault was made in, or one that uses its value: the value of the faulty operation itself may be right as far
//! as it is used (a window one row too small), or may not be reported (a scalar).
//!
//! `MUTANTS` is how many are sampled per program and architecture, `SEED` the seed of the sample and of the faults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use check::mutate::{self, Fault, Mutation};
use chip::Arch;
use control::Control;
use driver::{Expected, Options, Program, RunOptions};
use dtype::{DType, Scalar};
use ir::{Dim, Op, Type};
use memory::{Arg, Buffer, View};

const INPUTS: u64 = 3;
/// A mutant may loop for ever; this ends it. Generous, as it decides nothing else.
const DEADLINE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Tally {
    made: u32,
    rejected: u32,
    dead: u32,
    live: u32,
    found: u32,
    exact: u32,
    adjacent: u32,
    downstream: u32,
    stopped: u32,
}

#[test]
fn every_live_fault_is_found_at_its_operation() {
    let per_program = setting("MUTANTS", 24);
    let seed = setting("SEED", 1);
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut escaped = Vec::new();
    let mut mislocated = Vec::new();
    for path in programs() {
        for arch in Arch::ALL {
            let name = format!("{} on {arch}", path.file_stem().expect("a name").to_string_lossy());
            let Some(program) = compile(&path, arch) else { continue };
            for (site, faults) in sample(&program, per_program, seed) {
                let mut mutant = program.machine_level().clone();
                let mutation = mutate::apply(&mut mutant, &site, faults);
                let tally = tallies.entry(mutation.what).or_default();
                tally.made += 1;
                if mutation.rejected.is_some() {
                    tally.rejected += 1;
                    continue;
                }
                let judged = judge(&program, &mutant, seed);
                if !judged.live {
                    tally.dead += 1;
                    continue;
                }
                tally.live += 1;
                let what = || format!("{name}: {}: {} ({:?})", mutation.what, mutation.description, mutation.origin);
                match judged.found {
                    None => escaped.push(what()),
                    Some(found) => {
                        tally.found += 1;
                        match place(&program, &site, &mutation, &found) {
                            Place::Exact => tally.exact += 1,
                            Place::Adjacent => tally.adjacent += 1,
                            Place::Downstream => tally.downstream += 1,
                            Place::Stopped => tally.stopped += 1,
                            Place::Elsewhere => mislocated.push(format!("{} -> {found:?}", what())),
                        }
                    }
                }
            }
        }
    }
    let table = table(&tallies);
    eprintln!("{table}");
    let live: u32 = tallies.values().map(|t| t.live).sum();
    assert!(escaped.is_empty(), "{} live faults were not found:\n{}", escaped.len(), escaped.join("\n"));
    assert!(mislocated.is_empty(), "{} faults were located elsewhere:\n{}", mislocated.len(), mislocated.join("\n"));
    assert!(live >= 200, "only {live} live faults; the sample is too small to say anything\n{table}");
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name}={v} is not a number")))
}

/// The tensor-level programs that `lower` and `assemble` test themselves with.
fn programs() -> Vec<std::path::PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    for folder in ["lower/tests/programs", "lower/tests/ops", "assemble/tests/programs"] {
        let entries = std::fs::read_dir(crates.join(folder)).expect("the folder is there");
        paths.extend(entries.map(|e| e.expect("an entry").path()).filter(|p| p.extension().is_some_and(|e| e == "tw")));
    }
    paths.sort();
    paths
}

/// `None`: it has an instruction that this architecture has not.
fn compile(path: &Path, arch: Arch) -> Option<Program> {
    let text = std::fs::read_to_string(path).expect("readable");
    let shown = path.display().to_string();
    let mut tensor = ir::text::parse_located(&text, &shown).unwrap_or_else(|e| panic!("{shown}: {e:?}"));
    tensor.arch = arch;
    if ir::verify::verify(&tensor).is_err_and(|errors| errors.iter().all(|e| e.code == "architecture")) {
        return None;
    }
    let params = driver::params_of(&tensor, &[]);
    Some(Program::from_ir(tensor, params, &Options::new(arch)).unwrap_or_else(|e| panic!("{shown}: {}", e.render())))
}

/// Sites of every kind that the program has, in turn, until there are enough.
fn sample(program: &Program, count: u64, seed: u64) -> Vec<(mutate::Site, u64)> {
    let mut control = Control::new(seed);
    let mut by_fault: BTreeMap<Fault, Vec<mutate::Site>> = BTreeMap::new();
    for site in mutate::sites(program.machine_level()) {
        by_fault.entry(site.fault).or_default().push(site);
    }
    let mut out = Vec::new();
    while out.len() < count as usize && by_fault.values().any(|v| !v.is_empty()) {
        for sites in by_fault.values_mut().filter(|v| !v.is_empty()) {
            let site = sites.swap_remove(control.choose(sites.len()));
            out.push((site, control.choose(1 << 20) as u64));
        }
    }
    out.truncate(count as usize);
    out
}

#[derive(Debug)]
struct Found {
    op: Option<Op>,
    code: &'static str,
    has_place: bool,
    message: String,
}

struct Judged {
    live: bool,
    found: Option<Found>,
}

/// Runs mutant and program on several inputs.
fn judge(program: &Program, mutant: &ir::Program, seed: u64) -> Judged {
    let mut judged = Judged { live: false, found: None };
    for input in 0..INPUTS {
        let args = arguments(program, seed * INPUTS + input);
        let expected = Expected::new(program, &args, &RunOptions::default())
            .unwrap_or_else(|e| panic!("the reference fails: {e:?}"));
        let right = expected
            .judge(program, program.machine_level(), &RunOptions { threads: Some(1), ..RunOptions::default() })
            .unwrap_or_else(|d| panic!("a difference without a fault: {:?}", d.diagnostic));
        let outcome = with_deadline(|interrupt| {
            let options = RunOptions { threads: Some(1), interrupt: Some(interrupt), ..RunOptions::default() };
            // Unjudged: what the mutant leaves in the arguments, or nothing if it fails.
            let left = args.iter().map(copy).collect::<Vec<_>>();
            let ran = runtime::Compiled::new(mutant, program.options().profile)
                .map_err(|_| ())
                .and_then(|c| {
                    let options =
                        runtime::Options { threads: 1, interrupt: options.interrupt.clone(), ..Default::default() };
                    c.run(&left, &options).map_err(|_| ())
                })
                .is_ok();
            let live = !ran || differs(&expected, &right, &left);
            (live, expected.judge(program, mutant, &options).err())
        });
        let (live, difference) = outcome;
        judged.live |= live;
        if judged.found.is_none() && live {
            judged.found = difference.map(|d| Found {
                op: d.op,
                code: d.diagnostic.code,
                has_place: d.diagnostic.primary.is_some(),
                message: d.diagnostic.message,
            });
        }
        if judged.live && judged.found.is_some() {
            break;
        }
    }
    judged
}

fn with_deadline<R>(body: impl FnOnce(Arc<AtomicBool>) -> R) -> R {
    let interrupt = Arc::new(AtomicBool::new(false));
    let (done, waiting) = mpsc::channel::<()>();
    let flag = Arc::clone(&interrupt);
    let watch = std::thread::spawn(move || {
        if waiting.recv_timeout(DEADLINE).is_err_and(|e| e == mpsc::RecvTimeoutError::Timeout) {
            flag.store(true, Ordering::Relaxed);
        }
    });
    let result = body(interrupt);
    drop(done);
    watch.join().expect("the watch does not panic");
    result
}

fn differs(expected: &Expected, right: &[Arg], left: &[Arg]) -> bool {
    right.iter().zip(left).enumerate().any(|(i, (a, b))| {
        let (Some(a), Some(b)) = (a.tensor(), b.tensor()) else { return false };
        let size = a.dtype.size();
        let (a, b) = (a.to_vec().expect("in bounds"), b.to_vec().expect("in bounds"));
        let mut elements = a.chunks(size).zip(b.chunks(size)).enumerate();
        elements.any(|(e, (x, y))| x != y && expected.defined(i).is_none_or(|d| d[e] != 0))
    })
}

enum Place {
    Exact,
    /// An operation that uses the value directly, or the first one wrong inside the loop or scope that is.
    Adjacent,
    /// One further on.
    Downstream,
    /// The machine stopped with an error, or did not stop until it was told to.
    Stopped,
    Elsewhere,
}

fn place(program: &Program, site: &mutate::Site, mutation: &Mutation, found: &Found) -> Place {
    let Some(op) = found.op else {
        let stopped = found.has_place || found.message.contains("fails") || found.code == "interrupted";
        return if stopped { Place::Stopped } else { Place::Elsewhere };
    };
    // A fault in code that no operation of the user's stands for: the queue between the cores, a loop made by tiling.
    let Some(origin) = mutation.origin else { return Place::Downstream };
    if origin == op {
        return Place::Exact;
    }
    // The tile whose bytes another one took is the one that goes wrong.
    let victim = match site.partner {
        Some(mutate::Partner::Op(op)) => program.machine_level().functions[site.function].ops[op].origin.map(|o| o.op),
        _ => None,
    };
    let after_barrier = site.fault == Fault::DroppedSync && follows(program, origin, op);
    let causes = std::iter::once(origin).chain(victim);
    if causes.clone().any(|cause| adjacent(program, cause, op)) {
        Place::Adjacent
    } else if after_barrier || causes.into_iter().any(|cause| downstream(program, cause).contains(&op)) {
        Place::Downstream
    } else {
        Place::Elsewhere
    }
}

/// Does `op` come after `barrier`? What a missing `syncall` leaves unordered does.
fn follows(program: &Program, barrier: Op, op: Op) -> bool {
    let tensor = program.tensor_level();
    let order = tensor.functions[tensor.entry].walk();
    order.iter().skip_while(|&&o| o != barrier).any(|&o| o == op)
}

/// Does `op` have an operand that `origin` makes, or is it inside a region of `origin`?
fn adjacent(program: &Program, origin: Op, op: Op) -> bool {
    let tensor = program.tensor_level();
    let f = &tensor.functions[tensor.entry];
    let (cause, effect) = (&f.ops[origin], &f.ops[op]);
    let made = |v: &ir::Value| cause.results.contains(v) || cause.dests.contains(v);
    effect.operands.iter().chain(&effect.dests).any(made) || f.blocks[effect.block].parent == Some(origin)
}

/// Operations of the entry that use the value of `origin`: through SSA, regions, tiles changed in place, and tensors.
fn downstream(program: &Program, origin: Op) -> BTreeSet<Op> {
    let tensor = program.tensor_level();
    let f = &tensor.functions[tensor.entry];
    let mut reached: BTreeSet<Op> = BTreeSet::from([origin]);
    let mut values: BTreeSet<ir::Value> = BTreeSet::new();
    loop {
        let before = (reached.len(), values.len());
        for op in f.walk() {
            let data = &f.ops[op];
            let parent = f.blocks[data.block].parent;
            let uses = data.operands.iter().chain(&data.dests).any(|v| values.contains(v));
            if uses
                || reached.contains(&op)
                || parent.is_some_and(|p| reached.contains(&p) && !data.opcode.is_terminator())
            {
                reached.insert(op);
                values.extend(data.results.iter().chain(&data.dests));
                // A tile that is changed in place is changed for every name: for what a loop was given, too.
                for dest in &data.dests {
                    if let ir::Def::Arg(block, _) = f.values[*dest].def
                        && let Some(region) = f.blocks[block].parent
                    {
                        values.extend(f.ops[region].operands.iter().filter(|&&v| matches!(f.ty(v), Type::Tile(_))));
                    }
                }
                // A tensor that is written carries the value on.
                if matches!(
                    data.opcode,
                    ir::Opcode::Store | ir::Opcode::Scatter | ir::Opcode::Write | ir::Opcode::ArraySet
                ) {
                    values.extend(
                        data.operands.iter().filter(|&&v| matches!(f.ty(v), Type::Tensor(_) | Type::Array { .. })),
                    );
                }
                if data.opcode.is_terminator()
                    && let Some(parent) = parent
                {
                    values.extend(&f.ops[parent].results);
                    for &region in &f.ops[parent].regions {
                        values.extend(&f.blocks[region].args);
                    }
                }
            }
        }
        if before == (reached.len(), values.len()) {
            return reached;
        }
    }
}

fn copy(arg: &Arg) -> Arg {
    match arg {
        Arg::Scalar(s) => Arg::Scalar(*s),
        Arg::Tensor(view) => {
            let bytes = view.to_vec().expect("in bounds");
            let shape: Vec<u64> = view.shape.iter().copied().collect();
            Arg::Tensor(View::new(Buffer::from_bytes(&bytes), view.dtype, &shape).expect("a whole buffer"))
        }
    }
}

/// What a dynamic extent of a parameter is.
const DYNAMIC: u64 = 40;

fn arguments(program: &Program, seed: u64) -> Vec<Arg> {
    let tensor = program.tensor_level();
    let entry = &tensor.functions[tensor.entry];
    let mut control = Control::new(seed);
    // Small values, values that the narrow types of a chain of casts cannot hold, and values that round to them.
    let scale = [1.0, 100.0, 60.0][(seed % INPUTS) as usize];
    let mut element = |d: DType| {
        let n = control.choose(4001) as f64 / 1000.0 - 2.0;
        if d.is_float() { Scalar::from_f64(d, n * scale) } else { Scalar::from_i64(d, (n * 2.0) as i64) }
    };
    let args = entry.param_values().iter().map(|&p| match entry.ty(p) {
        Type::Tensor(t) => {
            let shape: Vec<u64> = t
                .shape
                .iter()
                .map(|d| match d {
                    Dim::Static(n) => *n,
                    Dim::Dynamic => DYNAMIC,
                })
                .collect();
            let count = shape.iter().product::<u64>();
            let bytes: Vec<u8> =
                (0..count).flat_map(|_| element(t.dtype).bits.to_le_bytes()[..t.dtype.size()].to_vec()).collect();
            Arg::Tensor(View::new(Buffer::from_bytes(&bytes), t.dtype, &shape).expect("a whole buffer"))
        }
        Type::Scalar(d) if d.is_float() => Arg::Scalar(Scalar::from_f64(*d, 0.75)),
        Type::Scalar(d) => Arg::Scalar(Scalar::from_i64(*d, 5)),
        other => panic!("a parameter of type {other}"),
    });
    args.collect()
}

fn table(tallies: &BTreeMap<&str, Tally>) -> String {
    let mut out = format!(
        "{:<22}{:>6}{:>10}{:>6}{:>6}{:>7}{:>7}{:>9}{:>12}{:>9}\n",
        "fault", "made", "rejected", "dead", "live", "found", "exact", "adjacent", "downstream", "stopped"
    );
    let mut total = Tally::default();
    let line = |name: &str, t: &Tally| {
        format!(
            "{name:<22}{:>6}{:>10}{:>6}{:>6}{:>7}{:>7}{:>9}{:>12}{:>9}\n",
            t.made, t.rejected, t.dead, t.live, t.found, t.exact, t.adjacent, t.downstream, t.stopped
        )
    };
    for (name, t) in tallies {
        out += &line(name, t);
        total.made += t.made;
        total.rejected += t.rejected;
        total.dead += t.dead;
        total.live += t.live;
        total.found += t.found;
        total.exact += t.exact;
        total.adjacent += t.adjacent;
        total.downstream += t.downstream;
        total.stopped += t.stopped;
    }
    out + &line("total", &total)
}
