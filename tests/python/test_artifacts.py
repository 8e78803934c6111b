"""Artifact folders: written, found, reloaded; refused when they are not what they claim."""

import ctypes
import json
import re

import ml_dtypes
import numpy as np
import pytest

import tilewright.language as pl
from kernels import COLS, ROWS, add_scalar, double
from tilewright import ArtifactError, CompiledProgram, RunConfig, execute_compiled

pytestmark = pytest.mark.usefixtures("session")


def x_and_y():
    x = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS)
    return x, np.zeros_like(x)


def test_the_folder_is_where_harnesses_look_for_it(tmp_path):
    x, y = x_and_y()
    first = add_scalar.compile(x, 1.0, y).output_dir
    second = add_scalar.compile(x, 1.0, y).output_dir
    for folder in (first, second):
        assert folder.is_dir() and folder.parent == tmp_path / "build_output"
        assert re.fullmatch(r"_jit_add_scalar_\d{8}_\d{6}", folder.name)
    assert first != second
    assert not y.any(), "compiling runs nothing"


@pytest.mark.parametrize("platform", ["a2a3", "a2a3sim", "a5", "a5sim"])
def test_round_trip(platform):
    x, y = x_and_y()
    compiled = add_scalar.compile(x, 1.5, y, config=RunConfig(platform=platform))
    execute_compiled(compiled.output_dir, [x, ctypes.c_float(1.5), y], platform=platform)
    np.testing.assert_array_equal(y, x + np.float32(1.5))


def test_dynamic_extents_survive():
    compiled = double.compile(np.zeros((ROWS, COLS), np.float32), np.zeros((ROWS, COLS), np.float32))
    x = np.ones((4 * ROWS, COLS), np.float32)
    y = np.zeros_like(x)
    execute_compiled(compiled.output_dir, [x, y], platform="a2a3")
    assert (y == 2).all()


def test_without_arrays_the_annotations_say_what_to_compile():
    compiled = add_scalar.compile(a=2.0)
    assert compiled.param_names == ["x", "a", "y"] and compiled.output_indices == [2]
    x, y = x_and_y()
    compiled(x, 2.0, y)
    np.testing.assert_array_equal(y, x + 2)
    with pytest.raises(TypeError, match="the scalar `a` needs a value"):
        add_scalar.compile()


def test_a_runtime_scalar_takes_any_value():
    compiled = add_scalar.compile(a=pl.RUNTIME)
    x, y = x_and_y()
    for a in (1.0, -2.5):
        execute_compiled(compiled.output_dir, [x, ctypes.c_float(a), y], platform="a2a3")
        np.testing.assert_array_equal(y, x + np.float32(a))


def test_a_constant_is_never_silently_the_old_one():
    x, y = x_and_y()
    compiled = add_scalar.compile(x, 1.0, y)
    with pytest.raises(ValueError, match="`a` is 1.0 in this compiled program, got 2.0"):
        execute_compiled(compiled.output_dir, [x, ctypes.c_float(2.0), y], platform="a2a3")
    assert not y.any()


def test_sixteen_bit_scalars_come_as_bits():
    @pl.jit
    def f(x: pl.Tensor[[ROWS, COLS], pl.FP32], a: pl.Scalar[pl.BF16], y: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], pl.cast(a, pl.FP32))
        return y

    x, y = x_and_y()
    compiled = f.compile(x, 1.5, y)
    bits = int(np.array(1.5, ml_dtypes.bfloat16).view(np.uint16))
    execute_compiled(compiled.output_dir, [x, ctypes.c_uint16(bits), y], platform="a2a3")
    np.testing.assert_array_equal(y, x + np.float32(1.5))


def test_refusals_of_execute_compiled():
    x, y = x_and_y()
    folder = add_scalar.compile(x, 1.0, y).output_dir
    with pytest.raises(ValueError, match="compiled for a2a3, not for a5"):
        execute_compiled(folder, [x, 1.0, y], platform="a5")
    with pytest.raises(ValueError, match="'a9' is not one of"):
        execute_compiled(folder, [x, 1.0, y], platform="a9")
    with pytest.raises(TypeError):
        execute_compiled(folder, [x, 1.0, y], platform="a2a3", no_such_option=1)
    with pytest.raises(TypeError, match=r"takes 3 arguments \(x, a, y\), got 2"):
        execute_compiled(folder, [x, y], platform="a2a3")
    with pytest.raises(ValueError, match=r"`x` takes an array of shape \[16, 64\]"):
        execute_compiled(folder, [x[:8], 1.0, y], platform="a2a3")
    assert not y.any()


def test_an_artifact_that_is_none(tmp_path):
    with pytest.raises(ArtifactError, match="no such artifact folder"):
        execute_compiled(tmp_path / "nothing", [], platform="a2a3")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArtifactError):
        CompiledProgram.from_dir(tmp_path / "empty")


def test_damage_is_found_and_names_the_file():
    x, y = x_and_y()
    folder = add_scalar.compile(x, 1.0, y).output_dir
    # Not read: the whole machine level, the memory report, the runner.
    only_to_read = {"02_after_place.tw", "memory.txt", "run.py"}
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f.name not in only_to_read)
    assert len(files) >= 5
    for name in ("passes_dump/02_after_place.tw", "report/memory.txt", "debug/run.py"):
        (folder / name).unlink()
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ArtifactError) as found:
            execute_compiled(folder, [x, 1.0, y], platform="a2a3")
        assert file.name in str(found.value), f"{file.name}: {found.value}"
        file.unlink()
        with pytest.raises(ArtifactError) as found:
            execute_compiled(folder, [x, 1.0, y], platform="a2a3")
        assert file.name in str(found.value)
        file.write_bytes(whole)
    assert not y.any()
    execute_compiled(folder, [x, 1.0, y], platform="a2a3")
    np.testing.assert_array_equal(y, x + 1)


def test_another_format_is_refused():
    x, y = x_and_y()
    folder = add_scalar.compile(x, 1.0, y).output_dir
    meta = folder / "compiled_meta.json"
    data = json.loads(meta.read_text())
    meta.write_text(json.dumps({**data, "format": data["format"] + 1}))
    with pytest.raises(ArtifactError, match="format"):
        CompiledProgram.from_dir(folder)
