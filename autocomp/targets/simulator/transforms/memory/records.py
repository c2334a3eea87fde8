"""Records of the configuration: one for each setting, where moves share one whose settings alternate in a loop.

`config(0, s); load(0, A); config(0, t); load(0, B);` becomes `config(0, s); load(0, A); config(1, t); load(1, B);`, so
that each setting holds throughout, and can be made once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site
from autocomp.targets.simulator.transforms.syntax.affine import constant_of, literal
from autocomp.targets.simulator.transforms.syntax.rewrite import Path, rewrite_statements, with_body


def with_own_records(facts: Facts) -> Facts:
    """The facts with another record for each setting of one that several share, where there are enough and it is told
    which setting every move relies on; else as they are."""
    calls: dict[Path, ast.Call] = {}
    taken = {(record, site.selector) for site in facts.sites for record in _records(site)}
    for record, settings in _alternating(facts):
        groups = _groups(facts, record, settings)
        count = next((state.count for state in facts.accelerator.states if state.name == record), 0)
        free = [number for number in range(count) if (record, number) not in taken]
        if groups is None or len(groups) - 1 > len(free):
            continue
        for number, sites in zip(free, groups[1:], strict=False):
            changed = {site.path: _with_selector(facts, site, number) for site in sites}
            taken.add((record, number))
            calls.update({path: call for path, call in changed.items() if call is not None})
            if None in changed.values():
                return facts
    if not calls:
        return facts

    def change(statement: ast.Statement, path: Path) -> ast.Statement | None:
        return ast.ExpressionStatement(calls[path]) if path in calls else None

    return facts.with_kernel(with_body(facts.kernel, rewrite_statements(facts.body, change)))


def _records(site: Site) -> set[str]:
    return {state for state, _ in site.role.role.states_read | site.role.role.states_written}


def _alternating(facts: Facts) -> Iterator[tuple[str, list[Site]]]:
    """Records, by number, that are set to different values in turn, some of them in loops."""
    settings = [site for site in facts.sites if site.kind == "configuration" and site.selector is not None]
    known = {(record, site.selector) for site in settings for record in _records(site)}
    for record, number in sorted(known, key=str):
        sites = [site for site in settings if record in _records(site) and site.selector == number]
        if len({site.call for site in sites}) > 1 and any(site.loops for site in sites):
            yield record, sites


def _groups(facts: Facts, record: str, settings: Sequence[Site]) -> list[list[Site]] | None:
    """The calls of a record by what they set, or rely on; None where that is not told."""
    groups: dict[ast.Call, list[Site]] = {}
    for setting in settings:
        groups.setdefault(setting.call, []).append(setting)
    for site in facts.sites:
        if site in settings or record not in _records(site) or site.selector not in (None, settings[0].selector):
            continue
        before = [setting for setting in settings if setting.path < site.path]
        if not before or not _holds_at(before[-1], site, settings):
            return None
        groups[before[-1].call].append(site)
    return list(groups.values())


def _holds_at(setting: Site, site: Site, settings: Sequence[Site]) -> bool:
    """True if a setting is made whenever a later call is reached, with no other in between, also across iterations."""
    around = setting.path[:-1]
    dominates = site.path[: len(around)] == around and site.guards[: len(setting.guards)] == setting.guards
    inner = set(site.loop_paths) - set(setting.loop_paths)
    return dominates and all(other.call == setting.call or inner.isdisjoint(other.loop_paths) for other in settings)


def _with_selector(facts: Facts, site: Site, number: int) -> ast.Call | None:
    """The call in a form that uses another record; None if the machine has none."""
    operands: dict[str, ast.Expression] = {name: _literal(value) for name, value in site.role.fixed.items()}
    for parameter, argument in zip(site.parameters, site.call.arguments, strict=True):
        if parameter is None:
            return None
        operands[parameter.name] = argument
    operands.update({name: literal(number) for name, word in site.role.role.parameters.items() if word == "selector"})
    forms = facts.machine.roles.items()
    for (name, arity), role in sorted(forms, key=lambda form: _distance(site.call, *form[0])):
        parameters = [parameter.name for parameter in facts.machine.parameters[name, arity] if parameter is not None]
        fixed = all(_value(operands.get(key)) == value for key, value in role.fixed.items())
        complete = len(parameters) == arity and {*parameters, *role.fixed} == operands.keys()
        if role.instruction == site.role.instruction and fixed and complete:
            return ast.Call(name, tuple(operands[parameter] for parameter in parameters))
    return None


def _distance(call: ast.Call, name: str, arity: int) -> tuple[bool, int]:
    """The distance of a form from a call, by name and number of arguments."""
    return not name.startswith(call.function), abs(arity - len(call.arguments))


def _literal(value: int | float) -> ast.Expression:
    return literal(value) if isinstance(value, int) else ast.FloatLiteral(value, True, f"{value}f")


def _value(node: ast.Expression | None) -> int | float | None:
    if isinstance(node, ast.FloatLiteral):
        return node.value
    return None if node is None else constant_of(node, {"true": (1, 1), "false": (0, 0)})
