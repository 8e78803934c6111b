//! What the model of upstream's scheduler breaks, and that the checker finds it.

#![allow(clippy::print_stdout, reason = "the list of broken kernels is what it is for")]

use super::kernels::{STATE_UPDATE, corpus, program, text};
use super::order::disorder;
use super::upstream_scheduler;

#[test]
fn a_scheduler_that_looks_at_names_breaks_it_and_is_found_out() {
    let before = program(STATE_UPDATE);
    let mut after = before.clone();
    upstream_scheduler::fuse(&mut after);
    assert!(disorder(&before, &after).is_some());
    let verdict = check::order(&before, &after);
    let broken = |f: &&check::Finding| matches!(f.rule, "order-raw" | "order-war" | "order-waw");
    let found = verdict.findings.iter().find(broken).unwrap_or_else(|| panic!("{verdict:#?}"));
    let second = found.second.as_ref().expect("both operations are named");
    assert!(found.bytes.is_some() && second.op != found.first.op, "{found:#?}");
    println!("{}", diag::render(&found.diagnostic(), &after.sources));
}

#[test]
fn upstream_kernels_that_such_a_scheduler_breaks() {
    let Some(corpus) = corpus() else {
        println!("not run: TILEWRIGHT_UPSTREAM names no folder with a checkout PTOAS");
        return;
    };
    let (mut changed, mut order, mut marks) = (0, Vec::new(), Vec::new());
    for (name, before) in &corpus {
        let mut after = before.clone();
        upstream_scheduler::fuse(&mut after);
        changed += usize::from(text(before) != text(&after));
        let verdict = check::order(before, &after);
        assert!(verdict.unsupported.is_empty(), "{name}: {:#?}", verdict.unsupported);
        let wrong_order = verdict.findings.iter().any(|f| !matches!(f.rule, "order-last-use" | "order-group"));
        assert_eq!(wrong_order, disorder(before, &after).is_some(), "{name}: {:#?}", verdict.findings);
        match verdict.findings.first() {
            Some(f) if wrong_order => order.push(format!("{name}: {}", f.message)),
            Some(f) => marks.push(format!("{name}: {}", f.message)),
            None => {}
        }
    }
    println!(
        "{changed} of {} changed; {} in a wrong order, {} with wrong marks only",
        corpus.len(),
        order.len(),
        marks.len()
    );
    for line in order.iter().chain(&marks) {
        println!("  {line}");
    }
    assert!(order.iter().any(|n| n.contains("prefill_idx_c4_state_update")), "the published witness");
}
