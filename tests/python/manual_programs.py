"""The programs of the op manual (docs/ops.md): each runs by itself, and asserts what NumPy says.

Most are one operation on whole tiles and come from a template; those of control flow, scalars, tasks, memory and cores
are written out. Which operations a program has is read from its levels, not declared here.
"""

HEAD = "import numpy as np\nimport tilewright.language as pl\n"

#: Operands of the template: shape, and how NumPy makes one (all finite, positive and apart from 0).
OPERANDS = {
    "a": ("[16, 64]", "rng.uniform(0.5, 2, (16, 64)).astype({numpy})"),
    "b": ("[16, 64]", "rng.uniform(0.5, 2, (16, 64)).astype({numpy})"),
    "col": ("[16, 1]", "rng.uniform(0.5, 2, (16, 1)).astype({numpy})"),
    "row": ("[1, 64]", "rng.uniform(0.5, 2, (1, 64)).astype({numpy})"),
    "m": ("[64, 32]", "rng.uniform(0.5, 2, (64, 32)).astype({numpy})"),
    "i": ("[16, 64]", "rng.integers(-99, 99, (16, 64)).astype({numpy})"),
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


def one(tile, numpy, *operands, result="[16, 64]", dtype="FP32", to=None, rtol="1e-5"):
    kinds = {"FP32": "np.float32", "INT32": "np.int32", "FP16": "np.float16", "INT8": "np.int8"}
    params = "".join(f"{o}: pl.Tensor[{OPERANDS[o][0]}, pl.{dtype}], " for o in operands)
    made = "\n".join(f"{o} = {OPERANDS[o][1].format(numpy=kinds[dtype])}" for o in operands)
    return HEAD + _TEMPLATE.format(
        params=params, result=result, to=to or dtype, tile=tile.format(**{o: f"{o}[:, :]" for o in operands}),
        made=made, names=", ".join(operands), numpy=numpy, rtol=rtol,
    )  # fmt: skip


PROGRAMS = {
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
    "abs": one("pl.abs({i})", "np.abs(i)", "i", dtype="INT32"),
    "neg": one("pl.neg({a})", "-a", "a"),
    "relu": one("pl.relu(pl.sub({a}, 1.0))", "np.maximum(a - 1, 0)", "a"),
    "cast": one("pl.cast({a}, pl.INT32, mode='floor')", "np.floor(a)", "a", to="INT32"),
    "row_sum": one("pl.row_sum({a})", "a.sum(axis=1, keepdims=True)", "a", result="[16, 1]"),
    "row_max": one("pl.row_max({a})", "a.max(axis=1, keepdims=True)", "a", result="[16, 1]"),
    "row_min": one("pl.row_min({a})", "a.min(axis=1, keepdims=True)", "a", result="[16, 1]"),
    "col_sum": one("pl.col_sum({a})", "a.sum(axis=0, keepdims=True)", "a", result="[1, 64]"),
    "col_max": one("pl.col_max({a})", "a.max(axis=0, keepdims=True)", "a", result="[1, 64]"),
    "col_min": one("pl.col_min({a})", "a.min(axis=0, keepdims=True)", "a", result="[1, 64]"),
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
    "transpose": one("pl.transpose({a}, 0, 1)", "a.T", "a", result="[64, 16]"),
    "reshape": one("pl.reshape({a}, [32, 32])", "a.reshape(32, 32)", "a", result="[32, 32]"),
    "concat": one("pl.concat({a}, {b})", "np.concatenate([a, b], axis=1)", "a", "b", result="[16, 128]"),
    "arange": one("pl.add({i}, pl.arange(0, [1, 64], dtype=pl.INT32))", "i + np.arange(64)", "i", dtype="INT32"),
    "slice": one("pl.add(pl.slice({a}, [8, 32], [4, 32]), 1.0)", "a[4:12, 32:] + 1", "a", result="[8, 32]"),
    "fillpad": HEAD
    + """
@pl.jit
def example(x: pl.Tensor[[16, 64], pl.FP32], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        ragged = pl.slice(x, [16, 64], [0, 0], valid_shape=[n, 64])
        y[:, :] = pl.fillpad(pl.add(ragged, 1.0), pad_value=pl.PadValue.zero)
    return y

x = np.ones((16, 64), np.float32)
y = example(x, 5)
assert (y[:5] == 2).all() and (y[5:] == 0).all()
""",
    "assemble": HEAD
    + """
@pl.jit
def example(x: pl.Tensor[[8, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        tile = pl.full([16, 64], dtype=pl.FP32, value=7.0)
        tile = pl.assemble(tile, pl.add(x[:, :], 1.0), [4, 0])
        y[:, :] = tile
    return y

x = np.arange(512, dtype=np.float32).reshape(8, 64)
want = np.full((16, 64), 7, np.float32)
want[4:12] = x + 1
np.testing.assert_array_equal(example(x), want)
""",
    "elements of a tile": HEAD
    + """
@pl.jit
def example(x: pl.Tensor[[1, 64], pl.FP32], y: pl.Out[pl.Tensor[[1, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        tile = pl.add(x[:, :], 0.0)
        first = pl.read(tile, [0, 0])
        pl.write(tile, [0, 1], first)
        y[:, :] = tile
    return y

x = np.arange(1, 65, dtype=np.float32).reshape(1, 64)
want = x.copy()
want[0, 1] = x[0, 0]
np.testing.assert_array_equal(example(x), want)
""",
    "for": HEAD
    + """
@pl.jit
def example(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        total = x[0:16, :]
        for r in pl.range(16, 64, 16):
            total = pl.add(total, x[r : r + 16, :])
        y[:, :] = total
    return y

x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
np.testing.assert_array_equal(example(x), x.reshape(4, 16, 64).sum(axis=0))
""",
    "if": HEAD
    + """
@pl.jit
def example(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
    for r in pl.range(0, 32, 16):
        with pl.at(level=pl.Level.CORE_GROUP):
            tile = x[r : r + 16, :]
            if r > 0:
                tile = pl.mul(tile, 2.0)
            else:
                tile = pl.neg(tile)
            y[r : r + 16, :] = tile
    return y

x = np.ones((32, 64), np.float32)
y = example(x)
assert (y[:16] == -1).all() and (y[16:] == 2).all()
""",
    "while": HEAD
    + """
@pl.jit
def example(n: pl.Tensor[[1], pl.INT32], y: pl.Out[pl.Tensor[[1], pl.INT32]]):
    steps = pl.const(0, pl.INT32)
    value = pl.read(n, [0])
    while value > 1:
        value = value // 2
        steps = steps + 1
    pl.write(y, [0], steps)
    return y

assert example(np.array([40], np.int32)) == 5
""",
    "scalars": HEAD
    + """
@pl.jit
def example(n: pl.Tensor[[2], pl.INT32], y: pl.Out[pl.Tensor[[16], pl.INT32]]):
    a, b = pl.read(n, [0]), pl.read(n, [1])
    results = [
        a + b, a - b, a * b, a // b, a % b, pl.min(a, b), pl.max(a, b), a & b, a | b, a ^ b, a << b, a >> b, ~a, -a
    ]
    for i in pl.unroll(14):
        pl.write(y, [i], results[i])
    pl.write(y, [14], a if a > b else b)
    pl.write(y, [15], pl.cast(pl.cast(a, pl.FP32) * 2.5, pl.INT32))
    return y

a, b = 37, 3
want = [a + b, a - b, a * b, a // b, a % b, 3, 37, a & b, a | b, a ^ b, a << b, a >> b, ~a, -a, 37, 92]
np.testing.assert_array_equal(example(np.array([a, b], np.int32)), want)
""",
    "tensors": HEAD
    + """
N = pl.dynamic("N")

@pl.jit
def example(x: pl.Tensor[[N, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 16], pl.FP32]]):
    rows = pl.tensor.dim(x, 0)
    t = pl.create_tensor([16, 64], dtype=pl.FP32)
    last = pl.slice(x, [16, 64], [rows - 16, 0])
    with pl.at(level=pl.Level.CORE_GROUP):
        t[:, :] = pl.add(last[:, :], 1.0)
    flat = pl.reshape(t, [1, 1024])
    with pl.at(level=pl.Level.CORE_GROUP):
        flat[:, :] = pl.mul(flat[:, :], 2.0)
    turned = pl.transpose(t, 0, 1)
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = turned[:, :]
    return y

x = np.arange(48 * 64, dtype=np.float32).reshape(48, 64)
np.testing.assert_array_equal(example(x), (2 * (x[-16:] + 1)).T)
""",
    "tasks": HEAD
    + """
@pl.jit
def example(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
    parts = pl.create_tensor([64, 64], dtype=pl.FP32)
    made = pl.array.create(4, pl.TASK_ID)
    before = pl.system.task_invalid()
    for p in pl.range(4):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="produce", deps=[before]) as tid:
            parts[p * 16 : p * 16 + 16, :] = pl.exp(x[p * 16 : p * 16 + 16, :])
        made[p] = tid
    joined = pl.system.task_dummy(deps=[made, made[0]])
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="consume", deps=[joined]):
        total = parts[0:16, :]
        for p in pl.range(1, 4):
            total = pl.add(total, parts[p * 16 : p * 16 + 16, :])
        y[:, :] = total
    return y

x = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
np.testing.assert_allclose(example(x), np.exp(x).reshape(4, 16, 64).sum(axis=0), rtol=1e-5)
""",
    "blocks": HEAD
    + """
@pl.jit
def example(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    with pl.spmd(4, sync_start=True):
        block, blocks = pl.get_block_idx(), pl.get_block_num()
        y[block * 16 : block * 16 + 16, :] = pl.add(x[block * 16 : block * 16 + 16, :], 1.0)
        pl.system.syncall(core_type="aiv_only")
        other = (block + 1) % blocks * 16
        neighbour = y[other : other + 16, :]
        pl.system.syncall(core_type="aiv_only")
        y[block * 16 : block * 16 + 16, :] = neighbour
    return y

x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
np.testing.assert_array_equal(example(x), np.roll(x + 1, -16, axis=0))
""",
    "scalars of a core": HEAD
    + """
@pl.jit
def example(n: pl.Tensor[[8], pl.INT32], y: pl.Out[pl.Tensor[[8], pl.INT32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        for i in pl.range(8):
            pl.write(y, [i], pl.read(n, [7 - i]) + 1)
    return y

n = np.arange(8, dtype=np.int32)
np.testing.assert_array_equal(example(n), n[::-1] + 1)
""",
    "cube and vector": HEAD
    + """
@pl.jit
def example(
    a: pl.Tensor[[16, 64], pl.FP32],
    b: pl.Tensor[[64, 32], pl.FP32],
    c: pl.Tensor[[32, 32], pl.FP32],
    y: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        product = pl.exp(pl.mul(pl.matmul(a[:, :], b[:, :]), 0.01))
        y[:, :] = pl.add(pl.matmul(product, c[:, :]), 1.0)
    return y

rng = np.random.default_rng(0)
a, b, c = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((16, 64), (64, 32), (32, 32)))
np.testing.assert_allclose(example(a, b, c), np.exp(a @ b * 0.01) @ c + 1, rtol=1e-4, atol=1e-4)
""",
}
