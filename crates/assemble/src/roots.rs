//! Sets of roots.

/// A set of roots, as the bits of a window of words: most sets hold roots that are made close to each other.
#[derive(Clone, Default, Debug)]
pub(crate) struct Set {
    /// Number of the first word of the window.
    first: usize,
    words: Vec<u64>,
}

impl Set {
    pub(crate) fn insert(&mut self, i: usize) {
        self.widen(i / 64, i / 64 + 1);
        self.words[i / 64 - self.first] |= 1 << (i % 64);
    }

    pub(crate) fn remove(&mut self, i: usize) {
        let Some(at) = (i / 64).checked_sub(self.first) else { return };
        let Some(word) = self.words.get_mut(at) else { return };
        *word &= !(1 << (i % 64));
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    pub(crate) fn add(&mut self, other: &Set) {
        if other.words.is_empty() {
            return;
        }
        self.widen(other.first, other.first + other.words.len());
        let at = other.first - self.first;
        for (word, more) in self.words[at..].iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(move |(at, &word)| bits(word, (self.first + at) * 64))
    }

    /// What is in one of two sets, in ascending order.
    pub(crate) fn difference(&self, other: &Set) -> Vec<usize> {
        let (from, to) = match (self.words.is_empty(), other.words.is_empty()) {
            (true, _) => other.window(),
            (_, true) => self.window(),
            _ => {
                let (a, b) = (self.window(), other.window());
                (a.0.min(b.0), a.1.max(b.1))
            }
        };
        (from..to).flat_map(|at| bits(self.word(at) ^ other.word(at), at * 64)).collect()
    }

    fn window(&self) -> (usize, usize) {
        (self.first, self.first + self.words.len())
    }

    fn word(&self, at: usize) -> u64 {
        at.checked_sub(self.first).and_then(|at| self.words.get(at)).copied().unwrap_or(0)
    }

    /// Makes words `from..to` part of the window.
    fn widen(&mut self, from: usize, to: usize) {
        if self.words.is_empty() {
            self.first = from;
        }
        if from < self.first {
            self.words.splice(0..0, std::iter::repeat_n(0, self.first - from));
            self.first = from;
        }
        if self.words.len() < to - self.first {
            self.words.resize(to - self.first, 0);
        }
    }
}

/// The bits of a word that are set, counted from `base`.
fn bits(mut word: u64, base: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.checked_sub(1)?;
        Some(base + bit)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Against ordered sets, by random edits.
    #[test]
    fn windows_hold_what_ordered_sets_hold() {
        let mut control = control::Control::new(5);
        let (mut sets, mut models) = ([Set::default(), Set::default()], [BTreeSet::new(), BTreeSet::new()]);
        for _ in 0..20_000 {
            let (which, i) = (control.choose(2), control.choose(1000));
            match control.choose(6) {
                0..=1 => {
                    sets[which].insert(i);
                    models[which].insert(i);
                }
                2..=4 => {
                    let i = models[which].range(i..).next().copied().unwrap_or(i);
                    sets[which].remove(i);
                    models[which].remove(&i);
                }
                _ if control.choose(20) == 0 => {
                    let other = sets[1 - which].clone();
                    sets[which].add(&other);
                    models[which] = models[0].union(&models[1]).copied().collect();
                }
                _ => {}
            }
            assert!(sets[which].iter().eq(models[which].iter().copied()));
            assert!(sets[0].difference(&sets[1]).into_iter().eq(models[0].symmetric_difference(&models[1]).copied()));
        }
    }
}
