from tilewright.compat import rebuild_kernel_cpp_from_pto

__all__ = ["rebuild_kernel_cpp_from_pto"]
