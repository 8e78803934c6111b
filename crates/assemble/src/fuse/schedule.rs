//! The order of a stretch in which each group stands together.
//!
//! Operations keep their order as far as the groups let them: whatever may stand next and stood first before, stands
//! next; a group counts from where its first member stood. What a group has to wait for comes before it, and what waits
//! for the group comes behind. Operations that only define values (addresses, descriptors, scalars) come when they are
//! needed: a group does not wait for its own `alloc_tile`s.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::Graph;

/// Nodes in their new order. `None` if there is no order in which the edges hold and the groups stand together.
pub(super) fn schedule(graph: &Graph, groups: &[Vec<usize>]) -> Option<Vec<usize>> {
    let len = graph.nodes.len();
    // A unit is a group, or a node of none; it has the number of its first node.
    let mut unit: Vec<usize> = (0..len).collect();
    let mut members: Vec<Vec<usize>> = (0..len).map(|i| vec![i]).collect();
    for group in groups {
        for &m in group {
            unit[m] = group[0];
            members[m].clear();
        }
        members[group[0]].clone_from(group);
    }
    let mut waits_for = vec![0_usize; len];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); len];
    for (i, edges) in graph.edges.iter().enumerate() {
        for &e in edges {
            if unit[e] != unit[i] {
                next[unit[e]].push(unit[i]);
                waits_for[unit[i]] += 1;
            }
        }
    }
    let mut rank: Vec<usize> = (0..len).collect();
    for i in (0..len).rev() {
        if graph.nodes[i].defines {
            let needed = next[i].iter().map(|&n| rank[n]).min();
            rank[i] = needed.map_or(i, |n| n.min(i));
        }
    }
    let key = |u: usize| Reverse((rank[u], u));
    let mut ready: BinaryHeap<_> = (0..len).filter(|&i| unit[i] == i && waits_for[i] == 0).map(key).collect();
    let mut order = Vec::with_capacity(len);
    while let Some(Reverse((_, u))) = ready.pop() {
        order.extend(&members[u]);
        for &n in &next[u] {
            waits_for[n] -= 1;
            if waits_for[n] == 0 {
                ready.push(key(n));
            }
        }
    }
    (order.len() == len).then_some(order)
}
