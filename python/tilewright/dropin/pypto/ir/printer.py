from tilewright.compat import python_print

__all__ = ["python_print"]
