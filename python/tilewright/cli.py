"""The command line.

    tilewright run [-p PLATFORM] [--check CHECKS] [--seed N] [--threads N] [--profile P] SCRIPT|-m MODULE [ARGS...]
    tilewright replay DIR [--validate] [--check CHECKS]
    tilewright exec KERNEL.pto [--entry NAME] [--in ARG=FILE.npy]... [--out DIR] [--compare OTHER.pto]
    tilewright supports [-p PLATFORM] [--json] SCRIPT|FILE.pto
    tilewright lower SCRIPT.py:FUNCTION [--level tensor|tile|machine] [-p PLATFORM] [--arg x=f32[64,64]]...
    tilewright env

Exit codes of `run`: 0 the script passed, 1 it failed, 2 usage, 3 a check found something (also if the script went on
and passed), 4 it needs something unsupported, 130 interrupted. A code that the script exits with is kept.
Those of `exec`: 0 it ran (and nothing differs), 1 it stopped or an argument is wrong, 2 usage, 3 a difference,
4 it needs something unsupported.
Those of `supports`: 0 nothing unsupported was found, 4 something was, 1 only something wrong.
"""

import argparse
import os
import pathlib
import re
import runpy
import sys
import traceback

from . import execute, replay, supports
from . import session as sessions
from .config import PLATFORMS, add_check_option
from .errors import TilewrightError

DROPIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dropin")

_DTYPES = {
    "f32": "FP32", "f16": "FP16", "bf16": "BF16", "i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64",
    "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64", "bool": "BOOL", "i1": "BOOL", "index": "INDEX",
}  # fmt: skip


def main(argv=None):
    parser = argparse.ArgumentParser(prog="tilewright", description="Compiles, runs and checks PTO tile kernels.")
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="run a script, with the drop-in `pypto` on its path")
    run.add_argument(
        "-p", "--platform", choices=PLATFORMS, default="a2a3", help="of calls that name none (default a2a3)"
    )
    add_check_option(run)
    run.add_argument("--seed", type=int, default=0, help="of every choice that could be otherwise (default 0)")
    run.add_argument("--threads", type=int, help="host threads (default: all cores)")
    run.add_argument("--profile", choices=["a2a3", "a5", "cpu-compat"], help="numerics (default: the platform's)")
    run.add_argument(
        "-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as for `python -m`"
    )
    run.add_argument("script", metavar="SCRIPT")
    run.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS", help="all that follows goes to the script")
    run.set_defaults(do=_run)

    again = commands.add_parser("replay", help="run an artifact folder again, with what was edited in it")
    again.description = (
        "Runs an artifact folder on the arguments in its data/in, without compiling (docs/artifacts.md)."
    )
    replay.add_options(again)
    again.set_defaults(do=lambda options, parser: exit_code(lambda: replay.run(options)))

    kernel = commands.add_parser("exec", help="run a kernel of a .pto file")
    kernel.description = execute.__doc__.split("\n\n", 1)[1]
    kernel.formatter_class = argparse.RawDescriptionHelpFormatter
    execute.add_options(kernel)
    kernel.set_defaults(do=_execute)

    lower = commands.add_parser("lower", help="print a function of a script at one level")
    lower.add_argument("target", metavar="SCRIPT.py:FUNCTION")
    lower.description = (
        "Prints a @pl.jit function, or a @pl.program or function of one, at one level. "
        "The script is imported: its top level runs, not its __main__ part."
    )
    lower.add_argument(
        "--level",
        choices=["tensor", "tile", "machine"],
        default="tile",
        help="what the user wrote, kernels of tile instructions (default), or the same with addresses (docs/ir.md)",
    )
    lower.add_argument("-p", "--platform", choices=PLATFORMS, default="a2a3", help="default a2a3")
    lower.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=f32[64,64] or NAME=1.5",
        help="type of a bare tensor parameter, or value of a scalar one",
    )
    lower.set_defaults(do=_lower)

    support = commands.add_parser("supports", help="list everything of a script or .pto file that is not supported")
    support.description = supports.__doc__.split("\n\n", 1)[1]
    support.formatter_class = argparse.RawDescriptionHelpFormatter
    support.add_argument("file", metavar="SCRIPT|FILE.pto")
    support.add_argument("-p", "--platform", choices=PLATFORMS, default="a2a3", help="default a2a3")
    support.add_argument("--json", action="store_true", help="the same as JSON")
    support.set_defaults(do=supports.main)

    env = commands.add_parser("env", help="print shell exports that put the drop-in `pypto` first")
    env.set_defaults(do=_env)

    options = parser.parse_args(argv)
    try:
        return options.do(options, parser)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _execute(options, parser):
    codes = []
    code = exit_code(lambda: codes.append(execute.run(options, parser)))
    return code or codes[0]


def _run(options, parser):
    if not options.module and not os.path.isfile(options.script):
        parser.error(f"{options.script}: no such script")
    try:
        sessions.set_defaults(
            sessions.Options(
                check=options.check,
                seed=options.seed,
                threads=options.threads,
                profile=options.profile,
                platform=options.platform,
            )
        )
    except ValueError as error:
        parser.error(str(error))
    for late in ("--check", "--seed", "--threads", "--profile"):
        if any(a == late or a.startswith(late + "=") for a in options.args):
            print(f"tilewright: {late} after SCRIPT goes to the script; ours stand before it", file=sys.stderr)
    if options.module:
        prepare_module(options.script, options.args)
        code = exit_code(lambda: runpy.run_module(options.script, run_name="__main__", alter_sys=True))
    else:
        prepare(options.script, options.args)
        code = exit_code(lambda: runpy.run_path(options.script, run_name="__main__"))
    session = sessions.script_session()
    if session is not None and session.findings and code != 3:
        print(f"tilewright: {len(session.findings)} finding(s); the script went on", file=sys.stderr)
        code = 3 if code in (0, 1) else code
    if options.check and code == 0:
        checked = session.checked if session else 0
        if not checked:
            print(
                f"tilewright: --check {options.check}: the script called no kernel; nothing was checked",
                file=sys.stderr,
            )
            return 2
        print(
            f"tilewright: --check {options.check}: {checked} run(s) checked, nothing found",
            file=sys.stderr,
        )
    return code


def prepare(script, args):
    """The script's folder first, as Python does, then the drop-in."""
    sys.argv = [script, *args]
    folder = os.path.dirname(os.path.abspath(script))
    if os.path.basename(sys.argv[0]) and sys.path and sys.path[0] in ("", os.getcwd(), os.path.dirname(sys.executable)):
        sys.path.pop(0)
    sys.path[:0] = [folder, DROPIN]


def prepare_module(name, args):
    """The current folder first, as `python -m` does, then the drop-in."""
    sys.argv = [name, *args]
    sys.path[:] = [os.getcwd(), DROPIN, *(folder for folder in sys.path if folder not in ("", os.getcwd()))]


def exit_code(action):
    """Runs a script; what it ended in, as an exit code. Our own errors show the user's source, not our stack."""
    try:
        action()
    except SystemExit as stop:
        if stop.code is None:
            return 0
        if not isinstance(stop.code, int):
            print(stop.code, file=sys.stderr)
            return 1
        # The script's own code is the script's answer, as Python itself would give it.
        return stop.code & 0xFF
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except TilewrightError as error:
        place = _calling_line(error)
        print(error, file=sys.stderr)
        if place:
            print(f"  in the call at {place}", file=sys.stderr)
        return error.exit_code
    except BaseException as error:  # noqa: BLE001 - a script may raise anything
        _print_exception(error)
        return 1
    return 0


def _ours(filename):
    return os.path.dirname(os.path.abspath(__file__)) in os.path.abspath(filename) or "runpy" in filename


def _calling_line(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _ours(f.filename)]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def _print_exception(error):
    """The traceback without the frames of the runner at its top."""
    tb = error.__traceback__
    while tb is not None and _ours(tb.tb_frame.f_code.co_filename):
        tb = tb.tb_next
    traceback.print_exception(type(error), error, tb or error.__traceback__)


def _lower(options, parser):
    path, colon, name = options.target.rpartition(":")
    if not colon or not os.path.isfile(path):
        parser.error(f"{options.target}: expected SCRIPT.py:FUNCTION with a script that exists")
    given = {}
    for text in options.arg:
        argument, equals, value = text.partition("=")
        if not equals or not argument.isidentifier():
            parser.error(f"--arg {text}: expected NAME=TYPE[dims] or NAME=VALUE")
        try:
            given[argument] = _parse_argument(value)
        except ValueError as error:
            parser.error(f"--arg {text}: {error}")
    prepare(path, [])
    return exit_code(lambda: _print_lowered(path, name, given, options, parser))


def _parse_argument(text):
    match = re.fullmatch(r"(\w+)\[([\d,\s]*)\]", text.strip())
    if match:
        if match[1] not in _DTYPES:
            raise ValueError(f"element type {match[1]} is not one of {', '.join(_DTYPES)}")
        return ("tensor", _DTYPES[match[1]], [int(d) for d in match[2].split(",") if d.strip()])
    if text in ("True", "False"):
        return text == "True"
    for kind in (lambda t: int(t, 0), float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise ValueError("expected TYPE[dims] (f32[64,64]) or a number")


def _print_lowered(path, name, given, options, parser):
    from .config import RunConfig
    from .kernel import JITFunction, scalar_spec, session_compile
    from .program import Program

    module = runpy.run_path(path, run_name=pathlib.Path(path).stem)
    function = module.get(name)
    if isinstance(function, Program):
        function = function.entry
    if not isinstance(function, JITFunction):
        found = ", ".join(k for k, v in module.items() if isinstance(v, JITFunction)) or "none"
        parser.error(f"{path} has no @pl.jit function called {name}; it has: {found}")
    try:
        function._refuse_kind()
    except TypeError as error:
        parser.error(str(error))
    specs = []
    for parameter, _, kind, *rest in function.parameters:
        value = given.pop(parameter, None)
        if isinstance(value, tuple):
            specs.append(value)
        elif kind == "tensor" and rest[0] is not None and rest[1] is not None and value is None:
            specs.append(("tensor", rest[1], [1 if isinstance(d, tuple) else d for d in rest[0]]))
        elif value is None and kind == "scalar":
            specs.append(("runtime", rest[0]))
        elif value is None or kind == "tensor":
            parser.error(f"`{parameter}` of {name} needs --arg {parameter}=f32[...] (or a number, for a scalar)")
        else:
            specs.append(scalar_spec(name, parameter, rest[0] if kind == "scalar" else None, value))
    if given:
        parser.error(f"{name} has no parameter called {', '.join(given)}")
    compiled = session_compile(sessions.current(), function, specs, RunConfig(platform=options.platform))
    sys.stdout.write(compiled.program.print(options.level))


def _env(options, parser):
    del options, parser
    print(f'export PYTHONPATH="{DROPIN}${{PYTHONPATH:+:$PYTHONPATH}}"')
    print("export TILEWRIGHT_DROPIN=1")
    return 0
