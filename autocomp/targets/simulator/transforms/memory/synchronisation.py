"""Explicit synchronisation between units: pairs of a signal and the wait for it, and moving them out of loops.

A pair orders what the signalling unit did before against what the waiting unit does afterwards. In a loop in which the
signalling unit does nothing else, every pair but the first says nothing new. In one in which the waiting unit does
nothing else, every pair but the last has nobody to hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import MachineCalls
from autocomp.targets.simulator.transforms.syntax.loops import loop
from autocomp.targets.simulator.transforms.syntax.nest import Statements
from autocomp.targets.simulator.transforms.syntax.rewrite import blocks, call_of, names, walk, with_blocks


@dataclass(frozen=True)
class Pair:
    """A signal of one unit and the wait of another, next to each other."""

    signalling: str
    waiting: str
    statements: Statements


def outside_loops(machine: MachineCalls, given: Statements) -> Statements:
    """The statements with every pair as far out as it can be."""
    result: list[ast.Statement] = []
    for statement in given:
        inner = tuple(ast.Block(outside_loops(machine, held.statements)) for held in blocks(statement))
        changed = with_blocks(statement, inner) if inner else statement
        if loop(changed) is None:
            result.append(changed)
            continue
        before, kept, after = _sorted_out(machine, changed)
        result.extend((*before, *((kept,) if blocks(kept)[0].statements else ()), *after))
    return tuple(result)


def ordering(machine: MachineCalls, given: Statements, first: Statements, later: Statements) -> Statements:
    """The pair in the given statements that makes the units of the `later` statements after it wait for the units of
    the `first` before it. Empty without such a pair, as on a machine that orders the units itself."""
    signalling, waiting = (_working_units(machine, ast.Block(part)) for part in (first, later))
    for pair in _pairs(machine, given):
        if (pair.signalling, pair.waiting) in product(signalling, waiting):
            return pair.statements
    return ()


def _pairs(machine: MachineCalls, given: Statements) -> Iterator[Pair]:
    """All pairs in statements, and in what they hold."""
    for number, statement in enumerate(given):
        pair = _pair(machine, given[number : number + 2])
        if pair is not None:
            yield pair
        for held in blocks(statement):
            yield from _pairs(machine, held.statements)


def is_fence(machine: MachineCalls, call: ast.Call) -> bool:
    """True if a call waits until the accelerator is idle."""
    role = machine.roles.get((call.function, len(call.arguments)))
    instruction = machine.accelerator.instruction(role.instruction) if role is not None else None
    return instruction is not None and instruction.words.get("role") == "fence"


def make_fence(machine: MachineCalls) -> ast.Statement | None:
    """A call that waits until the accelerator is idle; None where the machine has none without operands."""
    calls = (ast.Call(name, ()) for name, arity in machine.roles if not arity)
    call_of_fence = next((call for call in calls if is_fence(machine, call)), None)
    return None if call_of_fence is None else ast.ExpressionStatement(call_of_fence)


def _sorted_out(machine: MachineCalls, statement: ast.Statement) -> tuple[Statements, ast.Statement, Statements]:
    """The statements that move in front of a loop, the loop without them, and the statements that move after it."""
    item = loop(statement)
    assert item is not None
    before: list[ast.Statement] = []
    after: list[ast.Statement] = []
    busy = _working_units(machine, statement)

    def visit(given: Statements) -> Statements:
        kept: list[ast.Statement] = []
        number = 0
        while number < len(given):
            pair = _pair(machine, given[number : number + 2])
            if pair is not None and item.variable not in names(ast.Block(pair.statements)):
                target = before if pair.signalling not in busy else after if pair.waiting not in busy else None
                if target is not None:
                    target.extend(pair.statements)
                    number += 2
                    continue
            conditional = given[number]
            if isinstance(conditional, ast.If) and conditional.otherwise is None:
                conditional = ast.If(conditional.condition, ast.Block(visit(conditional.then.statements)))
            kept.append(conditional)
            number += 1
        return tuple(kept)

    body = visit(blocks(statement)[0].statements)
    return tuple(before), with_blocks(statement, (ast.Block(body),)), tuple(after)


def _pair(machine: MachineCalls, given: Statements) -> Pair | None:
    calls = [call_of(statement) for statement in given]
    if len(calls) != 2 or calls[0] is None or calls[1] is None or calls[0].arguments != calls[1].arguments:
        return None
    (signal, signalling), (wait, waiting) = (_synchronises(machine, call) for call in calls if call is not None)
    return Pair(signalling, waiting, given) if (signal, wait) == ("signal", "wait") else None


def _synchronises(machine: MachineCalls, call: ast.Call) -> tuple[str, str]:
    """The effect of a call on a semaphore (signal, wait or nothing), and its unit."""
    role = machine.roles.get((call.function, len(call.arguments)))
    instruction = machine.accelerator.instruction(role.instruction) if role is not None else None
    if instruction is None:
        return "", ""
    word = instruction.words.get("role", "")
    return (word if word in ("signal", "wait") else ""), instruction.unit or ""


def _working_units(machine: MachineCalls, statement: ast.Statement) -> set[str]:
    """Units that do something other than synchronise."""
    calls = [node for node in walk(statement) if isinstance(node, ast.Call)]
    synchronising = [_synchronises(machine, call) for call in calls]
    return {unit for word, unit in synchronising if not word and unit}
