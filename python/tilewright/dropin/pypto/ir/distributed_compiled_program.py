from tilewright.compat import DistributedCompiledProgram, DistributedConfig

__all__ = ["DistributedCompiledProgram", "DistributedConfig"]
