"""Softmax over the rows of a matrix, in the numerically stable form.

y[r, c] = exp(x[r, c] - max(x[r])) / sum(exp(x[r] - max(x[r])))
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = 256
COLS = 256
ROW_TILE = 32


@pl.jit
def softmax(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    for r in pl.parallel(0, ROWS, ROW_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="softmax_rows"):
            block = x[r : r + ROW_TILE, :]
            shifted = pl.row_expand_sub(block, pl.row_max(block))
            powers = pl.exp(shifted)
            y[r : r + ROW_TILE, :] = pl.row_expand_div(powers, pl.row_sum(powers))
    return y


def arguments():
    rng = np.random.default_rng(2)
    return {
        "x": 4 * rng.standard_normal((ROWS, COLS), dtype=np.float32),
        "y": np.zeros((ROWS, COLS), np.float32),
    }


def expected(args):
    x = args["x"].astype(np.float64)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return {"y": powers / powers.sum(axis=1, keepdims=True)}


if __name__ == "__main__":
    golden.main(softmax, arguments, expected, rtol=1e-5, atol=1e-7)
