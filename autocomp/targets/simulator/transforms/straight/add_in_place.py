"""Add in place: sums that the host makes of two stored results grow in local memory instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import names_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.straight.edit import Edit, load_like, scaled
from autocomp.targets.simulator.transforms.straight.elements import (
    Byte,
    Computed,
    Liveness,
    Origin,
    Term,
    computed,
    origins,
    touched,
)
from autocomp.targets.simulator.transforms.straight.footprint import Access
from autocomp.targets.simulator.transforms.straight.program import Program, known_program, program_of
from autocomp.targets.simulator.transforms.straight.sums import composed
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
    Where the host adds two stored results, let the second one accumulate on top of the first, and store the sum. Where
    it adds elements of a tensor to a result, load these first and let the result accumulate on top. For a difference,
    load an operand of one of the two with a scale of -1.
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
        groups = [] if program is None else _groups(composed(program))
        names = list(dict.fromkeys(sums[0].result[0][1:] for _, _, sums in groups))
        gain = _CYCLES * sum(len(sums) for _, _, sums in groups)
        return [Proposal({"tensors": names}, f"the host does not add up {', '.join(names)}", gain)] if names else []

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`tensors` (default: all) whose elements the host computes as sums or differences of two that were stored for
        that alone, or of one and an element that nothing writes. The elements of the earlier store, or those of the
        tensor, are added to those of the later one, which moves to the result."""
        wanted = names_of(parameters, "tensors")
        program = composed(program_of(facts))
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
    """Two summands of the host's, times signs: those of a store, and before them those of an `earlier` store, `shift`
    rows away, or elements of the tensor `loaded`, `distance` bytes after those of the store. The sums are `offset`
    bytes after those of the store, in `tensor`."""

    earlier: int | None
    later: int
    signs: tuple[float, float]
    shift: int
    tensor: str
    offset: int
    loaded: str = ""
    distance: int = 0


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
        found = [(origins(program, first, [term.element]), term) for term in element.terms]
        stored = sorted(((places[0], term) for places, term in found if places), key=lambda entry: entry[0].store)
        loaded = [term for places, term in found if not places]
        pairs[_pair(program, first, element, stored, loaded)] = None
        for origin, part in stored:
            name, byte = part.element
            covered.setdefault(origin.store, set()).update((name, byte + n) for n in range(element.size))
    used = [s for pair in pairs for s in (pair.earlier, pair.later) if s is not None]
    if len(set(used)) != len(used):
        raise NotApplicable("the elements of one store are added to those of several")
    for store, cells in covered.items():
        if cells != touched(program.steps[store]):
            raise NotApplicable("a store moves more elements than the host adds up")
    _used_for_that_alone(program, first, last, sums, covered)
    return list(pairs)


def _pair(
    program: Program, first: int, element: Computed, stored: Sequence[tuple[Origin, Term]], loaded: Sequence[Term]
) -> _Pair:
    """The pair of a sum's summands: those that were stored, the earlier one first, and those that were not."""
    if not stored:
        raise NotApplicable("the host adds up elements that no store moved out")
    two, other = stored[-1]
    name, offset = element.result[0][1:], element.result[1] - other.element[1]
    if loaded:
        (memory, byte), size = loaded[0].element, element.size
        written = (a for step in program.steps[:first] for a in step.dram(write=True) if a.memory == memory)
        if any(start < byte + size and byte < end for access in written for _, start, end in access.spans):
            raise NotApplicable("the host adds elements that no single store moved out")
        signs, distance = (loaded[0].sign, other.sign), byte - other.element[1]
        return _Pair(None, two.store, signs, 0, name, offset, memory[1:], distance)
    one, term = stored[0]
    if one.column != two.column or one.store == two.store:
        raise NotApplicable("the elements that the host adds up do not lie alike in local memory")
    return _Pair(one.store, two.store, (term.sign, other.sign), two.row - one.row, name, offset)


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
    """Lets one value grow from the writers of two, or from what a load brings."""
    program = edit.program
    (late,) = program.steps[pair.later].local(write=False)
    kept = edit.value_of(pair.later, late)
    if len(kept.readers) != 1:
        raise NotApplicable("results that are added up share rows with others: give values rows of their own first")
    scales = [1.0 if n is None else program.steps[n].factor for n in (pair.earlier, pair.later)]
    if None in scales or 0.0 in scales:
        raise NotApplicable("a store does not move its rows out as they are, or scaled")
    ratio = (pair.signs[0] * (scales[0] or 0)) / (pair.signs[1] * (scales[1] or 1))
    starting = _only_start(kept)
    if pair.earlier is None:
        _load_first(edit, pair, kept, ratio)
    else:
        (early,) = program.steps[pair.earlier].local(write=False)
        given = edit.value_of(pair.earlier, early)
        if given is kept or len(given.readers) != 1 or given.rows != kept.rows:
            raise NotApplicable("results that are added up share rows with others: give values rows of their own first")
        between = program.steps[given.first : kept.first]
        if any(a.meets(kept.uses[0][1]) for step in between for a in step.accesses):
            raise NotApplicable("the rows of the sum are in use before: give values rows of their own first")
        if ratio != 1.0:
            edit.scale_value(given, ratio)
        for number, access in given.writers:
            edit.point(number, access, kept.memory, pair.shift)
        starting = starting if given.first < kept.first else _only_start(given)
        edit.gone.add(pair.earlier)
    edit.add_to(*starting)
    if pair.signs[1] != 1.0:
        edit.scales[pair.later] = pair.signs[1]
    (written,) = program.steps[pair.later].dram(write=True)
    edit.targets[pair.later] = (pair.tensor, written.spans[0][1] + pair.offset)


def _load_first(edit: Edit, pair: _Pair, kept: Value, factor: float) -> None:
    """Inserts a load of elements, times a factor, into the rows of a value before its first write."""
    store = edit.program.steps[pair.later]
    (written,), (read,) = store.dram(write=True), store.local(write=False)
    step = load_like(edit.program, written, read, pair.loaded, pair.distance)
    settings = step.settings if factor == 1.0 else tuple(scaled(edit.program.facts, s, factor) for s in step.settings)
    if not kept.first:
        raise NotApplicable("no load is before the result")
    edit.behind.setdefault(kept.first - 1, []).append(replace(step, settings=settings))


def _only_start(value: Value) -> tuple[int, Access]:
    """The write that a value starts with, if it starts whole."""
    starts = [(number, access) for number, access in value.writers if not access.adds]
    if len(starts) != 1 or value.uses[0][1] is not starts[0][1]:
        raise NotApplicable("a result that is added up is started in parts")
    return starts[0]
