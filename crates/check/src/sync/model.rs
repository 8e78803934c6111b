//! A kernel as the scalar unit sees it: per operation the steps it starts on pipes, and what it does to flags, barriers
//! and tokens.
//!
//! Most operations are one step. What the device does in several phases on different pipes is several, with the flags
//! between them that the phases use themselves: no flag of the program may be in flight there under the same name.

use std::collections::BTreeMap;

use chip::{Arch, Space};
use diag::Diagnostic;
use ir::{Entity, FuncId, Function, FunctionKind, Op, OpData, Opcode as C, Program, Value};

use super::conflict::{Cell, Cells};
use super::queue::Queue;
use crate::access::{self, Access, Kind, Memory};

/// Names a flag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Flag {
    pub from: Queue,
    pub to: Queue,
    pub event: i64,
}

impl std::fmt::Display for Flag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} to {}", self.event, self.from.name(), self.to.name())
    }
}

/// Which accesses a fence is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fenced {
    Local,
    Global,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// An instruction is issued: its number in [`Model::steps`].
    Start(usize),
    Set(Flag),
    Wait(Flag),
    /// The pipe's next instruction starts after all its earlier ones have ended.
    Barrier(Queue),
    /// The scalar unit waits for all pipes.
    Drain,
    /// Accesses of this kind before it have ended before any after it starts.
    Fence(Fenced),
    Get(Queue, i64),
    Release(Queue, i64),
    /// Other cores may read what this core stored.
    Publish,
    /// Nothing follows.
    Stop,
}

/// An instruction of one pipe.
#[derive(Debug)]
pub(super) struct Step {
    pub op: Op,
    pub queue: Queue,
    pub uses: Vec<Use>,
    /// The scalar unit goes on only when it has ended.
    pub blocking: bool,
    /// Its bits in a set of steps, for what it does to local and to global memory.
    pub local: Option<usize>,
    pub global: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub cell: Cell,
    pub writes: bool,
    pub value: Option<Value>,
}

pub(super) struct Model<'a> {
    pub func: &'a Function,
    pub arch: Arch,
    pub steps: Vec<Step>,
    pub cells: Cells,
    /// By operation.
    actions: Vec<Vec<Action>>,
    /// By operation.
    position: Vec<usize>,
    /// All sets of a flag, in program order.
    pub sets: BTreeMap<Flag, Vec<Op>>,
    pub tokens: Vec<i64>,
    pub unsupported: Vec<Diagnostic>,
}

impl<'a> Model<'a> {
    pub(super) fn new(program: &'a Program, id: FuncId) -> Model<'a> {
        let func = &program.functions[id];
        let mut model = Model {
            func,
            arch: program.arch,
            steps: Vec::new(),
            cells: Cells::default(),
            actions: vec![Vec::new(); func.ops.len()],
            position: vec![0; func.ops.len()],
            sets: BTreeMap::new(),
            tokens: Vec::new(),
            unsupported: Vec::new(),
        };
        let all = access::of_function(program, id);
        for (position, of) in all.ops.iter().enumerate() {
            model.position[of.op.index()] = position;
            let actions = model.translate(program, of);
            for action in &actions {
                match *action {
                    Action::Set(flag) => model.sets.entry(flag).or_default().push(of.op),
                    Action::Get(_, token) if !model.tokens.contains(&token) => model.tokens.push(token),
                    _ => {}
                }
            }
            model.actions[of.op.index()] = actions;
        }
        model.cells.number(&mut model.steps, model.arch);
        model
    }

    pub(super) fn actions(&self, op: Op) -> &[Action] {
        &self.actions[op.index()]
    }

    /// The place of an operation in program order.
    pub(super) fn position(&self, op: Op) -> usize {
        self.position[op.index()]
    }

    fn translate(&mut self, program: &Program, of: &access::OpAccesses) -> Vec<Action> {
        let data = &self.func.ops[of.op];
        match data.opcode {
            C::SetFlag | C::WaitFlag | C::RecordEvent | C::WaitEvent | C::SetFlagDyn | C::WaitFlagDyn => {
                let Some(flag) = self.flag(of.op, data) else { return Vec::new() };
                let sets = matches!(data.opcode, C::SetFlag | C::RecordEvent | C::SetFlagDyn);
                vec![if sets { Action::Set(flag) } else { Action::Wait(flag) }]
            }
            C::Barrier => match data.attrs.word("pipe").and_then(Queue::named) {
                Some(queue) => vec![Action::Barrier(queue)],
                None => vec![Action::Drain],
            },
            C::FenceBarrierAll => match data.attrs.word("scope") {
                Some("local_memory") => vec![Action::Fence(Fenced::Local)],
                Some("gm") => vec![Action::Fence(Fenced::Global)],
                _ => vec![Action::Drain],
            },
            C::GetBuf | C::RlsBuf => {
                let queue = data.attrs.word("source").and_then(Queue::of_endpoint);
                let (Some(queue), Some(token)) = (queue, data.attrs.int("buffer")) else {
                    self.cannot(of.op, "its pipe or token is not known");
                    return Vec::new();
                };
                vec![if data.opcode == C::GetBuf { Action::Get(queue, token) } else { Action::Release(queue, token) }]
            }
            C::TSync if !data.operands.is_empty() => {
                self.cannot(of.op, "what the events stand for is not known; `wait_flag` and `wait_event` are");
                Vec::new()
            }
            C::SyncAll | C::SyncAllSoft => vec![Action::Publish],
            C::Trap => vec![Action::Stop],
            C::Call => match self.reads_of(program, data) {
                Some(reads) => self.step(of.op, Queue::S, &reads).into_iter().collect(),
                None => {
                    self.cannot(
                        of.op,
                        "it calls a function that writes memory or uses pipes; calls of scalar code are supported",
                    );
                    Vec::new()
                }
            },
            // It says what the scalar cache holds, and moves nothing.
            C::CacheInvalid => Vec::new(),
            C::CommTNotify => {
                let mut actions = vec![Action::Drain];
                actions.extend(self.step(of.op, Queue::S, &of.accesses));
                actions
            }
            _ => self.instruction(of, data),
        }
    }

    fn instruction(&mut self, of: &access::OpAccesses, data: &OpData) -> Vec<Action> {
        if let Some(actions) = self.phases(of, data) {
            return actions;
        }
        let touches = of.accesses.iter().any(matters);
        if !touches {
            return Vec::new();
        }
        if data.opcode.info().pipe == ir::info::Pipe::BySpace && Queue::of(of.pipe).is_none() {
            self.cannot(of.op, "which pipe runs it between these buffers is not known");
            return Vec::new();
        }
        // What no pipe executes the scalar unit does.
        let queue = Queue::of(of.pipe).unwrap_or(Queue::S);
        self.step(of.op, queue, &of.accesses).into_iter().collect()
    }

    /// What the device does in several phases.
    fn phases(&mut self, of: &access::OpAccesses, data: &OpData) -> Option<Vec<Action>> {
        let to_vec = data.dest().and_then(|d| self.func.ty(d).as_tile()).and_then(|t| t.space) == Some(Space::Vec);
        match data.opcode {
            // Indices are read by the scalar unit, rows by the transfer.
            C::MGather if self.arch == Arch::A2a3 && to_vec => {
                let (indices, rest): (Vec<_>, Vec<_>) =
                    of.accesses.iter().cloned().partition(|a| a.operand == "indices");
                let mut actions: Vec<Action> = self.step(of.op, Queue::S, &indices).into_iter().collect();
                actions.extend(self.step(of.op, Queue::Mte2, &rest));
                Some(actions)
            }
            C::CommTPut | C::CommTGet | C::CommBroadcast | C::CommGather | C::CommScatter | C::CommReduce => {
                Some(self.transfer(of, data))
            }
            _ => None,
        }
    }

    /// A transfer between ranks: MTE2 fills the staging tiles, MTE3 empties them, by turns.
    fn transfer(&mut self, of: &access::OpAccesses, data: &OpData) -> Vec<Action> {
        let spreads = matches!(data.opcode, C::CommBroadcast | C::CommScatter);
        let only = |kind: Kind, wanted: &[&str]| -> Vec<Access> {
            let all = of.accesses.iter().filter(|a| wanted.contains(&a.operand));
            let mut all: Vec<Access> = all.map(|a| Access { kind, ..*a }).collect();
            all.dedup();
            all
        };
        let mut filled = only(Kind::Read, if spreads { &["source"] } else { &["source", "group"] });
        let staging = only(Kind::Scratch, &["staging", "acc"]);
        filled.extend(staging.iter().cloned());
        let mut emptied = only(Kind::Write, if spreads { &["dest", "group"] } else { &["dest"] });
        emptied.extend(staging.iter().map(|a| Access { kind: Kind::Read, ..a.clone() }));
        let turns = data.named("staging").len().max(1) as i64;
        let mut actions: Vec<Action> = self.step(of.op, Queue::Mte2, &filled).into_iter().collect();
        let pass = |actions: &mut Vec<Action>, from: Queue, to: Queue| {
            let flags = (0..turns).map(|event| Flag { from, to, event });
            actions.extend(flags.clone().map(Action::Set));
            actions.extend(flags.map(Action::Wait));
        };
        if data.opcode == C::CommReduce {
            pass(&mut actions, Queue::Mte2, Queue::V);
            actions.extend(self.step(of.op, Queue::V, &staging));
            pass(&mut actions, Queue::V, Queue::Mte3);
        } else {
            pass(&mut actions, Queue::Mte2, Queue::Mte3);
        }
        actions.extend(self.step(of.op, Queue::Mte3, &emptied));
        pass(&mut actions, Queue::Mte3, Queue::Mte2);
        actions
    }

    fn step(&mut self, op: Op, queue: Queue, accesses: &[Access]) -> Option<Action> {
        let mut uses: Vec<Use> = Vec::new();
        for a in accesses.iter().filter(|a| matters(a)) {
            let one = Use { cell: self.cells.of(a), writes: a.writes(), value: a.value };
            if !uses.iter().any(|u| u.cell == one.cell && u.writes == one.writes) {
                uses.push(one);
            }
        }
        if uses.is_empty() {
            return None;
        }
        let opcode = self.func.ops[op].opcode;
        let pop = matches!(opcode, C::TPopFromAic | C::TPopFromAiv | C::TPop);
        let blocking = queue == Queue::S && (pop || matches!(opcode, C::CommTWait | C::CommTTest));
        self.steps.push(Step { op, queue, uses, blocking, local: None, global: None });
        Some(Action::Start(self.steps.len() - 1))
    }

    fn flag(&mut self, op: Op, data: &OpData) -> Option<Flag> {
        let word = |name: &str| data.attrs.word(name);
        let (from, to) = match data.opcode {
            C::SetFlag | C::WaitFlag => (word("from").and_then(Queue::named), word("to").and_then(Queue::named)),
            C::SetFlagDyn | C::WaitFlagDyn => {
                (word("from_pipe").and_then(Queue::named), word("to_pipe").and_then(Queue::named))
            }
            _ => (word("source").and_then(Queue::of_endpoint), word("target").and_then(Queue::of_endpoint)),
        };
        let event = match data.opcode {
            C::SetFlagDyn | C::WaitFlagDyn => self.func.const_int(data.named("event")[0]),
            _ => word("event").and_then(|w| w.strip_prefix("EVENT_ID")?.parse().ok()),
        };
        match (from, to, event) {
            (Some(from), Some(to), Some(event)) => Some(Flag { from, to, event }),
            (Some(_), Some(_), None) => {
                self.cannot(op, "its event is known at run time only; constant events are supported");
                None
            }
            _ => {
                self.cannot(op, "a flag is from one pipe to one other, not of all pipes");
                None
            }
        }
    }

    /// What a helper function reads of global memory, by its arguments; `None` if it does more than that and scalar
    /// arithmetic.
    fn reads_of(&self, program: &Program, data: &OpData) -> Option<Vec<Access>> {
        let callee = program.function(data.attrs.symbols("callee")?.first()?)?;
        let f = &program.functions[callee];
        if f.kind != FunctionKind::Helper {
            return None;
        }
        let mut reads = false;
        for op in f.walk() {
            let opcode = f.ops[op].opcode;
            // A barrier there orders more than is counted on here.
            let scalar =
                matches!(opcode.family().title, "Control flow" | "Scalars") || matches!(opcode, C::AddPtr | C::Barrier);
            reads |= opcode == C::LoadScalar;
            if !scalar && opcode != C::LoadScalar {
                return None;
            }
        }
        let pointers = data.named("args").iter().filter(|&&v| matches!(self.func.ty(v), ir::Type::Ptr(_)));
        let read = |&value: &Value| Access {
            operand: "args",
            value: Some(value),
            kind: Kind::Read,
            must: false,
            memory: Memory::Global(self.parameter(value)),
            bytes: access::Footprint::Unknown,
            in_place: false,
        };
        Some(if reads { pointers.map(read).collect() } else { Vec::new() })
    }

    /// The parameter that a pointer comes from.
    fn parameter(&self, mut pointer: Value) -> Option<Value> {
        loop {
            match self.func.values[pointer].def {
                ir::Def::Arg(block, _) => return (block == self.func.body).then_some(pointer),
                ir::Def::Result(op, _) if self.func.ops[op].opcode == C::AddPtr => {
                    pointer = self.func.ops[op].operands[0];
                }
                ir::Def::Result(..) => return None,
            }
        }
    }

    fn cannot(&mut self, op: Op, why: &str) {
        let data = &self.func.ops[op];
        let message = format!("order between pipes cannot be judged at `{}`: {why}", data.opcode.name());
        let d = Diagnostic::unsupported("sync-unsupported", message).at(data.span, "here");
        self.unsupported.push(d.note(format!("in `{}`", self.func.name)));
    }
}

/// Whether an access is to bytes that pipes share; extents of tiles and scalars are read when an instruction is issued.
fn matters(access: &Access) -> bool {
    !matches!(access.memory, Memory::Valid(_) | Memory::Locals)
}
