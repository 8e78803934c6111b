"""RMS normalisation with a helper that is spliced at each call and specialised for its argument.

    y[r, c] = bf16(x[r, c] / sqrt(mean(x[r]^2) + eps) * g[c])

`normalise` is called on blocks of two heights: each call gets its own specialisation.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

HEAD = 96
TAIL = 16
ROWS = HEAD + TAIL
COLS = 512
ROW_TILE = 32
EPS = 1e-6
INV_COLS = 1.0 / COLS


@pl.jit.inline
def normalise(block: pl.Tensor, g: pl.Tensor):
    x = pl.cast(block, target_type=pl.FP32)
    mean_square = pl.mul(pl.row_sum(pl.mul(x, x)), INV_COLS)
    scale = pl.rsqrt(pl.add(mean_square, EPS))
    scaled = pl.col_expand_mul(pl.row_expand_mul(x, scale), g)
    return pl.cast(scaled, target_type=pl.BF16, mode="rint")


@pl.jit
def rms_norm(
    x: pl.Tensor[[ROWS, COLS], pl.BF16],
    g: pl.Tensor[[1, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.BF16]],
):
    for r in pl.parallel(0, HEAD, ROW_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="norm_head"):
            y[r : r + ROW_TILE, :] = normalise(x[r : r + ROW_TILE, :], g[:, :])
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="norm_tail"):
        y[HEAD : HEAD + TAIL, :] = normalise(x[HEAD : HEAD + TAIL, :], g[:, :])
    return y


def arguments():
    rng = np.random.default_rng(3)
    return {
        "x": rng.standard_normal((ROWS, COLS), dtype=np.float32).astype(ml_dtypes.bfloat16),
        "g": rng.uniform(0.5, 1.5, (1, COLS)).astype(np.float32),
        "y": np.zeros((ROWS, COLS), ml_dtypes.bfloat16),
    }


def expected(args):
    x = args["x"].astype(np.float64)
    scale = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPS)
    return {"y": (x * scale * args["g"]).astype(ml_dtypes.bfloat16)}


if __name__ == "__main__":
    # One unit in the last place of bf16: the golden rounds from f64, the kernel from f32.
    golden.main(rms_norm, arguments, expected, rtol=2**-7, atol=1e-6)
