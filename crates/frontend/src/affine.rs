//! Integer scalars as sums of multiples of run-time values: how `x[r : r + T]` is found to have extent `T`.

use std::collections::BTreeMap;

use ir::Value;

/// `constant + Σ coefficient · value`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Affine {
    terms: BTreeMap<Value, i64>,
    constant: i64,
}

impl Affine {
    pub(crate) fn constant(c: i64) -> Affine {
        Affine { terms: BTreeMap::new(), constant: c }
    }

    pub(crate) fn value(v: Value) -> Affine {
        Affine { terms: BTreeMap::from([(v, 1)]), constant: 0 }
    }

    /// The number, if no run-time value remains.
    pub(crate) fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The value that this is, and nothing more.
    pub(crate) fn single(&self) -> Option<Value> {
        match self.terms.iter().next() {
            Some((&v, 1)) if self.terms.len() == 1 && self.constant == 0 => Some(v),
            _ => None,
        }
    }

    /// `self + factor · other`, or `None` on overflow.
    pub(crate) fn plus(&self, other: &Affine, factor: i64) -> Option<Affine> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (&v, &c) in &other.terms {
            let coefficient = sum.terms.get(&v).copied().unwrap_or(0).checked_add(c.checked_mul(factor)?)?;
            if coefficient == 0 {
                sum.terms.remove(&v);
            } else {
                sum.terms.insert(v, coefficient);
            }
        }
        Some(sum)
    }

    pub(crate) fn times(&self, other: &Affine) -> Option<Affine> {
        let (factor, form) = match (self.known(), other.known()) {
            (Some(c), _) => (c, other),
            (_, Some(c)) => (c, self),
            _ => return None,
        };
        Affine::default().plus(form, factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Entity;

    #[test]
    fn a_difference_of_equal_bases_is_a_number() {
        let r = Affine::value(Value::new(7));
        let scaled = r.times(&Affine::constant(16)).unwrap();
        let end = scaled.plus(&Affine::constant(64), 1).unwrap();
        assert_eq!(end.plus(&scaled, -1).unwrap().known(), Some(64));
        assert_eq!(end.plus(&r, -1).unwrap().known(), None);
    }
}
