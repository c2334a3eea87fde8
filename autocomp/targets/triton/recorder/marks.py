"""Where a compiled kernel is marked: at the borders of phases of its innermost loop bodies.

Works on the text of Triton's GPU dialect (TTGIR), after the compiler has pipelined the loops. A phase is a run of
operations of one kind: waiting for loads, products on tensor cores, loads and stores that are not asynchronous, and
arithmetic on tensors. Each border gets one mark, so that a phase costs one record and not two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Wait", ("ttng.wait_barrier", "ttg.async_wait", "ttng.async_tma_store_wait")),
    ("Product", ("ttng.warp_group_dot", "tt.dot", "ttng.tc_gen5_mma")),
    ("Load", ("tt.load", "tt.descriptor_load", "ttg.local_load")),
    ("Store", ("tt.store", "tt.descriptor_store", "ttng.async_tma_copy_local_to_global", "tt.atomic_rmw")),
    ("Copy", ("ttng.async_tma_copy_global_to_local", "ttg.async_copy_global_to_local")),
)
ARITHMETIC = "Arithmetic"
MOST_MARKS = 250  # of a kernel: a record names its mark in 8 bits
_OPERATION = re.compile(r'^\s*(?:%[\w:, %]+? = )?"?([a-z_]+\.[a-z0-9_.]+)')
_LOCATION = re.compile(r"loc\((#loc\d*)\)\s*$")
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)\s*$")
_PLACE = re.compile(r'"[^"]*":(\d+):\d+')


@dataclass(frozen=True)
class Mark:
    """The phase that begins at a mark. `line` is the source line of its first operation, `loop` the number of the loop
    that it is in, -1 outside of loops. The last mark of a body has no kind: the body ends there."""

    number: int
    kind: str
    line: int
    loop: int


@dataclass(frozen=True)
class Marked:
    text: str
    marks: tuple[Mark, ...]


@dataclass
class _Phase:
    kind: str
    first: int  # the index of its first line
    line: int
    operations: int = 0


def place(ttgir: str, kinds: Sequence[str] = ("Wait", "Product", "Load", "Store", ARITHMETIC)) -> Marked:
    """Mark the bodies of the innermost loops, or the whole function where it has none. Kinds that are left out join
    the phase before them, which takes fewer records."""
    lines = ttgir.splitlines()
    places = _places(lines)
    marks: list[Mark] = []
    inserted: dict[int, list[str]] = {}
    for number, (first, last, loop) in enumerate(bodies(lines)):
        phases = _phases(lines, first, last, places, kinds)
        if not phases or len(marks) + len(phases) + 2 > MOST_MARKS:
            continue
        borders = [(phase.first, phase.kind, phase.line) for phase in phases] + [(last, "", phases[-1].line)]
        if len(borders) % 2:
            borders.append((last, "", phases[-1].line))  # records are made in pairs of a start and an end
        for position, (at, kind, line) in enumerate(borders):
            marks.append(Mark(len(marks), kind, line, number if loop else -1))
            name = f"m{len(marks) - 1 - position % 2}"
            inserted.setdefault(at, []).append(f'proton.record {("start", "end")[position % 2]} "{name}"')
    text = [line for i, line in enumerate(lines) for line in (*inserted.get(i, ()), line)]
    return Marked("\n".join(text) + "\n", tuple(marks))


def bodies(lines: Sequence[str]) -> list[tuple[int, int, bool]]:
    """First line and the line after the last of each body to mark, and whether it is a loop's."""
    open_: list[tuple[int, int, bool]] = []  # indentation, line, whether a loop lies inside
    spans: list[tuple[int, int, bool]] = []
    function = (0, 0)
    for index, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("tt.func"):
            function = (index + 1, indent)
        elif re.search(r"= scf\.for |^\s*scf\.for ", line):
            open_ = [(depth, start, True) for depth, start, _ in open_]
            open_.append((indent, index + 1, False))
        elif open_ and indent == open_[-1][0] and line.lstrip().startswith("}"):
            _, start, outer = open_.pop()
            last = index - 1 if lines[index - 1].lstrip().startswith("scf.yield") else index
            if not outer:
                spans.append((start, last, True))
        elif line.lstrip().startswith("tt.return") and not spans and function[0]:
            spans.append((function[0], index, False))
    return spans


def _phases(lines: Sequence[str], first: int, last: int, places: dict[str, int], kinds: Sequence[str]) -> list[_Phase]:
    phases: list[_Phase] = []
    depth = 0
    for index in range(first, last):
        line = lines[index]
        kind = _kind(line) if depth == 0 else ""
        depth += line.rstrip().endswith("{") - line.lstrip().startswith("}")
        if kind not in kinds:
            continue
        if not phases or phases[-1].kind != kind:
            phases.append(_Phase(kind, index, _line(line, places)))
        phases[-1].operations += 1
        phases[-1].line = phases[-1].line or _line(line, places)
    return _merged(phases)


def _merged(phases: list[_Phase]) -> list[_Phase]:
    """Without phases of one or two operations on tensors, such as a conversion in front of a product: those join the
    phase that follows them."""
    joined: list[_Phase] = []
    for position, phase in enumerate(phases):
        small = phase.kind == ARITHMETIC and phase.operations <= 2 and position + 1 < len(phases)
        if small:
            phases[position + 1].first = phase.first
        elif joined and joined[-1].kind == phase.kind:
            joined[-1].operations += phase.operations
        else:
            joined.append(phase)
    return joined


def _kind(line: str) -> str:
    match = _OPERATION.match(line)
    if match is None:
        return ""
    operation = match[1]
    for kind, prefixes in KINDS:
        if operation.startswith(prefixes):
            return kind
    works = operation.startswith(("arith.", "math.", "tt.reduce", "ttg.convert_layout"))
    return ARITHMETIC if works and "tensor<" in line and "arith.constant" not in line else ""


def _places(lines: Sequence[str]) -> dict[str, int]:
    """The source line of each alias of a location."""
    told = {match[1]: match[2] for line in lines if (match := _ALIAS.match(line))}
    places: dict[str, int] = {}

    def resolve(alias: str, depth: int = 0) -> int:
        if alias not in places and depth < 20:
            text = told.get(alias, "")
            place = _PLACE.search(text)
            # Of a call, the place of the caller counts: the kernel's own line, not that of a library's function.
            inner = re.findall(r"#loc\d*", text)
            places[alias] = int(place[1]) if place else resolve(inner[-1], depth + 1) if inner else 0
        return places.get(alias, 0)

    for alias in told:
        resolve(alias)
    return places


def _line(line: str, places: dict[str, int]) -> int:
    match = _LOCATION.search(line)
    return places.get(match[1], 0) if match else 0
