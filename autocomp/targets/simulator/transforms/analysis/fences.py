"""Fences: calls that wait until the accelerator is idle."""

from __future__ import annotations

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import MachineCalls


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
