"""The kernel language: what `import pypto.language as pl` gives upstream.

Decorators and annotations run at `def` time. All other names are markers: they mean something to the front end, which
parses the source of the functions, and nothing to Python.
"""

from ..kernel import jit
from ..parsing import loads, parse
from ..program import function, inline, program
from . import _names, _types, _words
from ._marker import Marker, Namespace
from ._types import (
    RUNTIME,
    Array,
    DataType,
    DynVar,
    InOut,
    MemRef,
    Out,
    Scalar,
    Tensor,
    TensorView,
    Tile,
    TileView,
    dynamic,
)
from ._words import (
    AtomicType,
    CmpType,
    ForKind,
    FunctionType,
    Level,
    MaskPattern,
    MemorySpace,
    PadValue,
    PipeType,
    Role,
    RoundMode,
    ScopeMode,
    SplitMode,
    TensorLayout,
    TileLayout,
)

Mem = MemorySpace
parse_program, loads_program = parse, loads

globals().update(_types.DTYPES)
globals().update({name: Marker(name) for name in _names.TOP})

ND, DN, NZ = TensorLayout.ND, TensorLayout.DN, TensorLayout.NZ

tensor = Namespace("tensor", _names.TENSOR)
tile = Namespace("tile", _names.TILE)
tile.MaskPattern = MaskPattern
tensor.MaskPattern = MaskPattern
system = Namespace("system", _names.SYSTEM)
array = Namespace("array", _names.ARRAY)
prefetch = Namespace("prefetch", _names.PREFETCH)

__all__ = [name for name in globals() if not name.startswith("_")]


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    import difflib

    near = difflib.get_close_matches(name, __all__, n=1)
    hint = f"; did you mean pl.{near[0]}?" if near else ""
    raise AttributeError(f"the language has no pl.{name}{hint}")
