//! What the device wants apart although the operation, as it is defined here, would give the same bits in place.
//!
//! Where [`ir::info::OpInfo::in_place`] lets an operand be the destination, no bit of ours depends on it (semantics rule
//! 12). The device's instruction sequences are less forgiving: some write their result, or temporaries, before they have
//! read all of an operand (`spec/pto-assembly.md` §4.3, G4). A plan that holds there keeps these apart too.

use chip::Arch;
use ir::OpData;
use ir::Opcode::{self, *};

/// Whether an operand may not have the bytes of the result, whatever the op table says.
pub(crate) fn from_result(opcode: Opcode, operand: &str) -> bool {
    match opcode {
        TAndS | TOrS | TXorS | TFmod | TFmodS | TGather | TMrgSort | TMrgSortLists | TMrgSortCounted | TSort32
        | TRecip | TRsqrt | TTrans | TRowArgMax | TRowArgMin | TRowMax | TRowMin | TRowSum | TRowProd | TColArgMax
        | TColArgMin | TCvt => true,
        TSel | TSelS => operand == "mask",
        // The vector of a broadcast.
        _ => operand == "v",
    }
}

/// Whether the device leaves the scratch of an operation alone: on A5 these take one for the sake of their signature.
pub(crate) fn ignores_scratch(data: &OpData, arch: Arch) -> bool {
    let precise = data.attrs.word("precisionType") == Some("high_precision");
    let unused = match data.opcode {
        TXor | TXorS | TPRelu | TRem | TRemS | TSel | TSelS | TCi | TRowSum | TRowMax | TRowMin | TRowProd
        | TRowArgMax | TRowArgMin | TColArgMax | TColArgMin | TRowExpandAdd | TRowExpandSub | TRowExpandMul
        | TRowExpandMax | TRowExpandMin | TRowExpandExpDif => true,
        TRowExpandDiv | TRsqrt => !precise,
        _ => false,
    };
    arch == Arch::A5 && unused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elementwise_arithmetic_may_run_in_place() {
        for opcode in [TAdd, TSub, TMul, TMax, TExp, TMulS, TNeg, TRowExpandMul, TSel, TFillPad] {
            for operand in opcode.info().in_place {
                assert!(!from_result(opcode, operand), "{} {operand}", opcode.name());
            }
        }
        assert!(from_result(TRecip, "a") && from_result(TRowExpandMul, "v"));
    }
}
