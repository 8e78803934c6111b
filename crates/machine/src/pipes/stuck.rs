//! Who waits for whom, when nobody can go on.

use diag::Diagnostic;

use super::Pipe;
use super::core::{Hold, Next, describe};
use super::queue::{FifoUse, Item};
use crate::code::FifoName;
use crate::group::{Group, Running, State, core_name};

impl Group {
    pub(super) fn stuck(&self) -> Diagnostic {
        let mut d = Diagnostic::error("pipe-deadlock", "the pipes of a block wait for each other".to_string());
        for (n, lane) in self.lanes.iter().enumerate() {
            let core = core_name(&lane.code);
            if let Some(why) = self.scalar_waits(lane) {
                let text = format!("the scalar unit of the {core} core waits for {why}");
                d = match d.primary {
                    None => d.at(self.span(n, 0), text.clone()),
                    Some(_) => d.also(self.span(n, 0), text.clone()),
                };
                d.notes.push(text);
            }
            for pipe in Pipe::QUEUED {
                if let Some(why) = self.pipe_waits(lane, pipe) {
                    d.notes.push(format!("{} of the {core} core waits for {why}", pipe.name()));
                }
            }
        }
        self.locate(d, None)
    }

    fn scalar_waits(&self, lane: &Running) -> Option<String> {
        if lane.state == State::Done {
            return None;
        }
        let Next::Hold(hold) = lane.pipes.next(&lane.code, &lane.frame, &self.fifos) else { return None };
        Some(match hold {
            Hold::Flag(flag) => describe(flag),
            Hold::Token(token) => format!("token {token}"),
            Hold::Room(pipe) => format!("room in the queue of {}", pipe.name()),
            Hold::Drain => "all pipes to end".to_owned(),
            Hold::Fifo(name) => format!("a tile {}", self.way(name)),
        })
    }

    fn pipe_waits(&self, lane: &Running, pipe: Pipe) -> Option<String> {
        let queue = lane.pipes.queue(pipe)?;
        Some(match queue.items.front()? {
            Item::Wait(flag) => describe(*flag),
            Item::Get { token, .. } => format!("token {token}"),
            Item::Run(entry) => match entry.fifo? {
                FifoUse::Push(name) => format!("a free slot {}", self.way(name)),
                FifoUse::Pop(name) => format!("a tile {}", self.way(name)),
                FifoUse::Free(_) => return None,
            },
            Item::Set(_) | Item::Barrier | Item::Release { .. } => return None,
        })
    }

    fn way(&self, name: FifoName) -> String {
        self.fifos.iter().find(|f| f.name == name).map_or(String::new(), |f| f.way())
    }
}
