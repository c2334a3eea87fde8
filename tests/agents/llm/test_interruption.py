"""A search that is ended while it waits for a model: by Ctrl-C, by a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from .conftest import Reply, Request, ScriptedServer
from .test_search import MENU, WORKLOAD, model, search

WAIT = 120  # seconds for what takes two


class Silence:
    """Answers nothing, and says when it was asked."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def __call__(self, request: Request) -> Reply:
        self.asked.set()
        return Reply(withheld=True)


class SilentOnRepair(Silence):
    """Plans and writes kernels as `model` does, and leaves the question for a repair unanswered."""

    def __call__(self, request: Request) -> Reply:
        return super().__call__(request) if is_repair(request) else model(request)


def is_repair(request: Request) -> bool:
    return "That kernel is not right" in request.prompt


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    for name, text in (
        ("small.yaml", WORKLOAD),
        ("other.yaml", WORKLOAD.replace("I: 32", "I: 16")),
        ("few.yaml", MENU),
    ):
        (folder / name).write_text(text)
    places = {"AUTOCOMP_CACHE": str(folder / "cache"), "AUTOCOMP_SCHEDULES": str(folder / "schedules")}
    return subprocess.Popen(
        [sys.executable, "-m", "autocomp", *arguments],
        cwd=folder,
        env={**os.environ, **places},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who runs the tests in the background may have them ignore interrupts; a user's terminal does not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def end(process: subprocess.Popen[str], how: signal.Signals) -> tuple[str, str]:
    process.send_signal(how)
    return process.communicate(timeout=WAIT)


def test_an_interrupt_ends_a_search_on_several_workloads_and_says_how_to_go_on(
    server: ScriptedServer, tmp_path: Path
) -> None:
    silence = server.respond = Silence()
    arguments = search(server, "runs")
    process = started(tmp_path, arguments[0], "other.yaml", *arguments[1:])
    assert silence.asked.wait(WAIT)
    _, err = end(process, signal.SIGINT)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "autocomp resume" in err


def outcome(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    return {key: found[key] for key in ("naive_cycles", "best_cycles", "evaluations", "candidates", "lineage")}


def events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


@pytest.mark.long
def test_a_search_killed_in_a_call_resumes_without_asking_again(server: ScriptedServer, tmp_path: Path) -> None:
    server.respond = model
    undisturbed = outcome(started(tmp_path / "undisturbed", *search(server, "run")))
    wanted = len(server.requests)

    server.requests.clear()
    silence = server.respond = SilentOnRepair()
    process = started(tmp_path / "killed", *search(server, "run"))
    assert silence.asked.wait(WAIT)
    end(process, signal.SIGKILL)
    answered = [request.body for request in server.requests if not is_repair(request)]
    assert answered

    server.requests.clear()
    server.respond = model
    assert outcome(started(tmp_path / "killed", "resume", "run", "--workers", "1", "--json")) == undisturbed
    asked = [request.body for request in server.requests]
    assert not [body for body in asked if body in answered]
    assert len(answered) + len(asked) == wanted
    keys = [event["key"] for event in events(tmp_path / "killed" / "run") if "key" in event]
    assert len(keys) == len(set(keys))
