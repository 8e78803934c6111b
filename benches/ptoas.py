"""The assembler over upstream's model kernels: a process per file, and all of them in one. Part of `make bench`.

The folder in $TILEWRIGHT_UPSTREAM holds `PTOAS/`; without it this prints `not run`, and no figure.
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PTOAS = ROOT / "target/release/ptoas"


def process(args):
    """Milliseconds of a process that must succeed."""
    began = time.perf_counter()
    done = subprocess.run([PTOAS, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 1e3 * (time.perf_counter() - began), done.returncode


def best(args, repeat=3):
    """The fastest of a few processes: what else the machine does is not ours to measure."""
    runs = [process(args) for _ in range(repeat)]
    return min(t for t, _ in runs), max(code for _, code in runs)


def row(name, times, paths):
    slowest = max(range(len(times)), key=times.__getitem__)
    print(f"| {name} | {statistics.median(times):.2f} | {times[slowest]:.2f} | {paths[slowest].name} |", flush=True)


def main():
    root = pathlib.Path(os.environ.get("TILEWRIGHT_UPSTREAM", "")) / "PTOAS"
    paths = sorted((root / "test/samples").glob("**/kernels/**/*.pto"))
    if not os.environ.get("TILEWRIGHT_UPSTREAM") or not paths:
        print("ptoas: not run: TILEWRIGHT_UPSTREAM does not name a folder with a checkout of PTOAS")
        return 0
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "cli"], check=True, cwd=ROOT)
    start, _ = best(["--version"], 21)
    print(f"`ptoas --version`: {start:.2f} ms\n")
    print("| a process per file | median, ms | worst, ms | which |\n| --- | ---: | ---: | --- |")
    for name, more in [("all checkers", []), ("--tw-no-check", ["--tw-no-check"])]:
        times, failed = [], 0
        for path in paths:
            fusion = ["--enable-op-fusion"] if re.search(r"A5(/|$)", str(path.parent)) else []
            arch = "a5" if fusion else "a3"
            flags = ["--pto-arch", arch, "--pto-level=level3", "--enable-insert-sync", "--emit-pto-ir", "-o", "-"]
            took, code = best([path, *flags, *fusion, *more])
            times.append(took)
            failed += code != 0
        row(f"{len(paths)} files, {name}; {failed} failed", times, paths)
    print("\nIn one process:\n", flush=True)
    command = ["cargo", "run", "--release", "--quiet", "-p", "driver", "--example", "assemble_all", "--"]
    subprocess.run([*command, *map(str, paths)], check=True, cwd=ROOT)
    samples = sorted(p for p in (root / "test/samples").glob("*/*.pto"))
    print("\nSamples, which the planner places:\n", flush=True)
    subprocess.run([*command, *map(str, samples)], check=True, cwd=ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
