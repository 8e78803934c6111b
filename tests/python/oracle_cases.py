"""Operations of the language beside what NumPy says about them: one entry per operation, for every element type.

An entry has the right-hand side of the kernel (`{a}`, `{b}`, … are whole tiles), the shapes of its operands and result,
and a function of NumPy arrays. Floats are computed in f64 and rounded once to the element type, which is the correctly
rounded result of +, −, ×, ÷ and √ of types of at most 24 bits (53 ≥ 2·24 + 2); integers wrap as NumPy's do. Sums follow
the order that `isa.reduce` states, written again here. Nothing of Tilewright computes any of it.
"""

import dataclasses
import math
import typing

import ml_dtypes
import numpy as np

FLOATS = {"FP32": np.dtype(np.float32), "FP16": np.dtype(np.float16), "BF16": np.dtype(ml_dtypes.bfloat16)}
INTEGERS = {
    f"{prefix}INT{bits}": np.dtype(f"{prefix.lower()}int{bits}") for bits in (8, 16, 32, 64) for prefix in ("", "U")
}
DTYPES = FLOATS | INTEGERS
ROWS, COLS = 32, 64
MATRIX, COLUMN, ROW = (ROWS, COLS), (ROWS, 1), (1, COLS)


@dataclasses.dataclass
class Case:
    """`expected(cx, *operands)` gives the result; `ulps` is how far a result may be off (0: the same bits)."""

    name: str
    expression: str
    expected: typing.Callable
    operands: tuple = (MATRIX,)
    result: tuple = MATRIX
    dtypes: dict = dataclasses.field(default_factory=lambda: DTYPES)
    #: The result's element type, if it is not that of the operands.
    to: str | None = None
    ulps: int = 0
    #: Draws operand `i`; the default has all kinds of values.
    draw: typing.Callable | None = None
    #: Element types of the operands, if they are not all the case's.
    given: tuple | None = None


@dataclasses.dataclass
class Context:
    """What an oracle may need to know."""

    dtype: np.dtype
    machine: str

    def __post_init__(self):
        self.float = self.dtype in FLOATS.values()

    def round(self, values):
        """To the element type, NaN canonical; integers have been wrapped already."""
        if not self.float:
            return values.astype(self.dtype)
        with np.errstate(all="ignore"):
            out = values.astype(self.dtype)
        return np.where(np.isnan(values), np.array(np.nan, self.dtype), out).astype(self.dtype)


def elementwise(function):
    """Of f64 or wrapping integer arrays."""

    def expected(cx, *operands):
        with np.errstate(all="ignore"):
            if cx.float:
                return cx.round(function(*[o.astype(np.float64) for o in operands]))
            return function(*operands).astype(cx.dtype)

    return expected


def divide(cx, a, b):
    with np.errstate(all="ignore"):
        if cx.float:
            return cx.round(a.astype(np.float64) / b.astype(np.float64))
        return exact(cx, lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1), a, b)


def exact(cx, function, *operands):
    """Python's integers, element by element, wrapped to the type."""
    bits = cx.dtype.itemsize * 8
    flat = zip(*[np.broadcast_to(o, operands[0].shape).ravel().tolist() for o in operands], strict=True)
    wrapped = [function(*values) & ((1 << bits) - 1) for values in flat]
    return np.array(wrapped, f"uint{bits}").view(cx.dtype).reshape(operands[0].shape)


def largest(cx, a, b, sign=1):
    """NaN from either side; −0 < +0."""
    if not cx.float:
        return np.maximum(a, b) if sign > 0 else np.minimum(a, b)
    x, y = a.astype(np.float64), np.broadcast_to(b.astype(np.float64), a.shape)
    pick = np.maximum(x, y) if sign > 0 else np.minimum(x, y)
    negative = (np.signbit(x) & np.signbit(y)) if sign > 0 else (np.signbit(x) | np.signbit(y))
    zero = (x == 0) & (y == 0)
    return cx.round(np.where(zero, np.where(negative, -0.0, 0.0), pick))


def smallest(cx, a, b):
    return largest(cx, a, b, -1)


def relu(cx, a):
    return largest(cx, a, np.zeros_like(a))


def add(cx, a, b):
    """One rounded addition."""
    with np.errstate(all="ignore"):
        return cx.round(a.astype(np.float64) + b.astype(np.float64)) if cx.float else a + b


def pair_tree(cx, columns):
    while len(columns) > 1:
        pairs = [add(cx, columns[i], columns[i + 1]) for i in range(0, len(columns) - 1, 2)]
        columns = pairs + ([columns[-1]] if len(columns) % 2 else [])
    return columns[0]


def row_sum(cx, a):
    """`isa.md` §2.5 for a2a3: lanes of 256 bytes; §7 for a5: a tree per 256 bytes."""
    lanes = 256 // cx.dtype.itemsize
    columns = [a[:, j] for j in range(a.shape[1])]
    if cx.machine == "a5":
        groups = [pair_tree(cx, columns[i : i + lanes]) for i in range(0, len(columns), lanes)]
        total = groups[0]
        for group in groups[1:]:
            total = add(cx, total, group)
    elif len(columns) <= lanes:
        total = pair_tree(cx, columns)
    else:
        whole, tail = divmod(len(columns), lanes)
        sums = columns[:lanes]
        order = [1] * (whole > 1)
        for block in order:
            sums = [add(cx, s, c) for s, c in zip(sums, columns[block * lanes :], strict=False)]
        for i in range(tail):
            sums[i] = add(cx, sums[i], columns[whole * lanes + i])
        for block in range(2, whole):
            sums = [add(cx, s, c) for s, c in zip(sums, columns[block * lanes :], strict=False)]
        total = pair_tree(cx, sums)
    return total.reshape(-1, 1)


def col_sum(cx, a):
    total = a[0:1]
    for i in range(1, a.shape[0]):
        total = add(cx, total, a[i : i + 1])
    return total


def fold(function, axis):
    def expected(cx, a):
        parts = [a[:, j : j + 1] for j in range(a.shape[1])] if axis else [a[i : i + 1] for i in range(a.shape[0])]
        total = parts[0]
        for part in parts[1:]:
            total = function(cx, total, part)
        return total

    return expected


def product(axis):
    """Of values whose products are exact in any order."""

    def expected(cx, a):
        if cx.float:
            return cx.round(np.prod(a.astype(np.float64), axis=axis, keepdims=True))
        return np.multiply.reduce(a, axis=axis, keepdims=True, dtype=cx.dtype)

    return expected


def argument(function, axis):
    return lambda cx, a: np.expand_dims(function(a.astype(np.float64) if cx.float else a, axis=axis), axis).astype(
        np.int32
    )


def expdif(cx, a, v):
    with np.errstate(all="ignore"):
        difference = cx.round(a.astype(np.float64) - v.astype(np.float64))
        return cx.round(np.exp(difference.astype(np.float64)))


def remainder(cx, a, b):
    """The divisor's sign; floats by quotients, every step rounded to f32 (`isa.md` §2.2)."""
    if not cx.float:
        return exact(cx, lambda x, y: x % y, a, b)
    x, y = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):
        rest = x - np.floor(x / y) * y
        return cx.round(np.where(rest * y < 0, rest + y, rest))


def fmod(cx, a, b):
    if cx.float:
        with np.errstate(all="ignore"):
            return cx.round(np.fmod(a.astype(np.float64), b.astype(np.float64)))
    return exact(cx, lambda x, y: int(math.copysign(1, x)) * (abs(x) % abs(y)), a, b)


def shift(left):
    def expected(cx, a, b):
        return exact(cx, (lambda x, y: x << y) if left else (lambda x, y: x >> y), a, b)

    return expected


def transposed(cx, a):
    return a.T


def product_and(times):
    """A product, `times` over, plus the third operand if there is one."""

    def expected(cx, a, b, *start):
        total = matmul()(cx, a, b) * times
        return (total + start[0]).astype(total.dtype) if start else total.astype(total.dtype)

    return expected


def matmul(transpose_a=False, transpose_b=False):
    """Integers in exact arithmetic; floats of values whose sums are exact in f32 in any order."""

    def expected(cx, a, b):
        x, y = (a.T if transpose_a else a), (b.T if transpose_b else b)
        if cx.float:
            return (x.astype(np.float64) @ y.astype(np.float64)).astype(np.float32)
        return (x.astype(np.int64) @ y.astype(np.int64)).astype(np.int32)

    return expected


def cast(to, mode):
    rounding = {
        "rint": np.rint,
        "round": lambda v: np.copysign(np.floor(np.abs(v) + 0.5), v),
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
    }[mode]

    def expected(cx, a):
        values = a.astype(np.float64)
        return (rounding(values) if to in INTEGERS else values).astype(DTYPES[to])

    return expected


def widened(cx, *operands):
    """Exact, in a type whose comparisons do not warn of NaN."""
    return [o.astype(np.float64) if cx.float else o for o in operands]


def leaky(cx, a, b):
    return np.where(widened(cx, a)[0] > 0, a, elementwise(lambda x, y: x * y)(cx, a, b))


def leaky_nan(cx, a, b):
    """NaN stays what it is."""
    return np.where(np.isnan(widened(cx, a)[0]), a, leaky(cx, a, b))


def chained(first, second):
    def expected(cx, a, b, c):
        return second(cx, first(cx, a, b), c)

    return expected


def subtract(cx, a, b):
    return elementwise(lambda x, y: x - y)(cx, a, b)


def picked(cx, a, b):
    x, y = widened(cx, a, b)
    return np.where(x < y, a, b)


def reduced_sine(x, cosine):
    """The f32 recipe of `dsl.md` §4.2, every step rounded to f32."""
    f = np.float32
    scaled = x * f(0.31830988732818603515625)
    k = (
        np.rint(scaled + f(0.5))
        if cosine
        else np.copysign(np.floor(np.abs(scaled.astype(np.float64)) + 0.5), x).astype(f)
    )
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
    p = u * f(2.604926501e-6) + f(-1.980894471e-4)
    p = p * u + f(8.333049340e-3)
    p = p * u + f(-1.666665792e-1)
    p = p * u + f(1)
    return sign * (t * p)


def sine(cosine):
    return lambda cx, a: cx.round(reduced_sine(a, cosine))


def columns_of(cx, a, i):
    return np.take_along_axis(a, i.astype(np.int64), axis=1)


def scattered(cx, a, i, b):
    """Later columns win."""
    out = a.copy()
    for column in range(i.shape[1]):
        out[np.arange(a.shape[0]), i[:, column]] = b[:, column]
    return out


def sorted_records(cx, a):
    """Groups of 32, largest first, equal ones in order: a value and the bits of its u32 index."""
    groups = a.reshape(-1, 32)
    order = np.argsort(-groups.astype(np.float64), axis=1, kind="stable")
    values = np.take_along_axis(groups, order, axis=1).ravel()
    index = (order + np.arange(len(groups)).reshape(-1, 1) * 32).astype(np.uint32).ravel()
    if cx.dtype.itemsize == 4:
        return np.stack([values.view(np.uint32), index], axis=1).view(cx.dtype).reshape(1, -1)
    halves_of = np.stack([index & 0xFFFF, index >> 16], axis=1).astype(np.uint16)
    zeros = np.zeros_like(values.view(np.uint16))
    return np.column_stack([values.view(np.uint16), zeros, halves_of]).view(cx.dtype).reshape(1, -1)


def assembled(cx, a, b):
    out = a.copy()
    out[4:12] = b
    return out


def spread(cx, a):
    """To the odd columns."""
    return np.stack([np.zeros_like(a), a], axis=2).reshape(ROWS, 2 * COLS)


def blocks_of(cx, a, offsets):
    """Each offset, in bytes, names 32 bytes."""
    size = 32 // a.itemsize
    return a.reshape(-1, size)[offsets // 32].reshape(ROWS, -1)


def row_indices(rng, dtype, shape):
    return rng.integers(0, ROWS, shape).astype(dtype)


def offsets(rng, dtype, shape):
    """Of blocks that a matrix of any element type has."""
    return (rng.integers(0, ROWS * COLS // 32, shape) * 32).astype(dtype)


def triangle(upper):
    def expected(cx, a):
        # Below and on diagonal 2; from diagonal 1 on.
        lower = np.tri(ROWS, COLS, 0 if upper else 2, dtype=bool)
        return (~lower if upper else lower).astype(cx.dtype)

    return expected


def every(start, step):
    return lambda cx, a: a[:, start::step]


def columns_or_values(rng, i, dtype, shape):
    """The second operand is an index of columns."""
    return rng.integers(0, COLS, shape).astype(dtype) if i == 1 else values(rng, dtype, shape)


def moves():
    """Chains, selections, and what only moves bits."""
    two, three = (MATRIX, MATRIX), (MATRIX, MATRIX, MATRIX)
    for name, oracle in [
        ("part_add", add),
        ("part_mul", elementwise(lambda a, b: a * b)),
        ("part_max", largest),
        ("part_min", smallest),
    ]:
        yield Case(name, f"pl.{name}({{a}}, {{b}})", oracle, two)
    yield Case("addc", "pl.addc({a}, {b}, {c})", chained(add, add), three)
    yield Case("subc", "pl.subc({a}, {b}, {c})", chained(subtract, add), three)
    yield Case("addsc", "pl.addsc({a}, 3, {b})", lambda cx, a, b: add(cx, add(cx, a, np.full_like(a, 3)), b), two)
    yield Case("prelu", "pl.prelu({a}, {b})", leaky_nan, two, dtypes=FLOATS)
    slope = lambda cx, a: leaky_nan(cx, a, np.full_like(a, 0.25))  # noqa: E731
    yield Case("lrelu", "pl.lrelu({a}, 0.25)", slope, dtypes=FLOATS)
    yield Case("sin", "pl.sin({a})", sine(False), dtypes={"FP32": FLOATS["FP32"]}, draw=drawn(finite))
    yield Case("cos", "pl.cos({a})", sine(True), dtypes={"FP32": FLOATS["FP32"]}, draw=drawn(finite))
    yield Case("sel", "pl.sel(pl.tile.cmp({a}, {b}, cmp_type=2), {a}, {b})", picked, two)
    below = lambda cx, a, b: np.where(widened(cx, a)[0] < 3, a, b)  # noqa: E731
    yield Case("cmps", "pl.sel(pl.cmps({a}, 3, cmp_type=2), {a}, {b})", below, two)
    scratch = "pl.create_tile([1, 32], dtype=pl.UINT8)"
    five = lambda cx, a: below(cx, a, np.full_like(a, 5))  # noqa: E731
    yield Case("sels", f"pl.sels(pl.cmps({{a}}, 3, cmp_type=2), {{a}}, {scratch}, 5)", five)
    yield Case("move", "pl.move({a})", lambda cx, a: a)
    yield Case("assemble", "pl.assemble(pl.move({a}), {b}, [4, 0])", assembled, (MATRIX, (8, COLS)))
    yield Case("scatter_mask", "pl.tile.scatter_mask({a}, 2)", spread, result=(ROWS, 2 * COLS))
    for dtype in DTYPES:
        only = {dtype: DTYPES[dtype]}
        given = (dtype, "INT32")
        rows = (MATRIX, (1, 16))
        yield Case(
            "mgather", "pl.mgather(a, {b})", lambda cx, a, i: a[i[0]], rows, (16, COLS), dtypes=only, given=given,
            draw=lambda rng, i, d, shape: (values if i == 0 else row_indices)(rng, d, shape),
        )  # fmt: skip
        yield Case(
            "gatherb", "pl.gatherb({a}, {b})", blocks_of, (MATRIX, (ROWS, 8)),
            (ROWS, 256 // DTYPES[dtype].itemsize), dtypes=only,
            given=(dtype, "UINT32"), draw=lambda rng, i, d, shape: (values if i == 0 else offsets)(rng, d, shape),
        )  # fmt: skip
        yield Case(
            "gather",
            "pl.gather({a}, dim=-1, index={b})",
            columns_of,
            two,
            dtypes=only,
            given=given,
            draw=columns_or_values,
        )
        yield Case(
            "scatter",
            "pl.scatter({a}, dim=-1, index={b}, src={c})",
            scattered,
            three,
            dtypes=only,
            given=(dtype, "INT32", dtype),
            draw=columns_or_values,
        )
        if dtype in ("FP32", "FP16"):
            words = COLS * 8 // DTYPES[dtype].itemsize
            yield Case(
                "sort32",
                f"pl.sort32({{a}}, pl.arange(0, [1, {COLS}], dtype=pl.UINT32))",
                sorted_records,
                (ROW,),
                (1, words),
                dtypes=only,
                draw=drawn(lambda rng, d, shape: (rng.integers(-20, 20, shape) / 2).astype(d)),
            )
        bits = {1: "INT8", 2: "INT16", 4: "INT32", 8: "INT64"}[DTYPES[dtype].itemsize]
        if dtype != bits:
            yield Case(
                "reinterpret_view",
                f"pl.reinterpret_view({{a}}, pl.{bits})",
                lambda cx, a: a.view(f"int{cx.dtype.itemsize * 8}"),
                dtypes=only,
                to=bits,
            )
    wide = (ROWS, 2 * COLS)
    for pattern, start, step in [(1, 0, 2), (2, 1, 2), (3, 0, 4), (4, 1, 4), (5, 2, 4), (6, 3, 4), (7, 0, 1)]:
        expression = f"pl.gather({{a}}, mask_pattern={pattern})"
        yield Case(f"gather pattern {pattern}", expression, every(start, step), (wide,), (ROWS, 2 * COLS // step))
    for upper in (False, True):
        expression = f"pl.tile.tri({2 - upper}, [{ROWS}, {COLS}], dtype=pl.{{dtype}}, upper={upper})"
        yield Case(f"tri upper={upper}", expression, triangle(upper))
    yield Case("full", f"pl.full([{ROWS}, {COLS}], dtype=pl.{{dtype}}, value=3)", lambda cx, a: np.full_like(a, 3))
    for descending in (False, True):
        yield Case(
            f"arange descending={descending}",
            f"pl.arange(5, [1, {COLS}], dtype=pl.{{dtype}}, descending={descending})",
            (lambda sign: lambda cx, a: (5 + sign * np.arange(COLS)).astype(cx.dtype).reshape(ROW))(1 - 2 * descending),
            (ROW,),
            ROW,
            dtypes=INTEGERS,
        )
    for name, fill in [("zero", 0), ("min", -np.inf), ("max", np.inf)]:

        def padded(cx, a, fill=fill):
            info = np.iinfo(cx.dtype) if not cx.float else None
            value = fill if cx.float or fill == 0 else (info.min if fill < 0 else info.max)
            # Pads of 64-bit types are 0 (`isa.md` §2.0).
            value = 0 if cx.dtype.itemsize == 8 else value
            out = np.full_like(a, value)
            out[:, :40] = a[:, :40]
            return out

        cut = f"pl.slice({{a}}, [{ROWS}, {COLS}], [0, 0], valid_shape=[{ROWS}, 40])"
        yield Case(f"fillpad {name}", f"pl.fillpad({cut}, pad_value=pl.PadValue.{name})", padded)


# Inputs.


def values(rng, dtype, shape):
    """All kinds: small, large, tiny, infinite, NaN, both zeros; all bits of integers."""
    if dtype in INTEGERS.values():
        info = np.iinfo(dtype)
        out = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        small = rng.integers(max(info.min, -4), 5, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.3, small, out)
    out = rng.standard_normal(shape) * np.exp2(rng.integers(-8, 9, shape))
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, 65504.0, 1e-7])
    return np.where(rng.random(shape) < 0.1, rng.choice(special, shape), out).astype(dtype)


def finite(rng, dtype, shape):
    return np.nan_to_num(values(rng, dtype, shape).astype(np.float64), nan=1.0, posinf=2.0, neginf=-2.0).astype(dtype)


def small(rng, dtype, shape):
    """Integers of a few bits: sums and products of many of them are exact."""
    low = 0 if dtype.kind == "u" else -3
    return rng.integers(low, 4, shape).astype(dtype)


def signs(rng, dtype, shape):
    return rng.choice([1, 1, 1, 2] if dtype.kind == "u" else [1, -1, 1, -1, 2], shape).astype(dtype)


def halves(rng, dtype, shape):
    """Within every type's range, with ties."""
    low = 0 if dtype.kind == "u" else -200
    return (rng.integers(low, 201, shape) / (2 if dtype in FLOATS.values() else 1)).clip(-100, 100).astype(dtype)


def positive(rng, dtype, shape):
    return np.abs(finite(rng, dtype, shape)).astype(dtype)


def nonzero(rng, dtype, shape):
    out = values(rng, dtype, shape)
    return np.where(out == 0, np.ones_like(out), out)


def counts(rng, dtype, shape):
    return rng.integers(0, dtype.itemsize * 8, shape).astype(dtype)


def drawn(*draws):
    return lambda rng, i, dtype, shape: draws[min(i, len(draws) - 1)](rng, dtype, shape)


# The cases.


def cases():
    two = (MATRIX, MATRIX)
    for name, oracle in [
        ("add", elementwise(lambda a, b: a + b)),
        ("sub", elementwise(lambda a, b: a - b)),
        ("mul", elementwise(lambda a, b: a * b)),
        ("maximum", largest),
        ("minimum", smallest),
    ]:
        yield Case(name, f"pl.{name}({{a}}, {{b}})", oracle, two)
        scalar = (lambda f: lambda cx, a: f(cx, a, np.full_like(a, 3)))(oracle)
        yield Case(f"{name}s", f"pl.{name}s({{a}}, 3)", scalar)
        for axis, vector in [("row", COLUMN), ("col", ROW)]:
            face = f"{axis}_expand_{ {'maximum': 'max', 'minimum': 'min'}.get(name, name) }"
            yield Case(face, f"pl.{face}({{a}}, {{b}})", oracle, (MATRIX, vector))
    yield Case("div", "pl.div({a}, {b})", divide, two, draw=drawn(values, nonzero))
    yield Case("divs", "pl.divs({a}, 3)", lambda cx, a: divide(cx, a, np.full_like(a, 3)))
    for axis, vector in [("row", COLUMN), ("col", ROW)]:
        yield Case(f"{axis}_expand_div", f"pl.{axis}_expand_div({{a}}, {{b}})", divide, (MATRIX, vector), dtypes=FLOATS)
        name = f"{axis}_expand_expdif"
        draw = drawn(finite)
        yield Case(name, f"pl.{name}({{a}}, {{b}})", expdif, (MATRIX, vector), dtypes=FLOATS, ulps=1, draw=draw)
        yield Case(
            f"{axis}_expand",
            f"pl.{axis}_expand({{a}}, {{b}})",
            lambda cx, a, v: np.broadcast_to(v, a.shape),
            (MATRIX, vector),
        )
    yield Case("exp", "pl.exp({a})", elementwise(np.exp), dtypes=FLOATS, ulps=1)
    yield Case("log", "pl.log({a})", elementwise(np.log), dtypes=FLOATS, ulps=1)
    yield Case("sqrt", "pl.sqrt({a})", elementwise(np.sqrt), dtypes=FLOATS)
    yield Case("rsqrt", "pl.rsqrt({a})", elementwise(lambda a: 1 / np.sqrt(a)), dtypes=FLOATS, ulps=1)
    yield Case("recip", "pl.recip({a})", elementwise(lambda a: 1 / a), dtypes=FLOATS)
    yield Case("abs", "pl.abs({a})", elementwise(np.abs))
    yield Case("neg", "pl.neg({a})", elementwise(lambda a: a * a.dtype.type(-1) if a.dtype.kind == "f" else -a))
    yield Case("relu", "pl.relu({a})", relu)
    yield Case("row_sum", "pl.row_sum({a})", row_sum, result=COLUMN)
    yield Case("col_sum", "pl.col_sum({a})", col_sum, result=ROW)
    for axis, result, number in [("row", COLUMN, 1), ("col", ROW, 0)]:
        yield Case(f"{axis}_max", f"pl.{axis}_max({{a}})", fold(largest, number), result=result)
        yield Case(f"{axis}_min", f"pl.{axis}_min({{a}})", fold(smallest, number), result=result)
        yield Case(f"{axis}_prod", f"pl.{axis}_prod({{a}})", product(number), result=result, draw=drawn(signs))
        for which, function in [("max", np.argmax), ("min", np.argmin)]:
            name = f"{axis}_arg{which}"
            draw = drawn(finite)
            oracle = argument(function, number)
            yield Case(name, f"pl.{name}({{a}})", oracle, result=result, to="INT32", draw=draw)
    for name, oracle in [("rem", remainder), ("fmod", fmod)]:
        yield Case(name, f"pl.{name}({{a}}, {{b}})", oracle, two, draw=drawn(values, nonzero))
        scalar = (lambda f: lambda cx, a: f(cx, a, np.full_like(a, 3)))(oracle)
        yield Case(f"{name}s", f"pl.{name}s({{a}}, 3)", scalar)
    for name, symbol in [("and_", np.bitwise_and), ("or_", np.bitwise_or), ("xor", np.bitwise_xor)]:
        oracle = elementwise(symbol)
        yield Case(name, f"pl.{name}({{a}}, {{b}})", oracle, two, dtypes=INTEGERS)
        scalar = (lambda f: lambda cx, a: f(cx, a, np.full_like(a, 3)))(oracle)
        scalars = f"{name.rstrip('_')}s"
        yield Case(scalars, f"pl.{scalars}({{a}}, 3)", scalar, dtypes=INTEGERS)
    yield Case("not_", "pl.not_({a})", elementwise(np.invert), dtypes=INTEGERS)
    for name, left in [("shl", True), ("shr", False)]:
        draw = drawn(values, counts)
        yield Case(name, f"pl.{name}({{a}}, {{b}})", shift(left), two, dtypes=INTEGERS, draw=draw)
        scalar = (lambda f: lambda cx, a: f(cx, a, np.full_like(a, 3)))(shift(left))
        yield Case(f"{name}s", f"pl.{name}s({{a}}, 3)", scalar, dtypes=INTEGERS)
    for name, symbol in [
        ("eq", np.equal),
        ("ne", np.not_equal),
        ("lt", np.less),
        ("le", np.less_equal),
        ("gt", np.greater),
        ("ge", np.greater_equal),
    ]:
        oracle = (lambda f: lambda cx, a, b: f(*widened(cx, a, b)).astype(cx.dtype))(symbol)
        number = ["eq", "ne", "lt", "le", "gt", "ge"].index(name)
        yield Case(f"cmp {name}", f"pl.cmp({{a}}, {{b}}, cmp_type={number})", oracle, two)
    yield Case("transpose", "pl.transpose({a}, 0, 1)", transposed, result=(COLS, ROWS))
    yield Case("reshape", f"pl.reshape({{a}}, [{ROWS * 2}, {COLS // 2}])", lambda cx, a: a.reshape(ROWS * 2, COLS // 2))
    yield Case("concat", "pl.concat({a}, {b})", lambda cx, a, b: np.concatenate([a, b], axis=1), two, (ROWS, COLS * 2))
    yield Case("expands", "pl.expands({a}, 3)", lambda cx, a: np.full_like(a, 3))
    yield Case("slice", "pl.slice({a}, [8, 32], [4, 32])", lambda cx, a: a[4:12, 32:], result=(8, 32))
    for name, flags, shapes in [
        ("matmul", "", ((32, 64), (64, 32))),
        ("matmul a_trans", ", a_trans=True", ((64, 32), (64, 32))),
        ("matmul b_trans", ", b_trans=True", ((32, 64), (32, 64))),
    ]:
        oracle = matmul("a_trans" in name, "b_trans" in name)
        out = {"INT8": "INT32"} | dict.fromkeys(FLOATS, "FP32")
        for dtype in DTYPES:
            to = out.get(dtype, "FP32")
            yield Case(
                name,
                f"pl.matmul({{a}}, {{b}}, out_dtype=pl.{to}{flags})",
                oracle,
                shapes,
                (32, 32),
                dtypes={dtype: DTYPES[dtype]},
                to=to,
                draw=drawn(small),
            )
    for dtype in DTYPES:
        to = out.get(dtype, "FP32")
        only = {dtype: DTYPES[dtype]}
        both = ((32, 64), (64, 32))
        yield Case(
            "matmul_bias", "pl.matmul_bias({a}, {b}, {c})", product_and(1), (*both, (1, 32)), (32, 32), dtypes=only,
            to=to, given=(dtype, dtype, to), draw=drawn(small),
        )  # fmt: skip
        twice = f"pl.matmul_acc(pl.matmul({{a}}, {{b}}, out_dtype=pl.{to}), {{a}}, {{b}})"
        yield Case("matmul_acc", twice, product_and(2), both, (32, 32), dtypes=only, to=to, draw=drawn(small))
    yield from moves()
    for to in DTYPES:
        for mode in ("rint", "round", "floor", "ceil", "trunc"):
            dtypes = {name: d for name, d in DTYPES.items() if name != to}
            expression = f'pl.cast({{a}}, pl.{to}, mode="{mode}")'
            nonnegative = to.startswith("U")
            draw = drawn((lambda r, d, s: np.abs(halves(r, d, s))) if nonnegative else halves)
            yield Case(f"cast to {to}, {mode}", expression, cast(to, mode), dtypes=dtypes, to=to, draw=draw)
