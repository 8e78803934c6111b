"""The op manual, docs/ops.md: the op table in words, and for every operation a program that has it and is right.

Each program is run on both machines and compares itself with NumPy; which operations it has is read from its levels. An
operation without a program fails by name. `UPDATE_EXPECT=1` writes the page anew.
"""

import os
import pathlib
import re

import pytest

import tilewright
from manual_programs import PROGRAMS
from tilewright import _native

PAGE = pathlib.Path(__file__).parents[2] / "docs/ops.md"
MACHINES = ["a2a3", "a5"]
TABLE = _native.op_table()
NAMES = {op["name"] for op in TABLE if op["runs"]}
#: (program, machine) -> the operations it has at some level.
FOUND = {}
#: Operations that have no program here yet. This list only shrinks: one that a program has must leave it, and a new
#: operation of the table needs a program.
WITHOUT = set(
    """
    bitcast gather get_subblock_idx mgather mscatter scatter set_validshape subview
    tand tands task_is_valid tcmp tcmps tcolargmax tcolargmin tcolprod
    tensor_bitcast tensor_stride tfmod tfmods tgather tgather.mask tgatherb tlrelu
    tmatmul.bias tmov tmrgsort tmrgsort.lists tnot tor tors tpartadd
    tpartmax tpartmin tpartmul tprelu trandom trem trems trowargmax
    trowargmin trowprod tscatter tscatter.mask tsel tsels tshl tshls
    tshr tshrs tsort32 ttri txor txors
    """.split()
)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right(name, machine, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[name])
    session = tilewright.Session(tilewright.Options(platform=machine, check="levels"))
    with session.active():
        exec(compile(PROGRAMS[name], path, "exec"), {"__name__": "program", "__file__": str(path)})
    programs = [p for found in session.programs.values() for p in found]
    assert programs and session.compared, "it calls a kernel"
    FOUND[name, machine] = set().union(*(operations(p.print(level)) for p in programs for level in LEVELS))


LEVELS = ["tensor", "tile", "machine"]


def operations(text):
    """Names of the operations of a program's text: the first word of a line, or the one after `=`."""
    words = re.findall(r"^\s*(?:op\d+: )?(?:[%@][^=\n]*=\s*)?([a-z_][a-z0-9_.]*)", text, re.MULTILINE)
    return {w for w in words if w in NAMES}


def programs_of(op):
    """Programs that have an operation, the shortest first."""
    have = {name for (name, _), found in FOUND.items() if op in found}
    return sorted(have, key=lambda name: (len(PROGRAMS[name]), name))


def ran_all():
    return len(FOUND) == len(PROGRAMS) * len(MACHINES)


def test_every_operation_has_a_program():
    if not ran_all():
        pytest.skip("not run: some programs did not run")
    missing = sorted(op for op in NAMES - WITHOUT if not programs_of(op))
    assert not missing, f"no program has {', '.join(missing)}: add one to manual_programs.py"
    reached = sorted(op for op in WITHOUT if programs_of(op))
    assert not reached, f"{', '.join(reached)} have a program now: take them off WITHOUT"
    assert WITHOUT <= NAMES


def page():
    lines = [
        "# Operations",
        "",
        "Every operation of every level, from the op table (`crates/ir/src/ops.rs`), written by",
        "`UPDATE_EXPECT=1 .venv/bin/python -m pytest tests/python/test_manual.py`. Each names a program of the",
        "language, below, that contains it; the tests run all of them on both machines, at every level, and they",
        "compare themselves with NumPy. Element types by machine are in [support.md](support.md), the names of the",
        "language in [language.md](language.md), the texts in [ir.md](ir.md). *Evidence* is where the meaning comes",
        "from: a published figure of the device, upstream's golden generators, documentation, or inference.",
        "",
    ]
    for op in TABLE:
        lines += [f"## `{op['name']}`", "", op["doc"], "", *facts(op), ""]
    lines += ["# Programs", ""]
    for name, text in PROGRAMS.items():
        lines += [f"## {heading(name)}", "", "```python", text.strip(), "```", ""]
    return "\n".join(lines)


def heading(program):
    return f"Program: {program}"


def facts(op):
    operands = [f"`{n}` ({', '.join(filter(None, [kind, arity]))})" for n, kind, arity in op["operands"]]
    attributes = [f"`{n}` ({kind}{'' if required else ', optional'})" for n, kind, required in op["attributes"]]
    rows = {
        "Operands": ", ".join(operands),
        "Attributes": ", ".join(attributes),
        "Regions": str(op["regions"] or ""),
        "Gives": op["form"],
        "Stands": "; ".join(op["levels"]),
        "Pipe": "" if op["pipe"] == "none" else op["pipe"],
        "Elements": "" if op["domain"] == "none" else op["domain"],
        "In place of": ", ".join(f"`{g}`" for g in op["in_place"]),
        "Evidence": op["evidence"],
        "Program": program_link(op["name"]) if op["runs"] else "",
        "Runs": "" if op["runs"] else "no: `.pto` text is read, verified and printed with it",
    }
    return [f"* {key}: {value.replace('|', '/')}" for key, value in rows.items() if value]


def program_link(op):
    found = programs_of(op)
    if not found:
        return "none yet"
    anchor = re.sub(r"[^\w\- ]", "", heading(found[0]).lower()).replace(" ", "-")
    return f"[{found[0]}](#{anchor})"


def test_the_manual_is_current():
    if not ran_all():
        pytest.skip("not run: the manual needs every program")
    if os.environ.get("UPDATE_EXPECT"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_operations_are_found_in_text():
    assert operations("  op3: %1 = tadd %2\n  for %i\n // tsub\n  %x, %y = if %c") == {"tadd", "for", "if"}
