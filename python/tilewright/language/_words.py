"""The language's enumerations. Values are upstream's codes where it documents them; only names matter here."""

from ._marker import Word


def _words(name, members):
    return (
        Word(name, members.split(), module=__name__)
        if isinstance(members, str)
        else Word(name, members, module=__name__)
    )


Level = _words("Level", "HOST CLUSTER POD CHIP CHIP_DIE L2CACHE CORE_GROUP AIC AIV")
Role = _words("Role", "Orchestrator SubWorker Worker")
SplitMode = _words("SplitMode", {"NONE": 0, "UP_DOWN": 1, "LEFT_RIGHT": 2})
PadValue = _words("PadValue", "null zero max min")
AtomicType = _words("AtomicType", {"None_": 0, "Add": 1})
MemorySpace = _words("MemorySpace", "DDR Vec Mat Left Right Acc Bias LeftScale RightScale ScalarLocal")
TensorLayout = _words("TensorLayout", "ND DN NZ MX_A_ZZ MX_B_NN")
TileLayout = _words("TileLayout", "none_box row_major col_major")
FunctionType = _words("FunctionType", "Opaque Orchestration InCore AIC AIV Group Inline Graph")
ScopeMode = _words("ScopeMode", "AUTO MANUAL")
ForKind = _words("ForKind", "Sequential Parallel Unroll Pipeline")
MaskPattern = _words(
    "MaskPattern", {"P0101": 1, "P1010": 2, "P0001": 3, "P0010": 4, "P0100": 5, "P1000": 6, "P1111": 7}
)
RoundMode = _words("RoundMode", {"none": 0, "rint": 1, "round": 2, "floor": 3, "ceil": 4, "trunc": 5, "odd": 6})
CmpType = _words("CmpType", {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5})
PipeType = _words("PipeType", "MTE1 MTE2 MTE3 M V S FIX ALL")
NotifyOp = _words("NotifyOp", "AtomicAdd Set")
WaitCmp = _words("WaitCmp", "Eq Ge")
ReduceOp = _words("ReduceOp", "Sum Max Min Prod")
