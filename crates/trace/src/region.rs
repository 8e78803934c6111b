//! Strided sets of bytes, and the exact test whether two of them share one.
//!
//! A region is `{ start + Σ ik·stride[k] + b : 0 ≤ ik < count[k], 0 ≤ b < run }`: what a box of a strided array occupies.
//! [`Region::overlaps`] is exact for every pair: disjoint column bands and even and odd rows of one array do not overlap.
//! (A budget bounds its work on pathological pairs of unrelated strides; beyond it the answer is "yes", which costs
//! parallelism, never correctness.)

/// Dimensions that a region can have beside its run.
const MAX_DIMS: usize = 8;

/// Steps after which an overlap test gives up and says yes.
const BUDGET: u32 = 200_000;

/// A strided set of byte addresses. Empty iff `run` is 0.
///
/// Canonical: every count is at least 2, strides are positive and descend, no dimension continues the run or the next
/// dimension without a gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    pub start: i64,
    /// Consecutive bytes.
    pub run: i64,
    len: u8,
    /// (count, stride in bytes), outermost first.
    dims: [(i64, i64); MAX_DIMS],
}

impl Region {
    pub const EMPTY: Region = Region { start: 0, run: 0, len: 0, dims: [(0, 0); MAX_DIMS] };

    /// `len` bytes from `start` on.
    pub fn bytes(start: i64, len: i64) -> Region {
        Region { start, run: len.max(0), ..Region::EMPTY }
    }

    /// The bytes of a strided array: `start` is the address of element (0, …, 0), strides are in bytes.
    ///
    /// With more dimensions with gaps than a region can hold, the set is widened to the hull of the outermost ones.
    pub fn strided(start: i64, size: i64, dims: impl IntoIterator<Item = (i64, i64)>) -> Region {
        let mut region = Region::bytes(start, size);
        for (count, stride) in dims {
            if count <= 0 {
                return Region::EMPTY;
            }
            if count == 1 || stride == 0 {
                continue;
            }
            if stride < 0 {
                region.start += (count - 1) * stride;
            }
            region.insert(count, stride.abs());
        }
        region.compact();
        region
    }

    pub fn is_empty(&self) -> bool {
        self.run == 0
    }

    /// (count, stride in bytes), outermost first.
    pub fn dims(&self) -> &[(i64, i64)] {
        &self.dims[..self.len as usize]
    }

    /// One past the last byte.
    pub fn end(&self) -> i64 {
        self.dims().iter().fold(self.start + self.run, |e, &(n, s)| e + (n - 1) * s)
    }

    pub fn is_contiguous(&self) -> bool {
        self.len == 0
    }

    /// The same set `by` bytes further on.
    pub fn shifted(mut self, by: i64) -> Region {
        self.start += by;
        self
    }

    /// Same shape, wherever it starts.
    pub fn same_shape(&self, other: &Region) -> bool {
        self.run == other.run && self.dims() == other.dims()
    }

    /// The union of `count` copies, each `stride` bytes after the one before.
    pub fn repeated(&self, count: i64, stride: i64) -> Option<Region> {
        if self.len as usize == MAX_DIMS {
            return None;
        }
        let mut region = *self;
        if stride < 0 {
            region.start += (count - 1) * stride;
        }
        if count > 1 && stride != 0 && !region.is_empty() {
            region.insert(count, stride.abs());
            region.compact();
        }
        Some(region)
    }

    /// Whether every byte of `other` is one of this set. May say no for a pair where it is so but hard to see.
    pub fn covers(&self, other: &Region) -> bool {
        other.is_empty()
            || self == other
            || (self.is_contiguous() && self.start <= other.start && other.end() <= self.end())
    }

    /// Whether the two sets share a byte.
    pub fn overlaps(&self, other: &Region) -> bool {
        !self.is_empty() && !other.is_empty() && {
            let (a, b) = (Part::of(self), Part::of(other));
            let mut budget = BUDGET;
            share(a, b, &mut budget)
        }
    }

    /// Keeps the dimensions sorted by descending stride.
    fn insert(&mut self, count: i64, stride: i64) {
        let len = self.len as usize;
        if len == MAX_DIMS {
            // The hull of the finest dimension is the run that spans it.
            let (n, s) = self.dims[len - 1];
            self.run += (n - 1) * s;
            self.len -= 1;
            return self.insert(count, stride);
        }
        let at = self.dims().iter().position(|&(_, s)| s < stride).unwrap_or(len);
        self.dims.copy_within(at..len, at + 1);
        self.dims[at] = (count, stride);
        self.len += 1;
    }

    /// Joins dimensions without gaps.
    fn compact(&mut self) {
        // Inner dimensions into the run: copies that touch or overlap make a longer run.
        while let Some(&(n, s)) = self.dims().last() {
            if s > self.run {
                break;
            }
            self.run += (n - 1) * s;
            self.len -= 1;
        }
        let mut k = 0;
        while k + 1 < self.len as usize {
            let ((n1, s1), (n2, s2)) = (self.dims[k], self.dims[k + 1]);
            if s1 == n2 * s2 {
                self.dims[k] = (n1 * n2, s2);
                self.dims.copy_within(k + 2..self.len as usize, k + 1);
                self.len -= 1;
            } else {
                k += 1;
            }
        }
        self.dims[self.len as usize..].fill((0, 0));
    }
}

/// What is left of a region: its innermost run and the dimensions from some point on.
#[derive(Clone, Copy)]
struct Part<'a> {
    start: i64,
    run: i64,
    dims: &'a [(i64, i64)],
}

impl<'a> Part<'a> {
    fn of(region: &'a Region) -> Part<'a> {
        Part { start: region.start, run: region.run, dims: region.dims() }
    }

    /// Bytes from the first to the last.
    fn span(&self) -> i64 {
        self.dims.iter().fold(self.run, |e, &(n, s)| e + (n - 1) * s)
    }
}

/// Exact by recursion on the dimension of larger stride: of its copies only those near the other set can matter.
fn share(a: Part<'_>, b: Part<'_>, budget: &mut u32) -> bool {
    let (sa, sb) = (a.span(), b.span());
    if a.start >= b.start + sb || b.start >= a.start + sa {
        return false;
    }
    if *budget == 0 {
        return true;
    }
    *budget -= 1;
    match (a.dims.first(), b.dims.first()) {
        (None, None) => true,
        (Some(&(n, s)), Some(&(m, t))) if s == t => {
            // Copies i of a and j of b: only d = i − j matters.
            let (ia, ib) = (Part { dims: &a.dims[1..], ..a }, Part { dims: &b.dims[1..], ..b });
            // ia + d·s meets ib: b.start − a.start − span(ia) < d·s < b.start − a.start + span(ib).
            let gap = b.start - a.start;
            let low = (gap - ia.span()).div_euclid(s) + 1;
            let high = (gap + ib.span() - 1).div_euclid(s);
            (low.max(1 - m)..=high.min(n - 1)).any(|d| share(Part { start: ia.start + d * s, ..ia }, ib, budget))
        }
        (Some(&(n, s)), t) if t.is_none_or(|&(_, t)| s > t) => {
            let ia = Part { dims: &a.dims[1..], ..a };
            let gap = b.start - a.start;
            let low = (gap - ia.span()).div_euclid(s) + 1;
            let high = (gap + sb - 1).div_euclid(s);
            (low.max(0)..=high.min(n - 1)).any(|i| share(Part { start: ia.start + i * s, ..ia }, b, budget))
        }
        _ => share(b, a, budget),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn bytes(r: &Region) -> BTreeSet<i64> {
        let mut set: BTreeSet<i64> = (r.start..r.start + r.run).collect();
        for &(n, s) in r.dims() {
            set = set.iter().flat_map(|&x| (0..n).map(move |i| x + i * s)).collect();
        }
        set
    }

    fn naive(start: i64, size: i64, dims: &[(i64, i64)]) -> BTreeSet<i64> {
        let mut set: BTreeSet<i64> = (start..start + size).collect();
        for &(n, s) in dims {
            set = set.iter().flat_map(|&x| (0..n).map(move |i| x + i * s)).collect();
        }
        set
    }

    struct Rng(u64);

    impl Rng {
        fn below(&mut self, n: u64) -> i64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) % n) as i64
        }
    }

    #[test]
    fn bands_and_interleaved_rows_are_disjoint() {
        let rows = |start, cols| Region::strided(start, 4, [(64, 1024), (cols, 4)]);
        assert!(!rows(0, 128).overlaps(&rows(512, 128)));
        assert!(rows(0, 129).overlaps(&rows(512, 128)));
        let every_other = |start| Region::strided(start, 4, [(32, 2048), (256, 4)]);
        assert!(!every_other(0).overlaps(&every_other(1024)));
        assert!(every_other(0).overlaps(&every_other(2048)));
    }

    #[test]
    fn canonical_forms_keep_the_set_and_overlap_agrees_with_brute_force() {
        let mut rng = Rng(7);
        let mut hits = 0;
        for _ in 0..20_000 {
            let mut make = || {
                let size = 1 << rng.below(3);
                let dims: Vec<(i64, i64)> =
                    (0..rng.below(4)).map(|_| (1 + rng.below(4), size * (rng.below(14) - 3))).collect();
                (60 + rng.below(80), size, dims)
            };
            let (a, b) = (make(), make());
            let (ra, rb) = (Region::strided(a.0, a.1, a.2.clone()), Region::strided(b.0, b.1, b.2.clone()));
            let (na, nb) = (naive(a.0, a.1, &a.2), naive(b.0, b.1, &b.2));
            assert_eq!(bytes(&ra), na, "{a:?}");
            assert_eq!(bytes(&rb), nb, "{b:?}");
            let expected = na.intersection(&nb).next().is_some();
            hits += expected as u32;
            assert_eq!(ra.overlaps(&rb), expected, "{a:?} {b:?}");
            assert_eq!(rb.overlaps(&ra), expected, "{a:?} {b:?}");
            if ra.covers(&rb) {
                assert!(nb.is_subset(&na), "{a:?} {b:?}");
            }
        }
        assert!((4_000..16_000).contains(&hits), "{hits}: the cases no longer exercise both answers");
    }
}
