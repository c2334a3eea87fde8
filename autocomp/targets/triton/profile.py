"""Where a kernel's time goes, from what its marks recorded: as a profile, and in short for agents.

A phase counts for the share that warps stay in it. Cycles are those of a multiprocessor at the clock it had. Shares of
a launch are scaled to its time without marks, so that the marks' own cost and start-up and end of blocks are spread
over the phases.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
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
from autocomp.targets.triton.connection import Host
from autocomp.targets.triton.pipelining import Forecast, best_stages, forecast
from autocomp.targets.triton.residency import REGISTERS, RESERVED, blocks_at_a_time
from autocomp.workload.model import Workload

MODULE = "autocomp.targets.triton.recorder"
SECONDS = 300.0
CAUSES = {"Wait": "Load", "Load": "Load", "Product": "Compute", "Arithmetic": "Softmax", "Store": "Memory"}
UNITS = {"Load": "loads", "Compute": "tensor cores", "Softmax": "arithmetic", "Memory": "stores"}
WORDS = {
    "Wait": "waits for loads into shared memory",
    "Load": "loads into registers",
    "Product": "multiplies on tensor cores",
    "Arithmetic": "computes on registers",
    "Store": "stores results",
}
HEAVY = 0.15  # share of a cause that advice is given for
LEAST = 0.03  # share of the time that a forecast must save to be told
LIMITS = {"latency": "copies that arrive late", "products": "products on tensor cores", "copies": "the bytes copied"}


def record(host: Host, device: str, task: Mapping[str, Any], kernel: str, seed: int) -> dict[str, Any]:
    """Run the recorder once. Raises ConfigError for a kernel that it refuses, DeviceError where it fails."""
    request = {"kernel": kernel, "task": dict(task), "device": device, "seed": seed}
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
class Phase:
    """The activity of warps between two marks of the kernel, and its share of the launch's time."""

    kind: str
    line: int
    share: float
    visits: int
    cycles: float  # of one visit

    @property
    def cause(self) -> str:
        return CAUSES.get(self.kind, self.kind)


def phases_of(marked: Mapping[str, Any]) -> tuple[Phase, ...]:
    """The phases of one launch, the longest first; none where it could not be marked."""
    stays = marked.get("stays", ())
    total = sum(stay["cycles"] * stay["visits"] for stay in stays)
    found = [
        Phase(
            stay["mark"]["kind"],
            stay["mark"]["line"],
            stay["cycles"] * stay["visits"] / total,
            stay["visits"],
            stay["cycles"],
        )
        for stay in stays
        if total
    ]
    return tuple(sorted(found, key=lambda phase: -phase.share))


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

    def evidence(self) -> Evidence:
        """In short, for agents: what limits each launch, and what to change."""
        parts: dict[str, dict[str, float]] = {}
        story: list[str] = []
        for position, (launch, marked) in enumerate(zip(self.answer["launches"], self.answer["marked"], strict=True)):
            causes: dict[str, float] = {}
            phases = phases_of(marked)
            for phase in phases:
                causes[phase.cause] = causes.get(phase.cause, 0.0) + phase.share * float(launch["us"])
            parts[launch["name"]] = causes
            model = forecast(self.answer, position, self.capability)
            story += _story(launch, marked, phases, model, self.shared_bytes + RESERVED)
        return Evidence(parts=parts, story=tuple(story))


def _story(
    launch: Mapping[str, Any],
    marked: Mapping[str, Any],
    phases: Sequence[Phase],
    model: Forecast | str,
    shared_bytes: int,
) -> list[str]:
    """The sentences about one launch for a person to read. `shared_bytes` is what a multiprocessor has."""
    blocks, limit = blocks_at_a_time(launch, shared_bytes)
    found = [
        f"{launch['name']} takes {launch['us']:.1f} us in {launch['registers']} registers a thread and "
        f"{launch['shared']:,} bytes of shared memory a block; {blocks} blocks share a multiprocessor, limited by "
        f"{limit}."
    ]
    if launch["spilled"]:
        found.append(f"It spills {launch['spilled']} registers to memory: smaller tiles or more warps avoid that.")
    if not phases:
        return [*found, f"Its phases are not known: {marked.get('error', 'nothing was recorded')}."]
    found += [
        f"{phase.share:.0%} of the time warps are in line {phase.line}: the kernel {WORDS[phase.kind]}, "
        f"{phase.cycles:.0f} cycles a visit."
        for phase in phases[:4]
    ]
    if isinstance(model, Forecast):
        found.append(
            f"A model of the pipelined loop expects {model.us:.1f} us, {model.error:+.0%} beside the measured time; "
            f"{LIMITS[model.round.critical]} limit the loop."
        )
    else:
        found.append(f"The model of pipelined loops does not apply: {model}.")
    found += advice(launch, phases, model, shared_bytes)
    return [*found, f"The marks slowed the launch down by {marked['slowdown'] - 1:.0%}."]


def advice(launch: Mapping[str, Any], phases: Sequence[Phase], model: Forecast | str, shared_bytes: int) -> list[str]:
    """Changes to try, the largest expected gain first. Where a model of the loop applies, it says what other stages
    give. Other gains are the share of the time in the phases that the change is against: what it can save at most."""
    blocks, limit = blocks_at_a_time(launch, shared_bytes)
    shares: dict[str, float] = {}
    for phase in phases:
        shares[phase.kind] = shares.get(phase.kind, 0.0) + phase.share
    waits = shares.get("Wait", 0.0) + shares.get("Load", 0.0)
    found = list(_against_waiting(launch, waits, model, shared_bytes))
    if shares.get("Arithmetic", 0.0) >= HEAVY and shares.get("Product", 0.0) >= HEAVY:
        gain = min(shares["Arithmetic"], shares["Product"])
        found.append((gain, "a second block on each multiprocessor, whose products overlap with this one's arithmetic"))
    if blocks == 1 and limit == "registers" and waits + shares.get("Arithmetic", 0.0) >= HEAVY:
        threads = 2 * 32 * int(launch["warps"])
        found.append((waits, f"maxnreg {REGISTERS // threads // 8 * 8} (set_parameters), for two blocks at a time"))
    if shares.get("Store", 0.0) >= HEAVY:
        found.append((shares["Store"], "stores in halves (split_store)"))
    ranked = sorted(found, key=lambda entry: -entry[0])
    return [f"To try: {what}; it saves at most {gain:.0%}." for gain, what in ranked]


def _against_waiting(
    launch: Mapping[str, Any], waits: float, model: Forecast | str, shared_bytes: int
) -> Iterator[tuple[float, str]]:
    """Changes against waiting for copies, each with the share that it saves."""
    if isinstance(model, Forecast):
        stages = best_stages(model, launch, shared_bytes)
        if stages is not None and stages[1] >= LEAST:
            yield stages[1], f"{stages[0]} pipelining stages in place of {launch['stages']} (set_parameters)"
        elif model.round.critical == "copies":
            yield waits, "larger tiles (set_parameters), which copy fewer bytes for each product"
    elif waits >= HEAVY:
        yield waits, f"more pipelining stages than {launch['stages']} (set_parameters), or larger tiles"


def _units(phases: Sequence[Phase], cycles: int) -> tuple[UnitProfile, ...]:
    found = []
    for cause, name in UNITS.items():
        share = sum(phase.share for phase in phases if phase.cause == cause)
        if share:
            busy = round(share * cycles)
            found.append(UnitProfile(name, {"Busy": busy, "Elsewhere": cycles - busy}, (share,)))
    return tuple(found)


def _lines(phases: Sequence[Phase], cycles: int, source: Sequence[str]) -> tuple[LineProfile, ...]:
    found = []
    for line in sorted({phase.line for phase in phases}):
        here = [phase for phase in phases if phase.line == line]
        path: dict[str, int] = {}
        for phase in here:
            path[phase.cause] = path.get(phase.cause, 0) + round(phase.share * cycles)
        text = source[line - 1] if 0 < line <= len(source) else ""
        cost = Cost(sum(phase.visits for phase in here), 0, 0, sum(path.values()), {}, path)
        found.append(LineProfile(line, text, cost))
    return tuple(found)


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
