"""Pieces of text that kernels are lowered to, and their statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from autocomp.errors import KernelError
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.transforms.scheduling.lowering.spelling import CallText
from autocomp.targets.simulator.transforms.syntax.nest import Statements
from autocomp.targets.simulator.transforms.syntax.rewrite import with_blocks

Lines = list[str]  # each a statement, what opens blocks and ends in `{`, or what closes them and begins with `}`
NOW, NEXT, LAST, THEN = "", "_next", "_last", "_then"  # of a step, the next one, and the blocks before and after


def minimum(*sides: str) -> str:
    """The least of several expressions."""
    least, *others = sides
    for other in others:
        least = f"({least} < {other} ? {least} : {other})"
    return least


def choice(condition: str, one: Sequence[CallText], other: Sequence[CallText]) -> Lines:
    """One call or the other: with a conditional operand, if they have a form in common, else by a branch."""
    for a in one:
        for b in other:
            joined = merged(condition, a, b)
            if joined is not None and len(joined.arguments) == len(one[0].arguments):
                return [str(joined)]
    return [f"if ({condition}) {{", str(one[0]), "} else {", str(other[0]), "}"]


def merged(condition: str, one: CallText, other: CallText) -> CallText | None:
    """Two calls of one form as one, with a conditional operand where they differ in no more than one; else None."""
    if one.name != other.name or len(one.arguments) != len(other.arguments):
        return None
    differing = [n for n, pair in enumerate(zip(one.arguments, other.arguments, strict=True)) if pair[0] != pair[1]]
    if len(differing) > 1:
        return None
    arguments = list(one.arguments)
    for at in differing:
        arguments[at] = f"(({condition}) ? {one.arguments[at]} : {other.arguments[at]})"
    return CallText(one.name, tuple(arguments))


def address(flags: int, space: m.AddressSpace, row: str) -> str:
    """An address: its fixed bits and a row."""
    low = space.field(space.row_field)[1]
    shifted = row if low == 0 else f"(({row}) << {low})"
    return f"({hex(flags)} + {shifted})" if flags else shifted


def statements_of(lines: Sequence[str]) -> Statements:
    """The statements of lines. Schedules share most lines, and so the nodes with what is known of them."""
    remaining = iter(lines)
    statements, closed = _until_closed(remaining)
    assert not closed, f"{closed!r} closes what is not open"
    return statements


def _until_closed(lines: Iterator[str]) -> tuple[Statements, str]:
    """The statements up to the line that closes the block around them, and that line; empty at the end of all."""
    statements: list[ast.Statement] = []
    for line in lines:
        if line.startswith("}"):
            return tuple(statements), line
        if not line.endswith("{"):
            statements.extend(_parsed(line))
            continue
        (head,) = _parsed(f"{line}}}")
        inside, closed = _until_closed(lines)
        if closed == "} else {" and isinstance(head, ast.If):
            other, closed = _until_closed(lines)
            statements.append(ast.If(head.condition, ast.Block(inside), ast.Block(other)))
        else:
            statements.append(with_blocks(head, (ast.Block(inside),)))
        assert closed == "}", f"{line!r} ends in {closed!r}"
    return tuple(statements), ""


@lru_cache(maxsize=4096)
def _parsed(line: str) -> Statements:
    """The statements of one line."""
    try:
        return parse(f"void body() {{ {line} }}", "<lowered kernel>").entry.body.statements
    except KernelError as error:  # a fault of ours: show it, do not hide it
        raise AssertionError(f"{error}\n{line}") from error
