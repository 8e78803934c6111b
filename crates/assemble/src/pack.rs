//! First fit: each root at the lowest aligned address where it is apart from everything it must be apart from.
//!
//! Deciding the least height is NP-hard; largest first is good in practice. If that does not fit, other orders are tried
//! before giving up, always the same ones.

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

/// The addresses of the roots of one space.
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
    let mut best = in_order(roots, interference, space, floor, &sorted(roots, members.clone(), order));
    for order in fallbacks {
        if best.height <= capacity {
            break;
        }
        let next = in_order(roots, interference, space, floor, &sorted(roots, members.clone(), order));
        if next.height < best.height {
            best = next;
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
