"""A mixture-of-experts router: scores, softmax over the experts, the k best with weights that sum to one.

Every token's row of probabilities is sorted whole: 32 experts are one group of `sort32`. The experts are the indices of
the leading records, the weights their values over the values' sum; sums are taken of many rows at once, as a tile of
a single element does not fill the 32 bytes that a row has on the machines.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

TOKENS = 32
MODEL = 128
EXPERTS = 32
K = 8
TOKEN_TILE = 16


@pl.jit
def moe_router(
    x: pl.Tensor[[TOKENS, MODEL], pl.FP32],
    w: pl.Tensor[[MODEL, EXPERTS], pl.FP32],
    weights: pl.Out[pl.Tensor[[TOKENS, K], pl.FP32]],
    experts: pl.Out[pl.Tensor[[TOKENS, K], pl.INT32]],
):
    probabilities = pl.create_tensor([TOKENS, EXPERTS], dtype=pl.FP32)
    chosen = pl.create_tensor([TOKENS, K], dtype=pl.FP32)
    for block in pl.spmd(TOKENS // TOKEN_TILE, name_hint="scores"):
        first = block * TOKEN_TILE
        scores = pl.matmul(x[first : first + TOKEN_TILE, :], w[:, :], out_dtype=pl.FP32)
        powers = pl.exp(pl.row_expand_sub(scores, pl.row_max(scores)))
        probabilities[first : first + TOKEN_TILE, :] = pl.row_expand_div(powers, pl.row_sum(powers))
    for block in pl.spmd(TOKENS // TOKEN_TILE, name_hint="choose"):
        numbers = pl.arange(0, [1, EXPERTS], dtype=pl.UINT32)
        for i in pl.range(TOKEN_TILE):
            token = block * TOKEN_TILE + i
            best = pl.sort32(probabilities[token : token + 1, :], numbers)[:, 0 : 2 * K]
            chosen[token : token + 1, :] = pl.gather(best, mask_pattern=pl.tile.MaskPattern.P0101)
            experts[token : token + 1, :] = pl.gather(
                best, mask_pattern=pl.tile.MaskPattern.P1010, output_dtype=pl.INT32
            )
    for block in pl.spmd(TOKENS // TOKEN_TILE, name_hint="normalise"):
        first = block * TOKEN_TILE
        values = chosen[first : first + TOKEN_TILE, :]
        weights[first : first + TOKEN_TILE, :] = pl.row_expand_div(values, pl.row_sum(values))
    return weights, experts


def arguments():
    rng = np.random.default_rng(22)
    return {
        "x": rng.standard_normal((TOKENS, MODEL), dtype=np.float32),
        "w": rng.standard_normal((MODEL, EXPERTS), dtype=np.float32),
        "weights": np.zeros((TOKENS, K), np.float32),
        "experts": np.zeros((TOKENS, K), np.int32),
    }


def expected(args):
    scores = args["x"].astype(np.float64) @ args["w"].astype(np.float64)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    best = np.argsort(-powers, axis=1)[:, :K]
    values = np.take_along_axis(powers, best, axis=1)
    return {"weights": values / values.sum(axis=1, keepdims=True), "experts": best.astype(np.int32)}


if __name__ == "__main__":
    golden.main(moe_router, arguments, expected, rtol=1e-4, atol=1e-6)
