//! A range of bytes and a claim that keeps it alive.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::MemoryError;

/// Our allocations start on a cache line.
const ALIGN: usize = 64;

/// A handle to a range of bytes. Cloning copies the handle, not the bytes.
#[derive(Clone)]
pub struct Buffer {
    base: *mut u8,
    len: usize,
    writable: bool,
    /// Owns the bytes, or stands for the caller's promise that they stay.
    _keep_alive: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the bytes are reached only through raw copies and relaxed atomics, never through references; the keep-alive is
// Send and Sync. That concurrent accesses conflict only where the program has a race is the crate's stated contract.
unsafe impl Send for Buffer {}
// SAFETY: as above; no method needs exclusive access to the handle.
unsafe impl Sync for Buffer {}

/// An allocation of zeroed bytes, freed with its last handle.
struct Allocation {
    raw: *mut u8,
    layout: Layout,
}

// SAFETY: the pointer is only ever used to free the allocation.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: `raw` came from `alloc_zeroed` with this layout and is freed once.
        unsafe { dealloc(self.raw, self.layout) }
    }
}

impl Buffer {
    /// A fresh buffer of zeros. Pages are committed when first touched.
    pub fn zeroed(bytes: usize) -> Buffer {
        // Over-allocate and align by hand: std's aligned allocation touches every page to zero it.
        let layout = match Layout::from_size_align(bytes.saturating_add(ALIGN), 16) {
            Ok(layout) => layout,
            Err(_) => handle_alloc_error(Layout::new::<u8>()),
        };
        // SAFETY: the layout has a non-zero size.
        let raw = unsafe { alloc_zeroed(layout) };
        if raw.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: at most ALIGN - 1 bytes further, and ALIGN extra bytes were asked for.
        let base = unsafe { raw.add(raw.align_offset(ALIGN)) };
        Buffer { base, len: bytes, writable: true, _keep_alive: Arc::new(Allocation { raw, layout }) }
    }

    /// A fresh buffer that holds `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Buffer {
        let buffer = Buffer::zeroed(bytes.len());
        // SAFETY: both ranges are `bytes.len()` long, and nobody else knows the new one.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.base, bytes.len()) };
        buffer
    }

    /// Bytes that somebody else owns.
    ///
    /// # Safety
    ///
    /// `ptr` is valid for reads (and for writes if `writable`) of `len` bytes for as long as `keep_alive` lives, and
    /// nobody holds a Rust reference to them meanwhile.
    pub unsafe fn borrowed(ptr: *mut u8, len: usize, writable: bool, keep_alive: Arc<dyn Any + Send + Sync>) -> Buffer {
        Buffer { base: ptr, len, writable, _keep_alive: keep_alive }
    }

    /// The bytes `offset .. offset + len` of this buffer, as a buffer.
    pub fn sub(&self, offset: usize, len: usize) -> Result<Buffer, MemoryError> {
        let base = self.at(offset, len)?;
        Ok(Buffer { base, len, ..self.clone() })
    }

    /// The same bytes, not writable through the new handle.
    pub fn read_only(&self) -> Buffer {
        Buffer { writable: false, ..self.clone() }
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The first byte. Reading or writing through it is the caller's responsibility, as with any raw pointer.
    pub fn as_ptr(&self) -> *mut u8 {
        self.base
    }

    /// Whether two handles share at least one byte.
    pub fn overlaps(&self, other: &Buffer) -> bool {
        let (a, b) = (self.base.addr(), other.base.addr());
        a < b.saturating_add(other.len) && b < a.saturating_add(self.len)
    }

    /// The address of `offset`, from which `len` bytes may be read.
    pub fn at(&self, offset: usize, len: usize) -> Result<*mut u8, MemoryError> {
        if offset > self.len || len > self.len - offset {
            return Err(MemoryError::OutOfBounds { offset: offset as i128, len: len as u128, size: self.len as u64 });
        }
        // SAFETY: `offset` is inside the range or one past its end.
        Ok(unsafe { self.base.add(offset) })
    }

    /// The address of `offset`, at which `len` bytes may be written.
    pub fn at_mut(&self, offset: usize, len: usize) -> Result<*mut u8, MemoryError> {
        if !self.writable {
            return Err(MemoryError::ReadOnly);
        }
        self.at(offset, len)
    }

    /// Copies bytes from `offset` on into `out`.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), MemoryError> {
        let source = self.at(offset, out.len())?;
        // SAFETY: `at` checked the source range; `copy` allows the caller's slice to be memory it lent us.
        unsafe { std::ptr::copy(source, out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Copies `data` to `offset`.
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), MemoryError> {
        let destination = self.at_mut(offset, data.len())?;
        // SAFETY: `at_mut` checked the destination range and that it is writable.
        unsafe { std::ptr::copy(data.as_ptr(), destination, data.len()) };
        Ok(())
    }

    /// Sets `len` bytes from `offset` on to `value`.
    pub fn fill(&self, offset: usize, len: usize, value: u8) -> Result<(), MemoryError> {
        let destination = self.at_mut(offset, len)?;
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(destination, value, len) };
        Ok(())
    }

    /// All bytes, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = vec![0; self.len];
        // SAFETY: `out` is as long as the buffer and fresh.
        unsafe { std::ptr::copy_nonoverlapping(self.base, out.as_mut_ptr(), self.len) };
        out
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({:p}, {} bytes{})", self.base, self.len, if self.writable { "" } else { ", read-only" })
    }
}
