"""The cycles of a kernel if one thing about the machine were different, as the simulator gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autocomp.targets.profile import WhatIf
from autocomp.targets.simulator.isa.derived.roles import computing_unit
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.isa.timing import POOLED, memory_number
from autocomp.targets.simulator.profile.recording import Recording, replayed_cycles

ALONE = ".alone"  # ends the name of the question what is left where the computing unit alone takes time


@dataclass(frozen=True)
class Question:
    """`settings` are those of the machine that differ: "unit.setting" or "memory.setting"."""

    name: str
    words: str
    settings: Mapping[str, int]
    host_scale: float = 1.0


def questions(accelerator: Accelerator) -> Iterator[Question]:
    """Each unit infinitely fast, DRAM twice as wide and half as far, local memories without conflicts, the host's code
    free, and that with all units but the one that computes infinitely fast."""
    pooled = [unit.name for unit in accelerator.units if unit.settings.get("kind", "serial") in POOLED]
    for unit in pooled:
        yield Question(f"{unit}.instant", f"if unit {unit} were infinitely fast", {f"{unit}.instant": 1})
    for dram in accelerator.drams:
        bus, latency = memory_number(dram.settings, "bus"), memory_number(dram.settings, "latency")
        words = f"if {dram.name} were twice as wide ({2 * bus} bytes a cycle)"
        yield Question(f"{dram.name}.bus*2", words, {f"{dram.name}.bus": 2 * bus})
        words = f"if {dram.name} were half as far ({latency // 2} cycles)"
        yield Question(f"{dram.name}.latency/2", words, {f"{dram.name}.latency": latency // 2})
    for memory in accelerator.local_memories:
        setting = f"{memory.name}.contention"
        yield Question(setting, f"if {memory.name} had no bank conflicts", {setting: 0})
    computing = computing_unit(accelerator)
    others = {f"{unit}.instant": 1 for unit in pooled if unit != computing}
    if computing and others:
        yield Question(f"{computing}{ALONE}", f"if nothing but unit {computing} took time", others, host_scale=0.0)
    yield Question("host", "if the host's code took no time", {}, host_scale=0.0)


def what_if(recording: Recording) -> tuple[WhatIf, ...]:
    """The answers, those that save most first."""
    total = recording.timing.cycles
    answers = []
    for question in questions(recording.accelerator):
        cycles = replayed_cycles(recording, question.settings, question.host_scale)
        answers.append(WhatIf(question.name, question.words, cycles, (total - cycles) / total if total else 0.0))
    return tuple(sorted(answers, key=lambda answer: (-answer.saved, answer.name)))
