"""Plan, then follow the plan: scalar code sorts tokens by expert, an SPMD task gathers rows in that order.

The first task is all scalars: it scans the routing table once per expert and appends each token to `order` at a write
cursor; `ends[e]` is where expert e's tokens end. The blocks of the second task then each gather their share of rows
and weigh them by the token's gate. That the second task must wait for the first follows from the bytes of `order`.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

TOKENS = 64
EXPERTS = 8
DIM = 256
BLOCKS = 8
PER_BLOCK = TOKENS // BLOCKS


@pl.jit
def plan(
    x: pl.Tensor[[TOKENS, DIM], pl.FP32],
    expert: pl.Tensor[[TOKENS], pl.INT32],
    gate: pl.Tensor[[TOKENS], pl.FP32],
    order: pl.Out[pl.Tensor[[TOKENS], pl.INT32]],
    ends: pl.Out[pl.Tensor[[EXPERTS], pl.INT32]],
    packed: pl.Out[pl.Tensor[[TOKENS, DIM], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="plan"):
        cursor = 0
        for e in pl.range(EXPERTS):
            for t in pl.range(TOKENS):
                chosen = pl.cast(pl.read(expert, [t]), pl.INDEX)
                if chosen == e:
                    pl.write(order, [cursor], pl.cast(t, pl.INT32))
                    cursor = cursor + 1
            pl.write(ends, [e], pl.cast(cursor, pl.INT32))

    for block in pl.spmd(BLOCKS, name_hint="gather"):
        for i in pl.range(PER_BLOCK):
            row = block * PER_BLOCK + i
            token = pl.cast(pl.read(order, [row]), pl.INDEX)
            weight = pl.read(gate, [token])
            packed[row : row + 1, :] = pl.mul(x[token : token + 1, :], weight)
    return order, ends, packed


def arguments():
    rng = np.random.default_rng(9)
    return {
        "x": rng.standard_normal((TOKENS, DIM), dtype=np.float32),
        "expert": rng.integers(0, EXPERTS, TOKENS, dtype=np.int32),
        "gate": rng.uniform(0, 1, TOKENS).astype(np.float32),
        "order": np.full(TOKENS, -1, np.int32),
        "ends": np.zeros(EXPERTS, np.int32),
        "packed": np.zeros((TOKENS, DIM), np.float32),
    }


def expected(args):
    order = np.argsort(args["expert"], kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(args["expert"], minlength=EXPERTS)).astype(np.int32)
    return {"order": order, "ends": ends, "packed": args["x"][order] * args["gate"][order, None]}


if __name__ == "__main__":
    golden.main(plan, arguments, expected, rtol=0, atol=0)
