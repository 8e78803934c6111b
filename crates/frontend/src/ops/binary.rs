//! The two-operand elementwise operations: which forms each has, and which elements it takes.

use dtype::scalar::BinaryOp;
use ir::Opcode;

/// A two-operand elementwise operation in its forms; one that is missing is made of the others, or refused.
#[derive(Debug)]
pub(crate) struct Binary {
    pub(super) name: &'static str,
    pub(crate) tiles: Opcode,
    /// With a number on the right.
    pub(crate) scalar: Option<Opcode>,
    /// With a vector along the rows, along the columns.
    pub(super) row: Option<Opcode>,
    pub(super) col: Option<Opcode>,
    pub(super) commutes: bool,
    /// The same on two scalars.
    pub(super) scalars: Option<BinaryOp>,
    pub(super) elements: Elements,
}

/// Which elements an operation takes, and in which type it works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Elements {
    /// The promoted type of both operands; a float literal on integers promotes to f32.
    Any,
    /// The promoted type of both operands, which are integers.
    Bits,
    /// Integers; the right operand counts bits and takes the type of the left one.
    Shift,
}

macro_rules! binary {
    ($id:ident, $name:literal, $tiles:ident, $scalar:ident, $row:ident, $col:ident, $commutes:literal, $scalars:ident) => {
        pub(crate) static $id: Binary = Binary {
            scalar: Some(Opcode::$scalar),
            row: Some(Opcode::$row),
            col: Some(Opcode::$col),
            commutes: $commutes,
            scalars: Some(BinaryOp::$scalars),
            ..tiles($name, Opcode::$tiles)
        };
    };
}

/// An operation on two tiles of one shape that has no other form.
const fn tiles(name: &'static str, tiles: Opcode) -> Binary {
    Binary { name, tiles, scalar: None, row: None, col: None, commutes: false, scalars: None, elements: Elements::Any }
}

/// One with a form for a number on the right.
const fn plain(name: &'static str, opcode: Opcode, scalar: Opcode) -> Binary {
    Binary { scalar: Some(scalar), ..tiles(name, opcode) }
}

const fn bits(name: &'static str, opcode: Opcode, scalar: Opcode, scalars: BinaryOp) -> Binary {
    Binary { scalars: Some(scalars), elements: Elements::Bits, commutes: true, ..plain(name, opcode, scalar) }
}

const fn shift(name: &'static str, opcode: Opcode, scalar: Opcode, scalars: BinaryOp) -> Binary {
    Binary { scalars: Some(scalars), elements: Elements::Shift, ..plain(name, opcode, scalar) }
}

binary!(ADD, "add", TAdd, TAddS, TRowExpandAdd, TColExpandAdd, true, Add);
binary!(SUB, "sub", TSub, TSubS, TRowExpandSub, TColExpandSub, false, Sub);
binary!(MUL, "mul", TMul, TMulS, TRowExpandMul, TColExpandMul, true, Mul);
binary!(DIV, "div", TDiv, TDivS, TRowExpandDiv, TColExpandDiv, false, Div);
binary!(MAXIMUM, "maximum", TMax, TMaxS, TRowExpandMax, TColExpandMax, true, Max);
binary!(MINIMUM, "minimum", TMin, TMinS, TRowExpandMin, TColExpandMin, true, Min);
pub(crate) static FMOD: Binary = plain("fmod", Opcode::TFmod, Opcode::TFmodS);
pub(crate) static REM: Binary = plain("rem", Opcode::TRem, Opcode::TRemS);
pub(crate) static PRELU: Binary = plain("prelu", Opcode::TPRelu, Opcode::TLRelu);
pub(crate) static AND: Binary = bits("and_", Opcode::TAnd, Opcode::TAndS, BinaryOp::And);
pub(crate) static OR: Binary = bits("or_", Opcode::TOr, Opcode::TOrS, BinaryOp::Or);
pub(crate) static XOR: Binary = bits("xor", Opcode::TXor, Opcode::TXorS, BinaryOp::Xor);
pub(crate) static SHL: Binary = shift("shl", Opcode::TShl, Opcode::TShlS, BinaryOp::Shl);
pub(crate) static SHR: Binary = shift("shr", Opcode::TShr, Opcode::TShrS, BinaryOp::Shr);
pub(crate) static PART_ADD: Binary = Binary { commutes: true, ..tiles("part_add", Opcode::TPartAdd) };
pub(crate) static PART_MUL: Binary = Binary { commutes: true, ..tiles("part_mul", Opcode::TPartMul) };
pub(crate) static PART_MAX: Binary = tiles("part_max", Opcode::TPartMax);
pub(crate) static PART_MIN: Binary = tiles("part_min", Opcode::TPartMin);
