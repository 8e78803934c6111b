"""Quantised matmul: exact int32 sums of int8 products, then a scale per row and per column.

    sums = x @ w                                    int8 x int8 -> int32, exact
    y[r, c] = f32(sums[r, c]) * row_scale[r] * col_scale[c]

Two tasks for each block of columns; the second reads what the first wrote, so the runtime orders them.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

M = 64
K = 512
N = 256
N_TILE = 64
K_TILE = 256


@pl.jit
def matmul_int8(
    x: pl.Tensor[[M, K], pl.INT8],
    w: pl.Tensor[[K, N], pl.INT8],
    row_scale: pl.Tensor[[M, 1], pl.FP32],
    col_scale: pl.Tensor[[1, N], pl.FP32],
    sums: pl.Out[pl.Tensor[[M, N], pl.INT32]],
    y: pl.Out[pl.Tensor[[M, N], pl.FP32]],
):
    for n in pl.parallel(0, N, N_TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="int8_sums"):
            acc = pl.create_tensor([M, N_TILE], dtype=pl.INT32)
            for kb in pl.range(K // K_TILE):
                k = kb * K_TILE
                block_x = x[:, k : k + K_TILE]
                block_w = w[k : k + K_TILE, n : n + N_TILE]
                if kb == 0:
                    acc = pl.matmul(block_x, block_w, out_dtype=pl.INT32)
                else:
                    acc = pl.matmul_acc(acc, block_x, block_w)
            sums[:, n : n + N_TILE] = acc
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="dequantise"):
            real = pl.cast(sums[:, n : n + N_TILE], target_type=pl.FP32, mode="rint")
            by_row = pl.row_expand_mul(real, row_scale[:, :])
            y[:, n : n + N_TILE] = pl.col_expand_mul(by_row, col_scale[:, n : n + N_TILE])
    return sums, y


def arguments():
    rng = np.random.default_rng(7)
    return {
        "x": rng.integers(-128, 128, (M, K), dtype=np.int8),
        "w": rng.integers(-128, 128, (K, N), dtype=np.int8),
        "row_scale": rng.uniform(0.01, 0.02, (M, 1)).astype(np.float32),
        "col_scale": rng.uniform(0.01, 0.02, (1, N)).astype(np.float32),
        "sums": np.zeros((M, N), np.int32),
        "y": np.zeros((M, N), np.float32),
    }


def expected(args):
    sums = args["x"].astype(np.int32) @ args["w"].astype(np.int32)
    # The same three roundings as the kernel, so the result is equal, not near.
    y = sums.astype(np.float32) * args["row_scale"] * args["col_scale"]
    return {"sums": sums, "y": y}


if __name__ == "__main__":
    golden.main(matmul_int8, arguments, expected, rtol=0, atol=0)
