"""Small kernels that several tests call."""

import tilewright.language as pl

ROWS = 16
COLS = 64
FACTOR = 3.0
N = pl.dynamic("N")


@pl.jit
def add_scalar(x: pl.Tensor[[ROWS, COLS], pl.FP32], a: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.add(x[:, :], a)
    return y


@pl.jit
def scale_by_global(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.mul(x[:, :], FACTOR)
    return y


@pl.jit
def double(x: pl.Tensor[[N, COLS], pl.FP32], y: pl.Out[pl.Tensor[[N, COLS], pl.FP32]]):
    rows = pl.tensor.dim(x, 0)
    for r in pl.parallel(0, rows, ROWS):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[r : r + ROWS, :] = pl.mul(x[r : r + ROWS, :], 2.0)
    return y


@pl.jit
def same_extent(
    a: pl.Tensor[[N, COLS], pl.FP32], b: pl.Tensor[[N, COLS], pl.FP32], y: pl.Out[pl.Tensor[[N, COLS], pl.FP32]]
):
    rows = pl.tensor.dim(a, 0)
    for r in pl.parallel(0, rows, ROWS):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[r : r + ROWS, :] = pl.add(a[r : r + ROWS, :], b[r : r + ROWS, :])
    return y


@pl.jit
def any_shape(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.add(x[:, :], 1)
    return y


@pl.jit
def shift_rows(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
    """Row r of y is row r - 1 of x, doubled: wrong if y overlaps x and is written in place."""
    for r in pl.range(1, ROWS):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[r : r + 1, :] = pl.mul(x[r - 1 : r, :], 2.0)
    return y


@pl.jit
def fresh(x: pl.Tensor[[ROWS, COLS], pl.FP32]):
    t = pl.create_tensor([ROWS, COLS], dtype=pl.FP32)
    with pl.at(level=pl.Level.CORE_GROUP):
        t[:, :] = pl.neg(x[:, :])
    return t
