"""The build backend: maturin, with the native `ptoas` built first.

A wheel of a Python extension has no native programs in it; maturin installs what lies in `python/data/scripts`, so the
assembler is put there before maturin packs (a console script would take thirteen milliseconds to start, the native one
takes one). `python build_backend/tilewright_build.py` does just that.
"""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "python" / "data" / "scripts"


def build_ptoas():
    """Builds `ptoas` and puts it where maturin looks for programs."""
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run([cargo, "build", "--release", "--quiet", "-p", "cli", "--bin", "ptoas"], check=True, cwd=ROOT)
    name = "ptoas.exe" if os.name == "nt" else "ptoas"
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = ROOT / target / "release" / name
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    # Beside and renamed: the program that is there may be running.
    beside = SCRIPTS / f".{name}.{os.getpid()}"
    shutil.copy2(built, beside)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-debug", str(beside)], check=True)
    os.replace(beside, SCRIPTS / name)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build_ptoas()
    return _maturin().build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build_ptoas()
    return _maturin().build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    return _maturin().build_sdist(sdist_directory, config_settings)


def get_requires_for_build_wheel(config_settings=None):
    return _maturin().get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings=None):
    return _maturin().get_requires_for_build_editable(config_settings)


def get_requires_for_build_sdist(config_settings=None):
    return _maturin().get_requires_for_build_sdist(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _maturin().prepare_metadata_for_build_wheel(metadata_directory, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def _maturin():
    import maturin  # Not there where only the program is built.

    return maturin


if __name__ == "__main__":
    build_ptoas()
