"""The costs of a run's models, and their budgets, which are kept before a request is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from autocomp.agents.llm.endpoints.tokens import Meter
from autocomp.errors import ModelError
from autocomp.targets.planning import Usage

Book = Callable[[str, Usage, str], None]  # the call, the cost, the model
Keep = Callable[[str, str, str, Mapping[str, Any], str, str, Usage], None]


class BudgetSpentError(ModelError):
    """A request was not sent, since its answer might exceed a budget."""


class Ledger:
    """Budgets of tokens and money, None for none. Safe to use from several threads; picklable."""

    def __init__(self, tokens: int | None = None, money: float | None = None) -> None:
        self.tokens = tokens
        self.money = money
        self.spent = Usage()
        self._reserved_tokens = 0
        self._reserved_money = 0.0
        self._open = 0
        self._book: Book | None = None
        self._keep: Keep | None = None
        self._meters: dict[str, Meter] = {}
        self._make_locks()

    def _make_locks(self) -> None:
        self._changed = threading.Condition()
        self._thread = threading.local()

    def resume(self, spent: Usage, book: Book, keep: Keep | None = None) -> None:
        """Begin with what earlier sessions of a run spent. From now on `book` is told every charge, and the call that
        it was made for, before it counts; `keep` every exchange, also one that the cache answers."""
        self.spent = spent
        self._book = book
        self._keep = keep

    @contextmanager
    def on_account_of(self, call: str) -> Iterator[None]:
        """Book all charges of this thread, while inside, to a call of the search."""
        self._thread.call = call
        try:
            yield
        finally:
            del self._thread.call

    def meter(self, model: str) -> Meter:
        """The run's knowledge of a model's tokens."""
        with self._changed:
            return self._meters.setdefault(model, Meter(model))

    @property
    def limited(self) -> bool:
        return self.tokens is not None or self.money is not None

    def exchanged(
        self, model: str, key: str, request: Mapping[str, Any], outcome: str, text: str, usage: Usage
    ) -> None:
        """Have what was asked and answered kept with the run; `key` is the digest of the request."""
        if self._keep is not None:
            self._keep(getattr(self._thread, "call", ""), model, key, request, outcome, text, usage)

    def charge(self, usage: Usage, model: str = "") -> None:
        """Count what an answer of a model cost."""
        try:
            if self._book is not None:
                self._book(getattr(self._thread, "call", ""), usage, model)
        finally:
            with self._changed:
                self.spent += usage
                self._changed.notify_all()

    @contextmanager
    def reserved(self, tokens: int, money: float, before: str = "") -> Iterator[None]:
        """Set aside the most that a request can cost while it is under way; its answer is to be charged inside.

        Where it does not fit beside what others have set aside, waits for them. Raises BudgetSpentError where it does
        not fit at all; its message ends in what happened `before`.
        """
        with self._changed:
            while not self._fits(tokens, money):
                if not self._open:
                    raise BudgetSpentError(self._refusal(tokens, money) + before)
                self._changed.wait()
            self._open += 1
            self._reserved_tokens += tokens
            self._reserved_money += money
        try:
            yield
        finally:
            with self._changed:
                self._open -= 1
                self._reserved_tokens -= tokens
                self._reserved_money = self._reserved_money - money if self._open else 0.0
                self._changed.notify_all()

    def _fits(self, tokens: int, money: float) -> bool:
        if self.tokens is not None and self.spent.tokens + self._reserved_tokens + tokens > self.tokens:
            return False
        return self.money is None or self.spent.money + self._reserved_money + money <= self.money

    def _refusal(self, tokens: int, money: float) -> str:
        parts = []
        if self.tokens is not None:
            parts.append(f"{self.spent.tokens:,} of {self.tokens:,} tokens are spent, the request may take {tokens:,}")
        if self.money is not None:
            parts.append(f"{self.spent.money:.4g} of {self.money:g} money is spent, the request may take {money:.4g}")
        return "not sent, to keep within the budget: " + "; ".join(parts)

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "_changed": None,
            "_thread": None,
            "_book": None,
            "_keep": None,
        }  # a copy keeps its own account

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_locks()
