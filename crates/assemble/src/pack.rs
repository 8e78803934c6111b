//! First fit: each root at the lowest aligned address where it is apart from everything it must be apart from.
//!
//! Deciding the least height is NP-hard; largest first is good in practice. If that does not fit, other orders are tried
//! before giving up, always the same ones: named and seeded ones, and from the best of them a search in which the roots
//! that came out too high go first in the next order ("squeaky wheel"), shaken now and then so that it does not go round in
//! a circle.

use chip::Space;

use crate::alias::Root;
use crate::interference::{Interference, Relation};

/// The order in which tiles get addresses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// Largest first; equal sizes in program order.
    #[default]
    Size,
    /// As they are allocated.
    Program,
    /// Drawn from a seed.
    Seeded(u64),
}

/// How many seeded orders are tried after the named ones.
const ATTEMPTS: u64 = 32;
/// How many orders the search tries, for up to a hundred roots.
const ROUNDS: usize = 1000;

/// The addresses of the roots of one space.
#[derive(Clone)]
pub(crate) struct Packing {
    /// Root and address, by root.
    pub(crate) addresses: Vec<(usize, u64)>,
    /// The first byte after all.
    pub(crate) height: u64,
}

/// Places all roots of `space` from `floor` on. The result may be higher than `capacity` if no order fits.
pub(crate) fn pack(
    roots: &[Root],
    interference: &Interference,
    space: Space,
    floor: u64,
    capacity: u64,
    order: Order,
) -> Packing {
    let members: Vec<usize> = (0..roots.len()).filter(|&i| roots[i].space == space).collect();
    let fallbacks = [Order::Size, Order::Program].into_iter().chain((0..ATTEMPTS).map(Order::Seeded));
    let mut first = sorted(roots, members.clone(), order);
    let mut best = in_order(roots, interference, space, floor, &first);
    for order in fallbacks {
        if best.height <= capacity {
            return best;
        }
        let order = sorted(roots, members.clone(), order);
        let next = in_order(roots, interference, space, floor, &order);
        if next.height < best.height {
            (best, first) = (next, order);
        }
    }
    if best.height <= capacity { best } else { search(roots, interference, space, floor, capacity, first, best) }
}

/// Orders derived from one another, beginning with the one that gave `best`.
fn search(
    roots: &[Root],
    interference: &Interference,
    space: Space,
    floor: u64,
    capacity: u64,
    mut order: Vec<usize>,
    mut best: Packing,
) -> Packing {
    let mut control = control::Control::new(0);
    let mut current = best.clone();
    // The time of an order grows faster than the square of its length.
    let rounds = ROUNDS * 10_000 / order.len().max(100).pow(2);
    for _ in 0..rounds {
        let end = |root: usize| {
            let address = current.addresses.binary_search_by_key(&root, |a| a.0).map_or(0, |i| current.addresses[i].1);
            address.saturating_add(roots[root].bytes)
        };
        let (high, low): (Vec<usize>, Vec<usize>) = order.iter().partition(|&&root| end(root) > capacity);
        let next = [high, low].concat();
        let stuck = next == order;
        order = next;
        if order.len() > 1 && (stuck || control.choose(4) == 0) {
            let (i, j) = (control.choose(order.len()), control.choose(order.len()));
            order.swap(i, j);
        }
        current = in_order(roots, interference, space, floor, &order);
        if current.height < best.height {
            best = current.clone();
            if best.height <= capacity {
                break;
            }
        }
    }
    best
}

fn sorted(roots: &[Root], mut members: Vec<usize>, order: Order) -> Vec<usize> {
    match order {
        Order::Size => members.sort_by_key(|&i| std::cmp::Reverse(roots[i].bytes)),
        Order::Program => {}
        Order::Seeded(seed) => {
            let mut control = control::Control::new(seed);
            for i in (1..members.len()).rev() {
                members.swap(i, control.choose(i + 1));
            }
        }
    }
    members
}

fn in_order(roots: &[Root], interference: &Interference, space: Space, floor: u64, order: &[usize]) -> Packing {
    let align = chip::alignment(space) as u64;
    let floor = align_up(floor, align);
    let mut packing = Packing { addresses: Vec::new(), height: floor };
    for &root in order {
        let size = roots[root].bytes;
        // Neighbours: address, end, and whether that very address is allowed.
        let near: Vec<(u64, u64, bool)> = packing
            .addresses
            .iter()
            .filter_map(|&(other, address)| match interference.relation(root, other) {
                Relation::Free => None,
                relation => {
                    let end = address.saturating_add(roots[other].bytes);
                    Some((address, end, relation == Relation::SameOrApart))
                }
            })
            .collect();
        let fits = |at: u64| {
            let end = at.saturating_add(size);
            near.iter().all(|&(start, stop, same)| end <= start || stop <= at || (same && at == start))
        };
        let beside =
            |&(start, stop, same): &(u64, u64, bool)| [align_up(stop, align), if same { start } else { floor }];
        let mut candidates: Vec<u64> = near.iter().flat_map(beside).chain([floor]).collect();
        candidates.sort_unstable();
        // The end of the highest neighbour always fits, so there is one.
        let at = candidates.into_iter().find(|&at| fits(at)).unwrap_or(u64::MAX);
        packing.height = packing.height.max(at.saturating_add(size));
        packing.addresses.push((root, at));
    }
    packing.addresses.sort_unstable();
    packing
}

pub(crate) fn align_up(n: u64, align: u64) -> u64 {
    n.div_ceil(align).saturating_mul(align)
}

#[cfg(test)]
mod tests {
    use dtype::DType;
    use ir::{Entity, Op, TileType, Value};

    use super::*;

    /// Tiles that fill a buffer without a gap: its bytes (of 32) by time, cut in two again and again. Each has its time
    /// (`from..to`) and its size.
    fn cut(control: &mut control::Control, parts: usize) -> Vec<(u64, u64, u64)> {
        // Time and place.
        let mut all = vec![((0u64, 24u64), (0u64, 24u64))];
        while all.len() < parts {
            let i = control.choose(all.len());
            let (time, place) = all[i];
            let by_time = control.choose(2) == 0;
            let (from, to) = if by_time { time } else { place };
            if to - from < 2 {
                continue;
            }
            let at = from + 1 + control.choose((to - from - 1) as usize) as u64;
            let halves = [(from, at), (at, to)];
            all.remove(i);
            all.extend(halves.map(|half| if by_time { (half, place) } else { (time, half) }));
        }
        all.into_iter().map(|((from, to), (low, high))| (from, to, high - low)).collect()
    }

    #[test]
    fn tiles_that_fit_without_a_gap_are_placed() {
        let (mut placed, mut count) = (0, 0);
        for seed in 0..200 {
            let mut control = control::Control::new(seed);
            let parts = 6 + control.choose(10);
            let tiles = cut(&mut control, parts);
            let roots: Vec<Root> = tiles
                .iter()
                .map(|&(_, _, size)| Root {
                    value: Value::new(0),
                    op: Op::new(0),
                    space: Space::Vec,
                    ty: TileType::value(DType::I8, vec![1, 32 * size]),
                    bytes: 32 * size,
                })
                .collect();
            let pairs: Vec<(usize, usize)> = (0..tiles.len())
                .flat_map(|a| (0..a).map(move |b| (a, b)))
                .filter(|&(a, b)| tiles[a].0 < tiles[b].1 && tiles[b].0 < tiles[a].1)
                .collect();
            let interference = Interference::of_pairs(tiles.len(), &pairs);
            let capacity = 24 * 32;
            let packing = pack(&roots, &interference, Space::Vec, 0, capacity, Order::Size);
            count += 1;
            placed += u32::from(packing.height <= capacity);
            for &(a, b) in &pairs {
                let (x, y) = (packing.addresses[a].1, packing.addresses[b].1);
                assert!(x + roots[a].bytes <= y || y + roots[b].bytes <= x, "seed {seed}: {a} and {b} overlap");
            }
        }
        assert_eq!(placed, count);
    }
}
