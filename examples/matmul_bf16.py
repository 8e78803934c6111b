"""bf16 matmul against a weight stored transposed, f32 result.

    y = x @ w.T        x: [M, K], w: [N, K]

Products of bf16 are exact in f32; the order of the sums is stated (see docs), so every run gives the same bits.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

M = 64
K = 256
N = 256
N_TILE = 64
K_TILE = 128


@pl.jit
def matmul_bf16(
    x: pl.Tensor[[M, K], pl.BF16],
    w: pl.Tensor[[N, K], pl.BF16],
    y: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    for n in pl.parallel(0, N, N_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="matmul_bf16"):
            acc = pl.create_tensor([M, N_TILE], dtype=pl.FP32)
            for kb in pl.range(K // K_TILE):
                k = kb * K_TILE
                block_x = x[:, k : k + K_TILE]
                block_w = w[n : n + N_TILE, k : k + K_TILE]
                if kb == 0:
                    acc = pl.matmul(block_x, block_w, b_trans=True, out_dtype=pl.FP32)
                else:
                    acc = pl.matmul_acc(acc, block_x, block_w, b_trans=True)
            y[:, n : n + N_TILE] = acc
    return y


def arguments():
    rng = np.random.default_rng(6)
    return {
        "x": rng.standard_normal((M, K), dtype=np.float32).astype(ml_dtypes.bfloat16),
        "w": rng.standard_normal((N, K), dtype=np.float32).astype(ml_dtypes.bfloat16),
        "y": np.zeros((M, N), np.float32),
    }


def expected(args):
    return {"y": args["x"].astype(np.float64) @ args["w"].astype(np.float64).T}


if __name__ == "__main__":
    golden.main(matmul_bf16, arguments, expected, rtol=1e-5, atol=1e-4)
