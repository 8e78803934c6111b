//! Sine and cosine, as the sequence of f32 operations that the language defines (`dsl.md` §4.2): reduction by multiples
//! of π in five parts, an odd polynomial of degree nine, and the sign of the multiple. Every step rounds.

use dtype::{DType, Scalar};
use ir::builder::attrs;
use ir::{Attr, Attrs, Opcode, TileType, Type, Value};
use ruff_text_size::{Ranged, TextRange};

use crate::args::Args;
use crate::cx::{Cx, Res};
use crate::value::Held;

const INVERSE_PI: f32 = std::f32::consts::FRAC_1_PI;
/// π in parts; each product with a multiple is subtracted, in this order. The last part has the other sign.
const PI: [f32; 5] = [3.140625, 0.00096702576, 6.277114e-07, 1.2164492e-10, -1.0290623e-13];
/// π/2 in two parts: added behind the second part of π, and at the end.
const HALF_PI: [f32; 2] = [std::f32::consts::FRAC_PI_2, -4.371139e-08];
/// Coefficients from u⁴ down to u⁰, in powers of u = t².
const POLYNOMIAL: [f32; 5] = [2.6049265e-06, -0.00019808944, 0.00833305, -0.16666658, 1.0];

/// Emits f32 operations on one tile.
struct Emit<'c, 'e> {
    cx: &'c mut Cx<'e>,
    at: TextRange,
}

impl Emit<'_, '_> {
    fn with(&mut self, opcode: Opcode, x: Value, number: f32) -> Res<Value> {
        let number = self.cx.constant(Scalar::from_f64(DType::F32, f64::from(number)));
        self.cx.infer_op(opcode, &[x, number], Attrs::default(), self.at)
    }

    fn times(&mut self, x: Value, number: f32) -> Res<Value> {
        self.with(Opcode::TMulS, x, number)
    }

    fn plus(&mut self, x: Value, number: f32) -> Res<Value> {
        self.with(Opcode::TAddS, x, number)
    }

    fn tiles(&mut self, opcode: Opcode, x: Value, y: Value) -> Res<Value> {
        self.cx.infer_op(opcode, &[x, y], Attrs::default(), self.at)
    }

    /// Rounded to integral; still f32.
    fn integral(&mut self, x: Value, mode: &str) -> Value {
        let ty = self.cx.tile(x).map(|t| TileType::value(t.dtype, t.shape.clone()).with_valid(t.valid.clone()));
        let ty = Type::Tile(ty.expect("an operand is a tile"));
        let value = self.cx.result(Opcode::TCvt, &[&[x]], ty, attrs([("mode", Attr::Word(mode.to_owned()))]));
        self.cx.same_valid(value, x);
        value
    }
}

fn operand(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Value> {
    let x = args.need("x");
    let held = cx.eval(x)?;
    let tile = cx.operand(args.name, &held, x.range())?;
    match cx.ty(tile).element() {
        Some(DType::F32) => Ok(tile),
        other => {
            let name = other.map_or("this", |d| d.language_name());
            let message = format!("`pl.{}` takes FP32, not {name}", args.name);
            Err(cx.error("dtype-unsupported", x, message).help("convert it with `pl.cast(…, pl.FP32)`").into())
        }
    }
}

/// `sin(x)` is ± sin(x − kπ); `cos(x)` is ± sin(x − kπ + π/2), each for the k that makes the argument smallest.
fn wave(cx: &mut Cx<'_>, args: &Args<'_>, cosine: bool) -> Res<Held> {
    let x = operand(cx, args)?;
    let mut f = Emit { cx, at: args.at };
    let turns = f.times(x, INVERSE_PI)?;
    let k = if cosine {
        let shifted = f.plus(turns, 0.5)?;
        f.integral(shifted, "rint")
    } else {
        f.integral(turns, "round")
    };
    let mut t = x;
    for (i, part) in PI.into_iter().enumerate() {
        let multiple = f.times(k, part.abs())?;
        t = f.tiles(if part > 0.0 { Opcode::TSub } else { Opcode::TAdd }, t, multiple)?;
        if cosine && i == 1 {
            t = f.plus(t, HALF_PI[0])?;
        }
    }
    if cosine {
        t = f.plus(t, HALF_PI[1])?;
    }
    // 1 for even k, −1 for odd: ⌊k/2⌋ · 4 − 2k + 1.
    let half = f.times(k, 0.5)?;
    let half = f.integral(half, "floor");
    let sign = f.times(half, 4.0)?;
    let twice = f.times(k, 2.0)?;
    let sign = f.tiles(Opcode::TSub, sign, twice)?;
    let sign = f.plus(sign, 1.0)?;
    let u = f.tiles(Opcode::TMul, t, t)?;
    let mut p = f.times(u, POLYNOMIAL[0])?;
    for (i, coefficient) in POLYNOMIAL.into_iter().enumerate().skip(1) {
        p = f.plus(p, coefficient)?;
        if i + 1 < POLYNOMIAL.len() {
            p = f.tiles(Opcode::TMul, p, u)?;
        }
    }
    let odd = f.tiles(Opcode::TMul, t, p)?;
    f.tiles(Opcode::TMul, sign, odd).map(Held::Ir)
}

pub(crate) fn sin(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    wave(cx, args, false)
}

pub(crate) fn cos(cx: &mut Cx<'_>, args: &Args<'_>) -> Res<Held> {
    wave(cx, args, true)
}
