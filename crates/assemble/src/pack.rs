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

/// What the roots of a space have to keep to, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The first byte that is free.
    pub(crate) floor: u64,
    /// The first that is not there.
    pub(crate) capacity: u64,
    pub(crate) align: u64,
}

/// Places all roots of `space`. The result may be higher than the capacity if no order fits.
pub(crate) fn pack(roots: &[Root], interference: &Interference, space: Space, bounds: Bounds, order: Order) -> Packing {
    let capacity = bounds.capacity;
    let members: Vec<usize> = (0..roots.len()).filter(|&i| roots[i].space == space).collect();
    let fallbacks = [Order::Size, Order::Program].into_iter().chain((0..ATTEMPTS).map(Order::Seeded));
    let mut first = sorted(roots, members.clone(), order);
    let mut best = in_order(roots, interference, bounds, &first);
    for order in fallbacks {
        if best.height <= capacity {
            return best;
        }
        let order = sorted(roots, members.clone(), order);
        let next = in_order(roots, interference, bounds, &order);
        if next.height < best.height {
            (best, first) = (next, order);
        }
    }
    if best.height <= capacity { best } else { search(roots, interference, bounds, first, best) }
}

/// Orders derived from one another, beginning with the one that gave `best`.
fn search(
    roots: &[Root],
    interference: &Interference,
    bounds: Bounds,
    mut order: Vec<usize>,
    mut best: Packing,
) -> Packing {
    let capacity = bounds.capacity;
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
        current = in_order(roots, interference, bounds, &order);
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

fn in_order(roots: &[Root], interference: &Interference, bounds: Bounds, order: &[usize]) -> Packing {
    let floor = align_up(bounds.floor, bounds.align);
    let mut height = floor;
    let mut placed: Vec<Option<u64>> = vec![None; roots.len()];
    // Neighbours of one root: address, end, and whether that very address is allowed.
    let mut near: Vec<(u64, u64, bool)> = Vec::new();
    for &root in order {
        let size = roots[root].bytes;
        near.clear();
        near.extend(interference.near(root).iter().filter_map(|&(other, relation)| {
            let address = placed[other]?;
            let end = address.saturating_add(roots[other].bytes);
            Some((address, end, relation == Relation::SameOrApart))
        }));
        near.sort_unstable();
        let gap = first_gap(&near, floor, bounds.align, size);
        let fits = |at: u64| {
            let end = at.saturating_add(size);
            near.iter().all(|&(start, stop, same)| end <= start || stop <= at || (same && at == start))
        };
        let mut shared = near.iter().filter(|&&(start, _, same)| same && start < gap).map(|&(start, ..)| start);
        let at = shared.find(|&start| fits(start)).unwrap_or(gap);
        height = height.max(at.saturating_add(size));
        placed[root] = Some(at);
    }
    let addresses = placed.iter().enumerate().filter_map(|(root, at)| Some((root, (*at)?))).collect();
    Packing { addresses, height }
}

/// The lowest aligned address from `floor` on at which `size` bytes are apart from all of `near`, sorted by address.
fn first_gap(near: &[(u64, u64, bool)], floor: u64, align: u64, size: u64) -> u64 {
    let mut at = floor;
    for &(start, stop, _) in near {
        if at.saturating_add(size) <= start {
            break;
        }
        if stop > at {
            at = align_up(stop, align);
        }
    }
    at
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
            let packing =
                pack(&roots, &interference, Space::Vec, Bounds { floor: 0, capacity, align: 32 }, Order::Size);
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
