import tilewright.language as pl

AT = pl.Level.CORE_GROUP


@pl.jit
def shapes(x: pl.Tensor[[16, 32], pl.FP32], z: pl.Tensor[[16, 24], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        y[:, :] = pl.add(x, z)
        y[:, :] = pl.row_expand_mul(x, z)
        y[:, :] = pl.matmul(x, z)
        y[0:8, :] = pl.exp(x)
        a = pl.reshape(x[:, :], [16, 16])
        b = x[0:20, :]
        c = x[:, 40]
        d = pl.load(x, [0, 0, 0], [1, 2, 3])
        e = x[0:1, 0:1, 0:1]


@pl.jit
def dtypes(
    x: pl.Tensor[[16, 32], pl.FP32],
    h: pl.Tensor[[16, 32], pl.BF16],
    n: pl.Scalar[pl.INT32],
    y: pl.Out[pl.Tensor[[16, 32], pl.BF16]],
    k: pl.Out[pl.Tensor[[8], pl.INT32]],
):
    with pl.at(level=AT):
        y[:, :] = pl.add(x, h)
        m = pl.matmul(x, h, a_trans=True)
        s = pl.add(x, n)
        for i in pl.range(4):
            t = pl.add(x, i)
        pl.write(k, [0], 1.5)
        f = n + pl.read(x, [0, 0])
        g = pl.cast(h, pl.INT8, mode="nearest")


@pl.jit
def same_dtype_cast(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        y[:, :] = pl.cast(x[:, :], pl.FP32)


@pl.jit
def index_into_int32(k: pl.Out[pl.Tensor[[8], pl.INT32]]):
    for i in pl.range(8):
        pl.write(k, [i], i)


@pl.jit
def changes_across_a_loop(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        acc = pl.full([16, 1], dtype=pl.FP32, value=0.0)
        for i in pl.range(4):
            acc = pl.add(acc, x[:, :])
        y[:, :] = acc


@pl.jit
def changes_between_branches(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        if pl.read(x, [0, 0]) > 1.0:
            t = x[:, :]
        else:
            t = pl.row_sum(x)
        y[:, :] = t


@pl.jit
def dynamic_tile(x: pl.Tensor[[16, 32], pl.FP32], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        y[0:n, :] = pl.exp(x[0:n, :])
