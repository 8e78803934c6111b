//! Where the assembler takes more than executors here run: layouts, extents and element types that the device has a form
//! for. `None`: nothing to say, the common rules hold.

use chip::{Arch, Space};
use dtype::DType;

use super::differ;
use crate::function::OpData;
use crate::ops::Opcode as C;
use crate::types::{Dim, Major, TileType, Type};
use crate::verify::types::{exactly, list};
use crate::verify::{Check, Cx, Fault, ensure};

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Option<Check> {
    use C::*;
    Some(match op.opcode {
        Select => select(cx, op),
        TLoad => load(cx, op),
        TStore => store(cx, op),
        MGather | MScatter => indexed(cx, op),
        TRowSum | TRowMax | TRowMin | TRowProd | TRowArgMax | TRowArgMin => reduce(cx, op, 1),
        TColSum | TColMax | TColMin | TColProd | TColArgMax | TColArgMin => reduce(cx, op, 0),
        TRowExpand => row_expand(cx, op),
        TRowExpandAdd | TRowExpandSub | TRowExpandMul | TRowExpandDiv | TRowExpandMax | TRowExpandMin => beside(cx, op),
        TSort32 => sort(cx, op),
        TTrans | TGatherB => vectors(cx, op, &["source"]),
        TSel => vectors(cx, op, &["a", "b"]),
        TSelS => vectors(cx, op, &["a"]),
        TCmp | TCmpS => compare(cx, op),
        TMatmul | TMatmulAcc | TMatmulBias | TGemv | TGemvAcc | TGemvBias => product(cx, op),
        TMatmulMx | TMatmulMxAcc | TMatmulMxBias | TGemvMx | TGemvMxAcc | TGemvMxBias => scaled_product(cx, op),
        TCvt => convert(cx, op),
        TFillPad => fill(cx, op)?,
        TGatherMask | TScatterMask if op.attrs.word("axis") == Some("col") => vectors(cx, op, &["source"]),
        TQuant => quantise(cx, op),
        TExtract | TInsert => window(cx, op)?,
        Subview => match (crate::verify::types::common(cx, op), subview(cx, op)) {
            (Ok(()), answer) => answer,
            (fault, _) => fault,
        },
        For => match (crate::verify::types::common(cx, op), cx.constant(op.named("step")[0])) {
            (Ok(()), Some(step)) if step <= 0 => {
                Err(Fault { code: "loop-bounds", message: format!("a loop counts up; its step is {step}") })
            }
            (answer, _) => answer,
        },
        _ => return None,
    })
}

fn operand<'a>(cx: &Cx<'a>, op: &OpData, group: &str) -> Result<Option<&'a TileType>, Fault> {
    match op.opcode.info().group(group).and_then(|g| op.group(g).first()) {
        Some(&value) => cx.tile(value).map(Some),
        None => Ok(None),
    }
}

/// The first operand, and what is made.
fn first<'a>(cx: &Cx<'a>, op: &OpData) -> Result<(&'a TileType, &'a TileType), Fault> {
    Ok((cx.tile(op.operands[0])?, cx.tile(op.dests[0])?))
}

fn in_vec(op: &OpData, what: &str, t: &TileType) -> Check {
    ensure!(
        t.space == Some(Space::Vec),
        "operand-space",
        "the {what} of {} must be in vec; this is {t}",
        op.opcode.name()
    );
    Ok(())
}

fn unboxed(op: &OpData, what: &str, t: &TileType) -> Check {
    ensure!(
        t.layout.slayout.is_none(),
        "operand-layout",
        "the {what} of {} has no boxes; this is {t}",
        op.opcode.name()
    );
    Ok(())
}

fn one_type(op: &OpData, a: &TileType, b: &TileType) -> Check {
    ensure!(a.dtype == b.dtype, "dest-type", "{} keeps the element type: {a} cannot become {b}", op.opcode.name());
    Ok(())
}

fn same_valid(op: &OpData, a: &TileType, b: &TileType) -> Check {
    for (axis, (&x, &y)) in a.valid.iter().zip(&b.valid).enumerate() {
        ensure!(
            !differ(x, y),
            "valid-region",
            "{} has {x} valid elements along axis {axis} of {a} and {y} of {b}",
            op.opcode.name()
        );
    }
    Ok(())
}

/// Scalars of one type; or buffers of one type, of which one is meant.
fn select(cx: &Cx<'_>, op: &OpData) -> Check {
    let (a, b) = (cx.ty(op.named("a")[0]), cx.ty(op.named("b")[0]));
    ensure!(a == b, "operand-types", "select chooses between values of one type, not {a} and {b}");
    ensure!(
        matches!(a, Type::Scalar(_) | Type::Tile(_) | Type::Ptr(_)),
        "operand-kind",
        "select chooses between scalars, pointers or buffers, not {a}"
    );
    exactly(cx, op, a)
}

fn load(cx: &Cx<'_>, op: &OpData) -> Check {
    let (source, out) = (cx.ty(op.operands[0]), cx.tile(op.dests[0])?);
    let Some(dtype) = source.element() else { return Ok(()) };
    ensure!(
        dtype.size() == out.dtype.size(),
        "dest-type",
        "tload copies elements of one size: {dtype} cannot become {}",
        out.dtype
    );
    ensure!(
        matches!(out.space, Some(Space::Vec | Space::Mat | Space::Scaling)),
        "operand-space",
        "the destination of tload cannot be {out}"
    );
    let boxed =
        matches!((out.layout.blayout, out.layout.slayout), (Major::Row, Some(_)) | (Major::Col, Some(Major::Col)));
    ensure!(
        !boxed || out.space != Some(Space::Vec),
        "operand-layout",
        "tload fills vec row by row, column by column or as nz; this is {out}"
    );
    Ok(())
}

/// Number of elements, if all extents are known.
fn count(dims: &[Dim]) -> Option<u64> {
    dims.iter().try_fold(1u64, |n, d| n.checked_mul(d.known()?))
}

fn store(cx: &Cx<'_>, op: &OpData) -> Check {
    let source = cx.tile(op.operands[0])?;
    let arch = cx.program.arch;
    let spaces: &[Space] =
        if arch == Arch::A5 { &[Space::Vec, Space::Acc] } else { &[Space::Vec, Space::Acc, Space::Mat] };
    ensure!(
        source.space.is_some_and(|s| spaces.contains(&s)),
        "operand-space",
        "tstore on {arch} cannot store {source}"
    );
    let Type::PartView { dtype, shape } = cx.ty(op.dests[0]) else { return Ok(()) };
    if source.space == Some(Space::Acc) {
        ensure!(
            matches!(source.dtype, DType::I32 | DType::F32),
            "element-types",
            "tstore of acc takes i32 and f32, not {}",
            source.dtype
        );
    } else {
        let sizes = (source.dtype.size(), dtype.size());
        ensure!(sizes.0 == sizes.1, "store-dtype", "a tile of {} is stored into a tensor of {dtype}", source.dtype);
    }
    if let (Some(box_), Some(valid)) = (count(shape), count(&source.valid)) {
        ensure!(
            valid == 0 || box_ == valid,
            "box-shape",
            "the box of tstore has {box_} elements; {valid} of the tile are valid"
        );
    }
    Ok(())
}

/// Rows are chosen by one index each, elements by one for each.
fn indexed(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let (tile, memory) = match op.opcode {
        C::MGather => (cx.tile(op.dests[0])?, cx.ty(op.operands[0])),
        _ => (cx.tile(op.operands[0])?, cx.ty(op.dests[0])),
    };
    let indices = cx.tile(op.named("indices")[0])?;
    ensure!(memory.element() == Some(tile.dtype), "dest-type", "{name} between {tile} and {memory}");
    ensure!(tile.space == Some(Space::Vec), "operand-space", "{name} into {tile} takes its indices from memory");
    in_vec(op, "indices", indices)?;
    ensure!(
        matches!(indices.dtype, DType::I32 | DType::U32),
        "operand-types",
        "{name} takes indices of 32 bits, not {indices}"
    );
    if op.attrs.word("mode") == Some("row")
        && let (Some(rows), &[Dim::Static(r), Dim::Static(c)]) = (tile.valid[0].known(), &indices.valid[..])
    {
        let fits = (r <= 1 && c == rows) || (c <= 1 && r == rows);
        ensure!(fits, "operand-types", "{name} of {rows} rows takes a row or column of as many indices, not {indices}");
    }
    Ok(())
}

/// `axis` goes.
fn reduce(cx: &Cx<'_>, op: &OpData, axis: usize) -> Check {
    let (source, out) = first(cx, op)?;
    let name = op.opcode.name();
    in_vec(op, "source", source)?;
    in_vec(op, "destination", out)?;
    unboxed(op, "source", source)?;
    unboxed(op, "destination", out)?;
    ensure!(
        source.layout.blayout == Major::Row,
        "operand-layout",
        "the source of {name} is row-major; this is {source}"
    );
    let places = matches!(op.opcode, C::TRowArgMax | C::TRowArgMin | C::TColArgMax | C::TColArgMin);
    let fits = if places { matches!(out.dtype, DType::I32 | DType::U32) } else { out.dtype == source.dtype };
    ensure!(fits, "dest-type", "{name} of {} does not make {}", source.dtype, out.dtype);
    // Of nothing nothing is made.
    let nothing = out.valid[axis] == Dim::Static(0) && source.valid[axis] == Dim::Static(0);
    ensure!(
        nothing || !differ(out.valid[axis], Dim::Static(1)),
        "valid-region",
        "{name} makes one valid {}; this is {out}",
        ["row", "column"][axis]
    );
    ensure!(
        !differ(source.valid[1 - axis], out.valid[1 - axis]),
        "valid-region",
        "{name} keeps the {}: {source} cannot become {out}",
        ["rows", "columns"][1 - axis]
    );
    let empty = places && source.valid.contains(&Dim::Static(0));
    ensure!(!empty, "valid-region", "{name} needs elements to choose from; {source} has none");
    Ok(())
}

fn row_expand(cx: &Cx<'_>, op: &OpData) -> Check {
    let (source, out) = first(cx, op)?;
    in_vec(op, "source", source)?;
    in_vec(op, "destination", out)?;
    one_type(op, source, out)?;
    let nothing = source.valid.contains(&Dim::Static(0));
    ensure!(
        nothing || out.valid[1] != Dim::Static(0),
        "valid-region",
        "trowexpand makes at least one column; this is {out}"
    );
    ensure!(
        !differ(source.valid[0], out.valid[0]),
        "valid-region",
        "trowexpand keeps the rows: {source} cannot become {out}"
    );
    Ok(())
}

/// A matrix beside a column, or beside one block of 32 bytes for each row; in either order.
fn beside(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let (a, v) = (cx.tile(op.operands[0])?, cx.tile(op.operands[1])?);
    let out = cx.tile(op.dests[0])?;
    for (what, t) in [("operand", a), ("operand", v), ("destination", out)] {
        in_vec(op, what, t)?;
        unboxed(op, what, t)?;
        one_type(op, t, out)?;
    }
    let block = 32 / out.dtype.size() as u64;
    let vector = |t: &TileType| {
        let column = t.layout.blayout == Major::Col && !differ(t.valid[1], Dim::Static(1));
        let blocks =
            t.layout.blayout == Major::Row && (!differ(t.valid[1], Dim::Static(block)) || t.valid[1] == Dim::Static(1));
        (column || blocks) && !differ(t.valid[0], out.valid[0])
    };
    // Of nothing nothing is made.
    if out.valid.contains(&Dim::Static(0)) {
        return Ok(());
    }
    let matrix = |t: &TileType| t.valid.iter().zip(&out.valid).all(|(a, b)| !differ(*a, *b));
    ensure!(
        (matrix(a) && vector(v)) || (matrix(v) && vector(a)),
        "operand-types",
        "{name} makes {out} of a matrix and a column, or a block of {block} for each row; not of {a} and {v}"
    );
    Ok(())
}

fn sort(cx: &Cx<'_>, op: &OpData) -> Check {
    let (source, out) = first(cx, op)?;
    let indices = cx.tile(op.named("idx")[0])?;
    in_vec(op, "source", source)?;
    one_type(op, source, out)?;
    ensure!(
        matches!(source.dtype, DType::F16 | DType::F32),
        "operand-types",
        "tsort32 sorts f16 and f32, not {source}"
    );
    ensure!(indices.dtype == DType::U32, "operand-types", "tsort32 takes indices of u32, not {indices}");
    same_valid(op, source, indices)
}

/// Operands in vec of the result's element type.
fn vectors(cx: &Cx<'_>, op: &OpData, groups: &[&str]) -> Check {
    let out = cx.tile(op.dests[0])?;
    in_vec(op, "destination", out)?;
    for group in groups {
        let Some(t) = operand(cx, op, group)? else { continue };
        in_vec(op, group, t)?;
        let moved = matches!(op.opcode, C::TGatherMask | C::TScatterMask);
        ensure!(
            t.dtype == out.dtype || (moved && t.dtype.size() == out.dtype.size()),
            "dest-type",
            "{} keeps the element type: {t} cannot become {out}",
            op.opcode.name()
        );
        if matches!(op.opcode, C::TSel | C::TSelS) {
            same_valid(op, t, out)?;
        }
    }
    Ok(())
}

fn compare(cx: &Cx<'_>, op: &OpData) -> Check {
    let (a, out) = first(cx, op)?;
    in_vec(op, "operand", a)?;
    in_vec(op, "destination", out)?;
    ensure!(
        matches!(out.dtype, DType::I8 | DType::U8),
        "dest-type",
        "{} makes bits in bytes, not {out}",
        op.opcode.name()
    );
    let b = cx.ty(op.operands[1]);
    ensure!(b.element() == Some(a.dtype), "operand-types", "{} of {a} and {b}", op.opcode.name());
    Ok(())
}

/// Accumulator and operands of a product: their spaces and extents.
fn extents(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let (lhs, rhs, out) = (cx.tile(op.named("lhs")[0])?, cx.tile(op.named("rhs")[0])?, cx.tile(op.dests[0])?);
    for (what, t, space) in [("lhs", lhs, Space::Left), ("rhs", rhs, Space::Right), ("destination", out, Space::Acc)] {
        ensure!(t.space == Some(space), "operand-space", "the {what} of {name} must be in {space}; this is {t}");
    }
    if let Some(acc) = operand(cx, op, "acc")? {
        ensure!(acc.space == Some(Space::Acc), "operand-space", "the acc of {name} must be in acc; this is {acc}");
        one_type(op, acc, out)?;
    }
    let row = matches!(op.opcode, C::TGemv | C::TGemvAcc | C::TGemvBias | C::TGemvMx | C::TGemvMxAcc | C::TGemvMxBias);
    for t in [lhs, out] {
        ensure!(!row || !differ(t.valid[0], Dim::Static(1)), "valid-region", "{name} is about one row; this is {t}");
    }
    let pairs = [(lhs.valid[1], rhs.valid[0]), (lhs.valid[0], out.valid[0]), (rhs.valid[1], out.valid[1])];
    // Pairs of 4 bits count twice along one axis.
    let packed = lhs.dtype.is_f4() || rhs.dtype.is_f4();
    ensure!(
        packed || !pairs.iter().any(|&(a, b)| differ(a, b)),
        "dest-type",
        "{name} makes {out} of {lhs} and {rhs}: their extents do not fit"
    );
    Ok(())
}

fn product(cx: &Cx<'_>, op: &OpData) -> Check {
    extents(cx, op)?;
    let (lhs, rhs, out) = (cx.tile(op.named("lhs")[0])?, cx.tile(op.named("rhs")[0])?, cx.tile(op.dests[0])?);
    use DType::*;
    let a5 = cx.program.arch == Arch::A5;
    let fits = match (lhs.dtype, rhs.dtype) {
        (I8, I8) => out.dtype == I32,
        (F16, F16) | (F32, F32) | (BF16, BF16) => out.dtype == F32,
        (a, b) => a5 && ((a.is_f8() && b.is_f8()) || (a == HiF8 && b == HiF8)) && out.dtype == F32,
    };
    ensure!(
        fits,
        "element-types",
        "{} on {} has no product of {} and {} into {}",
        op.opcode.name(),
        cx.program.arch,
        lhs.dtype,
        rhs.dtype,
        out.dtype
    );
    bias(cx, op, out)
}

fn bias(cx: &Cx<'_>, op: &OpData, out: &TileType) -> Check {
    let Some(bias) = operand(cx, op, "bias")? else { return Ok(()) };
    ensure!(
        bias.space == Some(Space::Bias),
        "operand-space",
        "the bias of {} must be in bias; this is {bias}",
        op.opcode.name()
    );
    one_type(op, bias, out)
}

fn scaled_product(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    ensure!(cx.program.arch == Arch::A5, "architecture", "{name} is of a5 alone");
    let (lhs, rhs, out) = (cx.tile(op.named("lhs")[0])?, cx.tile(op.named("rhs")[0])?, cx.tile(op.dests[0])?);
    let (a, b) = (lhs.dtype, rhs.dtype);
    ensure!(
        ((a.is_f8() && b.is_f8()) || (a.is_f4() && b.is_f4())) && out.dtype == DType::F32,
        "element-types",
        "{name} multiplies f8 by f8 or f4 by f4 into f32, not {a} by {b} into {}",
        out.dtype
    );
    extents(cx, op)?;
    bias(cx, op, out)?;
    for group in ["lhs_scale", "rhs_scale"] {
        if let Some(t) = operand(cx, op, group)? {
            ensure!(t.space == Some(Space::Scaling), "operand-space", "`{group}` of {name} is in scaling; this is {t}");
        }
    }
    if a.is_f4() {
        return Ok(());
    }
    ensure!(lhs.shape[1].is_multiple_of(64), "scales", "k of {name} is a multiple of 64; {lhs} is not");
    let groups = lhs.shape[1].div_ceil(32);
    for (group, shape) in [("lhs_scale", [lhs.shape[0], groups]), ("rhs_scale", [groups, rhs.shape[1]])] {
        if let Some(t) = operand(cx, op, group)? {
            ensure!(
                t.shape == shape,
                "scales",
                "`{group}` of {name} has one scale for 32 elements along k; {t} is not {shape:?}"
            );
        }
    }
    Ok(())
}

/// Pairs of 4 bits are half as many columns.
fn convert(cx: &Cx<'_>, op: &OpData) -> Check {
    let (source, out) = first(cx, op)?;
    in_vec(op, "source", source)?;
    in_vec(op, "destination", out)?;
    let columns = |t: &TileType| t.shape[1] * if t.dtype.is_f4() { 2 } else { 1 };
    ensure!(
        source.shape[0] == out.shape[0] && columns(source) == columns(out),
        "dest-type",
        "tcvt keeps the shape: {source} cannot become {out}"
    );
    if source.dtype.is_f4() == out.dtype.is_f4() {
        return same_valid(op, source, out);
    }
    Ok(())
}

/// In Mat only the tail of one type of buffer is filled.
fn fill(cx: &Cx<'_>, op: &OpData) -> Option<Check> {
    let (source, out) = (cx.tile(op.operands[0]).ok()?, cx.tile(*op.dests.first()?).ok()?);
    if source.space != Some(Space::Mat) && out.space != Some(Space::Mat) {
        return None;
    }
    let whole = TileType { valid: out.valid.clone(), pad: out.pad, ..source.clone() };
    // What is filled must be known where it is not the whole buffer.
    let known =
        cx.program.arch == Arch::A5 || !source.valid.contains(&Dim::Dynamic) || out.valid.contains(&Dim::Dynamic);
    Some(if whole == *out && known {
        Ok(())
    } else {
        Err(Fault {
            code: "dest-type",
            message: format!("tfillpad in mat keeps the buffer: {source} cannot become {out}"),
        })
    })
}

/// The valid extents that follow from the tile's, or are given, are those of the window's type.
fn subview(cx: &Cx<'_>, op: &OpData) -> Check {
    let source = cx.tile(op.operands[0])?;
    let Some(out) = op.result().and_then(|r| cx.ty(r).as_tile()) else { return Ok(()) };
    for axis in 0..2 {
        let given = op.named(["valid_row", "valid_col"][axis]).first();
        let offset = cx.constant(op.operands[1 + axis]).and_then(|o| u64::try_from(o).ok());
        let follows = match (given, source.valid[axis], offset) {
            (Some(&v), ..) => cx.constant(v).and_then(|n| u64::try_from(n).ok()),
            (None, Dim::Static(n), Some(o)) => Some(n.saturating_sub(o).min(out.shape[axis])),
            _ => None,
        };
        if let Some(n) = follows {
            ensure!(
                out.valid[axis] == Dim::Static(n),
                "valid-region",
                "a window of {source} has {n} valid elements along axis {axis} here; {out} does not say so"
            );
        }
    }
    Ok(())
}

fn quantise(cx: &Cx<'_>, op: &OpData) -> Check {
    let (source, out) = first(cx, op)?;
    let name = op.opcode.name();
    ensure!(source.dtype == DType::F32, "operand-types", "{name} takes f32, not {}", source.dtype);
    same_valid(op, source, out)?;
    let offset = operand(cx, op, "offset")?;
    let wanted = match op.attrs.word("quant_type") {
        Some("INT8_SYM") => Some(false),
        Some("INT8_ASYM") => Some(true),
        _ => None,
    };
    ensure!(
        wanted.is_none_or(|w| w == offset.is_some()),
        "operand-types",
        "{name} has an offset exactly if it is asymmetric"
    );
    if cx.program.arch == Arch::A5 {
        return Ok(());
    }
    for t in [operand(cx, op, "scale")?, offset].into_iter().flatten() {
        ensure!(
            t.layout.blayout == Major::Col,
            "operand-layout",
            "{name} takes a column of scales or offsets, not {t}"
        );
    }
    if let Some(&tmp) = op.dests.get(1) {
        let tmp = cx.tile(tmp)?;
        ensure!(tmp.shape == source.shape, "scratch", "the scratch of {name} is as large as {source}; {tmp} is not");
    }
    Ok(())
}

/// Windows through the cube's memories, whose offsets and element types the device converts.
fn window(cx: &Cx<'_>, op: &OpData) -> Option<Check> {
    let (source, out) = (cx.tile(op.operands[0]).ok()?, cx.tile(*op.dests.first()?).ok()?);
    let (name, arch) = (op.opcode.name(), cx.program.arch);
    let (from, to) = (source.space?, out.space?);
    let fail = |code, message| Some(Err(Fault { code, message }));
    if op.opcode == C::TInsert {
        let pair = matches!((from, to), (Space::Acc, Space::Mat | Space::Vec) | (Space::Vec, Space::Mat | Space::Vec));
        if arch == Arch::A5 && !pair {
            return fail("operand-space", format!("{name} on {arch} cannot go from {from} to {to}"));
        }
        let narrows = source.dtype == DType::F32 && matches!(out.dtype, DType::F16 | DType::BF16);
        if arch == Arch::A2a3 && (from, to) == (Space::Acc, Space::Mat) && !narrows {
            return fail("element-types", format!("{name} on {arch} makes f16 or bf16 of f32, not {out} of {source}"));
        }
    }
    let nd = |t: &TileType| t.layout.slayout.is_none() && t.layout.blayout == Major::Row;
    if op.opcode == C::TExtract
        && (from, to) == (Space::Vec, Space::Vec)
        && arch == Arch::A5
        && !(nd(source) && nd(out))
    {
        return fail("operand-layout", format!("{name} in vec is between row-major tiles, not {source} and {out}"));
    }
    // Offsets inside a box are legal between Mat and the operands of the cube.
    let inside = from == Space::Mat && matches!(to, Space::Left | Space::Right | Space::Scaling);
    if inside && op.opcode == C::TExtract && source.dtype == out.dtype {
        let fits = op.operands[1..3].iter().zip(source.shape.iter().zip(&out.shape)).all(|(&offset, (n, extent))| {
            cx.constant(offset).is_none_or(|o| u64::try_from(o).is_ok_and(|o| o + extent <= *n))
        });
        return Some(if fits {
            Ok(())
        } else {
            Err(Fault {
                code: "window",
                message: format!("{name} reaches beyond {source}: {}", list([cx.ty(op.dests[0])].into_iter())),
            })
        });
    }
    None
}
