"""Tilewright: compiles, runs, checks and debugs PTO tile kernels on an ordinary computer.

import tilewright.language as pl
"""

from . import language
from .compiled import CompiledProgram, execute_compiled
from .config import RunConfig
from .errors import ArtifactError, FindingError, ProgramError, TilewrightError, TilewrightWarning, UnsupportedError
from .session import Options, Session

__version__ = "0.1.0"

__all__ = [
    "ArtifactError",
    "CompiledProgram",
    "FindingError",
    "Options",
    "ProgramError",
    "RunConfig",
    "Session",
    "TilewrightError",
    "TilewrightWarning",
    "UnsupportedError",
    "execute_compiled",
    "language",
]
