//! Pipes: which one executes an operation (`isa.md` §1.4), and the operations that order them.

use chip::{Arch, Space};
use ir::info::Pipe as Declared;
use ir::{OpData, Opcode as C, Value};

use super::Decoder;
use crate::code::{Inst, Mode};
use crate::pipes::{Pipe, Unit};

/// The name of a pipe in an instruction; `None` for all of them.
fn named(word: Option<&str>) -> Option<Pipe> {
    Pipe::ALL.into_iter().find(|p| Some(p.name()) == word)
}

/// The pipe of what events are recorded after, or wait before.
fn endpoint(word: Option<&str>) -> Option<Pipe> {
    Some(match word? {
        "TLOAD" => Pipe::Mte2,
        "TSTORE_VEC" => Pipe::Mte3,
        "TSTORE_ACC" | "TMOV_M2S" | "TMOV_V2M" => Pipe::Fix,
        "TMOV_M2L" | "TMOV_M2B" => Pipe::Mte1,
        "TMOV_M2V" | "TVEC" | "TVECWAIT_EVENT" => Pipe::Vector,
        "TMATMUL" => Pipe::Matrix,
        _ => return None,
    })
}

impl Decoder<'_> {
    /// What executes an instruction of the present operation.
    pub(super) fn unit(&self, inst: &Inst) -> Unit {
        let Some(data) = self.op.map(|op| &self.func.ops[op]).filter(|_| self.core.is_some()) else {
            return Unit::SCALAR;
        };
        if !inst.operands(&self.code, &mut |_, _| {}) {
            return Unit::SCALAR;
        }
        let to_vec = self.space(data.dest()) == Some(Space::Vec);
        // The device takes the indices apart with its scalar unit.
        let looks_early = data.opcode == C::MGather && self.arch == Arch::A2a3 && to_vec;
        Unit { pipe: self.pipe(data), looks_early }
    }

    fn space(&self, value: Option<Value>) -> Option<Space> {
        self.func.ty(value?).as_tile()?.space
    }

    fn pipe(&self, data: &OpData) -> Pipe {
        let source = data.operands.iter().copied().find(|&v| self.func.ty(v).as_tile().is_some());
        let (from, to) = (self.space(source), self.space(data.dest()));
        let a5 = self.arch == Arch::A5;
        match data.opcode {
            C::TLoad => Pipe::Mte2,
            C::TStore if from == Some(Space::Acc) => Pipe::Fix,
            C::TStore => Pipe::Mte3,
            C::TMov | C::TExtract | C::TInsert => match (from, to) {
                (Some(Space::Acc), _) => Pipe::Fix,
                (Some(Space::Mat), Some(Space::Left | Space::Right | Space::Bias)) => Pipe::Mte1,
                (Some(Space::Vec), Some(Space::Mat)) if data.opcode == C::TInsert => Pipe::Mte3,
                _ => Pipe::Vector,
            },
            C::TFillPad if to == Some(Space::Mat) => Pipe::Mte1,
            C::TExpandS if to == Some(Space::Mat) => Pipe::Mte2,
            C::MGather if a5 && to == Some(Space::Vec) => Pipe::Vector,
            C::MGather => Pipe::Mte2,
            C::MScatter if a5 => Pipe::Vector,
            C::MScatter => Pipe::Mte3,
            C::TPushToAiv | C::TPushToAic if from == Some(Space::Acc) => Pipe::Fix,
            C::TPushToAiv | C::TPushToAic => Pipe::Mte3,
            // MTE2 fills the staging tile, MTE3 empties it: in one go, once both have come to it (`Pipes::enqueue`).
            C::CommTPut | C::CommTGet => Pipe::Mte3,
            // A2/A3 copies from the ring in global memory, and the copy gives the slot back (isa.md §1.7). On A5 the slot
            // is the tile: it is taken and given back when the program says so.
            C::TPopFromAic | C::TPopFromAiv | C::TFreeFromAic | C::TFreeFromAiv if !a5 => Pipe::Mte2,
            C::TPopFromAic | C::TPopFromAiv | C::TFreeFromAic | C::TFreeFromAiv => Pipe::Scalar,
            opcode => match opcode.info().pipe {
                Declared::Vector => Pipe::Vector,
                Declared::Matrix => Pipe::Matrix,
                Declared::Mte1 => Pipe::Mte1,
                Declared::Mte2 => Pipe::Mte2,
                Declared::Mte3 => Pipe::Mte3,
                Declared::Fix => Pipe::Fix,
                Declared::Scalar | Declared::None | Declared::BySpace => Pipe::Scalar,
            },
        }
    }

    /// An operation that orders pipes.
    pub(super) fn order(&mut self, data: &OpData) {
        // A skeleton has no pipes.
        if self.code.mode == Mode::Footprint {
            return;
        }
        let word = |name: &str| data.attrs.word(name);
        let inst = match data.opcode {
            C::SetFlag | C::WaitFlag => self.flag(data, named(word("from")), named(word("to"))),
            C::SetFlagDyn | C::WaitFlagDyn => self.flag(data, named(word("from_pipe")), named(word("to_pipe"))),
            C::RecordEvent | C::WaitEvent => self.flag(data, endpoint(word("source")), endpoint(word("target"))),
            C::GetBuf | C::RlsBuf => {
                let token = data.attrs.int("buffer").and_then(|n| u32::try_from(n).ok());
                match (endpoint(word("source")), token) {
                    (Some(pipe), Some(token)) if data.opcode == C::GetBuf => Inst::GetToken { pipe, token },
                    (Some(pipe), Some(token)) => Inst::FreeToken { pipe, token },
                    _ => self.unknown_order(data, "its pipe or its token is not known"),
                }
            }
            C::Barrier => Inst::Barrier(named(word("pipe"))),
            // More than it asks for, where it is about some accesses only.
            C::FenceBarrierAll => Inst::Barrier(None),
            C::TSync if data.operands.is_empty() => return,
            _ => self.unknown_order(data, "what its events stand for is not known"),
        };
        self.emit(inst);
    }

    fn flag(&mut self, data: &OpData, from: Option<Pipe>, to: Option<Pipe>) -> Inst {
        let event = match data.opcode {
            C::SetFlagDyn | C::WaitFlagDyn => Some(self.int(data.named("event")[0])),
            _ => {
                let number = data.attrs.word("event").and_then(|w| w.strip_prefix("EVENT_ID")?.parse::<u64>().ok());
                number.map(|n| self.constant(n))
            }
        };
        let sets = matches!(data.opcode, C::SetFlag | C::SetFlagDyn | C::RecordEvent);
        match (from, to, event) {
            (Some(from), Some(to), Some(event)) if sets => Inst::SetFlag { from, to, event },
            (Some(from), Some(to), Some(event)) => Inst::WaitFlag { from, to, event },
            _ => self.unknown_order(data, "a flag is from one pipe to one other, with an event"),
        }
    }

    fn unknown_order(&mut self, data: &OpData, why: &str) -> Inst {
        let trap = self.code.traps.len() as u32;
        self.code.traps.push(format!("`{}` does not order pipes here: {why}", data.opcode.name()));
        Inst::UnknownOrder(trap)
    }
}
