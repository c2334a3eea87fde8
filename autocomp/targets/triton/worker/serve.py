"""A worker: reads requests as JSON lines, answers each with one line, until its input ends."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Mapping
from typing import IO, Any

from autocomp.errors import AutocompError
from autocomp.targets.triton.language import check_module, parse
from autocomp.targets.triton.worker.cases import Task
from autocomp.targets.triton.worker.memory import Arena
from autocomp.targets.triton.worker.referee import Effort, Referee
from autocomp.targets.triton.worker.turns import Turns

PROTOCOL = 1


def main() -> None:
    """Serve standard input and output. Nothing else may write to standard output."""
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    serve(lines, answers)


def serve(lines: IO[str], answers: IO[str]) -> None:
    worker = Worker()
    for line in lines:
        if not line.strip():
            continue
        answer = worker.answer(line)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class Worker:
    """Answers requests. The device is chosen when the first request needs it: `cpu` is Triton's interpreter."""

    def __init__(self) -> None:
        self._device = ""
        self._arenas: list[Arena] = []

    def answer(self, line: str) -> dict[str, Any]:
        """The answer to one line. An error of the request is an answer; `kind` says whose fault it is."""
        identity: Any = None
        try:
            request = json.loads(line)
            identity = request.get("id")
            result = self._do(str(request["method"]), request.get("params", {}))
            return {"id": identity, "result": result}
        except AutocompError as error:
            return {"id": identity, "error": {"kind": "config", "message": str(error)}}
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = (
                f"{type(error).__name__}: {error} (in {where.name}, {os.path.basename(where.filename)}:{where.lineno})"
            )
            return {"id": identity, "error": {"kind": "internal", "message": text}}

    def _do(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "hello":
            return self._hello(params.get("device", ""))
        if method == "judge":
            return self._judge(params)
        if method == "beside":
            referee = Referee(self._device, _effort(params), self._arenas)
            task = Task.of(params["task"])
            for kernel in params["kernels"]:
                check_module(parse(kernel), computes=task.host_computes)
            times = referee.beside(task, params["kernels"], params["seed"], params["rounds"])
            return {"measurements": times}
        if method == "trace":
            from autocomp.targets.triton.worker.custom import custom_operation

            task = Task.of(params["task"])
            own = custom_operation(task.custom)
            return {"graph": own.document_on(self._device), "needs": own.needs}
        if method == "describe":
            from autocomp.targets.triton.worker.custom import describe as describe_problem

            return describe_problem(params["reference"], params["name"])
        if method == "probe":
            from autocomp.targets.triton.worker.probe import probe

            with Turns(self._device).alone():
                return probe(self._device)
        raise ValueError(f"unknown method {method!r}")

    def _hello(self, wanted: str) -> dict[str, Any]:
        """Choose the device: `wanted`, or a GPU if there is one, else the interpreter."""
        from autocomp.targets.triton.worker.probe import choose, describe, has_gpu

        self._device = wanted or ("cuda:0" if has_gpu() else "cpu")
        if self._device == "cpu":
            os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported, by candidate processes
        else:
            choose(self._device)
        return {"protocol": PROTOCOL, **describe(self._device)}

    def _judge(self, params: Mapping[str, Any]) -> dict[str, Any]:
        task = Task.of(params["task"])
        # Whoever asks, nothing unchecked is imported here.
        check_module(parse(params["kernel"]), computes=task.host_computes)
        referee = Referee(self._device, _effort(params), self._arenas)
        return referee.judge(task, params["kernel"], params["phases"], params["seed"])


def _effort(params: Mapping[str, Any]) -> Effort:
    return Effort(**params.get("effort", {}))
