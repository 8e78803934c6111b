//! DLPack: the C structures of versions 0 and 1, and what they say about an array.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use dtype::DType;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use crate::array::Described;

const CPU: i32 = 1;
const READ_ONLY: u64 = 1;

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
struct Element {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: Element,
    shape: *const i64,
    /// In elements; null for packed row-major.
    strides: *const i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: Tensor,
}

/// Calls the producer's deleter once, with the interpreter attached, when the last view of the array is gone.
enum Owner {
    Plain(NonNull<Managed>),
    Versioned(NonNull<ManagedVersioned>),
}

// SAFETY: the pointer is used only to call the deleter, once, in `drop`; DLPack allows that from any thread.
unsafe impl Send for Owner {}
// SAFETY: no method takes `&self`.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        Python::attach(|_| {
            // SAFETY: the capsule was renamed when this owner was made, so the call is ours to make, once.
            unsafe {
                match self {
                    Owner::Plain(m) => {
                        if let Some(delete) = m.as_ref().deleter {
                            delete(m.as_ptr());
                        }
                    }
                    Owner::Versioned(m) => {
                        if let Some(delete) = m.as_ref().deleter {
                            delete(m.as_ptr());
                        }
                    }
                }
            }
        });
    }
}

/// Takes the array's capsule over and describes it.
pub(crate) fn describe(array: &Bound<'_, PyAny>) -> PyResult<Described> {
    let (kind, _): (i32, i64) = array.call_method0("__dlpack_device__")?.extract()?;
    if kind != CPU {
        return Err(PyTypeError::new_err(format!("the array is on DLPack device {kind}; move it to the CPU")));
    }
    let capsule = request(array)?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| PyTypeError::new_err("__dlpack__ returned no capsule"))?;
    if let Ok(pointer) = capsule.pointer_checked(Some(c"dltensor_versioned")) {
        let managed = pointer.cast::<ManagedVersioned>();
        // SAFETY: a capsule of this name holds a live structure of this type, as DLPack says.
        let (major, flags) = unsafe { (managed.as_ref().major, managed.as_ref().flags) };
        if major != 1 {
            return Err(PyTypeError::new_err(format!("the array speaks DLPack {major}; 0 and 1 are supported")));
        }
        take(capsule, c"used_dltensor_versioned")?;
        let owner = Arc::new(Owner::Versioned(managed));
        // SAFETY: the structure lives until the owner is dropped, and `read` is over before.
        return unsafe { read(&managed.as_ref().tensor, flags & READ_ONLY == 0, owner) };
    }
    let managed = capsule.pointer_checked(Some(c"dltensor"))?.cast::<Managed>();
    take(capsule, c"used_dltensor")?;
    let owner = Arc::new(Owner::Plain(managed));
    // SAFETY: as above.
    unsafe { read(&managed.as_ref().tensor, true, owner) }
}

/// The capsule: of version 1 if the producer knows it, since only that says whether the array may be written.
fn request<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let options = PyDict::new(py);
    options.set_item("max_version", (1, 0))?;
    match array.call_method("__dlpack__", (), Some(&options)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => array.call_method0("__dlpack__"),
        other => other,
    }
    .map_err(|error| match error.is_instance_of::<PyBufferError>(py) {
        true => PyValueError::new_err(format!("the array cannot be borrowed: {error}")),
        false => error,
    })
}

/// Renames a capsule, which tells its producer that the array is ours to delete.
fn take(capsule: &Bound<'_, PyCapsule>, name: &'static CStr) -> PyResult<()> {
    // SAFETY: the capsule is live, the interpreter is attached, and the name is static.
    match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name.as_ptr()) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(capsule.py())),
    }
}

/// # Safety
///
/// `tensor` is a live structure as DLPack defines it: `shape` has `ndim` entries, and `strides` too unless it is null.
unsafe fn read(tensor: &Tensor, writable: bool, owner: Arc<Owner>) -> PyResult<Described> {
    let rank = usize::try_from(tensor.ndim).map_err(|_| PyValueError::new_err("a negative rank"))?;
    let list = |p: *const i64| -> Vec<i64> {
        if p.is_null() || rank == 0 {
            return Vec::new();
        }
        // SAFETY: the caller promises `rank` entries.
        unsafe { std::slice::from_raw_parts(p, rank) }.to_vec()
    };
    let e = &tensor.dtype;
    let dtype = element(e)?;
    let shape = list(tensor.shape).into_iter().map(u64::try_from).collect::<Result<Vec<_>, _>>();
    let strides = (!tensor.strides.is_null())
        .then(|| list(tensor.strides).into_iter().map(|s| s.saturating_mul(dtype.size() as i64)).collect());
    Ok(Described {
        address: tensor.data.expose_provenance() + tensor.byte_offset as usize,
        dtype,
        shape: shape.map_err(|_| PyValueError::new_err("a negative extent"))?,
        strides,
        writable,
        owner,
    })
}

fn element(e: &Element) -> PyResult<DType> {
    Ok(match (e.code, e.bits, e.lanes) {
        (0, 8, 1) => DType::I8,
        (0, 16, 1) => DType::I16,
        (0, 32, 1) => DType::I32,
        (0, 64, 1) => DType::I64,
        (1, 8, 1) => DType::U8,
        (1, 16, 1) => DType::U16,
        (1, 32, 1) => DType::U32,
        (1, 64, 1) => DType::U64,
        (2, 16, 1) => DType::F16,
        (2, 32, 1) => DType::F32,
        (4, 16, 1) => DType::BF16,
        (6, 8, 1) => DType::Bool,
        (2, 64, 1) => {
            return Err(PyTypeError::new_err("elements of float64 are not supported; pass a copy in float32"));
        }
        (code, bits, lanes) => {
            return Err(PyTypeError::new_err(format!(
                "elements of DLPack type (code {code}, {bits} bits, {lanes} lanes) are not supported; f32, f16, bf16, bool and \
                 the integers are"
            )));
        }
    })
}
