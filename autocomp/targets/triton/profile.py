"""Where a kernel's time goes, from what its marks recorded: as a profile, and in short for agents.

A phase counts for the share that warps stay in it. Cycles are those of a multiprocessor at the clock it had. Shares of
a launch are scaled to its time without marks, so that the marks' own cost and start-up and end of blocks are spread
over the phases.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocomp.errors import ConfigError, DeviceError
from autocomp.targets.evaluation import Evidence
from autocomp.targets.profile import (
    Cost,
    LineProfile,
    MemoryProfile,
    Operand,
    OverTime,
    PathSegment,
    Profile,
    Recorded,
    UnitProfile,
    WhatIf,
)
from autocomp.targets.triton.advice import Advice, Seen, advise, excess_of
from autocomp.targets.triton.connection import Host
from autocomp.targets.triton.phases import Phase, phases_of
from autocomp.targets.triton.pipelining import Forecast, forecast
from autocomp.targets.triton.residency import RESERVED, blocks_at_a_time
from autocomp.targets.triton.roofline import products_of
from autocomp.targets.triton.specialised import MOST_CHAINED, GroupForecast, group_forecast, is_specialised
from autocomp.workload.model import Workload

MODULE = "autocomp.targets.triton.recorder"
SECONDS = 300.0
UNITS = {"Load": "loads", "Compute": "tensor cores", "Softmax": "arithmetic", "Memory": "stores"}
WORDS = {
    "Wait": "waits for loads into shared memory",
    "Load": "loads into registers",
    "Product": "multiplies on tensor cores",
    "Arithmetic": "computes on registers",
    "Store": "stores results",
}
LEAST_WAIT = 0.05  # share of the waits of warps that is told
LIMITS = {"latency": "copies that arrive late", "products": "products on tensor cores", "copies": "the bytes copied"}


def record(
    host: Host, device: str, task: Mapping[str, Any], kernel: str, seed: int, counters: bool = False
) -> dict[str, Any]:
    """Run the recorder once, with hardware counters if asked for. Raises ConfigError for a kernel that it refuses,
    DeviceError where it fails."""
    request = {"kernel": kernel, "task": dict(task), "device": device, "seed": seed, "counters": counters}
    command = host.line(MODULE)
    try:
        run = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=SECONDS, env=host.environment
        )
        answer = json.loads(run.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise DeviceError(f"the recorder is lost: {error}", hint=f"its command is: {' '.join(command)}") from None
    if "error" in answer:
        kind = ConfigError if answer["error"].get("kind") == "config" else DeviceError
        raise kind(f"the recorder: {answer['error'].get('message', 'failed')}")
    result: dict[str, Any] = answer["result"]
    return result


@dataclass(frozen=True)
class Advised(Evidence):
    """The evidence of a recording: also the changes that it calls for, the largest gain first."""

    advice: tuple[Advice, ...] = ()


@dataclass(frozen=True)
class RecordedKernel(Recorded):
    """The answer of a recorder, read for one workload."""

    answer: Mapping[str, Any]
    text: str
    device: str
    shared_bytes: int
    workload: Workload
    capability: Sequence[int] = ()

    @property
    def heaviest(self) -> int:
        """The position of the launch that takes longest."""
        launches = self.answer["launches"]
        return max(range(len(launches)), key=lambda i: float(launches[i]["us"]))

    def over_time(self) -> OverTime | None:
        return None

    def profile(self) -> Profile:
        launch, marked = self.answer["launches"][self.heaviest], self.answer["marked"][self.heaviest]
        cycles = round(float(launch["us"]) * float(self.answer["clock_mhz"]))
        phases = phases_of(marked)
        lines = tuple(self.text.splitlines())
        return Profile(
            cycles=cycles,
            window=max(1, cycles),
            accelerator=self.device,
            workload=self.workload.name,
            source=lines,
            units=_units(phases, cycles),
            overlap={},
            memories=(MemoryProfile("shared memory, bytes", self.shared_bytes, (int(launch["shared"]),), 0),),
            operands=tuple(_operand(t.name, t.bytes, t.role) for t in self.workload.tensors),
            lines=_lines(phases, cycles, lines),
            regions=(),
            path=tuple(_segment(phase, cycles) for phase in phases),
            what_if=_what_if(phases, cycles),
        )

    def story(self) -> tuple[str, ...]:
        return (*self.evidence().story, *counted(self.answer.get("counters")))

    def timeline(self) -> dict[str, Any]:
        """Lanes of a few warps in the trace event format, one microsecond for each cycle."""
        events: list[dict[str, Any]] = []
        for marked in self.answer["marked"]:
            kinds = {mark["number"]: mark for mark in marked.get("marks", ())}
            for lane in marked.get("trail", ()):
                base = lane["records"][0][1] if lane["records"] else 0
                for (number, at), (_, until) in zip(lane["records"], lane["records"][1:], strict=False):
                    mark = kinds.get(number)
                    if mark and mark["kind"]:
                        events.append(
                            {
                                "name": f"{mark['kind']} (line {mark['line']})",
                                "ph": "X",
                                "ts": at - base,
                                "dur": max(0, until - at),
                                "pid": f"block {lane['block']} on multiprocessor {lane['processor']}",
                                "tid": f"warp {lane['warp']}",
                            }
                        )
        return {"traceEvents": events, "displayTimeUnit": "ns"}

    def spans(self) -> dict[str, Any]:
        return {}

    def evidence(self) -> Advised:
        """In short, for agents: what limits each launch, and what to change."""
        parts: dict[str, dict[str, float]] = {}
        story: list[str] = []
        advice: list[Advice] = []
        excess = excess_of(self.answer, products_of(self.workload))
        for position, (launch, marked) in enumerate(zip(self.answer["launches"], self.answer["marked"], strict=True)):
            causes: dict[str, float] = {}
            phases = phases_of(marked)
            for phase in phases:
                causes[phase.cause] = causes.get(phase.cause, 0.0) + phase.share * float(launch["us"])
            parts[launch["name"]] = causes
            of_launch = group_forecast if is_specialised(launch) else forecast
            model = of_launch(self.answer, position, self.capability)
            seen = Seen(launch, phases, model, self.shared_bytes + RESERVED, excess)
            advice += advise(seen)
            story += _story(seen, marked)
        return Advised(parts=parts, story=tuple(story), advice=tuple(sorted(advice, key=lambda one: -one.gain)))


def counted(counters: Mapping[str, Any] | None) -> list[str]:
    """The sentences about the hardware counters of each launch; none where they were not asked for."""
    if counters is None:
        return []
    if "error" in counters:
        return [f"Hardware counters were not read: {counters['error']}."]
    sentences = []
    for launch in counters["launches"]:
        waits = sorted(launch["waits"].items(), key=lambda item: -item[1])
        told = ", ".join(f"{share:.0%} {cause}" for cause, share in waits if share >= LEAST_WAIT)
        sentences.append(
            f"By hardware counters, {launch['name']} reads {launch['read'] / 1e6:,.1f} MB from memory and writes "
            f"{launch['written'] / 1e6:,.1f} MB, {launch['bandwidth']:.0%} of its bandwidth; "
            f"{launch['cache_hits']:.0%} of the second-level cache's accesses hit; tensor cores are busy "
            f"{launch['tensor_cores']:.0%} of the time; {launch['occupancy']:.0%} of the warps that a multiprocessor "
            f"holds are there; {launch['bank_conflicts']:,.0f} bank conflicts. Warps wait for: {told}."
        )
    return sentences


def _story(seen: Seen, marked: Mapping[str, Any]) -> list[str]:
    """The sentences about one launch for a person to read."""
    launch, phases, model = seen.launch, seen.phases, seen.model
    blocks, limit = blocks_at_a_time(launch, seen.shared_bytes)
    sentences = [
        f"{launch['name']} takes {launch['us']:.1f} us in {launch['registers']} registers a thread and "
        f"{launch['shared']:,} bytes of shared memory a block; {blocks} blocks share a multiprocessor, limited by "
        f"{limit}."
    ]
    if launch["spilled"]:
        sentences.append(f"It spills {launch['spilled']} registers to memory: smaller tiles or more warps avoid that.")
    if not phases:
        return [*sentences, f"Its phases are not known: {marked.get('error', 'nothing was recorded')}."]
    sentences += [
        f"{phase.share:.0%} of the time warps are in line {phase.line}: the kernel {WORDS[phase.kind]}, "
        f"{phase.cycles:.0f} cycles a visit."
        for phase in phases[:4]
    ]
    if isinstance(model, Forecast):
        sentences.append(
            f"A model of the pipelined loop expects {model.us:.1f} us, {model.error:+.0%} beside the measured time; "
            f"{LIMITS[model.round.critical]} limit the loop."
        )
    elif isinstance(model, GroupForecast):
        sentences += _turns(model)
    else:
        sentences.append(f"The model of the loop does not apply: {model}.")
    sentences += [str(advice) for advice in advise(seen)]
    return [*sentences, f"The marks slowed the launch down by {marked['slowdown'] - 1:.0%}."]


def _turns(model: GroupForecast) -> list[str]:
    """The sentences about a loop by groups of warps."""
    turn = model.turn
    sentences = [
        f"A model of the groups of warps expects {model.us:.1f} us, {model.error:+.0%} beside the measured time; "
        f"{LIMITS[turn.critical]} limit a turn of {turn.cycles:.0f} cycles, of which tensor cores are idle "
        f"{turn.idle:.0%}."
    ]
    others = {f"{turn.stages + 1} stages": turn.with_stages(turn.stages + 1)}
    if not turn.adds and turn.chain < MOST_CHAINED:
        others["one product more in flight"] = turn.with_chain(turn.chain + 1)
    return [
        *sentences,
        *(f"With {what} it would save {model.saved_by(other):.0%}." for what, other in others.items()),
    ]


def _units(phases: Sequence[Phase], cycles: int) -> tuple[UnitProfile, ...]:
    units = []
    for cause, name in UNITS.items():
        share = sum(phase.share for phase in phases if phase.cause == cause)
        if share:
            busy = round(share * cycles)
            units.append(UnitProfile(name, {"Busy": busy, "Elsewhere": cycles - busy}, (share,)))
    return tuple(units)


def _lines(phases: Sequence[Phase], cycles: int, source: Sequence[str]) -> tuple[LineProfile, ...]:
    lines = []
    for line in sorted({phase.line for phase in phases}):
        here = [phase for phase in phases if phase.line == line]
        path: dict[str, int] = {}
        for phase in here:
            path[phase.cause] = path.get(phase.cause, 0) + round(phase.share * cycles)
        text = source[line - 1] if 0 < line <= len(source) else ""
        cost = Cost(sum(phase.visits for phase in here), 0, 0, sum(path.values()), {}, path)
        lines.append(LineProfile(line, text, cost))
    return tuple(lines)


def _segment(phase: Phase, cycles: int) -> PathSegment:
    words = f"line {phase.line} {WORDS[phase.kind]}, {phase.cycles:.0f} cycles a visit"
    unit = UNITS.get(phase.cause, phase.cause)
    return PathSegment(
        phase.line, unit, phase.cause, None, "", round(phase.share * cycles), phase.visits, phase.share, words
    )


def _what_if(phases: Sequence[Phase], cycles: int) -> tuple[WhatIf, ...]:
    """Bounds, not simulations: the time without the phases of a cause."""
    shares: dict[str, float] = {}
    for phase in phases:
        shares[phase.cause] = shares.get(phase.cause, 0.0) + phase.share
    answers = [
        WhatIf(f"{cause.lower()}.instant", f"no time in {UNITS.get(cause, cause)}, at best", round(cycles * (1 - s)), s)
        for cause, s in shares.items()
    ]
    return tuple(sorted(answers, key=lambda answer: -answer.saved))


def _operand(name: str, size: int, role: str) -> Operand:
    """Each operand crosses the bus at least once; more is not counted without hardware counters."""
    read, written = (size, 0) if role == "input" else (0, size)
    return Operand(name, size, read, written, 1.0)
