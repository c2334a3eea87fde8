"""Random changes of a kernel that alter what it means: an index, a bound, a constant, an operator, a command."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from autocomp.targets.simulator.kernel.syntax import ast

Path = tuple[tuple[str, int | None], ...]  # from the kernel down: fields, and positions in those that are tuples
OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "|": "&", "&": "|", "<<": ">>", ">>": "<<"}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


class Mutable:
    """A kernel, with the places where each sort of change finds something."""

    def __init__(self, kernel: ast.Kernel) -> None:
        self.kernel = kernel
        places = list(nodes(kernel))
        self._places = {
            name: [(path, node) for path, node in places if change(node, Random(0)) is not None]
            for name, change in CHANGES
        }

    def mutant(self, random: Random) -> tuple[str, ast.Kernel] | None:
        """One change, with its name, or None where the chosen sort of change finds nothing."""
        name, change = random.choice(CHANGES)
        if not self._places[name]:
            return None
        path, node = random.choice(self._places[name])
        changed = change(node, random)
        return None if changed is None or changed == node else (name, _with(self.kernel, path, changed))


def nodes(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All nodes of a tree with their paths."""
    yield path, node
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for position, item in enumerate(value):
                if dataclasses.is_dataclass(item):
                    yield from nodes(item, (*path, (field.name, position)))
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield from nodes(value, (*path, (field.name, None)))


def _with(node: Any, path: Path, changed: Any) -> Any:
    """The tree with another node at a path."""
    if not path:
        return changed
    (name, position), *rest = path
    value = getattr(node, name)
    if position is None:
        return dataclasses.replace(node, **{name: _with(value, tuple(rest), changed)})
    items = (*value[:position], _with(value[position], tuple(rest), changed), *value[position + 1 :])
    return dataclasses.replace(node, **{name: items})


def _constant(node: Any, random: Random) -> Any:
    """An integer a little larger or smaller, doubled, halved or 0."""
    if not isinstance(node, ast.IntLiteral):
        return None
    value = random.choice([node.value + 1, node.value - 1, node.value * 2, node.value // 2, 0, node.value ^ 1 << 30])
    return ast.IntLiteral(value) if 0 <= value < 1 << 32 else None


def _factor(node: Any, random: Random) -> Any:
    """A float by the smallest step, or by a lot."""
    if not isinstance(node, ast.FloatLiteral):
        return None
    value = node.value * random.choice([1 + 2.0**-23, 1 - 2.0**-24, 0.5, 2.0, -1.0])
    return ast.FloatLiteral(abs(value), node.single)


def _operator(node: Any, random: Random) -> Any:
    if not isinstance(node, ast.Binary) or node.operator not in OPERATORS:
        return None
    return dataclasses.replace(node, operator=OPERATORS[node.operator])


def _comparison(node: Any, random: Random) -> Any:
    if not isinstance(node, ast.Binary) or node.operator not in COMPARISONS:
        return None
    return dataclasses.replace(node, operator=COMPARISONS[node.operator])


def _index(node: Any, random: Random) -> Any:
    """An index one further on or back."""
    if not isinstance(node, ast.Index):
        return None
    return dataclasses.replace(node, index=ast.Binary(random.choice("+-"), node.index, ast.IntLiteral(1)))


def _operand(node: Any, random: Random) -> Any:
    """Two arguments of a command exchanged, or one that becomes another."""
    if not isinstance(node, ast.Call) or len(node.arguments) < 2:
        return None
    first, second = random.sample(range(len(node.arguments)), 2)
    arguments = list(node.arguments)
    if random.random() < 0.5:
        arguments[first], arguments[second] = arguments[second], arguments[first]
    else:
        arguments[first] = arguments[second]
    return dataclasses.replace(node, arguments=tuple(arguments))


def _offset(node: Any, random: Random) -> Any:
    """An argument of a command one larger or smaller."""
    if not isinstance(node, ast.Call) or not node.arguments:
        return None
    place = random.randrange(len(node.arguments))
    one = ast.Binary(random.choice("+-"), node.arguments[place], ast.IntLiteral(1))
    return dataclasses.replace(node, arguments=(*node.arguments[:place], one, *node.arguments[place + 1 :]))


def _choice(node: Any, random: Random) -> Any:
    """A conditional that always takes the same side."""
    return random.choice([node.then, node.otherwise]) if isinstance(node, ast.Conditional) else None


def _dropped(node: Any, random: Random) -> Any:
    """A block without one of its statements."""
    places = _movable(node)
    if not places:
        return None
    place = random.choice(places)
    return dataclasses.replace(node, statements=node.statements[:place] + node.statements[place + 1 :])


def _swapped(node: Any, random: Random) -> Any:
    """A block with two neighbouring statements exchanged."""
    places = [place for place in _movable(node) if place + 1 in _movable(node)]
    if not places:
        return None
    place = random.choice(places)
    statements = list(node.statements)
    statements[place], statements[place + 1] = statements[place + 1], statements[place]
    return dataclasses.replace(node, statements=tuple(statements))


def _repeated(node: Any, random: Random) -> Any:
    """A block with one of its commands twice."""
    places = [place for place in _movable(node) if isinstance(node.statements[place], ast.ExpressionStatement)]
    if not places:
        return None
    place = random.choice(places)
    statements = node.statements
    return dataclasses.replace(node, statements=(*statements[:place], statements[place], *statements[place:]))


def _without_fence(node: Any, random: Random) -> Any:
    places = [place for place in _movable(node) if _is_order(node.statements[place])]
    if not places:
        return None
    place = random.choice(places)
    return dataclasses.replace(node, statements=node.statements[:place] + node.statements[place + 1 :])


def _is_order(statement: Any) -> bool:
    """True if a statement is a fence, or a semaphore's wait or signal."""
    call = getattr(statement, "expression", None)
    words = ("fence", "wait", "signal")
    return isinstance(call, ast.Call) and any(word in call.function for word in words)


def _movable(node: Any) -> list[int]:
    """Positions of a block's statements other than declarations, without which nothing compiles."""
    if not isinstance(node, ast.Block):
        return []
    return [place for place, statement in enumerate(node.statements) if not isinstance(statement, ast.Declaration)]


def _condition(node: Any, random: Random) -> Any:
    """A branch always taken, or one whose sides are exchanged."""
    if not isinstance(node, ast.If):
        return None
    return dataclasses.replace(node, condition=ast.Unary("!", node.condition))


CHANGES: tuple[tuple[str, Callable[[Any, Random], Any]], ...] = (
    ("constant", _constant),
    ("float constant", _factor),
    ("operator", _operator),
    ("loop bound or comparison", _comparison),
    ("index", _index),
    ("operands exchanged", _operand),
    ("operand by one", _offset),
    ("conditional decided", _choice),
    ("statement dropped", _dropped),
    ("statements exchanged", _swapped),
    ("command repeated", _repeated),
    ("fence or semaphore removed", _without_fence),
    ("branch negated", _condition),
)
