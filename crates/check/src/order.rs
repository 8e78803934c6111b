//! Judges a pass that moves, adds or drops operations: does every operation still find what it found before?
//!
//! By bytes, not by names: at level 3 tiles share addresses, and the order between an operation and an unrelated tile on
//! the same bytes is as binding as one through a value. The question is decided by [`crate::reach`]: every byte that an
//! operation reads has the same origin in both versions, on every path; so have global memory at the end, and the chain of
//! operations that others see (FIFOs, events, prints, calls). What is added or dropped beside that is nobody's business:
//! scratch, moves of a tile onto itself, tiles that nobody reads, more synchronisation.
//!
//! The rules, by what went wrong between the reader and the operation that it should get its bytes from:
//!
//! * `order-raw`: the reader stands before the writer.
//! * `order-war`: a write that came after the reader comes before it.
//! * `order-waw`: another write covers the one that the reader needs.
//! * `order-lost`: the writer, or an operation with effects, is missing, or was changed.
//! * `order-effect`: operations whose order others see have another order, or there are more.
//! * `order-operand`: an operation has other operands, or a block passes on other values.
//!
//! Fusion marks are judged by [`crate::marks`]: `order-group`, `order-last-use`.

use diag::Diagnostic;
use ir::{Function, FunctionKind, Op, Program};

use crate::correspond::Mode;
use crate::difference::{Difference, Differences, Versions, accesses};
use crate::marks;
use crate::memory::maker;
use crate::reach::{Def, Reach, What};
use crate::verdict::{Bytes, Finding, Site, Verdict, memory_name, on_line};

/// Whether every kernel of `after` does what the one of its name does in `before`. If tiles got addresses in between,
/// their storage counts as well ([`crate::memory`]).
pub fn order(before: &Program, after: &Program) -> Verdict {
    let mut verdict = Verdict::default();
    let kernels = |p: &Program| -> Vec<ir::FuncId> {
        let kernel = |f: &Function| matches!(f.kind, FunctionKind::Kernel(_) | FunctionKind::Helper);
        p.functions.iter().filter(|(_, f)| kernel(f)).map(|(id, _)| id).collect()
    };
    for id in kernels(after) {
        let func = &after.functions[id];
        match before.function(&func.name) {
            Some(old) => verdict.add(order_of(after.arch, &before.functions[old], func)),
            None => verdict.unsupported.push(Diagnostic::unsupported(
                "order-no-partner",
                format!("`{}` has no function of its name to be compared with", func.name),
            )),
        }
    }
    for id in kernels(before) {
        let name = &before.functions[id].name;
        if after.function(name).is_none() {
            verdict.unsupported.push(Diagnostic::unsupported("order-no-partner", format!("`{name}` is gone")));
        }
    }
    verdict
}

/// As [`order`], of one function.
pub fn order_of(arch: chip::Arch, before: &Function, after: &Function) -> Verdict {
    let mode = if !is_placed(before) && is_placed(after) { Mode::Placed } else { Mode::Moved };
    let (old, new) = (accesses(arch, before), accesses(arch, after));
    let mut verdict = Verdict::default();
    if before.params.len() != after.params.len() {
        verdict.unsupported.push(Diagnostic::unsupported(
            "order-parameters",
            format!("`{}` has {} parameters, and had {}", after.name, after.params.len(), before.params.len()),
        ));
        return verdict;
    }
    let versions = Versions::new(mode, (before, &old), (after, &new));
    let (b, a) = versions.reach(mode);
    let found = versions.differences(&b, &a);
    verdict.findings = Report { versions: &versions, before: &b, after: &a }.findings(&found);
    verdict.findings.extend(marks::marks(after, &new, &a));
    verdict
}

/// Whether the tiles of a function have addresses.
pub(crate) fn is_placed(func: &Function) -> bool {
    // Not those that a pass took out of their block.
    func.walk().into_iter().any(|op| {
        let op = &func.ops[op];
        matches!(op.opcode, ir::Opcode::AllocTile | ir::Opcode::AllocTiles) && !op.named("addr").is_empty()
    })
}

struct Report<'a> {
    versions: &'a Versions<'a>,
    before: &'a Reach<'a>,
    after: &'a Reach<'a>,
}

impl Report<'_> {
    fn findings(&self, found: &Differences) -> Vec<Finding> {
        let mut out: Vec<Finding> = Vec::new();
        let (before, after) = (self.versions.before, self.versions.after);
        for &op in &found.lost {
            let name = before.ops[op].opcode.name();
            out.push(Finding {
                rule: "order-lost",
                message: format!("`{name}`{} is missing or was changed", on_line(before, op)),
                first: Site::new(before, op, "was here"),
                second: None,
                bytes: None,
                help: None,
            });
        }
        for &op in &found.added {
            let name = after.ops[op].opcode.name();
            out.push(Finding {
                rule: "order-effect",
                message: format!("`{name}`{} was not there before, and others see it", on_line(after, op)),
                first: Site::new(after, op, "is new"),
                second: None,
                bytes: None,
                help: None,
            });
        }
        for &(b, a) in &found.passes_on {
            out.push(Finding {
                rule: "order-operand",
                message: format!("this block passes on other values{} than before", on_line(after, a)),
                first: Site::new(after, a, "passes on other values"),
                second: Some(Site::new(before, b, "was this")),
                bytes: None,
                help: None,
            });
        }
        let mut last = None;
        for difference in &found.reads {
            // One an operation and kind of trouble is enough.
            let finding = self.finding(difference);
            let key = Some((difference.reader.1, finding.rule, finding.second.as_ref().map(|s| s.op)));
            if key != last {
                out.push(finding);
            }
            last = key;
        }
        // What differs at the end and was not seen on the way.
        if out.is_empty() {
            for (memory, expected, instead) in &found.at_end {
                out.push(self.at_end(*memory, *expected, *instead));
            }
        }
        out
    }

    fn finding(&self, d: &Difference) -> Finding {
        let (before, after) = (self.versions.before, self.versions.after);
        let (rb, ra) = d.reader;
        let reader = format!("`{}`{}", after.ops[ra].opcode.name(), on_line(after, ra));
        let Some((expected, instead)) = d.contents else {
            return Finding {
                rule: "order-operand",
                message: format!("{reader} reads other memory than before"),
                first: Site::new(after, ra, "reads other memory"),
                second: Some(Site::new(before, rb, "was this")),
                bytes: None,
                help: None,
            };
        };
        let bytes =
            d.memory.zip(d.bytes).map(|(m, (from, to))| Bytes { memory: memory_name(after, m), range: from..to });
        let what = match (&bytes, d.memory) {
            (Some(b), _) => format!("bytes {}..{} of {}", b.range.start, b.range.end, b.memory),
            (None, Some(m)) => memory_name(after, m),
            (None, None) => "what was done before".to_owned(),
        };
        let verb = if d.partial { "change" } else { "read" };
        let past = if d.partial { "changed" } else { "read" };
        let role = if d.partial { "changes them here" } else { "reads them here" };
        let first = Site::new(after, ra, role);
        let (writer, other) = (maker(self.before, expected), maker(self.after, instead));
        let shown = |f: &Function, op: Op| format!("`{}`{}", f.ops[op].opcode.name(), on_line(f, op));
        let finding = |rule, message, second| Finding {
            rule,
            message,
            first: first.clone(),
            second,
            bytes: bytes.clone(),
            help: None,
        };
        if matches!(d.what, What::Effect | What::Sync) {
            let second = writer.map(|w| Site::new(before, w, "came last before it"));
            let second = second.or_else(|| other.map(|o| Site::new(after, o, "comes before it now")));
            return finding(
                "order-effect",
                format!("{reader} has another place among the operations that others see"),
                second,
            );
        }
        let Some(writer) = writer else {
            let message = match other {
                Some(o) => format!("{} would write {what} before {reader} has {past} them", shown(after, o)),
                None => format!("{reader} would {verb} {what}, which hold something else than before"),
            };
            return finding("order-war", message, other.map(|o| Site::new(after, o, "writes them too early")));
        };
        let Some(moved) = self.versions.names.partner[ir::Entity::index(writer)] else {
            let message = format!(
                "{reader} would {verb} {what}, but {}, which wrote them, is missing or was changed",
                shown(before, writer)
            );
            return finding("order-lost", message, Some(Site::new(before, writer, "wrote them")));
        };
        let (at, from) = (self.after.position(ra), self.after.position(moved));
        let was_before = self.before.position(writer) < self.before.position(rb);
        if from > at && was_before {
            let message = format!("{reader} would {verb} {what} before {} has written them", shown(after, moved));
            return finding("order-raw", message, Some(Site::new(after, moved, "writes them later")));
        }
        match other {
            Some(o) if o != moved => {
                let partner = self.versions.names.partner.iter().position(|&p| p == Some(o));
                let later =
                    partner.is_some_and(|p| self.before.position(ir::Entity::new(p)) > self.before.position(rb));
                if later && self.after.position(o) < at {
                    let message = format!(
                        "{} would overwrite {what} before {reader} has {past} them; they are from {}",
                        shown(after, o),
                        shown(after, moved)
                    );
                    return finding("order-war", message, Some(Site::new(after, o, "overwrites them too early")));
                }
                let message = format!(
                    "{reader} would {verb} {what} as {} leaves them, not {}",
                    shown(after, o),
                    shown(after, moved)
                );
                finding("order-waw", message, Some(Site::new(after, o, "overwrites them")))
            }
            // The same operation in another turn of a loop.
            _ if !was_before && from < at => {
                let message = format!(
                    "{} would overwrite {what} before {reader} has {past} them, as the turn before left them",
                    shown(after, moved)
                );
                finding("order-war", message, Some(Site::new(after, moved, "overwrites them too early")))
            }
            _ => {
                let message =
                    format!("{reader} would {verb} {what} as {} left them in another turn", shown(after, moved));
                finding("order-raw", message, Some(Site::new(after, moved, "writes them in another turn")))
            }
        }
    }

    fn at_end(&self, memory: Option<crate::access::Memory>, expected: Def, instead: Def) -> Finding {
        let (before, after) = (self.versions.before, self.versions.after);
        let (writer, other) = (maker(self.before, expected), maker(self.after, instead));
        let what = memory.map_or("the operations that others see".to_owned(), |m| memory_name(after, m));
        let first = match (other, writer) {
            (Some(o), _) => Site::new(after, o, "comes last now"),
            (None, Some(w)) => Site::new(before, w, "came last before"),
            (None, None) => Site::new(after, after.blocks[after.body].ops[0], "is the start"),
        };
        Finding {
            rule: "order-effect",
            message: format!("at the end, {what} would not be as before"),
            first,
            second: writer.map(|w| Site::new(before, w, "came last before")),
            bytes: None,
            help: None,
        }
    }
}

#[cfg(test)]
mod tests;
