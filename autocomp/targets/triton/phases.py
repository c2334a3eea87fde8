"""The phases of a recorded launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CAUSES = {"Wait": "Load", "Load": "Load", "Product": "Compute", "Arithmetic": "Softmax", "Store": "Memory"}


@dataclass(frozen=True)
class Phase:
    """The activity of warps between two marks of the kernel, and its share of the launch's time. `loop` is the number
    of the loop that it is in, -1 outside of loops."""

    kind: str
    line: int
    loop: int
    share: float
    visits: int
    cycles: float  # of one visit

    @property
    def cause(self) -> str:
        return CAUSES.get(self.kind, self.kind)


def phases_of(marked: Mapping[str, Any]) -> tuple[Phase, ...]:
    """The phases of one launch, the longest first; none where it could not be marked."""
    stays = marked.get("stays", ())
    total = sum(stay["cycles"] * stay["visits"] for stay in stays)
    phases = [
        Phase(
            stay["mark"]["kind"],
            stay["mark"]["line"],
            stay["mark"]["loop"],
            stay["cycles"] * stay["visits"] / total,
            stay["visits"],
            stay["cycles"],
        )
        for stay in stays
        if total
    ]
    return tuple(sorted(phases, key=lambda phase: -phase.share))
