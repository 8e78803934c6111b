//! Views: the same elements under another shape, in another order of axes, or as another type.
//!
//! Of a tensor nothing moves; in a scope such a view is made before the scope. Of a tile the result is a value.

use dtype::DType;
use ir::builder::attrs;
use ir::{Attr, Attrs, Dim, Opcode, TensorType, TileType, Type, Value};
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

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
    reshape_tensor(cx, args, value, items)
}

/// The elements of a packed tensor under another shape.
fn reshape_tensor(cx: &mut Cx<'_>, args: &Args<'_>, value: Value, items: Vec<Held>) -> Res<Held> {
    let at = args.at;
    let Some(t) = cx.tensor(value).cloned() else { return Err(cx.not_a(&Held::Ir(value), "a tensor", at)) };
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
    cx.infer_op(Opcode::TTrans, &[tile], Attrs::default(), at).map(Held::Ir)
}

impl Cx<'_> {
    /// A packed tensor of known shape under another one.
    pub(crate) fn view_as(&mut self, tensor: Value, shape: Vec<u64>, at: TextRange) -> Res<Value> {
        let Some(t) = self.tensor(tensor).cloned() else { return Err(self.not_a(&Held::Ir(tensor), "a tensor", at)) };
        let dims = shape.iter().map(|&n| Dim::Static(n)).collect();
        let ty = Type::Tensor(TensorType::packed(t.dtype, dims));
        let view = self.outer_view(&[tensor], &[], at, |cx| {
            cx.result(Opcode::TensorReshape, &[&[tensor], &[]], ty, Attrs::default())
        })?;
        self.inherit_root(tensor, view);
        Ok(view)
    }
}

/// `pl.view(x, shape)`: a tensor under another shape.
pub(crate) fn view(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    if let Some(expr) = args.get("layout") {
        match cx.eval(expr)? {
            Held::None => {}
            Held::Language(name) if name.rsplit('.').next() == Some("ND") => {}
            other => {
                let message = format!("a view in another layout is not supported ({})", cx.describe(&other));
                let help = "`pl.transpose` exchanges axes of a tensor without moving it";
                return Err(cx.unsupported("unsupported-layout", expr, message).help(help).into());
            }
        }
    }
    let x = args.need("x");
    match args.get("shape") {
        Some(expr) if !matches!(cx.eval(expr)?, Held::None) => reshape(cx, args),
        _ => cx.eval(x),
    }
}

/// `pl.tile.transpose_view(x)`: rows and columns exchanged. Products take it as it is stored ([`crate::transposes`]).
pub(crate) fn transpose_view(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    cx.infer_op(Opcode::TTrans, &[tile], Attrs::default(), args.at).map(Held::Ir)
}

/// `pl.reinterpret_view(x, dtype, shape=None)`: the same bytes as elements of another type.
pub(crate) fn reinterpret(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, at) = (args.need("x"), args.at);
    let held = cx.eval(x)?;
    let dtype = cx.static_dtype(args.need("dtype"))?;
    let shape = match args.get("shape") {
        Some(expr) => match cx.eval(expr)? {
            Held::None => None,
            _ => Some(cx.static_shape(expr)?),
        },
        None => None,
    };
    let Held::Ir(value) = held else { return Err(cx.not_a(&held, "a tensor or a tile", x.range())) };
    if let Some(t) = cx.tensor(value).cloned() {
        return reinterpret_tensor(cx, args, (value, &t), dtype, shape).map(Held::Ir);
    }
    let tile = cx.operand(args.name, &held, x.range())?;
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", x.range())) };
    let natural = rescaled(cx, &t.shape, (t.dtype, dtype), at)?;
    let cast = if t.dtype == dtype {
        tile
    } else {
        if !t.is_fully_valid() {
            let message = "taking the bytes of a partly valid tile for another type is not supported";
            return Err(cx.unsupported("unsupported-valid-region", at, message).help("`pl.fillpad` it before").into());
        }
        let ty = Type::Tile(TileType::value(dtype, natural));
        cx.result(Opcode::Bitcast, &[&[tile]], ty, Attrs::default())
    };
    match shape {
        Some(shape) => cx.reshaped(cast, shape, at).map(Held::Ir),
        None => Ok(Held::Ir(cast)),
    }
}

/// A shape whose last axis has the same bytes in another type.
fn rescaled(cx: &Cx<'_>, shape: &[u64], (from, to): (DType, DType), at: TextRange) -> Res<Vec<u64>> {
    let mut shape = shape.to_vec();
    let last = shape.last_mut();
    let bytes = last.as_ref().map_or(0, |n| **n * from.size() as u64);
    if !bytes.is_multiple_of(to.size() as u64) {
        let message =
            format!("{bytes} bytes along the last axis are no whole number of {} elements", to.language_name());
        return Err(cx.error("shape-mismatch", at, message).into());
    }
    if let Some(n) = last {
        *n = bytes / to.size() as u64;
    }
    Ok(shape)
}

fn reinterpret_tensor(
    cx: &mut Cx<'_>,
    args: &Args<'_>,
    (tensor, t): (Value, &TensorType),
    dtype: DType,
    shape: Option<Vec<u64>>,
) -> Res<Value> {
    let at = args.at;
    let mut view = tensor;
    if t.dtype != dtype {
        let last = t.shape.last().copied().and_then(Dim::known);
        let (Some(last), true) = (last, t.is_packed()) else {
            let message = "only a packed tensor whose last extent is known can be taken for another element type";
            return Err(cx.error("shape-mismatch", at, message).help("take it before slicing").into());
        };
        let mut dims = t.shape.clone();
        let scaled = rescaled(cx, &[last], (t.dtype, dtype), at)?;
        *dims.last_mut().expect("a tensor has axes") = Dim::Static(scaled[0]);
        let (mut extents, mut dynamic) = (Vec::new(), Vec::new());
        for (axis, dim) in dims.iter().enumerate() {
            match dim {
                Dim::Static(n) => extents.push(Held::Int(*n as i64)),
                Dim::Dynamic => {
                    let extent = cx.extent(tensor, axis, at)?;
                    dynamic.push(cx.as_index(&extent, at)?);
                    extents.push(extent);
                }
            }
        }
        let ty = Type::Tensor(TensorType::packed(dtype, dims));
        view = cx.outer_view(&[tensor], &dynamic, at, |cx| {
            cx.result(Opcode::TensorBitcast, &[&[tensor], &dynamic], ty, Attrs::default())
        })?;
        cx.program.dims.insert(view, extents);
        cx.inherit_root(tensor, view);
    }
    match shape {
        Some(shape) => {
            let items = shape.iter().map(|&n| Held::Int(n as i64)).collect();
            match reshape_tensor(cx, args, view, items)? {
                Held::Ir(v) => Ok(v),
                other => Err(cx.not_a(&other, "a tensor", at)),
            }
        }
        None => Ok(view),
    }
}
