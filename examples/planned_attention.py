"""Sparse attention in two stages: scalar loops plan which blocks of keys to visit, an SPMD kernel follows the plan.

An indexer has chosen a few keys for each block of queries. The plan marks the blocks of keys that hold one of them
(`valid`), lists those in ascending order (`order`) and counts them (`counts`); each block of the attention kernel reads
its part of the plan by scalar loads, visits those blocks of keys only, and leaves out, by a mask, the keys in them that
were not chosen.

*Where* the planning loops run is the first thing to know about such a program. In `planned_attention` they stand inside
`pl.at`: they are scalar code of one vector core, what they write goes through that core's scalar cache, and the cores
that read the plan must wait for the task and see its bytes. In `planned_in_orchestration` the same lines stand outside:
the host runs them, and they are ordered with tasks by the bytes they touch. Both give the same bits, alone as well as
inlined between two projections (`planned_layer`).
"""

import ml_dtypes
import numpy as np

import tilewright.language as pl
from tilewright import golden

QUERIES = 64
KEYS = 256
DIM = 64
TILE = 32
CHOSEN = 12
QUERY_BLOCKS = QUERIES // TILE
KEY_BLOCKS = KEYS // TILE
SCALE = 1.0 / DIM**0.5


@pl.jit.inline
def plan_blocks(
    chosen: pl.Tensor[[QUERY_BLOCKS, CHOSEN], pl.INT32],
    valid: pl.Tensor[[QUERY_BLOCKS, KEY_BLOCKS], pl.INT32],
    order: pl.Tensor[[QUERY_BLOCKS, KEY_BLOCKS], pl.INT32],
    counts: pl.Tensor[[QUERY_BLOCKS], pl.INT32],
):
    """The plan, in one task."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="plan"):
        for b in pl.range(QUERY_BLOCKS):
            for j in pl.range(KEY_BLOCKS):
                pl.write(valid, [b, j], pl.cast(0, pl.INT32))
            for c in pl.range(CHOSEN):
                key = pl.cast(pl.read(chosen, [b, c]), pl.INDEX)
                if key >= 0:
                    pl.write(valid, [b, key // TILE], pl.cast(1, pl.INT32))
            cursor = 0
            for j in pl.range(KEY_BLOCKS):
                if pl.read(valid, [b, j]) == 1:
                    pl.write(order, [b, cursor], pl.cast(j, pl.INT32))
                    cursor = cursor + 1
            pl.write(counts, [b], pl.cast(cursor, pl.INT32))
    return counts


@pl.jit.inline
def plan_blocks_in_orchestration(
    chosen: pl.Tensor[[QUERY_BLOCKS, CHOSEN], pl.INT32],
    valid: pl.Tensor[[QUERY_BLOCKS, KEY_BLOCKS], pl.INT32],
    order: pl.Tensor[[QUERY_BLOCKS, KEY_BLOCKS], pl.INT32],
    counts: pl.Tensor[[QUERY_BLOCKS], pl.INT32],
):
    """The same lines, run by the host."""
    for b in pl.range(QUERY_BLOCKS):
        for j in pl.range(KEY_BLOCKS):
            pl.write(valid, [b, j], pl.cast(0, pl.INT32))
        for c in pl.range(CHOSEN):
            key = pl.cast(pl.read(chosen, [b, c]), pl.INDEX)
            if key >= 0:
                pl.write(valid, [b, key // TILE], pl.cast(1, pl.INT32))
        cursor = 0
        for j in pl.range(KEY_BLOCKS):
            if pl.read(valid, [b, j]) == 1:
                pl.write(order, [b, cursor], pl.cast(j, pl.INT32))
                cursor = cursor + 1
        pl.write(counts, [b], pl.cast(cursor, pl.INT32))
    return counts


@pl.jit.inline
def attend(
    q: pl.Tensor[[QUERIES, DIM], pl.BF16],
    k: pl.Tensor[[KEYS, DIM], pl.BF16],
    v: pl.Tensor[[KEYS, DIM], pl.BF16],
    mask: pl.Tensor[[QUERY_BLOCKS, KEYS], pl.FP32],
    order: pl.Tensor[[QUERY_BLOCKS, KEY_BLOCKS], pl.INT32],
    counts: pl.Tensor[[QUERY_BLOCKS], pl.INT32],
    o: pl.Tensor[[QUERIES, DIM], pl.FP32],
):
    """Online softmax over the planned blocks of keys."""
    for b in pl.spmd(QUERY_BLOCKS, name_hint="attend"):
        queries = q[b * TILE : b * TILE + TILE, :]
        m = pl.full([TILE, 1], dtype=pl.FP32, value=-1e30)
        total = pl.full([TILE, 1], dtype=pl.FP32, value=0.0)
        acc = pl.full([TILE, DIM], dtype=pl.FP32, value=0.0)
        for i in pl.range(pl.cast(pl.read(counts, [b]), pl.INDEX)):
            at = pl.cast(pl.read(order, [b, i]), pl.INDEX) * TILE
            scores = pl.mul(pl.matmul(queries, k[at : at + TILE, :], b_trans=True, out_dtype=pl.FP32), SCALE)
            scores = pl.col_expand_add(scores, mask[b : b + 1, at : at + TILE])
            m_new = pl.maximum(m, pl.row_max(scores))
            powers = pl.exp(pl.row_expand_sub(scores, m_new))
            rescale = pl.exp(pl.sub(m, m_new))
            total = pl.add(pl.mul(total, rescale), pl.row_sum(powers))
            weights = pl.cast(powers, target_type=pl.BF16, mode="rint")
            product = pl.matmul(weights, v[at : at + TILE, :], out_dtype=pl.FP32)
            acc = pl.add(pl.row_expand_mul(acc, rescale), product)
            m = m_new
        o[b * TILE : b * TILE + TILE, :] = pl.row_expand_div(acc, total)
    return o


@pl.jit
def planned_attention(
    q: pl.Tensor[[QUERIES, DIM], pl.BF16],
    k: pl.Tensor[[KEYS, DIM], pl.BF16],
    v: pl.Tensor[[KEYS, DIM], pl.BF16],
    chosen: pl.Tensor[[QUERY_BLOCKS, CHOSEN], pl.INT32],
    mask: pl.Tensor[[QUERY_BLOCKS, KEYS], pl.FP32],
    o: pl.Out[pl.Tensor[[QUERIES, DIM], pl.FP32]],
):
    valid = pl.create_tensor([QUERY_BLOCKS, KEY_BLOCKS], dtype=pl.INT32)
    order = pl.create_tensor([QUERY_BLOCKS, KEY_BLOCKS], dtype=pl.INT32)
    counts = pl.create_tensor([QUERY_BLOCKS], dtype=pl.INT32)
    counts = plan_blocks(chosen, valid, order, counts)
    o = attend(q, k, v, mask, order, counts, o)
    return o


@pl.jit
def planned_in_orchestration(
    q: pl.Tensor[[QUERIES, DIM], pl.BF16],
    k: pl.Tensor[[KEYS, DIM], pl.BF16],
    v: pl.Tensor[[KEYS, DIM], pl.BF16],
    chosen: pl.Tensor[[QUERY_BLOCKS, CHOSEN], pl.INT32],
    mask: pl.Tensor[[QUERY_BLOCKS, KEYS], pl.FP32],
    o: pl.Out[pl.Tensor[[QUERIES, DIM], pl.FP32]],
):
    valid = pl.create_tensor([QUERY_BLOCKS, KEY_BLOCKS], dtype=pl.INT32)
    order = pl.create_tensor([QUERY_BLOCKS, KEY_BLOCKS], dtype=pl.INT32)
    counts = pl.create_tensor([QUERY_BLOCKS], dtype=pl.INT32)
    counts = plan_blocks_in_orchestration(chosen, valid, order, counts)
    o = attend(q, k, v, mask, order, counts, o)
    return o


@pl.jit
def planned_layer(
    x: pl.Tensor[[QUERIES, DIM], pl.BF16],
    w_q: pl.Tensor[[DIM, DIM], pl.BF16],
    w_o: pl.Tensor[[DIM, DIM], pl.BF16],
    k: pl.Tensor[[KEYS, DIM], pl.BF16],
    v: pl.Tensor[[KEYS, DIM], pl.BF16],
    chosen: pl.Tensor[[QUERY_BLOCKS, CHOSEN], pl.INT32],
    mask: pl.Tensor[[QUERY_BLOCKS, KEYS], pl.FP32],
    on_host: pl.Scalar[pl.INT32],
    q: pl.Out[pl.Tensor[[QUERIES, DIM], pl.BF16]],
    o: pl.Out[pl.Tensor[[QUERIES, DIM], pl.FP32]],
    y: pl.Out[pl.Tensor[[QUERIES, DIM], pl.FP32]],
):
    """The attention between projections of its queries and its output; `on_host` says where the plan is made."""
    for b in pl.spmd(QUERY_BLOCKS, name_hint="project_queries"):
        rows = x[b * TILE : b * TILE + TILE, :]
        projected = pl.matmul(rows, w_q[:, :], out_dtype=pl.FP32)
        q[b * TILE : b * TILE + TILE, :] = pl.cast(projected, target_type=pl.BF16, mode="rint")
    valid = pl.create_tensor([QUERY_BLOCKS, KEY_BLOCKS], dtype=pl.INT32)
    order = pl.create_tensor([QUERY_BLOCKS, KEY_BLOCKS], dtype=pl.INT32)
    counts = pl.create_tensor([QUERY_BLOCKS], dtype=pl.INT32)
    if on_host == 0:
        counts = plan_blocks(chosen, valid, order, counts)
    else:
        counts = plan_blocks_in_orchestration(chosen, valid, order, counts)
    o = attend(q, k, v, mask, order, counts, o)
    for b in pl.spmd(QUERY_BLOCKS, name_hint="project_output"):
        rows = pl.cast(o[b * TILE : b * TILE + TILE, :], target_type=pl.BF16, mode="rint")
        y[b * TILE : b * TILE + TILE, :] = pl.matmul(rows, w_o[:, :], out_dtype=pl.FP32)
    return q, o, y


def arguments():
    rng = np.random.default_rng(16)

    def bf16(*shape):
        return rng.standard_normal(shape, dtype=np.float32).astype(ml_dtypes.bfloat16)

    # The indexer's choice lies in half of the blocks of keys; -1 fills up a row that has fewer.
    chosen = np.full((QUERY_BLOCKS, CHOSEN), -1, np.int32)
    mask = np.full((QUERY_BLOCKS, KEYS), -1e30, np.float32)
    for b in range(QUERY_BLOCKS):
        blocks = rng.permutation(KEY_BLOCKS)[: KEY_BLOCKS // 2]
        keys = (blocks[:, None] * TILE + np.arange(TILE)).reshape(-1)
        n = CHOSEN - 2 * b
        chosen[b, :n] = rng.permutation(keys)[:n]
        mask[b, chosen[b, :n]] = 0
    return {
        "q": bf16(QUERIES, DIM),
        "k": bf16(KEYS, DIM),
        "v": bf16(KEYS, DIM),
        "chosen": chosen,
        "mask": mask,
        "o": np.zeros((QUERIES, DIM), np.float32),
    }


def expected(args):
    out = np.zeros((QUERIES, DIM))
    for b, chosen in enumerate(args["chosen"]):
        rows, keys = slice(b * TILE, b * TILE + TILE), chosen[chosen >= 0]
        q, k, v = (args[n].astype(np.float64)[at] for n, at in (("q", rows), ("k", keys), ("v", keys)))
        scores = q @ k.T * SCALE
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[rows] = powers @ v / powers.sum(axis=1, keepdims=True)
    return {"o": out}


if __name__ == "__main__":
    golden.main(planned_attention, arguments, expected, rtol=1e-2, atol=1e-2)
