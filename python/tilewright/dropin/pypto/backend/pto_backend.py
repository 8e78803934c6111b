from tilewright.compat import PartialCodegenError

__all__ = ["PartialCodegenError"]
