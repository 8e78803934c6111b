//! Kernels whose pipes are ordered give the same bits however their pipes are interleaved; kernels that lack an order do
//! not. Upstream's model kernels where a checkout is at hand ([`corpus`]).

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

mod corpus;

use assemble::pass::Sync;
use control::Control;
use driver::exec::{Inputs, Kernel, Order, Outcome, Policy, Session};
use ir::Program;

const POLICIES: [Policy; 7] = [
    Policy::Seed(1),
    Policy::Seed(2),
    Policy::Seed(3),
    Policy::Seed(4),
    Policy::Lazy,
    Policy::Ranked(0),
    Policy::Ranked(719),
];

fn synced(program: &Program, mode: Sync) -> Program {
    let mut program = program.clone();
    assemble::sync::insert(&mut program, mode, &mut Control::new(0)).unwrap_or_else(|e| panic!("{e:?}"));
    program
}

/// The policies under which a run comes out otherwise, and how.
fn differences(
    kernel: &Kernel,
    inputs: &Inputs,
    right: &Outcome,
    session: &mut Session,
    policies: &[Policy],
) -> Vec<String> {
    let mut found = Vec::new();
    for &policy in policies {
        session.order = Order::Pipes(policy);
        let outcome = session.run(kernel, inputs);
        if !outcome.same(right) {
            let why =
                outcome.trap.map_or("other bits".to_owned(), |t| format!("{}: {} {:?}", t.code, t.message, t.notes));
            found.push(format!("{policy:?}: {why}"));
        }
    }
    session.order = Order::Program;
    found
}
