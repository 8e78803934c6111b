from tilewright.compat import BackendType, get_backend_type, set_backend_type

__all__ = ["BackendType", "get_backend_type", "set_backend_type"]
