"""GEMM with a fused epilogue: one scope for the cube core and a vector core.

    y = bf16(max(x @ w + bias, 0) + residual)

The product goes from the cube core to the vector core through a FIFO: into the vector core's buffer on A5, through
global memory on A2/A3. Nothing in the source says so; the compiler splits the scope.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

M = 128
K = 512
N = 256
M_TILE = 64
N_TILE = 64
K_TILE = 128


@pl.jit
def gemm_epilogue(
    x: pl.Tensor[[M, K], pl.BF16],
    w: pl.Tensor[[K, N], pl.BF16],
    bias: pl.Tensor[[1, N], pl.FP32],
    residual: pl.Tensor[[M, N], pl.BF16],
    y: pl.Out[pl.Tensor[[M, N], pl.BF16]],
):
    for m in pl.parallel(0, M, M_TILE):
        for n in pl.parallel(0, N, N_TILE):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="gemm_epilogue"):
                acc = pl.create_tensor([M_TILE, N_TILE], dtype=pl.FP32)
                for kb in pl.range(K // K_TILE):
                    k = kb * K_TILE
                    block_x = x[m : m + M_TILE, k : k + K_TILE]
                    block_w = w[k : k + K_TILE, n : n + N_TILE]
                    if kb == 0:
                        acc = pl.matmul(block_x, block_w, out_dtype=pl.FP32)
                    else:
                        acc = pl.matmul_acc(acc, block_x, block_w)
                biased = pl.col_expand_add(acc, bias[:, n : n + N_TILE])
                active = pl.maximum(biased, 0.0)
                skip = pl.cast(residual[m : m + M_TILE, n : n + N_TILE], target_type=pl.FP32)
                y[m : m + M_TILE, n : n + N_TILE] = pl.cast(pl.add(active, skip), target_type=pl.BF16, mode="rint")
    return y


def arguments():
    rng = np.random.default_rng(5)

    def bf16(*shape):
        return rng.standard_normal(shape, dtype=np.float32).astype(ml_dtypes.bfloat16)

    return {
        "x": bf16(M, K),
        "w": bf16(K, N),
        "bias": rng.standard_normal((1, N), dtype=np.float32),
        "residual": bf16(M, N),
        "y": np.zeros((M, N), ml_dtypes.bfloat16),
    }


def expected(args):
    product = args["x"].astype(np.float64) @ args["w"].astype(np.float64) + args["bias"]
    return {"y": (np.maximum(product, 0) + args["residual"].astype(np.float64)).astype(ml_dtypes.bfloat16)}


if __name__ == "__main__":
    golden.main(gemm_epilogue, arguments, expected, rtol=2**-7, atol=1e-4)
