"""Programs from text, and the text of programs."""

import importlib.util

import numpy as np
import pytest

import tilewright
import tilewright.language as pl
from conftest import EXAMPLES
from tilewright import UnsupportedError
from tilewright.compat import python_print
from tilewright.errors import (
    ParserSyntaxError,
    ParserTypeError,
    PartialCodegenError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from tilewright.parsing import deserialize, serialize
from tilewright.program import Program, ProgramFunction

pytestmark = pytest.mark.usefixtures("session")

DOUBLE = """
@pl.function
def double(x: pl.Tensor[[16, 32], pl.FP32]) -> pl.Tensor[[16, 32], pl.FP32]:
    result: pl.Tensor[[16, 32], pl.FP32] = pl.add(x, x)
    return result
"""


def x():
    return np.arange(16 * 32, dtype=np.float32).reshape(16, 32)


def test_a_function_from_text():
    double = pl.parse(DOUBLE)
    assert isinstance(double, ProgramFunction)
    assert (double.name, len(double.params), len(double.return_types)) == ("double", 1, 1)
    np.testing.assert_array_equal(double(x()), 2 * x())


def test_a_file_and_a_program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import pypto.language as pl\n".replace("pypto", "tilewright")
        + """
N = 16

@pl.program
class Sums:
    @pl.function(type=pl.FunctionType.InCore)
    def add(self, a: pl.Tensor[[N, N], pl.FP32], out: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
        return pl.store(pl.add(pl.load(a, [0, 0], [N, N]), 1.0), [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[N, N], pl.FP32], out: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
        return self.add(a, out)
"""
    )
    sums = pl.loads(path)
    assert isinstance(sums, Program) and sums.name == "Sums"
    a, out = np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
    sums(a, out)
    assert (out == 2).all()


@pytest.mark.parametrize(
    "text, message",
    [
        ("y = 1\n", "no @pl.program and no @pl.function"),
        (DOUBLE + DOUBLE.replace("double", "twice"), "2 programs or functions .`double`, `twice`."),
    ],
)
def test_a_text_has_one_program(text, message):
    with pytest.raises(ValueError, match=message):
        pl.parse(text)


def test_errors_point_into_the_text():
    with pytest.raises(SyntaxError, match="Python syntax error") as caught:
        pl.parse(DOUBLE.replace("(x, x)", "(x, x"), filename="kernels/made.py")
    assert isinstance(caught.value, ParserSyntaxError)
    assert caught.value.diagnostics[0][2].startswith("kernels/made.py:")
    for change, error, place in [
        ("pl.add(x, y)", UndefinedVariableError, "made.py:4:54"),
        ("pl.add(x, pl.full([16, 31], pl.FP32, 1.0))", ParserTypeError, "made.py:4:44"),
        ("pl.cast(x, pl.FP64)", UnsupportedFeatureError, "made.py:4:55"),
    ]:
        with pytest.raises(error) as caught:
            pl.parse(DOUBLE.replace("pl.add(x, x)", change), filename="made.py")
        assert caught.value.diagnostics[0][2] == place
        assert "^" in str(caught.value) and "result: pl.Tensor" in str(caught.value)


def test_an_output_that_nothing_is_written_to():
    @pl.jit
    def lost(a: pl.Tensor, result: pl.Out[pl.Tensor]):
        with pl.at(level=pl.Level.CORE_GROUP):
            result = pl.mul(a, 2.0)
        return result

    with pytest.raises(PartialCodegenError, match="nothing is written to the output `result`"):
        lost(x(), x())


def test_serialised():
    double = pl.parse(DOUBLE)
    restored = deserialize(serialize(double))
    assert restored.name == "double"
    np.testing.assert_array_equal(restored(x()), 2 * x())
    with pytest.raises(ValueError, match="no serialised program"):
        deserialize(b"nothing")
    with pytest.raises(TypeError, match="got int"):
        serialize(1)


def test_printed():
    double = pl.parse(DOUBLE)
    text = double.as_python()
    assert "result: pl.Tile[[16, 32], pl.FP32] = pl.add(" in text
    assert python_print(double) == text == str(double)
    assert "result = pl.add(" in double.as_python(concise=True)
    with pytest.raises(UnsupportedError, match="not 'ir'"):
        python_print(double, "ir")


def examples():
    for path in sorted(EXAMPLES.glob("*.py")):
        if path.stem.startswith("__"):
            continue
        spec = importlib.util.spec_from_file_location(f"printed_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield pytest.param(module, id=path.stem)


@pytest.mark.parametrize("module", list(examples()))
@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
def test_examples_mean_the_same_when_they_are_read_back(module):
    kernel = getattr(module, module.__name__.removeprefix("printed_"))
    first, second = module.arguments(), module.arguments()
    program = kernel.lower(**first)
    text = program.as_python()
    read = pl.parse(text)
    assert read.as_python() == text
    assert program.as_python(concise=True) == read.as_python(concise=True)
    kernel(**first)
    read(**second, config=tilewright.RunConfig())
    compared = 0
    for name, array in first.items():
        if isinstance(array, np.ndarray):
            assert array.tobytes() == second[name].tobytes(), name
            compared += 1
    assert compared
