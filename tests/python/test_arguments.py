"""What callers pass: borrowed without copies, or refused by name with nothing written."""

import ctypes

import ml_dtypes
import numpy as np
import pytest

import tilewright.language as pl
from kernels import COLS, ROWS, add_scalar, any_shape, double, fresh, same_extent, shift_rows
from tilewright import Options, ProgramError, RunConfig, Session

pytestmark = pytest.mark.usefixtures("session")


def x_and_y(dtype=np.float32):
    x = np.arange(ROWS * COLS).reshape(ROWS, COLS).astype(dtype)
    return x, np.full_like(x, -7)


def test_outputs_are_written_in_place_and_returned():
    x, y = x_and_y()
    result = add_scalar(x, 2.0, y)
    assert result is y
    np.testing.assert_array_equal(y, x + 2)


def test_keywords_and_config():
    x, y = x_and_y()
    add_scalar(y=y, a=1.0, x=x, config=RunConfig(platform="a5"))
    np.testing.assert_array_equal(y, x + 1)


def test_a_tensor_the_program_made_is_returned():
    x, _ = x_and_y()
    result = fresh(x)
    assert isinstance(result, np.ndarray) and result.dtype == np.float32
    np.testing.assert_array_equal(result, -x)


def test_outputs_that_are_not_passed_are_made():
    x, _ = x_and_y()
    result = add_scalar(x, 2.0)
    assert isinstance(result, np.ndarray) and result.dtype == np.float32
    np.testing.assert_array_equal(result, x + 2)
    rows = np.ones((3 * ROWS, COLS), np.float32)
    assert double(rows).shape == rows.shape
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        any_shape(x)


@pytest.mark.parametrize(
    "value", [2, True, np.float32(2), np.float64(2), np.int64(2), ctypes.c_float(2), np.array(2.0)]
)
def test_numbers_become_the_declared_type(value):
    x, y = x_and_y()
    add_scalar(x, value, y)
    number = value.value if isinstance(value, ctypes.c_float) else float(value)
    np.testing.assert_array_equal(y, x + np.float32(number))


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_bare_annotations_take_what_comes(dtype):
    x, y = x_and_y(dtype)
    any_shape(x, y)
    np.testing.assert_array_equal(y, x + 1)


def test_slices_of_bigger_arrays_are_borrowed_if_packed():
    big = np.zeros((3 * ROWS, COLS), np.float32)
    x, _ = x_and_y()
    add_scalar(x, 1.0, big[ROWS : 2 * ROWS])
    np.testing.assert_array_equal(big[ROWS : 2 * ROWS], x + 1)
    assert not big[:ROWS].any() and not big[2 * ROWS :].any()


class ThroughDLPack:
    """An array that offers nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    x, y = x_and_y()
    add_scalar(ThroughDLPack(x), 3.0, ThroughDLPack(y))
    np.testing.assert_array_equal(y, x + 3)


def test_a_dlpack_array_is_given_back():
    import gc
    import weakref

    x, y = x_and_y()
    array = np.array(x)
    alive = weakref.ref(array)
    add_scalar(ThroughDLPack(array), 3.0, y)
    del array
    gc.collect()
    assert alive() is None


def test_dlpack_says_what_is_read_only():
    x, y = x_and_y()
    y.flags.writeable = False
    with pytest.raises(ValueError, match=r"`y`.*(read-only|readonly)"):
        add_scalar(x, 3.0, ThroughDLPack(y))


class Torchlike:
    """The part of a torch tensor that is used, so that the path is tested without torch."""

    def __init__(self, array, device="cpu", dtype=None):
        self.array, self._device = array, device
        self.dtype = f"torch.{dtype or array.dtype.name}"
        self.shape, self.layout = array.shape, "torch.strided"

    @property
    def device(self):
        return type("device", (), {"type": self._device})

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def data_ptr(self):
        return self.array.ctypes.data


Torchlike.__module__ = "torch"


def test_torch_by_address():
    x, y = x_and_y()
    add_scalar(Torchlike(x), 3.0, Torchlike(y))
    np.testing.assert_array_equal(y, x + 3)


def test_torch_elsewhere_is_refused():
    x, y = x_and_y()
    with pytest.raises(TypeError, match="`x`: the tensor is on device .cuda"):
        add_scalar(Torchlike(x, device="cuda"), 3.0, y)


@pytest.mark.parametrize(("bit", "resolve"), [("is_neg", "resolve_neg"), ("is_conj", "resolve_conj")])
@pytest.mark.parametrize("wrapper", [Torchlike, ThroughDLPack])
def test_torch_values_that_are_not_in_memory_are_refused(wrapper, bit, resolve):
    x, y = x_and_y()
    lazy = wrapper(x)
    setattr(lazy, bit, lambda: False)
    add_scalar(lazy, 3.0, y)
    setattr(lazy, bit, lambda: True)
    with pytest.raises(TypeError, match=rf"`x`: .* bit is set.*`\.{resolve}\(\)`"):
        add_scalar(lazy, 3.0, y)


def test_torch_doubles_are_refused_with_a_way_out():
    x, y = x_and_y()
    with pytest.raises(TypeError, match=r"`x`: elements of float64.*`\.to\(torch\.float32\)`"):
        add_scalar(Torchlike(x.astype(np.float64)), 3.0, y)
    with pytest.raises(TypeError, match="`x`: elements of float64.*float32"):
        add_scalar(ThroughDLPack(x.astype(np.float64)), 3.0, y)


def refused(error, message, *args, **kwargs):
    """Refused with this message, and no array changed."""
    before = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    with pytest.raises(error, match=message):
        add_scalar(*args, **kwargs)
    for a, b in zip(args, before):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)


def test_refusals_name_the_parameter_and_touch_nothing():
    x, y = x_and_y()
    refused(TypeError, r"add_scalar\(\): missing a required argument: 'a'", x)
    refused(TypeError, r"add_scalar\(\): too many", x, 1.0, y, y)
    refused(TypeError, r"add_scalar\(\): .*'z'", x, 1.0, y, z=1)
    refused(TypeError, "`x` takes elements of FP32, got FP16", x.astype(np.float16), 1.0, y)
    refused(TypeError, "`x` takes elements of FP32, got BF16", x.astype(ml_dtypes.bfloat16), 1.0, y)
    refused(
        TypeError,
        r"`y`: elements of float64 are not supported.*`\.astype\(np\.float32\)`",
        x,
        1.0,
        y.astype(np.float64),
    )
    refused(TypeError, "`x`.*big-endian", x.astype(">f4"), 1.0, y)
    refused(
        ValueError,
        r"`x` takes an array of shape \[16, 64\], got one of \[16, 65\]",
        np.zeros((16, 65), np.float32),
        1.0,
        y,
    )
    refused(ValueError, r"`x` takes an array of shape \[16, 64\], got one of \[1024\]", x.reshape(-1), 1.0, y)
    refused(ValueError, "`x`: the array is not contiguous", np.asfortranarray(x), 1.0, y)
    refused(ValueError, "`y`: the array is not contiguous", x, 1.0, np.zeros((ROWS, 2 * COLS), np.float32)[:, ::2])
    refused(TypeError, "`x` takes an array, got list", x.tolist(), 1.0, y)
    refused(TypeError, "`a` takes a number of FP32, got str", x, "1", y)
    refused(TypeError, "`a` takes a number", x, x, y)
    locked = y.copy()
    locked.flags.writeable = False
    refused(ValueError, "`y` is an output, but the array is read-only", x, 1.0, locked)


def test_misaligned_memory_is_refused():
    x, y = x_and_y()
    raw = np.zeros(x.nbytes + 1, np.uint8)
    skewed = (
        raw[1:].view(np.float32) if raw.ctypes.data % 4 == 3 else np.frombuffer(raw.data, np.float32, ROWS * COLS, 1)
    )
    if skewed.ctypes.data % 4 == 0:
        pytest.skip("this NumPy aligned the memory")
    refused(ValueError, "`x`: the array is not aligned", skewed.reshape(ROWS, COLS), 1.0, y)


def test_one_dynamic_extent_has_one_value():
    a, b, y = (np.zeros((n, COLS), np.float32) for n in (32, 48, 32))
    with pytest.raises(ValueError, match="`b` has 48 for the extent N of dimension 0, but `a` has 32"):
        same_extent(a, b, y)


def test_dynamic_extents_of_several_sizes():
    for rows in (ROWS, 3 * ROWS):
        x = np.ones((rows, COLS), np.float32)
        y = np.zeros_like(x)
        double(x, y)
        assert (y == 2).all()


def test_overlapping_arguments_get_private_copies():
    memory = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS)
    x = memory.copy()
    shift_rows(memory, memory)
    np.testing.assert_array_equal(memory[1:], 2 * x[:-1])
    np.testing.assert_array_equal(memory[0], x[0])


def test_a_read_only_input_is_fine():
    x, y = x_and_y()
    x.flags.writeable = False
    add_scalar(x, 1.0, y)
    np.testing.assert_array_equal(y, x + 1)


def test_a_parameter_that_is_written_undeclared_needs_writable_memory():
    @pl.jit
    def undeclared(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Tensor[[16, 64], pl.FP32]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.mul(x[:, :], 2.0)
        return y

    x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    y.flags.writeable = False
    with (
        pytest.warns(Warning, match="undeclared-output"),
        pytest.raises(Exception, match="is written, but its memory is read-only"),
    ):
        undeclared(x, y)
    assert not y.any()


def test_a_launch_of_absurdly_many_blocks_is_refused():
    @pl.jit
    def crowd(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        for _ in pl.spmd(1000000000):
            y[0:1, :] = pl.mul(x[0:1, :], 2.0)
        return y

    x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    with pytest.raises(Exception, match="a task of 1000000000 blocks; at most 1048576 are supported"):
        crowd(x, y)


@pl.jit
def picked_rows(
    table: pl.Tensor[[12], pl.INT32],
    x: pl.Tensor[[12, 32], pl.FP32],
    where: pl.Tensor[[2], pl.INT32],
    out: pl.Out[pl.Tensor[[12, 32], pl.FP32]],
):
    start = pl.read(where, [0])
    rows = pl.read(where, [1])
    picks = pl.slice(table, [8], [start])
    with pl.at(level=pl.Level.CORE_GROUP):
        for i in pl.range(rows):
            row = pl.read(picks, [i])
            out[i : i + 1, :] = pl.add(x[row : row + 1, :], 1.0)
    return out


def test_a_slice_may_overhang_its_tensor_where_nothing_reads():
    x = np.random.default_rng(0).random((12, 32), np.float32)
    table = np.arange(12, dtype=np.int32)[::-1].copy()
    out = np.zeros_like(x)
    with Session(Options(check="levels")).active():
        picked_rows(table, x, np.array([9, 3], np.int32), out)
    np.testing.assert_array_equal(out[:3], x[table[9:]] + 1)
    with pytest.raises(ProgramError, match="access to bytes 48..52 of a buffer of 48 bytes"):
        picked_rows(table, x, np.array([9, 4], np.int32), out)
    with pytest.raises(ProgramError, match="a slice of 8 at 13 in dimension 0, which has 12"):
        picked_rows(table, x, np.array([13, 1], np.int32), out)
