"""Names of the multi-rank part of the language (`pld`). They can be mentioned; programs that use them are refused."""

from . import _names
from ._marker import Marker, Namespace
from ._types import DistributedTensor
from ._words import AtomicType, NotifyOp, ReduceOp, WaitCmp

globals().update({name: Marker(f"distributed.{name}") for name in _names.DISTRIBUTED_TOP})

tensor = Namespace("distributed.tensor", _names.DISTRIBUTED_TENSOR)
tile = Namespace("distributed.tile", _names.DISTRIBUTED_TILE)
system = Namespace("distributed.system", _names.DISTRIBUTED_SYSTEM)

__all__ = [name for name in globals() if not name.startswith("_")]
