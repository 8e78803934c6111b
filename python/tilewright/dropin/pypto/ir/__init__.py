from tilewright.compat import (
    CompiledProgram,
    MemoryPlanner,
    OptimizationStrategy,
    ParamDirection,
    PassManager,
    python_print,
)
from tilewright.compat import ir_compile as compile
from tilewright.parsing import deserialize, serialize
from tilewright.program import Program
from tilewright.program import ProgramFunction as Function

__all__ = [
    "CompiledProgram",
    "Function",
    "MemoryPlanner",
    "OptimizationStrategy",
    "ParamDirection",
    "PassManager",
    "Program",
    "compile",
    "deserialize",
    "python_print",
    "serialize",
]
