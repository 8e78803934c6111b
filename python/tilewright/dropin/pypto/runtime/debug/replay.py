import sys
import types

from tilewright.compat import invalidate_binary_cache
from tilewright.replay import main, replay

__all__ = ["invalidate_binary_cache", "main", "replay"]


class _CallableModule(types.ModuleType):
    """Upstream's package has a function with the name of this module: whichever is found can be called."""

    __call__ = staticmethod(replay)


if __name__ == "__main__":
    raise SystemExit(main())
sys.modules[__name__].__class__ = _CallableModule
