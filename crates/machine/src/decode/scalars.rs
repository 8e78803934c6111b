//! Scalar operations and arrays.

use dtype::DType;
use dtype::scalar::{BinaryOp, CmpOp};
use ir::{OpData, Opcode, Type};

use super::{Decoder, Refused};
use crate::code::Inst;

impl<'a> Decoder<'a> {
    pub(super) fn scalar_op(&mut self, data: &'a OpData) -> Result<bool, Refused> {
        let dst = data.result().map(|v| self.reg(v));
        let operand = |d: &Self, i: usize| d.reg(data.group(i)[0]);
        if let (Some(op), Some(dst)) = (data.opcode.scalar_binary(), dst) {
            let dtype = self.element(data.group(0)[0])?;
            let (a, b) = (operand(self, 0), operand(self, 1));
            let wide = matches!(dtype, DType::I64 | DType::Index | DType::U64);
            self.emit(match op {
                BinaryOp::Add if wide => Inst::AddI { dst, a, b },
                BinaryOp::Sub if wide => Inst::SubI { dst, a, b },
                BinaryOp::Mul if wide => Inst::MulI { dst, a, b },
                _ => Inst::Binary { op, dtype, dst, a, b },
            });
            return Ok(true);
        }
        match data.opcode {
            // In the registers already.
            Opcode::Const | Opcode::GetBlockIdx | Opcode::GetBlockNum | Opcode::GetSubblockIdx => {}
            Opcode::ScalarCmp => {
                let dtype = self.element(data.group(0)[0])?;
                let op = predicate(data.attrs.word("predicate"))?;
                let (dst, a, b) = (dst.ok_or("no result")?, operand(self, 0), operand(self, 1));
                self.emit(match dtype {
                    DType::I64 | DType::Index => Inst::CmpI { op, dst, a, b },
                    _ => Inst::Compare { op, dtype, dst, a, b },
                });
            }
            Opcode::ScalarNot | Opcode::ScalarNeg => {
                let dtype = self.element(data.group(0)[0])?;
                let (dst, a) = (dst.ok_or("no result")?, operand(self, 0));
                self.emit(match data.opcode {
                    Opcode::ScalarNot => Inst::Not { dtype, dst, a },
                    _ => Inst::Neg { dtype, dst, a },
                });
            }
            Opcode::ScalarCast => {
                let (from, to) = (self.element(data.group(0)[0])?, self.element(data.result().ok_or("no result")?)?);
                let (dst, a) = (dst.ok_or("no result")?, operand(self, 0));
                self.emit(Inst::Cast { from, to, dst, a });
            }
            Opcode::Select => {
                let dst = dst.ok_or("no result")?;
                let (condition, a, b) = (operand(self, 0), operand(self, 1), operand(self, 2));
                self.emit(Inst::Select { dst, condition, a, b });
            }
            Opcode::ArrayCreate => {
                let Some(Type::Array { len, .. }) = data.result().map(|v| self.func.ty(v)) else {
                    return Err("a result that is not an array".into());
                };
                let len = u32::try_from(*len).map_err(|_| "an array of more than 2^32 elements")?;
                let dst = dst.ok_or("no result")?;
                self.emit(Inst::ArrayNew { dst, len });
            }
            Opcode::ArrayGet => {
                let (array, index) = (operand(self, 0), self.int(data.group(1)[0]));
                let dst = dst.ok_or("no result")?;
                self.emit(Inst::ArrayGet { dst, array, index });
            }
            Opcode::ArraySet => {
                let (array, index, value) = (operand(self, 0), self.int(data.group(1)[0]), operand(self, 2));
                self.emit(Inst::ArraySet { array, index, value });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

pub(super) fn predicate(word: Option<&str>) -> Result<CmpOp, Refused> {
    Ok(match word {
        Some("eq") => CmpOp::Eq,
        Some("ne") => CmpOp::Ne,
        Some("lt") => CmpOp::Lt,
        Some("le") => CmpOp::Le,
        Some("gt") => CmpOp::Gt,
        Some("ge") => CmpOp::Ge,
        other => return Err(format!("unknown predicate {other:?}")),
    })
}
