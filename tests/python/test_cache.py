"""Which calls share a compiled program."""

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
