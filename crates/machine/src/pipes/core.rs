//! The pipes of one core: issuing to them, and what flags and tokens let go on.

use std::collections::BTreeMap;

use chip::Arch;

use super::queue::{Entry, FifoUse, Flag, Item, Queue, Saved};
use super::{DEPTH, Pipe};
use crate::code::{Class, Code, FifoName, Inst, SUBBLOCK_IDX};
use crate::exec::Trap;
use crate::fifo::Fifo;
use crate::frame::Frame;

/// A token, its takings numbered in program order.
#[derive(Debug, Default)]
struct Token {
    holder: Option<Pipe>,
    last: Option<Pipe>,
    taken: u64,
    released: u64,
}

#[derive(Debug, Default)]
struct Raised {
    /// Sets less waits, of those issued.
    balance: i64,
    /// Sets less waits, of those done.
    raised: u64,
}

/// Why the scalar unit does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// A flag to the scalar unit.
    Flag(Flag),
    Token(u32),
    /// A full queue.
    Room(Pipe),
    /// All queues must be empty.
    Drain,
    Fifo(FifoName),
}

/// What the scalar unit would do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Go,
    Hold(Hold),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    queues: [Queue; 6],
    flags: BTreeMap<Flag, Raised>,
    tokens: BTreeMap<u32, Token>,
    issued: u64,
    /// By FIFO: pops that have been issued.
    pops: Vec<(FifoName, u64)>,
}

pub(super) fn slot(pipe: Pipe) -> Option<usize> {
    Pipe::QUEUED.iter().position(|&p| p == pipe)
}

impl Pipes {
    pub(crate) fn reset(&mut self, arch: Arch) {
        for (queue, pipe) in self.queues.iter_mut().zip(Pipe::QUEUED) {
            queue.clear(pipe.keeps_order(arch));
        }
        self.flags.clear();
        self.tokens.clear();
        self.pops.clear();
        self.issued = 0;
    }

    pub(super) fn queue(&self, pipe: Pipe) -> Option<&Queue> {
        self.queues.get(slot(pipe)?)
    }

    pub(super) fn queue_mut(&mut self, pipe: Pipe) -> Option<&mut Queue> {
        self.queues.get_mut(slot(pipe)?)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queues.iter().all(|q| q.items.is_empty())
    }

    fn has_room(&self, pipe: Pipe) -> Next {
        match self.queue(pipe) {
            Some(queue) if queue.items.len() >= DEPTH => Next::Hold(Hold::Room(pipe)),
            _ => Next::Go,
        }
    }

    fn is_raised(&self, flag: Flag) -> bool {
        self.flags.get(&flag).is_some_and(|f| f.raised > 0)
    }

    /// Whether the scalar unit can do the instruction that it has come to.
    pub(super) fn next(&self, code: &Code, frame: &Frame, fifos: &[Fifo]) -> Next {
        let hold = |when: bool, hold: Hold| if when { Next::Hold(hold) } else { Next::Go };
        let find = |fifo: u32| {
            let name = code.fifos[fifo as usize];
            (name, fifos.iter().find(|f| f.name == name))
        };
        let core = frame.scalars[SUBBLOCK_IDX as usize] as usize;
        let pipe = code.units[frame.pc as usize].pipe;
        match code.insts[frame.pc as usize] {
            // Another rank may read what was stored, once it has been told.
            Inst::End | Inst::Barrier(None) | Inst::Notify { .. } => hold(!self.is_idle(), Hold::Drain),
            Inst::Barrier(Some(pipe)) => self.has_room(pipe),
            Inst::SetFlag { from, .. } => self.has_room(from),
            Inst::WaitFlag { from, to: Pipe::Scalar, event } => {
                let flag = Flag { from, to: Pipe::Scalar, event: frame.int(event) };
                hold(!self.is_raised(flag), Hold::Flag(flag))
            }
            Inst::WaitFlag { to, .. } => self.has_room(to),
            Inst::GetToken { pipe: Pipe::Scalar, token } => {
                let free = self.tokens.get(&token).is_none_or(|t| t.released == t.taken);
                hold(!free, Hold::Token(token))
            }
            Inst::GetToken { pipe, .. } | Inst::FreeToken { pipe, .. } => self.has_room(pipe),
            Inst::Pop { spec } => {
                let (name, fifo) = find(code.pops[spec as usize].fifo);
                match pipe {
                    Pipe::Scalar => hold(fifo.is_some_and(|f| !f.can_pop(core)), Hold::Fifo(name)),
                    // Where its slots lie the other core may have to say first.
                    _ if fifo.is_some_and(|f| f.slots.is_none()) => Next::Hold(Hold::Fifo(name)),
                    _ => self.has_room(pipe),
                }
            }
            _ => self.has_room(pipe),
        }
    }

    /// Does what an instruction of order says, or hands one of a pipe to it. False for one of the scalar unit.
    pub(super) fn issue(&mut self, code: &Code, frame: &mut Frame, fifos: &[Fifo], mem: &[u8]) -> Result<bool, Trap> {
        let pc = frame.pc;
        let unit = code.units[pc as usize];
        match code.insts[pc as usize] {
            Inst::SetFlag { from, to, event } => {
                let flag = Flag { from, to, event: frame.int(event) };
                let state = self.flags.entry(flag).or_default();
                state.balance += 1;
                if state.balance > 1 {
                    let message = format!("{} is raised and has not been waited for since", describe(flag));
                    return Err(Trap::new("flag-raised-twice", message));
                }
                match from {
                    Pipe::Scalar => state.raised += 1,
                    _ => self.give(from, Item::Set(flag)),
                }
            }
            Inst::WaitFlag { from, to, event } => {
                let flag = Flag { from, to, event: frame.int(event) };
                let state = self.flags.entry(flag).or_default();
                state.balance -= 1;
                match to {
                    Pipe::Scalar => state.raised = state.raised.saturating_sub(1),
                    _ => self.give(to, Item::Wait(flag)),
                }
            }
            Inst::Barrier(None | Some(Pipe::Scalar)) => {}
            Inst::Barrier(Some(pipe)) => self.give(pipe, Item::Barrier),
            Inst::GetToken { pipe, token } => {
                let state = self.tokens.entry(token).or_default();
                if let Some(holder) = state.holder.replace(pipe) {
                    let message = format!("token {token} is taken for {} while {} has it", pipe.name(), holder.name());
                    return Err(Trap::new("token-taken", message));
                }
                let item = Item::Get { token, turn: state.taken, again: state.last == Some(pipe) };
                state.taken += 1;
                self.give(pipe, item);
            }
            Inst::FreeToken { pipe, token } => {
                let state = self.tokens.entry(token).or_default();
                if state.holder.take() != Some(pipe) {
                    let message = format!("token {token} is given back by {}, which does not have it", pipe.name());
                    return Err(Trap::new("token-free", message));
                }
                state.last = Some(pipe);
                match pipe {
                    Pipe::Scalar => state.released = state.taken,
                    _ => {
                        let turn = state.taken - 1;
                        self.give(pipe, Item::Release { token, turn });
                    }
                }
            }
            Inst::UnknownOrder(n) => return Err(Trap::new("pipe-order", code.traps[n as usize].clone())),
            _ if unit.pipe == Pipe::Scalar => return Ok(false),
            Inst::Transfer { .. } => {
                // Its two pipes wait for each other.
                let hidden = |from, to| Flag { from, to, event: Flag::HIDDEN };
                let (filled, emptied) = (hidden(Pipe::Mte2, Pipe::Mte3), hidden(Pipe::Mte3, Pipe::Mte2));
                self.give(Pipe::Mte2, Item::Set(filled));
                self.give(Pipe::Mte3, Item::Wait(filled));
                self.enqueue(code, frame, fifos, mem)?;
                self.give(Pipe::Mte3, Item::Set(emptied));
                self.give(Pipe::Mte2, Item::Wait(emptied));
            }
            _ => self.enqueue(code, frame, fifos, mem)?,
        }
        frame.pc += 1;
        Ok(true)
    }

    fn give(&mut self, pipe: Pipe, item: Item) {
        if let Some(queue) = self.queue_mut(pipe) {
            queue.items.push_back(item);
        }
    }

    fn enqueue(&mut self, code: &Code, frame: &mut Frame, fifos: &[Fifo], mem: &[u8]) -> Result<(), Trap> {
        let pc = frame.pc;
        let (inst, unit) = (&code.insts[pc as usize], code.units[pc as usize]);
        let fifo = match *inst {
            Inst::Push { fifo, .. } => Some(FifoUse::Push(code.fifos[fifo as usize])),
            Inst::Pop { spec } => Some(FifoUse::Pop(code.fifos[code.pops[spec as usize].fifo as usize])),
            Inst::Free { fifo } => Some(FifoUse::Free(code.fifos[fifo as usize])),
            _ => None,
        };
        if let Inst::Pop { spec } = *inst {
            self.announce(code, frame, fifos, spec)?;
        }
        let mut saved = Vec::new();
        inst.operands(code, &mut |class, reg| {
            saved.push(match class {
                Class::Tile => Saved::Tile(reg, frame.tiles[reg as usize]),
                Class::View => Saved::View(reg, frame.views[reg as usize]),
                Class::Scalar | Class::Tensor => Saved::Scalar(reg, frame.scalars[reg as usize]),
            });
        });
        let atomic = match *inst {
            Inst::AtomicStore { .. } | Inst::ScatterView { atomic: Some(_), .. } => true,
            Inst::Transfer { spec } => code.transfers[spec as usize].add,
            _ => false,
        };
        let indices = match *inst {
            Inst::GatherView { dst, index, .. } if unit.looks_early && dst != index => {
                let tile = &frame.tiles[index as usize];
                let bytes = mem.get(tile.offset..tile.offset + tile.byte_len());
                Some((index, bytes.map_or(Vec::new(), <[u8]>::to_vec)))
            }
            _ => None,
        };
        let number = self.issued;
        self.issued += 1;
        let Some(queue) = self.queue_mut(unit.pipe) else { return Ok(()) };
        // Steps of one operation run as one.
        if let Some(Item::Run(before)) = queue.items.back_mut()
            && before.last + 1 == pc
            && code.ops[pc as usize].is_some()
            && code.ops[before.last as usize] == code.ops[pc as usize]
        {
            before.last = pc;
            before.atomic |= atomic;
            before.saved.append(&mut saved);
            return Ok(());
        }
        queue.items.push_back(Item::Run(Entry { number, first: pc, last: pc, saved, fifo, atomic, indices }));
        Ok(())
    }

    /// What a pop that has not run will yield.
    fn announce(&mut self, code: &Code, frame: &mut Frame, fifos: &[Fifo], spec: u32) -> Result<(), Trap> {
        let spec = &code.pops[spec as usize];
        let name = code.fifos[spec.fifo as usize];
        // One that is not set up is an error when the pop runs.
        let Some(fifo) = fifos.iter().find(|f| f.name == name) else { return Ok(()) };
        let count = match self.pops.iter_mut().find(|(n, _)| *n == name) {
            Some((_, count)) => count,
            None => {
                self.pops.push((name, 0));
                let last = self.pops.len() - 1;
                &mut self.pops[last].1
            }
        };
        let core = frame.scalars[SUBBLOCK_IDX as usize] as usize;
        let valid = frame.pop_extents(spec)?;
        if let Some(tile) = fifo.popped_tile(*count, spec, valid, core) {
            frame.tiles[spec.dst as usize] = tile;
        }
        *count += 1;
        Ok(())
    }

    /// Flags, barriers and tokens that what has ended lets go on.
    pub(super) fn settle(&mut self) {
        while (0..self.queues.len()).any(|n| self.settle_one(n)) {}
    }

    /// Whether something has changed for others.
    fn settle_one(&mut self, n: usize) -> bool {
        let Pipes { queues, flags, tokens, .. } = self;
        let queue = &mut queues[n];
        let mut news = false;
        loop {
            // Of what is open already only the front may have something to say: all before it has ended.
            let at = match queue.items.front() {
                Some(Item::Run(_)) | None => queue.open,
                Some(_) => 0,
            };
            let done = match queue.items.get(at) {
                None => break,
                Some(Item::Run(_)) => false,
                Some(Item::Set(_) | Item::Release { .. }) if at > 0 => false,
                Some(Item::Set(flag)) => {
                    flags.entry(*flag).or_default().raised += 1;
                    news = true;
                    true
                }
                Some(Item::Release { token, turn }) => {
                    let token = tokens.entry(*token).or_default();
                    token.released = token.released.max(turn + 1);
                    news = true;
                    true
                }
                Some(Item::Wait(flag)) => match flags.get_mut(flag).filter(|f| f.raised > 0) {
                    Some(flag) => {
                        flag.raised -= 1;
                        true
                    }
                    None => break,
                },
                Some(Item::Barrier) if at == 0 => true,
                Some(Item::Barrier) => break,
                Some(Item::Get { token, turn, again }) => {
                    let free = tokens.get(token).is_some_and(|t| t.released >= *turn);
                    if !free && !*again {
                        break;
                    }
                    true
                }
            };
            if done {
                queue.items.remove(at);
                queue.open -= usize::from(at < queue.open);
            } else {
                queue.open += 1;
            }
        }
        news
    }

    /// Whether an entry that its queue lets go may run.
    pub(super) fn may_run(&self, queue: &Queue, at: usize, core: usize, fifos: &[Fifo]) -> bool {
        let Some(entry) = queue.entry(at) else { return false };
        if entry.atomic && self.has_atomic_before(entry.number) {
            return false;
        }
        let Some(used) = entry.fifo else { return true };
        let ready = |name: FifoName, push: bool| {
            // One that is not set up is an error of the instruction.
            let fifo = fifos.iter().find(|f| f.name == name);
            fifo.is_none_or(|f| if push { f.can_push(core) } else { f.can_pop(core) })
        };
        match used {
            FifoUse::Push(name) => at == 0 && ready(name, true),
            FifoUse::Pop(name) => !queue.is_behind(at, used) && ready(name, false),
            FifoUse::Free(_) => !queue.is_behind(at, used),
        }
    }

    fn has_atomic_before(&self, number: u64) -> bool {
        let before = |item: &Item| matches!(item, Item::Run(e) if e.atomic && e.number < number);
        self.queues.iter().any(|q| q.items.iter().any(before))
    }

    /// Why a function may not end like this.
    pub(super) fn unpaired(&self) -> Option<Trap> {
        let flag = self.flags.iter().find(|(_, f)| f.raised > 0);
        let flag = flag.map(|(&f, _)| Trap::new("flag-left-raised", format!("{} is raised at the end", describe(f))));
        flag.or_else(|| {
            let held = self.tokens.iter().find_map(|(id, t)| Some((id, t.holder?)));
            held.map(|(id, pipe)| Trap::new("token-kept", format!("{} has token {id} at the end", pipe.name())))
        })
    }
}

pub(super) fn describe(flag: Flag) -> String {
    format!("flag {} of {} to {}", flag.event, flag.from.name(), flag.to.name())
}
