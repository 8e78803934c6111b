"""The cases of `test_faces.py`: a line or two of a kernel, its inputs, and what its outputs are."""

import dataclasses

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16
F16, F32 = np.float16, np.float32
I8, U8, I16, U16, I32, U32 = np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32
NAMES = {
    np.dtype(d): n
    for d, n in {F32: "FP32", F16: "FP16", BF16: "BF16", I8: "INT8", U8: "UINT8", I16: "INT16", U16: "UINT16"}.items()
} | {np.dtype(I32): "INT32", np.dtype(U32): "UINT32"}
BOTH = ("a2a3sim", "a5sim")
SENTINEL = 7


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    body: str
    inputs: dict
    outputs: dict
    # Inputs that the kernel changes.
    changed: dict = dataclasses.field(default_factory=dict)
    platforms: tuple = BOTH
    # What the other platforms say, or what a run that fails says.
    refused: str = ""
    ulp: int = 0


def rng(name):
    return np.random.default_rng(sum(map(ord, name)))


def numbers(name, shape, dtype, low=None, high=None):
    """Random elements; floats have NaN, infinities and both zeros among them unless there are bounds."""
    dtype = np.dtype(dtype)
    r = rng(f"{name}{shape}{dtype}")
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if low is None else (low, high)
        return r.integers(low, high, size=shape, dtype=dtype, endpoint=True)
    if low is not None:
        return r.uniform(low, high, size=shape).astype(dtype)
    x = (r.standard_normal(shape) * 8).astype(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], dtype=dtype)
    flat = x.reshape(-1)
    flat[:: max(1, flat.size // special.size)][: special.size] = special[: flat[:: max(1, flat.size // 6)].size]
    return x


def unwritten(shape, dtype):
    return np.full(shape, SENTINEL, dtype=dtype)


def part(whole, region, shape=None):
    """An output that holds `whole` within a region and what it held before elsewhere."""
    out = unwritten(whole.shape if shape is None else shape, whole.dtype)
    out[region] = whole[region]
    return out


def elementwise():
    table = [
        ("fmod", np.fmod, [F32, I32, I16]),
        ("rem", remainder, [F32, I32, I16]),
        ("and_", np.bitwise_and, [I32, I16, U16, U32]),
        ("or_", np.bitwise_or, [I32, I16, U16]),
        ("xor", np.bitwise_xor, [I32, I16, U16]),
        ("prelu", lambda a, b: np.where(a > 0, a, (b * a).astype(a.dtype)), [F32, F16]),
    ]
    for name, oracle, dtypes in table:
        for dtype in dtypes:
            low, high = (None, None) if name in ("and_", "or_", "xor") else (-100, 100)
            x, y = (numbers(f"{name}{v}", (8, 32), dtype, low, high) for v in "xy")
            y[y == 0] = 3
            with np.errstate(all="ignore"):
                yield Case(
                    f"{name}-{NAMES[np.dtype(dtype)]}",
                    f"out[:, :] = pl.{name}(x, y)",
                    {"x": x, "y": y},
                    {"out": oracle(x, y).astype(dtype)},
                )
    for name, oracle in [("shl", shift_left), ("shr", shift_right)]:
        for dtype in [I32, I16, U16]:
            x = numbers(name, (8, 32), dtype)
            y = np.arange(256).reshape(8, 32).astype(dtype) % 20
            yield Case(
                f"{name}-{NAMES[np.dtype(dtype)]}",
                f"out[:, :] = pl.{name}(x, y)",
                {"x": x, "y": y},
                {"out": oracle(x, y)},
            )
            yield Case(
                f"{name}s-{NAMES[np.dtype(dtype)]}",
                f"out[:, :] = pl.{name}s(x, 3)",
                {"x": x},
                {"out": oracle(x, np.full_like(x, 3))},
            )
    for name, oracle, number in [
        ("fmods", np.fmod, "2.5"),
        ("rems", remainder, "-2.5"),
        ("ands", np.bitwise_and, "12"),
        ("ors", np.bitwise_or, "12"),
        ("xors", np.bitwise_xor, "-1"),
    ]:
        dtype = F32 if "." in number else I32
        x = numbers(name, (8, 32), dtype, -1000, 1000)
        scalar = np.full_like(x, dtype(float(number)))
        yield Case(f"{name}-scalar", f"out[:, :] = pl.{name}(x, {number})", {"x": x}, {"out": oracle(x, scalar)})
    x = numbers("reverse", (8, 32), F32, 1, 5)
    yield Case("fmod-number-on-the-left", "out[:, :] = pl.fmod(7.5, x)", {"x": x}, {"out": np.fmod(F32(7.5), x)})
    x = numbers("lrelu", (8, 32), F32, -5, 5)
    yield Case("lrelu", "out[:, :] = pl.lrelu(x, 0.1)", {"x": x}, {"out": np.where(x > 0, x, x * F32(0.1))})
    for dtype in [I16, U16, I32]:
        x = numbers("not", (8, 32), dtype)
        yield Case(f"not_-{NAMES[np.dtype(dtype)]}", "out[:, :] = pl.not_(x)", {"x": x}, {"out": ~x})
    # An integer operand on a smaller type is promoted, floats win over integers.
    x, y = numbers("promote", (8, 32), F32, 1, 9), numbers("promote", (8, 32), I16, 1, 9)
    yield Case("fmod-promotes", "out[:, :] = pl.fmod(x, y)", {"x": x, "y": y}, {"out": np.fmod(x, y.astype(F32))})
    # Broadcasts without an instruction of their own.
    x, v, w = numbers("b", (8, 32), I32), numbers("b", (1, 32), I32), numbers("b", (8, 1), I32)
    yield Case("and_-row-vector", "out[:, :] = pl.and_(x, v)", {"x": x, "v": v}, {"out": x & v})
    yield Case("or_-column-vector", "out[:, :] = pl.or_(x, w)", {"x": x, "w": w}, {"out": x | w})
    # Columns and partly valid tiles.
    x, y = numbers("col", (16, 1), I32), numbers("coly", (16, 1), I32)
    yield Case("xor-columns", "out[:, :] = pl.xor(x, y)", {"x": x, "y": y}, {"out": x ^ y})
    x, y = numbers("rag", (8, 32), F32, 1, 9), numbers("ragy", (8, 32), F32, 1, 9)
    yield Case(
        "fmod-ragged",
        "a = pl.slice(x, [8, 32], [0, 0], valid_shape=[5, 20])\nout[:, :] = pl.fmod(a, y)",
        {"x": x, "y": y},
        {"out": part(np.fmod(x, y), np.s_[:5, :20])},
    )
    x, y, z = (numbers(f"chain{v}", (8, 32), F32, -3, 3) for v in "xyz")
    yield Case("addc", "out[:, :] = pl.addc(x, y, z)", {"x": x, "y": y, "z": z}, {"out": (x + y) + z})
    yield Case("subc", "out[:, :] = pl.subc(x, y, z)", {"x": x, "y": y, "z": z}, {"out": (x - y) + z})
    yield Case("addsc", "out[:, :] = pl.addsc(x, 1.5, z)", {"x": x, "z": z}, {"out": (x + F32(1.5)) + z})
    yield Case("subsc", "out[:, :] = pl.subsc(x, 1.5, z)", {"x": x, "z": z}, {"out": (x - F32(1.5)) + z})


def remainder(a, b):
    """The sign of the divisor, each step rounded; exact for integers."""
    if a.dtype.kind in "iu":
        return np.remainder(a, b)
    with np.errstate(all="ignore"):
        return a - np.floor(a / b) * b


def shift_left(x, counts):
    bits = x.dtype.itemsize * 8
    unsigned = x.astype(np.int64) & ((1 << bits) - 1)
    out = [(int(v) << int(n)) & ((1 << bits) - 1) if 0 <= n < bits else 0 for v, n in zip(unsigned.flat, counts.flat)]
    return np.array(out, dtype=np.int64).astype(x.dtype).reshape(x.shape)


def shift_right(x, counts):
    out = [int(v) >> min(int(n), 63) for v, n in zip(x.flat, counts.flat)]
    return np.array(out, dtype=np.int64).astype(x.dtype).reshape(x.shape)


def parts():
    ops = {"part_add": np.add, "part_mul": np.multiply, "part_max": np.maximum, "part_min": np.minimum}
    for name, oracle in ops.items():
        for dtype in [F32, I32, F16]:
            x, y = numbers(name, (8, 32), dtype, -50, 50), numbers(f"{name}y", (8, 32), dtype, -50, 50)
            both = np.s_[:5, :20]
            want = x.copy()
            want[both] = oracle(x[both], y[both]).astype(dtype)
            yield Case(
                f"{name}-{NAMES[np.dtype(dtype)]}",
                f"b = pl.slice(y, [8, 32], [0, 0], valid_shape=[5, 20])\nout[:, :] = pl.{name}(x, b)",
                {"x": x, "y": y},
                {"out": want},
            )


def comparisons():
    ops = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
    names = ["eq", "ne", "lt", "le", "gt", "ge"]
    for kind, (oracle, name) in enumerate(zip(ops, names)):
        x, y = numbers("cmp", (8, 32), F32), numbers("cmp", (8, 32), F32)
        y[::2] = numbers("other", (8, 32), F32)[::2]
        yield Case(
            f"cmp-{name}",
            f"out[:, :] = pl.cmp(x, y, cmp_type={kind})",
            {"x": x, "y": y},
            {"out": oracle(x, y).astype(F32)},
        )
        yield Case(
            f"cmp-{name}-number",
            f'out[:, :] = pl.cmp(x, 1.0, "{name}")',
            {"x": x},
            {"out": oracle(x, F32(1.0)).astype(F32)},
        )
        i, j = numbers("icmp", (8, 32), I32, -3, 3), numbers("jcmp", (8, 32), I32, -3, 3)
        yield Case(
            f"cmp-{name}-INT32",
            f"out[:, :] = pl.cmp(x, y, {kind})",
            {"x": i, "y": j},
            {"out": oracle(i, j).astype(I32)},
        )
        # Masks of tiles, 100 columns: more than one block of bits would be 257.
        yield Case(
            f"sel-{name}",
            f"a = pl.load(x, [0, 0], [8, 32])\nb = pl.load(y, [0, 0], [8, 32])\n"
            f"out[:, :] = pl.sel(pl.cmp(a, b, {kind}), a, b)",
            {"x": x, "y": y},
            {"out": np.where(oracle(x, y), x, y)},
        )
    x, y = numbers("h", (16, 1), F32), numbers("h", (16, 1), F32)
    y[3:] = 0
    yield Case("cmp-columns", "out[:, :] = pl.cmp(x, y, 4)", {"x": x, "y": y}, {"out": (x > y).astype(F32)})
    x, v, w = numbers("bc", (8, 32), F32), numbers("bc", (1, 32), F32), numbers("bc", (8, 1), F32)
    yield Case("cmp-row-vector", "out[:, :] = pl.cmp(x, v, 5)", {"x": x, "v": v}, {"out": (x >= v).astype(F32)})
    yield Case("cmp-column-vector", "out[:, :] = pl.cmp(x, w, 5)", {"x": x, "w": w}, {"out": (x >= w).astype(F32)})
    x = numbers("rag", (8, 32), F32)
    yield Case(
        "cmp-ragged",
        "a = pl.slice(x, [8, 32], [0, 0], valid_shape=[3, 17])\nout[:, :] = pl.cmp(a, 0.0, 4)",
        {"x": x},
        {"out": part((x > 0).astype(F32), np.s_[:3, :17])},
    )
    x, y = numbers("wide", (2, 320), F32), numbers("widey", (2, 320), F32)
    yield Case(
        "tile-cmp-more-than-one-block",
        "out[:, :] = pl.sel(pl.tile.cmp(x, y, 2), x, y)",
        {"x": x, "y": y},
        {"out": np.where(x < y, x, y)},
    )
    yield Case(
        "cmps-sels",
        "m = pl.cmps(pl.load(x, [0, 0], [2, 320]), 0.5, cmp_type=4)\nt = pl.create_tile([1, 32], dtype=pl.UINT8)\n"
        "out[:, :] = pl.sels(m, pl.load(x, [0, 0], [2, 320]), t, -3.0)",
        {"x": x},
        {"out": np.where(x > F32(0.5), x, F32(-3))},
    )
    i = numbers("nan-bits", (8, 32), I32)
    mask = "pl.tile.cmp(x, x, 0)"
    yield Case("sel-int", f"out[:, :] = pl.sel({mask}, x, pl.neg(x))", {"x": i}, {"out": i})


def recipe(x, cosine):
    """`dsl.md` §4.2, one rounded f32 step after the other."""
    f = F32
    with np.errstate(all="ignore"):
        turns = x * f(0.31830988732818603515625)
        if cosine:
            k = np.rint(turns + f(0.5))
        else:
            k = (np.sign(turns) * np.floor(np.abs(turns.astype(np.float64)) + 0.5)).astype(f)
        t = x - k * f(3.140625)
        t = t - k * f(0.0009670257568359375)
        if cosine:
            t = t + f(1.57079637050628662109375)
        t = t - k * f(6.2771141529083251953125e-7)
        t = t - k * f(1.21644916362129151821e-10)
        t = t + k * f(1.0290623200529979163e-13)
        if cosine:
            t = t + f(-4.371139000189375e-8)
        sign = np.floor(k * f(0.5)) * f(4) - k * f(2) + f(1)
        u = t * t
        p = u * f(2.604926501e-6)
        for c in [-1.980894471e-4, 8.333049340e-3, -1.666665792e-1]:
            p = (p + f(c)) * u
        return sign * (t * (p + f(1)))


def waves():
    x = numbers("waves", (8, 64), F32, -40, 40)
    x[0, :8] = [np.nan, np.inf, -np.inf, 1e12, -3e9, 7e9, 0.0, np.pi / 2]
    for name in ["sin", "cos"]:
        want = recipe(x, name == "cos")
        finite = np.abs(x) < 40
        exact = getattr(np, name)(x.astype(np.float64))
        assert np.max(np.abs(want[finite] - exact[finite])) < 1e-6
        yield Case(name, f"out[:, :] = pl.{name}(x)", {"x": x}, {"out": want})


def reductions():
    for dtype in [F32, I32]:
        x = numbers("prod", (8, 16), dtype, 1, 3)
        n = NAMES[np.dtype(dtype)]
        ulp = 4 if dtype == F32 else 0
        yield Case(
            f"row_prod-{n}",
            "out[:, :] = pl.row_prod(x)",
            {"x": x},
            {"out": x.prod(1, keepdims=True, dtype=dtype)},
            ulp=ulp,
        )
        yield Case(
            f"col_prod-{n}",
            "out[:, :] = pl.col_prod(x)",
            {"x": x},
            {"out": x.prod(0, keepdims=True, dtype=dtype)},
            ulp=ulp,
        )
    for axis, name in [(1, "row"), (0, "col")]:
        for which in ["argmax", "argmin"]:
            x = numbers(f"arg{which}", (8, 32), F32, -5, 5)
            x[2, 3] = x[2, 30] = 9 if which == "argmax" else -9
            x[4, 5] = x[6, 5] = 9 if which == "argmax" else -9
            want = np.expand_dims(getattr(np, which)(x, axis=axis), axis).astype(I32)
            yield Case(f"{name}_{which}", f"out[:, :] = pl.{name}_{which}(x)", {"x": x}, {"out": want})
            valid = x[:5, :20]
            want = np.expand_dims(getattr(np, which)(valid, axis=axis), axis).astype(I32)
            out = unwritten((8, 1) if axis else (1, 32), I32)
            out[: want.shape[0], : want.shape[1]] = want
            yield Case(
                f"{name}_{which}-ragged",
                f"out[:, :] = pl.{name}_{which}(pl.slice(x, [8, 32], [0, 0], valid_shape=[5, 20]))",
                {"x": x},
                {"out": out},
            )


def gathers():
    for rows, dtype, index in [
        (1, F32, I32),
        (8, F32, I32),
        (4, I32, I32),
        (4, F16, I32),
        (4, BF16, I16),
        (3, I16, I16),
    ]:
        x = numbers("gather", (rows, 64), dtype)
        i = numbers("index", (rows, 32), index, 0, 63)
        yield Case(
            f"gather-{NAMES[np.dtype(dtype)]}-{NAMES[np.dtype(index)]}-{rows}",
            "out[:, :] = pl.gather(x, dim=-1, index=i)",
            {"x": x, "i": i},
            {"out": np.take_along_axis(x, i.astype(np.int64), 1)},
        )
    x, i = numbers("g", (8, 64), F32), numbers("g", (8, 32), I32, 0, 63)
    yield Case(
        "gather-ragged",
        "j = pl.slice(i, [8, 32], [0, 0], valid_shape=[5, 19])\nout[:, :] = pl.gather(x, index=j)",
        {"x": x, "i": i},
        {"out": part(np.take_along_axis(x, i, 1), np.s_[:5, :19])},
    )
    yield Case(
        "gather-dynamic-rows",
        "n = pl.cast(pl.read(k, [0]), pl.INDEX)\nj = pl.slice(i, [8, 32], [0, 0], valid_shape=[n, 32])\n"
        "out[:, :] = pl.gather(x, dim=1, index=j)",
        {"x": x, "i": i, "k": np.array([3, 0, 0, 0, 0, 0, 0, 0], dtype=I32)},
        {"out": part(np.take_along_axis(x, i, 1), np.s_[:3])},
    )
    flat = numbers("flat", (8, 32), I32, 0, 8 * 64 - 1)
    yield Case(
        "tile-gather",
        "t = pl.create_tile([8, 32], dtype=pl.INT32)\n"
        "out[:, :] = pl.tile.gather(pl.load(x, [0, 0], [8, 64]), pl.load(i, [0, 0], [8, 32]), t)",
        {"x": x, "i": flat},
        {"out": x.reshape(-1)[flat]},
    )
    patterns = {1: (0, 2), 2: (1, 2), 3: (0, 4), 4: (1, 4), 5: (2, 4), 6: (3, 4), 7: (0, 1)}
    for number, (first, step) in patterns.items():
        word = ["P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111"][number - 1]
        x = numbers("pattern", (4, 64), F32)
        yield Case(
            f"gather-{word}",
            f"out[:, :] = pl.gather(x, mask_pattern=pl.tile.MaskPattern.{word})",
            {"x": x},
            {"out": x[:, first::step]},
        )
    yield Case(
        "gather-pattern-as-INT32",
        "out[:, :] = pl.gather(x, mask_pattern=2, output_dtype=pl.INT32)",
        {"x": x},
        {"out": x.view(I32)[:, 1::2]},
    )
    yield Case(
        "gather_mask-ragged",
        "a = pl.slice(x, [4, 64], [0, 0], valid_shape=[3, 40])\nout[:, :] = pl.tile.gather_mask(a, 4)",
        {"x": x},
        {"out": part(np.pad(x[:, 1:40:4], ((0, 0), (0, 6))), np.s_[:3, :10])},
    )
    h = numbers("half", (4, 64), F16)
    yield Case("gather-pattern-FP16", "out[:, :] = pl.gather(x, mask_pattern=1)", {"x": h}, {"out": h[:, ::2]})
    x = numbers("compare", (8, 64), F32, -1, 1)
    found, counts = unwritten((8, 16), I32), np.zeros((1, 8), I32)
    for row in range(8):
        columns = np.nonzero(x[row] > F32(0.5))[0]
        counts[0, row] = len(columns)
        found[row] = np.append(columns[:16] + 100, np.zeros(16, I32))[:16]
    yield Case(
        "gather-compare",
        "f, c = pl.gather(x, kvalue=0.5, cmp_mode=4, out_cols=16, offset=100)\nfound[:, :] = f\ncounts[:, :] = c",
        {"x": x},
        {"found": found, "counts": counts},
    )
    x = numbers("blocks", (4, 64), F32)
    offsets = (numbers("blocks", (4, 8), U32, 0, 31) * 32).astype(U32)
    blocks = x.reshape(-1, 8)[offsets // 32].reshape(4, 64)
    yield Case(
        "gatherb",
        "out[:, :] = pl.gatherb(pl.load(x, [0, 0], [4, 64]), pl.load(o, [0, 0], [4, 8]))",
        {"x": x, "o": offsets},
        {"out": blocks},
    )
    table = numbers("table", (100, 64), F32)
    rows = numbers("rows", (1, 16), I32, 0, 99)
    yield Case("mgather-rows", "out[:, :] = pl.mgather(x, i)", {"x": table, "i": rows}, {"out": table[rows[0]]})
    elements = numbers("elements", (4, 32), I32, 0, 6399)
    yield Case(
        "mgather-elements",
        'out[:, :] = pl.mgather(x, i, coalesce="elem")',
        {"x": table, "i": elements},
        {"out": table.reshape(-1)[elements]},
    )
    wild = numbers("wild", (1, 16), I32, -50, 150)
    inside = (wild >= 0) & (wild < 100)
    yield Case(
        "mgather-zero",
        'out[:, :] = pl.mgather(x, i, gather_oob="zero")',
        {"x": table, "i": wild},
        {"out": np.where(inside[0][:, None], table[np.clip(wild[0], 0, 99)], F32(0))},
    )
    yield Case(
        "gather_row",
        "acc = pl.create_l1([16, 64], pl.FP32)\n"
        "for r in pl.range(16):\n"
        "    s = pl.cast(pl.read(i, [0, r]), pl.INDEX)\n"
        "    acc = pl.gather_row(acc, x, [r, 0], [s, 0], [1, 64])\n"
        "out[:, :] = acc",
        {"x": table, "i": rows},
        {"out": table[rows[0]]},
    )
    yield Case(
        "gather_row-several",
        "acc = pl.full([16, 64], dtype=pl.FP32, value=2.0)\n"
        "acc = pl.gather_row(acc, x, [10, 0], [50, 0], [16, 64], valid_shape=[6, 64])\n"
        "out[:, :] = acc",
        {"x": table},
        {"out": np.concatenate([np.full((10, 64), 2, F32), table[50:56]])},
    )


def scattered(target, index, source):
    out = target.copy()
    for row in range(index.shape[0]):
        for column in range(index.shape[1]):
            out[row, index[row, column]] = source[row, column]
    return out


def scatters():
    for rows, dtype, index in [
        (1, F32, I32),
        (8, F32, I32),
        (4, I32, I32),
        (4, F16, I16),
        (4, I16, I32),
        (2, BF16, I16),
    ]:
        x, s = numbers("scatter", (rows, 64), dtype), numbers("source", (rows, 16), dtype)
        i = numbers("where", (rows, 16), index, 0, 63)
        yield Case(
            f"scatter-{NAMES[np.dtype(dtype)]}-{NAMES[np.dtype(index)]}-{rows}",
            "out[:, :] = pl.scatter(x, dim=-1, index=i, src=s)",
            {"x": x, "i": i, "s": s},
            {"out": scattered(x, i, s)},
        )
    x, s = numbers("m", (4, 64), F32), numbers("m", (4, 32), F32)
    for word, first in [("P0101", 0), ("P1010", 1)]:
        want = x.copy()
        want[:, first::2] = s
        yield Case(
            f"scatter-{word}",
            f"out[:, :] = pl.tensor.scatter(s, mask_pattern=pl.tile.MaskPattern.{word}, dst=x)",
            {"x": x, "s": s},
            {"out": want},
        )
    want = np.zeros((4, 128), F32)
    want[:, 2::4] = s
    yield Case("scatter_mask", "out[:, :] = pl.tile.scatter_mask(s, 5)", {"s": s}, {"out": want})
    i = rng("perm").permutation(256)[:64].reshape(2, 32).astype(I32)
    s = numbers("flat", (2, 32), F32)
    want = np.zeros(256, F32)
    want[i.reshape(-1)] = s.reshape(-1)
    yield Case(
        "tile-scatter", "out[:, :] = pl.tile.scatter(s, i, [4, 64])", {"s": s, "i": i}, {"out": want.reshape(4, 64)}
    )
    table = numbers("update", (32, 64), F32)
    rows = rng("rows").permutation(32)[:8].reshape(1, 8).astype(I32)
    s = numbers("rows", (8, 64), F32)
    want = table.copy()
    want[rows[0]] = s
    yield Case(
        "scatter_update-tensor",
        "u = pl.scatter_update(x, -2, i, s)\nout[:, :] = pl.full([1, 8], dtype=pl.FP32, value=1.0)",
        {"x": table, "i": rows, "s": s},
        {"out": np.ones((1, 8), F32)},
        changed={"x": want},
    )
    yield Case(
        "scatter_update-tile",
        "t = x[:, :]\nout[:, :] = pl.scatter_update(t, -2, i, s)\nsame[:, :] = t",
        {"x": table, "i": rows, "s": s},
        {"out": want, "same": table},
    )
    elements = rng("elements").permutation(32 * 64)[:64].reshape(2, 32).astype(I32)
    s = numbers("elements", (2, 32), F32)
    want = table.copy()
    want.reshape(-1)[elements.reshape(-1)] = s.reshape(-1)
    yield Case(
        "mscatter",
        "pl.mscatter(s, i, x)\nout[:, :] = pl.full([1, 8], dtype=pl.FP32, value=1.0)",
        {"x": table, "i": elements, "s": s},
        {"out": np.ones((1, 8), F32)},
        changed={"x": want},
    )


def records(values, indices):
    """Rows of (value, index) pairs as one row of elements, FP32."""
    out = np.empty((values.shape[0], values.shape[1] * 2), F32)
    out[:, ::2] = values
    out[:, 1::2] = indices.astype(U32).view(F32)
    return out


def descending(values, indices, run):
    """Each run of a row, largest first; equal values in their order."""
    v, i = values.copy(), indices.copy()
    for row in range(v.shape[0]):
        for first in range(0, v.shape[1], run):
            part = np.s_[row, first : first + run]
            order = np.argsort(-v[part], kind="stable")
            v[part], i[part] = v[part][order], i[part][order]
    return v, i


def sorts():
    x = rng("sort").integers(-40, 40, (1, 512)).astype(F32)
    i = np.arange(512, dtype=U32).reshape(1, 512)
    yield Case(
        "sort32",
        "out[:, :] = pl.reinterpret_view(pl.sort32(x, i), pl.INT32)",
        {"x": x, "i": i},
        {"out": records(*descending(x, i, 32)).view(I32)},
    )
    y = rng("sorty").integers(-40, 40, (4, 64)).astype(F32)
    j = np.tile(np.arange(64, dtype=U32), (4, 1))
    yield Case(
        "sort32-rows",
        "out[:, :] = pl.reinterpret_view(pl.sort32(x, i), pl.INT32)",
        {"x": y, "i": j},
        {"out": records(*descending(y, j, 32)).view(I32)},
    )
    yield Case(
        "mrgsort",
        "s = pl.mrgsort(pl.sort32(x, i), block_len=64)\n"
        "s = pl.mrgsort(s, block_len=256)\n"
        "v[:, :] = pl.gather(s, mask_pattern=1)\n"
        "k[:, :] = pl.gather(s, mask_pattern=2, output_dtype=pl.INT32)",
        {"x": x, "i": i},
        dict(zip("vk", (lambda v, k: (v, k.astype(I32)))(*descending(x, i, 512)))),
    )
    for count in [2, 3, 4]:
        width = 32
        parts = [x[:, n * width : (n + 1) * width] for n in range(count)]
        whole = np.concatenate(parts, 1)
        v, k = descending(whole, i[:, : whole.shape[1]], whole.shape[1])
        lists = ", ".join(
            f"pl.sort32(x[:, {n * width}:{(n + 1) * width}], i[:, {n * width}:{(n + 1) * width}])" for n in range(count)
        )
        yield Case(
            f"mrgsort-{count}-lists",
            f"out[:, :] = pl.reinterpret_view(pl.mrgsort({lists}), pl.INT32)",
            {"x": x, "i": i},
            {"out": records(v, k).view(I32)},
        )


def makes():
    for dtype in [F32, F16, BF16, I8, U8, I16, U16, I32, U32]:
        n = NAMES[np.dtype(dtype)]
        yield Case(
            f"full-{n}", f"out[:, :] = pl.full([4, 64], dtype=pl.{n}, value=3)", {}, {"out": np.full((4, 64), 3, dtype)}
        )
    for dtype in [I16, U16, I32, U32]:
        n = NAMES[np.dtype(dtype)]
        yield Case(
            f"arange-{n}",
            f"out[:, :] = pl.arange(5, [1, 64], dtype=pl.{n})",
            {},
            {"out": np.arange(5, 69, dtype=dtype)[None]},
        )
        yield Case(
            f"arange-{n}-descending",
            f"out[:, :] = pl.arange(90, [1, 64], dtype=pl.{n}, descending=True)",
            {},
            {"out": np.arange(90, 26, -1, dtype=dtype)[None]},
        )
    for dtype in [F32, I32, F16]:
        for upper, d in [(False, 0), (False, 3), (True, -2), (True, 1)]:
            n = NAMES[np.dtype(dtype)]
            row, col = np.indices((16, 32))
            want = (col >= row + d) if upper else (col <= row + d)
            yield Case(
                f"tri-{n}-{upper}-{d}",
                f"out[:, :] = pl.tri({d}, [16, 32], dtype=pl.{n}, upper={upper})",
                {},
                {"out": want.astype(dtype)},
            )
    row, col = np.indices((16, 32))
    yield Case(
        "tri-ragged",
        "out[:, :] = pl.tri(2, [16, 32], [5, 9], pl.FP32)",
        {},
        {"out": part((col <= row + 2).astype(F32), np.s_[:5, :9])},
    )
    yield Case(
        "random",
        "out[:, :] = pl.random(1, 2, 3, 4, 5, 6, [1, 256], pl.UINT32, 7)",
        {},
        {"out": philox([1, 2], [3, 4, 5, 6], 7)[None]},
        platforms=("a5sim",),
        refused="instruction of a5",
    )


def philox(key, counter, rounds):
    """Philox-4x32 for 64 counters, the four words of each one after the other."""
    words = []
    start = sum(c << (32 * n) for n, c in enumerate(counter))
    for lane in range(64):
        c = [(start + lane) >> (32 * n) & 0xFFFFFFFF for n in range(4)]
        k = list(key)
        for _ in range(rounds):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        words += c
    return np.array(words, dtype=U32)


def shapes():
    x = numbers("shape", (4, 8, 32), F32)
    for axis in range(3):
        one = np.s_[tuple(slice(0, 1) if a == axis else slice(None) for a in range(3))]
        source = x[one]
        yield Case(
            f"expand_clone-{axis}",
            "out[:, :, :] = pl.expand_clone(x, y)",
            {"x": source, "y": x},
            {"out": np.broadcast_to(source, x.shape).copy()},
        )
    m = numbers("pad", (4, 32), F32)
    yield Case(
        "fillpad_expand",
        "a = pl.slice(x, [4, 32], [0, 0], valid_shape=[3, 20])\n"
        "out[:, :] = pl.fillpad_expand(a, [8, 64], pad_value=pl.PadValue.min)",
        {"x": m},
        {"out": np.pad(m[:3, :20], ((0, 5), (0, 44)), constant_values=-np.inf)},
    )
    yield Case(
        "fillpad_inplace",
        "a = pl.slice(x, [4, 32], [0, 0], valid_shape=[3, 20])\nout[:, :] = pl.tile.fillpad_inplace(a)",
        {"x": m},
        {"out": np.pad(m[:3, :20], ((0, 1), (0, 12)))},
    )
    y = numbers("concat", (4, 8, 16), F32)
    yield Case("concat-3d", "out[:, :, :] = pl.concat(x, y)", {"x": x, "y": y}, {"out": np.concatenate([x, y], 2)})
    a, b = numbers("c", (4, 32), F32), numbers("c", (4, 8), F32)
    yield Case("concat", "out[:, :] = pl.concat(x, y)", {"x": a, "y": b}, {"out": np.concatenate([a, b], 1)})
    yield Case(
        "reinterpret_view-wider", "out[:, :] = pl.reinterpret_view(pl.load(x, [0, 0], [4, 32]), pl.INT16)",
        {"x": a}, {"out": a.view(I16)},
    )  # fmt: skip
    yield Case(
        "reinterpret_view-shape",
        "out[:, :] = pl.reinterpret_view(pl.load(x, [0, 0], [4, 32]), pl.UINT32, shape=[8, 16])",
        {"x": a},
        {"out": a.view(U32).reshape(8, 16)},
    )
    yield Case(
        "reinterpret_view-tensor",
        "v = pl.reinterpret_view(x, pl.INT32)\nout[:, :] = v[0:2, 8:24]",
        {"x": a},
        {"out": a.view(I32)[0:2, 8:24]},
    )
    yield Case("view", "v = pl.view(x, [8, 16])\nout[:, :] = v[:, :]", {"x": a}, {"out": a.reshape(8, 16)})
    yield Case(
        "transpose_view", "out[:, :] = pl.tile.transpose_view(pl.load(x, [0, 0], [16, 32]))",
        {"x": numbers("t", (16, 32), F32)}, {"out": numbers("t", (16, 32), F32).T.copy()},
    )  # fmt: skip


def small(name, shape, dtype=F32):
    """Small integers: their products and sums are exact in any order."""
    return rng(f"{name}{shape}").integers(-4, 5, shape).astype(dtype)


def products():
    a, b = small("a", (16, 32)), small("b", (32, 48))
    bias = small("bias", (1, 48))
    yield Case(
        "matmul_bias", "out[:, :] = pl.matmul_bias(a, b, bias)", {"a": a, "b": b, "bias": bias}, {"out": a @ b + bias}
    )
    ah, bh = a.astype(F16), b.astype(F16)
    yield Case(
        "matmul_bias-FP16",
        "out[:, :] = pl.matmul_bias(a, b, bias)",
        {"a": ah, "b": bh, "bias": bias},
        {"out": a @ b + bias},
    )
    ai, bi, ci = a.astype(I8), small("b", (32, 64), I8), small("bias", (1, 64), I32)
    yield Case(
        "matmul_bias-INT8", "out[:, :] = pl.matmul_bias(a, b, bias)", {"a": ai, "b": bi, "bias": ci},
        {"out": ai.astype(I32) @ bi.astype(I32) + ci},
    )  # fmt: skip
    row = small("row", (1, 32))
    yield Case("gemv", "out[:, :] = pl.gemv(a, b)", {"a": row, "b": b}, {"out": row @ b})
    yield Case(
        "gemv_acc", "t = pl.gemv(a, b)\nout[:, :] = pl.gemv_acc(t, a, b)", {"a": row, "b": b}, {"out": 2 * (row @ b)}
    )
    yield Case(
        "gemv_bias", "out[:, :] = pl.gemv_bias(a, b, bias)", {"a": row, "b": b, "bias": bias}, {"out": row @ b + bias}
    )
    c = small("c", (48, 32))
    yield Case(
        "matmul-of-transpose_view",
        "t = pl.tile.transpose_view(pl.load(c, [0, 0], [48, 32], target_memory=pl.MemorySpace.Mat))\n"
        "out[:, :] = pl.matmul(pl.load(a, [0, 0], [16, 32]), pl.move(t, target_memory=pl.MemorySpace.Right))",
        {"a": a, "c": c},
        {"out": a @ c.T},
    )
    p, q = small("p", (3, 16, 32)), small("q", (3, 32, 16))
    yield Case("matmul-3d", "out[:, :, :] = pl.matmul(p, q, out_dtype=pl.FP32)", {"p": p, "q": q}, {"out": p @ q})
    yield Case("batch_matmul", "out[:, :, :] = pl.batch_matmul(p, q)", {"p": p, "q": q}, {"out": p @ q})
    one = small("one", (1, 32, 16))
    yield Case("matmul-broadcast", "out[:, :, :] = pl.matmul(p, q)", {"p": p, "q": one}, {"out": p @ one})
    two = small("two", (32, 16))
    yield Case("matmul-broadcast-2d", "out[:, :, :] = pl.matmul(p, q)", {"p": p, "q": two}, {"out": p @ two})
    t = small("t", (3, 16, 32))
    yield Case(
        "matmul-3d-b_trans",
        "out[:, :, :] = pl.matmul(p, q, b_trans=True)",
        {"p": p, "q": t},
        {"out": p @ t.transpose(0, 2, 1)},
    )
    pb, qb = p.astype(BF16), q.astype(BF16)
    yield Case("matmul-3d-BF16", "out[:, :, :] = pl.matmul(p, q)", {"p": pb, "q": qb}, {"out": (p @ q).astype(BF16)})
    four, five = small("4", (2, 1, 16, 32)), small("5", (1, 3, 32, 16))
    yield Case("matmul-4d", "out[:, :, :, :] = pl.matmul(p, q)", {"p": four, "q": five}, {"out": four @ five})
    v = small("v", (32,))
    yield Case("matmul-row", "out[:] = pl.matmul(v, b)", {"v": v, "b": b}, {"out": v @ b})
    yield Case("matmul-column", "out[:] = pl.matmul(a, v)", {"a": a, "v": v}, {"out": a @ v})


def casts():
    """Pairs and modes on values where NumPy says what they are."""
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.7, -3.7], F32)
    x = np.tile(halves, (4, 8))
    modes = {
        "rint": np.rint, "round": lambda v: np.sign(v) * np.floor(np.abs(v) + 0.5), "floor": np.floor,
        "ceil": np.ceil, "trunc": np.trunc, "none": np.trunc,
    }  # fmt: skip
    for mode, oracle in modes.items():
        for dtype in [I32, I16, np.int64]:
            n = NAMES.get(np.dtype(dtype), "INT64")
            yield Case(
                f"cast-FP32-{n}-{mode}", f'out[:, :] = pl.cast(x, pl.{n}, mode="{mode}")', {"x": x},
                {"out": oracle(x).astype(dtype)},
            )  # fmt: skip
        yield Case(
            f"cast-FP16-INT8-{mode}", f'out[:, :] = pl.cast(x, pl.INT8, mode="{mode}")', {"x": x.astype(F16)},
            {"out": oracle(x.astype(F16).astype(F32)).astype(I8)},
        )  # fmt: skip
    big = np.tile(np.array([1e9, -1e9, 70000, -70000, 5, -5, 0, 32768], F32), (4, 8))
    yield Case(
        "cast-saturates", 'out[:, :] = pl.cast(x, pl.INT16, mode="rint", saturate=True)', {"x": big},
        {"out": np.clip(big, -32768, 32767).astype(I16)},
    )  # fmt: skip
    for source, target in [
        (I16, F32),
        (I32, F32),
        (F16, F32),
        (BF16, F32),
        (I8, F16),
        (U8, F16),
        (I8, F32),
        (F32, BF16),
    ]:
        y = small("cast", (4, 64)).astype(source) if source != U8 else np.abs(small("cast", (4, 64))).astype(U8)
        a, b = NAMES[np.dtype(source)], NAMES[np.dtype(target)]
        yield Case(f"cast-{a}-{b}", f"out[:, :] = pl.cast(x, pl.{b})", {"x": y}, {"out": y.astype(target)})


def scopes():
    yield Case(
        "no-effect",
        "pl.system.sync_set(1)\npl.system.sync_wait(1)\npl.system.fence()\npl.system.cacheinvalid(x)\n"
        "pl.system.set_ffts(x)\npl.system.sync_src(0)\npl.system.sync_dst(0)\nout[:, :] = x[:, :]",
        {"x": numbers("n", (4, 64), F32)},
        {"out": numbers("n", (4, 64), F32)},
    )


def lanes():
    a, b = small("la", (32, 32)), small("lb", (32, 64))
    for mode, part in [
        ("UP_DOWN", "out[lane * 16 : lane * 16 + 16, :]"),
        ("LEFT_RIGHT", "out[:, lane * 32 : lane * 32 + 32]"),
    ]:
        yield Case(
            f"split_aiv-{mode}",
            "t = pl.matmul(a, b, out_dtype=pl.FP32)\n"
            f"for lane in pl.split_aiv(2, mode=pl.SplitMode.{mode}):\n"
            "    shard = pl.aiv_shard(t)\n"
            f"    {part} = pl.mul(shard, 2.0)",
            {"a": a, "b": b},
            {"out": 2 * (a @ b)},
        )
    x = numbers("lanes", (8, 64), F32)
    yield Case(
        "split_aiv-NONE",
        "n = pl.full([1, 64], dtype=pl.FP32, value=1.0)\n"
        "for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):\n"
        "    for row in pl.range(lane, 8, 2):\n"
        # Each lane counts from one: it does not see what the other made of `n`.
        "        n = pl.add(n, 1.0)\n"
        "        out[row : row + 1, :] = pl.mul(n, pl.cast(pl.get_subblock_idx() + 1, pl.FP32))",
        {"x": x},
        {"out": np.repeat([2, 4, 3, 6, 4, 8, 5, 10], 64).reshape(8, 64).astype(F32)},
    )


def all_cases():
    tables = [
        elementwise,
        parts,
        comparisons,
        waves,
        reductions,
        gathers,
        scatters,
        sorts,
        makes,
        shapes,
        products,
        casts,
    ]
    cases = [case for table in [*tables, scopes, lanes] for case in table()]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    return cases


def run_errors():
    x, bad = numbers("bad", (4, 64), F32), np.full((4, 32), 64, I32)
    table, rows = numbers("bad", (10, 64), F32), np.full((1, 8), 10, I32)
    out = {"out": np.zeros((4, 32), F32)}
    yield Case("gather", "out[:, :] = pl.gather(x, index=i)", {"x": x, "i": bad}, out, refused="out of range|index")
    yield Case(
        "scatter", "out[:, :] = pl.scatter(x, index=i, src=s)", {"x": x, "i": bad, "s": x[:, :32].copy()},
        {"out": x}, refused="out of range|index",
    )  # fmt: skip
    yield Case(
        "scatter-narrowed", "out[:, :] = pl.scatter(x, index=i, src=s)",
        {"x": x.astype(F16), "i": bad + 65536, "s": x[:, :32].astype(F16)}, {"out": x.astype(F16)},
        refused="out of range|index",
    )  # fmt: skip
    yield Case(
        "mgather", "out[:, :] = pl.mgather(x, i)", {"x": table, "i": rows}, {"out": table[:8].copy()},
        refused="out of range|index",
    )  # fmt: skip
