//! Result types of operations whose result follows from their operands: tile operations in value form, and scalars.
//!
//! Valid regions: an elementwise result is valid where all tile operands are (extent by extent the smaller; dynamic if
//! any is dynamic); a reduction keeps the other axis' extent; a broadcast has that of its matrix; a matmul is
//! `lhs rows × rhs columns`; a gather has that of its indices, a mask that of its rows. In destination form the verifier compares the destination's element type and shape with
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
    #[error(
        "{op} needs an operand that is valid wherever the other is, by extents known at compile time: not [{a}] and [{b}]"
    )]
    Part { op: &'static str, a: String, b: String },
    #[error("{op} needs {expected}, not {found:?}")]
    Extent { op: &'static str, expected: &'static str, found: Vec<u64> },
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
        C::TAdd | C::TSub | C::TMul | C::TDiv | C::TMax | C::TMin | C::TRem | C::TFmod => Type::Tile(cx.elementwise()?),
        C::TAnd | C::TOr | C::TXor | C::TShl | C::TShr => {
            cx.integers(0)?;
            Type::Tile(cx.elementwise()?)
        }
        C::TPRelu => {
            cx.floats(0)?;
            Type::Tile(cx.elementwise()?)
        }
        C::TPartAdd | C::TPartMul | C::TPartMax | C::TPartMin => Type::Tile(cx.part()?),
        C::TAddS | C::TSubS | C::TMulS | C::TDivS | C::TMaxS | C::TMinS | C::TRemS | C::TFmodS => {
            Type::Tile(cx.with_scalar()?)
        }
        C::TAndS | C::TOrS | C::TXorS | C::TShlS | C::TShrS => {
            cx.integers(0)?;
            Type::Tile(cx.with_scalar()?)
        }
        C::TLRelu => {
            cx.floats(0)?;
            Type::Tile(cx.with_scalar()?)
        }
        C::TExp | C::TLog | C::TSqrt | C::TRsqrt | C::TRecip => Type::Tile(fresh(cx.floats(0)?)),
        C::TNot => Type::Tile(fresh(cx.integers(0)?)),
        C::TAbs | C::TNeg | C::TRelu | C::TMov => Type::Tile(fresh(cx.tile(0)?)),
        C::TCvt
        | C::TFillPad
        | C::TExpandS
        | C::TCi
        | C::TTri
        | C::TRandom
        | C::TReshape
        | C::Bitcast
        | C::TExtract
        | C::SetValidShape
        | C::TGatherMask
        | C::TScatter
        | C::TScatterMask
        | C::TMrgSortLists => {
            return Err(TypeError::NotInferred { op: cx.op });
        }
        C::TCmp => {
            cx.matrix(0)?;
            Type::Tile(mask(&cx.elementwise()?))
        }
        C::TCmpS => {
            cx.matrix(0)?;
            Type::Tile(mask(&cx.with_scalar()?))
        }
        C::TSel => {
            let a = cx.same_tiles(1, 2)?;
            cx.masked(a)?;
            Type::Tile(a.clone().with_valid(cx.meet(1, 2)?))
        }
        C::TSelS => {
            let (a, s) = (cx.tile(1)?, cx.scalar(2)?);
            if a.dtype != s {
                return Err(TypeError::DType { op: cx.op, a: a.dtype, b: s });
            }
            cx.masked(a)?;
            Type::Tile(fresh(a))
        }
        C::TRowSum | C::TRowMax | C::TRowMin | C::TRowProd => Type::Tile(one_column(cx.tile(0)?)),
        C::TRowArgMax | C::TRowArgMin => Type::Tile(TileType { dtype: DType::I32, ..one_column(cx.tile(0)?) }),
        C::TColSum | C::TColMax | C::TColMin | C::TColProd => Type::Tile(one_row(cx.matrix(0)?)),
        C::TColArgMax | C::TColArgMin => Type::Tile(TileType { dtype: DType::I32, ..one_row(cx.matrix(0)?) }),
        C::TGather => {
            let (source, indices) = (cx.matrix(0)?, cx.indices(1)?);
            Type::Tile(TileType { dtype: source.dtype, ..fresh(indices) })
        }
        C::TGatherB => {
            let (source, offsets) = (cx.matrix(0)?, cx.matrix(1)?);
            if offsets.dtype != DType::U32 {
                return Err(TypeError::Unsupported { op: cx.op, dtype: offsets.dtype, supported: "u32 offsets" });
            }
            let block = 32 / source.dtype.size() as u64;
            let Dim::Static(valid) = offsets.valid[1] else { return Err(cx.extent("offsets of known width", offsets)) };
            let shape = vec![offsets.shape[0], offsets.shape[1] * block];
            let valid = vec![offsets.valid[0], Dim::Static(valid * block)];
            Type::Tile(TileType::value(source.dtype, shape).with_valid(valid))
        }
        C::TSort32 => {
            let (source, idx) = (cx.matrix(0)?, cx.matrix(1)?);
            let Some(factor) = record_elements(source.dtype) else {
                return Err(TypeError::Unsupported { op: cx.op, dtype: source.dtype, supported: "f32 and f16 values" });
            };
            if idx.dtype != DType::U32 {
                return Err(TypeError::Unsupported { op: cx.op, dtype: idx.dtype, supported: "u32 indices" });
            }
            if source.shape != idx.shape {
                let (a, b) = (source.shape.clone(), idx.shape.clone());
                return Err(TypeError::Shape { op: cx.op, a, b });
            }
            let valid = match source.valid[1] {
                Dim::Static(valid) => Dim::Static(valid.next_multiple_of(32) * factor),
                // A kernel's destination says its extents itself.
                Dim::Dynamic if source.space.is_some() => Dim::Dynamic,
                Dim::Dynamic => return Err(cx.extent("values of known width", source)),
            };
            if source.shape[1] % 32 != 0 {
                return Err(cx.extent("columns in groups of 32", source));
            }
            let valid = vec![source.valid[0], valid];
            Type::Tile(TileType::value(source.dtype, vec![source.shape[0], source.shape[1] * factor]).with_valid(valid))
        }
        C::TMrgSort => {
            let source = cx.matrix(0)?;
            if record_elements(source.dtype).is_none() {
                return Err(TypeError::Unsupported {
                    op: cx.op,
                    dtype: source.dtype,
                    supported: "f32 and f16 records",
                });
            }
            Type::Tile(fresh(source))
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
        C::TMatmulBias => {
            let product = cx.matmul(0, attrs)?;
            let bias = cx.matrix(2)?;
            if bias.dtype != product.dtype {
                return Err(TypeError::DType { op: cx.op, a: bias.dtype, b: product.dtype });
            }
            if bias.shape != [1, product.shape[1]] {
                let (tile, vector) = (product.shape.clone(), bias.shape.clone());
                let expected = vec![1, product.shape[1]];
                return Err(TypeError::Vector { op: cx.op, tile, vector, expected });
            }
            Type::Tile(product)
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
        C::TaskIsValid => Type::BOOL,
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

/// Columns of a mask over `columns` elements: one bit each, in whole blocks of 32 bytes.
pub fn mask_columns(columns: u64) -> u64 {
    columns.div_ceil(8).next_multiple_of(32)
}

/// Elements of a record of 8 bytes that a sort makes of a value of this type, if it sorts such values.
pub fn record_elements(dtype: DType) -> Option<u64> {
    match dtype {
        DType::F32 => Some(2),
        DType::F16 => Some(4),
        _ => None,
    }
}

/// How many columns of a tile hold one that a mask pattern keeps; `None` if it is no pattern.
pub fn pattern_period(pattern: i64) -> Option<u64> {
    match pattern {
        1 | 2 => Some(2),
        3..=6 => Some(4),
        7 => Some(1),
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

fn one_column(a: &TileType) -> TileType {
    let last = a.shape.len() - 1;
    let mut t = fresh(a);
    t.shape[last] = 1;
    t.valid[last] = Dim::Static(1);
    t
}

fn one_row(a: &TileType) -> TileType {
    let mut t = fresh(a);
    t.shape[0] = 1;
    t.valid[0] = Dim::Static(1);
    t
}

/// The mask of a comparison whose operands are valid as `a` is.
fn mask(a: &TileType) -> TileType {
    let columns = mask_columns(a.shape[1]);
    TileType::value(DType::U8, vec![a.shape[0], columns]).with_valid(vec![a.valid[0], Dim::Static(columns)])
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

    fn integers(&self, group: usize) -> Result<&'a TileType> {
        let t = self.tile(group)?;
        let supported = "integer elements";
        if t.dtype.is_int() { Ok(t) } else { Err(TypeError::Unsupported { op: self.op, dtype: t.dtype, supported }) }
    }

    fn floats(&self, group: usize) -> Result<&'a TileType> {
        let t = self.tile(group)?;
        let supported = "float elements";
        if t.dtype.is_float() { Ok(t) } else { Err(TypeError::Unsupported { op: self.op, dtype: t.dtype, supported }) }
    }

    fn indices(&self, group: usize) -> Result<&'a TileType> {
        let t = self.matrix(group)?;
        let supported = "integer indices of 16 or 32 bits";
        let fits = t.dtype.is_int() && matches!(t.dtype.size(), 2 | 4);
        if fits { Ok(t) } else { Err(TypeError::Unsupported { op: self.op, dtype: t.dtype, supported }) }
    }

    fn extent(&self, expected: &'static str, t: &TileType) -> TypeError {
        TypeError::Extent { op: self.op, expected, found: t.shape.clone() }
    }

    /// Two tiles of one element type and shape; the first of them.
    fn same_tiles(&self, a: usize, b: usize) -> Result<&'a TileType> {
        let (a, b) = (self.tile(a)?, self.tile(b)?);
        if a.dtype != b.dtype {
            return Err(TypeError::DType { op: self.op, a: a.dtype, b: b.dtype });
        }
        if a.shape != b.shape {
            return Err(TypeError::Shape { op: self.op, a: a.shape.clone(), b: b.shape.clone() });
        }
        Ok(a)
    }

    /// The region where two tiles of one shape are valid.
    fn meet(&self, a: usize, b: usize) -> Result<Vec<Dim>> {
        let (a, b) = (self.tile(a)?, self.tile(b)?);
        Ok(a.valid.iter().zip(&b.valid).map(|(&x, &y)| meet(x, y)).collect())
    }

    fn elementwise(&self) -> Result<TileType> {
        Ok(fresh(self.same_tiles(0, 1)?).with_valid(self.meet(0, 1)?))
    }

    /// Valid where one of the operands is.
    fn part(&self) -> Result<TileType> {
        let a = self.same_tiles(0, 1)?;
        let b = self.tile(1)?;
        let covers = |x: &TileType, y: &TileType| {
            let axes = x.valid.iter().zip(&y.valid).zip(&x.shape);
            axes.into_iter().all(|((x, y), n)| match (x.known(), y.known()) {
                (Some(x), Some(y)) => x >= y,
                (Some(x), None) => x == *n,
                (None, _) => false,
            })
        };
        match (covers(a, b), covers(b, a)) {
            (true, _) => Ok(fresh(a)),
            (_, true) => Ok(fresh(b)),
            _ => {
                let shown = |t: &TileType| t.valid.iter().map(Dim::to_string).collect::<Vec<_>>().join(", ");
                Err(TypeError::Part { op: self.op, a: shown(a), b: shown(b) })
            }
        }
    }

    /// A tile and a scalar of its element type.
    fn with_scalar(&self) -> Result<TileType> {
        let (a, s) = (self.tile(0)?, self.scalar(1)?);
        if a.dtype != s {
            return Err(TypeError::DType { op: self.op, a: a.dtype, b: s });
        }
        Ok(fresh(a))
    }

    /// The first operand is a mask for a tile like `a`.
    fn masked(&self, a: &TileType) -> Result<()> {
        let found = self.matrix(0)?;
        if !matches!(found.dtype, DType::U8 | DType::I8) {
            return Err(TypeError::Unsupported { op: self.op, dtype: found.dtype, supported: "masks of u8 elements" });
        }
        if a.shape.len() != 2 {
            return Err(TypeError::Rank { op: self.op, shape: a.shape.clone() });
        }
        let expected = [a.shape[0], mask_columns(a.shape[1])];
        if found.shape != expected {
            return Err(TypeError::Shape { op: self.op, a: found.shape.clone(), b: expected.to_vec() });
        }
        Ok(())
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
