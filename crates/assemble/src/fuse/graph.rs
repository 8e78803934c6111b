//! Which operations of a straight stretch of code must stay in order, and what may be brought together.
//!
//! One node per operation. There is an edge from an operation to a later one that uses a value it defines, or whose bytes
//! [conflict](crate::bytes) with its own. Any order that keeps the edges means the same; an order of *groups* exists if
//! and only if no path leaves a group and comes back to it. So the graph is kept closed: each node knows all nodes it
//! comes before and after, and when a group is decided ([`Graph::contract`]), its members come before and after the same
//! nodes.
//!
//! Not every pair is compared: an access is forgotten once a later write covers its bytes, for whatever meets it meets
//! that write, which is behind it.

use ir::Op;

use super::compute::Compute;
use crate::bytes::{Bytes, Footprint, Place};

/// A set of nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Nodes(Vec<u64>);

impl Nodes {
    pub(super) fn none(len: usize) -> Nodes {
        Nodes(vec![0; len.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    pub(super) fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    pub(super) fn add(&mut self, other: &Nodes) {
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// Whether this and `other` have a node in common that is not in `but`.
    fn meets(&self, other: &Nodes, but: &Nodes) -> bool {
        self.0.iter().zip(&other.0).zip(&but.0).any(|((a, b), but)| a & b & !but != 0)
    }
}

pub(super) struct Node {
    pub(super) op: Op,
    /// It only defines values.
    pub(super) defines: bool,
    pub(super) compute: Option<Compute>,
    /// Of a computation, for each of its tiles: the last node before that writes some of the bytes it reads.
    pub(super) from: Vec<Option<usize>>,
}

pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// For each node, the nodes before it that it has an edge from; enough of them that paths say it all.
    pub(super) edges: Vec<Vec<usize>>,
    before: Vec<Nodes>,
    after: Vec<Nodes>,
}

/// An access that a later one may still have to be compared with.
struct Recent {
    node: usize,
    place: Place,
    writes: bool,
}

impl Graph {
    /// Of operations that follow each other in one block, each with the nodes before it that define what it uses.
    pub(super) fn new(ops: Vec<(Op, Option<Compute>, Vec<usize>)>, bytes: &Bytes) -> Graph {
        let len = ops.len();
        let mut nodes: Vec<Node> = Vec::with_capacity(len);
        let mut edges = Vec::with_capacity(len);
        let mut recent: Vec<Recent> = Vec::new();
        let reshapes = ops.iter().any(|(op, ..)| bytes.of(*op).sets_shape);
        for (i, (op, compute, definitions)) in ops.into_iter().enumerate() {
            let mut into = definitions;
            let touch = bytes.of(op);
            for place in touch.changed() {
                into.extend(recent.iter().filter(|r| r.place.overlaps(place)).map(|r| r.node));
            }
            for place in &touch.reads {
                into.extend(recent.iter().filter(|r| r.writes && r.place.overlaps(place)).map(|r| r.node));
            }
            if reshapes {
                into.extend((0..i).filter(|&j| bytes.conflict(nodes[j].op, op)));
            }
            let from = compute.as_ref().map_or_else(Vec::new, |c| {
                let last = |places: &[Place]| {
                    let writers = recent.iter().filter(|r| r.writes && places.iter().any(|p| p.overlaps(&r.place)));
                    writers.map(|r| r.node).max()
                };
                c.tiles.iter().map(|t| if t.reads { last(&t.places) } else { None }).collect()
            });
            for &place in touch.changed() {
                recent.retain(|r| !covers(&place, &r.place));
            }
            recent.extend(touch.reads.iter().map(|&place| Recent { node: i, place, writes: false }));
            recent.extend(touch.changed().map(|&place| Recent { node: i, place, writes: true }));
            into.sort_unstable();
            into.dedup();
            edges.push(into);
            let defines = touch.pipe == ir::info::Pipe::None && touch.is_empty();
            nodes.push(Node { op, defines, compute, from });
        }
        let mut before: Vec<Nodes> = Vec::with_capacity(len);
        for into in &edges {
            let mut all = Nodes::none(len);
            for &e in into {
                all.insert(e);
                all.add(&before[e]);
            }
            before.push(all);
        }
        let mut after = vec![Nodes::none(len); len];
        for i in (0..len).rev() {
            let behind = after[i].clone();
            for &e in &edges[i] {
                after[e].insert(i);
                after[e].add(&behind);
            }
        }
        Graph { nodes, edges, before, after }
    }

    /// Everything that comes before, and after, one of these nodes.
    pub(super) fn surroundings(&self, members: &[usize]) -> (Nodes, Nodes) {
        let mut both = (Nodes::none(self.nodes.len()), Nodes::none(self.nodes.len()));
        for &m in members {
            both.0.add(&self.before[m]);
            both.1.add(&self.after[m]);
        }
        both
    }

    /// Whether nothing must stand between `node` and the members of a group, given what stands before and after those.
    pub(super) fn can_join(&self, group: &Nodes, (before, after): &(Nodes, Nodes), node: usize) -> bool {
        let mut inside = group.clone();
        inside.insert(node);
        !after.meets(&self.before[node], &inside) && !before.meets(&self.after[node], &inside)
    }

    /// From here on these nodes are one.
    pub(super) fn contract(&mut self, members: &[usize]) {
        let (mut before, mut after) = self.surroundings(members);
        let (earlier, later) = (before.clone(), after.clone());
        for &m in members {
            before.insert(m);
            after.insert(m);
        }
        for i in (0..self.nodes.len()).filter(|i| !members.contains(i)) {
            if earlier.has(i) {
                self.after[i].add(&after);
            }
            if later.has(i) {
                self.before[i].add(&before);
            }
        }
        for &m in members {
            self.before[m] = before.clone();
            self.after[m] = after.clone();
        }
    }
}

/// Whether everything that meets `earlier` meets `written`.
fn covers(written: &Place, earlier: &Place) -> bool {
    let inside = match (written.bytes, earlier.bytes) {
        (Footprint::Box(w), Footprint::Box(e)) => w.rows == 1 && w.start <= e.start && e.end() <= w.end(),
        (Footprint::Any, _) => true,
        (Footprint::Box(_), Footprint::Any) => false,
    };
    written.memory == earlier.memory && inside
}
