//! Which checker judges which pass.
//!
//! | what a pass did | judged by |
//! |---|---|
//! | moved, added or dropped operations | `order`: every read finds the bytes that it found before |
//! | gave tiles addresses | `memory`: no two values that are needed at once share bytes |
//! | made the order between pipes explicit | `order` (it did nothing else), `sync`: every hazard has its flag |
//! | wrote operations in another form | nothing but the verifier yet: `order` matches operations, and takes them for lost |
//!
//! A file that arrives with addresses has no version without; what can be said of it alone (`placement`) is.

use std::time::{Duration, Instant};

use assemble::pass::Pass;
use check::Verdict;
use ir::Program;

/// One checker's answer about one step.
#[derive(Clone, Debug)]
pub struct Check {
    pub checker: &'static str,
    pub time: Duration,
    pub verdict: Verdict,
}

fn timed(checker: &'static str, verdict: impl FnOnce() -> Verdict) -> Check {
    let start = Instant::now();
    let verdict = verdict();
    Check { checker, time: start.elapsed(), verdict }
}

fn is_placed(program: &Program) -> bool {
    program.functions.iter().any(|(_, f)| f.properties.placed)
}

/// About a program that nothing has been done to.
pub(super) fn of_input(program: &Program) -> Vec<Check> {
    if is_placed(program) { vec![timed("memory", || check::placement(program))] } else { Vec::new() }
}

/// About what a pass made of `before`.
pub(super) fn of_pass(pass: Pass, before: &Program, after: &Program) -> Vec<Check> {
    match pass {
        Pass::Place => vec![timed("memory", || check::memory(before, after))],
        Pass::InsertSync => {
            vec![timed("order", || check::order(before, after)), timed("sync", || check::sync::check_all(after))]
        }
        Pass::Fuse | Pass::IdentityMoves => vec![timed("order", || check::order(before, after))],
        Pass::CheckFifos
        | Pass::LowerFifos
        | Pass::LowerEvents
        | Pass::InferLayouts
        | Pass::MoveColumns
        | Pass::Scratch
        | Pass::ResolveReserved
        | Pass::ResolveTurns => Vec::new(),
    }
}

/// About what somebody else's optimiser made of `before`: all checkers that can say something.
pub fn judge(before: &Program, after: &Program) -> Vec<Check> {
    let mut checks = vec![timed("order", || check::order(before, after))];
    if is_placed(after) {
        checks.push(timed("memory", || check::memory(before, after)));
    }
    if after.functions.iter().any(|(_, f)| f.properties.synced || orders_pipes(f)) {
        checks.push(timed("sync", || check::sync::check_all(after)));
    }
    checks
}

/// Whether the text of a function has flags or tokens in it.
fn orders_pipes(func: &ir::Function) -> bool {
    use ir::Opcode as C;
    let explicit = |op: ir::Op| {
        matches!(
            func.ops[op].opcode,
            C::SetFlag | C::WaitFlag | C::SetFlagDyn | C::WaitFlagDyn | C::GetBuf | C::RlsBuf | C::RecordEvent
        )
    };
    func.walk().into_iter().any(explicit)
}
