//! Strided arrays inside a buffer.

use std::ops::Range;

use dtype::{DType, Scalar};

use crate::{Buffer, Dims, MemoryError};

/// An array of elements: element `(i0, i1, …)` is at element `offset + Σ ik·strides[k]` of `buffer`.
///
/// Offset, extents and strides count elements. A view may be built with any fields; every access checks them.
///
/// A view may *overhang* its buffer ([`View::overhanging`]): an access to what overhangs is an error, as any outside a buffer.
#[derive(Clone, Debug)]
pub struct View {
    pub buffer: Buffer,
    pub dtype: DType,
    pub offset: u64,
    pub shape: Dims<u64>,
    pub strides: Dims<i64>,
}

impl View {
    /// A row-major array at the start of `buffer`.
    pub fn new(buffer: Buffer, dtype: DType, shape: &[u64]) -> Result<View, MemoryError> {
        let shape = Dims::new(shape)?;
        let view = View { buffer, dtype, offset: 0, strides: row_major(&shape)?, shape };
        view.extent()?;
        Ok(view)
    }

    /// An array with the given strides, `offset` elements into `buffer`.
    pub fn strided(
        buffer: Buffer,
        dtype: DType,
        offset: u64,
        shape: &[u64],
        strides: &[i64],
    ) -> Result<View, MemoryError> {
        let view = View { buffer, dtype, offset, shape: Dims::new(shape)?, strides: Dims::new(strides)? };
        view.extent()?;
        Ok(view)
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1u64, |n, &d| n.saturating_mul(d))
    }

    /// The byte range of the buffer that holds every element: from the first byte of the lowest to the last of the
    /// highest. Empty for a view without elements. An error if it does not fit the buffer.
    pub fn extent(&self) -> Result<Range<u64>, MemoryError> {
        if self.shape.len() != self.strides.len() {
            return Err(MemoryError::Shape(format!(
                "a view with {} extents and {} strides",
                self.shape.len(),
                self.strides.len()
            )));
        }
        let (size, total) = (self.dtype.size() as i128, self.buffer.len() as i128);
        if self.shape.contains(&0) {
            return Ok(0..0);
        }
        let (mut low, mut high) = (self.offset as i128, self.offset as i128);
        for (&d, &s) in self.shape.iter().zip(self.strides.iter()) {
            let reach = (d as i128 - 1) * s as i128;
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        let (start, end) = (low.saturating_mul(size), (high + 1).saturating_mul(size));
        if start < 0 || end > total {
            return Err(MemoryError::OutOfBounds {
                offset: start,
                len: (end - start) as u128,
                size: self.buffer.len() as u64,
            });
        }
        Ok(start as u64..end as u64)
    }

    /// Whether the elements lie one after another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1i128;
        for (&d, &s) in self.shape.iter().zip(self.strides.iter()).rev() {
            if d == 0 {
                return true;
            }
            if d != 1 && s as i128 != expected {
                return false;
            }
            expected *= d as i128;
        }
        true
    }

    /// The part of the view that does not overhang its buffer.
    pub fn inside(&self) -> View {
        let mut view = self.clone();
        if let (Some(&stride @ 1..), true) = (self.strides.first(), self.rises()) {
            let row: u64 = self
                .shape
                .iter()
                .zip(self.strides.iter())
                .skip(1)
                .fold(1, |n, (&d, &s)| n.saturating_add(d.saturating_sub(1).saturating_mul(s as u64)));
            let elements = (self.buffer.len() / self.dtype.size()) as u64;
            let room = elements.saturating_sub(self.offset);
            let rows = if room < row { 0 } else { (room - row) / stride as u64 + 1 };
            view.shape[0] = self.shape[0].min(rows);
        }
        view
    }

    /// Whether no element lies before the first.
    fn rises(&self) -> bool {
        self.shape.len() == self.strides.len() && self.strides.iter().all(|&s| s >= 0)
    }

    /// Whether all that would follow in the first dimension lies beyond the buffer.
    fn ends_with_buffer(&self) -> bool {
        let (Some(&rows), Some(&stride)) = (self.shape.first(), self.strides.first()) else { return false };
        let next = self.offset as i128 + rows as i128 * stride as i128;
        self.rises() && stride > 0 && next * self.dtype.size() as i128 >= self.buffer.len() as i128
    }

    /// The box of `sizes` elements at `offsets`; it must lie inside the view.
    pub fn slice(&self, offsets: &[u64], sizes: &[u64]) -> Result<View, MemoryError> {
        self.cut(offsets, sizes, false)
    }

    /// As [`View::slice`], but the box may go past the end of the first dimension if everything there lies beyond the
    /// buffer too. Kernels for a fixed number of rows are handed such slices of a ragged tensor, and access the rows that
    /// exist.
    pub fn overhanging(&self, offsets: &[u64], sizes: &[u64]) -> Result<View, MemoryError> {
        self.cut(offsets, sizes, self.ends_with_buffer())
    }

    fn cut(&self, offsets: &[u64], sizes: &[u64], overhangs: bool) -> Result<View, MemoryError> {
        self.inside().extent()?;
        if offsets.len() != self.rank() || sizes.len() != self.rank() {
            return Err(MemoryError::Shape(format!(
                "a slice with {} offsets and {} sizes of a view of {} dimensions",
                offsets.len(),
                sizes.len(),
                self.rank()
            )));
        }
        let mut start = self.offset as i128;
        for (k, (&o, &n)) in offsets.iter().zip(sizes).enumerate() {
            let over = overhangs && k == 0 && o < self.shape[0];
            if o.checked_add(n).is_none_or(|end| end > self.shape[k] && !over) {
                return Err(MemoryError::Shape(format!(
                    "a slice of {n} at {o} in dimension {k}, which has {}",
                    self.shape[k]
                )));
            }
            start += o as i128 * self.strides[k] as i128;
        }
        // An empty slice may start one past the end; it has no elements to address.
        let offset = if sizes.contains(&0) { self.offset } else { start as u64 };
        Ok(View { offset, shape: Dims::new(sizes)?, ..self.clone() })
    }

    /// Exchanges two dimensions.
    pub fn transpose(&self, a: usize, b: usize) -> Result<View, MemoryError> {
        if a >= self.rank() || b >= self.rank() {
            return Err(MemoryError::Shape(format!(
                "a transposition of dimensions {a} and {b} of a view of {}",
                self.rank()
            )));
        }
        self.extent()?;
        let mut view = self.clone();
        view.shape.swap(a, b);
        view.strides.swap(a, b);
        Ok(view)
    }

    /// The same elements in row-major order under another shape. The view must be contiguous.
    pub fn reshape(&self, shape: &[u64]) -> Result<View, MemoryError> {
        let shape = Dims::new(shape)?;
        let product = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        if product != Some(self.elements()) {
            return Err(MemoryError::Shape(format!("a reshape of {:?} to {shape:?}", self.shape)));
        }
        if !self.is_contiguous() {
            return Err(MemoryError::Shape(format!(
                "a reshape of a view that is not contiguous: shape {:?}, strides {:?}",
                self.shape, self.strides
            )));
        }
        Ok(View { strides: row_major(&shape)?, shape, ..self.clone() })
    }

    /// The same bytes as elements of another type (a bit cast). The last dimension has as many bytes as before; if the sizes
    /// of the types differ, its elements must lie one after another, and every row must start at a whole element.
    pub fn bitcast(&self, dtype: DType) -> Result<View, MemoryError> {
        let (from, to) = (self.dtype.size(), dtype.size());
        if from == to {
            return Ok(View { dtype, ..self.clone() });
        }
        let refuse = |why: &str| {
            let (shape, strides, offset) = (&self.shape, &self.strides, self.offset);
            Err(MemoryError::Shape(format!(
                "a bit cast of {} {shape:?} (strides {strides:?}, offset {offset}) to {dtype}: {why}",
                self.dtype
            )))
        };
        let Some((&last, outer)) = self.shape.split_last() else {
            return refuse("there is no dimension to take the bytes of");
        };
        if last > 1 && self.strides[outer.len()] != 1 {
            return refuse("the elements do not lie one after another");
        }
        let whole = |n: i128| -> Option<i128> {
            let bytes = n * from as i128;
            (bytes % to as i128 == 0).then_some(bytes / to as i128)
        };
        let (Some(offset), Some(last)) = (whole(self.offset as i128), whole(last as i128)) else {
            return refuse("the bytes are no whole number of elements");
        };
        let (mut shape, mut strides) = (Dims::default(), Dims::default());
        for (&extent, &stride) in outer.iter().zip(self.strides.iter()) {
            shape.push(extent)?;
            // The stride of a dimension that has no second index is arbitrary.
            match whole(stride as i128).and_then(|s| i64::try_from(s).ok()) {
                Some(stride) => strides.push(stride)?,
                None if extent <= 1 => strides.push(0)?,
                None => return refuse("not every row starts at a whole element"),
            }
        }
        let (Ok(offset), Ok(last)) = (u64::try_from(offset), u64::try_from(last)) else {
            return refuse("it is too large");
        };
        shape.push(last)?;
        strides.push(1)?;
        Ok(View { dtype, offset, shape, strides, ..self.clone() })
    }

    /// Byte offset of an element.
    pub fn byte_offset(&self, index: &[u64]) -> Result<usize, MemoryError> {
        let inside = self.inside();
        if index.len() != self.rank() || index.iter().zip(inside.shape.iter()).any(|(i, d)| i >= d) {
            let over = if inside.shape == self.shape { "" } else { ", which overhangs its buffer" };
            return Err(MemoryError::Shape(format!("element {index:?} of a view of shape {:?}{over}", self.shape)));
        }
        inside.extent()?;
        let at =
            index.iter().zip(self.strides.iter()).fold(self.offset as i128, |n, (&i, &s)| n + i as i128 * s as i128);
        Ok(at as usize * self.dtype.size())
    }

    pub fn get(&self, index: &[u64]) -> Result<Scalar, MemoryError> {
        self.buffer.get(self.byte_offset(index)?, self.dtype)
    }

    /// Stores the bits of `value`, whose type must be the view's (`Index` and `I64` are one).
    pub fn set(&self, index: &[u64], value: Scalar) -> Result<(), MemoryError> {
        let same = value.dtype == self.dtype
            || matches!((value.dtype, self.dtype), (DType::I64, DType::Index) | (DType::Index, DType::I64));
        if !same {
            return Err(MemoryError::Shape(format!("a {} stored to a view of {}", value.dtype, self.dtype)));
        }
        self.buffer.set(self.byte_offset(index)?, value)
    }

    /// Calls `f(byte offset, bytes)` for the runs of consecutive bytes that make up the view, in row-major order of its
    /// elements. Adjacent dimensions without gaps count as one run.
    pub fn for_each_run(&self, mut f: impl FnMut(usize, usize)) -> Result<(), MemoryError> {
        let range = self.extent()?;
        if range.is_empty() {
            return Ok(());
        }
        let size = self.dtype.size() as i64;
        let mut run = 1i64;
        let mut outer = self.rank();
        while outer > 0 && (self.shape[outer - 1] == 1 || self.strides[outer - 1] == run) {
            outer -= 1;
            run *= self.shape[outer] as i64;
        }
        let mut index = [0u64; crate::MAX_RANK];
        let mut at = self.offset as i64;
        loop {
            f((at * size) as usize, (run * size) as usize);
            let mut k = outer;
            loop {
                if k == 0 {
                    return Ok(());
                }
                k -= 1;
                index[k] += 1;
                // Wrapping: the stride of a dimension of extent 1 is arbitrary, and is stepped over and back.
                at = at.wrapping_add(self.strides[k]);
                if index[k] < self.shape[k] {
                    break;
                }
                at = at.wrapping_sub(self.strides[k].wrapping_mul(self.shape[k] as i64));
                index[k] = 0;
            }
        }
    }

    /// The elements' bytes in row-major order.
    pub fn to_vec(&self) -> Result<Vec<u8>, MemoryError> {
        self.extent()?;
        let mut out = vec![0; self.elements() as usize * self.dtype.size()];
        let mut done = 0;
        let mut result = Ok(());
        self.for_each_run(|offset, bytes| {
            if result.is_ok() {
                result = self.buffer.read(offset, &mut out[done..done + bytes]);
            }
            done += bytes;
        })?;
        result.map(|()| out)
    }

    /// Writes the elements from bytes in row-major order; `data` must have exactly the view's size.
    pub fn write_all(&self, data: &[u8]) -> Result<(), MemoryError> {
        self.extent()?;
        let expected = self.elements() as usize * self.dtype.size();
        if data.len() != expected {
            return Err(MemoryError::Shape(format!("{} bytes for a view of {expected}", data.len())));
        }
        let mut done = 0;
        let mut result = Ok(());
        self.for_each_run(|offset, bytes| {
            if result.is_ok() {
                result = self.buffer.write(offset, &data[done..done + bytes]);
            }
            done += bytes;
        })?;
        result
    }

    /// Copies every element of `source`, which must have the same shape and type. As if `source` were read whole first.
    pub fn copy_from(&self, source: &View) -> Result<(), MemoryError> {
        if self.dtype.size() != source.dtype.size() || *self.shape != *source.shape {
            return Err(MemoryError::Shape(format!(
                "a copy of {} {:?} to {} {:?}",
                source.dtype, source.shape, self.dtype, self.shape
            )));
        }
        if self.is_contiguous() && source.is_contiguous() {
            let (to, from) = (self.extent()?, source.extent()?);
            let n = (to.end - to.start) as usize;
            let (p, q) = (self.buffer.at_mut(to.start as usize, n)?, source.buffer.at(from.start as usize, n)?);
            // SAFETY: both ranges were checked and have `n` bytes; `copy` allows them to overlap.
            unsafe { std::ptr::copy(q, p, n) };
            return Ok(());
        }
        self.write_all(&source.to_vec()?)
    }
}

fn row_major(shape: &[u64]) -> Result<Dims<i64>, MemoryError> {
    let mut strides = Dims::<i64>::default();
    for k in 0..shape.len() {
        let stride = shape[k + 1..].iter().try_fold(1i64, |n, &d| n.checked_mul(i64::try_from(d.max(1)).ok()?));
        strides.push(stride.ok_or_else(|| MemoryError::Shape(format!("a shape of too many elements: {shape:?}")))?)?;
    }
    Ok(strides)
}
