"""`--check races`: what is found, what is not, and that the run's values are right all the same."""

import numpy as np
import pytest

import tilewright
import tilewright.language as pl

X = np.random.default_rng(0).random((16, 64), np.float32)


@pl.jit
def handed_over(
    x: pl.Tensor[[16, 64], pl.FP32],
    manual: pl.Scalar[pl.INT32],
    dep: pl.Scalar[pl.INT32],
    out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    tmp = pl.create_tensor([16, 64], dtype=pl.FP32)
    if manual == 0:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="produce"):
            tmp[:, :] = pl.mul(x, 2.0)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="consume"):
            out[:, :] = pl.add(tmp, 1.0)
    else:
        with pl.manual_scope():
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="produce") as produced:
                tmp[:, :] = pl.mul(x, 2.0)
            if dep == 0:
                with pl.at(level=pl.Level.CORE_GROUP, name_hint="consume"):
                    out[:, :] = pl.add(tmp, 1.0)
            else:
                with pl.at(level=pl.Level.CORE_GROUP, name_hint="consume", deps=[produced]):
                    out[:, :] = pl.add(tmp, 1.0)
    return out


@pl.jit
def bands(
    x: pl.Tensor[[16, 64], pl.FP32],
    rows: pl.Scalar[pl.INT32],
    out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
):
    for i in pl.spmd(4, name_hint="spread"):
        out[i * 4 : i * 4 + 4, :] = pl.mul(x[i * 4 : i * 4 + 4, :], 2.0)
        if rows > 4:
            out[(i + 1) % 4 * 4 : (i + 1) % 4 * 4 + 4, :] = pl.mul(x[i * 4 : i * 4 + 4, :], 2.0)
    return out


def findings(kernel, *args):
    with tilewright.Session(tilewright.Options(check="races")).active():
        try:
            kernel(*args)
        except tilewright.FindingError as error:
            return str(error)
    return None


def test_a_manual_scope_is_held_to_its_deps():
    out = np.zeros_like(X)
    assert findings(handed_over, X, 0, 0, out) is None
    assert findings(handed_over, X, 1, 1, out) is None
    text = findings(handed_over, X, 1, 0, out)
    assert "error[race-raw]: nothing that the program says orders task 0 `produce` before task 1 `consume`" in text
    assert "both touch `tmp` (from element [0, 0] on)" in text
    assert "`tstore` writes it in task 0, block 0 of 1, vector core 0" in text
    assert "`tload` reads it in task 1, block 0 of 1, vector core 0" in text
    assert "add task 0 to the `deps` of task 1" in text
    # The run keeps program order all the same.
    np.testing.assert_array_equal(out, X * 2 + 1)


def test_blocks_of_a_task_are_not_ordered():
    out = np.zeros_like(X)
    assert findings(bands, X, 4, out) is None
    text = findings(bands, X, 5, out)
    assert "error[race-waw]: nothing orders these accesses of task 0 `spread`" in text
    assert "put `pl.system.syncall` between, or make two tasks of it" in text


def test_a_check_that_is_not_known():
    with pytest.raises(ValueError, match="check 'race' is not known; `levels`, `races` and `all` are"):
        tilewright.Options(check="race")
