"""Drop fences: the host and DRAM need not wait where the machine keeps the order by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import prod

from autocomp.targets.simulator.isa.main_memory import longest_latency
from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.analysis.facts import Facts
from autocomp.targets.simulator.transforms.analysis.fences import is_fence
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.parameters import flag_of, number_of
from autocomp.targets.simulator.transforms.protocol import Parameters, Proposal, Transformation
from autocomp.targets.simulator.transforms.syntax.loops import loop
from autocomp.targets.simulator.transforms.syntax.nest import enclosing
from autocomp.targets.simulator.transforms.syntax.rewrite import Path, call_of, rewrite_statements, walk, with_body

_MOVES = ("load", "store")
_LATENCIES = 3  # of memory, in which everything stands still at a fence: stores end, then loads begin, and units fill


class DropFence(Transformation):
    name = "drop_fence"
    title = "Drop a fence that orders nothing"
    takes = ("fence", "loops")
    order = 230
    causes = ("Fence",)
    uses = ("synchronisation",)
    guidance = """
    A fence makes everything wait for everything. Only two accesses to the same DRAM, by units or by the host, at least
    one of them a write, need one between them; data that stays in local memory needs none.
    It pays when units wait on Fence.
    Watch for: results that are stored and loaded again, and results that the host reads or changes.
    """
    example = """
    store(x); fence(); load(y);  ->  store(x); load(y);
    """

    def candidates(self, facts: Facts) -> Sequence[Proposal]:
        """All fences in loops at once where no data need them. Then each fence but the one that ends the kernel:
        whether one is needed is for the memory discipline to say."""
        each = float(_LATENCIES * longest_latency(facts.accelerator))
        one_by_one = [
            Proposal({"fence": number}, f"commands go on without waiting at fence number {number}")
            for number, path in enumerate(_fences(facts))
            if path != (len(facts.body.statements) - 1,)
        ]
        count = sum(_times(facts, path) for path in _fences(facts) if _times(facts, path) > 1)
        if not count or not _only_moves_between(facts):
            return one_by_one
        reason = f"commands go on without waiting at {count} fences in loops, as nothing that is stored is loaded"
        return [Proposal({"loops": True}, reason, count * each), *one_by_one]

    def apply(self, facts: Facts, parameters: Parameters) -> ast.Kernel:
        """`fence` is the number of a fence in source order, from 0; with `loops`, all fences in loops are removed. The
        result is right only if no DRAM access of the host or of another unit relied on them, which the memory
        discipline checks."""
        if flag_of(parameters, "loops"):
            return _without(facts, [path for path in _fences(facts) if _times(facts, path) > 1])
        number = number_of(parameters, "fence", 0)
        fences = _fences(facts)
        if not 0 <= number < len(fences):
            raise NotApplicable(f"unknown fence {number}: the kernel has {len(fences)} fences, numbered from 0")
        return _without(facts, [fences[number]])


def _without(facts: Facts, gone: Collection[Path]) -> ast.Kernel:
    if not gone:
        raise NotApplicable("no loop contains a fence")
    body = rewrite_statements(facts.body, lambda statement, path: () if path in gone else None)
    return with_body(facts.kernel, body)


def _times(facts: Facts, path: Path) -> int:
    """The number of times that a statement runs."""
    return prod(item.trips for item in map(loop, enclosing(facts.body, path)) if item is not None)


def _elements(nodes: Iterable[object]) -> int:
    return sum(isinstance(node, ast.Index) for node in nodes)


def _only_moves_between(facts: Facts) -> bool:
    """True if no two accesses of DRAM need an order: the host makes none, and no tensor is both stored and loaded. Of
    local memory the machine has to keep the order by itself."""
    pointers = {kind: {s.pointer and s.pointer.tensor for s in facts.sites if s.kind == kind} for kind in _MOVES}
    nodes = list(walk(facts.body))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    by_host = _elements(nodes) > sum(_elements(walk(call)) for call in calls)
    known = all((call.function, len(call.arguments)) in facts.machine.roles for call in calls)
    tracked = bool(facts.accelerator.settings.get("hazards.tracked", 1))
    apart = None not in pointers["store"] and pointers["load"].isdisjoint(pointers["store"])
    return tracked and known and apart and not by_host


def _fences(facts: Facts) -> list[Path]:
    """Where the entry function calls what the description says is a fence."""
    fences: list[Path] = []

    def look(statement: ast.Statement, path: Path) -> None:
        call = call_of(statement)
        if call is not None and is_fence(facts.machine, call):
            fences.append(path)

    rewrite_statements(facts.body, look)
    return sorted(fences)
