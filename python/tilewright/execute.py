"""`tilewright exec`: runs a kernel of a `.pto` file, on arrays that are given or made up.

Arguments that `--in` does not give are made up from the seed: memory as large as the views of it, integers and scalars
such that most of the kernel's operations run. What is printed: how many did, and for each argument its element type,
size, and a digest of what changed in it (the same for the same bits).
"""

import pathlib

import numpy as np

from . import _native
from .arrays import describe, numpy_dtype


def add_options(parser):
    parser.add_argument("kernel", metavar="KERNEL.pto")
    parser.add_argument("--entry", metavar="NAME", help="kernel of the file; X stands for X_aic with X_aiv")
    parser.add_argument(
        "--in", dest="given", action="append", default=[], metavar="ARG=FILE.npy or ARG=1", help="an argument, by name"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the arguments that are made up (default 0)")
    parser.add_argument("--out", metavar="DIR", help="write ARG.in.npy and ARG.npy, flat, for every array")
    parser.add_argument("--compare", metavar="OTHER.pto", help="run this on the same arguments; exit 3 if bits differ")
    parser.add_argument(
        "--compare-passes", action="store_true", help="compare the kernel with itself after --level, --fusion, --sync"
    )
    parser.add_argument(
        "--level", type=int, choices=[1, 2, 3], help="run the passes of a file of this level first (1, 2: place tiles)"
    )
    parser.add_argument("--fusion", action="store_true", help="fuse vector operations first (A5)")
    parser.add_argument(
        "--sync",
        choices=["keep", "flags", "tokens", "barrier-all"],
        default="keep",
        help="insert synchronisation first",
    )
    parser.add_argument("-p", "--platform", help="a2a3 or a5 (default: what the file says)")
    parser.add_argument("--profile", choices=["a2a3", "a5", "cpu-compat"], help="numerics (default: the platform's)")


def run(options, parser):
    path = pathlib.Path(options.kernel)
    passes = None
    if options.level or options.fusion or options.sync != "keep" or options.compare_passes:
        passes = (options.level or 3, options.sync, options.fusion)
    if options.compare and options.compare_passes:
        parser.error("--compare and --compare-passes: one of them")
    did = _native.run_kernel(
        read(parser, path),
        str(path),
        options.platform,
        options.profile,
        options.entry,
        options.seed,
        dict(argument(parser, text) for text in options.given),
        passes,
        (read(parser, pathlib.Path(options.compare)), options.compare) if options.compare else None,
        options.compare_passes,
        bool(options.out),
    )
    reached, total, dead = did["coverage"]
    first, ran, blocks = did["blocks"]
    unreachable = f" ({dead} more cannot be reached)" if dead else ""
    print(f"{did['entry']}: {reached} of {total} tile operations ran{unreachable}")
    print(f"blocks {first} to {first + ran - 1} of {blocks}, seed {options.seed}, {did['attempts']} attempts")
    for arg in did["args"]:
        if "value" in arg:
            print(f"  {arg['name']}: {arg['dtype']} = {arg['value']}")
        else:
            change = f"changed, {arg['digest']}" if arg["changed"] else "unchanged"
            print(f"  {arg['name']}: {arg['dtype']}[{arg['elements']}] {change}")
    if options.out:
        write(pathlib.Path(options.out), did["args"])
    if "difference" in did:
        print(did["difference"])
        return 3
    if options.compare or options.compare_passes:
        print("no difference")
    return 0


def read(parser, path):
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"{path}: {error}")


def argument(parser, text):
    """`ARG=FILE.npy` or `ARG=NUMBER`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        parser.error(f"--in {text}: ARG=FILE.npy or ARG=NUMBER")
    if value.endswith(".npy"):
        try:
            array = np.load(value, allow_pickle=False)
        except (OSError, ValueError) as error:
            parser.error(f"--in {text}: {error}")
        return name, (describe(f"--in {name}", array)[0], np.ascontiguousarray(array).tobytes())
    for number in (int, float):
        try:
            return name, number(value)
        except ValueError:
            pass
    parser.error(f"--in {text}: {value} is neither a number nor an .npy file")


def write(folder, args):
    folder.mkdir(parents=True, exist_ok=True)
    for arg in args:
        if "after" in arg:
            for key, suffix in (("before", ".in.npy"), ("after", ".npy")):
                array = np.frombuffer(arg[key], dtype=numpy_dtype(arg["dtype"]))
                np.save(folder / (arg["name"] + suffix), array)
