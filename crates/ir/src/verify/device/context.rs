//! Where operations stand: helpers that stand for a tile operation, regions of scalar threads, and what addresses point to.

use chip::Space;
use dtype::DType;

use crate::function::OpData;
use crate::ops::Opcode as C;
use crate::types::{Opaque, Type};
use crate::verify::{Check, Cx, ensure};

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    let says = |name: &str| cx.function.attributes.iter().any(|(n, _)| n == name);
    if says("pto.tileop.helper") {
        helper(cx, op)?;
    }
    match op.opcode {
        C::Section if op.attrs.word("core") == Some("simt") => {
            ensure!(!says("pto.simt_entry"), "simt", "a function of threads launches no threads");
            let mut block = op.block;
            while let Some(parent) = cx.function.blocks[block].parent {
                let outer = &cx.function.ops[parent];
                let inside = outer.opcode == C::Section && outer.attrs.word("core") == Some("simt");
                ensure!(!inside, "simt", "threads launch no threads");
                block = outer.block;
            }
            Ok(())
        }
        C::TGetScaleAddr => {
            let out = cx.output(op)?;
            ensure!(out.space == Some(Space::Scaling), "operand-space", "scales are in scaling; this is {out}");
            Ok(())
        }
        C::IntToPtr => {
            let ty = op.result().map(|r| cx.ty(r));
            let index = ty.and_then(Type::element) == Some(DType::Index);
            ensure!(!index, "operand-types", "memory has no elements of type index");
            Ok(())
        }
        C::StructCreate => match op.result().map(|r| cx.ty(r)) {
            Some(Type::Opaque(Opaque::Struct(fields))) => {
                let fits = !fields.contains(&Type::BOOL);
                ensure!(fits, "struct-field", "a structure has no field of one bit");
                Ok(())
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The body of a tile operation of the user's own is micro-instructions: no other tile operations, no flags.
fn helper(cx: &Cx<'_>, op: &OpData) -> Check {
    use C::*;
    let name = op.opcode.name();
    ensure!(
        cx.function.results.is_empty(),
        "tileop-helper",
        "@{} stands for a tile operation; it returns nothing",
        cx.function.name
    );
    let order = matches!(
        op.opcode,
        SetFlag | WaitFlag | SetFlagDyn | WaitFlagDyn | RecordEvent | WaitEvent | Barrier | GetBuf | RlsBuf | TSync
    );
    ensure!(!order, "tileop-helper", "{name} orders pipes; in a helper that stands for a tile operation nothing does");
    let tiles = !op.dests.is_empty() || matches!(op.opcode, AllocTile | AllocTiles | DeclareTile);
    ensure!(!tiles, "tileop-helper", "{name} is a tile operation; the helper stands for one itself");
    Ok(())
}
