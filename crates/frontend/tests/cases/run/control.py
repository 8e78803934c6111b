"""Control flow, executed: what Python means is what happens."""

import tilewright.language as pl

N = 7
NEG = -7


@pl.jit
def carries(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 45 9 0 3"""
    total = 0
    last = 0
    for i in pl.range(10):
        total = total + i
        last = i
    pl.write(out, [0], pl.cast(total, pl.INT32))
    pl.write(out, [1], pl.cast(last, pl.INT32))
    a = 0
    b = 3
    for i in pl.range(4):
        a, b = b, a
    pl.write(out, [2], pl.cast(a, pl.INT32))
    pl.write(out, [3], pl.cast(b, pl.INT32))


@pl.jit
def down(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 10 8 6 4"""
    n = 0
    for i in pl.range(10, 2, -2):
        pl.write(out, [n], pl.cast(i, pl.INT32))
        n += 1


@pl.jit
def stop_early(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 10 5 4"""
    total = 0
    seen = 0
    for i in pl.range(100):
        if i == 5:
            break
        total = total + i
        seen = seen + 1
    pl.write(out, [0], pl.cast(total, pl.INT32))
    pl.write(out, [1], pl.cast(seen, pl.INT32))
    count = 0
    for i in pl.range(8):
        if i % 2 == 0:
            continue
        count = count + 1
    pl.write(out, [2], pl.cast(count, pl.INT32))


@pl.jit
def nested_break(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 6 3"""
    pairs = 0
    rows = 0
    for i in pl.range(10):
        if i == 3:
            break
        for j in pl.range(10):
            if j > i:
                break
            pairs = pairs + 1
        rows = rows + 1
    pl.write(out, [0], pl.cast(pairs, pl.INT32))
    pl.write(out, [1], pl.cast(rows, pl.INT32))


@pl.jit
def break_keeps_what_it_assigned(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 100 3 11"""
    v = 0
    n = 0
    for i in pl.range(10):
        if i == 3:
            v = 100
            break
        v = 7
        v = v + 1
        n = n + 1
    pl.write(out, [0], v)
    pl.write(out, [1], n)
    w = 0
    for i in pl.range(4):
        if i == 3:
            w = 11
            continue
        w = 5
    pl.write(out, [2], w)


@pl.jit
def while_loops(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 7 128 4"""
    steps = 0
    value = 1
    while value < 100:
        value = value * 2
        steps = steps + 1
    pl.write(out, [0], pl.cast(steps, pl.INT32))
    pl.write(out, [1], pl.cast(value, pl.INT32))
    n = 0
    while True:
        n = n + 1
        if n == 4:
            break
    pl.write(out, [2], pl.cast(n, pl.INT32))


@pl.jit
def unrolled(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 0 -1 -1 -2 10"""
    for i in pl.unroll(4):
        pl.write(out, [i], -i // 2 if i else 0)
    total = 0
    for i in pl.unroll(10):
        if i == 5:
            break
        total = total + i
    pl.write(out, [4], total)


@pl.jit
def unroll_breaks_at_run_time(x: pl.Tensor[[8], pl.INT32], out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 3"""
    total = pl.cast(0, pl.INT32)
    for i in pl.unroll(8):
        if pl.read(x, [i]) > 2:
            break
        total = total + pl.read(x, [i])
    pl.write(out, [0], total)


@pl.jit
def division(x: pl.Tensor[[8], pl.INT32], out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == -4 1 -2 -1 -3"""
    pl.write(out, [0], NEG // 2)
    pl.write(out, [1], NEG % 2)
    three = pl.read(x, [3])
    minus = 0 - three - 2
    pl.write(out, [2], minus // 2)
    pl.write(out, [3], minus % 2)
    pl.write(out, [4], -three)


@pl.jit
def branches(x: pl.Tensor[[8], pl.INT32], out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 20 1 5 7"""
    two = pl.read(x, [2])
    if two == 1:
        a = 10
    elif two == 2:
        a = 20
    else:
        a = 30
    pl.write(out, [0], pl.cast(a, pl.INT32))
    b = 0
    if two > 1 and not two > 2:
        b = 1
    pl.write(out, [1], pl.cast(b, pl.INT32))
    if N > 3:
        c = 5
    else:
        c = "never"
    pl.write(out, [2], c)
    if 0 < two < 3:
        pl.write(out, [3], 7)


@pl.jit
def first_bound_in_loop(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 9 0"""
    for i in pl.range(4):
        square = i * i
    pl.write(out, [0], pl.cast(square, pl.INT32))
    for i in pl.range(4, 4):
        never = i + 5
    pl.write(out, [1], pl.cast(never, pl.INT32))


@pl.jit
def init_values(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 10 1 16"""
    start = 0
    for i, (acc, turn) in pl.range(5, init_values=(start, 1)):
        total, flag = pl.yield_(acc + i, 0 - turn)
    pl.write(out, [0], pl.cast(total, pl.INT32))
    pl.write(out, [1], pl.cast(0 - flag, pl.INT32))
    for (x,) in pl.while_(init_values=(1,)):
        pl.cond(x < 10)
        y = pl.yield_(x * 2)
    pl.write(out, [2], pl.cast(y, pl.INT32))


@pl.jit
def literal_adopts_a_type(x: pl.Tensor[[8], pl.INT32], out: pl.Out[pl.Tensor[[8], pl.INT32]], f: pl.Out[pl.Tensor[[8], pl.FP32]]):
    """out == 28
    f == 3.5 8.5 28 6.5 12"""
    total = 0
    for i in pl.range(8):
        total = total + pl.read(x, [i])
    pl.write(out, [0], total)
    three = pl.read(x, [3])
    pl.write(f, [0], three + 0.5)
    s = 1.0
    for i in pl.range(3):
        s = s + 2.5
    pl.write(f, [1], s)
    sum = 0
    for i in pl.range(8):
        sum = sum + pl.cast(pl.read(x, [i]), pl.FP32)
    pl.write(f, [2], sum)
    n = 0
    for i in pl.range(6):
        n = n + 1
    pl.write(f, [3], n + 0.5)
    odd = 0
    for i in pl.range(2):
        for j in pl.range(4):
            v = pl.read(x, [i * 4 + j])
            if v % 2 == 1 and v < 7:
                odd = odd + pl.cast(v, pl.FP32)
            else:
                odd = odd + 0
    pl.write(f, [4], odd + 3.0)


@pl.jit
def arrays(out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 0 2 4 6"""
    a = pl.array.create(4, pl.INT32)
    for i in pl.range(4):
        a[i] = pl.cast(i * 2, pl.INT32)
    for i in pl.range(4):
        pl.write(out, [i], a[i])


@pl.jit
def scalars_leave_a_scope(x: pl.Tensor[[8], pl.INT32], out: pl.Out[pl.Tensor[[8], pl.INT32]]):
    """out == 6 12"""
    with pl.at(level=pl.Level.CORE_GROUP):
        total = pl.read(x, [1]) + pl.read(x, [5])
        double = total * 2
    pl.write(out, [0], total)
    with pl.at(level=pl.Level.CORE_GROUP):
        pl.write(out, [1], double)
