"""Upstream's names for Tilewright. On the path only under `tilewright run`, `tilewright env` or TILEWRIGHT_DROPIN=1."""

from tilewright import __version__
from tilewright.compat import LogLevel
from tilewright.errors import InternalError, VerificationError

from . import ir, language
from .runtime import RunConfig

TILEWRIGHT = True

__all__ = [
    "InternalError",
    "LogLevel",
    "RunConfig",
    "TILEWRIGHT",
    "VerificationError",
    "__version__",
    "ir",
    "language",
]
