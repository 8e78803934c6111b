//! Which pipe executes an operation (`ir::info::Pipe`), where that depends on the buffers of its operands.

use chip::{Arch, Space};
use ir::info::Pipe;
use ir::{Function, OpData, Opcode as C, Value};

/// The pipe of an operation on an architecture; [`Pipe::None`] for what no pipe executes.
pub fn pipe(arch: Arch, func: &Function, data: &OpData) -> Pipe {
    let declared = data.opcode.info().pipe;
    let space = |value: Option<Value>| func.ty(value?).as_tile()?.space;
    let first = |group: &str| {
        let values = data.opcode.info().group(group).map_or(&[][..], |g| data.group(g));
        values.first().copied()
    };
    let (from, to) = (space(first("source")), space(data.dest()));
    match data.opcode {
        // The vector unit reaches nothing but Vec.
        C::TFillPad if to == Some(Space::Mat) => Pipe::Mte1,
        C::TExpandS if to == Some(Space::Mat) => Pipe::Mte2,
        _ if declared != Pipe::BySpace => declared,
        C::TLoad => Pipe::Mte2,
        C::MGather if arch == Arch::A5 && to == Some(Space::Vec) => Pipe::Vector,
        C::MGather => Pipe::Mte2,
        C::MScatter if arch == Arch::A5 => Pipe::Vector,
        C::MScatter => Pipe::Mte3,
        C::TStore | C::TStoreFix if from == Some(Space::Acc) => Pipe::Fix,
        C::TStore | C::TStoreFix => Pipe::Mte3,
        C::TInsert | C::TInsertFix if (from, to) == (Some(Space::Vec), Some(Space::Mat)) => Pipe::Mte3,
        C::TMov | C::TExtract | C::TInsert | C::TMovFix | C::TExtractFix | C::TInsertFix => moved(from, to),
        C::TPushToAiv | C::TPushToAic if from == Some(Space::Acc) => Pipe::Fix,
        C::TPush if space(first("entry")) == Some(Space::Acc) => Pipe::Fix,
        C::TPopFromAic | C::TPopFromAiv | C::TPop | C::TPopViewFromAic | C::TPopViewFromAiv => match arch {
            Arch::A2a3 => Pipe::Mte2,
            Arch::A5 => Pipe::Scalar,
        },
        C::TFree | C::TFreeViewFromAic | C::TFreeViewFromAiv => Pipe::Scalar,
        // Pushes from Vec, and slots handed out to be filled by stores.
        _ => Pipe::Mte3,
    }
}

/// The pipe of a copy from one buffer to another.
fn moved(from: Option<Space>, to: Option<Space>) -> Pipe {
    match (from, to) {
        (Some(Space::Acc), _) => Pipe::Fix,
        (Some(Space::Mat), Some(Space::Left | Space::Right | Space::Bias)) => Pipe::Mte1,
        _ => Pipe::Vector,
    }
}
