"""A quantised product: activations to int8 with a scale per row, int8 weights with a scale per column.

    s[r] = max |x[r]| / 127        q = int8(round(x / s))        y = (q @ w) · s[r] · t[c]

f32 becomes int8 in the steps that the machines have: to i32 ties to even, to f16 exactly, to i8 truncating.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = 64
K = 256
COLS = 128
ROW_TILE = 32


@pl.jit.inline
def quantise(block: pl.Tensor, inverse: pl.Tensor):
    whole = pl.cast(pl.row_expand_mul(block, inverse), target_type=pl.INT32, mode="rint")
    return pl.cast(pl.cast(whole, target_type=pl.FP16, mode="round"), target_type=pl.INT8, mode="trunc")


@pl.jit
def matmul_w8a8(
    x: pl.Tensor[[ROWS, K], pl.FP32],
    w: pl.Tensor[[K, COLS], pl.INT8],
    w_scale: pl.Tensor[[1, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    q = pl.create_tensor([ROWS, K], dtype=pl.INT8)
    scales = pl.create_tensor([ROWS, 1], dtype=pl.FP32)
    for r in pl.parallel(0, ROWS, ROW_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="quantise"):
            block = x[r : r + ROW_TILE, :]
            largest = pl.maximum(pl.row_max(pl.abs(block)), 1e-6)
            scales[r : r + ROW_TILE, :] = pl.mul(largest, 1.0 / 127.0)
            q[r : r + ROW_TILE, :] = quantise(block, pl.div(127.0, largest))
    for r in pl.parallel(0, ROWS, ROW_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="multiply"):
            product = pl.matmul(q[r : r + ROW_TILE, :], w[:, :], out_dtype=pl.INT32)
            scaled = pl.row_expand_mul(pl.cast(product, target_type=pl.FP32), scales[r : r + ROW_TILE, :])
            y[r : r + ROW_TILE, :] = pl.col_expand_mul(scaled, w_scale)
    return y


def arguments():
    rng = np.random.default_rng(17)
    return {
        "x": rng.standard_normal((ROWS, K), dtype=np.float32),
        "w": rng.integers(-127, 128, (K, COLS), np.int8),
        "w_scale": rng.uniform(0.001, 0.01, (1, COLS)).astype(np.float32),
        "y": np.zeros((ROWS, COLS), np.float32),
    }


def expected(args):
    x = args["x"]
    largest = np.maximum(np.abs(x).max(axis=1, keepdims=True), np.float32(1e-6))
    q = np.rint(x * (np.float32(127) / largest)).astype(np.int64)
    return {"y": (q @ args["w"].astype(np.int64)) * (largest.astype(np.float64) / 127) * args["w_scale"]}


if __name__ == "__main__":
    golden.main(matmul_w8a8, arguments, expected, rtol=1e-5, atol=1e-5)
