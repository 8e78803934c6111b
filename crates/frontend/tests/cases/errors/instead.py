import tilewright.language as pl

# unknown tanh
# unknown sum
# unknown CORE
# arg flag = 0


@pl.jit
def other_libraries(x: pl.Tensor[[16, 32], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.tanh(x[:, :])
        u = pl.sum(x[:, :])


@pl.jit
def no_such_level(x: pl.Tensor[[16, 32], pl.FP32]):
    with pl.at(level=pl.Level.CORE):
        t = x[:, :]


@pl.jit
def numbers_in_boxes(y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:, :] = 5.0
        t = pl.full([16, 32], pl.FP32, 0.0)
        t[0:8, :] = 1.0


@pl.jit
def doubles(x: pl.Tensor[[16, 32], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.cast(x[:, :], pl.FP64)


@pl.jit
def pruned(x: pl.Tensor[[16, 32], pl.FP32], flag: pl.INT32):
    with pl.at(level=pl.Level.CORE_GROUP):
        if flag:
            t = x[:, :]
        else:
            u = x[:, :]
        v = pl.add(t, u)


@pl.jit
def copies_of_copies(x: pl.Tensor[[16, 32], pl.FP32]):
    for i in pl.unroll(100):
        for j in pl.unroll(0, 100, 1):
            pl.write(x, [0, 0], 1.0)


@pl.jit
def nothing_is_written(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        y = pl.mul(x[:, :], 2.0)
        y = pl.add(x[:, :], 1.0)
    return y
