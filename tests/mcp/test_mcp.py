"""A coding agent works over the Model Context Protocol; the run folder remembers what it did."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters

from autocomp.agents.config import Agents, Member
from autocomp.cli.entry import autocomp
from autocomp.cli.session import keep
from autocomp.errors import RunFolderError
from autocomp.mcp.server import make_server
from autocomp.report.runs.run import RunView
from autocomp.search import Options
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.snapshot import Request, create, restore
from autocomp.targets.menu import Menu
from autocomp.targets.registry import load_target
from autocomp.workbench.calling import Callables
from autocomp.workbench.session import Session
from autocomp.workbench.tools import Tools
from autocomp.workload import load

WORKLOAD = "tiny_gemm"
Script = Callable[[Client], Awaitable[Any]]


def new_session(path: Path, evaluations: int = 5, strategy: str = "mcp") -> Session:
    workload = load(WORKLOAD)
    target = load_target(workload.target or "", {}, ())
    options = Options(evaluations=evaluations)
    request = Request(workload, target, Menu((), "none"), Agents((Member("mcp"),)), options, strategy)
    return Session(request, create(path, request, datetime.now().astimezone()), keep)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    opened = new_session(tmp_path / "run")
    yield opened
    opened.close()


def talk(server: Any, script: Script) -> Any:
    async def conversation() -> Any:
        async with Client(server, read_timeout_seconds=120) as client:
            return await script(client)

    return asyncio.run(conversation())


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


async def document(client: Client, tool: str, /, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content.get("result", result.structured_content)


async def optimise(client: Client) -> dict[str, Any]:
    """The work of a coding agent: read, look, apply what promises most, judge, submit."""
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert {"check", "evaluate", "profile", "explain", "diff", "transformations", "transform", "submit"} <= tools
    naive = await document(client, "read_kernel", kernel=0)
    ready = (await document(client, "transformations", kernel=naive))["transformations"]
    assert all({"name", "parameters", "why"} < move.keys() for move in ready)
    assert all(("value" in move) != ("estimated_saving" in move) for move in ready)
    for move in ready:
        changed = await document(client, "transform", kernel="0", name=move["name"], parameters=move["parameters"])
        assert await document(client, "check", kernel=changed) == "it parses and checks"
        verdict = await document(client, "evaluate", kernel=changed, idea=move["why"], parent=0)
        if verdict["best"] == verdict["kernel"]:
            break
    return dict(await document(client, "submit"))


def test_an_agent_makes_a_kernel_faster_and_keeps_it(session: Session) -> None:
    submitted = talk(make_server(session), optimise)
    assert submitted["outcome"] == "correct"
    assert Path(submitted["file"]).read_text() == session.kernel(session.candidate(submitted["kernel"]))
    assert Path(submitted["schedule"]).is_file()
    view = RunView.of(session.folder.events)
    assert (view.reason, view.best) == ("submitted by the agent", submitted["value"])
    assert view.best is not None
    assert view.naive is not None
    assert view.best < view.naive


def test_reports_show_the_run(session: Session) -> None:
    talk(make_server(session), optimise)
    for command in (["report"], ["runs", "compare"]):
        result = CliRunner().invoke(autocomp, [*command, str(session.folder.path)])
        assert result.exit_code == 0, result.output
    assert "tiny_gemm" in (session.folder.path / "report.html").read_text()


def test_the_agent_reads_the_machine_the_language_and_the_workload(session: Session) -> None:
    async def read(client: Client) -> list[str]:
        listed = sorted(str(resource.uri) for resource in (await client.list_resources()).resources)
        return [(await client.read_resource(uri)).contents[0].text for uri in listed]  # type: ignore[union-attr]

    language, machine, workload = talk(make_server(session), read)
    assert "void solution(" in language
    assert "How long things take" in machine
    assert "# bound:" in workload


def test_a_wrong_kernel_is_told_why_and_costs_an_evaluation(session: Session) -> None:
    wrong = session.kernel(session.history.root).replace("store_tile(", "0; // store_tile(")

    async def script(client: Client) -> Any:
        return await document(client, "evaluate", kernel=wrong, idea="store nothing")

    verdict = talk(make_server(session), script)
    assert verdict["outcome"].startswith("failed")
    assert verdict["message"]
    assert (verdict["charged"], verdict["evaluations_left"]) == (1, 3)


def test_what_was_judged_before_costs_nothing(session: Session) -> None:
    async def script(client: Client) -> Any:
        return await document(client, "evaluate", kernel="0", idea="the same again")

    assert talk(make_server(session), script)["charged"] == 0


def test_questions_about_a_kernel_are_free_and_in_words(session: Session) -> None:
    line = next(n for n, text in enumerate(session.kernel(session.history.root).splitlines(), 1) if "contract(" in text)

    async def script(client: Client) -> list[str]:
        asked = (("profile", {"kernel": "0"}), ("explain", {"kernel": "0", "line": line}), ("history", {}))
        answers = [text_of(await client.call_tool(name, arguments)) for name, arguments in asked]
        diff = {"first": "0", "second": session.kernel(session.history.root).replace("\n", "\n\n", 1)}
        return [
            *answers,
            text_of(await client.call_tool("diff", diff)),
            text_of(await client.call_tool("schedules", {})),
        ]

    profile, explained, history, diff, known = talk(make_server(session), script)
    assert "Critical path" in profile
    assert "Usual remedy" in explained
    assert '"evaluations_left": 4' in history
    assert "+++ second" in diff
    assert json.loads(known) == {"schedules": []}
    assert session.left == 4


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("check", {"kernel": "void solution("}, "kernel"),
        ("evaluate", {"kernel": "17", "idea": ""}, "no kernel has the number 17"),
        ("explain", {"kernel": "0", "line": 1}, "line 1 issues no commands"),
        ("transform", {"kernel": "0", "name": "magic", "parameters": {}}, "magic"),
        ("transform", {"kernel": "0", "name": "drop_fence", "parameters": {"tensor": "A"}}, "known: fence"),
        ("submit", {"kernel": 9}, "no kernel has the number 9"),
        ("submit", {"kernel": "void solution() {}"}, 'kernel: expected integer or null, found "void solution() {}"'),
        ("submit", {"number": 0}, "unknown argument 'number'; give kernel (integer or null)"),
        ("explain", {"kernel": [0]}, "kernel: expected string or integer, found [0]; line is missing; give kernel"),
    ],
)
def test_mistakes_come_back_as_messages(session: Session, name: str, arguments: dict[str, Any], expected: str) -> None:
    result = talk(make_server(session), lambda client: client.call_tool(name, arguments))
    assert result.is_error
    assert expected in text_of(result)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"kernel": "half \ud83d a pair", "idea": "x"}, '"correct": false'),
        ({"kernel": "/" * (1 << 21), "idea": "x"}, "a kernel has at most 1,048,576 characters, this one 2,097,152"),
        ({"kernel": "fence();", "idea": "x" * 20_000}, "an idea has at most 10,000 characters"),
    ],
)
def test_texts_that_no_file_holds_do_not_end_the_session(
    session: Session, arguments: dict[str, Any], expected: str
) -> None:
    assert expected in Callables(Tools(session)).call("evaluate", json.dumps(arguments))
    assert not session.ended


def test_a_spent_budget_ends_evaluations_and_nothing_else(tmp_path: Path) -> None:
    session = new_session(tmp_path / "run", evaluations=1)
    changed = session.kernel(session.history.root).replace("store_tile(", "0; // store_tile(")

    async def script(client: Client) -> list[Any]:
        refused = await client.call_tool("evaluate", {"kernel": changed, "idea": "one too many"})
        return [refused, await client.call_tool("profile", {"kernel": "0"}), await client.call_tool("submit", {})]

    refused, profile, submitted = talk(make_server(session), script)
    session.close()
    assert refused.is_error
    assert "the budget of evaluations is spent: 1" in text_of(refused)
    assert not profile.is_error
    assert not submitted.is_error


def test_a_session_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    first = new_session(tmp_path / "run")
    first.evaluate(first.kernel(first.history.root).replace("store_tile(", "0; // store_tile("), "wrong on purpose")
    before = [(c.id, c.outcome, c.parent) for c in first.history]
    first.close()
    folder = RunFolder.open(tmp_path / "run")
    again = Session(restore(folder), folder, keep)
    assert [(c.id, c.outcome, c.parent) for c in again.history] == before
    assert again.left == 3
    again.close()


def test_the_run_of_a_search_is_not_taken_over(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="run of a search"):
        new_session(tmp_path / "run", strategy="beam")


def test_resume_says_how_such_a_run_goes_on(session: Session) -> None:
    session.close()
    result = CliRunner().invoke(autocomp, ["resume", str(session.folder.path)])
    assert result.exit_code != 0
    assert "autocomp mcp --run-dir" in result.output


# --- over real transports ---------------------------------------------------------------------------------------------

COMMAND = [sys.executable, "-m", "autocomp", "mcp", WORKLOAD, "--evaluations", "4"]


async def one_round(client: Client) -> Any:
    return await document(client, "history")


def test_over_standard_input_and_output(tmp_path: Path) -> None:
    arguments = [*COMMAND[1:], "--run-dir", str(tmp_path / "run")]
    server = StdioServerParameters(command=COMMAND[0], args=arguments, env=dict(os.environ), cwd=tmp_path)
    assert talk(server, one_round)["evaluations_left"] == 3


@pytest.mark.long
def test_over_http_on_this_computer(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*COMMAND, "--http", str(port), "--run-dir", str(tmp_path / "run")]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait_for(port, process)
            assert talk(f"http://127.0.0.1:{port}/mcp", one_round)["best"] == 0
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Until somebody listens: soon after the server says where it will, and connections are refused before."""
    assert process.stderr is not None
    while str(port) not in process.stderr.readline() and process.poll() is None:
        pass
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            continue
        return
    raise AssertionError(process.communicate()[1])


def test_without_the_sdk_no_run_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    result = CliRunner().invoke(autocomp, ["mcp", WORKLOAD, "--run-dir", str(tmp_path / "run")])
    assert "pip install 'autocomp[mcp]'" in result.output
    assert not (tmp_path / "run").exists()
