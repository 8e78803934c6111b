"""Softmax over the first `width` columns of however many rows there are: dynamic extents and valid regions.

The number of rows is a dynamic dimension (one compiled program serves all), the width is read from a tensor inside the
kernel. Tiles have a static size; their valid region is what is real. Columns from `width` on are never written: the
caller's contents stay.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = pl.dynamic("ROWS")
COLS = 128
ROW_TILE = 32


@pl.jit
def ragged(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    width: pl.Tensor[[1], pl.INT32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    rows = pl.tensor.dim(x, 0)
    for r in pl.parallel(0, rows, ROW_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="ragged_softmax"):
            height = pl.min(ROW_TILE, rows - r)
            columns = pl.cast(pl.read(width, [0]), pl.INDEX)
            block = pl.slice(x, [ROW_TILE, COLS], [r, 0], valid_shape=[height, columns])
            # Padding with -inf makes the whole tile valid and adds nothing to the maximum or the sum.
            padded = pl.fillpad(block, pad_value=pl.PadValue.min)
            shifted = pl.row_expand_sub(padded, pl.row_max(block))
            powers = pl.exp(shifted)
            result = pl.row_expand_div(powers, pl.row_sum(powers))
            y = pl.assemble(y, pl.set_validshape(result, height, columns), [r, 0])
    return y


def arguments():
    rng = np.random.default_rng(8)
    rows, width = 75, 101
    return {
        "x": rng.standard_normal((rows, COLS), dtype=np.float32),
        "width": np.array([width], np.int32),
        "y": np.full((rows, COLS), -1, np.float32),
    }


def expected(args):
    width = args["width"][0]
    x = args["x"][:, :width].astype(np.float64)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    y = args["y"].astype(np.float64)
    y[:, :width] = powers / powers.sum(axis=1, keepdims=True)
    return {"y": y}


if __name__ == "__main__":
    golden.main(ragged, arguments, expected, rtol=1e-5, atol=1e-7)
