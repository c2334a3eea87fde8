"""The check of a description's timing: every setting means something where it stands, and its value fits."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import NoReturn

from autocomp.errors import IsaError, Place
from autocomp.targets.simulator.isa.model import Accelerator, Instruction, Unit
from autocomp.targets.simulator.isa.timing import (
    MEMORY_KEYS,
    MOST_ENTRIES,
    MOVES,
    POOLED,
    PROPERTY_KEYS,
    SECTION_KEYS,
    UNIT_KEYS,
    Key,
    Value,
    unit_number,
)


def check_timing(accelerator: Accelerator, places: Mapping[str, Place]) -> None:
    """Raises IsaError naming the first key that means nothing, or a word or role that does not fit.

    `places` tells where settings stand, by "unit load.entries", "memory dram.bus", "host.issue".
    """
    for unit in accelerator.units:
        kind = unit.settings.get("kind", "serial")
        where = f"unit {unit.name}"
        for key, value in unit.settings.items():
            _check(where, key, value, UNIT_KEYS, places.get(f"{where}.{key}"))
            if kind not in UNIT_KEYS[key].kinds:
                raise IsaError(f"{where}: kind {kind} has no setting {key!r}", place=places.get(f"{where}.{key}"))
        if unit_number(unit.settings, "reorder") and not unit_number(unit.settings, "interlock"):
            raise IsaError(
                f"{where}: reorder is 1, but interlock is 0: nothing would order commands that use the same rows",
                place=places.get(f"{where}.reorder"),
                hint="add `interlock: 1;`",
            )
        if kind in MOVES:
            _check_requests(accelerator, unit, kind, places)
    _check_entries(accelerator, places)
    for memory in accelerator.memories:
        for key, value in memory.settings.items():
            where = f"memory {memory.name}"
            _check(where, key, value, MEMORY_KEYS, places.get(f"{where}.{key}"))
            meant = MEMORY_KEYS[key].kinds
            if memory.kind not in meant:
                has = "a register" if memory.kind == "register" else f"{memory.kind} memory"
                raise IsaError(
                    f"{where}: {key!r} has no meaning here; it is for {meant[0]} memory, and this is {has}",
                    place=places.get(f"{where}.{key}"),
                )
    for name, value in accelerator.settings.items():
        section, _, key = name.partition(".")
        if section in SECTION_KEYS:
            _check(section, key, value, SECTION_KEYS[section], places.get(name))
    kinds = {unit.name: str(unit.settings.get("kind", "serial")) for unit in accelerator.units}
    for instruction in accelerator.instructions:
        _check_instruction(instruction, kinds)


def _check_requests(accelerator: Accelerator, unit: Unit, kind: str, places: Mapping[str, Place]) -> None:
    """Request sizes are powers of two in order, and a writer whose requests take several beats can send the second."""

    def number(key: str) -> int:
        return unit_number(unit.settings, key)

    def fail(key: str, expected: str) -> NoReturn:
        raise IsaError(
            f"unit {unit.name}: {key} is {number(key)}; {expected}", place=places.get(f"unit {unit.name}.{key}")
        )

    least, most = number("request_min"), number("request_max")
    for key in ("request_min", "request_max"):
        if number(key).bit_count() != 1:
            fail(key, "expected a power of two")
    if most < least:
        fail("request_max", f"expected at least request_min, {least}")
    bus = next((memory.settings.get("bus", 16) for memory in accelerator.memories if "bus" in memory.settings), 16)
    if kind in ("transfer_out", "stream_out") and number("requests") < 2 and most > int(bus):
        fail("requests", f"expected 2 or more: every beat of a request of up to {most} bytes needs one that is free")


def _check_entries(accelerator: Accelerator, places: Mapping[str, Place]) -> None:
    entries = {
        unit.name: unit.settings.get("entries", UNIT_KEYS["entries"].default)
        for unit in accelerator.units
        if str(unit.settings.get("kind", "serial")) in POOLED
    }
    total = sum(int(count) for count in entries.values())
    if total > MOST_ENTRIES:
        name = max(entries, key=lambda unit: int(entries[unit]))
        raise IsaError(
            f"the units' pools have {total} entries in all; expected at most {MOST_ENTRIES}",
            place=places.get(f"unit {name}.entries"),
            hint="give the units fewer `entries`",
        )


def _check_instruction(instruction: Instruction, kinds: Mapping[str, str]) -> None:
    where = f"instruction {instruction.name}"
    for key, word in instruction.words.items():
        _check(where, key, word, PROPERTY_KEYS, instruction.place)
    for key in instruction.timing:
        _check(where, key, 0, PROPERTY_KEYS, instruction.place)
        if instruction.unit is not None and kinds[instruction.unit] not in PROPERTY_KEYS[key].kinds:
            raise IsaError(
                f"{where}: {key!r} has no meaning in a {kinds[instruction.unit]} unit", place=instruction.place
            )
    role = instruction.words.get("role")
    front = role in ("fence", "immediate", "forget")
    if role is not None and front != (instruction.unit is None):
        raise IsaError(
            f"{where}: role {role} is for commands {'without' if front else 'of'} a unit", place=instruction.place
        )
    if role in ("wait", "signal") and "semaphore" not in instruction.timing:
        raise IsaError(f"{where}: role {role} needs `semaphore:`", place=instruction.place)


def _check(where: str, key: str, value: Value, table: Mapping[str, Key], place: Place | None) -> None:
    if key not in table:
        near = get_close_matches(key, table, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(table)}"
        raise IsaError(f"{where}: {key!r} means nothing to timing", place=place, hint=hint)
    words = table[key].words
    if words and value not in words:
        raise IsaError(f"{where}: {key} is {value!r}; expected {', '.join(words)}", place=place)
    if not words and isinstance(value, str):
        raise IsaError(f"{where}: {key} is the word {value!r}; expected a number", place=place)
    low, most = table[key].low, table[key].most
    if not isinstance(value, str) and not low <= value <= most:
        between = "0 or 1" if most == 1 else f"{low} to {most}"
        raise IsaError(f"{where}: {key} is {value}; expected {between}", place=place)
