"""Sums that wait in DRAM: a reduction in parts, one after the other.

Where few results fit into local memory, each block of them brings operands that all other blocks need too. Of a part
of the reduction more rows of an operand stay for all blocks. The sums of a part leave as they are, and return to be
added to in the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from autocomp.remember import remembered
from autocomp.targets.simulator.isa import model as m
from autocomp.targets.simulator.isa.derived.roles import instruction_roles
from autocomp.targets.simulator.isa.tree import element_bits
from autocomp.targets.simulator.kernel.code.types import BY_ELEMENT
from autocomp.targets.simulator.transforms.errors import NotApplicable
from autocomp.targets.simulator.transforms.scheduling.computation import Contraction, Dim, Operand, Subscript, Tensor
from autocomp.targets.simulator.transforms.scheduling.lifting.forms import form_of, initial_registers
from autocomp.targets.simulator.transforms.scheduling.lifting.moved import changed
from autocomp.targets.simulator.transforms.scheduling.lowering.leaves import Leaves, MoveLeaf
from autocomp.targets.simulator.transforms.scheduling.lowering.reading import move_leaf
from autocomp.targets.simulator.transforms.scheduling.lowering.tasks import Tasks


@dataclass(frozen=True)
class Returning:
    """The moves that store sums as they are, and load them."""

    store: MoveLeaf
    load: MoveLeaf


@remembered
def returning(leaves: Leaves) -> Returning | None:
    """Moves of the units that load and store, with no configuration and operands for all sizes; None without such."""
    stores = _moves(leaves, "store", leaves.store.instruction.unit)
    loads = _moves(leaves, "load", leaves.left.instruction.unit)
    store, load = next(stores, None), next(loads, None)
    return None if store is None or load is None or leaves.fence is None else Returning(store, load)


def _moves(leaves: Leaves, kind: str, unit: str | None) -> Iterator[MoveLeaf]:
    roles = instruction_roles(leaves.accelerator)
    for instruction in leaves.accelerator.instructions:
        if roles[instruction.name].kind == kind and instruction.unit == unit:
            leaf = _unchanged(leaves, instruction)
            if leaf is not None:
                yield leaf


def _unchanged(leaves: Leaves, instruction: m.Instruction) -> MoveLeaf | None:
    """An instruction as a move of sums that are not changed on the way; None where it is something else."""
    memory = leaves.memory("result")
    least = {"pointer": 1, "address": 0, "float": 1.0}
    operands = {p.name: least.get(p.kind, p.low or 0) for p in instruction.parameters}
    try:
        form = form_of(leaves.accelerator, instruction, operands, initial_registers(leaves.accelerator))
        if len(form.transfers) != 1 or any(form.mentioned()):
            return None
        (transfer,) = form.transfers
        if len(transfer.moved) != 1 or transfer.product is not None or transfer.adds or transfer.windows:
            return None
        sides = (transfer.target, transfer.moved[0].source)
        elements = {side.element for side in sides if side.pointer}
        alike = elements == {memory.element} and memory.name in {side.memory for side in sides}
        if not alike or changed(form.evaluate(transfer.moved[0].function)) is not None:
            return None
        leaf = move_leaf(form, ())
    except NotApplicable:
        return None
    return leaf if leaf.rows and leaf.columns and leaf.stride.operand else None


def part(computation: Contraction, leaves: Leaves | Tasks, returns: int, number: int) -> tuple[Contraction, Leaves]:
    """One of `returns` + 1 parts of a contraction, from number 0 on, and its commands. Raises NotApplicable where
    the machine or the contraction has no such parts."""
    if isinstance(leaves, Tasks) or computation.pooling is not None:
        raise NotApplicable("sums of whole tiles, or of images that are pooled, do not return from DRAM")
    moves = returning(leaves)
    if moves is None:
        raise NotApplicable("no moves store sums as they are and load them again")
    size = _size(computation, leaves, returns)
    first, extent = number * size, computation.extents[computation.depth]
    last = first + size >= extent
    if last is not (number == returns):
        raise NotApplicable(f"the reduction does not have {returns + 1} parts of whole tiles")
    sums = _waiting(computation, leaves)
    held = Dim(computation.depth, min(size, extent - first), True)
    of_part = replace(
        computation,
        dims=tuple(held if dim.name == computation.depth else dim for dim in computation.dims),
        left=_from(computation.left, computation.depth, first),
        right=_from(computation.right, computation.depth, first),
        added=(sums,) if number else computation.added,
        result=computation.result if last else sums,
        function=computation.function if last else None,
    )
    added = (moves.load,) if number else leaves.added
    return of_part, replace(leaves, added=added, store=leaves.store if last else moves.store)


def usual_part(computation: Contraction, leaves: Leaves | Tasks, returns: int) -> tuple[Contraction, Leaves]:
    """The part by which all are estimated: sums return to it, and it is as deep as the first one. Raises
    NotApplicable as `part` does."""
    deepest, _ = part(computation, leaves, returns, 0)
    later, commands = part(computation, leaves, returns, 1)
    return replace(later, dims=deepest.dims), commands


def _size(computation: Contraction, leaves: Leaves, returns: int) -> int:
    """Elements of the reduction in each part but the last: whole tiles."""
    tile = leaves.product.most["depth"]
    tiles = -(-computation.extents[computation.depth] // tile)
    return -(-tiles // (returns + 1)) * tile


def _from(operand: Operand, dim: str, first: int) -> Operand:
    """An operand from a coordinate of a dimension on."""

    def moved(subscript: Subscript) -> Subscript:
        return replace(subscript, constant=subscript.constant + subscript.factor(dim) * first)

    return replace(operand, subscripts=tuple(map(moved, operand.subscripts)))


def _waiting(computation: Contraction, leaves: Leaves | Tasks) -> Operand:
    """The sums between two parts, in a tensor like that of the results."""
    tensor = computation.result.tensor
    element = element_bits(leaves.memory("result").element) // 8
    return Operand(Tensor(f"{tensor.name}_sums", tensor.shape, element), computation.result.subscripts)


def declaration(computation: Contraction, leaves: Leaves | Tasks) -> str:
    """The declaration of the tensor in which sums wait."""
    tensor = _waiting(computation, leaves).tensor
    element = BY_ELEMENT[leaves.memory("result").element]
    return f"static {element} {tensor.name}{''.join(f'[{extent}]' for extent in tensor.shape)};"
