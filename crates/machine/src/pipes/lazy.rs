//! [`Policy::Lazy`](super::Policy::Lazy): what must run because a scalar unit waits for it, and of that the youngest.

use super::core::{Hold, Next, Pipes, slot};
use super::group::Go;
use super::policy::Pick;
use super::queue::{Flag, Item};
use super::{DEPTH, Pipe};
use crate::group::{Group, State};

/// How far into each queue somebody waits for something; 0 where nobody does.
type Wanted = [usize; Pipe::QUEUED.len()];

const ALL: Wanted = [DEPTH; Pipe::QUEUED.len()];

impl Group {
    /// The youngest entry that may run of what the scalar units wait for; of everything, if none of that may.
    pub(super) fn lazily(&self) -> Option<Go> {
        let wanted: Vec<Wanted> = self
            .lanes
            .iter()
            .map(|lane| match (lane.state, lane.pipes.next(&lane.code, &lane.frame, &self.fifos)) {
                (State::Ready, Next::Hold(hold)) => lane.pipes.wanted(hold),
                _ => Wanted::default(),
            })
            .collect();
        self.youngest(&wanted).or_else(|| self.youngest(&vec![ALL; self.lanes.len()]))
    }

    fn youngest(&self, wanted: &[Wanted]) -> Option<Go> {
        let mut best: Option<(u64, Go)> = None;
        for (lane, wanted) in wanted.iter().enumerate() {
            for (pipe, &limit) in Pipe::QUEUED.into_iter().zip(wanted) {
                let Some(at) = self.place(lane, pipe, Pick::Youngest, limit) else { continue };
                let entry = self.lanes[lane].pipes.queue(pipe).and_then(|q| q.entry(at));
                let number = entry.map_or(0, |e| e.number);
                if best.is_none_or(|(n, _)| number > n) {
                    best = Some((number, Go::Entry { lane, pipe, at }));
                }
            }
        }
        best.map(|(_, go)| go)
    }
}

impl Pipes {
    fn wanted(&self, hold: Hold) -> Wanted {
        let mut wanted = Wanted::default();
        match hold {
            Hold::Flag(flag) => self.want_flag(&mut wanted, flag),
            Hold::Token(token) => self.want_token(&mut wanted, token, None),
            Hold::Room(pipe) => self.want(&mut wanted, pipe, 1),
            Hold::Drain => wanted = ALL,
            // Another core must do something.
            Hold::Fifo(_) => {}
        }
        wanted
    }

    fn want_flag(&self, wanted: &mut Wanted, flag: Flag) {
        let sets = |item: &Item| matches!(item, Item::Set(f) if *f == flag);
        if let Some(at) = self.queue(flag.from).and_then(|q| q.items.iter().position(sets)) {
            self.want(wanted, flag.from, at);
        }
    }

    /// The giving back of a token: after a turn, or of all turns.
    fn want_token(&self, wanted: &mut Wanted, token: u32, of: Option<u64>) {
        let releases = |item: &Item| matches!(item, Item::Release { token: t, turn } if *t == token && of.is_none_or(|of| of == *turn));
        for pipe in Pipe::QUEUED {
            if let Some(at) = self.queue(pipe).and_then(|q| q.items.iter().rposition(releases)) {
                self.want(wanted, pipe, at);
            }
        }
    }

    /// The first `limit` items of a queue, and what they are held up by.
    fn want(&self, wanted: &mut Wanted, pipe: Pipe, limit: usize) {
        let (Some(n), Some(queue)) = (slot(pipe), self.queue(pipe)) else { return };
        if wanted[n] >= limit {
            return;
        }
        wanted[n] = limit;
        match queue.items.get(queue.open).filter(|_| queue.open < limit) {
            Some(Item::Wait(flag)) => self.want_flag(wanted, *flag),
            Some(Item::Get { token, turn, .. }) => self.want_token(wanted, *token, turn.checked_sub(1)),
            _ => {}
        }
    }
}
