import tilewright.language as pl

ROWS = 8


@pl.jit
def a_key_twice(x: pl.Tensor[[8], pl.FP32]):
    """Keys of several statements are merged."""
    pl.func_attr({"core": "aiv", "depth": 1})
    pl.func_attr({"depth": 2})


@pl.jit
def not_leading(x: pl.Tensor[[8], pl.FP32]):
    n = 1
    pl.func_attr({"core": "aiv"})


@pl.jit
def in_a_scope(x: pl.Tensor[[8], pl.FP32]):
    with pl.at(level=pl.Level.CORE_GROUP):
        pl.func_attr({"core": "aiv"})


@pl.jit
def a_name_that_is_no_parameter(x: pl.Tensor[[8], pl.FP32]):
    pl.func_attr({"first": x, "second": ROWS})


@pl.jit
def an_option_of_the_decorator(x: pl.Tensor[[8], pl.FP32]):
    pl.func_attr({"auto_scope": False})


@pl.jit
def not_a_dictionary(x: pl.Tensor[[8], pl.FP32]):
    pl.func_attr(core="aiv")


@pl.jit
def a_key_that_is_computed(x: pl.Tensor[[8], pl.FP32]):
    pl.func_attr({ROWS: 1})


@pl.jit
def assertions_with_text(x: pl.Tensor[[8], pl.FP32]):
    pl.static_assert(ROWS == 9, f"{ROWS} rows, and {x.shape[0]} elements")


@pl.jit
def views_that_overhang(x: pl.Tensor[[8], pl.FP32]):
    view = pl.slice(x, [4], [6], clamp=True)
