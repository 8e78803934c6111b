"""What upstream's host-side modules offer to scripts and harnesses. `dropin/pypto` gives these their upstream names.

What has no counterpart here (multi-rank workers, device timing, generated C++) can be imported and is refused on use.
"""

import dataclasses
import enum
import inspect
import os
import pathlib
import tempfile
from typing import Any

from . import session as sessions
from .arrays import numpy_dtype
from .compiled import CompiledProgram, edited_kernels, execute_compiled
from .config import BackendType, DfxOptions, DistributedConfig, MemoryPlanner, OptimizationStrategy, RunConfig
from .errors import PartialCodegenError, UnsupportedError
from .kernel import JITFunction
from .program import Program, ProgramFunction

__all__ = [
    "BackendType", "BenchmarkUnavailable", "ChipWorker", "CompiledProgram", "DfxOptions", "DistributedCompiledProgram",
    "DistributedConfig", "DistributedWorker", "LogLevel", "MemoryPlanner", "OptimizationStrategy", "ParamDirection",
    "PartialCodegenError", "PassManager", "RunConfig", "RunResult", "ScalarSpec", "StackedDeviceTensor", "TensorSpec",
    "benchmark", "configure_log", "current_level", "ensure_pto_isa_root", "execute_compiled", "get_backend_type",
    "invalidate_binary_cache", "ir_compile", "pto_isa_include_dir", "python_print", "rebuild_kernel_cpp_from_pto",
    "run", "set_backend_type", "to_runtime_shape", "to_torch_dtype",
]  # fmt: skip


class ParamDirection(enum.Enum):
    In = 0
    Out = 1
    InOut = 2


class LogLevel(enum.Enum):
    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    EVENT = 4
    NONE = 5


class BenchmarkUnavailable(RuntimeError):
    pass


# --- logging -------------------------------------------------------------------------------------------------------

_LEVELS = ("debug", *(f"v{i}" for i in range(10)), "info", "warn", "error", "null")
_log = {"level": "info"}


def configure_log(level):
    """Accepts upstream's level names. There is no device log to filter."""
    if level not in _LEVELS:
        raise ValueError(f"log level {level!r} is not one of {', '.join(_LEVELS)}")
    _log["level"] = level


def current_level():
    return _log["level"]


# --- backends ------------------------------------------------------------------------------------------------------

_backend = {"type": BackendType.Ascend910B}


def set_backend_type(backend):
    if not isinstance(backend, BackendType):
        raise TypeError(f"a BackendType is needed, got {backend!r}")
    _backend["type"] = backend


def get_backend_type():
    return _backend["type"]


# --- compiling -----------------------------------------------------------------------------------------------------


def ir_compile(
    program,
    output_dir=None,
    strategy=OptimizationStrategy.Default,
    dump_passes=True,
    backend_type=None,
    platform=None,
    skip_ptoas=False,
    verification_level=None,
    memory_planner=None,
    diagnostic_phase=None,
    disabled_diagnostics=None,
    profiling=False,
    distributed_config=None,
    analyze_auto_scopes_for_deps=False,
    enable_pypto_l0c_double_buffer=None,
    emit_source_loc=None,
    dump_ptoas_passes=False,
):
    """`pypto.ir.compile`: a `@pl.program` or `@pl.function`, for the types of its annotations; scalars stay parameters.

    `output_dir` is the artifact folder. Options that steer upstream's passes and tools are accepted.
    """
    if isinstance(program, JITFunction) and not isinstance(program, ProgramFunction):
        raise TypeError(
            f"ir.compile takes a @pl.program; `{program.__name__}` is a @pl.jit function: call its .compile()"
        )
    if not isinstance(program, (Program, ProgramFunction)):
        raise TypeError(f"ir.compile takes a @pl.program, got {type(program).__name__}")
    config = RunConfig(
        platform=_platform(platform, backend_type), save_kernels_dir=output_dir, distributed_config=distributed_config
    )
    return program.compile(config=config)


def _platform(platform, backend_type):
    """The machine of a compile: named, or that of a backend, or the session's."""
    if platform is not None:
        return platform
    if backend_type is BackendType.Ascend950:
        return "a5"
    return sessions.current().options.platform


def python_print(program, prefix="pl", concise=False):
    """A program or function as text of the language, which calls itself `pl`."""
    if prefix != "pl":
        raise UnsupportedError(f"python_print: the language is called `pl` in what is printed, not {prefix!r}")
    if not hasattr(program, "as_python"):
        raise TypeError(f"python_print takes a program or a function, got {type(program).__name__}")
    return program.as_python(concise=concise)


class PassManager:
    def __init__(self, *_, **__):
        raise UnsupportedError("PassManager: passes are not run one by one here; `tilewright lower` prints the levels")


def to_torch_dtype(dtype):
    import torch

    return getattr(torch, "bfloat16" if dtype.name == "BF16" else numpy_dtype(dtype.name).name)


def to_runtime_shape(shape):
    return [-1 if d is None else int(d) for d in shape]


class DistributedCompiledProgram(CompiledProgram):
    """A program of several ranks. None is made here; harnesses ask with isinstance."""

    @classmethod
    def from_dir(cls, directory, platform=None, distributed_config=None, backend_type=None):
        raise UnsupportedError("programs of several ranks are not supported yet")


# --- running -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class TensorSpec:
    """A tensor of a harness: shape, element type of torch, how it starts, whether the program writes it."""

    name: str
    shape: list
    dtype: Any
    init_value: Any = None
    is_output: bool = False

    def create_tensor(self):
        """A torch tensor as it starts: zeros, a number everywhere, a copy of a tensor, or what a function makes: called
        with shape and element type if it takes them (`torch.randn`)."""
        import torch

        start = self.init_value
        if callable(start):
            try:
                bare = not inspect.signature(start).parameters
            except ValueError:  # a builtin that does not tell
                bare = False
            start = start() if bare else start(self.shape, dtype=self.dtype)
        if start is None or isinstance(start, (int, float)):
            return torch.full(self.shape, start or 0, dtype=self.dtype)
        made = torch.as_tensor(start).to(self.dtype)
        if list(made.shape) != list(self.shape):
            raise ValueError(f"`{self.name}` has shape {list(self.shape)}, but starts with {list(made.shape)}")
        return made.clone() if made is self.init_value else made


@dataclasses.dataclass
class ScalarSpec:
    name: str
    dtype: Any
    value: Any = 0


@dataclasses.dataclass
class RunResult:
    passed: bool
    test_name: str = ""
    error: "str | None" = None
    execution_time: "float | None" = None


def run(program, *args, config=None, **_):
    """`pypto.runtime.run`: compiles a `@pl.program` or function for its annotations, and runs it on these arguments.

    Outputs are changed in place; what the program returns is returned. Without arguments the compiled program is.
    """
    if isinstance(program, (Program, JITFunction)) and not args:
        return program.compile(config=config)
    if isinstance(program, (Program, JITFunction, CompiledProgram)):
        return program(*args, config=config)
    raise TypeError(f"run takes a @pl.program or a compiled program, got {type(program).__name__}")


def benchmark(compiled, args, *, rounds=100, warmup=5, platform=None, device_id=0, config=None, **_):
    """Device timing. Host time is not device time, so nothing is measured: harnesses print `benchmark unavailable`."""
    raise BenchmarkUnavailable("the simulated machine has no clock yet, so there are no device times to report")


def _worker(name):
    def refuse(self, *_, **__):
        raise UnsupportedError(f"{name} is not supported yet; call the @pl.jit function, or execute_compiled")

    return type(name, (), {"__init__": refuse, "__module__": __name__, "__doc__": "Explicit dispatch; refused on use."})


ChipWorker = _worker("ChipWorker")
DistributedWorker = _worker("DistributedWorker")
StackedDeviceTensor = _worker("StackedDeviceTensor")


# --- generated code ------------------------------------------------------------------------------------------------


def rebuild_kernel_cpp_from_pto(work_dir):
    """The `.pto` files that were edited after the compile. There is no C++ to rebuild: what is loaded is the `.pto`.

    A folder that is no artifact has none: it is refused where it is loaded.
    """
    is_artifact = (pathlib.Path(work_dir) / "compiled_meta.json").is_file()
    return edited_kernels(work_dir) if is_artifact else []


def invalidate_binary_cache(work_dir):
    """There are no binaries to invalidate."""


def pto_isa_include_dir():
    """A folder for C++ headers. It is empty: kernels in C++ are not compiled here."""
    path = pathlib.Path(tempfile.gettempdir()) / "tilewright-no-headers"
    path.mkdir(exist_ok=True)
    return path


def ensure_pto_isa_root(*_, **__):
    return os.fspath(pto_isa_include_dir())
