"""Runs an example and compares it with its golden: the shared `__main__` of the files in `examples/`."""

import argparse
import time

import numpy as np

from . import _native
from . import session as sessions
from .config import PLATFORMS, RunConfig


def error(actual, expected, rtol, atol):
    """(largest absolute error, elements out of tolerance). Integers are compared exactly, whatever the tolerances."""
    a = np.asarray(actual)
    if a.shape != np.shape(expected):
        raise ValueError(f"shape {a.shape} against {np.shape(expected)}")
    exact = a.dtype.kind in "iub"
    a, e = a.astype(np.float64), np.asarray(expected).astype(np.float64)
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(a - e))
        near = np.isfinite(a) & np.isfinite(e) & (difference <= atol + rtol * np.abs(e))
    bad = ~same if exact else ~same & ~near
    return float(np.max(np.where(np.isnan(difference), np.inf, difference), initial=0.0)), int(np.count_nonzero(bad))


def main(kernel, arguments, expected, *, rtol, atol, argv=None):
    """Runs `kernel` on `arguments()` and compares each array of `expected(arguments)` with what the kernel left.

    Prints the machine, the times and each error. Exits with 1 if an element differs by more than `atol + rtol·|e|`.
    """
    parser = argparse.ArgumentParser(description=(kernel.__doc__ or kernel.__name__).strip().split("\n")[0])
    parser.add_argument("-p", "--platform", choices=PLATFORMS, default="a2a3")
    platform = parser.parse_args(argv).platform

    args = arguments()
    golden = expected({name: np.copy(v) if isinstance(v, np.ndarray) else v for name, v in args.items()})
    config = RunConfig(platform=platform)
    began = time.perf_counter()
    program = kernel.lower(**args, config=config)
    compiled = time.perf_counter()
    kernel(**args, config=config)
    ran = time.perf_counter()

    print(f"{kernel.__name__} on {_native.machine(config.arch)}")
    times = f"compiled in {1e3 * (compiled - began):.1f} ms, ran in {1e3 * (ran - compiled):.1f} ms"
    print(f"  {len(program.functions)} functions, {times}")
    failed = []
    for name, value in golden.items():
        worst, bad = error(args[name], value, rtol, atol)
        allowed = (
            "exact" if rtol == atol == 0 or args[name].dtype.kind in "iub" else f"allowed {atol:g} + {rtol:g}·|golden|"
        )
        verdict = "ok" if not bad else f"{bad} of {np.size(value)} elements out of tolerance"
        print(f"  {name}: {args[name].dtype}{list(args[name].shape)}, largest error {worst:.3g} ({allowed}): {verdict}")
        if bad:
            failed.append(name)
    session = sessions.script_session()
    if session is not None and session.options.check:
        print(f"  --check {session.options.check}: every level gave the same bits")
    if failed:
        print(f"FAIL {kernel.__name__}: {', '.join(failed)}")
        raise SystemExit(1)
    print(f"PASS {kernel.__name__}")
