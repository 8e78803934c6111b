"""Artifact folders as something to edit: what is changed in one is found by its contents, said, and run or refused."""

import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest

from kernels import COLS, ROWS, add_scalar, double
from tilewright import (
    ArtifactError,
    CompiledProgram,
    FindingError,
    Options,
    RunConfig,
    Session,
    TilewrightWarning,
    UnsupportedError,
    execute_compiled,
)
from tilewright.compat import rebuild_kernel_cpp_from_pto
from tilewright.replay import replay

pytestmark = pytest.mark.usefixtures("session")


def x_and_y():
    x = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS)
    return x, np.zeros_like(x)


@pytest.fixture
def folder():
    x, y = x_and_y()
    return add_scalar.compile(x, 2.0, y).output_dir


def edit(file, old, new):
    text = file.read_text()
    assert old in text, text
    times = file.stat()
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def kernel(folder):
    (file,) = folder.glob("ptoas/*.pto")
    return file


def test_what_a_folder_holds(folder):
    held = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}
    assert held == {
        "compiled_meta.json", "debug/run.py", "orchestration/add_scalar.tw", "passes_dump/00_frontend.tw",
        "passes_dump/01_after_lower.tw", "passes_dump/02_after_place.tw", "report/memory.txt",
        str(kernel(folder).relative_to(folder)),
    }  # fmt: skip
    report = (folder / "report" / "memory.txt").read_text()
    assert "vec: " in report and f"{ROWS}×{COLS}×f32" in report and "kernels.py:" in report


def test_nothing_is_said_of_a_folder_as_it_was_written(folder):
    x, y = x_and_y()
    for file in folder.rglob("*"):
        os.utime(file)  # newer, but the same: copying a folder is no edit
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        execute_compiled(folder, [x, 2.0, y], platform="a2a3")
    assert rebuild_kernel_cpp_from_pto(folder) == []
    assert rebuild_kernel_cpp_from_pto(folder / "debug") == [], "it is refused where it is loaded"


def test_an_edited_kernel_is_what_runs(folder):
    edit(kernel(folder), "pto.tadds ", "pto.tmuls ")  # without a newer time
    assert rebuild_kernel_cpp_from_pto(folder) == [kernel(folder)]
    x, y = x_and_y()
    with pytest.warns(TilewrightWarning, match=r"\.pto was edited after the compile.*verified.*is what runs"):
        execute_compiled(folder, [x, 2.0, y], platform="a2a3")
    np.testing.assert_array_equal(y, 2 * x)


def test_the_levels_tell_that_an_edit_changed_the_meaning(folder):
    edit(kernel(folder), "pto.tadds ", "pto.tmuls ")
    x, y = x_and_y()
    with Session(Options(check="levels")).active(), pytest.warns(TilewrightWarning), pytest.raises(FindingError) as e:
        replay(folder, x, 2.0, y)
    assert "kernels.py" in str(e.value)


def test_an_edit_that_is_no_program_is_an_error_at_its_line(folder):
    whole = kernel(folder).read_text()
    line = 1 + next(i for i, text in enumerate(whole.splitlines()) if "pto.tadds " in text)
    x, y = x_and_y()
    edit(kernel(folder), "pto.tadds ", "pto.tadds (")
    with pytest.raises(ArtifactError, match=rf"{kernel(folder).name}:{line}:\d+"):
        execute_compiled(folder, [x, 2.0, y], platform="a2a3")
    kernel(folder).write_text(whole)
    edit(kernel(folder), "pto.tadds ", "pto.tnosuch ")
    with pytest.raises(UnsupportedError, match="tnosuch"):
        execute_compiled(folder, [x, 2.0, y], platform="a2a3")
    assert not y.any()


def test_an_edit_of_a_kernels_parameters_is_refused(folder):
    text = kernel(folder).read_text()
    head = next(line for line in text.splitlines() if "func.func" in line)
    first = head[head.index("(") + 1 : head.index(",") + 1]
    kernel(folder).write_text(text.replace(head, head.replace(first, "", 1)))
    x, y = x_and_y()
    with pytest.raises(ArtifactError):
        execute_compiled(folder, [x, 2.0, y], platform="a2a3")
    assert not y.any()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("passes_dump/00_frontend.tw", "changes only what `check levels` compares with"),
        ("passes_dump/01_after_lower.tw", "changes only what `check levels` compares with"),
        ("passes_dump/02_after_place.tw", "changes nothing: it is only a dump"),
    ],
)
def test_an_edited_dump_is_not_ignored_silently(folder, name, said):
    file = folder / name
    file.write_text(file.read_text() + "\n")
    x, y = x_and_y()
    with pytest.warns(TilewrightWarning, match=said) as caught:
        execute_compiled(folder, [x, 2.0, y], platform="a2a3")
    assert any(name in str(w.message) and "edit" in str(w.message) for w in caught)
    np.testing.assert_array_equal(y, x + 2)


def test_a_kernel_beside_the_programs_own_is_named(folder):
    shutil.copy(kernel(folder), folder / "ptoas" / "another.pto")
    x, y = x_and_y()
    with pytest.warns(TilewrightWarning, match=r"another\.pto is no part of this program"):
        execute_compiled(folder, [x, 2.0, y], platform="a2a3")


def test_edits_can_be_refused(folder, monkeypatch):
    edit(kernel(folder), "pto.tadds ", "pto.tmuls ")
    with pytest.raises(ArtifactError, match="using edits was turned off"):
        replay(folder, *x_and_y(), rebuild_from_pto=False)
    monkeypatch.setenv("PYPTO_REBUILD_FROM_PTO", "0")
    with pytest.raises(ArtifactError, match="using edits was turned off"):
        CompiledProgram.from_dir(folder)


def test_a_folder_used_again_holds_one_program(tmp_path):
    x, y = x_and_y()
    config = RunConfig(save_kernels_dir=tmp_path / "kept")
    add_scalar.compile(x, 2.0, y, config=config)
    (mine := tmp_path / "kept" / "notes.txt").write_text("mine")
    double.compile(x, y, config=config)
    assert mine.exists() and not (tmp_path / "kept" / "orchestration" / "add_scalar.tw").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replay(tmp_path / "kept", x, y)
    np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize("option", ["save_kernels", "dump_passes", "save_kernels_dir", "enable_dep_gen"])
def test_options_that_keep_the_folder_of_a_direct_call(tmp_path, option):
    x, y = x_and_y()
    add_scalar(x, 2.0, y, config=RunConfig())
    base = tmp_path / "build_output"
    assert not base.exists()
    value = {"save_kernels_dir": base / "chosen"}.get(option, True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TilewrightWarning)
        add_scalar(x, 2.0, y, config=RunConfig(**{option: value}))
        add_scalar(x, 2.0, y, config=RunConfig(**{option: value}))
    (kept,) = base.iterdir()
    y[:] = 0
    replay(kept, x, 2.0, y)
    np.testing.assert_array_equal(y, x + 2)


# --- replay --------------------------------------------------------------------------------------------------------


def save_data(folder, x, y=None):
    for kind, name, array in (("in", "x", x), ("out", "y", y)):
        if array is not None:
            (folder / "data" / kind).mkdir(parents=True, exist_ok=True)
            np.save(folder / "data" / kind / f"{name}.npy", array)


def test_replay_uses_saved_arguments_and_can_fail(folder, cli):
    x, _ = x_and_y()
    done = cli("replay", folder)
    assert done.returncode == 1 and "does not hold x: pass the arguments" in done.stderr
    save_data(folder, x, x + 2)
    done = cli("replay", folder, "--validate", "--check", "levels")
    assert done.returncode == 0 and "outputs are those of data/out" in done.stdout, done.stderr
    save_data(folder, x, x + 3)
    done = cli("replay", folder, "--validate")
    assert done.returncode == 1 and "`y`: 1024 of 1024 elements, largest error 1" in done.stderr
    assert cli("replay", folder, "-p", "a5").returncode == 1
    assert cli("replay", folder / "nothing").returncode == 1


def test_upstreams_names_for_it(folder, tmp_path):
    x, _ = x_and_y()
    save_data(folder, x, x + 2)
    code = f"""
import numpy as np
from pypto.runtime.debug import replay
from pypto.runtime.debug.replay import invalidate_binary_cache
from pypto.runtime.debug import replay as again, rebuild_kernel_cpp_from_pto
from pypto.runtime import RunConfig
invalidate_binary_cache({str(folder)!r})
for run in (replay, again):
    x, y = np.ones(({ROWS}, {COLS}), np.float32), np.zeros(({ROWS}, {COLS}), np.float32)
    run({str(folder)!r}, x, 2.0, y, config=RunConfig(platform="a2a3sim"))
    assert (y == 3).all()
"""
    env = {**os.environ, "TILEWRIGHT_DROPIN": "1"}
    from tilewright.cli import DROPIN

    env["PYTHONPATH"] = DROPIN
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=env, cwd=tmp_path)
    command = [sys.executable, "-W", "error", "-m", "pypto.runtime.debug.replay", folder, "--validate"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "outputs are those of data/out" in done.stdout, done.stderr


@pytest.mark.parametrize("kernel", [add_scalar, double])
def test_the_folders_own_runner(kernel, tmp_path):
    x, y = x_and_y()
    folder = kernel.compile(*([x, 2.0, y] if kernel is add_scalar else [x, y])).output_dir
    runner = folder / "debug" / "run.py"
    run = lambda *args: subprocess.run(  # noqa: E731
        [sys.executable, runner, *args], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    done = run("--check", "levels")
    assert done.returncode == 0 and "arguments of debug/run.py" in done.stdout, done.stderr
    wanted = "x + 2" if kernel is add_scalar else "x * 3"
    passes = f"    assert (y == {wanted}).all()\n\n\nif __name__"
    runner.write_text(runner.read_text().replace("\n\nif __name__", passes, 1))
    assert run().returncode == (0 if kernel is add_scalar else 1)


def test_no_runner_is_written_on_request(monkeypatch):
    monkeypatch.setenv("PYPTO_EMIT_DEBUG_RUNNER", "False")
    assert not (add_scalar.compile(a=1.0).output_dir / "debug").exists()


def test_records_that_are_not_written_are_said(folder):
    x, y = x_and_y()
    for call in (
        lambda: add_scalar(x, 2.0, y, config=RunConfig(enable_dep_gen=True, enable_pmu=2)),
        lambda: CompiledProgram.from_dir(folder)(x, 2.0, y, config=RunConfig(enable_dep_gen=True, enable_pmu=2)),
    ):
        with pytest.warns(TilewrightWarning, match="enable_pmu, enable_dep_gen: this record is not written yet"):
            call()
