//! Operations of the orchestration and of scopes: views of global memory, loads and stores, submissions.

use super::types::{exactly, result_is, valid_operands};
use super::{Check, Cx, Fault, ensure, program};
use crate::entity::Value;
use crate::function::{Direction, FunctionKind, OpData};
use crate::ops::DIRECTIONS;
use crate::ops::Opcode as C;
use crate::types::{Dim, TensorType, TileType, Type};
use dtype::DType;

pub(super) fn check(cx: &Cx<'_>, op: &OpData) -> Check {
    match op.opcode {
        C::TensorCreate => {
            let t = result_tensor(cx, op)?;
            ensure!(t.is_packed(), "packed", "a new tensor is packed; this is {}", Type::Tensor(t.clone()));
            valid_operands(op, op.operands.len(), &t.shape, false)
        }
        C::TensorSlice => slice(cx, op),
        C::TensorReshape => reshape(cx, op),
        C::TensorBitcast => bitcast(cx, op),
        C::TensorTranspose => transpose(cx, op),
        C::TensorDim | C::TensorStride => {
            let t = tensor(cx, op, 0)?;
            axis(op, "axis", t.rank())?;
            exactly(cx, op, &Type::INDEX)
        }
        C::Read => {
            let t = tensor(cx, op, 0)?;
            axes(op, "indices", op.named("indices").len(), t.rank())?;
            exactly(cx, op, &Type::Scalar(t.dtype))
        }
        C::Write => {
            let t = tensor(cx, op, 0)?;
            axes(op, "indices", op.named("indices").len(), t.rank())?;
            let value = cx.ty(op.named("value")[0]);
            ensure!(
                value.as_scalar() == Some(t.dtype),
                "operand-types",
                "a value of type {value} is written into a tensor of {}",
                t.dtype
            );
            Ok(())
        }
        C::Load => load(cx, op),
        C::Store => store(cx, op),
        C::Gather | C::Scatter => gather(cx, op),
        C::TileCreate => result_is(cx, op, |ty| matches!(ty, Type::Tile(_)), "a tile"),
        C::SetValidShape => {
            let source = cx.tile(op.operands[0])?;
            let out = cx.output(op)?;
            ensure!(
                source.dtype == out.dtype && source.shape == out.shape,
                "result-type",
                "{} keeps element type and shape; {source} becomes {out}",
                op.opcode.name()
            );
            Ok(())
        }
        C::Submit => submit(cx, op),
        _ => Ok(()),
    }
}

fn tensor<'a>(cx: &Cx<'a>, op: &OpData, group: usize) -> Result<&'a TensorType, Fault> {
    let ty = cx.ty(op.group(group)[0]);
    ty.as_tensor().ok_or_else(|| Fault {
        code: "operand-kind",
        message: format!("{} needs a tensor, not {ty}", op.opcode.name()),
    })
}

fn result_tensor<'a>(cx: &Cx<'a>, op: &OpData) -> Result<&'a TensorType, Fault> {
    result_is(cx, op, |ty| matches!(ty, Type::Tensor(_)), "a tensor")?;
    op.result()
        .and_then(|r| cx.ty(r).as_tensor())
        .ok_or_else(|| Fault { code: "results", message: format!("{} makes a tensor", op.opcode.name()) })
}

/// So many of `what` as the tensor has axes.
pub(super) fn axes(op: &OpData, what: &str, found: usize, rank: usize) -> Check {
    ensure!(found == rank, "axes", "{} has {found} {what} for {rank} axes", op.opcode.name());
    Ok(())
}

fn axis(op: &OpData, name: &str, rank: usize) -> Result<usize, Fault> {
    let axis = op.attrs.int(name).unwrap_or(-1);
    usize::try_from(axis).ok().filter(|&a| a < rank).ok_or_else(|| Fault {
        code: "axes",
        message: format!("{} has no axis {axis}; the tensor has {rank}", op.opcode.name()),
    })
}

/// The box of `sizes` (−1 where a dynamic extent is given), without the axes in `drop`: which axes stay, and all extents.
fn kept(op: &OpData, rank: usize) -> Result<(Vec<usize>, Vec<Dim>), Fault> {
    let sizes = op.attrs.ints("sizes").unwrap_or(&[]);
    axes(op, "sizes", sizes.len(), rank)?;
    let mut extents = Vec::new();
    for &size in sizes {
        extents.push(match u64::try_from(size) {
            Ok(n) => Dim::Static(n),
            Err(_) => {
                let may = op.opcode == C::TensorSlice && size == -1;
                ensure!(may, "axes", "{} cannot have the size {size}", op.opcode.name());
                Dim::Dynamic
            }
        });
    }
    let mut stay: Vec<usize> = (0..rank).collect();
    for &axis in op.attrs.ints("drop").unwrap_or(&[]) {
        let found = usize::try_from(axis).ok().and_then(|a| stay.iter().position(|&s| s == a));
        let Some(index) = found else {
            let message =
                format!("{} cannot drop axis {axis}: there is none, or it is dropped twice", op.opcode.name());
            return Err(Fault { code: "axes", message });
        };
        let axis = stay.remove(index);
        ensure!(
            extents[axis] == Dim::Static(1),
            "axes",
            "{} drops axis {axis}, whose size is {}, not 1",
            op.opcode.name(),
            extents[axis]
        );
    }
    Ok((stay, extents))
}

fn slice(cx: &Cx<'_>, op: &OpData) -> Check {
    let t = tensor(cx, op, 0)?;
    axes(op, "offsets", op.named("offsets").len(), t.rank())?;
    let (stay, extents) = kept(op, t.rank())?;
    valid_operands(op, op.named("dims").len(), &extents, false)?;
    let out = result_tensor(cx, op)?;
    let shape: Vec<Dim> = stay.iter().map(|&a| extents[a]).collect();
    let strides: Vec<Dim> = stay.iter().map(|&a| t.strides[a]).collect();
    exactly_tensor(op, out, t, shape, strides)
}

fn exactly_tensor(op: &OpData, out: &TensorType, source: &TensorType, shape: Vec<Dim>, strides: Vec<Dim>) -> Check {
    let follows = TensorType { dtype: source.dtype, shape, strides };
    ensure!(
        *out == follows,
        "result-type",
        "the result of {} is tensor<{follows}>, not tensor<{out}>",
        op.opcode.name()
    );
    Ok(())
}

fn reshape(cx: &Cx<'_>, op: &OpData) -> Check {
    let t = tensor(cx, op, 0)?;
    let out = result_tensor(cx, op)?;
    valid_operands(op, op.named("dims").len(), &out.shape, false)?;
    ensure!(t.is_packed(), "packed", "only a packed tensor can be reshaped; this is tensor<{t}>");
    ensure!(
        out.dtype == t.dtype && out.is_packed(),
        "result-type",
        "{} makes a packed tensor of {}, not tensor<{out}>",
        op.opcode.name(),
        t.dtype
    );
    if let (Some(a), Some(b)) = (t.static_shape(), out.static_shape()) {
        let (a, b): (u64, u64) = (a.iter().product(), b.iter().product());
        ensure!(a == b, "element-count", "{} makes {b} elements of {a}", op.opcode.name());
    }
    Ok(())
}

fn bitcast(cx: &Cx<'_>, op: &OpData) -> Check {
    let t = tensor(cx, op, 0)?;
    let out = result_tensor(cx, op)?;
    valid_operands(op, op.named("dims").len(), &out.shape, false)?;
    ensure!(t.is_packed(), "packed", "only a packed tensor can be cast to another element type; this is tensor<{t}>");
    let last = |t: &TensorType| t.shape.last().copied().and_then(Dim::known).map(|n| n * t.dtype.size() as u64);
    let outer = |t: &TensorType| t.shape[..t.rank() - 1].to_vec();
    ensure!(
        out.is_packed() && outer(out) == outer(t) && last(t).is_some() && last(out) == last(t),
        "result-type",
        "{} keeps all axes but the last, and its bytes: tensor<{t}> cannot become tensor<{out}>",
        op.opcode.name()
    );
    Ok(())
}

/// `gather` and `scatter`: a tile, its indices, and a tensor.
fn gather(cx: &Cx<'_>, op: &OpData) -> Check {
    let name = op.opcode.name();
    let t = tensor(cx, op, usize::from(op.opcode == C::Scatter) * 2)?;
    result_is(cx, op, |ty| matches!(ty, Type::Tile(_)), "a tile")?;
    let tile = if op.opcode == C::Scatter { cx.tile(op.operands[0])? } else { cx.output(op)? };
    ensure!(tile.dtype == t.dtype, "operand-types", "{name} between {tile} and a tensor of {}", t.dtype);
    gathered(op, cx.tile(op.named("indices")[0])?, tile, t.rank(), t.shape.last().copied())
}

/// The extents of a gathered tile are those of its indices, or rows of the tensor.
pub(super) fn gathered(op: &OpData, indices: &TileType, tile: &TileType, rank: usize, last: Option<Dim>) -> Check {
    let name = op.opcode.name();
    ensure!(
        matches!(indices.dtype, DType::I32 | DType::U32) && indices.shape.len() == 2 && tile.shape.len() == 2,
        "operand-types",
        "{name} takes matrices, with indices of i32 or u32; not {indices} for {tile}"
    );
    let expected = match op.attrs.word("mode") {
        Some("row") => {
            ensure!(rank == 2, "axes", "{name} of rows needs a matrix of them, not {rank} axes");
            ensure!(indices.shape[0] == 1, "operand-types", "{name} of rows takes one row of indices, not {indices}");
            let Some(Dim::Static(columns)) = last else {
                let message = format!("{name} of rows needs to know their length");
                return Err(Fault { code: "operand-types", message });
            };
            [(indices.shape[1], indices.valid[1]), (tile.shape[1].max(columns), Dim::Static(columns))]
        }
        _ => [(indices.shape[0], indices.valid[0]), (indices.shape[1], indices.valid[1])],
    };
    for (axis, (extent, valid)) in expected.into_iter().enumerate() {
        ensure!(
            tile.shape[axis] == extent && tile.valid[axis] == valid,
            "box-shape",
            "{name} with {indices} has {valid} elements along axis {axis}; the tile is {tile}"
        );
    }
    Ok(())
}

fn transpose(cx: &Cx<'_>, op: &OpData) -> Check {
    let t = tensor(cx, op, 0)?;
    let (a, b) = (axis(op, "axis1", t.rank())?, axis(op, "axis2", t.rank())?);
    let (mut shape, mut strides) = (t.shape.clone(), t.strides.clone());
    shape.swap(a, b);
    strides.swap(a, b);
    exactly_tensor(op, result_tensor(cx, op)?, t, shape, strides)
}

fn load(cx: &Cx<'_>, op: &OpData) -> Check {
    let t = tensor(cx, op, 0)?;
    axes(op, "offsets", op.named("offsets").len(), t.rank())?;
    let (stay, extents) = kept(op, t.rank())?;
    result_is(cx, op, |ty| matches!(ty, Type::Tile(_)), "a tile")?;
    let out = cx.output(op)?;
    let shape: Vec<u64> = stay.iter().filter_map(|&a| extents[a].known()).collect();
    ensure!(
        out.dtype == t.dtype,
        "result-type",
        "{} makes a tile of {}, not of {}",
        op.opcode.name(),
        t.dtype,
        out.dtype
    );
    ensure!(out.shape == shape, "box-shape", "{} of {shape:?} cannot make {out}", op.opcode.name());
    valid_operands(op, op.named("valid").len(), &out.valid, false)
}

fn store(cx: &Cx<'_>, op: &OpData) -> Check {
    let tile = cx.tile(op.operands[0])?;
    let t = tensor(cx, op, 1)?;
    ensure!(
        tile.dtype == t.dtype,
        "store-dtype",
        "a tile of {} is stored into a tensor of {}; convert it first",
        tile.dtype,
        t.dtype
    );
    axes(op, "offsets", op.named("offsets").len(), t.rank())?;
    let (_, extents) = kept(op, t.rank())?;
    let long = |dims: &[u64]| dims.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
    let sizes: Vec<u64> = extents.iter().filter_map(|d| d.known()).collect();
    ensure!(
        long(&sizes) == long(&tile.shape),
        "box-shape",
        "{tile} cannot be stored into a box of {sizes:?}: extents other than 1 are the same"
    );
    Ok(())
}

fn submit(cx: &Cx<'_>, op: &OpData) -> Check {
    exactly(cx, op, &Type::TaskId)?;
    let names = op.attrs.symbols("kernels").unwrap_or(&[]);
    let mut kernels = Vec::new();
    for name in names {
        kernels.push(program::kernel(cx.program, name)?.1);
    }
    let kinds: Vec<FunctionKind> = kernels.iter().map(|k| k.kind).collect();
    let mixed = [FunctionKind::Kernel(chip::Core::Cube), FunctionKind::Kernel(chip::Core::Vector)];
    ensure!(
        kinds.len() == 1 || kinds == mixed,
        "submit",
        "a submission names one kernel, or a cube and a vector kernel; this names {}",
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    );
    let args = op.named("args");
    let words: Vec<&str> = match op.attrs.word("directions") {
        Some("") | None => Vec::new(),
        Some(text) => text.split(',').map(str::trim).collect(),
    };
    ensure!(words.len() == args.len(), "submit", "{} arguments have {} directions", args.len(), words.len());
    for kernel in kernels {
        let params = kernel.param_values();
        ensure!(
            params.len() == args.len(),
            "submit",
            "@{} takes {} arguments, not {}",
            kernel.name,
            params.len(),
            args.len()
        );
        let pointers = params.iter().take_while(|&&p| matches!(kernel.ty(p), Type::Ptr(_))).count();
        let late = params[pointers..].iter().position(|&p| matches!(kernel.ty(p), Type::Ptr(_)));
        ensure!(
            late.is_none(),
            "submit",
            "parameter {} of @{} is a pointer after a scalar; a kernel that is submitted has its pointers first",
            pointers + late.unwrap_or(0),
            kernel.name
        );
        for (i, (&arg, &param)) in args.iter().zip(params).enumerate() {
            let direction = kernel.params.get(i).map(|p| p.direction);
            argument(cx, &kernel.name, i, arg, kernel.ty(param), words[i], direction)?;
        }
    }
    Ok(())
}

fn argument(
    cx: &Cx<'_>,
    kernel: &str,
    index: usize,
    arg: Value,
    param: &Type,
    word: &str,
    direction: Option<Direction>,
) -> Check {
    ensure!(
        DIRECTIONS.contains(&word),
        "submit",
        "`{word}` is not a direction; directions are {}",
        DIRECTIONS.join(", ")
    );
    let ty = cx.ty(arg);
    let fits = match (ty, param) {
        (Type::Tensor(t), Type::Ptr(d)) => t.dtype == *d,
        (Type::Scalar(a), Type::Scalar(b)) => a == b,
        _ => false,
    };
    ensure!(fits, "submit", "argument {index} of @{kernel} is {ty}; the kernel takes {param}");
    // What the kernel says it does, the submission must allow for.
    let allowed = match (word, direction) {
        ("scalar", _) => matches!(param, Type::Scalar(_)),
        _ if matches!(param, Type::Scalar(_)) => false,
        ("in", Some(d)) => d == Direction::In,
        ("out", Some(d)) => d == Direction::Out,
        _ => true,
    };
    ensure!(
        allowed,
        "submit",
        "argument {index} of @{kernel} goes in as `{word}`; the kernel's parameter is {param}, {direction:?}"
    );
    Ok(())
}

/// The valid extents of a tile type are as many as its extents, and not larger.
pub(super) fn valid_extent(t: &TileType) -> Check {
    ensure!(
        t.valid.len() == t.shape.len(),
        "valid-extent",
        "{} extents have {} valid extents",
        t.shape.len(),
        t.valid.len()
    );
    for (axis, (&n, v)) in t.shape.iter().zip(&t.valid).enumerate() {
        if let Dim::Static(v) = *v {
            ensure!(v <= n, "valid-extent", "{v} elements along axis {axis} cannot be valid in {t}");
        }
    }
    Ok(())
}
