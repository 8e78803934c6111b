import tilewright.language as pl

M = pl.dynamic("M")
TILE = 32
EPS = 1e-6


@pl.jit.inline
def norm(t: pl.Tensor, eps=EPS):
    return pl.rsqrt(pl.add(pl.row_sum(pl.mul(t, t)), eps))


@pl.jit
def hello(x: pl.Tensor[[128, 64], pl.FP32], a: pl.Scalar[pl.FP32], y: pl.Out[pl.Tensor[[128, 64], pl.FP32]]):
    for r in pl.parallel(0, 128, TILE):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="add_scalar"):
            y[r : r + TILE, :] = pl.add(x[r : r + TILE, :], a)
    return y


@pl.jit
def dynamic(x: pl.Tensor[[M, 64], pl.FP32], y: pl.Out[pl.Tensor[[M, 64], pl.FP32]]):
    rows = pl.tensor.dim(y, 0)
    scratch = pl.create_tensor([M, 64], dtype=pl.FP32, init_value=0.0)
    for r in pl.range(0, rows, TILE):
        n = pl.min(TILE, rows - r)
        with pl.at(level=pl.Level.CORE_GROUP):
            t = pl.slice(x, [TILE, 64], [r, 0], valid_shape=[n, 64])
            y[r : r + TILE, :] = pl.row_expand_mul(t, norm(t))
        view = scratch[r : r + n, 0:32]
        with pl.at(level=pl.Level.CORE_GROUP):
            ones = pl.full([TILE, 32], dtype=pl.FP32, value=1.0)
            pl.assemble(view, pl.set_validshape(ones, n, 32), [0, 0])


@pl.jit
def accumulate(a: pl.Tensor[[64, 256], pl.BF16], b: pl.Tensor[[64, 256], pl.BF16], c: pl.Out[pl.Tensor[[64, 64], pl.BF16]]):
    with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
        acc = pl.create_tensor([64, 64], dtype=pl.FP32)
        for kb in pl.pipeline(4, stage=2):
            k = kb * 64
            if kb == 0:
                acc = pl.matmul(a[:, k : k + 64], b[:, k : k + 64], b_trans=True, out_dtype=pl.FP32)
            else:
                acc = pl.matmul_acc(acc, a[:, k : k + 64], b[:, k : k + 64], b_trans=True)
        c[:, :] = pl.cast(acc, pl.BF16, mode="rint")


@pl.jit
def tasks(x: pl.Tensor[[4, 64], pl.FP32], y: pl.Out[pl.Tensor[[4, 64], pl.FP32]]):
    ids = pl.array.create(4, pl.TASK_ID)
    prev = None
    for i in pl.range(4):
        with pl.at(level=pl.Level.CORE_GROUP, deps=[prev]) as tid:
            y[i : i + 1, :] = pl.exp(x[i : i + 1, :])
        ids[i] = tid
        prev = tid
    with pl.spmd(4, sync_start=True, deps=[ids, ids[0], prev]) as last:
        b = pl.tile.get_block_idx()
        pl.system.syncall(core_type="aiv_only")
        y[b : b + 1, :] = pl.neg(y[b : b + 1, :])
    done = pl.system.task_dummy(deps=[[t for t in [last, None]], ids])
