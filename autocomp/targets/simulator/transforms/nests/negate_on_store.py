"""Negate on store: the scale of the move out changes signs, instead of the host after a fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts, Site, pointer
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import name_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.edit import takes_scale
from autocomp.targets.simulator.transforms.straight.program import is_written_out, known_program, program_of
from autocomp.targets.simulator.transforms.straight.signs import negated_by_stores, negated_tensors
from autocomp.targets.simulator.transforms.syntax.affine import Affine, literal
from autocomp.targets.simulator.transforms.syntax.loops import loop
from autocomp.targets.simulator.transforms.syntax.nest import enclosing
from autocomp.targets.simulator.transforms.syntax.rewrite import (
    Path,
    blocks,
    names,
    rewrite_statements,
    statement_at,
    substitute,
    with_body,
)

_CYCLES = 50.0  # that the host takes for a few elements, with the fence's share, roughly


class NegateOnStore(Transformation):
    name = "negate_on_store"
    title = "Let the move out change signs"
    takes = ("tensor",)
    order = 220
    causes = ("Fence", "Host")
    uses = ("store", "configuration")
    after = ("load_once",)
    guidance = """
    Where the host negates what was just stored, let the command that moves results out multiply by -1, and put the
    scale back afterwards. Signs of operands can come with their loads in the same way.
    It pays when the host touches every element of a result after a fence (Fence, Host).
    Watch for: the scale holds for all stores until it is configured again; rounding and saturation come after it.
    """
    example = """
    store(u); fence(); for (…) u[…] = -u[…];  ->  configure_store(-1.0); store(u); configure_store(1.0); fence();
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """Each tensor whose elements the host negates where they lie."""
        saved: dict[str, float] = {}
        if is_written_out(facts):
            program = known_program(facts)
            negated = {} if program is None else negated_tensors(program)
            saved = {name: _CYCLES * count for name, count in negated.items()}
        else:
            saved = {negated.tensor: _CYCLES for negated in _negations(facts)}
        return [
            Proposal({"tensor": name}, f"the scale of the store negates {name}, not the host", gain)
            for name, gain in saved.items()
        ]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensor` is stored by one call, and then negated by a nest of the host's, in the same block and over as many
        elements. Its store's scale becomes -1, and 1 again for the stores that follow. In a kernel that is written out,
        any number of stores of it are each negated as a whole."""
        tensor = name_of(parameters, "tensor")
        if is_written_out(facts):
            return negated_by_stores(program_of(facts), tensor)
        negations = [one for one in _negations(facts) if one.tensor == tensor]
        stores = [s for s in facts.sites if s.kind == "store" and s.pointer is not None and s.pointer.tensor == tensor]
        if len(negations) != 1 or len(stores) != 1:
            raise NotApplicable(f"{tensor!r} is not stored by one call and then negated by one nest of the host's")
        store, negation = stores[0], negations[0]
        if store.path[:-1] != negation.path[:-1] or store.path > negation.path:
            raise NotApplicable(f"the host does not negate {tensor!r} in the block that stores it, after the store")
        count = (store.highest("rows") or 0) * (store.highest("cols") or 0)
        if count != negation.count:
            raise NotApplicable(f"the store moves {count} elements of {tensor!r}, the host negates {negation.count}")
        block = _statements_around(facts, store)
        if any(tensor in names(block[n]) for n in range(store.path[-1] + 1, negation.path[-1])):
            raise NotApplicable(f"{tensor!r} is used between its store and its negation")
        if store.pointer is None or _padded(store.pointer.subscripts, len(negation.first)) != negation.first:
            raise NotApplicable(f"the store of {tensor!r} does not start where the negation does")
        minus, plain = _settings(facts, store)

        def change(statement: ast.Statement, path: Path) -> tuple[ast.Statement, ...] | None:
            if path == store.path:
                return (minus, statement, plain)
            return () if path == negation.path else None

        return with_body(facts.kernel, rewrite_statements(facts.body, change))


@dataclass(frozen=True)
class _Negation:
    """A nest that negates `count` elements of a tensor, each once, from the `first` on."""

    tensor: str
    path: Path
    count: int
    first: tuple[Affine, ...]  # subscripts


def _negations(facts: Facts) -> list[_Negation]:
    negations: list[_Negation] = []

    def look(statement: ast.Statement, path: Path) -> None:
        around = [item for outer in enclosing(facts.body, path) if (item := loop(outer)) is not None]
        element = _negated(statement)
        if element is None:
            return
        # Outwards from the assignment as long as a loop holds nothing else and selects the element.
        count, home, start = 1, path, {}
        while around and around[-1].variable in names(element):
            outer = enclosing(facts.body, home[:-1])[-1] if len(home) > 1 else None
            if outer is None or loop(outer) != around[-1] or len(blocks(outer)[0].statements) != 1:
                break
            item = around.pop()
            start[item.variable] = literal(0)
            count, home = count * item.trips, home[:-1]
        where = pointer(substitute(element, start))
        if where is not None:
            negations.append(_Negation(where.tensor, home, count, where.subscripts))

    rewrite_statements(facts.body, look)
    return negations


def _statements_around(facts: Facts, store: Site) -> tuple[ast.Statement, ...]:
    """The statements of the block that holds a call."""
    if len(store.path) == 1:
        return facts.body.statements
    return tuple(s for held in blocks(statement_at(facts.body, store.path[:-1])) for s in held.statements)


def _padded(subscripts: Sequence[Affine], length: int) -> tuple[Affine, ...]:
    """Subscripts with those that C leaves out as 0."""
    return (*subscripts, *(Affine(0),) * (length - len(subscripts)))


def _negated(statement: ast.Statement) -> ast.Expression | None:
    """The element of `T[…] = -T[…]`, or None."""
    if not isinstance(statement, ast.ExpressionStatement) or not isinstance(statement.expression, ast.Assignment):
        return None
    given = statement.expression
    if given.operator or not isinstance(given.target, ast.Index):
        return None
    return given.target if given.value == ast.Unary("-", given.target) else None


def _settings(facts: Facts, store: Site) -> tuple[ast.Statement, ast.Statement]:
    """The configurations of the store in force, with -1 and with 1 as its scale."""
    read = store.role.role.states_read
    settings = [s for s in facts.sites if s.kind == "configuration" and s.role.role.states_written & read]
    before = [site for site in settings if site.path < store.path]
    if not before:
        raise NotApplicable(f"no call configures {store.call.function}")
    present = before[-1]
    scaled = next((form for form in facts.machine.roles.values() if takes_scale(facts, present.role, form)), None)
    if scaled is None:
        raise NotApplicable(f"no form of {present.call.function} takes a scale")
    call = replace(present.call, function=scaled.name)
    one = ast.FloatLiteral(1.0, single=True, text="1.0f")
    minus = replace(call, arguments=(*call.arguments, ast.Unary("-", one)))
    return ast.ExpressionStatement(minus), ast.ExpressionStatement(replace(call, arguments=(*call.arguments, one)))
