"""A parsing loop over the LALR tables that lark makes of a grammar.

lark's own loop hashes a rule for each reduction, wants tokens that are strings with attributes, and calls a builder for
each node that is its only child. This one looks one action up and moves on, which is several times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from lark import Lark
from lark.grammar import Rule
from lark.lexer import LexerThread
from lark.parsers.lalr_analysis import Shift

END = "$END"

_Build = Callable[[list[Any]], Any]
_Reduction = tuple[int, _Build | None, dict[int, int]]  # see _reduction
_Action = int | _Reduction  # an integer is the state that a shift leads to


class UnexpectedToken(Exception):
    """A token where it may not stand, None for the end of the text, and the terminals that may stand there."""

    def __init__(self, token: Any, expected: frozenset[str]) -> None:
        super().__init__(token, expected)
        self.token = token
        self.expected = expected


class LalrParser:
    """Parses by the tables and with the callbacks of a `Lark` of one start symbol, made with parser="lalr"."""

    def __init__(self, lark: Lark) -> None:
        tables = lark.parser.parser.parser
        states: Mapping[int, Mapping[str, tuple[Any, Any]]] = tables.parse_table.states
        (self._first,) = tables.parse_table.start_states.values()
        (self._last,) = tables.parse_table.end_states.values()
        gotos: dict[str, dict[int, int]] = {}
        for state, row in states.items():
            for symbol, (_, target) in row.items():
                if not _is_terminal(symbol):
                    gotos.setdefault(symbol, {})[state] = target
        reductions = {rule: _reduction(rule, build, gotos) for rule, build in tables.callbacks.items()}
        self._lexer = lark.parser.lexer
        self._rows: dict[int, dict[str, _Action]] = {
            state: {
                symbol: target if action is Shift else reductions[target]
                for symbol, (action, target) in row.items()
                if _is_terminal(symbol)
            }
            for state, row in states.items()
        }

    def parse(self, tokens: Iterable[Any]) -> Any:
        """The result of the callbacks on tokens, whose `type` names a terminal. Raises UnexpectedToken."""
        return self._parsed(tokens, [self._first])

    def parse_text(self, text: str) -> Any:
        """The same for a text, which lark's lexer cuts into the tokens that may stand where they are met. Raises
        UnexpectedToken, and what that lexer raises."""
        states = [self._first]
        tokens = LexerThread.from_text(self._lexer, text).lex(_Met(states))  # type: ignore[no-untyped-call]
        return self._parsed(tokens, states)

    def _parsed(self, tokens: Iterable[Any], states: list[int]) -> Any:
        rows, last = self._rows, self._last
        values: list[Any] = []
        for token in chain(tokens, (None,)):
            kind = END if token is None else token.type
            while True:
                action = rows[states[-1]].get(kind)
                if type(action) is int:
                    states.append(action)
                    values.append(token)
                    break
                if action is None:
                    raise UnexpectedToken(token, self._expected(states))
                size, build, goto = action  # type: ignore[misc]
                if build is None:
                    states[-1] = goto[states[-2]]
                elif size:
                    values[-size:] = (build(values[-size:]),)
                    del states[-size:]
                    states.append(goto[states[-1]])
                else:
                    values.append(build([]))
                    states.append(goto[states[-1]])
                if states[-1] == last:
                    return values[0]
        raise AssertionError("the end of the text is an error or reaches the last state")

    def _expected(self, states: list[int]) -> frozenset[str]:
        """The terminals that may follow: some of a row's reductions lead to states that do not take the terminal."""
        return frozenset(terminal for terminal in self._rows[states[-1]] if self._takes(terminal, list(states)))

    def _takes(self, terminal: str, states: list[int]) -> bool:
        while states[-1] != self._last:
            action = self._rows[states[-1]].get(terminal)
            if action is None or isinstance(action, int):
                return action is not None
            size, _, goto = action
            del states[len(states) - size :]
            states.append(goto[states[-1]])
        return True


class _Met:
    """Where a parser stands, as lark's lexers ask for it."""

    def __init__(self, states: Sequence[int]) -> None:
        self._states = states

    @property
    def position(self) -> int:
        return self._states[-1]


def _is_terminal(symbol: str) -> bool:
    return symbol.isupper()


def _reduction(rule: Rule, build: _Build, gotos: Mapping[str, dict[int, int]]) -> _Reduction:
    """The number of a rule's children, the builder of their node (None where the node is the only child), and the state
    that follows by the state in front of them."""
    hidden = any(child.name.startswith("_") or getattr(child, "filter_out", False) for child in rule.expansion)
    passes = len(rule.expansion) == 1 and rule.options.expand1 and not rule.alias and not hidden
    return len(rule.expansion), None if passes else build, gotos.get(rule.origin.name, {})
