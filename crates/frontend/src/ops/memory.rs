//! Between tensors and tiles: loads, stores, views, element reads and writes, allocation.

use dtype::DType;
use ir::builder::{NewOp, attrs};
use ir::{Attr, Attrs, Dim, Opcode, TensorType, TileType, Type, Value};
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Fail, Res};
use crate::scalars::a;
use crate::value::Held;

/// No tensor has more elements.
const MOST_ELEMENTS: u64 = 1 << 48;

/// A box of a tensor: per axis where it starts and how long it is.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) axes: Vec<Axis>,
}

#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) offset: Held,
    /// A literal, or a run-time scalar.
    pub(crate) size: Held,
    /// Indexed by one scalar: the axis is not part of the result.
    pub(crate) drop: bool,
    pub(crate) at: TextRange,
}

impl Cx<'_> {
    /// Everything of a tensor, as a tile.
    pub(crate) fn load_whole(&mut self, tensor: Value, at: TextRange) -> Res<Value> {
        let rank = self.tensor(tensor).map_or(0, TensorType::rank);
        let mut axes = Vec::new();
        for axis in 0..rank {
            axes.push(Axis { offset: Held::Int(0), size: self.extent(tensor, axis, at)?, drop: false, at });
        }
        self.load_window(tensor, &Window { axes }, None, at)
    }

    /// A compile-time check that a window of a tensor is inside it, where both are known.
    fn check_bounds(&self, tensor: Value, window: &Window, lengths: &[Option<i64>]) -> Res<()> {
        let Some(t) = self.tensor(tensor) else { return Ok(()) };
        for (axis, ((a, dim), length)) in window.axes.iter().zip(&t.shape).zip(lengths).enumerate() {
            let (Some(offset), Some(n)) = (self.known_int(&a.offset), dim.known()) else { continue };
            let length = length.unwrap_or(0);
            if offset < 0 || offset.saturating_add(length) > n as i64 {
                let end = offset.saturating_add(length);
                let message = format!("elements {offset} to {end} of axis {axis}, which has {n}");
                return Err(self.error("out-of-bounds", a.at, message).into());
            }
        }
        Ok(())
    }

    /// A window of a tensor as a new tile; `valid` narrows what is read, per axis.
    pub(crate) fn load_window(
        &mut self,
        tensor: Value,
        window: &Window,
        valid: Option<Vec<Held>>,
        at: TextRange,
    ) -> Res<Value> {
        let dtype = self.ty(tensor).element().unwrap_or(DType::F32);
        let valid = self.valid_in_view(tensor, window, valid, at)?;
        let (mut sizes, mut shape, mut dims, mut extents) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut offsets, mut dynamic, mut drop, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (i, axis) in window.axes.iter().enumerate() {
            let Some(size) = self.known_int(&axis.size) else {
                let message = "a tile has an extent known at compile time; this one is known at run time only";
                return Err(self
                    .error("dynamic-tile", axis.at, message)
                    .help("take a box of fixed size and narrow it: `pl.slice(x, shape, offset, valid_shape=[…])`")
                    .into());
            };
            if size <= 0 {
                let message = format!("a tile needs at least one element along each axis, not {size}");
                return Err(self.error("shape-mismatch", axis.at, message).into());
            }
            sizes.push(size);
            if axis.drop {
                drop.push(i as i64);
                lengths.push(Some(1));
                continue;
            }
            shape.push(size as u64);
            let wanted = valid.as_ref().map(|v| v[i].clone()).unwrap_or(Held::Int(size));
            match self.known_int(&wanted) {
                Some(n) if n < 0 => {
                    let message = format!("a valid extent cannot be negative ({n})");
                    return Err(self.error("shape-mismatch", axis.at, message).into());
                }
                Some(n) => {
                    let n = n.min(size);
                    dims.push(Dim::Static(n as u64));
                    lengths.push(Some(n));
                    extents.push(Held::Int(n));
                }
                None => {
                    let v = self.as_index(&wanted, at)?;
                    dynamic.push(v);
                    dims.push(Dim::Dynamic);
                    lengths.push(None);
                    extents.push(Held::Ir(v));
                }
            }
        }
        self.check_size(shape.iter().copied(), at)?;
        self.check_bounds(tensor, window, &lengths)?;
        if shape.is_empty() {
            return Err(self
                .error("wrong-argument", at, "a tile has at least one axis; use `pl.read` for an element")
                .into());
        }
        for axis in &window.axes {
            offsets.push(self.as_index(&axis.offset, axis.at)?);
        }
        let ty = TileType::value(dtype, shape).with_valid(dims);
        let partly = !ty.is_fully_valid();
        let mut attributes = attrs([("sizes", Attr::Ints(sizes))]);
        if !drop.is_empty() {
            attributes.set("drop", Attr::Ints(drop));
        }
        let tile = self.result(Opcode::Load, &[&[tensor], &offsets, &dynamic], Type::Tile(ty), attributes);
        if partly {
            self.program.valid.insert(tile, extents);
        }
        Ok(tile)
    }

    /// What is valid of a window: no more than what is of the view that it is taken from.
    fn valid_in_view(
        &mut self,
        tensor: Value,
        window: &Window,
        wanted: Option<Vec<Held>>,
        at: TextRange,
    ) -> Res<Option<Vec<Held>>> {
        let Some(view) = self.program.valid_views.get(&tensor).cloned() else { return Ok(wanted) };
        let wanted = wanted.unwrap_or_else(|| window.axes.iter().map(|a| a.size.clone()).collect());
        let mut valid = Vec::new();
        for ((axis, extent), whole) in window.axes.iter().zip(wanted).zip(view) {
            let rest = self.binary(ruff_python_ast::Operator::Sub, &whole, &axis.offset, at)?;
            let inside = self.smaller(&extent, &rest, at)?;
            valid.push(match (self.known_int(&rest), self.known_int(&axis.offset)) {
                // The view's own extent is not negative.
                (Some(0..), _) | (_, Some(0)) => inside,
                _ => self.larger(&inside, &Held::Int(0), at)?,
            });
        }
        Ok(Some(valid))
    }

    /// A window of a tensor as a view (orchestration).
    pub(crate) fn view(&mut self, tensor: Value, window: &Window, at: TextRange) -> Res<Value> {
        let Some(t) = self.tensor(tensor).cloned() else {
            return Err(self.not_a(&Held::Ir(tensor), "a tensor", at));
        };
        let (mut sizes, mut dims, mut drop, mut offsets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut shape, mut strides, mut extents, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (i, axis) in window.axes.iter().enumerate() {
            offsets.push(self.as_index(&axis.offset, axis.at)?);
            let known = self.known_int(&axis.size);
            lengths.push(known);
            match known {
                Some(n) => sizes.push(n),
                None => {
                    sizes.push(-1);
                    dims.push(self.as_index(&axis.size, axis.at)?);
                }
            }
            if axis.drop {
                drop.push(i as i64);
            } else {
                shape.push(known.map_or(Dim::Dynamic, |n| Dim::Static(n.max(0) as u64)));
                strides.push(t.strides[i]);
                extents.push(axis.size.clone());
            }
        }
        self.check_size(shape.iter().filter_map(|d: &Dim| d.known()), at)?;
        self.check_bounds(tensor, window, &lengths)?;
        let mut attributes = attrs([("sizes", Attr::Ints(sizes))]);
        if !drop.is_empty() {
            attributes.set("drop", Attr::Ints(drop));
        }
        let ty = Type::Tensor(TensorType { dtype: t.dtype, shape, strides });
        let view = self.result(Opcode::TensorSlice, &[&[tensor], &offsets, &dims], ty, attributes);
        self.program.dims.insert(view, extents);
        self.inherit_root(tensor, view);
        Ok(view)
    }

    pub(crate) fn inherit_root(&mut self, from: Value, to: Value) {
        if let Some(&root) = self.program.root.get(&from) {
            self.program.root.insert(to, root);
        }
    }

    /// Warns of a write to a parameter that is not declared an output (semantics rule 17).
    pub(crate) fn written(&mut self, tensor: Value, at: TextRange) {
        let Some(&root) = self.program.root.get(&tensor) else { return };
        let param = &self.program.func.params[root];
        if param.direction == ir::Direction::In {
            let message = format!("`{}` is written, but not declared `pl.Out` or `pl.InOut`", param.name);
            let warning = diag::Diagnostic::warning("undeclared-output", message)
                .at(self.span_of(at), "")
                .help("the caller's array changes; declare it `pl.Out[…]` to say so");
            if self.warnings.iter().all(|w| w.message != warning.message) {
                self.warn(warning);
            }
        }
    }

    /// A tile as a tensor of `to` elements takes it. A product is rounded on its way (rule 9); nothing else is converted.
    pub(crate) fn storable(&mut self, tile: Value, to: DType, at: TextRange) -> Res<Value> {
        let actual = self.ty(tile).element().unwrap_or(to);
        if actual == to {
            return Ok(tile);
        }
        let product = self.program.func.def_op(tile).is_some_and(|op| {
            matches!(self.program.func.ops[op].opcode, Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias)
        });
        let rounds = actual == DType::F32 && matches!(to, DType::F16 | DType::BF16);
        if self.program.language.get(&tile) == Some(&to) || (product && rounds) {
            return self.convert(tile, to, "rint", at);
        }
        let from = a(self.language_dtype(tile).unwrap_or(actual));
        let message = format!("{from} tile cannot be stored into {} tensor", a(to));
        let help = format!("convert it: `pl.cast(…, pl.{})`", to.language_name());
        Err(self.error("dtype-mismatch", at, message).help(help).into())
    }

    /// Stores a tile at a place of a tensor; `sizes` is per axis of the tensor.
    pub(crate) fn store_window(
        &mut self,
        tile: Value,
        tensor: Value,
        window: &Window,
        atomic: bool,
        at: TextRange,
    ) -> Res<()> {
        let Some(t) = self.tensor(tensor).cloned() else {
            return Err(self.not_a(&Held::Ir(tensor), "a tensor", at));
        };
        let tile = self.storable(tile, t.dtype, at)?;
        let Some(source) = self.tile(tile).cloned() else {
            return Err(self.not_a(&Held::Ir(tile), "a tile", at));
        };
        // The box: extents of the tile along the axes that are not 1, whatever run-time extents the slice states.
        let kept: Vec<usize> = (0..window.axes.len()).filter(|&i| !window.axes[i].drop).collect();
        let Some(aligned) = align(&source.shape, kept.len()) else {
            let message = format!("a tile of shape {:?} does not fit a place of {} axes", source.shape, kept.len());
            return Err(self.error("shape-mismatch", at, message).into());
        };
        let (mut sizes, mut lengths) = (vec![1; window.axes.len()], vec![Some(1); window.axes.len()]);
        for (position, &i) in kept.iter().enumerate() {
            let extent = aligned[position] as i64;
            // The tile's axis behind this one; axes put in front have one element.
            let axis = (position + source.shape.len()).checked_sub(kept.len());
            let valid = axis.and_then(|a| source.valid.get(a)).copied().unwrap_or(Dim::Static(1));
            let stated = self.known_int(&window.axes[i].size);
            let agrees = match (stated, valid) {
                (Some(n), _) if n == extent => true,
                (Some(n), Dim::Static(v)) => n == v as i64,
                // Known at run time: the tile's valid region decides.
                (Some(_), Dim::Dynamic) | (None, _) => true,
            };
            if !agrees {
                let stated = stated.unwrap_or(0);
                let message =
                    format!("a tile of shape {:?} does not fit {stated} elements along axis {i}", source.shape);
                return Err(self
                    .error("shape-mismatch", at, message)
                    .also(self.span_of(window.axes[i].at), "this place")
                    .into());
            }
            sizes[i] = extent;
            lengths[i] = valid.known().map(|n| n as i64);
        }
        self.check_bounds(tensor, window, &lengths)?;
        let mut offsets = Vec::new();
        for axis in &window.axes {
            offsets.push(self.as_index(&axis.offset, axis.at)?);
        }
        let mut attributes = attrs([("sizes", Attr::Ints(sizes))]);
        if atomic {
            attributes.set("atomic", Attr::Word("add".into()));
        }
        self.effect(Opcode::Store, &[&[tile], &[tensor], &offsets], attributes);
        self.written(tensor, at);
        Ok(())
    }

    /// Inserts a tile into another, in place.
    pub(crate) fn insert(&mut self, source: Value, target: Value, row: &Held, col: &Held, at: TextRange) -> Res<()> {
        let (Some(s), Some(t)) = (self.tile(source).cloned(), self.tile(target).cloned()) else {
            return Err(self.not_a(&Held::Ir(target), "a tile", at));
        };
        if s.dtype != t.dtype {
            let message = format!("{} tile cannot be put into {} tile", a(s.dtype), a(t.dtype));
            return Err(self.error("dtype-mismatch", at, message).help("convert it with `pl.cast`").into());
        }
        if t.shape.len() != 2 || s.shape.len() != 2 {
            let message =
                format!("putting a tile of shape {:?} into one of shape {:?}: both must be matrices", s.shape, t.shape);
            return Err(self.unsupported("unsupported-rank", at, message).into());
        }
        for (axis, offset) in [row, col].into_iter().enumerate() {
            if let Some(offset) = self.known_int(offset) {
                let length = s.valid[axis].known().unwrap_or(0) as i64;
                if offset < 0 || offset.saturating_add(length) > t.shape[axis] as i64 {
                    let message =
                        format!("elements {offset} to {} of axis {axis}, which has {}", offset + length, t.shape[axis]);
                    return Err(self.error("out-of-bounds", at, message).into());
                }
            }
        }
        let row = self.as_index(row, at)?;
        let col = self.as_index(col, at)?;
        self.builder().op(NewOp {
            opcode: Opcode::TInsert,
            groups: &[&[source], &[row], &[col]],
            dests: &[target],
            results: &[],
            attrs: Attrs::default(),
        });
        Ok(())
    }

    /// A window of a matrix tile, as a new tile.
    pub(crate) fn extract_window(
        &mut self,
        tile: Value,
        row: &Held,
        col: &Held,
        sizes: [u64; 2],
        at: TextRange,
    ) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else {
            return Err(self.not_a(&Held::Ir(tile), "a tile", at));
        };
        if t.shape.len() != 2 {
            let message = format!("a part of a tile of rank {}", t.shape.len());
            return Err(self
                .unsupported("unsupported-rank", at, format!("{message} is not supported; reshape it to a matrix"))
                .into());
        }
        self.check_size(sizes.into_iter(), at)?;
        let known = self.program.valid.get(&tile).cloned();
        let (mut dims, mut dynamic, mut extents) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, offset) in [row, col].into_iter().enumerate() {
            let size = sizes[axis] as i64;
            let whole = t.shape[axis] as i64;
            let at_offset = self.known_int(offset);
            if let Some(o) = at_offset
                && (o < 0 || o.saturating_add(size) > whole)
            {
                let message = format!("elements {o} to {} of axis {axis}, which has {whole}", o.saturating_add(size));
                return Err(self.error("out-of-bounds", at, message).into());
            }
            let source = match (t.valid[axis], &known) {
                (Dim::Static(n), _) => Held::Int(n as i64),
                (Dim::Dynamic, Some(v)) => v[axis].clone(),
                (Dim::Dynamic, None) => {
                    let message = "a part of a tile whose valid region is not known here is not supported";
                    return Err(self.unsupported("unsupported-valid-region", at, message).into());
                }
            };
            let extent = if self.known_int(&source) == Some(whole) {
                Held::Int(size)
            } else {
                let rest = self.binary(ruff_python_ast::Operator::Sub, &source, offset, at)?;
                let capped = self.smaller(&rest, &Held::Int(size), at)?;
                self.larger(&capped, &Held::Int(0), at)?
            };
            match self.known_int(&extent) {
                Some(n) => dims.push(Dim::Static(n as u64)),
                None => {
                    dims.push(Dim::Dynamic);
                    dynamic.push(self.as_index(&extent, at)?);
                }
            }
            extents.push(extent);
        }
        let row = self.as_index(row, at)?;
        let col = self.as_index(col, at)?;
        let ty = TileType::value(t.dtype, sizes.to_vec()).with_valid(dims);
        let partly = !ty.is_fully_valid();
        let part =
            self.result(Opcode::TExtract, &[&[tile], &[row], &[col], &dynamic], Type::Tile(ty), Attrs::default());
        if partly {
            self.program.valid.insert(part, extents);
        }
        Ok(part)
    }

    /// The smaller of two integers, folded where both are literals.
    pub(crate) fn smaller(&mut self, a: &Held, b: &Held, at: TextRange) -> Res<Held> {
        match (self.known_int(a), self.known_int(b)) {
            (Some(x), Some(y)) => Ok(Held::Int(x.min(y))),
            _ => self.scalar_binary(dtype::scalar::BinaryOp::Min, a, b, at),
        }
    }

    pub(crate) fn larger(&mut self, a: &Held, b: &Held, at: TextRange) -> Res<Held> {
        match (self.known_int(a), self.known_int(b)) {
            (Some(x), Some(y)) => Ok(Held::Int(x.max(y))),
            _ => self.scalar_binary(dtype::scalar::BinaryOp::Max, a, b, at),
        }
    }

    /// A shape written as a list, every extent known.
    pub(crate) fn static_shape(&mut self, expr: &Expr) -> Res<Vec<u64>> {
        let items = self.sequence(expr)?;
        let mut shape = Vec::new();
        for item in items {
            match self.known_int(&item) {
                Some(n) if n > 0 => shape.push(n as u64),
                Some(n) => {
                    let message = format!("an extent must be positive, not {n}");
                    return Err(self.error("wrong-argument", expr, message).into());
                }
                None => return Err(self.not_a(&item, "an extent known at compile time", expr.range())),
            }
        }
        if shape.is_empty() || shape.len() > 5 {
            let message = format!("a shape has 1 to 5 extents, not {}", shape.len());
            return Err(self.error("wrong-argument", expr, message).into());
        }
        self.check_size(shape.iter().copied(), expr.range())?;
        Ok(shape)
    }

    /// Whether so many elements are a size that a machine can have: what follows may multiply extents.
    pub(crate) fn check_size(&self, extents: impl Iterator<Item = u64>, at: TextRange) -> Res<()> {
        match extents.map(|n| n.max(1)).try_fold(1_u64, u64::checked_mul).filter(|&n| n <= MOST_ELEMENTS) {
            Some(_) => Ok(()),
            None => Err(self.error("wrong-argument", at, "more elements than any memory has").into()),
        }
    }

    /// Indices written as a list, or one index.
    pub(crate) fn index_list(&mut self, expr: &Expr) -> Res<Vec<Held>> {
        match self.eval(expr)? {
            Held::Tuple(items) => Ok(items),
            one => Ok(vec![one]),
        }
    }

    fn atomic(&mut self, args: &Args<'_>) -> Res<bool> {
        let Some(expr) = args.get("atomic") else { return Ok(false) };
        match self.eval(expr)? {
            Held::Language(name) if name == "AtomicType.Add" => Ok(true),
            Held::Language(name) if name.starts_with("AtomicType.None") => Ok(false),
            Held::None => Ok(false),
            other => Err(self.not_a(&other, "`pl.AtomicType.Add`", expr.range())),
        }
    }

    fn wrong_count(&self, what: &str, got: usize, need: usize, at: TextRange) -> Fail {
        let message = format!("{got} {what} for {need} axes");
        self.error("shape-mismatch", at, message).into()
    }

    /// A window from offsets and sizes, one per axis.
    fn window(&self, offsets: &[Held], sizes: &[Held], at: TextRange) -> Window {
        let axis =
            |(offset, size): (&Held, &Held)| Axis { offset: offset.clone(), size: size.clone(), drop: false, at };
        Window { axes: offsets.iter().zip(sizes).map(axis).collect() }
    }

    /// The part of each extent of a window that is inside the tensor.
    fn clamped(&mut self, tensor: Value, window: &Window, valid: Vec<Held>, at: TextRange) -> Res<Vec<Held>> {
        let mut result = Vec::new();
        for (i, (axis, extent)) in window.axes.iter().zip(valid).enumerate() {
            let whole = self.extent(tensor, i, at)?;
            let rest = self.binary(ruff_python_ast::Operator::Sub, &whole, &axis.offset, at)?;
            let inside = self.smaller(&extent, &rest, at)?;
            result.push(self.larger(&inside, &Held::Int(0), at)?);
        }
        Ok(result)
    }
}

/// A tile's shape with extents of 1 added or taken in front so that it has `rank`.
pub(crate) fn align(shape: &[u64], rank: usize) -> Option<Vec<u64>> {
    if shape.len() <= rank {
        return Some([vec![1; rank - shape.len()], shape.to_vec()].concat());
    }
    let (front, rest) = shape.split_at(shape.len() - rank);
    front.iter().all(|&n| n == 1).then(|| rest.to_vec())
}

/// Valid extents that are known are not larger than the box.
fn valid_fits(cx: &Cx<'_>, valid: &[Held], sizes: &[Held], at: TextRange) -> Res<()> {
    for (axis, (v, n)) in valid.iter().zip(sizes).enumerate() {
        if let (Some(v), Some(n)) = (cx.known_int(v), cx.known_int(n))
            && v > n
        {
            let message = format!("a valid extent of {v} in an axis that has {n}");
            let help = format!("axis {axis} of the box has {n} elements; a valid region is a part of it");
            return Err(cx.error("bad-valid", at, message).help(help).into());
        }
    }
    Ok(())
}

/// `pl.slice(x, shape, offset, valid_shape=…)`: a load in a scope, a view outside.
pub(crate) fn slice(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, at) = (args.need("x"), args.at);
    let held = cx.eval(x)?;
    let sizes = cx.sequence(args.need("shape"))?;
    let offsets = cx.sequence(args.need("offset"))?;
    let valid = match args.get("valid_shape") {
        Some(expr) => match cx.eval(expr)? {
            Held::None => None,
            Held::Tuple(items) => Some(items),
            other => return Err(cx.not_a(&other, "a list", expr.range())),
        },
        None => None,
    };
    let clamp = args.get("clamp").map(|e| cx.static_bool(e)).transpose()?.unwrap_or(false);
    let dropped = match args.get("drop_dims") {
        Some(expr) => match cx.eval(expr)? {
            Held::None => Vec::new(),
            Held::Tuple(items) => items.iter().filter_map(|i| cx.known_int(i)).collect(),
            other => return Err(cx.not_a(&other, "a list", expr.range())),
        },
        None => Vec::new(),
    };
    let Held::Ir(value) = held else { return Err(cx.not_a(&held, "a tensor or a tile", x.range())) };
    let rank = match cx.ty(value) {
        Type::Tensor(t) => t.rank(),
        Type::Tile(t) => t.shape.len(),
        _ => return Err(cx.not_a(&held, "a tensor or a tile", x.range())),
    };
    for (what, list) in [("sizes", Some(&sizes)), ("offsets", Some(&offsets)), ("valid extents", valid.as_ref())] {
        if let Some(list) = list
            && list.len() != rank
        {
            return Err(cx.wrong_count(what, list.len(), rank, at));
        }
    }
    valid_fits(cx, valid.as_deref().unwrap_or_default(), &sizes, at)?;
    let mut window = cx.window(&offsets, &sizes, at);
    for &axis in &dropped {
        match usize::try_from(axis).ok().and_then(|i| window.axes.get_mut(i)) {
            Some(a) => a.drop = true,
            None => return Err(cx.error("wrong-argument", at, format!("there is no axis {axis} to drop")).into()),
        }
    }
    if cx.tensor(value).is_some() {
        if cx.in_scope() {
            let mut valid = valid;
            if clamp {
                let wanted = valid.unwrap_or_else(|| sizes.clone());
                valid = Some(cx.clamped(value, &window, wanted, at)?);
            }
            return cx.load_window(value, &window, valid, at).map(Held::Ir);
        }
        if clamp {
            let message = "`clamp` outside of a kernel scope is not supported";
            let help = "slice inside the scope, or give the extent that is valid: `valid_shape=[…]`";
            return Err(cx.unsupported("unsupported-valid-region", at, message).help(help).into());
        }
        let view = cx.view(value, &window, at)?;
        if let Some(valid) = cx.valid_in_view(value, &window, valid, at)? {
            let kept = window.axes.iter().zip(valid).filter(|(axis, _)| !axis.drop).map(|(_, extent)| extent);
            let kept = kept.collect();
            cx.program.valid_views.insert(view, kept);
        }
        return Ok(Held::Ir(view));
    }
    let tile = cx.settled(value, at)?;
    if rank > 2 {
        if valid.is_some() {
            let message = format!("`valid_shape` on a part of a tile of rank {rank}; matrices have it");
            return Err(cx.unsupported("unsupported-valid-region", at, message).into());
        }
        return cx.part_of_batch(tile, &window, at).map(Held::Ir);
    }
    let mut shape = [0; 2];
    for (i, size) in sizes.iter().enumerate() {
        match (cx.known_int(size), shape.get_mut(i)) {
            (Some(n), Some(slot)) if n > 0 => *slot = n as u64,
            _ => return Err(cx.not_a(size, "an extent of a matrix known at compile time", at)),
        }
    }
    let part = cx.extract_window(tile, &offsets[0], offsets.get(1).unwrap_or(&Held::Int(0)), shape, at)?;
    match valid {
        Some(v) => crate::ops::shape::narrowed(cx, part, &v[0], &v[1], at).map(Held::Ir),
        None => Ok(Held::Ir(part)),
    }
}

/// `pl.load(tensor, offsets, shapes, valid_shape=…)`. Where a tile lives is the compiler's choice: `target_memory` is a hint.
pub(crate) fn load(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, at) = (args.need("tensor"), args.at);
    let held = cx.eval(x)?;
    let Some(tensor) = tensor_of(cx, &held) else { return Err(cx.not_a(&held, "a tensor", x.range())) };
    if !cx.in_scope() {
        return Err(cx.outside(args.name, at));
    }
    let offsets = cx.sequence(args.need("offsets"))?;
    let sizes = cx.sequence(args.need("shapes"))?;
    let rank = cx.tensor(tensor).map_or(0, TensorType::rank);
    for (what, list) in [("sizes", &sizes), ("offsets", &offsets)] {
        if list.len() != rank {
            return Err(cx.wrong_count(what, list.len(), rank, at));
        }
    }
    let window = cx.window(&offsets, &sizes, at);
    let mut valid = match args.get("valid_shape") {
        Some(expr) => Some(cx.sequence(expr)?),
        None => None,
    };
    if let Some(v) = &valid
        && v.len() != rank
    {
        return Err(cx.wrong_count("valid extents", v.len(), rank, at));
    }
    valid_fits(cx, valid.as_deref().unwrap_or_default(), &sizes, at)?;
    if args.get("clamp").map(|e| cx.static_bool(e)).transpose()?.unwrap_or(false) {
        let wanted = valid.unwrap_or_else(|| sizes.clone());
        valid = Some(cx.clamped(tensor, &window, wanted, at)?);
    }
    cx.load_window(tensor, &window, valid, at).map(Held::Ir)
}

fn tensor_of(cx: &Cx<'_>, held: &Held) -> Option<Value> {
    match held {
        Held::Ir(v) if cx.tensor(*v).is_some() => Some(*v),
        _ => None,
    }
}

/// `pl.store(tile, offsets, tensor)`: yields the tensor.
pub(crate) fn store(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (source, target) = (args.need("tile"), args.need("tensor"));
    let (tile, tensor) = (cx.eval(source)?, cx.eval(target)?);
    let offsets = cx.sequence(args.need("offsets"))?;
    put(cx, args, (source, tile), (target, tensor), &offsets)
}

/// `pl.assemble(target, source, offset)`: writes in place and yields the target.
pub(crate) fn assemble(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (source, target) = (args.need("source"), args.need("target"));
    let (into, tile) = (cx.eval(target)?, cx.eval(source)?);
    let offsets = cx.sequence(args.need("offset"))?;
    put(cx, args, (source, tile), (target, into), &offsets)
}

fn put(
    cx: &mut Cx<'_>,
    args: &Args<'_>,
    (source, tile): (&Expr, Held),
    (target, into): (&Expr, Held),
    offsets: &[Held],
) -> Res<Held> {
    let at = args.at;
    if !cx.in_scope() {
        let (Held::Ir(from), Held::Ir(to)) = (&tile, &into) else {
            return Err(cx.not_a(&tile, "a tensor", source.range()));
        };
        let rank = cx.tensor(*to).map_or(0, TensorType::rank);
        if cx.tensor(*from).is_none_or(|t| t.rank() != rank) || offsets.len() != rank || cx.atomic(args)? {
            let message =
                format!("`pl.{}` outside of a kernel scope copies a tensor into one of as many axes", args.name);
            return Err(cx.error("wrong-level", at, message).into());
        }
        let mut sizes = Vec::new();
        for axis in 0..rank {
            sizes.push(cx.extent(*from, axis, at)?);
        }
        let window = cx.window(offsets, &sizes, at);
        cx.copy_tensor(*from, *to, &window, at)?;
        return Ok(into);
    }
    let tile = cx.raw_operand(args.name, &tile, source.range())?;
    let atomic = cx.atomic(args)?;
    let Held::Ir(value) = into else { return Err(cx.not_a(&into, "a tensor or a tile", target.range())) };
    match cx.ty(value).clone() {
        Type::Tensor(t) => {
            if offsets.len() != t.rank() {
                return Err(cx.wrong_count("offsets", offsets.len(), t.rank(), at));
            }
            let shape = cx.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
            let Some(sizes) = align(&shape, t.rank()) else {
                let message = format!("a tile of shape {shape:?} does not fit a tensor of {} axes", t.rank());
                return Err(cx.error("shape-mismatch", at, message).into());
            };
            let sizes: Vec<Held> = sizes.iter().map(|&n| Held::Int(n as i64)).collect();
            let window = cx.window(offsets, &sizes, at);
            cx.store_window(tile, value, &window, atomic, at)?;
        }
        Type::Tile(t) => {
            if atomic {
                return Err(cx.error("wrong-argument", at, "`atomic` needs a tensor as its target").into());
            }
            if offsets.len() != t.shape.len() {
                return Err(cx.wrong_count("offsets", offsets.len(), t.shape.len(), at));
            }
            let tile = cx.settled(tile, at)?;
            let zero = Held::Int(0);
            cx.insert(tile, value, &offsets[0], offsets.get(1).unwrap_or(&zero), at)?;
        }
        _ => return Err(cx.not_a(&into, "a tensor or a tile", target.range())),
    }
    Ok(into)
}

pub(crate) fn extract(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let src = args.need("src");
    let held = cx.eval(src)?;
    let tile = cx.operand(args.name, &held, src.range())?;
    let (row, col) = (cx.eval(args.need("row"))?, cx.eval(args.need("col"))?);
    let shape = cx.static_shape(args.need("shape"))?;
    let [rows, cols] = shape[..] else {
        return Err(cx.error("wrong-argument", args.need("shape"), "a part of a matrix has two extents").into());
    };
    cx.extract_window(tile, &row, &col, [rows, cols], args.at).map(Held::Ir)
}

/// `pl.move`: tiles have no space at this level; the result is a copy.
pub(crate) fn copy(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("tile");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    cx.infer(Opcode::TMov, &[&[tile]], Attrs::default(), args.at).map(Held::Ir)
}

/// `pl.create_tensor`: a tensor outside of scopes, a tile inside.
pub(crate) fn create(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let dtype = cx.static_dtype(args.need("dtype"))?;
    if cx.in_scope() {
        let shape = cx.static_shape(args.need("shape"))?;
        let init = match args.get("init_value") {
            Some(e) => Some((cx.eval(e)?, e.range())).filter(|(h, _)| *h != Held::None),
            None => None,
        };
        let ty = Type::Tile(TileType::value(dtype, shape));
        return Ok(Held::Ir(match init {
            Some((value, at)) => {
                let scalar = cx.scalar_of(&value, dtype, at)?;
                cx.result(Opcode::TExpandS, &[&[scalar], &[]], ty, Attrs::default())
            }
            None => cx.result(Opcode::TileCreate, &[], ty, Attrs::default()),
        }));
    }
    let mut attributes = Attrs::default();
    if let Some(e) = args.get("init_value") {
        let held = cx.eval(e)?;
        if held != Held::None {
            let scalar = cx.adopt(&held, dtype, e.range())?;
            let attr = if dtype.is_float() {
                Attr::Float(scalar.as_f64())
            } else if dtype == DType::Bool {
                Attr::Bool(scalar.is_true())
            } else {
                Attr::Int(scalar.as_i64().unwrap_or(0))
            };
            attributes.set("init", attr);
        }
    }
    let shape = args.need("shape");
    let items = cx.sequence(shape)?;
    let (mut dims, mut values, mut extents) = (Vec::new(), Vec::new(), Vec::new());
    for item in items {
        match cx.known_int(&item) {
            Some(n) if n > 0 => dims.push(Dim::Static(n as u64)),
            Some(n) => {
                let message = format!("an extent must be positive, not {n}");
                return Err(cx.error("wrong-argument", shape, message).into());
            }
            None => {
                let v = cx.as_index(&item, shape.range())?;
                values.push(v);
                dims.push(Dim::Dynamic);
            }
        }
        extents.push(item);
    }
    if dims.is_empty() || dims.len() > 5 {
        let message = format!("a shape has 1 to 5 extents, not {}", dims.len());
        return Err(cx.error("wrong-argument", shape, message).into());
    }
    cx.check_size(dims.iter().filter_map(|d| d.known()), shape.range())?;
    let tensor = cx.result(Opcode::TensorCreate, &[&values], Type::Tensor(TensorType::packed(dtype, dims)), attributes);
    cx.program.dims.insert(tensor, extents);
    Ok(Held::Ir(tensor))
}

pub(crate) fn create_tile(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    if !cx.in_scope() {
        return Err(cx.outside(args.name, args.at));
    }
    let dtype = cx.static_dtype(args.need("dtype"))?;
    let shape = cx.static_shape(args.need("shape"))?;
    Ok(Held::Ir(cx.result(Opcode::TileCreate, &[], Type::Tile(TileType::value(dtype, shape)), Attrs::default())))
}

pub(crate) fn dim(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let axis = cx.static_int(args.need("axis"))?;
    let Held::Ir(value) = held else { return Err(cx.not_a(&held, "a tensor", x.range())) };
    let rank = match cx.ty(value) {
        Type::Tensor(t) => t.rank(),
        Type::Tile(t) => t.shape.len(),
        _ => return Err(cx.not_a(&held, "a tensor", x.range())),
    };
    let wrapped = if axis < 0 { axis + rank as i64 } else { axis };
    let Some(axis) = usize::try_from(wrapped).ok().filter(|&a| a < rank) else {
        let message = format!("a tensor of {rank} axes has no axis {axis}");
        return Err(cx.error("wrong-argument", args.need("axis"), message).into());
    };
    match cx.tile(value) {
        Some(t) => Ok(Held::Int(t.shape[axis] as i64)),
        None => cx.extent(value, axis, args.at),
    }
}

impl Cx<'_> {
    /// Row and column of an element of a tile given by one index per axis, or by one into a single row.
    fn cell(&mut self, tile: Value, indices: &[Held], at: TextRange) -> Res<(Value, Value)> {
        let shape = self.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
        let zero = Held::Int(0);
        let (row, col) = match (&shape[..], indices) {
            ([_, _], [r, c]) => (r.clone(), c.clone()),
            ([_] | [1, _], [c]) => (zero, c.clone()),
            ([_, 1], [r]) => (r.clone(), zero),
            _ => return Err(self.wrong_count("indices", indices.len(), shape.len(), at)),
        };
        let bounds: &[u64] = if shape.len() == 1 { &[1, shape[0]] } else { &shape };
        for (index, &n) in [&row, &col].into_iter().zip(bounds) {
            if let Some(i) = self.known_int(index)
                && !(0..n as i64).contains(&i)
            {
                return Err(self.error("out-of-bounds", at, format!("index {i} of an axis that has {n}")).into());
            }
        }
        Ok((self.as_index(&row, at)?, self.as_index(&col, at)?))
    }

    fn element(&mut self, tensor: Value, indices: &[Held], at: TextRange) -> Res<Vec<Value>> {
        let rank = self.tensor(tensor).map_or(0, TensorType::rank);
        let mut indices = indices.to_vec();
        if indices.len() == 1
            && rank > 1
            && self.tensor(tensor).is_some_and(|t| t.shape[..rank - 1].iter().all(|d| *d == Dim::Static(1)))
        {
            indices = [vec![Held::Int(0); rank - 1], indices].concat();
        }
        if indices.len() != rank {
            return Err(self.wrong_count("indices", indices.len(), rank, at));
        }
        let axes = indices.iter().map(|i| Axis { offset: i.clone(), size: Held::Int(1), drop: true, at }).collect();
        self.check_bounds(tensor, &Window { axes }, &vec![Some(1); rank])?;
        indices.iter().map(|i| self.as_index(i, at)).collect()
    }

    pub(crate) fn read_element(&mut self, value: Value, indices: &[Held], at: TextRange) -> Res<Held> {
        if self.tensor(value).is_some() {
            let indices = self.element(value, indices, at)?;
            return self.infer(Opcode::Read, &[&[value], &indices], Attrs::default(), at).map(Held::Ir);
        }
        let tile = self.settled(value, at)?;
        let (row, col) = self.cell(tile, indices, at)?;
        self.infer(Opcode::TGetVal, &[&[tile], &[row], &[col]], Attrs::default(), at).map(Held::Ir)
    }

    pub(crate) fn write_element(
        &mut self,
        value: Value,
        indices: &[Held],
        scalar: &Held,
        at_scalar: TextRange,
        at: TextRange,
    ) -> Res<()> {
        let dtype = self.ty(value).element().unwrap_or(DType::F32);
        let scalar = self.scalar_of(scalar, dtype, at_scalar)?;
        if self.tensor(value).is_some() {
            let indices = self.element(value, indices, at)?;
            self.effect(Opcode::Write, &[&[value], &indices, &[scalar]], Attrs::default());
            self.written(value, at);
            return Ok(());
        }
        let (row, col) = self.cell(value, indices, at)?;
        self.builder().op(NewOp {
            opcode: Opcode::TSetVal,
            groups: &[&[row], &[col], &[scalar]],
            dests: &[value],
            results: &[],
            attrs: Attrs::default(),
        });
        Ok(())
    }
}

pub(crate) fn read(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let indices = cx.index_list(args.need("idx"))?;
    match held {
        Held::Ir(v) if cx.tensor(v).is_some() || cx.tile(v).is_some() => cx.read_element(v, &indices, args.at),
        other => Err(cx.not_a(&other, "a tensor or a tile", x.range())),
    }
}

pub(crate) fn write(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let (x, value) = (args.need("x"), args.need("value"));
    let held = cx.eval(x)?;
    let indices = cx.index_list(args.need("idx"))?;
    let scalar = cx.eval(value)?;
    match held {
        Held::Ir(v) if cx.tensor(v).is_some() || cx.tile(v).is_some() => {
            cx.write_element(v, &indices, &scalar, value.range(), args.at)?;
            Ok(held)
        }
        other => Err(cx.not_a(&other, "a tensor or a tile", x.range())),
    }
}
