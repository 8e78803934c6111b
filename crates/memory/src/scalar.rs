//! Single elements: loads, stores and atomic updates of a buffer.

// The code is the same for every width, also where a cast to 64 bits changes nothing.
#![allow(clippy::unnecessary_cast)]

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use dtype::scalar::{BinaryOp, binary};
use dtype::{DType, Scalar};

use crate::{Buffer, MemoryError};

/// Runs `$body` with `$cell` bound to the atomic of `$size` bytes at `$p`, which is aligned for it.
macro_rules! with_atomic {
    ($p:expr, $size:expr, $cell:ident => $body:expr) => {
        match $size {
            1 => {
                // SAFETY: the caller checked the range and the alignment.
                let $cell = unsafe { AtomicU8::from_ptr($p) };
                $body
            }
            2 => {
                // SAFETY: as above.
                let $cell = unsafe { AtomicU16::from_ptr($p.cast()) };
                $body
            }
            4 => {
                // SAFETY: as above.
                let $cell = unsafe { AtomicU32::from_ptr($p.cast()) };
                $body
            }
            _ => {
                // SAFETY: as above.
                let $cell = unsafe { AtomicU64::from_ptr($p.cast()) };
                $body
            }
        }
    };
}

fn aligned(p: *mut u8, size: usize) -> bool {
    p.addr().is_multiple_of(size)
}

impl Buffer {
    /// The element at byte `offset`. Aligned elements are read whole.
    pub fn get(&self, offset: usize, dtype: DType) -> Result<Scalar, MemoryError> {
        let size = dtype.size();
        let p = self.at(offset, size)?;
        let bits = if self.is_writable() && aligned(p, size) {
            with_atomic!(p, size, cell => cell.load(Relaxed) as u64)
        } else {
            let mut bytes = [0; 8];
            self.read(offset, &mut bytes[..size])?;
            u64::from_le_bytes(bytes)
        };
        Ok(Scalar::new(dtype, bits))
    }

    /// Stores `value` at byte `offset`, in the value's own type.
    pub fn set(&self, offset: usize, value: Scalar) -> Result<(), MemoryError> {
        let size = value.dtype.size();
        let p = self.at_mut(offset, size)?;
        if aligned(p, size) {
            with_atomic!(p, size, cell => cell.store(value.bits as _, Relaxed));
            Ok(())
        } else {
            self.write(offset, &value.to_le_bytes()[..size])
        }
    }

    /// Adds `value` to the element at byte `offset` atomically; see [`Buffer::fetch`].
    pub fn fetch_add(&self, offset: usize, value: Scalar) -> Result<Scalar, MemoryError> {
        self.fetch(BinaryOp::Add, offset, value)
    }

    /// Replaces the element at byte `offset` by `element op value` atomically, rounding once in the element type, and
    /// returns what was there before. The element must be aligned to its size; where the operation has no result (an
    /// integer divided by zero), the element stays.
    pub fn fetch(&self, op: BinaryOp, offset: usize, value: Scalar) -> Result<Scalar, MemoryError> {
        let (dtype, size) = (value.dtype, value.dtype.size());
        let p = self.at_mut(offset, size)?;
        if !aligned(p, size) {
            return Err(MemoryError::Shape(format!("atomic access to a {dtype} at a misaligned address")));
        }
        if dtype == DType::Bool {
            return Err(MemoryError::Unsupported(dtype));
        }
        let combined = |old: u64| binary(op, Scalar::new(dtype, old), value).map_or(old, |s| s.bits);
        let old = with_atomic!(p, size, cell => {
            let mut old = cell.load(Relaxed);
            while let Err(seen) = cell.compare_exchange_weak(old, combined(old as u64) as _, Relaxed, Relaxed) {
                old = seen;
            }
            old as u64
        });
        Ok(Scalar::new(dtype, old))
    }
}
