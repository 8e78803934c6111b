//! Fuses upstream's model kernels for A5, where a checkout is at hand.
//!
//! `TILEWRIGHT_UPSTREAM` names a folder with a checkout `PTOAS`; without it nothing is run, and the test says so. Every
//! kernel must verify after fusion and read back from its text, and no two operations that conflict may have changed
//! places: pairs are compared one by one here, not by the graph that fusion schedules by. Prints what fusion found and
//! what it saves.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

use std::time::{Duration, Instant};

use super::kernels::{corpus, parse, text};
use super::order::disorder;
use assemble::fuse::{Statistics, fuse};
use control::Control;
use ir::Program;

/// Of the 488: kernels with a group, and operations in groups; a change that loses many should be meant.
const FLOOR: (usize, usize) = (150, 1000);

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn check(name: &str, before: &Program, after: &Program) {
    if let Some((first, second)) = disorder(before, after) {
        panic!("{name}: {first} and {second} have changed places");
    }
    let verdict = check::order(before, after);
    if !verdict.proved() {
        let said: Vec<String> = verdict.diagnostics().iter().map(|d| diag::render(d, &after.sources)).collect();
        panic!("{name}: {}", said.join("\n"));
    }
    if let Err(errors) = ir::verify::verify(after) {
        panic!("{name}: {errors:#?}");
    }
    let printed = text(after);
    let back = parse(&printed).unwrap_or_else(|e| panic!("{name}: {e:#?}\n{printed}"));
    assert_eq!(text(&back), printed, "{name}");
}

#[test]
fn model_kernels_fuse() {
    let Some(corpus) = corpus() else {
        println!("not run: TILEWRIGHT_UPSTREAM names no folder with a checkout PTOAS");
        return;
    };
    for inference in [true, false] {
        let mut all = Statistics::default();
        let (mut kernels, mut fused, mut times) = (0, 0, Vec::new());
        for (name, before) in &corpus {
            let mut after = before.clone();
            let start = Instant::now();
            let found = fuse(&mut after, inference, &mut Control::new(0));
            times.push(start.elapsed());
            check(name, before, &after);
            // Whatever is chosen where choices are equal.
            if inference {
                let mut after = before.clone();
                fuse(&mut after, inference, &mut Control::new(1));
                check(name, before, &after);
            }
            all.add(found);
            kernels += 1;
            fused += usize::from(found.groups > 0);
        }
        let worst = times.iter().max().copied().unwrap_or_default();
        println!(
            "shape inference {inference}: {kernels} kernels, {fused} fused, {} groups, {} operations, {} results kept in \
             registers; {} of {} bytes saved; {:?} median, {worst:?} worst",
            all.groups,
            all.ops,
            all.inner,
            all.bytes_saved,
            all.bytes,
            median(&mut times)
        );
        if inference && kernels == 488 {
            assert!(fused >= FLOOR.0 && all.ops >= FLOOR.1, "{fused} kernels and {} operations", all.ops);
        }
    }
}
