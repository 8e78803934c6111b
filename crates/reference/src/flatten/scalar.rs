//! Scalar operations and arrays.

use dtype::DType;
use dtype::scalar::{BinaryOp, CmpOp};
use ir::{Opcode, Type};

use super::{Flattener, Result};
use crate::code::{Instr, NO_TASK, Slot};

/// 64-bit integers that compare as signed ones: what loops and addresses are made of.
fn is_word(dtype: DType) -> bool {
    matches!(dtype, DType::Index | DType::I64)
}

impl Flattener<'_> {
    /// Whether the current operation is one of these; if so it has been emitted.
    pub(super) fn scalar_op(&mut self) -> Result<bool> {
        let opcode = self.data().opcode;
        if let Some(op) = opcode.scalar_binary() {
            let (a, b) = (self.operand("a")?, self.operand("b")?);
            let dtype = self.dtype(a)?;
            let (a, b) = (self.scalar(a)?, self.scalar(b)?);
            let dst = self.scalar_result()?;
            let instr = match op {
                BinaryOp::Add if is_word(dtype) => Instr::Add64 { dst, a, b },
                BinaryOp::Sub if is_word(dtype) => Instr::Sub64 { dst, a, b },
                BinaryOp::Mul if is_word(dtype) => Instr::Mul64 { dst, a, b },
                _ => Instr::Binary { op, dtype, dst, a, b },
            };
            self.emit(instr);
            return Ok(true);
        }
        match opcode {
            Opcode::ScalarCmp => {
                let op = match self.data().attrs.word("predicate") {
                    Some("eq") => CmpOp::Eq,
                    Some("ne") => CmpOp::Ne,
                    Some("lt") => CmpOp::Lt,
                    Some("le") => CmpOp::Le,
                    Some("gt") => CmpOp::Gt,
                    Some("ge") => CmpOp::Ge,
                    other => return Err(self.malformed(format!("a comparison by {other:?}"))),
                };
                let (a, b) = (self.operand("a")?, self.operand("b")?);
                let dtype = self.dtype(a)?;
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                let dst = self.scalar_result()?;
                self.emit(if is_word(dtype) {
                    Instr::Cmp64 { op, dst, a, b }
                } else {
                    Instr::Cmp { op, dtype, dst, a, b }
                });
            }
            Opcode::ScalarNot | Opcode::ScalarNeg => {
                let a = self.operand("a")?;
                let dtype = self.dtype(a)?;
                let a = self.scalar(a)?;
                let dst = self.scalar_result()?;
                self.emit(match opcode {
                    Opcode::ScalarNot => Instr::Not { dtype, dst, a },
                    _ => Instr::Neg { dtype, dst, a },
                });
            }
            Opcode::ScalarCast => {
                let a = self.operand("a")?;
                let from = self.dtype(a)?;
                let to = self.dtype(self.one_result()?)?;
                let a = self.scalar(a)?;
                let dst = self.scalar_result()?;
                self.emit(Instr::Cast { from, to, dst, a });
            }
            Opcode::Select => {
                let condition = self.scalar(self.operand("condition")?)?;
                let (a, b) = (self.scalar(self.operand("a")?)?, self.scalar(self.operand("b")?)?);
                let dst = self.scalar_result()?;
                self.emit(Instr::Select { dst, condition, a, b });
            }
            Opcode::GetBlockNum => {
                let dst = self.scalar_result()?;
                self.emit(Instr::BlockCount { dst });
            }
            // The first vector core of its cluster is the one that computes here.
            Opcode::GetSubblockIdx => {
                self.scalar_result()?;
            }
            Opcode::ArrayCreate => {
                let result = self.one_result()?;
                let Type::Array { element, len } = self.func.ty(result) else {
                    return Err(self.malformed("an array that is none"));
                };
                let fill = if **element == Type::TaskId { NO_TASK } else { 0 };
                let len = *len;
                let Slot::Array(dst) = self.define(result)? else {
                    return Err(self.malformed("an array that is none"));
                };
                self.emit(Instr::ArrayCreate { dst, len, fill });
            }
            Opcode::ArrayGet => {
                let array = self.array(self.operand("array")?)?;
                let index = self.index(self.operand("index")?)?;
                let dst = self.scalar_result()?;
                self.emit(Instr::ArrayGet { dst, array, index });
            }
            Opcode::ArraySet => {
                let array = self.array(self.operand("array")?)?;
                let index = self.index(self.operand("index")?)?;
                let src = self.scalar(self.operand("value")?)?;
                self.emit(Instr::ArraySet { array, index, src });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn scalar_result(&mut self) -> Result<u32> {
        match self.define(self.one_result()?)? {
            Slot::Scalar(s) => Ok(s),
            other => Err(self.malformed(format!("a scalar result was expected, not {other:?}"))),
        }
    }
}
