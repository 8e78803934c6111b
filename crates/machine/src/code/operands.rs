//! Which registers the instructions of pipes use: what is known when one is issued must be kept until it runs.

use super::{Class, Code, Extent, Inst, Reg};

impl Inst {
    /// Names every register that an instruction of a pipe reads or changes. False for an instruction of the scalar unit.
    pub(crate) fn operands(&self, code: &Code, visit: &mut dyn FnMut(Class, Reg)) -> bool {
        let mut tiles = |regs: &[Reg]| regs.iter().for_each(|&r| visit(Class::Tile, r));
        match *self {
            Inst::Load { dst, view } => (tiles(&[dst]), visit(Class::View, view)).1,
            Inst::Store { view, src } | Inst::AtomicStore { view, src } => (tiles(&[src]), visit(Class::View, view)).1,
            Inst::GatherView { mode: _, out_of_range: _, dst, view, index } => {
                tiles(&[dst, index]);
                visit(Class::View, view);
            }
            Inst::ScatterView { mode: _, out_of_range: _, atomic: _, view, src, index }
            | Inst::ObserveScatter { point: _, out_of_range: _, atomic: _, view, src, index } => {
                tiles(&[src, index]);
                visit(Class::View, view);
            }
            Inst::Copy { dst, src }
            | Inst::Narrow { dst, src }
            | Inst::Convert { mode: _, saturate: _, dst, src }
            | Inst::GatherMask { pattern: _, dst, src }
            | Inst::ScatterMask { pattern: _, dst, src }
            | Inst::FillPad { pad: _, dst, src }
            | Inst::RowReduce { op: _, dst, src }
            | Inst::ColReduce { op: _, dst, src }
            | Inst::RowArg { arg: _, dst, src }
            | Inst::ColArg { arg: _, dst, src }
            | Inst::Transpose { dst, src } => tiles(&[dst, src]),
            Inst::Unary { op: _, dst, a } => tiles(&[dst, a]),
            Inst::Extract { dst, src, row, col } | Inst::Insert { dst, src, row, col } => {
                tiles(&[dst, src]);
                visit(Class::Scalar, row);
                visit(Class::Scalar, col);
            }
            Inst::TileBinary { op: _, dst, a, b }
            | Inst::Part { op: _, dst, a, b }
            | Inst::Mask { predicate: _, dst, a, b }
            | Inst::Concat { dst, a, b } => tiles(&[dst, a, b]),
            Inst::TileScalar { op: _, dtype: _, reversed: _, dst, a, s }
            | Inst::MaskScalar { predicate: _, dtype: _, dst, a, s } => {
                tiles(&[dst, a]);
                visit(Class::Scalar, s);
            }
            Inst::ChooseScalar { dtype: _, dst, mask, a, s } => {
                tiles(&[dst, mask, a]);
                visit(Class::Scalar, s);
            }
            Inst::Choose { dst, mask, a, b } => tiles(&[dst, mask, a, b]),
            Inst::Fill { dtype: _, dst, s } => (tiles(&[dst]), visit(Class::Scalar, s)).1,
            Inst::Iota { dtype: _, descending: _, dst, start } => (tiles(&[dst]), visit(Class::Scalar, start)).1,
            Inst::Triangle { upper: _, dst, diagonal } => (tiles(&[dst]), visit(Class::Scalar, diagonal)).1,
            Inst::Random { spec } => {
                let spec = &code.randoms[spec as usize];
                tiles(&[spec.dst]);
                spec.key.iter().chain(&spec.counter).for_each(|&r| visit(Class::Scalar, r));
            }
            Inst::Gather { dst, src, index } | Inst::Scatter { dst, src, index } => tiles(&[dst, src, index]),
            Inst::GatherBlocks { dst, src, offsets } => tiles(&[dst, src, offsets]),
            Inst::Sort { dst, src, idx } => tiles(&[dst, src, idx]),
            Inst::MergeRuns { dst, src, length } => (tiles(&[dst, src]), visit(Class::Scalar, length)).1,
            Inst::MergeLists { spec } => {
                let spec = &code.merges[spec as usize];
                tiles(&[spec.dst]);
                tiles(&spec.lists);
            }
            Inst::RowExpand { op: _, dst, a, v } | Inst::ColExpand { op: _, dst, a, v } => tiles(&[dst, a, v]),
            Inst::Matmul { dst, lhs, rhs } => tiles(&[dst, lhs, rhs]),
            Inst::MatmulAcc { dst, acc, lhs, rhs } => tiles(&[dst, acc, lhs, rhs]),
            Inst::MatmulBias { dst, lhs, rhs, bias } => tiles(&[dst, lhs, rhs, bias]),
            Inst::Push { fifo: _, split: _, src } => tiles(&[src]),
            Inst::Pop { spec } => {
                let spec = &code.pops[spec as usize];
                tiles(&[spec.dst]);
                for extent in spec.valid {
                    if let Extent::In(reg) = extent {
                        visit(Class::Scalar, reg);
                    }
                }
            }
            Inst::Free { fifo: _ } => {}
            Inst::Transfer { spec } => {
                let spec = &code.transfers[spec as usize];
                tiles(&[spec.staging]);
                visit(Class::View, spec.from);
                visit(Class::View, spec.to);
            }
            Inst::ObserveTile { point: _, tile } => tiles(&[tile]),
            Inst::ObserveView { point: _, view } => visit(Class::View, view),

            Inst::Jump(_)
            | Inst::Unless { .. }
            | Inst::Enter { .. }
            | Inst::Next { .. }
            | Inst::End
            | Inst::Host(_)
            | Inst::Trap(_)
            | Inst::Move { .. }
            | Inst::AddI { .. }
            | Inst::SubI { .. }
            | Inst::MulI { .. }
            | Inst::CmpI { .. }
            | Inst::Binary { .. }
            | Inst::Compare { .. }
            | Inst::Cast { .. }
            | Inst::Neg { .. }
            | Inst::Not { .. }
            | Inst::Select { .. }
            | Inst::ArrayNew { .. }
            | Inst::ArrayGet { .. }
            | Inst::ArraySet { .. }
            | Inst::MoveTile { .. }
            | Inst::MoveView { .. }
            | Inst::MoveTensor { .. }
            | Inst::Alloc { .. }
            | Inst::SetValid { .. }
            | Inst::Subview { .. }
            | Inst::Reshape { .. }
            | Inst::MakeView { .. }
            | Inst::Partition { .. }
            | Inst::AddPtr { .. }
            | Inst::LoadScalar { .. }
            | Inst::StoreScalar { .. }
            | Inst::Get { .. }
            | Inst::Set { .. }
            | Inst::SetFlag { .. }
            | Inst::WaitFlag { .. }
            | Inst::Barrier(_)
            | Inst::GetToken { .. }
            | Inst::FreeToken { .. }
            | Inst::UnknownOrder(_)
            | Inst::SyncAll(_)
            | Inst::InitPipe { .. }
            | Inst::Import { .. }
            | Inst::Notify { .. }
            | Inst::Await { .. }
            | Inst::ObserveScalar { .. }
            | Inst::EnterRegion { .. }
            | Inst::Reach { .. }
            | Inst::TouchView { .. }
            | Inst::TouchScalar { .. } => return false,
        }
        true
    }
}
