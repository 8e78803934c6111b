import tilewright.language as pl


@pl.jit.incore
def kernel(x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
    return pl.store(pl.load(x, [0, 0], [16, 8]), [0, 0], out)


@pl.jit.incore
def fresh(x: pl.Tensor[[16, 8], pl.FP32]):
    return pl.load(x, [0, 0], [16, 8])


@pl.jit.inline
def helper(x):
    return x


@pl.jit
def submit_of_a_helper(x: pl.Tensor[[16, 8], pl.FP32]):
    a, tid = pl.submit(helper, x)


@pl.jit
def submit_of_nothing(x: pl.Tensor[[16, 8], pl.FP32]):
    tid = pl.submit()


@pl.jit
def blocks_missing(x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
    out, tid = pl.spmd_submit(kernel, x, out)


@pl.jit
def submit_in_a_scope(x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
    with pl.at(level=pl.Level.CORE_GROUP):
        out, tid = pl.submit(kernel, x, out)


@pl.jit
def cluster_in_a_scope(x: pl.Tensor[[16, 8], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        with pl.cluster():
            t = x[:, :]


@pl.jit
def deps_of_a_call(x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
    out = kernel(x, out, deps=[None])


@pl.jit
def too_few_names(x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
    a, b, c = pl.submit(kernel, x, out)


@pl.jit
def skipped_results(x: pl.Tensor[[16, 8], pl.FP32], n: pl.Tensor[[4], pl.INT32]):
    t, tid = pl.submit(fresh, x, predicate=(n[0] > 0))
    return t


@pl.jit
def partial_views_do_not_meet(x: pl.Tensor[[16, 8], pl.FP32], n: pl.Tensor[[4], pl.INT32]):
    view = pl.slice(x, [8, 8], [0, 0], valid_shape=[8, 3])
    if n[0] > 0:
        view = pl.slice(x, [8, 8], [8, 0], valid_shape=[8, 5])
    with pl.at(level=pl.Level.CORE_GROUP):
        t = view[:, :]


@pl.jit
def annotated_fraction(x: pl.Tensor[[16, 8], pl.FP32]):
    n: pl.Scalar[pl.INT32] = 1.5
