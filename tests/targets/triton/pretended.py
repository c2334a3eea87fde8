"""A GPU that is pretended on a CPU: launches go through Triton's interpreter, events tell made-up times.

Covers everything of a judgement that needs a device, but the device.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

from autocomp.targets.triton.worker import candidate, process, timing
from autocomp.targets.triton.worker.process import CandidateProcess, Failed
from autocomp.targets.triton.worker.referee import Effort, Referee


class Event:
    """An event whose clock advances by 5 us with each record."""

    now = 0.0

    def __init__(self, enable_timing: bool = False) -> None:
        self.time = 0.0

    def record(self) -> None:
        Event.now += 0.005
        self.time = Event.now

    def elapsed_time(self, end: Event) -> float:
        return end.time - self.time


class InProcess(CandidateProcess):
    """A candidate process that is this one; requests and answers are JSON all the same."""

    def __init__(self, device: str, limits: Mapping[str, int]) -> None:
        self._server = candidate._Server("cpu")
        self.isolated = ()

    def close(self) -> None:
        pass

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(json.dumps(self._server.answer(json.loads(json.dumps(request)))))
        except Exception as error:
            raise Failed(f"{type(error).__name__}: {error}", type(error).__name__) from None
        return answer


class PretendedReferee(Referee):
    @property
    def has_device(self) -> bool:
        return True


@contextmanager
def pretended_device() -> Iterator[PretendedReferee]:
    """A referee of a device that is not there."""
    with (
        mock.patch.multiple(torch.cuda, Event=Event, synchronize=lambda: None, _sleep=lambda cycles: None),
        mock.patch.object(candidate, "compiling_only", _run_as_usual),
        mock.patch.object(timing, "FLUSH_BYTES", 1024),
        mock.patch("autocomp.targets.triton.worker.referee.CandidateProcess", InProcess),
        mock.patch.object(process, "CandidateProcess", InProcess),
    ):
        yield PretendedReferee("cpu", Effort(fewest=5, repeats=10, timing_seconds=0.0))


@contextmanager
def _run_as_usual(compiled: list[Any]) -> Iterator[None]:
    """The interpreter compiles nothing."""
    yield
