"""`tilewright supports`: what of a script or a `.pto` file is not supported, with places; nothing is run.

A script is imported (its top level runs, its `__main__` part does not), and every kernel in it is

* compiled, if its annotations say shapes and element types (a dynamic extent stands for any, a scalar without a default
  is a run-time value), which reports all that the compile comes across, and
* read, with its helpers, name by name: what a compile does not get to behind its first errors is found here.

A kernel without shapes, or made inside a function, is only read. For a kernel that compiles, what reading finds is in
code that the compile leaves out, and is listed as such. What depends on values of a run is not seen.

Of a `.pto` file every unsupported operation is listed; a file without them is decoded for the machine too.
"""

import ast
import dataclasses
import inspect
import json
import os
import pathlib
import re
import runpy
import sys
import types

from . import _native
from . import session as sessions
from .errors import ProgramError, TilewrightError, UnsupportedError
from .kernel import JITFunction, scalar_spec
from .names import shown_path
from .program import Program, ProgramFunction

#: Kinds of functions that are compiled with what calls them only.
HELPERS = ("inline", "kernel", "opaque")


@dataclasses.dataclass
class Finding:
    """One thing that is not supported, or wrong: `kind` is "unsupported", "error", or "not reached"."""

    kind: str
    code: str
    message: str
    place: "str | None"
    kernels: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Kernel:
    """A kernel and how far it was looked at: `verdict` is "compiles", "refused" or "read only" (and why)."""

    name: str
    place: str
    verdict: str
    why: str = ""


class Report:
    def __init__(self, file, platform):
        self.file = str(file)
        self.platform = platform
        self.kernels = []
        self.findings = []

    def add(self, kind, code, message, place, kernel):
        """A finding; one of several kernels' is listed once. An operation found both ways too."""
        for old in self.findings:
            if old.place == place and place is not None and (old.message == message or old.code == code):
                break
        else:
            old = Finding(kind, code, message, place)
            self.findings.append(old)
        if kind != "not reached":
            old.kind = kind if old.kind == "not reached" else old.kind
        if kernel not in old.kernels:
            old.kernels.append(kernel)

    def finish(self):
        self.findings.sort(key=lambda f: _order(f.place))

    def count(self, kind):
        return sum(f.kind == kind for f in self.findings)

    @property
    def exit_code(self):
        return 4 if self.count("unsupported") else 1 if self.count("error") else 0

    def to_json(self):
        return json.dumps(
            {
                "file": self.file,
                "platform": self.platform,
                "supported": self.exit_code == 0,
                "kernels": [dataclasses.asdict(k) for k in self.kernels],
                "findings": [dataclasses.asdict(f) for f in self.findings],
            },
            indent=2,
        )

    def to_text(self):
        lines = [f"{f.place or self.file}: {f.kind}: {f.message} [{f.code}]" for f in self.findings]
        lines += [f"{k.place}: {k.name}: {k.verdict}{f' ({k.why})' if k.why else ''}" for k in self.kernels]
        if not self.kernels:
            lines.append(f"{self.file}: no kernels found")
        verdict = "nothing unsupported was found"
        if self.exit_code:
            verdict = f"{self.count('unsupported')} unsupported, {self.count('error')} wrong"
        if self.count("not reached"):
            verdict += f", {self.count('not reached')} in code that the compile leaves out"
        return "\n".join([*lines, f"{self.file} on {self.platform}: {len(self.kernels)} kernel(s); {verdict}"])


def _order(place):
    path, _, rest = (place or "").partition(":")
    return (path, [int(n) for n in re.findall(r"\d+", rest)])


def of_kernels(path, platform):
    """The report of a `.pto` file."""
    report = Report(path, platform)
    runnable, needs = _native.support_of_kernels(_source(path), str(path), platform)
    for kind, code, message, place in needs:
        report.add(kind, code, message, place, "")
    report.kernels = [Kernel(name, str(path), "decodes") for name in runnable]
    report.finish()
    return report


def of_script(path, platform):
    """The report of a script."""
    text = _source(path)
    report = Report(path, platform)
    session = sessions.Session(sessions.Options(platform=platform))
    with session.active():
        module = _import(path, report)
        met = []
        for value in module.values():
            if isinstance(value, (JITFunction, Program)) and value not in met and _is_in(value, path):
                met.append(value)
        members = [f for p in met if isinstance(p, Program) for f in p.members.values()]
        functions = [f for f in met if isinstance(f, JITFunction)]
        known = {_line(f) for f in [*functions, *members]}
        has_entry = not all(map(_is_helper, functions)) or bool(members)
        for function in met:
            if isinstance(function, Program):
                try:
                    function = function.entry
                except (TilewrightError, ValueError) as error:
                    report.add("error", "program", str(error), None, function.name)
                    continue
            # Helpers are looked at with what calls them.
            if not _is_helper(function) or not has_entry:
                _kernel(report, session, function, platform)
        _inside(report, session, path, text, module, platform, known)
    report.finish()
    return report


def _import(path, report):
    """The names of the script's top level. What an import ends in is a finding."""
    try:
        return runpy.run_path(path, run_name=pathlib.Path(path).stem)
    except TilewrightError as error:
        kind = "unsupported" if error.exit_code == 4 else "error"
        report.add(kind, "import", str(error).splitlines()[0], _raised_at(error, path), "")
    except SystemExit as stop:
        report.add("error", "import", f"the script exits when it is imported ({stop.code})", None, "")
    except Exception as error:  # noqa: BLE001 - a script may raise anything
        message = f"the script cannot be imported: {type(error).__name__}: {error}"
        report.add("error", "import", message, _raised_at(error, path), "")
    return {}


def _raised_at(error, path):
    place = None
    frame = error.__traceback__
    while frame is not None:
        if os.path.abspath(frame.tb_frame.f_code.co_filename) == os.path.abspath(path):
            place = f"{path}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place


def _target(function):
    """The Python function or class behind a declaration."""
    return next(iter(function.members.values()))._func if isinstance(function, Program) else function._func


def _is_in(function, path):
    return os.path.abspath(_target(function).__code__.co_filename) == os.path.abspath(path)


def _line(function):
    return _target(function).__code__.co_firstlineno


def _place(function):
    code = _target(function).__code__
    return f"{shown_path(code.co_filename)}:{code.co_firstlineno}"


def _is_helper(function):
    """Whether a function is compiled with what calls it only. One of the explicit form is a program of its own."""
    return function.kind == "inline" or (function.kind in HELPERS and not isinstance(function, ProgramFunction))


def _kernel(report, session, function, platform):
    name, place = function.__name__, _place(function)
    try:
        function._refuse_kind()
    except UnsupportedError as error:
        report.add("unsupported", "unsupported-program", str(error), place, name)
        report.kernels.append(Kernel(name, place, "refused"))
        return
    except TypeError:
        pass  # A helper: it is read.
    try:
        specs, why = _specs(function)
    except (TypeError, ValueError) as error:
        report.add("error", "annotation", str(error), place, name)
        specs, why = None, "its annotations are wrong"
    _look(report, session, function, specs, why, platform, name, place)


def _look(report, session, function, specs, why, platform, name, place):
    compiles, compiled, read = _native.support(session.functions, session.functions.id(function), specs, platform)
    for need in compiled:
        report.add(*need, name)
    for kind, code, message, where in read:
        report.add("not reached" if compiles else kind, code, message, where, name)
    verdict = "read only" if compiles is None else "compiles" if compiles else "refused"
    report.kernels.append(Kernel(name, place, verdict, why))


def _specs(function):
    """The types of the arguments that the annotations say, or None and what they do not say."""
    if _is_helper(function):
        return None, "a helper has the types of each call"
    defaults = function.signature.parameters
    specs = []
    for name, _, kind, *rest in function.parameters:
        default = defaults[name].default
        if kind == "tensor" and None not in rest:
            specs.append(("tensor", rest[1], [1 if isinstance(d, tuple) else d for d in rest[0]]))
        elif kind == "scalar" and default is inspect.Parameter.empty:
            specs.append(("runtime", rest[0]))
        elif kind in ("scalar", "any") and default is not inspect.Parameter.empty:
            specs.append(scalar_spec(function.__name__, name, rest[0] if kind == "scalar" else None, default))
        else:
            return None, f"the annotation of `{name}` has no shape and element type"
    return specs, ""


def _source(path):
    """The text of a file, or a program error that says where it is not one."""
    data = pathlib.Path(path).read_bytes()
    try:
        text = data.decode()
        if pathlib.Path(path).suffix != ".pto":
            ast.parse(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ProgramError(f"{path}:{line}: not a text in UTF-8") from None
    except SyntaxError as error:
        raise ProgramError(f"{path}:{error.lineno}:{error.offset}: Python syntax error: {error.msg}") from None
    return text


def _inside(report, session, path, text, module, platform, known):
    """Kernels that functions of the script make: they do not exist yet, so their source is read."""
    codes = {(c.co_name, c.co_firstlineno): c for c in _codes(compile(text, path, "exec", dont_inherit=True))}
    for node, owner in _nested(ast.parse(text)):
        line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        forms = {_dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list}
        forms = {f.split(".", 1)[1] for f in forms if f and "." in f}
        if line in known or not forms & {"jit", "jit.inline", "jit.incore", "jit.opaque"}:
            continue
        code = codes.get((node.name, line))
        if code is None:
            continue
        cells = tuple(types.CellType() for _ in code.co_freevars)
        function = JITFunction(types.FunctionType(code, module, node.name, None, cells), "inline")
        why = f"it is made inside `{owner}`"
        _look(report, session, function, None, why, platform, node.name, f"{shown_path(path)}:{line}")


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _nested(tree, owner=None):
    for node in ast.iter_child_nodes(tree):
        inner = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else owner
        if isinstance(node, ast.FunctionDef) and owner is not None:
            yield node, owner
        yield from _nested(node, inner)


def _dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return base and f"{base}.{node.attr}"
    return None


def main(options, parser):
    """The command."""
    from .cli import exit_code, prepare

    if not os.path.isfile(options.file):
        parser.error(f"{options.file}: no such file")
    reports = []

    def look():
        if options.file.endswith(".pto"):
            reports.append(of_kernels(options.file, options.platform))
        else:
            prepare(options.file, [])
            reports.append(of_script(options.file, options.platform))

    code = exit_code(look)
    if not reports:
        return code
    print(reports[0].to_json() if options.json else reports[0].to_text(), file=sys.stdout)
    return reports[0].exit_code
