"""Split-K: a product with few results and a long contraction, its K range cut between the blocks of a launch.

Every block multiplies its part of K and adds what it has to the result in global memory, atomically. Float additions
do not commute in their last bits; here they commit in the order of blocks, so every run gives the same bits.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

M = 32
N = 64
K = 2048
BLOCKS = 8
K_BLOCK = K // BLOCKS


@pl.jit
def split_k(
    x: pl.Tensor[[M, K], pl.BF16],
    w: pl.Tensor[[K, N], pl.BF16],
    y: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    partial = pl.create_tensor([M, N], dtype=pl.FP32, init_value=0.0)
    for block in pl.spmd(BLOCKS, name_hint="split_k"):
        first = block * K_BLOCK
        part = pl.matmul(x[:, first : first + K_BLOCK], w[first : first + K_BLOCK, :], out_dtype=pl.FP32)
        partial = pl.assemble(partial, part, [0, 0], atomic=pl.AtomicType.Add)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="activate"):
        y[:, :] = pl.maximum(partial[:, :], 0.0)
    return y


def arguments():
    rng = np.random.default_rng(16)

    def bf16(*shape):
        return rng.standard_normal(shape, dtype=np.float32).astype(ml_dtypes.bfloat16)

    return {"x": bf16(M, K), "w": bf16(K, N), "y": np.zeros((M, N), np.float32)}


def expected(args):
    return {"y": np.maximum(args["x"].astype(np.float64) @ args["w"].astype(np.float64), 0)}


if __name__ == "__main__":
    golden.main(split_k, arguments, expected, rtol=1e-4, atol=1e-2)
