"""The options of a compile and of a run, under upstream's names.

Fields that steer what we do: `platform`; `save_kernels`, `save_kernels_dir`, `dump_passes` and the records of a run,
which keep the artifact folder of a direct call; `rtol` and `atol` of a replay. Records are not written yet.
Hints that cannot change a result (ring sizes, device id, thread counts of the device) are accepted; they describe
hardware that is not here.
"""

import argparse
import dataclasses
import enum
import os
from typing import Any

from . import _native

PLATFORMS = ("a2a3", "a2a3sim", "a5", "a5sim")


class BackendType(enum.Enum):
    Ascend910B = 0
    Ascend950 = 1


class OptimizationStrategy(enum.Enum):
    Default = 0


class MemoryPlanner(enum.Enum):
    PYPTO = 0
    PTOAS = 1
    DSA_RP = 2


def check_names(names):
    """Names of checks with commas between (or `all`, or None), as they are if all are known."""
    for name in [] if names is None else names.split(","):
        if name.strip() not in (*_native.CHECKS, "all"):
            known = ", ".join(f"`{known}`" for known in _native.CHECKS)
            raise ValueError(f"check {name!r} is not known; {known} and `all` are")
    return names


def add_check_option(parser):
    def checks(text):
        try:
            return check_names(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    parser.add_argument(
        "--check",
        type=checks,
        metavar="CHECKS",
        help="some of levels (every level on the same inputs, bit by bit) and races (accesses that nothing orders), "
        "with commas between, or all",
    )


def check_platform(platform):
    """The architecture (`a2a3` or `a5`) of a platform name."""
    if platform not in PLATFORMS:
        raise ValueError(f"platform {platform!r} is not one of {', '.join(PLATFORMS)}")
    return platform.removesuffix("sim")


@dataclasses.dataclass
class RunConfig:
    # Compile.
    platform: str = "a2a3sim"
    backend_type: Any = None
    strategy: Any = OptimizationStrategy.Default
    dump_passes: bool = False
    dump_ptoas_passes: bool = False
    compile_profiling: bool = False
    diagnostic_phase: Any = None
    disabled_diagnostics: Any = None
    analyze_auto_scopes_for_deps: bool = False
    save_kernels: bool = False
    save_kernels_dir: "str | os.PathLike | None" = None
    distributed_config: Any = None
    memory_planner: Any = None
    enable_pypto_l0c_double_buffer: "bool | None" = None
    # Dispatch.
    device_id: int = 0
    enable_chip_swimlane: bool = False
    enable_dep_gen: bool = False
    enable_pmu: Any = False
    enable_dump_args: Any = False
    enable_scope_stats: bool = False
    ring_task_window: Any = None
    ring_heap: Any = None
    ring_dep_pool: Any = None
    aicpu_thread_num: "int | None" = None
    # Harness.
    rtol: float = 1e-5
    atol: float = 1e-5
    golden_data_dir: "str | os.PathLike | None" = None
    codegen_only: bool = False

    def __post_init__(self):
        check_platform(self.platform)

    @property
    def arch(self):
        return check_platform(self.platform)

    @property
    def keeps_artifacts(self):
        """Whether a direct call leaves its artifact folder behind."""
        return bool(self.save_kernels or self.save_kernels_dir or self.dump_passes or records_wanted(self))


@dataclasses.dataclass(frozen=True)
class DfxOptions:
    """Which records of a run are wanted (`_DfxOpts` upstream). Accepted; none is written yet, which is said."""

    enable_chip_swimlane: bool = False
    enable_dump_args: Any = False
    enable_pmu: Any = False
    enable_dep_gen: bool = False
    enable_scope_stats: bool = False


def records_wanted(options):
    """Names of the records of a run that a DfxOptions or a RunConfig asks for."""
    return [f.name for f in dataclasses.fields(DfxOptions) if getattr(options, f.name)]


@dataclasses.dataclass
class DistributedConfig:
    """Ranks of a multi-rank program: one per device id."""

    device_ids: list = dataclasses.field(default_factory=list)
    num_sub_workers: int = 0
    runtime: Any = None
    aicpu_thread_num: "int | None" = None

    def __post_init__(self):
        ids = list(self.device_ids)
        if not ids or len(set(ids)) != len(ids) or any(isinstance(i, bool) or not isinstance(i, int) for i in ids):
            raise ValueError(f"device_ids must be distinct integers, at least one, got {self.device_ids!r}")
