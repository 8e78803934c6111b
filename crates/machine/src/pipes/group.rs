//! A group under [`Order::Pipes`](super::Order::Pipes): one step after another, of whoever the policy says.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use diag::Diagnostic;

use super::core::Next;
use super::policy::{Agent, Pick, Policy, Scheduler};
use super::queue::{Entry, Saved};
use super::{DEPTH, Pipe};
use crate::code::SUBBLOCK_IDX;
use crate::exec::{Stop, Trap};
use crate::frame::Frame;
use crate::group::{Group, Outcome, State};

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Go {
    /// All stand at a `syncall`: the launch goes on, whatever is left in the queues.
    Park,
    /// The scalar unit of a lane does its next instruction.
    Scalar(usize),
    /// A pipe runs an entry of its queue.
    Entry { lane: usize, pipe: Pipe, at: usize },
}

impl Group {
    /// Runs as far as possible.
    pub(crate) fn run_pipes(
        &mut self,
        scheduler: &mut Scheduler,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Outcome, Diagnostic> {
        for steps in 0u64.. {
            if steps & 0xff == 0xff && interrupt.is_some_and(|i| i.load(Relaxed)) {
                return Ok(Outcome::Interrupted);
            }
            self.lanes.iter_mut().for_each(|lane| lane.pipes.settle());
            if self.lanes.iter().all(|l| l.state == State::Done) {
                break;
            }
            match self.choose(scheduler) {
                Some(Go::Park) => return Ok(Outcome::Parked),
                Some(Go::Scalar(lane)) => self.scalar_step(lane)?,
                Some(Go::Entry { lane, pipe, at }) => self.pipe_step(lane, pipe, at)?,
                None if self.standing().next().is_some() => return Ok(Outcome::Parked),
                None => return Err(self.stuck()),
            }
        }
        self.balanced()
    }

    fn choose(&self, scheduler: &mut Scheduler) -> Option<Go> {
        let parked = self.lanes.iter().all(|l| matches!(l.state, State::Done | State::Standing(_)));
        if parked && scheduler.policy == Policy::Lazy {
            return Some(Go::Park);
        }
        let goes = |lane: usize| {
            let at = &self.lanes[lane];
            match at.state {
                // Stands for the launch.
                State::Standing(_) => parked,
                State::Done => false,
                _ => at.pipes.next(&at.code, &at.frame, &self.fifos) == Next::Go,
            }
        };
        let lanes = 0..self.lanes.len();
        let mut agents: Vec<Agent> =
            lanes.clone().filter(|&lane| goes(lane)).map(|lane| Agent { lane, pipe: Pipe::Scalar }).collect();
        if scheduler.policy == Policy::Lazy {
            return agents.first().map(|a| Go::Scalar(a.lane)).or_else(|| self.lazily());
        }
        for pipe in Pipe::QUEUED {
            let ready = lanes.clone().filter(|&lane| self.place(lane, pipe, Pick::Oldest, DEPTH).is_some());
            agents.extend(ready.map(|lane| Agent { lane, pipe }));
        }
        let Agent { lane, pipe } = scheduler.choose(&agents)?;
        match pipe {
            Pipe::Scalar if parked => Some(Go::Park),
            Pipe::Scalar => Some(Go::Scalar(lane)),
            _ => self.place(lane, pipe, scheduler.pick(), DEPTH).map(|at| Go::Entry { lane, pipe, at }),
        }
    }

    /// The place of the entry that a pipe takes next, of those before `limit`.
    pub(super) fn place(&self, lane: usize, pipe: Pipe, pick: Pick, limit: usize) -> Option<usize> {
        let lane = &self.lanes[lane];
        let queue = lane.pipes.queue(pipe)?;
        let core = lane.frame.scalars[SUBBLOCK_IDX as usize] as usize;
        let end = queue.places().min(limit);
        let may = |&at: &usize| lane.pipes.may_run(queue, at, core, &self.fifos);
        match pick {
            Pick::Oldest => (0..end).find(may),
            Pick::Youngest => (0..end).rev().find(may),
            Pick::From(share) => {
                let start = (end * share as usize) >> 16;
                (start..end).chain(0..start).find(may)
            }
        }
    }

    fn scalar_step(&mut self, n: usize) -> Result<(), Diagnostic> {
        let lane = &mut self.lanes[n];
        match lane.pipes.issue(&lane.code, &mut lane.frame, &self.fifos, self.arena.bytes()) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(trap) => return Err(self.refuse(n, &trap)),
        }
        match self.with(n, None, |frame, code, machine| frame.step(code, machine)) {
            Ok(Some(Stop::Done | Stop::Host(_))) => {
                self.lanes[n].state = State::Done;
                match self.lanes[n].pipes.unpaired() {
                    Some(trap) => Err(self.refuse(n, &trap)),
                    None => Ok(()),
                }
            }
            Ok(Some(Stop::SyncAll(kind))) => {
                self.lanes[n].state = State::Standing(kind);
                Ok(())
            }
            // That it need not wait for a FIFO has been asked before.
            Ok(Some(Stop::Wait { .. } | Stop::Interrupted) | None) => Ok(()),
            Err(trap) => Err(self.fault(n, &trap)),
        }
    }

    fn pipe_step(&mut self, n: usize, pipe: Pipe, at: usize) -> Result<(), Diagnostic> {
        let Some(mut entry) = self.lanes[n].pipes.queue_mut(pipe).and_then(|q| q.take(at)) else { return Ok(()) };
        if let Err(trap) = self.lay_out_indices(&mut entry) {
            self.lanes[n].frame.pc = entry.first;
            return Err(self.refuse(n, &trap));
        }
        let frame = &mut self.lanes[n].frame;
        let pc = frame.pc;
        entry.saved.iter_mut().for_each(|saved| exchange(frame, saved));
        for at in entry.first..=entry.last {
            self.lanes[n].frame.pc = at;
            if let Err(trap) = self.with(n, None, |frame, code, machine| frame.step(code, machine)) {
                return Err(self.fault(n, &trap));
            }
        }
        // A register may be there twice.
        let frame = &mut self.lanes[n].frame;
        entry.saved.iter_mut().rev().for_each(|saved| exchange(frame, saved));
        frame.pc = pc;
        Ok(())
    }

    /// Puts indices that were looked at early where the instruction finds them.
    fn lay_out_indices(&mut self, entry: &mut Entry) -> Result<(), Trap> {
        let Some((reg, bytes)) = entry.indices.take() else { return Ok(()) };
        let scratch = self.scratch;
        let Some(room) = self.arena.bytes().get_mut(scratch..).and_then(|s| s.get_mut(..bytes.len())) else {
            let message = format!("{} bytes of indices; there is room for {}", bytes.len(), Group::SCRATCH);
            return Err(Trap::new("tile-fault", message));
        };
        room.copy_from_slice(&bytes);
        for saved in &mut entry.saved {
            if let Saved::Tile(r, tile) = saved
                && *r == reg
            {
                tile.offset = scratch;
            }
        }
        Ok(())
    }

    /// An error at the instruction that is next.
    fn refuse(&mut self, n: usize, trap: &Trap) -> Diagnostic {
        self.lanes[n].frame.pc += 1;
        self.fault(n, trap)
    }
}

/// A register and what it held when an instruction was issued change places.
fn exchange(frame: &mut Frame, saved: &mut Saved) {
    match saved {
        Saved::Scalar(reg, value) => std::mem::swap(&mut frame.scalars[*reg as usize], value),
        Saved::Tile(reg, value) => std::mem::swap(&mut frame.tiles[*reg as usize], value),
        Saved::View(reg, value) => std::mem::swap(&mut frame.views[*reg as usize], value),
    }
}
