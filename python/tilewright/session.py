"""A session: the options that hold for its calls, and the programs it has compiled.

The session of a script is made by its first call, from the defaults that are set then: `tilewright run --seed 3 s.py`
sets them before the script starts. Two sessions share nothing.
"""

import contextlib
import contextvars
import dataclasses
import threading

from .config import check_names, check_platform
from .errors import FindingError
from .names import Functions


@dataclasses.dataclass(frozen=True)
class Options:
    """What a run does besides running.

    check: None, or names of checks with commas between, or "all". `levels`: execute at every level and compare bits.
        `races`: accesses of tasks, blocks and cores that conflict and that nothing the program says orders.
    seed: of every choice that could be otherwise; results do not depend on it.
    threads: host threads; None means all cores. Results do not depend on it.
    profile: numerics; None means the platform's own (`a2a3` or `a5`); `cpu-compat` is upstream's CPU model.
    platform: the machine of calls that name none (a `RunConfig` names one).
    """

    check: "str | None" = None
    seed: int = 0
    threads: "int | None" = None
    profile: "str | None" = None
    platform: str = "a2a3"

    def __post_init__(self):
        check_names(self.check)
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, got {self.threads}")
        if self.profile not in (None, "a2a3", "a5", "cpu-compat"):
            raise ValueError(f"profile {self.profile!r} is not one of a2a3, a5, cpu-compat")
        check_platform(self.platform)


class Session:
    def __init__(self, options=None):
        self.options = options or Options()
        self.functions = Functions()
        #: (function, arguments' types, arch, profile) -> compiled programs, newest first.
        self.programs = {}
        #: (program, wanted folder) -> the call that wrote it.
        self._kept = {}
        self.findings = []
        #: Runs that were checked, and nothing was found.
        self.checked = 0

    def keep(self, compiled, wanted):
        """Writes the folder of a program, once however often it is called."""
        key = (id(compiled.native), str(wanted))
        if key not in self._kept:
            compiled.output_dir  # noqa: B018 - written when first asked for
            # Holds the program too, so that no other one gets its id.
            self._kept[key] = compiled

    @contextlib.contextmanager
    def watch(self):
        """Remembers findings, so that a script that swallows one does not pass."""
        try:
            yield
        except FindingError as finding:
            self.findings.append(finding)
            raise

    @contextlib.contextmanager
    def active(self):
        """Makes this the session of the calls inside the block."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)


_current = contextvars.ContextVar("tilewright_session", default=None)


@dataclasses.dataclass
class _Script:
    """The process's script: the defaults of its session and, from its first call on, the session."""

    defaults: Options = Options()
    session: "Session | None" = None
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)


_script = _Script()


def set_defaults(options):
    """Options of the session that the script's first call will create."""
    _script.defaults = options


def current():
    """The active session, or else the script's."""
    active = _current.get()
    if active is not None:
        return active
    with _script.lock:
        if _script.session is None:
            _script.session = Session(_script.defaults)
        return _script.session


def script_session():
    """The script's session, if a call has created one."""
    return _script.session
