"""The reason why `schedule` cannot write kernels of a machine anew, for the author of its description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
_PIXELS = 16  # in a line, at most
_WAYS = ("", "transpose_a: true\n", "transpose_b: true\n")


def unschedulable(accelerator: Accelerator) -> Mapping[str, str]:
    """The reasons why `schedule` sees no computation in the starting kernel of a small matrix multiplication, or of a
    small convolution. That is of the first type and layout of which it is right; another reason is that it is right in
    none of those tried. Empty where computations are seen, and on a machine without idioms for them."""
    tile = contraction_tile(accelerator)
    if tile is None or accelerator.idiom("gemm_tile") is None:
        return {}
    depth = 2 * tile[2] if adds(accelerator) else tile[2]  # where no sum has several commands, that of one tile
    reason, right = _of_first(list(_multiplications(2 * tile[0], 2 * tile[1], depth)), accelerator)
    reasons = {} if reason is None else {"matrix multiplication": reason}
    if right and adds(accelerator):
        reason, _ = _of_first(list(_convolutions(tile)), accelerator)
        reasons |= {} if reason is None else {"convolution": reason}
    return reasons


def _of_first(workloads: Sequence[Workload], accelerator: Accelerator) -> tuple[str | None, bool]:
    """The reason for the first of some workloads whose start is right, and True if there is one."""
    for as_stated in (True, False):  # layouts are many: they come after all types
        for workload in workloads:
            small = right_form(workload, accelerator, as_stated=as_stated)
            if small is not None:
                return _reason(small, accelerator), True
    return "no starting kernel is right, of the types and layouts that were tried", False


def _multiplications(rows: int, columns: int, depth: int) -> Iterator[Workload]:
    for elements in _ELEMENTS:
        for way in _WAYS:
            dims = f"dims: {{I: {rows}, J: {columns}, K: {depth}}}\n"
            text = f"operation: gemm\naccelerator: any\ndtype: {elements}\n{way}{dims}"
            yield parse(text, Path("multiplication.yaml"))


def _convolutions(tile: tuple[int, int, int]) -> Iterator[Workload]:
    """Convolutions of two by two taps: two lines of a tile's pixels, or of few, and the channels of one tile."""
    rows, columns, depth = tile
    width = min(rows, _PIXELS) + 1
    for elements in _ELEMENTS:
        dims = f"dims: {{N: 1, H: 3, W: {width}, C: {depth}, K: {columns}, R: 2, S: 2}}\n"
        yield parse(f"operation: conv2d\naccelerator: any\ndtype: {elements}\n{dims}", Path("convolution.yaml"))


def _reason(workload: Workload, accelerator: Accelerator) -> str | None:
    try:
        parsed = kernel.parse(starting_kernel(workload, accelerator), names=accelerator.all_constants)
        raised_of(analyse(parsed, accelerator, workload.constants))
    except NotApplicable as error:
        return str(error)
    except AutocompError:
        return None
    return None
