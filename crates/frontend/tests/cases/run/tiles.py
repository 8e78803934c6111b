"""Tiles, executed: values, handles, broadcasts, parts."""

import tilewright.language as pl

AT = pl.Level.CORE_GROUP


@pl.jit.inline
def bump(t, by=10.0):
    t[0:1, 0:8] = pl.full([1, 8], dtype=pl.FP32, value=by)
    return t


@pl.jit.inline
def total(x: pl.Tensor, scale: pl.Scalar[pl.FP32]):
    return pl.mul(pl.row_sum(x), scale)


@pl.jit.incore
def store_twice(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    t = pl.load(x, [0, 0], [2, 8])
    return pl.store(pl.add(t, t), [0, 0], out)


@pl.jit
def plain_assignment_is_a_value(out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    """out == 1 1 1 1 1 1 1 1 5 5 5 5 5 5 5 5 7 7 7 7 7 7 7 7 1 1 1 1 1 1 1 1"""
    with pl.at(level=AT):
        q = pl.full([1, 8], dtype=pl.FP32, value=1.0)
        t = q
        for i in pl.range(4):
            t = pl.add(t, 1.0)
        out[0:1, :] = q
        out[1:2, :] = t
        r = q
        r[0:1, 0:8] = pl.full([1, 8], dtype=pl.FP32, value=7.0)
        out[2:3, :] = r
        out[3:4, :] = q


@pl.jit
def assemble_is_in_place(x: pl.Tensor[[2, 16], pl.FP32], out: pl.Out[pl.Tensor[[4, 16], pl.FP32]]):
    """out == 0 1 2 3 4 5 6 7 10 10 10 10 10 10 10 10 3 3 3 3 3 3 3 3 10 10 10 10 10 10 10 10 2 2 2 2 2 2 2 2"""
    with pl.at(level=AT):
        t = x[0:1, :]
        u = pl.assemble(t, pl.full([1, 8], dtype=pl.FP32, value=10.0), [0, 8])
        out[0:1, :] = t
        u = bump(u, by=3.0)
        out[1:2, :] = t
        v = bump(pl.full([1, 8], dtype=pl.FP32, value=0.0), by=2.0)
        out[2:3, 0:8] = v


@pl.jit
def swapped_tiles(x: pl.Tensor[[2, 8], pl.FP32], out: pl.Out[pl.Tensor[[2, 8], pl.FP32]]):
    """out == 8 9 10 11 12 13 14 15 0 1 2 3"""
    with pl.at(level=AT):
        a = x[0:1, :]
        b = x[1:2, :]
        for i in pl.range(3):
            a, b = b, a
        out[0:1, :] = a
        out[1:2, :] = b


@pl.jit
def broadcasts(x: pl.Tensor[[8, 8], pl.FP32], out: pl.Out[pl.Tensor[[24, 8], pl.FP32]], firsts: pl.Out[pl.Tensor[[3, 16], pl.FP32]]):
    """out == 0 2 4 6 8 10 12 14 8 10 12 14 16 18 20 22
    firsts == -1 0 1 2 3 4 5 6 -1 0 1 2 3 4 5 6 1 1 1 1 1 1 1 1 9 9 9 9 9 9 9 9 64 1 2 3 4"""
    with pl.at(level=AT):
        t = x[:, :]
        row = x[0:1, :]
        col = pl.row_min(t)
        out[0:8, :] = pl.add(row, t)
        out[8:16, :] = pl.sub(pl.sub(t, col), 1.0)
        out[16:24, :] = pl.sub(pl.add(col, 1.0), pl.sub(row, row))
    with pl.at(level=AT):
        firsts[0:1, 0:8] = out[8:9, :]
        firsts[0:1, 8:16] = out[9:10, :]
        firsts[1:2, 0:8] = out[16:17, :]
        firsts[1:2, 8:16] = out[17:18, :]
        firsts[2:3, 0:8] = x[0:1, :]
        pl.write(firsts, [2, 0], pl.read(x, [7, 7]) + 1.0)


@pl.jit
def operators_and_reversed(x: pl.Tensor[[1, 8], pl.FP32], out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    """out == 1 0 -1 -2 -3 -4 -5 -6 8 4 2 8 8 8 8 8 0 2 4 6 8 10 12 14"""
    with pl.at(level=AT):
        t = x[:, :]
        out[0:1, :] = pl.sub(1.0, t)
        p = pl.full([1, 8], dtype=pl.FP32, value=1.0)
        pl.write(p, [0, 1], 2.0)
        p[0, 2] = 4.0
        out[1:2, :] = pl.minimum(pl.div(8.0, p), 8.0) * 1.0 - 0.0
        out[2:3, :] = t + t


@pl.jit
def parts(x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[4, 16], pl.FP32]]):
    """out == 24 25 26 27 28 29 30 31 40 41 42 43 44 45 46 47 2 18 34 50 66 82 98 114 36"""
    with pl.at(level=AT):
        t = x[:, :]
        part = t[1:3, 8:16]
        out[0:1, 0:8] = part[0:1, :]
        out[0:1, 8:16] = part[1]
        out[1:2, 0:8] = t[:, 2]
        pl.write(out, [1, 8], pl.read(t, [2, 4]))


@pl.jit
def escapes(x: pl.Tensor[[2, 8], pl.FP32], out: pl.Out[pl.Tensor[[2, 8], pl.FP32]]):
    """out == 2 4 6 8 10 12 14 16 18"""
    with pl.at(level=AT):
        t = pl.add(x[:, :], 1.0)
    with pl.at(level=AT):
        out[:, :] = pl.mul(t, 2.0)


@pl.jit
def helpers(x: pl.Tensor[[8, 8], pl.FP32], out: pl.Out[pl.Tensor[[8, 1], pl.FP32]], y: pl.Out[pl.Tensor[[2, 8], pl.FP32]]):
    """out == 14 46
    y == 0 2 4 6"""
    with pl.at(level=AT):
        out[:, :] = total(x[:, :], scale=0.5)
    store_twice(x, y)


@pl.jit
def integers_promote(x: pl.Tensor[[1, 8], pl.INT32], out: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    """out == 0.5 1.5 2.5"""
    with pl.at(level=AT):
        out[:, :] = pl.add(x[:, :], 0.5)


@pl.jit
def blocks(x: pl.Tensor[[4, 8], pl.FP32], out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    """out == 0 1 2 3 4 5 6 7 9 10"""
    for i in pl.spmd(4):
        out[i : i + 1, :] = pl.add(x[i, :], pl.cast(i, pl.FP32))


@pl.jit
def blocks_by_index(x: pl.Tensor[[4, 8], pl.FP32], out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    """out == 4 5 6 7 8 9 10 11 12"""
    with pl.spmd(4, name_hint="each") as tid:
        with pl.at(level=AT):
            i = pl.tile.get_block_idx()
            n = pl.cast(pl.cast(pl.tile.get_block_num(), pl.INT32), pl.FP32)
            out[i : i + 1, :] = pl.add(x[i : i + 1, :], n)
    done = pl.system.task_dummy(deps=[tid])


@pl.jit
def phi_of_tiles(x: pl.Tensor[[1, 8], pl.INT32], out: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    """out == 12"""
    with pl.at(level=AT):
        acc = pl.create_tensor([1, 8], dtype=pl.FP32)
        for i in pl.range(4):
            if i == 0:
                acc = pl.full([1, 8], dtype=pl.FP32, value=3.0)
            else:
                acc = pl.add(acc, 3.0)
        out[:, :] = acc


@pl.jit
def matrix_products(a: pl.Tensor[[16, 16], pl.BF16], out: pl.Out[pl.Tensor[[16, 16], pl.BF16]], f: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    """out == 19840
    f == 19840 19960"""
    with pl.at(level=AT):
        p = pl.matmul(a[:, :], a[:, :])
        out[:, :] = p
        q = pl.create_tensor([16, 16], dtype=pl.FP32)
        for k in pl.range(2):
            k0 = k * 8
            q = pl.matmul_acc(q, a[:, k0 : k0 + 8], a[k0 : k0 + 8, :], init_cond=k == 0)
        f[:, :] = q


@pl.jit
def reshaped_views(x: pl.Tensor[[8, 8], pl.FP32], out: pl.Out[pl.Tensor[[8, 8], pl.FP32]]):
    """out == 0 8 16 24 32 40 48 56 1 9 17 25 33 41 49 57 2 99"""
    y = pl.transpose(x, 0, 1)
    with pl.at(level=AT):
        flat = pl.reshape(out, [64])
        z = y[0:8, :]
        out[:, :] = z
    with pl.at(level=AT):
        flat = pl.reshape(out, [64])
        pl.write(flat, [17], 99.0)


@pl.jit
def copies_outside_of_scopes(
    x: pl.Tensor[[3, 4], pl.FP32], out: pl.Out[pl.Tensor[[2, 4, 8], pl.FP32]], big: pl.InOut[pl.Tensor[[256, 256], pl.FP32]]
):
    """out == 0 1 2 3 4 5 6 7 8 9 10 11 0 1 2 3 16 17 18 19 4 5 6 7 24 25 26 27 8 9 10 11 32 0 1 2 3
    big == 0 1 2"""
    out[0, 1:4, 4:8] = x
    out[1:2, 0:1, 1:5] = pl.reshape(x[0:1, :], [1, 1, 4])
    copy = pl.create_tensor([256, 256], dtype=pl.FP32)
    copy = pl.assemble(copy, big, [0, 0])
    big[128:256, :] = copy[0:128, :]
    pl.write(big, [0, 2], pl.read(copy, [128, 0]) - pl.read(big, [128, 0]) - 32766.0)


@pl.jit
def concatenated(x: pl.Tensor[[1, 8], pl.FP32], out: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
    """out == 0 1 2 3 4 5 6 7 0 1 2 3"""
    with pl.at(level=AT):
        out[:, :] = pl.concat(x[:, :], x[:, :])


@pl.jit
def valid_regions(
    x: pl.Tensor[[8, 8], pl.FP32],
    n: pl.Scalar[pl.INT32],
    out: pl.Out[pl.Tensor[[8, 8], pl.FP32]],
    s: pl.Out[pl.Tensor[[8, 1], pl.FP32]],
):
    """s == 3 27 51 75
    out == 0 1 2 -1 -1 -1 -1 -1 8 9 10 -1"""
    with pl.at(level=AT):
        t = pl.slice(x, [8, 8], [0, 0], valid_shape=[8, pl.cast(n, pl.INDEX)])
        s[:, :] = pl.row_sum(t)
        m = pl.full([8, 8], dtype=pl.FP32, value=-1.0)
        m[:, :] = t
        out[:, :] = m


@pl.jit
def fresh_accumulators(a: pl.Tensor[[2, 16, 16], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]], s: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    """out == 79360 79840 80320 3 4 5
    s == 19840 19960 20080 20200 4"""
    with pl.at(level=AT):
        acc = pl.create_tensor([16, 16], dtype=pl.FP32)
        for k in pl.range(4):
            x = pl.slice(a, [1, 16, 16], [0, 0, 0], valid_shape=[1, n, 16])
            w = pl.slice(a, [1, 16, 16], [0, 0, 0], valid_shape=[1, 16, n])
            if k == 0:
                acc = pl.matmul(x, w)
            else:
                acc = pl.matmul_acc(acc, x, w)
        out[:, :] = acc
        sums = pl.create_tensor([1, 16, 16], dtype=pl.FP32)
        for k in pl.range(1):
            y = pl.slice(a, [1, 16, 16], [0, 0, 0], valid_shape=[1, 16, 4])
            if k == 0:
                sums = pl.matmul(a[0:1, :, :], y)
            else:
                sums = pl.matmul_acc(sums, a[0:1, :, :], y)
        s[:, :] = pl.reshape(sums, [16, 16])


@pl.jit
def carried_valid_region(x: pl.Tensor[[4, 8], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    """out == 2 4 6 3 4 5"""
    with pl.at(level=AT):
        t = x[:, :]
        for i in pl.range(2):
            t = pl.add(pl.set_validshape(t, 4, n), 1.0)
        out[:, :] = pl.add(t, pl.slice(x, [4, 8], [0, 0], valid_shape=[4, n]))


@pl.jit.inline
def same(t):
    return t


@pl.jit
def full_slices_are_values(x: pl.Tensor[[2, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
    """out == 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 50 1 2"""
    with pl.at(level=AT):
        acc = x[:, :]
        a = acc[:, :]
        b = acc[0:2, 0:8]
        c = acc[0:2]
        d = acc[:]
        e = pl.slice(acc, [2, 8], [0, 0])
        pl.write(acc, [0, 0], 50.0)
        out[0:2, :] = a
        out[2:4, :] = b
        out[4:6, :] = c
        out[6:8, :] = d
        out[8:10, :] = e
        out[10:12, :] = acc


@pl.jit
def any_expression_gives_a_value(x: pl.Tensor[[2, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
    """out == 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 9 9 9 9 9 9 9 9 8 9"""
    with pl.at(level=AT):
        q = x[:, :]
        a = pl.reshape(q, [2, 8])
        b = q if True else x
        c = same(q)
        d = (q, 3)[0]
        q[0:1, :] = pl.full([1, 8], dtype=pl.FP32, value=9.0)
        out[0:2, :] = a
        out[2:4, :] = b
        out[4:6, :] = c
        out[6:8, :] = d
        out[8:10, :] = q


@pl.jit.inline
def marked(t):
    t[0:1, :] = pl.full([1, 8], dtype=pl.FP32, value=9.0)
    return t


@pl.jit
def an_argument_that_is_not_a_name_is_a_value(x: pl.Tensor[[2, 8], pl.FP32], out: pl.Out[pl.Tensor[[8, 8], pl.FP32]]):
    """out == 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 9 9 9 9 9 9 9 9 8 9 10 11 12 13 14 15 9 9 9 9 9 9 9 9 8 9 10 11 12 13 14 15 9 9 9 9 9 9 9 9 8 9 10 11 12 13 14 15"""
    with pl.at(level=AT):
        q = x[:, :]
        a = marked(q[:, :])
        out[0:2, :] = q
        out[2:4, :] = a
        b = marked(q)
        out[4:6, :] = q
        out[6:8, :] = b


@pl.jit
def parts_of_a_batch(x: pl.Tensor[[3, 2, 8], pl.FP32], out: pl.Out[pl.Tensor[[5, 8], pl.FP32]]):
    """out == 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 40 41 42 43 44 45 46 47 32 33 34 35 36 37 38 39 24 25 26 27 28 29 30 31"""
    with pl.at(level=AT):
        t = pl.add(x[:, :, :], 0.0)
        out[0:2, :] = t[1, :, :]
        out[2:3, :] = t[2, 1:2, :]
        for i in pl.range(3):
            out[3:4, :] = t[i, 0:1, :]
        two = pl.slice(t, [2, 2, 8], [1, 0, 0])
        out[4:5, :] = pl.slice(two, [1, 1, 8], [0, 1, 0], drop_dims=[0])


@pl.jit
def a_fresh_accumulator_of_rows_counted_in_the_loop(
    a: pl.Tensor[[16, 64], pl.FP32], b: pl.Tensor[[64, 16], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]
):
    """out == 1365504 1367520 1369536 1371552 1373568 1375584"""
    with pl.at(level=pl.Level.CORE_GROUP):
        acc = pl.create_tensor([16, 16], dtype=pl.FP32)
        for k in pl.range(4):
            rows = pl.min(16, n + 8)
            left = pl.slice(a, [16, 16], [0, k * 16], valid_shape=[rows, 16])
            if k == 0:
                acc = pl.matmul(left, b[k * 16 : k * 16 + 16, :], out_dtype=pl.FP32)
            else:
                acc = pl.matmul_acc(acc, left, b[k * 16 : k * 16 + 16, :])
        out[:, :] = acc
