//! Matrix products.
//!
//! The value is f32 (i32 for integers) whatever `out_dtype` says (semantics rule 9). Where the language type is narrower
//! (`out_dtype`, or none with f16 or bf16 operands) the name keeps it, and the value is rounded where it is used as that.
//! A batch of one is a matrix, and so is its product; larger batches are in [`super::batch`]. A vector is a row: on
//! the right of a matrix it is multiplied with the transposed matrix.

use dtype::DType;
use ir::builder::attrs;
use ir::{Attr, Attrs, Opcode, Value};
use ruff_text_size::Ranged;

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

/// Operands as the language has them, ready to be multiplied.
struct Sides {
    lhs: Value,
    rhs: Value,
    flags: Attrs,
    /// Which of them were vectors: their axis is not in the result.
    vectors: [bool; 2],
}

fn rank(cx: &Cx<'_>, tile: Value) -> usize {
    cx.tile(tile).map_or(0, |t| t.shape.len())
}

fn sides(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Sides> {
    let mut tiles = Vec::new();
    let mut vectors = [false; 2];
    for (i, parameter) in ["lhs", "rhs"].into_iter().enumerate() {
        let expr = args.need(parameter);
        let held = cx.eval(expr)?;
        let tile = cx.operand(args.name, &held, expr.range())?;
        vectors[i] = rank(cx, tile) == 1;
        tiles.push(if vectors[i] { cx.flattened(tile, expr.range())? } else { cx.as_matrix(tile, expr.range())? });
    }
    let mut flags = Attrs::default();
    for (i, name) in ["a_trans", "b_trans"].into_iter().enumerate() {
        if let Some(expr) = args.get(name)
            && cx.static_bool(expr)?
        {
            if vectors[i] {
                let message = format!("`{name}` of a vector: it has one axis");
                return Err(cx.error("wrong-argument", expr, message).into());
            }
            flags.set(name, Attr::Bool(true));
        }
    }
    if vectors == [true, true] {
        let message = "the product of two vectors has no axis, and a tile has at least one";
        let help = "make one of them a matrix of one row: `pl.reshape(x, [1, n])`";
        return Err(cx.unsupported("unsupported-rank", args.at, message).help(help).into());
    }
    let [lhs, rhs] = [tiles[0], tiles[1]];
    if !vectors[1] {
        return Ok(Sides { lhs, rhs, flags, vectors });
    }
    // A · v is the row v · Aᵀ, sum by sum.
    let mut swapped = Attrs::default();
    if !flags.bool("a_trans") {
        swapped.set("b_trans", Attr::Bool(true));
    }
    Ok(Sides { lhs: rhs, rhs: lhs, flags: swapped, vectors })
}

/// Two matrices.
fn operands(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<(Value, Value, Attrs)> {
    let sides = sides(cx, args)?;
    if args.name.starts_with("gemv") {
        let axis = usize::from(sides.flags.bool("a_trans"));
        let shape = cx.tile(sides.lhs).map(|t| t.shape.clone()).unwrap_or_default();
        if shape.get(axis).is_some_and(|&rows| rows != 1) {
            let message = format!("`pl.{}` multiplies one row, not {shape:?}", args.name);
            return Err(cx.error("shape-mismatch", args.need("lhs"), message).help("use `pl.matmul`").into());
        }
    }
    for (tile, parameter) in [(sides.lhs, "lhs"), (sides.rhs, "rhs")] {
        let shape = cx.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
        if shape.len() != 2 {
            let message = format!("`pl.{}` takes matrices, not a tile of shape {shape:?}", args.name);
            return Err(cx.unsupported("unsupported-rank", args.need(parameter), message).into());
        }
    }
    Ok((sides.lhs, sides.rhs, sides.flags))
}

/// The extents that are valid: rows of the left operand, columns of the right one.
fn valid(cx: &mut Cx<'_>, product: Value, lhs: Value, rhs: Value, flags: &Attrs) {
    let side = |cx: &Cx<'_>, v: Value, axis: usize| match cx.program.valid.get(&v) {
        Some(valid) => Some(valid[axis].clone()),
        None => cx.tile(v).and_then(|t| t.valid[axis].known()).map(|n| Held::Int(n as i64)),
    };
    let rows = side(cx, lhs, usize::from(flags.bool("a_trans")));
    let cols = side(cx, rhs, usize::from(!flags.bool("b_trans")));
    if let (Some(rows), Some(cols)) = (rows, cols)
        && cx.tile(product).is_some_and(|t| !t.is_fully_valid())
    {
        cx.program.valid.insert(product, vec![rows, cols]);
    }
}

pub(crate) fn matmul(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let Sides { lhs, rhs, flags, vectors } = sides(cx, args)?;
    let product = if rank(cx, lhs) > 2 || rank(cx, rhs) > 2 {
        cx.batched(lhs, rhs, &flags, args.at)?
    } else {
        let product = cx.infer(Opcode::TMatmul, &[&[lhs], &[rhs]], flags.clone(), args.at)?;
        valid(cx, product, lhs, rhs, &flags);
        product
    };
    let mut shape = cx.tile(product).map(|t| t.shape.clone()).unwrap_or_default();
    let last = shape.len() - 1;
    if vectors != [false, false] {
        shape.remove(last - 1);
    }
    let product = cx.reshaped(product, shape, args.at)?;
    typed(cx, args, product, cx.ty(lhs).element())
}

/// The type of a product in the language: `out_dtype`, or that of its operands.
fn typed(cx: &mut Cx<'_>, args: &Args<'_>, product: Value, input: Option<DType>) -> Res<Held> {
    let actual = cx.ty(product).element().unwrap_or(DType::F32);
    let language = match args.get("out_dtype") {
        Some(expr) => match cx.eval(expr)? {
            Held::None => actual,
            Held::DType(d) => d,
            other => return Err(cx.not_a(&other, "a dtype", expr.range())),
        },
        None => input.filter(|d| d.is_float()).unwrap_or(actual),
    };
    let narrower = actual == DType::F32 && matches!(language, DType::F16 | DType::BF16);
    if language != actual && !narrower {
        let (a, l) = (actual.language_name(), language.language_name());
        let message = format!("a product accumulated in {a} cannot be given as {l}");
        return Err(cx.error("dtype-mismatch", args.at, message).help("convert it with `pl.cast`").into());
    }
    if narrower {
        cx.program.language.insert(product, language);
    }
    Ok(Held::Ir(product))
}

/// `pl.matmul_bias(lhs, rhs, bias)`: the chain of every element starts from its column's bias. A product on the tile
/// level: f32, or i32 for integers.
pub(crate) fn matmul_bias(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (lhs, rhs, flags) = operands(cx, args)?;
    let expr = args.need("bias");
    let held = cx.eval(expr)?;
    let bias = cx.operand(args.name, &held, expr.range())?;
    let mut bias = cx.flattened(bias, expr.range())?;
    if cx.ty(lhs).element().is_some_and(DType::is_float) && cx.ty(bias).element().is_some_and(DType::is_float) {
        bias = cx.convert(bias, DType::F32, "rint", expr.range())?;
    }
    let product = cx.infer(Opcode::TMatmulBias, &[&[lhs], &[rhs], &[bias]], flags.clone(), args.at)?;
    valid(cx, product, lhs, rhs, &flags);
    Ok(Held::Ir(product))
}

/// `pl.gemv(lhs, rhs)`: one row.
pub(crate) fn gemv(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (lhs, rhs, flags) = operands(cx, args)?;
    let product = cx.infer(Opcode::TMatmul, &[&[lhs], &[rhs]], flags.clone(), args.at)?;
    valid(cx, product, lhs, rhs, &flags);
    Ok(Held::Ir(product))
}

/// `pl.batch_matmul(lhs, rhs)`, of the tile level: f32, or i32 for integers.
pub(crate) fn batch_matmul(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let Sides { lhs, rhs, flags, vectors } = sides(cx, args)?;
    if vectors != [false, false] {
        let message = format!("`pl.{}` takes batches of matrices, not a vector", args.name);
        return Err(cx.error("shape-mismatch", args.at, message).into());
    }
    let product = if rank(cx, lhs) > 2 || rank(cx, rhs) > 2 {
        cx.batched(lhs, rhs, &flags, args.at)?
    } else {
        let product = cx.infer(Opcode::TMatmul, &[&[lhs], &[rhs]], flags.clone(), args.at)?;
        valid(cx, product, lhs, rhs, &flags);
        product
    };
    match args.get("out_dtype") {
        Some(_) => typed(cx, args, product, None),
        None => Ok(Held::Ir(product)),
    }
}

pub(crate) fn matmul_acc(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let expr = args.need("acc");
    let held = cx.eval(expr)?;
    let acc = cx.raw_operand(args.name, &held, expr.range())?;
    let acc = cx.as_matrix(acc, expr.range())?;
    let (lhs, rhs, flags) = operands(cx, args)?;
    let init = match args.get("init_cond") {
        Some(test) => {
            let held = cx.eval(test)?;
            cx.condition(held, test.range())?
        }
        None => Held::Bool(false),
    };
    let at = args.at;
    match init {
        Held::Bool(true) => {
            let product = cx.infer(Opcode::TMatmul, &[&[lhs], &[rhs]], flags, at)?;
            Ok(Held::Ir(product))
        }
        Held::Bool(false) => {
            let sum = cx.infer(Opcode::TMatmulAcc, &[&[acc], &[lhs], &[rhs]], flags.clone(), at)?;
            valid(cx, sum, lhs, rhs, &flags);
            Ok(Held::Ir(sum))
        }
        test => {
            // Overwrite or accumulate: two regions with one value.
            let condition = cx.scalar(&test, None, at)?;
            let op = cx.new_op(Opcode::If, &[&[condition]], Attrs::default());
            let mut ty = None;
            for overwrite in [true, false] {
                let region = cx.builder().add_region(op, &[]);
                let back = cx.enter(region);
                let value = if overwrite {
                    cx.infer(Opcode::TMatmul, &[&[lhs], &[rhs]], flags.clone(), at)
                } else {
                    cx.infer(Opcode::TMatmulAcc, &[&[acc], &[lhs], &[rhs]], flags.clone(), at)
                };
                if let Ok(value) = value {
                    ty = Some(cx.ty(value).clone());
                    cx.effect(Opcode::Yield, &[&[value]], attrs([]));
                }
                cx.leave(back);
                value?;
            }
            let ty = ty.expect("both regions have a value");
            Ok(Held::Ir(cx.builder().add_result(op, ty)))
        }
    }
}
