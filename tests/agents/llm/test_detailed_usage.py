"""Tokens from the endpoint's own cache cost what the user says; thoughts are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocomp.agents.config import Member, Price
from autocomp.agents.llm import Client, Message
from autocomp.agents.llm.endpoints.forms.chat import parse_completion

from .conftest import Reply, ScriptedServer


def body(cached: object = 800, reasoning: object = 30) -> str:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    choices = [{"index": 0, "message": {"content": "yes"}, "finish_reason": "stop"}]
    return json.dumps({"choices": choices, "usage": usage})


@pytest.mark.parametrize(("price", "money"), [(Price(10, 20, 1), 3.8e-3), (Price(10, 20), 11e-3)])
def test_tokens_from_the_cache_have_their_price(
    server: ScriptedServer, tmp_path: Path, price: Price, money: float
) -> None:
    server.script(Reply(body=body()))
    client = Client(Member(server.spec, price=price), cache_dir=tmp_path)
    usage = client.complete((Message("user", "?"),)).usage
    assert (usage.prompt_cached, usage.reasoning) == (800, 30)
    assert usage.money == pytest.approx(money)


@pytest.mark.parametrize("cached", [-1, 1001, "many", None, True])
def test_a_detail_that_cannot_be_counts_as_none(cached: object) -> None:
    assert parse_completion(body(cached)).usage.prompt_cached == 0


def test_thoughts_that_an_endpoint_counts_apart_are_paid_for() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 150,
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    choices = [{"message": {"content": "yes"}}]
    found = parse_completion(json.dumps({"choices": choices, "usage": usage})).usage
    assert (found.completion_tokens, found.reasoning) == (50, 30)
