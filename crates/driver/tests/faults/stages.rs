//! A kernel after each of our passes: what was there before, what the pass made of it, and who judges it.

use assemble::pass::Sync;
use check::Verdict;
use check::mutate::passes::Pass;
use chip::Arch;
use control::Control;
use ir::Program;

use super::kernels::Kernel;

/// After which pass.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stage {
    /// As it came, with addresses.
    Original,
    /// Fused.
    Fused,
    /// Its tiles got addresses from our planner.
    Planned,
    /// Its tiles have the addresses that it came with.
    Placed,
    /// Flags and barriers order its pipes.
    Flags,
    /// Tokens do.
    Tokens,
}

/// A correct version of a kernel.
pub(crate) struct Version {
    pub(crate) stage: Stage,
    pub(crate) before: Program,
    pub(crate) after: Program,
}

impl Version {
    /// Faults of which passes are put into it.
    pub(crate) fn takes(&self, pass: Pass) -> bool {
        match self.stage {
            Stage::Original | Stage::Fused => pass == Pass::Schedule,
            Stage::Planned | Stage::Placed => pass != Pass::Sync,
            Stage::Flags | Stage::Tokens => pass == Pass::Sync,
        }
    }

    /// What the checkers say about a version of this stage.
    pub(crate) fn judge(&self, made: &Program) -> Verdict {
        match self.stage {
            Stage::Original | Stage::Fused => check::order(&self.before, made),
            Stage::Planned | Stage::Placed => {
                let mut verdict = check::order(&self.before, made);
                verdict.add(check::memory(&self.before, made));
                verdict
            }
            Stage::Flags | Stage::Tokens => check::sync::check_all(made),
        }
    }
}

/// Every version of a kernel that there is.
pub(crate) fn versions(kernel: &Kernel, seed: u64) -> Vec<Version> {
    let mut out = Vec::new();
    let planned = kernel.unplaced.as_ref().and_then(|p| assemble::place(p, &assemble::Options::default()).ok());
    if let (Some(before), Some(after)) = (&kernel.unplaced, &planned) {
        out.push(Version { stage: Stage::Planned, before: before.clone(), after: after.clone() });
    }
    if let (Some(before), Some(after)) = (&kernel.unplaced, &kernel.placed) {
        out.push(Version { stage: Stage::Placed, before: before.clone(), after: after.clone() });
    }
    let Some(original) = kernel.placed.as_ref().or(planned.as_ref()) else { return out };
    out.push(Version { stage: Stage::Original, before: original.clone(), after: original.clone() });
    if original.arch == Arch::A5 {
        let mut after = original.clone();
        assemble::fuse::fuse(&mut after, true, &mut Control::new(seed));
        out.push(Version { stage: Stage::Fused, before: original.clone(), after });
    }
    let modes = [(Stage::Flags, Sync::Flags), (Stage::Tokens, Sync::Tokens)];
    for (stage, mode) in modes.into_iter().filter(|(s, _)| *s == Stage::Flags || original.arch == Arch::A5) {
        let mut after = original.clone();
        if assemble::sync::insert(&mut after, mode, &mut Control::new(seed)).is_ok() {
            out.push(Version { stage, before: original.clone(), after });
        }
    }
    out
}
