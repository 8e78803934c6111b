"""The plan-then-SPMD attention: one set of bits, wherever the plan is made and whatever stands around it."""

import importlib
import sys

import ml_dtypes
import numpy as np
import pytest

import tilewright
from conftest import EXAMPLES
from tilewright import golden

PLATFORMS = ["a2a3", "a5"]


@pytest.fixture
def example(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    return importlib.import_module("planned_attention")


def call(kernel, platform, args, **options):
    with tilewright.Session(tilewright.Options(**options)).active():
        kernel(**args, config=tilewright.RunConfig(platform=platform))
    return args


def layer_arguments(example, on_host):
    args = example.arguments()
    rng = np.random.default_rng(17)

    def bf16(*shape, scale=1.0):
        return (rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(ml_dtypes.bfloat16)

    side = (example.DIM, example.DIM)
    args["q"] = np.zeros_like(args["q"])
    args["y"] = np.zeros_like(args["o"])
    args["x"] = bf16(example.QUERIES, example.DIM)
    args["w_q"], args["w_o"] = (bf16(*side, scale=example.SCALE) for _ in range(2))
    return {**args, "on_host": on_host}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_plan_in_the_orchestration_gives_the_same_bits(example, platform):
    in_kernel = call(example.planned_attention, platform, example.arguments())
    on_host = call(example.planned_in_orchestration, platform, example.arguments(), check="levels,races")
    assert in_kernel["o"].any()
    assert in_kernel["o"].tobytes() == on_host["o"].tobytes()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_race_is_found(example, platform):
    call(example.planned_attention, platform, example.arguments(), check="races")


@pytest.mark.parametrize("on_host", [0, 1])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_inlined_and_alone_are_the_same_bits(example, platform, on_host):
    layer = call(example.planned_layer, platform, layer_arguments(example, on_host), check="levels,races")
    alone = example.arguments()
    alone["q"] = layer["q"].copy()
    for kernel in (example.planned_attention, example.planned_in_orchestration):
        alone["o"] = np.zeros_like(layer["o"])
        assert call(kernel, platform, alone)["o"].tobytes() == layer["o"].tobytes(), kernel.__name__
    assert layer["y"].any()
    worst, bad = golden.error(layer["o"], example.expected(alone)["o"], rtol=1e-2, atol=1e-2)
    assert not bad, f"{bad} elements differ, by up to {worst}"
    rounded = layer["o"].astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_allclose(layer["y"], rounded @ layer["w_o"].astype(np.float64), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_bits_do_not_depend_on_the_schedule(example, seed):
    plain = call(example.planned_layer, "a5", layer_arguments(example, 0), threads=1)
    other = call(example.planned_layer, "a5", layer_arguments(example, 0), threads=2, seed=seed)
    for name in ("q", "o", "y"):
        assert plain[name].tobytes() == other[name].tobytes(), name
