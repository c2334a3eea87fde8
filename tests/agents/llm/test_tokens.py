"""The tokens set aside for a prompt: the tokenizer's count, or an estimate that answers correct. Never too few."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.agents.config import Member, Price
from autocomp.agents.llm import Client, Ensemble, Ledger, Message
from autocomp.agents.llm.endpoints.tokens import MOST_PER_MESSAGE, TEMPLATE, Meter, estimate_tokens, tokenizer

from .conftest import Reply, Request, ScriptedServer

KERNEL = "for (int i = 0; i < 512; i += 16) {\n    mvin(&A[i][k], 0x80000000 + 16 * i, 16, 16);\n}\n"
LONG = (Message("system", "You write kernels. " * 40), Message("user", KERNEL * 300))
Tokenizer = Callable[[str], int]
# From one token for six bytes to one for two.
TOKENIZERS: dict[str, Tokenizer] = {
    f"{percent} % of the bytes": lambda text, percent=percent: len(text.encode()) * percent // 100  # type: ignore[misc]
    for percent in (16, 25, 33, 50)
}


@pytest.fixture
def own_tokenizer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package tiktoken, which knows one model: a token for each three characters."""

    def encoding_for_model(model: str) -> SimpleNamespace:
        if model != "test-model":
            raise KeyError(model)
        return SimpleNamespace(encode_ordinary=lambda text: [0] * -(-len(text) // 3))

    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(encoding_for_model=encoding_for_model))
    tokenizer.cache_clear()
    yield
    tokenizer.cache_clear()


def size(messages: tuple[Message, ...], count: Tokenizer) -> int:
    return sum(count(message.content) for message in messages)


@pytest.mark.usefixtures("own_tokenizer")
def test_a_known_tokenizer_counts() -> None:
    marks = TEMPLATE + MOST_PER_MESSAGE * len(LONG)
    assert Meter("test-model").most(LONG) == size(LONG, lambda text: -(-len(text) // 3)) + marks
    assert Meter("another").most(LONG) == Meter("none").most(LONG)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_an_unknown_tokenizer_is_measured(name: str) -> None:
    count = TOKENIZERS[name]
    meter = Meter("m")
    before = meter.most(LONG)
    meter.learn(LONG, None, size(LONG, count), 10)
    assert size(LONG, count) <= meter.most(LONG) <= before < sum(len(m.content) for m in LONG)


def test_a_schema_and_other_scripts_count() -> None:
    meter = Meter("m")
    assert meter.most(LONG, {"type": "object"}) > meter.most(LONG)
    assert meter.most((Message("user", "核函数" * 10),)) >= 90


@given(st.text(max_size=300))
def test_nothing_is_set_aside_beyond_the_bytes(text: str) -> None:
    most = Meter("m").most((Message("user", text),))
    assert most <= len(text.encode("utf-8", "replace")) + TEMPLATE + MOST_PER_MESSAGE
    assert most >= min(estimate_tokens(text), len(text))


def test_what_was_learnt_is_shared_by_the_run_and_survives_pickling() -> None:
    ledger = Ledger(tokens=10)
    ledger.meter("m").learn(LONG, None, 100, 9000)
    copy = pickle.loads(pickle.dumps(ledger))
    assert copy.meter("m").most(LONG) == ledger.meter("m").most(LONG)
    assert copy.meter("m").longest(50) == 9000
    assert copy.meter("other").longest(50) == 50


def counting(count: Tokenizer) -> Callable[[Request], Reply]:
    """An endpoint that counts with a tokenizer of its own, and makes use of the longest answer."""

    def respond(request: Request) -> Reply:
        prompt = count(request.prompt) + 4 * len(request.body["messages"])
        usage = {"prompt_tokens": prompt, "completion_tokens": request.body["max_tokens"]}
        return Reply(body=json.dumps({"choices": [{"message": {"content": "hi"}}], "usage": usage}))

    return respond


@pytest.mark.parametrize("budget", [{"tokens": 60_000}, {"money": 0.1}])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_budget_is_used_and_never_exceeded(
    server: ScriptedServer, tmp_path: Path, name: str, budget: dict[str, float]
) -> None:
    server.respond = counting(TOKENIZERS[name])
    ledger = Ledger(**budget)  # type: ignore[arg-type]
    member = Member(server.spec, max_tokens=500, price=Price(1.25, 10.0))
    models = Ensemble([Client(member, ledger, cache_dir=tmp_path)])
    random = Random(1)
    while not models.ask(LONG, random).usage.unsent:
        assert len(server.requests) < 100
    assert server.requests
    assert ledger.spent.tokens <= budget.get("tokens", ledger.spent.tokens)
    assert ledger.spent.money <= budget.get("money", ledger.spent.money)
    next_one = ledger.meter("test-model").most(LONG) + 500
    assert ledger.money is not None or ledger.spent.tokens > 60_000 - next_one


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1_000_000, "completion_tokens": 5},
        {"prompt_tokens": 5, "completion_tokens": -7},
        {"prompt_tokens": 10**40, "completion_tokens": 5},
        {"prompt_tokens": True, "completion_tokens": 5},
        {"prompt_tokens": "many", "completion_tokens": 5},
        {"prompt_tokens": 0.5, "completion_tokens": 5},
        "free of charge",
        [1, 2],
    ],
)
def test_a_usage_that_cannot_be_is_charged_at_the_most(server: ScriptedServer, tmp_path: Path, usage: object) -> None:
    body = json.dumps({"choices": [{"message": {"content": "hi"}}], "usage": usage})
    server.respond = lambda request: Reply(body=body)
    ledger = Ledger(tokens=40_000)
    models = Ensemble([Client(Member(server.spec, max_tokens=100), ledger, cache_dir=tmp_path)])
    reply = models.ask(LONG, Random(1))
    assert reply.text == "hi"
    assert "states a usage that cannot be" in reply.messages[0]
    assert reply.usage.prompt_tokens == Meter("m").most(LONG)
    random = Random(2)
    while not models.ask(LONG, random).usage.unsent:
        assert len(server.requests) < 10
    assert ledger.spent.tokens <= 40_000


def test_an_answer_that_was_lost_is_charged_at_the_most(server: ScriptedServer, tmp_path: Path) -> None:
    """Nobody knows what the endpoint made of it."""
    whole = counting(TOKENIZERS["25 % of the bytes"])
    cut = iter([True, False])
    server.respond = lambda request: Reply(body="{" * 50, cut=20) if next(cut) else whole(request)
    ledger = Ledger(tokens=100_000)
    client = Client(Member(server.spec, max_tokens=100), ledger, cache_dir=tmp_path, sleep=lambda _: None)
    answer = client.complete(LONG)
    assert answer.usage == ledger.spent
    assert answer.usage.requests == 2
    assert answer.usage.prompt_tokens > Meter("m").most(LONG)


def test_a_model_that_goes_beyond_its_limit_is_reckoned_with(server: ScriptedServer, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 4000, "completion_tokens": 3000}
    body = json.dumps({"choices": [{"message": {"content": "hi"}}], "usage": usage})
    server.respond = lambda request: Reply(body=body)
    ledger = Ledger(tokens=30_000)
    models = Ensemble([Client(Member(server.spec, max_tokens=100), ledger, cache_dir=tmp_path)])
    random = Random(1)
    while not models.ask(LONG, random).usage.unsent:
        assert len(server.requests) < 10
    assert ledger.spent.tokens <= 30_000
