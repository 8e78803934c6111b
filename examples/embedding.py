"""Embedding lookup and the tied output: rows of a table gathered by token, and the likeliest next token.

The first launch copies one row of the table per token: the token is a scalar, the offset of a load. The second
multiplies with the table again and takes the column of the largest score of every row.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

TOKENS = 32
WORDS = 256
MODEL = 128
TOKEN_TILE = 8


@pl.jit
def embedding(
    tokens: pl.Tensor[[TOKENS], pl.INT32],
    table: pl.Tensor[[WORDS, MODEL], pl.BF16],
    rows: pl.Out[pl.Tensor[[TOKENS, MODEL], pl.BF16]],
    nearest: pl.Out[pl.Tensor[[TOKENS, 1], pl.INT32]],
):
    for block in pl.spmd(TOKENS // TOKEN_TILE, name_hint="lookup"):
        for i in pl.range(TOKEN_TILE):
            at = block * TOKEN_TILE + i
            word = pl.cast(pl.read(tokens, [at]), pl.INDEX)
            rows[at : at + 1, :] = table[word : word + 1, :]
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="nearest"):
        scores = pl.matmul(rows[:, :], table[:, :], b_trans=True, out_dtype=pl.FP32)
        nearest[:, :] = pl.row_argmax(scores)
    return rows, nearest


def arguments():
    rng = np.random.default_rng(21)
    table = rng.standard_normal((WORDS, MODEL), dtype=np.float32)
    return {
        "tokens": rng.integers(0, WORDS, TOKENS, np.int32),
        # Rows of equal length: each is nearest to itself.
        "table": (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(ml_dtypes.bfloat16),
        "rows": np.zeros((TOKENS, MODEL), ml_dtypes.bfloat16),
        "nearest": np.zeros((TOKENS, 1), np.int32),
    }


def expected(args):
    return {"rows": args["table"][args["tokens"]], "nearest": args["tokens"].reshape(-1, 1)}


if __name__ == "__main__":
    golden.main(embedding, arguments, expected, rtol=0, atol=0)
