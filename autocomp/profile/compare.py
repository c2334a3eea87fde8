"""Why two kernels of one workload differ: where the cycles of the first went, and those of the second.

Every cycle of a makespan belongs to one line, one place and one cause of the critical path, so that differences by
cause and by part of the source each add up to the difference of the makespans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from autocomp.profile.model import Profile
from autocomp.profile.path import ACTIVITY


class Change:
    """What takes cycles in both kernels."""

    before: int
    after: int

    @property
    def change(self) -> int:
        return self.after - self.before


@dataclass(frozen=True)
class CauseChange(Change):
    """Cycles of the critical path that a unit (or "host", "front") spent in one way."""

    unit: str
    cause: str
    before: int
    after: int


@dataclass(frozen=True)
class LineChange(Change):
    """Cycles of the critical path on one line of either kernel, or on both where the line is the same text.

    Lines are numbers in the first and the second kernel, None where the kernel has no such line.
    """

    first: int | None
    second: int | None
    text: str
    before: int
    after: int


@dataclass(frozen=True)
class Comparison(Change):
    """`causes` and `lines` are those that differ, the largest difference first; each adds up to `change`."""

    before: int  # cycles
    after: int
    words: tuple[str, ...]
    causes: tuple[CauseChange, ...]
    lines: tuple[LineChange, ...]
    traffic: Mapping[str, tuple[int, int]]  # bytes of each tensor over the DRAM bus, of both kernels
    commands: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """A document of dictionaries, lists, numbers and strings only."""
        document = asdict(self)
        document["change"] = self.change
        document["traffic"] = {tensor: list(pair) for tensor, pair in self.traffic.items()}
        document["causes"] = [{**asdict(entry), "change": entry.change} for entry in self.causes]
        document["lines"] = [{**asdict(entry), "change": entry.change} for entry in self.lines]
        return document


def compare(first: Profile, second: Profile) -> Comparison:
    """What changed from the first kernel to the second, both of one workload on one machine."""
    causes, lines = _causes(first, second), _lines(first, second)
    moved = {o.tensor: o.read + o.written for o in second.operands}
    traffic = {o.tensor: (o.read + o.written, moved.get(o.tensor, 0)) for o in first.operands}
    commands = (sum(x.cost.commands for x in first.lines), sum(x.cost.commands for x in second.lines))
    words = _words(first.cycles, second.cycles, causes, traffic, commands)
    return Comparison(first.cycles, second.cycles, words, causes, lines, traffic, commands)


def _causes(first: Profile, second: Profile) -> tuple[CauseChange, ...]:
    cycles = (_by_cause(first), _by_cause(second))
    found = [CauseChange(*key, cycles[0][key], cycles[1][key]) for key in cycles[0].keys() | cycles[1].keys()]
    return tuple(sorted((c for c in found if c.change), key=lambda c: (-abs(c.change), c.unit, c.cause)))


def _by_cause(profile: Profile) -> Counter[tuple[str, str]]:
    sums: Counter[tuple[str, str]] = Counter()
    for segment in profile.path:
        sums[segment.unit, segment.cause] += segment.cycles
    return sums


def _lines(first: Profile, second: Profile) -> tuple[LineChange, ...]:
    """Lines are the same where the longest matching runs of both sources, without their margins, have them."""
    old, new = ([line.strip() for line in profile.source] for profile in (first, second))
    matches = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    partner = {block.a + i + 1: block.b + i + 1 for block in matches for i in range(block.size)}
    spent = [_by_line(first), _by_line(second)]
    found = []
    for line in range(1, len(first.source) + 1):
        other = partner.get(line)
        after = 0 if other is None else spent[1][other]
        found.append(LineChange(line, other, _text(first, line), spent[0][line], after))
    matched = set(partner.values())
    found += [
        LineChange(None, line, _text(second, line), 0, spent[1][line])
        for line in range(1, len(second.source) + 1)
        if line not in matched
    ]
    return tuple(sorted((x for x in found if x.change), key=lambda x: (-abs(x.change), x.first or 0, x.second or 0)))


def _by_line(profile: Profile) -> Counter[int]:
    sums: Counter[int] = Counter()
    for segment in profile.path:
        sums[segment.line] += segment.cycles
    return sums


def _text(profile: Profile, line: int) -> str:
    return profile.source[line - 1].strip()


_WORTH_SAYING = 0.05  # share of the longer makespan


def _words(
    before: int,
    after: int,
    causes: tuple[CauseChange, ...],
    traffic: Mapping[str, tuple[int, int]],
    commands: tuple[int, int],
) -> tuple[str, ...]:
    if before == after:
        total = f"both take {before:,} cycles"
    else:
        ratio = max(before, after) / max(1, min(before, after))
        total = f"{before:,} -> {after:,} cycles: the second is {ratio:.2f}x {'faster' if after < before else 'slower'}"
    longest = max(before, after)
    said = [total]
    for change in causes:
        if abs(change.change) >= _WORTH_SAYING * longest:
            more = "more" if change.change > 0 else "fewer"
            doing = ACTIVITY.get(change.cause, f"waits ({change.cause})")
            said.append(
                f"{abs(change.change):,} {more} cycles in which {change.unit} {doing} "
                f"({change.before:,} -> {change.after:,})"
            )
    for tensor, (old, new) in traffic.items():
        if old != new:
            said.append(f"{tensor} moves {old:,} -> {new:,} bytes over the DRAM bus")
    if commands[0] != commands[1]:
        said.append(f"{commands[0]:,} -> {commands[1]:,} commands")
    return tuple(said)
