"""Builds and runs the program of pypto's `examples/models/08_llama_mini.py`, which is a library, against NumPy in f64.

tilewright run llama_mini.py PATH [-p PLATFORM]        (`--platform` as upstream's scripts have it)
"""

import argparse
import runpy

import numpy as np
from pypto.runtime import RunConfig, run

parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("-p", "--platform", default="a2a3sim")
options = parser.parse_args()

ROWS, WIDTH, WORDS = 16, 64, 64
rng = np.random.default_rng(7)


def weights(*shape):
    return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def norm(x):
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6)


def rotated(x, cos, sin):
    left, right = x[:, : WIDTH // 2], x[:, WIDTH // 2 :]
    return np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=1)


def model(hidden, mask, cos, sin, wq, wk, wv, dense, gate, up, down, head):
    normed = norm(hidden)
    q, k, v = normed @ wq, normed @ wk, normed @ wv
    scores = rotated(q, cos, sin) @ rotated(k, cos, sin).T / np.sqrt(WIDTH) + mask
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    residual = hidden + (p / p.sum(axis=1, keepdims=True)) @ v @ dense
    normed = norm(residual)
    g = normed @ gate
    return norm(residual + (g / (1 + np.exp(-g)) * (normed @ up)) @ down) @ head


angles = np.arange(ROWS)[:, None] / 10000.0 ** (np.arange(WIDTH // 2) / (WIDTH // 2))
arguments = [
    rng.standard_normal((ROWS, WIDTH)).astype(np.float32),
    np.triu(np.full((ROWS, ROWS), -1e30, np.float32), 1),
    np.cos(angles).astype(np.float32),
    np.sin(angles).astype(np.float32),
    *(weights(WIDTH, WIDTH) for _ in range(7)),
    weights(WIDTH, WORDS),
]
logits = np.zeros((ROWS, WORDS), np.float32)
build = runpy.run_path(options.library)["build_llama_mini_program"]
run(build(ROWS, WIDTH, WORDS), *arguments, logits, config=RunConfig(platform=options.platform))
want = model(*(a.astype(np.float64) for a in arguments))
np.testing.assert_allclose(logits, want, rtol=1e-3, atol=1e-3)
print(f"PASS: largest difference {np.abs(logits - want).max():.1e}")
