"""Upstream's `.pto` files and the tests of its assembler, through ours: `make upstream-ptoas`.

The folder in $TILEWRIGHT_UPSTREAM holds `PTOAS/`; nothing of it is changed or kept. Without it this prints `not run`
and exits with 3: a case that was not run has not passed. Three parts, each a table, and below it the reasons:

* Kernels and samples, each a process of its own: read and verified; printed and read again to the same text; assembled
  with flags between the pipes, on a5 also with fusion. How many answers of each checker were proved, found, undecided.
* Lit tests that must be rejected. A run counts as *rejected*; *at the line*, if the line that the test states, or an
  operation that it names, is where an error is; *for the rule*, if the error's rule is of the class (`ptoas_rules.py`)
  that the test's message belongs to.
* Lit tests that must pass, as far as they are about `.pto` text: those that only look at C++ text, and those of other
  backends and tools, are listed and not counted. The exit code is what is compared, not upstream's text.

    python tests/upstream/ptoas.py [--ptoas PROGRAM] [--only TEXT] [--list] [--part kernels|negative|positive]

`--only` keeps to files whose path has the text in it, and `--list` prints every case that did not pass, with our error.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import ptoas_rules

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the issue: kernels assembled, negative files for the rule, share of positive files.
KERNELS, NEGATIVE, POSITIVE = 629, 190, 0.95


class Run:
    """One run of `ptoas`: exit code, output, diagnostics."""

    def __init__(self, program, args, stdin=None, cwd=None):
        done = subprocess.run([program, *args], input=stdin, capture_output=True, text=True, timeout=120, cwd=cwd)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        said = [d for d in map(Message.read, self.err.splitlines()) if d and not d.text.startswith(Message.SUMMARIES)]
        self.errors = [d for d in said if d.severity == "error"]
        self.warnings = [d for d in said if d.severity == "warning"]

    def reason(self):
        if self.code < 0 or self.code > 1:
            return f"exit code {self.code}"
        first = [e for e in self.errors if e.rule] or self.errors
        return first[0].reason() if first else "no error said"

    def unsupported(self):
        return bool(self.errors) and any(e.unsupported for e in self.errors)


class Message:
    """`FILE:LINE:COL: error: 'pto.op' op TEXT [rule]`, or `Error: TEXT [rule]`."""

    PLACED = re.compile(r"^(?P<file>.*?):(?P<line>\d+):\d+: (?P<severity>error|warning): (?P<text>.*)$")
    DRIVER = re.compile(r"^(?P<severity>Error|Warning): (?P<text>.*)$")
    # What `ptoas` says at the end of the errors.
    SUMMARIES = ("no output:", "the file was not read")
    RULE = re.compile(r" \[(?P<rule>[a-z0-9-]+)\]$")

    def __init__(self, found):
        groups = found.groupdict()
        self.severity = groups["severity"].lower()
        self.line = int(groups["line"]) if "line" in groups else None
        self.text = groups["text"]
        rule = self.RULE.search(self.text)
        self.rule = rule["rule"] if rule else None
        self.unsupported = bool(self.rule) and (
            self.rule.startswith("unsupported") or self.rule in ptoas_rules.UNSUPPORTED
        )

    @classmethod
    def read(cls, line):
        found = cls.PLACED.match(line) or cls.DRIVER.match(line)
        return found and cls(found)

    def reason(self):
        return re.sub(r"\d+", "#", re.sub(r"[`']%?[^`']*[`']", "…", self.text))[:150]


def arch_of(path, text):
    named = re.search(r'pto\.target_arch\s*=\s*"(a\w+)"', text)
    if "/kernels/" in str(path):
        return "a5" if re.search(r"A5(/|$)", str(path.parent)) else "a3"
    return "a5" if named and named[1] == "a5" else "a3"


# ---------------------------------------------------------------------------------------------------------- kernels


def kernel(program, path):
    """Of each step: (passed, run), until one fails; the checkers' answers."""
    text = path.read_text()
    arch = arch_of(path, text)
    level = "level3" if re.search(r"alloc_(multi_)?tile\s+addr\s*=", text) else "level2"
    common = ["--pto-arch", arch, "--emit-pto-ir", "--tw-stats"]
    steps, answers = {}, collections.Counter()
    steps["read"] = first = Run(program, [str(path), f"--pto-level={level}", *common])
    if first.code == 0:
        again = Run(program, ["-", "--pto-level=level3", *common], stdin=first.out)
        again.code = again.code or int(again.out != first.out)
        steps["round trip"] = again
    wanted = [("synced", [])] + ([("fused", ["--enable-op-fusion"])] if arch == "a5" else [])
    for name, more in wanted:
        run = Run(program, [str(path), f"--pto-level={level}", "--enable-insert-sync", *more, *common])
        steps[name] = run
        for checker, answer in re.findall(r"checked: (\w+) .* us  (.*)$", run.err, re.MULTILINE):
            kind = "proved" if answer == "proved" else answer.split()[-1]
            answers[checker, kind] += 1
        for warning in run.warnings:
            if warning.rule:
                answers["undecided", f"[{warning.rule}] {warning.reason()}"] += 1
    return steps, answers


def kernels(program, root, options, pool):
    paths = sorted((root / "test/samples").rglob("*.pto"))
    paths = [p for p in paths if options.only in str(p)]
    table = collections.defaultdict(collections.Counter)
    reasons, answers = collections.Counter(), collections.Counter()
    for path, (steps, said) in zip(paths, pool.map(lambda p: kernel(program, p), paths)):
        folder = path.relative_to(root / "test/samples").parts[0] if "/kernels/" in str(path) else "samples"
        row = table[folder]
        row["files"] += 1
        row["a5"] += "fused" in steps
        for name, run in steps.items():
            row[name] += run.code == 0
            row["unsupported"] += run.code != 0 and run.unsupported()
            if run.code != 0:
                why = "another text" if name == "round trip" and not run.errors else run.reason()
                reasons[name, why] += 1
                if options.list:
                    print(f"{path.relative_to(root)}: {name}: {why}")
        answers.update(said)
    columns = ["files", "read", "round trip", "synced", "a5", "fused", "unsupported"]
    print("\n| folder | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    models = collections.Counter()
    for folder, row in table.items():
        print(f"| {folder} | " + " | ".join(str(row[c]) for c in columns) + " |")
        if folder != "samples":
            models.update(row)
    print("| all models | " + " | ".join(str(models[c]) for c in columns) + " |")
    print(
        "\n`a5`: files that were also assembled with fusion. `unsupported`: steps that ended in something unsupported."
    )
    print("\n| checker | proved | found | undecided |\n| --- | --- | --- | --- |")
    for checker in sorted({c for c, _ in answers if c != "undecided"}):
        counts = [answers[checker, kind] for kind in ("proved", "found", "undecided")]
        print(f"| {checker} | " + " | ".join(map(str, counts)) + " |")
    for (name, why), n in reasons.most_common():
        print(f"{n:5} {name}: {why}")
    for (kind, why), n in answers.most_common():
        if kind == "undecided":
            print(f"{n:5} undecided: {why}")
    good = (
        all(models[c] == KERNELS for c in ("files", "read", "round trip", "synced")) and models["fused"] == models["a5"]
    )
    return good or bool(options.only)


# -------------------------------------------------------------------------------------------------------------- lit

# Flags and tools of what is not `.pto` text in and out.
ELSEWHERE = re.compile(
    r"--(pto-backend=vpto|emit-vpto|vpto|vmi|enable-vexpdif|dump-vpto|cann-output)|pto-test-opt|ptobc"
)
FATOBJ = re.compile(r'pto\.backend\s*=\s*"')


class Case:
    """One run of `ptoas` that a lit file asks for."""

    def __init__(self, path, args, negative, prefixes, folder, why_not):
        self.path, self.args, self.negative = path, args, negative
        self.prefixes, self.folder, self.why_not = prefixes, folder, why_not

    def input(self):
        files = [a for a in self.args if a.endswith((".pto", ".mlir"))]
        return pathlib.Path(files[0]) if files else None


def split(path, text, folder):
    """The parts of a file that is several (`//--- name`), as files of a folder."""
    name = None
    parts = collections.defaultdict(list)
    for line in text.splitlines():
        if line.startswith("//--- "):
            name = line[6:].strip()
        elif name:
            parts[name].append(line)
    for name, lines in parts.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n".join(lines) + "\n")


def lit_cases(path, scratch):
    text = path.read_text()
    folder = scratch / path.parent.name / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    split(path, text, folder)
    lines, command = [], ""
    for found in re.finditer(r"RUN:\s*(.*)", text):
        command += found[1].rstrip()
        if command.endswith("\\"):
            command = command[:-1] + " "
            continue
        lines.append(command)
        command = ""
    for line in lines:
        line = line.replace("%s", str(path)).replace("%S", str(path.parent)).replace("%t", str(folder))
        for part in re.split(r"&&|;", line):
            yield from one_command(path, part, folder)


def one_command(path, part, folder):
    stages = part.strip().strip("{}").split("|")
    try:
        words = shlex.split(re.sub(r"\d?>&\d|\d?>>?\s*\S+", " ", stages[0]), posix=True)
    except ValueError:
        return
    negative = words[:1] == ["not"]
    while words and (words[0] in ("not", "--crash", "env") or "=" in words[0].split("/")[0] and "-" not in words[0]):
        words = words[1:]
    if not words or words[0] not in ("ptoas", "pto-test-opt"):
        return
    check = next((s for s in stages[1:] if "FileCheck" in s), "")
    prefixes = re.findall(r"--?check-prefix(?:es)?[= ](\S+)", check) or ["CHECK"]
    prefixes = [p for group in prefixes for p in group.split(",")]
    why_not = None
    if ELSEWHERE.search(part) or words[0] != "ptoas":
        why_not = "another backend or tool"
    elif "/vmi" in str(path) or "vmi" in path.name:
        why_not = "VMI"
    else:
        source = next((w for w in words if w.endswith((".pto", ".mlir"))), None)
        body = pathlib.Path(source).read_text() if source and pathlib.Path(source).is_file() else ""
        if source and not pathlib.Path(source).is_file():
            why_not = "reads what another command wrote"
        elif FATOBJ.search(body) and not re.search(r'pto\.backend\s*=\s*"emitc"', body):
            why_not = "another backend or tool"
        elif len(re.findall(r"pto\.backend", body)) > 1:
            why_not = "several backends in one file"
        elif not negative and not re.search(r"emit-pto-ir|mlir-print-ir", part):
            why_not = "only C++ text" if check else None
    yield Case(path, words[1:], negative, prefixes, folder, why_not)


def lit(root, scratch, only):
    for folder in ("test/lit/pto", "test/lit/tile_fusion"):
        for path in sorted((root / folder).iterdir()):
            if path.suffix in (".pto", ".mlir") and only in str(path):
                yield from lit_cases(path, scratch)


def run_case(program, case):
    args, skip = [], False
    for word in case.args:
        # Where the output goes is none of ours to overwrite.
        if skip or word == "-o":
            skip = not skip
            continue
        args.append(word)
    if "--emit-pto-ir" not in args:
        args.append("--emit-pto-ir")
    return Run(program, args, cwd=case.folder)


class Expected:
    """What a negative test says: the line, the operations, the message."""

    def __init__(self, case):
        source = case.input()
        self.file = source
        checks = []
        for number, line in enumerate(case.path.read_text().splitlines(), 1):
            for prefix in case.prefixes:
                found = re.match(rf"\s*(?://|#)\s*{re.escape(prefix)}(?:-SAME|-NEXT|-DAG)?:\s*(.*)", line)
                if found:
                    checks.append((number, found[1]))
        errors = [c for c in checks if "rror:" in c[1]] or checks
        self.message = " ".join(text for _, text in (errors if errors is checks else errors[:1]))
        self.lines = set()
        for number, text in errors[:1]:
            for sign, offset in re.findall(r"\[\[[@#]+LINE\s*([+-]?)\s*(\d*)\]\]", text):
                self.lines.add(number + int(sign + offset) if offset else number)
            self.lines.update(int(n) for n in re.findall(r"\.pto:(\d+):", text))
        self.ops = set(re.findall(r"(pto\.[a-z0-9_.]*[a-z0-9_])", self.message)[:1])
        if not self.lines and source and source.is_file():
            text = source.read_text().splitlines()
            for op in list(self.ops):
                self.ops.update(ptoas_rules.SAME_OPERATION.get(op, ()))
            named = [re.escape(op) for op in self.ops] or ptoas_rules.subject(self.message)
            if not named:
                # A test about one operation is named after it.
                words = {w for line in text for w in re.findall(r"pto\.([a-z][\w.]*)", line.split("//")[0])}
                words = [w for w in words if case.path.stem.startswith(w.replace(".", "_"))]
                named = [rf"pto\.{re.escape(max(words, key=len))}"] if words else []
            for number, line in enumerate(text, 1):
                if any(re.search(rf"{op}(?![\w.])", line.split("//")[0]) for op in named):
                    self.lines.add(number)


def negative(program, root, options, scratch, pool):
    cases = [c for c in lit(root, scratch, options.only) if c.negative]
    counted = [c for c in cases if not c.why_not]
    runs = list(pool.map(lambda c: run_case(program, c), counted))
    files = collections.defaultdict(list)
    reasons = collections.Counter()
    for case, run in zip(counted, runs):
        expected = Expected(case)
        rejected = run.code == 1
        lines = {e.line for e in run.errors if e.line}
        driver = not expected.lines
        at_line = rejected and (driver or bool(lines & expected.lines))
        found = {e.rule for e in run.errors if driver or e.line in expected.lines}
        for_rule = at_line and bool(found & ptoas_rules.rules(expected.message))
        files[case.path].append((rejected, at_line, for_rule))
        if for_rule:
            continue
        if options.list:
            errors = ", ".join(f"{e.line}:[{e.rule}]" for e in run.errors[:3]) or "accepted"
            lines = sorted(expected.lines)[:4]
            print(f"{case.path.name} {case.prefixes[0]}: {expected.message[:110]} @{lines}: {errors}")
        if rejected and at_line:
            reasons["another rule: " + " ".join(sorted(r or "command line" for r in found))] += 1
        else:
            reasons["another line" if rejected else "accepted"] += 1
    passed = [sum(all(r[i] for r in results) for results in files.values()) for i in range(3)]
    print(
        "\n| negative lit tests | in scope | rejected | at the line | for the rule |\n| --- | --- | --- | --- | --- |"
    )
    print(f"| files | {len(files)} | " + " | ".join(map(str, passed)) + " |")
    runs_passed = [sum(r[i] for results in files.values() for r in results) for i in range(3)]
    print(f"| runs | {len(counted)} | " + " | ".join(map(str, runs_passed)) + " |")
    out_of_scope(cases)
    for why, n in reasons.most_common():
        print(f"{n:5} {why}")
    return passed[2] >= NEGATIVE or bool(options.only)


def positive(program, root, options, scratch, pool):
    cases = [c for c in lit(root, scratch, options.only) if not c.negative]
    counted = [c for c in cases if not c.why_not]
    runs = list(pool.map(lambda c: run_case(program, c), counted))
    files, reasons = collections.defaultdict(list), collections.Counter()
    for case, run in zip(counted, runs):
        files[case.path].append(run.code == 0)
        if run.code != 0:
            reasons[("unsupported: " if run.unsupported() else "") + run.reason()] += 1
            if options.list:
                print(f"{case.path.name}: {run.reason()}")
    passed = sum(map(all, files.values()))
    print("\n| positive lit tests | in scope | passed |\n| --- | --- | --- |")
    print(f"| files | {len(files)} | {passed} |\n| runs | {len(counted)} | {sum(map(sum, files.values()))} |")
    text_only = [c for c in cases if c.why_not == "only C++ text"]
    assembled = sum(run.code == 0 for run in pool.map(lambda c: run_case(program, c), text_only))
    print(f"\nNot counted, since only C++ text is looked at: {len(text_only)} runs; {assembled} of them assemble.")
    out_of_scope(cases)
    for why, n in reasons.most_common():
        print(f"{n:5} {why}")
    return passed >= POSITIVE * len(files) or bool(options.only)


def out_of_scope(cases):
    reasons = collections.defaultdict(set)
    for case in cases:
        if case.why_not:
            reasons[case.why_not].add(case.path.name)
    for why, names in sorted(reasons.items()):
        print(f"\nOut of scope, {why} ({len(names)}): {', '.join(sorted(names))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ptoas", default=str(ROOT / "target/release/ptoas"), help="default: target/release/ptoas")
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose path has this in it")
    parser.add_argument("--list", action="store_true", help="every case that did not pass")
    parser.add_argument("--part", choices=["kernels", "negative", "positive"], action="append")
    options = parser.parse_args()
    root = pathlib.Path(os.environ.get("TILEWRIGHT_UPSTREAM", "")) / "PTOAS"
    if not os.environ.get("TILEWRIGHT_UPSTREAM") or not (root / "test/samples").is_dir():
        print("not run: TILEWRIGHT_UPSTREAM does not name a folder with a checkout of PTOAS")
        return 3
    if gone := ptoas_rules.unknown(ROOT):
        print(f"rules in tests/upstream/ptoas_rules.py that are none of ours: {', '.join(gone)}")
        return 1
    parts = options.part or ["kernels", "negative", "positive"]
    good = True
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        scratch = pathlib.Path(folder)
        if "kernels" in parts:
            good &= kernels(options.ptoas, root, options, pool)
        if "negative" in parts:
            good &= negative(options.ptoas, root, options, scratch, pool)
        if "positive" in parts:
            good &= positive(options.ptoas, root, options, scratch, pool)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
