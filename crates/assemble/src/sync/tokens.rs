//! Buffer tokens (A5): a token is held by one pipe at a time and goes from holder to holder in program order, so two
//! steps that both hold one while they run are ordered, in loops and branches too, whatever happened before.
//!
//! Bytes that some two pipes contend for are a *resource*: places that overlap in a hazard are one. Each step holds the
//! tokens of its resources. Resources share tokens where there are more of them than tokens; a step takes a token once,
//! whatever number of its resources it stands for, so none is taken twice.
//!
//! Pipes that no token names (the scalar unit), instructions of several pipes, and instructions of one pipe that may
//! overlap are left to flags and barriers.

use super::steps::{ALL, SCALAR, Step};

/// Tokens of a core.
pub(super) const TOKENS: usize = 32;

/// Who takes a token, by pipe: a kind of instruction that runs on it.
pub(super) const HOLDERS: [Option<&str>; 7] =
    [None, Some("TVEC"), Some("TMATMUL"), Some("TMOV_M2L"), Some("TLOAD"), Some("TSTORE_VEC"), Some("TSTORE_ACC")];

/// The tokens of each step, ascending, and the hazards that they leave.
pub(super) fn tokens(
    steps: &[Step],
    pairs: Vec<(usize, usize)>,
    rotation: usize,
) -> (Vec<Vec<usize>>, Vec<(usize, usize)>) {
    let apart = |p: usize| p == SCALAR || p == ALL;
    let (left, held): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|&(a, b)| {
        let (p, q) = (steps[a].pipe, steps[b].pipe);
        p == q || apart(p) || apart(q)
    });
    // The places of all steps, numbered, and sets of those that contend.
    let mut first = Vec::with_capacity(steps.len());
    let mut count = 0;
    for step in steps {
        first.push(count);
        count += step.places.len();
    }
    let mut sets: Vec<usize> = (0..count).collect();
    let mut contended = vec![false; count];
    for (a, b) in held {
        for (i, (x, write)) in steps[a].places.iter().enumerate() {
            for (j, (y, changes)) in steps[b].places.iter().enumerate() {
                if (*write || *changes) && x.overlaps(y) {
                    let (m, n) = (first[a] + i, first[b] + j);
                    (contended[m], contended[n]) = (true, true);
                    let (r, s) = (root(&mut sets, m), root(&mut sets, n));
                    sets[r.max(s)] = r.min(s);
                }
            }
        }
    }
    let mut names = std::collections::BTreeMap::new();
    let mut of = vec![Vec::new(); steps.len()];
    for (step, held) in of.iter_mut().enumerate() {
        let places = first[step]..first[step] + steps[step].places.len();
        for place in places.filter(|&p| contended[p]) {
            let next = names.len();
            let resource = *names.entry(root(&mut sets, place)).or_insert(next);
            held.push((resource + rotation) % TOKENS);
        }
        held.sort_unstable();
        held.dedup();
    }
    (of, left)
}

fn root(sets: &mut [usize], mut i: usize) -> usize {
    while sets[i] != i {
        sets[i] = sets[sets[i]];
        i = sets[i];
    }
    i
}
