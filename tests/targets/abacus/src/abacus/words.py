"""The language of the abacus: a head, and one `WORD NUMBER` a line."""

from __future__ import annotations

from autocomp.errors import KernelError, Place
from autocomp.targets.protocol import Language
from autocomp.workload import Workload

FIGURES = ("rows", "columns", "beads")
HEAD = "program:"


def parse(kernel: str, source: str = "kernel") -> dict[str, int]:
    """The figures of a kernel; those that it does not state are 1. Raises KernelError with the line."""
    figures = dict.fromkeys(FIGURES, 1)
    lines = [line.partition("#")[0].split() for line in kernel.splitlines()]
    stated = [(number, words) for number, words in enumerate(lines, 1) if words]
    if not stated or stated[0][1] != [HEAD]:
        raise KernelError(f"a kernel begins with {HEAD!r}", place=Place(source, 1, 1))
    for number, words in stated[1:]:
        if len(words) != 2 or words[0] not in FIGURES or not words[1].isdecimal() or int(words[1]) < 1:
            text = " ".join(words)
            raise KernelError(
                f"{text!r} is not one of {', '.join(FIGURES)} and a number", place=Place(source, number, 1)
            )
        figures[words[0]] = int(words[1])
    return figures


def write(figures: dict[str, int]) -> str:
    """The kernel with these figures."""
    return "\n".join([HEAD, *(f"{name} {value}" for name, value in figures.items())]) + "\n"


class Words(Language):
    name, suffix, fence, entry = "Words", ".words", "words", "program"

    def check(self, kernel: str, workload: Workload, source: str = "kernel") -> None:
        parse(kernel, source)

    def signature(self, workload: Workload) -> str:
        return HEAD

    def fingerprint(self, kernel: str) -> str:
        try:
            return super().fingerprint(write(parse(kernel)))
        except KernelError:
            return super().fingerprint(kernel)

    def locate(self, answer: str) -> str | None:
        """All from the last head on, up to the end of its block."""
        _, head, after = answer.rpartition(HEAD)
        return head + after.partition("```")[0] if head else None
