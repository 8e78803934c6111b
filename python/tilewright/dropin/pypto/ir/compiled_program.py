from tilewright.compat import CompiledProgram
from tilewright.compat import to_runtime_shape as _to_runtime_shape
from tilewright.compat import to_torch_dtype as _to_torch_dtype

__all__ = ["CompiledProgram", "_to_runtime_shape", "_to_torch_dtype"]
