//! Transfers and signals between ranks. There is one rank here, whose windows are all in its memory: what it puts to a
//! peer arrives in memory that it can name itself, and it waits for signals that nobody else will ever send.

use chip::Space;
use ir::{Op, OpData, Opcode, Type, Value};

use super::scalars::predicate;
use super::{Decoder, Refused};
use crate::code::{Inst, Reg, TransferSpec};

impl<'a> Decoder<'a> {
    pub(super) fn comm_op(&mut self, op: Op, data: &'a OpData) -> Result<bool, Refused> {
        match data.opcode {
            Opcode::CommTPut | Opcode::CommTGet => {
                let (dest, source) = (data.named("dest")[0], data.named("source")[0]);
                let staging = *data.named("staging").first().ok_or("no staging tile")?;
                if self.tile_type(staging)?.space != Some(Space::Vec) {
                    return Err("a staging tile that is not in vec".into());
                }
                let add = match data.attrs.word("atomicType") {
                    None | Some("atomic_none") => false,
                    Some("atomic_add") => true,
                    Some(other) => return Err(format!("atomicType `{other}`")),
                };
                let (to, from, staging) = (self.box_of(dest)?, self.box_of(source)?, self.reg(staging));
                self.measure_view(op, source, false)?;
                self.measure_view(op, dest, true)?;
                self.code.float_atomics |= add && self.element(dest)?.is_float();
                let spec = self.code.transfers.len() as u32;
                self.code.transfers.push(TransferSpec { from, to, staging, add });
                self.emit(Inst::Transfer { spec });
            }
            Opcode::CommTNotify => {
                let signal = data.named("signal")[0];
                let add = match data.attrs.word("notifyOp") {
                    Some("set") => false,
                    Some("atomic_add") => true,
                    other => return Err(format!("notifyOp {other:?}; supported: set, atomic_add")),
                };
                let (view, value) = (self.box_of(signal)?, self.reg(data.named("value")[0]));
                self.measure_view(op, signal, true)?;
                self.emit(Inst::Notify { add, view, value });
            }
            Opcode::CommTWait | Opcode::CommTTest => {
                let signal = data.named("signal")[0];
                let cmp = predicate(data.attrs.word("cmp").or(Some("eq")))?;
                let (view, value) = (self.box_of(signal)?, self.reg(data.named("value")[0]));
                let dst = data.result().map(|v| self.reg(v));
                self.measure_view(op, signal, false)?;
                self.emit(Inst::Await { op: cmp, dst, view, value });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn box_of(&self, value: Value) -> Result<Reg, Refused> {
        match self.func.ty(value) {
            Type::View(_) | Type::PartView { .. } => Ok(self.reg(value)),
            other => Err(format!("memory as {other}; supported: a view or a part of one")),
        }
    }
}
