"""The command line: paths, options, exit codes."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest

from conftest import EXAMPLES

KERNEL = """
    import sys
    import numpy as np
    import pypto.language as pl
    from pypto.runtime import RunConfig

    @pl.jit
    def f(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], 1.0)
        return y

    def run():
        x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
        f(x, y, config=RunConfig())
        return y
"""


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(KERNEL) + textwrap.dedent(text))
        return path

    return write


def test_a_script_that_passes(cli, script):
    done = cli(
        "run",
        script("assert (run() == 2).all(); assert __name__ == '__main__'; print(sys.argv[1:])"),
        "-p",
        "a5",
        "--x",
    )
    assert (done.returncode, done.stdout.strip()) == (0, "['-p', 'a5', '--x']"), done.stderr


def test_a_module_of_a_package_runs_by_name(cli, script, tmp_path):
    package = tmp_path / "models" / "small"
    package.mkdir(parents=True)
    (package / "config.py").write_text("WANTED = 2")
    script(
        "from .config import WANTED\nassert (run() == WANTED).all(); print(__name__, sys.argv[1:])",
        "models/small/main.py",
    )
    done = cli("run", "-m", "models.small.main", "--x")
    assert (done.returncode, done.stdout.strip()) == (0, "__main__ ['--x']"), done.stderr
    assert cli("run", "-m", "models.small.none").returncode == 1


def test_the_scripts_folder_comes_first_then_the_drop_in(cli, script, tmp_path):
    (tmp_path / "neighbour.py").write_text("VALUE = 7")
    path = script("import neighbour; assert neighbour.VALUE == 7; print(sys.path[0]); print(sys.path[1])")
    lines = cli("run", path).stdout.split()
    assert lines[0] == str(tmp_path) and lines[1].endswith("tilewright/dropin")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pass", 0),
        ("sys.exit(0)", 0),
        ("sys.exit(1)", 1),
        ("sys.exit(7)", 7),
        ("sys.exit(3)", 3),
        ("sys.exit(-1)", 255),
        ("sys.exit(True)", 1),
        ("sys.exit('message')", 1),
        ("sys.exit(2)", 2),
        ("assert False", 1),
        ("from tilewright import FindingError; raise FindingError('x')", 3),
        ("import pypto.language.distributed as pld; from pypto.runtime import ChipWorker; ChipWorker()", 4),
    ],
)
def test_exit_codes(cli, script, text, code):
    assert cli("run", script(text)).returncode == code


def test_a_program_error_shows_the_users_line_not_our_stack(cli, script):
    done = cli("run", script("pl_sum = f.compile(x=1)"))
    assert done.returncode == 1
    assert "Traceback" in done.stderr, "a TypeError is the script's: it shows where"
    bad = """
        @pl.jit
        def g(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
            with pl.at(level=pl.Level.CORE_GROUP):
                y[:, :] = pl.add(x[:, :], missing)
            return y

        g(np.ones((16, 64), np.float32), np.ones((16, 64), np.float32))
    """
    done = cli("run", script(bad))
    assert done.returncode == 1
    assert (
        "Traceback" not in done.stderr and "pl.add(x[:, :], missing)" in done.stderr and "in the call at" in done.stderr
    )


def test_usage(cli, script):
    assert cli("run").returncode == 2
    assert cli("run", "missing.py").returncode == 2
    assert cli("run", "--threads", "0", script("pass")).returncode == 2
    assert cli("run", "--check", "nothing", script("pass")).returncode == 2
    assert cli("lower", "missing.py:f").returncode == 2
    assert cli("lower", f"{script('pass')}:g").returncode == 2


def test_options_are_defaults_of_the_scripts_session(cli, script):
    text = """
        import tilewright.session as s
        assert s.script_session() is None, "nothing starts at import"
        run()
        o = s.script_session().options
        print(o.check, o.seed, o.threads, o.profile)
    """
    done = cli("run", "--check", "levels", "--seed", "5", "--threads", "1", script(text))
    assert done.stdout.split() == ["levels", "5", "1", "None"], done.stderr
    assert "1 run(s) checked, nothing found" in done.stderr


def test_a_finding_that_the_script_swallows_still_counts(cli, script):
    text = """
        import tilewright.session as s
        with s.current().watch():
            pass
        try:
            with s.current().watch():
                from tilewright import FindingError
                raise FindingError("seen")
        except FindingError:
            pass
    """
    assert cli("run", script(text)).returncode == 3


@pytest.mark.parametrize("level", ["tensor", "tile", "machine"])
def test_lower_prints_a_level_without_running_the_script(cli, script, level):
    done = cli(
        "lower", f"{script('if __name__ == `__main__`: raise SystemExit(9)'.replace('`', chr(39)))}:f", "--level", level
    )
    assert done.returncode == 0, done.stderr
    assert "tadd" in done.stdout


def test_lower_takes_types_of_bare_parameters(cli, script):
    text = """
        @pl.jit
        def g(x: pl.Tensor, a: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor]):
            with pl.at(level=pl.Level.CORE_GROUP):
                y[:, :] = pl.mul(x[:, :], a)
            return y
    """
    path = script(text)
    done = cli("lower", f"{path}:g", "--arg", "x=f32[32,64]", "--arg", "y=f32[32,64]", "--arg", "a=1.5", "-p", "a5")
    assert done.returncode == 0, done.stderr
    assert "32x64" in done.stdout
    assert cli("lower", f"{path}:g").returncode == 2
    assert cli("lower", f"{path}:g", "--arg", "x=f33[2]").returncode == 2
    assert cli("lower", f"{path}:g", "--arg", "x=f32[32,64]", "--arg", "y=f32[32,64]", "--arg", "q=1").returncode == 2


def test_env_prints_exports_that_work(cli, tmp_path):
    exports = cli("env").stdout
    command = f"{exports}\n{sys.executable} -c 'import pypto; print(pypto.TILEWRIGHT)'"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout.strip() == "True", done.stderr


def test_no_pypto_without_being_asked(tmp_path):
    code = "import importlib.util, tilewright; print(importlib.util.find_spec('pypto'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert done.stdout.strip() == "None", done.stderr


def test_the_variable_puts_the_drop_in_first(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import pypto; print(pypto.TILEWRIGHT)"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "TILEWRIGHT_DROPIN": "1"},
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_ctrl_c_stops_a_run(script):
    text = """
        @pl.jit
        def forever(y: pl.Out[pl.Tensor[[8], pl.INT32]]):
            with pl.at(level=pl.Level.CORE_GROUP):
                n = 0
                for i in pl.range(4000000000):
                    n = n + i
                    pl.write(y, [0], pl.cast(n, pl.INT32))
            return y

        print("started", flush=True)
        forever(np.zeros(8, np.int32))
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tilewright", "run", str(script(text))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline().strip() == "started"
        time.sleep(1.5)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
    finally:
        process.kill()


def test_an_example_is_a_plain_script_too(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "hello.py"), "-p", "a5sim"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0 and "PASS hello" in done.stdout, done.stdout + done.stderr


def test_run_names_the_platform_of_calls_that_name_none(cli, script):
    text = """
        x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
        f(x, y)
        import tilewright.session as s
        print(s.script_session().options.platform, {key[2] for key in s.script_session().programs})
    """
    done = cli("run", "-p", "a5sim", script(text))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "a5sim {'a5'}"


def test_a_check_that_had_nothing_to_check_does_not_pass(cli, script):
    done = cli("run", "--check", "levels", script("pass"))
    assert done.returncode == 2
    assert "nothing was checked" in done.stderr


def test_options_after_the_script_are_the_scripts_and_said_to_be(cli, script):
    done = cli("run", script("print(sys.argv[1:])"), "--check", "levels")
    assert (done.returncode, done.stdout.strip()) == (0, "['--check', 'levels']")
    assert "--check after SCRIPT goes to the script" in done.stderr


def test_outputs_that_depend_on_unwritten_memory_are_warned_about(cli, script):
    text = """
        @pl.jit
        def g(x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
            with pl.at(level=pl.Level.CORE_GROUP):
                t = pl.create_tensor([16, 64], dtype=pl.FP32)
                y[:, :] = pl.add(x[:, :], t)
            return y
        x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
        g(x, y)
    """
    done = cli("run", "--check", "levels", script(text))
    assert done.returncode == 0, done.stderr
    assert "warning[undefined-output]: `y`[0, 0] is undefined at the end" in done.stderr
    assert "1024 of 1024 elements" in done.stderr


def test_lower_refuses_what_is_not_an_entry_in_one_line(cli, script):
    text = """
        @pl.jit.inline
        def h(x: pl.Tensor):
            return x
    """
    done = cli("lower", f"{script(text)}:h")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "called from a @pl.jit function" in done.stderr
