//! Types of the dialect (`spec/pto-assembly.md` §1.3), out and in.

use chip::{Arch, Space};
use dtype::DType;
use ir::text::{Cursor, Result};
use ir::{Compact, Dim, Major, Opaque, Pad, TensorType, TileType, Type};

/// The spelling of an element or scalar type. Signed integers are signless.
pub(crate) fn element_name(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "ui8",
        DType::U16 => "ui16",
        DType::U32 => "ui32",
        DType::U64 => "ui64",
        DType::F8E4M3 => "f8E4M3FN",
        DType::F8E4M3Inf => "f8E4M3",
        DType::F8E5M2 => "f8E5M2",
        DType::F8E8M0 => "!pto.f8E8M0",
        DType::HiF8 => "!pto.hif8",
        DType::HiF8x2 => "!pto.hif8x2",
        DType::F4E1M2x2 => "!pto.f4E1M2x2",
        DType::F4E2M1x2 => "!pto.f4E2M1x2",
        DType::BF16x2 => "!pto.bf16x2",
        other => other.name(),
    }
}

fn element_by_name(name: &str) -> Option<DType> {
    let by_name = |name: &str| DType::ALL.into_iter().chain(DType::STORED).find(|&d| element_name(d) == name);
    // `si8` is a type of its own; wider signed integers are signless.
    by_name(name).or_else(|| by_name(name.strip_prefix('s').filter(|n| n.starts_with('i'))?)).or(match name {
        "f8E8M0FNU" => Some(DType::F8E8M0),
        _ => None,
    })
}

pub(crate) fn show(ty: &Type) -> String {
    match ty {
        Type::Scalar(d) => element_name(*d).to_owned(),
        Type::Ptr(d) => format!("!pto.ptr<{}>", element_name(*d)),
        Type::View(t) => format!("!pto.tensor_view<{}{}>", extents(&t.shape), element_name(t.dtype)),
        Type::PartView { dtype, shape } => {
            format!("!pto.partition_tensor_view<{}{}>", extents(shape), element_name(*dtype))
        }
        Type::Array { .. } => array(ty),
        Type::Tile(t) => tile(t),
        Type::Opaque(o) => opaque(o),
        // Not of this level: shown for what it is, and not read back.
        Type::Tensor(_) | Type::TaskId => format!("!tw.{ty}"),
    }
}

/// Arrays of arrays are arrays of several dimensions.
fn array(mut ty: &Type) -> String {
    let mut lengths = String::new();
    while let Type::Array { element, len } = ty {
        lengths += &format!("{len}x");
        ty = element;
    }
    format!("!pto.local_array<{lengths}{}>", show(ty))
}

fn opaque(o: &Opaque) -> String {
    match o {
        Opaque::Pipe => "!pto.pipe".to_owned(),
        Opaque::AsyncSession => "!pto.async_session".to_owned(),
        Opaque::AsyncEvent => "!pto.async_event".to_owned(),
        Opaque::PrefetchContext => "!pto.prefetch_async_context".to_owned(),
        Opaque::LocalPtr { element, space } => format!("!pto.ptr<{}, {space}>", element_name(*element)),
        Opaque::MemRef(text) => text.clone(),
        Opaque::Counts => "vector<4xi16>".to_owned(),
        Opaque::EventIds(n) => format!("!pto.eventid_array<{n}>"),
        Opaque::Struct(fields) => {
            format!("!pto.struct<{}>", fields.iter().map(show).collect::<Vec<_>>().join(", "))
        }
        Opaque::Tiles { tile: t, count } => format!("!pto.multi_tile_buf<{}, count={count}>", tile(t)),
    }
}

fn extents(dims: &[Dim]) -> String {
    dims.iter().map(|d| format!("{d}x")).collect()
}

/// The compact form, without what is the default.
fn tile(t: &TileType) -> String {
    let shape: String = t.shape.iter().map(|n| format!("{n}x")).collect();
    let space = t.space.map_or("none", Space::name);
    let mut out = format!("!pto.tile_buf<{space}, {shape}{}", element_name(t.dtype));
    if !t.is_fully_valid() {
        let valid: Vec<String> = t.valid.iter().map(Dim::to_string).collect();
        out += &format!(", valid={}", valid.join("x"));
    }
    let major = |m: Major| match m {
        Major::Row => "row_major",
        Major::Col => "col_major",
    };
    if t.layout.blayout != Major::Row {
        out += &format!(", blayout={}", major(t.layout.blayout));
    }
    if let Some(slayout) = t.layout.slayout {
        out += &format!(", slayout={}", major(slayout));
    }
    if t.layout.fractal != 512 {
        out += &format!(", fractal={}", t.layout.fractal);
    }
    match t.pad {
        Pad::Null => {}
        Pad::Zero => out += ", pad=1",
        Pad::Max => out += ", pad=2",
        Pad::Min => out += ", pad=3",
    }
    match t.layout.compact {
        Compact::Null => {}
        Compact::Normal => out += ", compact=1",
        Compact::RowPlusOne => out += ", compact=2",
    }
    out + ">"
}

/// Reads a type. The block layout of `left` tiles is the architecture's, whatever the text says (§1.3).
pub(crate) fn parse_type(c: &mut Cursor<'_>, arch: Arch) -> Result<Type> {
    nested(c, arch, 0)
}

/// Deeper structures are refused.
const MAX_DEPTH: usize = 16;

fn nested(c: &mut Cursor<'_>, arch: Arch, depth: usize) -> Result<Type> {
    c.blank();
    let start = c.offset();
    if depth > MAX_DEPTH {
        return Err(c.error_from(start, "syntax", "this type is nested too deeply".into()));
    }
    if !c.eat("!") {
        if c.eat("vector<4xi16>") {
            return Ok(Type::Opaque(Opaque::Counts));
        }
        if c.clone().eat("memref") {
            return Ok(Type::Opaque(Opaque::MemRef(memref(c)?)));
        }
        return Ok(Type::Scalar(element(c)?));
    }
    let word = c.expect_word("a type")?;
    if let Some(dtype) = packed_by_name(word) {
        return Ok(Type::Scalar(dtype));
    }
    Ok(match word {
        "pto.ptr" => {
            c.expect("<")?;
            let dtype = element(c)?;
            let local = if !c.eat(",") || c.eat("gm") { None } else { Some(ir::text::local_space(c)?) };
            c.expect(">")?;
            match local {
                Some(space) => Type::Opaque(Opaque::LocalPtr { element: dtype, space }),
                None => Type::Ptr(dtype),
            }
        }
        "pto.tensor_view" => {
            let (shape, dtype) = shaped(c)?;
            // Strides are operands of `make_tensor_view`; the type does not say them.
            let strides = vec![Dim::Dynamic; shape.len()];
            Type::View(TensorType { dtype, shape, strides })
        }
        "pto.partition_tensor_view" => {
            let (shape, dtype) = shaped(c)?;
            Type::PartView { dtype, shape }
        }
        "pto.local_array" => {
            let (shape, dtype) = shaped(c)?;
            let mut ty = Type::Scalar(dtype);
            for dim in shape.into_iter().rev() {
                let Dim::Static(len) = dim else {
                    return Err(c.error_from(start, "rank", "the length of an array is a number".into()));
                };
                ty = Type::Array { element: Box::new(ty), len };
            }
            ty
        }
        "pto.tile_buf" => Type::Tile(tile_buf(c, arch, start)?),
        "pto.multi_tile_buf" => Type::Opaque(tiles(c, arch, start)?),
        "pto.pipe" => Type::Opaque(Opaque::Pipe),
        "pto.async_session" => Type::Opaque(Opaque::AsyncSession),
        "pto.async_event" => Type::Opaque(Opaque::AsyncEvent),
        "pto.prefetch_async_context" => Type::Opaque(Opaque::PrefetchContext),
        "pto.eventid_array" => {
            c.expect("<")?;
            let count = c.number("a number of events")?;
            c.expect(">")?;
            Type::Opaque(Opaque::EventIds(count))
        }
        "pto.struct" => {
            c.expect("<")?;
            let mut fields = vec![nested(c, arch, depth + 1)?];
            while c.eat(",") {
                fields.push(nested(c, arch, depth + 1)?);
            }
            c.expect(">")?;
            Type::Opaque(Opaque::Struct(fields))
        }
        word => {
            return Err(c.error_from(start, "unsupported-type", format!("the type !{word} is not supported")).help(
                "supported are scalars, !pto.ptr, !pto.tensor_view, !pto.partition_tensor_view, !pto.tile_buf, !pto.multi_tile_buf, !pto.local_array, !pto.eventid_array, !pto.struct, !pto.pipe and those of asynchronous transfers",
            ));
        }
    })
}

/// After `!pto.tile_buf`.
fn tile_buf(c: &mut Cursor<'_>, arch: Arch, start: usize) -> Result<TileType> {
    c.expect("<")?;
    let tile = if c.eat("loc") { keyed(c, arch)? } else { compact(c, arch)? };
    c.expect(">")?;
    check(c, start, &tile)?;
    Ok(tile)
}

/// After `!pto.multi_tile_buf`: a tile type, whole or its inside, and how many.
fn tiles(c: &mut Cursor<'_>, arch: Arch, start: usize) -> Result<Opaque> {
    c.expect("<")?;
    let tile = if c.eat("!") {
        c.expect("pto.tile_buf")?;
        tile_buf(c, arch, start)?
    } else {
        let tile = compact(c, arch)?;
        check(c, start, &tile)?;
        tile
    };
    c.expect(",")?;
    c.expect("count")?;
    c.expect("=")?;
    let count = c.number("a number of tiles")?;
    c.expect(">")?;
    if !(2..=16).contains(&count) {
        return Err(c.error_from(start, "tile-type", format!("2 to 16 tiles are together, not {count}")));
    }
    Ok(Opaque::Tiles { tile, count })
}

fn element(c: &mut Cursor<'_>) -> Result<DType> {
    c.blank();
    let start = c.offset();
    // Formats of 8 bits and less that MLIR has no name for.
    if c.eat("!") {
        let word = c.expect_word("a type")?;
        let unknown = || c.error_from(start, "unsupported-type", format!("there is no element type `!{word}`"));
        return packed_by_name(word).ok_or_else(unknown);
    }
    let word = c.expect_word("a type")?;
    element_by_name(word)
        .ok_or_else(|| c.error_from(start, "unsupported-type", format!("the element type `{word}` is not supported")))
}

/// An element type of the dialect's own, by its name without `!`.
fn packed_by_name(word: &str) -> Option<DType> {
    DType::STORED.into_iter().find(|&d| element_name(d).strip_prefix('!') == Some(word))
}

/// `memref<…>`, as it is spelled, without blanks.
fn memref(c: &mut Cursor<'_>) -> Result<String> {
    c.blank();
    let start = c.offset();
    c.expect("memref")?;
    c.expect("<")?;
    let mut depth = 1;
    while depth > 0 {
        match c.peek() {
            Some('<') => depth += 1,
            Some('>') => depth -= 1,
            Some(_) => {}
            None => return Err(c.unexpected("the end of a type")),
        }
        let next = c.rest().chars().next().map_or(1, char::len_utf8);
        c.seek(c.offset() + next);
    }
    Ok(c.slice(start, c.offset()).split_whitespace().collect::<Vec<_>>().join(" "))
}

fn dim(c: &mut Cursor<'_>) -> Result<Dim> {
    if c.eat("?") || c.eat("-1") { Ok(Dim::Dynamic) } else { Ok(Dim::Static(c.number("an extent")?)) }
}

/// `16x?x`, then an element type.
fn dims_element(c: &mut Cursor<'_>) -> Result<(Vec<Dim>, DType)> {
    c.blank();
    let start = c.offset();
    let mut shape = Vec::new();
    while c.peek().is_some_and(|p| p == '?' || p.is_ascii_digit()) {
        shape.push(dim(c)?);
        // Blanks may stand around it.
        c.blank();
        if !c.rest().starts_with('x') {
            return Err(c.unexpected("`x` after an extent"));
        }
        c.seek(c.offset() + 1);
    }
    if shape.is_empty() || shape.len() > 5 {
        return Err(c.error_from(start, "rank", format!("the rank is {}; it must be 1 to 5", shape.len())));
    }
    let product = shape.iter().try_fold(8u64, |p, d| p.checked_mul(d.known().unwrap_or(1).max(1)));
    if product.is_none_or(|p| p > i64::MAX as u64) {
        return Err(c.error_from(start, "number-range", "the extents are too large".into()));
    }
    Ok((shape, element(c)?))
}

fn shaped(c: &mut Cursor<'_>) -> Result<(Vec<Dim>, DType)> {
    c.expect("<")?;
    let found = dims_element(c)?;
    c.expect(">")?;
    Ok(found)
}

/// A keyword, or the same in quotes.
fn keyword(c: &mut Cursor<'_>, what: &str) -> Result<String> {
    if c.peek() == Some('"') { c.string() } else { c.expect_word(what).map(str::to_owned) }
}

fn space(c: &mut Cursor<'_>) -> Result<Space> {
    c.blank();
    let start = c.offset();
    let word = keyword(c, "a location")?;
    word.parse().map_err(|()| {
        c.error_from(start, "unsupported-type", format!("tiles in `{word}` are not supported"))
            .help("locations are vec, mat, left, right, acc, bias, scaling")
    })
}

fn compact(c: &mut Cursor<'_>, arch: Arch) -> Result<TileType> {
    let space = space(c)?;
    c.expect(",")?;
    let start = {
        c.blank();
        c.offset()
    };
    let (shape, dtype) = dims_element(c)?;
    let shape: Option<Vec<u64>> = shape.iter().map(|d| d.known()).collect();
    let Some(shape) = shape.filter(|s| s.len() == 2) else {
        return Err(c.error_from(start, "rank", "a tile has rows and columns, as numbers".into()));
    };
    let mut t = TileType::value(dtype, shape);
    t.space = Some(space);
    loop {
        // The number of several tiles is their own property.
        let comma = c.offset();
        if !c.eat(",") || c.clone().eat("count") {
            c.seek(comma);
            break;
        }
        option(c, &mut t)?;
    }
    force_left(&mut t, arch);
    Ok(t)
}

fn option(c: &mut Cursor<'_>, t: &mut TileType) -> Result<()> {
    c.blank();
    let start = c.offset();
    let key = c.expect_word("a property of a tile")?;
    c.expect("=")?;
    match key {
        "valid" => {
            let row = dim(c)?;
            if !c.rest().starts_with('x') {
                return Err(c.unexpected("`x` between the valid extents"));
            }
            c.seek(c.offset() + 1);
            t.valid = vec![row, dim(c)?];
        }
        "blayout" | "slayout" => {
            let major = match keyword(c, "a layout")?.as_str() {
                "row_major" => Some(Major::Row),
                "col_major" => Some(Major::Col),
                "none_box" if key == "slayout" => None,
                other => return Err(c.error_from(start, "unknown-layout", format!("`{other}` is not a {key}"))),
            };
            match major {
                Some(major) if key == "blayout" => t.layout.blayout = major,
                major => t.layout.slayout = major,
            }
        }
        "fractal" => t.layout.fractal = c.number("bytes of an inner box")?,
        "pad" => {
            let n: u32 = c.number("a pad")?;
            t.pad = match n {
                0 => Pad::Null,
                1 => Pad::Zero,
                2 => Pad::Max,
                3 => Pad::Min,
                _ => return Err(c.error_from(start, "unknown-pad", format!("{n} is not a pad; pads are 0 to 3"))),
            };
        }
        "compact" => {
            let n: u32 = c.number("a compact mode")?;
            t.layout.compact = match n {
                0 => Compact::Null,
                1 => Compact::Normal,
                2 => Compact::RowPlusOne,
                _ => {
                    let message = format!("{n} is not a compact mode; modes are 0 to 2");
                    return Err(c.error_from(start, "unknown-layout", message));
                }
            };
        }
        key => return Err(c.error_from(start, "syntax", format!("`{key}` is not a property of a tile"))),
    }
    Ok(())
}

/// `loc=vec, dtype=f32, rows=…`; the first keyword has been read.
fn keyed(c: &mut Cursor<'_>, arch: Arch) -> Result<TileType> {
    c.expect("=")?;
    let space = space(c)?;
    let key = |c: &mut Cursor<'_>, name: &str| -> Result<()> {
        c.expect(",")?;
        c.expect(name)?;
        c.expect("=")
    };
    key(c, "dtype")?;
    let dtype = element(c)?;
    key(c, "rows")?;
    let rows = c.number("rows")?;
    key(c, "cols")?;
    let cols = c.number("columns")?;
    let mut t = TileType::value(dtype, vec![rows, cols]);
    t.space = Some(space);
    key(c, "v_row")?;
    t.valid[0] = dim(c)?;
    key(c, "v_col")?;
    t.valid[1] = dim(c)?;
    while c.eat(",") {
        option(c, &mut t)?;
    }
    force_left(&mut t, arch);
    Ok(t)
}

fn force_left(t: &mut TileType, arch: Arch) {
    if t.space == Some(Space::Left) {
        t.layout.blayout = match arch {
            Arch::A2a3 => Major::Row,
            Arch::A5 => Major::Col,
        };
    }
}

/// §1.3, type checks at parse.
fn check(c: &Cursor<'_>, start: usize, t: &TileType) -> Result<()> {
    let fail = |message: String| Err(c.error_from(start, "tile-type", message));
    let (rows, cols) = (t.shape[0], t.shape[1]);
    if rows == 0 || cols == 0 || rows.checked_mul(cols).is_none_or(|n| n > 1 << 40) {
        return fail(format!("a tile cannot have {rows} rows and {cols} columns"));
    }
    for (what, n, valid) in [("rows", rows, t.valid[0]), ("columns", cols, t.valid[1])] {
        if let Dim::Static(v) = valid
            && v > n
        {
            return fail(format!("{v} of {n} {what} cannot be valid"));
        }
    }
    if ![32, 512, 1024].contains(&t.layout.fractal) {
        return fail(format!("inner boxes have 32, 512 or 1024 bytes, not {}", t.layout.fractal));
    }
    Ok(())
}
