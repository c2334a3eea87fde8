"""Do a machine's idioms make kernels? They are compiled for small workloads with each option that they know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from autocomp.errors import AutocompError, ConfigError, IsaError
from autocomp.targets.simulator.isa.derived.contractions import contraction_tile
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.kernel.compiler import check
from autocomp.targets.simulator.kernel.syntax.parser import parse
from autocomp.targets.simulator.start.idioms import REQUIRED, TILED, AbsentError, known_options
from autocomp.targets.simulator.start.naive import naive_gemm
from autocomp.workload.load import parse as parse_workload
from autocomp.workload.model import Workload

VALUES = {
    "bias": ("row", "full"),
    "activation": ("relu",),
    "scale": (0.5,),
    "transpose_a": (True,),
    "transpose_b": (True,),
}
ELEMENTS = ("dtype: int8", "dtype: float32", "dtype: int8\nresult: int32")


def check_idioms(accelerator: Accelerator) -> None:
    """Compile the starting kernels of small GEMMs, one for each option. Raises IsaError for the first that fails.

    Nothing is checked of a machine without the idioms of a GEMM, or whose contraction has no tile.
    """
    if contraction_tile(accelerator) is None or any(accelerator.idiom(name) is None for name in REQUIRED):
        return
    for elements in ELEMENTS:
        for option, workload in _workloads(accelerator, elements):
            try:
                text = naive_gemm(workload, accelerator)
            except AbsentError:
                continue
            except ConfigError as error:
                raise _failure(accelerator, option, error) from None
            try:
                check(parse(text, f"<idioms{option}>"), accelerator, signature=workload.tensors)
            except AutocompError as error:
                raise _failure(accelerator, option, error) from None


def _workloads(accelerator: Accelerator, elements: str) -> Iterator[tuple[str, Workload]]:
    """Pairs of what is special about a workload and the workload, of two tiles and a bit in each direction."""
    tile = contraction_tile(accelerator)
    assert tile is not None
    dims = ", ".join(f"{name}: {2 * size + 1}" for name, size in zip("IJK", tile, strict=True))
    text = f"operation: gemm\naccelerator: any\n{elements}\ndims: {{{dims}}}\n"
    yield "", parse_workload(text, Path("check.yaml"))
    unscaled = {"scale"} if "result:" in elements else set()  # sums have none
    for option in sorted(known_options(accelerator) - unscaled):
        for value in VALUES[option]:
            line = f"{option}: {str(value).lower()}\n"
            yield f", {line.strip()}", parse_workload(text + line, Path("check.yaml"))


def _failure(accelerator: Accelerator, option: str, error: AutocompError) -> IsaError:
    """The error at the idiom whose text has what it points at, or at that of a tile."""
    at = error.place
    word = at.text[at.column - 1 : at.column - 1 + at.width] if at is not None else error.message
    idioms = [idiom for name in TILED if (idiom := accelerator.idiom(name)) is not None]
    named = [idiom for idiom in idioms if (word in idiom.text if at is not None else repr(idiom.name) in word)]
    tile = [idiom for idiom in idioms if idiom.name == "gemm_tile"]
    return IsaError(f"the idioms make no kernel for a GEMM{option}: {error}", place=(named or tile)[0].place)
