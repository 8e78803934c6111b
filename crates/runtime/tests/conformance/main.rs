//! Random programs of tasks against their meaning and against brute force, with both kinds of edges.
//!
//! * Values: with sound edges, those of running one statement after the other, on every number of threads and seed. With
//!   upstream's edges too, if these order every conflicting pair.
//! * Edges: sound ones are conflicts or explicit, and order every conflict. Upstream's are exactly those of the reference.
//! * The race check finds something exactly if a conflicting pair is ordered neither by what the program declares nor by
//!   what the orchestration waits for.
//!
//! `PROGRAMS` is how many, `SEED` the first one's seed; `SHOW=1` prints the first.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

mod oracle;
mod program;

use std::collections::BTreeSet;

use dtype::{DType, Profile};
use memory::{Arg, Buffer, Returned, View};
use runtime::{Compiled, Deps, Options, Report};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

#[derive(Default, Debug)]
struct Seen {
    programs: u64,
    tasks: u64,
    declared_races: u64,
    upstream_races: u64,
    clean_upstream: u64,
}

/// A run with every access recorded, and what is in memory after it.
fn run(compiled: &Compiled, options: &Options) -> (Report, Vec<Vec<u8>>) {
    let shape = [program::ROWS, program::COLS];
    let params: Vec<View> =
        oracle::initial().iter().map(|m| View::new(Buffer::from_bytes(m), DType::I32, &shape).unwrap()).collect();
    let args: Vec<Arg> = params.iter().cloned().map(Arg::Tensor).collect();
    let report = compiled.run(&args, options).unwrap_or_else(|e| panic!("{e:#?}"));
    let created = report.returned.iter().map(|r| match r {
        Returned::Tensor(view) => view.to_vec().unwrap(),
        Returned::Param(i) => panic!("parameter {i} was returned"),
    });
    let memory = params.iter().map(|v| v.to_vec().unwrap()).chain(created).collect();
    (report, memory)
}

fn pairs(edges: &[trace::Edge]) -> BTreeSet<(u32, u32)> {
    edges.iter().map(|e| (e.from, e.to)).collect()
}

fn one(seed: u64, seen: &mut Seen) {
    let program = program::generate(seed);
    let text = program.text();
    let parsed = ir::text::parse_located(&text, "p.tw").unwrap_or_else(|e| panic!("seed {seed}: {e:#?}\n{text}"));
    let compiled = Compiled::new(&parsed, Profile::A2a3).unwrap_or_else(|e| panic!("seed {seed}: {e:#?}"));
    let meaning = oracle::run(&program);
    let conflicts = meaning.conflicts();
    let options = |deps| Options {
        threads: 1 + (seed % 5) as usize,
        seed: if seed.is_multiple_of(3) { 0 } else { seed },
        accesses: true,
        deps,
        ..Options::default()
    };
    seen.programs += 1;
    seen.tasks += meaning.ran.len() as u64;

    let (report, memory) = run(&compiled, &options(Deps::Sound));
    assert_eq!(memory, meaning.memory, "seed {seed}: values\n{text}");
    let edges = pairs(&report.edges);
    let known: BTreeSet<_> = conflicts.union(&meaning.explicit).copied().collect();
    assert!(edges.is_subset(&known), "seed {seed}: invented {:?}\n{text}", edges.difference(&known));
    assert!(meaning.explicit.is_subset(&edges), "seed {seed}: deps\n{text}");
    let lost = meaning.unordered(&conflicts, &[&edges]);
    assert!(lost.is_empty(), "seed {seed}: lost {lost:?}\n{text}");
    let tracked = meaning.tracked_conflicts();
    let races = meaning.unordered(&conflicts, &[&meaning.explicit, &tracked, &meaning.waited]);
    let verdict = check::races::check(&parsed, &report.into_record());
    assert_eq!(verdict.findings.is_empty(), races.is_empty(), "seed {seed}: {races:?} {:?}\n{text}", verdict.findings);
    seen.declared_races += u64::from(!races.is_empty());

    let races = meaning.unordered(&conflicts, &[&meaning.upstream, &meaning.waited]);
    if meaning.decides && !races.is_empty() {
        // Which tasks there are depends on the schedule.
        return;
    }
    let (report, memory) = run(&compiled, &options(Deps::Upstream));
    assert_eq!(pairs(&report.edges), meaning.upstream, "seed {seed}: upstream's edges\n{text}");
    assert_eq!(pairs(&report.declared), meaning.upstream, "seed {seed}: upstream's declared edges\n{text}");
    if races.is_empty() {
        seen.clean_upstream += 1;
        assert_eq!(memory, meaning.memory, "seed {seed}: values with upstream's edges\n{text}");
    } else {
        seen.upstream_races += 1;
    }
    let verdict = check::races::check(&parsed, &report.into_record());
    assert_eq!(verdict.findings.is_empty(), races.is_empty(), "seed {seed}: {races:?} {:?}\n{text}", verdict.findings);
}

#[test]
fn random_programs_mean_what_they_say() {
    let first = number("SEED").unwrap_or(1);
    let programs = number("PROGRAMS").unwrap_or(500);
    if number("SHOW").is_some() {
        println!("{}", program::generate(first).text());
    }
    let mut seen = Seen::default();
    for seed in first..first + programs {
        one(seed, &mut seen);
    }
    println!("{seen:?}");
    if programs >= 500 {
        let part = |n: u64| n * 10 > seen.programs;
        assert!(
            part(seen.declared_races) && part(seen.upstream_races) && part(seen.clean_upstream),
            "{seen:?}: the programs no longer exercise all outcomes"
        );
    }
}
