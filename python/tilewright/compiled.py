"""A compiled program: run it, save it, load it again."""

import datetime
import os
import pathlib
import warnings

from . import _native
from . import session as sessions
from .arrays import is_array, new_array, scalar_value
from .config import BackendType, DfxOptions, check_platform, records_wanted
from .errors import ArtifactError, TilewrightWarning


class LoweredFunction:
    """A function of a lowered program: its name and kind."""

    def __init__(self, name, func_type):
        self.name = name
        self.func_type = func_type

    def __repr__(self):
        return f"<{self.func_type} {self.name}>"


class LoweredProgram:
    """A program at its levels. `print(level)` gives the text of `tensor`, `tile` or `machine`."""

    LEVELS = ("tensor", "tile", "machine")

    def __init__(self, native, name):
        self._native = native
        self.name = name

    def print(self, level="tile"):
        if level not in self.LEVELS:
            raise ValueError(f"level {level!r} is not one of {', '.join(self.LEVELS)}")
        return self._native.print(level)

    def as_python(self, concise=False):
        """The tensor level as text of the language."""
        return self._native.as_python(None, concise)

    @property
    def functions(self):
        return {name: LoweredFunction(name, kind) for name, kind in self._native.functions()}

    def __str__(self):
        return self.print()


class CompiledProgram:
    """A program for one set of element types, shapes and scalar values, on one architecture."""

    def __init__(self, native, name, platform, config=None, directory=None):
        self._native = native
        self.name = name
        self.platform = platform
        self._config = config
        self._directory = directory
        #: What the last run did: tasks, seconds, and with `check` what was compared.
        self.last_run = None

    @property
    def output_dir(self):
        """The artifact folder: `build_output/_jit_<name>_<date>_<time>`, written when first asked for.

        Its layout is in docs/artifacts.md.

        `PYPTO_PROG_BUILD_DIR` replaces `build_output`; `save_kernels_dir` of the RunConfig names the folder itself.
        """
        if self._directory is None:
            chosen = getattr(self._config, "save_kernels_dir", None)
            directory = pathlib.Path(chosen) if chosen else _fresh_directory(self.name)
            directory.mkdir(parents=True, exist_ok=True)
            from .replay import emit_runner

            self._native.save(os.fspath(directory))
            emit_runner(self, directory)
            self._directory = directory
        return self._directory

    @property
    def program(self):
        return LoweredProgram(self._native, self.name)

    @property
    def backend_type(self):
        return BackendType.Ascend950 if check_platform(self.platform) == "a5" else BackendType.Ascend910B

    @property
    def native(self):
        return self._native

    @property
    def parameters(self):
        """What the program takes: `name`, `direction`, `dtype`, `shape` (None for a scalar), `constant` of each."""
        return self._native.params

    @property
    def param_names(self):
        return [p.name for p in self._native.params]

    @property
    def output_indices(self):
        return [i for i, p in enumerate(self._native.params) if p.direction == "out"]

    @classmethod
    def from_dir(cls, directory, platform=None, *, rebuild_from_pto=True):
        """Loads what `output_dir` holds, edits included: a warning names each edited file and says what the edit does.

        A folder that is not an artifact, or is damaged, is an ArtifactError; so is an edited `.pto` that is not a
        program, at its line. With `rebuild_from_pto=False` or PYPTO_REBUILD_FROM_PTO=0 an edited `.pto` is refused.
        """
        directory = pathlib.Path(directory)
        if not directory.is_dir():
            raise ArtifactError(f"{directory}: no such artifact folder")
        if not rebuild_from_pto or os.environ.get("PYPTO_REBUILD_FROM_PTO", "").lower() in ("0", "false", "no"):
            edited = edited_kernels(directory)
            if edited:
                raise ArtifactError(
                    f"{', '.join(map(str, edited))}: edited after the compile, and using edits was turned off; the "
                    "kernels are not kept in another form: restore the file, or compile again"
                )
        native = _native.Program.load(os.fspath(directory))
        if platform is not None and check_platform(platform) != native.arch:
            raise ValueError(f"{directory} was compiled for {native.arch}, not for {platform}")
        show_warnings(native.warnings)
        return cls(native, native.name, platform or native.arch, directory=directory)

    def __fspath__(self):
        """The artifact folder: upstream's `ir.compile` gave its path."""
        return os.fspath(self.output_dir)

    def __call__(self, *args, config=None):
        """Runs on these arguments. The outputs may be left out, all of them: they are made, and given back."""
        if config is not None:
            if config.arch != self._native.arch:
                raise ValueError(f"{self.name} was compiled for {self._native.arch}, not for {config.platform}")
            warn_of_records(config)
        args = list(args)
        outputs = self.output_indices
        left_out = bool(outputs) and len(args) == len(self._native.params) - len(outputs)
        if left_out:
            for at, made in zip(outputs, self._fresh_outputs(args)):
                args.insert(at, made)
        returned = self.run(sessions.current(), args)
        if returned is None and left_out:
            made = tuple(args[at] for at in outputs)
            return made[0] if len(made) == 1 else made
        return returned

    def _fresh_outputs(self, args):
        """Arrays of zeros for the outputs, of the kind that the other arguments have."""
        like = next((a for a in args if is_array(a)), None)
        made = []
        for param in (self._native.params[at] for at in self.output_indices):
            if None in param.shape:
                raise TypeError(
                    f"{self.name}(): `{param.name}` has an extent that is known per call only: pass an array for it"
                )
            made.append(new_array(param.dtype, param.shape, like=like))
        return made

    def run(self, session, args):
        """Runs on these arrays and scalars, one per parameter, in order. All are checked before any is written."""
        params = self._native.params
        if len(args) != len(params):
            raise TypeError(
                f"{self.name}() takes {len(params)} arguments ({', '.join(p.name for p in params)}), got {len(args)}"
            )
        passed = [self._argument(p, a) for p, a in zip(params, args)]
        options = session.options
        with session.watch():
            results, self.last_run = self._native.run(passed, options.threads, options.seed, options.check)
        show_warnings(self.last_run["warnings"])
        if options.check:
            session.checked += 1
        like = next((a for a in args if is_array(a)), None)
        returned = [args[r] if isinstance(r, int) else new_array(*r, like=like) for r in results]
        return None if not returned else returned[0] if len(returned) == 1 else tuple(returned)

    def _argument(self, param, value):
        where = f"{self.name}(): `{param.name}`"
        if param.shape is None:
            if is_array(value) and getattr(value, "shape", None) != ():
                raise TypeError(f"{where} takes a scalar of {param.dtype}, got an array")
            dtype, number = scalar_value(where, param.dtype, value)
            if not param.accepts(number):
                raise ValueError(
                    f"{where} is {param.constant} in this compiled program, got {number}: compile for the new value, "
                    "or with pl.RUNTIME"
                )
            return number
        if not is_array(value):
            raise TypeError(f"{where} takes an array, got {type(value).__name__}")
        try:
            borrowed = _native.borrow(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: {error}") from None
        if borrowed.dtype != param.dtype:
            raise TypeError(f"{where} takes elements of {param.dtype}, got {borrowed.dtype}")
        shown = ["?" if d is None else d for d in param.shape]
        if len(borrowed.shape) != len(param.shape) or any(
            d is not None and d != n for d, n in zip(param.shape, borrowed.shape)
        ):
            raise ValueError(
                f"{where} takes an array of shape [{', '.join(map(str, shown))}], got one of {list(borrowed.shape)}"
            )
        if param.direction != "in" and not borrowed.writable:
            raise ValueError(f"{where} is written, but the array is read-only")
        return borrowed

    def __repr__(self):
        return f"<compiled {self.name} for {self.platform}>"


def show_warnings(texts):
    """Warnings about a program carry their own place, so Python's is of no use: the caller's line is close enough."""
    for text in texts:
        warnings.warn(text, TilewrightWarning, stacklevel=4)


def _fresh_directory(name):
    """A folder that is not there yet. The name ends in a date and a time, which harnesses parse."""
    base = pathlib.Path(os.environ.get("PYPTO_PROG_BUILD_DIR") or "build_output")
    moment = datetime.datetime.now()
    while True:
        directory = base / f"_jit_{name}_{moment:%Y%m%d_%H%M%S}"
        try:
            directory.mkdir(parents=True)
            return directory
        except FileExistsError:
            moment += datetime.timedelta(seconds=1)


def execute_compiled(work_dir, args, *, platform, device_id=0, dfx=None):
    """Loads the artifact in `work_dir` and runs it on `args`: arrays, and scalars as numbers or ctypes values.

    Outputs are changed in place. `device_id` names hardware that is not here. Records asked for by `dfx` are not
    written yet, which a warning says.
    """
    compiled = CompiledProgram.from_dir(work_dir, platform)
    if isinstance(dfx, DfxOptions):
        warn_of_records(dfx)
    return compiled.run(sessions.current(), list(args))


def edited_kernels(directory):
    """The `.pto` files of an artifact folder that were edited after the compile, by their contents."""
    edited = _native.Program.edits(os.fspath(directory))
    return [pathlib.Path(directory) / name for name in edited if name.startswith("ptoas/")]


def warn_of_records(options):
    """Says which records of a run (swimlane, dependencies, …) were asked for and are not written."""
    wanted = records_wanted(options)
    if wanted:
        warnings.warn(f"{', '.join(wanted)}: this record is not written yet", TilewrightWarning, stacklevel=3)
