"""`make bench`: prints the tables of docs/benchmarks.md for this machine.

Per example and architecture: compile time (median of 5, nothing cached), run time of the machine level (median of 5),
tasks, and the wall time of the whole script, from the start of Python to PASS. Then the cost of a task that does almost
nothing, the rate of a program that only moves memory, and the rates of the tile instructions, against the host's
measured limits.
"""

import argparse
import importlib
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import numpy as np

import tilewright
import tilewright.language as pl

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
TASKS = 4096


@pl.jit
def many_tasks(x: pl.Tensor[[TASKS * 8, 8], pl.FP32], y: pl.Out[pl.Tensor[[TASKS * 8, 8], pl.FP32]]):
    for t in pl.range(TASKS):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[t * 8 : t * 8 + 8, :] = pl.add(x[t * 8 : t * 8 + 8, :], 1.0)
    return y


def median(times, repeat=5):
    return statistics.median(times() for _ in range(repeat))


def compile_time(kernel, args, config):
    def once():
        with tilewright.Session().active():
            began = time.perf_counter()
            kernel.lower(**args, config=config)
            return time.perf_counter() - began

    return median(once)


def run_time(kernel, make, config, threads=None):
    """(seconds of the machine level, tasks)."""
    with tilewright.Session(tilewright.Options(threads=threads)).active() as session:
        compiled = kernel.compile(**make(), config=config)

        def once():
            compiled.run(session, list(make().values()))
            return compiled.last_run["seconds"]

        return median(once), compiled.last_run["tasks"]


def script_time(file, arch):
    command = [sys.executable, "-m", "tilewright", "run", str(file), "-p", arch]

    def once():
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - began

    return median(once, 3)


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cargo_example(crate, name):
    subprocess.run(["cargo", "run", "--release", "--quiet", "-p", crate, "--example", name], check=True, cwd=ROOT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--no-rates", action="store_true", help="leave out the rates of memory and of tile instructions"
    )
    options = parser.parse_args()
    os.environ.setdefault("PYPTO_PROG_BUILD_DIR", str(ROOT / "build_output"))
    sys.path.insert(0, str(EXAMPLES))

    print(f"Machine: {cpu_name()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}")
    print("Command: make bench\n")
    print("| example | machine | compile, ms | run, ms | tasks | script to PASS, s |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for file in sorted(f for f in EXAMPLES.glob("*.py") if f.name != "__main__.py"):
        module = importlib.import_module(file.stem)
        kernel = getattr(module, file.stem)
        for arch in ("a2a3", "a5"):
            config = tilewright.RunConfig(platform=arch)
            compiled = compile_time(kernel, module.arguments(), config)
            seconds, tasks = run_time(kernel, module.arguments, config)
            script = script_time(file, arch)
            print(
                f"| {file.stem} | {arch} | {1e3 * compiled:.1f} | {1e3 * seconds:.2f} | {tasks} | {script:.2f} |",
                flush=True,
            )

    def tiny():
        return {"x": np.ones((TASKS * 8, 8), np.float32), "y": np.zeros((TASKS * 8, 8), np.float32)}

    print("\n| task overhead | µs a task |\n| --- | ---: |")
    for threads in (1, os.cpu_count()):
        seconds, tasks = run_time(many_tasks, tiny, tilewright.RunConfig(), threads)
        what = f"{tasks} tasks of one 8×8 tile, {threads} thread{'s' if threads > 1 else ''}"
        print(f"| {what} | {1e6 * seconds / tasks:.2f} |")

    if not options.no_rates:
        print("\nA program that only moves memory:\n", flush=True)
        cargo_example("runtime", "stream")
        print("\nRates of tile instructions (one core):\n", flush=True)
        cargo_example("isa", "rates")

    print("\nThe assembler:\n", flush=True)
    subprocess.run([sys.executable, ROOT / "benches/ptoas.py"], check=True)


if __name__ == "__main__":
    main()
