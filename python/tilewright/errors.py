"""What a compile or a run may end in. The message is the rendered diagnostic, with the user's line and a caret."""


class TilewrightError(Exception):
    """Base class. `diagnostics` holds (code, message, place) of each, place being `file:line:col` or None."""

    #: The exit code of `tilewright run` when a script ends in this error.
    exit_code = 1

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ProgramError(TilewrightError):
    """The program or its call is wrong."""


class UnsupportedError(TilewrightError, NotImplementedError):
    """Legal, but not supported; the message names what is."""

    exit_code = 4


class FindingError(TilewrightError):
    """A check found something."""

    exit_code = 3


class ArtifactError(ProgramError, ValueError):
    """An artifact folder that is not one, or is damaged."""


class TilewrightWarning(UserWarning):
    """A warning about a program."""
