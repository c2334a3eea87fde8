"""The commands of a computation on other cores than the first: the same, of instructions that do the same there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from autocomp.targets.simulator.isa.derived.cores import Core, cores_of
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import Form

Commands = TypeVar("Commands")


def cores_with(accelerator: Accelerator, *commands: Any) -> tuple[Core, ...]:
    """The cores that have instructions for all commands, the first one left out; none where programs order units."""
    if not accelerator.settings.get("hazards.tracked", 1):
        return ()
    return cores_of(accelerator, frozenset(_instructions(commands)))


def on_core(commands: Commands, core: Core, accelerator: Accelerator) -> Commands:
    """The same commands of another core."""
    changed: Commands = _changed(commands, core, accelerator)
    return changed


def _instructions(value: Any) -> Iterator[str]:
    if isinstance(value, Instruction):
        yield value.name
    else:
        for part in _parts(value):
            yield from _instructions(part)


def _changed(value: Any, core: Core, accelerator: Accelerator) -> Any:
    if isinstance(value, Instruction):
        return accelerator.instruction(core.instructions.get(value.name, value.name))
    if isinstance(value, tuple):
        return tuple(_changed(part, core, accelerator) for part in value)
    if isinstance(value, Mapping):
        return {key: _changed(part, core, accelerator) for key, part in value.items()}
    if _is_node(value):
        return replace(value, **{f.name: _changed(getattr(value, f.name), core, accelerator) for f in fields(value)})
    return value


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()
    elif _is_node(value):
        yield from (getattr(value, f.name) for f in fields(value))


def _is_node(value: Any) -> bool:
    """True for a part of a computation's commands that may have instructions in it; of a machine, none is changed."""
    return is_dataclass(value) and not isinstance(value, type | Accelerator | Form)
