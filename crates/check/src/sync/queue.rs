//! The in-order queues of a core, and what names them.

use chip::Arch;
use ir::info::Pipe;

/// One pipe of a core. The scalar unit `S` issues; the others take from their queues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Queue {
    S,
    V,
    M,
    Mte1,
    Mte2,
    Mte3,
    Fix,
}

impl Queue {
    pub(super) const ALL: [Queue; 7] =
        [Queue::S, Queue::V, Queue::M, Queue::Mte1, Queue::Mte2, Queue::Mte3, Queue::Fix];

    pub(super) fn of(pipe: Pipe) -> Option<Queue> {
        Some(match pipe {
            Pipe::Scalar => Queue::S,
            Pipe::Vector => Queue::V,
            Pipe::Matrix => Queue::M,
            Pipe::Mte1 => Queue::Mte1,
            Pipe::Mte2 => Queue::Mte2,
            Pipe::Mte3 => Queue::Mte3,
            Pipe::Fix => Queue::Fix,
            Pipe::None | Pipe::BySpace => return None,
        })
    }

    /// The pipe that `PIPE_…` names; `None` for `PIPE_ALL`.
    pub(super) fn named(word: &str) -> Option<Queue> {
        Queue::ALL.into_iter().find(|q| q.name() == word)
    }

    /// The pipe of what runs there (`TLOAD`, `TVEC`, …).
    pub(super) fn of_endpoint(word: &str) -> Option<Queue> {
        Some(match word {
            "TLOAD" => Queue::Mte2,
            "TSTORE_VEC" => Queue::Mte3,
            "TSTORE_ACC" | "TMOV_M2S" | "TMOV_V2M" => Queue::Fix,
            "TMOV_M2L" | "TMOV_M2B" => Queue::Mte1,
            "TMATMUL" => Queue::M,
            "TVEC" | "TVECWAIT_EVENT" | "TMOV_M2V" => Queue::V,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Queue::S => "PIPE_S",
            Queue::V => "PIPE_V",
            Queue::M => "PIPE_M",
            Queue::Mte1 => "PIPE_MTE1",
            Queue::Mte2 => "PIPE_MTE2",
            Queue::Mte3 => "PIPE_MTE3",
            Queue::Fix => "PIPE_FIX",
        }
    }

    /// Whether its instructions never overlap where that could show: the scalar unit, and on A5 the vector and matrix
    /// pipes, which track their own dependences. Barriers of such a pipe mean nothing.
    pub(super) fn keeps_order(self, arch: Arch) -> bool {
        match self {
            Queue::S => true,
            Queue::V | Queue::M => arch == Arch::A5,
            _ => false,
        }
    }

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}
