//! Global memory that other ranks, or the whole launch, look at: its extents are known, and flat where transfers are.

use dtype::DType;

use crate::entity::Value;
use crate::function::OpData;
use crate::ops::Opcode as C;
use crate::types::{Dim, Type};
use crate::verify::{Check, Cx, ensure};

/// Words of a workspace that a barrier without hardware needs.
const WORKSPACE: u64 = 16;

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    match op.opcode {
        C::CommTPut | C::CommTGet => pair(cx, op),
        C::CommTNotify | C::CommTWait | C::CommTTest => fixed(cx, op, "signal", op.named("signal")),
        C::CommBroadcast | C::CommScatter => fixed(cx, op, "source", op.named("source")),
        C::CommGather | C::CommReduce => fixed(cx, op, "destination", op.named("dest")),
        C::CommPutAsync | C::CommGetAsync => {
            fixed(cx, op, "destination", op.named("dest"))?;
            fixed(cx, op, "source", op.named("source"))?;
            flat(cx, op, op.named("dest")[0])?;
            flat(cx, op, op.named("source")[0])
        }
        C::TPrefetchAsync => flat(cx, op, op.named("source")[0]),
        C::SyncAllSoft => workspace(cx, op),
        C::TPrint => {
            let tile = cx.ty(op.named("source")[0]).as_tile().is_some();
            ensure!(tile || op.named("tmp").is_empty(), "scratch", "only of a tile is printed through memory");
            Ok(())
        }
        _ => Ok(()),
    }
}

fn shape<'a>(cx: &Cx<'a>, value: Value) -> Option<&'a [Dim]> {
    match cx.ty(value) {
        Type::View(t) => Some(&t.shape),
        Type::PartView { shape, .. } => Some(shape),
        _ => None,
    }
}

fn fixed(cx: &Cx<'_>, op: &OpData, what: &str, values: &[Value]) -> Check {
    for &value in values {
        let dynamic = shape(cx, value).is_some_and(|dims| dims.contains(&Dim::Dynamic));
        ensure!(
            !dynamic,
            "rank-extents",
            "the {what} of {} has known extents; this is {}",
            op.opcode.name(),
            cx.ty(value)
        );
    }
    Ok(())
}

/// A copy between ranks: the same extents are known on both sides, of boxes; none is zero.
fn pair(cx: &Cx<'_>, op: &OpData) -> Check {
    let (dest, source) = (op.named("dest")[0], op.named("source")[0]);
    let name = op.opcode.name();
    for value in [dest, source] {
        let Some(dims) = shape(cx, value) else { continue };
        let ty = cx.ty(value);
        let view = matches!(ty, Type::View(_)) && dims.contains(&Dim::Dynamic);
        ensure!(!view, "rank-extents", "{name} of extents at run time is between boxes, not {ty}");
        ensure!(!dims.contains(&Dim::Static(0)), "rank-extents", "{name} moves nothing of {ty}");
    }
    if let (Some(a), Some(b)) = (shape(cx, dest), shape(cx, source)) {
        let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b);
        ensure!(
            same,
            "rank-extents",
            "{name} is between boxes of the same extents, not {} and {}",
            cx.ty(dest),
            cx.ty(source)
        );
    }
    Ok(())
}

/// One run of elements: at most one extent is not 1.
fn flat(cx: &Cx<'_>, op: &OpData, value: Value) -> Check {
    let long = shape(cx, value).map_or(0, |dims| dims.iter().filter(|d| **d != Dim::Static(1)).count());
    let known = shape(cx, value).is_none_or(|dims| dims.iter().all(|d| d.known().is_some()));
    ensure!(
        long <= 1 && known,
        "rank-extents",
        "{} moves one run of elements of known length, not {}",
        op.opcode.name(),
        cx.ty(value)
    );
    Ok(())
}

fn workspace(cx: &Cx<'_>, op: &OpData) -> Check {
    let value = op.named("workspace")[0];
    let ty = cx.ty(value);
    ensure!(ty.element() == Some(DType::I32), "operand-types", "a barrier's workspace is of i32, not {ty}");
    let words = shape(cx, value).and_then(|dims| dims.iter().try_fold(1u64, |n, d| n.checked_mul(d.known()?)));
    if let Some(words) = words {
        ensure!(
            words >= WORKSPACE,
            "rank-extents",
            "a barrier's workspace has {WORKSPACE} words at least, not {words}"
        );
    }
    for &used in op.named("used") {
        ensure!(
            *cx.ty(used) == Type::Scalar(DType::I32),
            "operand-types",
            "a number of cores is i32, not {}",
            cx.ty(used)
        );
    }
    Ok(())
}
