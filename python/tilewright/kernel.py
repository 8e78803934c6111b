"""`@pl.jit` and its relatives: functions that are compiled from their source, for the types of each call.

A call binds its arguments, checks them against the annotations (nothing is written before everything is checked),
finds or compiles the program for their element types, shapes and scalar values, and runs it on the caller's arrays.
"""

import functools
import inspect
import struct

from . import _native
from . import session as sessions
from .arrays import describe, is_array, new_array, scalar_value
from .compiled import CompiledProgram, show_warnings, warn_of_records
from .config import RunConfig
from .errors import UnsupportedError
from .language._types import RUNTIME
from .names import annotations, parameter, source_lines, source_text

KINDS = ("entry", "inline", "kernel", "opaque", "host", "extern")


class JITFunction:
    """A function of the language. `_func` is the undecorated function."""

    def __init__(self, function, kind="entry", auto_scope=True, **options):
        if not inspect.isfunction(function):
            raise TypeError(f"@pl.jit decorates functions, got {function!r}")
        functools.update_wrapper(self, function)
        self._func = function
        self.kind = kind
        self.auto_scope = auto_scope
        self.options = options
        self._parameters = None
        # As of its definition, like the code that Python would run: the file may be edited, and its module reloaded
        # (which makes new functions), while this function is still in use.
        self._lines = source_lines(function)

    def __repr__(self):
        return f"<pl.jit {self.kind} {self.__qualname__}>"

    #: The name of a first parameter that is no argument (`self` in a function of a program).
    receiver = None

    @property
    def signature(self):
        signature = inspect.signature(self._func)
        arguments = [p for p in signature.parameters.values() if p.name != self.receiver]
        return signature.replace(parameters=arguments)

    def annotations(self):
        return annotations(self._func)

    @property
    def parameters(self):
        """(name, direction, kind, ...) of each parameter, from the annotations."""
        if self._parameters is None:
            notes = self.annotations()
            found = []
            for p in self.signature.parameters.values():
                if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                    raise TypeError(f"`{self.__name__}` takes `*` arguments; a kernel's parameters are fixed")
                found.append(parameter(p.name, notes.get(p.name)))
            self._parameters = found
        return self._parameters

    def source(self):
        kind = self.kind if self.kind in ("kernel", "inline", "opaque", "orchestration") else "entry"
        # What had no source at its definition may have been given one since.
        self._lines = self._lines or source_lines(self._func)
        path, text, first_line, line = source_text(self._func, self._lines)
        return (self.__name__, kind, path, text, first_line, line, self.parameters, self.receiver is not None)

    def compile(self, *args, config=None, **kwargs):
        """The compiled program for these arguments (or, with no arrays given, for the annotated types).

        Its artifact folder is written; `execute_compiled` runs it from there.
        """
        session = sessions.current()
        config = config or RunConfig(platform=session.options.platform)
        compiled = session_compile(session, self, self._specs(args, kwargs, signature_mode=True), config)
        compiled.output_dir  # noqa: B018 - written now: what is compiled ahead is meant to be found
        return compiled

    def lower(self, *args, config=None, **kwargs):
        """The program at every level, to be looked at."""
        session = sessions.current()
        return session_compile(
            session,
            self,
            self._specs(args, kwargs, signature_mode=True),
            config or RunConfig(platform=session.options.platform),
        ).program

    def __call__(self, *args, config=None, **kwargs):
        """Compiles if need be, and runs on these arrays. What the function returns is returned: for an output that was
        passed, the caller's array itself."""
        self._refuse_kind()
        session = sessions.current()
        config = config or RunConfig(platform=session.options.platform)
        bound = self._bind(args, kwargs)
        specs = self._check(bound)
        compiled = session_compile(session, self, specs, config)
        if config.keeps_artifacts:
            session.keep(compiled, config.save_kernels_dir)
        warn_of_records(config)
        return compiled.run(session, list(bound.values()))

    def _refuse_kind(self):
        if self.kind == "entry":
            return
        if self.kind in ("host", "extern"):
            raise UnsupportedError(
                f"`{self.__name__}` is a @pl.jit.{self.kind} function, which Tilewright does not run yet"
            )
        form = {"kernel": "incore"}.get(self.kind, self.kind)
        raise TypeError(
            f"`{self.__name__}` is a @pl.jit.{form} function: it is called from a @pl.jit function, not from Python"
        )

    def _bind(self, args, kwargs):
        """Parameter name to argument, in order, defaults applied."""
        signature = self.signature
        try:
            bound = signature.bind_partial(*args, **kwargs)
            bound.apply_defaults()
            if len(bound.arguments) < len(signature.parameters):
                bound.arguments.update(self._fresh_outputs(bound.arguments))
                bound = signature.bind(**bound.arguments)
        except TypeError as error:
            raise TypeError(f"{self.__name__}(): {error}") from None
        return bound.arguments

    def _fresh_outputs(self, given):
        """Arrays of zeros for outputs that were not passed, where the annotation says what they are."""
        arrays = [a for a in given.values() if is_array(a)]
        extents = {}
        for name, _, kind, *rest in self.parameters:
            if kind == "tensor" and rest[0] and is_array(given.get(name)):
                extents.update((d[2], n) for d, n in zip(rest[0], given[name].shape) if isinstance(d, tuple))
        fresh = {}
        for name, direction, kind, *rest in self.parameters:
            if name in given or direction != "out" or kind != "tensor" or rest[0] is None or rest[1] is None:
                continue
            shape = [extents.get(d[2]) if isinstance(d, tuple) else d for d in rest[0]]
            if None not in shape:
                fresh[name] = new_array(rest[1], shape, like=arrays[0] if arrays else None)
        return fresh

    def _check(self, bound):
        """The types of the arguments, for the compiler; errors name the parameter."""
        return check_arguments(self.__name__, self.parameters, bound)

    def _specs(self, args, kwargs, signature_mode):
        self._refuse_kind()
        given = list(args) + list(kwargs.values())
        if not signature_mode or any(is_array(a) for a in given):
            return self._check(self._bind(args, kwargs))
        return self._signature_specs(args, kwargs)

    def _signature_specs(self, args, kwargs):
        """Types from the annotations alone: tensors are not given, scalars are by keyword, default or pl.RUNTIME."""
        if args:
            raise TypeError(f"{self.__name__}(): without arrays, scalars are given by keyword")
        defaults = self.signature.parameters
        specs = []
        known = {p[0] for p in self.parameters}
        for name in kwargs:
            if name not in known:
                raise TypeError(f"{self.__name__}(): no parameter is called {name!r}")
        for name, _, kind, *rest in self.parameters:
            if kind == "tensor":
                shape, dtype = rest
                if name in kwargs:
                    raise TypeError(f"{self.__name__}(): `{name}` takes an array, got {type(kwargs[name]).__name__}")
                if shape is None or dtype is None:
                    raise TypeError(
                        f"{self.__name__}(): `{name}` has no shape and element type in its annotation; pass arrays"
                    )
                # A dynamic extent stays one in the program; the number only stands for it.
                specs.append(("tensor", dtype, [1 if isinstance(d, tuple) else d for d in shape]))
                continue
            value = kwargs.get(name, defaults[name].default)
            if value is inspect.Parameter.empty:
                raise TypeError(f"{self.__name__}(): the scalar `{name}` needs a value, or pl.RUNTIME")
            specs.append(scalar_spec(self.__name__, name, rest[0] if kind == "scalar" else None, value))
        return specs


def scalar_spec(function, name, dtype, value):
    if value is RUNTIME:
        if dtype is None:
            raise TypeError(f"{function}(): `{name}` = pl.RUNTIME needs pl.Scalar[...] as its annotation")
        return ("runtime", dtype)
    dtype, value = scalar_value(f"{function}(): `{name}`", dtype, value)
    return ("scalar", dtype, value)


def check_arguments(function, parameters, bound):
    """Checks arguments against annotations; the types of the arguments."""
    extents = {}
    specs = []
    for (name, direction, kind, *rest), value in zip(parameters, bound.values()):
        where = f"{function}(): `{name}`"
        if kind == "scalar":
            specs.append(scalar_spec(function, name, rest[0], value))
            continue
        if kind == "array":
            raise TypeError(f"{where} is a pl.Array, which cannot be an argument of an entry")
        if not is_array(value):
            if kind == "tensor":
                raise TypeError(f"{where} takes an array, got {type(value).__name__}")
            specs.append(scalar_spec(function, name, None, value))
            continue
        dtype, shape, writable = describe(where, value)
        if kind == "tensor":
            want_shape, want_dtype = rest
            if want_dtype is not None and dtype != want_dtype:
                raise TypeError(f"{where} takes elements of {want_dtype}, got {dtype}")
            if want_shape is not None:
                _check_shape(where, name, want_shape, shape, extents)
        if direction != "in" and not writable:
            raise ValueError(f"{where} is an output, but the array is read-only")
        specs.append(("tensor", dtype, list(shape)))
    return specs


def _check_shape(where, name, want, shape, extents):
    shown = "[" + ", ".join(d[1] if isinstance(d, tuple) else str(d) for d in want) + "]"
    if len(want) != len(shape):
        raise ValueError(f"{where} takes an array of shape {shown}, got one of {list(shape)}")
    for axis, (d, n) in enumerate(zip(want, shape)):
        if not isinstance(d, tuple):
            if d not in (n, -1):
                raise ValueError(f"{where} takes an array of shape {shown}, got one of {list(shape)}")
            continue
        first = extents.setdefault(d[2], (name, axis, n))
        if first[2] != n:
            raise ValueError(
                f"{where} has {n} for the extent {d[1]} of dimension {axis}, "
                f"but `{first[0]}` has {first[2]} in dimension {first[1]}"
            )


def session_compile(session, function, specs, config):
    """The program of `function` for these types: from the session's cache if every name it was compiled with still
    means the same."""
    if config.distributed_config is not None:
        raise UnsupportedError("distributed_config: programs of several ranks are not supported yet")
    arch = config.arch
    profile = session.options.profile or arch
    dynamic = [p[3] if p[2] == "tensor" else None for p in function.parameters]
    entry = session.functions.id(function)
    key = (entry, arch, profile, tuple(_key(s, d) for s, d in zip(specs, dynamic)))
    entries = session.programs.setdefault(key, [])
    for program in entries:
        if program.holds(session.functions):
            break
    else:
        with session.watch():
            program = _native.compile(session.functions, entry, specs, arch, profile)
        show_warnings(program.warnings)
        entries.insert(0, program)
    return CompiledProgram(program, function.__name__, config.platform, config)


def _key(spec, annotated):
    """What a program's identity has of an argument. A dynamic extent is no part of it; a float is by its bits: 0.0 is
    not -0.0, and a NaN is the same at the next call."""
    if spec[0] != "tensor":
        return tuple(struct.pack("<d", v) if isinstance(v, float) else v for v in spec)
    if annotated is None:
        return (*spec[:2], tuple(spec[2]))
    shape = tuple(None if isinstance(d, tuple) else n for n, d in zip(spec[2], annotated))
    return (spec[0], spec[1], shape)


class _Jit:
    """The decorator `pl.jit` and the ones below it."""

    def __call__(self, function=None, *, auto_scope=True):
        if function is None:
            return lambda f: JITFunction(f, "entry", auto_scope)
        return JITFunction(function, "entry", auto_scope)

    def inline(self, function=None, *, auto_scope=True):
        """A helper that is spliced at every call and specialised for the arguments there."""
        if function is None:
            return lambda f: JITFunction(f, "inline", auto_scope)
        return JITFunction(function, "inline", auto_scope)

    def incore(self, function=None, *, level=None):
        """A function whose every call is a kernel scope of its own."""
        if function is None:
            return lambda f: JITFunction(f, "kernel", level=level)
        return JITFunction(function, "kernel", level=level)

    def opaque(self, function=None):
        if function is None:
            return lambda f: JITFunction(f, "opaque")
        return JITFunction(function, "opaque")

    def host(self, function=None, *, auto_scope=True):
        """A multi-rank entry. Can be declared; running it is refused."""
        if function is None:
            return lambda f: JITFunction(f, "host", auto_scope)
        return JITFunction(function, "host", auto_scope)

    def extern(self, **options):
        """A kernel in C++. Can be declared; a program that calls it is refused."""
        return lambda f: JITFunction(f, "extern", **options)

    def __repr__(self):
        return "pl.jit"


jit = _Jit()
