"""Moving elements from one place of DRAM to another by way of local memory, with strides of the moves' own.

The accelerator does this as the kernel's loads and stores do, so that the host has no part in it. Their strides are
configured for it and put back afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autocomp.targets.simulator.isa.algebra import ONE, substitute
from autocomp.targets.simulator.isa.derived.regions import Write, writes
from autocomp.targets.simulator.isa.tree import AddressField, Element, Expression, Name, Number
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.calls import as_written
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.analysis.limits import address_field
from autocomp.targets.simulator.transforms.analysis.registers import known_values
from autocomp.targets.simulator.transforms.analysis.settings import stride_setting
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.syntax.affine import literal
from autocomp.targets.simulator.transforms.syntax.rewrite import with_arguments


def check_exact(facts: Facts, site: Site, memory: str) -> None:
    """Raises NotApplicable unless a load or store carries elements between DRAM and a local memory as they are, with
    the configuration in force while the kernel computes: neither scaled nor rounded, activated or pooled."""
    instruction = facts.accelerator.instruction(site.role.instruction)
    assert instruction is not None
    value = _known(facts, site, memory)
    known = writes(facts.accelerator, instruction)
    possible = [write for write in known if not _excluded(write, value) and _moves(write, site, memory)]
    if not possible or not all(_is_copy(write, site, memory) for write in possible):
        raise NotApplicable(f"{site.call.function} does not carry elements through {memory} as they are")


def _moves(write: Write, site: Site, memory: str) -> bool:
    """True if an assignment is one of a load to a local memory, or of a store to DRAM."""
    return write.target.element is not None if site.kind == "store" else write.target.memory == memory


def _is_copy(write: Write, site: Site, memory: str) -> bool:
    value = write.value
    if not isinstance(value, Element):
        return False
    return value.memory == memory if site.kind == "store" else value.element is not None


def _excluded(write: Write, value: Callable[[Expression], Expression | None]) -> bool:
    """True if one of the conditions on the way to an assignment is known not to hold."""
    judged = ((substitute(condition, value), wanted) for condition, wanted in write.path)
    return any(isinstance(outcome, Number) and bool(outcome.value) != wanted for outcome, wanted in judged)


def _known(facts: Facts, site: Site, memory: str) -> Callable[[Expression], Expression | None]:
    """A lookup of the values of registers, operands and the fields of an address that names rows of a memory."""
    registers = known_values(facts, site)
    pointers = {
        parameter.name for parameter in site.parameters if parameter is not None and parameter.kind == "pointer"
    }

    def value(part: Expression) -> Expression | None:
        if isinstance(part, AddressField):
            return address_field(facts, site, part, memory)
        return ONE if isinstance(part, Name) and part.name in pointers else registers(part)

    return value


def with_strides(
    facts: Facts, strides: Sequence[tuple[Site, int]], moving: Sequence[ast.Statement], home: int
) -> Iterator[ast.Statement]:
    """Moving statements between configurations that give loads and stores other DRAM strides, in bytes, and those that
    restore them, for the place before the kernel's statement number `home`. Raises NotApplicable unless all calls that
    configure these strides come before that place."""
    present = [(stride_setting(facts, site, home), stride) for site, stride in strides]
    for (setting, position, _), stride in present:
        yield ast.ExpressionStatement(with_arguments(as_written(facts, setting), {position: literal(stride)}))
    yield from moving
    for (setting, _, _), _ in present:
        yield ast.ExpressionStatement(as_written(facts, setting))
