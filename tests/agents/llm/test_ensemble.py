"""Several models: shares by weight, another model where one fails, limits, and budgets kept before sending."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.agents.config import Member, Price
from autocomp.agents.llm import Client, Ensemble, Ledger, Message
from autocomp.agents.llm.endpoints.bandit import shares
from autocomp.agents.llm.endpoints.gate import COOL_DOWN, FAILURES_TO_OPEN, Gate
from autocomp.agents.llm.endpoints.ledger import BudgetSpentError
from autocomp.agents.llm.endpoints.transport import EndpointRefusalError
from autocomp.agents.mixed import apportion
from autocomp.targets.planning import Usage

from .conftest import Reply, Request, ScriptedServer, completion, failure

HELLO = (Message("user", "hello"),)
MakeEnsemble = Callable[..., Ensemble]


@pytest.fixture
def ensemble(server: ScriptedServer, tmp_path: Path, naps: list[float]) -> MakeEnsemble:
    """An ensemble of models with these names and weights, all on the one server."""

    def make(ledger: Ledger | None = None, **weights: float) -> Ensemble:
        ledger = ledger or Ledger()
        members = [
            Member(f"openai:{name}@{server.url}", weight, attempts=1, max_tokens=50, price=Price(1000, 2000))
            for name, weight in weights.items()
        ]
        return Ensemble([Client(member, ledger, cache_dir=tmp_path, sleep=naps.append) for member in members])

    return make


def only(*good: str, bad: Reply) -> Callable[[Request], Reply]:
    return lambda request: completion("hi") if request.body["model"] in good else bad


def asked(server: ScriptedServer) -> list[str]:
    return [request.body["model"] for request in server.requests]


@given(st.integers(0, 50), st.lists(st.floats(0.01, 100), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_shares_add_up_and_keep_to_the_weights(count: int, weights: list[float], random: Random) -> None:
    shares = apportion(count, weights, random)
    assert sum(shares) == count
    assert all(abs(s - count * w / sum(weights)) < len(weights) for s, w in zip(shares, weights, strict=True))


def test_an_answer_that_cannot_be_kept_is_used_and_that_is_said(server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    server.script(completion("hi"))
    reply = Ensemble([Client(Member(server.spec), cache_dir=tmp_path / "file")]).ask(HELLO, Random(0))
    assert reply.text == "hi"
    assert [message.partition(": ")[0] for message in reply.messages] == [
        f"an answer of {reply.author} will be asked for again"
    ]


def test_questions_go_to_models_by_weight(server: ScriptedServer, ensemble: MakeEnsemble) -> None:
    models = ensemble(often=9, seldom=1)
    random = Random(1)
    picked = [models.pick(random).endpoint.model for _ in range(300)]
    assert 240 < picked.count("often") < 300


@pytest.mark.parametrize(
    "bad", [failure(500), failure(401), failure(400), completion(None, refusal="no"), completion("h", finish="length")]
)
def test_another_model_answers_where_one_does_not(server: ScriptedServer, ensemble: MakeEnsemble, bad: Reply) -> None:
    server.respond = only("good", bad=bad)
    models = ensemble(bad=1, good=1)
    reply = models.ask(HELLO, Random(1), first=models.clients[0])
    assert (reply.text, reply.author) == ("hi", f"openai:good@{server.url}")
    assert asked(server) == ["bad", "good"]
    assert len(reply.messages) == 1


@pytest.mark.parametrize("bad", [failure(500), failure(401), completion(None, refusal="no")])
def test_a_second_run_takes_the_answer_of_whoever_answered_in_the_first(
    server: ScriptedServer, ensemble: MakeEnsemble, bad: Reply
) -> None:
    server.respond = only("good", bad=bad)
    models = ensemble(bad=1, good=1)
    first = models.ask(HELLO, Random(1), first=models.clients[0])
    server.respond = only("good", "bad", bad=bad)
    models = ensemble(bad=1, good=1)
    second = models.ask(HELLO, Random(1), first=models.clients[0])
    assert (second.text, second.author) == (first.text, first.author)
    assert second.usage.requests == 0
    assert asked(server) == ["bad", "good"]


def test_a_model_that_is_down_is_left_alone_until_it_has_cooled_down(
    server: ScriptedServer, ensemble: MakeEnsemble
) -> None:
    server.respond = only("good", bad=failure(503))
    models = ensemble(bad=1, good=1)
    for _ in range(FAILURES_TO_OPEN + 3):
        models.ask(HELLO, Random(), first=models.clients[0])
    assert asked(server).count("bad") == FAILURES_TO_OPEN
    assert 0 < models.clients[0].gate.opens_in <= COOL_DOWN


def test_a_model_that_refuses_the_key_is_not_asked_again(server: ScriptedServer, ensemble: MakeEnsemble) -> None:
    server.respond = only("good", bad=failure(401))
    models = ensemble(bad=1, good=1)
    for _ in range(3):
        assert models.ask(HELLO, Random(), first=models.clients[0]).text == "hi"
    assert asked(server).count("bad") == 1


def test_when_all_models_refuse_that_is_an_error(server: ScriptedServer, ensemble: MakeEnsemble) -> None:
    server.respond = only(bad=failure(401))
    with pytest.raises(EndpointRefusalError):
        ensemble(a=1, b=1).ask(HELLO, Random(1))


def test_when_one_refuses_and_the_other_is_gone_that_is_an_error(
    server: ScriptedServer, ensemble: MakeEnsemble
) -> None:
    replies = {"refuses": failure(401), "gone": failure(500)}
    server.respond = lambda request: replies[request.body["model"]]
    models = ensemble(refuses=1, gone=1)
    for _ in range(2):
        with pytest.raises(EndpointRefusalError):
            models.ask(HELLO, Random(1))


def test_when_all_models_fail_the_reply_says_why(server: ScriptedServer, ensemble: MakeEnsemble) -> None:
    models = ensemble(a=1, b=1)
    server.respond = lambda request: completion("hi")
    for client in models.clients:
        client.complete(HELLO)
    server.respond = only(bad=failure(500, "disk on fire"))
    reply = models.ask(HELLO, Random(1))
    assert reply.text is None
    assert len(reply.messages) == 2
    assert "disk on fire" in reply.messages[0]


# --- limits -------------------------------------------------------------------------------------------------------


def test_a_breaker_opens_closes_and_opens_for_good() -> None:
    now = [0.0]
    gate = Gate(1, clock=lambda: now[0])
    for _ in range(FAILURES_TO_OPEN):
        assert gate.opens_in == 0
        gate.failed()
    assert gate.opens_in == COOL_DOWN
    now[0] += COOL_DOWN
    assert gate.opens_in == 0
    gate.succeeded()
    gate.failed()
    assert gate.opens_in == 0
    gate.refused()
    assert gate.opens_in == float("inf")


def test_requests_start_no_faster_than_the_rate() -> None:
    now, naps = [100.0], []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        now[0] += seconds

    gate = Gate(4, per_minute=30, clock=lambda: now[0], sleep=sleep)
    for _ in range(3):
        with gate.passage():
            pass
    assert naps == [2.0, 2.0]


def test_no_more_requests_are_under_way_than_allowed(server: ScriptedServer, tmp_path: Path) -> None:
    under_way, most = [0], [0]
    member = Member(server.spec, concurrency=2)
    client = Client(member, cache_dir=tmp_path)
    exchange = client._transport.exchange

    def counted(request: object) -> object:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        try:
            return exchange(request)  # type: ignore[arg-type]
        finally:
            under_way[0] -= 1

    client._transport.exchange = counted  # type: ignore[assignment,method-assign]
    server.respond = lambda request: completion("hi")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda sample: client.complete(HELLO, sample=sample), range(16)))
    assert 1 <= most[0] <= 2


# --- budgets ------------------------------------------------------------------------------------------------------


def test_money_and_tokens_are_counted_by_the_stated_prices(server: ScriptedServer, ensemble: MakeEnsemble) -> None:
    server.script(completion("hi"))
    ledger = Ledger()
    usage = ensemble(ledger, a=1).ask(HELLO, Random(1)).usage
    assert usage == Usage(11, 7, requests=1, money=(11 * 1000 + 7 * 2000) / 1e6)
    assert ledger.spent == usage


def test_tokens_are_estimated_where_the_endpoint_counts_none(server: ScriptedServer, ensemble: MakeEnsemble) -> None:
    server.script(Reply(body='{"choices": [{"message": {"content": "two words"}}]}'))
    usage = ensemble(a=1).ask(HELLO, Random(1)).usage
    assert usage.prompt_tokens > 0
    assert usage.completion_tokens == 2


@pytest.mark.parametrize("budget", [{"tokens": 200}, {"money": 0.3}])
def test_a_request_that_might_exceed_the_budget_is_not_sent(
    server: ScriptedServer, ensemble: MakeEnsemble, budget: dict[str, float]
) -> None:
    server.respond = lambda request: completion("hi")
    ledger = Ledger(**budget)  # type: ignore[arg-type]
    models = ensemble(ledger, a=1)
    random = Random(1)
    while not (reply := models.ask(HELLO, random)).usage.unsent:
        assert len(server.requests) < 100
    assert reply.text is None
    assert "to keep within the budget" in reply.messages[0]
    assert ledger.tokens is None or ledger.spent.tokens <= ledger.tokens
    assert ledger.money is None or ledger.spent.money <= ledger.money
    assert len(server.requests) > 1


def test_answers_from_the_cache_cost_nothing_whatever_the_budget(
    server: ScriptedServer, ensemble: MakeEnsemble
) -> None:
    server.script(completion("hi"))
    ensemble(Ledger(tokens=10_000), a=1).ask(HELLO, Random(1))
    assert ensemble(Ledger(tokens=0), a=1).ask(HELLO, Random(1)).text == "hi"


def test_requests_side_by_side_keep_the_budget_together(server: ScriptedServer, ensemble: MakeEnsemble) -> None:
    server.respond = lambda request: completion("hi")
    ledger = Ledger(tokens=300)
    models = ensemble(ledger, a=1)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda seed: models.ask(HELLO, Random(seed)), range(40)))
    assert ledger.spent.tokens <= 300
    answered = [reply for reply in replies if reply.text is not None]
    assert len(answered) == len(server.requests) == ledger.spent.requests
    assert ledger.spent.tokens > 300 - 100  # what is set aside and not used is free again


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12))
def test_a_ledger_never_spends_more_than_it_has(requests: list[tuple[int, int]]) -> None:
    ledger = Ledger(tokens=100)
    for reserved, used in requests:
        try:
            with ledger.reserved(reserved, 0.0):
                ledger.charge(Usage(min(reserved, used)))
        except BudgetSpentError:
            assert ledger.spent.tokens + reserved > 100
    assert ledger.spent.tokens <= 100


def test_a_ledger_goes_on_with_what_was_spent_and_books_each_charge_to_its_call() -> None:
    booked: list[tuple[str, Usage, str]] = []
    ledger = Ledger(tokens=100)
    ledger.resume(Usage(60, 30), lambda call, usage, model: booked.append((call, usage, model)))
    with pytest.raises(BudgetSpentError, match="90 of 100 tokens are spent"), ledger.reserved(11, 0.0):
        pass
    with ledger.on_account_of("plan/1/0"), ledger.reserved(10, 0.0):
        ledger.charge(Usage(5), "m")
    assert booked == [("plan/1/0", Usage(5), "m")]
    assert ledger.spent.tokens == 95


def test_ledgers_gates_and_ensembles_survive_pickling(ensemble: MakeEnsemble) -> None:
    ledger = Ledger(tokens=5)
    ledger.charge(Usage(3))
    copy = pickle.loads(pickle.dumps(ensemble(ledger, a=1, b=2)))
    assert copy.clients[0].ledger is copy.clients[1].ledger
    assert copy.clients[0].ledger.spent.tokens == 3


def test_shares_follow_gain_for_its_price_and_none_falls_below_a_tenth() -> None:
    dear, cheap, poor = (Member(name, price=Price(cost, cost)) for name, cost in (("d", 4.0), ("c", 1.0), ("p", 1.0)))
    assert shares((dear, cheap), {}) == [1.0, 1.0]
    first, second = shares((dear, cheap), {"d": 0.2, "c": 0.2})
    assert second == pytest.approx(4 * first)
    best, worst = shares((cheap, poor), {"c": 0.5, "p": 0.0})
    assert worst == pytest.approx(0.1 * best)
    new, known = shares((replace(cheap, model="n"), cheap), {"c": 0.5})
    assert new == known
