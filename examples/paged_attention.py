"""Decoding over a paged cache: one query per sequence, keys and values in pages that a block table names.

The table's entries are scalars read inside the kernel; each becomes the offset of a load. The last page of a sequence
is partly filled: a valid region cuts the scores, and a pad of the smallest value keeps the rest out of the maximum.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

SEQUENCES = 4
HEADS = 16
HEAD = 128
PAGE = 64
PAGES_PER_SEQUENCE = 4
PAGES = SEQUENCES * PAGES_PER_SEQUENCE
SCALE = 1.0 / HEAD**0.5


@pl.jit
def paged_attention(
    q: pl.Tensor[[SEQUENCES * HEADS, HEAD], pl.BF16],
    k: pl.Tensor[[PAGES * PAGE, HEAD], pl.BF16],
    v: pl.Tensor[[PAGES * PAGE, HEAD], pl.BF16],
    table: pl.Tensor[[SEQUENCES, PAGES_PER_SEQUENCE], pl.INT32],
    lengths: pl.Tensor[[SEQUENCES], pl.INT32],
    o: pl.Out[pl.Tensor[[SEQUENCES * HEADS, HEAD], pl.FP32]],
):
    for sequence in pl.spmd(SEQUENCES, name_hint="paged_attention"):
        row = sequence * HEADS
        queries = q[row : row + HEADS, :]
        length = pl.cast(pl.read(lengths, [sequence]), pl.INDEX)
        m = pl.full([HEADS, 1], dtype=pl.FP32, value=-1e30)
        total = pl.full([HEADS, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([HEADS, HEAD], dtype=pl.FP32, value=0.0)
        for i in pl.range((length + PAGE - 1) // PAGE):
            page = pl.cast(pl.read(table, [sequence, i]), pl.INDEX)
            keys = k[page * PAGE : page * PAGE + PAGE, :]
            values = v[page * PAGE : page * PAGE + PAGE, :]
            filled = pl.min(PAGE, length - i * PAGE)
            scores = pl.mul(pl.matmul(queries, keys, b_trans=True, out_dtype=pl.FP32), SCALE)
            inside = pl.fillpad(pl.set_validshape(scores, HEADS, filled), pad_value=pl.PadValue.min)
            m_new = pl.maximum(m, pl.row_max(inside))
            powers = pl.exp(pl.row_expand_sub(inside, m_new))
            rescale = pl.exp(pl.sub(m, m_new))
            total = pl.add(pl.mul(total, rescale), pl.row_sum(powers))
            weights = pl.cast(powers, target_type=pl.BF16, mode="rint")
            acc = pl.add(pl.row_expand_mul(acc, rescale), pl.matmul(weights, values, out_dtype=pl.FP32))
            m = m_new
        o[row : row + HEADS, :] = pl.row_expand_div(acc, total)
    return o


def arguments():
    rng = np.random.default_rng(15)

    def bf16(*shape):
        return rng.standard_normal(shape, dtype=np.float32).astype(ml_dtypes.bfloat16)

    return {
        "q": bf16(SEQUENCES * HEADS, HEAD),
        "k": bf16(PAGES * PAGE, HEAD),
        "v": bf16(PAGES * PAGE, HEAD),
        "table": rng.permutation(PAGES).reshape(SEQUENCES, PAGES_PER_SEQUENCE).astype(np.int32),
        "lengths": np.array([1, 64, 100, 256], np.int32),
        "o": np.zeros((SEQUENCES * HEADS, HEAD), np.float32),
    }


def expected(args):
    out = np.zeros((SEQUENCES * HEADS, HEAD))
    for sequence, length in enumerate(args["lengths"]):
        rows = slice(sequence * HEADS, (sequence + 1) * HEADS)
        at = np.arange(length)
        slots = args["table"][sequence, at // PAGE] * PAGE + at % PAGE
        keys, values = (args[name][slots].astype(np.float64) for name in "kv")
        scores = args["q"][rows].astype(np.float64) @ keys.T * SCALE
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[rows] = powers @ values / powers.sum(axis=1, keepdims=True)
    return {"o": out}


if __name__ == "__main__":
    golden.main(paged_attention, arguments, expected, rtol=1e-2, atol=1e-2)
