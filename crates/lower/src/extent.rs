//! Valid extents of tile values: known, or an index of the kernel.

use ir::{Dim, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    Static(u64),
    /// An index value of the kernel being written.
    Dynamic(Value),
}

impl Extent {
    pub(crate) fn dim(self) -> Dim {
        match self {
            Extent::Static(n) => Dim::Static(n),
            Extent::Dynamic(_) => Dim::Dynamic,
        }
    }

    pub(crate) fn value(self) -> Option<Value> {
        match self {
            Extent::Static(_) => None,
            Extent::Dynamic(v) => Some(v),
        }
    }
}

/// Whether the box `extents` of a value of this shape is a box of its matrix (last axis by all others), and which: the
/// number of whole rows per index of the axis that is cut, and that axis. `None` if it is not.
///
/// It is if, among the leading axes, only one is cut and all axes before it are of size 1.
pub(crate) fn cut_axis(shape: &[u64], extents: &[Extent]) -> Option<Option<(usize, u64)>> {
    let leading = shape.len() - 1;
    let Some(axis) = (0..leading).find(|&i| extents[i] != Extent::Static(shape[i])) else { return Some(None) };
    let outer_is_one = shape[..axis].iter().all(|&n| n == 1);
    let inner_is_full = (axis + 1..leading).all(|i| extents[i] == Extent::Static(shape[i]));
    (outer_is_one && inner_is_full).then(|| Some((axis, shape[axis + 1..leading].iter().product())))
}
