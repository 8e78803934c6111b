"""Sessions, threads, and what importing does."""

import concurrent.futures
import subprocess
import sys

import numpy as np

import tilewright
from kernels import COLS, ROWS, add_scalar


def test_importing_starts_nothing(tmp_path):
    code = """
import sys
import tilewright.language
assert "numpy" not in sys.modules and "torch" not in sys.modules
print([line for line in open("/proc/self/status") if line.startswith("Threads")][0].split()[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.strip() == "1", done.stderr
    assert not list(tmp_path.iterdir())


def test_calls_from_several_threads_do_not_mix():
    def call(n):
        x = np.full((ROWS, COLS), n, np.float32)
        y = np.zeros_like(x)
        with tilewright.Session().active():
            for _ in range(20):
                add_scalar(x, 0.5, y)
        return (y == n + 0.5).all()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(8)))


def test_one_program_runs_in_several_threads_at_once():
    session = tilewright.Session()
    with session.active():
        compiled = add_scalar.compile(a=0.5)

    def call(n):
        x = np.full((ROWS, COLS), n, np.float32)
        y = np.zeros_like(x)
        for _ in range(20):
            compiled.run(session, [x, 0.5, y])
        return (y == n + 0.5).all()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(8)))


def test_the_interpreter_is_free_during_a_run():
    """A second thread makes progress while the first runs and compares levels."""
    import threading

    done = threading.Event()
    ticks = 0
    x = np.ones((ROWS, COLS), np.float32)

    def work():
        with tilewright.Session(tilewright.Options(check="levels")).active():
            for _ in range(50):
                add_scalar(x, 1.0, np.zeros_like(x))
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.is_set():
        ticks += 1
        done.wait(0.0005)
    worker.join()
    assert ticks > 5
