"""Machines and traces for the tests of timing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from autocomp.simulator import SimulationOptions, SimulationResult, replay_trace

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.lowering.lower import MachineTables
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.trace import parse_trace

RTL = Path(__file__).parents[2] / "benchmarks" / "rtl"

NO_POOLING = "pool_stride=0 pool_size=0 pool_out_dim=0 porows=0 pocols=0 orows=0 ocols=0 upad=0 lpad=0"
SETUP = f"""
config_ex dataflow={{dataflow}} act=0 shift=0 acc_scale=1 a_stride=1 c_stride=1 a_transpose=0 b_transpose=0 \
set_only_strides=0
config_ld id=0 stride=1024 scale=1 shrunk=0 block_stride=16 pixel_repeats=1
config_ld id=1 stride=0 scale=1 shrunk=0 block_stride=16 pixel_repeats=1
config_st stride=1024 act=0 acc_scale=1 {NO_POOLING}
fence
"""


@lru_cache(maxsize=16)
def machine(name: str, overrides: tuple[tuple[str, int], ...] = ()) -> tuple[Accelerator, MachineTables]:
    accelerator = isa.load(name, dict(overrides))
    return accelerator, isa.lower(accelerator)


def replay(text: str, name: str = "gemmini", **overrides: int) -> SimulationResult:
    accelerator, tables = machine(name, tuple(sorted(overrides.items())))
    trace = parse_trace(text, "test", accelerator, tables)
    assert not trace.unsupported
    return replay_trace(tables.machine, trace.trace, SimulationOptions(record_commands=True))


def cycles(body: str, dataflow: str = "WS", **overrides: int) -> int:
    """Cycles of the commands after the systolic array's usual configuration."""
    result = replay(SETUP.format(dataflow=dataflow) + body, **overrides)
    assert result.error is None, result.error
    assert result.timing is not None
    return int(result.timing.segment_cycles[-1])


def move_in(
    row: int, cols: int = 16, rows: int = 16, address: int = 0x1000, place: str = "sp", name: str = "mvin"
) -> str:
    return f"{name} dram={address:#x} local={place}:{row} cols={cols} rows={rows}\n"


def move_out(row: int, place: str = "acc", flags: str = "", cols: int = 16, address: int = 0x100000) -> str:
    return f"mvout dram={address:#x} local={place}:{row}{flags} cols={cols} rows=16\n"


def pair(a: int, b: int | None, c: int, rows: int = 16, flags: str = "", place: str = "acc") -> str:
    weights = "garbage" if b is None else f"sp:{b}"
    kind = "compute_accumulated" if b is None else "compute_preloaded"
    return (
        f"preload bd={weights} c={place}:{c}{flags} bd_cols=16 bd_rows=16 c_cols=16 c_rows={rows}\n"
        f"{kind} a=sp:{a} bd=garbage a_cols=16 a_rows={rows} bd_cols=16 bd_rows=16\n"
    )


def causes(result: SimulationResult) -> Mapping[str, Mapping[str, int]]:
    assert result.timing is not None
    return {unit.unit: unit.causes for unit in result.timing.units}
