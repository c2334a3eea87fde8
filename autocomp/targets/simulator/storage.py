"""Advice on the order in which DRAM holds an operand: moves bring elements that lie side by side faster than others.
The starting kernels of a small workload of the same kind are compared, with one operand in another order each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autocomp.errors import AutocompError
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.remedy import TILED, judged_start, small_document
from autocomp.targets.simulator.start.idioms import tile_of
from autocomp.workload.model import Workload

FASTER = 1.5  # times: edges weigh more in a small workload than in a large one
_IMAGES = {"inp": "N C H W", "weights": "R S K C"}  # the other orders of a convolution's operands
_MATRICES = {"A": "transpose_a", "B": "transpose_b"}


def storage_advice(workload: Workload, accelerator: Accelerator) -> str | None:
    """The keys to write in the workload's file where another order of operands is faster, with the cycles of a small
    workload; None where no order is. Operands whose layout is stated keep it."""
    if workload.starting_kernel is not None or workload.operation not in TILED:
        return None
    try:
        tile = dict(zip(TILED[workload.operation], tile_of(workload, accelerator), strict=True))
    except AutocompError:
        return None
    stated = workload.options
    document = small_document(workload, tile, {}, stated.get("layout", {}), stated.get("rounding"))
    if (naive := _cycles(document, accelerator)) is None:
        return None
    least, changes = naive, dict[str, Any]()
    for change in _orders(workload):
        more = {key: {**changes.get(key, {}), **v} if isinstance(v, dict) else v for key, v in change.items()}
        cycles = _cycles({**document, **changes, **more}, accelerator)
        if cycles is not None and least >= FASTER * cycles:
            least, changes = cycles, {**changes, **more}
    if not changes:
        return None
    lines = " and ".join(f"`{key}: {_yaml(value)}`" for key, value in changes.items())
    return (
        f"with {lines}, the starting kernel of a small workload of this kind needs {least:,.0f} cycles on "
        f"{accelerator.full_name!r}, {naive:,.0f} as it is"
    )


def _orders(workload: Workload) -> Iterator[dict[str, Any]]:
    """The other order of each operand without a layout, as keys of a workload's file."""
    layout = dict(workload.options.get("layout", {}))
    if workload.operation == "gemm":
        yield from ({key: not workload.options[key]} for name, key in _MATRICES.items() if name not in layout)
    else:
        yield from ({"layout": {**layout, name: text}} for name, text in _IMAGES.items() if name not in layout)


def _yaml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {text}" for name, text in value.items()) + "}"
    return str(value).lower()


def _cycles(document: Mapping[str, Any], accelerator: Accelerator) -> float | None:
    """The cycles of a document's starting kernel; None where it has none that is right."""
    judged = judged_start(document, accelerator)
    return None if judged is None else judged[1].value
