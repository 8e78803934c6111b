//! Arithmetic on compile-time numbers, as Python does it: `//` and `%` floor, `/` is exact-looking float division.

use ruff_python_ast::{CmpOp, Operator, UnaryOp};

use crate::value::Held;

/// Why literals do not compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LiteralError {
    DivisionByZero,
    /// An integer beyond 64 bits.
    TooLarge,
    /// Python has no such operation on these, or it is not supported here.
    Undefined,
}

impl LiteralError {
    pub(crate) fn message(self) -> &'static str {
        match self {
            LiteralError::DivisionByZero => "division by zero",
            LiteralError::TooLarge => "the result does not fit in 64 bits",
            LiteralError::Undefined => "the operation is not defined on these literals",
        }
    }
}

fn float(held: &Held) -> Option<f64> {
    match held {
        Held::Int(v) => Some(*v as f64),
        Held::Float(v) => Some(*v),
        Held::Bool(v) => Some(f64::from(*v)),
        _ => None,
    }
}

fn int(held: &Held) -> Option<i64> {
    match held {
        Held::Int(v) => Some(*v),
        Held::Bool(v) => Some(i64::from(*v)),
        _ => None,
    }
}

pub(crate) fn binary(op: Operator, a: &Held, b: &Held) -> Result<Held, LiteralError> {
    use LiteralError::{DivisionByZero, TooLarge, Undefined};
    if let (Some(x), Some(y)) = (int(a), int(b)) {
        let result = match op {
            Operator::Add => x.checked_add(y),
            Operator::Sub => x.checked_sub(y),
            Operator::Mult => x.checked_mul(y),
            Operator::Div if y == 0 => return Err(DivisionByZero),
            Operator::Div => return Ok(Held::Float(x as f64 / y as f64)),
            Operator::FloorDiv | Operator::Mod if y == 0 => return Err(DivisionByZero),
            Operator::FloorDiv => x.checked_div(y).map(|q| q - i64::from(x % y != 0 && (x < 0) != (y < 0))),
            Operator::Mod => x.checked_rem(y).map(|r| if r != 0 && (r < 0) != (y < 0) { r + y } else { r }),
            Operator::Pow if y < 0 => return Ok(Held::Float((x as f64).powf(y as f64))),
            Operator::Pow => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
            Operator::LShift if (0..63).contains(&y) => x.checked_mul(1 << y),
            Operator::RShift if y >= 0 => Some(x >> y.min(63)),
            Operator::BitAnd => Some(x & y),
            Operator::BitOr => Some(x | y),
            Operator::BitXor => Some(x ^ y),
            _ => return Err(Undefined),
        };
        return result.map(Held::Int).ok_or(TooLarge);
    }
    let (Some(x), Some(y)) = (float(a), float(b)) else {
        return match (op, a, b) {
            (Operator::Add, Held::Str(x), Held::Str(y)) => Ok(Held::Str(format!("{x}{y}"))),
            (Operator::Add, Held::Tuple(x), Held::Tuple(y)) => Ok(Held::Tuple([x.clone(), y.clone()].concat())),
            _ => Err(Undefined),
        };
    };
    Ok(Held::Float(match op {
        Operator::Add => x + y,
        Operator::Sub => x - y,
        Operator::Mult => x * y,
        Operator::Div | Operator::FloorDiv | Operator::Mod if y == 0.0 => return Err(DivisionByZero),
        Operator::Div => x / y,
        Operator::FloorDiv => (x / y).floor(),
        Operator::Mod => x - y * (x / y).floor(),
        Operator::Pow => x.powf(y),
        _ => return Err(Undefined),
    }))
}

pub(crate) fn unary(op: UnaryOp, a: &Held) -> Result<Held, LiteralError> {
    match (op, a) {
        (UnaryOp::Not, Held::None) => Ok(Held::Bool(true)),
        (UnaryOp::Not, a) => truth(a).map(|t| Held::Bool(!t)).ok_or(LiteralError::Undefined),
        (UnaryOp::USub, Held::Float(v)) => Ok(Held::Float(-v)),
        (UnaryOp::UAdd, Held::Float(v)) => Ok(Held::Float(*v)),
        (op, a) => {
            let v = int(a).ok_or(LiteralError::Undefined)?;
            match op {
                UnaryOp::USub => v.checked_neg().map(Held::Int).ok_or(LiteralError::TooLarge),
                UnaryOp::Invert => Ok(Held::Int(!v)),
                _ => Ok(Held::Int(v)),
            }
        }
    }
}

/// What a compile-time `if` asks.
pub(crate) fn truth(a: &Held) -> Option<bool> {
    match a {
        Held::Int(v) => Some(*v != 0),
        Held::Float(v) => Some(*v != 0.0),
        Held::Bool(v) => Some(*v),
        Held::Str(s) => Some(!s.is_empty()),
        Held::None => Some(false),
        Held::Tuple(t) => Some(!t.is_empty()),
        _ => None,
    }
}

/// A comparison of things known at compile time; `None` if Python would have to ask the objects.
pub(crate) fn compare(op: CmpOp, a: &Held, b: &Held) -> Option<bool> {
    match op {
        CmpOp::In | CmpOp::NotIn => {
            let Held::Tuple(items) = b else { return None };
            let found = items.iter().any(|i| compare(CmpOp::Eq, a, i) == Some(true));
            return Some(found == (op == CmpOp::In));
        }
        CmpOp::Is | CmpOp::Eq if *a == Held::None || *b == Held::None => return Some(a == b),
        CmpOp::IsNot | CmpOp::NotEq if *a == Held::None || *b == Held::None => return Some(a != b),
        _ => {}
    }
    if let (Some(x), Some(y)) = (int(a), int(b)) {
        return Some(decide(op, x.partial_cmp(&y)));
    }
    if let (Some(x), Some(y)) = (float(a), float(b)) {
        return Some(decide(op, x.partial_cmp(&y)));
    }
    match (op, a, b) {
        (CmpOp::Eq | CmpOp::Is, a, b) if comparable(a, b) => Some(a == b),
        (CmpOp::NotEq | CmpOp::IsNot, a, b) if comparable(a, b) => Some(a != b),
        _ => None,
    }
}

fn comparable(a: &Held, b: &Held) -> bool {
    matches!(
        (a, b),
        (Held::Str(_), Held::Str(_)) | (Held::DType(_), Held::DType(_)) | (Held::Language(_), Held::Language(_))
    )
}

fn decide(op: CmpOp, order: Option<std::cmp::Ordering>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    match op {
        CmpOp::Eq | CmpOp::Is => order == Some(Equal),
        CmpOp::NotEq | CmpOp::IsNot => order != Some(Equal),
        CmpOp::Lt => order == Some(Less),
        CmpOp::LtE => matches!(order, Some(Less | Equal)),
        CmpOp::Gt => order == Some(Greater),
        CmpOp::GtE => matches!(order, Some(Greater | Equal)),
        CmpOp::In | CmpOp::NotIn => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_floors_as_python_does() {
        let int = |op, a, b| binary(op, &Held::Int(a), &Held::Int(b));
        assert_eq!(int(Operator::FloorDiv, -7, 2), Ok(Held::Int(-4)));
        assert_eq!(int(Operator::Mod, -7, 2), Ok(Held::Int(1)));
        assert_eq!(int(Operator::Mod, 7, -2), Ok(Held::Int(-1)));
        assert_eq!(int(Operator::FloorDiv, 6, -2), Ok(Held::Int(-3)));
        assert_eq!(int(Operator::Div, 1, 2), Ok(Held::Float(0.5)));
        assert_eq!(int(Operator::Mod, 1, 0), Err(LiteralError::DivisionByZero));
        assert_eq!(int(Operator::Mult, i64::MAX, 2), Err(LiteralError::TooLarge));
    }
}
