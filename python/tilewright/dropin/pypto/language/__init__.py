from tilewright import language as _language
from tilewright.language import *  # noqa: F403
from tilewright.language import __all__, __doc__


def __getattr__(name):
    return getattr(_language, name)
