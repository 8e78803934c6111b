//! `--tw-verify`: judges what another optimiser, planner or synchroniser made of a file.
//!
//! Both files are read and verified; then every checker that can say something of the second says it. 0: all proved.
//! 1: something is wrong, with the files or with what was made. 4: something is undecided.

use chip::Arch;
use diag::{Diagnostic, Severity};
use driver::assemble::{judge, read};
use ir::Program;

use super::{Streams, text};

fn load(path: &str, arch: Option<Arch>, streams: &mut Streams) -> Option<Program> {
    let (text, name) = match text(path) {
        Ok(read) => read,
        Err(error) => {
            streams.error(&error);
            return None;
        }
    };
    let program = match read(&text, &name, arch) {
        Ok(program) => program,
        Err(failure) => {
            streams.diagnostics(&failure.errors, &failure.sources);
            streams.error(&format!("'{path}' was not read"));
            return None;
        }
    };
    if let Err(errors) = driver::assemble::verify(&program) {
        streams.diagnostics(&errors, &program.sources);
        streams.error(&format!("'{path}' is not valid"));
        return None;
    }
    Some(program)
}

pub(super) fn verify(before: &str, after: &str, arch: Option<Arch>, streams: &mut Streams) -> u8 {
    let (Some(old), Some(new)) = (load(before, arch, streams), load(after, arch, streams)) else { return 1 };
    if old.arch != new.arch {
        streams.error(&format!(
            "'{before}' is for {}, '{after}' for {}",
            old.arch.target_name(),
            new.arch.target_name()
        ));
        return 1;
    }
    let (mut found, mut undecided) = (0, 0);
    for check in judge(&old, &new) {
        found += check.verdict.findings.len();
        undecided += check.verdict.unsupported.len();
        for d in check.verdict.diagnostics() {
            let severity = if d.kind == diag::Kind::Finding { Severity::Error } else { Severity::Warning };
            streams.diagnostics(&[Diagnostic { severity, ..d }], &new.sources);
        }
        let answer = match (check.verdict.findings.len(), check.verdict.unsupported.len()) {
            (0, 0) => "proved".to_owned(),
            (f, u) => format!("{f} found, {u} undecided"),
        };
        streams.say(&format!("{}: {answer}\n", check.checker));
    }
    match (found, undecided) {
        (0, 0) => 0,
        (0, _) => 4,
        _ => 1,
    }
}
