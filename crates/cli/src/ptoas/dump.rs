//! Programs between passes, as `--mlir-print-ir-…` asks for them.
//!
//! On the error stream each has a line of its own above it. In a folder (`--mlir-print-ir-tree-dir`) each is a file, named
//! by its place in the pipeline and its pass, where MLIR puts those of a module without a name. Passes are named as
//! upstream names them (`pto-plan-memory`) or as here (`plan-memory`). One of upstream's that has no step here prints
//! nothing.

use std::io::{self, Write};
use std::path::Path;

use driver::assemble::Step;

/// Which programs are printed, and where.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Printing {
    pub after_all: bool,
    pub before_all: bool,
    pub after: Vec<String>,
    pub before: Vec<String>,
    pub folder: Option<String>,
}

/// Names of passes, ours and upstream's; where both have one, in the same line.
const PASSES: &[&[&str]] = &[
    &["op-fusion", "fusion-plan", "op-scheduling", "mark-last-use"],
    &["plan-memory"],
    &["insert-sync", "graph-sync-solver", "inject-barrier-all-sync", "bufid-sync", "bufid_sync"],
    &["assign-default-frontend-pipe-id", "lower-frontend-pipe-ops"],
    &["infer-validate-pipe-init"],
    &["lowering-sync-to-pipe"],
    &["infer-layout"],
    &["a5-normalize-tmov"],
    &["materialize-implicit-tmp"],
    &["resolve-reserved-buffers"],
    &["remove-identity-tmov"],
    &["resolve-buffer-select"],
    &["validate-inttoptr-uses"],
    &["materialize-tileop-sections"],
    &["normalize-uncovered-tile-sections"],
    &["validate-physical-section-boundaries"],
    &["rematerialize-fixpipe-vector-quant"],
    &["inline-backend-helpers"],
    &["canonicalize"],
    &["cse"],
];

fn plain(name: &str) -> &str {
    name.strip_prefix("pto-").unwrap_or(name)
}

/// Whether a name that was asked for is that of a step.
fn names(asked: &str, step: &str) -> bool {
    let asked = plain(asked);
    asked == step || PASSES.iter().any(|all| all.contains(&step) && all.contains(&asked))
}

impl Printing {
    /// Names of no pass.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        let known = |name: &str| PASSES.iter().any(|all| all.contains(&plain(name)));
        self.after.iter().chain(&self.before).map(String::as_str).filter(move |name| !known(name))
    }

    /// Prints what was asked of the steps that were taken.
    ///
    /// # Errors
    /// A file that cannot be written, with its name.
    pub(super) fn print(&self, steps: &[Step], stderr: &mut dyn Write) -> Result<(), (String, io::Error)> {
        for (i, pair) in steps.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let name = after.name;
            if self.before_all || self.before.iter().any(|p| names(p, name)) {
                self.one(i, "Before", name, before, stderr)?;
            }
            if self.after_all || self.after.iter().any(|p| names(p, name)) {
                self.one(i, "After", name, after, stderr)?;
            }
        }
        Ok(())
    }

    fn one(
        &self,
        place: usize,
        when: &str,
        pass: &str,
        step: &Step,
        stderr: &mut dyn Write,
    ) -> Result<(), (String, io::Error)> {
        let text = format!("// -----// IR Dump {when} {pass} (pto-{pass}) //----- //\n{}", step.text());
        let Some(folder) = &self.folder else {
            let _ = writeln!(stderr, "{text}");
            return Ok(());
        };
        let folder = Path::new(folder).join("builtin_module_no-symbol-name");
        let before = if when == "Before" { "_before" } else { "" };
        let file = folder.join(format!("{place}{before}_pto-{pass}.mlir"));
        let file = file.to_string_lossy().into_owned();
        std::fs::create_dir_all(&folder)
            .and_then(|()| crate::output::write(&file, &text, &mut io::sink()))
            .map_err(|error| (file, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_can_be_asked_for_by_its_name() {
        use assemble::pass::{Level, Settings, Sync, passes};
        let mut settings = Settings { sync: Sync::Flags, fusion: true, ..Settings::new(Level::Two) };
        for level in [Level::One, Level::Two, Level::Three] {
            settings.level = level;
            for pass in passes(&settings) {
                assert!(PASSES.iter().any(|all| all.contains(&pass.name())), "{}", pass.name());
                assert!(names(&format!("pto-{}", pass.name()), pass.name()));
            }
        }
    }

    #[test]
    fn upstream_names() {
        assert!(names("pto-graph-sync-solver", "insert-sync"));
        assert!(!names("pto-plan-memory", "insert-sync"));
        let printing = Printing { after: vec!["plan-memory".into(), "plan".into()], ..Printing::default() };
        assert_eq!(printing.unknown().collect::<Vec<_>>(), ["plan"]);
    }
}
