"""The element types as which a machine's idioms load operands, as the semantics of their instructions say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autocomp.targets.simulator.isa.derived.regions import writes
from autocomp.targets.simulator.isa.model import Accelerator, Instruction
from autocomp.targets.simulator.kernel.code.types import NUMPY_NAMES
from autocomp.targets.simulator.start.idioms import AbsentError, instructions_called, types_of_operands
from autocomp.workload.model import Workload

TILE = "gemm_tile"


def check_operands(workload: Workload, accelerator: Accelerator) -> None:
    """Raises AbsentError where the idiom `gemm_tile` loads elements of another type than the workload's operands have.

    An idiom that loads by procedures alone is believed.
    """
    wanted = NUMPY_NAMES[workload.tensors[0].dtype]
    kept = _with_buffers_before(accelerator, types_of_operands(workload, accelerator))
    loads = {load.name: load for load in instructions_called(accelerator, TILE, "load")}
    loaded = {name: sorted(set(_loaded(accelerator, load, kept))) for name, load in loads.items()}
    if not loads or any((wanted, True) in types for types in loaded.values()):
        return
    told = ", ".join(f"{name} loads {' and '.join(dict.fromkeys(e for e, _ in f))}" for name, f in loaded.items())
    raise AbsentError(
        f"no starting kernel for {workload.name!r} can be made: its operands are {wanted}, and the idiom {TILE!r} of "
        f"{accelerator.full_name!r} cannot load those; {told}",
        hint="choose another `dtype`, or name a kernel to start from with `kernel:` in the workload",
    )


def _with_buffers_before(accelerator: Accelerator, kept: Mapping[str, set[str]]) -> Mapping[str, set[str]]:
    """The memories of operands, and those from which the idiom copies elements on to them."""
    types_by_memory = {name: set(types) for name, types in kept.items()}
    copies = [i for kind in ("copy", "elementwise") for i in instructions_called(accelerator, TILE, kind)]
    for _ in copies:  # as many memories as that, at most, one before the other
        for write in (write for copy in copies for write in writes(accelerator, copy)):
            types = types_by_memory.get(accelerator.home(write.target.memory).name, set())
            for read in write.reads:
                if types and read.element.element is None:
                    types_by_memory.setdefault(accelerator.home(read.element.memory).name, set()).update(types)
    return types_by_memory


def _loaded(accelerator: Accelerator, load: Instruction, kept: Mapping[str, set[str]]) -> Iterator[tuple[str, bool]]:
    """The types of elements that a load moves, each with whether they come to a memory of operands. Where it copies
    bytes into a memory that the contraction reads through a view, they are elements of the view's type."""
    for write in writes(accelerator, load):
        home = accelerator.home(write.target.memory).name
        viewed = any(memory.shown == home for memory in accelerator.memories)
        for read in write.reads:
            element = read.element.element
            if element is None:
                continue
            copied = viewed and element == accelerator.memory(write.target.memory).element
            types = kept[home] if copied and home in kept else {str(element)}
            yield from ((name, home in kept) for name in types)
