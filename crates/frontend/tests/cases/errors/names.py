import tilewright.language as pl

# unknown addd
# unknown FP33

AT = pl.Level.CORE_GROUP
N = 64


@pl.jit.inline
def half(t, factor):
    return pl.mul(tt, 0.5)


@pl.jit.inline
def forever(t):
    return forever(t)


@pl.jit
def unknown_name(x: pl.Tensor[[N, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    with pl.at(level=AT):
        block = x[:, :]
        y[:, :] = pl.exp(blok)
        y[:, :] = pl.exp(nothing_like_it)


@pl.jit
def unknown_op(x: pl.Tensor[[N, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    with pl.at(level=AT):
        y[:, :] = pl.addd(x, x)
        y[:, :] = pl.cast(x, pl.FP33)


@pl.jit
def op_not_supported_yet(x: pl.Tensor[[N, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    with pl.at(level=AT):
        y[:, :] = pl.paged_gather(x, x)


@pl.jit
def one_report_per_mistake(x: pl.Tensor[[N, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    with pl.at(level=AT):
        a = pl.exp(missing)
        b = pl.add(a, a)
        y[:, :] = b


@pl.jit
def in_a_helper(x: pl.Tensor[[N, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    with pl.at(level=AT):
        y[:, :] = half(x, 2)


@pl.jit
def helper_arguments(x: pl.Tensor[[N, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    with pl.at(level=AT):
        a = half(x)
        b = half(x, 1, 2)
        c = half(x, faktor=1)


@pl.jit
def recursion(x: pl.Tensor[[N, N], pl.FP32]):
    with pl.at(level=AT):
        a = forever(x)


@pl.jit
def not_callable(x: pl.Tensor[[N, N], pl.FP32]):
    n = N(3)


@pl.jit
def out_of_its_scope(x: pl.Tensor[[N, N], pl.FP32], y: pl.Out[pl.Tensor[[N, N], pl.FP32]]):
    with pl.at(level=AT):
        for i in pl.range(4):
            t = x[:, :]
        y[:, :] = pl.add(x, x)
    if pl.read(x, [0, 0]) > 0.0:
        a = 1
    pl.write(y, [0, 0], a)
    pl.write(y, [i, 0], 1.0)
