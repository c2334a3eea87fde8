"""The same machine in other circumstances: another memory latency, a host that takes time, other parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace

from autocomp.errors import ConfigError
from autocomp.remember import remembered
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.model import Accelerator, with_semantics

LATENCIES = (0.5, 3.0)  # of the memory, as multiples of what the description says


@remembered
def usual_conditions(accelerator: Accelerator) -> Mapping[str, Accelerator]:
    """By name, what a kernel may meet where it is used: half and three times the memory's latency, and a host that
    executes one instruction a cycle, with the other costs that the description states. Only what differs from the
    machine itself."""
    latencies = {m.name: int(m.settings.get("latency", 0)) for m in accelerator.drams}
    conditions = {}
    for factor in LATENCIES if any(latencies.values()) else ():
        scaled = {name: max(1, round(latency * factor)) for name, latency in latencies.items() if latency}
        settings = {f"{name}.latency": latency for name, latency in scaled.items()}
        conditions[f"latency {', '.join(map(str, scaled.values()))}"] = with_settings(accelerator, settings)
    conditions["host"] = with_settings(accelerator, {"host.code": 1})
    return {name: machine for name, machine in conditions.items() if machine != accelerator}


def with_settings(accelerator: Accelerator, settings: Mapping[str, int]) -> Accelerator:
    """The machine with some settings of memories, units and sections changed, named as in `dram.latency`. Its
    parameters, and what else follows from them, stay as they are."""
    parts = {name.partition(".")[0] for name in settings}
    memories = tuple(
        replace(memory, settings={**memory.settings, **_of_part(settings, memory.name)})
        if memory.name in parts
        else memory
        for memory in accelerator.memories
    )
    units = tuple(
        replace(unit, settings={**unit.settings, **_of_part(settings, unit.name)}) if unit.name in parts else unit
        for unit in accelerator.units
    )
    named = {memory.name for memory in accelerator.memories} | {unit.name for unit in accelerator.units}
    sections = {name: value for name, value in settings.items() if name.partition(".")[0] not in named}
    changed = replace(accelerator, memories=memories, units=units, settings={**accelerator.settings, **sections})
    if changed == accelerator:
        return accelerator
    identity = json.dumps([accelerator.digest, sorted(settings.items())])
    new = replace(changed, digest=hashlib.sha256(identity.encode()).hexdigest())
    alike = not any(name.endswith(".kind") for name in settings)
    return with_semantics(new, accelerator) if alike else new


def with_parameters(accelerator: Accelerator, parameters: Mapping[str, int | float]) -> Accelerator:
    """The machine with some of its parameters changed; what follows from them does so too. Raises ConfigError for a
    name that is not a parameter, IsaError for a value that the description refuses."""
    unknown = [name for name in parameters if name not in accelerator.parameters]
    if unknown:
        raise ConfigError(
            f"{accelerator.full_name} has no parameter {', '.join(unknown)}",
            hint=f"its parameters are {', '.join(accelerator.parameters)}",
        )
    source, path = accelerator.source, accelerator.path or accelerator.name
    plain = isa.parse(source, path, {}, accelerator.configuration)
    given = {name: value for name, value in accelerator.parameters.items() if plain.parameters[name] != value}
    return isa.parse(source, path, {**given, **parameters}, accelerator.configuration)


def _of_part(settings: Mapping[str, int], part: str) -> dict[str, int]:
    """The settings of a memory or unit, by their own names."""
    return {name.removeprefix(f"{part}."): value for name, value in settings.items() if name.startswith(f"{part}.")}
