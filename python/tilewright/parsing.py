"""`pl.parse` and `pl.loads`: programs and functions from text, as if they stood in a module of their own.

Serialised programs are such texts too: what `as_python` prints, under a line that says so.
"""

import itertools
import linecache

from . import _native
from .errors import ArtifactError
from .kernel import JITFunction
from .program import Program

#: The first line of a serialised program.
_HEADER = b"# tilewright program, text of the language, 1\n"

_count = itertools.count(1)


def parse(text, filename=None, source_map=None):
    """The one program or function of a text. `pl` and `pld` need not be imported in it.

    A text that is not Python is a ParserSyntaxError, a SyntaxError; one that defines no program and no function, or
    several, a ValueError. The front end reads what it finds: its errors point into the text, which is called
    `filename`.
    """
    del source_map  # places are those of the text
    if not isinstance(text, str):
        raise TypeError(f"pl.parse takes a text, got {type(text).__name__}")
    return _read(text, filename or f"<text {next(_count)}>")


def loads(path):
    """The one program or function of a file."""
    with open(path, encoding="utf-8") as file:
        return _read(file.read(), str(path))


def serialize(thing):
    """A program or function as bytes: the language's text of what the compiler makes of it."""
    if not hasattr(thing, "as_python"):
        raise TypeError(f"ir.serialize takes a program or a function, got {type(thing).__name__}")
    return _HEADER + thing.as_python(concise=True).encode()


def deserialize(data):
    """What `serialize` was given, to be compiled, run or printed."""
    data = bytes(data)
    if not data.startswith(_HEADER):
        raise ArtifactError("ir.deserialize: these bytes are no serialised program")
    return parse(data.decode(), filename="<serialised>")


def _read(text, filename):
    from . import language
    from .language import distributed

    _native.check_syntax(filename, text)
    # The front end finds the source of functions where Python does.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"__name__": "parsed", "__builtins__": __builtins__, "pl": language, "pld": distributed}
    exec(compile(text, filename, "exec"), scope)  # noqa: S102 - a text is a module: Python runs its `def`s
    found = _unique(scope.values(), Program) or _unique(scope.values(), JITFunction, filename)
    if len(found) != 1:
        names = ", ".join(f"`{f.__name__}`" for f in found)
        what = f"{len(found)} programs or functions ({names})" if found else "no @pl.program and no @pl.function"
        raise ValueError(f"{filename}: a text has one program or function, and this one has {what}")
    if hasattr(found[0], "check"):
        found[0].check()
    return found[0]


def _unique(values, kind, filename=None):
    """The values of a kind, each once, those of this text alone."""
    found = []
    for value in values:
        here = filename is None or getattr(value, "_func", None) and value._func.__code__.co_filename == filename
        if isinstance(value, kind) and here and all(value is not f for f in found):
            found.append(value)
    return found
