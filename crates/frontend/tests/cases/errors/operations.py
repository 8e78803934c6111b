import tilewright.language as pl

AT = pl.Level.CORE_GROUP


@pl.jit
def bits_and_remainders(
    x: pl.Tensor[[8, 32], pl.FP32],
    k: pl.Tensor[[8, 32], pl.INT32],
    s: pl.Tensor[[8, 32], pl.INT16],
    out: pl.Out[pl.Tensor[[8, 32], pl.FP32]],
):
    with pl.at(level=AT):
        a = pl.and_(x, k)
        b = pl.shls(x, 2)
        c = pl.shl(s, k)
        d = pl.shrs(k, -1)
        e = pl.ors(k, 1.5)
        f = pl.not_(x)
        g = pl.fmod(1.0, 2.0)
        h = pl.part_add(x, 1.0)
        i = pl.lrelu(k, 1)
        j = x[:, :] % 2.0
        m = x[:, :] @ x[:, :]
        n = k[:, :] << 2
        out[:, :] = x[:, :] // 2.0


@pl.jit
def comparisons(
    x: pl.Tensor[[8, 32], pl.FP32], k: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 32], pl.FP32]]
):
    with pl.at(level=AT):
        a = pl.cmp(x, x, 6)
        b = pl.cmp(x, x, "less")
        c = pl.cmp(x, k, 0)
        d = pl.sel(x, x, x)
        m = pl.tile.cmp(k, k, 0)
        e = pl.sel(m, x, x)
        t = x[:, :]
        if t > 1.0:
            out[:, :] = t


@pl.jit
def waves(h: pl.Tensor[[8, 32], pl.FP16], out: pl.Out[pl.Tensor[[8, 32], pl.FP16]]):
    with pl.at(level=AT):
        out[:, :] = pl.sin(h)
        out[:, :] = pl.cos(h)


@pl.jit
def gathers(
    x: pl.Tensor[[8, 64], pl.FP32],
    i: pl.Tensor[[4, 32], pl.INT32],
    f: pl.Tensor[[8, 32], pl.FP32],
    out: pl.Out[pl.Tensor[[8, 32], pl.FP32]],
):
    with pl.at(level=AT):
        a = pl.gather(x)
        b = pl.gather(x, index=i, mask_pattern=1)
        c = pl.gather(x, dim=0, index=i)
        d = pl.gather(x, index=i)
        e = pl.gather(x, index=f)
        g = pl.gather(x, mask_pattern=8)
        h = pl.gather(x, mask_pattern=1, output_dtype=pl.INT16)
        j = pl.gather(pl.slice(x, [8, 64], [0, 0], valid_shape=[8, 63]), mask_pattern=1)
        k = pl.gather(x, index=i, output_dtype=pl.INT32)
        m = pl.gather(x, kvalue=0.5, cmp_mode=4)
        n = pl.mgather(x[:, :], i)
        o = pl.mgather(x, i)
        p = pl.mgather(x, i, coalesce="column")
        q = pl.gather_row(x[:, :], x, [0, 0], [0, 0], [1, 64], transpose=True)
        r = pl.gather_row(x[:, :], x, [0], [0, 0], [1, 64])
        s = pl.gatherb(x, f)


@pl.jit
def scatters(
    x: pl.Tensor[[8, 64], pl.FP32],
    i: pl.Tensor[[8, 32], pl.INT32],
    h: pl.Tensor[[8, 32], pl.FP16],
    s: pl.Tensor[[8, 32], pl.FP32],
    out: pl.Out[pl.Tensor[[8, 32], pl.FP32]],
):
    with pl.at(level=AT):
        a = pl.scatter(x, index=i)
        b = pl.scatter(x, index=i, src=h)
        c = pl.scatter(x, index=i, src=x)
        d = pl.scatter(x, dim=0, index=i, src=s)
        e = pl.tensor.scatter(s, mask_pattern=1, dst=s)
        f = pl.scatter_update(x, -1, i, s)
        g = pl.scatter_update(x, -2, i, s)
        j = pl.mscatter(s, s, x)
        k = pl.mscatter(x, i, x)


@pl.jit
def sorts(
    x: pl.Tensor[[1, 64], pl.FP32],
    u: pl.Tensor[[1, 64], pl.UINT32],
    h: pl.Tensor[[1, 64], pl.BF16],
    n: pl.Tensor[[1, 48], pl.FP32],
    m: pl.Tensor[[1, 48], pl.UINT32],
    out: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
):
    with pl.at(level=AT):
        a = pl.sort32(h, u)
        b = pl.sort32(n, m)
        c = pl.mrgsort(x)
        d = pl.mrgsort(x, block_len=48)
        e = pl.mrgsort(x, block_len=64)
        f = pl.mrgsort(x, x, block_len=64)
        g = pl.mrgsort(h, h)
        i = pl.mrgsort(x, block_len=64, exhausted=True)


@pl.jit
def makes(x: pl.Tensor[[8, 32], pl.FP32], out: pl.Out[pl.Tensor[[8, 32], pl.FP32]]):
    a = pl.tri(0, [8, 8], dtype=pl.FP32)
    with pl.at(level=AT):
        b = pl.random(0, 1, 2, 3, 4, 5, [1, 64], pl.UINT32)
        c = pl.tri(0, [8, 8])
        d = pl.tri(0, [8, 8], [9, 8], pl.FP32)
        e = pl.full([8, 32], dtype=pl.FP8E4M3FN, value=0)
        f = pl.matmul_mx(x, x)
        g = pl.paged_gather(x)


@pl.jit
def shapes(x: pl.Tensor[[8, 32], pl.FP32], y: pl.Tensor[[8, 24], pl.FP32], out: pl.Out[pl.Tensor[[8, 32], pl.FP32]]):
    v = pl.view(x, layout=pl.DN)
    w = pl.reinterpret_view(x[:, 0:16], pl.INT32)
    with pl.at(level=AT):
        a = pl.concat(x, pl.transpose(y, 0, 1))
        b = pl.expand_clone(x, y)
        c = pl.fillpad_expand(x, [8, 16])
        d = pl.reinterpret_view(pl.slice(x, [8, 32], [0, 0], valid_shape=[8, 9]), pl.INT16)
        e = pl.reinterpret_view(x, pl.INT32, shape=[8, 31])


@pl.jit
def products(
    a: pl.Tensor[[3, 16, 32], pl.FP32],
    b: pl.Tensor[[2, 32, 16], pl.FP32],
    v: pl.Tensor[[32], pl.FP32],
    m: pl.Tensor[[16, 32], pl.FP32],
    bias: pl.Tensor[[1, 24], pl.FP32],
    out: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
):
    with pl.at(level=AT):
        c = pl.matmul(a, b)
        d = pl.matmul(v, v)
        e = pl.matmul(v, m, a_trans=True)
        f = pl.matmul_bias(m, m, bias, b_trans=True)
        g = pl.gemv(m, m, b_trans=True)
        h = pl.batch_matmul(v, m)
        i = pl.batch_matmul_acc(a, a, a, b_trans=True)


@pl.jit
def tasks(x: pl.Tensor[[8, 32], pl.FP32], out: pl.Out[pl.Tensor[[8, 32], pl.FP32]]):
    if pl.system.task_is_valid(1):
        pass
    with pl.at(level=AT):
        if pl.system.task_is_valid(None):
            out[:, :] = x[:, :]


@pl.jit
def lanes(x: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
    with pl.at(level=AT):
        t = x[:, :]
        a = pl.aiv_shard(t)
        for lane in pl.split_aiv(3, mode=pl.SplitMode.NONE):
            b = t
        for lane in pl.split_aiv(2):
            b = t
        for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
            t[0:1, :] = pl.full([1, 32], dtype=pl.FP32, value=1.0)
        for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
            pl.system.syncall()
        for lane in pl.split_aiv(2, mode=pl.SplitMode.NONE):
            for inner in pl.split_aiv(2, mode=pl.SplitMode.NONE):
                c = t
        for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):
            d = pl.aiv_shard(t)
        out[0:8, :] = d


@pl.jit
def regions(x: pl.Tensor[[8, 32], pl.FP32], out: pl.Out[pl.Tensor[[8, 64], pl.FP32]]):
    with pl.at(level=AT):
        a = pl.slice(x, [8, 32], [0, 0], valid_shape=[9, 32])
        b = pl.load(x, [0, 0], [8, 32], valid_shape=[8, 40])
        c = pl.slice(x, [8, 32], [0, 0], valid_shape=[8, 5])
        out[:, :] = pl.concat(c, x)
