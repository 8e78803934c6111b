"""Unmodified upstream scripts on our machines: `make upstream`, with a checkout in $TILEWRIGHT_UPSTREAM.

That folder holds `pypto-lib/` (and `pypto/`). A virtual environment with torch and our wheel is made in it, under
`.tilewright-venv`; the scripts run with pypto-lib's own harness and comparators, each in a scratch folder. Nothing of
the checkout is changed or kept. Without the folder this prints `not run` and exits with 3: a case that was not run has
not passed.

    python tests/upstream/run.py [--also SCRIPT]... [--only SCRIPT]... [--platform P]... [--check levels]

SCRIPT is relative to the folder (`pypto/examples/beginner/01_hello_world.py`); those without `-p` choose their machine
themselves, and run once. One with relative imports is run as a module of its repository. A library is run by a script
of ours (`drivers/`), which compares what its program computes with NumPy. `help-all` is the `--help` of every script of
pypto-lib that can be run: each imports all that it needs of us, and declares its kernels. The last table has every case
with its verdict, and why it is not `pass`; `skipped` is what a script says of itself, and no pass.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = [
    # The harness's own tests, with our names for what it imports of upstream.
    "pypto-lib/tests/golden",
    "pypto-lib/tests/contract",
    "help-all",
    "pypto-lib/examples/beginner/hello_world.py",
    "pypto-lib/examples/intermediate/softmax.py",
    "pypto-lib/examples/beginner/matmul.py",
    "pypto-lib/examples/intermediate/gemm.py",
    "pypto-lib/examples/advanced/gemm_eltwise.py",
    "pypto-lib/examples/intermediate/layer_norm.py",
    "pypto-lib/examples/intermediate/rms_norm.py",
    "pypto-lib/examples/intermediate/rope.py",
    "pypto-lib/examples/advanced/multi_proj.py",
    "pypto-lib/examples/advanced/topk.py",
    "pypto-lib/models/qwen3_14b/greedy_sample.py",
    "pypto-lib/models/qwen3_14b/topk_select.py",
    "pypto-lib/models/deepseek_v4_flash_mtp/decode_indexer.py",
    "pypto/examples/beginner/01_hello_world.py",
    "pypto/examples/beginner/02_elementwise.py",
    "pypto/examples/beginner/03_scalar_ops.py",
    "pypto/examples/beginner/04_activation.py",
    "pypto/examples/beginner/05_matmul.py",
    "pypto/examples/beginner/06_concat.py",
    "pypto/examples/intermediate/01_fused_linear.py",
    "pypto/examples/intermediate/02_softmax.py",
    "pypto/examples/intermediate/03_normalization.py",
    "pypto/examples/intermediate/04_matmul_acc.py",
    "pypto/examples/intermediate/05_assemble.py",
    "pypto/examples/intermediate/06_dyn_valid_shape.py",
    "pypto/examples/intermediate/07_task_graph.py",
    "pypto/examples/advanced/01_split_k.py",
    "pypto/examples/advanced/02_auto_tile_matmul.py",
    "pypto/examples/advanced/03_mixed_kernel.py",
    "pypto/examples/utils/cross_function_calls.py",
    "pypto/examples/utils/error_handling.py",
    "pypto/examples/utils/parse_from_text.py",
    "pypto/examples/utils/phase_fence_dep_compression.py",
    "pypto/examples/models/01_ffn.py",
    "pypto/examples/models/02_vector_dag.py",
    "pypto/examples/models/03_flash_attention.py",
    "pypto/examples/models/04_paged_attention.py",
    "pypto/examples/models/05_paged_attention_batch.py",
    "pypto/examples/models/06_paged_attention_dynamic.py",
    "pypto/examples/models/07_paged_attention_multi_config.py",
    "pypto/examples/models/08_llama_mini.py",
    "pypto/examples/models/09_paged_attention_spmd.py",
    "pypto/examples/models/qwen3_jit/qwen3_decode.py",
]
# What fails on upstream's own account, with any implementation of the names that it imports.
KNOWN = {
    "pypto-lib/tests/contract": {
        "test_loaded_kernel_signatures_match_contract_arg_counts": "the contract lists 24 arguments of qwen3_14b's "
        "prefill, and `prefill_fwd` has 25",
        "test_compile_arg_builders_follow_loaded_stage_specs": "the same 24 against 25",
    },
    "help-all": {
        "models/qwen3_14b/decode_ssn_draft.py": "reads what its configuration does not have",
        "models/qwen3_14b/decode_tq_draft.py": "reads what its configuration does not have",
        "models/qwen3_14b/prefill_tq_draft.py": "reads what its configuration does not have",
    },
}
# Scripts of ours, in `drivers/`, that run the program of a library.
DRIVERS = {"pypto/examples/models/08_llama_mini.py": "llama_mini.py"}
PLATFORMS = ["a2a3sim", "a5sim"]
TIMEOUT = 300


def environment(folder):
    """The interpreter of the folder's virtual environment, with torch and the newest wheel."""
    wheels = sorted((ROOT / "dist").glob("tilewright-*.whl"), key=lambda w: w.stat().st_mtime)
    if not wheels:
        sys.exit("no wheel in dist/: run `make upstream`, which builds it")
    venv = folder / ".tilewright-venv"
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        print("installing torch (large, once)", flush=True)
        subprocess.run([*pip, "torch"], check=True)
    subprocess.run([*pip, "numpy", "ml_dtypes", "pytest"], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheels[-1]], check=True)
    return python


def run(python, folder, script, platform, check):
    """(verdict, seconds, output) of one case."""
    # The harness is a folder of pypto-lib; its scripts expect it on the path.
    env = {**os.environ, "PYTHONPATH": os.fspath(folder / "pypto-lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    if script == "help-all":
        return help_all(python, folder, env) if platform == PLATFORMS[0] else ("one machine", 0.0, "")
    known = KNOWN.get(script, {})
    if (folder / script).is_dir():
        env["TILEWRIGHT_DROPIN"] = "1"
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder / script]
        if known:
            command += ["-k", " and ".join(f"not {name}" for name in known)]
        takes_platform = False
    else:
        text = (folder / script).read_text()
        what = [folder / script]
        if script in DRIVERS:
            driver = ROOT / "tests" / "upstream" / "drivers" / DRIVERS[script]
            text, what = driver.read_text(), [driver, folder / script]
        elif re.search(r"^from \.", text, re.MULTILINE):
            repository, _, path = script.partition("/")
            env["PYTHONPATH"] = os.pathsep.join([os.fspath(folder / repository), env["PYTHONPATH"]])
            what = ["-m", path.removesuffix(".py").replace("/", ".")]
        command = [python, "-m", "tilewright", "run", *(["--check", check] if check else []), *what]
        takes_platform = "--platform" in text
    if takes_platform:
        command += ["-p", platform]
    elif platform != PLATFORMS[0]:
        return "one machine", 0.0, ""
    code, seconds, output = execute(command, env)
    if code is None:
        return "fail", seconds, f"no end after {TIMEOUT} s\n{output}"
    if code == 4:
        return "unsupported", seconds, output
    if code:
        return "fail", seconds, output
    # The harness also says PASS when it had nothing to compare with.
    if "validation skipped" in output.lower():
        return "fail", seconds, "nothing was compared\n" + output
    skipped = [line for line in output.splitlines() if line.startswith("SKIPPED")]
    if skipped:
        return "skipped", seconds, skipped[-1]
    return "pass", seconds, "; ".join(f"without {name}: {why}" for name, why in known.items())


def execute(command, env):
    """(exit code or None after TIMEOUT, seconds, output)."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=scratch, env=env, timeout=TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired as late:
            return None, TIMEOUT, str(late.stdout or "")
    return done.returncode, time.perf_counter() - began, done.stdout + done.stderr


def help_all(python, folder, env):
    """`--help` of every script with a `__main__`. Those of KNOWN must fail: else the list is out of date."""
    base = folder / "pypto-lib"
    scripts = sorted(
        path.relative_to(base).as_posix()
        for tree in ("examples", "models")
        for path in (base / tree).rglob("*.py")
        if "__main__" in path.read_text()
    )
    began = time.perf_counter()
    known, wrong = KNOWN["help-all"], []

    def helped(script):
        code, _, output = execute([python, "-m", "tilewright", "run", base / script, "--help"], env)
        return code == 0 and "usage:" in output, output

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for script, (ok, output) in zip(scripts, pool.map(helped, scripts)):
            if ok == (script in known):
                wrong.append(f"{script}: {'works, and is listed as broken' if ok else last_line(output)}")
    count = len(scripts) - len(known)
    text = f"{count - len(wrong)} of {len(scripts)} scripts"
    text += "".join(f"; {script} {why} (upstream's)" for script, why in known.items())
    return "fail" if wrong else "pass", time.perf_counter() - began, "\n".join([*wrong, text])


def last_line(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def reason(verdict, output):
    """One line that says why."""
    if verdict in ("pass", "one machine"):
        return last_line(output) if output else ""
    said = [
        line.strip() for line in output.splitlines() if line.startswith(("error[", "error:", "nothing was compared"))
    ]
    return said[0] if said else last_line(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--also", action="append", default=[], metavar="SCRIPT")
    parser.add_argument("--only", action="append", metavar="SCRIPT", help="instead of the standard cases")
    parser.add_argument("--platform", action="append", choices=["a2a3", "a2a3sim", "a5", "a5sim"])
    parser.add_argument("--check", choices=["levels"])
    options = parser.parse_args()

    given = os.environ.get("TILEWRIGHT_UPSTREAM")
    folder = pathlib.Path(given).resolve() if given else None
    if folder is None or not (folder / "pypto-lib").is_dir():
        where = f"{folder} has no pypto-lib/" if folder else "TILEWRIGHT_UPSTREAM is not set"
        print(f"upstream: not run ({where})")
        return 3

    python = environment(folder)
    cases = (options.only or CASES) + options.also
    platforms = options.platform or PLATFORMS
    width = max(len(c) for c in cases)
    verdicts, outputs, table = [], [], []
    print(f"{'case':{width}}  " + "  ".join(f"{p:18}" for p in platforms))
    for case in cases:
        print(f"{case:{width}}", end="", flush=True)
        for platform in platforms:
            if case == "help-all" or (folder / case).exists():
                verdict, seconds, output = run(python, folder, case, platform, options.check)
            else:
                verdict, seconds, output = "fail", 0.0, "no such script"
            shown = f"{verdict} {seconds:.1f} s" if seconds else verdict
            print(f"  {shown:18}", end="", flush=True)
            verdicts.append(verdict)
            table.append((case, platform, verdict, reason(verdict, output)))
            if verdict in ("fail", "unsupported"):
                outputs.append(f"--- {case} on {platform}: {verdict}\n{output.strip()[-3000:]}")
        print()
    print()
    for output in outputs:
        print(output, end="\n\n")
    for case, platform, verdict, why in table:
        if verdict != "one machine":
            print(f"{case:{width}}  {platform:8}  {verdict:12}{why[:200]}".rstrip())
    print()
    counts = {v: verdicts.count(v) for v in ("pass", "skipped", "fail", "unsupported")}
    print("upstream: " + ", ".join(f"{n} {v}" for v, n in counts.items()))
    return 1 if counts["fail"] else 4 if counts["unsupported"] else 0


if __name__ == "__main__":
    sys.exit(main())
