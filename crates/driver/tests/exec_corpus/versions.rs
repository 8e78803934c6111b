//! A kernel after passes: the versions that must leave the same bits as the file.

use assemble::fuse::fuse;
use assemble::pass::Sync;
use assemble::{Options, place, sync};
use check::mutate::passes::believe_all;
use chip::Arch;
use control::Control;
use driver::exec::{Inputs, Kernel, Outcome, Session};
use ir::Program;

use crate::unplaced::unplaced;

/// What became of one version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Same {
    Yes,
    /// The pass had nothing to do.
    Untouched,
    /// It is not a version of this file.
    Not(&'static str),
    /// A difference, or an error.
    No(String),
}

/// In the order of the table.
pub(crate) const NAMES: [&str; 9] = [
    "fused",
    "fused, last uses gone",
    "synced by flags",
    "synced by tokens",
    "synced by barriers",
    "fused and synced",
    "without addresses",
    "planned",
    "planned and synced",
];

/// The file and what it did, and where to try its versions.
pub(crate) struct Original<'a> {
    pub(crate) program: &'a Program,
    pub(crate) entry: &'a str,
    pub(crate) inputs: &'a Inputs,
    pub(crate) outcome: &'a Outcome,
    pub(crate) session: &'a mut Session,
}

impl Original<'_> {
    /// One answer for each of [`NAMES`].
    pub(crate) fn versions(&mut self) -> Vec<Same> {
        let a5 = self.program.arch == Arch::A5;
        let control = || Control::new(1);
        let fused = a5.then(|| {
            let mut fused = self.program.clone();
            let groups = fuse(&mut fused, true, &mut control()).groups;
            (fused, groups)
        });
        let synced = |program: &Program, mode: Sync| {
            let mut synced = program.clone();
            sync::insert(&mut synced, mode, &mut control()).map(|_| synced).map_err(|e| e[0].message.clone())
        };
        let mut out = Vec::new();
        match &fused {
            None => out.extend([Same::Not("for A5 only"), Same::Not("for A5 only")]),
            Some((_, 0)) => out.extend([Same::Untouched, Same::Untouched]),
            Some((fused, _)) => {
                out.push(self.try_out(fused));
                let mut believed = fused.clone();
                believe_all(&mut believed);
                out.push(self.try_out(&believed));
            }
        }
        for mode in [Sync::Flags, Sync::Tokens, Sync::BarrierAll] {
            out.push(match (mode, a5) {
                (Sync::Tokens, false) => Same::Not("for A5 only"),
                _ => self.try_all(synced(self.program, mode)),
            });
        }
        out.push(match &fused {
            None => Same::Not("for A5 only"),
            Some((_, 0)) => Same::Untouched,
            Some((fused, _)) => self.try_all(synced(fused, Sync::Flags)),
        });
        let bare = unplaced(self.program).filter(|bare| self.try_out(bare) == Same::Yes);
        let planned = bare.as_ref().map(|bare| place(bare, &Options::default()).map_err(|mut e| e.swap_remove(0)));
        let addresses = Same::Not("a tile gets by its address what no name gives it");
        match planned {
            None => out.extend([addresses.clone(), addresses.clone(), addresses]),
            // Who placed it used bytes before they were read to the end, which our planner does not.
            Some(Err(e)) if e.code == "over-capacity" => {
                let tight = Same::Not("its tiles fit only as they lie in the file");
                out.extend([Same::Yes, tight.clone(), tight]);
            }
            Some(Err(e)) => out.extend([Same::Yes, Same::No(e.message.clone()), Same::No(e.message)]),
            Some(Ok(planned)) => {
                out.extend([Same::Yes, self.try_out(&planned)]);
                out.push(self.try_all(synced(&planned, Sync::Flags)));
            }
        }
        out
    }

    fn try_all(&mut self, version: Result<Program, String>) -> Same {
        match version {
            Ok(program) => self.try_out(&program),
            Err(e) => Same::No(e),
        }
    }

    fn try_out(&mut self, program: &Program) -> Same {
        let profile = driver::Options::new(program.arch).profile;
        let kernel = match Kernel::new(program, self.entry, profile) {
            Ok(kernel) => kernel,
            Err(f) => return Same::No(f.errors[0].message.clone()),
        };
        let outcome = self.session.run(&kernel, self.inputs);
        match (outcome.same(self.outcome), outcome.trap) {
            (true, _) => Same::Yes,
            (false, Some(trap)) => Same::No(format!("stops: {}", trap.message)),
            (false, None) => Same::No("leaves other bits".to_owned()),
        }
    }
}
