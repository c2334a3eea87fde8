"""Lower bounds: cycles that no kernel of a workload can do without on a machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.remember import remember, remembered
from autocomp.targets.evaluation import Bound
from autocomp.targets.simulator.evaluate.chain import Chain, chain
from autocomp.targets.simulator.evaluate.dependence import Lines, lines_of
from autocomp.targets.simulator.isa.derived.analysis import Kind
from autocomp.targets.simulator.isa.derived.contractions import contractions, peak
from autocomp.targets.simulator.isa.derived.depths import least_cycles, steps_of_sums
from autocomp.targets.simulator.isa.derived.passes import passes
from autocomp.targets.simulator.isa.derived.ranges import ranges_of
from autocomp.targets.simulator.isa.derived.regions import derive
from autocomp.targets.simulator.isa.derived.roles import call_roles
from autocomp.targets.simulator.isa.main_memory import channel_width, channels, fresh_width, shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator, Memory
from autocomp.targets.simulator.isa.timing import ARRAYS, MOVES, TRANSFERS, Settings, unit_number
from autocomp.workload import Workload
from autocomp.workload.convolution import convolution

_ROUNDING = 1e-9  # relative error of sums of cycles, at most
_PARTS = 64  # moments between the first operand and the last that are looked at
HOST_RATE = 8  # multiply-accumulates and bytes a cycle that no host exceeds: a word of 64 bits of int8


def peak_multiply_accumulates(accelerator: Accelerator) -> int:
    """Multiply-accumulates a cycle at full use; 0 for a machine whose description does not tell."""
    return peak(accelerator)


def bound(workload: Workload, accelerator: Accelerator) -> Bound:
    """In cycles, the larger of what the multipliers and what the memory bus need, both taken as never waiting, between
    the first data that a command can use and the last result.

    Compute: multiply-accumulates / peak, and the latency of the last one; in an array, at least the rows that have to
    pass it (`_rows`), in another unit commands that are deep enough for all sums (`depths.py`). Memory: every input
    that a result depends on crosses the bus at least once and every output once; the two directions overlap, so the
    larger counts, but acknowledgements of stores come between data (`_answers`). Requests are of whole beats and for
    one row of a command, and a unit has a limited number of them under way (`_ways`). The last operands are multiplied
    after that. Of tensors that are both, nobody knows which elements are. A host that may compute does a part of either
    beside the machine. Ends: the first load has to complete before anything is computed, and the last store begins
    after the last result (`chain`).

    It holds for every kernel, because it uses nothing that a kernel decides: neither the order of loops, nor the
    operand that stays in an array, nor where data lie in local memory. So it does not count how requests cut the rows
    of a tensor: a kernel may fetch a tensor as one long row, and multiply it where it lies, in more passes. Nor does it
    count columns that a tile leaves empty: a kernel may compute the transposed product, and transpose it.
    """
    return remember(accelerator, "bounds", workload.problem, lambda: _bound(workload, accelerator))


def _bound(workload: Workload, accelerator: Accelerator) -> Bound:
    beside = 0 if workload.host == "control" else HOST_RATE
    links = Chain() if beside or not workload.inputs else chain(accelerator)
    reasons: list[str] = []
    compute = _compute(workload, accelerator, links, beside, reasons)
    memory = _memory(workload, accelerator, links, beside, reasons)
    if beside:
        reasons.append(f"{beside} of either are the most that the host does beside the machine")
    limit = "the multipliers set" if compute >= memory else "the memory bus sets"
    explanation = "; ".join(reasons) + f"; {limit} the bound" if reasons else "nothing is known that bounds it"
    if links.ends:
        explanation += f"; {links.ends} cycles pass before the first data can be used and after the last result"
    parts = {"compute": compute, "memory": memory, "ends": links.ends}
    return Bound(max(compute, memory, 1) + links.ends, explanation, parts)


def _compute(workload: Workload, accelerator: Accelerator, links: Chain, beside: int, reasons: list[str]) -> int:
    """Cycles from the first command that multiplies to the use of the last sum; says in `reasons` what takes them."""
    rate = peak(accelerator)
    macs = workload.multiply_accumulates
    compute = math.ceil(macs / (rate + beside)) if rate else 0
    if not compute:
        return 0
    reasons.append(f"{macs} multiply-accumulates at {rate + beside} a cycle take {compute} cycles")
    if beside:
        return compute
    steps = steps_of_sums(accelerator)
    sums = sum(count * least_cycles(steps, length) for length, count in _sums(workload).items())
    if sums > compute:
        compute = math.ceil(sums * (1 - _ROUNDING))
        deepest = f"at most {steps[0].depth} products at a time"
        reasons.append(f"each command adds {deepest} to a sum, so that all need {compute} cycles")
    if besides := _besides(workload, accelerator, links.loaded):
        reasons.append(f"starting sums and limiting results takes the same unit {besides} cycles")
        compute += besides
    array = array_of(accelerator)
    if array is not None and (rows := _rows(workload, array)):
        reasons.append(f"{rows} rows of at most {array.depth} products for {array.columns} results each pass the array")
        compute = max(compute, rows)
    if waiting := links.entered + links.result:
        reasons.append(
            f"{waiting} more pass between the first command and its products, and until the last sum is there"
        )
    return compute + waiting


def _memory(workload: Workload, accelerator: Accelerator, links: Chain, beside: int, reasons: list[str]) -> int:
    """Cycles of the bus after its first beat, with those of the products of what comes last; says in `reasons` what
    takes them."""
    into = sum(tensor.bytes for tensor in workload.tensors if tensor.role == "input") - workload.unused_bytes
    out = sum(tensor.bytes for tensor in workload.tensors if tensor.role == "output")
    fill, drain = _ways(accelerator)
    if not fill.rate:
        return 0
    rates = " and ".join(f"{each.slowest + beside:g}" for each in dict.fromkeys((fill, drain)))
    moved = f"{into} bytes in and {out} bytes out at {rates} a cycle each way"
    if beside:
        memory = math.ceil(max(into / (fill.slowest + beside), out / (drain.slowest + beside)))
        reasons.append(f"{moved} take {memory} cycles")
        return memory
    filled, drained = fill.cycles(into), drain.cycles(out)
    reasons.append(f"{moved} take {max(filled, drained)} cycles")
    if not links.ends:
        return max(filled, drained)
    answers = _answers(accelerator, into, out, links.ends - shortest_latency(accelerator))
    if answers > max(filled, drained):
        reasons.append(
            f"what comes in and the acknowledgements of what goes out share the way back for {answers} cycles"
        )
    product = links.product if workload.operation in ("gemm", "conv2d") else 0
    if product:
        reasons.append(f"a product takes {product} cycles between the two")
    # Biases need no product: they may come after all that is multiplied.
    biases = sum(tensor.bytes for tensor in workload.inputs if tensor.name == "bias")
    lines = lines_of(workload)
    last = max(fill.cycles(into - biases), drained) + product
    if lines is not None and product and (turn := _in_turn(accelerator, lines, links, into - biases, out)) > last:
        last = turn
        reasons.append(f"each result leaves after all that it is a sum of has come in, for {last} cycles")
    return max(filled, answers, last) - 1


def _in_turn(accelerator: Accelerator, lines: Lines, links: Chain, into: float, out: float) -> int:
    """Cycles from the first operand to the last result, as no order of loads completes more than `lines.complete`.

    When a part of the operands has come, all other results still need a product and the way out. Of the results before,
    those that have left by then were acknowledged between the operands, but for those under way. To keep one back
    takes as much time later, or more.
    """
    fill, drain = _ways(accelerator)
    answers = _acknowledged(accelerator)
    each = out / lines.results
    after = links.product + links.ends - 2 * shortest_latency(accelerator)  # from an operand to the first results of it
    most = 0.0
    for part in range(_PARTS + 1):
        loaded = into * part / _PARTS
        complete = min(out, each * lines.complete(loaded * (1 - _ROUNDING)))
        came = max(1, fill.cycles(loaded))
        if answers is not None:
            left = complete - answers.open - drain.rate * after
            came = max(came, math.ceil((loaded / answers.beat + max(0.0, left) / answers.request) / answers.ways))
        most = max(most, came + links.product + max(1, drain.cycles(out - complete)) - 1)
    return math.ceil(most)


def _besides(workload: Workload, accelerator: Accelerator, before: int) -> int:
    """Cycles in which the unit that multiplies starts the sums of a product or convolution, and limits them at both
    ends of int8, besides those `before` the first data can be used: sums start without."""
    if workload.operation not in ("gemm", "conv2d"):
        return 0
    needed = passes(accelerator)
    results = sum(math.prod(tensor.shape) for tensor in workload.outputs)
    limits = 2 * needed.limit if all(t.dtype == "int8" for t in workload.outputs) else 0.0
    return math.floor(max(0.0, needed.start * results - before) + limits * results)


@dataclass(frozen=True)
class _Way:
    """Bytes a cycle that a bus carries at most in one direction, and that go through requests under way: each of these
    takes the memory's `latency`. Infinite where nothing limits them."""

    rate: float
    flying: float = math.inf
    latency: int = 0

    @property
    def slowest(self) -> float:
        return min(self.rate, self.flying)

    def cycles(self, amount: float) -> int:
        """Cycles from the first beat to the last, both included."""
        return math.ceil(max(amount / self.rate, amount / self.flying - self.latency))


@remembered
def _ways(accelerator: Accelerator) -> tuple[_Way, _Way]:
    """The ways into the machine and out of it. A request is a power of two of bytes, in whole beats; the width of the
    bus itself counts where a unit moves data in another way.

    Where memory is far, a unit that waits for answers carries less, by Little's law. A request is under way for the
    memory's latency at least, and a unit has at most `requests` of them under way. Several memories and channels carry
    as much as all of them together, and what comes in once, a cache cannot hold yet.
    """
    latency = shortest_latency(accelerator)

    def way(role: Kind) -> _Way:
        rate = fresh_width if role == "load" else channel_width
        reached = _reached(accelerator, write=role == "store")
        buses = [(width, channels(memory)) for memory in reached if (width := rate(memory))]
        moving = movers(accelerator, role)
        if not buses or not moving or any(unit.settings.get("kind") not in MOVES for unit in moving):
            return _Way(float(sum(width * each for width, each in buses)))
        beats = sum(each * max(unit.beat(width) for unit in moving) for width, each in buses)
        if not latency or any(unit.settings.get("instant") for unit in moving):
            return _Way(beats)
        return _Way(beats, sum(unit.under_way for unit in moving) / latency, latency)

    return way("load"), way("store")


def bus_rates(accelerator: Accelerator) -> tuple[float, float]:
    """Bytes a cycle that come in and that go out at most, by whole requests of which each waits for memory; 0 where the
    machine's description says nothing of it."""
    fill, drain = _ways(accelerator)
    return fill.slowest, drain.slowest


@dataclass(frozen=True)
class _Answers:
    """Ways back from memory, one a channel. In a cycle a beat of data comes, or the acknowledgement of a store.
    `beat` is in bytes, as are the largest `request` and all requests that may be `open`."""

    ways: int
    beat: float
    request: float
    open: float


@remembered
def _acknowledged(accelerator: Accelerator) -> _Answers | None:
    """The ways back that data and acknowledgements share; None for units that move data in other ways."""
    loading, storing = (movers(accelerator, role) for role in ("load", "store"))
    settings = [unit.settings for unit in (*loading, *storing)]
    plain = all(unit.get("kind") in TRANSFERS and not unit.get("instant") for unit in settings)
    width = channel_width(accelerator.dram)
    if not plain or not loading or not storing or not width or len(accelerator.drams) > 1:
        return None
    beat = max(unit.beat(width) for unit in loading)
    under_way = sum(unit.under_way for unit in storing)
    return _Answers(channels(accelerator.dram), beat, max(unit.wanted for unit in storing), under_way)


def _answers(accelerator: Accelerator, into: float, out: float, after: int) -> int:
    """Cycles of the ways back from memory. Acknowledgements that may come in the `after` cycles between the last data
    and the end are left out. 0 where data and acknowledgements do not share them."""
    shared = _acknowledged(accelerator)
    if shared is None:
        return 0
    requests = out / shared.request
    last = min(requests, shared.ways * after)
    return math.ceil((into / shared.beat + requests - last) / shared.ways)


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


@dataclass(frozen=True)
class Mover:
    """A unit that moves data. Each of its requests is for bytes of one `row`: the most that follow one another in DRAM
    for one of its commands, infinite where that is not known."""

    settings: Settings
    row: float

    def beat(self, width: int) -> float:
        """The most bytes that are wanted of a beat of a bus."""
        return max(min(size, self.row) / -(-size // width) for size in self._requests())

    @property
    def wanted(self) -> float:
        """The most bytes that are wanted of a request."""
        return min(unit_number(self.settings, "request_max"), self.row)

    @property
    def under_way(self) -> float:
        """The most bytes that are wanted of all requests that may be under way."""
        return unit_number(self.settings, "requests") * self.wanted

    def _requests(self) -> Iterator[int]:
        """Bytes that a request may have."""
        least, most = unit_number(self.settings, "request_min"), unit_number(self.settings, "request_max")
        while least <= most:
            yield least
            least *= 2


def movers(accelerator: Accelerator, role: Kind) -> list[Mover]:
    """The units that load, or store."""
    settings = {unit.name: unit.settings for unit in accelerator.units}
    forms = (accelerator.instruction(form.instruction) for form in call_roles(accelerator, role))
    names = {instruction.unit or "" for instruction in forms if instruction}
    return [_mover(accelerator, name, settings.get(name, {}), role) for name in sorted(names)]


def _mover(accelerator: Accelerator, name: str, settings: Settings, role: Kind) -> Mover:
    """Units of other kinds may join rows; of a line that a request has brought to a cache, others come at once."""
    if settings.get("kind") not in TRANSFERS or any(memory.settings.get("cache_lines") for memory in accelerator.drams):
        return Mover(settings, math.inf)
    rows = [
        ranges_of(accelerator, instruction).of(region.bytes).high
        for instruction in accelerator.instructions
        if instruction.unit == name
        for region in derive(accelerator, instruction)
        if region.bytes is not None and region.write == (role == "store")
    ]
    return Mover(settings, max(rows, default=math.inf))


@dataclass(frozen=True)
class Array:
    """An array that a row of at most `depth` elements enters each cycle, and a row of `columns` results leaves."""

    columns: int
    depth: int


@remembered
def array_of(accelerator: Accelerator) -> Array | None:
    """The array that does all of a machine's products; None for a machine that has others beside it, or none."""
    units = {unit.name: unit for unit in accelerator.units}
    arrays = {(c.unit, c.tile[1], c.tile[2]) if c.tile else None for c in contractions(accelerator)}
    known = arrays.pop() if len(arrays) == 1 else None
    if known is None or known[0] not in units or known[1] * known[2] != peak(accelerator):
        return None
    settings = units[known[0]].settings
    if settings.get("kind") not in ARRAYS or settings.get("instant"):
        return None
    return Array(known[1], known[2])


def _rows(workload: Workload, array: Array) -> int:
    """Rows that pass an array, whatever the order, the tiles and the operand that stays in it.

    A sum of n products is made of ceil(n / depth) partial sums at least, as each adds the products of one row. A row
    gives `columns` partial sums. Only what the workload's sums are made of counts: 0 where that is not known.
    """
    rows = sum(count * -(-length // array.depth) for length, count in _sums(workload).items())
    return math.ceil(rows / array.columns)


def _sums(workload: Workload) -> Mapping[int, int]:
    """The sums of products that results are made of: how many there are of each length; none where that is not
    known."""
    if workload.operation == "gemm":
        return {workload.dims["K"]: workload.dims["I"] * workload.dims["J"]}
    return convolution(workload.dims, workload.options).sums if workload.operation == "conv2d" else {}


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
