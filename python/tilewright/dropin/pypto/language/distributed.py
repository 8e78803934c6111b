from tilewright.language.distributed import *  # noqa: F403
