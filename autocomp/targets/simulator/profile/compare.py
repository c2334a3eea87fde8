"""The difference of two kernels of one workload: the places and causes of the cycles of each.

Every cycle of a makespan belongs to one line, one place and one cause of the critical path, so that differences by
cause and by line each add up to the difference of the makespans. Loops and marked regions hold what is inside of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from autocomp.targets.profile import Profile, Region
from autocomp.targets.simulator.stalls import activity


class Change:
    """The cycles of one item in both kernels."""

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
class PartChange(Change):
    """Cycles of the critical path in a loop or a marked region with all inside, of either kernel, or of both where it
    has the same header or name. Lines are its first and last in each kernel, None where the kernel has no such part."""

    kind: str  # loop or region
    name: str
    first: tuple[int, int] | None
    second: tuple[int, int] | None
    before: int
    after: int


@dataclass(frozen=True)
class Comparison(Change):
    """`causes`, `lines` and `parts` are those that differ, the largest difference first; the causes add up to `change`,
    and so do the lines."""

    before: int  # cycles
    after: int
    words: tuple[str, ...]
    causes: tuple[CauseChange, ...]
    lines: tuple[LineChange, ...]
    parts: tuple[PartChange, ...]
    traffic: Mapping[str, tuple[int, int]]  # bytes of each tensor over the DRAM bus, of both kernels
    commands: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """A document of dictionaries, lists, numbers and strings only."""
        document = asdict(self)
        document["change"] = self.change
        document["traffic"] = {tensor: list(pair) for tensor, pair in self.traffic.items()}
        for name, entries in (("causes", self.causes), ("lines", self.lines), ("parts", self.parts)):
            document[name] = [{**asdict(entry), "change": entry.change} for entry in entries]
        return document


def compare(first: Profile, second: Profile) -> Comparison:
    """The changes from the first kernel to the second, both of one workload on one machine."""
    causes, lines, parts = _causes(first, second), _lines(first, second), _parts(first, second)
    moved = {o.tensor: o.read + o.written for o in second.operands}
    traffic = {o.tensor: (o.read + o.written, moved.get(o.tensor, 0)) for o in first.operands}
    commands = (sum(x.cost.commands for x in first.lines), sum(x.cost.commands for x in second.lines))
    words = _words(first.cycles, second.cycles, causes, traffic, commands)
    return Comparison(first.cycles, second.cycles, words, causes, lines, parts, traffic, commands)


def _causes(first: Profile, second: Profile) -> tuple[CauseChange, ...]:
    cycles = (_by_cause(first), _by_cause(second))
    changes = [CauseChange(*key, cycles[0][key], cycles[1][key]) for key in cycles[0].keys() | cycles[1].keys()]
    return tuple(sorted((c for c in changes if c.change), key=lambda c: (-abs(c.change), c.unit, c.cause)))


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
    changes = []
    for line in range(1, len(first.source) + 1):
        other = partner.get(line)
        after = 0 if other is None else spent[1][other]
        changes.append(LineChange(line, other, _text(first, line), spent[0][line], after))
    matched = set(partner.values())
    changes += [
        LineChange(None, line, _text(second, line), 0, spent[1][line])
        for line in range(1, len(second.source) + 1)
        if line not in matched
    ]
    return tuple(sorted((x for x in changes if x.change), key=lambda x: (-abs(x.change), x.first or 0, x.second or 0)))


def _parts(first: Profile, second: Profile) -> tuple[PartChange, ...]:
    """Parts are the same where they are of one kind and name; of several such, the first is the first, and so on."""
    old, new = (_named(profile.regions) for profile in (first, second))
    changes = (_part_change(old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new]))
    changed = (change for change in changes if change.change)
    return tuple(sorted(changed, key=lambda c: (-abs(c.change), c.first or (0, 0), c.second or (0, 0))))


def _named(regions: Sequence[Region]) -> dict[tuple[str, str, int], Region]:
    """By kind, name, and how many of these come before."""
    seen: Counter[tuple[str, str]] = Counter()
    parts = {}
    for region in regions:
        parts[region.kind, region.name, seen[region.kind, region.name]] = region
        seen[region.kind, region.name] += 1
    return parts


def _part_change(first: Region | None, second: Region | None) -> PartChange:
    part = first or second
    assert part is not None
    cycles = [0 if one is None else one.cost.path_cycles for one in (first, second)]
    return PartChange(part.kind, part.name, _extent(first), _extent(second), cycles[0], cycles[1])


def _extent(part: Region | None) -> tuple[int, int] | None:
    return None if part is None else (part.first, part.last)


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
            doing = activity(change.cause)
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
