"""The integer constant expressions of `#if` and of enumerators, in 64 bits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from autocomp.targets.simulator.kernel.code.arithmetic import quotient, register

BINARY: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))},
    {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: _quotient(a, b), "%": lambda a, b: a - b * _quotient(a, b)},
)
UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": lambda a: int(not a),
}
MAX_DEPTH = 64


class Unknown(Exception):
    """An expression has no value. The message says why, and what to do."""


def value_of(words: Sequence[str], names: Mapping[str, int | float]) -> int:
    """The value of an expression, given as its words. Raises Unknown."""
    reader = _Reader(words, names)
    value = reader.conditional(0)
    if reader.word:
        raise Unknown(f"unexpected {reader.word!r} in this expression")
    return value


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise Unknown("division by zero in this expression")
    return quotient(a, b)


class _Reader:
    def __init__(self, words: Sequence[str], names: Mapping[str, int | float]) -> None:
        self._words = list(words)
        self._names = names
        self._at = 0

    @property
    def word(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _take(self) -> str:
        word = self.word
        self._at += 1
        return word

    def conditional(self, depth: int) -> int:
        condition = self._binary(0, depth)
        if self.word != "?":
            return condition
        self._take()
        then = self.conditional(depth + 1)
        if self._take() != ":":
            raise Unknown("expected ':' in this expression")
        otherwise = self.conditional(depth + 1)
        return then if condition else otherwise

    def _binary(self, level: int, depth: int) -> int:
        if level == len(BINARY):
            return self._unary(depth)
        value = self._binary(level + 1, depth)
        while self.word in BINARY[level]:
            apply = BINARY[level][self._take()]
            value = register(apply(value, self._binary(level + 1, depth)))
        return value

    def _unary(self, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise Unknown(f"this expression is nested more than {MAX_DEPTH} deep")
        word = self._take()
        if word in UNARY:
            return register(UNARY[word](self._unary(depth + 1)))
        if word == "(":
            value = self.conditional(depth + 1)
            if self._take() != ")":
                raise Unknown("expected ')' in this expression")
            return value
        return self._operand(word)

    def _operand(self, word: str) -> int:
        if word[:1].isdigit():
            digits = word.rstrip("uUlL")
            octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
            try:
                return register(int(digits, 8 if octal else 0))
            except ValueError:
                raise Unknown(f"{word!r} is not an integer") from None
        if word in ("true", "false"):
            return int(word == "true")
        if word in self._names:
            return register(int(self._names[word]))
        what = f"{word!r} has no value here" if word else "this expression ends too early"
        raise Unknown(what, f"give it one with `-D {word}=VALUE` or #define" if word.isidentifier() else "")
