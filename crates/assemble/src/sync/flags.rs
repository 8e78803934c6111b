//! Where flags and barriers go: as few as a walk in program order needs, each as early and as late as it can be.
//!
//! Regions are planned from the innermost out, each as if everything before it had ended. In a region, items are run in
//! order ([`known`](super::known)). When a step of the next item may overlap an earlier one on another pipe, a pair is
//! added in this region: its set right behind the item that the earlier step is in, its wait right before the next item.
//! So a pair stands outside the loops and branches that only one of its ends is in, and set and wait are passed equally
//! often on every path. Of several earlier steps the last comes first, since what its pipe has waited for often covers
//! the others; the item is then run again, until nothing is left.
//!
//! The body of a loop is then run from what it leaves open itself. A step that may overlap one of the turn before gets a
//! pair *around*: the wait before its item, the set behind the other's, with a first set before the loop and a last wait
//! behind it. A loop of no turns passes just these two.
//!
//! On one pipe a barrier right before the later step does it.

use super::bits::Bits;
use super::known::{Evaluator, Known, Uncovered};
use super::plan::{Pair, Plan, before};
use super::steps::ALL;
use super::tree::Kind;

/// Completes a plan: afterwards nothing is uncovered.
pub(super) fn complete(ev: &Evaluator<'_>, plan: &mut Plan) {
    let tree = ev.tree;
    for region in 0..tree.regions.len() {
        for item in 0..tree.regions[region].items.len() {
            match tree.regions[region].items[item].kind {
                Kind::Loop(body) => turns(ev, plan, region, item, body),
                Kind::While(head, body) => {
                    plan.barrier(tree.regions[head].first_gap, None);
                    plan.barrier(tree.regions[body].first_gap, None);
                }
                _ => {}
            }
        }
        straight(ev, plan, region);
    }
}

/// What is known behind each item of the region that is being planned: by pipe.
type Behind = Vec<Vec<(usize, Bits)>>;

/// Plans a region from its first item to its last.
fn straight(ev: &Evaluator<'_>, plan: &mut Plan, region: usize) {
    let r = &ev.tree.regions[region];
    let mut known = Known::everything(ev.hazards);
    let mut behind: Behind = Vec::with_capacity(r.items.len());
    for (item, data) in r.items.iter().enumerate() {
        let gap = r.first_gap + item;
        ev.rest_of_gap(plan, gap, &mut known);
        loop {
            let mut trial = known.clone();
            let mut found = Some(Vec::new());
            ev.item(plan, region, item, &mut trial, &mut found);
            let Some(&need) = found.as_ref().and_then(|f| worst(ev, region, f)) else {
                known = trial;
                break;
            };
            let (p, q) = (ev.hazards.steps[need.earlier].pipe, ev.hazards.steps[need.later].pipe);
            if p == q || p == ALL || q == ALL {
                let pipe = (p != ALL && q != ALL).then_some(p);
                let at = before(ev.tree, region, item, need.later);
                plan.barrier(at, pipe);
                if at == gap {
                    known.barrier(pipe, &ev.on);
                }
                continue;
            }
            let Some(source) = r.item_of(need.earlier) else { break };
            // The flag as it would have been, had it been set then.
            let mut flag =
                behind[source].iter().find(|b| b.0 == p).map_or_else(|| known.open(p).clone(), |b| b.1.clone());
            flag.insert_range(r.items[source].steps.end..data.steps.start);
            known.learn(q, &flag);
            plan.add(Pair { from: p, to: q, region, set: r.first_gap + source + 1, wait: gap, around: None, id: 0 });
        }
        ev.drains(plan, gap + 1, &mut known);
        // Only the pipes of its steps can be the source of a pair.
        let mut pipes: Vec<usize> =
            data.steps.clone().map(|s| ev.hazards.steps[s].pipe).filter(|&p| p != ALL).collect();
        pipes.sort_unstable();
        pipes.dedup();
        behind.push(pipes.into_iter().map(|p| (p, ev.flag(&known, p))).collect());
    }
}

/// Plans what the turns of a loop owe each other.
fn turns(ev: &Evaluator<'_>, plan: &mut Plan, region: usize, item: usize, body: usize) {
    let r = &ev.tree.regions[body];
    let outer = ev.tree.regions[region].first_gap + item;
    loop {
        let mut known = Known::everything(ev.hazards);
        ev.primes(plan, outer, &mut known);
        ev.settle(&mut known, |turn| ev.region(plan, body, turn, &mut None));
        let mut need = None;
        for i in 0..r.items.len() {
            ev.drains(plan, r.first_gap + i, &mut known);
            ev.rest_of_gap(plan, r.first_gap + i, &mut known);
            let mut found = Some(Vec::new());
            ev.item(plan, body, i, &mut known, &mut found);
            need = found.as_ref().and_then(|f| worst(ev, body, f)).map(|&n| (i, n));
            if need.is_some() {
                break;
            }
        }
        let Some((i, need)) = need else { return };
        let (p, q) = (ev.hazards.steps[need.earlier].pipe, ev.hazards.steps[need.later].pipe);
        let Some(source) = r.item_of(need.earlier) else { return };
        if p == q || p == ALL || q == ALL {
            plan.barrier(before(ev.tree, body, i, need.later), (p != ALL && q != ALL).then_some(p));
            continue;
        }
        let around = (source >= i).then_some((outer, outer + 1));
        plan.add(Pair {
            from: p,
            to: q,
            region: body,
            set: r.first_gap + source + 1,
            wait: r.first_gap + i,
            around,
            id: 0,
        });
    }
}

/// What to see to first: what only a barrier of all pipes orders, then other pipes, the last item first, then the same
/// pipe.
fn worst<'f>(ev: &Evaluator<'_>, region: usize, found: &'f [Uncovered]) -> Option<&'f Uncovered> {
    let key = |u: &&Uncovered| {
        let (p, q) = (ev.hazards.steps[u.earlier].pipe, ev.hazards.steps[u.later].pipe);
        let class = if p == ALL || q == ALL { 2 } else { usize::from(p != q) };
        let item = ev.tree.regions[region].item_of(u.earlier);
        // Among equals the first found.
        (class, if class == 1 { item } else { None }, std::cmp::Reverse(u.later), std::cmp::Reverse(p))
    };
    found.iter().max_by_key(key)
}
