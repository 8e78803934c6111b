"""Device timing, which is not simulated: what harnesses import exists, and using it says so."""

from tilewright.compat import BenchmarkUnavailable, benchmark

_STRACE_LOG_LEVEL = "v9"


def _capture_fd_stderr(*_, **__):
    raise BenchmarkUnavailable("the simulated machine has no clock yet, so there are no device times to report")


_parse_stats_from_strace = _capture_fd_stderr

__all__ = ["benchmark"]
