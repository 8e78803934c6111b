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
                Kind::Loop(body) => {
                    turns(ev, plan, region, item, body);
                    prune(ev, plan, region, item, body);
                }
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
            let mut flag = flag_of(&behind, source, p, &known);
            flag.insert_range(r.items[source].steps.end..data.steps.start);
            known.learn(q, &flag);
            plan.add(Pair { from: p, to: q, region, set: r.first_gap + source + 1, wait: gap, around: None, id: 0 });
        }
        ev.drains(plan, gap + 1, &mut known);
        behind.push(flags_behind(ev, region, item, &known));
    }
}

/// Plans what the turns of a loop owe each other, in one walk from what is open where a turn begins.
fn turns(ev: &Evaluator<'_>, plan: &mut Plan, region: usize, item: usize, body: usize) {
    let r = &ev.tree.regions[body];
    let outer = ev.tree.regions[region].first_gap + item;
    let (first, last) = match (r.items.first(), r.items.last()) {
        (Some(first), Some(last)) => (first.steps.start, last.steps.end),
        _ => return,
    };
    let mut head = Known::everything(ev.hazards);
    ev.primes(plan, outer, &mut head);
    ev.settle(&mut head, &mut None, |turn, found| ev.region(plan, body, turn, found));
    let mut behind: Option<Behind> = None;
    let mut known = head.clone();
    for i in 0..r.items.len() {
        ev.drains(plan, r.first_gap + i, &mut known);
        ev.rest_of_gap(plan, r.first_gap + i, &mut known);
        loop {
            let mut trial = known.clone();
            let mut found = Some(Vec::new());
            ev.item(plan, body, i, &mut trial, &mut found);
            let Some(&need) = found.as_ref().and_then(|f| worst(ev, body, f)) else {
                known = trial;
                break;
            };
            let (p, q) = (ev.hazards.steps[need.earlier].pipe, ev.hazards.steps[need.later].pipe);
            let gap = r.first_gap + i;
            if p == q || p == ALL || q == ALL {
                let pipe = (p != ALL && q != ALL).then_some(p);
                let at = before(ev.tree, body, i, need.later);
                plan.barrier(at, pipe);
                if at == gap {
                    known.barrier(pipe, &ev.on);
                }
                continue;
            }
            let Some(source) = r.item_of(need.earlier) else { break };
            // The flag that the turn before left: what is planned since then can only make it tell more.
            let before = behind.get_or_insert_with(|| walk(ev, plan, body, head.clone()));
            let mut flag = flag_of(before, source, p, &known);
            flag.insert_range(r.items[source].steps.end..last);
            flag.insert_range(first..r.items[i].steps.start);
            known.learn(q, &flag);
            let (set, around) = (r.first_gap + source + 1, (source >= i).then_some((outer, outer + 1)));
            plan.add(Pair { from: p, to: q, region: body, set, wait: gap, around, id: 0 });
        }
    }
}

/// What flags would carry behind the items of a region.
fn walk(ev: &Evaluator<'_>, plan: &Plan, region: usize, mut known: Known) -> Behind {
    let r = &ev.tree.regions[region];
    let mut behind = Vec::with_capacity(r.items.len());
    for item in 0..r.items.len() {
        ev.drains(plan, r.first_gap + item, &mut known);
        ev.rest_of_gap(plan, r.first_gap + item, &mut known);
        ev.item(plan, region, item, &mut known, &mut None);
        behind.push(flags_behind(ev, region, item, &known));
    }
    behind
}

/// What flags of the pipes that an item uses would carry.
fn flags_behind(ev: &Evaluator<'_>, region: usize, item: usize, known: &Known) -> Vec<(usize, Bits)> {
    let steps = ev.tree.regions[region].items[item].steps.clone();
    let mut pipes: Vec<usize> = steps.map(|s| ev.hazards.steps[s].pipe).filter(|&p| p != ALL).collect();
    pipes.sort_unstable();
    pipes.dedup();
    pipes.into_iter().map(|p| (p, ev.flag(known, p))).collect()
}

fn flag_of(behind: &Behind, item: usize, pipe: usize, known: &Known) -> Bits {
    let found = behind.get(item).and_then(|flags| flags.iter().find(|f| f.0 == pipe));
    found.map_or_else(|| Bits::from_words(known.open(pipe)), |f| f.1.clone())
}

/// Takes out pairs of a loop's body that are covered by what was added after them. What is outside of the loop is not
/// planned yet, so it counts on none of them.
fn prune(ev: &Evaluator<'_>, plan: &mut Plan, region: usize, item: usize, body: usize) {
    let outer = ev.tree.regions[region].first_gap + item;
    for k in 0..plan.pairs.len() {
        if plan.pairs[k].region != body || !plan.has(k) {
            continue;
        }
        let pair = plan.pairs[k].clone();
        plan.remove(k);
        let mut known = Known::everything(ev.hazards);
        ev.primes(plan, outer, &mut known);
        let mut found = Some(Vec::new());
        ev.item(plan, region, item, &mut known, &mut found);
        if found.is_none_or(|f| !f.is_empty()) {
            plan.put_back(k, pair);
        }
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
