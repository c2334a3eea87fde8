"""The critical path of a recorded run: the chain of commands, each released by the one before, that ends last.

The walk goes backwards in time. At each event of a command it asks what the event waited for last. That is its unit,
which worked on an older command; for a hazard or a signal; for room in the pool or the queue; or for the host.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from autocomp.targets.simulator.profile.recording import Recording

HOST = -1  # places of the path that are not units
FRONT = -2


@dataclass(frozen=True)
class PathLink:
    """[start, end) on a command in a place (a unit's number, HOST or FRONT). `link` is why the path's next command had
    to wait for this one: a cause of the simulator, or "Order" for the unit's own order, "" at the end."""

    start: int
    end: int
    command: int
    place: int
    link: str


def critical_path(recording: Recording) -> tuple[PathLink, ...]:
    """The steps in the order of time; together they cover the makespan but for cycles of handing over."""
    return tuple(reversed(_Walk(recording).steps()))


class _Walk:
    """Arrays are turned into lists: the walk looks at single elements only."""

    def __init__(self, recording: Recording) -> None:
        commands = recording.commands
        self.cycles = recording.timing.cycles
        self.offered = commands.offered.tolist()
        self.accepted = commands.accepted.tolist()
        self.allocated = commands.allocated.tolist()
        self.issued = commands.issued.tolist()
        self.started = commands.started.tolist()
        self.completed = commands.completed.tolist()
        self.released_by = commands.released_by.tolist()
        self.unit = commands.unit.tolist()
        self.sender = commands.sender.tolist()
        names = recording.timing.cause_names
        self.waits = [names[cause] for cause in commands.cause.tolist()]
        self.releases = [names[cause] for cause in commands.release.tolist()]
        machine = recording.accelerator
        self.front_latency = int(machine.settings.get("front.latency", 4))
        self.front_queue = int(machine.settings.get("front.queue", 8))
        self.start = [int(unit.settings.get("start", 1)) for unit in machine.units]
        self.busy = _Busy(recording)
        self.order: list[list[int]] = [[] for _ in machine.units]  # commands of each unit
        self.place: list[int] = []  # of each command among its unit's
        for number, unit in enumerate(self.unit):
            self.place.append(len(self.order[unit]) if unit >= 0 else -1)
            if unit >= 0:
                self.order[unit].append(number)
        self.by_completion = [sorted(order, key=self.completed.__getitem__) for order in self.order]
        self.completions = [[self.completed[c] for c in order] for order in self.by_completion]
        self.by_start = [sorted(order, key=self.started.__getitem__) for order in self.order]
        self.starts = [[self.started[c] for c in order] for order in self.by_start]
        self.sent = _Sent(recording)
        self.entries = [int(unit.settings.get("entries", 0)) for unit in machine.units]
        self.found: list[PathLink] = []

    def steps(self) -> list[PathLink]:
        last = max(range(len(self.completed)), key=lambda c: (self.completed[c], c))
        if self.completed[last] < self.cycles:
            self._step(self.completed[last], self.cycles, last, HOST, "")
        event, command, time, link = "work", last, self.completed[last], ""
        while command >= 0:
            event, command, time, link = getattr(self, f"_{event}")(command, time, link)
        return self.found

    def _step(self, start: int, end: int, command: int, place: int, link: str) -> None:
        if end > start:
            self.found.append(PathLink(start, end, command, place, link))

    def _neighbour(self, command: int, distance: int) -> int:
        """The command `distance` positions later in the unit's issue order, or -1."""
        order, place = self.order[self.unit[command]], self.place[command] + distance
        return order[place] if 0 <= place < len(order) else -1

    # Each of these takes the path from an event of a command, reached at `time`, to what it waited for, and why.

    def _work(self, command: int, time: int, link: str) -> tuple[str, int, int, str]:
        unit = self.unit[command]
        if unit < 0:
            return "accept", command, time, link
        start = min(self.started[command], time)
        self._step(start, time, command, unit, link)
        if start <= self.issued[command] + self.start[unit] + 1:
            self._step(self.issued[command], start, command, unit, link)
            return "issue", command, min(self.issued[command], start), link
        if not self.busy.at(unit, start - 1):  # it waited for the command that it works with
            partner = self._neighbour(command, 1)
            if partner >= 0 and self.issued[command] < self.issued[partner] <= start:
                self._step(self.issued[partner], start, partner, unit, link)
                return "issue", partner, self.issued[partner], "Pairing"
        older = self._neighbour(command, -1)
        if older < 0 or self.completed[older] <= self.issued[command] + self.start[unit]:  # the unit was free
            self._step(self.issued[command], start, command, unit, link)
            return "issue", command, self.issued[command], link
        return "work", older, start, "Order"

    def _issue(self, command: int, time: int, link: str) -> tuple[str, int, int, str]:
        unit, ready = self.unit[command], self.allocated[command] + 1
        released, older = self.released_by[command], self._neighbour(command, -1)
        turn = self.issued[older] + 1 if older >= 0 else 0
        if released >= 0 and self.completed[released] <= time and self.completed[released] + 1 >= max(ready, turn):
            done = self.completed[released]
            self._step(done, time, command, unit, link)
            return "work", released, done, self.releases[command]
        if time > ready and older >= 0:
            if turn >= time:
                self._step(self.issued[older], time, command, unit, link)
                return "issue", older, min(self.issued[older], time), link
            earlier = bisect_left(self.starts[unit], time) - 1
            if earlier >= 0 and self.by_start[unit][earlier] != command:
                return "work", self.by_start[unit][earlier], time, "Order"
        self._step(self.allocated[command], time, command, FRONT, link)
        return "allocate", command, min(self.allocated[command], time), link

    def _allocate(self, command: int, time: int, link: str) -> tuple[str, int, int, str]:
        unit, ready = self.unit[command], self.accepted[command] + self.front_latency
        if time > ready:
            if command > 0 and self.allocated[command - 1] >= time - 1 and self.unit[command - 1] >= 0:
                self._step(self.allocated[command - 1], time, command, FRONT, link)
                return "allocate", command - 1, min(self.allocated[command - 1], time), link
            freed = bisect_left(self.completions[unit], time) - 1 if unit >= 0 else -1
            if freed >= 0 and self.completions[unit][freed] > ready:
                done = self.completions[unit][freed]
                self._step(done, time, command, FRONT, link)
                return "work", self.by_completion[unit][freed], done, "QueueFull"
            held = self.sent.before(time)
            if held >= 0 and self.accepted[held] > self.accepted[command]:  # all wait while a hardware loop sends
                self._step(self.accepted[held], time, command, FRONT, link)
                return "accept", held, self.accepted[held], "QueueFull"
        return "accept", command, time, link

    def _accept(self, command: int, time: int, link: str) -> tuple[str, int, int, str]:
        accepted = min(self.accepted[command], time)
        fence = self.unit[command] < 0 and self.waits[command] == "Fence"
        if fence and self.accepted[command] > self.offered[command]:
            return self._fence(command, accepted)
        self._step(accepted, time, command, FRONT, link)
        if self.sender[command] >= 0:
            return self._send(command, accepted, link)
        ahead = command - self.front_queue
        if accepted > self.offered[command] and ahead >= 0 and self.allocated[ahead] <= accepted:
            self._step(self.allocated[ahead], accepted, command, FRONT, link)
            return "allocate", ahead, self.allocated[ahead], "QueueFull"
        before = self.accepted[command - 1] if command > 0 else 0
        self._step(min(before, accepted), accepted, command, HOST, link)
        return "accept", command - 1, min(before, accepted), "Host"

    def _send(self, command: int, time: int, link: str) -> tuple[str, int, int, str]:
        """A hardware loop waited for room in the unit's pool, for what it sent before, or to be begun."""
        unit, sender = self.unit[command], self.sender[command]
        before, loop = self.sent.before(time), self.sent.loop[command]
        since = max(self.accepted[before] if before >= 0 else 0, self.allocated[loop] if loop >= 0 else 0)
        left = self.sent.made_room(command, self.entries[unit])
        if left >= 0 and since < self.completed[left] <= time:
            self._step(self.completed[left], time, command, FRONT, link)
            return "work", left, self.completed[left], "QueueFull"
        self._step(since, time, command, sender, link)
        if before >= 0 and self.accepted[before] == since:
            return "accept", before, since, "Order"
        return "accept", loop, since, "Order"

    def _fence(self, command: int, time: int) -> tuple[str, int, int, str]:
        """The command that was the last to complete before the fence let the host go on."""
        last = -1
        for unit, completions in enumerate(self.completions):
            place = bisect_left(completions, time + 1) - 1
            if place >= 0 and (last < 0 or completions[place] > self.completed[last]):
                last = self.by_completion[unit][place]
        if last < 0:
            return "accept", command - 1, time, "Fence"
        self._step(self.completed[last], time, command, HOST, "Fence")
        return "work", last, self.completed[last], "Fence"


class _Sent:
    """The commands that hardware loops send, in the order of their sending."""

    def __init__(self, recording: Recording) -> None:
        commands = recording.commands
        sent = np.flatnonzero(commands.sender >= 0)
        self.order: list[int] = sent[np.argsort(commands.accepted[sent], kind="stable")].tolist()
        self.times: list[int] = commands.accepted[self.order].tolist()
        issued = np.where(commands.sender < 0, np.arange(len(commands.sender)), -1)
        self.loop: list[int] = np.maximum.accumulate(issued).tolist()  # for each command, its loop
        self.place: dict[int, int] = {}  # of each among those to its unit
        self.leaving: dict[int, list[int]] = {}  # of each unit, by completion
        for unit in range(len(recording.units)):
            mine = [command for command in self.order if commands.unit[command] == unit]
            self.place.update({command: place for place, command in enumerate(mine)})
            self.leaving[unit] = sorted(mine, key=commands.completed.__getitem__)
        self.unit = commands.unit

    def before(self, time: int) -> int:
        """The last command sent before a time, or -1."""
        place = bisect_left(self.times, time) - 1
        return self.order[place] if place >= 0 else -1

    def made_room(self, command: int, entries: int) -> int:
        """The command whose completion freed an entry for this one in a pool of `entries` entries; -1 if one was always
        free."""
        place = self.place[command] - entries
        return self.leaving[int(self.unit[command])][place] if place >= 0 else -1


class _Busy:
    """The spans in which each unit did something of its own."""

    def __init__(self, recording: Recording) -> None:
        names = recording.timing.cause_names
        own = {names.index(cause) for cause in ("Busy", "Bus", "MemoryLatency", "BankConflict", "Drain", "Pipeline")}
        self.starts: list[list[int]] = []
        self.own: list[list[bool]] = []
        for unit in range(len(recording.units)):
            mine = recording.spans.unit == unit
            self.starts.append(recording.spans.start[mine].tolist())
            self.own.append(np.isin(recording.spans.cause[mine], list(own)).tolist())

    def at(self, unit: int, cycle: int) -> bool:
        place = bisect_left(self.starts[unit], cycle + 1) - 1
        return place >= 0 and self.own[unit][place]
