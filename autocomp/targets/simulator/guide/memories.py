"""The time that memories take, in sentences: buses, requests for rows of DRAM, the pace of moves, ports of banks."""

from __future__ import annotations

from collections.abc import Iterator

from autocomp.targets.simulator.isa.main_memory import cached, channel_width, shortest_latency
from autocomp.targets.simulator.isa.model import Accelerator, Memory, Unit
from autocomp.targets.simulator.isa.requests import beats, requests
from autocomp.targets.simulator.isa.timing import MOVES, UNIT_KEYS, memory_number, unit_number


def memory_times(accelerator: Accelerator, *, banks: bool = True) -> Iterator[str]:
    """Bandwidth, latency, how rows are cut into requests, and ports of banks; with `banks`, which banks there are."""
    bus = bus_width(accelerator)
    for dram in accelerator.drams:
        latency = memory_number(dram.settings, "latency")
        yield (
            f"- `{dram.name}`: {_width(dram)}; {latency} cycles from a request to its first "
            f"data, so moves have to be issued well before their data is needed.{_cache(dram)}"
        )
    if len(accelerator.drams) > 1:
        yield "- A tensor lies in the memory in which a command accesses it first, and only there."
    cut: dict[str, list[str]] = {}
    for unit in accelerator.units:
        if unit.settings.get("kind") in UNIT_KEYS["request_min"].kinds:
            cut.setdefault(_splitting(unit, bus), []).append(unit.name)
    for words, names in cut.items():
        yield f"- {', '.join(f'`{name}`' for name in names)}: {words}"
    yield from _paces(accelerator)
    yield from _answered(accelerator)
    yield from (_ports(memory, banks) for memory in accelerator.local_memories)


def _width(dram: Memory) -> str:
    bus, channels = memory_number(dram.settings, "bus"), memory_number(dram.settings, "channels")
    if channels == 1:
        return f"{bus} bytes a cycle in each direction"
    block = memory_number(dram.settings, "interleave")
    return f"{channels} channels of {bus} bytes a cycle in each direction, to which blocks of {block} bytes go in turn"


def _cache(dram: Memory) -> str:
    """The cache in front of a memory, in words; empty for a memory without one."""
    if not cached(dram):
        return ""
    lines, line, latency = (memory_number(dram.settings, f"cache_{key}") for key in ("lines", "line", "latency"))
    return (
        f" A cache of {lines} lines of {line} bytes answers after {latency} cycles, at {channel_width(dram)} bytes a "
        "cycle; the line used least recently makes room."
    )


def bus_width(accelerator: Accelerator) -> int:
    """Bytes a cycle each way, of all memories and channels together."""
    return sum(memory_number(m.settings, "bus") * memory_number(m.settings, "channels") for m in accelerator.drams)


def _splitting(unit: Unit, bus: int) -> str:
    least = int(unit.settings.get("request_min", UNIT_KEYS["request_min"].default))
    most = int(unit.settings.get("request_max", UNIT_KEYS["request_max"].default))
    aligned, shifted = (requests(address, most, least, most) for address in (0, least))
    words = [f"{' + '.join(map(str, sizes))} ({_beats(beats(sizes, bus))})" for sizes in (aligned, shifted)]
    if least == most:
        cost = f"{most} bytes, {_beats(beats(aligned, bus))} each"
        return f"each DRAM row of a move is cut into aligned requests of {cost}, however little is used."
    return (
        f"each DRAM row of a move is cut into naturally aligned requests of {least} to {most} bytes, a power of two "
        f"each. {most} bytes from a multiple of {most}: {words[0]}; from {least} bytes later: {words[1]}; "
        f"a single byte still costs {least}."
    )


def _paces(accelerator: Accelerator) -> Iterator[str]:
    """The cycles of a move in a row of moves, as a formula, for the units that move rows."""
    latency = shortest_latency(accelerator)
    paces: dict[str, list[str]] = {}
    for unit in accelerator.units:
        if unit.settings.get("kind") in MOVES and not unit.settings.get("instant"):
            paces.setdefault(_pace(unit, latency), []).append(unit.name)
    for words, names in paces.items():
        yield f"- A move on {' or '.join(f'`{name}`' for name in names)} takes {words}."


def _pace(unit: Unit, latency: int) -> str:
    kind = unit.settings.get("kind")
    outstanding, moves = (unit_number(unit.settings, key) for key in ("requests", "in_flight"))
    waits = [f"its requests x {latency} / {outstanding}, the most outstanding"] if latency > outstanding else []
    if kind == "transfer_out":
        rest = f"; at least {waits[0]}" if waits else ""
        return f"for each DRAM row the local rows that make it, one a cycle, then its cycles of the bus, less 1{rest}"
    if kind == "transfer_in" and latency > moves:
        waits.append(f"{latency} / {moves}, the most moves under way")
    bus = "its cycles of the bus"
    if kind == "transfer_in":
        bus += ", one more for each request whose last cycle brings nothing that is needed"
    least = "" if kind == "transfer_in" else "at least "
    return f"{least}the largest of: its local rows, one a cycle; {'; '.join([bus, *waits])}"


def _answered(accelerator: Accelerator) -> Iterator[str]:
    """The cost of stores on the way back, on which loads come."""
    names = [f"`{unit.name}`" for unit in accelerator.units if unit.settings.get("kind") == "transfer_out"]
    if names and accelerator.drams:
        yield (
            f"- Each request of {', '.join(names)} is acknowledged, which takes a cycle of the way that loaded data "
            "come by: few wide rows cost less than many narrow ones."
        )


def _beats(count: int) -> str:
    return f"{count} cycle{'s' if count > 1 else ''} of the bus"


def _ports(memory: Memory, told: bool) -> str:
    if int(memory.settings.get("contention", 1)) == 0:
        return f"- `{memory.name}`: every access finds a port."
    ports = "one read and one write" if memory.settings.get("ports", "shared") == "separate" else "one access"
    banks = f"{memory.banks} banks of {memory.rows // max(1, memory.banks)} rows" if memory.banks > 1 else "one bank"
    bandwidth = int(memory.settings.get("bandwidth", 0))
    shared = f", {bandwidth} bytes a cycle for all units of kind serial" if bandwidth else ""
    told_banks = f"{banks}; " if told else ""
    return f"- `{memory.name}`: {told_banks}{ports} a bank and cycle{shared}.{_renamed(memory)}{_adders(memory)}"


def _renamed(memory: Memory) -> str:
    if not memory_number(memory.settings, "renamed"):
        return ""
    return (
        " Each write gets rows of its own: it waits for no older read or write of them, so that one place is enough "
        "for loads ahead. A read, also one to add to a sum, waits for the write before it."
    )


def _adders(memory: Memory) -> str:
    if memory.banks == 1 or not memory_number(memory.settings, "shared_adders"):
        return ""
    return (
        " The banks share their adders: moves that add in one bank and products that add in another, or zeros in one"
        " and elements in another, are refused without a fence, or rows that the later one waits for, between them."
    )
