//! Where each fault can be made.

use dtype::DType;
use ir::info::Form;
use ir::{Dim, FuncId, Function, FunctionKind, Op, OpData, Opcode, Program, Type};

use super::edit::{alloc, operand, operands, tile};
use super::live::ranges;
use super::shift::deltas;
use super::{Fault, Partner, Site};

/// Every site of a program: function by function, operation by operation in program order, in the order of [`Fault::ALL`].
pub fn sites(program: &Program) -> Vec<Site> {
    let mut out = Vec::new();
    for (id, func) in program.functions.iter() {
        let from = out.len();
        let walk = func.walk();
        for &op in &walk {
            Finder { func, id, op, data: &func.ops[op], out: &mut out }.all();
        }
        pairs(func, id, &mut out);
        let place = |op: Op| walk.iter().position(|&o| o == op);
        out[from..].sort_by_key(|s| (place(s.op), s.fault, s.operand, s.partner));
    }
    out
}

/// Instructions that have a sibling of the same form, and that sibling.
pub(super) const SIBLINGS: &[(Opcode, Opcode)] = &[
    (Opcode::TAdd, Opcode::TSub),
    (Opcode::TSub, Opcode::TAdd),
    (Opcode::TMul, Opcode::TAdd),
    (Opcode::TDiv, Opcode::TMul),
    (Opcode::TMax, Opcode::TMin),
    (Opcode::TMin, Opcode::TMax),
    (Opcode::TFmod, Opcode::TSub),
    (Opcode::TAnd, Opcode::TOr),
    (Opcode::TOr, Opcode::TAnd),
    (Opcode::TShl, Opcode::TShr),
    (Opcode::TShr, Opcode::TShl),
    (Opcode::TPartAdd, Opcode::TPartMul),
    (Opcode::TPartMul, Opcode::TPartAdd),
    (Opcode::TPartMax, Opcode::TPartMin),
    (Opcode::TPartMin, Opcode::TPartMax),
    (Opcode::TAddS, Opcode::TSubS),
    (Opcode::TSubS, Opcode::TAddS),
    (Opcode::TMulS, Opcode::TAddS),
    (Opcode::TMaxS, Opcode::TMinS),
    (Opcode::TMinS, Opcode::TMaxS),
    (Opcode::TFmodS, Opcode::TSubS),
    (Opcode::TRemS, Opcode::TXorS),
    (Opcode::TXorS, Opcode::TRemS),
    (Opcode::TAndS, Opcode::TOrS),
    (Opcode::TOrS, Opcode::TAndS),
    (Opcode::TShlS, Opcode::TShrS),
    (Opcode::TShrS, Opcode::TShlS),
    (Opcode::TLRelu, Opcode::TMaxS),
    (Opcode::TExp, Opcode::TRecip),
    (Opcode::TLog, Opcode::TSqrt),
    (Opcode::TSqrt, Opcode::TRsqrt),
    (Opcode::TRsqrt, Opcode::TSqrt),
    (Opcode::TRecip, Opcode::TNeg),
    (Opcode::TAbs, Opcode::TNeg),
    (Opcode::TNeg, Opcode::TAbs),
    (Opcode::TRelu, Opcode::TAbs),
    (Opcode::TNot, Opcode::TNeg),
    (Opcode::TRowSum, Opcode::TRowMax),
    (Opcode::TRowProd, Opcode::TRowSum),
    (Opcode::TRowArgMax, Opcode::TRowArgMin),
    (Opcode::TRowArgMin, Opcode::TRowArgMax),
    (Opcode::TColProd, Opcode::TColSum),
    (Opcode::TColArgMax, Opcode::TColArgMin),
    (Opcode::TColArgMin, Opcode::TColArgMax),
    (Opcode::TRowMax, Opcode::TRowMin),
    (Opcode::TRowMin, Opcode::TRowMax),
    (Opcode::TColSum, Opcode::TColMax),
    (Opcode::TColMax, Opcode::TColMin),
    (Opcode::TColMin, Opcode::TColMax),
    (Opcode::TRowExpandAdd, Opcode::TRowExpandSub),
    (Opcode::TRowExpandSub, Opcode::TRowExpandAdd),
    (Opcode::TRowExpandMul, Opcode::TRowExpandDiv),
    (Opcode::TRowExpandDiv, Opcode::TRowExpandMul),
    (Opcode::TRowExpandMax, Opcode::TRowExpandMin),
    (Opcode::TRowExpandMin, Opcode::TRowExpandMax),
    (Opcode::TColExpandAdd, Opcode::TColExpandSub),
    (Opcode::TColExpandSub, Opcode::TColExpandAdd),
    (Opcode::TColExpandMul, Opcode::TColExpandDiv),
    (Opcode::TColExpandDiv, Opcode::TColExpandMul),
    (Opcode::TColExpandMax, Opcode::TColExpandMin),
    (Opcode::TColExpandMin, Opcode::TColExpandMax),
    (Opcode::ScalarAdd, Opcode::ScalarSub),
    (Opcode::ScalarMin, Opcode::ScalarMax),
    (Opcode::ScalarMax, Opcode::ScalarMin),
];

/// The first of the two operands that change places.
pub(super) fn exchanged(opcode: Opcode) -> usize {
    // The first one of a selection is its mask.
    usize::from(opcode == Opcode::TSel)
}

/// The mask patterns of the length of this one, which is one of them.
pub(super) fn others_of(pattern: Option<i64>) -> Vec<i64> {
    let period = pattern.and_then(ir::infer::pattern_period);
    (1..=7).filter(|&p| period.is_some() && ir::infer::pattern_period(p) == period).collect()
}

struct Finder<'a> {
    func: &'a Function,
    id: FuncId,
    op: Op,
    data: &'a OpData,
    out: &'a mut Vec<Site>,
}

impl Finder<'_> {
    fn found(&mut self, fault: Fault, operand: u32) {
        self.out.push(Site { fault, function: self.id, op: self.op, operand, partner: None });
    }

    fn all(&mut self) {
        self.places();
        self.dropped();
        self.arithmetic();
        self.chosen();
        self.casts();
        self.products();
        self.control();
        self.valid();
    }

    fn places(&mut self) {
        let groups: &[&str] = match self.data.opcode {
            Opcode::PartitionView => &["offsets"],
            Opcode::TExtract | Opcode::TInsert | Opcode::Subview | Opcode::TGetVal | Opcode::TSetVal => &["row", "col"],
            Opcode::AddPtr | Opcode::LoadScalar | Opcode::StoreScalar => &["offset"],
            _ => &[],
        };
        let contracted = self.contraction_offset();
        for group in groups {
            for operand in operands(self.data, group) {
                if deltas(self.func, self.op, operand).is_empty() {
                    continue;
                }
                let fault = if contracted == Some(operand) { Fault::ShiftedContraction } else { Fault::WrongOffset };
                self.found(fault, operand);
            }
        }
        if self.data.opcode == Opcode::PartitionView {
            for operand in operands(self.data, "sizes") {
                let size = self.func.const_int(self.data.operands[operand as usize]);
                if size.is_none_or(|n| n > 1) {
                    self.found(Fault::WrongSize, operand);
                }
            }
        }
        if self.data.opcode == Opcode::MakeTensorView {
            for (operand, extent) in operands(self.data, "strides").zip(operands(self.data, "shape")) {
                let extent = self.func.const_int(self.data.operands[extent as usize]);
                if extent.is_none_or(|n| n > 1) {
                    self.found(Fault::WrongStride, operand);
                }
            }
        }
    }

    fn dropped(&mut self) {
        let fault = match self.data.opcode {
            Opcode::TStore | Opcode::MScatter | Opcode::StoreScalar => Fault::DroppedStore,
            Opcode::TLoad | Opcode::MGather => Fault::DroppedLoad,
            Opcode::SyncAll => Fault::DroppedSync,
            Opcode::TPushToAic | Opcode::TPushToAiv => Fault::DroppedPush,
            Opcode::TFreeFromAic | Opcode::TFreeFromAiv => Fault::DroppedFree,
            opcode if matches!(opcode.info().form, Form::Tile | Form::Dest) && self.data.results.is_empty() => {
                Fault::DroppedOperation
            }
            _ => return,
        };
        self.found(fault, 0);
    }

    fn arithmetic(&mut self) {
        use Opcode as C;
        let opcode = self.data.opcode;
        let ordered = matches!(
            opcode,
            C::TSub
                | C::TDiv
                | C::TRem
                | C::TFmod
                | C::TShl
                | C::TShr
                | C::TPRelu
                | C::TSel
                | C::ScalarSub
                | C::ScalarDiv
                | C::ScalarRem
                | C::ScalarShl
                | C::ScalarShr
        ) || (opcode == C::TCmp && !matches!(self.data.attrs.word("predicate"), Some("eq" | "ne")));
        let first = exchanged(opcode);
        if (ordered && self.data.operands[first] != self.data.operands[first + 1]) || opcode == C::TDivS {
            self.found(Fault::SwappedOperands, 0);
        }
        // `s − a` has no sibling with the same operands.
        if SIBLINGS.iter().any(|(from, _)| *from == opcode) && !self.data.attrs.bool("reverse") {
            self.found(Fault::WrongOperation, 0);
        }
        if matches!(opcode, C::ScalarCmp | C::TCmp | C::TCmpS) {
            self.found(Fault::WrongPredicate, 0);
        }
        let constant = match opcode {
            C::TAddS | C::TSubS | C::TMulS | C::TDivS | C::TMaxS | C::TMinS | C::TExpandS => "s",
            C::TRemS | C::TFmodS | C::TAndS | C::TOrS | C::TXorS | C::TShlS | C::TShrS | C::TLRelu => "s",
            C::TCmpS | C::TSelS => "s",
            C::TCi => "start",
            C::TTri => "diagonal",
            C::TRandom => "key0",
            C::TSetVal | C::StoreScalar | C::Write => "value",
            _ => return,
        };
        if let Some(operand) = operand(self.data, constant)
            && ir::builder::const_scalar(self.func, self.data.operands[operand as usize]).is_some()
        {
            self.found(Fault::WrongConstant, operand);
        }
    }

    fn chosen(&mut self) {
        use Opcode as C;
        let group = match self.data.opcode {
            C::TGatherMask | C::TScatterMask if others_of(self.data.attrs.int("pattern")).len() > 1 => {
                return self.found(Fault::WrongPattern, 0);
            }
            C::TGather | C::TScatter | C::MGather | C::MScatter => "indices",
            C::TGatherB => "offsets",
            C::TSort32 => "idx",
            _ => return,
        };
        let Some(at) = operand(self.data, group) else {
            return;
        };
        let indices = self.data.operands[at as usize];
        // Other buffers of the type that are there; two are enough.
        let walk = self.func.walk();
        let before = walk.iter().copied().take_while(|&op| op != self.op);
        let others: Vec<Op> = before
            .filter(|&op| {
                let data = &self.func.ops[op];
                let like = |v| v != indices && self.func.ty(v) == self.func.ty(indices);
                data.opcode == C::AllocTile && data.result().is_some_and(like) && encloses(self.func, op, self.op)
            })
            .collect();
        for &other in others.iter().rev().take(2) {
            let (fault, partner) = (Fault::WrongIndices, Some(Partner::Op(other)));
            self.out.push(Site { fault, function: self.id, op: self.op, operand: at, partner });
        }
    }

    fn casts(&mut self) {
        if self.data.opcode == Opcode::TFillPad {
            self.found(Fault::WrongPad, 0);
        }
        if self.data.opcode != Opcode::TCvt {
            return;
        }
        self.found(Fault::WrongMode, 0);
        let (source, Some(dest)) = (self.data.operands[0], self.data.dest()) else {
            return;
        };
        let placed = self.func.properties.placed;
        let narrow_row = |t: &ir::TileType| match t.layout.blayout {
            ir::Major::Row => (t.cols() * 2).is_multiple_of(32),
            ir::Major::Col => (t.rows() * 2).is_multiple_of(32),
        };
        let bytes_of_its_own = !placed && alloc(self.func, source).is_some();
        if bytes_of_its_own && tile(self.func, source).is_some_and(|t| t.dtype == DType::F32 && narrow_row(t)) {
            self.found(Fault::ExtraHop, 0);
        }
        let half = tile(self.func, dest).is_some_and(|t| matches!(t.dtype, DType::F16 | DType::BF16));
        let only_hop = self.func.users(dest).iter().all(|&user| {
            let user_data = &self.func.ops[user];
            user == self.op || (user_data.opcode == Opcode::TCvt && user_data.operands[0] == dest)
        });
        if half && alloc(self.func, dest).is_some() && only_hop && self.func.users(dest).len() > 1 {
            self.found(Fault::WrongHop, 0);
        }
    }

    fn products(&mut self) {
        let opcode = self.data.opcode;
        if !matches!(opcode, Opcode::TMatmul | Opcode::TMatmulAcc | Opcode::TMatmulBias) {
            return;
        }
        if opcode != Opcode::TMatmul {
            self.found(Fault::DroppedAccumulation, 0);
        }
        let (Some(l), Some(r)) = (operand(self.data, "lhs"), operand(self.data, "rhs")) else {
            return;
        };
        let (lhs, rhs) = (self.data.operands[l as usize], self.data.operands[r as usize]);
        let (Some(lt), Some(rt)) = (tile(self.func, lhs), tile(self.func, rhs)) else {
            return;
        };
        let k = match (lt.valid.get(1), rt.valid.first()) {
            (Some(Dim::Static(k)), Some(Dim::Static(same))) if k == same => *k,
            _ => return,
        };
        if k > 1 && alloc(self.func, lhs).is_some() && alloc(self.func, rhs).is_some() {
            self.found(Fault::ShortContraction, 0);
        }
        let halves = matches!(lt.dtype, DType::F16 | DType::BF16);
        if opcode != Opcode::TMatmulBias && halves && k >= 32 && lt.is_fully_valid() && rt.is_fully_valid() {
            self.found(Fault::CutContraction, 0);
        }
    }

    /// The offset along k of an extract that makes an operand of the cube, if there is room to take another window.
    fn contraction_offset(&self) -> Option<u32> {
        if self.data.opcode != Opcode::TExtract {
            return None;
        }
        let (from, to) = (tile(self.func, self.data.operands[0])?, tile(self.func, self.data.dest()?)?);
        let (group, axis) = match to.space? {
            chip::Space::Left => ("col", 1),
            chip::Space::Right => ("row", 0),
            _ => return None,
        };
        if from.shape[axis] > to.shape[axis] { operand(self.data, group) } else { None }
    }

    fn control(&mut self) {
        match self.data.opcode {
            Opcode::For => self.found(Fault::LoopBound, 0),
            Opcode::If => self.found(Fault::SwappedBranches, 0),
            Opcode::Submit => {
                let args: Vec<u32> = operands(self.data, "args").collect();
                let alike = |a: u32, b: u32| {
                    let (a, b) = (self.data.operands[a as usize], self.data.operands[b as usize]);
                    a != b
                        && match (self.func.ty(a), self.func.ty(b)) {
                            (Type::Tensor(a), Type::Tensor(b)) => a.dtype == b.dtype,
                            (a, b) => a == b,
                        }
                };
                let pairs: Vec<(u32, u32)> = (0..args.len())
                    .flat_map(|i| (i + 1..args.len()).map(move |j| (i, j)))
                    .map(|(i, j)| (args[i], args[j]))
                    .filter(|&(a, b)| alike(a, b))
                    .collect();
                for (operand, other) in pairs {
                    let (fault, partner) = (Fault::SwappedArguments, Some(Partner::Operand(other)));
                    self.out.push(Site { fault, function: self.id, op: self.op, operand, partner });
                }
            }
            _ => {}
        }
    }

    fn valid(&mut self) {
        if self.data.opcode != Opcode::AllocTile {
            return;
        }
        let Some((value, t)) = self.data.result().and_then(|v| Some((v, tile(self.func, v)?))) else {
            return;
        };
        // Other descriptors of the bytes have valid regions of their own.
        let view = |op: &Op| matches!(self.func.ops[*op].opcode, Opcode::Subview | Opcode::TReshape | Opcode::Bitcast);
        if self.func.users(value).iter().all(view) {
            return;
        }
        for (axis, dim) in t.valid.iter().enumerate() {
            if dim.known().is_none_or(|n| n > 1) {
                self.found(Fault::ReducedValid, axis as u32);
            }
        }
    }
}

/// Faults that concern two operations of a function.
fn pairs(func: &Function, id: FuncId, out: &mut Vec<Site>) {
    if func.kind == FunctionKind::Orchestration {
        return;
    }
    let mut found = |fault, op, other| {
        out.push(Site { fault, function: id, op, operand: 0, partner: Some(Partner::Op(other)) });
    };
    let list = ranges(func);
    for (i, a) in list.iter().enumerate() {
        // Two partners are enough: more say the same again.
        let partners = list[i + 1..].iter().filter(|b| {
            let (Some(s), Some(t)) = (tile(func, a.tile), tile(func, b.tile)) else {
                return false;
            };
            if !a.overlaps(b) {
                return false;
            }
            if func.properties.placed {
                let address = |op: Op| func.ops[op].named("addr").first().and_then(|&v| func.const_int(v));
                return s.space == t.space && address(a.alloc) != address(b.alloc);
            }
            // One buffer takes the other's place: it must be the same, and be there.
            let dynamic = |op: Op| !func.ops[op].operands.is_empty();
            s == t && !dynamic(a.alloc) && !dynamic(b.alloc) && encloses(func, a.alloc, b.alloc)
        });
        for b in partners.take(2) {
            found(Fault::CoalescedTiles, b.alloc, a.alloc);
        }
    }
    let walk = func.walk();
    for block in func.blocks.keys() {
        let pop = |op: &Op| matches!(func.ops[*op].opcode, Opcode::TPopFromAic | Opcode::TPopFromAiv);
        let pops: Vec<Op> = func.blocks[block].ops.iter().copied().filter(pop).collect();
        for pair in pops.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let (x, y) = (&func.ops[a], &func.ops[b]);
            let (Some(made), Some(other)) = (x.result(), y.result()) else {
                continue;
            };
            // With one FIFO the values change places, which needs both at hand before either is used.
            let place = |op: Op| walk.iter().position(|&o| o == op);
            let used_between = func.users(made).iter().any(|&user| place(user) < place(b));
            let same_fifo = x.attrs.int("id") == y.attrs.int("id");
            if x.opcode == y.opcode && func.ty(made) == func.ty(other) && !(same_fifo && used_between) {
                found(Fault::SwappedPops, a, b);
            }
        }
    }
}

/// Whether what `outer` defines is visible at `inner`, which comes later.
fn encloses(func: &Function, outer: Op, inner: Op) -> bool {
    let mut block = func.ops[inner].block;
    loop {
        if block == func.ops[outer].block {
            return true;
        }
        match func.blocks[block].parent {
            Some(parent) => block = func.ops[parent].block,
            None => return false,
        }
    }
}
