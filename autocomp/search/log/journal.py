"""The event log: append-only JSON lines, each given to the operating system before the search goes on.

The search is a deterministic program whose effects (asking an agent, evaluating a kernel) are recorded here under a
key. Resuming runs the program again from its start: an effect whose key is in the journal is not repeated, its
recorded result is used. So a kill at any instant costs at most the effects that were in flight. A power cut costs at
most the effects of the last second; what was paid for is on the disk at once.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO

from autocomp.data import check_regular, read_regular
from autocomp.errors import RunFolderError
from autocomp.search.log.ancestry import CandidateGraph
from autocomp.search.log.events import EventError, parse_event
from autocomp.targets.planning import Usage

Event = Mapping[str, Any]
Listener = Callable[[Event], None]
SYNC_SECONDS = 1.0  # to wait for the disk after each event is a large part of a search's time
MOST_BYTES = 1 << 28  # of a log; a thousand evaluations take some 10 MB
_DAMAGED = "the log was edited or damaged, or another version wrote it; cut it off at this line to resume from there"


def read_events(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Events of a log and the length in bytes of its intact part.

    A torn last line (cut short, or not JSON) is left out: a kill or a power cut can leave one. Raises RunFolderError
    for a broken line before the last, and for an event that is not as this version writes it.
    """
    try:
        content = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise RunFolderError(f"cannot read {path}: {error.strerror}", hint="is this a run folder?") from error
    events: list[dict[str, Any]] = []
    graph = CandidateGraph()
    intact = 0
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        try:
            event = parse_event(line)
            graph.check(event)
        except EventError as error:
            raise RunFolderError(f"{path}:{number}: {error}", hint=_DAMAGED) from None
        except ValueError:
            if b"".join(lines[number:]).strip(b"\0"):
                shown = line[:80].decode(errors="replace")
                raise RunFolderError(f"{path}:{number}: not an event: {shown!r}", hint=_DAMAGED) from None
            break
        events.append(event)
        intact += len(line) + 1
    return events, intact


class Journal:
    """Durable memory of effects. `seconds` counts the time the search has run, over all its sessions.

    Charges may come from any thread; all else is for the search's own.
    """

    def __init__(
        self, path: Path, listener: Listener | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = path
        self._listener = listener
        self._clock = clock
        events, intact = read_events(path) if path.exists() else ([], 0)
        self._entries = {event["key"]: event for event in events if "key" in event}
        self._charged: dict[str, Usage] = {}
        for event in events:
            self._tell(event)
            if event["kind"] == "charge":
                self._add_charge(event["call"], Usage(**event["cost"]))
        self._appending = threading.Lock()
        self._synced = time.monotonic()
        self._file = _opened(path)
        if self._file.tell() != intact:
            self._file.truncate(intact)
        self._started = clock() - (float(events[-1].get("t", 0.0)) if events else 0.0)

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    def __bool__(self) -> bool:
        """True if the journal has an event."""
        return bool(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __getitem__(self, key: str) -> Event:
        return self._entries[key]

    def get(self, key: str) -> Event:
        """The event of a key; empty for an unknown key."""
        return self._entries.get(key, {})

    # --- what agents' calls cost ---------------------------------------------------------------------------------

    def charge(self, call: str, cost: Usage, model: str) -> None:
        """Record what an answer cost before anything is done with it: a call that is cut off is charged as well."""
        self.note("charge", {"call": call, "cost": asdict(cost), "model": model})
        self._add_charge(call, cost)

    def charged(self, call: str) -> Usage:
        """The charges during a call, by all sessions of the run."""
        return self._charged.get(call, Usage())

    def settled(self, call: str, stated: Usage) -> Usage:
        """The total cost of a call: all charges during it, also those of sessions that were interrupted during it. The
        figures of its agent count only if nothing was charged."""
        charged = self.charged(call)
        return replace(charged, cached=stated.cached, unsent=stated.unsent) if charged.requests else stated

    def cost(self, call: str) -> Usage:
        """The cost of a call in all: as its event says, or as charged so far where it has none."""
        return Usage(**self[call].get("usage", {})) if call in self else self.charged(call)

    @property
    def usage(self) -> Usage:
        """The cost of all calls of agents. Requests that a budget did not allow are not included."""
        return replace(sum(map(self.cost, {**self._entries, **self._charged}), Usage()), unsent=0)

    def _add_charge(self, call: str, cost: Usage) -> None:
        self._charged[call] = self.charged(call) + cost

    # --- events --------------------------------------------------------------------------------------------------

    def record(self, kind: str, key: str, payload: Mapping[str, Any]) -> Event:
        """The event recorded under a key; a new key is recorded first. Payloads are read back from their JSON, so that
        a fresh effect and a replayed one are the same to the search."""
        if key not in self._entries:
            self._entries[key] = self._append({"kind": kind, "key": key, **payload})
        return self._entries[key]

    def note(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Append an event that only readers care about."""
        self._append({"kind": kind, **payload})

    def close(self) -> None:
        with self._file:
            os.fsync(self._file.fileno())

    def _append(self, event: Mapping[str, Any]) -> dict[str, Any]:
        with self._appending:
            stamped = {**event, "t": round(self.seconds, 3)}
            text = json.dumps(stamped, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
            line = text.encode("utf-8", "replace")  # halves of a surrogate pair have no UTF-8
            written = parse_event(line)  # what is written can be read
            try:
                self._file.write(line + b"\n")
                self._file.flush()
                self._sync(event["kind"])
            except OSError as error:
                raise RunFolderError(
                    f"cannot write {self.path}: {error.strerror}", hint="make room, then resume the run"
                ) from error
            self._tell(written)
            return written

    def _sync(self, kind: str) -> None:
        now = time.monotonic()
        if kind == "charge" or now - self._synced >= SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = now

    def _tell(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)


def _opened(path: Path) -> BinaryIO:
    """The log, to append to: a file of its own folder."""
    try:
        check_regular(path, writes=True)
        return path.open("ab")
    except OSError as error:
        raise RunFolderError(f"cannot write {path}: {error.strerror}") from error
