"""`@pl.program` and `@pl.function`: programs of several functions, which call each other by name or as `self.f(…)`.

A function says what it is by `type=`; how it is compiled follows from that. The entry of a program is the orchestration
that no other function of the program calls. Shapes come from annotations, and scalars stay parameters: one program
serves all of their values.
"""

import dataclasses
import typing

from . import _native
from . import session as sessions
from .config import check_platform
from .errors import ProgramError, UnsupportedError
from .kernel import JITFunction, scalar_spec
from .language._types import RUNTIME
from .language._words import FunctionType, Level

#: What a function type is to the front end.
_KINDS = {
    FunctionType.Opaque: "opaque",
    FunctionType.Orchestration: "orchestration",
    FunctionType.Graph: "orchestration",
    FunctionType.InCore: "kernel",
    FunctionType.AIC: "kernel",
    FunctionType.AIV: "kernel",
    # A cube and a vector part that run together: one task, whatever it is made of.
    FunctionType.Group: "kernel",
    FunctionType.Inline: "inline",
}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a function, as annotated."""

    name: str
    direction: str
    type: typing.Any

    @property
    def name_hint(self):
        return self.name


class ProgramFunction(JITFunction):
    """A function of the explicit form."""

    def __init__(self, function, type=None, level=None, role=None, auto_scope=True, external_source=None, **options):
        type = FunctionType.Opaque if type is None else type
        if type not in _KINDS:
            raise TypeError(f"pl.function(type=…) takes a pl.FunctionType, got {type!r}")
        kind = "extern" if external_source is not None else "host" if level is Level.HOST else _KINDS[type]
        unknown = sorted(set(options) - {"strict_ssa", "attrs"})
        if unknown:
            raise TypeError(f"pl.function has no option {', '.join(unknown)}")
        super().__init__(function, kind, auto_scope, level=level, role=role, **options)
        self.func_type = type
        self.level = level
        self.role = role
        #: The program of whose class this is a function.
        self.owner = None

    @property
    def name(self):
        return self.__name__

    @property
    def receiver(self):
        """The name of the parameter that is the program, in a function of one."""
        names = self._func.__code__.co_varnames[: self._func.__code__.co_argcount]
        return names[0] if self.owner is not None and names else None

    @property
    def params(self):
        notes = self.annotations()
        return [Parameter(name, direction, notes.get(name)) for name, direction, *_ in self.parameters]

    @property
    def return_types(self):
        note = self.annotations().get("return")
        if note is None:
            return []
        return list(typing.get_args(note)) if typing.get_origin(note) is tuple else [note]

    def check(self):
        """Has the front end read the function, if its annotations say all that it needs to know."""
        if self.kind not in ("host", "extern", "inline") and self._is_typed():
            self.specialise()

    def specialise(self):
        """The function at the tensor level, for its annotations."""
        session = sessions.current()
        arch = check_platform(session.options.platform)
        specs = self._specs((), {}, signature_mode=True)
        return _native.specialise(session.functions, session.functions.id(self), specs, arch)

    def as_python(self, concise=False):
        """The function as text of the language, as the compiler sees it: names resolved, helpers and kernels spliced.

        It parses again (`pl.parse`) and means the same. `concise` leaves out the types of local values.
        """
        return self.specialise().as_python(None, concise)

    def __str__(self):
        return self.as_python()

    def _is_typed(self):
        return all(kind == "scalar" or (kind == "tensor" and None not in rest) for _, _, kind, *rest in self.parameters)

    def _refuse_kind(self):
        if self.kind in ("host", "extern"):
            what = "a host function of several ranks" if self.kind == "host" else "a kernel in C++"
            raise UnsupportedError(f"`{self.__name__}` is {what}, which Tilewright does not run yet")
        if self.kind == "inline":
            raise TypeError(f"`{self.__name__}` is inline: it is called from other functions, not from Python")

    def _signature_specs(self, args, kwargs):
        """Scalars without a value stay parameters."""
        given = {name: RUNTIME for name, _, kind, *_ in self.parameters if kind == "scalar"}
        return super()._signature_specs(args, {**given, **kwargs})

    def _check(self, bound):
        specs = super()._check(bound)
        scalars = {name: rest[0] for name, _, kind, *rest in self.parameters if kind == "scalar"}
        return [
            scalar_spec(self.__name__, name, scalars[name], RUNTIME) if name in scalars else spec
            for spec, (name, *_) in zip(specs, self.parameters)
        ]

    def __repr__(self):
        return f"<pl.function {self.func_type.name} {self.__qualname__}>"


class Program:
    """What `@pl.program` makes of a class."""

    def __init__(self, cls):
        self.name = self.__name__ = cls.__name__
        self.__doc__ = cls.__doc__
        self.__module__ = cls.__module__
        #: The functions of the class.
        self.members = {}
        for name, value in vars(cls).items():
            if isinstance(value, ProgramFunction):
                if value.owner is not None:
                    raise ValueError(f"`{name}` is a function of `{value.owner.name}` and of `{self.name}`")
                value.owner = self
                self.members[name] = value
        if not self.members:
            raise ValueError(f"`{self.name}` has no @pl.function: a program is made of its functions")

    @property
    def functions(self):
        """The functions of the class and those that they call by name, by name."""
        found = dict(self.members)
        queue = list(found.values())
        for function in queue:
            for callee in _callees(function):
                if callee.__name__ not in found:
                    found[callee.__name__] = callee
                    queue.append(callee)
                elif found[callee.__name__] is not callee:
                    raise ValueError(f"two functions of `{self.name}` are called `{callee.__name__}`")
        return found

    @property
    def entry(self):
        """The function that is compiled: an orchestration that no other function calls."""
        called = {id(c) for f in self.members.values() for c in _callees(f) if c is not f}
        uncalled = [f for f in self.members.values() if id(f) not in called]
        for kind in ("host", "orchestration", "opaque", "kernel"):
            found = [f for f in uncalled if f.kind == kind]
            if len(found) == 1:
                return found[0]
            if found:
                names = ", ".join(f"`{f.__name__}`" for f in found)
                raise ProgramError(
                    f"`{self.name}` has several entries ({names}): a program has one, which no other function calls; "
                    f"run one of them as a function: `{self.name}.functions[…]`"
                )
        raise ProgramError(f"`{self.name}` has no entry: each of its functions is called by another, or is inline")

    def compile(self, *args, config=None, **kwargs):
        return self.entry.compile(*args, config=config, **kwargs)

    def lower(self, *args, config=None, **kwargs):
        return self.entry.lower(*args, config=config, **kwargs)

    def __call__(self, *args, config=None, **kwargs):
        return self.entry(*args, config=config, **kwargs)

    def check(self):
        """Has the front end read the program."""
        self.entry.check()

    def as_python(self, concise=False):
        """The program as text of the language, as the compiler sees it: a class with one function, into which helpers
        and kernels are spliced. It parses again (`pl.parse`) and means the same."""
        return self.entry.specialise().as_python(self.name, concise)

    def __str__(self):
        return self.as_python()

    def __repr__(self):
        return f"<pl.program {self.name}>"


def _callees(function):
    """The functions that one calls or launches by name."""
    functions = sessions.current().functions
    return [functions.at(number) for number in _native.callees(functions, functions.id(function))]


def program(cls=None):
    """Makes a program of a class of `@pl.function`s."""
    return program if cls is None else Program(cls)


def function(fn=None, **options):
    """Makes a function of the language: of a program, or free."""
    if fn is None:
        return lambda f: ProgramFunction(f, **options)
    return ProgramFunction(fn, **options)


def inline(fn):
    """Makes a helper that is spliced where it is called."""
    return ProgramFunction(fn, type=FunctionType.Inline)
