from tilewright.compat import OptimizationStrategy, PassManager

__all__ = ["OptimizationStrategy", "PassManager"]
