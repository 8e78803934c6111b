//! Events between pipes that are named by what runs on them become flags between pipes by name.
//!
//! `record_event` is a `set_flag` and `wait_event` a `wait_flag`. Within one pipe a flag would wait for the pipe itself:
//! recording says nothing there, and waiting is a barrier. The vector pipe of A5 runs in order, so there its barriers go.

use chip::Arch;
use ir::builder::attrs;
use ir::{Attr, Attrs, Opcode as C, Program};

use crate::edit::{Fate, become_op, rewrite};

pub(crate) fn lower_events(program: &mut Program) {
    let arch = program.arch;
    for id in program.functions.keys().collect::<Vec<_>>() {
        rewrite(&mut program.functions[id], &mut |b, op| {
            let data = &b.func.ops[op];
            if !matches!(data.opcode, C::RecordEvent | C::WaitEvent) {
                let idle = arch == Arch::A5 && data.opcode == C::Barrier && data.attrs.word("pipe") == Some("PIPE_V");
                return if idle { Fate::Go } else { Fate::Stay };
            }
            let pipe = |name: &str| data.attrs.word(name).and_then(pipe_of);
            // The verifier admits no other words.
            let (Some(from), Some(to)) = (pipe("source"), pipe("target")) else { return Fate::Stay };
            let event = data.attrs.word("event").unwrap_or("EVENT_ID0").to_owned();
            let wait = data.opcode == C::WaitEvent;
            let word = |w: &str| Attr::Word(w.to_owned());
            let (opcode, list): (C, Attrs) = match (from == to, wait) {
                (false, false) => (C::SetFlag, flag(from, to, event)),
                (false, true) => (C::WaitFlag, flag(from, to, event)),
                (true, true) if !(arch == Arch::A5 && from == "PIPE_V") => (C::Barrier, attrs([("pipe", word(from))])),
                (true, _) => return Fate::Go,
            };
            become_op(b.func, op, opcode, &[], list);
            Fate::Stay
        });
    }
}

fn flag(from: &str, to: &str, event: String) -> Attrs {
    attrs([("from", Attr::Word(from.to_owned())), ("to", Attr::Word(to.to_owned())), ("event", Attr::Word(event))])
}

/// The pipe that runs what an endpoint names (`spec/pto-assembly.md` §4.0, 4).
fn pipe_of(endpoint: &str) -> Option<&'static str> {
    Some(match endpoint {
        "TLOAD" => "PIPE_MTE2",
        "TSTORE_VEC" => "PIPE_MTE3",
        "TSTORE_ACC" | "TMOV_M2S" | "TMOV_V2M" => "PIPE_FIX",
        "TMOV_M2L" | "TMOV_M2B" => "PIPE_MTE1",
        "TMOV_M2V" | "TVEC" | "TVECWAIT_EVENT" => "PIPE_V",
        "TMATMUL" => "PIPE_M",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_endpoint_runs_on_a_pipe() {
        for endpoint in ir::ops::ENDPOINTS {
            assert!(super::pipe_of(endpoint).is_some_and(|p| ir::ops::PIPES.contains(&p)), "{endpoint}");
        }
    }
}
