//! Sets of small numbers.

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// Room for numbers below `len`.
    pub(super) fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    pub(super) fn insert(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    pub(super) fn insert_range(&mut self, range: std::ops::Range<usize>) {
        for i in range {
            self.insert(i);
        }
    }

    pub(super) fn from_words(words: &[u64]) -> Bits {
        Bits(words.to_vec())
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }

    pub(super) fn remove_all(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    /// What is in both, in ascending order; the other as words.
    pub(super) fn common<'a>(&'a self, other: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
        self.0.iter().zip(other).enumerate().flat_map(|(word, (a, b))| {
            let mut left = a & b;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_wider_than_a_word() {
        let of = |numbers: &[usize]| {
            let mut set = Bits::new(200);
            numbers.iter().for_each(|&n| set.insert(n));
            set
        };
        let listed = |set: &Bits| set.common(set.words()).collect::<Vec<_>>();
        let (mut a, b) = (of(&[0, 63, 64, 199]), of(&[63, 100, 199]));
        assert_eq!(a.common(b.words()).collect::<Vec<_>>(), [63, 199]);
        a.remove_all(&b);
        assert_eq!(listed(&a), [0, 64]);
        a.insert_range(62..66);
        assert_eq!(listed(&a), [0, 62, 63, 64, 65]);
        assert_eq!(Bits::from_words(a.words()), a);
    }
}
