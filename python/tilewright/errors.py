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


class ParserError(ProgramError):
    """The front end refuses a source. Its subclasses have upstream's names."""


class ParserSyntaxError(ParserError, SyntaxError):
    """The source is not Python, or not where it may stand."""


class ParserTypeError(ParserError):
    """Element types, shapes or kinds of values do not fit."""


class UndefinedVariableError(ParserError):
    """A name has no meaning, or no value where it is read."""


class InvalidOperationError(ParserError):
    """An operation that does not exist, or not here."""


class UnsupportedFeatureError(ParserError, UnsupportedError):
    """Python, or the language, but not supported in a kernel."""


class SSAViolationError(ParserError):
    """Upstream's error for a name that is assigned twice under `strict_ssa`. Names can be assigned again here."""


class PartialCodegenError(ProgramError):
    """A kernel has no code to show for itself: an output that no operation writes."""


class VerificationError(ProgramError):
    """Upstream's error for a program that breaks a rule between passes."""


class InternalError(TilewrightError):
    """A mistake of the compiler."""


#: What the front end's first error is, by its code. All others are invalid operations.
_OF_SOURCE = {
    "syntax": ParserSyntaxError,
    "unknown-name": UndefinedVariableError,
    "dtype-mismatch": ParserTypeError,
    "dtype-unsupported": ParserTypeError,
    "same-dtype-cast": ParserTypeError,
    "shape-mismatch": ParserTypeError,
    "type-change": ParserTypeError,
    "wrong-argument": ParserTypeError,
    "dynamic-tile": ParserTypeError,
    "output-not-written": PartialCodegenError,
}


def of(stage, kind, message, diagnostics):
    """The exception for errors that the compiler reports: `stage` is where, `kind` what they mean for a command."""
    if stage == "artifact" and kind != "unsupported":
        return ArtifactError(message, diagnostics)
    if kind == "finding":
        return FindingError(message, diagnostics)
    if stage == "source":
        if kind == "unsupported":
            return UnsupportedFeatureError(message, diagnostics)
        return _OF_SOURCE.get(diagnostics[0][0], InvalidOperationError)(message, diagnostics)
    return (UnsupportedError if kind == "unsupported" else ProgramError)(message, diagnostics)
