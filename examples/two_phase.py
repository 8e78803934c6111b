"""An SPMD kernel in two phases with a barrier between them.

    y[r, c] = x[r, c] / sum over all rows of |x[:, c]|

In the first phase each block sums its rows into its row of `partial`; `syncall` waits for all blocks; in the second
phase every block reads all partial sums and scales its own rows. `sync_start` starts the blocks together, which a
barrier needs.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

BLOCKS = 8
ROWS_PER_BLOCK = 32
ROWS = BLOCKS * ROWS_PER_BLOCK
COLS = 256


@pl.jit
def two_phase(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    partial = pl.create_tensor([BLOCKS, COLS], dtype=pl.FP32)
    for block in pl.spmd(BLOCKS, name_hint="two_phase", sync_start=True):
        first = block * ROWS_PER_BLOCK
        mine = x[first : first + ROWS_PER_BLOCK, :]
        partial[block : block + 1, :] = pl.col_sum(pl.abs(mine))
        pl.system.syncall(core_type="aiv_only")
        total = pl.col_sum(partial[:, :])
        y[first : first + ROWS_PER_BLOCK, :] = pl.col_expand_mul(mine, pl.recip(total))
    return y


def arguments():
    rng = np.random.default_rng(10)
    return {
        "x": rng.standard_normal((ROWS, COLS), dtype=np.float32),
        "y": np.zeros((ROWS, COLS), np.float32),
    }


def expected(args):
    x = args["x"].astype(np.float64)
    return {"y": x / np.abs(x).sum(axis=0)}


if __name__ == "__main__":
    golden.main(two_phase, arguments, expected, rtol=1e-5, atol=1e-7)
