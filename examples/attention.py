"""Attention with an online softmax: one pass over the keys, nothing of the size queries × keys is ever stored.

For each block of keys: s = q·kᵀ · scale; the running maximum m and sum l of every query's row are updated, and what has
been accumulated so far is rescaled by exp(m_old − m_new). At the end o / l.

The products are made by the cube core, everything between them by a vector core; the compiler splits the scope and
joins the two by FIFOs.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

QUERIES = 64
KEYS = 512
HEAD = 128
Q_TILE = 32
K_TILE = 128
SCALE = 1.0 / HEAD**0.5


@pl.jit
def attention(
    q: pl.Tensor[[QUERIES, HEAD], pl.BF16],
    k: pl.Tensor[[KEYS, HEAD], pl.BF16],
    v: pl.Tensor[[KEYS, HEAD], pl.BF16],
    o: pl.Out[pl.Tensor[[QUERIES, HEAD], pl.FP32]],
):
    for first in pl.parallel(0, QUERIES, Q_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="attention"):
            queries = q[first : first + Q_TILE, :]
            m = pl.full([Q_TILE, 1], dtype=pl.FP32, value=-1e30)
            total = pl.full([Q_TILE, 1], dtype=pl.FP32, value=0.0)
            acc = pl.full([Q_TILE, HEAD], dtype=pl.FP32, value=0.0)
            for at in pl.range(0, KEYS, K_TILE):
                keys = k[at : at + K_TILE, :]
                scores = pl.mul(pl.matmul(queries, keys, b_trans=True, out_dtype=pl.FP32), SCALE)
                m_new = pl.maximum(m, pl.row_max(scores))
                powers = pl.exp(pl.row_expand_sub(scores, m_new))
                rescale = pl.exp(pl.sub(m, m_new))
                total = pl.add(pl.mul(total, rescale), pl.row_sum(powers))
                weights = pl.cast(powers, target_type=pl.BF16, mode="rint")
                product = pl.matmul(weights, v[at : at + K_TILE, :], out_dtype=pl.FP32)
                acc = pl.add(pl.row_expand_mul(acc, rescale), product)
                m = m_new
            o[first : first + Q_TILE, :] = pl.row_expand_div(acc, total)
    return o


def arguments():
    rng = np.random.default_rng(13)

    def bf16(*shape):
        return rng.standard_normal(shape, dtype=np.float32).astype(ml_dtypes.bfloat16)

    return {
        "q": bf16(QUERIES, HEAD),
        "k": bf16(KEYS, HEAD),
        "v": bf16(KEYS, HEAD),
        "o": np.zeros((QUERIES, HEAD), np.float32),
    }


def expected(args):
    q, k, v = (args[name].astype(np.float64) for name in "qkv")
    scores = q @ k.T * SCALE
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"o": powers @ v / powers.sum(axis=1, keepdims=True)}


if __name__ == "__main__":
    golden.main(attention, arguments, expected, rtol=1e-2, atol=4e-3)
