"""The language outside kernels: markers, annotations, decorators."""

import pytest

import tilewright.language as pl
from tilewright import RunConfig, UnsupportedError
from tilewright.kernel import JITFunction
from tilewright.language import _names, distributed


@pytest.mark.parametrize("name", _names.TOP)
def test_every_name_is_a_marker_with_its_canonical_name(name):
    marker = getattr(pl, name)
    assert marker.canonical == name
    with pytest.raises(TypeError, match=f"pl.{name} was called outside a kernel"):
        marker()


def test_namespaces_have_dotted_names():
    assert pl.tensor.dim.canonical == "tensor.dim"
    assert pl.tile.get_block_idx.canonical == "tile.get_block_idx"
    assert pl.system.syncall.canonical == "system.syncall"
    assert pl.array.create.canonical == "array.create"
    assert distributed.system.notify.canonical == "distributed.system.notify"
    with pytest.raises(AttributeError, match="pl.tensor.nothing"):
        pl.tensor.nothing


def test_an_unknown_name_suggests_one():
    with pytest.raises(AttributeError, match=r"no pl.matmull; did you mean pl.matmul\?"):
        pl.matmull


def test_markers_are_no_context_managers_or_iterables_outside_kernels():
    with pytest.raises(TypeError, match="outside a kernel"):
        with pl.at(level=pl.Level.CORE_GROUP):
            pass
    with pytest.raises(TypeError, match="outside a kernel"):
        list(pl.range(3))


def test_words_have_canonical_names():
    assert pl.Level.CORE_GROUP.canonical == "Level.CORE_GROUP"
    assert pl.PadValue.min.canonical == "PadValue.min"
    assert pl.tile.MaskPattern.P0101.canonical == "MaskPattern.P0101"
    assert pl.Mem is pl.MemorySpace


def test_element_types():
    assert repr(pl.BF16) == "pl.BF16"
    assert (pl.FP32.get_byte(), pl.INT4.get_byte(), pl.INT64.get_byte()) == (4, 1, 8)


def test_annotations():
    rows = pl.dynamic("ROWS")

    @pl.jit
    def f(
        x: pl.Tensor[[rows, 8 * 4], pl.BF16],
        y: pl.Out[pl.Tensor[[rows, 32], pl.FP32]],
        z: pl.InOut[pl.Tensor],
        n: pl.INT32,
        a: pl.Scalar[pl.FP32] = 1.5,
        anything=None,
    ):
        return y

    dim = ("dynamic", "ROWS", rows.id)
    assert f.parameters == [
        ("x", "in", "tensor", [dim, 32], "BF16"),
        ("y", "out", "tensor", [dim, 32], "FP32"),
        ("z", "inout", "tensor", None, None),
        ("n", "in", "scalar", "INT32"),
        ("a", "in", "scalar", "FP32"),
        ("anything", "in", "any"),
    ]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pl.Tensor[8, pl.FP32], TypeError, "list of extents"),
        (lambda: pl.Tensor[[8], int], TypeError, "element type"),
        (lambda: pl.Tensor[[8.5], pl.FP32], TypeError, "extent is an integer"),
        (lambda: pl.Tensor[[-8], pl.FP32], ValueError, "negative"),
        (lambda: pl.Scalar[int], TypeError, "element type"),
        (lambda: pl.Out[pl.Scalar[pl.FP32]], TypeError, "by value"),
        (lambda: pl.Out[int], TypeError, "tensor annotation"),
        (lambda: pl.dynamic("not a name"), TypeError, "identifier"),
        (lambda: pl.jit(3), TypeError, "decorates functions"),
    ],
)
def test_bad_annotations_fail_where_they_are_written(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_decorators_keep_the_function():
    @pl.jit.inline(auto_scope=False)
    def helper(x: pl.Tensor):
        "What it does."
        return x

    assert isinstance(helper, JITFunction)
    assert (helper.__name__, helper.__doc__, helper.kind) == ("helper", "What it does.", "inline")
    assert helper._func.__name__ == "helper"
    with pytest.raises(TypeError, match="called from a @pl.jit function"):
        helper(1)


def test_what_is_not_compiled_is_refused_by_name():
    @pl.jit.host
    def everywhere(x: pl.Tensor):
        return x

    with pytest.raises(UnsupportedError, match="@pl.jit.host"):
        everywhere(1)


def test_run_config_validates():
    assert RunConfig(platform="a5sim").arch == "a5"
    with pytest.raises(ValueError, match="'a4' is not one of a2a3, a2a3sim, a5, a5sim"):
        RunConfig(platform="a4")
    with pytest.raises(TypeError):
        RunConfig(not_an_option=1)
