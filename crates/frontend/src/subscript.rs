//! `x[…]`, read and written.
//!
//! Of a tensor: outside of scopes a view, inside a load; all scalars: one element. Of a tile: a part, as a matrix.
//! Extents `b − a` are found symbolically; of tiles they must be numbers.

use ir::{TensorType, Type, Value};
use ruff_python_ast::{self as ast, Expr, Operator};
use ruff_text_size::{Ranged, TextRange};

use crate::cx::{Cx, Fail, Res};
use crate::ops::memory::{Axis, Window};
use crate::value::Held;

impl Cx<'_> {
    pub(crate) fn subscript(&mut self, s: &ast::ExprSubscript) -> Res<Held> {
        let at = s.range();
        let base = self.eval(&s.value)?;
        match &base {
            Held::Tuple(items) => self.item(items, &s.slice),
            Held::Ir(value) => match self.ty(*value).clone() {
                Type::Tensor(_) => self.tensor_subscript(*value, &s.slice, at),
                Type::Tile(_) => self.tile_subscript(*value, &s.slice, at),
                Type::Array { .. } => {
                    let index = self.eval(&s.slice)?;
                    self.array_element(*value, &index, at)
                }
                _ => Err(self.not_a(&base, "something with elements", s.value.range())),
            },
            other => Err(self.not_a(other, "something with elements", s.value.range())),
        }
    }

    /// An element or a part of a compile-time sequence.
    fn item(&mut self, items: &[Held], index: &Expr) -> Res<Held> {
        let len = items.len() as i64;
        if let Expr::Slice(slice) = index {
            let mut bounds = [0, len];
            for (bound, expr) in bounds.iter_mut().zip([&slice.lower, &slice.upper]) {
                if let Some(expr) = expr {
                    let v = self.static_int(expr)?;
                    *bound = (if v < 0 { v + len } else { v }).clamp(0, len);
                }
            }
            if slice.step.is_some() {
                return Err(self
                    .unsupported("unsupported-expression", index, "a slice with a step is not supported")
                    .into());
            }
            let [from, to] = bounds;
            return Ok(Held::Tuple(items[from as usize..to.max(from) as usize].to_vec()));
        }
        let i = self.static_int(index)?;
        let wrapped = if i < 0 { i + len } else { i };
        match usize::try_from(wrapped).ok().and_then(|i| items.get(i)) {
            Some(held) => Ok(held.clone()),
            None => Err(self.error("out-of-bounds", index, format!("index {i} of a sequence of {len}")).into()),
        }
    }

    /// The window that indices describe, of something with these extents.
    fn window_of(&mut self, slice: &Expr, dims: &[Held], at: TextRange) -> Res<Window> {
        let one = std::slice::from_ref(slice);
        let indices: &[Expr] = match slice {
            Expr::Tuple(t) => &t.elts,
            _ => one,
        };
        if indices.len() > dims.len() {
            let message = format!("{} indices for {} axes", indices.len(), dims.len());
            return Err(self.error("shape-mismatch", at, message).into());
        }
        let mut axes = Vec::new();
        for (i, dim) in dims.iter().enumerate() {
            let Some(index) = indices.get(i) else {
                axes.push(Axis { offset: Held::Int(0), size: dim.clone(), drop: false, at });
                continue;
            };
            let at = index.range();
            match index {
                Expr::Slice(s) => {
                    if let Some(step) = &s.step {
                        let message = "a slice with a step is not supported";
                        return Err(self.unsupported("unsupported-expression", &**step, message).into());
                    }
                    let lower = s.lower.as_ref().map(|e| self.eval(e)).transpose()?.unwrap_or(Held::Int(0));
                    let upper = s.upper.as_ref().map(|e| self.eval(e)).transpose()?.unwrap_or_else(|| dim.clone());
                    let (lower, upper) = (self.end(lower, dim, at)?, self.end(upper, dim, at)?);
                    let size = match lower {
                        Held::Int(0) => upper,
                        _ => self.at(at, |cx| cx.binary(Operator::Sub, &upper, &lower, at))?,
                    };
                    let size = self.known_int(&size).map_or(size, Held::Int);
                    if let Held::Int(n) = size
                        && n <= 0
                    {
                        let message = format!("`{}` has {n} elements", self.text(index));
                        return Err(self.error("shape-mismatch", index, message).into());
                    }
                    axes.push(Axis { offset: lower, size, drop: false, at });
                }
                Expr::EllipsisLiteral(_) | Expr::NoneLiteral(_) => {
                    let message = format!("`{}` as an index is not supported", self.text(index));
                    return Err(self.unsupported("unsupported-expression", index, message).into());
                }
                _ => {
                    let held = self.eval(index)?;
                    let offset = self.end(held, dim, at)?;
                    axes.push(Axis { offset, size: Held::Int(1), drop: true, at });
                }
            }
        }
        Ok(Window { axes })
    }

    /// An index, counted from the end if it is a negative literal.
    fn end(&mut self, held: Held, dim: &Held, at: TextRange) -> Res<Held> {
        let held = self.dynamic_extent(&held, at)?;
        match (&held, self.known_int(dim)) {
            (Held::Int(v), Some(n)) if *v < 0 => Ok(Held::Int(v + n)),
            (Held::Int(_), _) => Ok(held),
            (Held::Ir(v), _) if self.ty(*v).as_scalar().is_some_and(|d| d.is_int()) => Ok(held),
            _ => Err(self.not_a(&held, "an integer", at)),
        }
    }

    fn extents(&mut self, tensor: Value, at: TextRange) -> Res<Vec<Held>> {
        let rank = self.tensor(tensor).map_or(0, TensorType::rank);
        (0..rank).map(|axis| self.extent(tensor, axis, at)).collect()
    }

    fn tensor_subscript(&mut self, tensor: Value, slice: &Expr, at: TextRange) -> Res<Held> {
        let dims = self.extents(tensor, at)?;
        let window = self.window_of(slice, &dims, at)?;
        if window.axes.iter().all(|a| a.drop) {
            let indices: Vec<Held> = window.axes.iter().map(|a| a.offset.clone()).collect();
            return self.read_element(tensor, &indices, at);
        }
        if self.in_scope() {
            self.load_window(tensor, &window, None, at).map(Held::Ir)
        } else {
            self.view(tensor, &window, at).map(Held::Ir)
        }
    }

    fn tile_subscript(&mut self, tile: Value, slice: &Expr, at: TextRange) -> Res<Held> {
        let tile = self.settled(tile, at)?;
        let shape = self.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
        let dims: Vec<Held> = shape.iter().map(|&n| Held::Int(n as i64)).collect();
        let window = self.window_of(slice, &dims, at)?;
        if window.axes.iter().all(|a| a.drop) {
            let indices: Vec<Held> = window.axes.iter().map(|a| a.offset.clone()).collect();
            return self.read_element(tile, &indices, at);
        }
        let (tile, axes) = match window.axes.as_slice() {
            [one] => {
                let row = Axis { offset: Held::Int(0), size: Held::Int(1), drop: false, at };
                (self.reshaped(tile, vec![1, shape[0]], at)?, vec![row, one.clone()])
            }
            [_, _] => (tile, window.axes.clone()),
            _ => return self.part_of_batch(tile, &window, at).map(Held::Ir),
        };
        let whole = self.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
        let (mut sizes, mut narrow) = ([0; 2], false);
        let mut valid = Vec::new();
        for (i, axis) in axes.iter().enumerate() {
            let size = match (self.known_int(&axis.size), self.known_int(&axis.offset)) {
                (Some(n), _) => n,
                // An upper bound known at run time narrows what is valid of the rest.
                (None, Some(o)) => {
                    narrow = true;
                    whole[i] as i64 - o
                }
                (None, None) => return Err(self.not_a(&axis.size, "an extent known at compile time", axis.at)),
            };
            valid.push(axis.size.clone());
            sizes[i] = size.max(0) as u64;
        }
        let full = sizes[..] == whole[..] && axes.iter().all(|a| self.known_int(&a.offset) == Some(0));
        let mut part =
            if full { tile } else { self.extract_window(tile, &axes[0].offset, &axes[1].offset, sizes, at)? };
        if narrow {
            part = crate::ops::shape::narrowed(self, part, &valid[0], &valid[1], at)?;
        }
        // A column taken by one index is given as a row: axes of one element come first.
        if axes[1].drop && sizes[0] > 1 {
            part = self.reshaped(part, vec![1, sizes[0]], at)?;
        }
        Ok(Held::Ir(part))
    }

    /// A part of a tile of more than two axes: matrices of a batch, or a part of one of them. Axis by axis, each a run of
    /// rows of the tile as a matrix.
    pub(crate) fn part_of_batch(&mut self, tile: Value, window: &Window, at: TextRange) -> Res<Value> {
        let mut shape = self.tile(tile).map(|t| t.shape.clone()).unwrap_or_default();
        let last = shape.len() - 1;
        let mut part = tile;
        for (i, axis) in window.axes.iter().enumerate() {
            let size = match self.known_int(&axis.size).map(u64::try_from) {
                Some(Ok(n)) if n > 0 => n,
                _ => return Err(self.not_a(&axis.size, "an extent known at compile time", axis.at)),
            };
            if size == shape[i] && self.known_int(&axis.offset) == Some(0) {
                continue;
            }
            if self.known_int(&axis.offset).is_some_and(|o| o < 0 || o as u64 + size > shape[i]) {
                let message = format!("{size} elements of axis {i}, which has {}, from an offset beyond", shape[i]);
                return Err(self.error("out-of-bounds", axis.at, message).into());
            }
            if i < last && shape[..i].iter().any(|&n| n != 1) {
                let message = format!(
                    "a part of axis {i} of several matrices of a tile of shape {shape:?}: a part is one run of rows (and of \
                     columns); take the matrices one by one"
                );
                return Err(self.unsupported("unsupported-rank", axis.at, message).into());
            }
            let (zero, cols) = (Held::Int(0), shape[last]);
            if i < last {
                let inner = shape[i + 1..last].iter().product::<u64>();
                part = self.reshaped(part, vec![shape[i] * inner, cols], at)?;
                let row = self.binary(Operator::Mult, &axis.offset, &Held::Int(inner as i64), at)?;
                part = self.extract_window(part, &row, &zero, [size * inner, cols], at)?;
            } else {
                let rows = shape[..last].iter().product::<u64>();
                part = self.reshaped(part, vec![rows, cols], at)?;
                part = self.extract_window(part, &zero, &axis.offset, [rows, size], at)?;
            }
            shape[i] = size;
        }
        let kept: Vec<u64> = shape.iter().zip(&window.axes).filter(|(_, axis)| !axis.drop).map(|(&n, _)| n).collect();
        self.reshaped(part, if kept.is_empty() { vec![1] } else { kept }, at)
    }

    /// `x[…] = value`, in place.
    pub(crate) fn assign_subscript(&mut self, s: &ast::ExprSubscript, value: &Held, at_value: TextRange) -> Res<()> {
        let at = s.range();
        let base = self.eval(&s.value)?;
        let Held::Ir(target) = base else {
            return Err(self.not_a(&base, "a tensor, a tile or an array", s.value.range()));
        };
        match self.ty(target).clone() {
            Type::Array { .. } => {
                let index = self.eval(&s.slice)?;
                self.set_array_element(target, &index, value, at)
            }
            Type::Tensor(_) => {
                let dims = self.extents(target, at)?;
                let window = self.window_of(&s.slice, &dims, at)?;
                if window.axes.iter().all(|a| a.drop) && self.is_scalar(value) {
                    let indices: Vec<Held> = window.axes.iter().map(|a| a.offset.clone()).collect();
                    return self.write_element(target, &indices, value, at_value, at);
                }
                if !self.in_scope() {
                    return match value {
                        Held::Ir(source) if self.tensor(*source).is_some() => {
                            self.copy_tensor(*source, target, &window, at)
                        }
                        _ => Err(self.not_a(value, "a tensor", at_value)),
                    };
                }
                if self.is_scalar(value) {
                    return Err(self.number_in_box(target, &window, value, at_value));
                }
                let tile = self.raw_operand("assemble", value, at_value)?;
                self.store_window(tile, target, &window, false, at)
            }
            Type::Tile(t) => {
                let dims: Vec<Held> = t.shape.iter().map(|&n| Held::Int(n as i64)).collect();
                let window = self.window_of(&s.slice, &dims, at)?;
                if window.axes.iter().all(|a| a.drop) && self.is_scalar(value) {
                    let indices: Vec<Held> = window.axes.iter().map(|a| a.offset.clone()).collect();
                    return self.write_element(target, &indices, value, at_value, at);
                }
                if self.is_scalar(value) {
                    return Err(self.number_in_box(target, &window, value, at_value));
                }
                let source = self.operand("assemble", value, at_value)?;
                let [rows, cols] = &window.axes[..] else {
                    let message = format!("writing a part of a tile of rank {} is not supported", t.shape.len());
                    return Err(self.unsupported("unsupported-rank", at, message).into());
                };
                let shape = self.tile(source).map(|t| t.shape.clone()).unwrap_or_default();
                let source = if shape.len() == 2 {
                    source
                } else {
                    let n = shape.iter().product();
                    let row = self.known_int(&rows.size) == Some(1);
                    self.reshaped(source, if row { vec![1, n] } else { vec![n, 1] }, at)?
                };
                let shape = self.tile(source).map(|t| t.shape.clone()).unwrap_or_default();
                for (axis, &n) in [rows, cols].into_iter().zip(&shape) {
                    if let Some(stated) = self.known_int(&axis.size)
                        && stated != n as i64
                    {
                        let message = format!("a tile of shape {shape:?} does not fit {stated} elements here");
                        return Err(self.error("shape-mismatch", axis.at, message).into());
                    }
                }
                let (row, col) = (rows.offset.clone(), cols.offset.clone());
                self.insert(source, target, &row, &col, at)
            }
            _ => Err(self.not_a(&base, "a tensor, a tile or an array", s.value.range())),
        }
    }

    /// `x[:] = 5.0`: a box takes a tile.
    fn number_in_box(&self, target: ir::Value, window: &Window, value: &Held, at: TextRange) -> Fail {
        let what = self.describe(value);
        let message = format!("{what} cannot be assigned to a box of elements, only to one element");
        let sizes = window.axes.iter().filter(|a| !a.drop).map(|a| self.known_int(&a.size));
        let sizes: Vec<String> = sizes.map(|n| n.map_or("…".to_owned(), |n| n.to_string())).collect();
        let dtype = self.language_dtype(target).map_or("…", |d| d.language_name());
        let help = format!("make a tile of it: `pl.full([{}], pl.{dtype}, {})`", sizes.join(", "), self.text(at));
        self.error("wrong-argument", at, message).help(help).into()
    }

    fn is_scalar(&self, held: &Held) -> bool {
        match held {
            Held::Ir(v) => self.ty(*v).as_scalar().is_some(),
            other => other.is_literal_number(),
        }
    }
}
