"""What upstream's negative tests are about, in our words, and which of our rules that is.

A test states its error as a sentence of upstream's. Words of it tell what it is about: the first class that has all
its words in the sentence says which of our rules may answer. `ptoas_rules.toml` beside this file, where it is there,
has the classes of the verifier's rules; here are broad ones for all others.
"""

import pathlib
import re

# Rules that several classes have.
_OPERANDS = {"operand-types", "operand-kind", "operand-space", "operand-layout", "arity", "results", "destinations"}
_ATTRIBUTES = {"attribute-missing", "attribute-value", "attribute-unknown", "syntax"}
_SHAPES = {
    "box-shape",
    "valid-region",
    "valid-extent",
    "valid-operands",
    "valid-shape",
    "result-type",
    "dest-type",
    "axes",
}
_SHAPES |= {
    "window",
    "tile-alignment",
    "tile-layout",
    "operand-types",
    "operand-layout",
    "same-bytes",
    "syntax",
    "scratch",
}
_ADDRESSES = {"tile-address", "tile-alignment", "tile-capacity", "over-capacity", "memory-alignment", "memory-capacity"}
_LEVELS = {"level-address", "level-reserve", "level-assign"}
_ADDRESSES |= {"memory-reserved", "memory-in-place", "memory-scratch", "memory-overlap", "window", "valid-extent"}

# Words (a pattern; any of them), and rules of ours. The first that matches counts.
CLASSES = [
    (r"--enable-op-fusion", {"fusion-arch", "fusion-level"}),
    (r"--enable-bufid_sync", {"sync-tokens-arch"}),
    (r"Error: .*--", {None}),
    (
        r"--pto-level=|PlanMemory is skipped|explicit 'base'",
        {"tile-address", "scratch", "scratch-needed", "reserved-buffer", "partly-placed", *_LEVELS},
    ),
    (r"align|overflow|capacity|exceeds|out of range for|no-alias|overlap", _ADDRESSES),
    (
        r"element type|dtype|type pair|bytes wide|precision",
        _OPERANDS | {"dest-type", "same-type", "store-dtype", "fix-pipe"},
    ),
    (r"only supported|only on A5", {"architecture", "fix-pipe"}),
    (r"shape|valid|rows|cols|dimension|count|multiple of|positive|size", _SHAPES),
    (r"layout|major|fractal|boxed|pad", {"tile-layout", "operand-layout", "scratch", "result-type"}),
    (r"loc=|space|GM|vec|scaling", {"operand-space", "core", "operand-kind", "cache-target", "fix-pipe"}),
    (r"split|pipe|slot|peer|reserve", {"fifo-init", "fifo-end", "reserved-buffer", "core"}),
    (r"event|flag|barrier|sync", {"sync-event"} | _ATTRIBUTES),
    (r"\btmp\b", {"scratch", "scratch-needed", "arity", "operand-types"}),
    (r"attr|mode|one of|exactly|not allow|not accept", _ATTRIBUTES | {"fix-pipe", "arity"}),
    (r"block|region|yield|section|struct", {"region-count", "region-args", "block-end", "struct-field", "core"}),
    (r"function|symbol|callee", {"call", "return-values", "function-params", "reserved-buffer"}),
    (r"", _OPERANDS | _ATTRIBUTES | {"pointer-use", "valid-shape"}),
]

# Rules that refuse what is legal.
UNSUPPORTED = {"backend", "not-a-kernel", "order-no-partner", "memory-no-partner"}

# Operations of upstream's lowered form, and what a file has in their place.
_INIT = ("pto.aic_initialize_pipe", "pto.aiv_initialize_pipe")
SAME_OPERATION = {
    "pto.initialize_l2l_pipe": _INIT,
    "pto.initialize_l2g2l_pipe": _INIT,
    "pto.tpush": ("pto.tpush_to_aiv", "pto.tpush_to_aic"),
    "pto.tpop": ("pto.tpop_from_aic", "pto.tpop_from_aiv"),
    "pto.tfree": ("pto.tfree_from_aic", "pto.tfree_from_aiv"),
    "pto.talloc": ("pto.talloc_to_aiv", "pto.talloc_to_aic"),
    "pto.comm.tput_async": ("pto.tput_async",),
    "pto.comm.tget_async": ("pto.tget_async",),
}


def _table():
    """The classes of `ptoas_rules.toml`: lists of words, and of rules. (Python has a reader of TOML since 3.11.)"""
    path = pathlib.Path(__file__).with_suffix(".toml")
    text = path.read_text() if path.is_file() else ""
    lists = [
        re.findall(r'"((?:[^"\\]|\\.)*)"', found) for found in re.findall(r"^\w+ = \[(.*?)\]$", text, re.MULTILINE)
    ]
    return list(zip(lists[::2], map(set, lists[1::2])))


TABLE = _table()


def rules(message):
    """The rules that may answer a sentence; `None` among them: what the command line says, which has no rule."""
    for words, allowed in TABLE:
        if all(word in message for word in words):
            return allowed
    # Without the name of the operation that it begins with.
    message = re.sub(r"'pto\.[\w.]+' op", "", message)
    return next(allowed for words, allowed in CLASSES if re.search(words, message))


def unknown(root):
    """Rules named here that no source file of ours has."""
    sources = "".join(p.read_text() for p in sorted((root / "crates").glob("*/src/**/*.rs")))
    named = {rule for _, allowed in CLASSES + TABLE for rule in allowed if rule} | UNSUPPORTED
    return sorted(rule for rule in named if f'"{rule}"' not in sources)


def subject(message):
    """What a sentence that names no operation is about, as patterns of text."""
    for words, patterns in [
        ("multi_tile_buf", [r"multi_tile_buf"]),
        ("tile_buf", [r"tile_buf"]),
        ("s_fractal_size", [r"fractal"]),
        ("FixpipeRelu|AccPushEpilogue", [r"acc_push_epilogue"]),
        ("'addr' operand", [r"pto\.alloc_tile", r"pto\.alloc_multi_tile"]),
        ("TFILLPAD", [r"pto\.tfillpad"]),
        ("auto_sync_tail_hint", [r"auto_sync_tail_hint"]),
        ("step", [r"scf\.for"]),
    ]:
        if re.search(words, message):
            return patterns
    return []
