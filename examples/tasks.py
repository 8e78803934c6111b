"""Tasks with explicit dependencies.

    y = 2 * sum of the four quarters of exp(x)

Inside `pl.manual_scope` the program names the edges itself: four producers, a join of them (`task_dummy`), and a
consumer that waits for the join; the last task names the consumer.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

PARTS = 4
ROWS = 32
COLS = 256


@pl.jit
def tasks(
    x: pl.Tensor[[PARTS * ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
):
    powers = pl.create_tensor([PARTS * ROWS, COLS], dtype=pl.FP32)
    total = pl.create_tensor([ROWS, COLS], dtype=pl.FP32)
    with pl.manual_scope():
        produced = pl.array.create(PARTS, pl.TASK_ID)
        for p in pl.range(PARTS):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="produce") as tid:
                powers[p * ROWS : p * ROWS + ROWS, :] = pl.exp(x[p * ROWS : p * ROWS + ROWS, :])
            produced[p] = tid
        joined = pl.system.task_dummy(deps=[produced])
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="consume", deps=[joined]) as summed:
            acc = powers[0:ROWS, :]
            for p in pl.range(1, PARTS):
                acc = pl.add(acc, powers[p * ROWS : p * ROWS + ROWS, :])
            total[:, :] = acc
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="double", deps=[summed]):
            y[:, :] = pl.mul(total[:, :], 2.0)
    return y


def arguments():
    rng = np.random.default_rng(11)
    return {
        "x": rng.standard_normal((PARTS * ROWS, COLS), dtype=np.float32),
        "y": np.zeros((ROWS, COLS), np.float32),
    }


def expected(args):
    powers = np.exp(args["x"].astype(np.float64)).reshape(PARTS, ROWS, COLS)
    return {"y": 2 * powers.sum(axis=0)}


if __name__ == "__main__":
    golden.main(tasks, arguments, expected, rtol=1e-6, atol=0)
