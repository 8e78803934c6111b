from tilewright.compat import configure_log, current_level

__all__ = ["configure_log", "current_level"]
