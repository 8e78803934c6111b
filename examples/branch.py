"""Orchestration that reads a result and branches on it.

A task measures the largest magnitude of each row. The orchestration reads those numbers (which waits for the task) and
decides: if the peak is above the limit, halve the matrix until it is not; otherwise double it once. `steps` counts
the halvings.
"""

import numpy as np

import tilewright.language as pl
from tilewright import golden

ROWS = 8
COLS = 256
LIMIT = 1.0


@pl.jit
def branch(
    x: pl.Tensor[[ROWS, COLS], pl.FP32],
    y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    steps: pl.Out[pl.Tensor[[1], pl.INT32]],
):
    peaks = pl.create_tensor([ROWS, 1], dtype=pl.FP32)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="measure"):
        block = x[:, :]
        y[:, :] = block
        peaks[:, :] = pl.row_max(pl.abs(block))

    peak = pl.read(peaks, [0, 0])
    for r in pl.range(1, ROWS):
        peak = pl.max(peak, pl.read(peaks, [r, 0]))

    halvings = 0
    if peak > LIMIT:
        while peak > LIMIT:
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="halve"):
                y[:, :] = pl.mul(y[:, :], 0.5)
            peak = peak * 0.5
            halvings = halvings + 1
    else:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="double"):
            y[:, :] = pl.mul(y[:, :], 2.0)
    pl.write(steps, [0], pl.cast(halvings, pl.INT32))
    return y, steps


def arguments(scale=10.0):
    rng = np.random.default_rng(12)
    return {
        "x": (scale * rng.uniform(-1, 1, (ROWS, COLS))).astype(np.float32),
        "y": np.zeros((ROWS, COLS), np.float32),
        "steps": np.zeros(1, np.int32),
    }


def expected(args):
    x = args["x"]
    peak = np.abs(x).max()
    if peak <= LIMIT:
        return {"y": x * np.float32(2), "steps": np.zeros(1, np.int32)}
    steps = 0
    while peak > LIMIT:
        x, peak, steps = x * np.float32(0.5), peak * np.float32(0.5), steps + 1
    return {"y": x, "steps": np.array([steps], np.int32)}


if __name__ == "__main__":
    golden.main(branch, arguments, expected, rtol=0, atol=0)
    golden.main(branch, lambda: arguments(0.25), expected, rtol=0, atol=0)
