"""`@pl.program` and `@pl.function`: how programs of several functions are found, compiled and run.

What they compute is in the front end's cases (`crates/frontend/tests/cases/run/programs.py`).
"""

import os

import numpy as np
import pytest

import tilewright
import tilewright.language as pl
from tilewright import ProgramError, UnsupportedError
from tilewright.compat import ir_compile, run
from tilewright.errors import ParserError, ParserSyntaxError, UndefinedVariableError

pytestmark = pytest.mark.usefixtures("session")

N = 16


@pl.function(type=pl.FunctionType.InCore)
def scale(
    x: pl.Tensor[[N, N], pl.FP32], factor: pl.Scalar[pl.FP32], out: pl.Out[pl.Tensor[[N, N], pl.FP32]]
) -> pl.Tensor[[N, N], pl.FP32]:
    return pl.store(pl.mul(pl.load(x, [0, 0], [N, N]), factor), [0, 0], out)


def build(rows):
    """A program of closures, as scripts make them: the extents are variables of the builder."""

    @pl.program
    class Affine:
        """What it is."""

        @pl.function(type=pl.FunctionType.InCore)
        def shift(
            self,
            x: pl.Tensor[[rows, rows], pl.FP32],
            by: pl.Scalar[pl.FP32],
            out: pl.Out[pl.Tensor[[rows, rows], pl.FP32]],
        ) -> pl.Tensor[[rows, rows], pl.FP32]:
            return pl.store(pl.add(pl.load(x, [0, 0], [rows, rows]), by), [0, 0], out)

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(
            self,
            x: pl.Tensor[[rows, rows], pl.FP32],
            factor: pl.Scalar[pl.FP32],
            out: pl.Out[pl.Tensor[[rows, rows], pl.FP32]],
        ) -> pl.Tensor[[rows, rows], pl.FP32]:
            mid = pl.create_tensor([rows, rows], dtype=pl.FP32)
            mid = scale(x, factor, mid)
            out = self.shift(mid, factor, out)
            return out

    return Affine


def arrays():
    x = np.arange(N * N, dtype=np.float32).reshape(N, N)
    return x, np.zeros_like(x)


def test_a_program_is_its_functions():
    program = build(N)
    assert (program.name, program.__doc__) == ("Affine", "What it is.")
    # A free function that one of them calls by name belongs to it.
    assert list(program.functions) == ["shift", "main", "scale"]
    assert program.entry.name == "main"
    main = program.functions["main"]
    assert main.func_type is pl.FunctionType.Orchestration
    assert [p.name for p in main.params] == ["x", "factor", "out"]
    assert len(main.return_types) == 1


def test_run_and_compile(tmp_path):
    x, out = arrays()
    returned = run(build(N), x, 2.0, out, config=tilewright.RunConfig(platform="a2a3sim"))
    np.testing.assert_array_equal(out, x * 2 + 2)
    assert returned is out
    run(build(N), config=tilewright.RunConfig(platform="a5sim"))(x, 3.0, out)
    np.testing.assert_array_equal(out, x * 3 + 3)
    compiled = ir_compile(build(N), output_dir=tmp_path / "here", platform="a5sim")
    assert os.path.isdir(compiled) and os.fspath(compiled) == os.fspath(tmp_path / "here")
    # Scalars stay parameters: one artifact, any value.
    for factor in (3.0, -1.0):
        compiled(x, factor, out)
        np.testing.assert_array_equal(out, x * factor + factor)


def test_scalars_are_not_part_of_the_cache_key(session):
    program = build(N)
    x, out = arrays()
    for factor in (1.0, 2.0, 3.0):
        program(x, factor, out)
    assert len(session.programs) == 1


def test_a_kernel_alone_is_a_program():
    x, out = arrays()
    scale(x, 4.0, out)
    np.testing.assert_array_equal(out, x * 4)


def test_a_plain_function_that_launches_nothing_is_one_kernel():
    @pl.function
    def double(x: pl.Tensor[[N, N], pl.FP32]) -> pl.Tensor[[N, N], pl.FP32]:
        result: pl.Tensor[[N, N], pl.FP32] = pl.add(x, x)
        return result

    x, _ = arrays()
    np.testing.assert_array_equal(double(x), x * 2)


def test_a_group_is_one_task():
    @pl.program
    class Grouped:
        @pl.function(type=pl.FunctionType.AIV)
        def one(self, x: pl.Tensor[[N, N], pl.FP32], out: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
            return pl.store(pl.add(pl.load(x, [0, 0], [N, N]), 1.0), [0, 0], out)

        @pl.function(type=pl.FunctionType.Group)
        def group(self, x: pl.Tensor[[N, N], pl.FP32], out: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
            out = self.one(x, out)
            return self.one(out, out)

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, x: pl.Tensor[[N, N], pl.FP32], out: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
            return self.group(x, out)

    x, out = arrays()
    compiled = Grouped.compile()
    compiled(x, out)
    np.testing.assert_array_equal(out, x + 2)
    assert compiled.last_run["tasks"] == 1


def test_tiles_are_parameters_of_a_kernel_that_a_kernel_calls():
    @pl.program
    class Tiles:
        @pl.function(type=pl.FunctionType.InCore)
        def square(self, t: pl.Tile[[N, N], pl.FP32]) -> pl.Tile[[N, N], pl.FP32]:
            return pl.mul(t, t)

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, x: pl.Tensor[[N, N], pl.FP32], out: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
            return pl.store(self.square(pl.load(x, [0, 0], [N, N])), [0, 0], out)

    x, out = arrays()
    Tiles(x, out)
    np.testing.assert_array_equal(out, x * x)


def test_several_entries_are_named():
    @pl.program
    class Two:
        @pl.function(type=pl.FunctionType.Orchestration)
        def first(self, x: pl.Out[pl.Tensor[[N], pl.FP32]]):
            pl.write(x, [0], 1.0)

        @pl.function(type=pl.FunctionType.Orchestration)
        def second(self, x: pl.Out[pl.Tensor[[N], pl.FP32]]):
            pl.write(x, [0], 2.0)

    with pytest.raises(ProgramError, match="several entries .`first`, `second`."):
        Two.compile()
    x = np.zeros(N, np.float32)
    Two.functions["second"](x)
    assert x[0] == 2


def test_what_is_not_a_program():
    with pytest.raises(ValueError, match="has no @pl.function"):

        @pl.program
        class Empty:
            pass

    with pytest.raises(TypeError, match="takes a pl.FunctionType, got 'InCore'"):
        pl.function(type="InCore")(lambda x: x)
    with pytest.raises(TypeError, match="has no option kind"):
        pl.function(kind=1)(lambda x: x)
    with pytest.raises(TypeError, match="call its .compile"):
        ir_compile(pl.jit(lambda x: x))

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(x: pl.Tensor[[N], pl.FP32]):
        return x

    with pytest.raises(UnsupportedError, match="a host function of several ranks"):
        host.compile()


def test_a_compiled_program_makes_the_outputs_that_are_left_out():
    @pl.program
    class Between:
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(
            self,
            x: pl.Tensor[[N, N], pl.FP32],
            out: pl.Out[pl.Tensor[[N, N], pl.FP32]],
            factor: pl.Scalar[pl.FP32],
        ):
            out = scale(x, factor, out)

    x, out = arrays()
    compiled = run(Between, config=tilewright.RunConfig(platform="a2a3sim"))
    np.testing.assert_array_equal(compiled(x, 3.0), x * 3)
    # With the output there is nothing to give back: the program returns nothing.
    assert compiled(x, out, 2.0) is None
    np.testing.assert_array_equal(out, x * 2)
    with pytest.raises(TypeError, match=r"takes 3 arguments \(x, out, factor\), got 1"):
        compiled(x)

    rows = pl.dynamic("rows")

    @pl.function(type=pl.FunctionType.InCore)
    def copy(x: pl.Tensor[[rows, N], pl.FP32], out: pl.Out[pl.Tensor[[rows, N], pl.FP32]]):
        return pl.store(pl.load(x, [0, 0], [1, N]), [0, 0], out)

    with pytest.raises(TypeError, match="`out` has an extent that is known per call only"):
        copy.compile()(x)


@pytest.mark.parametrize("layout", [pl.DN, pl.TensorLayout.NZ, pl.TensorView(layout=pl.TensorLayout.DN)])
def test_layouts_of_arguments_other_than_row_major_are_refused(layout):
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[N, N], pl.FP32, layout], out: pl.Out[pl.Tensor[[N, N], pl.FP32, pl.ND]]):
        return pl.store(pl.load(x, [0, 0], [N, N]), [0, 0], out)

    with pytest.raises(UnsupportedError, match="`x` is annotated with the layout (DN|NZ): arguments are row-major"):
        kernel.compile()


def test_arguments_of_an_entry_have_defaults():
    @pl.jit
    def shifted(
        x: pl.Tensor[[N, N], pl.FP32],
        out: pl.Out[pl.Tensor[[N, N], pl.FP32]],
        by: pl.Scalar[pl.FP32] = 2.0,
        twice: bool = False,
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = pl.add(x, by)
            if twice:
                t = pl.add(t, by)
            out[:, :] = t

    x, out = arrays()
    shifted(x, out)
    np.testing.assert_array_equal(out, x + 2)
    shifted(x, out, twice=True)
    np.testing.assert_array_equal(out, x + 4)
    shifted(x, by=5.0, out=out)
    np.testing.assert_array_equal(out, x + 5)


def test_an_attribute_given_twice_is_a_syntax_error():
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[N], pl.FP32], out: pl.Out[pl.Tensor[[N], pl.FP32]]):
        pl.func_attr({"core": "aiv"})
        pl.func_attr({"core": "aic"})
        return pl.store(pl.load(x, [0], [N]), [0], out)

    with pytest.raises(ParserSyntaxError, match="the attribute `core` is given twice"):
        kernel.compile()


def test_errors_are_in_upstreams_classes():
    @pl.program
    class Wrong:
        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, x: pl.Tensor[[N], pl.FP32]):
            return self.missing(x)

    with pytest.raises(ParserError, match="`self.missing` is not defined") as caught:
        Wrong.compile()
    assert caught.value.diagnostics[0][2].startswith("tests/python/test_program.py:")

    @pl.function(type=pl.FunctionType.Orchestration)
    def unknown(x: pl.Tensor[[N], pl.FP32]):
        return y  # noqa: F821

    with pytest.raises(UndefinedVariableError, match="`y` is not defined"):
        unknown.compile()
