"""What the names of the language are outside a kernel: markers that know their canonical name.

Kernel bodies are never executed. The front end parses their source and asks what each name means; for a name of the
language the answer is its canonical dotted name (`add`, `tensor.dim`, `Level.CORE_GROUP`). Calling a marker from
ordinary Python is therefore always a mistake, and says so.
"""

import enum


class Marker:
    """An operation or scope of the language, by its canonical name."""

    __slots__ = ("canonical",)

    def __init__(self, canonical):
        self.canonical = canonical

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"pl.{self.canonical} was called outside a kernel: it has meaning only in the body of a @pl.jit function, "
            "which is compiled from its source and never executed as Python"
        )

    def __enter__(self):
        return self()

    def __exit__(self, *_):
        return False

    def __iter__(self):
        return self()

    def __repr__(self):
        return f"pl.{self.canonical}"


class Namespace:
    """A group of names: `pl.tensor`, `pl.system`."""

    def __init__(self, canonical, names):
        self.canonical = canonical
        for name in names:
            setattr(self, name, names[name] if isinstance(names, dict) else Marker(f"{canonical}.{name}"))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"the language has no pl.{self.canonical}.{name}")

    def __repr__(self):
        return f"<namespace pl.{self.canonical}>"


class Word(enum.Enum):
    """Base of the language's enumerations. A member's canonical name is `Level.CORE_GROUP`."""

    @property
    def canonical(self):
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self):
        return f"pl.{self.canonical}"
