"""Program forms that Tilewright does not compile yet. They can be declared; compiling one is refused by name."""

from ..errors import UnsupportedError


class LegacyProgram:
    """A `@pl.program` class or `@pl.function`: declared, not compiled."""

    def __init__(self, form, target, options=None):
        self.form = form
        self.target = target
        self.options = options or {}
        self.__name__ = getattr(target, "__name__", form)
        self.__doc__ = getattr(target, "__doc__", None)
        self._func = target

    def refuse(self):
        raise UnsupportedError(
            f"`{self.__name__}` is declared with @pl.{self.form}, which Tilewright does not compile; "
            "@pl.jit and @pl.jit.inline are supported"
        )

    def compile(self, *args, **kwargs):
        self.refuse()

    lower = compile

    def __call__(self, *args, **kwargs):
        self.refuse()

    def __repr__(self):
        return f"<pl.{self.form} {self.__name__}>"


def program(cls=None, **options):
    if cls is None:
        return lambda c: LegacyProgram("program", c, options)
    return LegacyProgram("program", cls, options)


def function(fn=None, **options):
    if fn is None:
        return lambda f: LegacyProgram("function", f, options)
    return LegacyProgram("function", fn, options)


def inline(fn):
    return LegacyProgram("inline", fn)


def _refused(name):
    def refuse(*args, **kwargs):
        raise UnsupportedError(f"pl.{name} is not supported: programs are made with @pl.jit")

    refuse.__name__ = name
    return refuse


parse = _refused("parse")
loads = _refused("loads")
parse_program = _refused("parse_program")
loads_program = _refused("loads_program")
