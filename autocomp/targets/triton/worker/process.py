"""A referee's end of a candidate process: start it, ask it, and end it whatever it does."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from autocomp.targets.triton.worker.messages import Lost, receive, send

START_SECONDS = 120.0
PRELOADED = ["torch", "triton", "triton.language", "autocomp.targets.triton.worker.candidate"]


class Failed(Exception):
    """The kernel did what it must not do; the message says what. `kind` is the name of the exception it raised, "lost"
    where its process died and "silent" where it gave no answer in time."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class CandidateProcess:
    """One candidate process. Leaving its context kills it."""

    def __init__(self, device: str, limits: Mapping[str, int]) -> None:
        from autocomp.targets.triton.worker import candidate

        context = _context()
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=candidate.main, args=(theirs, device, dict(limits)), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self.isolated = tuple(receive(self._connection, START_SECONDS)["isolated"])
        except Lost as lost:
            self.close()
            raise RuntimeError(f"a candidate process did not start: {lost}") from None

    def __enter__(self) -> CandidateProcess:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.join()

    def load(self, kernel: str, computes: bool, seconds: float) -> None:
        """Import a kernel, whose host may call PyTorch's operators on elements if it `computes`."""
        self._ask({"do": "load", "kernel": kernel, "computes": computes}, seconds)

    def compile(self, tensors: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, Any]:
        return self._ask({"do": "compile", "tensors": list(tensors)}, seconds)

    def attach(self, sets: Mapping[str, Sequence[Mapping[str, Any]]], seconds: float) -> None:
        self._ask({"do": "attach", "sets": {name: list(handles) for name, handles in sets.items()}}, seconds)

    def run(self, name: str, seconds: float) -> None:
        self._ask({"do": "run", "set": name}, seconds)

    def time(self, sets: Sequence[str], limit: float, **request: Any) -> dict[str, Any]:
        return self._ask({"do": "time", "sets": list(sets), **request}, limit)

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer. Raises Failed with what the kernel did instead."""
        try:
            send(self._connection, request)
            answer = receive(self._connection, seconds)
        except Lost as lost:
            what = "did not finish" if lost.silent else "killed its process"
            raise Failed(f"the kernel {what}: {lost}", "silent" if lost.silent else "lost") from None
        if not answer.get("ok"):
            raise Failed(str(answer.get("error", "it failed without a reason")), str(answer.get("kind", "")))
        return answer


@cache
def _context() -> multiprocessing.context.ForkServerContext:
    """Candidate processes are forks of one that has torch and triton imported and no CUDA context."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context
