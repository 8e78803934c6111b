//! Which event each pair uses: eight for each two pipes, none for two pairs whose flags are up at the same time.
//!
//! A place in a function is the number of its gap, and in a gap the part: drains, sets, waits, barriers, primes. A pair is
//! up from its set to its wait; one around a loop from its first set to the wait in the body, and from the set in the body
//! to its last wait. In between another pair may use the event.
//!
//! If events run out, the pair at hand is merged with one of those that are up, in the same region: set at the later set,
//! waited for at the earlier wait, it does the work of both. If there is none, a barrier of all pipes replaces the pair.

use super::plan::Plan;

/// Events of each two pipes.
pub(super) const EVENTS: usize = 8;

/// Gives every pair its event; the first number is free. `false` if the plan was changed and has to be completed and
/// numbered again.
pub(super) fn number(plan: &mut Plan, rotation: usize) -> bool {
    let mut same = true;
    for from in 0..7 {
        for to in 0..7 {
            let of = |k: &usize| plan.has(*k) && (plan.pairs[*k].from, plan.pairs[*k].to) == (from, to);
            let mut pairs: Vec<usize> = (0..plan.pairs.len()).filter(of).collect();
            if pairs.is_empty() {
                continue;
            }
            pairs.sort_by_key(|&k| up(plan, k)[0]);
            same &= colour(plan, &pairs, rotation);
        }
    }
    same
}

/// Sorted by their first set.
fn colour(plan: &mut Plan, pairs: &[usize], rotation: usize) -> bool {
    let mut same = true;
    // Of each event: its pairs so far, and how long ago it was given.
    let mut taken: [Vec<usize>; EVENTS] = Default::default();
    let mut next = 0;
    for &k in pairs {
        let spans = up(plan, k);
        let free = |id: &usize| taken[*id].iter().all(|&other| apart(&spans, &up(plan, other)));
        // In turn, so that an event is used again as late as possible.
        if let Some(id) = (0..EVENTS).map(|i| (next + i) % EVENTS).find(free) {
            taken[id].push(k);
            plan.pairs[k].id = (id + rotation) % EVENTS;
            next = id + 1;
            continue;
        }
        same = false;
        let mine = plan.pairs[k].clone();
        let candidates = taken.iter().flatten().copied().filter(|&o| {
            let other = &plan.pairs[o];
            plan.has(o) && other.around.is_none() && other.region == mine.region
        });
        let closest = candidates
            .filter(|&o| !apart(&spans, &up(plan, o)))
            .min_by_key(|&o| mine.set.abs_diff(plan.pairs[o].set) + mine.wait.abs_diff(plan.pairs[o].wait));
        match closest.filter(|_| mine.around.is_none()) {
            Some(other) => {
                let (set, wait) = (mine.set.max(plan.pairs[other].set), mine.wait.min(plan.pairs[other].wait));
                let merged = super::plan::Pair { set, wait, ..plan.pairs[other].clone() };
                plan.remove(k);
                plan.remove(other);
                plan.put_back(other, merged);
            }
            None => {
                plan.remove(k);
                plan.barrier(mine.wait, None);
            }
        }
    }
    same
}

/// Places from one to another, both included.
type Span = (usize, usize);

/// Where the flag of a pair is up.
fn up(plan: &Plan, k: usize) -> [Span; 2] {
    const DRAINS: usize = 0;
    const SETS: usize = 1;
    const WAITS: usize = 2;
    const PRIMES: usize = 4;
    let place = |gap: usize, part: usize| gap * 8 + part;
    let pair = &plan.pairs[k];
    let (set, wait) = (place(pair.set, SETS), place(pair.wait, WAITS));
    match pair.around {
        None => [(set, wait), (set, wait)],
        Some((prime, drain)) => [(place(prime, PRIMES), wait), (set, place(drain, DRAINS))],
    }
}

fn apart(a: &[Span; 2], b: &[Span; 2]) -> bool {
    a.iter().all(|x| b.iter().all(|y| x.1 < y.0 || y.1 < x.0))
}
