"""Editors are told mistakes, meanings and words of a description."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from autocomp.data import data_dir
from autocomp.editors.language import Description

TINY = (data_dir("isa") / "tiny.isa").read_text()


@pytest.fixture
def tiny() -> Description:
    description = Description("tiny.isa")
    assert description.update(TINY) == []
    return description


def place(text: str, wanted: str, inside: int = 0) -> tuple[int, int]:
    """Line and column of the first occurrence of a text, from 0."""
    at = text.index(wanted) + inside
    return text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1


def test_all_mistakes_are_marked_where_they_are() -> None:
    wrong = TINY.replace("unit load {", "unit lode {")
    found = Description("tiny.isa").update(wrong)
    assert len(found) == wrong.count(" on load ")
    for mistake in found:
        line = wrong.splitlines()[mistake.line]
        assert line[mistake.column : mistake.column + mistake.width] == "load"
        assert "did you mean 'lode'?" in mistake.message


@pytest.mark.parametrize("step", [397, pytest.param(97, marks=pytest.mark.long)])
def test_a_file_that_ends_too_early_has_a_mistake_and_no_traceback(step: int) -> None:
    for end in range(0, len(TINY), step):
        description = Description("tiny.isa")
        assert description.update(TINY[:end])
        description.hover(0, 0)
        description.completion(TINY[:end].count("\n"), 3)


@pytest.mark.parametrize(
    ("wanted", "inside", "said"),
    [
        ("DIM >= 2", 1, "rows and columns of the array"),
        ("kind: transfer_in", 7, "rows from DRAM into local memory"),
        ("latency: MEM_LATENCY", 2, "`latency` in `memory`"),
        (") on load {", 6, "DRAM to local memory"),
    ],
)
def test_hover_says_what_a_word_means(tiny: Description, wanted: str, inside: int, said: str) -> None:
    assert said in (tiny.hover(*place(TINY, wanted, inside)) or "")


def test_names_stay_known_while_the_text_is_wrong(tiny: Description) -> None:
    tiny.update(TINY.replace("hazards {", "hazard {"))
    assert "rows and columns" in (tiny.hover(*place(TINY, "DIM >= 2")) or "")


@pytest.mark.parametrize(
    ("before", "typed", "expected"),
    [
        ("unit compute {", "\n    en", "entries"),
        ('unit compute { doc "The array and the vector adder."; kind: ', "", "systolic"),
        ("memory tiles {", " ban", "bandwidth"),
        ("require ", "", "DIM"),
    ],
)
def test_completion_offers_what_fits(tiny: Description, before: str, typed: str, expected: str) -> None:
    at = TINY.index(before) + len(before)
    text = TINY[:at] + typed + TINY[at:]
    tiny.update(text)
    assert expected in [word.text for word in tiny.completion(*place(text, before + typed, len(before + typed)))]


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    length = 0
    while line := stream.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(stream.read(length))


def test_the_server_marks_mistakes_of_an_open_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "autocomp", "isa", "server"]
    uri = (tmp_path / "tiny.isa").as_uri()
    wrong = TINY.replace("unit load {", "unit lode {")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin
        assert server.stdout
        send(server.stdin, {"id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None}})
        offers = receive(server.stdout)["result"]["capabilities"]
        assert {"hoverProvider", "completionProvider"} <= set(offers)
        send(server.stdin, {"method": "initialized", "params": {}})
        document = {"uri": uri, "languageId": "isa", "version": 1, "text": wrong}
        send(server.stdin, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
        while (answer := receive(server.stdout)).get("method") != "textDocument/publishDiagnostics":
            pass
        assert "no unit named 'load'" in answer["params"]["diagnostics"][0]["message"]
        send(server.stdin, {"id": 2, "method": "shutdown"})
        assert receive(server.stdout)["id"] == 2
        send(server.stdin, {"method": "exit"})
        server.wait(timeout=60)


def test_the_colours_of_the_extension_know_every_keyword() -> None:
    from autocomp.targets.simulator.isa.language.syntax import keywords

    grammar = Path(__file__).parents[2] / "editors" / "vscode" / "syntaxes" / "isa.tmLanguage.json"
    match = json.loads(grammar.read_text())["repository"]["keyword"]["match"]
    assert match == rf"\b({'|'.join(sorted(keywords()))})\b"
