"""Hello: add a scalar to every element of a matrix.

    y[r, c] = x[r, c] + a

The orchestration walks 128 x 256 blocks; each `pl.at` scope is one task that loads its block, adds, and stores it.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = 512
COLS = 512
ROW_TILE = 128
COL_TILE = 256


@pl.jit
def hello(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    a: pl.Scalar[pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    for r in pl.parallel(0, ROWS, ROW_TILE):
        for c in pl.range(0, COLS, COL_TILE):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="add_scalar"):
                block = x[r : r + ROW_TILE, c : c + COL_TILE]
                y[r : r + ROW_TILE, c : c + COL_TILE] = pl.add(block, a)
    return y


def arguments():
    rng = np.random.default_rng(1)
    return {
        "x": rng.standard_normal((ROWS, COLS), dtype=np.float32),
        "a": 0.5,
        "y": np.zeros((ROWS, COLS), np.float32),
    }


def expected(args):
    return {"y": args["x"] + np.float32(args["a"])}


if __name__ == "__main__":
    golden.main(hello, arguments, expected, rtol=0, atol=0)
