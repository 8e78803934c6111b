"""Upstream's names for Tilewright. On the path only under `tilewright run`, `tilewright env` or TILEWRIGHT_DROPIN=1."""

from tilewright import __version__
from tilewright.compat import LogLevel

from . import language
from .runtime import RunConfig

TILEWRIGHT = True

__all__ = ["LogLevel", "RunConfig", "TILEWRIGHT", "__version__", "language"]
