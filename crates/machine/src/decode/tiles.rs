//! Tile instructions.

use dtype::{DType, Profile, RoundMode};
use ir::{OpData, Opcode, Value};
use isa::{Arg, BinaryOp, Pad, Reduce, UnaryOp};

use super::{Decoder, Refused};
use crate::code::Inst;

impl<'a> Decoder<'a> {
    pub(super) fn tile_op(&mut self, data: &'a OpData) -> Result<bool, Refused> {
        use Opcode as C;
        if data.opcode == C::TGetVal {
            let dst = self.reg(data.result().ok_or("no result")?);
            let src = self.reg(data.named("source")[0]);
            let (row, col) = (self.int(data.named("row")[0]), self.int(data.named("col")[0]));
            self.emit(Inst::Get { dst, src, row, col });
            return Ok(true);
        }
        if data.opcode == C::SetValidShape {
            // The destination is the tile itself (`ir::ops`): its descriptor changes.
            let dst = self.reg(self.dest(data)?);
            let (row, col) = (self.int(data.named("row")[0]), self.int(data.named("col")[0]));
            self.emit(Inst::SetValid { dst, rows: Some(row), cols: Some(col) });
            return Ok(true);
        }
        if !matches!(data.opcode.info().form, ir::info::Form::Tile | ir::info::Form::Dest) {
            return Ok(false);
        }
        let dest = self.dest(data)?;
        let ty = self.tile_type(dest)?;
        let dst = self.reg(dest);
        self.valid_operands(data, dest)?;
        let r = |d: &Self, group: usize| d.reg(data.group(group)[0]);
        let inst = match data.opcode {
            C::TMov => {
                let source = data.group(0)[0];
                let from = self.tile_type(source)?;
                let src = self.reg(source);
                match (from.dtype, ty.dtype) {
                    (a, b) if a == b => Inst::Copy { dst, src },
                    (DType::F32, DType::F16 | DType::BF16) if from.space == Some(chip::Space::Acc) => {
                        Inst::Narrow { dst, src }
                    }
                    (a, b) => return Err(format!("a move from {a} to {b}; only f32 Acc tiles narrow")),
                }
            }
            C::TExtract | C::TInsert => {
                let src = r(self, 0);
                let (row, col) = (self.int(data.group(1)[0]), self.int(data.group(2)[0]));
                match data.opcode {
                    C::TExtract => Inst::Extract { dst, src, row, col },
                    _ => Inst::Insert { dst, src, row, col },
                }
            }
            C::TSetVal => {
                let (row, col) = (self.int(data.group(0)[0]), self.int(data.group(1)[0]));
                let (dtype, value) = (self.element(data.group(2)[0])?, r(self, 2));
                Inst::Set { dtype, dst, row, col, value }
            }
            C::TCvt => {
                let mode =
                    data.attrs.word("mode").and_then(|w| w.parse::<RoundMode>().ok()).ok_or("no rounding mode")?;
                Inst::Convert { mode, saturate: data.attrs.bool("saturate"), dst, src: r(self, 0) }
            }
            C::TExpandS => Inst::Fill { dtype: self.element(data.group(0)[0])?, dst, s: r(self, 0) },
            C::TCi => Inst::Iota {
                dtype: self.element(data.group(0)[0])?,
                descending: data.attrs.bool("descending"),
                dst,
                start: r(self, 0),
            },
            C::TFillPad => {
                let pad = match data.attrs.word("pad") {
                    Some("zero") => Pad::Zero,
                    Some("max") => Pad::Max,
                    Some("min") => Pad::Min,
                    other => return Err(format!("unknown pad {other:?}")),
                };
                Inst::FillPad { pad, dst, src: r(self, 0) }
            }
            C::TMatmul | C::TMatmulAcc | C::TMatmulBias => {
                if data.attrs.bool("a_trans") || data.attrs.bool("b_trans") {
                    return Err("transposed operands are of the tensor level".into());
                }
                match data.opcode {
                    C::TMatmul => Inst::Matmul { dst, lhs: r(self, 0), rhs: r(self, 1) },
                    C::TMatmulBias => Inst::MatmulBias { dst, lhs: r(self, 0), rhs: r(self, 1), bias: r(self, 2) },
                    _ => Inst::MatmulAcc { dst, acc: r(self, 0), lhs: r(self, 1), rhs: r(self, 2) },
                }
            }
            C::TConcat => Inst::Concat { dst, a: r(self, 0), b: r(self, 1) },
            // The difference is rounded, as it is where the two are written out.
            C::TColExpandExpDif | C::TRowExpandExpDif => {
                let (op, a, v) = (Some(BinaryOp::Sub), r(self, 0), r(self, 1));
                self.emit(match data.opcode {
                    C::TColExpandExpDif => Inst::ColExpand { op, dst, a, v },
                    _ => Inst::RowExpand { op, dst, a, v },
                });
                Inst::Unary { op: UnaryOp::Exp, dst, a: dst }
            }
            C::TTrans => Inst::Transpose { dst, src: r(self, 0) },
            C::TRowExpand => Inst::RowExpand { op: None, dst, a: 0, v: r(self, 0) },
            C::TColExpand => Inst::ColExpand { op: None, dst, a: 0, v: r(self, 0) },
            other => match self.family(other) {
                Some(Family::Binary(op)) => Inst::TileBinary { op, dst, a: r(self, 0), b: r(self, 1) },
                Some(Family::Part(op)) => Inst::Part { op, dst, a: r(self, 0), b: r(self, 1) },
                Some(Family::Scalar(op)) => Inst::TileScalar {
                    op,
                    dtype: self.element(data.group(1)[0])?,
                    reversed: data.attrs.bool("reverse"),
                    dst,
                    a: r(self, 0),
                    s: r(self, 1),
                },
                Some(Family::Unary(op)) => Inst::Unary { op, dst, a: r(self, 0) },
                Some(Family::RowReduce(op)) => Inst::RowReduce { op, dst, src: r(self, 0) },
                Some(Family::ColReduce(op)) => Inst::ColReduce { op, dst, src: r(self, 0) },
                Some(Family::RowExpand(op)) => Inst::RowExpand { op: Some(op), dst, a: r(self, 0), v: r(self, 1) },
                Some(Family::ColExpand(op)) => Inst::ColExpand { op: Some(op), dst, a: r(self, 0), v: r(self, 1) },
                Some(Family::RowArg(arg)) => Inst::RowArg { arg, dst, src: r(self, 0) },
                Some(Family::ColArg(arg)) => Inst::ColArg { arg, dst, src: r(self, 0) },
                None => match self.chosen(data, dst)? {
                    Some(inst) => inst,
                    None => return Ok(false),
                },
            },
        };
        self.emit(inst);
        Ok(true)
    }

    /// A destination whose dynamic valid extents the operation itself states.
    fn valid_operands(&mut self, data: &OpData, dest: Value) -> Result<(), Refused> {
        let Some(group) = data.opcode.info().group("valid") else { return Ok(()) };
        let mut operands = data.group(group).iter();
        if operands.len() == 0 {
            return Ok(());
        }
        let ty = self.tile_type(dest)?;
        let mut extents = [None; 2];
        for (i, extent) in extents.iter_mut().enumerate() {
            if ty.valid[i].known().is_none() {
                *extent = operands.next().map(|&v| self.int(v));
            }
        }
        let (dst, [rows, cols]) = (self.reg(dest), extents);
        self.emit(Inst::SetValid { dst, rows, cols });
        Ok(())
    }

    fn family(&self, opcode: Opcode) -> Option<Family> {
        use Opcode as C;
        // `cpu-compat` compares as C++ does; the machine propagates NaN (isa.md §2.0).
        let compat = self.code.profile == Profile::CpuCompat;
        let (max, min) = match compat {
            true => (BinaryOp::StdMax, BinaryOp::StdMin),
            false => (BinaryOp::Max, BinaryOp::Min),
        };
        Some(match opcode {
            C::TAdd => Family::Binary(BinaryOp::Add),
            C::TSub => Family::Binary(BinaryOp::Sub),
            C::TMul => Family::Binary(BinaryOp::Mul),
            C::TDiv => Family::Binary(BinaryOp::Div),
            C::TMax => Family::Binary(max),
            C::TMin => Family::Binary(min),
            C::TRem => Family::Binary(BinaryOp::Rem),
            C::TFmod => Family::Binary(BinaryOp::Fmod),
            C::TAnd => Family::Binary(BinaryOp::And),
            C::TOr => Family::Binary(BinaryOp::Or),
            C::TXor => Family::Binary(BinaryOp::Xor),
            C::TShl => Family::Binary(BinaryOp::Shl),
            C::TShr => Family::Binary(BinaryOp::Shr),
            C::TPRelu => Family::Binary(BinaryOp::LeakyRelu),
            C::TPartAdd => Family::Part(BinaryOp::Add),
            C::TPartMul => Family::Part(BinaryOp::Mul),
            C::TPartMax => Family::Part(max),
            C::TPartMin => Family::Part(min),
            C::TAddS => Family::Scalar(BinaryOp::Add),
            C::TSubS => Family::Scalar(BinaryOp::Sub),
            C::TMulS => Family::Scalar(BinaryOp::Mul),
            C::TDivS => Family::Scalar(BinaryOp::Div),
            C::TMaxS => Family::Scalar(max),
            C::TMinS => Family::Scalar(min),
            C::TRemS => Family::Scalar(BinaryOp::Rem),
            C::TFmodS => Family::Scalar(BinaryOp::Fmod),
            C::TAndS => Family::Scalar(BinaryOp::And),
            C::TOrS => Family::Scalar(BinaryOp::Or),
            C::TXorS => Family::Scalar(BinaryOp::Xor),
            C::TShlS => Family::Scalar(BinaryOp::Shl),
            C::TShrS => Family::Scalar(BinaryOp::Shr),
            C::TLRelu => Family::Scalar(BinaryOp::LeakyRelu),
            C::TExp => Family::Unary(UnaryOp::Exp),
            C::TLog => Family::Unary(UnaryOp::Log),
            C::TSqrt => Family::Unary(UnaryOp::Sqrt),
            C::TRsqrt => Family::Unary(UnaryOp::Rsqrt),
            C::TRecip => Family::Unary(UnaryOp::Recip),
            C::TAbs => Family::Unary(UnaryOp::Abs),
            C::TNeg => Family::Unary(UnaryOp::Neg),
            C::TRelu => Family::Unary(UnaryOp::Relu),
            C::TNot => Family::Unary(UnaryOp::Not),
            C::TRowSum => Family::RowReduce(Reduce::Sum),
            C::TRowMax => Family::RowReduce(Reduce::Max),
            C::TRowMin => Family::RowReduce(Reduce::Min),
            C::TRowProd => Family::RowReduce(Reduce::Prod),
            C::TRowArgMax => Family::RowArg(Arg::Max),
            C::TRowArgMin => Family::RowArg(Arg::Min),
            C::TColSum => Family::ColReduce(Reduce::Sum),
            C::TColMax => Family::ColReduce(Reduce::Max),
            C::TColMin => Family::ColReduce(Reduce::Min),
            C::TColProd => Family::ColReduce(Reduce::Prod),
            C::TColArgMax => Family::ColArg(Arg::Max),
            C::TColArgMin => Family::ColArg(Arg::Min),
            C::TRowExpandAdd => Family::RowExpand(BinaryOp::Add),
            C::TRowExpandSub => Family::RowExpand(BinaryOp::Sub),
            C::TRowExpandMul => Family::RowExpand(BinaryOp::Mul),
            C::TRowExpandDiv => Family::RowExpand(BinaryOp::Div),
            C::TRowExpandMax => Family::RowExpand(max),
            C::TRowExpandMin => Family::RowExpand(min),
            C::TColExpandAdd => Family::ColExpand(BinaryOp::Add),
            C::TColExpandSub => Family::ColExpand(BinaryOp::Sub),
            C::TColExpandMul => Family::ColExpand(BinaryOp::Mul),
            C::TColExpandDiv => Family::ColExpand(BinaryOp::Div),
            C::TColExpandMax => Family::ColExpand(max),
            C::TColExpandMin => Family::ColExpand(min),
            _ => return None,
        })
    }
}

/// Instructions that differ in their arithmetic only.
enum Family {
    Binary(BinaryOp),
    Part(BinaryOp),
    Scalar(BinaryOp),
    Unary(UnaryOp),
    RowReduce(Reduce),
    ColReduce(Reduce),
    RowArg(Arg),
    ColArg(Arg),
    RowExpand(BinaryOp),
    ColExpand(BinaryOp),
}
