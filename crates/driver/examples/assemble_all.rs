//! Assembles kernel files in one process and prints what that takes, and what fusion and the planner make of them:
//! `cargo run --release -p driver --example assemble_all -- FILE.pto…`. `benches/ptoas.py` runs it.
//!
//! A file with addresses is assembled at level 3, another at level 2; all with flags, those for A5 with fusion. Each is
//! assembled three times, and the fastest counts.

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::time::{Duration, Instant};

use assemble::fuse::Statistics;
use assemble::pass::{Level, Settings, Sync};
use control::Control;
use driver::assemble::{Assembled, Request, assemble, read};

/// One file: all of it, its checkers' part, and whether it went to the end.
struct Measured {
    all: Duration,
    checks: Duration,
    done: Assembled,
}

fn measure(path: &str, text: &str) -> Option<Measured> {
    let start = Instant::now();
    let program = read(text, path, None).ok()?;
    let placed = program.functions.iter().any(|(_, f)| f.properties.placed);
    let mut settings = Settings::new(if placed { Level::Three } else { Level::Two });
    settings.sync = Sync::Flags;
    settings.fusion = program.arch == chip::Arch::A5;
    let done = assemble(program, &Request::new(settings));
    let all = start.elapsed();
    Some(Measured { all, checks: done.times().1, done })
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let (mut times, mut checks, mut failed) = (Vec::new(), Duration::ZERO, 0);
    let (mut fused, mut planned, mut least) = (Statistics::default(), 0u64, 0u64);
    for path in &paths {
        let Ok(text) = std::fs::read_to_string(path) else {
            println!("cannot read {path}");
            failed += 1;
            continue;
        };
        let runs: Vec<Measured> = (0..3).filter_map(|_| measure(path, &text)).collect();
        let Some(best) = runs.into_iter().min_by_key(|m| m.all) else {
            failed += 1;
            continue;
        };
        failed += usize::from(!best.done.errors.is_empty());
        times.push((best.all, path));
        checks += best.checks;
        let Some(input) = best.done.steps.first().map(|s| &s.program) else { continue };
        if input.arch == chip::Arch::A5 {
            fused.add(assemble::fuse::fuse(&mut input.clone(), true, &mut Control::new(0)));
        }
        if let Ok(plan) = assemble::plan(input, &Settings::new(Level::Two).place) {
            for function in &plan.functions {
                planned += function.spaces.iter().map(|s| s.planned).sum::<u64>();
                least += function.spaces.iter().map(|s| s.least).sum::<u64>();
            }
        }
    }
    times.sort();
    let total: Duration = times.iter().map(|(t, _)| *t).sum();
    let share = 100.0 * checks.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
    println!("{} files in one process: {:.0} ms, {share:.0} % of it checkers; {failed} failed", times.len(), ms(total));
    if let (Some((median, _)), Some((worst, path))) = (times.get(times.len() / 2), times.last()) {
        let name = path.rsplit("/samples/").next().unwrap_or(path);
        println!("a file: median {:.2} ms, worst {:.2} ms ({name})", ms(*median), ms(*worst));
    }
    if fused.groups > 0 {
        println!(
            "fusion: {} operations in {} groups, so many loops fewer: {}; {} results need not reach the scratchpad; \
             scratchpad traffic of groups {} bytes, saved {} ({:.0} %)",
            fused.ops,
            fused.groups,
            fused.ops - fused.groups,
            fused.inner,
            fused.bytes,
            fused.bytes_saved,
            100.0 * fused.bytes_saved as f64 / fused.bytes.max(1) as f64
        );
    }
    if planned > 0 {
        println!(
            "planned: {planned} bytes of all spaces; most in use at once {least} ({:.3} times)",
            planned as f64 / least.max(1) as f64
        );
    }
}
