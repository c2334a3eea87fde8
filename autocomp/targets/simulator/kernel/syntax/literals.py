"""Numbers as a kernel writes them: C's integers with their suffixes, and floats."""

from __future__ import annotations

import math

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.lexer import Token, at

LITERAL_BITS = 64


def literal_value(digits: str) -> int:
    """The value of an integer literal without its suffix: decimal, 0x, 0b, or octal by a leading 0."""
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
        return int(digits, 8)
    return int(digits, 0)


def integer_literal(token: Token) -> ast.IntLiteral:
    """The node of an integer. Raises KernelError for more than 64 bits, and for a suffix that C does not know."""
    text = token.value
    if len(text) < 19 and text.isdigit() and (text[0] != "0" or text == "0"):  # nearly all of them
        return ast.IntLiteral(int(text), text, "", token.line, token.column)
    digits = text.rstrip("uUlL")
    suffix = "".join(sorted(text[len(digits) :].lower(), reverse=True))
    if suffix not in ("", "u", "l", "ul", "ll", "ull"):
        raise at(token, f"{suffix!r} is not a suffix of an integer", hint="the suffixes are u, l, ul, ll, ull")
    if len(digits) > LITERAL_BITS + 2 or (digits.isdigit() and len(digits) > 22):
        raise at(token, f"this integer does not fit into {LITERAL_BITS} bits")
    try:
        value = literal_value(digits)
    except ValueError:
        raise at(token, f"{text!r} is not an octal number, which a leading 0 says it is") from None
    if value >= 1 << LITERAL_BITS:
        raise at(token, f"{digits} does not fit into {LITERAL_BITS} bits")
    return ast.IntLiteral(value, text, suffix, token.line, token.column)


def float_literal(token: Token) -> ast.FloatLiteral:
    """The node of a float. Raises KernelError for one that a double cannot hold."""
    text = token.value
    value = float(text.rstrip("fFlL"))
    if math.isinf(value):
        raise at(token, f"{text} is too large for a double")
    return ast.FloatLiteral(value, text[-1] in "fF", text, token.line, token.column)
