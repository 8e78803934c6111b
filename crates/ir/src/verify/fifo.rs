//! FIFOs between the cores of a cluster (`spec/pto-assembly.md` §2.7).

use chip::{Core, Space};
use dtype::DType;

use super::buffers::{core_name, storage};
use super::kernel::valid_row_col;
use super::types::{exactly, result_is};
use super::{Check, Cx, Fault, ensure};
use crate::function::{Function, FunctionKind, OpData};
use crate::ops::Opcode as C;
use crate::types::{TileType, Type};

const C2V: i64 = 1;
const V2C: i64 = 2;

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    own_core(cx, op)?;
    match op.opcode {
        C::AicInitializePipe | C::AivInitializePipe => initialize(cx, op),
        C::ReserveBuffer => reserve(cx, op),
        C::ImportReservedBuffer => import(cx, op),
        C::TPushToAiv => push(cx, op, C2V),
        C::TPushToAic => push(cx, op, V2C),
        C::TPopFromAic => pop(cx, op, C2V, Space::Vec),
        C::TPopFromAiv => pop(cx, op, V2C, Space::Mat),
        C::TFreeFromAic => end(cx, op, C2V).map(drop),
        C::TFreeFromAiv => end(cx, op, V2C).map(drop),
        _ => Ok(()),
    }
}

/// `aic` initialises and pushes to `aiv` on the cube core, and the other way round.
fn own_core(cx: &Cx<'_>, op: &OpData) -> Check {
    let core = match op.opcode {
        C::AicInitializePipe | C::TPushToAiv | C::TPopFromAiv | C::TFreeFromAiv => Core::Cube,
        C::AivInitializePipe | C::TPushToAic | C::TPopFromAic | C::TFreeFromAic => Core::Vector,
        _ => return Ok(()),
    };
    ensure!(
        cx.function.kind == FunctionKind::Kernel(core),
        "core",
        "{} runs on the {} core; @{} does not",
        op.opcode.name(),
        core_name(core),
        cx.function.name
    );
    Ok(())
}

fn initialize(cx: &Cx<'_>, op: &OpData) -> Check {
    let int = |name| op.attrs.int(name);
    let mask = int("dir_mask").unwrap_or(0);
    ensure!((1..=3).contains(&mask), "fifo-init", "dir_mask is 1, 2 or 3, not {mask}");
    ensure!(
        int("slot_size").is_some_and(|n| n > 0 && n % 32 == 0),
        "fifo-init",
        "slot_size must be a positive multiple of 32"
    );
    for name in ["slot_num", "local_slot_num"] {
        ensure!(int(name).is_none_or(|n| n > 0), "fifo-init", "{name} must be positive");
    }
    if let Some(local) = int("local_slot_num") {
        let slots = int("slot_num").unwrap_or(if mask == (C2V | V2C) { 4 } else { 8 });
        ensure!(local <= slots, "fifo-init", "{local} of {slots} slots cannot be local");
    }
    let through_memory = cx.program.arch.chip().fifo_through_global_memory;
    // Slots that are views are in global memory everywhere.
    let views = !op.named("gm_slot_tensor").is_empty();
    ensure!(
        cx.assembles() || views || op.named("gm_slot_buffer").is_empty() != through_memory,
        "fifo-init",
        "on {} slots are in {}",
        cx.program.arch,
        if through_memory { "global memory: `gm_slot_buffer` is needed" } else { "the consumer's buffer" }
    );
    for (bit, group) in [(C2V, "c2v_consumer_buf"), (V2C, "v2c_consumer_buf")] {
        let given = !op.named(group).is_empty();
        // A literal zero stands for no buffer.
        let none = op.named(group).first().is_some_and(|&v| cx.constant(v) == Some(0));
        ensure!(
            cx.assembles() || !given || none || mask & bit != 0,
            "fifo-init",
            "`{group}` is for a direction that dir_mask {mask} does not have"
        );
        ensure!(
            cx.assembles() || given || views || through_memory || mask & bit == 0,
            "fifo-init",
            "on {} dir_mask {mask} needs `{group}`",
            cx.program.arch
        );
    }
    let same = all(cx.function).filter(|o| {
        matches!(o.opcode, C::AicInitializePipe | C::AivInitializePipe) && o.attrs.int("id") == op.attrs.int("id")
    });
    let masks: i64 = same.clone().map(|o| o.attrs.int("dir_mask").unwrap_or(0)).sum();
    ensure!(
        same.count() == 1 || masks == (C2V | V2C),
        "fifo-init",
        "FIFO {} is set up twice in @{}",
        op.attrs.int("id").unwrap_or(-1),
        cx.function.name
    );
    Ok(())
}

fn all(f: &Function) -> impl Iterator<Item = &OpData> + Clone {
    f.walk().into_iter().map(|op| &f.ops[op])
}

/// The set-up of the FIFO that this end names.
fn end<'a>(cx: &Cx<'a>, op: &OpData, direction: i64) -> Result<&'a OpData, Fault> {
    let id = op.attrs.int("id");
    all(cx.function)
        .find(|o| {
            matches!(o.opcode, C::AicInitializePipe | C::AivInitializePipe)
                && o.attrs.int("id") == id
                && o.attrs.int("dir_mask").unwrap_or(0) & direction != 0
        })
        .ok_or_else(|| Fault {
            code: "fifo-end",
            message: format!(
                "@{} sets up no FIFO {} that goes from the {} to the {} core",
                cx.function.name,
                id.unwrap_or(-1),
                if direction == C2V { "cube" } else { "vector" },
                if direction == C2V { "vector" } else { "cube" },
            ),
        })
}

fn fits(init: &OpData, t: &TileType) -> Check {
    // The fix pipe changes the elements on the way.
    if init.attrs.get("acc_push_epilogue").is_some() {
        return Ok(());
    }
    let slot = init.attrs.int("slot_size").unwrap_or(0);
    ensure!(
        u64::try_from(slot).is_ok_and(|n| t.bytes() <= n),
        "fifo-end",
        "{t} needs {} bytes; a slot has {slot}",
        t.bytes()
    );
    Ok(())
}

fn push(cx: &Cx<'_>, op: &OpData, direction: i64) -> Check {
    let t = cx.tile(op.operands[0])?;
    let space = if direction == C2V { Space::Acc } else { Space::Vec };
    ensure!(t.space == Some(space), "operand-space", "{} pushes from {space}; this is {t}", op.opcode.name());
    fits(end(cx, op, direction)?, t)
}

fn pop(cx: &Cx<'_>, op: &OpData, direction: i64, space: Space) -> Check {
    result_is(cx, op, |ty| matches!(ty, Type::Tile(_)), "a tile")?;
    let t = cx.output(op)?;
    ensure!(t.space == Some(space), "operand-space", "{} pops into {space}; this is {t}", op.opcode.name());
    // Without extents they are those of the tile that was pushed.
    valid_row_col(op, t, true)?;
    let init = end(cx, op, direction)?;
    // A part of a slot may lie in a larger buffer.
    if cx.assembles() {
        return Ok(());
    }
    storage(cx, t)?;
    fits(init, t)
}

fn reserve(cx: &Cx<'_>, op: &OpData) -> Check {
    exactly(cx, op, &Type::Scalar(DType::I32))?;
    let name = op.attrs.word("name").unwrap_or("");
    let count = all(cx.function).filter(|o| o.opcode == C::ReserveBuffer && o.attrs.word("name") == Some(name)).count();
    ensure!(count == 1, "reserved-buffer", "@{} reserves `{name}` {count} times", cx.function.name);
    let size = op.attrs.int("size").unwrap_or(0);
    ensure!(size > 0, "reserved-buffer", "`{name}` has the size {size}");
    let placed = cx.function.properties.placed;
    ensure!(
        op.attrs.int("base").is_some() == placed,
        "reserved-buffer",
        "@{} is {}placed; `{name}` has {} base",
        cx.function.name,
        if placed { "" } else { "not " },
        if placed { "no" } else { "a" }
    );
    Ok(())
}

fn import(cx: &Cx<'_>, op: &OpData) -> Check {
    exactly(cx, op, &Type::Scalar(DType::I32))?;
    let name = op.attrs.word("name").unwrap_or("");
    let peers = op.attrs.symbols("peer_func").unwrap_or(&[]);
    ensure!(peers.len() == 1, "reserved-buffer", "`{name}` is imported from one function, not {}", peers.len());
    let named = cx.program.functions.iter().filter(|(_, f)| f.name == peers[0] && !f.is_declaration()).count();
    ensure!(named < 2, "reserved-buffer", "there are {named} functions @{}; which is meant?", peers[0]);
    let peer = cx.program.function(&peers[0]).map(|id| &cx.program.functions[id]);
    let found =
        peer.is_some_and(|f| all(f).any(|o| o.opcode == C::ReserveBuffer && o.attrs.word("name") == Some(name)));
    ensure!(found, "reserved-buffer", "@{} reserves no buffer `{name}`", peers[0]);
    Ok(())
}
