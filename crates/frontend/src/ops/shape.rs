//! Casts, and operations on shape and valid region of tiles.

use dtype::{DType, RoundMode};
use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Opcode, TileType, Type, Value};
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

/// `pl.cast(x, dtype, mode="round")`: a tile by the profile's chain of hops, a scalar as C does.
pub(crate) fn cast(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, at) = (args.need("x"), args.at);
    let held = cx.eval(x)?;
    let to = cx.static_dtype(args.need("target_type"))?;
    let mode = match args.get("mode") {
        None => RoundMode::Round,
        Some(expr) => match cx.eval(expr)? {
            Held::Str(word) => match word.parse() {
                Ok(mode) => mode,
                Err(()) => {
                    let message = format!("`{word}` is not a rounding mode");
                    let all: Vec<&str> = RoundMode::ALL.iter().map(|m| m.name()).collect();
                    let help = format!("modes are {}", all.join(", "));
                    return Err(cx.error("wrong-argument", expr, message).help(help).into());
                }
            },
            Held::Int(n) if (0..7).contains(&n) => RoundMode::ALL[n as usize],
            other => return Err(cx.not_a(&other, "a rounding mode", expr.range())),
        },
    };
    let held = cx.dynamic_extent(&held, at)?;
    match held {
        Held::Int(_) if to == DType::Index => return Ok(held),
        Held::Int(_) | Held::Float(_) | Held::Bool(_) => {
            // A literal of the type it has alone, converted as a run-time scalar would be.
            let own = Cx::literal_type(&held).unwrap_or(to);
            let own = if own == DType::F32 && to.is_float() { to } else { own };
            let value = cx.adopt(&held, own, x.range())?;
            let converted = dtype::scalar::cast(value, to);
            return Ok(Held::Ir(cx.constant(converted)));
        }
        Held::Ir(v) if cx.ty(v).as_scalar().is_some() => return Ok(Held::Ir(cx.convert_scalar(v, to))),
        _ => {}
    }
    let tile = cx.raw_operand(args.name, &held, x.range())?;
    let (actual, language) = (cx.ty(tile).element(), cx.language_dtype(tile));
    if language == Some(to) {
        let name = to.language_name();
        let message = format!("`{}` is {name} already: a conversion from {name} to itself does nothing", cx.text(x));
        return Err(cx.error("same-dtype-cast", at, message).help("leave the cast out").into());
    }
    if actual == Some(to) {
        // A product whose language type is narrower than its value: the value is not rounded (rule 9).
        let copy = cx.infer(Opcode::TMov, &[&[tile]], Attrs::default(), at)?;
        return Ok(Held::Ir(copy));
    }
    let value = cx.convert(tile, to, mode.name(), at)?;
    if let Some(expr) = args.get("saturate")
        && cx.static_bool(expr)?
        && let Some(op) = cx.program.func.def_op(value)
    {
        cx.program.func.ops[op].attrs.set("saturate", Attr::Bool(true));
    }
    Ok(Held::Ir(value))
}

impl Cx<'_> {
    /// The elements of a tile in row-major order under another shape.
    pub(crate) fn reshaped(&mut self, tile: Value, shape: Vec<u64>, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else {
            return Err(self.not_a(&Held::Ir(tile), "a tile", at));
        };
        if t.shape == shape {
            return Ok(tile);
        }
        let (a, b) = (t.shape.iter().product::<u64>(), shape.iter().product::<u64>());
        if a != b {
            let message = format!("{:?} has {a} elements and {shape:?} has {b}", t.shape);
            return Err(self.error("shape-mismatch", at, message).into());
        }
        let valid: Vec<Dim> = if t.is_fully_valid() {
            shape.iter().map(|&n| Dim::Static(n)).collect()
        } else {
            // Kept where only axes of one element come or go.
            let real = |s: &[u64]| s.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
            if real(&t.shape) != real(&shape) || t.valid.contains(&Dim::Static(0)) {
                let message = "reshaping a partly valid tile is supported only where axes of one element come or go";
                return Err(self.unsupported("unsupported-valid-region", at, message).into());
            }
            let mut rest = t.shape.iter().zip(&t.valid).filter(|(n, _)| **n != 1).map(|(_, v)| *v);
            shape.iter().map(|&n| if n == 1 { Dim::Static(1) } else { rest.next().unwrap_or(Dim::Static(n)) }).collect()
        };
        let ty = Type::Tile(TileType::value(t.dtype, shape).with_valid(valid));
        Ok(self.result(Opcode::TReshape, &[&[tile]], ty, Attrs::default()))
    }
}

impl Cx<'_> {
    /// A tile without leading axes of one element, if that makes it a matrix. What was loaded is loaded as a matrix: no
    /// reshape stands between memory and a product.
    pub(crate) fn as_matrix(&mut self, tile: Value, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else { return Ok(tile) };
        let lead = t.shape.len().saturating_sub(2);
        if lead == 0 || t.shape[..lead].iter().any(|&n| n != 1) {
            return Ok(tile);
        }
        let load = self.program.func.def_op(tile).filter(|&op| self.program.func.ops[op].opcode == Opcode::Load);
        let Some(load) = load else { return self.reshaped(tile, t.shape[lead..].to_vec(), at) };
        let data = self.program.func.ops[load].clone();
        let (Some(sizes), None) = (data.attrs.ints("sizes"), data.attrs.get("drop")) else {
            return self.reshaped(tile, t.shape[lead..].to_vec(), at);
        };
        let drop: Vec<i64> = (0..lead as i64).collect();
        let attributes = attrs([("sizes", Attr::Ints(sizes.to_vec())), ("drop", Attr::Ints(drop))]);
        let ty = TileType::value(t.dtype, t.shape[lead..].to_vec()).with_valid(t.valid[lead..].to_vec());
        let twin = self.before(load, |cx| {
            cx.span = data.span;
            let groups = [data.group(0), data.group(1), data.group(2)];
            cx.result(Opcode::Load, &groups, Type::Tile(ty), attributes)
        });
        if let Some(known) = self.program.valid.get(&tile).map(|v| v[lead..].to_vec()) {
            self.program.valid.insert(twin, known);
        }
        Ok(twin)
    }
}

/// `pl.fillpad(x, pad_value)`: writes the pad outside the valid region; the result is fully valid.
pub(crate) fn fillpad(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    let pad = pad_value(cx, args)?;
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", x.range())) };
    let ty = Type::Tile(TileType::value(t.dtype, t.shape));
    Ok(Held::Ir(cx.result(Opcode::TFillPad, &[&[tile]], ty, attrs([("pad", Attr::Word(pad.into()))]))))
}

/// What `pad_value` writes.
fn pad_value(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<&'static str> {
    Ok(match args.get("pad_value") {
        None => "zero",
        Some(expr) => match cx.eval(expr)? {
            Held::Language(name) if name == "PadValue.zero" => "zero",
            Held::Language(name) if name == "PadValue.max" => "max",
            Held::Language(name) if name == "PadValue.min" => "min",
            Held::Int(0) => "zero",
            Held::Float(0.0) => "zero",
            Held::Float(v) if v == f64::INFINITY => "max",
            Held::Float(v) if v == f64::NEG_INFINITY => "min",
            other => return Err(cx.not_a(&other, "`pl.PadValue.zero`, `.max` or `.min`", expr.range())),
        },
    })
}

/// `pl.fillpad_expand(x, shape, pad_value)`: as `pl.fillpad`, in a larger shape.
pub(crate) fn fillpad_expand(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    let pad = pad_value(cx, args)?;
    let shape = cx.static_shape(args.need("shape"))?;
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", x.range())) };
    if t.shape.len() != shape.len() || t.shape.iter().zip(&shape).any(|(old, new)| old > new) {
        let message =
            format!("`pl.fillpad_expand` makes {:?} at least as large along each axis, not {shape:?}", t.shape);
        return Err(cx.error("shape-mismatch", args.at, message).into());
    }
    let ty = Type::Tile(TileType::value(t.dtype, shape));
    Ok(Held::Ir(cx.result(Opcode::TFillPad, &[&[tile]], ty, attrs([("pad", Attr::Word(pad.into()))]))))
}

/// The tile with the given valid rows and columns.
pub(crate) fn narrowed(cx: &mut Cx<'_>, tile: Value, rows: &Held, cols: &Held, at: TextRange) -> Res<Value> {
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&Held::Ir(tile), "a tile", at)) };
    let [m, n] = t.shape[..] else {
        let message = format!("a valid region of a tile of rank {} cannot be set", t.shape.len());
        return Err(cx.unsupported("unsupported-rank", at, message).into());
    };
    let mut valid = Vec::new();
    for (held, size) in [(rows, m), (cols, n)] {
        valid.push(match cx.known_int(held) {
            Some(v) if (0..=size as i64).contains(&v) => Dim::Static(v as u64),
            Some(v) => {
                let message = format!("a valid extent of {v} in an axis that has {size}");
                return Err(cx.error("shape-mismatch", at, message).into());
            }
            None => Dim::Dynamic,
        });
    }
    let known = cx.program.valid.get(&tile);
    let unchanged = |axis: usize, held: &Held| match valid[axis] {
        Dim::Static(_) => valid[axis] == t.valid[axis],
        Dim::Dynamic => known.is_some_and(|k| k[axis] == *held),
    };
    if unchanged(0, rows) && unchanged(1, cols) {
        return Ok(tile);
    }
    let (row, col) = (cx.as_index(rows, at)?, cx.as_index(cols, at)?);
    let ty = Type::Tile(TileType::value(t.dtype, t.shape).with_valid(valid));
    let value = cx.result(Opcode::SetValidShape, &[&[tile], &[row], &[col]], ty, Attrs::default());
    cx.program.valid.insert(value, vec![rows.clone(), cols.clone()]);
    if let Some(&language) = cx.program.language.get(&tile) {
        cx.program.language.insert(value, language);
    }
    Ok(value)
}

pub(crate) fn set_validshape(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    let (rows, cols) = (cx.eval(args.need("rows"))?, cx.eval(args.need("cols"))?);
    narrowed(cx, tile, &rows, &cols, args.at).map(Held::Ir)
}

/// `pl.concat(a, b)` along the last axis.
pub(crate) fn concat(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let mut parts = Vec::new();
    for name in ["a", "b"] {
        let expr = args.need(name);
        let held = cx.eval(expr)?;
        parts.push(cx.operand(args.name, &held, expr.range())?);
    }
    let (a, b) = cx.promoted(parts[0], parts[1], args.at)?;
    let (Some(x), Some(y)) = (cx.tile(a).cloned(), cx.tile(b).cloned()) else {
        return Err(cx.error("wrong-argument", args.at, "two tiles are needed").into());
    };
    let last = x.shape.len() - 1;
    if x.shape.len() != y.shape.len() || x.shape[..last] != y.shape[..last] {
        let message = format!(
            "`pl.concat` joins tiles that differ along the last axis only, not {:?} and {:?}",
            x.shape, y.shape
        );
        return Err(cx.error("shape-mismatch", args.at, message).into());
    }
    // What follows stands where the left one's valid columns end: where it is known to be whole.
    if x.valid[last] != Dim::Static(x.shape[last]) {
        let message = "`pl.concat` of a left operand whose columns are partly valid is not supported";
        let error = cx.unsupported("unsupported-valid-region", args.at, message.to_owned());
        return Err(error.help("make it whole first: `pl.fillpad(…)`").into());
    }
    let (a, b) = (cx.flattened(a, args.at)?, cx.flattened(b, args.at)?);
    let ty = Type::Tile(TileType::value(x.dtype, vec![x.rows(), x.cols() + y.cols()]));
    let whole = cx.result(Opcode::TileCreate, &[], ty, Attrs::default());
    cx.insert(a, whole, &Held::Int(0), &Held::Int(0), args.at)?;
    cx.insert(b, whole, &Held::Int(0), &Held::Int(x.cols() as i64), args.at)?;
    let shape = [&x.shape[..last], &[x.cols() + y.cols()]].concat();
    cx.reshaped(whole, shape, args.at).map(Held::Ir)
}

/// `pl.expand_clone(x, target)`: repeated along one axis, to the shape of another tile.
pub(crate) fn expand_clone(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, target) = (args.need("x"), args.need("target"));
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    let wanted = cx.eval(target)?;
    let shape = match &wanted {
        Held::Ir(v) => match cx.ty(*v) {
            Type::Tile(t) => Some(t.shape.clone()),
            Type::Tensor(t) => t.static_shape(),
            _ => None,
        },
        _ => None,
    };
    let Some(shape) = shape else { return Err(cx.not_a(&wanted, "a tile of known shape", target.range())) };
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", x.range())) };
    let differ: Vec<usize> = (0..shape.len().min(t.shape.len())).filter(|&i| shape[i] != t.shape[i]).collect();
    let axis = match differ[..] {
        _ if shape.len() != t.shape.len() => None,
        [] => return Ok(Held::Ir(tile)),
        [axis] if t.shape[axis] == 1 => Some(axis),
        _ => None,
    };
    let Some(axis) = axis else {
        let message =
            format!("`pl.expand_clone` repeats along one axis of one element: {:?} does not become {shape:?}", t.shape);
        return Err(cx.error("shape-mismatch", args.at, message).into());
    };
    cx.check_size(shape.iter().copied(), args.at)?;
    cx.repeated_along(tile, axis, shape[axis], args.at).map(Held::Ir)
}

impl Cx<'_> {
    /// `n` copies of a tile along an axis of one element.
    fn repeated_along(&mut self, tile: Value, axis: usize, n: u64, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else { return Err(self.not_a(&Held::Ir(tile), "a tile", at)) };
        // [lead, 1, rest]: each part of `rest` elements stands in `n` rows.
        let lead: u64 = t.shape[..axis].iter().product();
        let rest: u64 = t.shape[axis + 1..].iter().product();
        let mut shape = t.shape.clone();
        shape[axis] = n;
        let rows = self.reshaped(tile, vec![lead, rest], at)?;
        if rest == 1 {
            let ty = Type::Tile(TileType::value(t.dtype, vec![lead, n]));
            let whole = self.result(Opcode::TRowExpand, &[&[rows]], ty, Attrs::default());
            return self.reshaped(whole, shape, at);
        }
        let block = Type::Tile(TileType::value(t.dtype, vec![n, rest]));
        if lead == 1 {
            let whole = self.result(Opcode::TColExpand, &[&[rows]], block, Attrs::default());
            return self.reshaped(whole, shape, at);
        }
        let whole = Type::Tile(TileType::value(t.dtype, vec![lead * n, rest]));
        let whole = self.result(Opcode::TileCreate, &[], whole, Attrs::default());
        self.each(&Held::Int(lead as i64), at, |cx, index| {
            let row = cx.row(rows, index, at)?;
            let part = cx.result(Opcode::TColExpand, &[&[row]], block.clone(), Attrs::default());
            let first = cx.binary(ruff_python_ast::Operator::Mult, index, &Held::Int(n as i64), at)?;
            cx.insert(part, whole, &first, &Held::Int(0), at)
        })?;
        self.reshaped(whole, shape, at)
    }
}
