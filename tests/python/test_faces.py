"""Every operation of the language against NumPy, on both machines, at every level.

A case is a line of a kernel's body with its inputs and what the outputs are afterwards. Oracles are NumPy's own
operations, or loops over elements; they share nothing with the front end. Outputs hold 7 before, so what is not written
is seen; inputs of partly valid tiles hold values outside of their valid region that would show.
"""

import dataclasses
import importlib.util
import itertools

import numpy as np
import pytest

import faces_cases
import tilewright

SENTINEL = 7
_numbers = itertools.count()

KERNEL = """import tilewright.language as pl

AT = pl.Level.CORE_GROUP


@pl.jit
def kernel({parameters}):
    with pl.at(level=AT):
{body}
"""


def kernel(case, folder):
    """The kernel of a case: a module of its own, since sources are read from files."""
    inputs = [f"{name}: pl.Tensor" for name in case.inputs]
    outputs = [f"{name}: pl.Out[pl.Tensor]" for name in case.outputs]
    body = "\n".join(f"        {line}" for line in case.body.strip().splitlines())
    path = folder / f"case_{next(_numbers)}.py"
    path.write_text(KERNEL.format(parameters=", ".join(inputs + outputs), body=body))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def same(got, want, ulp):
    """Bit for bit, NaN equal to NaN; or within some units in the last place."""
    if ulp:
        np.testing.assert_array_max_ulp(got, want, maxulp=ulp)
    elif got.dtype.kind in "iu":
        np.testing.assert_array_equal(got, want)
    else:
        got, want = got.astype(np.float32), want.astype(np.float32)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)]))


def run(case, platform, folder):
    function = kernel(case, folder)
    inputs = {name: array.copy() for name, array in case.inputs.items()}
    outputs = {name: np.full_like(array, SENTINEL) for name, array in case.outputs.items()}
    with tilewright.Session(tilewright.Options(check="levels")).active() as session:
        function(*inputs.values(), *outputs.values(), config=tilewright.RunConfig(platform=platform))
    assert session.checked == 1
    return inputs, outputs


@pytest.mark.parametrize("platform", ["a2a3sim", "a5sim"])
@pytest.mark.parametrize("case", faces_cases.all_cases(), ids=lambda c: c.name)
@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
def test_against_numpy(case, platform, tmp_path):
    if platform not in case.platforms:
        with pytest.raises(tilewright.TilewrightError, match=case.refused):
            run(case, platform, tmp_path)
        return
    inputs, outputs = run(case, platform, tmp_path)
    for name, want in case.outputs.items():
        same(outputs[name], want, case.ulp)
    for name, array in case.inputs.items():
        want = case.changed.get(name, array)
        np.testing.assert_array_equal(inputs[name].view(np.uint8), want.view(np.uint8), err_msg=f"input {name}")


@pytest.mark.parametrize("case", list(faces_cases.run_errors()), ids=lambda c: c.name)
@pytest.mark.parametrize("platform", ["a2a3sim", "a5sim"])
def test_indices_out_of_range_are_run_errors(case, platform, tmp_path):
    function = kernel(dataclasses.replace(case), tmp_path)
    outputs = [np.full_like(a, SENTINEL) for a in case.outputs.values()]
    with pytest.raises(tilewright.TilewrightError, match=case.refused):
        function(*case.inputs.values(), *outputs, config=tilewright.RunConfig(platform=platform))
