"""Advice for a workload whose generated start is wrong: a layout that the machine's idioms take, sizes that their
tiles divide, or how its shifts round. The judge tries them on a small workload of the same kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import yaml

from autocomp.errors import AutocompError
from autocomp.targets.evaluation import Evaluation
from autocomp.targets.simulator.evaluate import SimulatorEvaluator
from autocomp.targets.simulator.isa.derived.contractions import adds, contraction_tile
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.targets.simulator.start.idioms import shifts_alone, tile_of
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.workload.convolution import convolution
from autocomp.workload.load import parse
from autocomp.workload.model import Workload
from autocomp.workload.shifting import Rounding, shift_of

STAGES = ("check", "smoke", "discipline")
SHIFTED = (*STAGES, "adversarial")  # ties are rare among random sums
# The operands of an operation, left and right: names, axes that stay in front, rows and columns of a tile by name.
OPERANDS: Mapping[str, tuple[tuple[str, str, str, str], ...]] = {
    "gemm": (("B", "", "K", "J"), ("A", "", "I", "K")),
    "conv2d": (("weights", "R S ", "C", "K"), ("inp", "N H ", "W", "C")),
}
TILED: Mapping[str, Sequence[str]] = {"gemm": "IJK", "conv2d": "WKC"}  # sizes along rows, columns and depth of tiles
INTERLEAVED = (2, 4, 8)
LARGEST = 16  # pixels and taps along an axis of the workload that is tried


def remedy(workload: Workload, accelerator: Accelerator) -> str | None:
    """A line to write in the workload's file, with the reason; None where nothing that is tried helps."""
    if workload.starting_kernel is not None or workload.operation not in OPERANDS:
        return None
    if (parts := _parts_of_sums(workload, accelerator)) is not None:
        return parts
    found = _right(workload, accelerator)
    return None if found is None else _told(workload, accelerator, found)


def _parts_of_sums(workload: Workload, accelerator: Accelerator) -> str | None:
    """The advice for sums of several commands on a machine that adds to none; None where that is not the matter."""
    tile = contraction_tile(accelerator)
    if tile is None or adds(accelerator):
        return None
    depth, taps = TILED[workload.operation][-1], workload.dims.get("R", 1) * workload.dims.get("S", 1)
    if workload.dims[depth] <= tile[-1] and taps == 1:
        return None
    several = f"{taps} taps" if taps > 1 else f"`{depth}: {workload.dims[depth]}`"
    return (
        f"no instruction of {accelerator.full_name!r} adds to sums of products, and {several} need several commands "
        "for a sum: write one that does, for tiles whose `$first` is 0, or name a kernel to start from with `kernel:`"
    )


@dataclass(frozen=True)
class _Form:
    """Changes to a workload so that its start is right, and a small workload that it is right for."""

    sizes: Mapping[str, int]
    layout: Mapping[str, str]
    rounding: str | None
    small: Workload


def right_form(workload: Workload, accelerator: Accelerator, *, as_stated: bool) -> Workload | None:
    """A small workload like another one, of at most two tiles and a part of one, whose generated start is right: in the
    layout and sizes that are stated, or in others. None where nothing that is tried is."""
    found = _right(workload, accelerator, as_stated)
    return None if found is None else found.small


def _right(workload: Workload, accelerator: Accelerator, as_stated: bool = False) -> _Form | None:
    try:
        tile = dict(zip(TILED[workload.operation], tile_of(workload, accelerator), strict=True))
    except AutocompError:
        return None
    single, both = _layouts(workload, tile)
    tried = itertools.chain(
        itertools.product(_sizes(workload, tile), single), itertools.product(_sizes(workload, tile), both)
    )
    for sizes, layout in itertools.islice(tried, 1 if as_stated else None):
        for rounding in _roundings(workload, accelerator):
            small = _small(small_document(workload, tile, sizes, layout, rounding), accelerator)
            if small is not None:
                return _shallow(workload, accelerator, tile, _Form(sizes, layout, rounding, small))
    return None


def _shallow(workload: Workload, accelerator: Accelerator, tile: Mapping[str, int], found: _Form) -> _Form:
    """The same with the least depth that will do: deep tiles are often made of steps of a few elements."""
    *_, depth = tile
    by = 2 * INTERLEAVED[-1]
    while depth in found.sizes and by < tile[depth]:
        least = _whole(workload, depth, by)
        sizes = {**found.sizes, depth: least}
        small = _small(small_document(workload, tile, sizes, found.layout, found.rounding), accelerator)
        if small is not None and least < found.sizes[depth]:
            needed = {name: size for name, size in sizes.items() if size != workload.dims[name]}
            return replace(found, sizes=needed, small=small)
        by *= 2
    return found


def _roundings(workload: Workload, accelerator: Accelerator) -> Sequence[str | None]:
    """The workload's own rounding, and where the machine shifts results, the others of shifts."""
    stated = workload.options.get("rounding")
    shifts = shift_of(workload.options["scale"]) and shifts_alone(accelerator)
    return (stated, *(other for other in get_args(Rounding) if other != stated)) if shifts else (stated,)


def _sizes(workload: Workload, tile: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Sizes other than the workload's: none, then multiples of interleaved rows and of tiles, of depth and of all."""
    *_, depth = tile
    groups = {"C": int(workload.options["groups"])} if "groups" in workload.options else {}
    yield {}
    choices = [{depth: 4}, {depth: tile[depth]}, {name: size for name, size in tile.items() if name not in "IW"}, tile]
    for multiples in choices:
        sizes = {name: _whole(workload, name, by * groups.get(name, 1)) for name, by in multiples.items()}
        if any(workload.dims[name] != size for name, size in sizes.items()):
            yield {name: size for name, size in sizes.items() if workload.dims[name] != size}


def _whole(workload: Workload, name: str, by: int) -> int:
    """The least size from the workload's on that is a multiple of a number; of pixels in a line, one whose results in a
    line are."""
    size = workload.dims[name]
    if name != "W":
        return -(-size // by) * by
    line = convolution(workload.dims, workload.options).cols
    return size + -line.results % by * line.stride


def _layouts(workload: Workload, tile: Mapping[str, int]) -> tuple[list[Mapping[str, str]], list[Mapping[str, str]]]:
    """The workload's own layout, with others of the right operand or of the left one; and others of both."""
    stated = dict(workload.options.get("layout", {}))
    right, left = (
        [{name: text} for text in _packed(front, rows, columns, tile)]
        for name, front, rows, columns in OPERANDS[workload.operation]
    )
    both: list[Mapping[str, str]] = [{**first, **second} for first, second in itertools.product(right, left)]
    return [stated, *({**stated, **layout} for layout in (*right, *left))], both


def _packed(front: str, rows: str, columns: str, tile: Mapping[str, int]) -> Iterator[str]:
    """Orders of a matrix of rows and columns: as it is or transposed, with rows interleaved, in blocks."""
    r, c = tile[rows], tile[columns]
    yield f"{front}{columns} {rows}"
    yield from (f"{front}{rows}/{by} {columns} {rows}%{by}" for by in INTERLEAVED)
    for outer in ((f"{columns}/{c}", f"{rows}/{r}"), (f"{rows}/{r}", f"{columns}/{c}")):
        for inner in ((f"{columns}%{c}", f"{rows}%{r}"), (f"{rows}%{r}", f"{columns}%{c}")):
            yield front + " ".join((*outer, *inner))


def small_document(
    workload: Workload,
    tile: Mapping[str, int],
    sizes: Mapping[str, int],
    layout: Mapping[str, str],
    rounding: str | None,
) -> dict[str, Any]:
    """The document of a workload with other sizes, layouts and rounding, of at most two tiles and a part of one."""
    document = dict(yaml.safe_load(workload.text)) | ({} if rounding is None else {"rounding": rounding})
    dims = {name: min(size, LARGEST) for name, size in workload.dims.items()} | {
        name: min(extent, 2 * size + extent % size)
        for name, size in tile.items()
        for extent in [{**workload.dims, **sizes}[name]]
    }
    for name in set(layout) & {"A", "B"}:
        document.pop(f"transpose_{name.lower()}", None)
    return {**document, "dims": dims, "layout": dict(layout)}


def judged_start(document: Mapping[str, Any], accelerator: Accelerator) -> tuple[Workload, Evaluation] | None:
    """The workload of a document, and the judgement of its starting kernel; None where it has none that is right."""
    try:
        workload = parse(yaml.safe_dump(dict(document)), Path("small.yaml"), accelerator.parameters)
        kernel = starting_kernel(workload, accelerator)
        stages = STAGES if workload.options["scale"] == 1 else SHIFTED
        evaluation = SimulatorEvaluator(accelerator, workload).evaluate(kernel, stages=stages)
    except AutocompError:
        return None
    return (workload, evaluation) if evaluation.correct else None


def _small(document: Mapping[str, Any], accelerator: Accelerator) -> Workload | None:
    judged = judged_start(document, accelerator)
    return None if judged is None else judged[0]


def _told(workload: Workload, accelerator: Accelerator, found: _Form) -> str:
    machine, said = accelerator.full_name, []
    if dict(found.layout) != dict(workload.options.get("layout", {})):
        texts = ", ".join(f"{name}: {text}" for name, text in found.layout.items())
        said.append(f"the idioms of {machine!r} take operands in another order: write `layout: {{{texts}}}`")
    if found.rounding != workload.options.get("rounding"):
        said.append(f"{machine!r} shifts results: write `rounding: {found.rounding}`")
    if found.sizes:
        texts = ", ".join(f"{name}: {size}" for name, size in found.sizes.items())
        said.append(f"sizes that are whole tiles of {machine!r} are right: pad the tensors with zeros to `{texts}`")
    return "; ".join(said)
