"""Operands that pass through several buffers: blocks of tiles lie in the largest, products read from the last.

A load, and the moves after it up to the largest buffer, fill a block's panel there. The further moves of a tile come in
front of the products that read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autocomp.targets.simulator.isa.tree import element_bits
from autocomp.targets.simulator.transforms.scheduling.lowering.operands import Record, Rows, Value
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Command, Tasks

_NEAR = "near"  # after an operand's name: the buffer that products read


def staged(tasks: Tasks) -> Tasks:
    """The commands with the panel of each operand in the largest buffer on its way."""
    for operand in tasks.loads:
        tasks = _staged(tasks, operand)
    return tasks


def _staged(tasks: Tasks, operand: str) -> Tasks:
    chain = tasks.chain(operand)
    buffers = [*(f"{operand}{number}" for number in range(len(chain) - 1)), operand]
    at = max(range(len(chain)), key=lambda number: _bits(tasks, buffers[number]))
    if at == len(chain) - 1:
        return tasks
    names = {operand: operand + _NEAR, buffers[at]: operand}

    def renamed(command: Command) -> Command:
        return replace(command, operands={n: _renamed(v, names) for n, v in command.operands.items()})

    brings = [renamed(command) for command in tasks.brings[operand]]
    return replace(
        tasks,
        rooms={names.get(name, name): room for name, room in tasks.rooms.items()},
        loads={**tasks.loads, operand: renamed(tasks.loads[operand])},
        brings={**tasks.brings, operand: tuple(brings[:at])},
        near={**tasks.near, operand: tuple(brings[at:])},
        product=renamed(tasks.product),
        first=None if tasks.first is None else renamed(tasks.first),
        row_settings=tuple(replace(s, buffer=names.get(s.buffer, s.buffer)) for s in tasks.row_settings),
    )


def _renamed(value: Value, names: Mapping[str, str]) -> Value:
    return replace(value, buffer=names.get(value.buffer, value.buffer)) if isinstance(value, Rows | Record) else value


def _bits(tasks: Tasks, buffer: str) -> int:
    room = tasks.rooms[buffer]
    memory = tasks.accelerator.memory(room.memory)
    return memory.rows * memory.cols * element_bits(memory.element) if room.addressed else 0
