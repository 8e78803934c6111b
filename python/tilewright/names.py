"""What names mean in the functions of a program: the live globals and closures that the front end asks about.

Answers are plain tuples, `(tag, value...)`, turned into `frontend::Known` on the Rust side:

    ("int", 3)  ("float", 0.5)  ("bool", True)  ("str", "x")  ("none",)  ("dtype", "FP32")  ("language", "tensor.dim")
    ("function", 4)  ("dynamic", "M", 7)  ("list", [answers])  ("namespace",)  ("other", "dict")

None means that the name is not defined. Nothing here runs a kernel's body; attributes of objects are read with getattr.
"""

import builtins
import inspect
import linecache
import numbers
import os
import types

from .errors import UnsupportedError
from .language._marker import Marker, Namespace, Word
from .language._types import RUNTIME, Array, DataType, DynVar, InOut, Out, Scalar, Tensor, TensorView
from .language._words import TensorLayout

# Element types that programs can have. The others are names of the language that the front end refuses.
SUPPORTED = set("BOOL INT8 INT16 INT32 INT64 INDEX UINT8 UINT16 UINT32 UINT64 FP16 BF16 FP32".split())

# Builtins that the front end computes with itself, if nothing of the program has their name. (The others are objects
# that kernels cannot use.)
FRONT_END_BUILTINS = set("len min max abs int float bool sum range list tuple print".split())

# The same by identity. A program may give them other names (`smaller = min`, even `min = max`).
_BUILTINS = {id(value): (name, value) for name in FRONT_END_BUILTINS for value in [getattr(builtins, name)]}

_MISSING = object()


class Functions:
    """The decorated functions that a session has met, numbered in the order of meeting."""

    def __init__(self):
        self._functions = []
        self._ids = {}

    def id(self, function):
        key = id(function)
        if key not in self._ids:
            self._ids[key] = len(self._functions)
            self._functions.append(function)
        return self._ids[key]

    def at(self, number):
        return self._functions[number]

    def source(self, number):
        """(name, kind, path, text, first line of text, line, parameters, whether it is a function of a program), for
        `frontend::FunctionSource`."""
        return self._functions[number].source()

    def lookup(self, number, path):
        """What the dotted name `path` means in function `number`, now."""
        function = self._functions[number]
        if function.receiver is not None and path[0] == function.receiver:
            if len(path) == 1:
                return ("namespace",)
            value = function.owner.members.get(path[1], _MISSING)
            path = path[1:]
        else:
            value = _variable(function._func, path[0])
        for name in path[1:]:
            if value is _MISSING:
                return None
            value = _attribute(value, name)
        return None if value is _MISSING else self.meaning(value)

    def meaning(self, value):
        from .kernel import JITFunction

        if value is None:
            return ("none",)
        if isinstance(value, JITFunction) and value.kind in ("host", "extern"):
            return ("other", f"@pl.jit.{value.kind} function")
        if isinstance(value, JITFunction):
            return ("function", self.id(value))
        if isinstance(value, DataType):
            return ("dtype", value.name) if value.name in SUPPORTED else ("language", value.name)
        if isinstance(value, (Marker, Word)):
            return ("language", value.canonical)
        if id(value) in _BUILTINS:
            return ("language", f"builtins.{_BUILTINS[id(value)][0]}")
        if value is RUNTIME:
            return ("language", "RUNTIME")
        if isinstance(value, DynVar):
            return ("dynamic", value.name, value.id)
        if isinstance(value, (Namespace, types.ModuleType)):
            return ("namespace",)
        if type(value).__name__ in ("bool", "bool_"):
            return ("bool", bool(value))
        if isinstance(value, numbers.Integral):
            value = int(value)
            return ("int", value) if -(2**63) <= value < 2**63 else ("other", "int beyond 64 bits")
        if isinstance(value, numbers.Real):
            return ("float", float(value))
        if isinstance(value, str):
            return ("str", value)
        if isinstance(value, (list, tuple, range)) and len(value) <= 1 << 16:
            return ("list", [self.meaning(v) for v in value])
        if isinstance(value, (dict, set, types.FunctionType, types.BuiltinFunctionType)):
            return ("other", type(value).__name__)
        if isinstance(value, type) and value.__module__ == "builtins":
            return ("other", f"type {value.__name__}")
        if hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            return ("namespace",)
        return ("other", type(value).__name__)


def _variable(function, name):
    code = function.__code__
    if name in code.co_freevars:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:
            return _MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return _MISSING if name in FRONT_END_BUILTINS else getattr(builtins, name, _MISSING)


def _attribute(value, name):
    try:
        return getattr(value, name)
    except AttributeError:
        return _MISSING


def shown_path(path):
    """A file's name for messages: relative if that is below the current folder."""
    path = os.path.abspath(path)
    here = os.getcwd() + os.sep
    return path[len(here) :] if path.startswith(here) else path


def source_lines(function):
    """The lines, now, of the file that a Python function is in; empty if they are not at hand.

    A file that has changed since it was last read is read again. Functions of one file share one list.
    """
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    return linecache.getlines(filename, function.__globals__)


def source_text(function, lines):
    """(path, text, first line of text, line of the function) of a Python function in these lines of its file."""
    code = function.__code__
    if not lines:
        raise OSError(
            f"the source of `{function.__name__}` is not at hand ({code.co_filename}): kernels are compiled from their "
            "source, so they must be in a file"
        )
    return shown_path(code.co_filename), "".join(lines), 1, code.co_firstlineno


def annotations(function):
    """The evaluated annotations of a function's parameters."""
    notes = dict(inspect.get_annotations(function))
    if any(isinstance(v, str) for v in notes.values()):
        scope = dict(function.__globals__)
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                scope[name] = cell.cell_contents
            except ValueError:
                pass
        for name, text in notes.items():
            if isinstance(text, str) and name != "return":
                try:
                    notes[name] = eval(text, scope)  # noqa: S307 - what Python does with annotations
                except Exception as error:
                    raise TypeError(
                        f"the annotation of `{name}` in `{function.__name__}` has no value: {error}"
                    ) from error
    return notes


def _check_layout(name, note):
    """Arguments are row-major; what an annotation says of another layout would not be so."""
    for extra in note.extra:
        words = [*extra.args, *extra.kwargs.values()] if isinstance(extra, TensorView) else [extra]
        for word in words:
            if isinstance(word, TensorLayout) and word is not TensorLayout.ND:
                raise UnsupportedError(
                    f"`{name}` is annotated with the layout {word.name}: arguments are row-major (pl.ND); transpose "
                    "with `pl.transpose`, or in a product with `a_trans=`, `b_trans=`"
                )


def parameter(name, note):
    """(name, direction, kind...) of a parameter, for `frontend::ParamSpec`."""
    direction = "in"
    if isinstance(note, (Out, InOut)):
        direction = "out" if isinstance(note, Out) else "inout"
        note = note.inner
    if isinstance(note, type) and issubclass(note, Tensor):
        note = note()
    if isinstance(note, Tensor):
        _check_layout(name, note)
        shape = None
        if note.shape is not None:
            shape = [("dynamic", d.name, d.id) if isinstance(d, DynVar) else d for d in note.shape]
        return (name, direction, "tensor", shape, None if note.dtype is None else note.dtype.name)
    if isinstance(note, Scalar):
        return (name, direction, "scalar", note.dtype.name)
    if isinstance(note, DataType):
        return (name, direction, "scalar", note.name)
    if isinstance(note, Array):
        return (name, direction, "array", note.length, note.element.name)
    return (name, direction, "any")
