"""GEMM with M, N and K blocking, f32.

    c = a @ b

K is reduced with `pl.matmul` on the first block and `pl.matmul_acc` on the others; the accumulator stays on chip.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

M = 256
N = 256
K = 256
M_TILE = 64
N_TILE = 128
K_TILE = 64


@pl.jit
def gemm(
    a: pl.Tensor[[M, K], pl.FP32],
    b: pl.Tensor[[K, N], pl.FP32],
    c: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    for m in pl.parallel(0, M, M_TILE):
        for n in pl.parallel(0, N, N_TILE):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="gemm_block"):
                acc = pl.create_tensor([M_TILE, N_TILE], dtype=pl.FP32)
                for kb in pl.pipeline(K // K_TILE, stage=2):
                    k = kb * K_TILE
                    block_a = a[m : m + M_TILE, k : k + K_TILE]
                    block_b = b[k : k + K_TILE, n : n + N_TILE]
                    if kb == 0:
                        acc = pl.matmul(block_a, block_b)
                    else:
                        acc = pl.matmul_acc(acc, block_a, block_b)
                c[m : m + M_TILE, n : n + N_TILE] = acc
    return c


def arguments():
    rng = np.random.default_rng(4)
    return {
        "a": rng.standard_normal((M, K), dtype=np.float32),
        "b": rng.standard_normal((K, N), dtype=np.float32),
        "c": np.zeros((M, N), np.float32),
    }


def expected(args):
    return {"c": args["a"].astype(np.float64) @ args["b"].astype(np.float64)}


if __name__ == "__main__":
    golden.main(gemm, arguments, expected, rtol=1e-5, atol=1e-4)
