//! Matrix products.
//!
//! The value is f32 (i32 for integers) whatever `out_dtype` says (semantics rule 9). Where the language type is narrower
//! (`out_dtype`, or none with f16 or bf16 operands) the name keeps it, and the value is rounded where it is used as that.
//! A batch of one is a matrix, and so is its product.

use dtype::DType;
use ir::builder::attrs;
use ir::{Attr, Attrs, Opcode, Value};
use ruff_text_size::Ranged;

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

fn operands(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<(Value, Value, Attrs)> {
    let mut tiles = Vec::new();
    for parameter in ["lhs", "rhs"] {
        let expr = args.need(parameter);
        let held = cx.eval(expr)?;
        let tile = cx.operand(args.name, &held, expr.range())?;
        let tile = cx.as_matrix(tile, expr.range())?;
        let shape = cx.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
        if shape.len() != 2 {
            let message = format!("`pl.{}` takes matrices, not a tile of shape {shape:?}", args.name);
            return Err(cx.unsupported("unsupported-rank", expr, message).into());
        }
        tiles.push(tile);
    }
    let mut flags = Attrs::default();
    for name in ["a_trans", "b_trans"] {
        if let Some(expr) = args.get(name)
            && cx.static_bool(expr)?
        {
            flags.set(name, Attr::Bool(true));
        }
    }
    Ok((tiles[0], tiles[1], flags))
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
    let (lhs, rhs, flags) = operands(cx, args)?;
    let input = cx.ty(lhs).element();
    let product = cx.infer(Opcode::TMatmul, &[&[lhs], &[rhs]], flags.clone(), args.at)?;
    valid(cx, product, lhs, rhs, &flags);
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
