//! Scalars between Python's numbers and typed bits.

use dtype::{DType, Scalar};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The element type of a language name (`FP32`).
pub(crate) fn dtype(name: &str) -> PyResult<DType> {
    DType::from_language_name(name)
        .ok_or_else(|| PyTypeError::new_err(format!("element type {name} is not supported in arguments")))
}

/// The number as a scalar of type `dtype`. Range and class are the caller's business (`arrays.scalar_value`).
pub(crate) fn scalar(dtype: DType, value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    Ok(match dtype {
        DType::Bool => Scalar::bool(value.is_truthy()?),
        DType::U64 => Scalar::new(dtype, value.extract()?),
        d if d.is_float() => Scalar::from_f64(d, value.extract()?),
        d => Scalar::from_i64(d, value.extract()?),
    })
}

/// The scalar as Python's number.
pub(crate) fn number<'py>(py: Python<'py>, scalar: Scalar) -> PyResult<Bound<'py, PyAny>> {
    match scalar.dtype {
        DType::Bool => scalar.is_true().into_bound_py_any(py),
        DType::U64 => scalar.bits.into_bound_py_any(py),
        d if d.is_float() => scalar.as_f64().into_bound_py_any(py),
        _ => scalar.as_i64().into_bound_py_any(py),
    }
}

/// The value of a 16-bit float from its bits.
#[pyfunction]
pub(crate) fn float_from_bits(name: &str, bits: u16) -> PyResult<f64> {
    match dtype(name)? {
        d @ (DType::F16 | DType::BF16) => Ok(Scalar::new(d, u64::from(bits)).as_f64()),
        d => Err(PyValueError::new_err(format!("{d} is not a 16-bit float"))),
    }
}
