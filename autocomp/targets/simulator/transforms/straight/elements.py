"""Elements of tensors: what the host computes of them, where the stored ones came from, which are read later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autocomp.targets.simulator.kernel.syntax import ast
from autocomp.targets.simulator.transforms.straight.program import Program, ProgramStep

Byte = tuple[str, int]  # a tensor, with an `&` in front, and a byte of it
_BUILTIN_SIGNS = {"add_matrix": 1.0, "negate_matrix": -1.0}
_BUILTIN_SIZE = 4  # bytes of an element of theirs


@dataclass(frozen=True)
class Term:
    """An element, by its first byte, times 1 or -1."""

    element: Byte
    sign: float


@dataclass(frozen=True)
class Computed:
    """One element of `size` bytes as a sum of others."""

    result: Byte
    terms: tuple[Term, ...]
    size: int


@dataclass(frozen=True)
class Origin:
    """The store that an element comes from, and where in local memory it lay."""

    store: int
    row: int
    column: int


def touched(step: ProgramStep) -> set[Byte]:
    """The bytes of tensors that a step reads or writes."""
    return {(a.memory, b) for a in step.accesses if not a.local for _, first, end in a.spans for b in range(first, end)}


def computed(step: ProgramStep) -> tuple[Computed, ...]:
    """The elements that a step of the host computes, if each is a sum of elements with signs; else nothing."""
    if step.statement is None:
        return ()
    node = step.statement.expression
    (written,) = step.writes
    _, first, end = written.spans[0]
    if isinstance(node, ast.Call):
        sign, size = _BUILTIN_SIGNS[node.function], _BUILTIN_SIZE
        starts = [(access.memory, access.spans[0][1] - first) for access in step.reads]
        return tuple(
            Computed((written.memory, byte), tuple(Term((name, start + byte), sign) for name, start in starts), size)
            for byte in range(first, end, size)
        )
    signs = _signs(node.value, 1.0) if isinstance(node, ast.Assignment) and not node.operator else None
    if signs is None or len(signs) != len(step.reads):
        return ()
    terms = zip(step.reads, signs, strict=True)
    return (
        Computed((written.memory, first), tuple(Term((a.memory, a.spans[0][1]), s) for a, s in terms), end - first),
    )


def _signs(node: ast.Expression, sign: float) -> list[float] | None:
    """The signs of the elements of a sum, in the order in which they stand; None for anything else."""
    if isinstance(node, ast.Index):
        return [sign]
    if isinstance(node, ast.Unary) and node.operator in ("+", "-"):
        return _signs(node.operand, -sign if node.operator == "-" else sign)
    if isinstance(node, ast.Binary) and node.operator in ("+", "-"):
        left, right = _signs(node.left, sign), _signs(node.right, -sign if node.operator == "-" else sign)
        return None if left is None or right is None else [*left, *right]
    return None


def lie(step: ProgramStep) -> dict[Byte, tuple[int, int]]:
    """Where in local memory a move has the elements of a tensor: row and column by their first byte. Empty for steps
    that are not moves of whole elements."""
    local = [access for access in step.accesses if access.local]
    tensor = [access for access in step.accesses if not access.local]
    if step.change is None or len(local) != 1 or len(tensor) != 1 or len(local[0].spans) != len(tensor[0].spans):
        return {}
    spans: dict[Byte, tuple[int, int]] = {}
    for (_, first, end), (row, start, stop) in zip(tensor[0].spans, local[0].spans, strict=True):
        size = (end - first) // (stop - start)
        spans.update({(tensor[0].memory, first + n * size): (row, start + n) for n in range(stop - start)})
    return spans


def origins(program: Program, end: int, wanted: Sequence[Byte]) -> list[Origin] | None:
    """The stores that wrote elements last before a step; None if anything else wrote one of them."""
    origin_of: dict[Byte, Origin] = {}
    left = set(wanted)
    for number in reversed(range(end)):
        step = program.steps[number]
        for access in step.dram(write=True) if left else ():
            met = {b for b in left if b[0] == access.memory and any(f <= b[1] < e for _, f, e in access.spans)}
            places = lie(step) if met and step.kind == "store" else {}
            if not met <= places.keys():
                return None
            origin_of.update({byte: Origin(number, *places[byte]) for byte in met})
            left -= met
    return None if left else [origin_of[byte] for byte in wanted]


@dataclass
class Liveness:
    """The elements of tensors and rows that will be read, found backwards through the steps of a program. Tensors that
    are parameters of the kernel are read at its end, local arrays and rows are not."""

    program: Program

    def __post_init__(self) -> None:
        self._parameters = {f"&{parameter.name}" for parameter in self.program.facts.given.entry.parameters}
        self._lines: dict[tuple[str, int], npt.NDArray[np.bool_]] = {}  # by column, as far as they were looked at

    def is_read(self, memory: str, line: int, column: int) -> bool:
        """True if a cell is read before it is overwritten."""
        return bool(self._cells(memory, line, column, column + 1)[0])

    def needs(self, step: ProgramStep) -> bool:
        """True if something reads what the step writes, or it writes nothing."""
        return not step.writes or any(self._cells(a.memory, *span).any() for a in step.writes for span in a.spans)

    def before(self, step: ProgramStep) -> None:
        """Goes back over a step."""
        for access in (*(a for a in step.writes if not a.adds), *step.reads):
            for span in access.spans:
                self._cells(access.memory, *span)[:] = not access.write

    def _cells(self, memory: str, line: int, first: int, end: int) -> npt.NDArray[np.bool_]:
        """A view of cells of a line: True for those that will be read."""
        known = self._lines.get((memory, line), np.empty(0, np.bool_))
        if len(known) < end:
            more = np.full(max(end, 2 * len(known)) - len(known), memory in self._parameters)
            known = self._lines[memory, line] = np.concatenate((known, more))
        return known[first:end]
