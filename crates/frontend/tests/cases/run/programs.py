"""Programs of several functions: kernels at tile level, launched by an orchestration."""

import tilewright.language as pl

TILE = 8


@pl.program
class Programs:
    @pl.function(type=pl.FunctionType.InCore)
    def add_rows(
        self,
        x: pl.Tensor[[16, 8], pl.FP32],
        row: pl.Scalar[pl.INDEX],
        bias: pl.Scalar[pl.FP32],
        out: pl.Out[pl.Tensor[[16, 8], pl.FP32]],
    ) -> pl.Tensor[[16, 8], pl.FP32]:
        pl.func_attr({"core": "aiv"})
        tile: pl.Tile[[TILE, 8], pl.FP32] = pl.load(x, [row, 0], [TILE, 8], target_memory=pl.MemorySpace.Vec)
        result: pl.Tile[[TILE, 8], pl.FP32] = pl.add(tile, bias)
        ret: pl.Tensor[[16, 8], pl.FP32] = pl.store(result, [row, 0], out)
        return ret

    @pl.function(type=pl.FunctionType.InCore)
    def both(
        self,
        x: pl.Tensor[[16, 8], pl.FP32],
        a: pl.Out[pl.Tensor[[16, 8], pl.FP32]],
        b: pl.Out[pl.Tensor[[16, 8], pl.FP32]],
    ):
        tile = pl.load(x, [0, 0], [16, 8])
        a = pl.store(pl.add(tile, 1.0), [0, 0], a)
        b = pl.store(pl.add(tile, 2.0), [0, 0], b)
        return a, b

    @pl.function(type=pl.FunctionType.InCore)
    def strided(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        for i in pl.range(pl.tile.get_block_idx(), 16, pl.tile.get_block_num()):
            t = pl.load(x, [i, 0], [1, 8])
            out = pl.store(pl.add(t, 5.0), [i, 0], out)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def flagged(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]], on: pl.Scalar[pl.BOOL]):
        t = pl.load(x, [0, 0], [16, 8])
        if on:
            done = pl.store(pl.add(t, 100.0), [0, 0], out)
        else:
            done = pl.store(t, [0, 0], out)
        return done

    @pl.function(type=pl.FunctionType.InCore)
    def fresh(self, x: pl.Tensor[[16, 8], pl.FP32]):
        return pl.mul(pl.load(x, [0, 0], [16, 8]), 2.0)

    @pl.function(type=pl.FunctionType.Inline)
    def twice(self, x, out):
        mid = pl.create_tensor([16, 8], dtype=pl.FP32)
        mid, mid2 = self.both(x, mid, mid)
        return self.add_rows(mid2, 0, 1.0, out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def called_by_name(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 3 4 5 6 7 8 9 10"""
        out = self.twice(x, out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def chained(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 5 6 7 8 9 10 11 12
        x == 0 1 2"""
        mid = pl.create_tensor([16, 8], dtype=pl.FP32)
        with pl.manual_scope():
            tids = pl.array.create(2, pl.TASK_ID)
            for i in pl.range(2):
                row: pl.Scalar[pl.INDEX] = i * TILE
                mid, tid = pl.submit(self.add_rows, x, row, 2, mid)
                tids[i] = tid
            (a, b), tid = pl.submit(self.both, mid, out, mid, deps=[tids])
            out, last = pl.submit(self.add_rows, b, row=0, bias=1.0, out=a, deps=[tid], allow_early_resolve=True)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def phases(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 3 4 5 6"""
        with pl.manual_scope():
            tids = pl.array.create(2, pl.TASK_ID)
            for phase, (before,) in pl.range(3, init_values=(tids,)):
                following = pl.array.create(2, pl.TASK_ID)
                for branch in pl.parallel(2):
                    out, tid = pl.submit(self.add_rows, x, branch * TILE, 3.0, out, deps=[before])
                    following[branch] = tid
                tids = pl.yield_(following)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def phases_in_a_row(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 4 5 6 7"""
        tids = pl.array.create(2, pl.TASK_ID)
        for phase, (before,) in pl.range(2, init_values=(tids,)):
            following = pl.array.create(2, pl.TASK_ID)
            out, tid = pl.submit(self.add_rows, x, 0, 3.0, out, deps=[before])
            following[phase] = tid
            tids = pl.yield_(following)
        for phase, (before,) in pl.range(2, init_values=(tids,)):
            following = pl.array.create(2, pl.TASK_ID)
            out, tid = pl.submit(self.add_rows, x, 0, 4.0, out, deps=[before])
            following[phase] = tid
            tids = pl.yield_(following)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def launched(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 10 11 12 13"""
        mid = pl.create_tensor([16, 8], dtype=pl.FP32)
        with pl.spmd(4, sync_start=True):
            mid = self.strided(x, mid)
        out, tid = pl.spmd_submit(self.strided, mid, out, core_num=3, deps=[])
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def clustered(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 5 6 7 8"""
        with pl.cluster(name_hint="pair"):
            with pl.spmd(core_num=4):
                out = self.strided(x, out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def predicated(
        self,
        x: pl.Tensor[[16, 8], pl.FP32],
        n: pl.Tensor[[4], pl.INT32],
        out: pl.Out[pl.Tensor[[16, 8], pl.FP32]],
    ):
        """out == 7 8 9 10
        n == 1 1"""
        pl.write(n, [0], pl.const(1, pl.INT32))
        out, a = pl.submit(self.add_rows, x, 0, 7.0, out, predicate=(n[1] > 0))
        out, b = pl.submit(self.add_rows, x, 0, 9.0, out, predicate=(n[0] != 1), deps=[a])
        with pl.spmd(2, predicate=(n[2] < 0), deps=[b]):
            out = self.strided(out, out)
        out, c = pl.spmd_submit(self.strided, out, out, core_num=2, predicate=(0 > pl.read(n, [3])))
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def flags(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 100 101 102"""
        for i in pl.range(2):
            if i == 0:
                (first,) = pl.yield_(0)
            else:
                (first,) = pl.yield_(1)
            out = self.flagged(x, out, first)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def returned(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 1 3 5 7"""
        doubled = self.fresh(x)
        return self.add_rows(doubled, 0, 1.0, out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def typed(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]], n: pl.Tensor[[4], pl.INT64]):
        """out == 3 4 5 6"""
        most: pl.Scalar[pl.INT64] = 0
        for i in pl.range(4):
            most = pl.max(most, pl.read(n, [i]))
        bias: pl.Scalar[pl.FP32] = pl.cast(most, pl.FP32)
        return self.add_rows(x, 0, bias, out)

    @pl.function(type=pl.FunctionType.InCore)
    def masked(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        t = pl.load(x, [0, 0], [8, 8], valid_shape=[8, 7])
        return pl.store(pl.fillpad(t, pad_value=pl.PadValue.zero), [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def valid_views(self, x: pl.Tensor[[16, 8], pl.FP32], out: pl.Out[pl.Tensor[[16, 8], pl.FP32]]):
        """out == 24 25 26 27 28 0 0 0 32"""
        view = pl.slice(x, [13, 8], [2, 0], valid_shape=[13, 5])
        part = pl.slice(view, [12, 8], [1, 0])
        return self.masked(part, out)
