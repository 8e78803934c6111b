"""`tilewright supports`: all that is not supported, each with its place, and nothing run."""

import json
import textwrap

import pytest

from tilewright import supports

HEAD = """\
import numpy as np
import pypto.language as pl

F = pl.FP32
"""


@pytest.fixture
def report(tmp_path, cli):
    def look(text, *options, name="script.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        done = cli("supports", path, "--json", *options)
        assert done.stdout, done.stderr
        result = json.loads(done.stdout)
        assert done.returncode == (4 if any(f["kind"] == "unsupported" for f in result["findings"]) else
                                   1 if any(f["kind"] == "error" for f in result["findings"]) else 0)  # fmt: skip
        assert result["supported"] == (done.returncode == 0)
        result["text"] = cli("supports", path, *options).stdout
        return result

    return look


def places(report, kind="unsupported"):
    """line -> message of the findings of a kind."""
    return {int(f["place"].split(":")[1]): f["message"] for f in report["findings"] if f["kind"] == kind}


def test_a_kernel_that_compiles(report):
    found = report(
        HEAD
        + """
@pl.jit
def f(x: pl.Tensor[[pl.dynamic("N"), 64], F], a: pl.Scalar[F], y: pl.Out[pl.Tensor[[16, 64], F]], b: pl.Scalar[F] = 2):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.add(pl.mul(x[0:16, :], a), b)
    return y

print("imported")
if __name__ == "__main__":
    print("run")
""".replace("\nprint", "\nimport sys\nprint").replace('("imported")', '("imported", file=sys.stderr)'),
    )
    assert [(k["name"], k["verdict"]) for k in found["kernels"]] == [("f", "compiles")]
    assert found["findings"] == [] and "nothing unsupported was found" in found["text"]


def test_everything_is_found_also_behind_the_first(report):
    found = report(
        HEAD
        + """
@pl.jit.inline
def helper(t):
    return pl.matmul_mx_acc(t, t)                      # 8

@pl.jit
def f(x: pl.Tensor[[16, 64], F], y: pl.Out[pl.Tensor[[16, 64], F]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        t = helper(x[:, :])
        for i in pl.range(t):                   # never entered by a compile: t has no value
            u = pl.paged_gather(pl.aic_gather(t), block_len=64)  # 15
            v = {1: 2}                          # 16
        try:                                    # 17
            y[:, :] = u
        finally:
            pass
    return y

@pl.jit
def g(x: pl.Tensor[[16, 64], F], y: pl.Out[pl.Tensor[[16, 64], F]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.matmul_mx(x[:, :])               # 26
        if False:
            y[:, :] = helper(x[:, :])
    return y
"""
    )
    lines = places(found)
    assert set(lines) == {8, 15, 16, 17, 26}, lines
    assert "matmul_mx_acc" in lines[8] and "a dictionary" in lines[16] and "`try`" in lines[17]
    at_15 = {f["message"] for f in found["findings"] if f["place"].split(":")[1] == "15"}
    assert any("paged_gather" in m for m in at_15) and any("aic_gather" in m for m in at_15)
    assert {k["name"]: k["verdict"] for k in found["kernels"]} == {"f": "refused", "g": "refused"}
    assert next(f for f in found["findings"] if "matmul_mx_acc" in f["message"])["kernels"] == ["f", "g"]


def test_code_that_the_compile_leaves_out_is_said_to_be(report):
    found = report(
        HEAD
        + """
DEVICE = False

@pl.jit
def f(x: pl.Tensor[[16, 64], F], y: pl.Out[pl.Tensor[[16, 64], F]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        if DEVICE:
            y[:, :] = pl.matmul_mx(x[:, :])
        else:
            y[:, :] = pl.exp(x[:, :])
    return y
"""
    )
    assert found["supported"] and set(places(found, "not reached")) == {12}
    assert "1 in code that the compile leaves out" in found["text"]


def test_kernels_without_shapes_and_those_made_in_functions_are_read(report):
    found = report(
        HEAD
        + """
@pl.jit
def bare(x: pl.Tensor, y: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.matmul_mx(x[:, :])               # 9

def build(n):
    @pl.jit
    def made(x: pl.Tensor[[n, 64], F], y: pl.Out[pl.Tensor[[n, 64], F]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.aic_gather(x[:, :])           # 15
        return y
    return made
"""
    )
    assert set(places(found)) == {9, 15}
    verdicts = {k["name"]: (k["verdict"], k["why"]) for k in found["kernels"]}
    assert verdicts["bare"] == ("read only", "the annotation of `x` has no shape and element type")
    assert verdicts["made"] == ("read only", "it is made inside `build`")


def test_program_forms_that_are_not_compiled(report):
    found = report(
        HEAD
        + """
@pl.jit.host
def many(x: pl.Tensor[[16, 64], F]):
    pass
"""
    )
    assert set(places(found)) == {6} and "does not run yet" in places(found)[6]


def test_a_script_that_cannot_be_imported(report):
    found = report(HEAD + "\nimport no_such_module_anywhere\n")
    assert set(places(found, "error")) == {6} and "no_such_module_anywhere" in places(found, "error")[6]
    assert report(HEAD + "\nraise SystemExit(5)\n")["findings"][0]["kind"] == "error"


def test_what_is_wrong_is_no_gap_of_ours(report):
    found = report(
        HEAD
        + """
@pl.jit
def f(x: pl.Tensor[[16, 64], F], y: pl.Out[pl.Tensor[[16, 64], F]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = pl.add(x[:, :], missing)
    return y
"""
    )
    assert set(places(found, "error")) == {9} and not places(found)


PTO = """\
module attributes {pto.target_arch = "a5"} {
  func.func @bad(%p: !pto.ptr<f32, gm>) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %a = pto.nosuch %c0
        : index -> index
    scf.for %i = %c0 to %c4 step %c4 {
      pto.other ins(%a : index) {
        pto.inner "} {" %c0
      }
      %b = arith.bogus %a, %c0 : index
      %c = arith.addi %b, %c0 : index
    }
    pto.last %c0
    return
  }
  func.func @next(%p: !pto.ptr<f32, gm>) {
    pto.another
    return
  }
}
"""


def test_all_of_a_pto_file(report):
    found = report(PTO, "-p", "a5", name="kernels.pto")
    named = {line: message.split("`")[1] for line, message in places(found).items()}
    assert named == {
        5: "pto.nosuch", 8: "pto.other", 9: "pto.inner", 11: "arith.bogus", 14: "pto.last", 18: "pto.another",
    }  # fmt: skip
    assert not places(found, "error")
    assert "kernels.pto:5:" in found["text"] and "6 unsupported" in found["text"]


def test_what_follows_a_syntax_error_is_read(report):
    found = report(PTO.replace("pto.last %c0", "pto.last %c0\n    %z = arith.addi )"), "-p", "a5", name="kernels.pto")
    assert set(places(found)) == {5, 8, 9, 11, 14, 19} and set(places(found, "error")) == {15}


def test_a_pto_file_that_decodes(report):
    text = 'module attributes {pto.target_arch = "a5"} {\n  func.func @k() attributes {pto.kernel_kind = ' \
        '#pto.kernel_kind<vector>} {\n    return\n  }\n}\n'  # fmt: skip
    found = report(text, "-p", "a5", name="kernels.pto")
    assert found["supported"] and [k["verdict"] for k in found["kernels"]] == ["decodes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"x = 1\ndef f(: pass\n", "script.py:2:7: Python syntax error"),
        (b"x = 1\n\xff", "script.py:2: not a text in UTF-8"),
    ],
)
def test_what_is_no_script_is_said_in_a_line(cli, tmp_path, text, message):
    (tmp_path / "script.py").write_bytes(text)
    done = cli("supports", "script.py")
    assert done.returncode == 1
    assert message in done.stderr and len(done.stderr.splitlines()) == 1


def test_usage(cli):
    assert cli("supports").returncode == 2
    assert cli("supports", "missing.py").returncode == 2


def test_findings_are_listed_once_in_order():
    report = supports.Report("f", "a5")
    for place in ("f:10:1", "f:9:2", "f:10:1"):
        report.add("unsupported", "c", "m", place, "k")
    report.finish()
    assert [f.place for f in report.findings] == ["f:9:2", "f:10:1"] and report.exit_code == 4
