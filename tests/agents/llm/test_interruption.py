"""A search that is ended while it waits for a model: by Ctrl-C, by a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from .conftest import MENU, WORKLOAD, Reply, Request, Run, ScriptedServer, completion
from .test_search import STAGED, UNKNOWN_CALL, document, fenced, model, search

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
    places = {
        "AUTOCOMP_CACHE": str(folder / "cache"),
        "AUTOCOMP_SCHEDULES": str(folder / "schedules"),
        "AUTOCOMP_SHIPPED_SCHEDULES": "0",
    }
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


@pytest.mark.long
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


# --- what a search cost that was cut off ----------------------------------------------------------------------------

ONE_PLAN = json.dumps({"plans": [{"option": "stage_operand", "plan": "Write the kernel.", "gain": [1.2, 9]}]})
COST = 18  # tokens, as the server states for every answer


class CorrectAtSecond(Silence):
    """One plan; a kernel that does not check, and at the second question for it one that does, or none yet."""

    def __init__(self, silent: bool) -> None:
        super().__init__()
        self.silent = silent
        self.codes = 0
        self.given = 0

    def __call__(self, request: Request) -> Reply:
        plans = "Write no kernel." in request.prompt
        self.codes += not plans
        if self.silent and self.codes == 2:
            return super().__call__(request)
        self.given += 1
        return completion(ONE_PLAN) if plans else fenced(UNKNOWN_CALL if self.codes == 1 else STAGED)


def two_samples(server: ScriptedServer, folder: Path) -> list[str]:
    """The arguments of a search whose coder asks again where a kernel does not check."""
    folder.mkdir(exist_ok=True)
    text = f"planner: [{{model: '{server.spec}'}}]\ncoder: [{{model: '{server.spec}', samples: 2}}]\n"
    (folder / "agents.yaml").write_text(text)
    arguments = search(server, "run")
    place = arguments.index("--planner")
    arguments[place : place + 2] = ["--agents", "agents.yaml", "--plans", "1"]
    return arguments


def tokens(document: dict[str, Any]) -> int:
    return int(document["usage"]["prompt_tokens"] + document["usage"]["completion_tokens"])


@pytest.mark.long
def test_a_call_that_was_killed_after_an_answer_is_charged_for_it_once(server: ScriptedServer, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    killed = server.respond = CorrectAtSecond(silent=True)
    process = started(folder, *two_samples(server, folder))
    assert killed.asked.wait(WAIT)
    end(process, signal.SIGKILL)
    assert not [event for event in events(folder / "run") if event["kind"] == "code"]

    resumed = server.respond = CorrectAtSecond(silent=False)
    resumed.codes = killed.codes - 1  # the first kernel is in the cache
    out, err = started(folder, "resume", "run", "--workers", "1", "--json").communicate(timeout=WAIT)
    assert (killed.given, resumed.given) == (2, 1)
    assert tokens(json.loads(out)) == COST * 3, err


def test_a_log_cut_off_at_any_charge_resumes_to_the_sum_of_what_was_answered(
    server: ScriptedServer, command: Run, tmp_path: Path
) -> None:
    undisturbed = server.respond = CorrectAtSecond(silent=False)
    whole = document(command(*two_samples(server, tmp_path)))
    assert tokens(whole) == COST * undisturbed.given == COST * 3
    log = tmp_path / "run" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    charges = [number for number, line in enumerate(lines, 1) if json.loads(line)["kind"] == "charge"]
    for earlier, number in enumerate(charges, 1):
        log.write_bytes(b"".join(lines[:number]) + b'{"kind":"charge","call":"co')
        shutil.rmtree(tmp_path / "cache")
        again = server.respond = CorrectAtSecond(silent=False)
        resumed = document(command("resume", "run", "--workers", "1", "--json"))
        assert tokens(resumed) == COST * (earlier + again.given)
        assert resumed["best_cycles"] == whole["best_cycles"]
