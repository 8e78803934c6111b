//! Comparisons and selections.
//!
//! A comparison has two forms. On tensors (slices, created tensors and what is computed of them) it gives 1 and 0 in the
//! element type of its operands; on tiles (`pl.load`, `pl.create_tile`, everything under `pl.tile.`) a mask of one bit
//! per element, which `pl.sel` and `pl.sels` take. `pl.cmp` asks which kind its first operand is ([`crate::kinds`]),
//! `pl.tile.cmp` and `pl.cmps` always give masks.

use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::ops::PREDICATES;
use ir::{Attr, Attrs, Opcode, Value};
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

/// A comparison as a number from 0 to 5, or by name.
pub(crate) fn predicate(cx: &mut Cx<'_>, expr: &Expr) -> Res<&'static str> {
    let held = cx.eval(expr)?;
    let found = match (&held, cx.known_int(&held)) {
        (Held::Str(word), _) => PREDICATES.iter().find(|p| p.eq_ignore_ascii_case(word)),
        (Held::Language(path), _) => {
            let word = path.rsplit('.').next().unwrap_or(path);
            PREDICATES.iter().find(|p| p.eq_ignore_ascii_case(word))
        }
        (_, Some(n)) => usize::try_from(n).ok().and_then(|n| PREDICATES.get(n)),
        _ => None,
    };
    found.copied().ok_or_else(|| cx.not_a(&held, "a comparison: 0 to 5, or eq, ne, lt, le, gt, ge", expr.range()))
}

/// Whether a tile is a column of more than one element. Masks have a row of whole blocks per row of elements, so columns
/// are compared and selected as one row.
fn is_column(cx: &Cx<'_>, tile: Value) -> bool {
    cx.tile(tile).is_some_and(|t| t.cols() == 1 && t.rows() > 1)
}

/// Both operands of a comparison: two tiles of one shape, or a tile and a number.
fn operands(cx: &mut Cx<'_>, args: &Args<'_>, x: &Held) -> Res<(Value, Value)> {
    let (a, b) = (args.need("a"), args.need("b"));
    let y = cx.eval(b)?;
    let left = cx.operand(args.name, x, a.range())?;
    let number = y.is_literal_number() || matches!(&y, Held::Ir(v) if cx.ty(*v).as_scalar().is_some());
    if !number {
        let right = cx.operand(args.name, &y, b.range())?;
        let (left, right) = cx.promoted(left, right, args.at)?;
        return cx.one_shape(args.name, left, right, args.at);
    }
    let element = cx.ty(left).element().unwrap_or(DType::F32);
    let float = match &y {
        Held::Float(v) => v.fract() != 0.0,
        Held::Ir(v) => cx.ty(*v).as_scalar().is_some_and(|d| d.is_float()),
        _ => false,
    };
    let left = if float && element.is_int() { cx.convert(left, DType::F32, "rint", args.at)? } else { left };
    let element = cx.ty(left).element().unwrap_or(element);
    Ok((left, cx.scalar_of(&y, element, b.range())?))
}

impl Cx<'_> {
    /// The mask of a comparison of matrices, or of a matrix and a scalar.
    pub(crate) fn mask(&mut self, predicate: &str, a: Value, b: Value, at: TextRange) -> Res<Value> {
        let opcode = if self.tile(b).is_some() { Opcode::TCmp } else { Opcode::TCmpS };
        self.infer(opcode, &[&[a], &[b]], attrs([("predicate", Attr::Word(predicate.to_owned()))]), at)
    }

    /// `a` where the mask holds, else `b`, a tile or a scalar.
    pub(crate) fn select(&mut self, mask: Value, a: Value, b: Value, at: TextRange) -> Res<Value> {
        let opcode = if self.tile(b).is_some() { Opcode::TSel } else { Opcode::TSelS };
        self.infer_op(opcode, &[mask, a, b], Attrs::default(), at)
    }

    /// A number in an element type, as a scalar.
    pub(crate) fn number(&mut self, dtype: DType, value: i64) -> Value {
        self.constant(Scalar::from_i64(dtype, value))
    }
}

/// `pl.cmp(a, b, cmp_type)` in the form of its operands.
pub(crate) fn cmp(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let held = cx.eval(args.need("a"))?;
    if matches!(held, Held::Ir(v) if cx.is_tile_kind(v)) {
        return bits(cx, args, &held);
    }
    let word = predicate(cx, args.need("cmp_type"))?;
    let (a, b) = operands(cx, args, &held)?;
    let shape = cx.tile(a).map(|t| t.shape.clone()).unwrap_or_default();
    let as_rows = |cx: &mut Cx<'_>, tile: Value| match cx.tile(tile) {
        Some(t) if is_column(cx, tile) => {
            let shape = vec![1, t.rows()];
            cx.reshaped(tile, shape, args.at)
        }
        Some(_) => cx.flattened(tile, args.at),
        None => Ok(tile),
    };
    let (a, b) = (as_rows(cx, a)?, as_rows(cx, b)?);
    let mask = cx.mask(word, a, b, args.at)?;
    let dtype = cx.ty(a).element().unwrap_or(DType::F32);
    let (one, zero) = (cx.number(dtype, 1), cx.number(dtype, 0));
    let ones = cx.filled_like(a, one, args.at)?;
    // Valid where both operands are.
    let other = match (cx.tile(a), cx.tile(b)) {
        (Some(x), Some(y)) if x.valid != y.valid => cx.filled_like(b, zero, args.at)?,
        _ => zero,
    };
    let chosen = cx.select(mask, ones, other, args.at)?;
    cx.reshaped(chosen, shape, args.at).map(Held::Ir)
}

/// `pl.tile.cmp(a, b, cmp_type)`, `pl.cmps(a, s, cmp_type)`: a mask.
pub(crate) fn packed(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let held = cx.eval(args.need("a"))?;
    bits(cx, args, &held)
}

fn bits(cx: &mut Cx<'_>, args: &Args<'_>, held: &Held) -> Res<Held> {
    let word = predicate(cx, args.need("cmp_type"))?;
    let (a, b) = operands(cx, args, held)?;
    cx.mask(word, a, b, args.at).map(Held::Ir)
}

/// `pl.sel(mask, a, b)`.
pub(crate) fn sel(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let expr = args.need("mask");
    let held = cx.eval(expr)?;
    let mask = cx.operand(args.name, &held, expr.range())?;
    let mut sides = Vec::new();
    for name in ["a", "b"] {
        let expr = args.need(name);
        let held = cx.eval(expr)?;
        sides.push((held, expr.range()));
    }
    let a = cx.operand(args.name, &sides[0].0, sides[0].1)?;
    let (b, at_b) = &sides[1];
    let number = b.is_literal_number() || matches!(b, Held::Ir(v) if cx.ty(*v).as_scalar().is_some());
    if number {
        let element = cx.ty(a).element().unwrap_or(DType::F32);
        let b = cx.scalar_of(b, element, *at_b)?;
        return cx.select(mask, a, b, args.at).map(Held::Ir);
    }
    let b = cx.operand(args.name, b, *at_b)?;
    let (a, b) = cx.promoted(a, b, args.at)?;
    cx.select(mask, a, b, args.at).map(Held::Ir)
}
