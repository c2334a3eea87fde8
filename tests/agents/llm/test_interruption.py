"""A search that is ended while it waits for a model: by Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from .conftest import Reply, Request, ScriptedServer
from .test_search import MENU, WORKLOAD, search

WAIT = 120  # seconds for what takes two


class Silence:
    """Answers nothing, and says when it was asked."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def __call__(self, request: Request) -> Reply:
        self.asked.set()
        return Reply(withheld=True)


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
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
