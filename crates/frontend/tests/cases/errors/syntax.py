import tilewright.language as pl


@pl.jit
def broken(x: pl.Tensor[[16, 32], pl.FP32]):
    y = = x
