"""Errors of programs: the class says what kind, the text shows the user's line."""

import numpy as np
import pytest

import tilewright.language as pl
from tilewright import ProgramError, TilewrightError

pytestmark = pytest.mark.usefixtures("session")


def call(kernel, dtype=np.float32):
    x = np.ones((16, 64), dtype)
    y = np.full((16, 64), -1, dtype)
    with pytest.raises(TilewrightError) as found:
        kernel(x, y)
    assert (y == -1).all(), "a refused call leaves its arrays alone"
    return found.value


def shows(error, line):
    """The message has the file, and the line of this file that has the text."""
    text = str(error)
    assert "test_errors.py" in text
    assert line in text
    assert "^" in text


def test_an_unknown_name():
    @pl.jit
    def f(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], not_defined_anywhere)  # noqa: F821
        return y

    error = call(f)
    assert isinstance(error, ProgramError)
    shows(error, "pl.add(x[:, :], not_defined_anywhere)")
    assert error.diagnostics and error.diagnostics[0][2].rsplit(":", 2)[0].endswith("test_errors.py")


def test_an_unknown_operation():
    @pl.jit
    def f(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.addd(x[:, :], 1.0)
        return y

    shows(call(f), "pl.addd(x[:, :], 1.0)")


def test_a_shape_mismatch():
    @pl.jit
    def f(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], x[0:8, :])
        return y

    shows(call(f), "pl.add(x[:, :], x[0:8, :])")


def test_a_cast_to_the_same_type():
    @pl.jit
    def f(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.cast(x[:, :], target_type=pl.FP32)
        return y

    shows(call(f), "pl.cast(x[:, :], target_type=pl.FP32)")


def test_too_much_for_the_buffer():
    @pl.jit
    def f(x: pl.Tensor[[1024, 256], pl.FP32], y: pl.Out[pl.Tensor[[1024, 256], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.exp(x[:, :])
        return y

    x = np.ones((1024, 256), np.float32)
    y = np.zeros_like(x)
    with pytest.raises(ProgramError) as found:
        f(x, y)
    assert not y.any()
    shows(found.value, "pl.exp(x[:, :])")


def test_a_statement_that_is_not_of_the_language():
    @pl.jit
    def f(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            try:
                y[:, :] = x[:, :]
            finally:
                pass
        return y

    shows(call(f), "try:")


def test_code_without_a_file():
    scope = {"pl": pl}
    exec(  # noqa: S102
        "@pl.jit\ndef f(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):\n    return y\n",
        scope,
    )
    with pytest.raises(OSError, match="the source of `f` is not at hand"):
        scope["f"](np.ones((16, 64), np.float32), np.ones((16, 64), np.float32))
