from tilewright.language.distributed import *  # noqa: F403
from tilewright.language.distributed import __all__, __doc__
