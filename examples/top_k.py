"""The k largest elements of every row, with their columns.

`sort32` sorts groups of 32 into records of a value and its index; `mrgsort` merges four runs into one, until the row is
one run, largest first. Even columns of the records are the values, odd ones the indices as bits.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = 32
COLS = 512
K = 16
ROW_TILE = 8


@pl.jit
def top_k(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    values: pl.Out[pl.Tensor[[ROWS, K], pl.FP32]],
    columns: pl.Out[pl.Tensor[[ROWS, K], pl.INT32]],
):
    for block in pl.spmd(ROWS // ROW_TILE, name_hint="top_k"):
        numbers = pl.arange(0, [1, COLS], dtype=pl.UINT32)
        for i in pl.range(ROW_TILE):
            row = block * ROW_TILE + i
            records = pl.sort32(x[row : row + 1, :], numbers)
            # A record is two columns: runs of 32 records have 64.
            records = pl.mrgsort(records, block_len=64)
            records = pl.mrgsort(records, block_len=256)
            best = records[:, 0 : 2 * K]
            values[row : row + 1, :] = pl.gather(best, mask_pattern=pl.tile.MaskPattern.P0101)
            columns[row : row + 1, :] = pl.gather(best, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32)
    return values, columns


def arguments():
    rng = np.random.default_rng(20)
    # No two of a row are equal, so that the columns are determined.
    x = np.stack([rng.permutation(COLS) for _ in range(ROWS)]).astype(np.float32) - COLS / 2
    return {"x": x, "values": np.zeros((ROWS, K), np.float32), "columns": np.zeros((ROWS, K), np.int32)}


def expected(args):
    order = np.argsort(-args["x"], axis=1)[:, :K]
    return {"values": np.take_along_axis(args["x"], order, axis=1), "columns": order.astype(np.int32)}


if __name__ == "__main__":
    golden.main(top_k, arguments, expected, rtol=0, atol=0)
