//! Where two versions of a function do something else: every operation that finds other contents in what it reads than
//! its partner did, with what it should have found and what it finds instead.

use ir::{Function, Op, Opcode as C, Value};

use crate::access::{self, Access, Footprint, FunctionAccesses, Kind, Memory};
use crate::correspond::{Correspondence, Mode, correspond};
use crate::reach::{Comparison, Content, Def, Reach, What, is_effect, is_sync};

/// One operation of the later version that finds something else.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    /// It, in the earlier and the later version.
    pub(crate) reader: (Op, Op),
    pub(crate) what: What,
    /// It changes a part of what it finds.
    pub(crate) partial: bool,
    pub(crate) memory: Option<Memory>,
    /// Where, in the later version; `None` for memories that are not looked into.
    pub(crate) bytes: Option<(u64, u64)>,
    /// What should be there (of the earlier version), and what is (of the later).
    pub(crate) contents: Option<(Def, Def)>,
}

/// All that differs.
#[derive(Default, Debug)]
pub(crate) struct Differences {
    pub(crate) reads: Vec<Difference>,
    /// Global memory or the order of effects, when the function ends.
    pub(crate) at_end: Vec<(Option<Memory>, Def, Def)>,
    /// Operations that must be there and are not.
    pub(crate) lost: Vec<Op>,
    /// Operations that must not be there and are.
    pub(crate) added: Vec<Op>,
    /// Blocks that pass on other values.
    pub(crate) passes_on: Vec<(Op, Op)>,
}

/// Two versions, analysed.
pub(crate) struct Versions<'a> {
    pub(crate) before: &'a Function,
    pub(crate) after: &'a Function,
    pub(crate) accesses: (&'a FunctionAccesses, &'a FunctionAccesses),
    pub(crate) names: Correspondence,
}

impl<'a> Versions<'a> {
    pub(crate) fn new(
        mode: Mode,
        before: (&'a Function, &'a FunctionAccesses),
        after: (&'a Function, &'a FunctionAccesses),
    ) -> Versions<'a> {
        let names = correspond(mode, before, after);
        Versions { before: before.0, after: after.0, accesses: (before.1, after.1), names }
    }

    /// The two graphs of values.
    pub(crate) fn reach(&self, mode: Mode) -> (Reach<'a>, Reach<'a>) {
        let idle = |func: &Function, accesses: &FunctionAccesses| {
            let mut skip = vec![false; func.ops.len()];
            if mode == Mode::Moved {
                for o in accesses.ops.iter().filter(|o| is_identity_move(func, o.op, &o.accesses)) {
                    skip[ir::Entity::index(o.op)] = true;
                }
            }
            skip
        };
        let before = idle(self.before, self.accesses.0);
        let mut after = idle(self.after, self.accesses.1);
        // Added synchronisation orders more than before, never less.
        for &op in self.names.added.iter().filter(|&&op| is_sync(&self.after.ops[op])) {
            after[ir::Entity::index(op)] = true;
        }
        (Reach::new(self.before, self.accesses.0, &before), Reach::new(self.after, self.accesses.1, &after))
    }

    /// Compares them.
    pub(crate) fn differences(&self, before: &Reach, after: &Reach) -> Differences {
        let mut out = Differences { passes_on: self.names.passes_on.clone(), ..Differences::default() };
        let mut comparison = Comparison::new(before, after, &self.names);
        for &(b, a) in &self.names.pairs {
            let (found_b, found_a) = (before.found(b), after.found(a));
            if found_b.len() != found_a.len() {
                out.reads.push(Difference {
                    reader: (b, a),
                    what: What::Effect,
                    partial: false,
                    memory: None,
                    bytes: None,
                    contents: None,
                });
                continue;
            }
            for (fb, fa) in found_b.iter().zip(found_a) {
                let access = after.access(a, fa.what);
                let make = |bytes, contents| Difference {
                    reader: (b, a),
                    what: fa.what,
                    partial: fa.partial,
                    memory: access.map(|x| x.memory),
                    bytes,
                    contents,
                };
                let (mut xs, mut ys) = (before.runs(fb).iter().copied(), after.runs(fa).iter().copied());
                let (mut x, mut y) = (xs.next(), ys.next());
                while let (Some(p), Some(q)) = (&mut x, &mut y) {
                    let bytes = p.bytes.min(q.bytes);
                    if let Err(contents) = comparison.same(p.content, p.at, q.content, q.at) {
                        let looked_into = access
                            .is_some_and(|a| matches!(a.memory, Memory::Space(_) | Memory::Root(_) | Memory::Slots(_)));
                        out.reads.push(make(looked_into.then_some((q.at, q.at + bytes)), Some(contents)));
                        (x, y) = (None, None);
                        break;
                    }
                    for (run, rest) in [(&mut x, &mut xs), (&mut y, &mut ys)] {
                        if let Some(r) = run {
                            r.at += bytes;
                            r.bytes -= bytes;
                            if r.bytes == 0 {
                                *run = rest.next();
                            }
                        }
                    }
                }
                if x.is_some() || y.is_some() {
                    out.reads.push(make(None, None));
                }
            }
        }
        let mut end = |memory, b: Content, a: Content| {
            if let Err((x, y)) = comparison.same(b, 0, a, 0) {
                out.at_end.push((memory, x, y));
            }
        };
        for ((memory, b), (_, a)) in before.at_end().into_iter().zip(after.at_end()) {
            end(Some(memory), b, a);
        }
        end(None, before.effects_at_end(), after.effects_at_end());
        for (i, partner) in self.names.partner.iter().enumerate() {
            let op = <Op as ir::Entity>::new(i);
            if partner.is_none() && self.matters(self.before, self.accesses.0, before, op) {
                out.lost.push(op);
            }
        }
        let added = self.names.added.iter().copied();
        let added = added.filter(|&op| !is_sync(&self.after.ops[op]));
        out.added = added.filter(|&op| self.matters(self.after, self.accesses.1, after, op)).collect();
        out
    }

    /// Whether others see an operation, whatever it writes on the chip.
    fn matters(&self, func: &Function, accesses: &FunctionAccesses, reach: &Reach, op: Op) -> bool {
        let data = &func.ops[op];
        if data.opcode.is_terminator() {
            return false;
        }
        let at = reach.position(op) as usize;
        // An operation that stands in no block is none.
        let Some(o) = accesses.ops.get(at).filter(|o| o.op == op) else { return false };
        let stores = o.accesses.iter().any(|a| a.kind == Kind::Write && matches!(a.memory, Memory::Global(_)));
        stores || is_effect(data) || !data.regions.is_empty()
    }
}

/// A plain copy of a tile onto itself.
fn is_identity_move(func: &Function, op: Op, accesses: &[Access]) -> bool {
    let data = &func.ops[op];
    if data.opcode != C::TMov
        || data.attrs.iter().any(|(name, _)| data.opcode.info().attrs.iter().any(|a| a.name == name))
    {
        return false;
    }
    let (Some(&source), Some(dest)) = (data.operands.first(), data.dest()) else { return false };
    let places = |kind: Kind, v: Value| -> Vec<(Memory, Footprint)> {
        let of = accesses.iter().filter(|a| a.kind == kind && a.value == Some(v));
        of.filter(|a| !matches!(a.memory, Memory::Valid(_))).map(|a| (a.memory, a.bytes)).collect()
    };
    let (from, to) = (places(Kind::Read, source), places(Kind::Write, dest));
    let (Some(x), Some(y)) = (func.ty(source).as_tile(), func.ty(dest).as_tile()) else { return false };
    from.len() == 1
        && from == to
        && !matches!(from[0].1, Footprint::Unknown)
        && (x.dtype, x.layout, &x.shape) == (y.dtype, y.layout, &y.shape)
}

/// The accesses of both versions.
pub(crate) fn accesses(arch: chip::Arch, func: &Function) -> FunctionAccesses {
    access::of(arch, func)
}
