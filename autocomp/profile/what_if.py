"""What a kernel would take if one thing about the machine were different, answered by the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autocomp.isa.model import Accelerator
from autocomp.isa.timing import POOLED
from autocomp.profile.model import WhatIf
from autocomp.profile.recording import Recording, replayed_cycles, with_memory, with_unit


@dataclass(frozen=True)
class Question:
    name: str
    words: str
    machine: Accelerator
    host_scale: float = 1.0


def questions(accelerator: Accelerator) -> Iterator[Question]:
    """Each unit infinitely fast, DRAM twice as wide and half as far, local memories without conflicts, the host's code
    free."""
    for unit in accelerator.units:
        if unit.settings.get("kind", "serial") not in POOLED:
            continue
        yield Question(
            f"{unit.name}.instant",
            f"if unit {unit.name} were infinitely fast",
            with_unit(accelerator, unit.name, {"instant": 1}),
        )
    dram = accelerator.dram
    bus, latency = int(dram.settings.get("bus", 16)), int(dram.settings.get("latency", 0))
    yield Question(
        f"{dram.name}.bus*2",
        f"if {dram.name} were twice as wide ({2 * bus} bytes a cycle)",
        with_memory(accelerator, dram.name, {"bus": 2 * bus}),
    )
    yield Question(
        f"{dram.name}.latency/2",
        f"if {dram.name} were half as far ({latency // 2} cycles)",
        with_memory(accelerator, dram.name, {"latency": latency // 2}),
    )
    for memory in accelerator.local_memories:
        yield Question(
            f"{memory.name}.contention",
            f"if {memory.name} had no bank conflicts",
            with_memory(accelerator, memory.name, {"contention": 0}),
        )
    yield Question("host", "if the host's code took no time", accelerator, host_scale=0.0)


def what_if(recording: Recording) -> tuple[WhatIf, ...]:
    """The answers, those that save most first."""
    total = recording.timing.cycles
    answers = []
    for question in questions(recording.accelerator):
        cycles = replayed_cycles(recording, question.machine, question.host_scale)
        answers.append(WhatIf(question.name, question.words, cycles, (total - cycles) / total if total else 0.0))
    return tuple(sorted(answers, key=lambda answer: (-answer.saved, answer.name)))
