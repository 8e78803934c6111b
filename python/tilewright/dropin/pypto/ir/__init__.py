from tilewright.compat import (
    CompiledProgram,
    MemoryPlanner,
    OptimizationStrategy,
    ParamDirection,
    PassManager,
    python_print,
)
from tilewright.compat import ir_compile as compile

__all__ = [
    "CompiledProgram",
    "MemoryPlanner",
    "OptimizationStrategy",
    "ParamDirection",
    "PassManager",
    "compile",
    "python_print",
]
