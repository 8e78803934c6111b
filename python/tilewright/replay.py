"""Runs an artifact folder again, without compiling: what is edited in it is what runs.

    tilewright replay DIR [--validate] [--check CHECKS]     (also: python DIR/debug/run.py, pypto.runtime.debug.replay)

Arguments are given, or found in `DIR/data/in/NAME.pt|.npy` (what a harness saved), or made by `debug/run.py`. With
`validate`, outputs are compared with `DIR/data/out/`. `debug/run.py` is written here too: `emit_runner`.
"""

import argparse
import os
import pathlib

import numpy as np

from . import golden
from . import session as sessions
from .arrays import is_array, new_array, numpy_dtype
from .compiled import CompiledProgram
from .config import PLATFORMS, RunConfig, add_check_option
from .errors import ArtifactError

#: What `debug/run.py` puts for an extent that is known only at run time.
EXTENT = 64


def replay(directory, *args, config=None, validate=False, recompile=True, rebuild_from_pto=True):
    """Loads `directory` and runs it on `args`, or without any on what `data/in/` holds. Outputs change in place.

    `config` names the platform (by default the one of the compile) and the tolerances of `validate`. There are no
    binaries to keep or drop, so `recompile` changes nothing; `rebuild_from_pto=False` refuses edited `.pto` files.
    """
    compiled = CompiledProgram.from_dir(
        directory, config.platform if config is not None else None, rebuild_from_pto=rebuild_from_pto
    )
    args = list(args) or stored_arguments(directory, compiled)
    result = compiled(*args, config=config)
    if validate:
        compare_with_stored(directory, compiled, args, config or RunConfig(platform=compiled.platform))
    return result


def stored_arguments(directory, compiled):
    """One argument per parameter: `data/in/`, zeros for an output that is not there, the program's own constants."""
    found, missing = [], []
    for param in compiled.parameters:
        value = _stored(directory, "in", param.name)
        if value is None and param.shape is None:
            value = param.constant
        if value is None and param.direction == "out" and None not in param.shape:
            value = new_array(param.dtype, param.shape, like=next((a for a in found if is_array(a)), None))
        if value is None:
            missing.append(param.name)
        found.append(value)
    if missing:
        raise ArtifactError(
            f"{pathlib.Path(directory) / 'data' / 'in'} does not hold {', '.join(missing)}: pass the arguments, or "
            "edit and run debug/run.py, which makes some"
        )
    return found


def compare_with_stored(directory, compiled, args, config):
    """Raises AssertionError if an output is not what `data/out/` says, within the tolerances of `config`."""
    compared, wrong = 0, []
    for param, actual in zip(compiled.parameters, args):
        expected = _stored(directory, "out", param.name)
        if expected is None or param.direction == "in":
            continue
        compared += 1
        worst, bad = golden.error(_numbers(actual), _numbers(expected), config.rtol, config.atol)
        if bad:
            wrong.append(f"`{param.name}`: {bad} of {np.size(_numbers(expected))} elements, largest error {worst:.3g}")
    if not compared:
        raise ArtifactError(f"{pathlib.Path(directory) / 'data' / 'out'} holds no output to compare with")
    if wrong:
        raise AssertionError(f"{compiled.name} differs from data/out: {'; '.join(wrong)}")


def _stored(directory, kind, name):
    base = pathlib.Path(directory) / "data" / kind / name
    if (npy := base.with_name(name + ".npy")).is_file():
        return np.load(npy)
    if (pt := base.with_name(name + ".pt")).is_file():
        import torch

        return torch.load(pt, weights_only=True)
    return None


def _numbers(array):
    """An array of NumPy with the values of any array; those of types that NumPy does not have, as float32."""
    if hasattr(array, "detach"):
        array = array.detach()
        array = array.float().numpy() if array.dtype.is_floating_point else array.numpy()
    return np.asarray(array)


def random_array(rng, dtype, shape):
    """Values of a type: floats around 0, small integers, booleans."""
    if dtype == "BOOL":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in ("FP32", "FP16", "BF16"):
        return rng.standard_normal(shape, dtype=np.float32).astype(numpy_dtype(dtype))
    return rng.integers(0, 8, shape).astype(numpy_dtype(dtype))


# --- command line --------------------------------------------------------------------------------------------------


def add_options(parser):
    parser.add_argument("directory", metavar="DIR", help="an artifact folder")
    parser.add_argument("-p", "--platform", choices=PLATFORMS, help="default: the one it was compiled for")
    parser.add_argument("--validate", action="store_true", help="compare outputs with DIR/data/out")
    add_check_option(parser)
    parser.add_argument("--no-rebuild-from-pto", action="store_true", help="refuse edited .pto files")
    # Upstream's, for records that are not written yet (said on use) and binaries that do not exist.
    parser.add_argument("--pmu", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--swimlane", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--no-recompile", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--log-level", help=argparse.SUPPRESS)
    parser.add_argument("--log-sync-pypto", action="store_true", help=argparse.SUPPRESS)


def main(argv=None, arguments=None, compare=None):
    """The command. `arguments()` makes arguments where the folder has none; `compare(*arguments)` judges the run."""
    from .cli import exit_code

    parser = argparse.ArgumentParser(prog="replay", description=__doc__.split("\n")[0])
    add_options(parser)
    options = parser.parse_args(argv)
    return exit_code(lambda: run(options, arguments, compare))


def run(options, arguments=None, compare=None):
    session = sessions.Session(sessions.Options(check=options.check))
    with session.active():
        compiled = CompiledProgram.from_dir(
            options.directory, options.platform, rebuild_from_pto=not options.no_rebuild_from_pto
        )
        config = RunConfig(platform=compiled.platform, enable_pmu=options.pmu, enable_chip_swimlane=options.swimlane)
        if arguments is None or (pathlib.Path(options.directory) / "data" / "in").is_dir():
            origin, args = "data/in", stored_arguments(options.directory, compiled)
        else:
            origin, args = "debug/run.py", list(arguments())
        compiled(*args, config=config)
        print(f"{compiled.name} on {compiled.platform}: {compiled.last_run['tasks']} task(s), arguments of {origin}")
        if options.validate:
            compare_with_stored(options.directory, compiled, args, config)
            print("outputs are those of data/out")
        if options.check:
            print(f"--check {options.check}: every level gave the same bits")
        if compare is not None:
            compare(*args)


# --- debug/run.py --------------------------------------------------------------------------------------------------

_RUNNER = '''"""Runs this folder again: python debug/run.py [--validate] [--check CHECKS]

Edit ptoas/*.pto, orchestration/*.tw, or what is below, and run it again; nothing is compiled from Python.
"""

import pathlib
import sys

import numpy as np

from tilewright.replay import main, random_array

DIR = pathlib.Path(__file__).resolve().parents[1]
{extent}

def arguments():
    """One per parameter. Used if data/in/ is not there."""
    rng = np.random.default_rng(0)
    return [
{arguments}    ]


def compare({names}):
    """Called with the arguments after the run: assert here what should hold."""


if __name__ == "__main__":
    sys.exit(main([str(DIR), *sys.argv[1:]], arguments, compare))
'''


def emit_runner(compiled, directory):
    """Writes `debug/run.py`, unless PYPTO_EMIT_DEBUG_RUNNER says no."""
    if os.environ.get("PYPTO_EMIT_DEBUG_RUNNER", "").lower() in ("0", "false", "no"):
        return
    lines, dynamic = [], False
    for p in compiled.parameters:
        if p.shape is None:
            value = p.constant if p.constant is not None else (1.0 if p.dtype in ("FP32", "FP16", "BF16") else 1)
            lines.append(
                f"{value!r},  # {p.name}, {'a constant of the program' if p.constant is not None else p.dtype}"
            )
            continue
        dynamic = dynamic or None in p.shape
        shape = "[" + ", ".join("EXTENT" if d is None else str(d) for d in p.shape) + "]"
        lines.append(f'random_array(rng, "{p.dtype}", {shape}),  # {p.name}, {p.direction}')
    extent = f"#: Of dimensions that are known only at run time.\nEXTENT = {EXTENT}\n" if dynamic else ""
    names = [f"arg{i}" if not p.name.isidentifier() else p.name for i, p in enumerate(compiled.parameters)]
    text = _RUNNER.format(
        extent=extent, arguments="".join(f"        {line}\n" for line in lines), names=", ".join(names)
    )
    path = pathlib.Path(directory) / "debug" / "run.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
