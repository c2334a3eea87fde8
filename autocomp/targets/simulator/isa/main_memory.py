"""The memories of tensors: what is checked of their channels and caches, and how units see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from autocomp.errors import IsaError, Place
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Memory
from autocomp.targets.simulator.isa.timing import MOVES, STREAMS, Settings, memory_number, unit_number


def cached(memory: Memory) -> bool:
    """True if a cache is in front of the memory."""
    return memory_number(memory.settings, "cache_lines") > 0


def channel_width(memory: Memory) -> int:
    """Bytes a cycle that a channel gives its units at most; 0 for a memory that states no bus."""
    states = "cache_bus" if cached(memory) and "cache_bus" in memory.settings else "bus"
    return int(memory.settings.get(states, 0))


def fresh_width(memory: Memory) -> int:
    """Bytes a cycle of a channel that no cache can hold yet, as it begins empty; 0 for a memory that states no bus."""
    return min(int(memory.settings.get("bus", 0)), channel_width(memory))


def channels(memory: Memory) -> int:
    return memory_number(memory.settings, "channels")


def _latency(memory: Memory) -> int:
    """Cycles from a request to its first data at least: a cache may hold them."""
    return memory_number(memory.settings, "cache_latency" if cached(memory) else "latency")


def total_width(accelerator: Accelerator) -> int:
    """Bytes a cycle of all memories together; 0 where none states a bus."""
    return sum(channel_width(memory) * channels(memory) for memory in accelerator.drams)


def longest_latency(accelerator: Accelerator) -> int:
    """Cycles from a request to its first data, of the farthest memory."""
    return max(_latency(memory) for memory in accelerator.drams)


def shortest_latency(accelerator: Accelerator) -> int:
    """Cycles from a request to its first data, of the nearest memory."""
    return min(_latency(memory) for memory in accelerator.drams)


def memory_of(accelerator: Accelerator, instruction: Instruction) -> Memory:
    """The memory in which the tensors lie that an instruction's first pointer leads to, or else the first one."""
    pointers = [parameter for parameter in instruction.parameters if parameter.kind == "pointer"]
    named = pointers[0].memory if pointers else ""
    return accelerator.memory(named) if named else accelerator.dram


def seen_by(accelerator: Accelerator, instruction: Instruction | None) -> Settings:
    """The settings of the memory that an instruction moves data to or from, as its unit sees them: `bus` of all
    channels together, `latency` of what a cache holds."""
    memory = accelerator.dram if instruction is None else memory_of(accelerator, instruction)
    if not cached(memory) and channels(memory) == 1:
        return memory.settings
    return {**memory.settings, "bus": channel_width(memory) * channels(memory), "latency": _latency(memory)}


def check_main_memory(accelerator: Accelerator, places: Mapping[str, Place]) -> None:
    """Raises IsaError unless channels and lines are powers of two, each request and line lies in one channel, and units
    that stream have one plain memory: their link carries a beat a cycle.

    `places` tells where settings stand, as `timing.check_timing` has them.
    """
    for memory in accelerator.drams:
        _check(accelerator, memory, places)
    streaming = _streaming(accelerator)
    if streaming and len(accelerator.drams) > 1:
        raise IsaError(
            f"memory {accelerator.drams[1].name}: unit {streaming} streams over one link to one memory",
            place=accelerator.drams[1].place,
            hint="use units of kind transfer_in and transfer_out, or one memory with `kind: dram;`",
        )


def _check(accelerator: Accelerator, memory: Memory, places: Mapping[str, Place]) -> None:
    def fail(key: str, expected: str) -> NoReturn:
        place = places.get(f"memory {memory.name}.{key}", memory.place)
        raise IsaError(f"memory {memory.name}: {key} is {memory_number(memory.settings, key)}; {expected}", place=place)

    for key in ("channels", "interleave", "cache_line"):
        if memory_number(memory.settings, key).bit_count() != 1:
            fail(key, "expected a power of two")
    moving = [unit for unit in accelerator.units if unit.settings.get("kind") in MOVES]
    largest = max((unit_number(unit.settings, "request_max") for unit in moving), default=1)
    least = max(largest, memory_number(memory.settings, "cache_line")) if cached(memory) else largest
    if channels(memory) > 1 and memory_number(memory.settings, "interleave") < least:
        fail("interleave", f"expected at least {least}, the largest request or line: each lies in one channel")
    streaming = _streaming(accelerator)
    if streaming and channels(memory) > 1:
        fail("channels", f"expected 1, as unit {streaming} streams over one link")
    if streaming and cached(memory):
        fail("cache_lines", f"expected 0, as unit {streaming} streams over one link")


def _streaming(accelerator: Accelerator) -> str:
    """A unit that streams, if there is one."""
    return next((unit.name for unit in accelerator.units if unit.settings.get("kind") in STREAMS), "")
