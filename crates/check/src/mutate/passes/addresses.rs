//! Faults of what gives tiles their addresses.

use chip::{Arch, BLOCK_BYTES};
use control::Control;
use ir::{Function, Op};

use super::kernel::address;
use super::moves::set_address;
use super::{Fault, Site};
use crate::mutate::edit::operand;

/// Makes the fault and says what it is.
pub(super) fn apply(arch: Arch, func: &mut Function, site: &Site, seed: u64) -> Option<String> {
    let alloc = site.op;
    let mut control = Control::new(seed);
    let block = BLOCK_BYTES as i64;
    let (old, space, bytes) = place(func, alloc)?;
    let capacity = arch.chip().capacity(space).assembler as i64;
    let new = match site.fault {
        Fault::CoalescedTiles | Fault::LostPhi | Fault::SharedScratch => return onto(func, alloc, site.other?),
        // On the operand, or a little further.
        Fault::InPlace => match control.choose(3) {
            0 => address(func, site.other?)? + block,
            _ => return onto(func, alloc, site.other?),
        },
        Fault::ShiftedAddress => old + [block, -block][control.choose(2)],
        Fault::WrongAddress => {
            // Beyond all others it would do no harm.
            let places = used(func, space).min(capacity - bytes).max(0) / block + 1;
            control.choose(usize::try_from(places).ok()?) as i64 * block
        }
        _ => return None,
    };
    let fits = new != old && new >= 0 && new + bytes <= capacity;
    (fits && set_address(func, alloc, new)).then(|| format!("lies at {new}, not at {old}"))
}

/// Address, space and bytes of an `alloc_tile`.
fn place(func: &Function, alloc: Op) -> Option<(i64, chip::Space, i64)> {
    let tile = func.ty(func.ops[alloc].result()?).as_tile()?;
    Some((address(func, alloc)?, tile.space?, tile.bytes() as i64))
}

/// How many bytes of a space have tiles.
fn used(func: &Function, space: chip::Space) -> i64 {
    let allocs = func.ops.keys().filter(|&op| func.ops[op].opcode == ir::Opcode::AllocTile);
    let places = allocs.filter_map(|op| place(func, op)).filter(|(_, s, _)| *s == space);
    places.map(|(at, _, bytes)| at + bytes).max().unwrap_or(0)
}

/// On the bytes of another tile.
fn onto(func: &mut Function, alloc: Op, other: Op) -> Option<String> {
    let at = address(func, other)?;
    let text = ir::text::print_op(func, other);
    operand(&func.ops[alloc], "addr")?;
    set_address(func, alloc, at).then(|| format!("lies on the bytes of `{text}`"))
}
