"""Running sums along rows by the matrix unit: a product with a triangle of ones, block after block.

Within a block of columns y = x @ U, where U[i, j] is 1 for i ≤ j; between blocks the last column so far is carried.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = 64
COLS = 256
ROW_TILE = 16
TILE = 32


@pl.jit
def prefix_sum(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    ones = pl.create_tensor([TILE, TILE], dtype=pl.FP32)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="triangle"):
        ones[:, :] = pl.tile.tri(0, [TILE, TILE], dtype=pl.FP32, upper=True)
    for block in pl.spmd(ROWS // ROW_TILE, name_hint="prefix_sum"):
        row = block * ROW_TILE
        carry = pl.full([ROW_TILE, 1], dtype=pl.FP32, value=0.0)
        for i in pl.range(COLS // TILE):
            part = x[row : row + ROW_TILE, i * TILE : i * TILE + TILE]
            sums = pl.matmul(part, ones[:, :], out_dtype=pl.FP32)
            y[row : row + ROW_TILE, i * TILE : i * TILE + TILE] = pl.row_expand_add(sums, carry)
            carry = pl.add(carry, pl.row_sum(part))
    return y


def arguments():
    rng = np.random.default_rng(23)
    # Small integers: sums are exact in any order.
    return {"x": rng.integers(-8, 9, (ROWS, COLS)).astype(np.float32), "y": np.zeros((ROWS, COLS), np.float32)}


def expected(args):
    return {"y": np.cumsum(args["x"].astype(np.float64), axis=1)}


if __name__ == "__main__":
    golden.main(prefix_sum, arguments, expected, rtol=0, atol=0)
