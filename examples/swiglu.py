"""A gated feed-forward block: y = (silu(x @ w_gate) · (x @ w_up)) @ w_down, in two launches.

The first launch makes the hidden activations, one block of columns each: two products share their left operand, and the
gate is applied where they meet. The second multiplies by w_down. The hidden activations are a tensor in between; that
the second launch waits for the first follows from what they touch.
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

TOKENS = 32
MODEL = 256
HIDDEN = 512
H_TILE = 64
N_TILE = 64
K_TILE = 128


@pl.jit
def swiglu(
    x: pl.Tensor[[TOKENS, MODEL], pl.BF16],
    w_gate: pl.Tensor[[MODEL, HIDDEN], pl.BF16],
    w_up: pl.Tensor[[MODEL, HIDDEN], pl.BF16],
    w_down: pl.Tensor[[HIDDEN, MODEL], pl.BF16],
    y: pl.Out[pl.Tensor[[TOKENS, MODEL], pl.FP32]],
):
    hidden = pl.create_tensor([TOKENS, HIDDEN], dtype=pl.BF16)
    for block in pl.spmd(HIDDEN // H_TILE, name_hint="gate_up"):
        h = block * H_TILE
        gate = pl.matmul(x[:, :], w_gate[:, h : h + H_TILE], out_dtype=pl.FP32)
        up = pl.matmul(x[:, :], w_up[:, h : h + H_TILE], out_dtype=pl.FP32)
        silu = pl.div(gate, pl.add(pl.exp(pl.neg(gate)), 1.0))
        hidden[:, h : h + H_TILE] = pl.cast(pl.mul(silu, up), target_type=pl.BF16, mode="rint")
    for block in pl.spmd(MODEL // N_TILE, name_hint="down"):
        n = block * N_TILE
        acc = pl.create_tensor([TOKENS, N_TILE], dtype=pl.FP32)
        for kb in pl.pipeline(HIDDEN // K_TILE, stage=2):
            k = kb * K_TILE
            if kb == 0:
                acc = pl.matmul(hidden[:, k : k + K_TILE], w_down[k : k + K_TILE, n : n + N_TILE], out_dtype=pl.FP32)
            else:
                acc = pl.matmul_acc(acc, hidden[:, k : k + K_TILE], w_down[k : k + K_TILE, n : n + N_TILE])
        y[:, n : n + N_TILE] = acc
    return y


def arguments():
    rng = np.random.default_rng(18)

    def bf16(*shape):
        return (rng.standard_normal(shape, dtype=np.float32) / shape[0] ** 0.5).astype(ml_dtypes.bfloat16)

    return {
        "x": rng.standard_normal((TOKENS, MODEL), dtype=np.float32).astype(ml_dtypes.bfloat16),
        "w_gate": bf16(MODEL, HIDDEN),
        "w_up": bf16(MODEL, HIDDEN),
        "w_down": bf16(HIDDEN, MODEL),
        "y": np.zeros((TOKENS, MODEL), np.float32),
    }


def expected(args):
    x, gate, up, down = (args[name].astype(np.float64) for name in ("x", "w_gate", "w_up", "w_down"))
    g = x @ gate
    return {"y": (g / (1 + np.exp(-g)) * (x @ up)) @ down}


if __name__ == "__main__":
    golden.main(swiglu, arguments, expected, rtol=1e-2, atol=1e-2)
