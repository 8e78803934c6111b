"""What the names of a kernel mean: what Python would make of them where the kernel was written."""

import builtins

import numpy as np
import pytest

import tilewright.language as pl
from kernels import COLS, ROWS
from tilewright import ProgramError

pytestmark = pytest.mark.usefixtures("session")


def added(kernel):
    """What the kernel adds to zeros."""
    x = np.zeros((ROWS, COLS), np.float32)
    y = np.full_like(x, -7)
    kernel(x, y)
    assert (y == y[0, 0]).all()
    return y[0, 0]


def adds_min(min):
    @pl.jit
    def kernel(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], min(2.0, 3.0))
        return y

    return kernel


@pl.jit
def adds_builtins(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.add(x[:, :], builtins.max(min(2.0, 3.0), abs(-1.0)))
    return y


def test_a_builtin_by_its_own_name():
    assert added(adds_builtins) == 2
    assert added(adds_min(min)) == 2


def test_a_builtin_by_the_name_of_another():
    assert added(adds_min(max)) == 3


def test_a_global_by_the_name_of_a_builtin(monkeypatch):
    assert added(adds_builtins) == 2
    monkeypatch.setitem(globals(), "min", max)
    assert added(adds_builtins) == 3


def test_a_function_by_the_name_of_a_builtin_is_not_taken_for_it():
    with pytest.raises(ProgramError, match="a Python object of type `function` cannot be called"):
        added(adds_min(lambda a, b: 5.0))
