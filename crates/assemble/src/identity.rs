//! Moves of a tile to where it is already go.
//!
//! A plain `tmov` between two tiles of one type at one address changes no byte. It may still be the only thing that joins
//! what was written as one tile to what is read as the other, for tools that go by names; so it stays if anything else
//! uses the destination, or a third tile on the same bytes.

use ir::{Function, Op, Opcode as C, Program, TileType, Value};

use crate::alias::bytes;
use crate::edit::{Fate, constant, rewrite};

pub(crate) fn remove_identity_moves(program: &mut Program) {
    for id in program.functions.keys().collect::<Vec<_>>() {
        let func = &mut program.functions[id];
        let idle: Vec<Op> = func.walk().into_iter().filter(|&op| is_idle(func, op)).collect();
        if idle.is_empty() {
            continue;
        }
        rewrite(func, &mut |_, op| if idle.contains(&op) { Fate::Go } else { Fate::Stay });
    }
}

fn is_idle(func: &Function, op: Op) -> bool {
    let data = &func.ops[op];
    let Some(dest) = data.dest().filter(|_| data.opcode == C::TMov && data.attrs.is_empty()) else { return false };
    let source = data.named("source")[0];
    let (Some(from), Some(to)) = (tile_at(func, source), tile_at(func, dest)) else { return false };
    if source == dest {
        return true;
    }
    let same = from.address == to.address && from.ty == to.ty && from.valid == to.valid;
    same && func.users(dest) == [op] && !third_tile(func, source, dest, &to)
}

/// A tile at a known address.
struct At<'f> {
    address: u64,
    ty: &'f TileType,
    /// Its dynamic valid extents.
    valid: &'f [Value],
}

fn tile_at(func: &Function, value: Value) -> Option<At<'_>> {
    let data = &func.ops[func.def_op(value)?];
    let ty = func.ty(value).as_tile().filter(|_| data.opcode == C::AllocTile)?;
    let address = constant(func, *data.named("addr").first()?)?;
    Some(At { address: u64::try_from(address).ok()?, ty, valid: &data.operands[1..] })
}

/// Whether a tile other than these two, of bytes that are or may be these, is used anywhere.
fn third_tile(func: &Function, source: Value, dest: Value, at: &At<'_>) -> bool {
    let end = at.address.saturating_add(bytes(at.ty));
    func.walk().into_iter().any(|op| {
        let data = &func.ops[op];
        let Some(value) = data.result().filter(|&v| v != source && v != dest) else { return false };
        let meets = match data.opcode {
            C::AllocTile => match tile_at(func, value) {
                Some(other) => {
                    other.ty.space == at.ty.space
                        && other.address < end
                        && at.address < other.address.saturating_add(bytes(other.ty))
                }
                None => func.ty(value).as_tile().is_some_and(|t| t.space == at.ty.space),
            },
            C::AllocTiles | C::TAssign => true,
            _ => false,
        };
        meets && !func.users(value).is_empty()
    })
}
