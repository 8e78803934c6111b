//! A short inline list: the extents or strides of a view, without an allocation.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::MemoryError;

/// The most dimensions a view may have. (The instruction set has five; host arrays may come with more.)
pub const MAX_RANK: usize = 8;

/// Up to [`MAX_RANK`] numbers, one per dimension, outermost first.
#[derive(Clone, Copy)]
pub struct Dims<T> {
    len: u8,
    values: [T; MAX_RANK],
}

impl<T: Copy + Default> Dims<T> {
    pub fn new(values: &[T]) -> Result<Dims<T>, MemoryError> {
        let mut out = Dims::default();
        for &v in values {
            out.push(v)?;
        }
        Ok(out)
    }

    pub fn push(&mut self, v: T) -> Result<(), MemoryError> {
        let slot = self.values.get_mut(self.len as usize).ok_or(MemoryError::Rank(MAX_RANK + 1))?;
        *slot = v;
        self.len += 1;
        Ok(())
    }
}

impl<T: Copy + Default> Default for Dims<T> {
    fn default() -> Dims<T> {
        Dims { len: 0, values: [T::default(); MAX_RANK] }
    }
}

impl<T> Deref for Dims<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[..self.len as usize]
    }
}

impl<T> DerefMut for Dims<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.len as usize]
    }
}

impl<T: PartialEq> PartialEq for Dims<T> {
    fn eq(&self, other: &Dims<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Dims<T> {}

impl<T: fmt::Debug> fmt::Debug for Dims<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
