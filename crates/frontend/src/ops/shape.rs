//! Casts, fills, and operations on shape and valid region.

use dtype::{DType, RoundMode};
use ir::builder::{NewOp, attrs};
use ir::{Attr, Attrs, Dim, Opcode, TensorType, TileType, Type, Value};
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

/// `pl.reshape(x, shape)`. A tensor's is a view; in a scope it is made before the scope.
pub(crate) fn reshape(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, at) = (args.need("x"), args.at);
    let held = cx.eval(x)?;
    let Held::Ir(value) = held else { return Err(cx.not_a(&held, "a tensor or a tile", x.range())) };
    if cx.tensor(value).is_none() {
        let tile = cx.operand(args.name, &held, x.range())?;
        let shape = cx.static_shape(args.need("shape"))?;
        return cx.reshaped(tile, shape, at).map(Held::Ir);
    }
    let items = cx.sequence(args.need("shape"))?;
    let Some(t) = cx.tensor(value).cloned() else { return Err(cx.not_a(&held, "a tensor", x.range())) };
    let (mut dims, mut values) = (Vec::new(), Vec::new());
    for item in &items {
        match cx.known_int(item) {
            Some(n) if n > 0 => dims.push(Dim::Static(n as u64)),
            Some(n) => {
                let message = format!("an extent must be positive, not {n}");
                return Err(cx.error("wrong-argument", args.need("shape"), message).into());
            }
            None => {
                values.push(cx.as_index(item, args.need("shape").range())?);
                dims.push(Dim::Dynamic);
            }
        }
    }
    if dims.is_empty() || dims.len() > 5 {
        let message = format!("a shape has 1 to 5 extents, not {}", dims.len());
        return Err(cx.error("wrong-argument", args.need("shape"), message).into());
    }
    let count = |s: &[Dim]| s.iter().map(|d| d.known()).product::<Option<u64>>();
    if let (Some(a), Some(b)) = (count(&t.shape), count(&dims))
        && a != b
    {
        let message = format!("a tensor of {a} elements cannot have a shape of {b}");
        return Err(cx.error("shape-mismatch", at, message).into());
    }
    if !t.is_packed() && t.static_shape().is_some() {
        let message = "a view whose rows are not adjacent cannot be reshaped without a copy";
        return Err(cx.error("shape-mismatch", at, message).help("reshape before slicing").into());
    }
    cx.check_size(dims.iter().filter_map(|d| d.known()), at)?;
    let ty = Type::Tensor(TensorType::packed(t.dtype, dims));
    let view = cx.outer_view(&[value], &values, at, |cx| {
        cx.result(Opcode::TensorReshape, &[&[value], &values], ty, Attrs::default())
    })?;
    cx.program.dims.insert(view, items);
    cx.inherit_root(value, view);
    Ok(Held::Ir(view))
}

impl Cx<'_> {
    /// Makes a view of a tensor here, or, in a scope, before the scope.
    fn outer_view(
        &mut self,
        tensors: &[Value],
        scalars: &[Value],
        at: TextRange,
        make: impl FnOnce(&mut Self) -> Value,
    ) -> Res<Value> {
        let crate::cx::Place::Scope(scope) = self.place else { return Ok(make(self)) };
        if tensors.iter().chain(scalars).any(|&v| self.defined_in(v, scope.op)) {
            let message = "a view whose shape is computed in the kernel scope is not supported";
            return Err(self
                .unsupported("unsupported-view", at, message)
                .help("make the view before the scope")
                .into());
        }
        Ok(self.before(scope.op, make))
    }
}

/// `pl.transpose(x, axis1, axis2)`: a view of a tensor outside of scopes, a transposed copy inside.
pub(crate) fn transpose(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, at) = (args.need("x"), args.at);
    let held = cx.eval(x)?;
    let Held::Ir(value) = held else { return Err(cx.not_a(&held, "a tensor or a tile", x.range())) };
    let rank = match cx.ty(value) {
        Type::Tensor(t) => t.rank(),
        Type::Tile(t) => t.shape.len(),
        _ => return Err(cx.not_a(&held, "a tensor or a tile", x.range())),
    };
    let mut axes = [0; 2];
    for (slot, name) in axes.iter_mut().zip(["axis1", "axis2"]) {
        let expr = args.need(name);
        let axis = cx.static_int(expr)?;
        let wrapped = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(wrapped).ok().filter(|&a| a < rank) {
            Some(a) => *slot = a,
            None => {
                let message = format!("there is no axis {axis} among {rank}");
                return Err(cx.error("wrong-argument", expr, message).into());
            }
        }
    }
    if axes[0] == axes[1] {
        return Err(cx.error("wrong-argument", at, "an axis is not exchanged with itself").into());
    }
    if let (Some(t), false) = (cx.tensor(value).cloned(), cx.in_scope()) {
        let (mut shape, mut strides) = (t.shape, t.strides);
        shape.swap(axes[0], axes[1]);
        strides.swap(axes[0], axes[1]);
        let mut extents = Vec::new();
        for axis in 0..rank {
            extents.push(cx.extent(value, axis, at)?);
        }
        extents.swap(axes[0], axes[1]);
        let ty = Type::Tensor(TensorType { dtype: t.dtype, shape, strides });
        let attributes = attrs([("axis1", Attr::Int(axes[0] as i64)), ("axis2", Attr::Int(axes[1] as i64))]);
        let view = cx.result(Opcode::TensorTranspose, &[&[value]], ty, attributes);
        cx.program.dims.insert(view, extents);
        cx.inherit_root(value, view);
        return Ok(Held::Ir(view));
    }
    let tile = cx.operand(args.name, &held, x.range())?;
    if rank != 2 {
        let message = format!("transposing a tile of rank {rank} is not supported");
        return Err(cx.unsupported("unsupported-rank", at, message).into());
    }
    cx.infer(Opcode::TTrans, &[&[tile], &[]], Attrs::default(), at).map(Held::Ir)
}

/// `pl.fillpad(x, pad_value)`: writes the pad outside the valid region; the result is fully valid.
pub(crate) fn fillpad(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    let pad = match args.get("pad_value") {
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
    };
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", x.range())) };
    let ty = Type::Tile(TileType::value(t.dtype, t.shape));
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

/// `pl.concat(a, b)` along the columns.
pub(crate) fn concat(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let mut parts = Vec::new();
    for name in ["a", "b"] {
        let expr = args.need(name);
        let held = cx.eval(expr)?;
        parts.push(cx.operand(args.name, &held, expr.range())?);
    }
    let types: Vec<TileType> = parts.iter().filter_map(|&p| cx.tile(p).cloned()).collect();
    let [a, b] = &types[..] else { return Err(cx.error("wrong-argument", args.at, "two tiles are needed").into()) };
    let ([m, n], [p, q]) = (&a.shape[..], &b.shape[..]) else {
        return Err(cx.unsupported("unsupported-rank", args.at, "`pl.concat` takes matrices").into());
    };
    if m != p || a.dtype != b.dtype {
        let message = format!(
            "`pl.concat` needs matrices of one element type and as many rows, not {:?} and {:?}",
            a.shape, b.shape
        );
        return Err(cx.error("shape-mismatch", args.at, message).into());
    }
    let ty = Type::Tile(TileType::value(a.dtype, vec![*m, n + q]));
    let whole = cx.result(Opcode::TileCreate, &[], ty, Attrs::default());
    let mut at_col = 0;
    for (&part, width) in parts.iter().zip([*n, *q]) {
        let (zero, col) = (cx.index(0), cx.index(at_col as i64));
        cx.builder().op(NewOp {
            opcode: Opcode::TInsert,
            groups: &[&[part], &[zero], &[col]],
            dests: &[whole],
            results: &[],
            attrs: Attrs::default(),
        });
        at_col += width;
    }
    Ok(Held::Ir(whole))
}
