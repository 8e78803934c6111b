//! Examples of operations on tiles, as data: operands, and the result as worked out by hand or by a few lines of arithmetic
//! that share nothing with any executor.
//!
//! The tests of `reference` run each at the tensor level, those of `machine` as a kernel (unplaced, placed, and in place
//! where the op table allows it), those of `driver` through all levels.

#![allow(dead_code)]

mod arithmetic;
mod extremes;
pub(crate) mod indexed;
mod masks;
mod moves;
mod sorts;

use std::fmt::Write;

/// A matrix: its type, and the bits of its valid elements in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Tile {
    pub(crate) dtype: &'static str,
    pub(crate) shape: [u64; 2],
    pub(crate) valid: [u64; 2],
    pub(crate) data: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Tile(Tile),
    /// A literal and its type.
    Scalar(&'static str, String),
}

#[derive(Clone, Debug)]
pub(crate) enum Expect {
    Tile(Tile),
    /// A part of the message; the type of the result that there is none of.
    Error(&'static str, Tile),
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) arch: &'static str,
    /// The operation, with `$0`, `$1`, … for its operands.
    pub(crate) call: &'static str,
    /// In braces, or nothing.
    pub(crate) attrs: &'static str,
    pub(crate) operands: Vec<Operand>,
    pub(crate) expect: Expect,
}

pub(crate) fn all() -> Vec<Case> {
    let families = [arithmetic::cases(), extremes::cases(), masks::cases(), moves::cases(), sorts::cases()];
    families.into_iter().flatten().collect()
}

/// A case on A2/A3 with a result.
fn case(name: &'static str, call: &'static str, operands: Vec<Operand>, result: Tile) -> Case {
    Case { name, arch: "a2a3", call, attrs: "", operands, expect: Expect::Tile(result) }
}

fn scalar(dtype: &'static str, literal: impl ToString) -> Operand {
    Operand::Scalar(dtype, literal.to_string())
}

impl From<Tile> for Operand {
    fn from(tile: Tile) -> Operand {
        Operand::Tile(tile)
    }
}

/// As many elements as `shape` has are all valid; fewer fill the first rows and columns of `valid`.
macro_rules! tiles {
    ($($name:ident $t:ty => $bits:expr;)*) => {$(
        fn $name(shape: [u64; 2], data: &[$t]) -> Tile {
            Tile::new(stringify!($name), shape, data.iter().map(|&v| $bits(v)).collect())
        }
    )*};
}

tiles! {
    f32 f32 => |v: f32| v.to_bits() as u64;
    i32 i32 => |v: i32| v as u32 as u64;
    u32 u32 => |v: u32| v as u64;
    i16 i16 => |v: i16| v as u16 as u64;
    u16 u16 => |v: u16| v as u64;
    u8 u8 => |v: u8| v as u64;
    // Halves as bits.
    f16 u16 => |v: u16| v as u64;
    bf16 u16 => |v: u16| v as u64;
}

impl Tile {
    fn new(dtype: &'static str, shape: [u64; 2], data: Vec<u64>) -> Tile {
        assert_eq!(data.len() as u64, shape[0] * shape[1], "a wholly valid tile; see `within`");
        Tile { dtype, shape, valid: shape, data }
    }

    /// The valid part of a larger tile.
    fn within(self, shape: [u64; 2]) -> Tile {
        Tile { shape, ..self }
    }

    pub(crate) fn size(&self) -> u64 {
        match self.dtype {
            "f32" | "i32" | "u32" => 4,
            "i16" | "u16" | "f16" | "bf16" => 2,
            _ => 1,
        }
    }

    /// Bytes of a whole tensor of this shape, `background` where the tile is not valid.
    pub(crate) fn bytes(&self, background: u8) -> Vec<u8> {
        let (size, [rows, cols], [valid_rows, valid_cols]) = (self.size() as usize, self.shape, self.valid);
        assert!(self.data.is_empty() || self.data.len() as u64 == valid_rows * valid_cols);
        let mut out = vec![background; (rows * cols) as usize * size];
        for (k, bits) in self.data.iter().enumerate() {
            let (r, c) = (k as u64 / valid_cols, k as u64 % valid_cols);
            let at = (r * cols + c) as usize * size;
            out[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        out
    }

    /// Its type, with what comes behind the element type.
    fn ty(&self, rest: &str) -> String {
        let ([r, c], [vr, vc]) = (self.shape, self.valid);
        let valid = if self.shape == self.valid { String::new() } else { format!(", valid {vr}x{vc}") };
        format!("tile<{r}x{c}x{}{valid}{rest}>", self.dtype)
    }

    fn same_type(&self, other: &Tile) -> bool {
        (self.dtype, self.shape, self.valid) == (other.dtype, other.shape, other.valid)
    }

    /// As a buffer of the vector core; a column has its elements one after another.
    fn buffer(&self) -> String {
        self.ty(if self.shape[1] == 1 { ", vec, dn" } else { ", vec" })
    }
}

impl Case {
    fn attrs(self, attrs: &'static str) -> Case {
        Case { attrs, ..self }
    }

    fn on_a5(self) -> Case {
        Case { arch: "a5", ..self }
    }

    fn fails(name: &'static str, call: &'static str, operands: Vec<Operand>, message: &'static str, ty: Tile) -> Case {
        let expect = Expect::Error(message, ty);
        Case { expect, ..case(name, call, operands, f32([0, 0], &[])) }
    }

    pub(crate) fn result(&self) -> &Tile {
        match &self.expect {
            Expect::Tile(tile) | Expect::Error(_, tile) => tile,
        }
    }

    pub(crate) fn tiles(&self) -> impl Iterator<Item = &Tile> {
        self.operands.iter().filter_map(|o| match o {
            Operand::Tile(tile) => Some(tile),
            Operand::Scalar(..) => None,
        })
    }

    pub(crate) fn opcode(&self) -> &'static str {
        self.call.split(' ').next().unwrap_or("")
    }

    fn called(&self) -> String {
        let mut text = self.call.to_owned();
        for k in 0..self.operands.len() {
            text = text.replace(&format!("${k}"), &format!("%t{k}"));
        }
        text
    }

    fn constants(&self, extents: impl IntoIterator<Item = u64>) -> String {
        let mut text = String::new();
        let mut extents: Vec<u64> = extents.into_iter().chain([0, 1]).collect();
        extents.sort_unstable();
        extents.dedup();
        for n in extents {
            writeln!(text, "  %c{n} = const {{value = {n}}} : index").unwrap();
        }
        for (k, operand) in self.operands.iter().enumerate() {
            if let Operand::Scalar(ty, literal) = operand {
                writeln!(text, "  %t{k} = const {{value = {literal}}} : {ty}").unwrap();
            }
        }
        text
    }

    /// Parameters of the entry: a tensor for each tile, and `%o` for the result.
    fn params(&self) -> String {
        let mut text = String::new();
        for (k, operand) in self.operands.iter().enumerate() {
            if let Operand::Tile(tile) = operand {
                write!(text, "%x{k}: in tensor<{}x{}x{}>, ", tile.shape[0], tile.shape[1], tile.dtype).unwrap();
            }
        }
        let out = self.result();
        write!(text, "%o: inout tensor<{}x{}x{}>", out.shape[0], out.shape[1], out.dtype).unwrap();
        text
    }

    /// A program of the tensor level: one scope that loads, does it, and stores.
    pub(crate) fn tensor_program(&self) -> String {
        let mut body = String::new();
        for (k, operand) in self.operands.iter().enumerate() {
            if let Operand::Tile(tile) = operand {
                let [r, c] = tile.shape;
                let ty = tile.ty("");
                writeln!(body, "    %t{k} = load %x{k} offsets(%c0, %c0) {{sizes = [{r}, {c}]}} : {ty}").unwrap();
            }
        }
        let out = self.result();
        let [r, c] = out.shape;
        format!(
            "program \"case\" {} tensor entry @main\n\nfunc @main orchestration({}) {{\n{}  %k = scope {{name = \"k\"}} : task \
             {{\n{body}    %r = {} {} : {}\n    store %r, %o offsets(%c0, %c0) {{sizes = [{r}, {c}]}}\n    yield\n  }}\n  \
             return\n}}\n",
            self.arch,
            self.params(),
            self.constants([]),
            self.called(),
            self.attrs,
            out.ty("")
        )
    }

    /// A program of the tile level (`placed`: the machine level), whose one kernel does the same. The result has the bytes
    /// of operand `in_place`, if one is given.
    pub(crate) fn kernel_program(&self, placed: bool, in_place: Option<usize>) -> String {
        let (mut params, mut args, mut directions, mut body, mut addresses) =
            (String::new(), String::new(), String::new(), String::new(), String::new());
        let out = self.result();
        let mut address = 0;
        let mut buffer = |tile: &Tile| {
            let text = if placed { format!(" addr(%a{address})") } else { String::new() };
            writeln!(addresses, "  %a{address} = const {{value = {address}}} : i64").unwrap();
            address += (tile.shape[0] * tile.shape[1] * tile.size()).next_multiple_of(256).max(256);
            format!("alloc_tile{text} : {}", tile.buffer())
        };
        let part = |body: &mut String, name: &str, tile: &Tile| {
            let ([r, c], [vr, vc], d) = (tile.shape, tile.valid, tile.dtype);
            writeln!(
                body,
                "  %v{name} = make_tensor_view %x{name} shape(%c{r}, %c{c}) strides(%c{c}, %c1) : view<{r}x{c}x{d}>"
            )
            .unwrap();
            writeln!(
                body,
                "  %p{name} = partition_view %v{name} offsets(%c0, %c0) sizes(%c{vr}, %c{vc}) : part<{vr}x{vc}x{d}>"
            )
            .unwrap();
        };
        for (k, operand) in self.operands.iter().enumerate() {
            if let Operand::Tile(tile) = operand {
                write!(params, "%x{k}: in ptr<{}>, ", tile.dtype).unwrap();
                write!(args, "%x{k}, ").unwrap();
                directions += "in,";
                part(&mut body, &k.to_string(), tile);
                writeln!(body, "  %t{k} = {}", buffer(tile)).unwrap();
                writeln!(body, "  tload %p{k} outs(%t{k})").unwrap();
            }
        }
        part(&mut body, "r", out);
        let mut result = "%r".to_owned();
        if self.opcode() == "bitcast" {
            writeln!(body, "  %r = {} {} : {}", self.called(), self.attrs, out.buffer()).unwrap();
        } else {
            match in_place {
                Some(k) => result = format!("%t{k}"),
                None => writeln!(body, "  %r = {}", buffer(out)).unwrap(),
            }
            writeln!(body, "  {} outs({result}) {}", self.called(), self.attrs).unwrap();
        }
        writeln!(body, "  tstore {result} outs(%pr)").unwrap();
        let extents = self.tiles().chain([out]).flat_map(|t| t.shape.into_iter().chain(t.valid));
        let consts = self.constants(extents.collect::<Vec<_>>());
        let (word, addresses) = if placed { (" placed", addresses.as_str()) } else { ("", "") };
        format!(
            "program \"case\" {} tile entry @main\n\nfunc @k kernel(vector){word}({params}%xr: inout ptr<{}>) {{\n{consts}\
             {addresses}{body}  return\n}}\n\nfunc @main orchestration({}) {{\n  %t = submit args({args}%o) {{kernels = [@k], \
             name = \"k\", directions = \"{directions}inout\"}} : task\n  return\n}}\n",
            self.arch,
            out.dtype,
            self.params()
        )
    }

    /// The operands whose buffer the result may have: of those that the op table names, the ones of the result's type.
    pub(crate) fn in_place(&self, groups: &[&str], names: &[&str]) -> Vec<usize> {
        let mut out = Vec::new();
        for (k, name) in names.iter().enumerate().take(self.operands.len()) {
            if let Operand::Tile(tile) = &self.operands[k]
                && groups.contains(name)
                && tile.same_type(self.result())
            {
                out.push(k);
            }
        }
        out
    }
}
