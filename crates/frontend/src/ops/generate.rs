//! Tiles made of numbers: fills, sequences, triangles, random bits.

use dtype::DType;
use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Opcode, TensorType, TileType, Type, Value};
use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

/// `pl.full(shape, dtype, value)`.
pub(crate) fn full(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let dtype = cx.static_dtype(args.need("dtype"))?;
    let shape = cx.static_shape(args.need("shape"))?;
    let expr = args.need("value");
    let held = cx.eval(expr)?;
    if !cx.in_scope() {
        let scalar = cx.adopt(&held, dtype, expr.range())?;
        let attr =
            if dtype.is_float() { Attr::Float(scalar.as_f64()) } else { Attr::Int(scalar.as_i64().unwrap_or(0)) };
        let dims = shape.iter().map(|&n| Dim::Static(n)).collect();
        let ty = Type::Tensor(TensorType::packed(dtype, dims));
        return Ok(Held::Ir(cx.result(Opcode::TensorCreate, &[&[]], ty, attrs([("init", attr)]))));
    }
    let scalar = cx.scalar_of(&held, dtype, expr.range())?;
    let ty = Type::Tile(TileType::value(dtype, shape));
    Ok(Held::Ir(cx.result(Opcode::TExpandS, &[&[scalar], &[]], ty, Attrs::default())))
}

pub(crate) fn expands(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let target = args.need("target");
    let held = cx.eval(target)?;
    let tile = cx.operand(args.name, &held, target.range())?;
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", target.range())) };
    let expr = args.need("scalar");
    let scalar = cx.eval(expr)?;
    let scalar = cx.scalar_of(&scalar, t.dtype, expr.range())?;
    let ty = Type::Tile(TileType::value(t.dtype, t.shape));
    Ok(Held::Ir(cx.result(Opcode::TExpandS, &[&[scalar], &[]], ty, Attrs::default())))
}

/// `pl.arange(start, [1, N], dtype=INT32)`.
pub(crate) fn arange(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let at = args.at;
    if !cx.in_scope() {
        return Err(cx.outside(args.name, at));
    }
    let dtype = args.get("dtype").map(|e| cx.static_dtype(e)).transpose()?.unwrap_or(DType::I32);
    if !matches!(dtype, DType::I16 | DType::I32 | DType::U16 | DType::U32) {
        let message = format!("`pl.arange` makes INT16, INT32, UINT16 or UINT32, not {}", dtype.language_name());
        return Err(cx.error("dtype-unsupported", at, message).into());
    }
    let shape = cx.static_shape(args.need("shape"))?;
    if shape[..shape.len() - 1].iter().any(|&n| n != 1) {
        let message = format!("`pl.arange` fills one row: leading extents are 1, not {shape:?}");
        return Err(cx.error("shape-mismatch", args.need("shape"), message).into());
    }
    let start = args.need("start");
    let held = cx.eval(start)?;
    let scalar = cx.scalar_of(&held, dtype, start.range())?;
    let mut attributes = Attrs::default();
    if args.get("descending").map(|e| cx.static_bool(e)).transpose()?.unwrap_or(false) {
        attributes.set("descending", Attr::Bool(true));
    }
    let ty = Type::Tile(TileType::value(dtype, shape));
    Ok(Held::Ir(cx.result(Opcode::TCi, &[&[scalar]], ty, attributes)))
}

/// `pl.tri(diagonal, shape, valid_shape, dtype, upper)`: ones up to a diagonal, or from it on.
pub(crate) fn tri(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    if !cx.in_scope() {
        return Err(cx.outside(args.name, args.at));
    }
    let expr = args.need("diagonal");
    let held = cx.eval(expr)?;
    let diagonal = cx.as_index(&held, expr.range())?;
    let dtype = cx.static_dtype(args.need("dtype"))?;
    let shape = matrix_shape(cx, args, args.need("shape"))?;
    let mut attributes = Attrs::default();
    if args.get("upper").map(|e| cx.static_bool(e)).transpose()?.unwrap_or(false) {
        attributes.set("upper", Attr::Bool(true));
    }
    let mut extents: Vec<Held> = shape.iter().map(|&n| Held::Int(n as i64)).collect();
    if let Some(expr) = args.get("valid_shape") {
        match cx.eval(expr)? {
            Held::None => {}
            Held::Tuple(items) if items.len() == 2 => extents = items,
            other => return Err(cx.not_a(&other, "a list of two extents", expr.range())),
        }
    }
    let (mut valid, mut dynamic) = (Vec::new(), Vec::new());
    for (extent, &n) in extents.iter().zip(&shape) {
        match cx.known_int(extent) {
            Some(v) if (0..=n as i64).contains(&v) => valid.push(Dim::Static(v as u64)),
            Some(v) => {
                let message = format!("a valid extent of {v} in an axis that has {n}");
                return Err(cx.error("shape-mismatch", args.at, message).into());
            }
            None => {
                dynamic.push(cx.as_index(extent, args.at)?);
                valid.push(Dim::Dynamic);
            }
        }
    }
    let ty = TileType::value(dtype, shape).with_valid(valid);
    let partly = !ty.is_fully_valid();
    let tile = cx.result(Opcode::TTri, &[&[diagonal], &dynamic], Type::Tile(ty), attributes);
    if partly {
        cx.program.valid.insert(tile, extents);
    }
    Ok(Held::Ir(tile))
}

/// `pl.random(key0, key1, counter0, …, counter3, shape, dtype, rounds)`: bits from a key and a counter, on a5.
pub(crate) fn random(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    if !cx.in_scope() {
        return Err(cx.outside(args.name, args.at));
    }
    if cx.arch != chip::Arch::A5 {
        let message = format!("`pl.random` is an instruction of a5; {} has none", cx.arch.name());
        return Err(cx.unsupported("unsupported-op", args.at, message).into());
    }
    let mut words = Vec::new();
    for name in ["key0", "key1", "counter0", "counter1", "counter2", "counter3"] {
        let expr = args.need(name);
        let held = cx.eval(expr)?;
        let word = cx.scalar(&held, None, expr.range())?;
        if !cx.ty(word).as_scalar().is_some_and(DType::is_int) {
            return Err(cx.not_a(&held, "an integer", expr.range()));
        }
        words.push(word);
    }
    let expr = args.need("dtype");
    let dtype = cx.static_dtype(expr)?;
    if !matches!(dtype, DType::I32 | DType::U32) {
        let message = format!("`pl.random` makes INT32 or UINT32, not {}", dtype.language_name());
        return Err(cx.error("dtype-unsupported", expr, message).into());
    }
    let shape = matrix_shape(cx, args, args.need("shape"))?;
    let mut attributes = Attrs::default();
    if let Some(expr) = args.get("rounds") {
        match cx.static_int(expr)? {
            rounds @ (7 | 10) => attributes.set("rounds", Attr::Int(rounds)),
            other => {
                let message = format!("`pl.random` has 7 or 10 rounds, not {other}");
                return Err(cx.error("wrong-argument", expr, message).into());
            }
        }
    }
    let groups: Vec<&[Value]> = words.chunks(1).collect();
    let ty = Type::Tile(TileType::value(dtype, shape));
    Ok(Held::Ir(cx.result(Opcode::TRandom, &groups, ty, attributes)))
}

/// A shape of two extents; one alone is a row.
fn matrix_shape(cx: &mut Cx<'_>, args: &Args<'_>, expr: &Expr) -> Res<Vec<u64>> {
    let shape = cx.static_shape(expr)?;
    match shape[..] {
        [n] => Ok(vec![1, n]),
        [_, _] => Ok(shape),
        _ => {
            let message = format!("`pl.{}` makes matrices, not {shape:?}", args.name);
            Err(cx.error("shape-mismatch", expr, message).into())
        }
    }
}
