//! Random valid programs through the whole pipeline: the reference, the tile level and the machine level on one and on
//! two threads, on several inputs, bit by bit.
//!
//! `GENERATE_PROGRAMS` is how many to run (or `GENERATE_SECONDS`, how long), `SEED` the first one's seed; `SHOW=1` prints the program of
//! `SEED`. A program that is refused as unsupported is counted by the code of its refusal; every other failure is
//! reduced to the lines it needs, and printed.

mod generator;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use chip::Arch;
use driver::{Checks, Expected, Options, RunOptions};
use frontend::FunctionId;
use generator::{Generated, generate};

const INPUTS: u64 = 3;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Agreed,
    /// By the code of the first error.
    Refused(&'static str),
    /// What went wrong, and the whole story.
    Failed(String, String),
}

#[test]
fn generated_programs_mean_the_same_at_every_level() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let first = number("SEED").unwrap_or(1);
    if number("SHOW").is_some() {
        eprintln!("{}", generate(first).source);
    }
    let limit =
        number("GENERATE_PROGRAMS").unwrap_or(if number("GENERATE_SECONDS").is_some() { u64::MAX } else { 400 });
    let deadline = number("GENERATE_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let mut refused: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut failures: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let (mut run, mut agreed) = (0u64, 0u64);
    for seed in first..first.saturating_add(limit) {
        if deadline.is_some_and(|d| Instant::now() > d) {
            break;
        }
        let program = generate(seed);
        for arch in Arch::ALL {
            run += 1;
            match outcome(&program, arch, seed) {
                Outcome::Agreed => agreed += 1,
                Outcome::Refused(code) => *refused.entry(code).or_default() += 1,
                Outcome::Failed(what, story) => {
                    let (count, _) = failures.entry(what.clone()).or_insert((0, seed));
                    *count += 1;
                    if *count == 1 {
                        let small = reduce(&program, arch, seed, &what);
                        let small_story = match outcome(&small, arch, seed) {
                            Outcome::Failed(_, s) => s,
                            _ => story,
                        };
                        eprintln!("seed {seed} on {arch}: {what}\n{}\n{small_story}\n", small.source);
                    }
                }
            }
        }
    }
    let refusals: u64 = refused.values().sum();
    eprintln!("{run} programs from seed {first}: {agreed} agreed at all levels, {refusals} refused {refused:?}");
    assert!(failures.is_empty(), "{} kinds of failure: {failures:#?}", failures.len());
    assert!(agreed * 4 >= run, "most programs were refused: {refused:?}");
}

/// Broken programs are refused with errors, whatever is broken; nothing panics.
#[test]
fn damaged_programs_do_not_panic() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let first = number("SEED").unwrap_or(1);
    let limit = number("GENERATE_PROGRAMS").unwrap_or(400);
    let (mut refused, mut panicked) = (0u64, Vec::new());
    for seed in first..first + limit {
        let program = generate(seed);
        for round in 0..8 {
            let damaged = program.with_source(generator::damage(&program.source, seed ^ (round << 48)));
            let compile = || {
                let (names, args) = (damaged.environment(), damaged.arg_specs());
                driver::compile(&names, FunctionId(0), &args, &Options::new(Arch::A5)).map(|_| ())
            };
            match catch_unwind(AssertUnwindSafe(compile)) {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => {
                    refused += 1;
                    // Rendering must hold, too: spans lie in the text.
                    assert!(!failure.render().is_empty());
                    if failure.errors.iter().any(|e| e.code.starts_with("internal")) {
                        panicked.push(format!("{}\n{}", damaged.source, failure.render()));
                    }
                }
                Err(_) => panicked.push(damaged.source.clone()),
            }
        }
    }
    assert!(panicked.is_empty(), "{} programs:\n{}", panicked.len(), panicked[0]);
    assert!(refused > limit, "the damage is too gentle: {refused} of {} refused", limit * 8);
}

/// Compiles and runs a program at all levels.
fn outcome(program: &Generated, arch: Arch, seed: u64) -> Outcome {
    let judged = catch_unwind(AssertUnwindSafe(|| judge(program, arch, seed)));
    judged.unwrap_or_else(|_| Outcome::Failed("panic".into(), "it panicked; see above".into()))
}

fn judge(program: &Generated, arch: Arch, seed: u64) -> Outcome {
    let options = Options::new(arch);
    let compiled = match driver::compile(&program.environment(), FunctionId(0), &program.arg_specs(), &options) {
        Ok(compiled) => compiled,
        Err(failure) => {
            let code = failure.errors.first().map_or("nothing", |e| e.code);
            return match failure.kind() {
                diag::Kind::Unsupported => Outcome::Refused(code),
                // A reduction or cast of a small tile may leave rows that do not fill 32 bytes: the machine's rule.
                _ if code == "misaligned-tile" => Outcome::Refused(code),
                kind => Outcome::Failed(format!("compile {kind:?} {code}"), failure.render()),
            };
        }
    };
    for input in 0..INPUTS {
        let args = program.args(seed.wrapping_mul(INPUTS).wrapping_add(input));
        let levels = RunOptions { threads: Some(1), seed: input, checks: Checks::LEVELS, interrupt: None };
        let expected = match Expected::new(&compiled, &args, &levels) {
            Ok(expected) => expected,
            // What was never written decides something: the program's own error, at every level.
            Err(e) if e.code.starts_with("undefined-") => return Outcome::Refused(e.code),
            Err(e) => return Outcome::Failed(format!("reference {}", e.code), diag::render(&e, compiled.sources())),
        };
        if let Err(failure) = compiled.run(&args, &levels) {
            let code = failure.errors.first().map_or("nothing", |e| e.code);
            return Outcome::Failed(format!("levels {code}"), failure.render());
        }
        let parallel = RunOptions { threads: Some(2), seed: !input, checks: Checks::NONE, interrupt: None };
        if let Err(difference) = expected.judge(&compiled, compiled.machine_level(), &parallel) {
            let story = diag::render(&difference.diagnostic, compiled.sources());
            return Outcome::Failed(format!("threads {}", difference.diagnostic.code), story);
        }
    }
    Outcome::Agreed
}

/// The program without the lines that its failure does not need.
fn reduce(program: &Generated, arch: Arch, seed: u64, what: &str) -> Generated {
    let head = program.source.find("):\n").map_or(0, |at| program.source[..at].lines().count() + 1);
    let mut lines: Vec<String> = program.source.lines().map(str::to_owned).collect();
    let text = |lines: &[String]| lines.join("\n") + "\n";
    let fails = |lines: &[String]| {
        let small = program.with_source(text(lines));
        matches!(outcome(&small, arch, seed), Outcome::Failed(found, _) if found == what)
    };
    let mut at = lines.len();
    while at > head {
        at -= 1;
        if at >= lines.len() {
            continue;
        }
        let depth = |line: &str| line.len() - line.trim_start().len();
        let end = (at + 1..lines.len()).find(|&i| depth(&lines[i]) <= depth(&lines[at])).unwrap_or(lines.len());
        let mut fewer = lines.clone();
        fewer.drain(at..end);
        if fewer.len() > head && fails(&fewer) {
            lines = fewer;
            continue;
        }
        // Or only the loop, launch or branch around it.
        if end > at + 1 {
            let mut flat = lines.clone();
            flat.remove(at);
            for line in &mut flat[at..end - 1] {
                *line = line.strip_prefix("    ").unwrap_or(line).to_owned();
            }
            if fails(&flat) {
                lines = flat;
            }
        }
    }
    program.with_source(text(&lines))
}
