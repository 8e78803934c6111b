"""Every example on both architectures: right numbers, every level alike, bits that no schedule changes."""

import importlib
import sys

import numpy as np
import pytest

import tilewright
from conftest import EXAMPLES
from tilewright import golden

NAMES = sorted(f.stem for f in EXAMPLES.glob("*.py") if f.stem != "__main__")
PLATFORMS = ["a2a3", "a5"]


@pytest.fixture
def example(request, monkeypatch):
    """(kernel, arguments, expected) of the example named by the test's parameter."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    module = importlib.import_module(request.param)
    return getattr(module, request.param), module.arguments, module.expected


def run(example, platform, **options):
    kernel, arguments, _ = example
    args = arguments()
    with tilewright.Session(tilewright.Options(**options)).active() as session:
        kernel(**args, config=tilewright.RunConfig(platform=platform))
    return args, session


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("example", NAMES, indirect=True)
def test_levels_agree_and_match_the_golden(example, platform):
    args, session = run(example, platform, check="levels")
    assert session.checked == 1
    kernel, arguments, expected = example
    for name, value in expected(arguments()).items():
        # Loose here, for all; each example's own tolerance is in its file and `make demo` applies it.
        worst, bad = golden.error(args[name], value, rtol=1e-2, atol=1e-2)
        assert not bad, f"{kernel.__name__}.{name}: {bad} elements differ, by up to {worst}"


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("example", NAMES, indirect=True)
def test_bits_do_not_depend_on_threads_or_seeds(example, platform):
    reference, _ = run(example, platform, threads=1, seed=0)
    for threads, seed in [(2, 0), (2, 1), (1, 2), (2, 3)]:
        args, _ = run(example, platform, threads=threads, seed=seed)
        for name, value in args.items():
            if isinstance(value, np.ndarray):
                assert value.tobytes() == reference[name].tobytes(), f"{name} with {threads} threads, seed {seed}"


def test_there_are_examples():
    assert len(NAMES) >= 24
