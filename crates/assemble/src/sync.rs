//! Makes the order between pipes explicit.
//!
//! A core's scalar unit hands instructions to its pipes in program order; each pipe starts its own in that order, and the
//! pipes know nothing of each other. So wherever two instructions on different pipes touch the same bytes, and one of
//! them writes, something must make the later wait: a flag that one pipe sets and the other waits for, a barrier, a token.
//! This pass puts it there, for every two instances of every two instructions, on every path.
//!
//! 1. [`steps`]: the instructions and which pairs of them need order ([`crate::bytes`] says what they touch).
//! 2. [`tree`]: loops and branches around them, and the gaps between them.
//! 3. [`known`]: what each pipe knows to have ended, for any plan: the one place that decides what is covered.
//! 4. [`flags`]: adds pairs of flags and barriers until nothing is uncovered; [`ids`] numbers their events.
//!    [`tokens`] is the other way, with fewer flags.
//! 5. [`write`]: into the function.
//!
//! A fused group (`pto.fusion.group_id`) is one step: nothing is put between its members. Functions that order their
//! pipes themselves are left alone. What the pass does is not trusted: `check::sync` judges it.

mod bits;
mod flags;
mod ids;
mod known;
mod plan;
mod steps;
mod tokens;
mod tree;
mod write;

use chip::Arch;
use control::Control;
use diag::Diagnostic;
use ir::{Entity, FuncId, Function, FunctionKind, Opcode as C, Program};

use crate::bytes::Bytes;
use crate::pass::Sync;
use known::Evaluator;
use plan::Plan;
use steps::{Hazards, SCALAR};
use tree::Tree;
use write::{Edits, New};

/// What was inserted into a function, and why.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Pairs of instructions that need order.
    pub hazards: usize,
    /// `set_flag` or `get_buf`, and as many of their partners.
    pub sets: usize,
    pub barriers: usize,
}

/// Orders the pipes of every kernel and helper of a program, which then is `synced`. Returns what was done, by function.
///
/// # Errors
/// `sync-tokens-arch`: tokens on another machine than A5. `sync-tail-hint`: an unknown `pto.auto_sync_tail_hint`.
pub fn insert(
    program: &mut Program,
    mode: Sync,
    control: &mut Control,
) -> Result<Vec<(FuncId, Report)>, Vec<Diagnostic>> {
    if mode == Sync::Keep {
        return Ok(Vec::new());
    }
    if mode == Sync::Tokens && program.arch != Arch::A5 {
        let message = format!("buffer tokens order pipes on a5; this is {}", program.arch);
        return Err(vec![Diagnostic::unsupported("sync-tokens-arch", message)]);
    }
    let mut reports = Vec::new();
    let mut errors = Vec::new();
    for id in program.functions.keys().collect::<Vec<_>>() {
        let func = &program.functions[id];
        let ours = matches!(func.kind, FunctionKind::Kernel(_) | FunctionKind::Helper);
        if !ours || func.properties.synced || func.blocks[func.body].ops.is_empty() {
            continue;
        }
        if is_explicit(func) {
            program.functions[id].properties.synced = true;
            continue;
        }
        match tail(func) {
            Ok(tail) => {
                let (edits, report) = plan(program, id, mode, tail, control);
                let func = &mut program.functions[id];
                edits.apply(func);
                func.properties.synced = true;
                reports.push((id, report));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(reports) } else { Err(errors) }
}

/// Whether its author has ordered the pipes.
fn is_explicit(func: &Function) -> bool {
    func.ops.iter().any(|(_, data)| {
        matches!(
            data.opcode,
            C::SetFlag
                | C::WaitFlag
                | C::SetFlagDyn
                | C::WaitFlagDyn
                | C::RecordEvent
                | C::WaitEvent
                | C::GetBuf
                | C::RlsBuf
        )
    })
}

/// How a function ends when its pipes have been ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tail {
    /// All pipes have ended.
    All,
    /// What was stored has been.
    Stores,
}

fn tail(func: &Function) -> Result<Tail, Diagnostic> {
    let hint = func.attributes.iter().find(|(name, _)| name == "pto.auto_sync_tail_hint");
    let Some((_, value)) = hint else { return Ok(Tail::All) };
    match value.trim_matches('"').replace('_', "-").as_str() {
        "barrier-all" | "default" => Ok(Tail::All),
        "mte3-to-s-event0" | "setwait-mte3-to-s-event0" => Ok(Tail::Stores),
        other => {
            let message = format!("`{}` says that it ends as `{other}`, which is no way to end", func.name);
            let mut d = Diagnostic::error("sync-tail-hint", message);
            d.help = Some("`barrier-all` (or `default`) or `mte3-to-s-event0`".into());
            Err(d)
        }
    }
}

fn plan(program: &Program, id: FuncId, mode: Sync, tail: Tail, control: &mut Control) -> (Edits, Report) {
    let func = &program.functions[id];
    let bytes = Bytes::new(program.arch, func);
    let steps = steps::steps(program, func, &bytes);
    let idle = steps.iter().all(|s| s.pipe == SCALAR);
    let mut edits = Edits::default();
    let mut report = Report::default();
    if mode == Sync::BarrierAll {
        barriers(func, &steps, &mut edits, &mut report);
    } else {
        let mut pairs = steps::hazards(program.arch, &steps);
        report.hazards = pairs.len();
        let mut held = Vec::new();
        if mode == Sync::Tokens {
            (held, pairs) = tokens::tokens(&steps, pairs, control.choose(tokens::TOKENS));
        }
        // Tokens stand closest to their step.
        let around: Vec<_> = steps.iter().map(|s| (s.ops[0], s.ops[s.ops.len() - 1], s.pipe)).collect();
        for (&(_, last, pipe), tokens) in around.iter().zip(&held) {
            tokens.iter().rev().for_each(|&t| edits.behind(last, New::token(C::RlsBuf, pipe, t)));
        }
        report.sets += held.iter().map(Vec::len).sum::<usize>();
        let hazards = Hazards::new(steps, &pairs);
        let tree = Tree::new(func, &hazards.steps);
        let plan = flags(&tree, &hazards, control);
        report.sets += (0..plan.pairs.len())
            .filter(|&k| plan.has(k))
            .map(|k| 1 + usize::from(plan.pairs[k].around.is_some()))
            .sum::<usize>();
        report.barriers +=
            plan.gaps.iter().map(|g| if g.all { 1 } else { g.barriers.count_ones() as usize }).sum::<usize>();
        edits.plan(func, &tree, &plan);
        for (&(first, _, pipe), tokens) in around.iter().zip(&held) {
            tokens.iter().for_each(|&t| edits.before(first, New::token(C::GetBuf, pipe, t)));
        }
    }
    // Scalar code that kernels call leaves the pipes alone.
    if !idle || func.is_kernel() && func.linkage == ir::Linkage::Entry {
        end(func, tail, &mut edits, &mut report);
    }
    (edits, report)
}

/// Pairs and barriers that cover every hazard, numbered.
fn flags(tree: &Tree, hazards: &Hazards, control: &mut Control) -> Plan {
    let ev = Evaluator::new(tree, hazards);
    let mut plan = Plan::new(tree);
    let rotation = control.choose(ids::EVENTS);
    loop {
        flags::complete(&ev, &mut plan);
        // A round that changes something takes a pair out for good or puts a barrier in.
        if ids::number(&mut plan, rotation) {
            return plan;
        }
    }
}

/// A barrier of all pipes before everything that touches memory.
fn barriers(func: &Function, steps: &[steps::Step], edits: &mut Edits, report: &mut Report) {
    let mut follows = vec![false; func.ops.len()];
    for (_, block) in func.blocks.iter() {
        for pair in block.ops.windows(2).filter(|pair| is_drain(func, pair[0])) {
            follows[pair[1].index()] = true;
        }
    }
    for step in steps.iter().filter(|s| !follows[s.ops[0].index()]) {
        edits.before(step.ops[0], New::barrier(None));
        report.barriers += 1;
    }
}

fn is_drain(func: &Function, op: ir::Op) -> bool {
    let data = &func.ops[op];
    data.opcode == C::Barrier && data.attrs.word("pipe") == Some("PIPE_ALL")
}

/// What stands before the function's return.
fn end(func: &Function, tail: Tail, edits: &mut Edits, report: &mut Report) {
    let ops = &func.blocks[func.body].ops;
    let Some(&last) = ops.last() else { return };
    match tail {
        Tail::All => {
            if ops.len() < 2 || !is_drain(func, ops[ops.len() - 2]) {
                edits.before(last, New::barrier(None));
                report.barriers += 1;
            }
        }
        Tail::Stores => {
            let stores = steps::PIPES.iter().position(|&p| p == ir::info::Pipe::Mte3).unwrap_or(0);
            edits.before(last, New::flag(C::SetFlag, stores, SCALAR, 0));
            edits.before(last, New::flag(C::WaitFlag, stores, SCALAR, 0));
            report.sets += 1;
        }
    }
}
