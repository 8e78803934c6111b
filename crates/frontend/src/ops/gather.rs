//! Gathers: elements of a tile by index, by pattern or by comparison; rows and elements of tensors.

use dtype::DType;
use dtype::scalar::BinaryOp;
use ir::builder::{NewOp, attrs};
use ir::ops::{GATHER_MODES, OUT_OF_RANGE_READS};
use ir::{Attr, Attrs, Dim, Opcode, TileType, Type, Value, infer};
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::ops::memory::{Axis, Window};
use crate::value::Held;

/// `pl.gather(x, dim=-1, index=…)`, `pl.gather(x, mask_pattern=…)`, `pl.gather(x, kvalue=…, cmp_mode=…, out_cols=…)`.
pub(crate) fn gather(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let form = exactly_one(cx, args, &["index", "mask_pattern", "kvalue"])?;
    let belongs = |name: &str| match name {
        "dim" => form == "index",
        "output_dtype" => form == "mask_pattern",
        _ => form == "kvalue",
    };
    for name in ["dim", "output_dtype", "cmp_mode", "out_cols", "offset", "count_dtype"] {
        if let (Some(expr), false) = (args.get(name), belongs(name)) {
            let message = format!("`{name}` does not belong to the form of `pl.gather` with `{form}`");
            return Err(cx.error("wrong-argument", expr, message).into());
        }
    }
    match form {
        "index" => by_index(cx, args),
        "mask_pattern" => by_pattern(cx, args),
        _ => by_comparison(cx, args),
    }
}

/// The one of these arguments that is given.
pub(crate) fn exactly_one(cx: &Cx<'_>, args: &Args<'_>, names: &[&'static str]) -> Res<&'static str> {
    let given: Vec<&'static str> = names.iter().copied().filter(|n| args.get(n).is_some()).collect();
    match given[..] {
        [one] => Ok(one),
        _ => {
            let all: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
            let message = format!("`pl.{}` takes exactly one of {}", args.name, all.join(", "));
            Err(cx.error("wrong-argument", args.at, message).into())
        }
    }
}

/// The operand of a parameter, as a matrix.
fn matrix(cx: &mut Cx<'_>, args: &Args<'_>, parameter: &'static str) -> Res<Value> {
    let expr = args.need(parameter);
    let held = cx.eval(expr)?;
    let tile = cx.operand(args.name, &held, expr.range())?;
    cx.flattened(tile, expr.range())
}

fn shape_of(cx: &Cx<'_>, tile: Value) -> Vec<u64> {
    cx.tile(tile).map(|t| t.shape.clone()).unwrap_or_default()
}

/// The axis that indices select along: the last one.
pub(crate) fn last_axis(cx: &mut Cx<'_>, args: &Args<'_>, rank: usize) -> Res<()> {
    let Some(expr) = args.get("dim") else { return Ok(()) };
    let axis = cx.static_int(expr)?;
    if axis == -1 || axis == rank as i64 - 1 {
        return Ok(());
    }
    let message = format!("`pl.{}` selects along the last axis (`dim=-1`), not {axis}", args.name);
    Err(cx.unsupported("unsupported-axis", expr, message).into())
}

/// `out[b, k] = x[b, index[b, k]]`.
fn by_index(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let expr = args.need("index");
    let held = cx.eval(expr)?;
    let indices = cx.operand(args.name, &held, expr.range())?;
    let shape = shape_of(cx, indices);
    last_axis(cx, args, shape.len())?;
    let indices = cx.flattened(indices, expr.range())?;
    let x = matrix(cx, args, "x")?;
    let (Some(source), Some(index)) = (cx.tile(x).cloned(), cx.tile(indices).cloned()) else {
        return Err(cx.not_a(&held, "a tile", args.at));
    };
    if source.shape[0] != index.shape[0] {
        let message =
            format!("`pl.gather` takes one row of indices per row, not {:?} for {:?}", index.shape, source.shape);
        return Err(cx.error("shape-mismatch", args.at, message).into());
    }
    let at = args.at;
    let ty = TileType::value(source.dtype, index.shape.clone());
    let gathered = cx.by_rows(ty, indices, at, |cx, row| {
        let (x, index) = (cx.row(x, row, at)?, cx.row(indices, row, at)?);
        cx.infer_op(Opcode::TGather, &[x, index], Attrs::default(), at)
    })?;
    cx.reshaped(gathered, shape, at).map(Held::Ir)
}

/// A pattern of columns, from 1 to 7.
pub(crate) fn pattern(cx: &mut Cx<'_>, expr: &Expr) -> Res<i64> {
    const NAMES: [&str; 7] = ["P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111"];
    let held = cx.eval(expr)?;
    let found = match &held {
        Held::Language(path) => {
            let word = path.rsplit('.').next().unwrap_or(path);
            NAMES.iter().position(|n| *n == word).map(|i| i as i64 + 1)
        }
        other => cx.known_int(other).filter(|n| infer::pattern_period(*n).is_some()),
    };
    found.ok_or_else(|| cx.not_a(&held, "a pattern: 1 to 7, or `pl.tile.MaskPattern.P0101` and its kin", expr.range()))
}

/// The columns of a pattern, one after the other. Bits are moved: `output_dtype` only says what they are taken for.
fn by_pattern(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    let whole = shape_of(cx, tile);
    let tile = cx.flattened(tile, x.range())?;
    let number = pattern(cx, args.need("mask_pattern"))?;
    let Some(t) = cx.tile(tile).cloned() else { return Err(cx.not_a(&held, "a tile", x.range())) };
    let dtype = match args.get("output_dtype") {
        Some(expr) => match cx.eval(expr)? {
            Held::None => t.dtype,
            _ => cx.static_dtype(expr)?,
        },
        None => t.dtype,
    };
    if dtype.size() != t.dtype.size() {
        let (from, to) = (t.dtype.language_name(), dtype.language_name());
        let message = format!("`output_dtype` takes the same bits for another type: {from} cannot be taken for {to}");
        return Err(cx.error("dtype-mismatch", args.at, message).into());
    }
    let period = infer::pattern_period(number).unwrap_or(1);
    let columns = match t.valid[1] {
        Dim::Static(n) if n % period == 0 => n / period,
        valid => {
            let found = valid.known().map_or("a number known at run time".to_owned(), |n| n.to_string());
            let message = format!("pattern {number} takes one of {period} columns, not of {found}");
            return Err(cx.error("shape-mismatch", x, message).into());
        }
    };
    let width = t.shape[1].div_ceil(period);
    let ty = TileType::value(dtype, vec![t.shape[0], width]).with_valid(vec![t.valid[0], Dim::Static(columns)]);
    let partly = !ty.is_fully_valid();
    let rows = cx.valid_extent(tile, 0, args.at)?;
    let attributes = attrs([("pattern", Attr::Int(number))]);
    let packed = cx.result(Opcode::TGatherMask, &[&[tile]], Type::Tile(ty), attributes);
    if partly {
        cx.program.valid.insert(packed, vec![rows, Held::Int(columns as i64)]);
    }
    let mut shape = whole;
    if let Some(last) = shape.last_mut() {
        *last = width;
    }
    cx.reshaped(packed, shape, args.at).map(Held::Ir)
}

/// The columns, plus `offset`, of the elements of each row that compare so with `kvalue`: the first `out_cols` of them,
/// and how many there are in all. What is beyond them in a row is undefined.
fn by_comparison(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let at = args.at;
    let x = matrix(cx, args, "x")?;
    for name in ["cmp_mode", "out_cols"] {
        if args.get(name).is_none() {
            let message = format!("`pl.{}` with `kvalue` needs an argument `{name}`", args.name);
            return Err(cx.error("wrong-argument", at, message).into());
        }
    }
    let word = crate::ops::masks::predicate(cx, args.need("cmp_mode"))?;
    let expr = args.need("out_cols");
    let width = cx.static_int(expr)?;
    let Some(width) = u64::try_from(width).ok().filter(|&n| n > 0) else {
        return Err(cx.error("wrong-argument", expr, format!("an extent must be positive, not {width}")).into());
    };
    let count_dtype = args.get("count_dtype").map(|e| cx.static_dtype(e)).transpose()?.unwrap_or(DType::I32);
    if !matches!(count_dtype, DType::I32 | DType::U32) {
        let message = format!("counts are INT32 or UINT32, not {}", count_dtype.language_name());
        return Err(cx.error("dtype-unsupported", at, message).into());
    }
    let offset = match args.get("offset") {
        Some(expr) => cx.eval(expr)?,
        None => Held::Int(0),
    };
    let offset = cx.as_index(&offset, at)?;
    let element = cx.ty(x).element().unwrap_or(DType::F32);
    let expr = args.need("kvalue");
    let key = cx.eval(expr)?;
    let key = cx.scalar_of(&key, element, expr.range())?;
    let (rows, cols) = (cx.valid_extent(x, 0, at)?, cx.valid_extent(x, 1, at)?);
    let height = shape_of(cx, x)[0];
    cx.check_size([height, width].into_iter(), at)?;
    let found = Type::Tile(TileType::value(DType::I32, vec![height, width]));
    let found = cx.result(Opcode::TileCreate, &[], found, Attrs::default());
    let counts = Type::Tile(TileType::value(count_dtype, vec![1, height]));
    let counts = cx.result(Opcode::TileCreate, &[], counts, Attrs::default());
    let (zero, one) = (cx.index(0), cx.index(1));
    cx.each(&rows, at, |cx, row| {
        let row = cx.as_index(row, at)?;
        let counter = Type::Array { element: Box::new(Type::INDEX), len: 1 };
        let counter = cx.result(Opcode::ArrayCreate, &[], counter, Attrs::default());
        cx.each(&cols, at, |cx, col| {
            let col = cx.as_index(col, at)?;
            let value = cx.infer_op(Opcode::TGetVal, &[x, row, col], Attrs::default(), at)?;
            let holds = attrs([("predicate", Attr::Word(word.to_owned()))]);
            let holds = cx.result(Opcode::ScalarCmp, &[&[value], &[key]], Type::BOOL, holds);
            cx.when(holds, |cx| {
                let position = cx.result(Opcode::ArrayGet, &[&[counter], &[zero]], Type::INDEX, Attrs::default());
                let limit = cx.index(width as i64);
                let fits = attrs([("predicate", Attr::Word("lt".into()))]);
                let fits = cx.result(Opcode::ScalarCmp, &[&[position], &[limit]], Type::BOOL, fits);
                cx.when(fits, |cx| {
                    let index = cx.scalar_binary(BinaryOp::Add, &Held::Ir(col), &Held::Ir(offset), at)?;
                    let index = cx.scalar(&index, None, at)?;
                    let index = cx.convert_scalar(index, DType::I32);
                    cx.set_value(found, row, position, index);
                    Ok(())
                })?;
                let next = cx.result(Opcode::ScalarAdd, &[&[position], &[one]], Type::INDEX, Attrs::default());
                cx.effect(Opcode::ArraySet, &[&[counter], &[zero], &[next]], Attrs::default());
                Ok(())
            })
        })?;
        let count = cx.result(Opcode::ArrayGet, &[&[counter], &[zero]], Type::INDEX, Attrs::default());
        let count = cx.convert_scalar(count, count_dtype);
        cx.set_value(counts, zero, row, count);
        Ok(())
    })?;
    Ok(Held::Tuple(vec![Held::Ir(found), Held::Ir(counts)]))
}

impl Cx<'_> {
    /// Effects that happen if a scalar condition holds.
    fn when(&mut self, condition: Value, body: impl FnOnce(&mut Self) -> Res<()>) -> Res<()> {
        let op = self.new_op(Opcode::If, &[&[condition]], Attrs::default());
        let then = self.builder().add_region(op, &[]);
        let back = self.enter(then);
        let result = body(self);
        self.effect(Opcode::Yield, &[&[]], Attrs::default());
        self.leave(back);
        let otherwise = self.builder().add_region(op, &[]);
        let back = self.enter(otherwise);
        self.effect(Opcode::Yield, &[&[]], Attrs::default());
        self.leave(back);
        result
    }

    fn set_value(&mut self, tile: Value, row: Value, col: Value, value: Value) {
        self.builder().op(NewOp {
            opcode: Opcode::TSetVal,
            groups: &[&[row], &[col], &[value]],
            dests: &[tile],
            results: &[],
            attrs: Attrs::default(),
        });
    }
}

/// `pl.tile.gather(src, indices, tmp)`: indices count elements of the whole tile, row by row; with `mask_pattern` or
/// `kvalue` as `pl.gather`.
pub(crate) fn flat(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    match exactly_one(cx, args, &["indices", "mask_pattern"])? {
        "indices" => {
            let (x, indices) = (matrix(cx, args, "x")?, matrix(cx, args, "indices")?);
            cx.infer_op(Opcode::TGather, &[x, indices], Attrs::default(), args.at).map(Held::Ir)
        }
        _ => by_pattern(cx, args),
    }
}

/// `pl.tile.gather_mask(src, mask_pattern, output_dtype)`.
pub(crate) fn mask(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    by_pattern(cx, args)
}

/// `pl.tile.gather_compare(src, kvalue, cmp_mode=…, out_cols=…)`.
pub(crate) fn compare(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    by_comparison(cx, args)
}

/// `pl.gatherb(src, offsets)`: blocks of 32 bytes by byte offset.
pub(crate) fn blocks(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let src = matrix(cx, args, "src")?;
    let mut offsets = matrix(cx, args, "offsets")?;
    if cx.ty(offsets).element() == Some(DType::I32) {
        offsets = cx.bitcast(offsets, DType::U32, args.at)?;
    }
    cx.infer_op(Opcode::TGatherB, &[src, offsets], Attrs::default(), args.at).map(Held::Ir)
}

/// A word of a list, or the last component of a name of the language.
pub(crate) fn word(cx: &mut Cx<'_>, expr: &Expr, words: &'static [&'static str]) -> Res<Option<&'static str>> {
    let held = cx.eval(expr)?;
    let given = match &held {
        Held::None => return Ok(None),
        Held::Str(word) => word.as_str(),
        Held::Language(path) => path.rsplit('.').next().unwrap_or(path).trim_end_matches('_'),
        _ => "",
    };
    if given.eq_ignore_ascii_case("undefined") || given.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    match words.iter().find(|w| w.eq_ignore_ascii_case(given)) {
        Some(word) => Ok(Some(word)),
        None => Err(cx.not_a(&held, &format!("one of {}", words.join(", ")), expr.range())),
    }
}

/// A tensor operand that is not loaded: rows of it are selected where it is.
pub(crate) fn table(cx: &mut Cx<'_>, args: &Args<'_>, parameter: &'static str) -> Res<Value> {
    let expr = args.need(parameter);
    let held = cx.eval(expr)?;
    if !cx.in_scope() {
        return Err(cx.outside(args.name, args.at));
    }
    match held {
        Held::Ir(v) if cx.tensor(v).is_some() => Ok(v),
        other => Err(cx.not_a(&other, "a tensor", expr.range())),
    }
}

/// Indices of rows or elements of memory, which have 32 bits.
pub(crate) fn memory_indices(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Value> {
    let indices = matrix(cx, args, "indices")?;
    match cx.ty(indices).element() {
        Some(DType::I32 | DType::U32) => Ok(indices),
        Some(d) if d.is_int() => cx.convert(indices, DType::I32, "rint", args.at),
        _ => Err(cx.not_a(&Held::Ir(indices), "a tile of integers", args.need("indices").range())),
    }
}

/// `pl.mgather(tensor, indices, coalesce=…, gather_oob=…)`: rows (or elements) of a tensor.
pub(crate) fn from_memory(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let tensor = table(cx, args, "tensor")?;
    let indices = memory_indices(cx, args)?;
    let mode = match args.get("coalesce") {
        Some(expr) => word(cx, expr, GATHER_MODES)?.unwrap_or("row"),
        None => "row",
    };
    let mut attributes = attrs([("mode", Attr::Word(mode.into()))]);
    if let Some(expr) = args.get("gather_oob")
        && let Some(policy) = word(cx, expr, OUT_OF_RANGE_READS)?
    {
        attributes.set("out_of_range", Attr::Word(policy.into()));
    }
    let (Some(t), Some(index)) = (cx.tensor(tensor).cloned(), cx.tile(indices).cloned()) else {
        return Err(cx.not_a(&Held::Ir(tensor), "a tensor", args.at));
    };
    let (rows, cols) = (cx.valid_extent(indices, 0, args.at)?, cx.valid_extent(indices, 1, args.at)?);
    let (ty, extents) = if mode == "elem" {
        (TileType::value(t.dtype, index.shape.clone()).with_valid(index.valid.clone()), vec![rows, cols])
    } else {
        let [_, Dim::Static(width)] = t.shape[..] else {
            let message = "`pl.mgather` of rows takes a matrix of known width";
            return Err(cx.error("shape-mismatch", args.need("tensor"), message).into());
        };
        if index.shape[0] != 1 {
            let message = format!("`pl.mgather` of rows takes one row of indices, not {:?}", index.shape);
            return Err(cx.error("shape-mismatch", args.need("indices"), message).into());
        }
        let ty = TileType::value(t.dtype, vec![index.shape[1], width]);
        (ty.with_valid(vec![index.valid[1], Dim::Static(width)]), vec![cols, Held::Int(width as i64)])
    };
    let partly = !ty.is_fully_valid();
    let tile = cx.result(Opcode::Gather, &[&[tensor], &[indices]], Type::Tile(ty), attributes);
    if partly {
        cx.program.valid.insert(tile, extents);
    }
    Ok(Held::Ir(tile))
}

/// `acc = pl.gather_row(acc, src, dst_offset, src_offset, [rows, columns], valid_shape=…)`: a box of a tensor, put into a
/// tile in place.
pub(crate) fn row(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    let at = args.at;
    let expr = args.need("acc");
    let acc = cx.eval(expr)?;
    let tensor = table(cx, args, "src")?;
    let target = match acc {
        Held::Ir(v) if cx.tile(v).is_some() => v,
        ref other => return Err(cx.not_a(other, "a tile", expr.range())),
    };
    if let Some(expr) = args.get("transpose")
        && cx.static_bool(expr)?
    {
        let message = "`transpose=True` of `pl.gather_row` is not supported; gather rows and use `pl.transpose`";
        return Err(cx.unsupported("unsupported-argument", expr, message).into());
    }
    let (into, from) = (cx.sequence(args.need("dst_offset"))?, cx.sequence(args.need("src_offset"))?);
    let sizes = cx.sequence(args.need("shape"))?;
    let valid = match args.get("valid_shape") {
        Some(expr) => match cx.eval(expr)? {
            Held::None => None,
            Held::Tuple(items) => Some(items),
            other => return Err(cx.not_a(&other, "a list", expr.range())),
        },
        None => None,
    };
    let rank = cx.tensor(tensor).map_or(0, ir::TensorType::rank);
    let lists = [("destination offsets", Some(&into)), ("sizes", Some(&sizes)), ("valid extents", valid.as_ref())];
    for (what, list) in lists {
        if let Some(list) = list
            && list.len() != 2
        {
            let message = format!("{} {what} for a matrix", list.len());
            return Err(cx.error("shape-mismatch", at, message).into());
        }
    }
    if rank != 2 || from.len() != 2 {
        let message = format!("`pl.gather_row` takes rows of a matrix, not of a tensor of {rank} axes");
        return Err(cx.unsupported("unsupported-rank", args.need("src"), message).into());
    }
    let axes = from.iter().zip(&sizes);
    let axes = axes.map(|(o, n)| Axis { offset: o.clone(), size: n.clone(), drop: false, at }).collect();
    let part = cx.load_window(tensor, &Window { axes }, valid, at)?;
    cx.insert(part, target, &into[0], &into[1], at)?;
    Ok(acc)
}

impl Cx<'_> {
    /// The same bytes as elements of another type of that width.
    pub(crate) fn bitcast(&mut self, tile: Value, dtype: DType, at: TextRange) -> Res<Value> {
        let Some(t) = self.tile(tile).cloned() else { return Err(self.not_a(&Held::Ir(tile), "a tile", at)) };
        if !t.is_fully_valid() {
            let message = "taking the bytes of a partly valid tile for another type is not supported";
            return Err(self
                .unsupported("unsupported-valid-region", at, message)
                .help("`pl.fillpad` it before")
                .into());
        }
        let ty = Type::Tile(TileType::value(dtype, t.shape));
        Ok(self.result(Opcode::Bitcast, &[&[tile]], ty, Attrs::default()))
    }
}
