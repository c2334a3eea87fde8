"""The reason why `schedule` cannot write kernels of a machine anew, for the author of its description."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autocomp.errors import AutocompError
from autocomp.targets.simulator import kernel
from autocomp.targets.simulator.isa.derived.contractions import adds, contraction_tile
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.remedy import right_form
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.transforms import NotApplicable, analyse
from autocomp.targets.simulator.transforms.nests.schedule import raised_of
from autocomp.workload.load import parse
from autocomp.workload.model import Workload

_ELEMENTS = ("int8", "int8\nresult: int32", "bfloat16", "float16", "float32")
_WAYS = ("", "transpose_a: true\n", "transpose_b: true\n")


def unschedulable(accelerator: Accelerator) -> str | None:
    """The reason why `schedule` sees no computation in the starting kernel of a small matrix multiplication. That is of
    the first type and layout of which it is right; another reason is that it is right in none of those tried. None
    where a computation is seen, and on a machine without idioms for one."""
    for as_stated in (True, False):  # layouts are many: they come after all types
        for workload in _multiplications(accelerator):
            small = right_form(workload, accelerator, as_stated=as_stated)
            if small is not None:
                return _reason(small, accelerator)
    if contraction_tile(accelerator) is None or accelerator.idiom("gemm_tile") is None:
        return None
    return "no starting kernel is right, of the types and layouts that were tried"


def _multiplications(accelerator: Accelerator) -> Iterator[Workload]:
    """Multiplications of two tiles in each direction; where no sum has several commands, of one tile's depth."""
    tile = contraction_tile(accelerator)
    if tile is None:
        return
    rows, columns, depth = tile
    sizes = {"I": 2 * rows, "J": 2 * columns, "K": 2 * depth if adds(accelerator) else depth}
    dims = ", ".join(f"{name}: {size}" for name, size in sizes.items())
    for elements in _ELEMENTS:
        for way in _WAYS:
            text = f"operation: gemm\naccelerator: any\ndtype: {elements}\n{way}dims: {{{dims}}}\n"
            yield parse(text, Path("multiplication.yaml"))


def _reason(workload: Workload, accelerator: Accelerator) -> str | None:
    try:
        parsed = kernel.parse(starting_kernel(workload, accelerator), names=accelerator.all_constants)
        raised_of(analyse(parsed, accelerator, workload.constants))
    except NotApplicable as error:
        return str(error)
    except AutocompError:
        return None
    return None
