"""Layer normalisation of the rows of a matrix, with scale and shift.

y[r] = (x[r] - mean(x[r])) / sqrt(var(x[r]) + eps) * gamma + beta

The variance is taken of the centred row, which loses nothing to cancellation.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = 256
COLS = 512
ROW_TILE = 16
EPS = 1e-5
INV_COLS = 1.0 / COLS


@pl.jit
def layer_norm(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    gamma: pl.Tensor[[1, COLS], pl.FP32],
    beta: pl.Tensor[[1, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    for r in pl.parallel(0, ROWS, ROW_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="layer_norm"):
            block = x[r : r + ROW_TILE, :]
            mean = pl.mul(pl.row_sum(block), INV_COLS)
            centred = pl.row_expand_sub(block, mean)
            variance = pl.mul(pl.row_sum(pl.mul(centred, centred)), INV_COLS)
            scale = pl.rsqrt(pl.add(variance, EPS))
            scaled = pl.col_expand_mul(pl.row_expand_mul(centred, scale), gamma)
            y[r : r + ROW_TILE, :] = pl.col_expand_add(scaled, beta)
    return y


def arguments():
    rng = np.random.default_rng(11)
    return {
        "x": rng.standard_normal((ROWS, COLS), dtype=np.float32) + 3,
        "gamma": rng.standard_normal((1, COLS), dtype=np.float32),
        "beta": rng.standard_normal((1, COLS), dtype=np.float32),
        "y": np.zeros((ROWS, COLS), np.float32),
    }


def expected(args):
    x = args["x"].astype(np.float64)
    centred = x - x.mean(axis=1, keepdims=True)
    return {"y": centred / np.sqrt(x.var(axis=1, keepdims=True) + EPS) * args["gamma"] + args["beta"]}


if __name__ == "__main__":
    golden.main(layer_norm, arguments, expected, rtol=1e-4, atol=1e-4)
