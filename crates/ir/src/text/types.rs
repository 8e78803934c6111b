//! Types as text.
//!
//! ```text
//! f32  index  i1  task  array<8xtask>  ptr<f32>
//! tensor<?x512xf32>                    packed
//! tensor<?x512xf32, strides [?, 1]>
//! view<…>                              as tensor
//! part<16x?xf32>
//! tile<16x64xf32>                      a value, or row-major
//! tile<16x64xf32, valid 16x?, left, nz, pad zero>
//! tile<16x16xf32, acc, nz/1024>        bytes of an inner box, if not 512
//! ```

use std::fmt;

use chip::Space;
use dtype::DType;

use super::cursor::{Cursor, Result};
use crate::types::{Compact, Dim, LOCAL_SPACES, Layout, Major, Opaque, Pad, TensorType, TileType, Type};

/// Arrays of arrays deeper than this are refused, so that a parser cannot overflow the stack.
const MAX_DEPTH: usize = 8;

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(d) => write!(f, "{d}"),
            Type::TaskId => f.write_str("task"),
            Type::Array { element, len } => write!(f, "array<{len}x{element}>"),
            Type::Tensor(t) => write!(f, "tensor<{t}>"),
            Type::Ptr(d) => write!(f, "ptr<{d}>"),
            Type::View(t) => write!(f, "view<{t}>"),
            Type::PartView { dtype, shape } => write!(f, "part<{}{dtype}>", Extents(shape)),
            Type::Tile(t) => write!(f, "{t}"),
            Type::Opaque(o) => write!(f, "{o}"),
        }
    }
}

/// `16x?x`
struct Extents<'a>(&'a [Dim]);

impl fmt::Display for Extents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|d| write!(f, "{d}x"))
    }
}

/// The part between the angle brackets.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Extents(&self.shape), self.dtype)?;
        if self.is_packed() {
            return Ok(());
        }
        let strides: Vec<String> = self.strides.iter().map(Dim::to_string).collect();
        write!(f, ", strides [{}]", strides.join(", "))
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opaque::Pipe => f.write_str("pipe"),
            Opaque::AsyncSession => f.write_str("async_session"),
            Opaque::AsyncEvent => f.write_str("async_event"),
            Opaque::PrefetchContext => f.write_str("prefetch_context"),
            Opaque::LocalPtr { element, space } => write!(f, "local_ptr<{element}, {space}>"),
            Opaque::MemRef(text) => write!(f, "memref<{text:?}>"),
            Opaque::Counts => f.write_str("counts"),
            Opaque::EventIds(n) => write!(f, "event_ids<{n}>"),
            Opaque::Struct(fields) => {
                let fields: Vec<String> = fields.iter().map(Type::to_string).collect();
                write!(f, "struct<{}>", fields.join(", "))
            }
            Opaque::Tiles { tile, count } => write!(f, "tiles<{count}x{tile}>"),
        }
    }
}

impl fmt::Display for TileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tile<")?;
        self.shape.iter().try_for_each(|n| write!(f, "{n}x"))?;
        write!(f, "{}", self.dtype)?;
        if !self.is_fully_valid() {
            let valid: Vec<String> = self.valid.iter().map(Dim::to_string).collect();
            write!(f, ", valid {}", valid.join("x"))?;
        }
        if let Some(space) = self.space {
            write!(f, ", {space}")?;
        }
        if self.layout != Layout::ROW_MAJOR {
            write!(f, ", {}", self.layout)?;
        }
        match self.pad {
            Pad::Null => {}
            pad => write!(f, ", pad {}", pad_name(pad))?,
        }
        f.write_str(">")
    }
}

/// `nd`, `dn`, `nz`, `zn`, `zz`, `nn` (`spec/isa.md` §3.1), the bytes of an inner box if not 512, and how it is compact.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.blayout, self.slayout) {
            (Major::Row, None) => "nd",
            (Major::Col, None) => "dn",
            (Major::Col, Some(Major::Row)) => "nz",
            (Major::Row, Some(Major::Col)) => "zn",
            (Major::Row, Some(Major::Row)) => "zz",
            (Major::Col, Some(Major::Col)) => "nn",
        })?;
        if self.fractal != 512 {
            write!(f, "/{}", self.fractal)?;
        }
        f.write_str(match self.compact {
            Compact::Null => "",
            Compact::Normal => " compact",
            Compact::RowPlusOne => " plus_one",
        })
    }
}

fn layout(name: &str) -> Option<Layout> {
    let (blayout, slayout) = match name {
        "nd" => (Major::Row, None),
        "dn" => (Major::Col, None),
        "nz" => (Major::Col, Some(Major::Row)),
        "zn" => (Major::Row, Some(Major::Col)),
        "zz" => (Major::Row, Some(Major::Row)),
        "nn" => (Major::Col, Some(Major::Col)),
        _ => return None,
    };
    Some(Layout { blayout, slayout, fractal: 512, compact: Compact::Null })
}

pub(super) fn pad_name(pad: Pad) -> &'static str {
    match pad {
        Pad::Null => "null",
        Pad::Zero => "zero",
        Pad::Max => "max",
        Pad::Min => "min",
    }
}

fn pad(name: &str) -> Option<Pad> {
    [Pad::Null, Pad::Zero, Pad::Max, Pad::Min].into_iter().find(|&p| pad_name(p) == name)
}

/// Reads a type.
pub(super) fn parse_type(c: &mut Cursor<'_>) -> Result<Type> {
    nested(c, 0)
}

fn nested(c: &mut Cursor<'_>, depth: usize) -> Result<Type> {
    let word_start = {
        c.blank();
        c.offset()
    };
    let word = c.expect_word("a type")?;
    if depth > MAX_DEPTH {
        return Err(c.error_from(word_start, "syntax", "this type is nested too deeply".into()));
    }
    Ok(match word {
        "task" => Type::TaskId,
        "array" => {
            c.expect("<")?;
            let len = c.number("a length")?;
            times(c)?;
            let element = Box::new(nested(c, depth + 1)?);
            c.expect(">")?;
            Type::Array { element, len }
        }
        "ptr" => {
            c.expect("<")?;
            let dtype = element(c)?;
            c.expect(">")?;
            Type::Ptr(dtype)
        }
        "tensor" => Type::Tensor(tensor(c)?),
        "view" => Type::View(tensor(c)?),
        "part" => {
            c.expect("<")?;
            let shape = extents(c)?;
            let dtype = element(c)?;
            c.expect(">")?;
            Type::PartView { dtype, shape }
        }
        "tile" => Type::Tile(tile(c)?),
        "pipe" => Type::Opaque(Opaque::Pipe),
        "async_session" => Type::Opaque(Opaque::AsyncSession),
        "async_event" => Type::Opaque(Opaque::AsyncEvent),
        "prefetch_context" => Type::Opaque(Opaque::PrefetchContext),
        "local_ptr" => {
            c.expect("<")?;
            let element = element(c)?;
            c.expect(",")?;
            let space = local_space(c)?;
            c.expect(">")?;
            Type::Opaque(Opaque::LocalPtr { element, space })
        }
        "memref" => {
            c.expect("<")?;
            let text = c.string()?;
            c.expect(">")?;
            Type::Opaque(Opaque::MemRef(text))
        }
        "counts" => Type::Opaque(Opaque::Counts),
        "event_ids" => {
            c.expect("<")?;
            let count = c.number("a number of events")?;
            c.expect(">")?;
            Type::Opaque(Opaque::EventIds(count))
        }
        "struct" => {
            c.expect("<")?;
            let mut fields = vec![nested(c, depth + 1)?];
            while c.eat(",") {
                fields.push(nested(c, depth + 1)?);
            }
            c.expect(">")?;
            Type::Opaque(Opaque::Struct(fields))
        }
        "tiles" => {
            c.expect("<")?;
            let count = c.number("a number of tiles")?;
            times(c)?;
            c.expect("tile")?;
            let tile = tile(c)?;
            c.expect(">")?;
            Type::Opaque(Opaque::Tiles { tile, count })
        }
        word => match word.parse() {
            Ok(dtype) => Type::Scalar(dtype),
            Err(()) => {
                let message = format!("`{word}` is not a type");
                return Err(c
                    .error_from(word_start, "unknown-type", message)
                    .help("types are element types (f32, index, …), task, array, ptr, tensor, view, part and tile"));
            }
        },
    })
}

/// The name of a buffer that a pointer points into.
pub fn local_space(c: &mut Cursor<'_>) -> Result<&'static str> {
    c.blank();
    let start = c.offset();
    let word = c.expect_word("the name of a buffer")?;
    LOCAL_SPACES.into_iter().find(|s| *s == word).ok_or_else(|| {
        c.error_from(start, "unknown-type", format!("`{word}` is not a buffer that pointers point into"))
            .help(format!("buffers are {}", LOCAL_SPACES.join(", ")))
    })
}

fn element(c: &mut Cursor<'_>) -> Result<DType> {
    c.blank();
    let start = c.offset();
    let word = c.expect_word("an element type")?;
    word.parse().map_err(|()| {
        let names: Vec<&str> = DType::ALL.iter().chain(&DType::STORED).map(|d| d.name()).collect();
        c.error_from(start, "unknown-type", format!("`{word}` is not an element type"))
            .help(format!("element types are {}", names.join(", ")))
    })
}

fn dim(c: &mut Cursor<'_>) -> Result<Dim> {
    if c.eat("?") { Ok(Dim::Dynamic) } else { Ok(Dim::Static(c.number("an extent")?)) }
}

/// The `x` between extents; it touches what follows, so it is no word of its own.
fn times(c: &mut Cursor<'_>) -> Result<()> {
    if !c.rest().starts_with('x') {
        return Err(c.unexpected("`x` after an extent"));
    }
    c.seek(c.offset() + 1);
    Ok(())
}

/// One to five extents, each followed by `x`.
fn extents(c: &mut Cursor<'_>) -> Result<Vec<Dim>> {
    c.blank();
    let start = c.offset();
    let mut shape = Vec::new();
    while c.peek().is_some_and(|p| p == '?' || p.is_ascii_digit()) {
        shape.push(dim(c)?);
        times(c)?;
    }
    if shape.is_empty() || shape.len() > 5 {
        return Err(c.error_from(start, "rank", format!("the rank is {}; it must be 1 to 5", shape.len())));
    }
    // Sizes and strides are computed without overflow from here on.
    let product = shape.iter().try_fold(8u64, |p, d| p.checked_mul(d.known().unwrap_or(1).max(1)));
    if product.is_none_or(|p| p > i64::MAX as u64) {
        return Err(c.error_from(start, "number-range", "the extents are too large".into()));
    }
    Ok(shape)
}

fn tensor(c: &mut Cursor<'_>) -> Result<TensorType> {
    c.expect("<")?;
    let shape = extents(c)?;
    let mut ty = TensorType::packed(element(c)?, shape);
    if c.eat(",") {
        c.expect("strides")?;
        c.expect("[")?;
        let start = c.offset();
        let mut strides = vec![dim(c)?];
        while c.eat(",") {
            strides.push(dim(c)?);
        }
        c.expect("]")?;
        if strides.len() != ty.shape.len() {
            let message = format!("{} strides for {} extents", strides.len(), ty.shape.len());
            return Err(c.error_from(start, "rank", message));
        }
        ty.strides = strides;
    }
    c.expect(">")?;
    Ok(ty)
}

fn tile(c: &mut Cursor<'_>) -> Result<TileType> {
    c.expect("<")?;
    let start = c.offset();
    let shape = extents(c)?;
    let Some(shape) = shape.iter().map(|d| d.known()).collect::<Option<Vec<u64>>>() else {
        return Err(c.error_from(start, "dynamic-tile", "the extents of a tile are numbers".into()));
    };
    let mut ty = TileType::value(element(c)?, shape);
    while c.eat(",") {
        c.blank();
        let start = c.offset();
        let word = c.expect_word("a property of a tile")?;
        if word == "valid" {
            let mut valid = vec![dim(c)?];
            while c.rest().starts_with('x') {
                c.seek(c.offset() + 1);
                valid.push(dim(c)?);
            }
            if valid.len() != ty.shape.len() {
                let message = format!("{} valid extents for {} extents", valid.len(), ty.shape.len());
                return Err(c.error_from(start, "rank", message));
            }
            ty.valid = valid;
        } else if word == "pad" {
            let name = c.expect_word("a pad")?;
            let Some(pad) = pad(name) else {
                return Err(c
                    .error_from(start, "unknown-pad", format!("`{name}` is not a pad"))
                    .help("null, zero, max, min"));
            };
            ty.pad = pad;
        } else if let Ok(space) = word.parse::<Space>() {
            ty.space = Some(space);
        } else if let Some(mut layout) = layout(word) {
            if c.eat("/") {
                layout.fractal = c.number("bytes of an inner box")?;
            }
            if c.eat("compact") {
                layout.compact = Compact::Normal;
            } else if c.eat("plus_one") {
                layout.compact = Compact::RowPlusOne;
            }
            ty.layout = layout;
        } else {
            return Err(c
                .error_from(start, "syntax", format!("`{word}` is not a property of a tile"))
                .help("properties are valid, pad, a space (vec, mat, left, right, acc, bias, scaling) and a layout (nd, dn, nz, zn, zz, nn)"));
        }
    }
    c.expect(">")?;
    Ok(ty)
}
