"""`tilewright exec`: kernels of `.pto` files from the command line."""

import numpy as np
import pytest

from tilewright import cli

TILE = "!pto.tile_buf<vec, 1x16xf32>"
VIEW, PART = "!pto.tensor_view<?x?xf32>", "!pto.partition_tensor_view<1x16xf32>"


def kernel(factor):
    def part(of):
        return f"%p{of} = pto.partition_view %v{of}, offsets = [%i, %c0], sizes = [%c1, %c16] : {VIEW} -> {PART}"

    def view(of):
        return f"%v{of} = pto.make_tensor_view %{of}, shape = [%n, %c16], strides = [%c16, %c1] : {VIEW}"

    return f"""module attributes {{pto.target_arch = "a5"}} {{
  func.func @scaled(%x: !pto.ptr<f32>, %z: !pto.ptr<f32>, %n: index)
      attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %a = arith.constant 0 : i64
    %s = arith.constant {factor} : f32
    {view("x")}
    {view("z")}
    %t = pto.alloc_tile addr = %a : {TILE}
    scf.for %i = %c0 to %n step %c1 {{
      {part("x")}
      {part("z")}
      pto.tload ins(%px : {PART}) outs(%t : {TILE})
      pto.tmuls ins(%t, %s : {TILE}, f32) outs(%t : {TILE})
      pto.tstore ins(%t : {TILE}) outs(%pz : {PART})
    }}
    return
  }}
}}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "k.pto"
    path.write_text(kernel("2.0"))
    return path


def test_arrays_in_and_out(file, tmp_path, capsys):
    x = np.arange(32, dtype=np.float32).reshape(2, 16)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "out"
    options = ["--in", f"x={tmp_path / 'x.npy'}", "--in", "n=2", "--out", str(out)]
    assert cli.main(["exec", str(file), *options]) == 0
    np.testing.assert_array_equal(np.load(out / "z.npy"), x.ravel() * 2)
    np.testing.assert_array_equal(np.load(out / "x.npy"), x.ravel())
    shown = capsys.readouterr().out
    assert "scaled: 3 of 3 tile operations ran" in shown and "z: FP32[32] changed" in shown


def test_made_up_arguments_are_the_seeds(file, capsys):
    shown = []
    for seed in ("1", "1", "2"):
        assert cli.main(["exec", str(file), "--seed", seed]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and shown[0] != shown[2]


def test_comparison(file, tmp_path, capsys):
    other = tmp_path / "other.pto"
    other.write_text(kernel("2.0"))
    assert cli.main(["exec", str(file), "--compare", str(other)]) == 0
    assert "no difference" in capsys.readouterr().out
    other.write_text(kernel("2.5"))
    assert cli.main(["exec", str(file), "--compare", str(other)]) == 3
    assert "`tmuls` to `%t`" in capsys.readouterr().out
    assert cli.main(["exec", str(file), "--compare-passes", "--sync", "flags"]) == 0


def test_what_is_wrong_is_said(file, tmp_path, capsys):
    assert cli.main(["exec", str(file), "--entry", "other"]) == 1
    assert "there is no kernel `other`" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.zeros(16, np.int32))
    assert cli.main(["exec", str(file), "--in", f"x={tmp_path / 'x.npy'}"]) == 1
    assert "elements of f32, not i32" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.zeros(16, np.float32))
    assert cli.main(["exec", str(file), "--in", f"x={tmp_path / 'x.npy'}", "--in", "n=2"]) == 1
    assert "in `tload` to `%t` of `scaled`" in capsys.readouterr().err
    assert cli.main(["exec", str(tmp_path / "none.pto")]) == 2
