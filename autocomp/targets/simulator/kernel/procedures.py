"""The procedures of an accelerator's description: which of them a kernel needs, as syntax trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from autocomp.errors import IsaError, KernelError
from autocomp.remember import remembered
from autocomp.targets.simulator.isa.model import Accelerator, Procedure
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.kernel.syntax.walk import walk


def called_by(kernel: ast.Kernel) -> tuple[str, ...]:
    """Functions that a kernel calls and its file does not define. A function of the file wins over a procedure."""
    own = {function.name for function in kernel.functions}
    names = (name for function in kernel.functions for name in _calls(function))
    return tuple(dict.fromkeys(name for name in names if name not in own))


def with_callees(names: Iterable[str], accelerator: Accelerator) -> tuple[ast.Kernel, ...]:
    """Those names that are procedures, and every procedure that they call, callees first; each a file of one function.

    Raises IsaError, with the place in the description, for a procedure that does not parse or comes to call itself.
    """
    known = {procedure.name: procedure for procedure in accelerator.all_procedures}
    instead = {name: other.procedure for name, other in accelerator.library.otherwise.items()}
    ordered: dict[str, ast.Kernel] = {}
    for name in names if known else ():
        if name in known:
            _visit(known[name], known, instead, ordered, ())
            if name in instead:
                _visit(known[instead[name]], known, instead, ordered, ())
    return tuple(ordered.values())


def _visit(
    procedure: Procedure,
    known: Mapping[str, Procedure],
    instead: Mapping[str, str],
    ordered: dict[str, ast.Kernel],
    callers: tuple[str, ...],
) -> None:
    if procedure.name in ordered:
        return
    if procedure.name in callers:
        chain = " calls ".join([*callers[callers.index(procedure.name) :], procedure.name])
        raise IsaError(f"procedures cannot be recursive: {chain}", place=procedure.place)
    source, line = (procedure.place.source, procedure.place.line) if procedure.place else ("<description>", 1)
    parsed = _parsed(procedure, source, line)
    for name in _calls(parsed.entry):
        for callee in (name, instead.get(name, "")):
            if callee in known:
                _visit(known[callee], known, instead, ordered, (*callers, procedure.name))
    ordered[procedure.name] = parsed


@lru_cache(maxsize=256)
def _parsed(procedure: Procedure, source: str, line: int) -> ast.Kernel:
    """The procedure's tree. Blank lines in front of its text give every node its line in the description."""
    try:
        kernel = parse("\n" * (line - 1) + procedure.text, source)
    except KernelError as error:
        raise IsaError(error.message, place=error.place, hint=error.hint) from None
    names = [function.name for function in kernel.functions]
    if names != [procedure.name]:
        raise IsaError(
            f"procedure {procedure.name!r} must define one function of its name; it defines {', '.join(names)}",
            place=procedure.place,
        )
    return kernel


@remembered
def _calls(function: ast.Function) -> tuple[str, ...]:
    return tuple(node.function for node in walk(function.body) if isinstance(node, ast.Call))
