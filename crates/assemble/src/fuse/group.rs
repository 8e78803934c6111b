//! Which computations of a straight stretch become one group.
//!
//! A group starts with the first computation that is in none, and grows by one that takes what a member makes, or makes
//! what a member takes, as long as
//!
//! * both go over the same [domain](super::domain), and share bytes only [by element](super::compute);
//! * nothing has to stand between them ([`Graph::can_join`]): so the group can be made contiguous, whatever has to move;
//! * its values fit the machine's vector registers, and its tiles the parameters of one vector function ([`Limits`]).
//!
//! Among several that may join, the one that shares most values with the group does; of equals [`Control`] takes one.

use chip::Fusion as Limits;
use control::Control;
use ir::Function;

use super::compute::{Relation, Tile};
use super::graph::{Graph, Nodes};

/// Members of each group, in program order, from the first group that starts to the last. The graph ends up with each
/// group as one.
pub(super) fn groups(graph: &mut Graph, func: &Function, limits: &Limits, control: &mut Control) -> Vec<Vec<usize>> {
    let (linked, takers) = (links(graph, func), takers(graph));
    let mut grouped = vec![false; graph.nodes.len()];
    let mut all = Vec::new();
    for seed in 0..graph.nodes.len() {
        if grouped[seed] || linked[seed].is_empty() {
            continue;
        }
        let stretch = Stretch { graph, func, linked: &linked, takers: &takers, grouped: &grouped, limits };
        let members = stretch.grow(seed, control);
        if members.len() > 1 {
            for &m in &members {
                grouped[m] = true;
            }
            graph.contract(&members);
            all.push(members);
        }
    }
    all
}

/// For each computation, the others that it could share a value with, once for each tile that it is.
fn links(graph: &Graph, func: &Function) -> Vec<Vec<usize>> {
    let mut linked: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        let Some(compute) = &node.compute else { continue };
        for (tile, from) in compute.tiles.iter().zip(&node.from) {
            let Some(from) = *from else { continue };
            let Some(source) = &graph.nodes[from].compute else { continue };
            let made = source.tiles.iter().any(|t| t.writes && t.aligned(tile, func));
            if made && source.domain == compute.domain {
                linked[i].push(from);
                linked[from].push(i);
            }
        }
    }
    linked
}

/// For each node, those that may take what it makes: computations that read it, and anything else that has to follow it.
fn takers(graph: &Graph) -> Vec<Vec<usize>> {
    let mut takers: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for (i, node) in graph.nodes.iter().enumerate() {
        let from: Vec<usize> = node.from.iter().copied().flatten().collect();
        let makers = if node.compute.is_some() { &from } else { &graph.edges[i] };
        for &maker in makers {
            takers[maker].push(i);
        }
    }
    takers
}

struct Stretch<'a> {
    graph: &'a Graph,
    func: &'a Function,
    linked: &'a [Vec<usize>],
    takers: &'a [Vec<usize>],
    grouped: &'a [bool],
    limits: &'a Limits,
}

impl Stretch<'_> {
    /// The members of a group that starts with `seed`.
    fn grow(&self, seed: usize, control: &mut Control) -> Vec<usize> {
        let mut members = vec![seed];
        let mut inside = Nodes::none(self.graph.nodes.len());
        inside.insert(seed);
        let mut surroundings = self.graph.surroundings(&members);
        // Until the group has grown: what stands between may have joined then.
        let mut refused = inside.clone();
        while let Some(next) = self.candidate(&members, &refused, control) {
            let mut with = members.clone();
            with.insert(members.partition_point(|&m| m < next), next);
            refused.insert(next);
            let joins = self.graph.can_join(&inside, &surroundings, next)
                && members.iter().all(|&m| self.may_share(m, next))
                && self.fits(&with);
            if joins {
                members = with;
                inside.insert(next);
                refused.clone_from(&inside);
                surroundings = self.graph.surroundings(&members);
            }
        }
        members
    }

    /// The computation, of those that were not refused, that shares most values with the group.
    fn candidate(&self, members: &[usize], refused: &Nodes, control: &mut Control) -> Option<usize> {
        let mut shared: Vec<usize> = members.iter().flat_map(|&m| &self.linked[m]).copied().collect();
        shared.retain(|&c| !self.grouped[c] && !refused.has(c));
        shared.sort_unstable();
        let most = shared.chunk_by(|a, b| a == b).map(<[usize]>::len).max()?;
        let best: Vec<usize> = shared.chunk_by(|a, b| a == b).filter(|c| c.len() == most).map(|c| c[0]).collect();
        best.get(if best.len() > 1 { control.choose(best.len()) } else { 0 }).copied()
    }

    fn may_share(&self, a: usize, b: usize) -> bool {
        match (&self.graph.nodes[a].compute, &self.graph.nodes[b].compute) {
            (Some(a), Some(b)) => a.domain == b.domain && a.relation(b, self.func) != Relation::Unaligned,
            _ => false,
        }
    }

    /// Whether the machine has the registers and parameters for a group. A value is in a register from where it is
    /// loaded or made to where it is used last.
    fn fits(&self, members: &[usize]) -> bool {
        // First and last place in the group, of what each member makes, and of what is from outside.
        let mut made: Vec<(usize, usize)> = (0..members.len()).map(|at| (at, at)).collect();
        let mut taken: Vec<(&Tile, (usize, usize))> = Vec::new();
        for (at, &m) in members.iter().enumerate() {
            let node = &self.graph.nodes[m];
            let tiles = node.compute.iter().flat_map(|c| &c.tiles).zip(&node.from);
            for (tile, from) in tiles.filter(|(t, _)| t.reads) {
                let maker = from.and_then(|f| members.iter().position(|&m| m == f));
                let same = |t: &Tile| t.value == tile.value || t.aligned(tile, self.func);
                if let Some(maker) = maker {
                    made[maker].1 = at;
                } else if let Some((_, span)) = taken.iter_mut().find(|(t, _)| same(t)) {
                    span.1 = at;
                } else {
                    taken.push((tile, (at, at)));
                }
            }
        }
        // What nobody in the group takes is there for somebody else.
        let leaves = |m: &&usize| {
            let inside = self.takers[**m].iter().filter(|t| members.contains(t)).count();
            inside == 0 || inside < self.takers[**m].len()
        };
        let parameters = taken.len() + members.iter().filter(leaves).count();
        let spans = || made.iter().chain(taken.iter().map(|(_, span)| span));
        let live = |at: &usize| spans().filter(|(first, last)| first <= at && at <= last).count();
        parameters <= self.limits.parameters && (0..members.len()).all(|at| live(&at) <= self.limits.live_tiles)
    }
}
