"""Element types and annotations: everything a kernel's signature is written with. These do run, at `def` time."""

import itertools


class DataType:
    """An element type. `name` is the spelling in the language (`FP32`)."""

    __slots__ = ("name", "bits")

    def __init__(self, name, bits):
        self.name = name
        self.bits = bits

    def get_byte(self):
        """Bytes of one element, rounded up."""
        return (self.bits + 7) // 8

    def get_bit(self):
        return self.bits

    def __repr__(self):
        return f"pl.{self.name}"

    def __reduce__(self):
        return (_dtype, (self.name,))


_BITS = {
    "BOOL": 1, "INT4": 4, "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64, "INDEX": 64,
    "UINT4": 4, "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64,
    "FP4": 4, "FP8E4M3FN": 8, "FP8E5M2": 8, "FP8E8M0": 8, "FP16": 16, "FP32": 32, "FP64": 64, "BF16": 16,
    "HF4": 4, "HF8": 8, "TASK_ID": 64,
}  # fmt: skip

DTYPES = {name: DataType(name, bits) for name, bits in _BITS.items()}


def _dtype(name):
    return DTYPES[name]


_ids = itertools.count()


class DynVar:
    """A symbolic extent. Two extents are one if they are the same object; the name is for people."""

    __slots__ = ("name", "id")

    def __init__(self, name):
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f"pl.dynamic takes an identifier, got {name!r}")
        self.name = name
        self.id = next(_ids)

    def __repr__(self):
        return f"pl.dynamic({self.name!r})"


def dynamic(name):
    """A symbolic extent for annotations: its value is read from each call's arguments."""
    return DynVar(name)


def _extent(value, where):
    if isinstance(value, DynVar):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{where}: an extent is an integer or pl.dynamic(...), got {value!r}")
    value = value.__index__()
    if value < 0 and value != -1:
        raise ValueError(f"{where}: an extent cannot be negative, got {value}")
    return value


class _Shaped:
    """`X`, `X[[dims]]`, `X[[dims], dtype]`, `X[[dims], dtype, layout...]`."""

    kind = "?"

    def __init__(self, shape=None, dtype=None, extra=()):
        self.shape = shape
        self.dtype = dtype
        self.extra = extra

    def __class_getitem__(cls, item):
        if not isinstance(item, tuple):
            item = (item,)
        shape, dtype, extra = item[0], item[1] if len(item) > 1 else None, item[2:]
        where = f"pl.{cls.__name__}"
        if not isinstance(shape, (list, tuple)):
            raise TypeError(f"{where}[...] takes a list of extents first, got {shape!r}")
        if dtype is not None and not isinstance(dtype, DataType):
            raise TypeError(f"{where}[...] takes an element type second, got {dtype!r}")
        return cls([_extent(d, where) for d in shape], dtype, extra)

    def __repr__(self):
        inside = [repr(self.shape)] if self.shape is not None else []
        inside += [repr(x) for x in (self.dtype, *self.extra) if x is not None]
        return f"pl.{type(self).__name__}" + (f"[{', '.join(inside)}]" if inside else "")


class Tensor(_Shaped):
    """An array in global memory."""


class Tile(_Shaped):
    """A buffer on a core."""


class DistributedTensor(Tensor):
    """A tensor in a window of a rank's memory."""


class Scalar:
    """`pl.Scalar[dtype]`: a scalar argument. Its value is a constant of the compiled program."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __class_getitem__(cls, dtype):
        if not isinstance(dtype, DataType):
            raise TypeError(f"pl.Scalar[...] takes an element type, got {dtype!r}")
        return cls(dtype)

    def __repr__(self):
        return f"pl.Scalar[{self.dtype!r}]"


class Array:
    """`pl.Array[n, element]`: a small local array of scalars or task ids."""

    def __init__(self, length, element):
        self.length = length
        self.element = element

    def __class_getitem__(cls, item):
        if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[1], DataType):
            raise TypeError(f"pl.Array[...] takes a length and an element type, got {item!r}")
        return cls(_extent(item[0], "pl.Array"), item[1])

    def __repr__(self):
        return f"pl.Array[{self.length}, {self.element!r}]"


class _Directed:
    def __init__(self, inner):
        self.inner = inner

    def __class_getitem__(cls, inner):
        if isinstance(inner, type) and issubclass(inner, Tensor):
            inner = inner()
        if isinstance(inner, (Scalar, DataType)):
            raise TypeError(f"pl.{cls.__name__}[...]: a scalar is passed by value and cannot be an output")
        if not isinstance(inner, (Tensor, Tile)):
            raise TypeError(f"pl.{cls.__name__}[...] takes a tensor annotation, got {inner!r}")
        return cls(inner)

    def __repr__(self):
        return f"pl.{type(self).__name__}[{self.inner!r}]"


class Out(_Directed):
    """The kernel writes this tensor. Elements that it does not write keep the caller's contents."""


class InOut(_Directed):
    """The kernel reads and writes this tensor."""


class MemRef:
    """A named place in a buffer. Steers placement only, never results."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def __getitem__(self, _):
        return self


class TensorView:
    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs


class TileView(TensorView):
    pass


class _Runtime:
    """`pl.RUNTIME`: keep a scalar a parameter of the compiled program instead of a constant of it."""

    def __repr__(self):
        return "pl.RUNTIME"


RUNTIME = _Runtime()
