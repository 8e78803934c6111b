//! Ways to break an explicit order.

use control::Control;
use ir::{Attr, Block, Function, Op, Opcode as C};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    DropSet,
    DropWait,
    /// A set and the next wait for it in its block.
    DropPair,
    DropBarrier,
    /// A set raises another event of its pipes.
    SwapEvent,
    /// A wait goes into the next loop of unknown turns of its block.
    WaitIntoLoop,
    /// A wait goes before the set of its block that it waits for.
    WaitBeforeSet,
    DropRelease,
    /// Taking a token, and giving it back in the same block.
    DropToken,
}

impl Fault {
    pub(crate) const ALL: [Fault; 9] = [
        Fault::DropSet,
        Fault::DropWait,
        Fault::DropPair,
        Fault::DropBarrier,
        Fault::SwapEvent,
        Fault::WaitIntoLoop,
        Fault::WaitBeforeSet,
        Fault::DropRelease,
        Fault::DropToken,
    ];

    /// Whether flags or tokens are not used by turns any more, whatever the bytes.
    pub(crate) fn unpairs(self) -> bool {
        !matches!(self, Fault::DropPair | Fault::DropBarrier | Fault::DropToken)
    }
}

fn key(f: &Function, op: Op) -> [Option<&str>; 3] {
    ["from", "to", "event"].map(|name| f.ops[op].attrs.word(name))
}

/// Where a fault could go: the operation, and the other one it is about.
fn sites(f: &Function, fault: Fault) -> Vec<(Op, Option<Op>)> {
    let walk = f.walk();
    let of = |opcode: C| walk.iter().copied().filter(move |&op| f.ops[op].opcode == opcode);
    let behind = |op: Op| {
        let ops = &f.blocks[f.ops[op].block].ops;
        let at = ops.iter().position(|&o| o == op).map_or(0, |at| at + 1);
        ops[at..].iter().copied()
    };
    let alone = |op: Op| (op, None);
    let wait_for = |set: Op| behind(set).find(|&o| f.ops[o].opcode == C::WaitFlag && key(f, o) == key(f, set));
    let token = |op: Op| (f.ops[op].attrs.word("source"), f.ops[op].attrs.int("buffer"));
    let release = |get: Op| behind(get).find(|&o| f.ops[o].opcode == C::RlsBuf && token(o) == token(get));
    let unknown = |op: &Op| {
        f.ops[*op].opcode == C::For
            && ["lower", "upper", "step"].iter().any(|n| f.const_int(f.ops[*op].named(n)[0]).is_none())
    };
    match fault {
        Fault::DropSet | Fault::SwapEvent => of(C::SetFlag).map(alone).collect(),
        Fault::DropWait => of(C::WaitFlag).map(alone).collect(),
        Fault::DropBarrier => of(C::Barrier).map(alone).collect(),
        Fault::DropPair | Fault::WaitBeforeSet => {
            of(C::SetFlag).filter_map(|set| Some((set, Some(wait_for(set)?)))).collect()
        }
        Fault::DropRelease => of(C::RlsBuf).map(alone).collect(),
        Fault::DropToken => of(C::GetBuf).filter_map(|get| Some((get, Some(release(get)?)))).collect(),
        Fault::WaitIntoLoop => {
            of(C::WaitFlag).filter_map(|wait| Some((wait, Some(behind(wait).find(|op| unknown(op))?)))).collect()
        }
    }
}

fn take(f: &mut Function, op: Op) -> Block {
    let block = f.ops[op].block;
    f.blocks[block].ops.retain(|&o| o != op);
    block
}

/// Puts one fault into a function, somewhere; false if there is no place for it.
pub(crate) fn inject(f: &mut Function, fault: Fault, control: &mut Control) -> bool {
    let sites = sites(f, fault);
    if sites.is_empty() {
        return false;
    }
    let (op, other) = sites[control.choose(sites.len())];
    match (fault, other) {
        (Fault::SwapEvent, _) => {
            let event = f.ops[op].attrs.word("event").and_then(|w| w.strip_prefix("EVENT_ID")?.parse::<usize>().ok());
            let next = (event.unwrap_or(0) + 1 + control.choose(7)) % 8;
            f.ops[op].attrs.set("event", Attr::Word(format!("EVENT_ID{next}")));
        }
        (Fault::WaitIntoLoop, Some(into)) => {
            take(f, op);
            let body = f.ops[into].regions[0];
            f.blocks[body].ops.insert(0, op);
            f.ops[op].block = body;
        }
        (Fault::WaitBeforeSet, Some(wait)) => {
            let block = take(f, wait);
            let ops = &mut f.blocks[block].ops;
            let at = ops.iter().position(|&o| o == op).unwrap_or(0);
            ops.insert(at, wait);
        }
        (_, other) => {
            take(f, op);
            other.map(|other| take(f, other));
        }
    }
    true
}
