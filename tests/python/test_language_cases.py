"""The front end's cases with meaning, at every level: what the reference says is what the machines compute.

The cases are the files under `crates/frontend/tests/cases/run`: tensors are filled with 0, 1, 2, … and the docstring of
an entry says what is in some of them afterwards.
"""

import importlib.util
import pathlib

import ml_dtypes
import numpy as np
import pytest

import tilewright
from tilewright.kernel import JITFunction
from tilewright.program import Program

CASES = pathlib.Path(__file__).parents[2] / "crates/frontend/tests/cases/run"
DTYPES = {"FP32": np.float32, "BF16": ml_dtypes.bfloat16, "INT32": np.int32, "INT64": np.int64}


def entries():
    for path in sorted(CASES.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"case_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, value in vars(module).items():
            if isinstance(value, JITFunction) and value.kind == "entry":
                yield pytest.param(value, id=f"{path.stem}-{name}")
            if isinstance(value, Program):
                for function in value.members.values():
                    if function.kind == "orchestration":
                        yield pytest.param(function, id=f"{path.stem}-{function.name}")


def arguments(function):
    args = {}
    for name, _, kind, *rest in function.parameters:
        if kind == "tensor":
            shape, dtype = rest
            args[name] = np.arange(np.prod(shape)).reshape(shape).astype(DTYPES[dtype])
        else:
            args[name] = 3
    return args


@pytest.mark.parametrize("platform", ["a2a3sim", "a5sim"])
@pytest.mark.parametrize("function", list(entries()))
@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
def test_meaning_at_every_level(function, platform):
    args = arguments(function)
    with tilewright.Session(tilewright.Options(check="levels")).active() as session:
        function(*args.values(), config=tilewright.RunConfig(platform=platform))
    assert session.checked == 1
    checked = 0
    for line in function._func.__doc__.splitlines():
        name, equal, values = line.partition("==")
        if equal:
            want = [float(v) for v in values.split()]
            got = args[name.strip()].astype(np.float64).ravel()[: len(want)]
            np.testing.assert_array_equal(got, want)
            checked += len(want)
    assert checked
