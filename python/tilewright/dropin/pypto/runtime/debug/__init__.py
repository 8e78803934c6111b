from tilewright.compat import invalidate_binary_cache, rebuild_kernel_cpp_from_pto
from tilewright.replay import replay

__all__ = ["invalidate_binary_cache", "rebuild_kernel_cpp_from_pto", "replay"]
