from tilewright.compat import ScalarSpec, TensorSpec

__all__ = ["ScalarSpec", "TensorSpec"]
