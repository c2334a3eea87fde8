"""The largest blocks that moves carry: rows of a tensor, and bytes of each, by what they are for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from autocomp.remember import remembered_with
from autocomp.targets.simulator.isa.algebra import names_in, substitute
from autocomp.targets.simulator.isa.derived.contractions import multiplying
from autocomp.targets.simulator.isa.derived.paths import Path
from autocomp.targets.simulator.isa.derived.ranges import FALSE, Range, Ranges, ranges_of
from autocomp.targets.simulator.isa.derived.regions import Region, derive
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, semantics
from autocomp.targets.simulator.isa.tree import Expression, Number, Require

_SIZES = 1024  # values of an operand that are tried


@dataclass(frozen=True)
class Block:
    """At most `rows` rows in main memory of at most `bytes` each; infinite where nothing limits them."""

    rows: float
    bytes: float


@dataclass(frozen=True)
class Blocks:
    """The largest block of a move that brings operands of products, and of one that brings values to sums.

    `biases` is None where something else than moves and products writes sums: biases may come from there.
    """

    operands: Block
    biases: Block | None


@dataclass(frozen=True)
class Stores:
    """The largest block of a move that stores results, and how many of them it finds in a local row, at most."""

    block: Block
    columns: float


@remembered_with(semantics)
def blocks(accelerator: Accelerator) -> Blocks | None:
    """The largest blocks of loads; None where no load is known."""
    products = multiplying(accelerator)
    regions = [region for each in products for region in derive(accelerator, each)]
    factors = {region.memory for region in regions if not region.write and not region.accumulate_read}
    sums = {region.memory for region in regions if region.accumulate_read} - factors
    roles = instruction_roles(accelerator)
    loads = [i for i in accelerator.instructions if roles[i.name].kind == "load"]
    operands = _largest(block for each in loads for block in _blocks(accelerator, each, lambda to: to not in sums))
    biases = _largest(block for each in loads for block in _blocks(accelerator, each, lambda to: to in sums))
    if operands is None:
        return None
    others = [i for i in accelerator.instructions if i not in loads and i not in products]
    only = not any(roles[each.name].writes & sums for each in others)
    return Blocks(operands, biases if only else None)


def stores(accelerator: Accelerator, size: int) -> Stores:
    """Moves to main memory of results of a size in bytes; infinite where none is known."""
    roles, mains = instruction_roles(accelerator), {memory.name for memory in accelerator.drams}
    found = [
        (_block(accelerator, each, region), _columns(accelerator, derive(accelerator, each)))
        for each in accelerator.instructions
        if roles[each.name].kind == "store"
        for region in derive(accelerator, each)
        if region.write and region.memory in mains and region.bytes is not None
        if _bytes_of_one(region, ranges_of(accelerator, each)) in (size, None)
    ]
    largest = _largest(block for block, _ in found)
    return Stores(largest or Block(math.inf, math.inf), max((columns for _, columns in found), default=math.inf))


def _bytes_of_one(region: Region, ranges: Ranges) -> float | None:
    """Bytes of an element, which are those of a row of one; None where that is not known."""
    assert region.bytes is not None
    named = [name for name in ranges.names if name in names_in(region.bytes)]
    if len(named) != 1:
        return None
    return replace(ranges, names={**ranges.names, named[0]: Range(1, 1)}).of(region.bytes).high


def _columns(accelerator: Accelerator, regions: Iterable[Region]) -> float:
    """Elements of a local row that is read, at most."""
    read = {region.memory for region in regions if not region.write}
    return max((m.cols for m in accelerator.memories if m.name in read and m.kind != "dram"), default=math.inf)


def _largest(found: Iterator[Block]) -> Block | None:
    every = list(found)
    if not every:
        return None
    return Block(max(each.rows for each in every), max(each.bytes for each in every))


def _blocks(accelerator: Accelerator, instruction: Instruction, wanted: Callable[[str], bool]) -> Iterator[Block]:
    """The blocks of a load to the memories that are wanted."""
    regions = derive(accelerator, instruction)
    mains = {memory.name for memory in accelerator.drams}
    writes = [region for region in regions if region.write and region.memory not in mains and wanted(region.memory)]
    for read in (region for region in regions if not region.write and region.bytes is not None):
        if any(_together(read.path, write.path) for write in writes):
            yield _block(accelerator, instruction, read)


def _together(one: Path, other: Path) -> bool:
    """True unless a condition has to hold for one access, and not to hold for the other."""
    return not any((condition, not wanted) in other for condition, wanted in one)


def _block(accelerator: Accelerator, instruction: Instruction, region: Region) -> Block:
    assert region.bytes is not None
    ranges = ranges_of(accelerator, instruction)
    rows = math.prod(ranges.of(dim.count).high for dim in region.dims)
    return Block(rows, _most_bytes(instruction, region, ranges))


def _most_bytes(instruction: Instruction, region: Region, ranges: Ranges) -> float:
    """The most bytes of a row, of sizes that the instruction's requirements allow where the region is accessed."""
    assert region.bytes is not None
    named = [name for name in ranges.names if name in names_in(region.bytes)]
    whole = ranges.of(region.bytes).high
    if len(named) != 1 or not ranges.names[named[0]].known:
        return whole
    low, high = (int(end) for end in ranges.names[named[0]])
    known: Mapping[Expression, Number] = {condition: Number(int(wanted)) for condition, wanted in region.path}
    required = [substitute(each.condition, known.get) for each in instruction.body if isinstance(each, Require)]
    for size in range(high, max(low, high - _SIZES) - 1, -1):
        here = replace(ranges, names={**ranges.names, named[0]: Range(size, size)})
        if all(here.of(condition) != FALSE for condition in required):
            return here.of(region.bytes).high
    return whole
