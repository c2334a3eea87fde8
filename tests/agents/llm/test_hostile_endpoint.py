"""An endpoint that is absent, slow, greedy or curious does no harm."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autocomp.agents.config import Member
from autocomp.agents.llm import Client, Message
from autocomp.agents.llm.endpoints import exchange
from autocomp.agents.llm.endpoints.endpoint import parse_spec
from autocomp.agents.llm.endpoints.exchange import MOST_OF_A_FAILURE
from autocomp.agents.llm.endpoints.transport import EndpointRefusalError, UnreachableError
from autocomp.errors import ConfigError, ModelError

from .conftest import KEY, Reply, Run, ScriptedServer, completion

HELLO = (Message("user", "hello"),)
Talk = Callable[[socket.socket], None]


@pytest.fixture
def talking(server: ScriptedServer, tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """A client of a server that says what `talk` does, once for each connection; with the threads it takes."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(talk: Talk) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
                try:
                    talk(connection)
                except OSError:
                    continue

    def make(talk: Talk, **options: object) -> Client:
        threads.append(threading.Thread(target=serve, args=(talk,)))
        threads[-1].start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        member = Member(f"openai:m@{url}", **{"attempts": 1, "total_timeout": 0.3, **options})  # type: ignore[arg-type]
        return Client(member, cache_dir=tmp_path, sleep=lambda _: None)

    yield make
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for thread in threads:
        thread.join()


def endless(*beginning: bytes, piece: bytes, pause: float = 0.01) -> Talk:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"".join(beginning))
        while not threading.Event().wait(pause):
            connection.sendall(piece)

    return talk


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "talk",
    [
        endless(piece=b"H"),
        endless(OK, piece=b"X"),
        endless(OK, piece=b"X: y\r\n"),
        endless(CHUNKED, piece=b"1\r\n \r\n"),
        endless(CHUNKED, piece=b"0"),
    ],
    ids=["status", "header", "headers", "body", "size of a chunk"],
)
def test_no_part_of_an_answer_may_trickle_beyond_the_total_time(talking: Callable[..., Client], talk: Talk) -> None:
    with pytest.raises(ModelError, match=r"no whole answer within 0\.3 s"):
        talking(talk).complete(HELLO)


def test_the_body_of_a_failure_may_be_endless(talking: Callable[..., Client]) -> None:
    talk = endless(b"HTTP/1.1 400 Bad\r\n\r\n", piece=b"x" * MOST_OF_A_FAILURE, pause=0)
    with pytest.raises(ModelError, match="HTTP 400: x"):
        talking(talk, total_timeout=30.0).complete(HELLO)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_prompt_goes_to_nobody_but_the_host_it_is_for(server: ScriptedServer, tmp_path: Path, status: int) -> None:
    server.script(Reply(status, headers=(("Location", f"{server.url}/elsewhere"),)), completion("hi"))
    client = Client(Member(server.spec), cache_dir=tmp_path, sleep=lambda _: None)
    with pytest.raises(EndpointRefusalError, match=rf"HTTP {status}: it sends requests on to .*/elsewhere"):
        client.complete(HELLO)
    assert len(server.requests) == 1


def test_an_answer_that_would_unpack_to_more_is_not_unpacked(server: ScriptedServer, tmp_path: Path) -> None:
    packed = gzip.compress(b" " * 10_000_000).decode("latin-1")
    server.script(Reply(body=packed, headers=(("Content-Encoding", "gzip"),)))
    with pytest.raises(ModelError, match=r"is compressed \(gzip\)"):
        Client(Member(server.spec, attempts=1), cache_dir=tmp_path).complete(HELLO)
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_an_endpoint_that_is_not_there_ends_a_search_that_can_be_resumed(server: ScriptedServer, command: Run) -> None:
    absent = "openai:m@http://127.0.0.1:9/v1"
    code, _, err = command("search", "small.yaml", "--planner", absent, "--run-dir", "run", "--workers", "1")
    assert (code, "the connection failed" in err) == (UnreachableError.exit_code, True), err
    assert "stop" not in Path("run/events.jsonl").read_text()
    assert KEY not in err
    code, shown, _ = command("runs", "show", "run")
    assert (code, "ended: interrupted: m at http://127.0.0.1:9/v1: the connection failed" in shown) == (0, True), shown


def test_an_endpoint_that_is_silent_ends_a_search_that_can_be_resumed(
    server: ScriptedServer, command: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exchange, "REMINDER", 0.05)
    server.respond = lambda request: Reply(withheld=True)
    Path("agents.yaml").write_text(f"planner: [{{model: '{server.spec}', read_timeout: 0.2}}]")
    code, _, err = command("search", "small.yaml", "--agents", "agents.yaml", "--run-dir", "run", "--workers", "1")
    assert f"waiting for {server.spec} for 0 s; a request ends after 0.2 s of silence (read_timeout)" in caplog.text
    assert (code, "no answer within 0.2 s" in err) == (UnreachableError.exit_code, True), err
    assert "continue with: autocomp resume run" in err
    assert Path("run/best.c").exists()
    assert "stop" not in Path("run/events.jsonl").read_text()


def test_a_search_whose_models_refuse_all_says_so_and_ends_with_an_error(server: ScriptedServer, command: Run) -> None:
    server.respond = lambda request: completion("I cannot help with that.")
    code, out, err = command(
        "search", "small.yaml", "--planner", server.spec, "--run-dir", "run", "--workers", "1", "--reuse", "0", "--json"
    )
    found = json.loads(out)
    assert code == ModelError.exit_code, err
    assert "requests to openai:test-model" in found["useless"]
    assert "proposed no plan that can be read" in found["useless"]
    assert Path("run/best.c").exists()


def test_few_attempts_are_made_where_nobody_ever_answered(server: ScriptedServer, tmp_path: Path) -> None:
    naps: list[float] = []
    client = Client(Member("openai:m@http://127.0.0.1:9/v1"), cache_dir=tmp_path, sleep=naps.append)
    with pytest.raises(UnreachableError, match=r"3 attempts"):
        client.complete(HELLO)
    assert naps == [0.5, 0.5]


@pytest.mark.parametrize(
    "address",
    ["http://[::1", "http://host:99999/v1", "http://ho st/v1", "http://host\n/v1", "http:///v1", "http://h/\x1b[0m"],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError):
        parse_spec(f"openai:m@{address}")
