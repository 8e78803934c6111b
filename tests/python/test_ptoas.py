"""The native assembler comes with the package."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(sys.prefix)


@pytest.mark.skipif(os.name == "nt", reason="programs have another folder there")
def test_the_environment_is_a_root_for_pypto():
    """pypto looks for `ptoas`, `ptoas.sh` and `bin/ptoas` in the folder that PTOAS_ROOT names."""
    found = [p for p in (ROOT / "ptoas", ROOT / "ptoas.sh", ROOT / "bin" / "ptoas") if p.is_file()]
    assert found and os.access(found[0], os.X_OK)
    done = subprocess.run([found[0], "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("ptoas 0.60 (Tilewright ")
    # Native: no interpreter starts.
    assert found[0].read_bytes()[:2] != b"#!"


def test_a_producer_that_sank_below_its_consumer_is_named():
    """The tour of the README."""
    kernels = pathlib.Path(__file__).parents[1] / "fusion"
    ptoas = ROOT / "bin" / "ptoas"
    good, sunk = kernels / "state_update.pto", kernels / "state_update_sunk.pto"
    fused = [ptoas, good, "--pto-level=level3", "--enable-op-fusion", "--enable-insert-sync", "--emit-pto-ir"]
    done = subprocess.run(fused, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "pto.fusion.group_id" in done.stdout, done.stderr
    assert subprocess.run([ptoas, "--tw-verify", good, good], capture_output=True, timeout=60).returncode == 0
    done = subprocess.run([ptoas, "--tw-verify", good, sunk], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    for found in (
        "`tstore` at line 47 would read bytes 0..2048 of vec before `tadd` at line 52 has written them",
        "`tload` at line 50 would overwrite bytes 0..2048 of vec before `tadd` at line 52 has read them",
    ):
        assert found in done.stderr
