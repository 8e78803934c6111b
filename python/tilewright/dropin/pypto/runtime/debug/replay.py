from tilewright.compat import invalidate_binary_cache

__all__ = ["invalidate_binary_cache"]
