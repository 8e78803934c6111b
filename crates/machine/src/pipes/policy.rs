//! Who goes next, of all that can.

use control::Control;

use super::Pipe;

/// How pipes are interleaved. Each is one execution, the same every time; a missing order may show under one and not under
/// another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Priorities of pipes are drawn and now and then drawn again, as is which instruction of a pipe goes first. (Random
    /// priorities that rarely change find an order that must be wrong in few places sooner than a coin at every step:
    /// Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs", 2010.)
    Seed(u64),
    /// Every pipe as late as possible: nothing runs but what the scalar unit waits for, and of that the youngest first.
    Lazy,
    /// The n-th of the 5040 rankings of scalar unit and pipes: of all that can go on the first in it does, the oldest
    /// instruction first. Ranking 0 has the scalar unit first.
    Ranked(u32),
}

/// A unit of one core of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Agent {
    pub lane: usize,
    pub pipe: Pipe,
}

/// Which of the instructions that may run a pipe takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pick {
    Oldest,
    Youngest,
    /// The first that may from this share of the open ones on, in 2^-16.
    From(u16),
}

/// A policy in action.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(super) policy: Policy,
    control: Control,
    /// By lane and pipe.
    priorities: Vec<u64>,
}

const PIPES: usize = Pipe::ALL.len();
/// Steps between two changes of a priority, in the mean.
const CHANGE: usize = 8;

impl Scheduler {
    pub(crate) fn new(policy: Policy, lanes: usize, salt: u64) -> Scheduler {
        let seed = if let Policy::Seed(seed) = policy { seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { 0 };
        let mut control = Control::new(seed);
        let priorities = match policy {
            Policy::Seed(_) => (0..lanes * PIPES).map(|_| control.bits()).collect(),
            Policy::Lazy => Vec::new(),
            Policy::Ranked(n) => ranking(n).repeat(lanes),
        };
        Scheduler { policy, control, priorities }
    }

    fn priority(&self, agent: Agent) -> u64 {
        self.priorities.get(agent.lane * PIPES + agent.pipe as usize).copied().unwrap_or(0)
    }

    /// One of these, none of which is worth more than another: for [`Policy::Seed`] and [`Policy::Ranked`].
    pub(super) fn choose(&mut self, agents: &[Agent]) -> Option<Agent> {
        if matches!(self.policy, Policy::Seed(_)) && self.control.choose(CHANGE) == 0 {
            let which = self.control.choose(self.priorities.len());
            self.priorities[which] = self.control.bits();
        }
        agents.iter().copied().max_by_key(|&a| (self.priority(a), std::cmp::Reverse(a.lane)))
    }

    pub(super) fn pick(&mut self) -> Pick {
        match self.policy {
            Policy::Lazy => Pick::Youngest,
            Policy::Ranked(_) => Pick::Oldest,
            Policy::Seed(_) => match self.control.choose(4) {
                0 => Pick::Oldest,
                1 => Pick::Youngest,
                _ => Pick::From(self.control.choose(1 << 16) as u16),
            },
        }
    }
}

/// Priorities by pipe: the `n`-th permutation of them, in the factorial number system.
fn ranking(n: u32) -> [u64; PIPES] {
    let mut rest: Vec<usize> = (0..PIPES).collect();
    let mut n = n as usize % (1..=PIPES).product::<usize>();
    std::array::from_fn::<usize, PIPES, _>(|place| {
        let radix = (1..PIPES - place).product::<usize>();
        let pipe = rest.remove(n / radix);
        n %= radix;
        pipe
    })
    .into_iter()
    .enumerate()
    .fold([0; PIPES], |mut out, (place, pipe)| {
        out[pipe] = (PIPES - place) as u64;
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rankings_are_all_permutations() {
        let all: std::collections::BTreeSet<_> = (0..5040).map(ranking).collect();
        assert_eq!(all.len(), 5040);
        assert_eq!((ranking(0), ranking(5039)), ([7, 6, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(ranking(5040), ranking(0));
    }

    #[test]
    fn a_seed_prefers_for_a_while_and_not_for_ever() {
        let mut s = Scheduler::new(Policy::Seed(3), 1, 0);
        let agents = Pipe::ALL.map(|pipe| Agent { lane: 0, pipe });
        let chosen: Vec<Pipe> = (0..2000).filter_map(|_| s.choose(&agents)).map(|a| a.pipe).collect();
        let changes = chosen.windows(2).filter(|w| w[0] != w[1]).count();
        assert!((20..1000).contains(&changes), "{changes}");
        assert!(Pipe::ALL.iter().all(|p| chosen.contains(p)));
    }
}
