//! A kernel after a scheduler that moves operations by the names of their tiles, as the one that broke models did: what
//! the checker says of the two files, and whether their bits agree.

use check::mutate::passes::believe_all;
use driver::exec::{self, Kernel};
use ir::Program;

use crate::upstream_scheduler;
use crate::versions::Original;

/// What became of it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Scheduled {
    /// What the checker says of the order of operations; nothing if it is as good as before.
    pub(crate) order: Option<String>,
    /// What it says of the marks of last uses.
    pub(crate) marks: Option<String>,
    /// The kernel leaves other bits.
    pub(crate) differs: bool,
    /// It does so only on a machine that goes by the marks.
    pub(crate) differs_by_marks: bool,
}

/// `None` if nothing was moved or marked.
pub(crate) fn scheduled(original: &mut Original<'_>, name: &str) -> Option<Scheduled> {
    let before = original.program;
    let mut after = before.clone();
    upstream_scheduler::fuse(&mut after);
    let (old, new) = (text(before), text(&after));
    if old == new {
        return None;
    }
    // From the texts, as somebody else's assembler leaves them.
    let read =
        |text: &str| exec::load(text, name, Some(before.arch)).unwrap_or_else(|f| panic!("{name}: {}", f.render()));
    let (before, after) = (read(&old), read(&new));
    let verdict = check::order(&before, &after);
    assert!(verdict.unsupported.is_empty(), "{name}: {:?}", verdict.unsupported);
    let say = |marks: bool| {
        let kind = |rule: &str| matches!(rule, "order-last-use" | "order-group") == marks;
        verdict.findings.iter().find(|f| kind(f.rule)).map(|f| format!("{}: {}", f.rule, f.message))
    };
    let mut found = Scheduled { order: say(false), marks: say(true), ..Scheduled::default() };
    found.differs = differs(original, &after);
    let mut believed = after;
    believe_all(&mut believed);
    found.differs_by_marks = !found.differs && differs(original, &believed);
    Some(found)
}

fn text(program: &Program) -> String {
    let ids: Vec<_> = program.functions.keys().filter(|&id| id != program.entry).collect();
    pto::print(program, &ids)
}

fn differs(original: &mut Original<'_>, after: &Program) -> bool {
    let profile = driver::Options::new(after.arch).profile;
    match Kernel::new(after, original.entry, profile) {
        Ok(kernel) => !original.session.run(&kernel, original.inputs).same(original.outcome),
        Err(_) => true,
    }
}
