"""The programs of the op manual (docs/ops.md): each runs by itself, and asserts what NumPy says.

Most are one operation on whole tiles and come from a template; those that need more are in `manual_kernels.py`. Which
operations a program has is read from its levels, not declared here.
"""

from manual_kernels import HEAD, KERNELS

#: Programs of one machine: what the other says of them.
ONLY = {"random": ("a5", "instruction of a5")}

#: Operands of the template: shape, element type, and how NumPy makes one.
OPERANDS = {
    "a": ("[16, 64]", "FP32", "rng.uniform(0.5, 2, (16, 64)).astype(np.float32)"),
    "b": ("[16, 64]", "FP32", "rng.uniform(0.5, 2, (16, 64)).astype(np.float32)"),
    "signed": ("[16, 64]", "FP32", "rng.uniform(-9, 9, (16, 64)).astype(np.float32)"),
    "slope": ("[16, 64]", "FP32", "rng.uniform(0.01, 0.3, (16, 64)).astype(np.float32)"),
    "col": ("[16, 1]", "FP32", "rng.uniform(0.5, 2, (16, 1)).astype(np.float32)"),
    "row": ("[1, 64]", "FP32", "rng.uniform(0.5, 2, (1, 64)).astype(np.float32)"),
    "m": ("[64, 32]", "FP32", "rng.uniform(0.5, 2, (64, 32)).astype(np.float32)"),
    "bias": ("[1, 32]", "FP32", "rng.uniform(0.5, 2, (1, 32)).astype(np.float32)"),
    "i": ("[16, 64]", "INT32", "rng.integers(-99, 99, (16, 64)).astype(np.int32)"),
    "divisor": ("[16, 64]", "INT32", "rng.integers(1, 9, (16, 64)).astype(np.int32)"),
    "word": ("[16, 64]", "INT32", "rng.integers(-(2**31), 2**31, (16, 64)).astype(np.int32)"),
    "mask": ("[16, 64]", "INT32", "rng.integers(-(2**31), 2**31, (16, 64)).astype(np.int32)"),
    "count": ("[16, 64]", "INT32", "rng.integers(0, 32, (16, 64)).astype(np.int32)"),
    "flat": ("[16, 64]", "INT32", "rng.integers(0, 1024, (16, 64)).astype(np.int32)"),
    "places": ("[16, 64]", "INT32", "rng.permutation(1024).reshape(16, 64).astype(np.int32)"),
    "index": ("[16, 64]", "INT32", "rng.integers(0, 64, (16, 64)).astype(np.int32)"),
}

_TEMPLATE = """
@pl.jit
def example({params}y: pl.Out[pl.Tensor[{result}, pl.{to}]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = {tile}
    return y

rng = np.random.default_rng(0)
{made}
np.testing.assert_allclose(example({names}), {numpy}, rtol={rtol})
"""


def one(tile, numpy, *operands, result="[16, 64]", to=None, rtol="1e-5"):
    """The result has the first operand's element type, unless `to` says otherwise."""
    params = "".join(f"{o}: pl.Tensor[{OPERANDS[o][0]}, pl.{OPERANDS[o][1]}], " for o in operands)
    made = "\n".join(f"{o} = {OPERANDS[o][2]}" for o in operands)
    return HEAD + _TEMPLATE.format(
        params=params, result=result, to=to or OPERANDS[operands[0]][1],
        tile=tile.format(**{o: f"{o}[:, :]" for o in operands}), made=made, names=", ".join(operands), numpy=numpy,
        rtol=rtol,
    )  # fmt: skip


TILES = {
    "add": one("pl.add({a}, {b})", "a + b", "a", "b"),
    "sub": one("pl.sub({a}, {b})", "a - b", "a", "b"),
    "mul": one("pl.mul({a}, {b})", "a * b", "a", "b"),
    "div": one("pl.div({a}, {b})", "a / b", "a", "b"),
    "maximum": one("pl.maximum({a}, {b})", "np.maximum(a, b)", "a", "b"),
    "minimum": one("pl.minimum({a}, {b})", "np.minimum(a, b)", "a", "b"),
    "adds": one("pl.adds({a}, 3.0)", "a + 3", "a"),
    "subs": one("pl.subs({a}, 3.0)", "a - 3", "a", rtol="1e-4"),
    "muls": one("pl.muls({a}, 3.0)", "a * 3", "a"),
    "divs": one("pl.divs({a}, 3.0)", "a / 3", "a"),
    "maximums": one("pl.maximums({a}, 1.0)", "np.maximum(a, 1)", "a"),
    "minimums": one("pl.minimums({a}, 1.0)", "np.minimum(a, 1)", "a"),
    "exp": one("pl.exp({a})", "np.exp(a)", "a"),
    "log": one("pl.log(pl.add({a}, 1.0))", "np.log(a + 1)", "a"),
    "sqrt": one("pl.sqrt({a})", "np.sqrt(a)", "a"),
    "rsqrt": one("pl.rsqrt({a})", "1 / np.sqrt(a)", "a"),
    "recip": one("pl.recip({a})", "1 / a", "a"),
    "abs": one("pl.abs({i})", "np.abs(i)", "i"),
    "neg": one("pl.neg({a})", "-a", "a"),
    "relu": one("pl.relu(pl.sub({a}, 1.0))", "np.maximum(a - 1, 0)", "a"),
    "lrelu": one("pl.lrelu({signed}, 0.1)", "np.where(signed > 0, signed, 0.1 * signed)", "signed"),
    "prelu": one("pl.prelu({signed}, {slope})", "np.where(signed > 0, signed, slope * signed)", "signed", "slope"),
    "fmod": one("pl.fmod({signed}, {b})", "np.fmod(signed, b)", "signed", "b"),
    "fmods": one("pl.fmods({signed}, 2.5)", "np.fmod(signed, 2.5)", "signed"),
    "rem": one("pl.rem({i}, {divisor})", "np.mod(i, divisor)", "i", "divisor"),
    "rems": one("pl.rems({i}, 7)", "np.mod(i, 7)", "i"),
    "and_": one("pl.and_({word}, {mask})", "word & mask", "word", "mask"),
    "ands": one("pl.ands({word}, 255)", "word & 255", "word"),
    "or_": one("pl.or_({word}, {mask})", "word | mask", "word", "mask"),
    "ors": one("pl.ors({word}, 255)", "word | 255", "word"),
    "xor": one("pl.xor({word}, {mask})", "word ^ mask", "word", "mask"),
    "xors": one("pl.xors({word}, 255)", "word ^ 255", "word"),
    "not_": one("pl.not_({word})", "~word", "word"),
    "shl": one("pl.shl({word}, {count})", "word << count", "word", "count"),
    "shls": one("pl.shls({word}, 3)", "word << 3", "word"),
    "shr": one("pl.shr({word}, {count})", "word >> count", "word", "count"),
    "shrs": one("pl.shrs({word}, 3)", "word >> 3", "word"),
    "sel": one(
        "pl.sel(pl.tile.cmp({a}, {b}, cmp_type=2), {signed}, {b})", "np.where(a < b, signed, b)", "a", "b", "signed"
    ),
    "part_add": one(
        "pl.part_add({a}, pl.slice({b}, [16, 64], [0, 0], valid_shape=[10, 64]))",
        "np.concatenate([a[:10] + b[:10], a[10:]])",
        "a",
        "b",
    ),
    "part_mul": one(
        "pl.part_mul({a}, pl.slice({b}, [16, 64], [0, 0], valid_shape=[10, 64]))",
        "np.concatenate([a[:10] * b[:10], a[10:]])",
        "a",
        "b",
    ),
    "part_max": one(
        "pl.part_max({a}, pl.slice({b}, [16, 64], [0, 0], valid_shape=[10, 64]))",
        "np.concatenate([np.maximum(a[:10], b[:10]), a[10:]])",
        "a",
        "b",
    ),
    "part_min": one(
        "pl.part_min({a}, pl.slice({b}, [16, 64], [0, 0], valid_shape=[10, 64]))",
        "np.concatenate([np.minimum(a[:10], b[:10]), a[10:]])",
        "a",
        "b",
    ),
    "cast": one("pl.cast({a}, pl.INT32, mode='floor')", "np.floor(a)", "a", to="INT32"),
    "row_sum": one("pl.row_sum({a})", "a.sum(axis=1, keepdims=True)", "a", result="[16, 1]"),
    "row_max": one("pl.row_max({a})", "a.max(axis=1, keepdims=True)", "a", result="[16, 1]"),
    "row_min": one("pl.row_min({a})", "a.min(axis=1, keepdims=True)", "a", result="[16, 1]"),
    "row_prod": one("pl.row_prod({a})", "a.prod(axis=1, keepdims=True)", "a", result="[16, 1]"),
    "row_argmax": one("pl.row_argmax({a})", "a.argmax(axis=1)[:, None]", "a", result="[16, 1]", to="INT32"),
    "row_argmin": one("pl.row_argmin({a})", "a.argmin(axis=1)[:, None]", "a", result="[16, 1]", to="INT32"),
    "col_sum": one("pl.col_sum({a})", "a.sum(axis=0, keepdims=True)", "a", result="[1, 64]"),
    "col_max": one("pl.col_max({a})", "a.max(axis=0, keepdims=True)", "a", result="[1, 64]"),
    "col_min": one("pl.col_min({a})", "a.min(axis=0, keepdims=True)", "a", result="[1, 64]"),
    "col_prod": one("pl.col_prod({a})", "a.prod(axis=0, keepdims=True)", "a", result="[1, 64]"),
    "col_argmax": one("pl.col_argmax({a})", "a.argmax(axis=0)[None]", "a", result="[1, 64]", to="INT32"),
    "col_argmin": one("pl.col_argmin({a})", "a.argmin(axis=0)[None]", "a", result="[1, 64]", to="INT32"),
    "row_expand": one("pl.row_expand({a}, {col})", "np.broadcast_to(col, a.shape)", "a", "col"),
    "row_expand_add": one("pl.row_expand_add({a}, {col})", "a + col", "a", "col"),
    "row_expand_sub": one("pl.row_expand_sub({a}, {col})", "a - col", "a", "col"),
    "row_expand_mul": one("pl.row_expand_mul({a}, {col})", "a * col", "a", "col"),
    "row_expand_div": one("pl.row_expand_div({a}, {col})", "a / col", "a", "col"),
    "row_expand_max": one("pl.row_expand_max({a}, {col})", "np.maximum(a, col)", "a", "col"),
    "row_expand_min": one("pl.row_expand_min({a}, {col})", "np.minimum(a, col)", "a", "col"),
    "col_expand": one("pl.col_expand({a}, {row})", "np.broadcast_to(row, a.shape)", "a", "row"),
    "col_expand_add": one("pl.col_expand_add({a}, {row})", "a + row", "a", "row"),
    "col_expand_sub": one("pl.col_expand_sub({a}, {row})", "a - row", "a", "row"),
    "col_expand_mul": one("pl.col_expand_mul({a}, {row})", "a * row", "a", "row"),
    "col_expand_div": one("pl.col_expand_div({a}, {row})", "a / row", "a", "row"),
    "col_expand_max": one("pl.col_expand_max({a}, {row})", "np.maximum(a, row)", "a", "row"),
    "col_expand_min": one("pl.col_expand_min({a}, {row})", "np.minimum(a, row)", "a", "row"),
    "expands": one("pl.expands({a}, 3.0)", "np.full_like(a, 3)", "a"),
    "matmul": one("pl.matmul({a}, {m})", "a @ m", "a", "m", result="[16, 32]"),
    "matmul_acc": one("pl.matmul_acc(pl.matmul({a}, {m}), {a}, {m})", "2 * (a @ m)", "a", "m", result="[16, 32]"),
    "matmul_bias": one("pl.matmul_bias({a}, {m}, {bias})", "a @ m + bias", "a", "m", "bias", result="[16, 32]"),
    "transpose": one("pl.transpose({a}, 0, 1)", "a.T", "a", result="[64, 16]"),
    "reshape": one("pl.reshape({a}, [32, 32])", "a.reshape(32, 32)", "a", result="[32, 32]"),
    "concat": one("pl.concat({a}, {b})", "np.concatenate([a, b], axis=1)", "a", "b", result="[16, 128]"),
    "arange": one("pl.add({i}, pl.arange(0, [1, 64], dtype=pl.INT32))", "i + np.arange(64)", "i"),
    "slice": one("pl.add(pl.slice({a}, [8, 32], [4, 32]), 1.0)", "a[4:12, 32:] + 1", "a", result="[8, 32]"),
    "tri": one("pl.mul({a}, pl.tri(0, [16, 64], dtype=pl.FP32))", "np.tril(a)", "a"),
    "move": one("pl.move({a})", "a", "a"),
    "reinterpret_view": one(
        "pl.shrs(pl.reinterpret_view({a}, pl.INT32), 23)", "a.view(np.int32) >> 23", "a", to="INT32"
    ),
    "gather": one(
        "pl.gather({a}, dim=-1, index={index})",
        "np.take_along_axis(a, index, axis=1)",
        "a",
        "index",
    ),
    "tile.gather": one("pl.tile.gather({a}, {flat})", "a.reshape(-1)[flat]", "a", "flat"),
    "gather_mask": one("pl.gather({a}, mask_pattern=1)", "a[:, ::2]", "a", result="[16, 32]"),
    "tile.scatter": one(
        "pl.tile.scatter({a}, {places}, [16, 64])",
        "a.reshape(-1)[np.argsort(places.reshape(-1))].reshape(16, 64)",
        "a",
        "places",
    ),  # fmt: skip
    "scatter_mask": one(
        "pl.tile.scatter_mask({a}, 1)", "np.stack([a, 0 * a], axis=2).reshape(16, 128)", "a", result="[16, 128]"
    ),
}

PROGRAMS = TILES | KERNELS
