"""The configuration registers' values while a kernel computes, and the description's timing with these values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autocomp.remember import remember, remembered
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.algebra import substitute
from autocomp.targets.simulator.isa.derived.regions import effects
from autocomp.targets.simulator.isa.tree import Expression, Name, Number, StateField
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.syntax.affine import interval

Register = tuple[str, int | float | None, str]  # state record, index, field
_WORDS = {"true": (1, 1), "false": (0, 0)}
Effects = Mapping[tuple[str, Expression | None, str], Expression]


@remembered
def registers(facts: Facts) -> Mapping[Register, int | float]:
    """The values known after the configuring calls outside of all loops; initially those of the description."""
    values: dict[Register, int | float] = {}
    for record in facts.accelerator.states:
        for index in range(record.count) if record.count else (None,):
            values.update({(record.name, index, name): start for name, _, start in record.fields})
    for site in facts.sites:
        if site.kind == "configuration":
            known = _lookup(site, values)
            for (record_name, where, name), expression in _effects(facts.accelerator, site.role.instruction).items():
                chosen_index = None if where is None else substitute(where, known)
                result = substitute(expression, known)
                chosen = [k for k in values if k[::2] == (record_name, name) and _may_be(k[1], chosen_index)]
                for key in chosen:
                    if isinstance(result, Number) and len(chosen) == 1 and not site.loops:
                        values[key] = result.value
                    else:
                        del values[key]
    return values


def timing(facts: Facts, site: Site, key: str, default: float) -> float:
    """A property of a call's timing with its constant operands and the registers put in; the default where the
    description leaves it out or it depends on more."""
    instruction = facts.accelerator.instruction(site.role.instruction)
    expression = instruction.timing.get(key) if instruction is not None else None
    if expression is None:
        return default
    cycles = substitute(expression, known_values(facts, site))
    return cycles.value if isinstance(cycles, Number) else default


def known_values(facts: Facts, site: Site) -> Callable[[Expression], Expression | None]:
    """A lookup of the values of a call's operands and of the registers, where they are known."""
    return _lookup(site, registers(facts))


def _may_be(index: int | float | None, chosen: Expression | None) -> bool:
    return not isinstance(chosen, Number) or chosen.value == index


def _lookup(site: Site, values: Mapping[Register, int | float]) -> Callable[[Expression], Expression | None]:
    operands: dict[str, int | float] = dict(site.role.fixed)
    for parameter, argument in zip(site.parameters, site.call.arguments, strict=True):
        number = _number(argument)
        if parameter is not None and number is not None:
            operands[parameter.name] = number

    def value(part: Expression) -> Expression | None:
        if isinstance(part, Name) and part.name in operands:
            return Number(operands[part.name])
        if isinstance(part, StateField):
            index = None if part.index is None else substitute(part.index, value)
            key = (part.state, index.value if isinstance(index, Number) else None, part.field)
            return Number(values[key]) if key in values else None
        return None

    return value


def _number(argument: ast.Expression) -> int | float | None:
    if isinstance(argument, ast.FloatLiteral):
        return argument.value
    bounds = interval(argument, _WORDS)
    return bounds[0] if bounds is not None and bounds[0] == bounds[1] else None


def _effects(accelerator: m.Accelerator, name: str) -> Effects:
    instruction = accelerator.instruction(name)
    if instruction is None:
        return {}
    return remember(accelerator, f"{__name__}.effects", name, lambda: effects(accelerator, instruction))
