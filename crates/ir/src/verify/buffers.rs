//! Tile buffers: what types a value may have at its level, and which buffers an instruction takes.

use chip::{Core, Space};

use super::tensor::valid_extent;
use super::{Check, Cx, Fault, ensure};
use crate::entity::Value;
use crate::function::{FunctionKind, OpData};
use crate::info::{Levels, Pipe};
use crate::ops::Opcode as C;
use crate::types::{Layout, Major, Opaque, TileType, Type};

/// A value's type is one of its level, and well formed.
pub(super) fn value(cx: &Cx<'_>, value: Value) -> Check {
    let ty = cx.ty(value);
    let kernel = cx.place == Levels::KERNEL;
    let fits = match ty {
        Type::Scalar(_) | Type::Array { .. } => true,
        Type::Tensor(_) | Type::TaskId => !kernel,
        Type::Opaque(_) | Type::Ptr(_) | Type::View(_) | Type::PartView { .. } => kernel,
        Type::Tile(_) => kernel || cx.place == Levels::SCOPE,
    };
    // A scope's own region is checked with the scope's place, so tiles outside scopes are caught here too.
    ensure!(fits, "type-level", "there are no values of type {ty} here");
    if let Type::Opaque(Opaque::Struct(_)) = ty {
        let declared = cx.function.def_op(value).map(|op| cx.function.ops[op].opcode);
        ensure!(declared == Some(C::StructCreate), "struct-field", "a structure is not passed on: {ty}");
    }
    let Type::Tile(t) = ty else { return Ok(()) };
    valid_extent(t)?;
    if kernel {
        return buffer(cx, t);
    }
    ensure!(
        t.space.is_none() && t.layout == Layout::ROW_MAJOR,
        "type-level",
        "a tile in a scope is a value, without space and layout; this is {t}"
    );
    Ok(())
}

fn buffer(cx: &Cx<'_>, t: &TileType) -> Check {
    let Some(space) = t.space else {
        return Err(Fault { code: "type-level", message: format!("a tile in a kernel has a space; this is {t}") });
    };
    ensure!(t.shape.len() == 2, "type-level", "a tile in a kernel has rank 2; this is {t}");
    if cx.assembles() {
        return Ok(());
    }
    if let FunctionKind::Kernel(core) = cx.function.kind {
        ensure!(
            space.core() == core,
            "core",
            "{t} is a buffer of the {} core; @{} runs on the {} core",
            core_name(space.core()),
            cx.function.name,
            core_name(core)
        );
    }
    layout(cx, t, space)
}

pub(super) fn core_name(core: Core) -> &'static str {
    match core {
        Core::Cube => "cube",
        Core::Vector => "vector",
    }
}

/// `spec/isa.md` §3.2.
fn layout(cx: &Cx<'_>, t: &TileType, space: Space) -> Check {
    let legal: &[Layout] = match space {
        // NZ: as a source for Mat.
        Space::Vec => &[Layout::ROW_MAJOR, Layout::COL_MAJOR, Layout::NZ],
        Space::Mat => &[Layout::NZ, Layout::ZN],
        Space::Left if cx.program.arch == chip::Arch::A2a3 => &[Layout::ZZ],
        Space::Left => &[Layout::NZ],
        Space::Right => &[Layout::ZN],
        Space::Acc => &[Layout::ACC],
        Space::Bias => &[Layout::ROW_MAJOR],
        // One scale a column; and of the left and of the right operand of a scaled product.
        Space::Scaling => &[Layout::ROW_MAJOR, Layout::SCALE_LEFT, Layout::SCALE_RIGHT],
    };
    // Where the next box lies is not what it holds.
    let order = Layout { compact: crate::types::Compact::Null, ..t.layout };
    ensure!(
        legal.contains(&order),
        "tile-layout",
        "a {space} buffer on {} has layout {}, not {}",
        cx.program.arch,
        legal.iter().map(Layout::to_string).collect::<Vec<_>>().join(" or "),
        t.layout
    );
    Ok(())
}

/// Rows and columns of an inner box; one element where there are none.
pub(super) fn inner_box(t: &TileType) -> (u64, u64) {
    let c0 = (32 / t.dtype.size()) as u64;
    match t.layout.slayout {
        None => (1, 1),
        Some(_) if t.layout.fractal == 1024 => (16, 16),
        // Pairs of scales.
        Some(Major::Row) if t.layout.fractal == 32 => (16, 2),
        Some(Major::Col) if t.layout.fractal == 32 => (2, 16),
        Some(Major::Row) => (16, c0),
        Some(Major::Col) => (c0, 16),
    }
}

/// Storage of its own: alignment and capacity (`alloc_tile`, popped slots).
pub(super) fn storage(cx: &Cx<'_>, t: &TileType) -> Check {
    let Some(space) = t.space else { return Ok(()) };
    let (rows, cols) = (t.shape[0], t.shape[1]);
    let size = t.dtype.size() as u64;
    match t.layout.slayout {
        None => {
            let (run, what) = match t.layout.blayout {
                Major::Row => (cols, "columns"),
                Major::Col => (rows, "rows"),
            };
            // A pair of 4-bit elements counts as two.
            let run = if t.dtype.is_f4() && cx.assembles() { 2 * run } else { run };
            ensure!(
                (run * size).is_multiple_of(32),
                "tile-alignment",
                "{run} {what} of {} are {} bytes, not a multiple of 32",
                t.dtype,
                run * size
            );
        }
        Some(_) if t.layout.fractal == 32 && cx.assembles() => {}
        Some(_) => {
            let (r, c) = inner_box(t);
            ensure!(
                (rows.is_multiple_of(r) || (cx.assembles() && rows == 1)) && cols.is_multiple_of(c),
                "tile-alignment",
                "{t} does not consist of whole boxes of {r} by {c}"
            );
        }
    }
    let limits = cx.program.arch.chip().capacity(space);
    let capacity = if cx.assembles() { limits.physical.max(limits.assembler) } else { limits.physical } as u64;
    ensure!(t.bytes() <= capacity, "tile-capacity", "{t} needs {} bytes; the {space} buffer has {capacity}", t.bytes());
    Ok(())
}

/// The buffers of an instruction; nothing to say about value form.
pub(super) fn operation(cx: &Cx<'_>, op: &OpData) -> Check {
    if !cx.in_kernel() {
        return Ok(());
    }
    match op.opcode {
        C::TMatmul | C::TMatmulAcc | C::TMatmulBias => matmul(cx, op),
        C::TMov | C::TExtract | C::TInsert => moves(cx, op),
        C::TReshape | C::Bitcast => same_bytes(cx, op),
        C::TGetVal => in_space(op, "source", cx.tile(op.operands[0])?, &[Space::Vec]),
        C::TSetVal => in_space(op, "destination", cx.output(op)?, &[Space::Vec]),
        C::TExpandS => in_space(op, "destination", cx.output(op)?, &[Space::Vec, Space::Mat]),
        _ if matches!(op.opcode.info().pipe, Pipe::Vector | Pipe::Scalar) => vector(cx, op),
        _ => Ok(()),
    }
}

fn in_space(op: &OpData, what: &str, t: &TileType, spaces: &[Space]) -> Check {
    ensure!(
        t.space.is_some_and(|s| spaces.contains(&s)),
        "operand-space",
        "the {what} of {} must be in {}; this is {t}",
        op.opcode.name(),
        spaces.iter().map(|s| s.name()).collect::<Vec<_>>().join(" or ")
    );
    Ok(())
}

/// Vector instructions: everything in Vec, row-major, but for the vectors beside a matrix.
fn vector(cx: &Cx<'_>, op: &OpData) -> Check {
    use C::*;
    let name = op.opcode.name();
    for (i, operand) in op.opcode.info().operands.iter().enumerate() {
        for &v in op.group(i) {
            let Type::Tile(t) = cx.ty(v) else { continue };
            in_space(op, operand.name, t, &[Space::Vec])?;
            let column = operand.name == "v"
                && matches!(
                    op.opcode,
                    TRowExpand
                        | TRowExpandAdd
                        | TRowExpandSub
                        | TRowExpandMul
                        | TRowExpandDiv
                        | TRowExpandMax
                        | TRowExpandMin
                );
            row_major(name, operand.name, t, column || operand.name == "tmp")?;
        }
    }
    let out = cx.output(op)?;
    if cx.program.arch == chip::Arch::A2a3 && matches!(op.opcode, TRem | TRemS | TXor | TXorS) {
        for &tmp in op.named("tmp") {
            let tmp = cx.tile(tmp)?;
            let fits = tmp.dtype == out.dtype && tmp.layout.blayout == Major::Row;
            ensure!(fits, "scratch", "the scratch of {name} is row-major and of {}; this is {tmp}", out.dtype);
        }
    }
    in_space(op, "destination", out, &[Space::Vec])?;
    row_major(
        name,
        "destination",
        out,
        matches!(op.opcode, TRowSum | TRowMax | TRowMin | TRowProd | TRowArgMax | TRowArgMin),
    )
}

/// `column`: a column-major tile of one column will do.
fn row_major(name: &str, what: &str, t: &TileType, column: bool) -> Check {
    let fits = t.layout.slayout.is_none() && (t.layout.blayout == Major::Row || (column && t.shape[1] == 1));
    ensure!(
        fits,
        "operand-layout",
        "the {what} of {name} must be row-major{}; this is {t}",
        if column { ", or one column" } else { "" }
    );
    Ok(())
}

fn matmul(cx: &Cx<'_>, op: &OpData) -> Check {
    let transposed = op.attrs.bool("a_trans") || op.attrs.bool("b_trans");
    ensure!(
        !transposed,
        "kernel-transpose",
        "a kernel transposes operands where it loads them, not in {}",
        op.opcode.name()
    );
    in_space(op, "lhs", cx.tile(op.named("lhs")[0])?, &[Space::Left])?;
    in_space(op, "rhs", cx.tile(op.named("rhs")[0])?, &[Space::Right])?;
    in_space(op, "destination", cx.output(op)?, &[Space::Acc])?;
    if op.opcode == C::TMatmulBias {
        return in_space(op, "bias", cx.tile(op.named("bias")[0])?, &[Space::Bias]);
    }
    if op.opcode == C::TMatmulAcc
        && let Some(dest) = op.dest()
    {
        let acc = op.named("acc")[0];
        in_space(op, "acc", cx.tile(acc)?, &[Space::Acc])?;
        let (a, b) = (root(cx, acc, 0), root(cx, dest, 0));
        ensure!(
            cx.assembles() || a == b || (address(cx, a).is_some() && address(cx, a) == address(cx, b)),
            "acc-in-place",
            "{} starts from one buffer and writes another",
            op.opcode.name()
        );
    }
    Ok(())
}

/// The allocation that a buffer is, through loops that carry it unchanged in place.
fn root(cx: &Cx<'_>, value: Value, depth: usize) -> Value {
    use crate::function::Def;
    let f = cx.function;
    // Deeper chains than any real program has: give up on the next definition.
    if depth > 64 {
        return value;
    }
    match f.values[value].def {
        Def::Result(op, i) => {
            let data = &f.ops[op];
            match data.opcode {
                C::For | C::While => match data.named("init").get(i as usize) {
                    Some(&init) => root(cx, init, depth + 1),
                    None => value,
                },
                _ => value,
            }
        }
        Def::Arg(block, i) => {
            let Some(parent) = f.blocks[block].parent else { return value };
            let data = &f.ops[parent];
            let index = match data.opcode {
                C::For => (i as usize).checked_sub(1),
                C::While => Some(i as usize),
                _ => None,
            };
            match index.and_then(|i| data.named("init").get(i)) {
                Some(&init) => root(cx, init, depth + 1),
                None => value,
            }
        }
    }
}

fn address(cx: &Cx<'_>, value: Value) -> Option<i64> {
    let op = &cx.function.ops[cx.function.def_op(value)?];
    if op.opcode != C::AllocTile {
        return None;
    }
    cx.constant(*op.named("addr").first()?)
}

/// `tmov`, `textract`, `tinsert`: the pairs of spaces that a path exists between.
fn moves(cx: &Cx<'_>, op: &OpData) -> Check {
    use Space::*;
    let (source, out) = (cx.tile(op.operands[0])?, cx.output(op)?);
    let (Some(from), Some(to)) = (source.space, out.space) else { return Ok(()) };
    // Between the cores only before the split, and there only where FIFOs can go.
    let cluster = cx.function.kind == FunctionKind::Cluster;
    let path = match (op.opcode, from, to) {
        (_, Vec, Vec) => true,
        (C::TMov, Mat, Left | Right | Bias) | (C::TExtract, Mat, Left | Right) => true,
        (C::TMov | C::TExtract | C::TInsert, Acc, Mat) => true,
        (C::TMov | C::TInsert, Vec, Mat) => cluster || cx.assembles(),
        (C::TMov | C::TExtract | C::TInsert, Acc, Vec) => cluster || cx.assembles(),
        (C::TMov | C::TExtract, Mat, Scaling) => true,
        (C::TExtract, Vec, Mat) => cx.assembles(),
        _ => false,
    };
    ensure!(path, "operand-space", "{} cannot go from {from} to {to}", op.opcode.name());
    Ok(())
}

fn same_bytes(cx: &Cx<'_>, op: &OpData) -> Check {
    let (source, out) = (cx.tile(op.operands[0])?, cx.output(op)?);
    ensure!(
        source.space == out.space && source.layout.slayout.is_none() && out.layout.slayout.is_none(),
        "same-bytes",
        "{} gives the same bytes another shape, in one space and without boxes; {source} cannot become {out}",
        op.opcode.name()
    );
    Ok(())
}
