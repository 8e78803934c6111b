//! Arrays of callers, borrowed: where their bytes are, what the elements are, and whether they may be written.
//!
//! Three protocols, in this order: NumPy's `__array_interface__` (element types of `ml_dtypes` are told apart by the
//! name of the array's dtype), the methods of a torch tensor, and DLPack. Torch is never imported. An array that
//! cannot be lent as packed row-major memory of the host is refused; nothing is copied behind the caller's back.

#![allow(unsafe_code)]

use std::sync::Arc;

use dtype::DType;
use memory::{Buffer, View};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dlpack;

/// An array that is lent to us for as long as this object lives.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Borrowed {
    view: View,
}

impl Borrowed {
    pub(crate) fn view(&self) -> View {
        self.view.clone()
    }
}

#[pymethods]
impl Borrowed {
    /// The element type's name in the language.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.view.dtype.language_name()
    }

    #[getter]
    fn shape(&self) -> Vec<u64> {
        self.view.shape.to_vec()
    }

    #[getter]
    fn writable(&self) -> bool {
        self.view.buffer.is_writable()
    }
}

/// What a protocol says about an array. Strides are in bytes; `None` means packed row-major.
pub(crate) struct Described {
    pub(crate) address: usize,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
    pub(crate) strides: Option<Vec<i64>>,
    pub(crate) writable: bool,
    /// Keeps the bytes alive.
    pub(crate) owner: Arc<dyn std::any::Any + Send + Sync>,
}

/// Borrows an array. Raises TypeError or ValueError with the reason, to be prefixed with the parameter's name.
#[pyfunction]
pub(crate) fn borrow(array: &Bound<'_, PyAny>) -> PyResult<Borrowed> {
    let described = if array.hasattr("__array_interface__")? {
        numpy(array)?
    } else if array.get_type().module()?.to_str()?.split('.').next() == Some("torch") {
        settled(array)?;
        torch(array)?
    } else if array.hasattr("__dlpack__")? {
        // Subclasses of torch's tensor come here.
        settled(array)?;
        dlpack::describe(array)?
    } else {
        return Err(PyTypeError::new_err(format!("{} is not an array", array.get_type().name()?)));
    };
    lend(described)
}

fn lend(array: Described) -> PyResult<Borrowed> {
    let size = array.dtype.size();
    let elements = array.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    let bytes = elements.and_then(|n| usize::try_from(n).ok()).and_then(|n| n.checked_mul(size));
    let bytes =
        bytes.ok_or_else(|| PyValueError::new_err(format!("the array's shape {:?} is too large", array.shape)))?;
    if let Some(strides) = &array.strides
        && !packed(&array.shape, strides, size)
    {
        return Err(PyValueError::new_err(format!(
            "the array is not contiguous in row-major order (shape {:?}, strides {strides:?} bytes); pass a contiguous copy",
            array.shape
        )));
    }
    let buffer = if bytes == 0 {
        let empty = Buffer::zeroed(0);
        if array.writable { empty } else { empty.read_only() }
    } else {
        if array.address == 0 {
            return Err(PyValueError::new_err("the array has no memory"));
        }
        if !array.address.is_multiple_of(size) {
            return Err(PyValueError::new_err(format!("the array is not aligned to its elements of {size} bytes")));
        }
        let pointer = std::ptr::with_exposed_provenance_mut::<u8>(array.address);
        // SAFETY: the protocol promises that the packed array of `bytes` bytes is at this address for as long as its
        // owner lives, which the buffer holds, and that it may be written unless it says read-only. Python code holds
        // no Rust references to it.
        unsafe { Buffer::borrowed(pointer, bytes, array.writable, array.owner) }
    };
    let view = View::new(buffer, array.dtype, &array.shape).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(Borrowed { view })
}

/// Whether strides (in bytes) are those of packed row-major memory. Those of dimensions of extent 1 are arbitrary.
fn packed(shape: &[u64], strides: &[i64], size: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = size as i128;
    shape.iter().zip(strides).rev().all(|(&d, &s)| {
        let fits = d == 1 || i128::from(s) == expected;
        expected *= i128::from(d);
        fits
    })
}

fn numpy(array: &Bound<'_, PyAny>) -> PyResult<Described> {
    let interface = array.getattr("__array_interface__")?;
    let interface = interface.cast::<PyDict>()?;
    let need = |key: &str| -> PyResult<Bound<'_, PyAny>> {
        interface
            .get_item(key)?
            .ok_or_else(|| PyTypeError::new_err(format!("the array's __array_interface__ has no {key:?}")))
    };
    let data = need("data")?;
    let (address, read_only): (usize, bool) =
        data.extract().map_err(|_| PyTypeError::new_err("the array has no address to borrow"))?;
    let order: String = need("typestr")?.extract()?;
    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    if order.starts_with('>') {
        return Err(PyTypeError::new_err(format!("the array's elements ({name}) are big-endian")));
    }
    let strides = match interface.get_item("strides")? {
        Some(s) if !s.is_none() => Some(s.extract()?),
        _ => None,
    };
    Ok(Described {
        address,
        dtype: element(&name, ".astype(np.float32)")?,
        shape: need("shape")?.extract()?,
        strides,
        writable: !read_only,
        owner: Arc::new(array.clone().unbind()),
    })
}

/// Refuses tensors of torch whose memory is not their values: those that are to be negated or conjugated when read.
fn settled(tensor: &Bound<'_, PyAny>) -> PyResult<()> {
    for (bit, pending, resolve) in [("is_neg", "negative", "resolve_neg"), ("is_conj", "conjugate", "resolve_conj")] {
        if tensor.hasattr(bit)? && tensor.call_method0(bit)?.is_truthy()? {
            return Err(PyTypeError::new_err(format!(
                "the tensor's {pending} bit is set: its memory does not hold its values; pass `.{resolve}()` of it"
            )));
        }
    }
    Ok(())
}

fn torch(tensor: &Bound<'_, PyAny>) -> PyResult<Described> {
    let device: String = tensor.getattr("device")?.getattr("type")?.extract()?;
    if device != "cpu" {
        return Err(PyTypeError::new_err(format!("the tensor is on device {device:?}; move it to the CPU")));
    }
    let layout = tensor.getattr("layout")?.str()?.to_string();
    if layout != "torch.strided" {
        return Err(PyTypeError::new_err(format!(
            "the tensor's layout is {layout}; only strided tensors can be borrowed"
        )));
    }
    let name = tensor.getattr("dtype")?.str()?.to_string();
    let dtype = element(name.strip_prefix("torch.").unwrap_or(&name), ".to(torch.float32)")?;
    let strides: Vec<i64> = tensor.call_method0("stride")?.extract()?;
    Ok(Described {
        address: tensor.call_method0("data_ptr")?.extract()?,
        dtype,
        shape: tensor.getattr("shape")?.extract()?,
        strides: Some(strides.into_iter().map(|s| s * dtype.size() as i64).collect()),
        writable: true,
        owner: Arc::new(tensor.clone().unbind()),
    })
}

/// The element type by NumPy's name for it, which torch shares. `narrow` makes float32 of an array in its library.
fn element(name: &str, narrow: &str) -> PyResult<DType> {
    Ok(match name {
        "float32" => DType::F32,
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        "bool" => DType::Bool,
        "int8" => DType::I8,
        "int16" => DType::I16,
        "int32" => DType::I32,
        "int64" => DType::I64,
        "uint8" => DType::U8,
        "uint16" => DType::U16,
        "uint32" => DType::U32,
        "uint64" => DType::U64,
        _ => {
            let help = if name == "float64" { format!("; pass `{narrow}` of it") } else { String::new() };
            return Err(PyTypeError::new_err(format!(
                "elements of {name} are not supported; float32, float16, bfloat16, bool and the integers are{help}"
            )));
        }
    })
}
