//! Proves that the order between pipes is explicit: that every two instructions that touch the same bytes, one of them
//! writing, are ordered by flags, barriers or tokens, on every path and in every two turns of the loops around.
//!
//! **The machine.** The scalar unit runs a kernel in program order and puts each instruction into the queue of its pipe.
//! A pipe starts its instructions in order, and the next may start before the last has ended, unless a barrier of that
//! pipe stands between (pipes that [keep their order](queue::Queue::keeps_order) excepted). Pipes know nothing of each
//! other: only a flag, raised in one queue when all before it there has ended and waited for in another, makes one wait.
//! Global memory is shared by all of them; what the scalar unit itself reads and writes there and in tiles needs flags
//! as any other pipe's does.
//!
//! **The proof** is an abstract interpretation. Queues are in order, so what somebody knows to have ended is a prefix of
//! every queue; what is not known to have ended is a set of steps, and flags hand such sets on ([`state`]). In a loop a
//! step stands for all its instances that may be open: an invariant is found by going round until the sets no longer
//! grow, from the state in which the loop is entered, which is also one in which a loop of no turns is left. At each step
//! the open ones among those that it [conflicts](conflict) with are hazards. So what is proved holds for every execution;
//! a finding may be about a path that no input takes.
//!
//! **Flags** are binary: on every path a flag is raised and waited for by turns, the first time raised, the last time
//! waited for. Where paths meet a flag is raised on all of them or on none. If so, the oldest blocked wait in program
//! order always has its set before it, unblocked: no deadlock within a core is possible. Tokens (A5) are taken and given
//! back by turns likewise.
//!
//! **Not judged here**: order between cores (FIFOs, `sync.set`, ranks), beyond that what is stored must have ended where
//! a core arrives at a `syncall`; contents of the scalar cache; bytes beyond a tile's buffer.
//!
//! | rule | what is wrong |
//! |---|---|
//! | `sync-missing` | two pipes touch the same bytes, and nothing orders them |
//! | `sync-barrier` | one pipe touches the same bytes twice, without a barrier between |
//! | `sync-unpaired-wait` | a flag is lowered that is not raised, on some path |
//! | `sync-unpaired-set` | a flag stays raised, on some path |
//! | `sync-id-collision` | a flag is raised that is raised already |
//! | `sync-order-deadlock` | a wait stands before the set that it waits for |
//! | `sync-token` | a token is taken while taken, given back while free, or kept |
//! | `sync-drain` | a core arrives at a `syncall` while a store to global memory may be under way |

mod conflict;
mod model;
mod queue;
mod report;
mod state;
mod walk;

#[cfg(test)]
mod tests;

use ir::{FuncId, Program};

use crate::Verdict;

/// Judges one kernel function whose order between pipes is explicit ([`ir::Properties::synced`], or flags in the text).
pub fn check(program: &Program, func: FuncId) -> Verdict {
    let model = model::Model::new(program, func);
    if !model.unsupported.is_empty() {
        // A flag that is not understood may order anything.
        return Verdict { findings: Vec::new(), unsupported: model.unsupported };
    }
    Verdict { findings: walk::findings(&model), unsupported: Vec::new() }
}

/// Judges every kernel function of a program.
pub fn check_all(program: &Program) -> Verdict {
    let mut verdict = Verdict::default();
    for (id, func) in program.functions.iter() {
        if func.is_kernel() {
            verdict.add(check(program, id));
        }
    }
    verdict
}
