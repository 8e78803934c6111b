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
