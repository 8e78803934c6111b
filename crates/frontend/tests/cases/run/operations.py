"""Operations whose spelling is their own: masks, gathers, scatters, sorts, triangles, bits."""

import tilewright.language as pl


@pl.jit
def masks(x: pl.Tensor[[2, 32], pl.FP32], y: pl.Tensor[[2, 32], pl.FP32], out: pl.Out[pl.Tensor[[8, 32], pl.FP32]]):
    """out == 0 0 0 0 4 5"""
    with pl.at(level=pl.Level.CORE_GROUP):
        a = pl.load(x, [0, 0], [2, 32])
        b = pl.mul(pl.load(y, [0, 0], [2, 32]), 2.0)
        late = pl.cmps(a, 3.5, "gt")
        less = pl.tile.cmp(a, b, 2)
        out = pl.store(pl.sel(late, a, pl.mul(a, 0.0)), [0, 0], out)
        out = pl.store(pl.sel(less, a, b), [2, 0], out)
        out = pl.store(pl.sels(late, a, a, -1.0), [4, 0], out)
        out = pl.store(pl.cmp(x, y, 0), [6, 0], out)


@pl.jit
def bits(x: pl.Tensor[[1, 8], pl.INT32], out: pl.Out[pl.Tensor[[7, 8], pl.INT32]]):
    """out == -1 -2 -3 -4 -5 -6 -7 -8 0 2 4 6 8 10 12 14"""
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.load(x, [0, 0], [1, 8])
        out[0:1, :] = pl.not_(t)
        out[1:2, :] = pl.shls(t, 1)
        out[2:3, :] = pl.and_(t, pl.shr(t, t))
        out[3:4, :] = pl.xors(t, 5)
        out[4:5, :] = pl.ors(t, 2)
        out[5:6, :] = pl.rems(t, 3)
        out[6:7, :] = pl.fmod(t, pl.maximums(t, 1))


@pl.jit
def parts_and_slopes(x: pl.Tensor[[4, 16], pl.FP32], out: pl.Out[pl.Tensor[[6, 16], pl.FP32]]):
    """out == 16 18 20 22 4 5 6 7"""
    with pl.at(level=pl.Level.CORE_GROUP):
        a = pl.load(x, [0, 0], [1, 16])
        b = pl.load(x, [1, 0], [1, 16])
        few = pl.set_validshape(b, 1, 4)
        first = pl.part_add(a, few)
        wide = pl.add(first, a)
        out = pl.store(pl.sub(wide, pl.part_mul(a, pl.set_validshape(pl.full([1, 16], pl.FP32, 1.0), 1, 4))), [0, 0], out)
        out = pl.store(pl.part_max(a, few), [1, 0], out)
        out = pl.store(pl.part_min(a, few), [2, 0], out)
        out = pl.store(pl.prelu(pl.sub(a, 4.0), pl.full([1, 16], pl.FP32, 0.5)), [3, 0], out)
        out = pl.store(pl.lrelu(pl.sub(a, 4.0), 0.25), [4, 0], out)
        out = pl.store(pl.fillpad_expand(pl.load(x, [2, 0], [1, 8]), [1, 16], pad_value=pl.PadValue.min), [5, 0], out)


@pl.jit
def gathers(x: pl.Tensor[[8, 64], pl.FP32], out: pl.Out[pl.Tensor[[11, 64], pl.FP32]], odd: pl.Out[pl.Tensor[[1, 32], pl.INT32]]):
    """out == 63 62 61 60"""
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.load(x, [0, 0], [1, 64])
        back = pl.arange(63, [1, 64], dtype=pl.INT32, descending=True)
        out = pl.store(pl.tile.gather(t, back), [0, 0], out)
        rows = pl.arange(7, [1, 8], dtype=pl.INT32, descending=True)
        out = pl.store(pl.mgather(x, rows), [1, 0], out)
        out = pl.store(pl.mgather(x, pl.muls(back, 9), coalesce="elem", gather_oob="clamp"), [9, 0], out)
        blocks = pl.muls(pl.arange(0, [1, 8], dtype=pl.UINT32), 32)
        out = pl.store(pl.gatherb(t, blocks), [10, 0], out)
        odd = pl.store(pl.gather_mask(t, 2, output_dtype=pl.INT32), [0, 0], odd)


@pl.jit
def scatters(x: pl.Tensor[[8, 16], pl.FP32], out: pl.InOut[pl.Tensor[[16, 16], pl.FP32]]):
    """out == 30 14 13 12"""
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.load(x, [0, 0], [1, 16])
        back = pl.arange(15, [1, 16], dtype=pl.INT32, descending=True)
        out = pl.store(pl.tile.scatter(t, back, [1, 16]), [0, 0], out)
        half = pl.load(x, [1, 0], [1, 8])
        out = pl.store(pl.scatter_mask(half, 1), [1, 0], out)
        rows = pl.adds(pl.arange(0, [1, 8], dtype=pl.INT32), 4)
        out = pl.mscatter(pl.load(x, [0, 0], [8, 16]), rows, out, coalesce="row")
        out = pl.mscatter(t, pl.muls(back, 19), out, scatter_oob="skip", atomic="add")
        out = pl.store(pl.scatter(t, dim=-1, index=back, src=pl.mul(t, 2.0)), [15, 0], out)


@pl.jit
def sorts(x: pl.Tensor[[1, 256], pl.FP32], out: pl.Out[pl.Tensor[[3, 512], pl.FP32]]):
    """out == 31 0 30 0"""
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.load(x, [0, 0], [1, 256])
        # Indices of zero: their bits are the float 0.
        records = pl.sort32(t, pl.full([1, 256], pl.UINT32, 0))
        out = pl.store(records, [0, 0], out)
        runs = pl.mrgsort(records, block_len=64)
        out = pl.store(runs, [1, 0], out)
        lists = pl.mrgsort(pl.slice(runs, [1, 256], [0, 0]), pl.slice(runs, [1, 256], [0, 256]), exhausted=True)
        out = pl.store(pl.set_validshape(lists, 1, 256), [2, 0], out)


@pl.jit
def triangles_and_bytes(
    x: pl.Tensor[[4, 16], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[12, 16], pl.FP32]],
    whole: pl.Out[pl.Tensor[[4, 16], pl.FP32]],
):
    """out == 1 1 0 0
    whole == 0 1 2 3"""
    as_integers = pl.reinterpret_view(x, pl.INT32)
    into = pl.reinterpret_view(whole, pl.INT32)
    with pl.at(level=pl.Level.CORE_GROUP):
        out = pl.store(pl.tri(1, [4, 16], dtype=pl.FP32), [0, 0], out)
        out = pl.store(pl.tri(0, [4, 16], dtype=pl.FP32, valid_shape=[4, 8], upper=True), [4, 0], out)
        t = pl.load(as_integers, [0, 0], [4, 16])
        into = pl.store(t, [0, 0], into)
        out = pl.store(pl.reinterpret_view(t, pl.FP32), [8, 0], out)


@pl.jit
def products_with_a_bias(
    a: pl.Tensor[[16, 16], pl.FP32], b: pl.Tensor[[1, 16], pl.FP32], out: pl.Out[pl.Tensor[[32, 16], pl.FP32]],
    at: pl.Out[pl.Tensor[[1, 16], pl.INT32]],
):
    """out == 0 1 2 3
    at == 15 15 15"""
    with pl.at(level=pl.Level.CORE_GROUP):
        zero = pl.full([16, 16], pl.FP32, 0.0)
        t = pl.load(a, [0, 0], [16, 16])
        out = pl.store(pl.matmul_bias(zero, t, pl.load(b, [0, 0], [1, 16])), [0, 0], out)
        out = pl.store(pl.matmul_bias(t, t, pl.load(b, [0, 0], [1, 16]), b_trans=True), [16, 0], out)
        at = pl.store(pl.col_argmax(t), [0, 0], at)


@pl.jit
def tasks_that_are_none(x: pl.Tensor[[1, 8], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[2, 8], pl.FP32]]):
    """out == 1 1 1 1 1 1 1 1 0 1 2 3"""
    tids = pl.array.create(2, pl.TASK_ID)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="first") as tid:
        out[1:2, :] = pl.load(x, [0, 0], [1, 8])
    tids[1] = tid
    if pl.system.task_is_valid(tids[1]):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="second", deps=[tids[1]]):
            out[0:1, :] = pl.full([1, 8], pl.FP32, 1.0)
    if pl.system.task_is_valid(tids[0]):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="never"):
            out[0:1, :] = pl.full([1, 8], pl.FP32, 7.0)


@pl.jit
def a_name_for_the_target_of_a_store(x: pl.Tensor[[4, 8], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[4, 8], pl.FP32]], two: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    """out == 0 1 2 3
    two == 2 2 2 2"""
    with pl.at(level=pl.Level.CORE_GROUP):
        for i in pl.range(4):
            done = pl.store(pl.load(x, [i, 0], [1, 8]), [i, 0], out)
            for j in pl.range(n):
                last = pl.store(pl.full([1, 8], pl.FP32, 2.0), [i, 0], two)
        pl.write(done, [3, 7], 9.0)
        pl.write(last, [3, 7], 9.0)
    return done


@pl.jit.inline
def filled(value, shape=(1, 8), by=1.0):
    return pl.muls(pl.full(shape, pl.FP32, value), by)


@pl.jit
def arguments_by_name(out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    """out == 2 2 2 2 2 2 2 2 6 6 6 6 6 6 6 6 5 5 5 5 5 5 5 5 5 5"""
    pl.func_attr({"target": out})
    with pl.at(level=pl.Level.CORE_GROUP):
        pl.static_assert(len("ab") == 2, f"{len('ab')} letters")
        out = pl.store(filled(2.0), [0, 0], out)
        out = pl.store(filled(2.0, by=3.0), [1, 0], out)
        out = pl.store(filled(by=1.0, value=5.0, shape=(2, 8)), [2, 0], out)


@pl.jit
def waves(x: pl.Tensor[[1, 8], pl.FP32], out: pl.Out[pl.Tensor[[2, 8], pl.FP32]]):
    """out == 0"""
    with pl.at(level=pl.Level.CORE_GROUP):
        out = pl.store(pl.sin(x), [0, 0], out)
        out = pl.store(pl.cos(x), [1, 0], out)
