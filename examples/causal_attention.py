"""Causal attention: query i looks at keys 0 … i, by a mask that is compared and selected inside the kernel.

Blocks of keys that lie wholly in the future are never loaded: the loop's bound follows from the query block.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

LENGTH = 128
HEAD = 64
TILE = 32
SCALE = 1.0 / HEAD**0.5


@pl.jit
def causal_attention(
    q: pl.Tensor[[LENGTH, HEAD], pl.BF16],
    k: pl.Tensor[[LENGTH, HEAD], pl.BF16],
    v: pl.Tensor[[LENGTH, HEAD], pl.BF16],
    future: pl.Tensor[[TILE, TILE], pl.FP32],
    o: pl.Out[pl.Tensor[[LENGTH, HEAD], pl.FP32]],
):
    for block in pl.spmd(LENGTH // TILE, name_hint="causal_attention"):
        queries = q[block * TILE : block * TILE + TILE, :]
        m = pl.full([TILE, 1], dtype=pl.FP32, value=-1e30)
        total = pl.full([TILE, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([TILE, HEAD], dtype=pl.FP32, value=0.0)
        for at in pl.range(block + 1):
            keys = k[at * TILE : at * TILE + TILE, :]
            scores = pl.mul(pl.matmul(queries, keys, b_trans=True, out_dtype=pl.FP32), SCALE)
            if at == block:
                # The block on the diagonal: what lies above it counts for nothing.
                scores = pl.add(scores, future[:, :])
            m_new = pl.maximum(m, pl.row_max(scores))
            powers = pl.exp(pl.row_expand_sub(scores, m_new))
            rescale = pl.exp(pl.sub(m, m_new))
            total = pl.add(pl.mul(total, rescale), pl.row_sum(powers))
            weights = pl.cast(powers, target_type=pl.BF16, mode="rint")
            product = pl.matmul(weights, v[at * TILE : at * TILE + TILE, :], out_dtype=pl.FP32)
            acc = pl.add(pl.row_expand_mul(acc, rescale), product)
            m = m_new
        o[block * TILE : block * TILE + TILE, :] = pl.row_expand_div(acc, total)
    return o


def arguments():
    rng = np.random.default_rng(14)

    def bf16(*shape):
        return rng.standard_normal(shape, dtype=np.float32).astype(ml_dtypes.bfloat16)

    return {
        "q": bf16(LENGTH, HEAD),
        "k": bf16(LENGTH, HEAD),
        "v": bf16(LENGTH, HEAD),
        "future": np.triu(np.full((TILE, TILE), -1e30, np.float32), 1),
        "o": np.zeros((LENGTH, HEAD), np.float32),
    }


def expected(args):
    q, k, v = (args[name].astype(np.float64) for name in "qkv")
    scores = np.where(np.tri(LENGTH, dtype=bool), q @ k.T * SCALE, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"o": powers @ v / powers.sum(axis=1, keepdims=True)}


if __name__ == "__main__":
    golden.main(causal_attention, arguments, expected, rtol=1e-2, atol=8e-3)
