//! Result types of operations whose result follows from their operands: tile operations in value form, and scalars.
//!
//! Valid regions: an elementwise result is valid where all tile operands are (extent by extent the smaller; dynamic if
//! any is dynamic); a reduction keeps the other axis' extent; a broadcast has that of its matrix; a matmul is
//! `lhs rows × rhs columns`. In destination form the verifier compares the destination's element type and shape with
//! what this module says.

use dtype::DType;
use thiserror::Error;

use crate::attr::Attrs;
use crate::ops::Opcode;
use crate::types::{Dim, TileType, Type};

/// Why an operation cannot have these operands.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TypeError {
    #[error("operand {operand} of {op} must be {expected}")]
    Kind { op: &'static str, operand: &'static str, expected: &'static str },
    #[error("{op} needs operands of one element type, not {a} and {b}")]
    DType { op: &'static str, a: DType, b: DType },
    #[error("{op} does not take {dtype} elements; it takes {supported}")]
    Unsupported { op: &'static str, dtype: DType, supported: &'static str },
    #[error("{op} needs operands of one shape, not {a:?} and {b:?}")]
    Shape { op: &'static str, a: Vec<u64>, b: Vec<u64> },
    #[error("{op} needs a vector of shape {expected:?} beside a tile of shape {tile:?}, not {vector:?}")]
    Vector { op: &'static str, tile: Vec<u64>, vector: Vec<u64>, expected: Vec<u64> },
    #[error("{op} contracts {lhs:?} with {rhs:?}: the inner extents {k_lhs} and {k_rhs} differ")]
    Contraction { op: &'static str, lhs: Vec<u64>, rhs: Vec<u64>, k_lhs: u64, k_rhs: u64 },
    #[error("{op} needs tiles of rank 2, not {shape:?}")]
    Rank { op: &'static str, shape: Vec<u64> },
    #[error("a conversion from {0} to itself does nothing; leave it out")]
    SameType(DType),
    #[error("the result type of {op} does not follow from its operands")]
    NotInferred { op: &'static str },
}

type Result<T> = std::result::Result<T, TypeError>;

/// The type of the one result of `opcode` on operand groups of these types.
pub fn result(opcode: Opcode, groups: &[Vec<&Type>], attrs: &Attrs) -> Result<Type> {
    use Opcode as C;
    let cx = Context { op: opcode.name(), opcode, groups };
    if opcode.scalar_binary().is_some() {
        let (a, b) = (cx.scalar(0)?, cx.scalar(1)?);
        return Ok(Type::Scalar(same_scalar(cx.op, a, b)?));
    }
    Ok(match opcode {
        C::ScalarCmp => {
            same_scalar(cx.op, cx.scalar(0)?, cx.scalar(1)?)?;
            Type::BOOL
        }
        C::ScalarNot | C::ScalarNeg => Type::Scalar(cx.scalar(0)?),
        C::Select => Type::Scalar(same_scalar(cx.op, cx.scalar(1)?, cx.scalar(2)?)?),
        C::TAdd | C::TSub | C::TMul | C::TDiv | C::TMax | C::TMin => Type::Tile(cx.elementwise()?),
        C::TAddS | C::TSubS | C::TMulS | C::TDivS | C::TMaxS | C::TMinS => {
            let a = cx.tile(0)?;
            let s = cx.scalar(1)?;
            if a.dtype != s {
                return Err(TypeError::DType { op: cx.op, a: a.dtype, b: s });
            }
            Type::Tile(fresh(a))
        }
        C::TExp | C::TLog | C::TSqrt | C::TRsqrt | C::TRecip => {
            let a = cx.tile(0)?;
            if !a.dtype.is_float() {
                return Err(TypeError::Unsupported { op: cx.op, dtype: a.dtype, supported: "float elements" });
            }
            Type::Tile(fresh(a))
        }
        C::TAbs | C::TNeg | C::TRelu | C::TMov => Type::Tile(fresh(cx.tile(0)?)),
        C::TCvt | C::TFillPad | C::TExpandS | C::TCi | C::TReshape | C::TExtract | C::SetValidShape => {
            return Err(TypeError::NotInferred { op: cx.op });
        }
        C::TRowSum | C::TRowMax | C::TRowMin => {
            let a = cx.tile(0)?;
            let last = a.shape.len() - 1;
            let mut t = fresh(a);
            t.shape[last] = 1;
            t.valid[last] = Dim::Static(1);
            Type::Tile(t)
        }
        C::TColSum | C::TColMax | C::TColMin => {
            let a = cx.matrix(0)?;
            let mut t = fresh(a);
            t.shape[0] = 1;
            t.valid[0] = Dim::Static(1);
            Type::Tile(t)
        }
        C::TRowExpandAdd
        | C::TRowExpandSub
        | C::TRowExpandMul
        | C::TRowExpandDiv
        | C::TRowExpandMax
        | C::TRowExpandMin => {
            let (a, v) = (cx.tile(0)?, cx.tile(1)?);
            let mut expected = a.shape.clone();
            expected[a.shape.len() - 1] = 1;
            cx.vector(a, v, expected)?
        }
        C::TColExpandAdd
        | C::TColExpandSub
        | C::TColExpandMul
        | C::TColExpandDiv
        | C::TColExpandMax
        | C::TColExpandMin => {
            let (a, v) = (cx.matrix(0)?, cx.matrix(1)?);
            cx.vector(a, v, vec![1, a.shape[1]])?
        }
        C::TMatmul | C::TMatmulAcc => {
            let first = usize::from(opcode == C::TMatmulAcc);
            let product = cx.matmul(first, attrs)?;
            if opcode == C::TMatmulAcc {
                let acc = cx.matrix(0)?;
                if acc.dtype != product.dtype {
                    return Err(TypeError::DType { op: cx.op, a: acc.dtype, b: product.dtype });
                }
                if acc.shape != product.shape {
                    return Err(TypeError::Shape { op: cx.op, a: acc.shape.clone(), b: product.shape });
                }
            }
            Type::Tile(product)
        }
        C::TTrans => {
            let a = cx.matrix(0)?;
            let mut t = fresh(a);
            t.shape.swap(0, 1);
            t.valid.swap(0, 1);
            Type::Tile(t)
        }
        C::TGetVal => Type::Scalar(cx.tile(0)?.dtype),
        C::Read => match cx.groups[0].first() {
            Some(Type::Tensor(t)) => Type::Scalar(t.dtype),
            _ => {
                return Err(TypeError::Kind { op: cx.op, operand: "tensor", expected: "a tensor" });
            }
        },
        C::TensorDim => Type::INDEX,
        C::TaskInvalid | C::TaskDummy => Type::TaskId,
        _ => return Err(TypeError::NotInferred { op: cx.op }),
    })
}

/// The accumulator of a matmul of `dtype` operands, or `None` if the cube does not take them.
pub fn accumulator(dtype: DType) -> Option<DType> {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Some(DType::F32),
        DType::I8 => Some(DType::I32),
        _ => None,
    }
}

/// The extent that is valid where both are.
pub fn meet(a: Dim, b: Dim) -> Dim {
    match (a, b) {
        (Dim::Static(a), Dim::Static(b)) => Dim::Static(a.min(b)),
        _ => Dim::Dynamic,
    }
}

fn same_scalar(op: &'static str, a: DType, b: DType) -> Result<DType> {
    match (a, b) {
        _ if a == b => Ok(a),
        (DType::Index, DType::I64) | (DType::I64, DType::Index) => Ok(DType::Index),
        _ => Err(TypeError::DType { op, a, b }),
    }
}

/// A value of the same element type, shape and valid region, with nothing else kept.
fn fresh(a: &TileType) -> TileType {
    TileType::value(a.dtype, a.shape.clone()).with_valid(a.valid.clone())
}

struct Context<'a> {
    op: &'static str,
    opcode: Opcode,
    groups: &'a [Vec<&'a Type>],
}

impl<'a> Context<'a> {
    fn operand(&self, group: usize) -> &'static str {
        self.opcode.info().operands[group].name
    }

    fn tile(&self, group: usize) -> Result<&'a TileType> {
        match self.groups[group].first() {
            Some(Type::Tile(t)) => Ok(t),
            _ => Err(TypeError::Kind { op: self.op, operand: self.operand(group), expected: "a tile" }),
        }
    }

    fn matrix(&self, group: usize) -> Result<&'a TileType> {
        let t = self.tile(group)?;
        if t.shape.len() == 2 { Ok(t) } else { Err(TypeError::Rank { op: self.op, shape: t.shape.clone() }) }
    }

    fn scalar(&self, group: usize) -> Result<DType> {
        match self.groups[group].first() {
            Some(Type::Scalar(d)) => Ok(*d),
            _ => Err(TypeError::Kind { op: self.op, operand: self.operand(group), expected: "a scalar" }),
        }
    }

    fn elementwise(&self) -> Result<TileType> {
        let (a, b) = (self.tile(0)?, self.tile(1)?);
        if a.dtype != b.dtype {
            return Err(TypeError::DType { op: self.op, a: a.dtype, b: b.dtype });
        }
        if a.shape != b.shape {
            return Err(TypeError::Shape { op: self.op, a: a.shape.clone(), b: b.shape.clone() });
        }
        let valid = a.valid.iter().zip(&b.valid).map(|(&x, &y)| meet(x, y)).collect();
        Ok(fresh(a).with_valid(valid))
    }

    fn vector(&self, a: &TileType, v: &TileType, expected: Vec<u64>) -> Result<Type> {
        if a.dtype != v.dtype {
            return Err(TypeError::DType { op: self.op, a: a.dtype, b: v.dtype });
        }
        if v.shape != expected {
            let (tile, vector) = (a.shape.clone(), v.shape.clone());
            return Err(TypeError::Vector { op: self.op, tile, vector, expected });
        }
        Ok(Type::Tile(fresh(a)))
    }

    fn matmul(&self, first: usize, attrs: &Attrs) -> Result<TileType> {
        let (lhs, rhs) = (self.matrix(first)?, self.matrix(first + 1)?);
        if lhs.dtype != rhs.dtype {
            return Err(TypeError::DType { op: self.op, a: lhs.dtype, b: rhs.dtype });
        }
        let Some(dtype) = accumulator(lhs.dtype) else {
            return Err(TypeError::Unsupported { op: self.op, dtype: lhs.dtype, supported: "f32, f16, bf16 and i8" });
        };
        let (ta, tb) = (attrs.bool("a_trans") as usize, attrs.bool("b_trans") as usize);
        let (m, k_lhs) = (ta, 1 - ta);
        let (k_rhs, n) = (tb, 1 - tb);
        if lhs.shape[k_lhs] != rhs.shape[k_rhs] {
            return Err(TypeError::Contraction {
                op: self.op,
                lhs: lhs.shape.clone(),
                rhs: rhs.shape.clone(),
                k_lhs: lhs.shape[k_lhs],
                k_rhs: rhs.shape[k_rhs],
            });
        }
        let shape = vec![lhs.shape[m], rhs.shape[n]];
        Ok(TileType::value(dtype, shape).with_valid(vec![lhs.valid[m], rhs.valid[n]]))
    }
}
