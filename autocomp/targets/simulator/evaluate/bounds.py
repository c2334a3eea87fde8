"""Lower bounds: cycles that no kernel of a workload can do without on a machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.remember import remember, remembered
from autocomp.targets.evaluation import Bound
from autocomp.targets.simulator.isa.derived.analysis import Kind
from autocomp.targets.simulator.isa.derived.contractions import contractions, multipliers, peak
from autocomp.targets.simulator.isa.derived.passes import passes
from autocomp.targets.simulator.isa.derived.ranges import ranges_of
from autocomp.targets.simulator.isa.derived.regions import derive, writes
from autocomp.targets.simulator.isa.derived.roles import call_roles
from autocomp.targets.simulator.isa.main_memory import channel_width, channels, fresh_width, shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator, Memory
from autocomp.targets.simulator.isa.timing import ARRAYS, MOVES, TRANSFERS, UNIT_KEYS
from autocomp.targets.simulator.isa.tree import Number
from autocomp.workload import Workload
from autocomp.workload.convolution import convolution

HOST_RATE = 8  # multiply-accumulates and bytes a cycle that no host exceeds: a word of 64 bits of int8


def peak_multiply_accumulates(accelerator: Accelerator) -> int:
    """Multiply-accumulates a cycle at full use; 0 for a machine whose description does not tell."""
    return peak(accelerator)


def bound(workload: Workload, accelerator: Accelerator) -> Bound:
    """In cycles, the larger of what the multipliers and what the memory bus need, both taken as never waiting, between
    the first request and the last acknowledgement.

    Compute: multiply-accumulates / peak, and the latency of the last one; in an array, at least the rows that have to
    pass it (`_rows`). Memory: every input that a result depends on crosses the bus at least once and every output once;
    the two directions overlap, so the larger counts, but acknowledgements of stores come between data (`_answers`).
    Requests are of whole beats, and a unit has a limited number of them under way (`_bus`). Of tensors that are both,
    nobody knows which elements are. A host that may compute does a part of either beside the machine. Ends: nothing is
    computed before the first data are there, and the last store has to be acknowledged.

    It holds for every kernel, because it uses nothing that a kernel decides: neither the order of loops, nor the
    operand that stays in an array, nor where data lie in local memory. So it does not count how requests cut the rows
    of a tensor: a kernel may fetch a tensor as one long row, and multiply it where it lies, in more passes. Nor does it
    count columns that a tile leaves empty: a kernel may compute the transposed product, and transpose it.
    """
    return remember(accelerator, "bounds", workload.problem, lambda: _bound(workload, accelerator))


def _bound(workload: Workload, accelerator: Accelerator) -> Bound:
    beside = 0 if workload.host == "control" else HOST_RATE
    rate = peak(accelerator)
    macs = workload.multiply_accumulates
    compute = math.ceil(macs / (rate + beside)) if rate else 0
    besides = 0 if beside or not compute else _besides(workload, accelerator)
    into = sum(tensor.bytes for tensor in workload.tensors if tensor.role == "input") - workload.unused_bytes
    out = sum(tensor.bytes for tensor in workload.tensors if tensor.role == "output")
    fill, drain = _bus(accelerator)
    memory = math.ceil(max(into / (fill + beside), out / (drain + beside))) if fill else 0
    answers = 0 if beside else _answers(accelerator, into, out)
    parts = []
    if compute:
        parts.append(f"{macs} multiply-accumulates at {rate + beside} a cycle take {compute} cycles")
    if besides:
        parts.append(f"starting sums and limiting results takes the same unit {besides} cycles")
        compute += besides
    array = None if beside else _array(accelerator)
    rows = 0 if array is None else _rows(workload, array)
    if array is not None and rows:
        parts.append(
            f"{rows} rows of at most {array.depth} products for {array.columns} results each pass the array, "
            f"the last one in {array.latency} cycles"
        )
        compute = max(compute, rows) + array.latency
    trailing = 0 if beside or not compute else _trailing(accelerator)
    if trailing:
        parts.append(f"the last result comes {trailing} cycles later")
        compute += trailing
    if memory:
        rates = " and ".join(f"{each + beside:g}" for each in dict.fromkeys((fill, drain)))
        parts.append(f"{into} bytes in and {out} bytes out at {rates} a cycle each way take {memory} cycles")
    if answers > memory:
        memory = answers
        parts.append(f"what comes in and the acknowledgements of what goes out share the way back for {memory} cycles")
    if beside:
        parts.append(f"{beside} of either are the most that the host does beside the machine")
    limit = "the multipliers set" if compute >= memory else "the memory bus sets"
    explanation = "; ".join(parts) + f"; {limit} the bound" if parts else "nothing is known that bounds it"
    ends = 0 if beside else _ends(workload, accelerator)
    if ends:
        explanation += f"; {ends} cycles pass before the first data and after the last store"
    return Bound(max(compute, memory, 1) + ends, explanation, {"compute": compute, "memory": memory, "ends": ends})


def _besides(workload: Workload, accelerator: Accelerator) -> int:
    """Cycles in which the unit that multiplies starts the sums of a product or convolution, and limits them at both
    ends of int8."""
    if workload.operation not in ("gemm", "conv2d"):
        return 0
    needed = passes(accelerator)
    each = needed.start + (2 * needed.limit if all(t.dtype == "int8" for t in workload.outputs) else 0.0)
    return math.floor(each * sum(math.prod(tensor.shape) for tensor in workload.outputs))


@remembered
def _bus(accelerator: Accelerator) -> tuple[float, float]:
    """Bytes a cycle that the memory bus carries at most, into the machine and out of it: a request is a power of two
    of bytes, in whole beats. The width itself where a unit moves data in another way.

    Where memory is far, a unit that waits for answers carries less, by Little's law. A request is under way for the
    memory's latency at least, and a unit has at most `requests` of them under way. Several memories and channels carry
    as much as all of them together, and what comes in once, a cache cannot hold yet.
    """
    units = {unit.name: unit.settings for unit in accelerator.units}
    latency = shortest_latency(accelerator)

    def carried(role: Kind) -> float:
        rate = fresh_width if role == "load" else channel_width
        reached = _reached(accelerator, write=role == "store")
        buses = [(width, channels(memory)) for memory in reached if (width := rate(memory))]
        moving = [units.get(unit or "", {}) for unit in _moving(accelerator, role)]
        if not buses or not moving or any(unit.get("kind") not in MOVES for unit in moving):
            return float(sum(width * each for width, each in buses))
        sizes = {size for unit in moving for size in _requests(unit)}
        beats = sum(each * max(size / -(-size // width) for size in sizes) for width, each in buses)
        if not latency or any(unit.get("instant") for unit in moving):
            return beats
        return min(beats, sum(_number(unit, "requests") * max(_requests(unit)) for unit in moving) / latency)

    return carried("load"), carried("store")


def _answers(accelerator: Accelerator, into: float, out: float) -> int:
    """Cycles of the ways back from memory, one a channel: a beat of data each, or the acknowledgement of a request to
    store. Those that may come between the last data and the end are left out, since the ends of a kernel count that
    time. 0 for units that move data in other ways."""
    units = {unit.name: unit.settings for unit in accelerator.units}
    loading = [units.get(unit or "", {}) for unit in _moving(accelerator, "load")]
    storing = [units.get(unit or "", {}) for unit in _moving(accelerator, "store")]
    plain = all(unit.get("kind") in TRANSFERS and not unit.get("instant") for unit in (*loading, *storing))
    if not plain or not loading or not storing or len(accelerator.drams) > 1:
        return 0
    width = channel_width(accelerator.dram)
    beat = max(size / -(-size // width) for unit in loading for size in _requests(unit)) if width else math.inf
    requests = out / max(_number(unit, "request_max") for unit in storing)
    ways = channels(accelerator.dram)
    last = min(requests, ways * shortest_latency(accelerator))
    return math.ceil((into / beat + requests - last) / ways)


@remembered
def _trailing(accelerator: Accelerator) -> int:
    """Cycles by which the results of the units that multiply come after all that keeps these busy, at least."""
    units = {unit.name: unit.settings for unit in accelerator.units}
    multiplying = multipliers(accelerator)
    known = [units.get(unit or "") for unit in multiplying]
    if any(unit is None or unit.get("kind", "serial") != "serial" or unit.get("instant") for unit in known):
        return 0
    latencies = [
        ranges_of(accelerator, instruction).of(instruction.timing.get("latency", Number(0))).low
        for instruction in accelerator.instructions
        if instruction.unit in multiplying and writes(accelerator, instruction)
    ]
    return max(0, math.floor(min(latencies, default=0)))


def _reached(accelerator: Accelerator, *, write: bool) -> tuple[Memory, ...]:
    """The memories of tensors that some instruction reads, or writes."""
    if len(accelerator.drams) == 1:
        return accelerator.drams
    names: set[str] = set()
    for instruction in accelerator.instructions:
        homes = {p.name: p.memory or accelerator.dram.name for p in instruction.parameters if p.kind == "pointer"}
        regions = derive(accelerator, instruction)
        names |= {homes[r.pointer] for r in regions if r.pointer in homes and r.write == write}
    return tuple(memory for memory in accelerator.drams if memory.name in names)


def _number(unit: Mapping[str, int | float | str], key: str) -> int:
    """A setting of a unit, or the simulator's default."""
    return int(unit.get(key, UNIT_KEYS[key].default))


def _requests(unit: Mapping[str, int | float | str]) -> Iterator[int]:
    """Bytes that a request of a unit may have."""
    least, most = _number(unit, "request_min"), _number(unit, "request_max")
    while least <= most:
        yield least
        least *= 2


@dataclass(frozen=True)
class _Array:
    """An array that a row of at most `depth` elements enters each cycle, and a row of `columns` results leaves
    `latency` cycles later."""

    columns: int
    depth: int
    latency: int


@remembered
def _array(accelerator: Accelerator) -> _Array | None:
    """The array that does all of a machine's products; None for a machine that has others beside it, or none."""
    units = {unit.name: unit for unit in accelerator.units}
    arrays = {(c.unit, c.tile[1], c.tile[2]) if c.tile else None for c in contractions(accelerator)}
    known = arrays.pop() if len(arrays) == 1 else None
    if known is None or known[0] not in units or known[1] * known[2] != peak(accelerator):
        return None
    settings = units[known[0]].settings
    if settings.get("kind") not in ARRAYS or settings.get("instant"):
        return None
    return _Array(known[1], known[2], _number(settings, "latency"))


def _rows(workload: Workload, array: _Array) -> int:
    """Rows that pass an array, whatever the order, the tiles and the operand that stays in it.

    A sum of n products is made of ceil(n / depth) partial sums at least, as each adds the products of one row. A row
    gives `columns` partial sums. Only what the workload's sums are made of counts: 0 where that is not known.
    """
    if workload.operation == "gemm":
        sums: Mapping[int, int] = {workload.dims["K"]: workload.dims["I"] * workload.dims["J"]}
    elif workload.operation == "conv2d":
        sums = convolution(workload.dims, workload.options).sums
    else:
        return 0
    return math.ceil(sum(count * -(-length // array.depth) for length, count in sums.items()) / array.columns)


def _moving(accelerator: Accelerator, role: Kind) -> frozenset[str | None]:
    """The units that load, or store."""
    instructions = (accelerator.instruction(form.instruction) for form in call_roles(accelerator, role))
    return frozenset(instruction.unit for instruction in instructions if instruction)


def _ends(workload: Workload, accelerator: Accelerator) -> int:
    """Cycles from the first request to its data, and from the last store to its acknowledgement."""
    units = {unit.name: unit.settings for unit in accelerator.units}
    carried = _moving(accelerator, "load") | _moving(accelerator, "store")
    known = [units[name] for name in carried if name in units and units[name].get("kind") in MOVES]
    if not workload.inputs or len(known) != len(carried) or any(unit.get("instant") for unit in known):
        return 0
    return 2 * shortest_latency(accelerator)


def beyond(workload: Workload, accelerator: Accelerator, cycles: int) -> str | None:
    """The reason why a kernel's cycles are impossible, or None."""
    least, used = bound(workload, accelerator), utilisation(workload, accelerator, cycles)
    if cycles >= least.value and used <= 1:
        return None
    limit = f"fewer than the {least.value:,} that any kernel needs ({least.explanation})"
    if cycles >= least.value:
        limit = f"a utilisation of {used:.1%}"
    return (
        f"{cycles:,} cycles are {limit}: that is impossible, and so a fault of the judge, of the description of "
        f"{accelerator.full_name!r} or of what the workload says it needs, not a merit of the kernel"
    )


def utilisation(workload: Workload, accelerator: Accelerator, cycles: int | None) -> float:
    """Useful multiply-accumulates / peak / cycles; 0 without multiply-accumulates, and for a kernel that did not
    run."""
    rate = peak(accelerator)
    return workload.multiply_accumulates / rate / cycles if rate and cycles else 0.0
