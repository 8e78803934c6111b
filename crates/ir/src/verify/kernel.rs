//! Operations of kernels on global memory and on descriptors of tiles.

use super::buffers::{inner_box, storage};
use super::tensor::{axes, gathered};
use super::types::{exactly, result_is, valid_operands};
use super::{Check, Cx, Fault, ensure};
use crate::entity::Value;
use crate::function::OpData;
use crate::ops::Opcode as C;
use crate::types::{Dim, TileType, Type};
use chip::Space;
use dtype::DType;

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    match op.opcode {
        C::MakeTensorView => {
            result_is(cx, op, |ty| matches!(ty, Type::View(_)), "a tensor view")?;
            let Some(Type::View(t)) = op.result().map(|r| cx.ty(r)) else { return Ok(()) };
            let ptr = cx.ty(op.operands[0]);
            ensure!(*ptr == Type::Ptr(t.dtype), "operand-types", "{ptr} cannot become a view of {}", t.dtype);
            axes(op, "extents", op.named("shape").len(), t.rank())?;
            axes(op, "strides", op.named("strides").len(), t.rank())?;
            known(cx, op, "extent", op.named("shape"), &t.shape)?;
            known(cx, op, "stride", op.named("strides"), &t.strides)
        }
        C::PartitionView => {
            let Type::View(t) = cx.ty(op.operands[0]) else { return Ok(()) };
            axes(op, "offsets", op.named("offsets").len(), t.rank())?;
            axes(op, "sizes", op.named("sizes").len(), t.rank())?;
            result_is(cx, op, |ty| matches!(ty, Type::PartView { .. }), "a partition view")?;
            let Some(Type::PartView { dtype, shape }) = op.result().map(|r| cx.ty(r)) else { return Ok(()) };
            ensure!(*dtype == t.dtype, "result-type", "a box of {} cannot have elements of {dtype}", t.dtype);
            ensure!(
                shape.len() == t.rank(),
                "result-type",
                "a box of a view of {} axes cannot have {}",
                t.rank(),
                shape.len()
            );
            known(cx, op, "size", op.named("sizes"), shape)
        }
        C::AddPtr => exactly(cx, op, cx.ty(op.operands[0])),
        C::LoadScalar => match cx.ty(op.operands[0]) {
            Type::Ptr(d) => exactly(cx, op, &Type::Scalar(*d)),
            _ => Ok(()),
        },
        C::StoreScalar => {
            let (value, ptr) = (cx.ty(op.operands[0]), cx.ty(op.operands[1]));
            ensure!(ptr.element() == value.as_scalar(), "operand-types", "{name} cannot write {value} through {ptr}");
            Ok(())
        }
        C::TLoad => {
            let (Type::PartView { dtype, shape }, out) = (cx.ty(op.operands[0]), cx.output(op)?) else { return Ok(()) };
            ensure!(*dtype == out.dtype, "dest-type", "{name} copies {dtype} elements; the destination is {out}");
            space(op, "destination", out, &[Space::Vec, Space::Mat])?;
            flat(op, shape, out)
        }
        C::TStore => tstore(cx, op),
        C::MGather | C::MScatter => gather(cx, op),
        C::AllocTile => alloc(cx, op),
        C::Subview => subview(cx, op),
        _ => Ok(()),
    }
}

/// Where the type states an extent, a constant operand is that extent.
fn known(cx: &Cx<'_>, op: &OpData, what: &str, values: &[Value], dims: &[Dim]) -> Check {
    for (axis, (&value, dim)) in values.iter().zip(dims).enumerate() {
        if let (Some(found), Dim::Static(n)) = (cx.constant(value), dim) {
            ensure!(
                u64::try_from(found) == Ok(*n),
                "result-type",
                "the {what} {found} along axis {axis} is {n} in the type of {}",
                op.opcode.name()
            );
        }
    }
    Ok(())
}

fn space(op: &OpData, what: &str, t: &TileType, spaces: &[Space]) -> Check {
    ensure!(
        t.space.is_some_and(|s| spaces.contains(&s)),
        "operand-space",
        "the {what} of {} cannot be {t}",
        op.opcode.name()
    );
    Ok(())
}

/// The box of global memory has the extents of the tile's valid region: leading axes are rows.
fn flat(op: &OpData, shape: &[Dim], t: &TileType) -> Check {
    let rows = shape[..shape.len() - 1].iter().map(|d| d.known()).try_fold(1u64, |p, n| n.map(|n| p * n));
    let cols = shape.last().and_then(|d| d.known());
    for (what, found, valid) in [("rows", rows, t.valid[0]), ("columns", cols, t.valid[1])] {
        if let (Some(found), Dim::Static(valid)) = (found, valid) {
            ensure!(
                found == valid,
                "box-shape",
                "the box of {} has {found} {what}; {valid} of the tile are valid",
                op.opcode.name()
            );
        }
    }
    Ok(())
}

fn tstore(cx: &Cx<'_>, op: &OpData) -> Check {
    let t = cx.tile(op.operands[0])?;
    let Some(Type::PartView { dtype, shape }) = op.dest().map(|d| cx.ty(d)) else { return Ok(()) };
    let narrows = t.space == Some(Space::Acc) && t.dtype == DType::F32 && matches!(dtype, DType::F16 | DType::BF16);
    ensure!(
        t.dtype == *dtype || narrows,
        "store-dtype",
        "a tile of {} is stored into a tensor of {dtype}; convert it first",
        t.dtype
    );
    let spaces: &[Space] = match cx.program.arch {
        chip::Arch::A2a3 => &[Space::Vec, Space::Acc, Space::Mat],
        chip::Arch::A5 => &[Space::Vec, Space::Acc],
    };
    space(op, "source", t, spaces)?;
    flat(op, shape, t)
}

/// `mgather` and `mscatter`: tiles in Vec, a box of global memory.
fn gather(cx: &Cx<'_>, op: &OpData) -> Check {
    let (memory, tile) = match op.opcode {
        C::MScatter => (op.dest(), Some(op.operands[0])),
        _ => (Some(op.operands[0]), op.dest()),
    };
    let (Some(memory), Some(tile)) = (memory.map(|v| cx.ty(v)), tile.map(|v| cx.ty(v))) else { return Ok(()) };
    let (Type::PartView { dtype, shape }, Type::Tile(tile)) = (memory, tile) else { return Ok(()) };
    let indices = cx.tile(op.named("indices")[0])?;
    ensure!(*dtype == tile.dtype, "dest-type", "{} between {tile} and a view of {dtype}", op.opcode.name());
    space(op, "tile", tile, &[Space::Vec])?;
    space(op, "indices", indices, &[Space::Vec])?;
    gathered(op, indices, tile, shape.len(), shape.last().copied())
}

fn tile_result<'a>(cx: &Cx<'a>, op: &OpData) -> Result<&'a TileType, Fault> {
    result_is(cx, op, |ty| matches!(ty, Type::Tile(_)), "a tile")?;
    cx.output(op)
}

/// `valid_row` and `valid_col` are there exactly for dynamic extents.
pub(super) fn valid_row_col(op: &OpData, t: &TileType, optional: bool) -> Check {
    for (group, dim) in [("valid_row", t.valid[0]), ("valid_col", t.valid[1])] {
        valid_operands(op, op.named(group).len(), &[dim], optional)?;
    }
    Ok(())
}

fn alloc(cx: &Cx<'_>, op: &OpData) -> Check {
    let t = tile_result(cx, op)?;
    valid_row_col(op, t, false)?;
    storage(cx, t)?;
    let placed = cx.function.properties.placed;
    let addr = op.named("addr").first().copied();
    ensure!(
        addr.is_some() == placed,
        "tile-address",
        "@{} is {}placed; its buffers have {}addresses",
        cx.function.name,
        if placed { "" } else { "not " },
        if placed { "" } else { "no " }
    );
    if let (Some(addr), Some(space)) = (addr.and_then(|v| cx.constant(v)), t.space) {
        let capacity = cx.program.arch.chip().capacity(space).physical as u64;
        let fits = u64::try_from(addr).is_ok_and(|a| a.is_multiple_of(32) && a <= capacity.saturating_sub(t.bytes()));
        ensure!(
            fits,
            "tile-address",
            "{addr} is no address for {} bytes in the {space} buffer of {capacity}: it must be a multiple of 32, in range",
            t.bytes()
        );
    }
    Ok(())
}

/// A window at `offsets` of `extents` lies inside `whole`, where offsets are known, and on whole boxes.
pub(super) fn window(cx: &Cx<'_>, op: &OpData, offsets: &[Value], extents: &[u64], whole: &TileType) -> Check {
    let boxes = inner_box(whole);
    for (axis, (&offset, &extent)) in offsets.iter().zip(extents).enumerate() {
        let n = whole.shape[axis];
        let Some(offset) = cx.constant(offset) else {
            ensure!(extent <= n, "window", "{extent} elements along axis {axis} are not in {whole}");
            continue;
        };
        let inside = u64::try_from(offset).is_ok_and(|o| o.checked_add(extent).is_some_and(|end| end <= n));
        ensure!(
            inside,
            "window",
            "{} reaches elements {offset} to {} along axis {axis} of {whole}",
            op.opcode.name(),
            i128::from(offset) + i128::from(extent)
        );
        let step = if axis == 0 { boxes.0 } else { boxes.1 };
        ensure!(
            (offset as u64).is_multiple_of(step),
            "window",
            "offset {offset} along axis {axis} of {whole} is inside a box; boxes are {} by {}",
            boxes.0,
            boxes.1
        );
    }
    Ok(())
}

fn subview(cx: &Cx<'_>, op: &OpData) -> Check {
    let source = cx.tile(op.operands[0])?;
    let t = tile_result(cx, op)?;
    let sizes = op.attrs.ints("sizes").unwrap_or(&[]);
    axes(op, "sizes", sizes.len(), 2)?;
    ensure!(
        sizes.iter().zip(&t.shape).all(|(&s, &n)| u64::try_from(s) == Ok(n)),
        "box-shape",
        "a window of {sizes:?} cannot be {t}"
    );
    ensure!(
        t.dtype == source.dtype && t.space == source.space && t.layout == source.layout,
        "result-type",
        "a window of {source} has its element type, space and layout; {t} has not"
    );
    // Extents that are not given follow from the source's.
    valid_row_col(op, t, true)?;
    window(cx, op, &op.operands[1..3], &t.shape, source)
}
