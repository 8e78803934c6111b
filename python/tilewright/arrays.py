"""Arrays and scalars that callers bring: NumPy (with ml_dtypes), torch on the CPU, anything with DLPack.

Arrays are borrowed, not copied (semantics rule 17): `borrow` in the native module finds the address; here is what is
said about those that cannot be.
"""

import ctypes
import numbers

from . import _native


def is_array(value):
    return hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__") or hasattr(value, "data_ptr")


def describe(where, value):
    """(element type, shape, writable) of an array that can be borrowed; `where` begins the message if it cannot."""
    try:
        borrowed = _native.borrow(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    return borrowed.dtype, tuple(borrowed.shape), borrowed.writable


_INTS = {
    "INT8": (-(2**7), 2**7), "INT16": (-(2**15), 2**15), "INT32": (-(2**31), 2**31), "INT64": (-(2**63), 2**63),
    "INDEX": (-(2**63), 2**63), "UINT8": (0, 2**8), "UINT16": (0, 2**16), "UINT32": (0, 2**32), "UINT64": (0, 2**64),
}  # fmt: skip
_FLOATS = ("FP16", "BF16", "FP32")


def scalar_value(where, dtype, value):
    """(element type, Python number) of a scalar argument: for the annotated type if there is one.

    ctypes scalars are taken by value; `c_uint16` for an FP16 or BF16 parameter holds the bits.
    """
    if isinstance(value, ctypes._SimpleCData):
        if dtype in ("FP16", "BF16") and isinstance(value, ctypes.c_uint16):
            return dtype, _native.float_from_bits(dtype, value.value)
        value = value.value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        if dtype in (None, "BOOL"):
            return "BOOL", bool(value)
        value = int(value)
    if isinstance(value, numbers.Integral):
        value = int(value)
        if dtype in _FLOATS:
            return dtype, float(value)
        if dtype == "BOOL" and value in (0, 1):
            return dtype, bool(value)
        low, high = _INTS.get(dtype or "INDEX", (0, 0))
        if not low <= value < high:
            raise ValueError(f"{where} takes a value of {dtype or 'INDEX'}, got {value}")
        return dtype or "INDEX", value
    if isinstance(value, numbers.Real):
        if dtype not in (None, *_FLOATS):
            raise TypeError(f"{where} takes a value of {dtype}, got the float {value}")
        return dtype or "FP32", float(value)
    raise TypeError(f"{where} takes a number{f' of {dtype}' if dtype else ' or an array'}, got {type(value).__name__}")


def new_array(dtype, shape, data=None, like=None):
    """A fresh array with these bytes (zeros without), of torch if `like` is a tensor of torch, else of NumPy."""
    if like is not None and type(like).__module__.split(".")[0] == "torch":
        import torch

        names = {"FP32": "float32", "FP16": "float16", "BF16": "bfloat16", "BOOL": "bool", "INDEX": "int64"}
        kind = getattr(torch, names.get(dtype, dtype.lower()))
        if not data:
            return torch.zeros(tuple(shape), dtype=kind)
        return torch.frombuffer(bytearray(data), dtype=kind).reshape(tuple(shape))
    import numpy

    if not data:
        return numpy.zeros(tuple(shape), dtype=numpy_dtype(dtype))
    return numpy.frombuffer(bytearray(data), dtype=numpy_dtype(dtype)).reshape(tuple(shape))


def numpy_dtype(dtype):
    import numpy

    if dtype == "BF16":
        import ml_dtypes

        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(
        {"FP32": "float32", "FP16": "float16", "BOOL": "bool", "INDEX": "int64"}.get(dtype, dtype.lower())
    )
