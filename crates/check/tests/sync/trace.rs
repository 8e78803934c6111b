//! One execution after another: the oracle of the checker's tests. It shares nothing with it but the access model.
//!
//! An execution goes through a kernel with turns of loops and ways through branches that it chooses, and keeps for every
//! pipe how many instructions of each other pipe are known to have ended. Two instances that touch the same bytes (one
//! writing) without being ordered are a hazard. Addresses with run-time parts are compared as in one turn, so that what
//! it finds is no more than what may happen.

use std::collections::BTreeMap;

use check::access::{self, Access, Memory};
use chip::Arch;
use control::Control;
use ir::info::Pipe;
use ir::{Block, FuncId, Function, Op, OpData, Opcode as C, Program};

const PIPES: [(Pipe, &str); 7] = [
    (Pipe::Scalar, "PIPE_S"),
    (Pipe::Vector, "PIPE_V"),
    (Pipe::Matrix, "PIPE_M"),
    (Pipe::Mte1, "PIPE_MTE1"),
    (Pipe::Mte2, "PIPE_MTE2"),
    (Pipe::Mte3, "PIPE_MTE3"),
    (Pipe::Fix, "PIPE_FIX"),
];
/// Longer executions are cut off.
const LONGEST: usize = 4000;

/// How many instructions of each pipe.
type Clock = [usize; 7];

struct Execution<'a> {
    func: &'a Function,
    arch: Arch,
    accesses: &'a BTreeMap<Op, (usize, Vec<Access>)>,
    control: &'a mut Control,
    /// By pipe, in order.
    issued: [Vec<Op>; 7],
    known: [Clock; 7],
    raised: BTreeMap<(usize, usize, String), Vec<Clock>>,
    /// Who gave a token back last, and what that pipe knew.
    tokens: BTreeMap<i64, (usize, Clock)>,
    hazard: Option<(Op, Op)>,
}

/// Whether the oracle understands all operations of a kernel.
pub(crate) fn understands(func: &Function) -> bool {
    func.walk().iter().all(|&op| {
        let name = func.ops[op].opcode.name();
        !name.starts_with("comm.")
            && !matches!(func.ops[op].opcode, C::MGather | C::Section | C::Trap | C::Call | C::FenceBarrierAll)
            && !matches!(func.ops[op].opcode, C::RecordEvent | C::SetFlagDyn)
    })
}

/// Two operations that some of `executions` executions do not order.
pub(crate) fn hazard(program: &Program, id: FuncId, executions: usize, control: &mut Control) -> Option<(Op, Op)> {
    let func = &program.functions[id];
    let mut accesses = BTreeMap::new();
    for of in access::of_function(program, id).ops {
        let pipe = PIPES.iter().position(|(p, _)| *p == of.pipe);
        // What waits for others has ended when the next is issued, and syncs move nothing.
        if matches!(func.ops[of.op].opcode, C::SyncAll | C::CacheInvalid) {
            continue;
        }
        let bytes = |a: &Access| !matches!(a.memory, Memory::Valid(_) | Memory::Locals);
        let touched: Vec<Access> = of.accesses.into_iter().filter(bytes).collect();
        if !touched.is_empty() {
            accesses.insert(of.op, (pipe.unwrap_or(0), touched));
        }
    }
    (0..executions).find_map(|_| {
        let mut run = Execution {
            func,
            arch: program.arch,
            accesses: &accesses,
            control,
            issued: Default::default(),
            known: [[0; 7]; 7],
            raised: BTreeMap::new(),
            tokens: BTreeMap::new(),
            hazard: None,
        };
        run.block(func.body);
        run.hazard
    })
}

impl Execution<'_> {
    fn block(&mut self, block: Block) {
        for &op in &self.func.blocks[block].ops {
            if self.hazard.is_some() || self.issued.iter().map(Vec::len).sum::<usize>() > LONGEST {
                return;
            }
            let data = &self.func.ops[op];
            match data.opcode {
                C::If => {
                    let way = self.control.choose(2);
                    self.block(data.regions[way]);
                }
                C::For => (0..self.turns(data)).for_each(|_| self.block(data.regions[0])),
                C::While => {
                    for _ in 0..self.control.choose(3) {
                        data.regions.iter().for_each(|&r| self.block(r));
                    }
                    self.block(data.regions[0]);
                }
                _ => self.operation(op, data),
            }
        }
    }

    /// The first turns of a long loop.
    fn turns(&mut self, data: &OpData) -> usize {
        let number = |name: &str| self.func.const_int(data.named(name)[0]);
        let Some((lower, (upper, step))) = number("lower").zip(number("upper").zip(number("step"))) else {
            return self.control.choose(4);
        };
        let turns = (lower..upper).step_by(usize::try_from(step).unwrap_or(1).max(1)).count();
        turns.min(3)
    }

    fn pipe(word: Option<&str>) -> Option<usize> {
        PIPES.iter().position(|(_, name)| Some(*name) == word)
    }

    fn operation(&mut self, op: Op, data: &OpData) {
        let issued: Clock = std::array::from_fn(|p| self.issued[p].len());
        let event = || {
            let (from, to) = (Self::pipe(data.attrs.word("from")), Self::pipe(data.attrs.word("to")));
            (from.expect("a pipe"), to.expect("a pipe"), data.attrs.word("event").unwrap_or_default().to_owned())
        };
        match data.opcode {
            C::SetFlag => {
                let key = event();
                let mut clock = self.known[key.0];
                clock[key.0] = issued[key.0];
                self.raised.entry(key).or_default().push(clock);
            }
            C::WaitFlag => {
                let key = event();
                let to = key.1;
                let Some(clock) = self.raised.get_mut(&key).filter(|c| !c.is_empty()).map(|c| c.remove(0)) else {
                    return;
                };
                let receivers = if to == 0 { 0..7 } else { to..to + 1 };
                for p in receivers {
                    (0..7).for_each(|q| self.known[p][q] = self.known[p][q].max(clock[q]));
                    if to == 0 {
                        let scalar = self.known[0];
                        (1..7).for_each(|q| self.known[p][q] = self.known[p][q].max(scalar[q]));
                    }
                }
            }
            C::RlsBuf | C::GetBuf => {
                let pipe = match data.attrs.word("source") {
                    Some("TLOAD") => 4,
                    Some("TSTORE_VEC") => 5,
                    Some("TMOV_M2L" | "TMOV_M2B") => 3,
                    Some("TMATMUL") => 2,
                    Some("TVEC" | "TVECWAIT_EVENT" | "TMOV_M2V") => 1,
                    _ => 6,
                };
                let id = data.attrs.int("buffer").unwrap_or(-1);
                if data.opcode == C::RlsBuf {
                    let mut clock = self.known[pipe];
                    clock[pipe] = issued[pipe];
                    self.tokens.insert(id, (pipe, clock));
                } else if let Some((_, clock)) = self.tokens.get(&id).filter(|t| t.0 != pipe) {
                    (0..7).for_each(|q| self.known[pipe][q] = self.known[pipe][q].max(clock[q]));
                }
            }
            C::Barrier => match Self::pipe(data.attrs.word("pipe")) {
                Some(p) => self.known[p][p] = issued[p],
                None => self.known = [issued; 7],
            },
            _ => self.instruction(op),
        }
    }

    fn instruction(&mut self, op: Op) {
        let accesses = self.accesses;
        let Some((pipe, mine)) = accesses.get(&op) else { return };
        let in_order = *pipe == 0 || self.arch == Arch::A5 && (*pipe == 1 || *pipe == 2);
        for other in (0..7).filter(|&o| !(o == *pipe && in_order)) {
            for &earlier in self.issued[other].iter().skip(self.known[*pipe][other]) {
                let theirs = &accesses[&earlier].1;
                let conflict = mine.iter().any(|a| theirs.iter().any(|b| (a.writes() || b.writes()) && a.overlaps(b)));
                if conflict {
                    self.hazard = Some((op, earlier));
                    return;
                }
            }
        }
        let blocks = *pipe == 0 && matches!(self.func.ops[op].opcode, C::TPopFromAic | C::TPopFromAiv | C::TPop);
        if !blocks {
            self.issued[*pipe].push(op);
        }
    }
}
