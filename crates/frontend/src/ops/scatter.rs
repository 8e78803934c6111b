//! Scatters: elements of a tile by index or by pattern; rows and elements of tensors.
//!
//! The instructions zero what they do not write. Where the language keeps it, ones are scattered to the same places, and
//! the two are told apart by a mask.

use dtype::DType;
use ir::builder::attrs;
use ir::ops::{GATHER_MODES, OUT_OF_RANGE_WRITES};
use ir::{Attr, Attrs, Dim, Opcode, TensorType, TileType, Type, Value, infer};
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::ops::gather::{exactly_one, last_axis, memory_indices, pattern, table, word};
use crate::value::Held;

/// The words that `atomic` of a scatter to memory combines with.
const ATOMICS: &[&str] = &["add", "max", "min"];

/// The operand of a parameter, as a matrix.
fn matrix(cx: &mut Cx<'_>, args: &Args<'_>, parameter: &'static str) -> Res<Value> {
    let expr = args.need(parameter);
    let held = cx.eval(expr)?;
    let tile = cx.operand(args.name, &held, expr.range())?;
    cx.flattened(tile, expr.range())
}

fn needed<'a>(cx: &Cx<'_>, args: &Args<'a>, parameter: &'static str) -> Res<&'a Expr> {
    args.get(parameter).ok_or_else(|| {
        let message = format!("this form of `pl.{}` needs an argument `{parameter}`", args.name);
        cx.error("wrong-argument", args.at, message).into()
    })
}

/// `pl.scatter(input, dim=-1, index=…, src=…)`, `pl.tensor.scatter(x, mask_pattern=…, dst=…)`.
pub(crate) fn scatter(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    match exactly_one(cx, args, &["index", "mask_pattern"])? {
        "index" => by_index(cx, args),
        _ => by_pattern(cx, args),
    }
}

/// An integer type for marks beside elements of this type, and for their indices.
fn marks_for(dtype: DType) -> DType {
    if dtype.size() == 4 { DType::I32 } else { DType::I16 }
}

/// Indices in the width that elements of `dtype` are scattered with. One that does not fit stays out of range.
fn indices_for(cx: &mut Cx<'_>, indices: Value, dtype: DType, columns: u64, at: TextRange) -> Res<Value> {
    let wide = marks_for(dtype);
    let Some(own) = cx.ty(indices).element() else { return Ok(indices) };
    if !own.is_int() {
        let message = format!("indices are integers, not {}", own.language_name());
        return Err(cx.error("dtype-mismatch", at, message).into());
    }
    if own.size() == wide.size() {
        return Ok(indices);
    }
    if wide == DType::I16 && columns > i16::MAX as u64 {
        let message = format!("{columns} columns of {} cannot be indexed with 16 bits", dtype.language_name());
        return Err(cx.unsupported("unsupported-shape", at, message).into());
    }
    let narrowed = cx.convert(indices, wide, "rint", at)?;
    if let Some(op) = cx.program.func.def_op(narrowed) {
        cx.program.func.ops[op].attrs.set("saturate", Attr::Bool(true));
    }
    Ok(narrowed)
}

/// `out = input; out[b, index[b, k]] = src[b, k]`: of equal indices in a row the last wins.
fn by_index(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let at = args.at;
    let x = args.need("x");
    let held = cx.eval(x)?;
    let input = cx.operand(args.name, &held, x.range())?;
    let shape = cx.tile(input).map(|t| t.shape.clone()).unwrap_or_default();
    last_axis(cx, args, shape.len())?;
    let input = cx.flattened(input, x.range())?;
    let dtype = cx.ty(input).element().unwrap_or(DType::F32);
    if dtype.size() == 8 {
        let message = format!("`pl.scatter` moves elements of at most 32 bits, not {}", dtype.language_name());
        return Err(cx.error("dtype-unsupported", x.range(), message).into());
    }
    let expr = needed(cx, args, "src")?;
    let source = cx.eval(expr)?;
    let indices = matrix(cx, args, "index")?;
    let source = match source {
        Held::Ir(v) if cx.ty(v).as_scalar().is_none() => {
            let tile = cx.operand(args.name, &source, expr.range())?;
            cx.flattened(tile, expr.range())?
        }
        number => {
            let scalar = cx.scalar_of(&number, dtype, expr.range())?;
            cx.filled_like(indices, scalar, at)?
        }
    };
    let (Some(i), Some(s), Some(o)) = (cx.tile(indices).cloned(), cx.tile(source).cloned(), cx.tile(input).cloned())
    else {
        return Err(cx.not_a(&held, "a tile", at));
    };
    if s.dtype != dtype {
        let (a, b) = (s.dtype.language_name(), dtype.language_name());
        let message = format!("`pl.scatter` puts {a} elements among {b} ones");
        return Err(cx.error("dtype-mismatch", at, message).help("convert one of them with `pl.cast`").into());
    }
    if i.shape != s.shape || i.shape[0] != o.shape[0] {
        let message = format!(
            "`pl.scatter` takes one index per element and as many rows as its target, not {:?} and {:?} for {:?}",
            i.shape, s.shape, o.shape
        );
        return Err(cx.error("shape-mismatch", at, message).into());
    }
    let columns = o.shape[1];
    let indices = indices_for(cx, indices, dtype, columns, at)?;
    let one = cx.number(marks_for(dtype), 1);
    let target = cx.infer(Opcode::TMov, &[&[input]], Attrs::default(), at)?;
    let rows = cx.valid_extent(source, 0, at)?;
    cx.each(&rows, at, |cx, row| {
        let (source, indices) = (cx.row(source, row, at)?, cx.row(indices, row, at)?);
        let before = cx.row(target, row, at)?;
        let marks = cx.filled_like(source, one, at)?;
        let put = |cx: &mut Cx<'_>, what: Value| {
            let dtype = cx.ty(what).element().unwrap_or(DType::F32);
            let ty = Type::Tile(TileType::value(dtype, vec![1, columns]));
            cx.result(Opcode::TScatter, &[&[what], &[indices]], ty, Attrs::default())
        };
        let (scattered, marked) = (put(cx, source), put(cx, marks));
        let merged = merge(cx, scattered, marked, before, at)?;
        cx.insert(merged, target, row, &Held::Int(0), at)
    })?;
    cx.reshaped(target, shape, at).map(Held::Ir)
}

/// What was scattered where there is a mark, else what was there before.
fn merge(cx: &mut Cx<'_>, scattered: Value, marked: Value, before: Value, at: TextRange) -> Res<Value> {
    let dtype = cx.ty(marked).element().unwrap_or(DType::I32);
    let zero = cx.number(dtype, 0);
    let mask = cx.mask("ne", marked, zero, at)?;
    cx.select(mask, scattered, before, at)
}

/// The columns of `x` at the places of a pattern; the others are `dst`'s, or zero.
fn by_pattern(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let at = args.at;
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    let mut shape = cx.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
    let tile = cx.flattened(tile, x.range())?;
    let number = pattern(cx, args.need("mask_pattern"))?;
    let period = infer::pattern_period(number).unwrap_or(1);
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", x.range())) };
    let Dim::Static(columns) = t.valid[1] else {
        let message = "a scatter by pattern needs a number of valid columns that is known at compile time";
        return Err(cx.unsupported("unsupported-valid-region", x, message).into());
    };
    cx.check_size([t.shape[0], t.shape[1], period].into_iter(), at)?;
    let rows = cx.valid_extent(tile, 0, at)?;
    let spread = |cx: &mut Cx<'_>, what: Value| {
        let dtype = cx.ty(what).element().unwrap_or(DType::F32);
        let valid = vec![t.valid[0], Dim::Static(columns * period)];
        let ty = TileType::value(dtype, vec![t.shape[0], t.shape[1] * period]).with_valid(valid);
        let partly = !ty.is_fully_valid();
        let attributes = attrs([("pattern", Attr::Int(number))]);
        let result = cx.result(Opcode::TScatterMask, &[&[what]], Type::Tile(ty), attributes);
        if partly {
            cx.program.valid.insert(result, vec![rows.clone(), Held::Int((columns * period) as i64)]);
        }
        result
    };
    let scattered = spread(cx, tile);
    if let Some(last) = shape.last_mut() {
        *last *= period;
    }
    let Some(expr) = args.get("dst") else { return cx.reshaped(scattered, shape, at).map(Held::Ir) };
    let before = cx.eval(expr)?;
    let before = cx.operand(args.name, &before, expr.range())?;
    let before = cx.flattened(before, expr.range())?;
    let found = cx.tile(before).cloned();
    if found.as_ref().is_none_or(|b| b.dtype != t.dtype || b.shape != [t.shape[0], t.shape[1] * period]) {
        let message = format!(
            "`dst` has the type of `x` and {period} columns for each of it: {} of {:?}, not {}",
            t.dtype.language_name(),
            [t.shape[0], t.shape[1] * period],
            cx.describe(&Held::Ir(before))
        );
        return Err(cx.error("shape-mismatch", expr, message).into());
    }
    let one = cx.number(marks_for(t.dtype), 1);
    let marks = cx.filled_like(tile, one, at)?;
    let marked = spread(cx, marks);
    let merged = merge(cx, scattered, marked, before, at)?;
    cx.reshaped(merged, shape, at).map(Held::Ir)
}

/// `pl.tile.scatter(src, indices, shape)`: indices count elements of the whole result, row by row; the rest is zero.
pub(crate) fn flat(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (src, indices) = (matrix(cx, args, "src")?, matrix(cx, args, "indices")?);
    let dtype = cx.ty(src).element().unwrap_or(DType::F32);
    let (a, b) = (cx.tile(src).cloned(), cx.tile(indices).cloned());
    if a.map(|t| t.shape) != b.map(|t| t.shape) {
        let message = "`pl.tile.scatter` takes one index per element";
        return Err(cx.error("shape-mismatch", args.at, message).into());
    }
    let shape = cx.static_shape(args.need("shape"))?;
    let [rows, cols] = shape[..] else {
        return Err(cx.error("wrong-argument", args.need("shape"), "a matrix has two extents").into());
    };
    let indices = indices_for(cx, indices, dtype, rows * cols, args.at)?;
    let ty = Type::Tile(TileType::value(dtype, vec![rows, cols]));
    Ok(Held::Ir(cx.result(Opcode::TScatter, &[&[src], &[indices]], ty, Attrs::default())))
}

/// `pl.tile.scatter_mask(src, mask_pattern)`.
pub(crate) fn mask(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    by_pattern(cx, args)
}

/// `pl.mscatter(tile, indices, tensor, coalesce=…, scatter_oob=…, atomic=…)`.
pub(crate) fn to_memory(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let tensor = table(cx, args, "tensor")?;
    let tile = matrix(cx, args, "tile")?;
    let indices = memory_indices(cx, args)?;
    let mode = match args.get("coalesce") {
        Some(expr) => word(cx, expr, GATHER_MODES)?.unwrap_or("elem"),
        None => "elem",
    };
    let mut attributes = attrs([("mode", Attr::Word(mode.into()))]);
    for (parameter, name, words) in
        [("scatter_oob", "out_of_range", OUT_OF_RANGE_WRITES), ("atomic", "atomic", ATOMICS)]
    {
        if let Some(expr) = args.get(parameter)
            && let Some(policy) = word(cx, expr, words)?
        {
            attributes.set(name, Attr::Word(policy.into()));
        }
    }
    put(cx, tile, indices, tensor, attributes, args.at)?;
    Ok(Held::Ir(tensor))
}

fn put(cx: &mut Cx<'_>, tile: Value, indices: Value, tensor: Value, attributes: Attrs, at: TextRange) -> Res<()> {
    let (Some(source), Some(index), Some(t)) =
        (cx.tile(tile).cloned(), cx.tile(indices).cloned(), cx.tensor(tensor).cloned())
    else {
        return Err(cx.not_a(&Held::Ir(tile), "a tile", at));
    };
    let rows = attributes.word("mode") == Some("row");
    let fits = if rows {
        index.shape == [1, source.shape[0]] && t.rank() == 2 && t.shape[1].known().is_none_or(|n| n == source.shape[1])
    } else {
        index.shape == source.shape
    };
    if !fits {
        let what = if rows {
            "one index per row, in one row, and rows of the tensor's width"
        } else {
            "one index per element"
        };
        let message = format!("a scatter takes {what}, not indices {:?} for a tile {:?}", index.shape, source.shape);
        return Err(cx.error("shape-mismatch", at, message).into());
    }
    let tile = cx.storable(tile, t.dtype, at)?;
    cx.effect(Opcode::Scatter, &[&[tile], &[indices], &[tensor]], attributes);
    cx.written(tensor, at);
    Ok(())
}

/// `pl.scatter_update(input, -2, index, src)`: rows of a tensor replaced where it is; of a tile, in a copy.
pub(crate) fn update(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let at = args.at;
    let expr = args.need("input");
    let held = cx.eval(expr)?;
    if let Some(dim) = args.get("dim") {
        let rank = match &held {
            Held::Ir(v) => cx.tensor(*v).map_or(2, TensorType::rank) as i64,
            _ => 2,
        };
        let axis = cx.static_int(dim)?;
        if axis != -2 && axis != rank - 2 {
            let message = format!("`pl.scatter_update` replaces rows (`dim=-2`), not along axis {axis}");
            return Err(cx.unsupported("unsupported-axis", dim, message).into());
        }
    }
    let indices = matrix(cx, args, "index")?;
    let src = matrix(cx, args, "src")?;
    let (Some(i), Some(s)) = (cx.tile(indices).cloned(), cx.tile(src).cloned()) else {
        return Err(cx.not_a(&held, "a tile", at));
    };
    let count = i.shape.iter().product::<u64>();
    if count != s.shape[0] {
        let message = format!("`pl.scatter_update` takes one index per row, not {:?} for {:?}", i.shape, s.shape);
        return Err(cx.error("shape-mismatch", at, message).into());
    }
    let indices = cx.reshaped(indices, vec![1, count], at)?;
    if let Held::Ir(tensor) = held
        && let Some(t) = cx.tensor(tensor).cloned()
    {
        let rows = match t.rank() {
            2 => tensor,
            // [blocks, rows of a block, 1, columns]
            _ => {
                let shape = t.static_shape().filter(|_| t.is_packed());
                let Some(shape) = shape else {
                    let message = "`pl.scatter_update` of more than two axes needs a packed tensor of known shape";
                    return Err(cx.unsupported("unsupported-view", expr, message).into());
                };
                let width = shape.last().copied().unwrap_or(1);
                let height = shape.iter().product::<u64>() / width.max(1);
                cx.view_as(tensor, vec![height, width], at)?
            }
        };
        put(cx, src, indices, rows, attrs([("mode", Attr::Word("row".into()))]), at)?;
        return Ok(held);
    }
    let input = cx.operand(args.name, &held, expr.range())?;
    let shape = cx.tile(input).map(|t| t.shape.clone()).unwrap_or_default();
    let input = cx.flattened(input, expr.range())?;
    if cx.tile(input).is_none_or(|t| t.dtype != s.dtype || t.shape[1] != s.shape[1]) {
        let message = format!(
            "`pl.scatter_update` replaces rows of its input: {} by {}",
            cx.describe(&Held::Ir(input)),
            cx.describe(&Held::Ir(src))
        );
        return Err(cx.error("shape-mismatch", at, message).into());
    }
    let target = cx.infer(Opcode::TMov, &[&[input]], Attrs::default(), at)?;
    let rows = cx.valid_extent(src, 0, at)?;
    let zero = cx.index(0);
    cx.each(&rows, at, |cx, k| {
        let part = cx.row(src, k, at)?;
        let column = cx.as_index(k, at)?;
        let place = cx.infer_op(Opcode::TGetVal, &[indices, zero, column], Attrs::default(), at)?;
        let place = cx.convert_scalar(place, DType::Index);
        cx.insert(part, target, &Held::Ir(place), &Held::Int(0), at)
    })?;
    cx.reshaped(target, shape, at).map(Held::Ir)
}
