"""Add in place: sums that the host makes of two stored results grow in local memory instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.edit import Edit
from autocomp.targets.simulator.transforms.straight.elements import Byte, Computed, Liveness, computed, origins, touched
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program, known_program, program_of
from autocomp.targets.simulator.transforms.straight.values import Value

_CYCLES = 30.0  # of the host for an element, with the fence's share


class AddInPlace(Transformation):
    name = "add_in_place"
    title = "Add results up in local memory"
    order = 280
    causes = ("Fence", "Host")
    uses = ("contraction", "store")
    after = ("negate_on_store",)
    guidance = """
    Where the host adds two stored results, let the second one accumulate on top of the first, and store the sum. For a
    difference, load an operand of one of the two with a scale of -1.
    It pays when the host touches every element of results after a fence (Fence, Host).
    Watch for: floating-point sums are added up in another order; results that are also used on their own stay.
    """
    example = """
    multiply(r); store(s, r); multiply(q); store(t, q); fence(); add(s, t, y);
      ->  multiply(r); multiply_add(r); store(y, r);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All sums of the host at once."""
        program = known_program(facts)
        groups = [] if program is None else _groups(program)
        names = list(dict.fromkeys(sums[0].result[0][1:] for _, _, sums in groups))
        gain = _CYCLES * sum(len(sums) for _, _, sums in groups)
        return [Proposal({"tensors": names}, f"the host does not add up {', '.join(names)}", gain)] if names else []

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` (default: all) whose elements the host computes as sums or differences of two that were stored for
        that alone. The elements of the earlier store are added to those of the later one, which moves to the result."""
        wanted = names_of(parameters, "tensors")
        program = program_of(facts)
        edit = Edit(program)
        for first, last, sums in _groups(program):
            if not wanted or sums[0].result[0][1:] in wanted:
                for pair in _pairs(program, first, last, sums):
                    _join(edit, pair)
                edit.gone.update(range(first, last))
        if not edit.gone:
            raise NotApplicable("the host adds up no two results that were stored for that alone")
        return edit.kernel()


@dataclass(frozen=True)
class _Pair:
    """Two stores whose elements, times signs, the host adds up to elements `offset` bytes after those of the later
    store, in `tensor`."""

    earlier: int
    later: int
    signs: tuple[float, float]
    shift: int  # rows from an element of the earlier one to that of the later one
    tensor: str
    offset: int


def _groups(program: Program) -> list[tuple[int, int, list[Computed]]]:
    """Stretches of steps in which the host adds up pairs of elements: their first step and the one after their last."""
    groups: list[tuple[int, int, list[Computed]]] = []
    for number, step in enumerate(program.steps):
        sums = list(computed(step))
        if not sums or any(len(element.terms) != 2 for element in sums):
            continue
        if groups and groups[-1][1] == number and groups[-1][2][0].result[0] == sums[0].result[0]:
            groups[-1] = (groups[-1][0], number + 1, [*groups[-1][2], *sums])
        else:
            groups.append((number, number + 1, sums))
    return groups


def _pairs(program: Program, first: int, last: int, sums: Sequence[Computed]) -> list[_Pair]:
    """The pairs of stores that a stretch of sums adds up."""
    pairs: dict[_Pair, None] = {}  # in order
    covered: dict[int, set[Byte]] = {}
    for element in sums:
        sources = origins(program, first, [term.element for term in element.terms])
        if sources is None:
            raise NotApplicable("the host adds up elements that no store moved out")
        (one, term), (two, other) = sorted(zip(sources, element.terms, strict=True), key=lambda entry: entry[0].store)
        if one.column != two.column or one.store == two.store:
            raise NotApplicable("the elements that the host adds up do not lie alike in local memory")
        offset = element.result[1] - other.element[1]
        signs = (term.sign, other.sign)
        pairs[_Pair(one.store, two.store, signs, two.row - one.row, element.result[0][1:], offset)] = None
        for origin, part in ((one, term), (two, other)):
            name, byte = part.element
            covered.setdefault(origin.store, set()).update((name, byte + n) for n in range(element.size))
    if len({s for pair in pairs for s in (pair.earlier, pair.later)}) != 2 * len(pairs):
        raise NotApplicable("the elements of one store are added to those of several")
    for store, cells in covered.items():
        if cells != touched(program.steps[store]):
            raise NotApplicable("a store moves more elements than the host adds up")
    _used_for_that_alone(program, first, last, sums, covered)
    return list(pairs)


def _used_for_that_alone(
    program: Program, first: int, last: int, sums: Sequence[Computed], covered: dict[int, set[Byte]]
) -> None:
    """Raises NotApplicable if something other than the sums uses what was stored, or the result before it is there."""
    results = {(e.result[0], e.result[1] + n) for e in sums for n in range(e.size)}
    start = min(covered)
    for number in range(start, first):
        others = touched(program.steps[number]) - covered.get(number, set())
        if others & (set().union(*covered.values()) | results):
            raise NotApplicable("what the host adds up is used for something else as well")
    alive = Liveness(program)
    for step in reversed(program.steps[last:]):
        alive.before(step)
    if any(alive.is_read(name, 0, byte) for cells in covered.values() for name, byte in cells - results):
        raise NotApplicable("what the host adds up is read later on")


def _join(edit: Edit, pair: _Pair) -> None:
    """Lets one value grow from the writers of two."""
    program = edit.program
    (early,), (late,) = (program.steps[n].local(write=False) for n in (pair.earlier, pair.later))
    given, kept = edit.value_of(pair.earlier, early), edit.value_of(pair.later, late)
    if given is kept or len(given.readers) != 1 or len(kept.readers) != 1 or given.rows != kept.rows:
        raise NotApplicable("results that are added up share rows with others: give values rows of their own first")
    between = program.steps[given.first : kept.first]
    if any(a.meets(kept.uses[0][1]) for step in between for a in step.accesses):
        raise NotApplicable("the rows of the sum are in use before: give values rows of their own first")
    scales = [program.steps[n].factor for n in (pair.earlier, pair.later)]
    if None in scales or 0.0 in scales:
        raise NotApplicable("a store does not move its rows out as they are, or scaled")
    ratio = (pair.signs[0] * (scales[0] or 0)) / (pair.signs[1] * (scales[1] or 1))
    if ratio != 1.0:
        edit.scale_value(given, ratio)
    for number, access in given.writers:
        edit.point(number, access, kept.memory, pair.shift)
    starting = _only_start(kept) if given.first < kept.first else _only_start(given)
    edit.add_to(*starting)
    if pair.signs[1] != 1.0:
        edit.scales[pair.later] = pair.signs[1]
    edit.gone.add(pair.earlier)
    (written,) = program.steps[pair.later].dram(write=True)
    edit.targets[pair.later] = (pair.tensor, written.spans[0][1] + pair.offset)


def _only_start(value: Value) -> tuple[int, Access]:
    """The write that a value starts with, if it starts whole."""
    starts = [(number, access) for number, access in value.writers if not access.adds]
    if len(starts) != 1 or value.uses[0][1] is not starts[0][1]:
        raise NotApplicable("a result that is added up is started in parts")
    return starts[0]
