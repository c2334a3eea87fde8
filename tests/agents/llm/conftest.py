"""A real HTTP server on loopback that answers as scripted, the command line beside it, and a context to write prompts
from."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from autocomp.agents.llm.moves import Move
from autocomp.cli.entry import autocomp
from autocomp.targets.evaluation import Bound, Evaluation, Evidence, LineCost, Measurement, Objective, StageVerdict
from autocomp.targets.menu import Applies, Menu, MenuOption
from autocomp.targets.planning import Context, LineageStep, Plan
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.target import SimulatorTarget
from autocomp.workload.model import TensorSpec, Workload

WORKLOAD = "operation: gemm\naccelerator: gemmini\ndims: {I: 32, J: 32, K: 32}\n"

MENU = """\
options:
  - {id: tile, title: Tile loops, transformation: tile, guidance: Cut loops into blocks.}
  - {id: stage_operand, title: Stage an operand, guidance: Load it once and keep it.}
"""

KEY = "sk-very-secret-0123456789"


@dataclass(frozen=True)
class Reply:
    """One answer. `cut` closes the connection after that many bytes of the body, `stalled` sends nothing more after
    them, and `withheld` sends nothing at all until the test ends. `trickles` sends blanks before the body until the
    test ends or the client closes."""

    status: int = 200
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    cut: int | None = None
    withheld: bool = False
    stalled: int | None = None
    trickles: bool = False


def completion(text: str | None, *, finish: str = "stop", refusal: str | None = None) -> Reply:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body = {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    return Reply(body=json.dumps(body))


def streamed(*pieces: str, finish: str | None = "stop", done: bool = True) -> Reply:
    """A completion as server-sent events, a piece each; `done` closes it as the protocol demands."""
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"content": p}}]} for p in pieces]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}})
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"] * done
    return Reply(body=": hello\n\n" + "".join(events), headers=(("Content-Type", "text/event-stream"),))


def failure(status: int, message: str = "no", headers: tuple[tuple[str, str], ...] = (), **fields: str) -> Reply:
    return Reply(status, json.dumps({"error": {"message": message, **fields}}), headers)


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass
class ScriptedServer:
    """Answers with the replies of the script in turn, or with what `respond` makes of a request."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    respond: Callable[[Request], Reply] | None = None
    over: threading.Event = field(default_factory=threading.Event)
    _script: list[Reply] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, *replies: Reply) -> None:
        self._script.extend(replies)

    @property
    def spec(self) -> str:
        return f"openai:test-model@{self.url}"

    def reply_to(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if self.respond is not None:
                return self.respond(request)
            return self._script.pop(0) if self._script else failure(400, "the script is over")


def handler_for(server: ScriptedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = Request(
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(self.rfile.read(length)),
            )
            reply = server.reply_to(request)
            if reply.stalled is not None:
                reply = replace(reply, cut=reply.stalled)
            self.close_connection = True
            if reply.withheld:
                server.over.wait()
                return
            payload = reply.body.encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **dict(reply.headers)}.items():
                self.send_header(name, value)
            if not reply.trickles:
                self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            if reply.trickles:
                self._trickle()
            self.wfile.write(payload if reply.cut is None else payload[: reply.cut])
            if reply.stalled is not None:
                self.wfile.flush()
                server.over.wait()

        def _trickle(self) -> None:
            while not server.over.wait(0.01):
                try:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                except OSError:
                    return

        def log_message(self, *args: Any) -> None:
            """Quiet."""

    return Handler


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server as long as the context lasts, and an environment in which it is asked."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("AUTOCOMP_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    scripted = ScriptedServer()
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(scripted))
    scripted.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield scripted
    finally:
        scripted.over.set()
        http.shutdown()
        http.server_close()
        thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with serving(monkeypatch) as scripted:
        yield scripted


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `autocomp` in a folder of its own; gives the exit code, stdout and stderr. What is found is not measured in
    other conditions, which tests/search/test_conditions.py is about."""
    monkeypatch.setattr(SimulatorTarget, "conditions", lambda target: {})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "schedules"))
    (tmp_path / "small.yaml").write_text(WORKLOAD)
    (tmp_path / "few.yaml").write_text(MENU)

    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(autocomp, list(arguments))
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def naps() -> list[float]:
    """The sleeps that a client asked for, in seconds; none is slept."""
    return []


KERNEL = """\
void solution(int8_t A[4][8], int8_t B[8][4], int8_t C[4][4]) {
  for (int k = 0; k < 8; k += 4) {
    load(&A[0][k], 0);
    load(&B[k][0], 4);
    multiply(0, 4, 8);
  }
  store(&C[0][0], 8);
}
"""


def an_accelerator() -> Accelerator:
    return Accelerator("toy", "A toy.", {}, {}, {}, (), (), (), (), (), (), (), {}, "", "digest", "digest")


def a_workload() -> Workload:
    tensors = (
        TensorSpec("A", "int8", (4, 8), "input"),
        TensorSpec("B", "int8", (8, 4), "input"),
        TensorSpec("C", "int8", (4, 4), "output"),
    )
    options = {"bias": "none", "activation": "none", "scale": 1.0, "transpose_a": False, "transpose_b": False}
    dims = {"I": 4, "J": 4, "K": 8}
    return Workload("gemm_4x4x8", "gemm", "toy", {}, tensors, dims, options, {}, None, 128, None)


def an_evaluation() -> Evaluation:
    line = LineCost(3, "    load(&A[0][k], 0);", 2, 40, {"MemoryLatency": 30, "Bus": 10})
    return Evaluation(
        stages=(StageVerdict("check", "passed"), StageVerdict("smoke", "passed")),
        objective=Objective("cycles"),
        measurement=Measurement(1200),
        bound=Bound(300, "compute", {"compute": 300, "memory": 120}),
        evidence=Evidence(
            figures={"utilisation": 0.0667, "commands": 7, "dram_bytes_read": 64, "dram_bytes_written": 16},
            parts={"load": {"Busy": 200, "MemoryLatency": 600, "Idle": 400}, "execute": {"Idle": 1100, "Busy": 100}},
            resources={"local": (12, 64)},
            lines=(line,),
        ),
        seconds=0.01,
    )


def a_menu(options: Sequence[str] = ("tile", "hoist")) -> Menu:
    made = (MenuOption(o, f"Do {o} to it", f"Guidance for {o}.", o, Applies(), f"before -> after {o}") for o in options)
    return Menu(tuple(made), "test")


A_MOVE = Move("tile", "tile", {"loops": {"k": 4}}, "work on 4 iterations of k at a time", 300.0)


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    """A context that depends on nothing that ships, so that its golden prompts change with the templates alone."""
    monkeypatch.setattr(
        "autocomp.targets.simulator.knowledge.brief",
        lambda accelerator, *_: f"# The machine: {accelerator.name}\n\nIts reference.",
    )
    monkeypatch.setattr("autocomp.agents.llm.planner.moves", lambda context: (A_MOVE,))
    lineage = (
        LineageStep(Plan("tile", "Cut k into blocks of 4."), 2400, 1.5),
        LineageStep(Plan("", "Move the store out\nof the loop."), 1200, 2.0),
    )
    return Context(
        SimulatorTarget(an_accelerator()), a_workload(), KERNEL, an_evaluation(), lineage, a_menu(), Random(5)
    )


@pytest.fixture
def again(context: Context) -> Callable[[], Context]:
    """The same context with its chance wound back, as a second run has it."""
    return lambda: replace(context, random=Random(5))
