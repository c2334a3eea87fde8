"""Calls of the system in a whole program: to print, to end, to read the clock."""

from __future__ import annotations

import re

from autocomp.targets.simulator.kernel.checking.expressions import Expressions
from autocomp.targets.simulator.kernel.checking.scope import Unit, describe
from autocomp.targets.simulator.kernel.code.arithmetic import convert, retype
from autocomp.targets.simulator.kernel.code.bytecode import Service
from autocomp.targets.simulator.kernel.code.typed import Constant, Select, Sequence, SystemCall, Value
from autocomp.targets.simulator.kernel.code.types import DOUBLE, INT, INT64, UINT64, VOID, Pointer, Scalar
from autocomp.targets.simulator.kernel.syntax import ast

# Functions of the C library, with their number of arguments (None: any).
SYSTEM: dict[str, int | None] = {
    "printf": None, "puts": 1, "putchar": 1, "perror": 1, "exit": 1, "abort": 0, "assert": 1, "clock": 0, "mlockall": 1,
}  # fmt: skip
ABORTED = 134  # the exit code of a program that aborts
FLOATING = "aAeEfFgG"
CONVERSION = re.compile(r"%([-+ #0]*)(\d*)(?:\.(\d+))?(?:hh|h|ll|l|j|z|t|L)?([a-zA-Z%])")


def conversions(text: str) -> list[str]:
    """The letters of a format's conversions, `%%` left out."""
    return [match.group(4) for match in CONVERSION.finditer(text) if match.group(4) != "%"]


class System:
    """The calls of the system in one function."""

    def __init__(self, unit: Unit, expressions: Expressions) -> None:
        self._unit = unit
        self._expressions = expressions

    def call(self, node: ast.Call) -> Value:
        """The typed form of a call of one of `SYSTEM`."""
        name, arguments = node.function, node.arguments
        expected = SYSTEM[name]
        if expected is not None and len(arguments) != expected:
            self._unit.fail(node, f"{name!r} takes {expected} argument{'s' * (expected != 1)}, not {len(arguments)}")
        if name == "clock":
            return SystemCall(UINT64, Service.Clock, (Constant(INT, 0),))
        if name == "mlockall":
            return Constant(INT, 0)  # all memory is there
        if name in ("exit", "abort"):
            code = self._expressions.scalar(arguments[0]) if arguments else Constant(INT, ABORTED)
            return SystemCall(INT, Service.Exit, (convert(code, INT),))
        if name == "assert":
            failed = f"Failed assertion: {self._unit.kernel.source_name}:{node.line}\n"
            stop = (self._print(failed), SystemCall(INT, Service.Exit, (Constant(INT, ABORTED),)))
            holds = self._expressions.condition(arguments[0])
            return Select(VOID, holds, Constant(VOID, 0), Sequence(VOID, stop, Constant(VOID, 0)))
        if name == "putchar":
            return self._print("%c", (convert(self._expressions.scalar(arguments[0]), INT64),))
        return self._printf(node)

    def _printf(self, node: ast.Call) -> Value:
        """`printf` and its like: the format is known, so that each argument has the type that it is shown as."""
        text = node.arguments[0] if node.arguments else None
        if not isinstance(text, ast.StringLiteral):
            self._unit.fail(node, f"the first argument of {node.function!r} must be text in quotes")
        if node.function != "printf":
            return self._print(text.value.replace("%", "%%") + "\n")
        kinds = conversions(text.value)
        given = node.arguments[1:]
        if len(kinds) != len(given):
            self._unit.fail(node, f"the format has {len(kinds)} conversions, the call {len(given)} arguments")
        return self._print(text.value, tuple(self._shown(k, a) for k, a in zip(kinds, given, strict=True)))

    def _print(self, text: str, arguments: tuple[Value, ...] = ()) -> Value:
        return SystemCall(INT, Service.Print, (self._message(text), *arguments))

    def _message(self, text: str) -> Constant:
        self._unit.messages.append(text)
        return Constant(INT64, len(self._unit.messages) - 1)

    def _shown(self, conversion: str, argument: ast.Expression) -> Value:
        if isinstance(argument, ast.StringLiteral) != (conversion == "s"):
            self._unit.fail(argument, "%s shows text in quotes, and no other conversion does")
        if isinstance(argument, ast.StringLiteral):
            return self._message(argument.value)
        value = self._expressions.value(argument)
        if isinstance(value.type, Pointer):
            return retype(value, INT64)
        if not isinstance(value.type, Scalar):
            self._unit.fail(argument, f"{describe(value.type)} cannot be printed")
        return convert(value, DOUBLE if conversion in FLOATING else INT64)
