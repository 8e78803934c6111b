import os
import pathlib
import subprocess
import sys

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def session():
    """A session of the test's own: its caches and options are seen by no other."""
    with tilewright.Session().active() as active:
        yield active


@pytest.fixture(autouse=True)
def build_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTO_PROG_BUILD_DIR", str(tmp_path / "build_output"))


@pytest.fixture
def cli(tmp_path):
    """Runs `tilewright ARGS` in a folder of the test; the finished process."""

    def run(*args, env=None, timeout=300):
        return subprocess.run(
            [sys.executable, "-m", "tilewright", *map(str, args)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=timeout,
            env={**os.environ, **(env or {})},
            check=False,
        )

    return run


def pytest_terminal_summary(terminalreporter):
    """How many combinations of operation, element type and machine were compared with an oracle."""
    oracle = sys.modules.get("test_oracle")
    if oracle is None or not oracle.RESULTS:
        return
    for machine in oracle.MACHINES:
        results = [compared for (_, _, at), compared in oracle.RESULTS.items() if at == machine]
        compared = sum(results)
        terminalreporter.write_line(
            f"operation x element type on {machine}: {compared} compared with an oracle, "
            f"{len(results) - compared} refused"
        )
