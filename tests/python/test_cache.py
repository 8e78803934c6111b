"""Which calls share a compiled program."""

import importlib

import numpy as np
import pytest

import kernels
import tilewright
from kernels import COLS, ROWS, add_scalar, any_shape, double, scale_by_global


def programs(session):
    return sum(len(entries) for entries in session.programs.values())


def call(kernel, *scalars, shape=(ROWS, COLS), dtype=np.float32, **kwargs):
    x = np.ones(shape, dtype)
    y = np.zeros(shape, dtype)
    kernel(x, *scalars, y, **kwargs)
    return y


def test_the_same_types_share_a_program(session):
    call(add_scalar, 1.0)
    call(add_scalar, 1.0)
    assert programs(session) == 1


def test_a_scalar_is_a_value_of_the_call(session):
    assert (call(add_scalar, 1.0) == 2).all()
    assert (call(add_scalar, 5.0) == 6).all()
    assert (call(add_scalar, 1.0) == 2).all()
    assert programs(session) == 2


def test_a_dynamic_extent_is_no_part_of_the_identity(session):
    for n in (1, 2, 5):
        assert (call(double, shape=(n * ROWS, COLS)) == 2).all()
    assert programs(session) == 1


def test_shapes_types_and_platforms_are(session):
    call(any_shape)
    call(any_shape, shape=(2 * ROWS, COLS))
    call(any_shape, dtype=np.int32)
    call(any_shape, config=tilewright.RunConfig(platform="a5"))
    call(any_shape, config=tilewright.RunConfig(platform="a2a3"))
    assert programs(session) == 4


def test_a_rebound_global_is_noticed(session, monkeypatch):
    assert (call(scale_by_global) == 3).all()
    monkeypatch.setattr(kernels, "FACTOR", 4.0)
    assert (call(scale_by_global) == 4).all()
    monkeypatch.setattr(kernels, "FACTOR", 3.0)
    assert (call(scale_by_global) == 3).all()
    assert programs(session) == 2


def test_an_unrelated_global_is_not(session, monkeypatch):
    call(scale_by_global)
    monkeypatch.setattr(kernels, "unrelated", 1, raising=False)
    call(scale_by_global)
    assert programs(session) == 1


def test_a_closure_is_read_at_each_call(session):
    import tilewright.language as pl

    amount = 1.0

    @pl.jit
    def add_amount(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], amount)
        return y

    assert (call(add_amount) == 2).all()
    amount = 10.0
    assert (call(add_amount) == 11).all()


def test_a_helper_that_is_replaced_is_noticed(session, monkeypatch):
    import tilewright.language as pl

    @pl.jit.inline
    def first(t: pl.Tensor):
        return pl.add(t, 1.0)

    @pl.jit.inline
    def second(t: pl.Tensor):
        return pl.add(t, 20.0)

    step = first

    @pl.jit
    def apply(x: pl.Tensor[[ROWS, COLS], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = step(x[:, :])
        return y

    assert (call(apply) == 2).all()
    step = second
    assert (call(apply) == 21).all()


def test_sessions_share_nothing():
    with tilewright.Session().active() as one:
        call(add_scalar, 1.0)
    with tilewright.Session().active() as two:
        assert programs(two) == 0
        call(add_scalar, 1.0)
    assert (programs(one), programs(two)) == (1, 1)


def test_a_call_of_one_session_does_not_leak(session):
    with pytest.raises(ValueError, match="threads"):
        tilewright.Session(tilewright.Options(threads=0))
    assert tilewright.session.current() is session


def test_the_sign_of_a_zero_scalar_is_a_value_of_the_call(session):
    x = np.full((ROWS, COLS), -0.0, np.float32)
    for zero in (0.0, -0.0, 0.0):
        y = np.ones_like(x)
        add_scalar(x, zero, y)
        assert (np.signbit(y) == np.signbit(zero)).all()
    assert programs(session) == 2


def test_a_nan_scalar_is_one_value(session):
    for _ in range(3):
        assert np.isnan(call(add_scalar, float("nan"))).all()
    assert programs(session) == 1


def test_the_sign_of_a_zero_global_is_noticed(session, monkeypatch):
    for zero in (0.0, -0.0, 0.0):
        monkeypatch.setattr(kernels, "FACTOR", zero)
        assert (np.signbit(call(scale_by_global)) == np.signbit(zero)).all()
    assert programs(session) == 2


def test_a_nan_global_is_one_value(session, monkeypatch):
    for _ in range(3):
        monkeypatch.setattr(kernels, "FACTOR", float("nan"))
        assert np.isnan(call(scale_by_global)).all()
    assert programs(session) == 1


MODULE = """
import tilewright.language as pl

{comment}
@pl.jit.inline
def step(t: pl.Tensor):
    return pl.add(t, {step})


@pl.jit
def edited(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.mul(step(x[:, :]), {factor})
    return y
"""


def test_a_module_that_is_edited_and_reloaded(session, tmp_path, monkeypatch):
    """Its new functions have the new source, in the same session; the old ones go on as they were defined."""

    def write(**parts):
        (tmp_path / "edited_module.py").write_text(MODULE.format(**parts))
        importlib.invalidate_caches()

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    write(comment="", step="1.0", factor="2.0")
    module = importlib.import_module("edited_module")
    assert (call(module.edited) == 4).all()

    write(comment="", step="1.0", factor="30.0")
    importlib.reload(module)
    assert (call(module.edited) == 60).all()

    write(comment="# This moves every line.\n\n", step="100.0", factor="30.0")
    old = module.edited
    with tilewright.Session().active():
        assert (call(old) == 60).all()
    importlib.reload(module)
    assert (call(module.edited) == 3030).all()
