from tilewright.compat import DfxOptions as _DfxOpts
from tilewright.compat import RunConfig, RunResult, run

__all__ = ["RunConfig", "RunResult", "_DfxOpts", "run"]
