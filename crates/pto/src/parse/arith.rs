//! `arith`: scalar code. Integers are signless in the text and signed in our types, so that an operation on unsigned
//! values (`arith.divui : i32`) goes through the unsigned type and back; the same bits.

use dtype::{DType, Scalar};
use ir::text::{Cursor, Result};
use ir::{Attr, Attrs, Op, Opcode as C, Type, Value, builder::attrs};

use super::Body;
use crate::types::element_name;

impl Body<'_, '_, '_> {
    pub(super) fn arith(&mut self, name: &str, start: usize) -> Result<Option<Op>> {
        let short = name.strip_prefix("arith.").unwrap_or(name);
        match short {
            "constant" => return self.constant().map(Some),
            "cmpi" | "cmpf" => return self.compare(start).map(Some),
            "select" => {
                let values = self.values()?;
                self.p.c.expect(":")?;
                let [condition, a, b] = values[..] else {
                    return Err(self.operands(start, name, 3, values.len()));
                };
                self.type_of(a)?;
                let ty = self.f.ty(b).clone();
                return Ok(Some(self.make(C::Select, &[&[condition], &[a], &[b]], &[], &[ty], Attrs::default())));
            }
            "builtin.unrealized_conversion_cast" => {
                let from = self.p.mark();
                let value = self.value()?;
                if self.f.ty(value).as_scalar().is_none() {
                    self.types_of(&[value])?;
                    self.p.c.expect("to")?;
                    let ty = self.p.ty()?;
                    return Ok(Some(self.make(C::Reinterpret, &[&[value]], &[], &[ty], Attrs::default())));
                }
                self.p.c.seek(from);
                return self.conversion(short, start).map(Some);
            }
            "negf" => {
                let a = self.value()?;
                self.types_of(&[a])?;
                let ty = self.f.ty(a).clone();
                return Ok(Some(self.make(C::ScalarNeg, &[&[a]], &[], &[ty], Attrs::default())));
            }
            "index_cast" | "index_castui" | "trunci" | "extsi" | "extui" | "sitofp" | "uitofp" | "fptosi"
            | "fptoui" | "extf" | "truncf" => return self.conversion(short, start).map(Some),
            _ => {}
        }
        let Some((opcode, unsigned)) = binary(short) else { return Err(self.unsupported(start, name)) };
        let values = self.values()?;
        self.p.c.expect(":")?;
        let [a, b] = values[..] else {
            return Err(self.operands(start, name, 2, values.len()));
        };
        self.type_of(a)?;
        let Some(dtype) = self.f.ty(a).as_scalar() else { return Err(self.unsupported(start, name)) };
        if *self.f.ty(b) != Type::Scalar(dtype) {
            let message = format!("{name} needs operands of one type, {}", element_name(dtype));
            return Err(self.p.c.error_from(start, "type-mismatch", message));
        }
        let through = if unsigned { unsigned_of(dtype) } else { dtype };
        let (a, b) = (self.cast(a, through), self.cast(b, through));
        let op = self.make(opcode, &[&[a], &[b]], &[], &[Type::Scalar(through)], Attrs::default());
        if through == dtype {
            return Ok(Some(op));
        }
        let result = self.f.ops[op].results[0];
        Ok(Some(self.make(C::ScalarCast, &[&[result]], &[], &[Type::Scalar(dtype)], Attrs::default())))
    }

    pub(super) fn operands(&self, start: usize, name: &str, wanted: usize, found: usize) -> ir::text::SyntaxError {
        self.p.c.error_from(start, "operand-count", format!("{name} takes {wanted} operands, not {found}"))
    }

    fn cast(&mut self, value: Value, to: DType) -> Value {
        if *self.f.ty(value) == Type::Scalar(to) {
            return value;
        }
        let op = self.make(C::ScalarCast, &[&[value]], &[], &[Type::Scalar(to)], Attrs::default());
        self.f.ops[op].results[0]
    }

    fn constant(&mut self) -> Result<Op> {
        let c = &mut self.p.c;
        let start = {
            c.blank();
            c.offset()
        };
        if c.clone().eat("dense") {
            return self.counts();
        }
        let (attr, dtype) = if c.eat("true") {
            (Attr::Bool(true), DType::Bool)
        } else if c.eat("false") {
            (Attr::Bool(false), DType::Bool)
        } else {
            let literal = literal(c)?;
            c.expect(":")?;
            let ty = self.p.ty()?;
            let Type::Scalar(dtype) = ty else {
                return Err(self.p.c.error_from(
                    start,
                    "unsupported-type",
                    "only scalar constants are supported".into(),
                ));
            };
            let Some(attr) = number(literal, dtype) else {
                let message = format!("`{literal}` is not a constant of type {}", element_name(dtype));
                return Err(self.p.c.error_from(start, "number-range", message));
            };
            (attr, dtype)
        };
        // After a plain boolean a type may follow.
        if dtype == DType::Bool && self.p.c.eat(":") {
            self.p.c.expect("i1")?;
        }
        Ok(self.make(C::Const, &[], &[], &[Type::Scalar(dtype)], attrs([("value", attr)])))
    }

    /// `dense<[1, 2, 3, 4]> : vector<4xi16>`, or one number for all four.
    fn counts(&mut self) -> Result<Op> {
        let start = self.p.mark();
        self.p.c.expect("dense")?;
        self.p.c.expect("<")?;
        let mut values = Vec::new();
        let several = self.p.c.eat("[");
        loop {
            values.push(self.p.c.integer("a count")?);
            if !several || !self.p.c.eat(",") {
                break;
            }
        }
        if several {
            self.p.c.expect("]")?;
        } else {
            values = vec![values[0]; 4];
        }
        self.p.c.expect(">")?;
        self.p.c.expect(":")?;
        let ty = self.p.ty()?;
        if ty != Type::Opaque(ir::Opaque::Counts) || values.len() != 4 {
            let message = "a constant of several numbers is four counts, vector<4xi16>".to_owned();
            return Err(self.p.c.error_from(start, "unsupported-type", message));
        }
        Ok(self.make(C::CountsConst, &[], &[], &[ty], attrs([("value", Attr::Ints(values))])))
    }

    fn compare(&mut self, start: usize) -> Result<Op> {
        let at = self.p.mark();
        let word = self.p.c.expect_word("a predicate")?;
        self.p.c.expect(",")?;
        let values = self.values()?;
        self.p.c.expect(":")?;
        let [mut a, mut b] = values[..] else {
            return Err(self.operands(start, "arith.cmpi", 2, values.len()));
        };
        self.type_of(a)?;
        let Some(dtype) = self.f.ty(a).as_scalar() else { return Err(self.unsupported(start, "arith.cmpi")) };
        let predicate = match (word, dtype.is_float()) {
            ("eq" | "ne", false) => word,
            ("slt" | "sle" | "sgt" | "sge", false) => &word[1..],
            ("ult" | "ule" | "ugt" | "uge", false) => {
                let through = unsigned_of(dtype);
                (a, b) = (self.cast(a, through), self.cast(b, through));
                &word[1..]
            }
            ("oeq" | "olt" | "ole" | "ogt" | "oge", true) => &word[1..],
            ("une", true) => "ne",
            _ => {
                let message = format!("the predicate `{word}` of {} is not supported", element_name(dtype));
                return Err(self.p.c.error_from(at, "unsupported-attribute", message));
            }
        };
        let list = attrs([("predicate", Attr::Word(predicate.to_owned()))]);
        Ok(self.make(C::ScalarCmp, &[&[a], &[b]], &[], &[Type::BOOL], list))
    }

    fn conversion(&mut self, name: &str, start: usize) -> Result<Op> {
        let a = self.value()?;
        self.types_of(&[a])?;
        self.p.c.expect("to")?;
        let ty = self.p.ty()?;
        let (Some(from), Type::Scalar(to)) = (self.f.ty(a).as_scalar(), &ty) else {
            return Err(self.unsupported(start, name));
        };
        // From signless integers as if unsigned: through the unsigned type. To them as if unsigned: likewise.
        let zero_extends = matches!(name, "extui" | "uitofp" | "index_castui");
        let source = if zero_extends { unsigned_of(from) } else { from };
        let a = self.cast(a, source);
        if *self.f.ty(a) == ty
            && source != from
            && let Some(made) = self.f.def_op(a)
        {
            return Ok(made);
        }
        if name == "fptoui" && unsigned_of(*to) != *to {
            let middle = self.cast(a, unsigned_of(*to));
            return Ok(self.make(C::ScalarCast, &[&[middle]], &[], &[ty], Attrs::default()));
        }
        Ok(self.make(C::ScalarCast, &[&[a]], &[], &[ty], Attrs::default()))
    }
}

/// The unsigned type of the same width; `index` is as wide as `i64`. Others are themselves.
fn unsigned_of(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 | DType::Index => DType::U64,
        other => other,
    }
}

/// The operation, and whether its operands count as unsigned.
fn binary(name: &str) -> Option<(C, bool)> {
    Some(match name {
        "addi" | "addf" => (C::ScalarAdd, false),
        "subi" | "subf" => (C::ScalarSub, false),
        "muli" | "mulf" => (C::ScalarMul, false),
        "divsi" | "divf" => (C::ScalarDiv, false),
        "divui" => (C::ScalarDiv, true),
        "remsi" | "remf" => (C::ScalarRem, false),
        "remui" => (C::ScalarRem, true),
        "minsi" | "minimumf" => (C::ScalarMin, false),
        "minui" => (C::ScalarMin, true),
        "maxsi" | "maximumf" => (C::ScalarMax, false),
        "maxui" => (C::ScalarMax, true),
        "andi" => (C::ScalarAnd, false),
        "ori" => (C::ScalarOr, false),
        "xori" => (C::ScalarXor, false),
        "shli" => (C::ScalarShl, false),
        "shrsi" => (C::ScalarShr, false),
        "shrui" => (C::ScalarShr, true),
        _ => return None,
    })
}

/// The text of a number: decimal, hexadecimal, with point and exponent.
fn literal<'t>(c: &mut Cursor<'t>) -> Result<&'t str> {
    c.blank();
    let start = c.offset();
    c.seek(start + usize::from(c.rest().starts_with(['-', '+'])));
    if !c.rest().starts_with(|c: char| c.is_ascii_digit()) {
        c.seek(start);
        return Err(c.unexpected("a number"));
    }
    let hexadecimal = c.rest().starts_with("0x");
    c.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
    while !hexadecimal && c.slice(start, c.offset()).ends_with(['e', 'E']) && c.rest().starts_with(['-', '+']) {
        c.seek(c.offset() + 1);
        c.take_while(|c| c.is_ascii_digit());
    }
    Ok(c.slice(start, c.offset()))
}

fn number(text: &str, dtype: DType) -> Option<Attr> {
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        if dtype.size() < 8 && bits >> dtype.bits() != 0 {
            return None;
        }
        let scalar = Scalar::new(dtype, bits);
        return Some(if dtype.is_float() { Attr::Float(scalar.as_f64()) } else { Attr::Int(scalar.as_i64()?) });
    }
    if dtype.is_float() {
        return text.parse().ok().map(Attr::Float).filter(|_| text.contains('.'));
    }
    match (dtype, text) {
        (DType::Bool, "0") => Some(Attr::Bool(false)),
        (DType::Bool, "1" | "-1") => Some(Attr::Bool(true)),
        (DType::Bool, _) => None,
        _ => {
            // As signed or as unsigned bits; kept as the type's value.
            let value: i128 = text.parse().ok()?;
            let bits = dtype.bits();
            let fits = -(1i128 << (bits - 1)) <= value && value < 1i128 << bits;
            fits.then(|| Attr::Int(Scalar::new(dtype, value as u64).as_i64().unwrap_or(0)))
        }
    }
}
