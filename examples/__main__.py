"""Runs every example on both simulated machines: `python examples [-p PLATFORM] [--check levels]`."""

import argparse
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-p", "--platform", action="append", choices=["a2a3", "a2a3sim", "a5", "a5sim"])
    parser.add_argument("--check", choices=["levels"])
    options = parser.parse_args()
    check = ["--check", options.check] if options.check else []

    began = time.perf_counter()
    files = sorted(f for f in HERE.glob("*.py") if f.name != "__main__.py")
    platforms = options.platform or ["a2a3", "a5"]
    failed = []
    for platform in platforms:
        for file in files:
            command = [sys.executable, "-m", "tilewright", "run", *check, str(file), "-p", platform]
            if subprocess.run(command, check=False).returncode:
                failed.append(f"{file.name} on {platform}")
    seconds = time.perf_counter() - began
    print()
    if failed:
        print(f"FAIL: {', '.join(failed)}")
        return 1
    print(f"PASS: {len(files)} examples on {' and '.join(platforms)} in {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
