"""The client against a server that answers well and badly."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path

import keyring
import keyring.backend
import pytest
from keyring.errors import KeyringLocked, PasswordSetError

from autocomp.agents.config import Member
from autocomp.agents.llm import Client, Message
from autocomp.agents.llm.endpoints.client import EndpointDownError
from autocomp.agents.llm.endpoints.transport import MOST_BYTES, EndpointRefusalError, UnreachableError
from autocomp.errors import ModelError
from autocomp.targets.planning import Usage

from .conftest import KEY, Reply, Request, ScriptedServer, completion, failure, streamed

HELLO = (Message("user", "hello"),)
MakeClient = Callable[..., Client]


@pytest.fixture
def client(server: ScriptedServer, tmp_path: Path, naps: list[float]) -> MakeClient:
    def make(**options: object) -> Client:
        chosen = Member(server.spec, **{"attempts": 3, **options})  # type: ignore[arg-type]
        return Client(chosen, cache_dir=tmp_path, sleep=naps.append)

    return make


def test_an_answer_comes_with_what_it_cost(server: ScriptedServer, client: MakeClient) -> None:
    server.script(completion("hi"))
    answer = client().complete(HELLO)
    assert (answer.outcome, answer.text) == ("answered", "hi")
    assert answer.usage == Usage(11, 7, requests=1)
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_only_what_was_asked_for_is_sent(server: ScriptedServer, client: MakeClient) -> None:
    server.script(completion("hi"), completion("hi"))
    client().complete(HELLO)
    client(temperature=0.5, max_tokens=99, extra={"top_p": 0.9}).complete(HELLO)
    plain = {"model": "test-model", "messages": [{"role": "user", "content": "hello"}]}
    assert server.requests[0].body == plain
    assert server.requests[1].body == {**plain, "temperature": 0.5, "max_tokens": 99, "top_p": 0.9}


def test_a_local_endpoint_needs_no_key(
    server: ScriptedServer, client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server.script(completion("hi"))
    assert client().complete(HELLO).text == "hi"


def test_the_public_endpoint_says_that_it_needs_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("OPENAI_API_KEY", "AUTOCOMP_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        Client(Member("openai:m"), cache_dir=tmp_path).complete(HELLO)


@pytest.mark.parametrize(
    "bad",
    [
        failure(429, "slow down"),
        failure(500, "oops"),
        failure(503),
        Reply(502, "<html>Bad gateway</html>"),
        Reply(body="<html>not a completion</html>"),
        Reply(body='{"error": {"message": "overloaded"}}'),
        Reply(body='{"choices": 5}'),
        Reply(body='{"choices": ' + "1" * 5000 + "}"),
        Reply(body="[" * 100_000),
        Reply(body=" " * (MOST_BYTES + 1)),
        Reply(body=completion("hi").body, cut=20),
        Reply(body="", cut=0),
    ],
    ids=[
        "429",
        "500",
        "503",
        "502-html",
        "200-html",
        "200-error",
        "wrong-form",
        "digits",
        "depth",
        "endless",
        "cut",
        "nothing",
    ],
)
def test_what_may_pass_is_tried_again(
    server: ScriptedServer, client: MakeClient, naps: list[float], bad: Reply
) -> None:
    server.script(bad, completion("hi"))
    answer = client().complete(HELLO)
    assert answer.text == "hi"
    assert answer.usage.requests == 2
    assert len(naps) == 1


def test_attempts_end_with_an_error_that_says_why(
    server: ScriptedServer, client: MakeClient, naps: list[float]
) -> None:
    server.script(*[failure(500, "disk on fire")] * 3)
    with pytest.raises(ModelError, match=r"test-model at http://127.*HTTP 500: disk on fire \(3 attempts\)"):
        client().complete(HELLO)
    assert len(server.requests) == 3
    assert len(naps) == 2


def test_waits_grow_with_jitter_up_to_the_longest(
    server: ScriptedServer, client: MakeClient, naps: list[float]
) -> None:
    server.script(*[failure(503)] * 8)
    with pytest.raises(ModelError):
        client(attempts=8, longest_wait=5.0).complete(HELLO)
    assert all(0 <= nap <= min(5.0, 2.0**position) for position, nap in enumerate(naps))


@pytest.mark.parametrize("value", ["7", "7.0"])
def test_retry_after_in_seconds_is_honoured(
    server: ScriptedServer, client: MakeClient, naps: list[float], value: str
) -> None:
    server.script(failure(429, headers=(("Retry-After", value),)), completion("hi"))
    client().complete(HELLO)
    assert naps == [7.0]


def test_retry_after_as_a_date_is_honoured(server: ScriptedServer, client: MakeClient, naps: list[float]) -> None:
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=40), usegmt=True)
    server.script(failure(429, headers=(("Retry-After", date),)), completion("hi"))
    client().complete(HELLO)
    assert 0 < naps[0] <= 40


def test_a_wait_that_is_too_long_is_an_error(server: ScriptedServer, client: MakeClient, naps: list[float]) -> None:
    server.script(failure(429, headers=(("Retry-After", "3600"),)))
    with pytest.raises(UnreachableError, match="asks to wait 3600 s"):
        client().complete(HELLO)
    assert naps == []


def test_silence_is_waited_out_once_more_where_there_were_answers_before(
    server: ScriptedServer, client: MakeClient, naps: list[float]
) -> None:
    server.script(completion("hi"), Reply(withheld=True), Reply(withheld=True))
    asked = client(read_timeout=0.5)
    asked.complete(HELLO)
    with pytest.raises(EndpointDownError, match=r"no answer within 0.5 s \(2 attempts\)"):
        asked.complete(HELLO, sample=1)


def test_silence_from_the_beginning_is_waited_out_once(server: ScriptedServer, client: MakeClient) -> None:
    server.script(Reply(withheld=True), completion("hi"))
    with pytest.raises(UnreachableError, match=r"no answer within 0.05 s\n.*read_timeout"):
        client(read_timeout=0.05).complete(HELLO)
    assert len(server.requests) == 1


def test_who_fails_twice_in_a_row_gives_nothing_now(
    server: ScriptedServer, client: MakeClient, naps: list[float]
) -> None:
    server.script(completion("hi"), *[failure(500)] * 4)
    asked = client(attempts=2)
    asked.complete(HELLO)
    with pytest.raises(EndpointDownError):
        asked.complete(HELLO, sample=1)
    with pytest.raises(UnreachableError):
        asked.complete(HELLO, sample=2)


@pytest.mark.parametrize(
    ("reply", "attempts"), [(failure(500), 3), (Reply(body="<html>Sign in</html>"), 3), (failure(503), 6)]
)
def test_who_never_answered_gets_few_attempts_unless_it_says_that_it_is_busy(
    server: ScriptedServer, client: MakeClient, naps: list[float], reply: Reply, attempts: int
) -> None:
    server.respond = lambda request: reply
    with pytest.raises(UnreachableError, match=rf"\({attempts} attempts\)"):
        client(attempts=6).complete(HELLO)


def test_an_endpoint_that_is_not_there_is_an_error(tmp_path: Path, server: ScriptedServer, naps: list[float]) -> None:
    absent = Member("openai:m@http://127.0.0.1:9/v1", attempts=2)
    with pytest.raises(ModelError, match="the connection failed"):
        Client(absent, cache_dir=tmp_path, sleep=naps.append).complete(HELLO)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (failure(401, "bad key"), "HTTP 401: bad key"),
        (failure(403, "not yours"), "HTTP 403: not yours"),
        (failure(404, "no such model"), "HTTP 404: no such model"),
        (failure(429, "pay first", code="insufficient_quota"), "HTTP 429: pay first"),
    ],
)
def test_what_no_request_can_pass_is_not_tried_again(
    server: ScriptedServer, client: MakeClient, naps: list[float], reply: Reply, expected: str
) -> None:
    server.script(reply)
    with pytest.raises(EndpointRefusalError, match=expected):
        client().complete(HELLO)
    assert naps == []


def test_a_request_that_is_wrong_is_not_tried_again(
    server: ScriptedServer, client: MakeClient, naps: list[float]
) -> None:
    server.script(failure(400, "context too long"))
    with pytest.raises(ModelError, match="HTTP 400: context too long") as caught:
        client().complete(HELLO)
    assert not isinstance(caught.value, EndpointRefusalError)
    assert naps == []


@pytest.mark.parametrize(
    ("reply", "outcome", "message"),
    [
        (completion("half an ans", finish="length"), "truncated", "cut off after 7 tokens"),
        (completion(None, refusal="I would rather not"), "refused", "refused: I would rather not"),
        (completion("", finish="content_filter"), "refused", "refused: no reason given"),
        (completion(""), "empty", "gave an empty answer"),
        (completion(None), "empty", "gave an empty answer"),
        (Reply(body='{"choices": []}'), "empty", "gave an empty answer"),
    ],
)
def test_an_answer_that_is_none_is_told_apart(
    server: ScriptedServer, client: MakeClient, reply: Reply, outcome: str, message: str
) -> None:
    server.script(reply)
    answer = client().complete(HELLO)
    assert answer.outcome == outcome
    with pytest.raises(ModelError, match=message):
        answer.require("m")


@pytest.mark.parametrize(
    ("content", "text"),
    [([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"), ("half \ud83d a pair", "half ? a pair")],
)
def test_odd_contents_are_read_and_kept(server: ScriptedServer, client: MakeClient, content: object, text: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": content}}]})
    server.script(Reply(body=body))
    assert [client().complete(HELLO).text for _ in range(2)] == [text, text]


def test_a_refusal_that_no_file_can_hold_is_kept_readable(server: ScriptedServer, client: MakeClient) -> None:
    server.script(completion(None, refusal="no \ud83d"))
    answers = [client().complete(HELLO) for _ in range(2)]
    assert [(answer.outcome, answer.text) for answer in answers] == [("refused", "no ?")] * 2


def test_a_second_run_makes_no_request(server: ScriptedServer, client: MakeClient) -> None:
    server.script(completion("hi"))
    first = client().complete(HELLO)
    second = client().complete(HELLO)
    assert (second.outcome, second.text) == (first.outcome, first.text)
    assert second.usage == Usage(cached=1)
    assert len(server.requests) == 1


def test_samples_options_and_messages_are_cached_apart(server: ScriptedServer, client: MakeClient) -> None:
    server.script(*[completion(text) for text in "abcd"])
    texts = [
        client().complete(HELLO).text,
        client().complete(HELLO, sample=1).text,
        client(temperature=1.0).complete(HELLO).text,
        client().complete((Message("user", "goodbye"),)).text,
    ]
    assert texts == list("abcd")


def test_a_damaged_cache_entry_is_asked_for_anew(server: ScriptedServer, client: MakeClient, tmp_path: Path) -> None:
    server.script(completion("hi"), completion("hi again"))
    client().complete(HELLO)
    (entry,) = tmp_path.rglob("*.json")
    entry.write_text(entry.read_text()[:30])
    assert client().complete(HELLO).text == "hi again"
    assert client().complete(HELLO).text == "hi again"


def test_failures_are_not_cached_and_no_partial_file_stays(
    server: ScriptedServer, client: MakeClient, tmp_path: Path
) -> None:
    server.script(failure(400), completion("hi"))
    with pytest.raises(ModelError):
        client().complete(HELLO)
    assert list(tmp_path.rglob("*")) == []
    client().complete(HELLO)
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".json"]


def test_the_key_shows_nowhere(
    server: ScriptedServer, client: MakeClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(completion(f"you said {KEY}"), failure(401, f"wrong key {KEY}"), failure(500, KEY))
    asked = client(attempts=1)
    answer = asked.complete(HELLO)
    with pytest.raises(ModelError) as refused:
        asked.complete(HELLO, sample=1)
    with pytest.raises(ModelError) as failed:
        asked.complete(HELLO, sample=2)
    kept = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    shown = (answer.text, kept, caplog.text, str(refused.value), str(failed.value), repr(vars(asked.endpoint)))
    assert kept
    assert all(KEY not in text for text in shown)
    assert KEY.encode() not in pickle.dumps(asked)


def test_a_client_survives_pickling(server: ScriptedServer, tmp_path: Path) -> None:
    server.script(completion("hi"), completion("there"))
    asked = Client(Member(server.spec), cache_dir=tmp_path)
    asked.complete(HELLO)
    copy = pickle.loads(pickle.dumps(asked))
    assert copy.complete(HELLO).usage.cached == 1
    assert copy.complete(HELLO, sample=1).text == "there"


def test_several_threads_may_ask_at_once(server: ScriptedServer, client: MakeClient) -> None:
    def echo(request: Request) -> Reply:
        return completion(request.body["messages"][0]["content"])

    server.respond = echo
    asked = client()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: asked.complete((Message("user", f"text {n}"),)).text, range(12)))
    assert answers == [f"text {n}" for n in range(12)]


def test_the_environment_names_the_folder_of_the_cache(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOCOMP_CACHE", str(tmp_path / "mine"))
    server.script(completion("hi"))
    Client(Member(server.spec)).complete(HELLO)
    assert len(list((tmp_path / "mine" / "answers").rglob("*.json"))) == 1


def test_a_filler_in_place_of_a_key_does_not_damage_answers(
    server: ScriptedServer, client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    server.script(completion("x = 1; // exact"))
    assert client().complete(HELLO).text == "x = 1; // exact"


# --- streams and timeouts -----------------------------------------------------------------------------------------


def test_a_streamed_answer_is_put_together(server: ScriptedServer, client: MakeClient) -> None:
    server.script(streamed("he", "llo ", "you"))
    answer = client(stream=True).complete(HELLO)
    assert (answer.text, answer.usage) == ("hello you", Usage(11, 7, requests=1))
    assert server.requests[0].body["stream"] is True
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "bad",
    [
        streamed("half", finish=None, done=False),
        replace(streamed("half of it"), cut=60),
        Reply(body="data: {broken\n\n", headers=(("Content-Type", "text/event-stream"),)),
        Reply(body='data: {"error": "overloaded"}\n\n', headers=(("Content-Type", "text/event-stream"),)),
    ],
    ids=["ends early", "cut", "malformed", "error event"],
)
def test_a_stream_that_breaks_is_asked_for_again(server: ScriptedServer, client: MakeClient, bad: Reply) -> None:
    server.script(bad, streamed("whole"))
    answer = client(stream=True).complete(HELLO)
    assert (answer.text, answer.usage.requests) == ("whole", 2)


def test_a_stream_says_that_it_was_cut_short_or_refused(server: ScriptedServer, client: MakeClient) -> None:
    server.script(streamed("half", finish="length"), streamed("no", finish="content_filter"))
    outcomes = [client(stream=True).complete(HELLO, sample=sample).outcome for sample in range(2)]
    assert outcomes == ["truncated", "refused"]


def test_a_stream_that_stalls_is_asked_for_again(server: ScriptedServer, client: MakeClient) -> None:
    server.script(replace(streamed("he", "llo"), stalled=40), streamed("whole"))
    assert client(stream=True, read_timeout=0.05).complete(HELLO).text == "whole"


def test_an_answer_that_trickles_is_given_up_in_the_end(server: ScriptedServer, client: MakeClient) -> None:
    server.script(Reply(body=completion("hi").body, trickles=True))
    with pytest.raises(ModelError, match=r"no whole answer within 0\.1 s"):
        client(total_timeout=0.1, attempts=1).complete(HELLO)


# --- keys ---------------------------------------------------------------------------------------------------------


class Keyring(keyring.backend.KeyringBackend):
    """Keys in memory, by service and host."""

    priority = 1

    def __init__(self, **keys: str) -> None:
        super().__init__()
        self.keys = keys

    def get_password(self, service: str, username: str) -> str | None:
        return self.keys.get(service) if username == "127.0.0.1" else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise PasswordSetError("read only")


class LockedKeyring(Keyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked")


@pytest.fixture
def no_key_in_the_environment(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("OPENAI_API_KEY")
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


@pytest.mark.usefixtures("no_key_in_the_environment")
def test_a_key_may_lie_in_the_keyring(server: ScriptedServer, client: MakeClient) -> None:
    keyring.set_keyring(Keyring(autocomp=KEY))
    server.script(completion("hi"))
    client().complete(HELLO)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.usefixtures("no_key_in_the_environment")
def test_a_locked_keyring_is_an_error(client: MakeClient) -> None:
    keyring.set_keyring(LockedKeyring())
    with pytest.raises(ModelError, match=r"does not give the key of 127\.0\.0\.1"):
        client().complete(HELLO)


def test_a_model_may_have_a_key_of_its_own(
    server: ScriptedServer, client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine-0123456789abcdef")
    server.script(completion("hi"))
    client(key="MY_KEY").complete(HELLO)
    assert server.requests[0].headers["authorization"] == "Bearer sk-mine-0123456789abcdef"
