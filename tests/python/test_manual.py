"""The op manual, docs/ops.md: the op table in words, and for every operation a program that has it and is right.

Each program is run on both machines and compares itself with NumPy; which operations it has is read from its levels. An
operation without a program fails by name. `UPDATE_EXPECT=1` writes the page anew.
"""

import ast
import itertools
import os
import pathlib
import re

import pytest

import tilewright
from manual_programs import ONLY, PROGRAMS
from tilewright import _native

PAGE = pathlib.Path(__file__).parents[2] / "docs/ops.md"
MACHINES = ["a2a3", "a5"]
SUPPORT = PAGE.with_name("support.md")
TABLE = _native.op_table()
#: What the language can become.
NAMES = {op["name"] for op in TABLE if op["runs"] and not op["text"]}
#: Name in the language -> parameters, as `crates/frontend/src/faces.rs` writes them.
FACES = dict(_native.face_table())
#: (program, machine) -> the operations it has at some level.
FOUND = {}
#: Operation -> names of the language whose calls became it in some program -> whether it was all that one became.
REACHED = {}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right(name, machine, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[name])
    session = tilewright.Session(tilewright.Options(platform=machine, check="levels"))
    run = compile(PROGRAMS[name], path, "exec")
    with session.active():
        only, message = ONLY.get(name, (machine, None))
        if only != machine:
            with pytest.raises(tilewright.TilewrightError, match=message):
                exec(run, {"__name__": "program", "__file__": str(path)})
            FOUND[name, machine] = set()
            return
        exec(run, {"__name__": "program", "__file__": str(path)})
    programs = [p for found in session.programs.values() for p in found]
    assert programs and session.checked, "it calls a kernel"
    texts = [p.print(level) for p in programs for level in LEVELS]
    FOUND[name, machine] = set().union(*map(operations, texts))
    for text in texts:
        for op, face, alone in calls(text, PROGRAMS[name]):
            faces = REACHED.setdefault(op, {})
            faces[face] = faces.get(face, False) or alone


LEVELS = ["tensor", "tile", "machine"]


def operations(text):
    """Names of the operations of a program's text: the first word of a line, or the one after `=`."""
    words = re.findall(r"^\s*(?:op\d+: )?(?:[%@][^=\n]*=\s*)?([a-z_][a-z0-9_.]*)", text, re.MULTILINE)
    return {w for w in words if w in NAMES}


#: A line of a level: its operation, where in the source it comes from, and below the tensor level from which operation.
PLACE = re.compile(r"^(.*) loc\(f\d+:(\d+):(\d+)-(\d+)\)(.*)$", re.MULTILINE)
FAMILY = {op["name"]: op["family"][0] for op in TABLE}
#: Operations that only kernels have; crossings between cores are no call's own.
IN_KERNELS = {
    op["name"]
    for op in TABLE
    if not any("tensor level" in level for level in op["levels"]) and "FIFO" not in FAMILY[op["name"]]
}


def calls(text, source):
    """(operation, name of the language, whether it is all of the call) of a level's text.

    Scalar operations compute offsets of other things, unless the call has their name. In kernels those count that
    complete a value, of the operations that only kernels have, where they are all of the call.
    """
    lines = source.splitlines()
    found = {}
    for line, *place, origin in PLACE.findall(text):
        row, first, last = map(int, place)
        called = called_name(lines[row - 1][first - 1 : last - 1])
        lowered = origin.startswith(" from ")
        if called in FACES and (not lowered or origin.endswith(" done")):
            ops = {op for op in operations(line) if FAMILY[op] != "Scalars" or op == called}
            found.setdefault((row, first, last, called, lowered), set()).update(ops)
    for (*_, called, lowered), ops in found.items():
        for op in sorted(ops):
            if not lowered or (op in IN_KERNELS and len(ops) == 1):
                yield op, called, len(ops) == 1


def called_name(text):
    """What is called, if a text is one call: `pl.tile.add(…)` is `add`, as a face is named."""
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call):
        return None
    name = ast.unparse(call.func).removeprefix("pl.")
    return name if name in FACES else name.removeprefix("tile.").removeprefix("tensor.")


def programs_of(op):
    """Programs that have an operation, the shortest first."""
    have = {name for (name, _), found in FOUND.items() if op in found}
    return sorted(have, key=lambda name: (len(PROGRAMS[name]), name))


def ran_all():
    return len(FOUND) == len(PROGRAMS) * len(MACHINES)


def test_every_operation_has_a_program():
    if not ran_all():
        pytest.skip("not run: some programs did not run")
    missing = sorted(op for op in NAMES if not programs_of(op))
    assert not missing, f"no program has {', '.join(missing)}: add one to manual_programs.py"


def page():
    families = [(family, list(ops)) for family, ops in itertools.groupby(TABLE, lambda op: op["family"])]
    lines = [
        "# Operations",
        "",
        "Every operation of every level, from the op table (`crates/ir/src/ops.rs`), written by",
        "`UPDATE_EXPECT=1 .venv/bin/python -m pytest tests/python/test_manual.py`. Each names a program of the",
        "language, below, that contains it; the tests run all of them on both machines, at every level, and they",
        "compare themselves with NumPy. The names of the language are in [language.md](language.md), the texts in",
        "[ir.md](ir.md), all conversions by element type in [support.md](support.md).",
        "",
        "* *In the language*: calls that became this operation in the programs below, or of which it is a part; `?`",
        "  marks what may be left out.",
        "* *Types*: element types that were compared with NumPy ([support.md](support.md)), by the language's name.",
        "* *Stands*: where it may stand. A tile operation has a result at the tensor level; below it writes `outs`.",
        "* *Over*: the elements that it goes over. What a tile holds outside its valid region is undefined, except",
        "  where the operation says otherwise.",
        "* *In place of*: operands whose buffer the destination may be.",
        "* *Evidence*: where the meaning comes from: a published figure of the device, upstream's golden generators,",
        "  documentation, or inference.",
        "",
        "| Family | Operations |",
        "|---|---|",
    ]
    for (title, _), ops in families:
        links = " ".join(f"[`{op['name']}`](#{anchor(op['name'])})" for op in ops)
        lines.append(f"| [{title}](#{anchor(title)}) | {links} |")
    lines.append("")
    for (title, note), ops in families:
        lines += [f"## {title}", "", *([note, ""] if note else [])]
        for op in ops:
            lines += [f"### `{op['name']}`", "", op["doc"], "", *facts(op), ""]
    lines += ["## Programs", ""]
    for name, text in PROGRAMS.items():
        lines += [f"### {heading(name)}", "", "```python", text.strip(), "```", ""]
    return "\n".join(lines)


def heading(program):
    return f"Program: {program}"


def facts(op):
    operands = [f"`{n}` ({', '.join(filter(None, [kind, arity]))})" for n, kind, arity in op["operands"]]
    attributes = [f"`{n}` ({kind}{'' if required else ', optional'})" for n, kind, required in op["attributes"]]
    rows = {
        "In the language": in_the_language(op["name"]),
        "Types": types(op["name"]),
        "Operands": ", ".join(operands),
        "Attributes": ", ".join(attributes),
        "Regions": str(op["regions"] or ""),
        "Gives": op["form"],
        "Stands": "; ".join(op["levels"]) if len(op["levels"]) < 4 else "at every level",
        "Pipe": "" if op["pipe"] == "none" else op["pipe"],
        "Over": "" if op["domain"] == "none" else op["domain"],
        "In place of": ", ".join(f"`{g}`" for g in op["in_place"]),
        "Evidence": op["evidence"],
        "Program": program_link(op["name"]) if op["name"] in NAMES else "",
        "Runs": runs(op),
    }
    return [f"* {key}: {value.replace('|', '/')}" for key, value in rows.items() if value]


def faces_of(op, alone):
    """In the order of the language's table."""
    return [face for face in FACES if REACHED.get(op, {}).get(face) is alone]


def in_the_language(op):
    whole = ", ".join(f"`{signature(face)}`" for face in faces_of(op, True))
    part = ", ".join(f"`pl.{face}`" for face in faces_of(op, False))
    return "; ".join(filter(None, [whole, part and f"part of {part}"]))


def runs(op):
    """Empty for what the language can become."""
    if not op["runs"]:
        return "no: `.pto` text is read, verified and printed with it"
    return "from `.pto` text only (`tilewright exec`)" if op["text"] else ""


def signature(face):
    """Parameters by their first spelling, without those that change nothing."""
    words = [word.strip() for word in FACES[face].split(",") if word.strip()]
    shown = [w.split("|")[0].rstrip("?") + "?" * ("?" in w) for w in words if not w.startswith("~")]
    return f"pl.{face}({', '.join(shown)})"


#: Rows of the support matrix: name, what the name is followed by (a mode), a cell for each machine.
ROWS = re.findall(r"^\| `(\w+)( [^`]*)?` \| (.*) \| (.*) \|$", SUPPORT.read_text(), re.MULTILINE)


def types(op):
    """What the support matrix says of the calls that are this operation, or else of those that it is a part of."""
    whole, part = types_of(faces_of(op, True)), types_of(faces_of(op, False))
    return "; ".join(
        f"{cells} ({', '.join(f'`{name}`' for name in names)})" for cells, names in (whole or part).items()
    )


def types_of(faces):
    """Element types -> names; machines that agree are one."""
    names = {face.removeprefix("tile.") for face in faces} - {"cast"}
    said = {}
    for name, _, *cells in ROWS:
        if name in names:
            one = cells[0] if cells[0] == cells[1] else "; ".join(map(": ".join, zip(MACHINES, cells, strict=True)))
            said.setdefault(one, {})[name] = True
    return said


def program_link(op):
    found = programs_of(op)[0]
    return f"[{found}](#{anchor(heading(found))})"


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_the_manual_is_current():
    if not ran_all():
        pytest.skip("not run: the manual needs every program")
    if os.environ.get("UPDATE_EXPECT"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_what_an_operation_comes_from():
    source = "y[:, :] = pl.tile.add(x[:, :], 1.0) + b"
    line = "  op1: %1 = tadds %0, %c : tile<1x8xf32> loc(f0:1:11-36)"
    assert list(calls(line, source)) == [("tadds", "add", True)]
    assert list(calls(f"{line}\n  op2: %2 = tneg %1 : tile<1x8xf32> loc(f0:1:11-36)", source)) == [
        ("tadds", "add", False),
        ("tneg", "add", False),
    ]
    assert list(calls("  %0 = const {value = 0} : index loc(f0:1:11-36)", source)) == []
    assert list(calls("  %0 = tgetval %1, %0, %0 : f32 loc(f0:1:1-36)", source)) == []
    assert list(calls("  mgather %1, %2 outs(%3) loc(f0:1:11-36) from op1 done", source)) == [("mgather", "add", True)]
    assert list(calls("  tadds %1, %2 outs(%3) loc(f0:1:11-36) from op1 done", source)) == []


def test_operations_are_found_in_text():
    assert operations("  op3: %1 = tadd %2\n  for %i\n // tsub\n  %x, %y = if %c") == {"tadd", "for", "if"}
