"""The budget of a search: evaluations, seconds, tokens and money, each None where it has no bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from autocomp.errors import ConfigError
from autocomp.search.options import Options


@dataclass(frozen=True)
class Budget:
    """Seconds of wall-clock time; tokens of language models, prompts and answers together; money in the currency of the
    prices stated for the models."""

    evaluations: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None

    @classmethod
    def of(cls, options: Options) -> Budget:
        return cls(options.evaluations, options.seconds, options.tokens, options.money)

    @classmethod
    def granted(cls, event: Mapping[str, Any]) -> Budget:
        """The budget that a `grant` event of a log adds."""
        return cls(**{part.name: event[part.name] for part in fields(cls)})

    def within(self, options: Options) -> Options:
        """The options with this budget."""
        return options.replace(**asdict(self))

    def over_models(self, options: Options) -> Options:
        """The options with the bounds on tokens and money that this budget has."""
        tokens = options.tokens if self.tokens is None else self.tokens
        money = options.money if self.money is None else self.money
        return options.replace(tokens=tokens, money=money)

    def shared(self, parts: int) -> tuple[Budget, ...]:
        """Equal shares; what does not divide goes to the first. Raises ConfigError if there is not an evaluation for
        each."""
        if self.evaluations is not None and self.evaluations < parts:
            raise ConfigError(
                f"--evaluations {self.evaluations} is too few for {parts} workloads", hint="each needs one at least"
            )
        return tuple(
            Budget(
                _whole(self.evaluations, parts, position),
                None if self.seconds is None else self.seconds / parts,
                _whole(self.tokens, parts, position),
                None if self.money is None else self.money / parts,
            )
            for position in range(parts)
        )

    def __add__(self, other: Budget) -> Budget:
        """Both together; unbounded where either is."""
        both: dict[str, Any] = {name: _sum(value, getattr(other, name)) for name, value in asdict(self).items()}
        return Budget(**both)

    def left(self, spent: Budget) -> Budget:
        """The rest after spending; never less than nothing."""
        rest: dict[str, Any] = {name: _rest(value, getattr(spent, name)) for name, value in asdict(self).items()}
        return Budget(**rest)


def _rest(value: float | None, used: float | None) -> float | None:
    return None if value is None else max(0, value - (used or 0))


def _whole(total: int | None, parts: int, position: int) -> int | None:
    return None if total is None else total // parts + (position < total % parts)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
