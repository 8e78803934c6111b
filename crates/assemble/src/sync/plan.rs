//! What is to be inserted: flag pairs and barriers, by the gap between two items that each stands in.

use super::tree::{Kind, Tree};

/// A set and a wait. Between the two the flag is up.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The region that both stand in.
    pub(super) region: usize,
    pub(super) set: usize,
    pub(super) wait: usize,
    /// Across the back edge of the loop that `region` is the body of: the wait is for the set of the turn before. A set
    /// before the loop lets the first turn in, a wait behind it takes back the last turn's. The gaps of these.
    pub(super) around: Option<(usize, usize)>,
    /// Of its event; given at last.
    pub(super) id: usize,
}

/// One gap, in the order in which its contents stand.
#[derive(Clone, Default, Debug)]
pub(super) struct Gap {
    /// Behind the item before.
    pub(super) drains: Vec<usize>,
    pub(super) sets: Vec<usize>,
    /// Before the next item.
    pub(super) waits: Vec<usize>,
    pub(super) all: bool,
    /// A bit a pipe.
    pub(super) barriers: u8,
    pub(super) primes: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) pairs: Vec<Pair>,
    pub(super) gaps: Vec<Gap>,
}

impl Plan {
    pub(super) fn new(tree: &Tree) -> Plan {
        Plan { pairs: Vec::new(), gaps: vec![Gap::default(); tree.gaps] }
    }

    pub(super) fn add(&mut self, pair: Pair) {
        self.pairs.push(pair);
        self.enter(self.pairs.len() - 1);
    }

    /// Takes a pair out; its number stays unused.
    pub(super) fn remove(&mut self, k: usize) {
        let pair = self.pairs[k].clone();
        self.gaps[pair.set].sets.retain(|&x| x != k);
        self.gaps[pair.wait].waits.retain(|&x| x != k);
        if let Some((prime, drain)) = pair.around {
            self.gaps[prime].primes.retain(|&x| x != k);
            self.gaps[drain].drains.retain(|&x| x != k);
        }
    }

    /// Puts a pair in that was taken out, as it was or moved.
    pub(super) fn put_back(&mut self, k: usize, pair: Pair) {
        self.pairs[k] = pair;
        self.enter(k);
    }

    fn enter(&mut self, k: usize) {
        let pair = &self.pairs[k];
        self.gaps[pair.set].sets.push(k);
        self.gaps[pair.wait].waits.push(k);
        if let Some((prime, drain)) = pair.around {
            self.gaps[prime].primes.push(k);
            self.gaps[drain].drains.push(k);
        }
    }

    /// Whether a pair has not been taken out.
    pub(super) fn has(&self, k: usize) -> bool {
        self.gaps[self.pairs[k].set].sets.contains(&k)
    }

    pub(super) fn barrier(&mut self, gap: usize, pipe: Option<usize>) {
        match pipe {
            Some(pipe) => self.gaps[gap].barriers |= 1 << pipe,
            None => self.gaps[gap].all = true,
        }
    }
}

/// Where a barrier for a step of an item goes: right before the step, but not into a loop.
pub(super) fn before(tree: &Tree, mut region: usize, mut item: usize, step: usize) -> usize {
    loop {
        let r = &tree.regions[region];
        let inner = match &r.items[item].kind {
            Kind::Branch(arms) => arms.iter().find_map(|&arm| Some((arm, tree.regions[arm].item_of(step)?))),
            Kind::Once(body) => tree.regions[*body].item_of(step).map(|i| (*body, i)),
            _ => None,
        };
        match inner {
            Some(inner) => (region, item) = inner,
            None => return r.first_gap + item,
        }
    }
}
