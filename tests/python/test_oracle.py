"""Every operation × element type × machine: compared with NumPy, or refused by name.

`docs/support.md` is what came out: a combination that was compared and no longer is, or the reverse, fails. Run with
`UPDATE_EXPECT=1` to write it anew. The counts are printed at the end of the test run (`conftest.py`).
"""

import importlib.util
import itertools
import os
import pathlib

import numpy as np
import pytest

import oracle_cases
import tilewright
from oracle_cases import DTYPES, Context, values

MACHINES = ["a2a3", "a5"]
ALL = [(case, dtype) for case in oracle_cases.cases() for dtype in case.dtypes]
PAGE = pathlib.Path(__file__).parents[2] / "docs/support.md"
#: How the language says that it does not have this operation, or not for this type.
REFUSALS = {"unsupported-op", "dtype-unsupported", "cast-unsupported"}
#: (name, element type, machine) -> whether it was compared, or else refused.
RESULTS = {}


def source(index, case, dtype):
    """The kernel of a case: operands are whole tensors, loaded in one scope."""
    given = case.given or [dtype] * len(case.operands)
    names = "abcd"[: len(case.operands)]
    params = [
        f"    {name}: pl.Tensor[[{rows}, {cols}], pl.{d}],\n"
        for name, (rows, cols), d in zip(names, case.operands, given, strict=True)
    ]
    rows, cols = result_shape(case)
    tiles = {name: f"{name}[:, :]" for name in names}
    return (
        f"@pl.jit\ndef kernel{index}(\n{''.join(params)}"
        f"    y: pl.Out[pl.Tensor[[{rows}, {cols}], pl.{case.to or dtype}]],\n):\n"
        f"    with pl.at(level=pl.Level.CORE_GROUP):\n"
        f"        y[:, :] = {case.expression.format(**tiles, dtype=dtype)}\n\n\n"
    )


def result_shape(case):
    return (ROWS2, COLS2) if case.name == "reshape" else case.result


ROWS2, COLS2 = oracle_cases.ROWS * 2, oracle_cases.COLS // 2


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    path = tmp_path_factory.mktemp("oracle") / "oracle_kernels.py"
    text = "import tilewright.language as pl\n\n\n"
    path.write_text(text + "".join(source(i, case, dtype) for i, (case, dtype) in enumerate(ALL)))
    spec = importlib.util.spec_from_file_location("oracle_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ordered(array):
    """Floats as integers in their order, so that neighbours differ by 1; both zeros are 0."""
    bits = array.view(f"int{array.dtype.itemsize * 8}").astype(np.int64)
    return np.where(bits < 0, np.iinfo(f"int{array.dtype.itemsize * 8}").min - bits, bits)


def check(case, got, want):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if got.dtype not in oracle_cases.FLOATS.values():
        np.testing.assert_array_equal(got, want)
        return
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    unsigned = f"uint{got.dtype.itemsize * 8}"
    if case.ulps:
        assert np.abs(ordered(got) - ordered(want))[~nan].max(initial=0) <= case.ulps
    else:
        np.testing.assert_array_equal(got.view(unsigned)[~nan], want.view(unsigned)[~nan])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("index", range(len(ALL)), ids=[f"{case.name}-{dtype}" for case, dtype in ALL])
@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
def test_against_numpy(kernels, index, machine):
    case, dtype = ALL[index]
    rng = np.random.default_rng(index)
    given = case.given or [dtype] * len(case.operands)
    draw = case.draw or (lambda rng, i, dtype, shape: values(rng, dtype, shape))
    operands = [draw(rng, i, DTYPES[d], shape) for i, (d, shape) in enumerate(zip(given, case.operands, strict=True))]
    out = np.zeros(result_shape(case), DTYPES[case.to or dtype])
    kernel = getattr(kernels, f"kernel{index}")
    with tilewright.Session(tilewright.Options(check="levels")).active():
        try:
            kernel(*operands, out, config=tilewright.RunConfig(platform=machine))
        except tilewright.TilewrightError as refusal:
            # Refused by name, before anything ran.
            assert refusal.diagnostics[0][0] in REFUSALS, refusal
            RESULTS[case.name, dtype, machine] = False
            return
    check(case, out, case.expected(Context(DTYPES[dtype], machine), *operands))
    RESULTS[case.name, dtype, machine] = True


def types(names):
    """A list of element types, whole families by their names."""
    families = {"all types": DTYPES, "floats": oracle_cases.FLOATS, "integers": oracle_cases.INTEGERS}
    parts = []
    for family, members in families.items():
        if set(members) <= set(names):
            parts.append(family)
            names = [n for n in names if n not in members]
    return ", ".join(parts + names) or "—"


def page():
    """The support matrix, from what ran."""
    rows = {}
    for (name, dtype, machine), compared in RESULTS.items():
        if compared:
            rows.setdefault(name, {}).setdefault(machine, []).append(dtype)
        else:
            rows.setdefault(name, {})
    counts = {m: sum(ok for (_, _, at), ok in RESULTS.items() if at == m) for m in MACHINES}
    total = len(ALL)
    lines = [
        "# Support matrix",
        "",
        "Written by `UPDATE_EXPECT=1 .venv/bin/python -m pytest tests/python/test_oracle.py`, which runs every",
        "operation with every element type on both machines, at every level, and compares results with NumPy. A type",
        "that is not listed is refused by name. Conversions are listed by destination and mode.",
        "",
        *[f"* {m}: {counts[m]} combinations compared, {total - counts[m]} refused." for m in MACHINES],
        "",
        "| Operation | a2a3 | a5 |",
        "|---|---|---|",
    ]
    for name, machines in rows.items():
        cells = [types(machines.get(m, [])) for m in MACHINES]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_support_matrix_is_current():
    if len(RESULTS) < len(ALL) * len(MACHINES):
        pytest.skip("not run: the matrix needs every combination")
    if os.environ.get("UPDATE_EXPECT"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_names_are_unique():
    names = [(case.name, dtype) for case, dtype in ALL]
    assert [n for n, group in itertools.groupby(sorted(names)) if len(list(group)) > 1] == []
