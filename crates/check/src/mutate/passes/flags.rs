//! Faults of what orders the pipes.

use control::Control;
use ir::builder::detach;
use ir::{Attr, Function, Op, Opcode as C};

use super::kernel::{behind, position};
use super::{Fault, Site};

/// Pipes and event of a flag.
pub(super) fn key(func: &Function, op: Op) -> [Option<&str>; 3] {
    ["from", "to", "event"].map(|name| func.ops[op].attrs.word(name))
}

/// The next wait in its block for what a set raises.
pub(super) fn wait_for(func: &Function, set: Op) -> Option<Op> {
    behind(func, set).iter().copied().find(|&o| func.ops[o].opcode == C::WaitFlag && key(func, o) == key(func, set))
}

/// Where the token that an operation takes is given back, in its block.
pub(super) fn release(func: &Function, get: Op) -> Option<Op> {
    let token = |op: Op| (func.ops[op].attrs.word("source"), func.ops[op].attrs.int("buffer"));
    behind(func, get).iter().copied().find(|&o| func.ops[o].opcode == C::RlsBuf && token(o) == token(get))
}

/// The loop behind a set in its block that waits for its flag and raises it again in each turn, and the set's partners: the
/// wait and set inside, and the wait behind.
pub(super) fn guard(func: &Function, set: Op) -> Option<Vec<Op>> {
    let is = |o: Op, opcode: C| func.ops[o].opcode == opcode && key(func, o) == key(func, set);
    let rest = behind(func, set);
    let at = rest.iter().position(|&o| matches!(func.ops[o].opcode, C::For | C::While))?;
    let inside = func.ops[rest[at]].regions.iter().flat_map(|&r| func.blocks[r].ops.iter().copied());
    let inside: Vec<Op> = inside.filter(|&o| is(o, C::WaitFlag) || is(o, C::SetFlag)).collect();
    let last = rest[at + 1..].iter().copied().find(|&o| is(o, C::WaitFlag))?;
    let none_before = !rest[..at].iter().any(|&o| is(o, C::WaitFlag));
    (none_before && inside.len() >= 2).then(|| inside.into_iter().chain([last]).collect())
}

const PIPES: [&str; 6] = ["PIPE_V", "PIPE_MTE2", "PIPE_MTE3", "PIPE_MTE1", "PIPE_M", "PIPE_FIX"];

/// Makes the fault and says what it is.
pub(super) fn apply(func: &mut Function, site: &Site, seed: u64) -> Option<String> {
    let op = site.op;
    let mut control = Control::new(seed);
    match site.fault {
        Fault::DroppedSet | Fault::DroppedWait | Fault::DroppedBarrier | Fault::DroppedRelease => {
            detach(func, op);
            Some("left out".to_owned())
        }
        Fault::DroppedPair | Fault::DroppedToken => {
            detach(func, op);
            detach(func, site.other?);
            Some("left out, with its partner".to_owned())
        }
        Fault::DroppedGuard => {
            let all = guard(func, op)?;
            detach(func, op);
            all.into_iter().for_each(|o| detach(func, o));
            Some("left out, with its partners in the loop and behind".to_owned())
        }
        Fault::WrongPipe => {
            let end = ["from", "to"][control.choose(2)];
            let own = ["from", "to"].map(|e| func.ops[op].attrs.word(e).unwrap_or_default().to_owned());
            // The other of a pair too: alone it would be a flag that nobody has.
            let others: Vec<&str> = PIPES.into_iter().filter(|p| own.iter().all(|o| o != p)).collect();
            let pipe = others[control.choose(others.len())];
            for o in [Some(op), site.other].into_iter().flatten() {
                func.ops[o].attrs.set(end, Attr::Word(pipe.to_owned()));
            }
            Some(format!("`{end}` is {pipe}"))
        }
        Fault::EventCollision => {
            let event = func.ops[site.other?].attrs.word("event")?.to_owned();
            let wait = wait_for(func, op);
            for o in [Some(op), wait].into_iter().flatten() {
                func.ops[o].attrs.set("event", Attr::Word(event.clone()));
            }
            Some(format!("event is {event}, which is another's"))
        }
        Fault::WaitInLoop => {
            detach(func, op);
            let body = *func.ops[site.other?].regions.first()?;
            func.blocks[body].ops.insert(0, op);
            func.ops[op].block = body;
            Some("stands in the loop behind it".to_owned())
        }
        Fault::WaitBeforeSet => {
            let wait = site.other?;
            let block = func.ops[op].block;
            detach(func, wait);
            let at = position(func, op);
            func.blocks[block].ops.insert(at, wait);
            Some("its wait stands before it".to_owned())
        }
        _ => None,
    }
}
