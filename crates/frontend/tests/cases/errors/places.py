import tilewright.language as pl

AT = pl.Level.CORE_GROUP


@pl.jit.inline
def smooth(t):
    return pl.exp(t)


@pl.jit
def outside_a_scope(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    t = pl.add(x, x)
    y[:, :] = 1.0
    u = smooth(x)
    i = pl.tile.get_block_idx()


@pl.jit
def inside_a_scope(x: pl.Tensor[[16, 32], pl.FP32]):
    with pl.at(level=AT):
        t = pl.system.task_dummy()
        with pl.at(level=AT):
            pass
        with pl.manual_scope():
            pass


@pl.jit
def rebinding_an_output(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        y = pl.exp(x)


@pl.jit
def undeclared_output(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Tensor[[16, 32], pl.FP32]):
    with pl.at(level=AT):
        y[:, :] = pl.exp(x)


@pl.jit
def leaves_a_launch(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    for i in pl.spmd(4):
        t = x[:, :]
    with pl.at(level=AT):
        y[:, :] = t


@pl.jit.inline
def into(t: pl.Tensor, out: pl.Out[pl.Tensor]):
    out[:, :] = pl.exp(t)


@pl.jit
def output_is_a_copy(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        into(x[0:8, :], y[0:8, :])


@pl.jit
def names_of_kernels(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    for i in pl.unroll(2):
        with pl.at(level=AT, name_hint=f"part {i}"):
            y[:, :] = pl.exp(x)


@pl.jit
def dropped_upstream(x: pl.Tensor[[16, 32], pl.FP32]):
    for i in pl.range(4):
        if pl.read(x, [i, 0]) > 0.0:
            break


@pl.jit
def statements(x: pl.Tensor[[16, 32], pl.FP32]):
    assert x is not None
    try:
        pass
    finally:
        pass
    for i in range(4):
        pass
    with open("file"):
        pass
    import os
    f = lambda: 1
    d = {"a": 1}
    del d
    pl.at(level=AT)
    break


@pl.jit
def returns_in_branches(x: pl.Tensor[[16, 32], pl.FP32]):
    if pl.read(x, [0, 0]) > 0.0:
        return x
    for i in pl.range(3):
        return x
    return 3


@pl.jit
def arguments(x: pl.Tensor[[16, 32], pl.FP32]):
    with pl.at(level=AT):
        a = pl.add(x)
        b = pl.exp(x, x, x)
        c = pl.cast(x, pl.INT32, mod="rint")
        d = pl.row_sum(3)
        e = pl.transpose(x, 0, 5)
        f = pl.fillpad(x, pad_value=7)
        g = pl.full([0, 4], dtype=pl.FP32, value=0.0)
    for i in pl.range(0, 4, 0):
        pass
    with pl.at(level=pl.Level.HOST):
        pass
    with pl.at(level=AT, deps=[x]):
        pass
    pl.static_assert(1 + 1 == 3, "arithmetic")
    n = 1 // 0


@pl.jit
def kernel_names(x: pl.Tensor[[16, 16], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="../../x"):
        pass
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"):
        pass
    with pl.scope(name_hint="../../x"):
        pass


@pl.jit
def printing(x: pl.Tensor[[16, 16], pl.FP32]):
    print(x)


@pl.jit
async def asynchronous(x: pl.Tensor[[16, 16], pl.FP32]):
    pass


@pl.jit
def rebinding_a_written_output(x: pl.Tensor[[16, 32], pl.FP32], y: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        y[:, :] = pl.exp(x)
        y = pl.exp(x)
