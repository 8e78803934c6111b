"""Rotary position embedding: the first and second half of every head are rotated by an angle of position and column.

    low'  = low · cos − high · sin
    high' = high · cos + low · sin

Tables of cos and sin have one row per position; `positions` says which row each token takes: a scalar read inside the
kernel that becomes the offset of a load.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

TOKENS = 32
HEADS = 8
HEAD = 128
HALF = HEAD // 2
POSITIONS = 256


@pl.jit
def rope(
    q: pl.Tensor[[TOKENS * HEADS, HEAD], pl.FP32],
    cos: pl.Tensor[[POSITIONS, HALF], pl.FP32],
    sin: pl.Tensor[[POSITIONS, HALF], pl.FP32],
    positions: pl.Tensor[[TOKENS], pl.INT32],
    out: pl.Out[pl.Tensor[[TOKENS * HEADS, HEAD], pl.FP32]],
):
    for token in pl.spmd(TOKENS, name_hint="rope"):
        row = token * HEADS
        position = pl.cast(pl.read(positions, [token]), pl.INDEX)
        c = cos[position : position + 1, :]
        s = sin[position : position + 1, :]
        low = q[row : row + HEADS, 0:HALF]
        high = q[row : row + HEADS, HALF:HEAD]
        out[row : row + HEADS, 0:HALF] = pl.sub(pl.col_expand_mul(low, c), pl.col_expand_mul(high, s))
        out[row : row + HEADS, HALF:HEAD] = pl.add(pl.col_expand_mul(high, c), pl.col_expand_mul(low, s))
    return out


def arguments():
    rng = np.random.default_rng(12)
    angle = np.outer(np.arange(POSITIONS), 10000.0 ** (-np.arange(HALF) / HALF))
    return {
        "q": rng.standard_normal((TOKENS * HEADS, HEAD), dtype=np.float32),
        "cos": np.cos(angle).astype(np.float32),
        "sin": np.sin(angle).astype(np.float32),
        "positions": rng.permutation(POSITIONS)[:TOKENS].astype(np.int32),
        "out": np.zeros((TOKENS * HEADS, HEAD), np.float32),
    }


def expected(args):
    at = np.repeat(args["positions"], HEADS)
    c, s = args["cos"][at].astype(np.float64), args["sin"][at].astype(np.float64)
    low, high = args["q"][:, :HALF], args["q"][:, HALF:]
    return {"out": np.concatenate([low * c - high * s, high * c + low * s], axis=1)}


if __name__ == "__main__":
    golden.main(rope, arguments, expected, rtol=1e-5, atol=1e-6)
