from tilewright.compat import CompiledProgram, MemoryPlanner, OptimizationStrategy, ParamDirection, PassManager
from tilewright.compat import ir_compile as compile
from tilewright.compat import python_print

__all__ = [
    "CompiledProgram",
    "MemoryPlanner",
    "OptimizationStrategy",
    "ParamDirection",
    "PassManager",
    "compile",
    "python_print",
]
