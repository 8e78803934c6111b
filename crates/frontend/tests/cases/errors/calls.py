import tilewright.language as pl

# arg wrong_shape.x = f32[16, 16]
# arg wrong_dtype.x = bf16[16, 32]
# arg scalar_for_tensor.x = 1.5
# arg two_extents.x = f32[8, 4]
# arg two_extents.y = f32[9, 4]

M = pl.dynamic("M")


@pl.jit
def wrong_shape(x: pl.Tensor[[16, 32], pl.FP32]):
    pass


@pl.jit
def wrong_dtype(x: pl.Tensor[[16, 32], pl.FP32]):
    pass


@pl.jit
def scalar_for_tensor(x: pl.Tensor[[16, 32], pl.FP32]):
    pass


@pl.jit
def two_extents(x: pl.Tensor[[M, 4], pl.FP32], y: pl.Tensor[[M, 4], pl.FP32]):
    pass
