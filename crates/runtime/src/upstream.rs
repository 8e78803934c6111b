//! The edges that upstream's runtime derives: `Deps::Upstream`.
//!
//! Upstream does not look at what a task touches. It has the *tag* of each argument (what the kernel says that it does to
//! it) and the argument's *view*, and a map from the base address of a buffer to the views that tasks have modified. A task
//! follows the earlier modifiers of what it takes as `in` or `inout`; what it modifies is entered. So a write after a read is
//! not ordered, nor is a write after a write where the second is tagged `out`, nor are two tensors at different addresses of
//! one memory. This module derives exactly those edges, so that a run can obey them alone and show what a device may do.
//!
//! Two things differ, since the difference could only hide a bug: ranges are compared in bytes (upstream compares elements,
//! and so misses views of one buffer with different types), and orchestration scalars always wait for readers
//! (`docs/runtime.md`).
//!
//! A `tensor_create` is a task of its own upstream, complete as soon as it is submitted: the edges from it order nothing.

use std::collections::{BTreeMap, BTreeSet};

use dtype::DType;
use memory::View;

use crate::host::Use;

/// What is known of how two views of one buffer lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Overlap {
    Disjoint,
    /// The later view contains all of the earlier one.
    Covered,
    /// They share bytes, or it takes more than comparing boxes to know that they do not.
    Other,
}

/// A view without its buffer: entries must not keep memory alive.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Shape {
    dtype: DType,
    /// Elements.
    start: u64,
    shape: Vec<u64>,
    strides: Vec<i64>,
    /// Of the whole buffer.
    bytes: u64,
}

impl Shape {
    fn of(view: &View) -> Shape {
        Shape {
            dtype: view.dtype,
            start: view.offset,
            shape: view.shape.to_vec(),
            strides: view.strides.to_vec(),
            bytes: view.buffer.len() as u64,
        }
    }

    fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// From the first byte to past the last.
    fn hull(&self) -> (i128, i128) {
        let size = self.dtype.size() as i128;
        let reach: i128 = self.shape.iter().zip(&self.strides).map(|(&n, &s)| (n as i128 - 1) * s as i128).sum();
        (self.start as i128 * size, (self.start as i128 + reach + 1) * size)
    }

    /// The box `[from, to)` of each axis in the array that the strides span, if they do span one that the buffer is made of
    /// and the view does not reach beyond a row of it.
    fn extents(&self) -> Option<Vec<(u64, u64)>> {
        let strides: Vec<u64> = self.strides.iter().map(|&s| u64::try_from(s).ok()).collect::<Option<_>>()?;
        let chain = strides.windows(2).all(|w| w[1] > 0 && w[0] >= w[1] && w[0].is_multiple_of(w[1]));
        let elements = self.bytes / self.dtype.size() as u64;
        if !chain || strides.last() != Some(&1) || !elements.is_multiple_of(strides[0]) {
            return None;
        }
        let mut rest = self.start;
        let mut out = Vec::with_capacity(strides.len());
        for (axis, (&stride, &n)) in strides.iter().zip(&self.shape).enumerate() {
            let from = rest / stride;
            rest %= stride;
            if axis > 0 && from + n > strides[axis - 1] / stride {
                return None;
            }
            out.push((from, from + n));
        }
        Some(out)
    }
}

/// Compares a view with an earlier one of the same buffer.
fn compare(later: &Shape, earlier: &Shape) -> Overlap {
    if later.is_empty() || earlier.is_empty() {
        return Overlap::Disjoint;
    }
    let (a, b) = (later.hull(), earlier.hull());
    if a.1 <= b.0 || b.1 <= a.0 {
        return Overlap::Disjoint;
    }
    if later.dtype != earlier.dtype || later.strides != earlier.strides {
        return Overlap::Other;
    }
    let (Some(a), Some(b)) = (later.extents(), earlier.extents()) else { return Overlap::Other };
    let axes = || a.iter().zip(&b);
    if axes().any(|(a, b)| a.1 <= b.0 || b.1 <= a.0) {
        Overlap::Disjoint
    } else if axes().all(|(a, b)| a.0 <= b.0 && b.1 <= a.1) {
        Overlap::Covered
    } else {
        Overlap::Other
    }
}

#[derive(Debug)]
struct Entry {
    shape: Shape,
    task: u32,
}

/// An argument that is a tensor.
pub(crate) struct Argument<'a> {
    /// Its position.
    pub(crate) at: usize,
    pub(crate) view: &'a View,
    pub(crate) used: Use,
    pub(crate) no_dep: bool,
}

/// Views that tasks have modified, by the address of their buffer.
#[derive(Debug, Default)]
pub(crate) struct TensorMap {
    buffers: BTreeMap<usize, Vec<Entry>>,
    /// Buffers that `create_tensor(manual_dep=True)` made.
    manual: BTreeSet<usize>,
}

fn base(view: &View) -> usize {
    view.buffer.as_ptr().addr()
}

impl TensorMap {
    /// A tensor was made, maybe where one was that is gone.
    pub(crate) fn created(&mut self, view: &View, manual: bool) {
        self.buffers.remove(&base(view));
        if manual {
            self.manual.insert(base(view));
        } else {
            self.manual.remove(&base(view));
        }
    }

    pub(crate) fn has_manual(&self) -> bool {
        !self.manual.is_empty()
    }

    /// Whether the program says itself what tasks that touch this follow.
    pub(crate) fn is_manual(&self, view: &View) -> bool {
        self.manual.contains(&base(view))
    }

    /// Tells `found` whom a task follows, then enters what it modifies: all look-ups before any entry, so that arguments
    /// that are views of one tensor do not make it follow itself.
    pub(crate) fn submit<'a>(
        &mut self,
        task: u32,
        args: impl Iterator<Item = Argument<'a>> + Clone,
        gone: &dyn Fn(u32) -> bool,
        found: &mut dyn FnMut(u32),
    ) {
        let tracked = args.filter(|a| !a.no_dep && !self.manual.contains(&base(a.view)));
        for arg in tracked.clone().filter(|a| matches!(a.used, Use::In | Use::InOut)) {
            let Some(entries) = self.buffers.get_mut(&base(arg.view)) else { continue };
            let shape = Shape::of(arg.view);
            entries.retain(|e| {
                if gone(e.task) {
                    return false;
                }
                let overlap = compare(&shape, &e.shape);
                if overlap != Overlap::Disjoint {
                    found(e.task);
                }
                // Whoever follows it follows the new modifier, which does.
                !(overlap == Overlap::Covered && arg.used == Use::InOut)
            });
        }
        for arg in tracked.filter(|a| matches!(a.used, Use::Out | Use::InOut)) {
            self.buffers.entry(base(arg.view)).or_default().push(Entry { shape: Shape::of(arg.view), task });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::Buffer;

    fn overlap(later: &View, earlier: &View) -> Overlap {
        compare(&Shape::of(later), &Shape::of(earlier))
    }

    fn whole(dtype: DType, shape: &[u64]) -> View {
        let bytes = shape.iter().product::<u64>() as usize * dtype.size();
        View::new(Buffer::zeroed(bytes), dtype, shape).expect("a view")
    }

    /// The table of cases: how the later view lies to the earlier one.
    #[test]
    fn the_overlap_table() {
        let m = whole(DType::F32, &[8, 16]);
        let at = |o: [u64; 2], n: [u64; 2]| m.slice(&o, &n).expect("inside");
        let rows = |from: u64, n: u64, step: i64| {
            View::strided(m.buffer.clone(), DType::F32, from * 16, &[n, 16], &[16 * step, 1]).expect("inside")
        };
        let d5 = whole(DType::F32, &[2, 3, 4, 5, 6]);
        let at5 = |o: [u64; 5], n: [u64; 5]| d5.slice(&o, &n).expect("inside");
        let bytes = m.bitcast(DType::I8).expect("bytes");
        let padded = whole(DType::F32, &[130]);
        let band =
            |from: u64| View::strided(padded.buffer.clone(), DType::F32, from, &[8, 4], &[16, 1]).expect("inside");
        let flat = m.reshape(&[128]).expect("packed");
        let cases = [
            ("disjoint rows", at([0, 0], [2, 16]), at([2, 0], [2, 16]), Overlap::Disjoint),
            ("disjoint columns", at([0, 0], [8, 8]), at([0, 8], [8, 8]), Overlap::Disjoint),
            ("the same", at([1, 2], [3, 4]), at([1, 2], [3, 4]), Overlap::Covered),
            ("covering", m.clone(), at([1, 2], [3, 4]), Overlap::Covered),
            ("within", at([1, 2], [3, 4]), m.clone(), Overlap::Other),
            ("partial", at([0, 0], [4, 8]), at([2, 4], [4, 8]), Overlap::Other),
            ("even and odd rows", rows(0, 4, 2), rows(1, 4, 2), Overlap::Disjoint),
            ("even rows and all", rows(0, 4, 2), m.clone(), Overlap::Other),
            ("transposed", m.transpose(0, 1).expect("2-D"), m.clone(), Overlap::Other),
            (
                "transposed, disjoint rows",
                at([4, 0], [4, 16]).transpose(0, 1).expect("2-D"),
                at([0, 0], [4, 16]),
                Overlap::Disjoint,
            ),
            ("reshaped", flat.clone(), m.clone(), Overlap::Other),
            ("reshaped, apart", flat.slice(&[64], &[64]).expect("inside"), at([0, 0], [4, 16]), Overlap::Disjoint),
            ("another type", bytes.slice(&[2, 0], &[1, 64]).expect("inside"), at([0, 0], [4, 16]), Overlap::Other),
            (
                "another type, apart",
                bytes.slice(&[4, 0], &[1, 64]).expect("inside"),
                at([0, 0], [4, 16]),
                Overlap::Disjoint,
            ),
            ("empty", at([0, 0], [0, 16]), m.clone(), Overlap::Disjoint),
            ("a buffer with a tail: boxes are not compared", band(0), band(4), Overlap::Other),
            (
                "5-D, apart on one axis",
                at5([0, 0, 0, 0, 0], [2, 3, 4, 2, 6]),
                at5([0, 0, 0, 2, 0], [2, 3, 4, 3, 6]),
                Overlap::Disjoint,
            ),
            (
                "5-D, covering",
                at5([0, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
                at5([1, 1, 1, 2, 1], [1, 2, 2, 1, 2]),
                Overlap::Covered,
            ),
            (
                "5-D, partial",
                at5([0, 0, 0, 0, 0], [2, 2, 2, 2, 2]),
                at5([1, 1, 1, 1, 1], [1, 2, 3, 4, 5]),
                Overlap::Other,
            ),
        ];
        for (name, later, earlier, expected) in cases {
            assert_eq!(overlap(&later, &earlier), expected, "{name}");
        }
    }

    /// Upstream compares numbers of elements here and finds these apart: [0, 100) and [200, 300), of different types.
    #[test]
    fn a14b_views_of_different_types_are_compared_in_bytes() {
        let buffer = Buffer::zeroed(400);
        let floats = View::strided(buffer.clone(), DType::F32, 0, &[100], &[1]).expect("inside");
        let bytes = View::strided(buffer, DType::I8, 200, &[100], &[1]).expect("inside");
        assert_eq!(overlap(&bytes, &floats), Overlap::Other);
        assert_eq!(overlap(&floats, &bytes), Overlap::Other);
    }
}
