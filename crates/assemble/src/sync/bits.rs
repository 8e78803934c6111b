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

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    pub(super) fn union(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    pub(super) fn intersect(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    pub(super) fn remove_all(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }

    /// What is in both, in ascending order.
    pub(super) fn common<'a>(&'a self, other: &'a Bits) -> impl Iterator<Item = usize> + 'a {
        self.0.iter().zip(&other.0).enumerate().flat_map(|(word, (a, b))| {
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
        let listed = |set: &Bits| set.common(set).collect::<Vec<_>>();
        let (mut a, b) = (of(&[0, 63, 64, 199]), of(&[63, 100, 199]));
        assert_eq!(a.common(&b).collect::<Vec<_>>(), [63, 199]);
        a.union(&b);
        assert_eq!(listed(&a), [0, 63, 64, 100, 199]);
        a.intersect(&b);
        assert_eq!(a, b);
        a.remove_all(&of(&[100]));
        a.insert_range(1..3);
        assert_eq!(listed(&a), [1, 2, 63, 199]);
        a.clear();
        assert!(listed(&a).is_empty());
    }
}
